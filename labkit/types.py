"""The values that travel between the stages, and the Protocols that the stages answer to.

Everything here is immutable data without behaviour of its own, so that any stage can be read,
tested or replaced alone. Offsets count code points in the normalised text of a document.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from enum import StrEnum
from functools import lru_cache
from itertools import chain
from math import log
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray
from pathspec import GitIgnoreSpec

from labkit.text import fold

Vector: TypeAlias = NDArray[np.float32]
"""One embedding: float32, shape (d,), finite, norm > 0."""

Matrix: TypeAlias = NDArray[np.float32]
"""Embeddings in rows: float32, shape (n, d)."""

Role: TypeAlias = Literal["query", "passage"]
"""What a text is to the embedder. Some models prefix the two differently."""

Status: TypeAlias = Literal["draft", "approved", "retired"]


class LabError(Exception):
    """A fault that the person at the keyboard can mend; its message says how."""


class DocumentError(LabError):
    """A document cannot be read as the lab's contract asks."""


class StoreError(LabError):
    """The index is missing, damaged, or made for other settings."""


class EmbeddingError(LabError):
    """An embedder could not turn these texts into usable vectors."""


# --- documents and who may read them ------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Metadata:
    """What governance knows of a document: its front matter, checked.

    `scope` is `ORGANISATION/AUDIENCE`. Both validity days are in force; `valid_until=None` is open.
    """

    id: str
    title: str
    language: str
    scope: str
    status: Status
    canonical: bool
    valid_from: date
    valid_until: date | None
    version: str
    product: str | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One document: `text` is the whole normalised file, `body_start` where its front matter ends.

    `content_hash` covers the text and the metadata, so that a change of either is a change.
    `page_starts` holds where each page begins, from page 1, if the document has pages.
    """

    meta: Metadata
    text: str
    content_hash: str
    body_start: int = 0
    page_starts: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        return self.meta.id


@dataclass(frozen=True, slots=True)
class Product:
    """A structured fact sheet. It answers only through the document rendered from it."""

    code: str
    name: str
    facts: Mapping[str, str]
    document: Document


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a document: `text == document.text[start:end]`, always.

    `context` is the path of headings above it, outermost first, a line each: embedded and searched,
    never quotable. `section` and `anchor` are those of the heading of level 1 to 3 that it stands
    under, also where a deeper one is nearer; empty before the first. `token_count` is None where
    the chunker counts none. `flags` name what could not be kept: `oversize_table`, `oversize`,
    `cut_fence`, `cut_start`, `cut_end` (a sentence may begin before the chunk, or go on behind it).
    `hidden` holds the (start, end), in `text`, of what a reader of the page cannot see, such as a
    comment: it is neither embedded nor searched nor evidence.
    """

    meta: Metadata
    part: int
    start: int
    end: int
    text: str
    context: str = ""
    page: int | None = None
    section: str = ""
    anchor: str = ""
    token_count: int | None = None
    flags: tuple[str, ...] = ()
    hidden: tuple[tuple[int, int], ...] = ()

    @property
    def id(self) -> str:
        return f"{self.meta.id}#{self.part}"

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def source_id(self) -> str:
        return self.meta.id

    @property
    def searchable(self) -> str:
        """What is embedded and searched: title, context and the visible text."""
        return "\n".join(part for part in (self.meta.title, self.context, self.visible) if part)

    @property
    def visible(self) -> str:
        """The text without what is hidden: what may be shown to a reader or a model."""
        edges = (0, *chain.from_iterable(self.hidden), len(self.text))
        return "".join(self.text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))

    def shows(self, start: int, end: int) -> bool:
        """Can a reader of the page see all of text[start:end]?"""
        return not any(first < end and start < after for first, after in self.hidden)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. No scope means nothing may be read."""

    organisation: str
    scopes: frozenset[str]

    @property
    def grants(self) -> frozenset[str]:
        """The document scopes that this viewer may read: `ORGANISATION/AUDIENCE`."""
        return frozenset(f"{self.organisation}/{scope}" for scope in self.scopes)


@dataclass(frozen=True, slots=True)
class Eligible:
    """What one question may see: made once by `access_filter.admit`, required by every search path.

    It is declarative, so that a database can turn it into a WHERE clause: one rule, whose values
    are these fields. `path` and `section` narrow a search to a part of the index; None is all.
    A store refuses a subclass, which would be another rule.
    """

    grants: frozenset[str]
    as_of: date
    path: str | None = None
    section: str | None = None

    def admits(self, meta: Metadata) -> bool:
        """May a document answer? In a granted scope, approved, canonical, in force, on the path.

        Both the first and the last day of validity are in force. No grant means nothing. `path` is
        a glob below the root: `**` is any number of folders, a folder stands for all that lies in
        it, capitals do not matter.
        """
        return (
            meta.scope in self.grants
            and meta.status == "approved"
            and meta.canonical
            and meta.valid_from <= self.as_of
            and (meta.valid_until is None or self.as_of <= meta.valid_until)
            and (self.path is None or _glob(self.path).match_file(_plain(meta.path)))
        )

    def admits_chunk(self, chunk: Chunk) -> bool:
        """The same, and a heading above the passage or in it holds the words of `section`.

        Neither capitals nor accents count.
        """
        return self.admits(chunk.meta) and (
            self.section is None or fold(self.section) in fold("\n".join(_headings(chunk)))
        )


def _headings(chunk: Chunk) -> list[str]:
    # A line of a fenced script that begins with # counts too. That shows a passage more to a person
    # who narrows a search, and decides nothing else.
    return [chunk.context, chunk.section, *re.findall(r"(?m)^ {0,3}#{1,6}[ \t]+(.*)$", chunk.text)]


@lru_cache(maxsize=8)
def _glob(pattern: str) -> GitIgnoreSpec:
    try:
        # The slash ties the pattern to the root; without it, a bare name would match at any depth.
        return GitIgnoreSpec.from_lines(["/" + _plain(pattern).removeprefix("./")])
    except ValueError as error:
        raise LabError(f"'{pattern}' is no pattern of paths. Write it as guides/*.md.") from error


def _plain(path: str) -> str:
    return normalize("NFC", path).lower()


# --- from a question to an answer -----------------------------------------------------------------


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


# --- the index -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EmbedderIdentity:
    """Which vector space: two embedders share vectors only if all of this is equal."""

    provider: str
    endpoint: str
    model: str
    revision: str
    dimension: int
    query_prefix: str = ""
    passage_prefix: str = ""
    normalised: bool = True
    metric: str = "cosine"


Command: TypeAlias = Literal["rebuild", "ingest"]
"""The two ways to bring documents into an index."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Which command made an index, and of which folder: what its owner can be told to run.

    `command` is empty where nobody knows, as in an index from before this was noted.
    """

    command: Command | Literal[""] = ""
    root: str = ""


@dataclass(frozen=True, slots=True)
class Manifest:
    """The lock file of an index: what must be the same when it is read as when it was built.

    `origin` stands in it and is written with it, but is no setting: two manifests that differ in
    nothing else are equal.
    """

    embedder: EmbedderIdentity
    chunker: str
    analyser: str
    corpus_sha256: str
    products_sha256: str
    origin: Origin = field(default=Origin(), compare=False)


@dataclass(frozen=True, slots=True)
class IndexStats:
    """Sizes of an index, for the person who keeps it."""

    documents: int
    chunks: int
    products: int
    vector_bytes: int


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """What an index knows of a document without its chunks: enough to tell whether it changed.

    `product` says whether it was rendered from product facts.
    """

    id: str
    path: str
    title: str
    content_hash: str
    product: bool


@dataclass(frozen=True, slots=True)
class IndexedDocument:
    """A document ready to be written: `vectors[i]` is that of `chunks[i]`.

    `product` holds the facts that the document was rendered from, if it was.
    """

    document: Document
    chunks: Sequence[Chunk]
    vectors: Matrix
    product: Product | None = None


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


RunStatus: TypeAlias = Literal["running", "done", "failed", "interrupted"]
"""How a run stands. `done` with `failed` files above zero is done without those files."""


@dataclass(frozen=True, slots=True)
class FileFault:
    """A file that a run could not take in, by its path below the root, and what to do about it."""

    path: str
    message: str


@dataclass(frozen=True, slots=True)
class IngestRun:
    """The record of one run: what it found under `root`, and what it did to the index.

    `documents` and `chunks` count the index after the run; `added`, `changed`, `removed`,
    `unchanged` and `failed` count documents or files; `embedded` counts chunks that the model was
    asked for. `near_duplicates` counts passages that repeat another one. `notes` names what was
    left out for a reason that its owner has to know (a file that looks as if it held a secret).
    Times are ISO 8601 in UTC.
    """

    command: Command
    root: str
    started: str
    finished: str = ""
    status: RunStatus = "running"
    documents: int = 0
    chunks: int = 0
    embedded: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    failed: int = 0
    near_duplicates: int = 0
    faults: tuple[FileFault, ...] = ()
    notes: tuple[FileFault, ...] = ()
    id: int = 0


@dataclass(frozen=True, slots=True)
class Health:
    """Whether an embedder can work right now, and one sentence if it cannot."""

    ok: bool
    message: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


# --- the Protocols -------------------------------------------------------------------------------


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
