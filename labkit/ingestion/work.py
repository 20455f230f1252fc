"""What there is to do: an index compared with the documents that are there now."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from labkit.indexing import Source, make_manifest
from labkit.ingestion.changes import Changes, chunk_changes, plan_changes
from labkit.store.manifest import manifest_differences
from labkit.store.sqlite import SqliteStore
from labkit.types import Chunk, Chunker, Document, Embedder, Product, StoreError, Vector

if TYPE_CHECKING:
    from labkit.documents.reading import Folder


@dataclass(frozen=True)
class IngestPlan:
    """What `ingest` would do: document ids, and settings as {field: (indexed, now)}.

    `to_embed` counts the chunks that no vector of the index fits. With other settings, or from the
    beginning, those are all.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    to_embed: int = 0
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)

    @property
    def does_something(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.to_embed or self.settings)


@dataclass(frozen=True, slots=True)
class Item:
    """A document to write: its chunks, each with the vector that it can keep, if there is one."""

    document: Document
    product: Product | None
    chunks: list[Chunk]
    kept: list[Vector | None]

    @property
    def new_chunks(self) -> list[Chunk]:
        pairs = zip(self.chunks, self.kept, strict=True)
        return [chunk for chunk, vector in pairs if vector is None]


@dataclass(frozen=True, slots=True)
class Work:
    """All that there is to do; `anew`: the whole index in one transaction."""

    changes: Changes
    settings: dict[str, tuple[Any, Any]]
    items: list[Item]
    anew: bool

    @property
    def to_embed(self) -> int:
        return sum(len(item.new_chunks) for item in self.items)


def plan(
    tree: Folder, chunker: Chunker, embedder: Embedder, store: SqliteStore, full: bool = False
) -> IngestPlan:
    """What `ingest` would do with these documents, without changing anything."""
    work = look(tree, chunker, embedder, store, full)
    return IngestPlan(*work.changes, work.to_embed, work.settings)


def look(
    tree: Folder, chunker: Chunker, embedder: Embedder, store: SqliteStore, full: bool
) -> Work:
    """Compare, and cut what has changed."""
    exists, source = store.exists(), Source(tree.documents, tree.products)
    changes = plan_changes(*_states(source, store if exists else None, full))
    settings = {} if not exists or full else _settings(source, chunker, embedder, store)
    anew = exists and (full or bool(settings))
    changed = set(changes.changed)
    names = changed.union(changes.added)
    items = [
        _item(document, product, chunker, store, anew or document.id not in changed)
        for document, product in _all(tree)
        if anew or document.id in names
    ]
    # What needs no vector first: closed to readers, it must not wait. What is new last.
    items.sort(key=lambda item: (bool(item.new_chunks), item.document.id not in changed))
    return Work(changes, settings, items, anew)


def _states(
    source: Source, store: SqliteStore | None, full: bool
) -> tuple[dict[str, tuple[str, str]], dict[str, tuple[str, str]]]:
    """{id: (hash, path)} in the index and now. A moved file is a change: its path is shown."""
    now = {d.id: (d.content_hash, d.meta.path) for d in source.all_documents}
    if store is None:
        return {}, now
    try:
        hashes = store.document_hashes()
        paths = {chunk.source_id: chunk.meta.path for chunk in store.snapshot().chunks}
    except StoreError:
        if not full:
            raise
        return {}, now  # a damaged index is replaced as a whole, whatever was in it
    unknown = {name: path for name, (_, path) in now.items()}  # blank documents have no chunks
    return {
        name: (content, paths.get(name, unknown.get(name, ""))) for name, content in hashes.items()
    }, now


def _settings(
    source: Source, chunker: Chunker, embedder: Embedder, store: SqliteStore
) -> dict[str, tuple[Any, Any]]:
    """The settings in which the index differs from now."""
    found = manifest_differences(store.manifest(), make_manifest(source, chunker, embedder))
    return {name: both for name, both in found.items() if not name.endswith("_sha256")}


def _all(tree: Folder) -> list[tuple[Document, Product | None]]:
    """Every document by id, those that are rendered from product facts with their product."""
    pairs: list[tuple[Document, Product | None]] = [(document, None) for document in tree.documents]
    pairs += [(product.document, product) for product in tree.products]
    return sorted(pairs, key=lambda pair: pair[0].id)


def _item(
    document: Document, product: Product | None, chunker: Chunker, store: SqliteStore, new: bool
) -> Item:
    chunks = chunker.chunk(document)
    old = [] if new else store.chunk_vectors(document.id)
    return Item(document, product, chunks, chunk_changes(old, chunks))
