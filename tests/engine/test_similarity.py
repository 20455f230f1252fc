"""labkit.similarity: cosine and exact top-k, as taught and as run; both give the same lists."""

from __future__ import annotations

from itertools import pairwise
from math import fsum, inf, nan, sqrt

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from builders import vectors
from labkit import similarity
from labkit.similarity import (
    BLOCK,
    DIGITS,
    GATHER_BELOW,
    Scan,
    check_vectors,
    cosine,
    cosines,
    mean_direction,
    top_k,
)
from labkit.types import EmbeddingError
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
    assert found == [("b", 1.0), ("c", 1.0), ("a", 0.707106781187), ("d", 0.0)]


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


# --- the fast form -------------------------------------------------------------------------------


def names(count: int) -> list[str]:
    """Ids whose order is not that of the rows: id9 stands after id10."""
    return [f"id{number}" for number in range(count)]


def taught(query, rows, ids, k, among=None):
    among = range(len(ids)) if among is None else among
    return top_k(query.tolist(), [rows[i].tolist() for i in among], [ids[i] for i in among], k)


def fast(query, rows, ids, k, among=None):
    among = None if among is None else np.array(among, dtype=np.intp)
    return [(ids[row], score) for row, score in Scan(rows, ids).top_k(query, k, among)]


# --- equality with the taught form ---------------------------------------------------------------


@given(matrices(), matrices(max_rows=1), st.integers(-1, 35))
@settings(max_examples=150)
def test_the_fast_form_equals_the_taught_top_k_bit_for_bit(rows, query, k):
    ids = names(len(rows))
    assert fast(query[0], rows, ids, k) == taught(query[0], rows, ids, k)


@given(matrices(), matrices(max_rows=1), st.integers(-1, 35), st.data())
@settings(max_examples=100)
def test_a_scan_of_some_rows_equals_a_scan_of_a_set_without_the_others(rows, query, k, data):
    ids = names(len(rows))
    among = sorted(data.draw(st.sets(st.sampled_from(range(len(rows))))))
    found = fast(query[0], rows, ids, k, among)
    assert found == taught(query[0], rows, ids, k, among)
    assert len(found) == min(max(k, 0), len(among))  # few rows left still fill k
    if among:
        assert found == fast(query[0], rows[among], [ids[i] for i in among], k)


@pytest.fixture(scope="module")
def many():
    """More rows than a block holds, with duplicates and neighbours one float32 step apart."""
    random = np.random.default_rng(7)
    rows = random.normal(size=(BLOCK * 2 + 37, 16)).astype(np.float32)
    rows[BLOCK - 3 : BLOCK + 3] = rows[5]  # twins on both sides of a block's border
    rows[-40:-1] = rows[5]
    rows[-20:-1, 0] = np.nextafter(rows[5, 0], np.float32(9), dtype=np.float32)
    return Scan(rows, names(len(rows))), rows, rows[5].copy()


@pytest.mark.parametrize("k", [1, 5, 30, 45, 46, 500])
def test_twins_and_near_twins_in_several_blocks_come_in_exact_order(many, k):
    scan, rows, query = many
    ids = scan.ids
    assert [(ids[row], s) for row, s in scan.top_k(query, k)] == taught(query, rows, ids, k)


@pytest.mark.parametrize("share", [0.01, 0.09, 0.11, 0.5])
def test_gathering_few_rows_and_scanning_all_give_the_same(many, share):
    scan, rows, query = many
    among = np.linspace(0, len(rows) - 1, int(share * len(rows)), dtype=np.intp)
    assert (len(among) < GATHER_BELOW * len(rows)) == (share < GATHER_BELOW)
    found = [(scan.ids[row], score) for row, score in scan.top_k(query, 12, among)]
    assert found == taught(query, rows, scan.ids, 12, among)


@pytest.mark.parametrize("dimension", [384, 1024])
def test_vectors_that_nearly_agree_in_many_dimensions_keep_their_order(dimension):
    random = np.random.default_rng(dimension)
    rows = (1 + random.normal(size=(200, dimension)) * 1e-3).astype(np.float32)
    query = np.ones(dimension, dtype=np.float32)
    assert fast(query, rows, names(200), 7) == taught(query, rows, names(200), 7)


@pytest.mark.parametrize("scale", [1e-44, 1e-38, 1e-20, 1e20, 1e38])
@pytest.mark.parametrize("gather", [False, True])
def test_very_short_and_very_long_vectors_are_ranked_by_direction_alone(scale, gather):
    random = np.random.default_rng(3)
    rows = random.integers(1, 3, size=(60, 8)).astype(np.float32)
    rows[30] *= np.float32(scale)
    among = [10, 20, 30, 40] if gather else None
    query = rows[30].copy()
    assert fast(query, rows, names(60), 2, among) == taught(query, rows, names(60), 2, among)


# --- any k, no rows, no vectors ------------------------------------------------------------------


@pytest.mark.parametrize(("k", "expected"), [(-3, 0), (0, 0), (1, 1), (2, 2), (2**31 - 1, 2)])
def test_any_k_is_served_by_the_fast_form_with_what_there_is(k, expected):
    found = Scan(vectors([1, 0], [0, 1]), ["a", "b"]).top_k(vectors([1, 1])[0], k)
    assert len(found) == expected


def test_no_rows_and_an_empty_set_find_nothing():
    query = vectors([1, 0])[0]
    assert Scan(vectors([1, 0]), ["a"]).top_k(query, 3, np.array([], dtype=np.intp)) == []
    assert Scan(np.empty((0, 2), dtype=np.float32), []).top_k(query, 3) == []


def test_searching_changes_neither_the_query_nor_the_vectors():
    rows, query = vectors([3, 4], [1, 0]), vectors([2, 1])[0]
    before = rows.copy(), query.copy()
    Scan(rows, ["a", "b"]).top_k(query, 2)
    assert (rows == before[0]).all()
    assert (query == before[1]).all()


# --- what is refused, and by which name ----------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (vectors([1, 0], [np.nan, 1]), "b: the vector holds NaN or infinity."),
        (vectors([1, 0], [1, -np.inf]), "b: the vector holds NaN or infinity."),
        (vectors([1, 0], [0, 0]), "b: the vector is zero."),
        (vectors([0, -0.0], [0, 0]), "a: the vector is zero."),
        (vectors([1, 0]), "expected 2 float32 vectors in rows, got float32 (1, 2)."),
        (np.ones((2, 2)), "expected 2 float32 vectors in rows, got float64 (2, 2)."),
        (np.ones(2, np.float32), "expected 2 float32 vectors in rows, got float32 (2,)."),
        (np.ones((2, 2), ">f4"), "expected 2 float32 vectors in rows, got >f4 (2, 2)."),
        (np.empty((2, 0), np.float32), "a: the vector is zero."),
    ],
)
def test_broken_vectors_are_refused_with_the_id_of_the_first(rows, message):
    for refused in (lambda: check_vectors(rows, ["a", "b"]), lambda: Scan(rows, ["a", "b"])):
        with pytest.raises(EmbeddingError) as caught:
            refused()
        assert str(caught.value) == message


def test_another_dimension_is_refused():
    with pytest.raises(EmbeddingError) as caught:
        check_vectors(vectors([1, 0]), ["a"], dimension=3)
    assert str(caught.value) == "a: expected 3 dimensions, got 2."


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ([0, 0], "query: the vector is zero."),
        ([np.nan, 0], "query: the vector holds NaN or infinity."),
        ([1, 0, 0], "query: expected 2 dimensions, got 3."),
    ],
)
def test_a_broken_query_is_refused(query, message):
    with pytest.raises(EmbeddingError) as caught:
        Scan(vectors([1, 0]), ["a"]).top_k(vectors(query)[0], 1)
    assert str(caught.value) == message


def test_vectors_too_short_for_float32_squares_are_not_called_zero():
    tiny = np.full((1, 2), 1e-44, dtype=np.float32)
    assert fast(tiny[0], tiny, ["a"], 1)[0][0] == "a"


def test_rows_in_another_memory_order_are_read_right():
    rows = np.asfortranarray(vectors([1, 2, 3], [3, 2, 1], [1, 1, 1]))
    strided = np.repeat(rows, 2, axis=0)[::2]
    query = vectors([1, 2, 3])[0]
    for form in (rows, strided):
        assert fast(query, form, names(3), 3) == taught(query, rows, names(3), 3)


# --- one rounding, whatever is scored beside a row -----------------------------------------------


@given(matrices(dimension=5), matrices(max_rows=1, dimension=5), st.data())
def test_a_score_does_not_depend_on_what_is_scored_with_it(rows, query, data):
    among = data.draw(st.permutations(range(len(rows))).map(lambda p: p[: len(p) // 2 + 1]))
    together = cosines(query[0], rows)
    assert cosines(query[0], rows[among]).tolist() == together[among].tolist()
    assert together.tolist() == [round(cosine(query[0].tolist(), r), DIGITS) for r in rows.tolist()]


def test_where_the_rounding_hangs_on_the_last_bits_exact_sums_decide(monkeypatch):
    """Sums that err by a few units in the last place give the same scores as exact ones."""
    random = np.random.default_rng(11)
    rows = random.normal(size=(4000, 384)).astype(np.float32)
    expected = [round(cosine(rows[0].tolist(), row), DIGITS) for row in rows.tolist()]
    counted = []
    monkeypatch.setattr(similarity, "cosine", lambda a, b: counted.append(1) or cosine(a, b))
    assert cosines(rows[0], rows).tolist() == expected
    assert 10 < len(counted) < 100, "about one in a hundred"
    backwards = cosines(rows[0, ::-1].copy(), rows[:, ::-1].copy())  # another order of adding
    assert backwards.tolist() == expected


def test_only_what_comes_near_the_best_k_is_scored_exactly(monkeypatch):
    random = np.random.default_rng(5)
    rows = random.normal(size=(5000, 384)).astype(np.float32)
    rows[100:140] = rows[7]  # forty ties
    scan = Scan(rows, names(len(rows)))
    scored, summed = [], []
    monkeypatch.setattr(
        similarity, "cosines", lambda query, part: scored.append(len(part)) or cosines(query, part)
    )
    monkeypatch.setattr(similarity, "fsum", lambda parts: summed.append(1) or fsum(parts))
    for k in (1, 10, 1000):
        assert len(scan.top_k(rows[7], k)) == k
    assert scored == [41, 41, pytest.approx(1000, abs=5)]
    assert len(summed) < 3 * 50


def test_the_mean_direction_gives_the_mean_of_the_cosines():
    rows = vectors([3, 4], [0, 2], [-1, 0])
    assert mean_direction(rows).tolist() == pytest.approx([(0.6 - 1) / 3, (0.8 + 1) / 3])
    random = np.random.default_rng(2)
    many, query = (random.normal(size=(n, 16)).astype(np.float32) for n in (BLOCK + 9, 1))
    mean = np.mean(cosines(query[0], many))
    asked = query[0].astype(float) / np.linalg.norm(query[0].astype(float))
    assert float(asked @ mean_direction(many)) == pytest.approx(mean, abs=1e-12)
