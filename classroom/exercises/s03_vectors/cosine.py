"""Measure the angle between two vectors

Return the cosine of the angle between the vectors `a` and `b`: their dot product, divided by the
product of their norms (a norm is the square root of the sum of the squares). Raise `ValueError`
where there is no such angle: for vectors of different lengths, for a vector that is empty or all
zeros, and for NaN or infinity in either.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s03_vectors.common import Vector, dot
from labkit import similarity


def cosine(a: list[float], b: list[float]) -> float:
    """The cosine of the angle between two vectors, from -1 to 1."""
    import math

    if len(a) != len(b):
        raise ValueError(f"the vectors have {len(a)} and {len(b)} dimensions")
    if not all(math.isfinite(x) for x in [*a, *b]):
        raise ValueError("a vector holds NaN or infinity")
    if not any(a) or not any(b):
        raise ValueError("a zero vector has no direction")
    product = sum(x * y for x, y in zip(a, b, strict=True))
    return product / (math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b)))


def norms_forgotten(a: Vector, b: Vector) -> float:
    """The norms are forgotten: this is the dot product, which grows with the vectors' lengths."""
    cosine(a, b)
    return dot(a, b)


def one_norm_forgotten(a: Vector, b: Vector) -> float:
    """Only one of the two norms is divided by: the result still grows with the other vector."""
    cosine(a, b)
    return dot(a, b) / math.hypot(*a)


def roots_forgotten(a: Vector, b: Vector) -> float:
    """A norm is the square root of the sum of squares: the root is missing."""
    cosine(a, b)
    return dot(a, b) / (dot(a, a) * dot(b, b))


def zero_scored(a: Vector, b: Vector) -> float:
    """A zero vector gets a score: it has no direction, and a broken embedding looks unrelated."""
    if len(a) == len(b) and (not any(a) or not any(b)):
        return 0.0
    return cosine(a, b)


def zero_divided(a: Vector, b: Vector) -> float:
    """A zero vector ends in a division by zero: refuse it with a ValueError before you divide."""
    if len(a) == len(b) and (not any(a) or not any(b)):
        raise ZeroDivisionError
    return cosine(a, b)


def lengths_ignored(a: Vector, b: Vector) -> float:
    """Vectors of different lengths are compared: zip stops at the shorter one without a word."""
    shared = min(len(a), len(b))
    cosine(a[:shared], b[:shared])
    return dot(a, b) / (math.hypot(*a) * math.hypot(*b))


def not_a_number_accepted(a: Vector, b: Vector) -> float:
    """NaN or infinity is accepted: it makes a score that no ranking can place."""
    if len(a) == len(b) and not all(map(math.isfinite, [*a, *b])):
        return math.nan
    return cosine(a, b)


def sign_lost(a: Vector, b: Vector) -> float:
    """Opposite vectors count as alike: keep the sign of the product."""
    return abs(cosine(a, b))


def distance_returned(a: Vector, b: Vector) -> float:
    """This is a distance, smallest for vectors that agree: the cosine is largest there."""
    return 1 - cosine(a, b)


_INFINITIES = (math.inf, -math.inf, math.nan)


def _hidden_pairs(random: Random) -> Iterator[Arguments]:
    yield [0.0, 0.0], [0.0, 0.0]
    yield [1.0, 0.0], [0.0, 0.0]
    yield [1.0, 2.0], [1.0, 2.0, 3.0]
    yield [], []
    yield [math.nan, 1.0], [1.0, 1.0]
    yield [1.0, 1.0], [1.0, -math.inf]
    yield [3.0, 4.0], [-3.0, -4.0]
    for _ in range(24):
        size = random.randint(1, 6)
        yield tuple([round(random.uniform(-9, 9), 2) for _ in range(size)] for _ in "ab")


def _any_pair() -> Strategy:
    numbers = st.sampled_from([2.0, 0.0, 1.0, -1.0, 3.0])

    def pair(drawn: tuple[int, int, list[float], list[float], float | None]) -> Arguments:
        size, longer, a, b, last = drawn
        a, b = a[:size], b[: size + longer]
        return a, b if last is None or not b else [*b[:-1], last]

    # The lengths are drawn as numbers of their own: that shrinks to the shortest vectors.
    return st.tuples(
        st.integers(0, 3),
        st.sampled_from([0, 0, 0, 1]),
        st.lists(numbers, min_size=4, max_size=4),
        st.lists(numbers, min_size=4, max_size=4),
        st.sampled_from([None, None, None, *_INFINITIES]),
    ).map(pair)


EXERCISE = Exercise(
    model_solution=cosine,
    reference=similarity.cosine,
    cases=(
        case("half a right angle", [1.0, 0.0], [1.0, 1.0]),
        case("the same direction, another length", [3.0, 4.0], [6.0, 8.0]),
        case("a right angle", [2.0, 0.0], [0.0, 5.0]),
        case("opposite directions", [1.0, 2.0], [-2.0, -4.0]),
        case("a vector that points nowhere", [0.0, 0.0], [1.0, 1.0]),
        case("different lengths", [1.0, 1.0], [1.0, 1.0, 1.0]),
    ),
    hidden=_hidden_pairs,
    strategy=_any_pair,
    hints=(
        "Three numbers are enough: the dot product and the two norms. Compute them one at a time.",
        "The dot product is `sum(x * y for x, y in zip(a, b))`.",
        "A norm is `math.sqrt(sum(x * x for x in a))`; divide by both of them.",
        "Before you divide, raise ValueError: lengths that differ, a norm of 0, a number for which "
        "`math.isfinite` is false.",
    ),
    off_limits=("labkit.similarity",),
    points=6,
    minutes=20,
    core=True,
)
