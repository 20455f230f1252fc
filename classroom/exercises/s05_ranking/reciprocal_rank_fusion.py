"""Fuse rankings without comparing scores

Each ranking is a list of ids, best first. An id's score is the sum of `1 / (k + rank)` over the
rankings that hold it; ranks count from 1, and a ranking without the id adds nothing. If a ranking
repeats an id, only its first place counts, as if the others were not there. Return `[id, score]`
pairs, highest score first, equal scores by id.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s05_ranking.common import (
    RRF_K,
    Scored,
    by_score,
    clear,
    fuse,
    some_rankings,
)
from labkit import ranking


def reciprocal_rank_fusion(rankings: list[list[str]], k: int) -> list[list]:
    """Fuse rankings of ids into [id, score] pairs, best first, ties by id."""
    scores: dict[str, float] = {}
    for ids in rankings:
        for rank, name in enumerate(dict.fromkeys(ids), start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (k + rank)
    ranked = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[name, score] for name, score in ranked]


def _by_labkit(rankings: list[list[str]], k: int) -> Scored:
    return [[name, score] for name, score in ranking.reciprocal_rank_fusion(rankings, k)]


def _once(rankings: list[list[str]]) -> list[list[str]]:
    return [list(dict.fromkeys(ids)) for ids in rankings]


def ranks_from_zero(rankings: list[list[str]], k: int) -> Scored:
    """Your ranks start at 0: the first place is rank 1."""
    return by_score(fuse(_once(rankings), k, first=0))


def missing_counts_as_first(rankings: list[list[str]], k: int) -> Scored:
    """An id that a list does not hold gets something from that list: it must add nothing."""
    scores = fuse(_once(rankings), k)
    for name in scores:
        scores[name] += sum(1 / (k + 1) for ids in rankings if name not in ids)
    return by_score(scores)


def missing_counts_as_last(rankings: list[list[str]], k: int) -> Scored:
    """An id that a list does not hold is ranked after its end: it must add nothing there."""
    scores = fuse(_once(rankings), k)
    for name in scores:
        scores[name] += sum(1 / (k + len(ids) + 1) for ids in _once(rankings) if name not in ids)
    return by_score(scores)


def only_common_ids(rankings: list[list[str]], k: int) -> Scored:
    """Only ids that every list holds are returned: one list is enough to be ranked."""
    scores = fuse(_once(rankings), k)
    return by_score({n: s for n, s in scores.items() if all(n in ids for ids in rankings)})


def repetition_counted(rankings: list[list[str]], k: int) -> Scored:
    """An id that a list repeats is counted again: only its first place in a list counts."""
    return by_score(fuse(rankings, k))


def repetition_takes_a_rank(rankings: list[list[str]], k: int) -> Scored:
    """A repeated id takes a rank away from those after it: rank the list as if it were not there."""
    scores: dict[str, float] = {}
    for ids in rankings:
        for name in dict.fromkeys(ids):
            scores[name] = scores.get(name, 0.0) + 1 / (k + ids.index(name) + 1)
    return by_score(scores)


def ties_by_appearance(rankings: list[list[str]], k: int) -> Scored:
    """Equal scores stay in the order in which they turned up: sort ties by id."""
    scores = fuse(_once(rankings), k)
    return [[name, scores[name]] for name in sorted(scores, key=lambda name: -scores[name])]


def ties_reversed(rankings: list[list[str]], k: int) -> Scored:
    """Equal scores come with the last id first: `reverse=True` turns the order of ids around too."""
    scores = fuse(_once(rankings), k)
    return [[n, scores[n]] for n in sorted(scores, key=lambda n: (scores[n], n), reverse=True)]


def worst_first(rankings: list[list[str]], k: int) -> Scored:
    """The lowest score comes first: the best belongs there."""
    scores = fuse(_once(rankings), k)
    return [[name, scores[name]] for name in sorted(scores, key=lambda n: (scores[n], n))]


def always_sixty(rankings: list[list[str]], k: int) -> Scored:
    """You always use 60: take the `k` that you are given."""
    return reciprocal_rank_fusion(rankings, RRF_K)


def _hidden_rankings(random: Random) -> Iterator[Arguments]:
    yield [["guide#0", "faq#0"], ["faq#0", "guide#0"]], 60
    yield [["guide#0", "guide#0", "faq#0"], ["faq#1"]], 60
    yield [["faq#0"], [], ["guide#0", "faq#0"]], 10
    yield [["guide#1"], ["faq#1"]], 0
    yield [], 60
    yield [["guide#2", "faq#0"], ["guide#2", "faq#1"]], 1
    made = 0
    while made < 24:
        rankings, k = some_rankings(random, random.randint(1, 3)), random.choice([0, 1, 10, 60])
        if random.random() < 0.2 and rankings[0]:
            rankings[0].insert(random.randint(1, len(rankings[0])), rankings[0][0])
        if clear(rankings, k) and sum(map(len, rankings)) > 2:
            made += 1
            yield rankings, k


def _any_rankings() -> Strategy:
    ids = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)
    return st.tuples(st.lists(ids, max_size=3), st.sampled_from([60, 1, 0])).filter(
        lambda drawn: clear(*drawn)
    )


EXERCISE = Exercise(
    model_solution=reciprocal_rank_fusion,
    reference=_by_labkit,
    cases=(
        case("an id in both lists wins", [["a", "b"], ["b", "c"]], 60),
        case("a tie goes by id", [["b", "a"], ["a", "b"]], 60),
        case("a list that repeats an id", [["a", "a", "b"], ["b"]], 1),
        case("an empty list adds nothing", [["a"], []], 60),
        case("a k of 0, and three lists", [["b", "c"], ["c"], ["a"]], 0),
    ),
    hidden=_hidden_rankings,
    strategy=_any_rankings,
    hints=(
        "Compute the scores of the first public case with a pencil: which ids are in both lists?",
        "Keep a dict from id to score; `enumerate(ids, start=1)` counts ranks from 1.",
        "`dict.fromkeys(ids)` drops repetitions and keeps the order.",
        "Sort with the key `(-score, id)`: the minus puts the highest first and leaves ids rising.",
    ),
    off_limits=("labkit.ranking",),
    place=3,
    points=4,
    minutes=15,
    core=True,
)
