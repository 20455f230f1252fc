"""labkit.evaluation: metrics by hand and against trec_eval, means with their doubt."""

from __future__ import annotations

from math import inf, log2, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.evaluation import (
    Summary,
    bootstrap_interval,
    by_score,
    first_k,
    hit_at_k,
    ndcg_at_k,
    recall_at_k,
    reciprocal_rank,
    summarise,
    wilson_interval,
)

names = st.sampled_from("abcdefgh")
any_ranking = st.lists(names, max_size=12)  # ids may be repeated
rankings = st.lists(names, max_size=8, unique=True)
grades = st.dictionaries(names, st.integers(-2, 4), max_size=8)
depths = st.integers(1, 15)


# --- by hand -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ranked", "relevant", "k", "recall", "hit", "reciprocal"),
    [
        ("abc", "a", 1, 1, 1, 1),
        ("abc", "c", 2, 0, 0, 0),
        ("abc", "c", 3, 1, 1, 1 / 3),
        ("axb", "abc", 3, 2 / 3, 1, 1),  # the third is nowhere
        ("axb", "abc", 99, 2 / 3, 1, 1),  # k beyond the list
        ("ab", "abcd", 2, 1 / 2, 1, 1),  # more are relevant than k
        ("aab", "b", 2, 1, 1, 1 / 2),  # a repeated id takes one place
        ("aaa", "ab", 3, 1 / 2, 1, 1),  # and is found once
        ("", "a", 3, 0, 0, 0),  # a refusal
        ("abc", "", 3, None, None, None),  # nothing to find
        ("", "", 3, None, None, None),
    ],
)
def test_recall_hits_and_reciprocal_ranks_by_hand(ranked, relevant, k, recall, hit, reciprocal):
    assert recall_at_k([*ranked], {*relevant}, k) == recall
    assert hit_at_k([*ranked], {*relevant}, k) == hit
    assert reciprocal_rank([*ranked], {*relevant}, k) == reciprocal


def test_relevant_ids_that_are_repeated_count_once():
    assert recall_at_k(["a"], ["a", "a", "b"], 5) == 1 / 2
    assert reciprocal_rank(["x", "a"], ["a", "a"]) == 1 / 2


def test_a_reciprocal_rank_without_k_looks_at_the_whole_list():
    ranked = [f"x{n}" for n in range(99)]
    assert reciprocal_rank([*ranked, "a"], {"a"}) == 1 / 100
    assert reciprocal_rank([], {"a"}) == 0


def test_a_textbook_example_of_the_mean_reciprocal_rank():
    """Plurals of cat, torus and virus, guessed at ranks 3, 2 and 1: (1/3 + 1/2 + 1) / 3 = 11/18."""
    guesses = [
        (["catten", "cati", "cats"], {"cats"}),
        (["torii", "tori", "toruses"], {"tori"}),
        (["viruses", "virii", "viri"], {"viruses"}),
    ]
    assert summarise([reciprocal_rank(*guess) for guess in guesses]).mean == pytest.approx(11 / 18)


@pytest.mark.parametrize(
    ("ranked", "gains", "k", "expected"),
    [
        ("ab", {"a": 1}, 2, 1),
        ("xa", {"a": 1}, 2, 1 / log2(3)),
        ("xxa", {"a": 1}, 2, 1 / log2(3)),
        ("axb", {"a": 1, "b": 1}, 3, (1 + 1 / 2) / (1 + 1 / log2(3))),
        ("ba", {"a": 3, "b": 1}, 2, (1 + 3 / log2(3)) / (3 + 1 / log2(3))),
        ("b", {"a": 3, "b": 1}, 1, 1 / 3),
        ("a", {"a": 1, "b": 1}, 5, 1 / (1 + 1 / log2(3))),  # the other is missing
        ("a", {"a": 1, "b": 1}, 1, 1),  # one place, one relevant id in it
        ("za", {"z": 0, "a": 1}, 2, 1 / log2(3)),  # judged, and worth nothing
        ("za", {"z": -2, "a": 1}, 2, 1 / log2(3)),
        ("", {"a": 1}, 3, 0),
        ("a", {}, 3, None),
        ("a", {"a": 0, "b": -1}, 3, None),
        ("ab", {"a": 1e308, "b": 1e308}, 2, 1),  # no sum is infinite
        ("ab", {"a": 5e-324, "b": 5e-324}, 2, 1),
    ],
)
def test_ndcg_by_hand(ranked, gains, k, expected):
    assert ndcg_at_k([*ranked], gains, k) == (
        expected if expected is None else pytest.approx(expected)
    )


def test_a_textbook_example_of_graded_ndcg():
    """Six documents of grades 3, 2, 3, 0, 1, 2, and two more of 3 and 2 that were not found:
    DCG = 3 + 1.262 + 1.5 + 0 + 0.387 + 0.712 = 6.861, at best (3, 3, 3, 2, 2, 2) 8.740."""
    gains = {"d1": 3, "d2": 2, "d3": 3, "d4": 0, "d5": 1, "d6": 2, "d7": 3, "d8": 2}
    assert ndcg_at_k(["d1", "d2", "d3", "d4", "d5", "d6"], gains, 6) == pytest.approx(
        6.861127 / 8.740263, abs=1e-6
    )


def test_exponential_gains_are_the_callers_to_give():
    """Grades 3 and 1, the lesser first: gains 7 and 1."""
    gains = {name: 2**grade - 1 for name, grade in {"a": 3, "b": 1}.items()}
    expected = (1 + 7 / log2(3)) / (7 + 1 / log2(3))
    assert ndcg_at_k(["b", "a"], gains, 2) == pytest.approx(expected)


@pytest.mark.parametrize("gain", [nan, inf, -inf])
def test_a_gain_that_is_no_number_is_refused_by_name(gain):
    with pytest.raises(ValueError, match=rf"^the gain of 'b' is {gain}; it must be finite\.$"):
        ndcg_at_k(["a"], {"a": 1, "b": gain}, 3)


@pytest.mark.parametrize("k", [0, -1])
def test_a_k_below_one_is_refused(k):
    message = rf"^k is {k}; it must be 1 or more\.$"
    for metric in (recall_at_k, hit_at_k, reciprocal_rank):
        with pytest.raises(ValueError, match=message):
            metric(["a"], {"a"}, k)
    with pytest.raises(ValueError, match=message):
        ndcg_at_k(["a"], {"a": 1}, k)


def test_ids_are_cut_and_ordered_as_promised():
    assert first_k(["b", "b", "a", "b", "c"], 2) == ["b", "a"]
    assert first_k(["a"], 9) == ["a"]
    assert by_score({"b10": 0.5, "b2": 0.5, "a": 0.1, "z": 0.9}) == ["z", "b10", "b2", "a"]


# --- for any list --------------------------------------------------------------------------------


def scores_of(ranked, gains, k):
    relevant = [name for name, gain in gains.items() if gain > 0]
    return {
        "recall": recall_at_k(ranked, relevant, k),
        "hit": hit_at_k(ranked, relevant, k),
        "reciprocal": reciprocal_rank(ranked, relevant, k),
        "ndcg": ndcg_at_k(ranked, gains, k),
    }


@given(
    any_ranking, st.dictionaries(names, st.floats(allow_nan=False, allow_infinity=False)), depths
)
def test_every_score_lies_between_0_and_1_or_is_none_for_want_of_anything_relevant(
    ranked, gains, k
):
    some = any(gain > 0 for gain in gains.values())
    for name, score in scores_of(ranked, gains, k).items():
        assert (score is not None) == some, name
        assert score is None or 0 <= score <= 1, name


@given(any_ranking, grades, depths)
def test_a_repeated_id_changes_nothing(ranked, gains, k):
    assert scores_of(ranked, gains, k) == scores_of([*dict.fromkeys(ranked)], gains, k)


@given(grades, depths)
def test_the_best_order_scores_1(gains, k):
    best = ndcg_at_k(by_score(gains), gains, k)
    assert best == (pytest.approx(1) if max(gains.values(), default=0) > 0 else None)


@given(any_ranking, grades, depths)
def test_looking_further_down_never_lowers_recall_hits_and_reciprocal_ranks(ranked, gains, k):
    near, far = scores_of(ranked, gains, k), scores_of(ranked, gains, k + 1)
    for name in ("recall", "hit", "reciprocal"):
        assert near[name] is None or near[name] <= far[name]


# --- equal to trec_eval --------------------------------------------------------------------------


def trec_eval(ranked, gains, k):
    """The same metrics by trec_eval's own code. It breaks ties by descending id, so every score is
    another here; its reciprocal rank knows no k, so it is given the first k alone."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    run = {name: float(len(ranked) - place) for place, name in enumerate(ranked)}
    judge = pytrec_eval.RelevanceEvaluator(
        {"q": gains}, {f"recall.{k}", f"success.{k}", f"ndcg_cut.{k}"}
    )
    first = pytrec_eval.RelevanceEvaluator({"q": gains}, {"recip_rank"})
    found = judge.evaluate({"q": run})["q"]
    return {
        "recall": found[f"recall_{k}"],
        "hit": found[f"success_{k}"],
        "reciprocal": first.evaluate({"q": {n: run[n] for n in ranked[:k]}})["q"]["recip_rank"],
        "ndcg": found[f"ndcg_cut_{k}"],
    }


@given(
    rankings.filter(bool),
    grades.filter(lambda gains: max(gains.values(), default=0) > 0),
    depths,
)
def test_the_metrics_are_those_of_trec_eval(ranked, gains, k):
    assert scores_of(ranked, gains, k) == pytest.approx(trec_eval(ranked, gains, k), abs=1e-9)


# --- means ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("right", "n", "low", "high"),
    [
        (81, 263, 0.2553, 0.3662),  # the examples of Newcombe, Statistics in Medicine 17 (1998)
        (15, 148, 0.0624, 0.1605),
        (0, 20, 0.0, 0.1611),
        (1, 29, 0.0061, 0.1718),
    ],
)
def test_published_wilson_intervals(right, n, low, high):
    assert wilson_interval(right / n, n) == pytest.approx((low, high), abs=5e-5)


@given(st.floats(0, 1), st.integers(1, 10_000))
def test_wilsons_interval_holds_its_share_and_stays_within_0_and_1(share, n):
    low, high = wilson_interval(share, n)
    assert 0 <= low <= share <= high <= 1
    assert high - low > 0


@pytest.mark.parametrize(("share", "n"), [(1.1, 5), (-0.1, 5), (nan, 5), (0.5, 0)])
def test_no_interval_for_what_is_no_share(share, n):
    with pytest.raises(ValueError, match="it must be from 0 to 1, n at least 1"):
        wilson_interval(share, n)


def test_a_bootstrap_is_repeatable_and_close_to_the_normal_interval():
    values = [number % 11 / 10 for number in range(330)]  # mean 0.5, variance 0.1
    assert bootstrap_interval(values, seed=7) == bootstrap_interval(values, seed=7)
    assert bootstrap_interval(values, seed=7) != bootstrap_interval(values, seed=8)
    reach = 1.96 * (0.1 / 330) ** 0.5
    assert bootstrap_interval(values) == pytest.approx((0.5 - reach, 0.5 + reach), abs=0.005)
    with pytest.raises(ValueError, match="there are no values"):
        bootstrap_interval([])


def test_a_mean_says_over_how_many_and_how_many_were_left_out():
    found = summarise([1.0, None, 0.0, 1.0, None])
    assert (found.n, found.excluded, found.mean, found.method) == (3, 2, 2 / 3, "wilson")
    assert (found.low, found.high) == wilson_interval(2 / 3, 3)
    assert str(found) == "0.667 [0.21, 0.94]"


@pytest.mark.parametrize("scores", [[], [None], [None, None]])
def test_a_mean_of_nothing_is_none_and_never_nan(scores):
    found = summarise(scores)
    assert found == Summary(0, len(scores), None, None, None, "none")
    assert str(found) == "–"


def test_few_scores_and_shares_get_wilsons_interval_and_others_a_bootstrap():
    assert summarise([0.5] * 19).method == "wilson"
    assert summarise([0.5, 0.7] * 10).method == "bootstrap"
    assert summarise([1.0] * 100).method == "wilson"
    assert summarise([1.0] * 100).low < 1  # 100 of 100 is no certainty


@pytest.mark.parametrize("score", [nan, inf, -0.1, 1.1])
def test_a_score_that_is_none_of_ours_is_refused(score):
    with pytest.raises(ValueError, match=rf"^a score is {score}; it must be from 0 to 1\.$"):
        summarise([1.0, score])


@given(st.lists(st.one_of(st.none(), st.floats(0, 1)), max_size=40))
def test_every_mean_lies_in_its_interval_and_counts_every_question(scores):
    found = summarise(scores)
    assert found.n + found.excluded == len(scores)
    if found.n:
        assert 0 <= found.low <= found.mean <= found.high <= 1
