"""Reciprocal rank fusion: one ranking from several, without comparing their scores.

Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual rank
learning methods" (SIGIR 2009).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from math import fsum, inf

K = 60  # the paper's constant: how flat the gain of the first ranks is


def reciprocal_rank_fusion(
    rankings: Sequence[Sequence[str]], k: float = K, weights: Sequence[float] | None = None
) -> list[tuple[str, float]]:
    """Fuse rankings of ids, best first, into (id, score) pairs by (-score, id).

    An id scores the sum of weight / (k + rank) over the rankings that hold it, ranks from 1. A
    ranking that lacks it adds nothing; an id that a ranking repeats counts at its first place.

    The sum is exact before it is rounded: ranks 1, 2, 3 and 3, 1, 2 tie, and the ids decide.

    Raises ValueError for a k or a weight below 0 or not finite, or not one weight a ranking.

    >>> reciprocal_rank_fusion([["a", "b"], ["b"]], k=1)
    [('b', 0.8333333333333333), ('a', 0.5)]
    """
    if not 0 <= k < inf:
        raise ValueError(f"k is {k}; it must be finite and not below 0.")
    weights = [1.0] * len(rankings) if weights is None else weights
    if len(weights) != len(rankings):
        raise ValueError(f"{len(weights)} weights for {len(rankings)} rankings.")
    for weight in weights:
        if not 0 <= weight < inf:
            raise ValueError(f"a weight is {weight}; it must be finite and not below 0.")
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for weight, ranking in zip(weights, rankings, strict=True):
        for rank, name in enumerate(dict.fromkeys(ranking), start=1):
            shares[name].append(weight / (k + rank))
    scores = [(name, fsum(parts)) for name, parts in shares.items()]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))
