"""The Protocols that the stages answer to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import Protocol, runtime_checkable

from labkit.types.answers import Hit, Proposal, Retrieval, TermStatistics
from labkit.types.base import Matrix, Role, Vector
from labkit.types.documents import Chunk, Document, Eligible, Product, Viewer
from labkit.types.index import (
    Command,
    DocumentRecord,
    EmbedderIdentity,
    Health,
    IndexedDocument,
    IndexStats,
    IngestRun,
    Manifest,
)


class Chunker(Protocol):
    """Stage 02: from a document to chunks."""

    @property
    def version(self) -> str:
        """The name of the algorithm and of its effective parameters."""

    def chunk(self, document: Document) -> list[Chunk]:
        """Cut one document; every non-blank character of its body is in some chunk."""


class Embedder(Protocol):
    """Stage 03: from texts to vectors of one space."""

    @property
    def identity(self) -> EmbedderIdentity: ...

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """One vector a text, in order: float32 (n, d), finite, norm > 0; else EmbeddingError."""

    def health(self) -> Health: ...


@runtime_checkable
class VectorStore(Protocol):
    """Stage 04: keeps an index, finds in it what a viewer may see, and records the runs.

    All that engine, life cycle, evaluation and pages use of a store. Every fault is a StoreError
    that says what to do.
    """

    # --- reading ---

    def exists(self) -> bool:
        """Is there an index, built at least once?"""

    def manifest(self) -> Manifest: ...

    def stats(self) -> IndexStats: ...

    def documents(self) -> list[DocumentRecord]:
        """Every document by id, those without any chunk included; reads no vector."""

    def chunks(self, source_id: str) -> list[tuple[Chunk, Vector]]:
        """The chunks of one document in order of part, checked, each with its vector."""

    def passages(self) -> list[Chunk]:
        """Every chunk by id, checked: whoever has read them knows that the index is sound."""

    def runs(self, limit: int | None = 20) -> list[IngestRun]:
        """The last `limit` runs, newest first; None: all of them."""

    # --- searching: `k` is bounded by the caller, and only eligible passages take part ---

    def search(self, vector: Vector, k: int, eligible: Eligible) -> list[Hit]:
        """The k eligible chunks of highest cosine, by (-cosine, id).

        Cosines are float64, rounded to 12 decimals: every store gives the same list.
        """

    def lexical(self, terms: Sequence[str], k: int, eligible: Eligible) -> list[Hit]:
        """The k eligible chunks of highest BM25 score above zero, by (-score, id)."""

    def mean_cosines(self, vector: Vector, eligible: Eligible) -> Mapping[str, float]:
        """For each language the mean cosine of its eligible passages to `vector`: the product of
        the question's unit vector with the mean of theirs."""

    def term_statistics(self, terms: Sequence[str], eligible: Eligible) -> TermStatistics:
        """How often the eligible passages hold these terms, and how much a term could score."""

    # --- writing: each call is one transaction, all or nothing ---

    def initialize(self) -> None:
        """Make the schema, or bring it up to date. Resets nothing."""

    def replace_all(
        self,
        manifest: Manifest,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        vectors: Matrix,
        products: Sequence[Product],
    ) -> None:
        """Replace the whole index; on any failure the old one stays."""

    def upsert(self, items: Sequence[IndexedDocument], embedder: EmbedderIdentity) -> None:
        """Replace these documents and their chunks; StoreError if the vectors are those of another
        `embedder` than the manifest's."""

    def delete(self, source_ids: Sequence[str]) -> None:
        """Take these documents out; deleted means gone. An id that is not there is no error."""

    def start_run(self, command: Command, root: str, started: str = "") -> int:
        """Record that a run started, now if `started` is empty, and return its id."""

    def finish_run(self, run_id: int, run: IngestRun) -> None:
        """Record how that run ended: all of `run` but its id, command, root and start."""


class Search(Protocol):
    """Stages 05 and 06: from a question to ranked, admitted passages."""

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval: ...


class Generator(Protocol):
    """Stage 07: from passages to a proposal, which the gate then checks."""

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        """Propose evidence from these hits; raise Refused for a named failure."""
