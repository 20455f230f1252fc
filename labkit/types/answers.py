"""What travels from a question to an answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from math import log
from typing import Any

from labkit.types.documents import Chunk, Eligible


@dataclass(frozen=True, slots=True)
class TermStatistics:
    """What the eligible passages know of some terms; a term that none of them holds is absent.

    `passages` counts them, `document_frequency` those that hold a term; `best` is the highest share
    that a term has in the BM25 score of any of them.
    """

    passages: int
    document_frequency: Mapping[str, int]
    best: Mapping[str, float]

    def rarity(self, term: str) -> float:
        """The inverse document frequency of a term, as in BM25; highest for one in no passage."""
        found = self.document_frequency.get(term, 0)
        return log(1 + (self.passages - found + 0.5) / (found + 0.5))


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk and what each ranking said of it. `fused` is neither a cosine nor a probability.

    Ranks count from 1; None means that the list does not hold the chunk. `dropped` says why a
    policy did not keep the hit, and is empty for a kept one.
    """

    chunk: Chunk
    cosine: float | None = None
    dense_rank: int | None = None
    lexical_score: float | None = None
    lexical_rank: int | None = None
    fused: float | None = None
    dropped: str = ""
    asked: Mapping[str, float] = field(default_factory=dict, compare=False, repr=False)
    """The question's terms, each with its rarity among the eligible passages, for whoever reads the
    passage; empty where the search does not say."""


class Reason(StrEnum):
    """Why a question was refused: a closed list."""

    NOTHING_ELIGIBLE = "nothing_eligible"
    BELOW_THRESHOLD = "below_threshold"
    NO_LEXICAL_SUPPORT = "no_lexical_support"
    UNKNOWN_PRODUCT = "unknown_product"
    MODEL_DECLINED = "model_declined"
    TOOL_NOT_CALLED = "tool_not_called"
    INVALID_PROPOSAL = "invalid_proposal"
    INVALID_CITATION = "invalid_citation"
    QUOTATION_NOT_FOUND = "quotation_not_found"
    CONTEXT_TRUNCATED = "context_truncated"
    GENERATOR_FAILED = "generator_failed"


class Refused(Exception):
    """Raised inside a stage to end the path of a question; `Engine` turns it into a Refusal."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What the search found for one question.

    `ranked` holds the eligible chunks that were considered, best first, each with the reason why
    it was dropped, if it was. `refusal` says why there is nothing to hand to a generator.
    """

    question: str
    eligible: Eligible
    ranked: tuple[Hit, ...]
    refusal: Refused | None = None
    detail: Mapping[str, Any] = field(default_factory=dict)

    @property
    def hits(self) -> tuple[Hit, ...]:
        """The passages that may be handed to a generator, best first."""
        return () if self.refusal else tuple(hit for hit in self.ranked if not hit.dropped)

    @property
    def closest(self) -> tuple[Hit, ...]:
        """The best passages, kept or not: what a refusal names."""
        return self.ranked[:3]


MIN_QUOTE = 20  # characters of a quotation after trimming: shorter ones are found by chance
MAX_EVIDENCE = 3  # citations in one proposal


@dataclass(frozen=True, slots=True)
class Citation:
    """One piece of evidence as a generator proposes it: nothing in it has been checked."""

    chunk_id: str
    quote: str


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a generator hands to the gate. `can_answer=False` is an honest refusal."""

    can_answer: bool
    evidence: tuple[Citation, ...] = ()
    detail: Mapping[str, Any] = field(default_factory=dict)
    """What the generator did, for the trace: nothing here is trusted or published."""
    why: str = ""
    """Of a refusal, in a sentence of the lab's own: never a model's words."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A quotation that passed the gate: `document.text[start:end] == quote`."""

    chunk_id: str
    source_id: str
    quote: str
    start: int
    end: int
    page: int | None = None
