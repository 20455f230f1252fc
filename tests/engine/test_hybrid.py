"""labkit.ranking.hybrid and HybridSearch: two lists, fused by shares that mean the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from math import inf, log, nan
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import ToyEmbedder, chunk, document, manifest, whole
from conftest import DAY
from labkit.answering.access_filter import admit
from labkit.answering.retrieval import HybridSearch, StrictSearch
from labkit.ranking.fusion import score_fusion
from labkit.ranking.hybrid import hybrid_refusal, rank_hybrid, reachable_score, support
from labkit.ranking.lexical import Bm25
from labkit.store import SqliteStore
from labkit.text import terms
from labkit.types import Document, Hit, Reason, StoreError, TermStatistics, Viewer
from strategies import any_text, any_words

READER = Viewer("ACME", frozenset({"readers"}))


# --- fusion of scores ----------------------------------------------------------------------------


def test_scores_are_added_up_with_their_weights_and_a_missing_one_adds_0():
    lists = [{"a": 1.0, "b": 0.5}, {"b": 0.8, "c": 1.0}]
    assert score_fusion(lists, [0.25, 0.75]) == [
        ("c", 0.75),
        ("b", pytest.approx(0.725)),
        ("a", 0.25),
    ]
    assert lists == [{"a": 1.0, "b": 0.5}, {"b": 0.8, "c": 1.0}]


def test_equal_sums_tie_whatever_their_order_and_the_ids_decide():
    thirds = [{"b": 0.1, "a": 0.3}, {"b": 0.2, "a": 0.2}, {"b": 0.3, "a": 0.1}]
    assert [name for name, _ in score_fusion(thirds, [1, 1, 1])] == ["a", "b"]
    assert score_fusion([], []) == []


@pytest.mark.parametrize(
    ("lists", "weights", "message"),
    [
        ([{"a": 1.0}], [], "0 weights for 1 lists."),
        ([{"a": 1.0}], [-1], "a weight or score is -1; it must be finite and not below 0."),
        ([{"a": nan}], [1], "a weight or score is nan; it must be finite and not below 0."),
        ([{"a": 1.0}], [inf], "a weight or score is inf; it must be finite and not below 0."),
    ],
)
def test_what_cannot_be_fused_is_named(lists, weights, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        score_fusion(lists, weights)


# --- by hand -------------------------------------------------------------------------------------


def dense(*rows: tuple[str, float], language: str = "en") -> list[Hit]:
    """Hits as a dense search hands them over."""
    found = [Hit(chunk(name, f"Text {name}.", language=language), cosine=c) for name, c in rows]
    return in_order(found)


def in_order(hits: list[Hit]) -> list[Hit]:
    hits = sorted(hits, key=lambda hit: (-hit.cosine, hit.chunk.id))
    return [replace(hit, dense_rank=rank) for rank, hit in enumerate(hits, start=1)]


def lexical(*rows: tuple[str, float]) -> list[Hit]:
    """Hits as a lexical search hands them over, best first."""
    return [
        Hit(chunk(name, f"Text {name}."), lexical_score=score, lexical_rank=rank)
        for rank, (name, score) in enumerate(rows, start=1)
    ]


def means(hits: Sequence[Hit]) -> dict[str, float]:
    """What a store says of an index that holds these passages and no other."""
    languages = {hit.chunk.meta.language for hit in hits}
    of = {name: [h.cosine for h in hits if h.chunk.meta.language == name] for name in languages}
    return {name: sum(found) / len(found) for name, found in of.items()}


def fuse(near: list[Hit], worded: list[Hit], *arguments: Any, **options: Any) -> list[Hit]:
    """`rank_hybrid` in an index that holds these passages and no other."""
    return rank_hybrid(near, worded, means(near), *arguments, **options)


def kept(hits: list[Hit]) -> list[str]:
    return [hit.chunk.source_id for hit in hits if not hit.dropped]


def test_a_worked_example():
    """Four passages; the words of the question could reach 8; half the weight on either side.

    | id | cosine | meaning                   | BM25 | words | fused |
    |----|--------|---------------------------|------|-------|-------|
    | a  | 0.9    | (0.9 - 0.5) / 0.4 = 1     | –    | 0     | 0.5   |
    | b  | 0.7    | (0.7 - 0.5) / 0.4 = 0.5   | 6    | 0.75  | 0.625 |
    | c  | 0.6    | (0.6 - 0.5) / 0.4 = 0.25  | 2    | 0.25  | 0.25  |
    | d  | 0.5    | 0                         | 3    | 0.375 | 0.188 |
    """
    ranked = fuse(
        dense(("a", 0.9), ("b", 0.7), ("c", 0.6), ("d", 0.5)),
        lexical(("b", 6.0), ("d", 3.0), ("c", 2.0)),
        reachable=8.0,
        threshold=0.8,
        weight=0.5,
    )
    assert [
        (h.chunk.source_id, h.cosine, h.dense_rank, h.lexical_score, h.lexical_rank, h.dropped)
        for h in ranked
    ] == [
        ("b", 0.7, 2, 6.0, 1, ""),
        ("a", 0.9, 1, None, None, ""),
        ("c", 0.6, 3, 2.0, 3, ""),
        ("d", 0.5, 4, 3.0, 2, "beyond the best 3"),
    ]
    assert [hit.fused for hit in ranked] == pytest.approx([0.625, 0.5, 0.25, 0.1875])


def test_the_weight_is_the_part_of_the_meaning():
    near, worded = dense(("a", 0.9), ("b", 0.1)), lexical(("b", 1.0))
    assert kept(fuse(near, worded, 1.0, 0.5, weight=0.6)) == ["a", "b"]
    assert kept(fuse(near, worded, 1.0, 0.5, weight=0.4)) == ["b", "a"]


def test_a_cosine_counts_from_the_mean_of_its_language():
    """Every French passage is nearer to the French question than the English one that answers:
    means 0.85 and 0.75, so fr1 stands 0.01 above its own and en1 stands 0.05 above."""
    french = dense(("fr1", 0.86), ("fr2", 0.84), language="fr")
    english = dense(("en1", 0.80), ("en2", 0.70))
    ranked = fuse(in_order(french + english), [], 1.0, 0.8, weight=1.0, k=4)
    assert kept(ranked) == ["en1", "fr1", "fr2", "en2"]
    assert [hit.fused for hit in ranked] == pytest.approx([1, 0.6, 0.4, 0])
    assert [hit.dense_rank for hit in ranked] == [1, 2, 3, 4]
    assert [hit.cosine for hit in ranked] == [0.80, 0.86, 0.84, 0.70]  # cosines stay as they are


def test_in_one_language_the_order_is_that_of_the_cosines():
    found = dense(("a", 0.9), ("b", 0.7), ("c", 0.8))
    assert kept(fuse(found, [], 1.0, 0.5, weight=1.0)) == ["a", "c", "b"]


def test_only_the_best_of_each_side_are_candidates():
    near = dense(*((name, 0.9 - place / 100) for place, name in enumerate("abcdef")))
    worded = lexical(("f", 3.0), ("e", 2.0), ("d", 1.0))
    ranked = fuse(near, worded, 4.0, 0.5, 0.5, k=9, candidates=2)
    assert sorted(kept(ranked)) == ["a", "b", "e", "f"]
    (f,) = [hit for hit in ranked if hit.chunk.source_id == "f"]
    assert (f.dense_rank, f.cosine, f.fused) == (None, pytest.approx(0.85), 0.375)


def test_one_candidate_and_equal_cosines_are_the_best_there_is():
    assert [h.fused for h in fuse(dense(("a", 0.9)), [], 0.0, 0.5, 0.5)] == [0.5]
    both = fuse(dense(("b", 0.9), ("a", 0.9)), [], 0.0, 0.5, 0.5)
    assert [(hit.chunk.source_id, hit.fused) for hit in both] == [("a", 0.5), ("b", 0.5)]


def test_passages_that_say_the_same_take_one_place():
    text = "Every reading of the last hour is kept for three days on the gateway itself, then sent."
    rows = [("old", 0.9, date(2025, 1, 1)), ("new", 0.8, date(2026, 5, 1))]
    copies = [Hit(chunk(n, text, valid_from=day), cosine=c) for n, c, day in rows]
    ranked = fuse([*copies, *dense(("z", 0.7))], [], 1.0, 0.5, 1.0, k=2)
    assert kept(ranked) == ["new", "z"]
    assert {hit.chunk.source_id: hit.dropped for hit in ranked if hit.dropped} == {
        "old": "the same passage as new#0"
    }


# --- what decides --------------------------------------------------------------------------------


def test_a_near_passage_or_enough_words_will_do():
    """A quarter of 8 is 2."""
    far = dense(("a", 0.4))
    for near, worded, decides in [
        (dense(("a", 0.7)), [], 0.7),
        (far, lexical(("a", 1.99)), 0.4),
        (far, lexical(("a", 2.0)), 1.0),
        ([], [], -1.0),
    ]:
        ranked = fuse(near, worded, 8.0, 0.7, 0.5)
        assert support(ranked, 8.0) == decides
        assert bool(kept(ranked)) == (decides >= 0.7)


def test_the_threshold_decides_for_the_whole_question():
    """What is kept beside the nearest passage need not be as near: the answer may be there."""
    assert kept(fuse(dense(("a", 0.7), ("b", 0.2)), [], 1.0, 0.7, 0.5)) == ["a", "b"]


def test_a_refusal_says_what_would_have_been_enough():
    ranked = fuse(dense(("a", 0.41)), lexical(("a", 1.0)), 8.0, 0.7, 0.5)
    assert [hit.dropped for hit in ranked] == [
        "nothing found is near enough, in meaning or in words"
    ]
    refusal = hybrid_refusal(ranked, 8.0, 0.7)
    assert (refusal.reason, refusal.message) == (
        Reason.BELOW_THRESHOLD,
        "The nearest passage has cosine 0.41; at least 0.70 is needed, or 25% of the weight of the "
        "question's words, of which the best passage holds 12%.",
    )
    assert hybrid_refusal([], 0.0, 0.7).reason == Reason.NOTHING_ELIGIBLE


def test_what_words_could_reach():
    """csv has 0.5 at best, pdf 0.3; nothing knows "hush": ln(2 · 3 + 2), and "csv" counts once."""
    known = TermStatistics(3, {"csv": 2, "pdf": 1}, {"csv": 0.5, "pdf": 0.3})
    found = reachable_score(["csv", "hush", "csv", "pdf"], known)
    assert found == pytest.approx(0.5 + 0.3 + log(8))
    assert reachable_score([], known) == 0


@given(st.lists(any_words, max_size=8), any_words)
def test_no_passage_scores_more_than_the_words_could_reach(passages, question):
    index, asked = Bm25([terms(passage) for passage in passages]), terms(question)
    best = {term: max(index.postings(term)[1], default=0.0) for term in asked}
    held = {term: share for term, share in best.items() if share}
    reachable = reachable_score(asked, TermStatistics(len(passages), {}, held))
    for score in index.scores(asked):
        assert score <= reachable + 1e-9


@pytest.mark.parametrize("threshold", [nan, -1.01, 1.5, inf])
def test_a_threshold_that_is_no_cosine_is_refused_by_name(threshold):
    with pytest.raises(ValueError, match=r"^the threshold is .*; a cosine lies from -1 to 1\.$"):
        fuse(dense(("a", 0.9)), [], 1.0, threshold, 0.5)


cosines = st.sampled_from([-1.0, -0.2, 0.0, 0.5, 0.5, 0.9, 1.0])
rows = st.lists(st.tuples(cosines, st.sampled_from(["en", "fr"]), st.integers(0, 3)), max_size=8)


@given(rows, st.floats(0, 1), st.floats(-1, 1), st.integers(-1, 9), st.integers(0, 9))
def test_what_holds_for_any_two_lists(found, weight, threshold, k, candidates):
    near = in_order(
        [Hit(chunk(f"id{n}", language=lang), cosine=c) for n, (c, lang, _) in enumerate(found)]
    )
    scored = [(f"id{n}", float(score)) for n, (_, _, score) in enumerate(found) if score]
    worded = lexical(*sorted(scored, key=lambda pair: (-pair[1], pair[0])))
    before = [*near], [*worded]

    def rank(k: int) -> list[Hit]:
        return fuse(near, worded, 4.0, threshold, weight, k, candidates)

    ranked = rank(k)
    assert (near, worded) == before
    assert ranked == sorted(ranked, key=lambda hit: (-hit.fused, hit.chunk.id))
    assert all(0 <= hit.fused <= 1 + 1e-12 for hit in ranked)
    top = {hit.chunk.id for hit in worded[:candidates]}
    assert {hit.chunk.id for hit in ranked if hit.lexical_rank} == top
    assert sorted(hit.dense_rank for hit in ranked if hit.dense_rank) == [
        *range(1, min(len(near), candidates) + 1)
    ]
    assert kept(rank(k + 1))[: max(k, 0)] == kept(ranked)  # top-k is a prefix of top-(k+1)
    assert len(kept(ranked)) <= max(k, 0)
    if support(ranked, 4.0) < threshold:
        assert kept(ranked) == []


# --- the search ----------------------------------------------------------------------------------

DOCUMENTS = [
    document("export", "You can export CSV in Reporting from the Library page."),
    document("alerts", "The longest snooze of an alert is 7 days."),
    document("reset", "Hold the button of the GX-100 for ten seconds to reset it."),
    document("secret", "The export of margins stays inside Accounts.", scope="GLOBEX/readers"),
    document("old", "Alerts could be snoozed for 3 days.", valid_until=date(2026, 1, 31)),
]


def index(path: Path, documents: list[Document]) -> SqliteStore:
    documents = sorted(documents, key=lambda item: item.id)
    embedder, chunks = ToyEmbedder(), [whole(item) for item in documents]
    store = SqliteStore(path)
    vectors = embedder.embed([item.searchable for item in chunks], "passage")
    lock = manifest(documents, embedder=embedder.identity)
    store.replace_all(lock, documents, chunks, vectors, [])
    return store


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> SqliteStore:
    return index(tmp_path_factory.mktemp("hybrid") / "index.sqlite", DOCUMENTS)


def searching(store: SqliteStore, threshold: float = -1.0, k: int = 3) -> HybridSearch:
    return HybridSearch(store, ToyEmbedder(), threshold, k)


def test_the_search_finds_ranks_and_says_what_it_did(store: SqliteStore) -> None:
    found = searching(store).retrieve("How do I export CSV?", READER, DAY)
    assert found.hits[0].chunk.source_id == "export"
    assert found.refusal is None
    assert found.detail == {
        "policy": "hybrid",
        "threshold": -1.0,
        "k": 3,
        "weight": 0.5,
        "support": 1.0,
        "eligible": 3,
    }
    assert {hit.chunk.source_id for hit in found.ranked} == {"export", "alerts", "reset"}


def test_only_eligible_passages_are_seen_as_if_no_others_were_there(
    store: SqliteStore, tmp_path: Path
) -> None:
    may = [d for d in DOCUMENTS if admit(READER, DAY).admits(d.meta)]
    alone = searching(index(tmp_path / "alone.sqlite", may))
    for question in ("export", "snooze an alert for 3 days", "margins", "GX-100"):
        here = searching(store).retrieve(question, READER, DAY)
        there = alone.retrieve(question, READER, DAY)
        assert (here.ranked, here.detail) == (there.ranked, there.detail)
    nobody = searching(store).retrieve("export", Viewer("ACME", frozenset()), DAY)
    assert nobody.ranked == ()
    assert nobody.refusal is not None
    assert nobody.refusal.reason == Reason.NOTHING_ELIGIBLE


def test_far_in_meaning_and_in_words_is_a_refusal_with_the_nearest(store: SqliteStore) -> None:
    found = searching(store, threshold=1.0).retrieve("zzz qqq", READER, DAY)
    assert found.refusal is not None
    assert found.refusal.reason == Reason.BELOW_THRESHOLD
    assert found.hits == ()
    assert len(found.closest) == 3


def test_a_product_that_nothing_knows_is_refused_as_such(store: SqliteStore) -> None:
    found = searching(store).retrieve("reset of the GX-999", READER, DAY)
    assert found.refusal is not None
    assert found.refusal.reason == Reason.UNKNOWN_PRODUCT
    assert searching(store).retrieve("reset of the GX-100", READER, DAY).refusal is None


def test_the_index_of_another_model_is_refused(store: SqliteStore) -> None:
    other = HybridSearch(store, ToyEmbedder(model="other"), -1.0)
    with pytest.raises(StoreError, match="with another embedder"):
        other.retrieve("export", READER, DAY)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150)
@given(question=any_text.filter(str.strip) | any_words.filter(bool), k=st.integers(-1, 5))
def test_no_question_raises_under_either_policy(store: SqliteStore, question: str, k: int) -> None:
    for policy in (HybridSearch, StrictSearch):
        found = policy(store, ToyEmbedder(), 0.5, k).retrieve(question, READER, DAY)
        assert len(found.hits) <= max(k, 0)
        assert (found.refusal is None) == bool(found.hits)
        assert {h.chunk.source_id for h in found.ranked} <= {"export", "alerts", "reset"}


@pytest.mark.parametrize(
    "question",
    ['"', "AND OR NOT", "NEAR(a b)", "a*", "-export", "col:x", "' OR 1=1 --", "\0", "🧑‍🚀"],
)
def test_no_sign_is_an_operator(store: SqliteStore, question: str) -> None:
    by_words = replace(searching(store), weight=0.0)
    found = by_words.retrieve(f"export {question}", READER, DAY)
    assert found.ranked[0].chunk.source_id == "export"
