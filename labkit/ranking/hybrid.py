"""The hybrid policy: near in meaning or in words, fused by scores that mean the same.

Two scores stand beside each other only when both are shares from 0 to 1:

- **Meaning.** A model places texts of one language near one another, whatever they say: for a
  French question every French passage starts ahead. So a cosine counts from the mean cosine of the
  eligible passages of its language. Of the candidates the best is then worth 1 and the last 0: as
  much as one that is no candidate at all.
- **Words.** A BM25 score is divided by what the question's words could reach together. A passage
  that shares one weak word with a long question is then worth little, even where no other shares
  more; divided by the best score found, it would be worth 1.

Sources: Bruch, Gai and Ingber, "An Analysis of Fusion Functions for Hybrid Retrieval" (ACM TOIS 42,
2023), for scores against ranks and for theoretical bounds; Yang et al., "A Simple and Effective
Method to Eliminate the Self Language Bias in Multilingual Representations" (EMNLP 2021), for what a
language alone does to a vector. What this gains, and how the weights were chosen, stands in
docs/evaluation.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import fsum, log

from labkit.ranking.fusion import score_fusion
from labkit.ranking.policy import MAX_HITS, check_threshold, keep_best, nearest
from labkit.types import Hit, Reason, Refused, TermStatistics

CANDIDATES = 1000  # passages asked of a store by meaning
FUSED = 100  # passages of each side that take part
WORDS_ENOUGH = 0.25  # this share of what the words could reach is support without a near meaning
_UNSUPPORTED = "nothing found is near enough, in meaning or in words"


def rank_hybrid(
    dense: Sequence[Hit],
    lexical: Sequence[Hit],
    means: Mapping[str, float],
    reachable: float,
    threshold: float,
    weight: float,
    k: int = MAX_HITS,
    candidates: int = FUSED,
) -> list[Hit]:
    """Fuse the best passages by meaning and by words; kept hits have an empty `dropped`.

    `dense` holds the nearest passages with their cosine, and `means` the mean cosine of all
    passages of each language: the `candidates` that stand highest above the mean of their language
    are taken. `lexical` holds the best by BM25, and `reachable` is what the question's words could
    reach (`reachable_score`). `weight`, from 0 to 1, is the part of the meaning, 1 - `weight` that
    of the words.

    The result is in order of the fused share, ties by id; `dense_rank` and `lexical_rank` are the
    places among the candidates, None where a passage is not among them. The threshold decides for
    the whole question (`support`): a passage that answers is often not the nearest one.

    ValueError for a threshold that is no cosine.
    """
    check_threshold(threshold)
    worded = lexical[:candidates]
    meaning = _meaning(dense, means, candidates)
    words = {hit.chunk.id: _share(hit, reachable) for hit in worded}
    fused = score_fusion([meaning, words], [weight, 1 - weight])
    ranked = _hits(fused, dense, worded, list(meaning))
    if support(ranked, reachable) < threshold:
        return [replace(hit, dropped=_UNSUPPORTED) for hit in ranked]
    return keep_best(ranked, k)


def support(hits: Sequence[Hit], reachable: float) -> float:
    """The cosine that decides about a question: of the nearest hit, or 1 if words are enough.

    One of the two has to do: a question in another language than its answer shares no word with it,
    and a question that is a part number has hardly any meaning.
    """
    return 1.0 if _best_share(hits, reachable) >= WORDS_ENOUGH else nearest(hits)


def reachable_score(terms: Sequence[str], statistics: TermStatistics) -> float:
    """What the BM25 scores of these terms could add up to: no passage scores more.

    Each distinct term counts with the best share that it has in any passage. One that no passage
    holds counts as the rarest there could be: words that nothing knows are a reason for doubt.
    """
    unknown = log(2 * statistics.passages + 2)  # the weight of a word in no passage
    return fsum(statistics.best.get(term, unknown) for term in set(terms))


def hybrid_refusal(ranked: Sequence[Hit], reachable: float, threshold: float) -> Refused:
    """Why the hybrid policy kept nothing of these hits."""
    if not ranked:
        return Refused(Reason.NOTHING_ELIGIBLE, "No document may answer this viewer on this day.")
    share = _best_share(ranked, reachable)
    return Refused(
        Reason.BELOW_THRESHOLD,
        f"The nearest passage has cosine {nearest(ranked):.2f}; at least {threshold:.2f} is "
        f"needed, or {WORDS_ENOUGH:.0%} of the weight of the question's words, of which the best "
        f"passage holds {share:.0%}.",
    )


def _meaning(dense: Sequence[Hit], means: Mapping[str, float], candidates: int) -> dict[str, float]:
    """The best candidates by their share from 0 to 1, best first."""
    above = {
        hit.chunk.id: (hit.cosine or 0.0) - means.get(hit.chunk.meta.language, 0.0) for hit in dense
    }
    best = sorted(above, key=lambda name: (-above[name], name))[: max(candidates, 0)]
    if not best:
        return {}
    high, low = above[best[0]], above[best[-1]]
    return {name: (above[name] - low) / (high - low) if high > low else 1.0 for name in best}


def _hits(
    fused: Sequence[tuple[str, float]],
    dense: Sequence[Hit],
    lexical: Sequence[Hit],
    by_meaning: Sequence[str],
) -> list[Hit]:
    """One hit a candidate, with all that both sides say of it, in order of the fused score."""
    near = {hit.chunk.id: hit for hit in dense}
    worded = {hit.chunk.id: hit for hit in lexical}
    dense_rank = {name: rank for rank, name in enumerate(by_meaning, start=1)}
    lexical_rank = {name: rank for rank, name in enumerate(worded, start=1)}
    return [
        Hit(
            (near.get(name) or worded[name]).chunk,
            cosine=near[name].cosine if name in near else None,
            dense_rank=dense_rank.get(name),
            lexical_score=worded[name].lexical_score if name in worded else None,
            lexical_rank=lexical_rank.get(name),
            fused=score,
        )
        for name, score in fused
    ]


def _share(hit: Hit, reachable: float) -> float:
    """A BM25 score as a share of what could be reached. Rounding may lift it above 1."""
    return min(1.0, (hit.lexical_score or 0.0) / reachable) if reachable > 0 else 0.0


def _best_share(hits: Sequence[Hit], reachable: float) -> float:
    return max((_share(hit, reachable) for hit in hits), default=0.0)
