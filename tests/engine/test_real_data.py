"""What the analyser, the ranking and the chunker do on texts that others wrote.

The files are read from the folder that LABKIT_REAL_DATA names; nothing of them is kept here.
"""

from __future__ import annotations

import json
from math import log2
from pathlib import Path

import pytest

from labkit.chunking import CharacterChunker
from labkit.documents import Plain, Rules, read_folder
from labkit.markdown import sentences
from labkit.ranking.fusion import reciprocal_rank_fusion
from labkit.ranking.lexical import Bm25, bm25_scores
from labkit.text import normalise, terms
from labkit.types import Document
from strategies import blanked, in_order, wrongly_left_out

pytestmark = pytest.mark.real_data

LEGACY = 2.2  # Elasticsearch multiplies by k1 + 1; OpenSearch's example does not


# --- published examples --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def published(real_data: Path) -> dict[str, list[dict]]:
    return json.loads((real_data / "references/rrf_bm25.json").read_text(encoding="utf-8"))


def as_ranking(ranks: dict[str, int]) -> list[str]:
    """An ordered list in which every id stands at its rank; gaps are filled with other ids."""
    at = {rank: name for name, rank in ranks.items()}
    return [at.get(rank, f"gap{rank}") for rank in range(1, max(at) + 1)]


def test_the_published_examples_of_reciprocal_rank_fusion(published):
    for example in published["rrf"]:
        lists = example.get("lists") or [as_ranking(ranks) for ranks in example["ranks"]]
        fused = reciprocal_rank_fusion(lists, example["k"], example.get("weights"))
        scores = {name: score for name, score in fused if not name.startswith("gap")}
        assert scores == pytest.approx(example["expected"], abs=1e-6), example["name"]
        ours, theirs = list(scores), example["order"]
        for name in theirs:  # ties stand by id with us; without a tie the order is theirs
            tied = [n for n in theirs if round(scores[n], 6) == round(scores[name], 6)]
            assert ours.index(min(tied)) == min(theirs.index(n) for n in tied), example["name"]
    assert len(published["rrf"]) == 10


@pytest.mark.parametrize(("name", "factor"), [("elastic-bm25", LEGACY), ("opensearch-bm25", 1.0)])
def test_the_published_examples_of_bm25(published, name, factor):
    (example,) = [e for e in published["bm25"] if e["name"] == name]
    ids, texts = zip(*example["docs"].items(), strict=True)
    scores = bm25_scores(example["query"].split(), [text.split() for text in texts])
    found = {i: factor * score for i, score in zip(ids, scores, strict=True) if score > 0}
    assert found == pytest.approx(example["expected"], abs=1e-5)
    assert sorted(found, key=lambda i: -found[i]) == list(example["expected"])


# --- retrieval -----------------------------------------------------------------------------------


def ndcg_at_10(ranking: list[str], relevant: dict[str, int]) -> float:
    gains = [relevant.get(name, 0) / log2(place + 2) for place, name in enumerate(ranking[:10])]
    ideal = sorted(relevant.values(), reverse=True)[:10]
    return sum(gains) / sum(gain / log2(place + 2) for place, gain in enumerate(ideal))


def read_lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "questions", "floor"), [("xquad-en", 1190, 0.955), ("cnil-fr", 512, 0.62)]
)
def test_bm25_over_our_terms_finds_what_a_good_stemmed_bm25_finds(
    real_data, record_property, name, questions, floor
):
    folder = real_data / "retrieval" / name
    passages = read_lines(folder / "corpus.jsonl")
    ids = [passage["_id"] for passage in passages]
    index = Bm25([terms(f"{p.get('title') or ''}\n{p['text']}") for p in passages])
    relevant: dict[str, dict[str, int]] = {}
    for line in (folder / "qrels/test.tsv").read_text(encoding="utf-8").splitlines()[1:]:
        question, passage, grade = line.split("\t")
        relevant.setdefault(question, {})[passage] = int(grade)
    scores = []
    for question in read_lines(folder / "queries.jsonl"):
        if question["_id"] in relevant:
            found = index.top_k(terms(question["text"]), 10, ids)
            scores.append(ndcg_at_10([ids[row] for row, _ in found], relevant[question["_id"]]))
    record_property("ndcg@10", sum(scores) / len(scores))
    assert len(scores) == questions
    assert sum(scores) / len(scores) >= floor


# --- two documentation trees ---------------------------------------------------------------------


@pytest.fixture(
    scope="module", params=[("rust-book-en", "en", 113), ("etalab-guides-fr", "fr", 55)], ids=str
)
def tree(request: pytest.FixtureRequest, real_data: Path) -> tuple[Path, list[Document]]:
    name, language, files = request.param
    root = real_data / "markdown" / name
    documents = read_folder(root, Rules(plain=Plain("ACME/readers", language))).checked().documents
    assert len(documents) == files
    return root, documents


def test_every_file_is_read_whole_with_its_text_normalised(tree):
    root, documents = tree
    for item in documents:
        assert item.text == normalise((root / item.meta.path).read_bytes().decode())
        assert item.meta.title
    assert len({item.id for item in documents}) == len(documents)


@pytest.mark.parametrize(("size", "overlap"), [(600, 80), (50, 10), (1, 0)])
def test_chunks_of_every_file_are_slices_and_cover_its_body(tree, size, overlap):
    _, documents = tree
    for item in documents if size > 1 else documents[:5]:
        reached, seen = item.body_start, blanked(item.text)
        for chunk in CharacterChunker(size, overlap).chunk(item):
            assert chunk.text == item.text[chunk.start : chunk.end]
            assert not seen[reached : chunk.start].strip()  # only blank windows are left out
            reached = max(reached, chunk.end)
        assert not seen[reached:].strip()


def test_sentences_of_every_file_stand_in_order_and_lose_nothing(tree):
    _, documents = tree
    for item in documents:
        body = item.text[item.body_start :]
        found = sentences(body)
        assert in_order(body, found), item.meta.path
        assert list(wrongly_left_out(body, found)) == [], item.meta.path
        assert found or not body.strip() or body.lstrip().startswith("#"), item.meta.path
