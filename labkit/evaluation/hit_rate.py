"""Hit rate: was anything relevant found at all?"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from labkit.evaluation.ranked import first_k


def hit_at_k(ranked: Sequence[str], relevant: Collection[str], k: int) -> float | None:
    """1 if a relevant id stands among the first k, else 0; None where nothing is relevant.

    Its mean over questions is the hit rate, also called success@k. With one relevant id a question
    it equals recall.

    Source: `success` in trec_eval, https://github.com/usnistgov/trec_eval.

    >>> hit_at_k(["x", "b"], {"a", "b"}, k=2), hit_at_k(["x", "b"], {"a", "b"}, k=1)
    (1.0, 0.0)
    """
    top = first_k(ranked, k)
    return float(not set(relevant).isdisjoint(top)) if relevant else None
