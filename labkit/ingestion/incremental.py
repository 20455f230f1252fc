"""Incremental runs: embed what is new, replace a document at a time, and write down what was done.

What must no longer answer leaves first. Every vector of a document exists before its write begins,
and the write is one transaction, so that a run may end anywhere: what it has done stays, the index
answers, and the next run does the rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labkit.embedding.checks import TextRefused
from labkit.indexing import Progress, Source, embed_chunks, make_manifest
from labkit.ingestion.work import IngestPlan, Item, Work, look, plan
from labkit.ranking.near_duplicates import near_duplicates
from labkit.store.sqlite import SqliteStore
from labkit.types import (
    Chunk,
    Chunker,
    DocumentError,
    Embedder,
    EmbedderIdentity,
    FileFault,
    IngestRun,
    LabError,
    Matrix,
    RunStatus,
    StoreError,
)

if TYPE_CHECKING:
    from labkit.documents.reading import Folder

__all__ = ["IngestPlan", "ingest", "plan"]

GROUP = 128  # chunks a call: a model puts texts of one length together, and is quicker so


@dataclass(slots=True)
class _Tally:
    """What a run has done so far."""

    embedded: int = 0
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    refused: list[FileFault] = field(default_factory=list)
    notes: list[FileFault] = field(default_factory=list)
    whole: bool = False  # the index holds all that this run was to bring

    @property
    def written(self) -> int:
        return self.added + self.changed + self.removed


def ingest(
    tree: Folder,
    root: Path,
    chunker: Chunker,
    embedder: Embedder,
    store: SqliteStore,
    progress: Progress | None = None,
    full: bool = False,
) -> IngestRun:
    """Make the index hold the documents of `tree`, and return the record of the run.

    Only chunks that no vector of the index fits are embedded. With another embedder, chunker or
    analyser than the index has, and with `full`, all are, and the index is replaced as a whole.
    A document of which the embedder refuses a text (TextRefused) is left out, like a file that
    cannot be read.

    Files of which rules or faults keep every one out empty the index: what may not be read must not
    answer. DocumentError for no file at all, unless `full` is asked for, or for a first run over
    nothing. Whatever else stops a run is noted in its record and raised, with a note of what stays;
    the next run goes on from there. Once the index is whole, the run is done.
    """
    _refuse_to_empty(tree, root, store, full)
    run_id = store.start_run("ingest", str(root))
    tally = _Tally()
    try:
        work = look(tree, chunker, embedder, store, full)
        embedded = _embedded(work.items, embedder, tally, progress)
        if work.anew:
            _replace(work, embedded, chunker, embedder, store, tally)
        else:
            _begin(chunker, embedder, store)
            _update(work, embedded, chunker, embedder, store, tally)
        done = _finish(store, run_id, tree, tally, "done")
    except BaseException as error:
        _note_what_stays(error, tally)
        status: RunStatus = "failed" if isinstance(error, Exception) else "interrupted"
        with suppress(StoreError):  # the error that stopped the run is the one to report
            _finish(store, run_id, tree, tally, "done" if tally.whole else status)
        raise
    return _with_repeats(store, done, tally)


def _refuse_to_empty(tree: Folder, root: Path, store: SqliteStore, full: bool) -> None:
    """DocumentError if there is no file at all: a disk that is not mounted looks like this."""
    if tree.documents or tree.products:
        return
    exists = store.exists()
    held = store.stats().documents if exists else 0
    if (exists and tree.seen) or (held and full):
        return
    faults = "".join(f"\n{fault.path}: {fault.message}" for fault in tree.faults)
    if held:
        raise DocumentError(
            f"Nothing in {root} can be taken in, and the index holds {held} documents; it was left "
            f"as it is. If all of them shall go, add --full.{faults}"
        )
    raise DocumentError(
        f"Nothing in {root} can be taken in. Name the folder of the documents: --source.{faults}"
    )


def _note_what_stays(error: BaseException, tally: _Tally) -> None:
    """A store's error speaks of one write, whose index is as it was before; a run makes many."""
    if isinstance(error, LabError) and tally.written:
        error.add_note(
            f"Before that, the run had brought {tally.written} documents up to date: they stay so, "
            "and the next run does the rest."
        )


# --- doing it ------------------------------------------------------------------------------------


def _embedded(
    items: Sequence[Item], embedder: Embedder, tally: _Tally, progress: Progress | None
) -> Iterator[tuple[Item, Matrix | None]]:
    """Each document with the vectors of all of its chunks; None if the model refused a text of it.

    One at a time where a text of several documents is refused: it must not keep out the others.
    """
    total = sum(len(item.new_chunks) for item in items)
    for group in _groups(items):
        try:
            vectors = _vectors(group, embedder, tally, _after(tally.embedded, total, progress))
        except TextRefused:
            for item in group:
                yield item, _vectors_unless_refused(item, embedder, tally)
        else:
            yield from zip(group, vectors, strict=True)


def _vectors(
    group: Sequence[Item], embedder: Embedder, tally: _Tally, progress: Progress | None = None
) -> list[Matrix]:
    """The vectors of these documents, in few even calls of the model for what they lack."""
    chunks = [chunk for item in group for chunk in item.new_chunks]
    calls = max(1, len(chunks) // GROUP)
    found, too_long = embed_chunks(chunks, embedder, progress, -(-len(chunks) // calls))
    tally.embedded += len(chunks)
    tally.notes += _too_long(chunks, too_long)
    fresh, shape = iter(found), (-1, embedder.identity.dimension)
    rows = [[next(fresh) if kept is None else kept for kept in item.kept] for item in group]
    return [np.array(each, dtype=np.float32).reshape(shape) for each in rows]


def _vectors_unless_refused(item: Item, embedder: Embedder, tally: _Tally) -> Matrix | None:
    try:
        return _vectors([item], embedder, tally)[0]
    except TextRefused as refused:
        tally.refused.append(FileFault(item.document.meta.path, str(refused)))
        return None


def _replace(
    work: Work,
    embedded: Iterator[tuple[Item, Matrix | None]],
    chunker: Chunker,
    embedder: Embedder,
    store: SqliteStore,
    tally: _Tally,
) -> None:
    """Embed everything, then replace the index in one transaction: until then the old one holds."""
    found = [(item, vectors) for item, vectors in embedded if vectors is not None]
    source = Source(
        [item.document for item, _ in found if item.product is None],
        [item.product for item, _ in found if item.product is not None],
    )
    chunks = [chunk for item, _ in found for chunk in item.chunks]
    nothing = np.empty((0, embedder.identity.dimension), dtype=np.float32)
    vectors = np.concatenate([nothing, *(vectors for _, vectors in found)])
    manifest = make_manifest(source, chunker, embedder)
    store.replace_all(manifest, source.documents, chunks, vectors, source.products)
    tally.whole = True
    names = {item.document.id for item, _ in found}
    tally.added, tally.changed, _, tally.unchanged = (
        len(names.intersection(each)) for each in work.changes
    )
    before = sum(map(len, work.changes)) - len(work.changes.added)
    tally.removed = before - tally.changed - tally.unchanged


def _begin(chunker: Chunker, embedder: Embedder, store: SqliteStore) -> None:
    """An index without documents, if there is none: nothing has to be kept whole until the end."""
    if not store.exists():
        nothing = np.empty((0, embedder.identity.dimension), dtype=np.float32)
        store.replace_all(make_manifest(Source([], []), chunker, embedder), [], [], nothing, [])


def _update(
    work: Work,
    embedded: Iterator[tuple[Item, Matrix | None]],
    chunker: Chunker,
    embedder: Embedder,
    store: SqliteStore,
    tally: _Tally,
) -> None:
    """Remove what has gone, then replace document by document, each once its vectors exist."""
    tally.unchanged = len(work.changes.unchanged)
    for name in work.changes.removed:
        store.delete_document(name)
        tally.removed += 1
    changed = set(work.changes.changed)
    for item, vectors in embedded:
        _check_chunker(store, chunker)
        is_change = item.document.id in changed
        if vectors is not None:
            _write(item, vectors, embedder.identity, store)
            tally.changed += is_change
            tally.added += not is_change
        elif is_change:
            store.delete_document(item.document.id)
            tally.removed += 1
    tally.whole = True


def _groups(items: Sequence[Item]) -> Iterator[list[Item]]:
    """Documents that have at least `GROUP` new chunks together, or none."""
    group: list[Item] = []
    size = 0
    for item in items:
        group.append(item)
        size += len(item.new_chunks)
        if size >= GROUP or not item.new_chunks:
            yield group
            group, size = [], 0
    if group:
        yield group


def _after(done: int, total: int, progress: Progress | None) -> Progress | None:
    """Progress that counts on from the chunks of the groups before."""
    if progress is None:
        return None
    return lambda count, _: progress(done + count, total)


def _write(item: Item, vectors: Matrix, embedder: EmbedderIdentity, store: SqliteStore) -> None:
    """Replace one document in a transaction."""
    if item.product is None:
        store.upsert_document(item.document, item.chunks, vectors, embedder)
    else:
        store.upsert_product(item.product, item.chunks, vectors, embedder)


def _check_chunker(store: SqliteStore, chunker: Chunker) -> None:
    """StoreError if another process has meanwhile built the index with another chunker."""
    indexed = store.manifest().chunker
    if indexed != chunker.version:
        raise StoreError(
            f"Another process has built the index anew meanwhile, with the chunker {indexed!r}. "
            "Run: labkit ingest"
        )


def _too_long(chunks: Sequence[Chunk], names: Sequence[str]) -> list[FileFault]:
    """A note for each file of which some chunks are longer than the model reads."""
    found: dict[str, list[str]] = {}
    cut = set(names)
    for chunk in chunks:
        if chunk.id in cut:
            found.setdefault(chunk.meta.path, []).append(chunk.id)
    return [
        FileFault(path, f"longer than the model reads: {', '.join(ids)}.")
        for path, ids in found.items()
    ]


def _finish(
    store: SqliteStore, run_id: int, tree: Folder, tally: _Tally, status: RunStatus
) -> IngestRun:
    """Write the record of the run, as the index stands now, and return it."""
    stats = store.stats() if store.exists() else None
    run = IngestRun(
        command="ingest",
        root="",
        started="",
        status=status,
        documents=stats.documents if stats else 0,
        chunks=stats.chunks if stats else 0,
        embedded=tally.embedded,
        added=tally.added,
        changed=tally.changed,
        removed=tally.removed,
        unchanged=tally.unchanged,
        failed=len(tree.faults) + len(tally.refused),
        faults=(*tree.faults, *tally.refused),
        notes=(*tree.notes, *tally.notes),
    )
    store.finish_run(run_id, run)
    return _record(store, run_id)


def _with_repeats(store: SqliteStore, done: IngestRun, tally: _Tally) -> IngestRun:
    """Add to the record how many passages repeat another one; without them the run is done too.

    They are counted last: whoever stops the count, or another writer, finds a record that is true.
    """
    with suppress(StoreError):
        repeated = _repeated(store, tally)
        store.finish_run(done.id, replace(done, finished="", near_duplicates=repeated))
    return _record(store, done.id)


def _record(store: SqliteStore, run_id: int) -> IngestRun:
    return next(each for each in store.runs() if each.id == run_id)


def _repeated(store: SqliteStore, tally: _Tally) -> int:
    """How many passages repeat another one; as the run before counted, if nothing has changed.

    None may also mean that its count was stopped.
    """
    _, *before = store.runs(limit=2)
    same = not (tally.embedded or tally.written)
    if same and before and before[0].status == "done" and before[0].near_duplicates:
        return before[0].near_duplicates
    return len(near_duplicates(store.snapshot().chunks))
