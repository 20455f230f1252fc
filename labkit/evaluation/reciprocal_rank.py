"""Reciprocal rank: how far down must a reader go for the first relevant passage?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from labkit.evaluation.ranked import first_k


def reciprocal_rank(
    ranked: Sequence[str], relevant: Collection[str], k: int | None = None
) -> float | None:
    """1 / rank of the first relevant id, ranks from 1; 0 if none is among the first k (None: all).

    In [0, 1]. None where nothing is relevant. Its mean over questions is the MRR.

    Source: Voorhees, "The TREC-8 Question Answering Track Report" (1999).

    >>> reciprocal_rank(["x", "b", "a"], {"a", "b"})
    0.5
    """
    if not relevant:
        return None
    wanted = set(relevant)
    for rank, name in enumerate(first_k(ranked, len(ranked) or 1 if k is None else k), start=1):
        if name in wanted:
            return 1 / rank
    return 0.0
