"""Transfer: nearest neighbours by distance

Some databases know no cosine, only the Euclidean distance: the square root of the sum of the
squared differences. Bring `query` and every vector to length 1 (divide by the norm) and return the
`k` pairs `(id, distance)` with the smallest distance, smallest first; where distances are equal,
the smaller id comes first. If `k` is 0 or less there are none. Raise `ValueError` for a zero
vector, for vectors of different lengths, and if there are more ids than vectors or fewer. Then
compare with `top_k`: what do you see?
"""

from __future__ import annotations

import math

from classroom.exercise import Exercise, case
from classroom.exercises.s03_vectors.common import (
    Scored,
    Vector,
    any_search,
    hidden_searches,
    with_cosines,
)
from labkit import similarity


def nearest_by_distance(
    query: list[float], vectors: list[list[float]], ids: list[str], k: int
) -> list[tuple[str, float]]:
    """The k nearest (id, distance) pairs among vectors brought to length 1, nearest first."""
    import math

    def unit(vector: list[float]) -> list[float]:
        norm = math.hypot(*vector)
        if norm == 0:
            raise ValueError("a zero vector has no direction")
        return [value / norm for value in vector]

    found = [
        (name, math.dist(unit(query), unit(vector)))
        for name, vector in zip(ids, vectors, strict=True)
    ]
    found.sort(key=lambda pair: (pair[1], pair[0]))
    return found[: max(0, k)]


def lengths_kept(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The vectors keep their lengths: divide each by its norm before you measure."""
    return _by_distance(with_cosines(query, vectors, ids), query, vectors, k)


def query_kept_long(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The query keeps its own length: it must be brought to length 1, as the vectors are."""
    scored = with_cosines(query, vectors, ids)
    return _by_distance(scored, query, [_unit(vector) for vector in vectors], k)


def squares_returned(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """This is the square of the distance: the root is missing."""
    return [(name, far * far) for name, far in nearest_by_distance(query, vectors, ids, k)]


def farthest_first(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The farthest come first: a cosine is best when high, a distance when low."""
    found = nearest_by_distance(query, vectors, ids, len(ids))
    return sorted(found, key=lambda pair: (-pair[1], pair[0]))[: max(0, k)]


def cosine_distance_returned(
    query: Vector, vectors: list[Vector], ids: list[str], k: int
) -> Scored:
    """1 - cosine orders the vectors rightly but is no Euclidean distance."""
    return [(name, 1 - score) for name, score in similarity.top_k(query, vectors, ids, k)]


def tied_distances_unordered(
    query: Vector, vectors: list[Vector], ids: list[str], k: int
) -> Scored:
    """Equal distances stay in the order in which they came in: order them by id."""
    ranks = {name: rank for rank, name in enumerate(ids)}
    found = nearest_by_distance(query, vectors, ids, len(ids))
    return sorted(found, key=lambda pair: (pair[1], ranks[pair[0]]))[: max(0, k)]


def _unit(vector: Vector) -> Vector:
    return [value / math.hypot(*vector) for value in vector]


def _by_distance(scored: Scored, query: Vector, vectors: list[Vector], k: int) -> Scored:
    """The k nearest of these vectors, as long as they are."""
    names = [name for name, _ in scored]
    found = [(name, math.dist(query, vector)) for name, vector in zip(names, vectors, strict=True)]
    return sorted(found, key=lambda pair: pair[::-1])[: max(0, k)]


EXERCISE = Exercise(
    model_solution=nearest_by_distance,
    reference=nearest_by_distance,
    cases=(
        case(
            "a right angle, the query itself, and its opposite",
            [1.0, 0.0],
            [[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]],
            ["a", "b", "c"],
            3,
        ),
        case(
            "no vector has length 1 yet",
            [2.0, 0.0],
            [[3.0, 4.0], [4.0, 3.0], [0.0, 2.0]],
            ["a", "b", "c"],
            2,
        ),
        case("two equal distances", [1.0, 0.0], [[6.0, 8.0], [3.0, 4.0]], ["b", "a"], 2),
        case("a vector that points nowhere", [1.0, 0.0], [[0.0, 0.0]], ["a"], 1),
    ),
    hidden=hidden_searches,
    strategy=any_search,
    hints=(
        "Start from `top_k`: what changes is the number that you sort by, and the direction.",
        "Write a small `unit(vector)` first; it can refuse the zero vector for you.",
        "`math.dist(p, q)` is the Euclidean distance of two points of equal dimension.",
        "To see the relation, square a distance and compare it with 2 - 2 × cosine: it is the "
        "same, so the nearest by distance are the nearest by cosine.",
    ),
    off_limits=("labkit.similarity",),
    place=3,
    points=6,
    minutes=20,
    transfer=True,
)
