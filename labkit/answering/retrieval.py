"""The search life cycle: from a question to ranked passages, for one viewer on one day."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, ClassVar

from labkit.answering.access_filter import admit
from labkit.ranking.hybrid import (
    CANDIDATES,
    FUSED,
    hybrid_refusal,
    rank_hybrid,
    reachable_score,
    support,
)
from labkit.ranking.policy import MAX_HITS, rank_strict, strict_refusal
from labkit.text import codes, fold, significant_terms, terms
from labkit.types import (
    Eligible,
    Embedder,
    Hit,
    Reason,
    Refused,
    Retrieval,
    StoreError,
    TermStatistics,
    Vector,
    VectorStore,
    Viewer,
)


@dataclass(frozen=True)
class _Search:
    """What both policies need: an index, its embedder, and what the viewer may see.

    `threshold` is a cosine of this embedder's vector space; another model needs another one. The
    store is asked for a bounded number of passages, never for all; `knower` names what an unknown
    product is unknown to: for a part of an index, not all of it.
    """

    policy: ClassVar[str]
    store: VectorStore
    embedder: Embedder
    threshold: float
    k: int = MAX_HITS
    admission: Callable[[Viewer, date], Eligible] = admit
    knower: str = "document or product fact"

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        """As `Search.retrieve`; `ranked` holds the passages that were looked at."""
        eligible = self.admission(viewer, as_of)
        named = {code: fold(code) for code in codes(question)}
        asked = [*terms(question), *named.values()]
        known = self.store.term_statistics(asked, eligible)
        ranked, refusal, said = self._ranked(question, eligible, known)
        strange = [code for code, term in named.items() if term not in known.best]
        if ranked and strange:
            message = f"No {self.knower} knows {strange[0]}."
            refusal = Refused(Reason.UNKNOWN_PRODUCT, message)
        rarity = {term: known.rarity(term) for term in asked}
        ranked = [hit if hit.dropped else replace(hit, asked=rarity) for hit in ranked]
        detail = {"policy": self.policy, "threshold": self.threshold, "k": self.k}
        detail |= {**said, "eligible": known.passages}
        return Retrieval(question, eligible, tuple(ranked), refusal, detail)

    def dense(self, question: str, eligible: Eligible, k: int = CANDIDATES) -> list[Hit]:
        """The k nearest passages by cosine, before threshold and fusion: for diagnosis too."""
        return self._nearest(self._vector(question), eligible, k)

    def _vector(self, question: str) -> Vector:
        vector: Vector = self.embedder.embed([question], "query")[0]
        return vector

    def _nearest(self, vector: Vector, eligible: Eligible, k: int) -> list[Hit]:
        """StoreError if the index has meanwhile been built with another model: an equal dimension
        does not make it the same space."""
        hits = self.store.search(vector, k, eligible)
        if self.store.manifest().embedder != self.embedder.identity:
            raise StoreError("The index was built anew with another embedder. Start again.")
        return hits

    def _ranked(
        self, question: str, eligible: Eligible, known: TermStatistics
    ) -> tuple[list[Hit], Refused | None, Mapping[str, Any]]:
        """The passages, ranked; why none of them was kept; and what the trace should say."""
        raise NotImplementedError


@dataclass(frozen=True)
class StrictSearch(_Search):
    """The nearest passages, ranked by the strict policy: `labkit.types.Search`."""

    policy: ClassVar = "strict"

    def _ranked(
        self, question: str, eligible: Eligible, known: TermStatistics
    ) -> tuple[list[Hit], Refused | None, Mapping[str, Any]]:
        ranked = rank_strict(question, self.dense(question, eligible), self.threshold, self.k)
        refusal = None
        if all(hit.dropped for hit in ranked):
            elsewhere = bool(significant_terms(question) & known.best.keys())
            refusal = strict_refusal(ranked, self.threshold, elsewhere)
        return ranked, refusal, {}


@dataclass(frozen=True)
class HybridSearch(_Search):
    """The best by meaning and the best by words, fused: `labkit.types.Search`.

    `weight`, from 0 to 1, is the part that the meaning has; it belongs to the model, as the
    threshold does. `candidates` passages are taken from each side.
    """

    policy: ClassVar = "hybrid"
    weight: float = 0.5
    candidates: int = FUSED

    def _ranked(
        self, question: str, eligible: Eligible, known: TermStatistics
    ) -> tuple[list[Hit], Refused | None, Mapping[str, Any]]:
        vector, words = self._vector(question), terms(question)
        reachable = reachable_score(words, known)
        ranked = rank_hybrid(
            self._nearest(vector, eligible, max(CANDIDATES, self.candidates)),
            self.store.lexical(words, self.candidates, eligible),
            self.store.mean_cosines(vector, eligible),
            reachable,
            self.threshold,
            self.weight,
            self.k,
            self.candidates,
        )
        refusal = None
        if all(hit.dropped for hit in ranked):
            refusal = hybrid_refusal(ranked, reachable, self.threshold)
        detail = {"weight": self.weight, "support": support(ranked, reachable)}
        return ranked, refusal, detail
