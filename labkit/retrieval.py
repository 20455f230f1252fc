"""The search life cycle: from a question to ranked passages, for one viewer on one day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from labkit.admission import admit
from labkit.ranking.policy import MAX_HITS, rank_strict, strict_refusal
from labkit.text import codes, fold
from labkit.types import (
    Eligible,
    Embedder,
    Hit,
    Reason,
    Refused,
    Retrieval,
    StoreError,
    VectorStore,
    Viewer,
)

ALL = 2**31 - 1  # the strict policy ranks every eligible chunk


@dataclass(frozen=True)
class StrictSearch:
    """Dense search over all eligible chunks, ranked by the strict policy: `labkit.types.Search`.

    `threshold` is a cosine of this embedder's vector space; another model needs another one.
    """

    store: VectorStore
    embedder: Embedder
    threshold: float
    k: int = MAX_HITS
    admission: Callable[[Viewer, date], Eligible] = admit

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        eligible = self.admission(viewer, as_of)
        ranked = rank_strict(question, self.dense(question, eligible), self.threshold, self.k)
        refusal = self._unknown_product(question, eligible) if ranked else None
        if refusal is None and all(hit.dropped for hit in ranked):
            refusal = strict_refusal(ranked, self.threshold)
        return Retrieval(
            question,
            eligible,
            tuple(ranked),
            refusal,
            {"policy": "strict", "threshold": self.threshold, "k": self.k},
        )

    def dense(self, question: str, eligible: Eligible) -> list[Hit]:
        """Every eligible chunk by cosine, before threshold and fusion: for diagnosis too.

        StoreError if the index has meanwhile been built with another model: an equal dimension
        does not make it the same space.
        """
        (vector,) = self.embedder.embed([question], "query")
        hits = self.store.search(vector, ALL, eligible)
        if self.store.manifest().embedder != self.embedder.identity:
            raise StoreError("The index was built anew with another embedder. Start again.")
        return hits

    def _unknown_product(self, question: str, eligible: Eligible) -> Refused | None:
        """A refusal if the question names a product that no eligible passage mentions."""
        for code in codes(question):
            if not self.store.lexical([fold(code)], 1, eligible):
                return Refused(Reason.UNKNOWN_PRODUCT, f"No document or product fact knows {code}.")
        return None
