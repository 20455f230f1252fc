"""A mean with what it needs to be read: over how many, how many not, and how sure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import fsum
from typing import Literal, TypeAlias

from labkit.evaluation.intervals import bootstrap_interval, wilson_interval

Method: TypeAlias = Literal["wilson", "bootstrap", "none"]
FEW = 20  # resampling fewer values than this says too little about those that were not drawn


@dataclass(frozen=True, slots=True)
class Summary:
    """The mean of `n` scores with its 95 % interval; `excluded` questions had nothing to score.

    `mean`, `low` and `high` lie in [0, 1]; all three are None, never NaN, where n is 0.
    """

    n: int
    excluded: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    method: Method = "none"

    def __str__(self) -> str:
        if self.mean is None:
            return "–"
        return f"{self.mean:.3f} [{self.low:.2f}, {self.high:.2f}]"


def summarise(scores: Sequence[float | None], seed: int = 0) -> Summary:
    """The mean over questions. None is a question left out and counted; a refusal scores 0.

    Scores that are all 0 or 1 are a share, and few scores say little of their spread: both get
    Wilson's interval; others a bootstrap with this seed. ValueError for a score outside [0, 1].

    >>> print(summarise([1.0, 1.0, 0.0, None]))
    0.667 [0.21, 0.94]
    """
    values = [score for score in scores if score is not None]
    for value in values:
        if not 0 <= value <= 1:  # so that NaN is refused too
            raise ValueError(f"a score is {value}; it must be from 0 to 1.")
    n, excluded = len(values), len(scores) - len(values)
    if not values:
        return Summary(n, excluded)
    mean = min(1.0, fsum(values) / n)
    if n < FEW or set(values) <= {0.0, 1.0}:
        return Summary(n, excluded, mean, *wilson_interval(mean, n), "wilson")
    return Summary(n, excluded, mean, *bootstrap_interval(values, seed), "bootstrap")
