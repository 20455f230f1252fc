"""Stage 03: cosine similarity and exact top-k, the taught form and the fast form side by side.

`cosine` and `top_k` are the reference: short, exact and slow. `Scan` gives the same lists at the
speed of memory: a pass in float32 proposes whatever comes near the best k, and only those are
scored in float64. A score has one rounding, to `DIGITS` decimals, wherever it is computed.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, isfinite, nan, sqrt

import numpy as np
from numpy.typing import NDArray

from labkit.types import EmbeddingError, Matrix, Vector

DIGITS = (
    12  # decimals of a score: more than any model means, fewer than any order of adding changes
)
DOUBT = 6e-15  # fifty units in the last place: the most by which a score added up in pairs errs
MARGIN = 1e-5  # float32 sums of some hundred products err by about 1e-6
BLOCK = 4096  # rows; a block in Fortran order is read along its columns, straight through memory
GATHER_BELOW = 0.1  # below this share of the rows, gathering them beats scanning them all


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

    Scores have `DIGITS` decimals. k <= 0 gives nothing; k above the number of vectors gives them
    all. The top k are always a prefix of the top k + 1.

    >>> top_k([1.0, 0.0], [[0.0, 1.0], [2.0, 0.0], [1.0, 0.0]], ["c", "b", "a"], k=2)
    [('a', 1.0), ('b', 1.0)]
    """
    scored = [
        (name, round(cosine(query, vector), DIGITS))
        for name, vector in zip(ids, vectors, strict=True)
    ]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return scored[: max(0, k)]


# --- the same, fast ------------------------------------------------------------------------------


def cosines(query: Vector, vectors: Matrix) -> NDArray[np.float64]:
    """The scores of `top_k` for vectors in rows, (n, d) → (n,), the same to the last bit.

    Each row is added up by itself, in one order, so that a score does not depend on what else is
    scored with it; a product of matrices would choose its order by their shape.
    """
    wide, asked = vectors.astype(np.float64), query.astype(np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1)) * np.sqrt((asked * asked).sum())
    exact = (wide * asked).sum(axis=1) / lengths
    scores: NDArray[np.float64] = np.round(exact, DIGITS)
    # Where the rounding hangs on the last bits of a sum, about one row in a hundred, exact sums
    # decide: else the order of adding, another on each machine, would decide between near ties.
    beyond = np.abs(exact - scores) - 0.5 * 10.0**-DIGITS
    for row in np.flatnonzero(np.abs(beyond) < DOUBT):
        scores[row] = round(cosine(query.tolist(), vectors[row].tolist()), DIGITS)
    return scores + 0.0  # no minus before a zero


def mean_direction(vectors: Matrix) -> NDArray[np.float64]:
    """The mean of the vectors scaled to length 1, (n, d) → (d,): its product with a question's is
    the mean of their cosines."""
    total = np.zeros(vectors.shape[1])
    for start in range(0, len(vectors), BLOCK):
        wide = vectors[start : start + BLOCK].astype(np.float64)
        total += (wide / np.linalg.norm(wide, axis=1, keepdims=True)).sum(axis=0)
    return total / len(vectors)


def check_vectors(vectors: Matrix, ids: Sequence[str], dimension: int | None = None) -> None:
    """Raise EmbeddingError naming the first vector that no cosine can be taken of."""
    if vectors.ndim != 2 or vectors.dtype != np.float32 or len(vectors) != len(ids):
        raise EmbeddingError(
            f"expected {len(ids)} float32 vectors in rows, got {vectors.dtype} {vectors.shape}."
        )
    if dimension is not None and len(ids) and vectors.shape[1] != dimension:
        raise EmbeddingError(f"{ids[0]}: expected {dimension} dimensions, got {vectors.shape[1]}.")
    broken = ~np.isfinite(vectors).all(axis=1)
    if broken.any():
        raise EmbeddingError(f"{ids[int(broken.argmax())]}: the vector holds NaN or infinity.")
    zero = ~vectors.any(axis=1)
    if zero.any():
        raise EmbeddingError(f"{ids[int(zero.argmax())]}: the vector is zero.")


class Scan:
    """An immutable set of vectors to search: float32 (n, d), one id a row.

    Memory: the matrix as given, for exact scores and for gathering few rows, and one normalised
    copy in blocks of Fortran order, for scanning.
    """

    def __init__(self, vectors: Matrix, ids: Sequence[str]) -> None:
        check_vectors(vectors, ids)
        self.ids = list(ids)
        self._rows = vectors
        self._norms = norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        # Vectors near the ends of float32's range lose their digits before they are divided.
        self._tame = bool(((norms > 1e-15) & (norms < 1e15)).all())
        self._blocks = [
            np.asfortranarray(vectors[i : i + BLOCK] / norms[i : i + BLOCK, None], dtype=np.float32)
            for i in range(0, len(vectors), BLOCK)
        ]

    def top_k(
        self, query: Vector, k: int, rows: NDArray[np.intp] | None = None
    ) -> list[tuple[int, float]]:
        """The k nearest (row, cosine) pairs by (-cosine, id), among `rows` where given."""
        check_vectors(query[None, :], ["query"], self._rows.shape[1] if self.ids else None)
        if k <= 0 or not len(self.ids if rows is None else rows):
            return []
        near = _near(self._estimates(query, rows), k)
        places = near if rows is None else rows[near]
        scores = cosines(query, self._rows[places])
        scored = list(zip(places.tolist(), scores.tolist(), strict=True))
        scored.sort(key=lambda pair: (-pair[1], self.ids[pair[0]]))
        return scored[:k]

    def _estimates(self, query: Vector, rows: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """Float32 cosines of the rows asked for, in their order."""
        unit = (query / np.linalg.norm(query.astype(np.float64))).astype(np.float32)
        if rows is not None and self._tame and len(rows) < GATHER_BELOW * len(self.ids):
            gathered: NDArray[np.float64] = self._rows.take(rows, 0) @ unit / self._norms[rows]
            return gathered.astype(np.float32)
        scores = np.concatenate([block @ unit for block in self._blocks])
        return scores if rows is None else scores[rows]


def _near(estimates: NDArray[np.float32], k: int) -> NDArray[np.intp]:
    """The positions of all that could belong to the best k."""
    if k >= len(estimates):
        return np.arange(len(estimates))
    kth = np.partition(estimates, -k)[-k]
    return np.flatnonzero(estimates >= kth - np.float32(MARGIN))
