"""Stage 05: lexical scores, fusion of ranks, and the policies that decide what is kept."""

from labkit.ranking.fusion import reciprocal_rank_fusion, score_fusion
from labkit.ranking.hybrid import rank_hybrid
from labkit.ranking.lexical import Bm25, bm25_scores
from labkit.ranking.policy import rank_strict

__all__ = [
    "Bm25",
    "bm25_scores",
    "rank_hybrid",
    "rank_strict",
    "reciprocal_rank_fusion",
    "score_fusion",
]
