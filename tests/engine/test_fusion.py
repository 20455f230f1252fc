"""labkit.ranking.fusion: reciprocal rank fusion."""

from __future__ import annotations

import copy
import re
from fractions import Fraction
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.ranking.fusion import reciprocal_rank_fusion as fuse

rankings = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=7), max_size=4)


@pytest.mark.parametrize(
    ("lists", "k", "expected"),
    [
        ([["a"]], 60, [("a", 1 / 61)]),  # ranks count from 1
        ([["a", "b"], ["b", "a"]], 60, [("a", 1 / 61 + 1 / 62), ("b", 1 / 61 + 1 / 62)]),
        ([["a", "b"], ["b"]], 1, [("b", 1 / 3 + 1 / 2), ("a", 1 / 2)]),  # a missing one adds 0
        ([["b"], ["a"]], 1, [("a", 0.5), ("b", 0.5)]),  # ties by id
        ([["a", "a", "b"]], 1, [("a", 1 / 2), ("b", 1 / 3)]),  # a repeated id takes one place
        ([["a", "b"]], 0, [("a", 1.0), ("b", 0.5)]),
        ([[], ["a"]], 60, [("a", 1 / 61)]),
        ([[]], 60, []),
        ([], 60, []),
    ],
)
def test_fusion_by_hand(lists, k, expected):
    found = fuse(lists, k)
    assert [name for name, _ in found] == [name for name, _ in expected]
    assert [score for _, score in found] == pytest.approx([score for _, score in expected])


def test_the_constant_of_the_paper_is_the_default():
    assert fuse([["a", "b"]]) == [("a", 1 / 61), ("b", 1 / 62)]


def test_weights_are_honoured():
    found = fuse([["a", "b"], ["b", "c", "d"]], k=1, weights=[0.3, 0.7])
    assert dict(found) == pytest.approx({"a": 0.15, "b": 0.45, "c": 0.175 / 0.75, "d": 0.175})
    assert [name for name, _ in found] == ["b", "c", "d", "a"]
    assert fuse([["a"], ["b"]], k=1, weights=[0, 1]) == [("b", 0.5), ("a", 0.0)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weights": [1.0]}, "1 weights for 2 rankings."),
        ({"weights": [1.0, 2.0, 3.0]}, "3 weights for 2 rankings."),
        ({"weights": [1.0, -0.5]}, "a weight is -0.5; it must be finite and not below 0."),
        ({"weights": [nan, 1.0]}, "a weight is nan; it must be finite and not below 0."),
        ({"weights": [1.0, inf]}, "a weight is inf; it must be finite and not below 0."),
        ({"k": -1}, "k is -1; it must be finite and not below 0."),
        ({"k": nan}, "k is nan; it must be finite and not below 0."),
    ],
)
def test_settings_that_make_no_ranking_are_refused(options, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        fuse([["a"], ["b"]], **options)


@pytest.mark.parametrize("order", [("z", "a"), ("a", "z")])
def test_equal_sums_tie_whatever_the_order_of_the_lists(order):
    """1/61 + 1/62 + 1/70 differs from 1/70 + 1/61 + 1/62 in its last bit, added as it comes."""
    first, second = order
    fill = [f"f{number}" for number in range(20)]
    ranks = {first: (1, 2, 10), second: (10, 1, 2)}
    lists = []
    for number in range(3):
        ranking = fill.copy()
        for name in sorted(ranks, key=lambda name: ranks[name][number]):
            ranking.insert(ranks[name][number] - 1, name)
        lists.append(ranking)
    scores = dict(fuse(lists))
    assert scores["a"] == scores["z"]
    assert [name for name, _ in fuse(lists) if name in "az"] == ["a", "z"]


@given(rankings, st.integers(0, 100))
def test_fusion_is_the_sum_of_reciprocal_ranks_in_order_of_score_and_id(lists, k):
    before = copy.deepcopy(lists)
    found = fuse(lists, k)
    assert lists == before  # inputs are not mutated
    exact: dict[str, Fraction] = {}
    for ranking in lists:
        for rank, name in enumerate(dict.fromkeys(ranking), start=1):
            exact[name] = exact.get(name, Fraction(0)) + Fraction(1, k + rank)
    assert dict(found) == pytest.approx({name: float(score) for name, score in exact.items()})
    assert found == sorted(found, key=lambda pair: (-pair[1], pair[0]))


@given(rankings)
def test_the_order_of_the_rankings_changes_nothing(lists):
    assert fuse(lists[::-1]) == fuse(lists)


@given(rankings.filter(bool), st.integers(1, 3))
def test_a_ranking_of_weight_n_counts_like_n_rankings(lists, times):
    weights = [times, *[1] * (len(lists) - 1)]
    repeated = dict(fuse([lists[0]] * times + lists[1:]))
    assert dict(fuse(lists, weights=weights)) == pytest.approx(repeated)
