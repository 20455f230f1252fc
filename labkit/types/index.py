"""What an index knows of itself, of its documents and of the runs that brought them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from labkit.types.base import Matrix
from labkit.types.documents import Chunk, Document, Product


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
