"""Fusion: one ranking from several, by ranks or by scores.

By ranks: Cormack, Clarke and Büttcher, "Reciprocal Rank Fusion outperforms Condorcet and individual
rank learning methods" (SIGIR 2009). By scores: Bruch, Gai and Ingber, "An Analysis of Fusion
Functions for Hybrid Retrieval" (ACM TOIS 42, 2023).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
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
    return _added_up(shares)


def score_fusion(
    lists: Sequence[Mapping[str, float]], weights: Sequence[float]
) -> list[tuple[str, float]]:
    """Fuse scores by id into (id, Σ weight · score) pairs by (-sum, id).

    The scores of all lists have to mean the same, as shares from 0 to 1 do; weights that add up to
    1 then give a share again. A list that lacks an id adds 0 for it.

    Raises ValueError for a weight or a score that is below 0 or not finite, or not one weight a
    list.

    >>> score_fusion([{"a": 1.0, "b": 0.5}, {"b": 0.8}], [0.5, 0.5])
    [('b', 0.65), ('a', 0.5)]
    """
    if len(weights) != len(lists):
        raise ValueError(f"{len(weights)} weights for {len(lists)} lists.")
    for number in (*weights, *(score for scores in lists for score in scores.values())):
        if not 0 <= number < inf:
            raise ValueError(f"a weight or score is {number}; it must be finite and not below 0.")
    shares: defaultdict[str, list[float]] = defaultdict(list)
    for weight, scores in zip(weights, lists, strict=True):
        for name, score in scores.items():
            shares[name].append(weight * score)
    return _added_up(shares)


def _added_up(shares: Mapping[str, Sequence[float]]) -> list[tuple[str, float]]:
    scores = [(name, fsum(parts)) for name, parts in shares.items()]
    return sorted(scores, key=lambda pair: (-pair[1], pair[0]))
