"""The strict policy: near in meaning and a word in common

Each hit has an `id`, its `cosine`, and `shared`, the number of terms that it shares with the
question. Rank all hits twice: by cosine, and, those that share a term, by `shared`, where that is
equal by cosine; the highest first, ties by id. Fuse the two rankings by `1 / (60 + rank)`. Only
then choose: a hit stays if its cosine is at least `threshold` and it shares a term. Return
`[id, fused score]` of the best `k` that stay, highest score first, ties by id. You may use
`reciprocal_rank_fusion`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import nextafter
from random import Random
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s05_ranking.common import RRF_K, Scored, by_score, fuse
from classroom.exercises.s06_admission.common import metadata_of
from labkit.ranking import rank_strict
from labkit.types import Chunk, Hit

PlainHit: TypeAlias = dict[str, Any]  # id, cosine, shared


def rank_hits(hits: list[dict], threshold: float, k: int) -> list[list]:
    """The best k hits as [id, fused score]; a hit has the keys id, cosine and shared."""
    by_meaning = sorted(hits, key=lambda h: (-h["cosine"], h["id"]))
    by_words = sorted((h for h in by_meaning if h["shared"] > 0), key=lambda h: -h["shared"])
    scores: dict[str, float] = {}
    for ranking in (by_meaning, by_words):
        for rank, hit in enumerate(ranking, start=1):
            scores[hit["id"]] = scores.get(hit["id"], 0.0) + 1 / (60 + rank)
    stays = {h["id"] for h in hits if h["cosine"] >= threshold and h["shared"] > 0}
    fused = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[name, score] for name, score in fused if name in stays][:k]


def _by_labkit(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    dense = [_hit(hit) for hit in sorted(hits, key=_nearest)]
    ranked = rank_strict(" ".join(_WORDS), dense, threshold, k)
    return [[hit.chunk.id, hit.fused] for hit in ranked if not hit.dropped]


_WORDS = "alpha bravo charlie delta echo foxtrot golf hotel".split()


def _hit(plain: PlainHit) -> Hit:
    """A hit whose text shares so many words with the question that `_by_labkit` asks."""
    source, _, part = plain["id"].rpartition("#")
    text = " ".join(_WORDS[: plain["shared"]])
    return Hit(Chunk(metadata_of({"id": source}), int(part), 0, len(text), text), plain["cosine"])


def _nearest(hit: PlainHit) -> tuple[float, str]:
    return -hit["cosine"], hit["id"]


def _ranked(*rankings: Iterable[PlainHit], first: int = 1) -> Scored:
    """Rankings of hits, fused."""
    return by_score(fuse([[hit["id"] for hit in ranking] for ranking in rankings], RRF_K, first))


def _by_words(by_meaning: Iterable[PlainHit]) -> list[PlainHit]:
    """Those that share a word, most words first; equal ones stay in their order."""
    return sorted((hit for hit in by_meaning if hit["shared"] > 0), key=lambda hit: -hit["shared"])


def _all_ranked(hits: Iterable[PlainHit], first: int = 1) -> Scored:
    by_meaning = sorted(hits, key=_nearest)
    return _ranked(by_meaning, _by_words(by_meaning), first=first)


def _passing(hits: list[PlainHit], ranked: Scored, threshold: float, words: int = 1) -> Scored:
    """Those of a ranking that are near enough and share so many words."""
    passing = {h["id"] for h in hits if h["cosine"] >= threshold and h["shared"] >= words}
    return [pair for pair in ranked if pair[0] in passing]


def threshold_before_ranks(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """The threshold is applied before ranks are given: a rank then depends on who else passed."""
    return rank_hits([hit for hit in hits if hit["cosine"] >= threshold], threshold, k)


def dropped_before_ranks(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """You drop hits first and rank only the rest: give all hits their ranks, then choose."""
    left = [hit for hit in hits if hit["cosine"] >= threshold and hit["shared"] > 0]
    return rank_hits(left, threshold, k)


def wordless_before_ranks(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Hits without a shared word are missing in the ranks by cosine: they hold places there too."""
    return rank_hits([hit for hit in hits if hit["shared"] > 0], threshold, k)


def raw_scores_added(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Cosine and word count are added up: they have no common unit, so add 1 / (60 + rank)."""
    scores = {hit["id"]: hit["cosine"] + hit["shared"] for hit in hits}
    return _passing(hits, by_score(scores), threshold)[:k]


def or_for_and(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """One of two conditions is enough for you: near in meaning *and* a shared word are asked."""
    left = {hit["id"] for hit in hits if hit["cosine"] >= threshold or hit["shared"] > 0}
    return [pair for pair in _all_ranked(hits) if pair[0] in left][:k]


def words_not_asked(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """A hit that shares no word with the question is kept: a near meaning alone is not enough."""
    return _passing(hits, _all_ranked(hits), threshold, words=0)[:k]


def threshold_forgotten(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """A hit below the threshold is kept: a shared word alone is not enough."""
    return rank_hits(hits, -1.0, k)


def at_threshold_dropped(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """A hit exactly at the threshold is dropped: it is the lowest cosine that is kept."""
    return rank_hits(hits, nextafter(threshold, 1.0), k)


def cut_before_choosing(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """The best k are taken before hits are dropped: hits that pass lose their place to others."""
    return _passing(hits, _all_ranked(hits)[:k], threshold)


def k_forgotten(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """More than k hits are kept: the generator is handed the best k only."""
    return rank_hits(hits, threshold, len(hits))


def hit_ranks_from_zero(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Your ranks start at 0: the best hit of a list has rank 1."""
    return _passing(hits, _all_ranked(hits, first=0), threshold)[:k]


def words_tied_by_id(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Hits that share as many words are ranked by id: which of them is nearer in meaning decides."""
    by_id = sorted(hits, key=lambda hit: str(hit["id"]))
    return _passing(hits, _ranked(sorted(hits, key=_nearest), _by_words(by_id)), threshold)[:k]


def ties_as_given(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Hits with equal numbers are ranked as they came: where nothing else decides, the id does."""
    by_meaning = sorted(hits, key=lambda hit: -hit["cosine"])
    return _passing(hits, _ranked(by_meaning, _by_words(by_meaning)), threshold)[:k]


def ordered_by_cosine(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """The result is in order of the cosine: the fused score decides who comes first."""
    scores = dict(_all_ranked(hits))
    ranked = [[hit["id"], scores[hit["id"]]] for hit in sorted(hits, key=_nearest)]
    return _passing(hits, ranked, threshold)[:k]


def _hits(*rows: tuple[str, float, int]) -> list[PlainHit]:
    return [_plain(*row) for row in rows]


def _plain(name: str, cosine: float, shared: int) -> PlainHit:
    return {"id": name, "cosine": cosine, "shared": shared}


def _hidden_hits(random: Random) -> Iterator[Arguments]:
    names = ["export#0", "export#1", "guide#0", "guide#1", "refund#0", "refund#1"]
    yield [], 0.4, 3
    yield [_plain("guide#1", 0.4, 1), _plain("guide#0", 0.4, 1)], 0.4, 3
    names = random.sample(names, 6)
    far, near = [_plain(name, 0.35, 3) for name in names[:2]], _plain(names[2], 0.4, 1)
    yield [*far, near], 0.4, 1
    for number in range(24):
        size = 6 if number < 8 else random.randint(1, 6)
        hits = [
            _plain(name, random.choice([0.2, 0.35, 0.4, 0.4, 0.55, 0.7]), random.randint(0, 3))
            for name in random.sample(names, size)
        ]
        yield hits, random.choice([0.3, 0.4, 0.4, 0.55]), random.randint(1, 4)


def _any_hits() -> Strategy:
    hit = st.builds(
        _plain,
        st.sampled_from(["a#0", "b#0", "c#0", "d#0"]),
        st.sampled_from([0.5, 0.4, 0.3]),
        st.integers(0, 2),
    )
    hits = st.lists(hit, max_size=4, unique_by=lambda drawn: drawn["id"])
    return st.tuples(hits, st.just(0.4), st.integers(1, 2))


EXERCISE = Exercise(
    model_solution=rank_hits,
    reference=_by_labkit,
    cases=(
        case(
            "a near hit without a shared word goes, and keeps its place in the ranks",
            *(_hits(("a#0", 0.7, 1), ("b#0", 0.5, 3), ("c#0", 0.6, 0)), 0.45, 3),
        ),
        case(
            "a far hit with many words goes",
            *(_hits(("a#0", 0.2, 3), ("b#0", 0.6, 1), ("c#0", 0.5, 2)), 0.45, 3),
        ),
        case(
            "exactly at the threshold, and a tie",
            *(_hits(("b#0", 0.45, 1), ("a#0", 0.45, 1)), 0.45, 3),
        ),
        case(
            "more hits pass than are asked",
            *(_hits(("a#0", 0.9, 0), ("b#0", 0.8, 1), ("c#0", 0.7, 2), ("d#0", 0.6, 3)), 0.45, 2),
        ),
        case(
            "as many words: the nearer one comes first",
            *(_hits(("a#0", 0.5, 2), ("b#0", 0.7, 2)), 0.45, 3),
        ),
        case("nothing was found", [], 0.45, 3),
    ),
    hidden=_hidden_hits,
    strategy=_any_hits,
    hints=(
        "Three steps: two rankings of ids, their fusion, the choice. Write one line for each first.",
        "The hits by cosine come from `sorted(hits, key=lambda hit: (-hit['cosine'], hit['id']))`.",
        "The second ranking holds only hits with `shared > 0`; the first holds all hits. Python's "
        "sort keeps the order of equals, so sorting the first ranking by `shared` is enough.",
        "Go through the fused list, keep the pairs whose hit passes both conditions, and cut the "
        "list with `[:k]` at the very end.",
    ),
    off_limits=("labkit.ranking.policy",),
    place=4,
    points=6,
    minutes=20,
    core=True,
    lends={"labkit.ranking.reciprocal_rank_fusion": "reciprocal_rank_fusion"},
    builds_on=("reciprocal_rank_fusion",),
)
