"""Normalised discounted cumulative gain: the best passages first, each rank worth less."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from math import fsum, isfinite, log2

from labkit.evaluation.ranked import first_k


def ndcg_at_k(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> float | None:
    """DCG of this ranking / DCG of the best ranking there could be, DCG = Σ gain / log2(1 + rank).

    In [0, 1], ranks from 1, over the first k. `gains` are what each relevant id is worth: for plain
    relevance `dict.fromkeys(relevant, 1)`; for grades the grade itself, as trec_eval takes it, or
    2^grade - 1, as Burges et al. do. An id without a gain, or with one of 0 or less, gains nothing.

    None where no id gains anything. ValueError for a gain that is not finite.

    Sources: Järvelin and Kekäläinen, "Cumulated Gain-based Evaluation of IR Techniques", ACM TOIS
    20 (2002), whose own discount spares the first ranks; the discount log2(1 + rank) is that of
    Burges et al., "Learning to Rank using Gradient Descent", ICML 2005, and of trec_eval.

    >>> ndcg_at_k(["x", "a"], {"a": 1}, k=2)  # 1 / log2(3), where the best is 1 / log2(2)
    0.6309297535714575
    """
    worth = _worth(gains)
    reached = _dcg(worth.get(name, 0.0) for name in first_k(ranked, k))
    best = _dcg(sorted(worth.values(), reverse=True)[:k])
    return min(1.0, reached / best) if worth else None  # rounding may lift the best above itself


def _dcg(gains: Iterable[float]) -> float:
    return fsum(gain / log2(1 + rank) for rank, gain in enumerate(gains, start=1))


def _worth(gains: Mapping[str, float]) -> dict[str, float]:
    """The gains above 0, as shares of the largest: huge ones must not add up to infinity."""
    for name, gain in gains.items():
        if not isfinite(gain):
            raise ValueError(f"the gain of {name!r} is {gain}; it must be finite.")
    largest = max(gains.values(), default=0)
    return {name: gain / largest for name, gain in gains.items() if gain > 0}
