"""Stage 03: cosine similarity and exact top-k."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING

from classroom.exercise import Arguments, Case, Exercise, cases, mistakes
from labkit import similarity

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Vector = list[float]
Scored = list[tuple[str, float]]

_OFF_LIMITS = ("labkit.similarity", "labkit.scan", "classroom.exercises")


# --- cosine --------------------------------------------------------------------------------------


def cosine(a: Vector, b: Vector) -> float:
    return similarity.cosine(a, b)


def norms_forgotten(a: Vector, b: Vector) -> float:
    """The norms are forgotten: this is the dot product, which grows with the vectors' lengths."""
    cosine(a, b)
    return _dot(a, b)


def one_norm_forgotten(a: Vector, b: Vector) -> float:
    """Only one of the two norms is divided by: the result still grows with the other vector."""
    cosine(a, b)
    return _dot(a, b) / math.hypot(*a)


def roots_forgotten(a: Vector, b: Vector) -> float:
    """A norm is the square root of the sum of squares: the root is missing."""
    cosine(a, b)
    return _dot(a, b) / (_dot(a, a) * _dot(b, b))


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
    return _dot(a, b) / (math.hypot(*a) * math.hypot(*b))


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


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    return math.fsum(x * y for x, y in zip(a, b, strict=False))


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


def _any_pair() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

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


COSINE = Exercise(
    id="cosine",
    stage=3,
    title="Measure the angle between two vectors",
    task=(
        "Return the cosine of the angle between the vectors `a` and `b`: their dot product, "
        "divided by the product of their norms (a norm is the square root of the sum of the "
        "squares). Raise `ValueError` where there is no such angle: for vectors of different "
        "lengths, for a vector that is empty or all zeros, and for NaN or infinity in either."
    ),
    starter='''\
def cosine(a: list[float], b: list[float]) -> float:
    """The cosine of the angle between two vectors, from -1 to 1."""
    raise NotImplementedError
''',
    reference=cosine,
    cases=cases(
        Case(([1.0, 0.0], [1.0, 1.0]), "half a right angle"),
        Case(([3.0, 4.0], [6.0, 8.0]), "the same direction, another length"),
        Case(([2.0, 0.0], [0.0, 5.0]), "a right angle"),
        Case(([1.0, 2.0], [-2.0, -4.0]), "opposite directions"),
        Case(([0.0, 0.0], [1.0, 1.0]), "a vector that points nowhere"),
        Case(([1.0, 1.0], [1.0, 1.0, 1.0]), "different lengths"),
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
    mistakes=mistakes(
        norms_forgotten,
        one_norm_forgotten,
        roots_forgotten,
        zero_scored,
        zero_divided,
        lengths_ignored,
        not_a_number_accepted,
        sign_lost,
        distance_returned,
    ),
    off_limits=_OFF_LIMITS,
    answer="""\
    import math

    if len(a) != len(b):
        raise ValueError(f"the vectors have {len(a)} and {len(b)} dimensions")
    if not all(math.isfinite(x) for x in [*a, *b]):
        raise ValueError("a vector holds NaN or infinity")
    if not any(a) or not any(b):
        raise ValueError("a zero vector has no direction")
    product = sum(x * y for x, y in zip(a, b))
    return product / (math.sqrt(sum(x * x for x in a)) * math.sqrt(sum(y * y for y in b)))
""",
    core=True,
    points=6,
    minutes=20,
)


# --- top_k ---------------------------------------------------------------------------------------


def top_k(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    return similarity.top_k(query, vectors, ids, k)


def ties_left_to_chance(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Equal scores stay in the order in which they came in: order them by id."""
    return sorted(_scored(query, vectors, ids), key=lambda pair: -pair[1])[: max(0, k)]


def ties_backwards(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Equal scores come with the last id first: reverse=True turns both keys around."""
    ranked = sorted(_scored(query, vectors, ids), key=lambda pair: pair[::-1], reverse=True)
    return ranked[: max(0, k)]


def worst_first(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The vectors furthest away come first: sorted() begins with the smallest score."""
    ranked = sorted(_scored(query, vectors, ids), key=lambda pair: pair[::-1])
    return ranked[: max(0, k)]


def negative_k_sliced(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """A negative k cuts hits off the end of the list: for k below 1 there are none."""
    return top_k(query, vectors, ids, len(ids))[:k]


def dot_products_ranked(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """Long vectors win, because dot products are ranked: rank by the cosine."""
    scored = [
        (name, _dot(query, vector))
        for (name, _), vector in zip(_scored(query, vectors, ids), vectors, strict=True)
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


def _scored(query: Vector, vectors: list[Vector], ids: list[str]) -> Scored:
    return [(i, similarity.cosine(query, v)) for i, v in zip(ids, vectors, strict=True)]


# Along an axis and of whole length: their cosines are the same whichever way one computes them, so
# that a tie is a tie in every right solution.
_QUERIES = ([1.0, 0.0], [0.0, 2.0], [-3.0, 0.0], [0.0, -1.0])
_VECTORS = (
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


def _hidden_searches(random: Random) -> Iterator[Arguments]:
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
        vectors = [list(random.choice(_VECTORS)) for _ in ids]
        yield list(random.choice(_QUERIES)), vectors, ids, random.randint(1, count + 1)


def _any_search() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    def search(drawn: tuple[int, int, int, list[Vector], str, Vector]) -> Arguments:
        count, k, extra, vectors, ids, query = drawn
        extra = extra if k > 0 else 0  # which of two reasons comes first is nobody's business
        return list(query), [list(v) for v in vectors[:count]], list(ids[: count + extra]), k

    # The counts are drawn as numbers of their own: that shrinks to the fewest vectors.
    return st.tuples(
        st.integers(0, 4),
        st.integers(-2, 5),
        st.sampled_from([0, 0, 0, 1]),
        st.lists(st.sampled_from(_VECTORS), min_size=4, max_size=4),
        st.sampled_from(["abcde", "edcba"]),
        st.sampled_from(_QUERIES),
    ).map(search)


TOP_K = Exercise(
    id="top_k",
    stage=3,
    title="Find the k nearest vectors",
    task=(
        "`vectors` and `ids` belong together, one id a vector. Return the `k` pairs `(id, score)` "
        "with the highest cosine between `query` and the vector, highest first; where scores are "
        "equal, the smaller id comes first. If `k` is 0 or less there are none; if it is more than "
        "there are vectors, return them all. Raise `ValueError` if there are more ids than vectors "
        "or fewer, and wherever a cosine is not defined (other lengths, a zero vector). You may "
        "use the `cosine` that you have written."
    ),
    starter='''\
def top_k(
    query: list[float], vectors: list[list[float]], ids: list[str], k: int
) -> list[tuple[str, float]]:
    """The k nearest (id, cosine) pairs, best first; equal scores in order of id."""
    raise NotImplementedError
''',
    reference=top_k,
    cases=cases(
        Case(
            ([1.0, 0.0], [[0.0, 1.0], [3.0, 4.0], [2.0, 0.0]], ["a", "b", "c"], 2),
            "the two nearest of three",
        ),
        Case(
            ([2.0, 0.0], [[3.0, 4.0], [6.0, 8.0]], ["b", "a"], 2),
            "the same direction twice: the id decides",
        ),
        Case(
            ([0.0, 1.0], [[1.0, 0.0], [0.0, -1.0]], ["a", "b"], 5),
            "a right angle and the opposite; k is more than there are",
        ),
        Case(([1.0, 0.0], [[1.0, 0.0], [0.0, 1.0]], ["a", "b"], -1), "a negative k"),
        Case(([1.0, 0.0], [[1.0, 0.0]], ["a", "b"], 1), "an id without a vector"),
    ),
    hidden=_hidden_searches,
    strategy=_any_search,
    hints=(
        "Score everything first, sort then, and cut last.",
        "A list of `(id, cosine(query, vector))` pairs is all that you need to sort.",
        "Sort by a pair of keys: `key=lambda pair: (-pair[1], pair[0])`.",
        "Cut with `[:max(0, k)]`, and let `zip(..., strict=True)` refuse lists that do not fit.",
    ),
    mistakes=mistakes(
        ties_left_to_chance,
        ties_backwards,
        worst_first,
        negative_k_sliced,
        dot_products_ranked,
        negatives_left_out,
        equal_scores_lost,
        id_without_vector,
        one_too_many,
    ),
    off_limits=(  # the cosine that a lesson lent is the learner's to use
        "labkit.similarity.top_k",
        "labkit.scan",
        "classroom.exercises.stage03.top_k",
    ),
    lends={"labkit.similarity.cosine": "cosine"},
    builds_on=("cosine",),
    answer="""\
    import math

    def cosine(a, b):
        norms = math.hypot(*a) * math.hypot(*b)
        if norms == 0:
            raise ValueError("a zero vector has no direction")
        return sum(x * y for x, y in zip(a, b, strict=True)) / norms

    scored = [(name, cosine(query, vector)) for name, vector in zip(ids, vectors, strict=True)]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[: max(0, k)]
""",
    core=True,
    points=6,
    minutes=20,
)


# --- transfer: nearest_by_distance ---------------------------------------------------------------


def nearest_by_distance(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """On unit vectors the squared distance is 2 - 2 cos: the order is that of the cosine."""
    nearest = similarity.top_k(query, vectors, ids, k)
    return [(name, math.sqrt(max(0.0, 2 - 2 * score))) for name, score in nearest]


def lengths_kept(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The vectors keep their lengths: divide each by its norm before you measure."""
    return _by_distance(_scored(query, vectors, ids), query, vectors, k)


def query_kept_long(query: Vector, vectors: list[Vector], ids: list[str], k: int) -> Scored:
    """The query keeps its own length: it must be brought to length 1, as the vectors are."""
    scored = _scored(query, vectors, ids)
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


NEAREST_BY_DISTANCE = Exercise(
    id="nearest_by_distance",
    stage=3,
    title="Transfer: nearest neighbours by distance",
    task=(
        "Some databases know no cosine, only the Euclidean distance: the square root of the sum of "
        "the squared differences. Bring `query` and every vector to length 1 (divide by the norm) "
        "and return the `k` pairs `(id, distance)` with the smallest distance, smallest first; "
        "where distances are equal, the smaller id comes first. If `k` is 0 or less there are "
        "none. Raise `ValueError` for a zero vector, for vectors of different lengths, and if "
        "there are more ids than vectors or fewer. Then compare with `top_k`: what do you see?"
    ),
    starter='''\
def nearest_by_distance(
    query: list[float], vectors: list[list[float]], ids: list[str], k: int
) -> list[tuple[str, float]]:
    """The k nearest (id, distance) pairs among vectors brought to length 1, nearest first."""
    raise NotImplementedError
''',
    reference=nearest_by_distance,
    cases=cases(
        Case(
            ([1.0, 0.0], [[0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]], ["a", "b", "c"], 3),
            "a right angle, the query itself, and its opposite",
        ),
        Case(
            ([2.0, 0.0], [[3.0, 4.0], [4.0, 3.0], [0.0, 2.0]], ["a", "b", "c"], 2),
            "no vector has length 1 yet",
        ),
        Case(([1.0, 0.0], [[6.0, 8.0], [3.0, 4.0]], ["b", "a"], 2), "two equal distances"),
        Case(([1.0, 0.0], [[0.0, 0.0]], ["a"], 1), "a vector that points nowhere"),
    ),
    hidden=_hidden_searches,
    strategy=_any_search,
    hints=(
        "Start from `top_k`: what changes is the number that you sort by, and the direction.",
        "Write a small `unit(vector)` first; it can refuse the zero vector for you.",
        "`math.dist(p, q)` is the Euclidean distance of two points of equal dimension.",
        "To see the relation, square a distance and compare it with 2 - 2 × cosine: it is the "
        "same, so the nearest by distance are the nearest by cosine.",
    ),
    mistakes=mistakes(
        lengths_kept,
        query_kept_long,
        squares_returned,
        farthest_first,
        cosine_distance_returned,
        tied_distances_unordered,
    ),
    off_limits=_OFF_LIMITS,
    answer="""\
    import math

    def unit(vector):
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
""",
    transfer=True,
    points=6,
    minutes=20,
)

EXERCISES = (COSINE, TOP_K, NEAREST_BY_DISTANCE)
