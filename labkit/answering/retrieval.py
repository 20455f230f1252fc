"""The search life cycle: from a question to ranked passages, for one viewer on one day."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date

from labkit.answering.access_filter import admit
from labkit.ranking.hybrid import (
    CANDIDATES,
    hybrid_refusal,
    rank_hybrid,
    reachable_score,
    support,
)
from labkit.ranking.policy import MAX_HITS, rank_strict, strict_refusal
from labkit.text import codes, fold, terms
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

ALL = 2**31 - 1  # both policies look at every eligible chunk by meaning


@dataclass(frozen=True)
class _Search:
    """What both policies need: an index, its embedder, and what the viewer may see.

    `threshold` is a cosine of this embedder's vector space; another model needs another one.
    `knower` names what an unknown product is unknown to: for a part of an index, not all of it.
    """

    store: VectorStore
    embedder: Embedder
    threshold: float
    k: int = MAX_HITS
    admission: Callable[[Viewer, date], Eligible] = admit
    knower: str = "document or product fact"

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
                return Refused(Reason.UNKNOWN_PRODUCT, f"No {self.knower} knows {code}.")
        return None


@dataclass(frozen=True)
class StrictSearch(_Search):
    """Dense search over all eligible chunks, ranked by the strict policy: `labkit.types.Search`."""

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        """As `Search.retrieve`."""
        eligible = self.admission(viewer, as_of)
        ranked = rank_strict(question, self.dense(question, eligible), self.threshold, self.k)
        refusal = self._unknown_product(question, eligible) if ranked else None
        if refusal is None and all(hit.dropped for hit in ranked):
            refusal = strict_refusal(ranked, self.threshold)
        detail = {"policy": "strict", "threshold": self.threshold, "k": self.k}
        return Retrieval(question, eligible, tuple(ranked), refusal, detail)


@dataclass(frozen=True)
class HybridSearch(_Search):
    """The best by meaning and the best by words, fused: `labkit.types.Search`.

    `weight`, from 0 to 1, is the part that the meaning has; it belongs to the model, as the
    threshold does. `candidates` passages are taken from each side.
    """

    weight: float = 0.5
    candidates: int = CANDIDATES

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        """As `Search.retrieve`; `ranked` holds the candidates."""
        eligible = self.admission(viewer, as_of)
        dense, words = self.dense(question, eligible), terms(question)
        reachable = reachable_score(words, len(dense), lambda term: self._best(term, eligible))
        ranked = rank_hybrid(
            dense,
            self.store.lexical(words, self.candidates, eligible),
            reachable,
            self.threshold,
            self.weight,
            self.k,
            self.candidates,
        )
        refusal = self._unknown_product(question, eligible) if ranked else None
        if refusal is None and all(hit.dropped for hit in ranked):
            refusal = hybrid_refusal(ranked, reachable, self.threshold)
        detail = {
            "policy": "hybrid",
            "threshold": self.threshold,
            "k": self.k,
            "weight": self.weight,
            "support": support(ranked, reachable),
        }
        return Retrieval(question, eligible, tuple(ranked), refusal, detail)

    def _best(self, term: str, eligible: Eligible) -> list[Hit]:
        return self.store.lexical([term], 1, eligible)
