"""What all metrics take: ids, best first, each at one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def first_k(ranked: Sequence[str], k: int) -> list[str]:
    """The first k distinct ids, in order; fewer where there are fewer.

    An id that is repeated counts at its first place and takes no other. ValueError for k below 1.

    >>> first_k(["b", "b", "a", "c"], 2)
    ['b', 'a']
    """
    if k < 1:
        raise ValueError(f"k is {k}; it must be 1 or more.")
    return list(dict.fromkeys(ranked))[:k]


def by_score(scores: Mapping[str, float]) -> list[str]:
    """Ids by score, best first, ties by id: the order that the lab uses everywhere.

    A metric sees an order and no scores, so whoever ranks decides ties, and must always decide
    them alike: otherwise the same system gets another figure in the next run.

    >>> by_score({"b": 1.0, "c": 2.0, "a": 1.0})
    ['c', 'a', 'b']
    """
    return sorted(scores, key=lambda name: (-scores[name], name))
