"""Stage 09: how good is a ranking? One metric a file, each a function on plain lists."""

from labkit.evaluation.hit_rate import hit_at_k
from labkit.evaluation.intervals import bootstrap_interval, wilson_interval
from labkit.evaluation.ndcg import ndcg_at_k
from labkit.evaluation.ranked import by_score, first_k
from labkit.evaluation.recall import recall_at_k
from labkit.evaluation.reciprocal_rank import reciprocal_rank
from labkit.evaluation.summary import Summary, summarise

__all__ = [
    "Summary",
    "bootstrap_interval",
    "by_score",
    "first_k",
    "hit_at_k",
    "ndcg_at_k",
    "recall_at_k",
    "reciprocal_rank",
    "summarise",
    "wilson_interval",
]
