"""labkit.ranking.lexical: BM25."""

from __future__ import annotations

from collections import Counter
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.ranking.lexical import Bm25, bm25_scores
from labkit.text import terms

words = st.lists(st.sampled_from("abcdef"), max_size=8)
corpora = st.lists(words, max_size=12)


def naive(query, passages, k1=1.2, b=0.75):
    """The formula, word by word."""
    average = sum(len(p) for p in passages) / len(passages) if passages else 0
    scores = []
    for passage in passages:
        score = 0.0
        for term in set(query):
            frequency = Counter(passage)[term]
            holding = sum(term in other for other in passages)
            if frequency:
                idf = log(1 + (len(passages) - holding + 0.5) / (holding + 0.5))
                norm = k1 * (1 - b + b * len(passage) / average)
                score += idf * frequency / (frequency + norm)
        scores.append(score)
    return scores


def test_bm25_by_hand():
    """Two passages of 2 and 1 terms, 1.5 on average; "csv" stands in one of them.

    idf = ln(1 + 1.5 / 1.5) = ln 2; norm = 1.2 · (0.25 + 0.75 · 2 / 1.5) = 1.5; 1 / (1 + 1.5) = 0.4
    """
    assert bm25_scores(["csv"], [["csv", "export"], ["pdf"]]) == pytest.approx([0.4 * log(2), 0.0])


def test_a_published_example_of_growing_frequency():
    """One word in all of four passages: idf = ln(1 + 0.5 / 4.5); its scores carry k1 + 1 = 2.2."""
    passages = [["rrf"] * times for times in (1, 2, 3, 4)]
    published = [0.13963442, 0.15350538, 0.15876243, 0.16152832]
    assert [2.2 * s for s in bm25_scores(["rrf"], passages)] == pytest.approx(published, abs=1e-6)


def test_a_word_in_every_passage_still_ranks():
    found = Bm25([["a", "b"], ["a"], ["a", "b", "b"]]).top_k(["a"], 5, ["x", "y", "z"])
    assert [row for row, _ in found] == [1, 0, 2]
    assert all(score > 0 for _, score in found)


@pytest.mark.parametrize("k", [-1, 0])
def test_no_k_gives_nothing(k):
    assert Bm25([["a"]]).top_k(["a"], k, ["x"]) == []


def test_an_empty_corpus_empty_passages_and_an_empty_question_find_nothing():
    assert Bm25([]).top_k(["a"], 3, []) == []
    assert bm25_scores(["a"], []) == []
    assert Bm25([[], []]).top_k(["a"], 3, ["x", "y"]) == []
    assert Bm25([["a"], []]).top_k([], 3, ["x", "y"]) == []
    assert Bm25([["a"], []]).top_k(["a"], 3, ["x", "y"]) == [(0, pytest.approx(0.2236, abs=1e-4))]


def test_a_passage_without_the_words_is_no_hit_even_if_k_asks_for_more():
    found = Bm25([["a"], ["b"], ["c"]]).top_k(["a", "z"], 3, ["x", "y", "z"])
    assert [row for row, _ in found] == [0]


def test_ties_are_in_order_of_id_and_not_of_row():
    found = Bm25([["a"], ["b"], ["a"], ["a"]]).top_k(["a"], 2, ["c2", "b", "c10", "a"])
    assert [row for row, _ in found] == [3, 2]


def test_sums_that_differ_only_by_rounding_tie():
    """The same three shares, met in another order: the ids decide."""
    shapes = [(1, 2, 3), (3, 1, 2), (2, 3, 1), (1, 3, 2), (2, 1, 3), (3, 2, 1)]
    passages = [[*"a" * x, *"b" * y, *"c" * z] for x, y, z in shapes] + [["d"] * 6] * 20
    ids = [f"{9 - number}" for number in range(len(shapes))] + ["z"] * 20
    for k in range(1, 7):
        found = Bm25(passages).top_k(["a", "b", "c"], k, ids)
        assert [ids[row] for row, _ in found] == ["4", "5", "6", "7", "8", "9"][:k]


def test_a_repeated_question_word_counts_once():
    passages = [["a", "b"], ["b"]]
    assert bm25_scores(["a", "a", "b"], passages) == bm25_scores(["b", "a"], passages)


def test_k1_and_b_are_honoured():
    passages = [["a", "a"], ["a", "x", "y", "z"]]
    flat = Bm25(passages, k1=0.0).scores(["a"])
    assert flat[0] == flat[1]  # k1 = 0: only whether the word occurs
    lengths = Bm25([["a"], ["a", *"xyz"]], b=0.0).scores(["a"])
    assert lengths[0] == lengths[1]  # b = 0: length does not matter
    assert Bm25(passages, k1=0.9, b=0.4).scores(["a"]) == pytest.approx(
        naive(["a"], passages, k1=0.9, b=0.4)
    )


@given(corpora, words)
def test_scores_are_those_of_the_formula(passages, query):
    assert bm25_scores(query, passages) == pytest.approx(naive(query, passages))


@given(corpora, words, st.integers(-1, 14))
def test_the_best_k_are_all_above_zero_in_order_and_a_prefix_of_more(passages, query, k):
    ids = [f"id{number}" for number in range(len(passages))]
    index = Bm25(passages)
    found = index.top_k(query, k, ids)
    everything = index.top_k(query, len(passages) + 1, ids)
    assert found == everything[: max(k, 0)]
    assert everything == sorted(everything, key=lambda pair: (-pair[1], ids[pair[0]]))
    assert {row for row, _ in everything} == {
        row for row, passage in enumerate(passages) if set(passage) & set(query)
    }
    assert [score for _, score in everything] == pytest.approx(
        [index.scores(query)[row] for row, _ in everything]
    )


def test_questions_of_any_form_meet_their_passage():
    passages = [
        "L’œuvre d’Orléans",
        "Vitamin C",
        "The C++ client",
        "出口报告",
        "Gateways GX-100/GX-200",
    ]
    index, ids = Bm25([terms(text) for text in passages]), list("abcde")
    for question, expected in [
        ("oeuvre orleans", 0),
        ("L'ŒUVRE", 0),
        ("vitamin c?", 1),
        ('"C++" AND NEAR(*)', 2),
        ("报告", 3),
        ("Is the gx-200 sold?", 4),
    ]:
        assert index.top_k(terms(question), 1, ids)[0][0] == expected, question
