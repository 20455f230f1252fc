"""The strict policy: a passage needs both a near meaning and a shared word.

Order matters: ranks are taken over all passages that are looked at, and only then does the
threshold choose. The other way round, a chunk's rank would depend on who else passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from labkit.ranking.fusion import reciprocal_rank_fusion
from labkit.ranking.near_duplicates import near_duplicates
from labkit.text import significant_terms
from labkit.types import Hit, Reason, Refused

MAX_HITS = 3
COMPARED = 50  # ranks within which passages that say the same are looked for


def rank_strict(
    question: str, dense: Sequence[Hit], threshold: float, k: int = MAX_HITS
) -> list[Hit]:
    """Rank passages for a question; kept hits have an empty `dropped`.

    `dense` holds the passages to look at with their `cosine`, best first. The lexical rank counts
    the distinct significant terms that the question shares with title, headings and text; equal
    counts are ranked by cosine, so that no file's name enters a sum, and a chunk that shares no
    term has no lexical rank. The result is in order of the fused score, ties by id.

    ValueError for a threshold that is no cosine.
    """
    check_threshold(threshold)
    asked = significant_terms(question)
    hits = {hit.chunk.id: hit for hit in dense}
    shared = {name: len(asked & _terms(hit.chunk.searchable)) for name, hit in hits.items()}
    by_words = sorted((name for name in hits if shared[name]), key=lambda name: -shared[name])
    dense_rank = {name: rank for rank, name in enumerate(hits, start=1)}
    lexical_rank = {name: rank for rank, name in enumerate(by_words, start=1)}
    ranked = [
        replace(
            hits[name],
            dense_rank=dense_rank[name],
            lexical_score=float(shared[name]),
            lexical_rank=lexical_rank.get(name),
            fused=score,
            dropped=_objection(hits[name], shared[name], threshold),
        )
        for name, score in reciprocal_rank_fusion([list(hits), by_words])
    ]
    return keep_best(ranked, k)


def check_threshold(threshold: float) -> None:
    """ValueError, naming it, for a threshold that no cosine could be compared with."""
    if not -1 <= threshold <= 1:  # so that NaN is refused too
        raise ValueError(f"the threshold is {threshold}; a cosine lies from -1 to 1.")


def keep_best(ranked: Sequence[Hit], k: int) -> list[Hit]:
    """Keep the first k of the hits that nothing has dropped so far; the others say why not.

    Of hits that say the same one is kept: the canonical one takes the place of the best of them,
    for it would otherwise fall behind with the words that it stands for. Scores and ranks stay with
    their passages. Only hits that nothing has dropped are compared, so that no passage gives way to
    one that is not shown, and no more of them than it takes to fill k.
    """
    chunks = [hit.chunk for hit in ranked if not hit.dropped]
    compared = max(COMPARED, k)
    repeats = near_duplicates(chunks[:compared])
    while compared < len(chunks) and compared - len(repeats) < k:
        compared *= 2
        repeats = near_duplicates(chunks[:compared])
    hits = {hit.chunk.id: hit for hit in ranked}
    result: dict[str, Hit] = {}
    kept = 0
    for name in hits:
        for first in (repeats.get(name, name), name):
            if first not in result:
                result[first] = _marked(hits[first], repeats.get(first, ""), kept >= k, k)
                kept += not result[first].dropped
    return list(result.values())


def _marked(hit: Hit, stands_for: str, late: bool, k: int) -> Hit:
    """The hit, dropped if another one stands for it, or if enough are kept."""
    if hit.dropped or not (stands_for or late):
        return hit
    because = f"the same passage as {stands_for}" if stands_for else f"beyond the best {k}"
    return replace(hit, dropped=because)


def nearest(hits: Sequence[Hit]) -> float:
    """The highest cosine among these hits; -1, the lowest there is, without any."""
    return max(map(_cosine, hits), default=-1.0)


def strict_refusal(ranked: Sequence[Hit], threshold: float, known: bool = False) -> Refused:
    """Why the strict policy kept nothing of these hits.

    `known` says that a passage which was not looked at shares a word with the question.
    """
    if not ranked:
        return Refused(Reason.NOTHING_ELIGIBLE, "No document may answer this viewer on this day.")
    if not known and all(hit.lexical_rank is None for hit in ranked):
        return Refused(
            Reason.NO_LEXICAL_SUPPORT, "No passage shares a significant word with the question."
        )
    cosine = nearest(ranked)
    if cosine < threshold:
        return Refused(
            Reason.BELOW_THRESHOLD,
            f"The nearest passage has cosine {cosine:.2f}; at least {threshold:.2f} is needed.",
        )
    return Refused(
        Reason.NO_LEXICAL_SUPPORT,
        "The passages near in meaning share no significant word with the question.",
    )


def _cosine(hit: Hit) -> float:
    return -1.0 if hit.cosine is None else hit.cosine


@lru_cache(maxsize=100_000)
def _terms(passage: str) -> frozenset[str]:
    """The significant terms of a passage: asked for with every question, analysed once."""
    return significant_terms(passage)


def _objection(hit: Hit, shared: int, threshold: float) -> str:
    """Why a hit is dropped: it shares no word, or is too far in meaning; empty if neither."""
    if not shared:
        return "shares no significant word with the question"
    return f"cosine below {threshold:.2f}" if _cosine(hit) < threshold else ""
