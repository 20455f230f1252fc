"""The fast exact scan: the answers of `similarity.top_k`, at the speed of memory.

Scores are computed in float32, block by block; whatever comes within `MARGIN` of the k-th score is
scored again in double by the taught cosine before it is sorted. Rounding can therefore neither
lose a neighbour nor swap two.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import fsum, sqrt

import numpy as np
from numpy.typing import NDArray

from labkit.types import EmbeddingError, Matrix, Vector

MARGIN = 1e-5  # float32 sums of some hundred products err by about 1e-6
BLOCK = 4096  # rows; a block in Fortran order is read along its columns, straight through memory
GATHER_BELOW = 0.1  # below this share of the rows, gathering them beats scanning them all


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
    norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
    if not norms.all():
        raise EmbeddingError(f"{ids[int((norms == 0).argmax())]}: the vector is zero.")


class Scan:
    """An immutable set of vectors to search: float32 (n, d), one id a row.

    Memory: the matrix as given, for exact scores and for gathering few rows, and one normalised
    copy in blocks of Fortran order, for scanning.
    """

    def __init__(self, vectors: Matrix, ids: Sequence[str]) -> None:
        check_vectors(vectors, ids)
        self.ids = list(ids)
        self._rows = vectors
        norms = np.linalg.norm(vectors.astype(np.float64), axis=1)
        self._norms = norms
        self._lengths: dict[int, float] = {}  # exact ones, each computed when first needed
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
        near = self._near(self._scores(query, rows), k)
        scored = self._exact(query, near if rows is None else rows[near])
        scored.sort(key=lambda pair: (-pair[1], self.ids[pair[0]]))
        return scored[:k]

    def _scores(self, query: Vector, rows: NDArray[np.intp] | None) -> NDArray[np.float32]:
        """Float32 cosines of the rows asked for, in their order."""
        unit = (query / np.linalg.norm(query.astype(np.float64))).astype(np.float32)
        # Vectors near the ends of float32's range lose their digits before they are divided.
        if rows is not None and self._tame and len(rows) < GATHER_BELOW * len(self.ids):
            gathered: NDArray[np.float64] = self._rows.take(rows, 0) @ unit / self._norms[rows]
            return gathered.astype(np.float32)
        scores = np.concatenate([block @ unit for block in self._blocks])
        return scores if rows is None else scores[rows]

    def _exact(self, query: Vector, rows: NDArray[np.intp]) -> list[tuple[int, float]]:
        """(row, taught cosine) pairs: the same exact sums, with numpy forming the products."""
        a = query.astype(np.float64)
        length = sqrt(fsum((a * a).tolist()))
        scored: list[tuple[int, float]] = []
        for start in range(0, len(rows), BLOCK):
            part = rows[start : start + BLOCK]
            products = (self._rows[part].astype(np.float64) * a).tolist()
            for row, terms in zip(part.tolist(), products, strict=True):
                cosine = fsum(terms) / (length * self._length(row))
                scored.append((row, max(-1.0, min(1.0, cosine))))
        return scored

    def _length(self, row: int) -> float:
        """The length of a row's vector, from an exact sum of squares, computed once."""
        if row not in self._lengths:
            vector = self._rows[row].astype(np.float64)
            self._lengths[row] = sqrt(fsum((vector * vector).tolist()))
        return self._lengths[row]

    @staticmethod
    def _near(scores: NDArray[np.float32], k: int) -> NDArray[np.intp]:
        """The positions of all scores that could belong to the best k."""
        if k >= len(scores):
            return np.arange(len(scores))
        kth = np.partition(scores, -k)[-k]
        return np.flatnonzero(scores >= kth - np.float32(MARGIN))
