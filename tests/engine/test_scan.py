"""labkit.scan: the fast scan gives what the taught top-k gives, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import vectors
from labkit.scan import BLOCK, GATHER_BELOW, Scan, check_vectors
from labkit.similarity import top_k
from labkit.types import EmbeddingError
from strategies import matrices


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
def test_the_scan_equals_the_taught_top_k_bit_for_bit(rows, query, k):
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
def test_any_k_is_served_with_what_there_is(k, expected):
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
