"""Find the k nearest vectors

`vectors` and `ids` belong together, one id a vector. Return the `k` pairs `(id, score)` with the
highest cosine between `query` and the vector, highest first; where scores are equal, the smaller id
comes first. If `k` is 0 or less there are none; if it is more than there are vectors, return them
all. Raise `ValueError` if there are more ids than vectors or fewer, and wherever a cosine is not
defined (other lengths, a zero vector). You may use the `cosine` that you have written.
"""

from __future__ import annotations

from classroom.exercise import Exercise, case
from classroom.exercises.s03_vectors.common import (
    Scored,
    Vector,
    any_search,
    dot,
    hidden_searches,
    with_cosines,
)
from labkit import similarity


def top_k(
    query: list[float], vectors: list[list[float]], ids: list[str], k: int
) -> list[tuple[str, float]]:
    """The k nearest (id, cosine) pairs, best first; equal scores in order of id."""
    import math

    def similarity_of(a: list[float], b: list[float]) -> float:
        norms = math.hypot(*a) * math.hypot(*b)
        if norms == 0:
            raise ValueError("a zero vector has no direction")
        return sum(x * y for x, y in zip(a, b, strict=True)) / norms

    scored = [
        (name, similarity_of(query, vector)) for name, vector in zip(ids, vectors, strict=True)
    ]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[: max(0, k)]


def ties_left_to_chance(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Equal scores stay in the order in which they came in: order them by id."""
    return sorted(with_cosines(query, vectors, ids), key=lambda pair: -pair[1])[: max(0, k)]


def ties_backwards(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Equal scores come with the last id first: reverse=True turns both keys around."""
    ranked = sorted(with_cosines(query, vectors, ids), key=lambda pair: pair[::-1], reverse=True)
    return ranked[: max(0, k)]


def worst_first(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The vectors furthest away come first: sorted() begins with the smallest score."""
    ranked = sorted(with_cosines(query, vectors, ids), key=lambda pair: pair[::-1])
    return ranked[: max(0, k)]


def negative_k_sliced(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """A negative k cuts hits off the end of the list: for k below 1 there are none."""
    return top_k(query, vectors, ids, len(ids))[:k]


def dot_products_ranked(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Long vectors win, because dot products are ranked: rank by the cosine."""
    scored = [
        (name, dot(query, vector))
        for (name, _), vector in zip(with_cosines(query, vectors, ids), vectors, strict=True)
    ]
    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[: max(0, k)]


def negatives_left_out(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Hits with a score of 0 or below are missing: top-k ranks all, a threshold comes later."""
    ranked = top_k(query, vectors, ids, len(ids))
    return [pair for pair in ranked if pair[1] > 0][: max(0, k)]


def equal_scores_lost(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Of several vectors with an equal score only one is left: a score is no key for a dict."""
    by_score = {score: name for name, score in top_k(query, vectors, ids, len(ids))[::-1]}
    return [(by_score[score], score) for score in sorted(by_score, reverse=True)][: max(0, k)]


def id_without_vector(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """An id without a vector, or a vector without an id, is dropped: raise ValueError."""
    shared = min(len(ids), len(vectors))
    return top_k(query, vectors[:shared], ids[:shared], k)


def one_too_many(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """There is one hit more than k asks for: a slice ends before its end index."""
    return top_k(query, vectors, ids, k + 1 if k > 0 else 0)


EXERCISE = Exercise(
    model_solution=top_k,
    reference=similarity.top_k,
    cases=(
        case(
            "the two nearest of three",
            [1.0, 0.0],
            [[0.0, 1.0], [3.0, 4.0], [2.0, 0.0]],
            ["a", "b", "c"],
            2,
        ),
        case(
            "the same direction twice: the id decides",
            [2.0, 0.0],
            [[3.0, 4.0], [6.0, 8.0]],
            ["b", "a"],
            2,
        ),
        case(
            "a right angle and the opposite; k is more than there are",
            [0.0, 1.0],
            [[1.0, 0.0], [0.0, -1.0]],
            ["a", "b"],
            5,
        ),
        case("a negative k", [1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], ["a", "b"], -1),
        case("an id without a vector", [1.0, 0.0], [[1.0, 0.0]], ["a", "b"], 1),
    ),
    hidden=hidden_searches,
    strategy=any_search,
    hints=(
        "Score everything first, sort then, and cut last.",
        "A list of `(id, cosine(query, vector))` pairs is all that you need to sort.",
        "Sort by a pair of keys: `key=lambda pair: (-pair[1], pair[0])`.",
        "Cut with `[:max(0, k)]`, and let `zip(..., strict=True)` refuse lists that do not fit.",
    ),
    off_limits=("labkit.similarity.top_k",),
    place=2,
    points=6,
    minutes=20,
    core=True,
    lends={"labkit.similarity.cosine": "cosine"},
    builds_on=("cosine",),
)
