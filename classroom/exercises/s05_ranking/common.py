"""What the exercises of stage 05 share."""

from __future__ import annotations

import re
from collections.abc import Iterable
from itertools import pairwise
from random import Random
from typing import Any, TypeAlias

from classroom.exercise import Arguments
from labkit import ranking
from labkit import text as analyser

Scored: TypeAlias = list[list[Any]]  # [id, score] pairs
RRF_K = 60


def analysed(text: str) -> Arguments:
    """The text, those of its words that labkit leaves out, and the stems of its other words."""
    words = sorted(set(re.findall(r"[^\W_]+(?!['\w])", analyser.fold(text))))
    stop_words = [word for word in words if not analyser.significant_terms(word)]
    stems = {word: analyser.stem(word) for word in words if analyser.stem(word) != word}
    return text, stop_words, stems


def by_score(scores: dict[str, float]) -> Scored:
    return [[name, scores[name]] for name in sorted(scores, key=lambda name: (-scores[name], name))]


def fuse(rankings: Iterable[Iterable[str]], k: float, first: int = 1) -> dict[str, float]:
    """The sums of 1 / (k + rank), ranks counted from `first`, repetitions counted again."""
    scores: dict[str, float] = {}
    for ids in rankings:
        for rank, name in enumerate(ids, start=first):
            scores[name] = scores.get(name, 0.0) + 1 / (k + rank)
    return scores


def clear(rankings: list[list[str]], k: float, weights: list[float] | None = None) -> bool:
    """May the order depend on how sums are rounded? From three lists on, scores must differ."""
    if len(rankings) < 3:
        return True
    fused = ranking.reciprocal_rank_fusion(rankings, k, weights)
    return all(a - b > 1e-9 for (_, a), (_, b) in pairwise(fused))


def some_rankings(random: Random, lists: int) -> list[list[str]]:
    names = ["faq#0", "faq#1", "guide#0", "guide#1", "guide#2"]
    return [random.sample(names, random.randint(0, 5)) for _ in range(lists)]
