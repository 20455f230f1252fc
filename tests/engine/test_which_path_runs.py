"""A question to thousands of passages: which path runs, and how much of the index it touches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import fsum
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import document, manifest, whole
from conftest import DAY
from labkit import similarity
from labkit.answering import ExtractiveGenerator
from labkit.answering.access_filter import admit
from labkit.answering.engine import Engine
from labkit.answering.retrieval import HybridSearch, StrictSearch
from labkit.ranking import policy
from labkit.ranking.hybrid import CANDIDATES, FUSED
from labkit.ranking.lexical import Bm25
from labkit.ranking.near_duplicates import near_duplicates
from labkit.store import SqliteStore, sqlite_vec
from labkit.types import EmbedderIdentity, Health, Hit, Matrix, Role, Viewer
from stores import KINDS, every_kind, for_each_connection, using

MANY, DIMENSION = 3000, 16
READER = Viewer("ACME", frozenset({"readers"}))
POLICIES: dict[str, type[HybridSearch] | type[StrictSearch]] = {
    "hybrid": HybridSearch,
    "strict": StrictSearch,
}


class Drawn:
    """An embedder that gives every question the same direction."""

    identity = EmbedderIdentity("drawn", "", "toy", "1", DIMENSION)

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        return np.ones((len(texts), DIMENSION), np.float32)

    def health(self) -> Health:
        return Health(True)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of 3,000 passages in two languages, forty of one direction; read by both stores."""
    path = tmp_path_factory.mktemp("many") / "index.sqlite"
    random = np.random.default_rng(3)
    vectors = random.normal(size=(MANY, DIMENSION)).astype(np.float32)
    vectors[100:140] = vectors[7]
    documents = [
        document(f"d{n:05}", f"Gate {n} opens at eight.", language="fr" if n % 3 else "en")
        for n in range(MANY)
    ]
    chunks = list(map(whole, documents))
    kind = KINDS["sqlite-vec" if "sqlite-vec" in _installed() else "sqlite"]
    lock = manifest(documents, embedder=Drawn.identity)
    kind(path).replace_all(lock, documents, chunks, vectors, [])
    return path


def _installed() -> list[str]:
    return [param.values[0] for param in every_kind if not _skipped(param)]


def _skipped(param: Any) -> bool:
    return any(mark.args[0] for mark in param.marks if mark.name == "skipif")


class Counted:
    """How often, or with how much, something was called."""

    def __init__(self) -> None:
        self.sizes: list[int] = []

    def of(self, call: Callable[..., Any], size: Callable[..., int]) -> Callable[..., Any]:
        def counting(*arguments: Any, **options: Any) -> Any:
            self.sizes.append(size(*arguments))
            return call(*arguments, **options)

        return counting


@pytest.fixture(params=every_kind)
def store(request: pytest.FixtureRequest, path: Path) -> Iterator[SqliteStore]:
    with using(request.param):
        yield KINDS[request.param](path)


@pytest.mark.parametrize("name", POLICIES)
def test_a_question_scores_its_candidates_and_nothing_else(
    store: SqliteStore, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = Engine(POLICIES[name](store, Drawn(), -1.0), ExtractiveGenerator())
    asked = "When does gate 2999 open?"
    engine.ask(asked, READER, DAY)  # what is built once an index is built here
    scored, summed, made, compared, built, vec0 = (Counted() for _ in range(6))
    exact = scored.of(similarity.cosines, lambda _, vectors: len(vectors))
    for module in (similarity, sqlite_vec):
        monkeypatch.setattr(module, "cosines", exact)
    monkeypatch.setattr(similarity, "fsum", summed.of(fsum, lambda _: 1))
    monkeypatch.setattr(Hit, "__init__", made.of(Hit.__init__, lambda *_, **__: 1))
    monkeypatch.setattr(
        policy, "near_duplicates", compared.of(near_duplicates, lambda chunks: len(chunks))
    )
    monkeypatch.setattr(Bm25, "__init__", built.of(Bm25.__init__, lambda *_: 1))

    def watch(connection: Any) -> None:
        if hasattr(connection, "_apsw"):
            connection.execute = vec0.of(connection.execute, lambda sql, *_: "MATCH" in sql)

    for_each_connection(watch, monkeypatch)
    outcome = engine.ask(asked, READER, DAY)
    assert outcome.closest
    (rows,) = scored.sizes
    assert CANDIDATES <= rows <= CANDIDATES + 50, "the candidates and what ties with the last"
    assert len(summed.sizes) <= 3 * 40, "exact sums for one row in a hundred"
    assert len(made.sizes) <= 3 * CANDIDATES
    assert sum(compared.sizes) <= policy.COMPARED
    assert built.sizes == [], "word statistics are those of the first question"
    assert sum(vec0.sizes) == isinstance(store, sqlite_vec.SqliteVecStore)


@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.skipif("sqlite-vec" not in _installed(), reason="needs sqlite-vec")
def test_both_stores_give_a_question_the_same_passages(path: Path, name: str) -> None:
    plain, vec = (POLICIES[name](kind(path), Drawn(), -1.0) for kind in KINDS.values())
    for question in ("When does gate 7 open?", "gate 100 gate 139", "nothing of the sort"):
        here, there = (each.retrieve(question, READER, DAY) for each in (plain, vec))
        assert here.ranked == there.ranked
        assert here.detail == there.detail
        assert here.detail["eligible"] == MANY
        assert len(here.ranked) <= max(CANDIDATES, 2 * FUSED)


@pytest.mark.parametrize("kind", _installed())
def test_means_and_statistics_are_those_of_all_eligible_passages(path: Path, kind: str) -> None:
    with using(kind):
        store, vector = KINDS[kind](path), np.ones(DIMENSION, np.float32)
        eligible = admit(READER, DAY, path="d0001*")  # d00010 to d00019
        hits = store.search(vector, MANY, eligible)
        for language, mean in store.mean_cosines(vector, eligible).items():
            found = [h.cosine or 0.0 for h in hits if h.chunk.meta.language == language]
            assert mean == pytest.approx(fsum(found) / len(found), abs=1e-12)
        known = store.term_statistics(["gate", "12", "gat", "title"], eligible)
        assert known.passages == 10
        assert known.document_frequency["12"] == 1
        best = store.lexical(["12"], 1, eligible)[0].lexical_score
        assert known.best["12"] == best
        assert set(known.best) == set(known.document_frequency) < {"gate", "12", "gat", "title"}
        nobody = admit(Viewer("ACME", frozenset()), DAY)
        assert store.mean_cosines(vector, nobody) == {}
        assert store.term_statistics(["12"], nobody).best == {}
