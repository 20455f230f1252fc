"""Recall: how much of what is relevant was found."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from labkit.evaluation.ranked import first_k


def recall_at_k(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """The share of the relevant ids among the first k: |first k ∩ relevant| / |relevant|.

    In [0, 1]. None where nothing is relevant: there is no share of nothing, and neither 0 nor 1
    would be true. More than k relevant ids cannot all be found: then the best is below 1.

    Source: Manning, Raghavan and Schütze, "Introduction to Information Retrieval" (2008), 8.3.

    >>> recall_at_k(["a", "x", "b"], {"a", "b", "c"}, k=3)
    0.6666666666666666
    """
    wanted = set(relevant)
    found = wanted.intersection(first_k(ranked, k))
    return len(found) / len(wanted) if wanted else None
