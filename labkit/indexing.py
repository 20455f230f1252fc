"""The index life cycle: when documents change, and never when a question is asked.

Read, cut, embed; only when every vector exists is the index replaced, in one transaction.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np

from labkit.documents import corpus_hash
from labkit.embedding.checks import TextTooLong
from labkit.ranking.near_duplicates import near_duplicates
from labkit.store.manifest import manifest_differences
from labkit.store.sqlite import SqliteStore
from labkit.text import ANALYSER_VERSION
from labkit.types import (
    Chunk,
    Chunker,
    Document,
    Embedder,
    IngestRun,
    Manifest,
    Matrix,
    Product,
    StoreError,
)

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (chunks embedded so far, chunks in all)."""

SLICE = 64  # chunks between two reports of progress


@dataclass(frozen=True)
class Source:
    """The documents and product facts of a folder, read and checked. `root` is for the record."""

    documents: list[Document]
    products: list[Product]
    root: str = ""

    @property
    def all_documents(self) -> list[Document]:
        rendered = [product.document for product in self.products]
        return sorted([*self.documents, *rendered], key=lambda document: document.id)

    @property
    def hashes(self) -> dict[str, str]:
        return {document.id: document.content_hash for document in self.all_documents}


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did. `too_long` names chunks whose end is in no vector."""

    documents: int
    products: int
    chunks: int
    too_long: list[str]


@dataclass(frozen=True)
class Plan:
    """What a rebuild would change: document ids, and settings as {field: (indexed, now)}."""

    added: list[str] = field(default_factory=list)
    changed_documents: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def changed(self) -> bool:
        return bool(self.added or self.changed_documents or self.removed or self.settings)


def make_manifest(source: Source, chunker: Chunker, embedder: Embedder) -> Manifest:
    """The lock file that an index of this source would have with these parts."""
    return Manifest(
        embedder=embedder.identity,
        chunker=chunker.version,
        analyser=ANALYSER_VERSION,
        corpus_sha256=corpus_hash((d.id, d.content_hash) for d in source.documents),
        products_sha256=corpus_hash(
            (product.document.id, product.document.content_hash) for product in source.products
        ),
    )


def rebuild(
    source: Source,
    chunker: Chunker,
    embedder: Embedder,
    store: SqliteStore,
    progress: Progress | None = None,
) -> Rebuilt:
    """Build the whole index anew. On any failure or interrupt the previous one stays."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    chunks = [chunk for document in source.all_documents for chunk in chunker.chunk(document)]
    vectors, too_long = embed_chunks(chunks, embedder, progress)
    run = _record(source, chunks, _changes(source, chunker, embedder, store), started)
    manifest = make_manifest(source, chunker, embedder)
    store.replace_all(manifest, source.documents, chunks, vectors, source.products)
    store.finish_run(store.start_run(run.command, run.root, started), run)
    return Rebuilt(len(source.documents), len(source.products), len(chunks), too_long)


def _changes(source: Source, chunker: Chunker, embedder: Embedder, store: SqliteStore) -> Plan:
    """What a rebuild is about to change; all is new where the index before cannot be read."""
    try:
        return plan(source, chunker, embedder, store)
    except StoreError:
        return Plan(added=sorted(source.hashes))


def _record(source: Source, chunks: Sequence[Chunk], changes: Plan, started: str) -> IngestRun:
    """What is noted beside the index once it is there: a rebuild that fails leaves no trace."""
    return IngestRun(
        command="rebuild",
        root=source.root,
        started=started,
        status="done",
        documents=len(source.all_documents),
        chunks=len(chunks),
        embedded=len(chunks),
        added=len(changes.added),
        changed=len(changes.changed_documents),
        removed=len(changes.removed),
        unchanged=len(changes.unchanged),
        near_duplicates=len(near_duplicates(chunks)),
    )


def embed_chunks(
    chunks: Sequence[Chunk],
    embedder: Embedder,
    progress: Progress | None = None,
    size: int | None = None,
) -> tuple[Matrix, list[str]]:
    """One vector a chunk, and the ids of chunks that the model could not read to their end.

    The embedder is called for `size` chunks at a time (default: `SLICE`).
    """
    size = size or SLICE
    slices: list[Matrix] = [np.empty((0, embedder.identity.dimension), dtype=np.float32)]
    too_long: list[str] = []
    for start in range(0, len(chunks), size):
        part = chunks[start : start + size]
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", TextTooLong)
            slices.append(embedder.embed([chunk.searchable for chunk in part], "passage"))
        cut = set()
        for warning in caught:
            if isinstance(warning.message, TextTooLong):
                cut.add(warning.message.text)
            else:
                warnings.warn(warning.message, stacklevel=3)
        too_long += [chunk.id for chunk in part if chunk.searchable in cut]
        if progress is not None:
            progress(start + len(part), len(chunks))
    return np.concatenate(slices), too_long


def plan(source: Source, chunker: Chunker, embedder: Embedder, store: SqliteStore) -> Plan:
    """Compare a source with the index, without changing anything."""
    now = source.hashes
    if not store.exists():
        return Plan(added=sorted(now))
    before = store.document_hashes()
    differences = manifest_differences(store.manifest(), make_manifest(source, chunker, embedder))
    return Plan(
        added=sorted(now.keys() - before.keys()),
        changed_documents=sorted(n for n in now.keys() & before.keys() if now[n] != before[n]),
        removed=sorted(before.keys() - now.keys()),
        unchanged=sorted(n for n in now.keys() & before.keys() if now[n] == before[n]),
        settings={k: v for k, v in differences.items() if not k.endswith("_sha256")},
    )
