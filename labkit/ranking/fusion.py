"""Reciprocal rank fusion: one ranking from several, without comparing their scores.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
learning methods" (SIGIR 2009).
"""

from __future__ import annotations

from collections.abc import Sequence

K = 60  # the paper's constant: how flat the gain of the first ranks is


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], k: float = K, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """Fuse rankings of ids, best first, into (id, score) pairs by (-score, id).

    An id scores the sum of weight / (k + rank) over the rankings that hold it, ranks from 1. A
    ranking that lacks it adds nothing; an id that a ranking repeats counts at its first place.

    Raises ValueError for a k below 0 or weights that do not match the rankings.

    >>> reciprocal_rank_fusion([["a", "b"], ["b"]], k=1)
    [('b', 0.8333333333333333), ('a', 0.5)]
    """
    if k < 0:
        raise ValueError(f"k is {k}; it may not be below 0.")
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings.")
    scores: dict[str, float] = {}
    for weight, ranking in zip(weights, rankings, strict=True):
        for rank, name in enumerate(dict.fromkeys(ranking), start=1):
            scores[name] = scores.get(name, 0.0) + weight / (k + rank)
    return sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
