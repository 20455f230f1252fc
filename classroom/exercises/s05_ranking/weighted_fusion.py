"""Transfer: trust one ranking more than another

Fuse rankings as in `reciprocal_rank_fusion`, but let each ranking have a weight: an id's score is
the sum of `weight / (k + rank)` over the rankings that hold it. A weight may be 0; an id that only
such a ranking holds has the score 0 and is still listed. Raise `ValueError` unless there are as
many weights as rankings. Return `[id, score]` pairs, highest score first, ties by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s05_ranking.common import Scored, by_score, clear, some_rankings
from classroom.exercises.s05_ranking.reciprocal_rank_fusion import reciprocal_rank_fusion
from labkit import ranking


def weighted_fusion(rankings: list[list[str]], weights: list[float], k: int) -> list[list]:
    """Fuse rankings, each with its weight, into [id, score] pairs, best first, ties by id."""
    if len(rankings) != len(weights):
        raise ValueError("one weight a ranking")
    scores: dict[str, float] = {}
    for weight, ids in zip(weights, rankings, strict=True):
        for rank, name in enumerate(ids, start=1):
            scores[name] = scores.get(name, 0.0) + weight * (1 / (k + rank))
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[name, score] for name, score in ranked]


def _by_labkit(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    fused = ranking.reciprocal_rank_fusion(rankings, k, weights)
    return [[name, score] for name, score in fused]


def _weigh(
    rankings: list[list[str]], weights: list[float], share: Callable[[float, int], float]
) -> dict[str, float]:
    """The sums of share(weight, rank) over the rankings that have a weight."""
    scores: dict[str, float] = {}
    for weight, ids in zip(weights, rankings, strict=False):
        for rank, name in enumerate(dict.fromkeys(ids), start=1):
            scores[name] = scores.get(name, 0.0) + share(weight, rank)
    return scores


def _expect_as_many(rankings: list[list[str]], weights: list[float]) -> None:
    if len(rankings) != len(weights):
        raise ValueError("one weight a ranking")


def weights_ignored(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """The weights change nothing: each ranking's share is its weight times 1 / (k + rank)."""
    _expect_as_many(rankings, weights)
    return reciprocal_rank_fusion(rankings, k)


def weight_on_the_rank(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """The weight multiplies the rank: a heavier ranking then counts less, not more."""
    _expect_as_many(rankings, weights)
    return by_score(_weigh(rankings, weights, lambda weight, rank: 1 / (k + weight * rank)))


def zero_weight_as_one(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """A weight of 0 counts as 1: `weight or 1` takes 0 for a missing weight."""
    _expect_as_many(rankings, weights)
    return weighted_fusion(rankings, [weight or 1.0 for weight in weights], k)


def zero_weight_left_out(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """Ids of a ranking with weight 0 are missing: they are found, and score 0 there."""
    _expect_as_many(rankings, weights)
    pairs = [(ids, weight) for ids, weight in zip(rankings, weights, strict=True) if weight]
    return weighted_fusion([ids for ids, _ in pairs], [weight for _, weight in pairs], k)


def weights_averaged(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """The scores are divided by the sum of the weights: the task asks for the plain sum."""
    _expect_as_many(rankings, weights)
    total = sum(weights) or 1.0
    return [[name, score / total] for name, score in weighted_fusion(rankings, weights, k)]


def surplus_cut_off(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """Too few or too many weights are not refused: `zip` drops what has no partner in silence."""
    return by_score(_weigh(rankings, weights, lambda weight, rank: weight / (k + rank)))


def missing_weight_as_one(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """A ranking without a weight counts as if it had one: raise ValueError, do not guess."""
    padded = [*weights, *[1.0] * len(rankings)][: len(rankings)]
    return weighted_fusion(rankings, padded, k)


_WEIGHTS = (1.0, 2.0, 0.5, 4.0, 0.0)  # powers of two: products are exact, so ties are ties


def _hidden_weighted(random: Random) -> Iterator[Arguments]:
    yield [["guide#0", "faq#0"], ["faq#0", "guide#0"]], [1.0, 2.0], 60
    yield [["guide#0"], ["faq#1"]], [2.0, 0.0], 60
    yield [["guide#0"], ["faq#1"]], [2.0], 60
    yield [["guide#0"]], [2.0, 1.0], 60
    yield [["guide#0", "faq#0"], ["faq#1"]], [0.0, 0.0], 60
    made = 0
    while made < 20:
        rankings = some_rankings(random, random.randint(1, 3))
        weights = random.choices(_WEIGHTS, k=len(rankings))
        if clear(rankings, 60, weights) and sum(map(len, rankings)) > 2:
            made += 1
            yield rankings, weights, random.choice([10, 60])


def _any_weighted() -> Strategy:
    ids = st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True)
    weights = st.lists(st.sampled_from(_WEIGHTS), max_size=2)
    return st.tuples(st.lists(ids, max_size=2), weights, st.just(60))


EXERCISE = Exercise(
    model_solution=weighted_fusion,
    reference=_by_labkit,
    cases=(
        case("the second ranking counts double", [["a", "b"], ["b", "a"]], [1.0, 2.0], 60),
        case("equal weights: a tie", [["a", "b"], ["b", "a"]], [1.0, 1.0], 60),
        case("a weight of 0", [["a"], ["b"]], [1.0, 0.0], 60),
        case("a weight is missing", [["a"], ["b"]], [1.0], 60),
        case("a weight too many", [["a"]], [1.0, 2.0], 60),
    ),
    hidden=_hidden_weighted,
    strategy=_any_weighted,
    hints=(
        "What did a ranking add for an id before? One factor is all that changes.",
        "Walk over weights and rankings together; `zip(..., strict=True)` notices when one is "
        "longer.",
        "Add `weight / (k + rank)`; a weight of 0 then needs no branch of its own.",
    ),
    off_limits=("labkit.ranking",),
    place=5,
    points=4,
    minutes=15,
    transfer=True,
)
