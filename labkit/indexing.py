"""The life cycle of an index: when documents change, and never when a question is asked.

`plan` compares the documents of a folder with an index and cuts what has changed; `rebuild` and
`ingest` are the two ways to apply it. A rebuild is strict: one fault stops it, and the index is
replaced as a whole or stays. For `ingest`, a fault of one document never stops the others, and
documents are written as they come, a group in a transaction: a run may end anywhere, what it has
done stays, the index answers, and the next run does the rest.

Either way every vector of a document exists before its write begins, and what must no longer
answer leaves first.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

from labkit.documents import corpus_hash
from labkit.documents.reading import Counts, Folder
from labkit.embedding.checks import TextRefused, TextTooLong
from labkit.ranking.near_duplicates import near_duplicates
from labkit.store.manifest import manifest_differences, mend
from labkit.text import ANALYSER_VERSION
from labkit.types import (
    Chunk,
    Chunker,
    Command,
    Document,
    DocumentError,
    Embedder,
    FileFault,
    IndexedDocument,
    IngestRun,
    LabError,
    Manifest,
    Matrix,
    Origin,
    Product,
    RunStatus,
    StoreError,
    Vector,
    VectorStore,
)

Progress: TypeAlias = Callable[[int, int], None]
"""Called with (chunks embedded so far, chunks in all)."""

GROUP = 128  # chunks in a transaction and in a call: a model is quicker with texts of one length


@dataclass(frozen=True)
class Source:
    """The documents and product facts of a folder, read and checked, and what was left out.

    `root` is the folder, `seen` counts its files, hidden ones too: 0 if there was none at all.
    """

    documents: list[Document]
    products: list[Product]
    root: str = ""
    faults: tuple[FileFault, ...] = ()
    notes: tuple[FileFault, ...] = ()
    seen: int = 0
    counts: Counts = field(default_factory=Counts)

    @classmethod
    def of(cls, folder: Folder, root: Path) -> Source:
        """What was read of the folder at `root`."""
        held = (folder.documents, folder.products, str(root), folder.faults, folder.notes)
        return cls(*held, folder.seen, folder.counts)

    @property
    def all_documents(self) -> list[Document]:
        rendered = [product.document for product in self.products]
        return sorted([*self.documents, *rendered], key=lambda document: document.id)

    @property
    def hashes(self) -> dict[str, str]:
        return {document.id: document.content_hash for document in self.all_documents}


# --- what there is to do -------------------------------------------------------------------------


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


@dataclass(frozen=True)
class Plan:
    """What a run would change: document ids, and settings as {field: (indexed, now)}.

    `whole`: the index will be replaced in one transaction. `items` is the work, in its order.
    """

    added: list[str] = field(default_factory=list)
    changed: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    unchanged: list[str] = field(default_factory=list)
    settings: dict[str, tuple[Any, Any]] = field(default_factory=dict)
    whole: bool = False
    items: list[Item] = field(default_factory=list, repr=False, compare=False)

    @property
    def to_embed(self) -> int:
        """The chunks that no vector of the index fits; all of them, if it is replaced."""
        return sum(len(item.new_chunks) for item in self.items)

    @property
    def does_something(self) -> bool:
        return bool(self.added or self.changed or self.removed or self.to_embed or self.settings)


def plan(
    source: Source, chunker: Chunker, embedder: Embedder, store: VectorStore, full: bool = False
) -> Plan:
    """Compare a folder with the index, and cut what has changed, without changing anything.

    With another embedder, chunker or analyser than the index has, and with `full`, all is cut.
    """
    exists = store.exists()
    # A moved file is a change: its path is published.
    now = {each.id: (each.content_hash, each.meta.path) for each in source.all_documents}
    changes = plan_changes(_indexed(store, full) if exists else {}, now)
    settings = {}
    if exists and not full:
        found = manifest_differences(store.manifest(), make_manifest(source, chunker, embedder))
        settings = {name: both for name, both in found.items() if not name.endswith("_sha256")}
    whole = exists and (full or bool(settings))
    wanted = now if whole else {*changes["added"], *changes["changed"]}
    known = set() if whole else {*changes["changed"]}
    products = {product.document.id: product for product in source.products}
    items = []
    for document in source.all_documents:
        if document.id in wanted:
            chunks = chunker.chunk(document)
            old = store.chunks(document.id) if document.id in known else []
            kept = chunk_changes(old, chunks)
            items.append(Item(document, products.get(document.id), chunks, kept))
    # What needs no vector first: closed to readers, it must not wait. What is new last.
    items.sort(key=lambda item: (bool(item.new_chunks), item.document.id not in known))
    return Plan(**changes, settings=settings, whole=whole, items=items)


def plan_changes(before: Mapping[str, object], now: Mapping[str, object]) -> dict[str, list[str]]:
    """Compare {id: hash} of an index with {id: hash} of its source; ids sorted.

    >>> plan_changes({"a": "1", "b": "1", "c": "1"}, {"b": "1", "c": "2", "d": "1"})
    {'added': ['d'], 'changed': ['c'], 'removed': ['a'], 'unchanged': ['b']}
    """
    both = before.keys() & now.keys()
    return {
        "added": sorted(now.keys() - before.keys()),
        "changed": sorted(name for name in both if before[name] != now[name]),
        "removed": sorted(before.keys() - now.keys()),
        "unchanged": sorted(name for name in both if before[name] == now[name]),
    }


def chunk_changes(old: Sequence[tuple[Chunk, Vector]], new: Sequence[Chunk]) -> list[Vector | None]:
    """For each new chunk the vector that it can keep; None: it has to be embedded.

    A vector stands for title, headings and text together. Where all of it is as before, it is the
    same vector, wherever the chunk stands now and whoever may read it now.
    """
    known = {chunk.searchable: vector for chunk, vector in old}
    return [known.get(chunk.searchable) for chunk in new]


def _indexed(store: VectorStore, full: bool) -> dict[str, tuple[str, str]]:
    """{id: (hash, path)} of the index; nothing if it is damaged and to be replaced anyway."""
    try:
        return {each.id: (each.content_hash, each.path) for each in store.documents()}
    except StoreError:
        if not full:
            raise
        return {}


def make_manifest(source: Source, chunker: Chunker, embedder: Embedder) -> Manifest:
    """The lock file that an index of this source would have with these parts."""
    rendered = [product.document for product in source.products]
    return Manifest(
        embedder=embedder.identity,
        chunker=chunker.version,
        analyser=ANALYSER_VERSION,
        corpus_sha256=corpus_hash((each.id, each.content_hash) for each in source.documents),
        products_sha256=corpus_hash((each.id, each.content_hash) for each in rendered),
    )


def origin_of(store: VectorStore) -> Origin:
    """Which command made the index, and of which folder.

    Where the manifest cannot tell, the last run that was done does, or else was begun.
    """
    with suppress(StoreError):
        origin = store.manifest().origin
        if origin.command:
            return origin
    runs = store.runs(limit=None)
    first = next((run for run in runs if run.status == "done"), runs[0] if runs else None)
    return Origin(first.command, first.root) if first else Origin()


# --- two ways to do it ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Rebuilt:
    """What a rebuild did. `too_long` names chunks whose end is in no vector."""

    documents: int
    products: int
    chunks: int
    too_long: list[str]


def rebuild(
    source: Source,
    chunker: Chunker,
    embedder: Embedder,
    store: VectorStore,
    progress: Progress | None = None,
) -> Rebuilt:
    """Build the whole index anew. On any failure or interrupt the previous one stays, and no trace
    of the run."""
    started = datetime.now(UTC).isoformat(timespec="seconds")
    planned = plan(source, chunker, embedder, store, full=True)
    run = _Run("rebuild", source, chunker, embedder, store, progress, planned.to_embed)
    run.replace_index(
        planned, [each for group in _groups(planned.items) for each in run.embed(group)]
    )
    chunks = [chunk for item in planned.items for chunk in item.chunks]
    record = replace(run.record("done"), near_duplicates=len(near_duplicates(chunks)))
    store.finish_run(store.start_run("rebuild", source.root, started), record)
    too_long = [chunk.id for chunk in run.too_long]
    return Rebuilt(len(source.documents), len(source.products), len(chunks), too_long)


def ingest(
    source: Source,
    chunker: Chunker,
    embedder: Embedder,
    store: VectorStore,
    progress: Progress | None = None,
    full: bool = False,
) -> IngestRun:
    """Make the index hold the documents of `source`, and return the record of the run.

    Only chunks that no vector of the index fits are embedded. With other settings than the index
    has, and with `full`, all are, and the index is replaced as a whole. A document of which the
    embedder refuses a text (TextRefused) is left out, like a file that cannot be read.

    Files that rules or faults keep out to the last one empty the index: what may not be read must
    not answer. DocumentError for no file at all. Whatever else stops a run is noted in its record
    and raised, with a note of what stays. Once the index is whole, the run is done.
    """
    _refuse_to_empty(source, store, full)
    run_id = store.start_run("ingest", source.root)
    run = _Run("ingest", source, chunker, embedder, store, progress)
    try:
        planned = plan(source, chunker, embedder, store, full)
        run.total = planned.to_embed
        if planned.whole:
            groups = (run.embed_accepted(group) for group in _groups(planned.items))
            run.replace_index(planned, [each for group in groups for each in group])
        else:
            run.update_index(planned)
        store.finish_run(run_id, done := run.record("done"))
    except BaseException as error:
        _note_what_stays(error, run.written)
        status: RunStatus = "failed" if isinstance(error, Exception) else "interrupted"
        with suppress(StoreError):  # the error that stopped the run is the one to report
            store.finish_run(run_id, run.record("done" if run.whole else status))
        raise
    # Counted last: whoever stops the count, or another writer, finds a record that is true.
    with suppress(StoreError):
        store.finish_run(run_id, replace(done, near_duplicates=_repeated(store, run)))
    return next(each for each in store.runs() if each.id == run_id)


def _refuse_to_empty(source: Source, store: VectorStore, full: bool) -> None:
    """DocumentError if there is no file at all: a disk that is not mounted looks like this."""
    if source.documents or source.products:
        return
    exists = store.exists()
    held = store.stats().documents if exists else 0
    if (exists and source.seen) or (held and full):
        return
    faults = "".join(f"\n{fault.path}: {fault.message}" for fault in source.faults)
    if held:
        raise DocumentError(
            f"Nothing in {source.root} can be taken in, and the index holds {held} documents; it "
            f"was left as it is. If all of them shall go, add --full.{faults}"
        )
    raise DocumentError(
        f"Nothing in {source.root} can be taken in. Name the folder of the documents: "
        f"--source.{faults}"
    )


def _note_what_stays(error: BaseException, written: int) -> None:
    """A store's error speaks of one write, whose index is as it was before; a run makes many."""
    if isinstance(error, LabError) and written:
        error.add_note(
            f"Before that, the run had brought {written} documents up to date: they stay so, "
            "and the next run does the rest."
        )


def _repeated(store: VectorStore, run: _Run) -> int:
    """How many passages repeat another one; as the run before counted, if nothing has changed.

    No count there may also mean that it was stopped.
    """
    _, *before = store.runs(limit=2)
    same = not (run.embedded or run.written)
    if same and before and before[0].status == "done" and before[0].near_duplicates:
        return before[0].near_duplicates
    return len(near_duplicates(store.passages()))


# --- doing it ------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Run:
    """One run at work, and what it has done so far."""

    command: Command
    source: Source
    chunker: Chunker
    embedder: Embedder
    store: VectorStore
    progress: Progress | None = None
    total: int = 0
    embedded: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    refused: list[FileFault] = field(default_factory=list)
    too_long: list[Chunk] = field(default_factory=list)
    whole: bool = False  # the index holds all that this run was to bring

    @property
    def written(self) -> int:
        return self.added + self.changed + self.removed

    def embed(self, group: Sequence[Item]) -> list[IndexedDocument]:
        """These documents with all their vectors, in few even calls of the model."""
        chunks = [chunk for item in group for chunk in item.new_chunks]
        calls = max(1, len(chunks) // GROUP)
        found, cut = embed_chunks(chunks, self.embedder, self._told, -(-len(chunks) // calls))
        self.embedded += len(chunks)
        cut_ids = set(cut)
        self.too_long += [chunk for chunk in chunks if chunk.id in cut_ids]
        fresh, shape = iter(found), (-1, self.embedder.identity.dimension)
        rows = [[next(fresh) if kept is None else kept for kept in item.kept] for item in group]
        return [
            IndexedDocument(
                item.document,
                item.chunks,
                np.array(vectors, dtype=np.float32).reshape(shape),
                item.product,
            )
            for item, vectors in zip(group, rows, strict=True)
        ]

    def embed_accepted(self, group: Sequence[Item]) -> list[IndexedDocument]:
        """As `embed`, without the documents of which the model refuses a text."""
        try:
            return self.embed(group)
        except TextRefused as refused:
            if len(group) > 1:  # one at a time: it must not keep out the others
                return [each for item in group for each in self.embed_accepted([item])]
            self.refused.append(FileFault(group[0].document.meta.path, str(refused)))
            return []

    def _told(self, done: int, _: int) -> None:
        """Progress that counts on from the groups before."""
        if self.progress is not None:
            self.progress(self.embedded + done, self.total)

    def replace_index(self, planned: Plan, written: Sequence[IndexedDocument]) -> None:
        """Replace the index in one transaction: until then the old one holds."""
        held = Source(
            [each.document for each in written if each.product is None],
            [each.product for each in written if each.product is not None],
        )
        manifest = replace(
            make_manifest(held, self.chunker, self.embedder),
            origin=Origin(self.command, self.source.root),
        )
        chunks = [chunk for each in written for chunk in each.chunks]
        nothing = np.empty((0, manifest.embedder.dimension), dtype=np.float32)
        vectors = np.concatenate([nothing, *(each.vectors for each in written)])
        self.store.replace_all(manifest, held.documents, chunks, vectors, held.products)
        self.whole = True
        names = {each.document.id for each in written}
        self.added = len(names.intersection(planned.added))
        self.changed = len(names.intersection(planned.changed))
        self.unchanged = len(names.intersection(planned.unchanged))
        before = len(planned.changed) + len(planned.removed) + len(planned.unchanged)
        self.removed = before - self.changed - self.unchanged

    def update_index(self, planned: Plan) -> None:
        """Remove what has gone, then replace the documents group by group."""
        if not self.store.exists():  # nothing has to be kept whole until the end
            self.replace_index(Plan(), [])
            self.whole = False
        self.unchanged = len(planned.unchanged)
        if planned.removed:
            self.store.delete(planned.removed)
            self.removed = len(planned.removed)
        changed = set(planned.changed)
        for group in _groups(planned.items):
            written = self.embed_accepted(group)
            self._check_chunker()
            names = {each.document.id for each in written}
            old = changed.intersection(item.document.id for item in group)
            if refused := sorted(old - names):
                self.store.delete(refused)
                self.removed += len(refused)
            self.store.upsert(written, self.embedder.identity)
            self.changed += len(old & names)
            self.added += len(names - old)
        self.whole = True

    def _check_chunker(self) -> None:
        """StoreError if another process has meanwhile built the index with another chunker."""
        index = self.store.manifest()
        if index.chunker != self.chunker.version:
            raise StoreError(
                "Another process has built the index anew meanwhile, with the chunker "
                f"{index.chunker!r}. Run: {mend(Origin('ingest', self.source.root))}"
            )

    def record(self, status: RunStatus) -> IngestRun:
        """The record of the run, as the index stands now."""
        stats = self.store.stats() if self.store.exists() else None
        faults = (*self.source.faults, *self.refused)
        return IngestRun(
            command=self.command,
            root=self.source.root,
            started="",
            status=status,
            documents=stats.documents if stats else 0,
            chunks=stats.chunks if stats else 0,
            embedded=self.embedded,
            added=self.added,
            changed=self.changed,
            removed=self.removed,
            unchanged=self.unchanged,
            failed=len(faults),
            faults=faults,
            notes=(*self.source.notes, *_too_long(self.too_long)),
        )


def _groups(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Documents that have at least `GROUP` chunks together; those that need no new vector never
    wait for others that do."""
    group: list[Item] = []
    size = 0
    for item in items:
        if group and (size >= GROUP or bool(item.new_chunks) != bool(group[-1].new_chunks)):
            yield group
            group, size = [], 0
        group.append(item)
        size += max(1, len(item.chunks))
    if group:
        yield group


def _too_long(chunks: Sequence[Chunk]) -> list[FileFault]:
    """A note for each file of which some chunks are longer than the model reads."""
    found: dict[str, list[str]] = {}
    for chunk in chunks:
        found.setdefault(chunk.meta.path, []).append(chunk.id)
    return [
        FileFault(path, f"longer than the model reads: {', '.join(ids)}.")
        for path, ids in found.items()
    ]


def embed_chunks(
    chunks: Sequence[Chunk],
    embedder: Embedder,
    progress: Progress | None = None,
    size: int = GROUP,
) -> tuple[Matrix, list[str]]:
    """One vector a chunk, and the ids of chunks that the model could not read to their end.

    The embedder is called for `size` chunks at a time.
    """
    slices: list[Matrix] = [np.empty((0, embedder.identity.dimension), dtype=np.float32)]
    too_long: list[str] = []
    for start in range(0, len(chunks), size or 1):
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
