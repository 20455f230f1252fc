"""The strict policy: a passage needs both a near meaning and a shared word.

Order matters: ranks are taken over all eligible chunks, and only then does the threshold choose.
The other way round, a chunk's rank would depend on who else passed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from labkit.ranking.fusion import reciprocal_rank_fusion
from labkit.ranking.near_duplicates import collapse
from labkit.text import significant_terms
from labkit.types import Hit, Reason, Refused

MAX_HITS = 3


def rank_strict(
    question: str, dense: Sequence[Hit], threshold: float, k: int = MAX_HITS
) -> list[Hit]:
    """Rank all eligible chunks for a question; kept hits have an empty `dropped`.

    `dense` holds every eligible chunk with its `cosine`, best first. The lexical rank counts the
    distinct significant terms that the question shares with title and text; a chunk that shares
    none has no lexical rank. The result is in order of the fused score, ties by id; of passages
    that say the same, the canonical one takes the place of the best.
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
    return keep_first(collapse([_judged(hit, threshold) for hit in ranked]), k)


def keep_first(hits: Sequence[Hit], k: int) -> list[Hit]:
    """Keep the first k of the hits that nothing has dropped so far; the others say why not."""
    kept = 0
    marked: list[Hit] = []
    for hit in hits:
        kept += not hit.dropped
        late = not hit.dropped and kept > k
        marked.append(replace(hit, dropped=f"beyond the best {k}") if late else hit)
    return marked


def nearest(hits: Sequence[Hit]) -> float:
    """The highest cosine among these hits; -1, the lowest there is, without any."""
    return max(map(_cosine, hits), default=-1.0)


def strict_refusal(ranked: Sequence[Hit], threshold: float) -> Refused:
    """Why the strict policy kept nothing of these hits."""
    if not ranked:
        return Refused(Reason.NOTHING_ELIGIBLE, "No document may answer this viewer on this day.")
    if all(hit.lexical_rank is None for hit in ranked):
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


def _shared(asked: frozenset[str], hit: Hit) -> int:
    return len(asked & _passage_terms(f"{hit.chunk.meta.title}\n{hit.chunk.text}"))


@lru_cache(maxsize=100_000)  # beyond it, a scan of all passages never finds one again
def _passage_terms(passage: str) -> frozenset[str]:
    """The terms of a passage: asked for with every question, analysed once."""
    return significant_terms(passage)


def _judged(hit: Hit, threshold: float) -> Hit:
    """The hit, dropped if it shares no word or is too far in meaning."""
    if hit.lexical_rank is None:
        return replace(hit, dropped="shares no significant word with the question")
    if _cosine(hit) < threshold:
        return replace(hit, dropped=f"cosine below {threshold:.2f}")
    return hit
