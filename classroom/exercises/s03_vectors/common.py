"""What the exercises of stage 03 share."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Strategy
from labkit import similarity

Vector = list[float]
Scored = list[tuple[str, float]]
OFF_LIMITS = ("labkit.similarity", "classroom.exercises")


def dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=False))


def with_cosines(query: Vector, vectors: list[Vector], ids: list[str]) -> Scored:
    return [(i, similarity.cosine(query, v)) for i, v in zip(ids, vectors, strict=True)]


# Along an axis and of whole length: their cosines are the same whichever way one computes them, so
# that a tie is a tie in every right solution.
QUERIES = ([1.0, 0.0], [0.0, 2.0], [-3.0, 0.0], [0.0, -1.0])
VECTORS = (
    [1.0, 0.0],
    [3.0, 4.0],
    [0.0, 1.0],
    [6.0, 8.0],
    [-1.0, 0.0],
    [3.0, -4.0],
    [4.0, 3.0],
    [-4.0, -3.0],
    [5.0, 12.0],
    [0.0, -2.0],
    [-8.0, 15.0],
)


def hidden_searches(random: Random) -> Iterator[Arguments]:
    yield [1.0, 0.0], [], [], 3
    yield [2.0, 0.0], [[6.0, 8.0], [0.0, 1.0], [3.0, 4.0], [-1.0, 0.0]], ["d", "c", "b", "a"], 4
    yield [1.0, 0.0], [[1.0, 0.0], [3.0, 4.0]], ["b", "a"], -1
    yield [1.0, 0.0], [[1.0, 0.0], [3.0, 4.0]], ["b", "a"], 0
    yield [1.0, 0.0], [[1.0, 0.0]], ["a", "b"], 2
    yield [1.0, 0.0], [[1.0, 0.0], [0.0, 0.0]], ["a", "b"], 2
    yield [1.0, 0.0], [[1.0, 0.0, 0.0]], ["a"], 1
    for _ in range(24):
        count = random.randint(1, 8)
        ids = random.sample("abcdefghij", count)
        vectors = [list(random.choice(VECTORS)) for _ in ids]
        yield list(random.choice(QUERIES)), vectors, ids, random.randint(1, count + 1)


def any_search() -> Strategy:
    def search(drawn: tuple[int, int, int, list[Vector], str, Vector]) -> Arguments:
        count, k, extra, vectors, ids, query = drawn
        extra = extra if k > 0 else 0  # which of two reasons comes first is nobody's business
        return list(query), [list(v) for v in vectors[:count]], list(ids[: count + extra]), k

    # The counts are drawn as numbers of their own: that shrinks to the fewest vectors.
    return st.tuples(
        st.integers(0, 4),
        st.integers(-2, 5),
        st.sampled_from([0, 0, 0, 1]),
        st.lists(st.sampled_from(VECTORS), min_size=4, max_size=4),
        st.sampled_from(["abcde", "edcba"]),
        st.sampled_from(QUERIES),
    ).map(search)
