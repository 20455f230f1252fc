"""Stage 03: cosine similarity and exact top-k, as taught.

This is the reference: short, exact and slow. `labkit.scan` does the same fast, and a test holds
the two equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite, nan, sqrt


def cosine(a: Sequence[float], b: Sequence[float]) -> float:
    """The cosine of the angle between two vectors, in [-1, 1].

    `fsum` adds without rounding on the way. The product of two float32 values fits a double
    exactly, so for float32 vectors the sums are exact whatever the order, machine or library:
    what ties here ties everywhere.

    Raises ValueError for different lengths, for a zero vector (it points nowhere: scoring it 0
    would pass a broken embedding off as "unrelated") and for NaN or infinity.

    >>> cosine([1.0, 0.0], [1.0, 1.0])
    0.7071067811865475
    """
    if len(a) != len(b):
        raise ValueError(f"the vectors have {len(a)} and {len(b)} dimensions.")
    product = _dot(a, b)
    norms = sqrt(_dot(a, a)) * sqrt(_dot(b, b))
    if norms == 0 or not isfinite(norms) or not isfinite(product):
        raise ValueError("a vector is zero or holds NaN or infinity: it has no direction.")
    return max(-1.0, min(1.0, product / norms))


def _dot(a: Sequence[float], b: Sequence[float]) -> float:
    """The sum of the products; NaN where it has no finite value."""
    try:
        return fsum(x * y for x, y in zip(a, b, strict=True))
    except (OverflowError, ValueError):  # the sum is over 1.8e308, or holds both infinities
        return nan


def top_k(
    query: Sequence[float], vectors: Sequence[Sequence[float]], ids: Sequence[str], k: int
) -> list[tuple[str, float]]:
    """The k nearest (id, cosine) pairs, best first; equal scores in order of id.

    k <= 0 gives nothing; k above the number of vectors gives them all. The top k are always a
    prefix of the top k + 1.

    >>> top_k([1.0, 0.0], [[0.0, 1.0], [2.0, 0.0], [1.0, 0.0]], ["c", "b", "a"], k=2)
    [('a', 1.0), ('b', 1.0)]
    """
    scored = [(name, cosine(query, vector)) for name, vector in zip(ids, vectors, strict=True)]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[: max(0, k)]
