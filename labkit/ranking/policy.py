"""The strict policy: a passage needs both a near meaning and a shared word.

Order matters: ranks are taken over all eligible chunks, and only then does the threshold choose.
The other way round, a chunk's rank would depend on who else passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from labkit.ranking.fusion import reciprocal_rank_fusion
from labkit.text import significant_terms
from labkit.types import Hit, Reason, Refused

MAX_HITS = 3


def rank_strict(
    question: str, dense: Sequence[Hit], threshold: float, k: int = MAX_HITS
) -> list[Hit]:
    """Rank all eligible chunks for a question; kept hits have an empty `dropped`.

    `dense` holds every eligible chunk with its `cosine`, best first. The lexical rank counts the
    distinct significant terms that the question shares with title and text; a chunk that shares
    none has no lexical rank. The result is in order of the fused score, ties by id.
    """
    asked = significant_terms(question)
    shared = {hit.chunk.id: _shared(asked, hit) for hit in dense}
    by_meaning = [hit.chunk.id for hit in dense]
    by_words = sorted((name for name in shared if shared[name]), key=lambda n: (-shared[n], n))
    fused = reciprocal_rank_fusion([by_meaning, by_words])
    hits = {hit.chunk.id: hit for hit in dense}
    dense_rank = {name: rank for rank, name in enumerate(by_meaning, start=1)}
    lexical_rank = {name: rank for rank, name in enumerate(by_words, start=1)}
    ranked = [
        replace(
            hits[name],
            dense_rank=dense_rank[name],
            lexical_score=float(shared[name]),
            lexical_rank=lexical_rank.get(name),
            fused=score,
        )
        for name, score in fused
    ]
    return _keep(ranked, threshold, k)


def strict_refusal(ranked: Sequence[Hit], threshold: float) -> Refused:
    """Why the strict policy kept nothing of these hits."""
    if not ranked:
        return Refused(Reason.NOTHING_ELIGIBLE, "No document may answer this viewer on this day.")
    nearest = max(map(_cosine, ranked))
    if all(hit.lexical_rank is None for hit in ranked):
        return Refused(
            Reason.NO_LEXICAL_SUPPORT, "No passage shares a significant word with the question."
        )
    if nearest < threshold:
        return Refused(
            Reason.BELOW_THRESHOLD,
            f"The nearest passage has cosine {nearest:.2f}; at least {threshold:.2f} is needed.",
        )
    return Refused(
        Reason.NO_LEXICAL_SUPPORT,
        "The passages near in meaning share no significant word with the question.",
    )


def _cosine(hit: Hit) -> float:
    return -1.0 if hit.cosine is None else hit.cosine


def _shared(asked: frozenset[str], hit: Hit) -> int:
    return len(asked & _passage_terms(f"{hit.chunk.meta.title}\n{hit.chunk.text}"))


@lru_cache(maxsize=100_000)  # beyond it, a scan of all passages never finds one again
def _passage_terms(passage: str) -> frozenset[str]:
    """The terms of a passage: asked for with every question, analysed once."""
    return significant_terms(passage)


def _keep(ranked: Sequence[Hit], threshold: float, k: int) -> list[Hit]:
    """Mark each hit with why it is dropped; the first k others are kept."""
    marked: list[Hit] = []
    kept = 0
    for hit in ranked:
        if hit.lexical_rank is None:
            dropped = "shares no significant word with the question"
        elif _cosine(hit) < threshold:
            dropped = f"cosine below {threshold:.2f}"
        else:
            kept += 1
            dropped = "" if kept <= k else f"beyond the best {k}"
        marked.append(replace(hit, dropped=dropped))
    return marked
