"""labkit.similarity: cosine and exact top-k, as taught."""

from __future__ import annotations

from itertools import pairwise
from math import inf, nan, sqrt

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from labkit.similarity import cosine, top_k
from strategies import matrices

coordinates = st.lists(st.floats(-100, 100, width=32), min_size=3, max_size=3)


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        ([1, 0], [1, 0], 1.0),
        ([1, 0], [0, 1], 0.0),
        ([1, 0], [-1, 0], -1.0),
        ([3, 4], [4, 3], 24 / 25),
        ([1, 0], [1, 1], 1 / sqrt(2)),
        ([1, 2, 2], [2, 1, 2], 8 / 9),
        ([5], [0.1], 1.0),
        ([1e-40, 0], [1e-40, 1e-40], 1 / sqrt(2)),
        ([1e38, 0], [1e38, 1e38], 1 / sqrt(2)),
    ],
)
def test_cosine_by_hand(a, b, expected):
    assert cosine(a, b) == pytest.approx(expected, abs=1e-15)


NO_DIRECTION = r"a vector is zero or holds NaN or infinity: it has no direction\."


@pytest.mark.parametrize(
    "broken", [[0.0, 0.0], [-0.0, 0.0], [nan, 1.0], [inf, 1.0], [-inf, inf], [1e300, 1e300], []]
)
def test_a_vector_without_direction_is_refused_on_either_side(broken):
    other = [1.0] * len(broken)
    for a, b in ((broken, other), (other, broken)):
        with pytest.raises(ValueError, match=f"^{NO_DIRECTION}$"):
            cosine(a, b)


def test_a_sum_that_overflows_is_refused_too():
    with pytest.raises(ValueError, match="has no direction"):
        cosine([1.3e154, 1.3e154], [1.3e154, 1.3e154])


def test_vectors_of_two_spaces_are_refused_with_both_dimensions():
    with pytest.raises(ValueError, match=r"^the vectors have 1 and 2 dimensions\.$"):
        cosine([1.0], [1.0, 2.0])


@given(coordinates.filter(any), coordinates.filter(any), st.integers(-20, 20))
def test_cosine_is_bounded_symmetric_and_blind_to_length(a, b, power):
    value = cosine(a, b)
    assert -1.0 <= value <= 1.0
    assert cosine(b, a) == value
    assert cosine([x * 2.0**power for x in a], b) == value  # a power of two rounds nothing
    assert cosine([x * 3 for x in a], b) == pytest.approx(value, abs=1e-12)
    assert cosine([-x for x in a], b) == -value
    assert cosine(a, a) == pytest.approx(1.0, abs=1e-15)


@given(coordinates.filter(any), coordinates.filter(any), st.permutations(range(3)))
def test_the_order_of_the_coordinates_changes_no_bit(a, b, order):
    assert cosine([a[i] for i in order], [b[i] for i in order]) == cosine(a, b)


def test_top_k_is_by_score_then_by_id():
    rows = [[0.0, 1.0], [2.0, 0.0], [1.0, 0.0], [1.0, 1.0]]
    found = top_k([1.0, 0.0], rows, ["d", "c", "b", "a"], 10)
    assert found == [("b", 1.0), ("c", 1.0), ("a", cosine([1, 0], [1, 1])), ("d", 0.0)]


@pytest.mark.parametrize(("k", "expected"), [(-1, 0), (0, 0), (1, 1), (3, 3), (99, 3)])
def test_any_k_is_served_with_what_there_is(k, expected):
    assert len(top_k([1.0], [[1.0], [2.0], [-1.0]], ["a", "b", "c"], k)) == expected


def test_nothing_is_found_among_nothing():
    assert top_k([1.0], [], [], 5) == []


def test_one_broken_vector_spoils_no_answer_silently():
    with pytest.raises(ValueError, match="no direction"):
        top_k([1.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], ["a", "b"], 1)
    with pytest.raises(ValueError, match="longer than"):
        top_k([1.0], [[1.0], [2.0]], ["a"], 1)


@given(matrices(), st.data())
def test_the_top_k_are_a_prefix_of_the_top_k_plus_one(rows, data):
    query = data.draw(st.sampled_from(rows.tolist()))
    ids = [f"id{number}" for number in range(len(rows))]
    lists = [top_k(query, rows.tolist(), ids, k) for k in range(len(rows) + 2)]
    for shorter, longer in pairwise(lists):
        assert longer[: len(shorter)] == shorter
    whole = lists[-1]
    assert whole == sorted(whole, key=lambda pair: (-pair[1], pair[0]))
    assert len(whole) == len(rows)


@given(matrices(), st.randoms(use_true_random=False))
def test_the_order_in_which_vectors_arrive_changes_nothing(rows, random):
    ids = [f"id{number}" for number in range(len(rows))]
    shuffled = list(zip(rows.tolist(), ids, strict=True))
    random.shuffle(shuffled)
    assume(shuffled)
    mixed = top_k([1.0, 2.0, 3.0], [row for row, _ in shuffled], [name for _, name in shuffled], 9)
    assert mixed == top_k([1.0, 2.0, 3.0], rows.tolist(), ids, 9)
