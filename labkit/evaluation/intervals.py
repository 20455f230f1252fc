"""How far a mean over few questions may lie from the truth: two intervals of 95 %.

Both take the questions as a random draw of all questions one might ask. Questions that share a
document are not quite that, so the truth is a little more uncertain than the intervals say.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from statistics import NormalDist

import numpy as np

RESAMPLES = 1000
CONFIDENCE = 0.95


def wilson_interval(share: float, n: int, confidence: float = CONFIDENCE) -> tuple[float, float]:
    """(low, high) for a share of n questions, 0 ≤ low ≤ share ≤ high ≤ 1.

    Unlike share ± 2 standard errors it stays within [0, 1], and 10 right of 10 is no certainty.
    For a mean of values between 0 and 1 it is wide enough, for none of them spreads more than 0s
    and 1s of the same mean.

    ValueError for a share outside [0, 1] or n below 1. Source: Wilson, "Probable Inference, the Law
    of Succession, and Statistical Inference", JASA 22 (1927).

    >>> [round(end, 3) for end in wilson_interval(1.0, 10)]
    [0.722, 1.0]
    """
    if not 0 <= share <= 1 or n < 1:
        raise ValueError(f"a share of {share} among {n}: it must be from 0 to 1, n at least 1.")
    z = NormalDist().inv_cdf((1 + confidence) / 2)
    middle = (share + z * z / (2 * n)) / (1 + z * z / n)
    reach = z * sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / (1 + z * z / n)
    return min(share, max(0.0, middle - reach)), max(share, min(1.0, middle + reach))


def bootstrap_interval(
    values: Sequence[float], seed: int = 0, confidence: float = CONFIDENCE
) -> tuple[float, float]:
    """(low, high) for the mean of values: the middle 95 % of the means of 1,000 resamples.

    A resample draws as many values as there are, with replacement. The same values and seed give
    the same interval. ValueError for no values. Source: Efron and Tibshirani, "An Introduction to
    the Bootstrap" (1993), percentile interval.
    """
    if not values:
        raise ValueError("there are no values; an interval needs at least one.")
    draw, known = np.random.default_rng(seed), np.asarray(values, dtype=np.float64)
    means = [known[draw.integers(len(known), size=len(known))].mean() for _ in range(RESAMPLES)]
    outside = (1 - confidence) / 2
    low, high = np.quantile(means, [outside, 1 - outside])
    mean = float(known.mean())
    return min(float(low), mean), max(float(high), mean)
