"""The reference store: one SQLite file, the standard library's module, no extension.

Writing is one transaction each; reading is one snapshot, checked and kept until the file's
generation changes. A reader during a rebuild therefore sees the old index or the new one.

What the manifest promises holds after every transaction: its settings are those of every vector,
its counts those of the tables. The hashes of documents and product facts cover all of them, so that
they are taken once: while a run is open they are empty, and its end fills them in.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from labkit.similarity import check_vectors
from labkit.store import runs
from labkit.store.manifest import (
    Damaged,
    check_manifest,
    from_json,
    mend,
    origin_from,
    read_manifest,
    to_json,
)
from labkit.store.rows import chunk_row, decode_vector, row_chunk
from labkit.store.schema import migrate, schema_version
from labkit.store.snapshot import CHUNKS, Snapshot, read_snapshot, table_hashes
from labkit.types import (
    Chunk,
    Command,
    Document,
    DocumentRecord,
    Eligible,
    EmbedderIdentity,
    Hit,
    IndexedDocument,
    IndexStats,
    IngestRun,
    Manifest,
    Matrix,
    Origin,
    Product,
    StoreError,
    TermStatistics,
    Vector,
)

BUSY_SECONDS = 30.0


class SqliteStore:
    """An index in one SQLite file: `labkit.types.VectorStore`.

    Only the tables manifest, document, chunk, product and ingest_run are the store's; others in the
    same file are left alone. Deleted rows are overwritten with zeros, so that deleted means gone.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._snapshot: Snapshot | None = None

    # --- writing ---------------------------------------------------------------------------------

    def initialize(self) -> None:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(_unusable(self.path, error)) from error
        with self._open("rwc") as connection:
            migrate(connection)

    def replace_all(
        self,
        manifest: Manifest,
        documents: Sequence[Document],
        chunks: Sequence[Chunk],
        vectors: Matrix,
        products: Sequence[Product],
    ) -> None:
        everything = [*documents, *(product.document for product in products)]
        _check_rows(everything, chunks)
        check_vectors(vectors, [chunk.id for chunk in chunks], manifest.embedder.dimension)
        self.initialize()
        with self._write(whole=True) as connection:
            for table in ("product", "chunk", "document", "manifest"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - four fixed names
            _insert_documents(connection, everything)
            _insert_chunks(connection, chunks, vectors)
            _insert_products(connection, products)
            if table_hashes(connection) != (manifest.corpus_sha256, manifest.products_sha256):
                raise StoreError("The manifest was made for other documents than these.")
            _write_manifest(connection, manifest, len(everything), len(chunks))

    def upsert(self, items: Sequence[IndexedDocument], embedder: EmbedderIdentity) -> None:
        documents = [item.document for item in items]
        chunks = [chunk for item in items for chunk in item.chunks]
        _check_rows(documents, chunks)
        with self._write() as connection:
            manifest = read_manifest(connection)
            check_manifest(manifest, replace(manifest, embedder=embedder))
            for item in items:
                names = [chunk.id for chunk in item.chunks]
                check_vectors(item.vectors, names, embedder.dimension)
            _delete_documents(connection, [document.id for document in documents])
            _insert_documents(connection, documents)
            for item in items:
                _insert_chunks(connection, item.chunks, item.vectors)
            _insert_products(connection, [item.product for item in items if item.product])
            _note_change(connection, manifest, len(documents), len(chunks))

    def delete(self, source_ids: Sequence[str]) -> None:
        with self._write() as connection:
            manifest = read_manifest(connection)
            _delete_documents(connection, source_ids)
            _note_change(connection, manifest, 0, 0)

    def start_run(self, command: Command, root: str, started: str = "") -> int:
        """As `VectorStore.start_run`. No build is needed before; an older schema is brought up."""
        self.initialize()
        with self._write() as connection:
            return runs.start(connection, command, root, started)

    def finish_run(self, run_id: int, run: IngestRun) -> None:
        """As `VectorStore.finish_run`; StoreError for an unknown id, and for a run still `running`.

        The index then names what it holds; if the run was done, it is this run's index.
        """
        if run.status == "running":
            raise StoreError("A run that is finished cannot have the status 'running'.")
        with self._write() as connection:
            origin = runs.finish(connection, run_id, run)
            _seal(connection, origin if run.status == "done" else None)

    # --- reading ---------------------------------------------------------------------------------

    def exists(self) -> bool:
        if not self.path.is_file():
            return False
        with self._open("rw") as connection:
            if schema_version(connection) == 0:
                return False
            (rows,) = connection.execute("SELECT count(*) FROM manifest").fetchone()
            return bool(rows)

    def search(self, vector: Vector, k: int, eligible: Eligible) -> list[Hit]:
        return self.snapshot().search(vector, k, eligible)

    def lexical(self, terms: Sequence[str], k: int, eligible: Eligible) -> list[Hit]:
        return self.snapshot().lexical(terms, k, eligible)

    def mean_cosines(self, vector: Vector, eligible: Eligible) -> Mapping[str, float]:
        return self.snapshot().mean_cosines(vector, eligible)

    def term_statistics(self, terms: Sequence[str], eligible: Eligible) -> TermStatistics:
        return self.snapshot().term_statistics(terms, eligible)

    def manifest(self) -> Manifest:
        with self._read() as connection:
            return read_manifest(connection)

    def documents(self) -> list[DocumentRecord]:
        with self._read() as connection:
            rows = connection.execute(
                "SELECT id, path, title, content_hash, id IN (SELECT document_id FROM product) "
                "FROM document ORDER BY id"
            ).fetchall()
            return [
                DocumentRecord(name, path, title, content_hash, bool(is_product))
                for name, path, title, content_hash, is_product in rows
            ]

    def chunks(self, source_id: str) -> list[tuple[Chunk, Vector]]:
        with self._read() as connection:
            dimension = read_manifest(connection).embedder.dimension
            rows = connection.execute(f"{CHUNKS} WHERE document_id = ?", (source_id,))
            found = sorted(
                (row_chunk(row, dimension) for row in rows), key=lambda each: each[0].part
            )
            return [(chunk, decode_vector(blob)) for chunk, blob in found]

    def passages(self) -> list[Chunk]:
        return self.snapshot().chunks

    def runs(self, limit: int | None = 20) -> list[IngestRun]:
        with self._read() as connection:
            return runs.latest(connection, limit)

    def stats(self) -> IndexStats:
        with self._read() as connection:
            row = connection.execute(
                "SELECT (SELECT count(*) FROM document), (SELECT count(*) FROM chunk), "
                "(SELECT count(*) FROM product), "
                "(SELECT coalesce(sum(length(vector)), 0) FROM chunk)"
            ).fetchone()
            return IndexStats(*row)

    def snapshot(self) -> Snapshot:
        """The index as it stands; read again only when its generation has changed."""
        with self._read() as connection:
            row = connection.execute("SELECT generation FROM manifest").fetchone()
            known = self._snapshot
            if known is not None and row is not None and known.generation == row["generation"]:
                return known
            self._snapshot = fresh = read_snapshot(connection)
            return fresh

    # --- connections -----------------------------------------------------------------------------

    @contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        """A read transaction: everything inside sees one state of the file."""
        with self._open("rw") as connection:
            self._check_made(connection)
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def _write(self, whole: bool = False) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it, or nothing, whatever happens inside.

        `whole` says that every row will be replaced, to a store that keeps more than these tables.
        """
        with self._open("rw") as connection:
            self._check_made(connection)
            migrate(connection)  # what is written has the columns of today
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    def _check_made(self, connection: sqlite3.Connection) -> None:
        if schema_version(connection) == 0:
            raise StoreError(f"There is no index in {self.path.name}. Run: {mend(Origin())}")

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        """An open file; every fault of SQLite, and all damage, becomes a StoreError that says what
        to do with this file."""
        if mode == "rw" and not self.path.is_file():
            raise StoreError(
                f"There is no index at {self.path}. If there should be one, check LABKIT_INDEX; "
                f"to make it, run: {mend(Origin())}"
            )
        try:
            uri = f"{self.path.resolve().as_uri()}?mode={mode}"
            with closing(self._connect(uri)) as connection:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA secure_delete = ON")
                # Dirty pages wait in memory for the commit, so that readers are not locked out
                # while a large rebuild is being written.
                connection.execute("PRAGMA cache_spill = OFF")
                yield connection
        except Damaged as error:
            raise StoreError(f"{error} Run: {mend(self._origin(), damaged=True)}") from error
        except (sqlite3.Error, IndexError) as error:  # a row finds no column whose name is damaged
            raise StoreError(explain(error, self.path, self._origin())) from error

    def _connect(self, uri: str) -> sqlite3.Connection:
        """A connection that starts no transaction by itself and finds a row's values by name."""
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        return connection

    def _origin(self) -> Origin:
        """Whose index this is, as far as a damaged file still tells."""
        uri = self.path.resolve().as_uri()
        with suppress(Exception), closing(self._connect(uri)) as connection:
            (lock,) = connection.execute("SELECT lock FROM manifest").fetchone()
            return origin_from(json.loads(lock))
        return Origin()


def _check_rows(documents: Sequence[Document], chunks: Sequence[Chunk]) -> None:
    """StoreError naming a chunk that is there twice, or was not cut from one of the documents as
    it is now: its scope and days would be those of another version."""
    current = {document.id: document.meta for document in documents}
    seen: set[str] = set()
    for chunk in chunks:
        if current.get(chunk.source_id) != chunk.meta:
            raise StoreError(f"{chunk.id} was not cut from the documents given with it.")
        if chunk.id in seen:
            raise StoreError(f"{chunk.id} is there twice.")
        seen.add(chunk.id)


def _insert_documents(connection: sqlite3.Connection, documents: Sequence[Document]) -> None:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    connection.executemany(
        "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?)",
        [
            (each.id, each.meta.title, each.meta.path, each.meta.version, each.content_hash, now)
            for each in documents
        ],
    )


def _insert_chunks(
    connection: sqlite3.Connection, chunks: Sequence[Chunk], vectors: Matrix
) -> None:
    connection.executemany(
        "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (chunk_row(chunk, vector) for chunk, vector in zip(chunks, vectors, strict=True)),
    )


def _insert_products(connection: sqlite3.Connection, products: Sequence[Product]) -> None:
    connection.executemany(
        "INSERT INTO product VALUES (?, ?, ?, ?)",
        [(each.code, each.name, json.dumps(each.facts), each.document.id) for each in products],
    )


def _delete_documents(connection: sqlite3.Connection, names: Sequence[str]) -> None:
    """Take these documents out of the tables, chunks and product facts with them, and of the
    manifest's counts."""
    among = "IN (SELECT value FROM json_each(?1))"
    ids = (json.dumps(list(names)),)
    connection.execute(
        f"UPDATE manifest SET "  # noqa: S608 - fixed words
        f"documents = documents - (SELECT count(*) FROM document WHERE id {among}), "
        f"chunks = chunks - (SELECT count(*) FROM chunk WHERE document_id {among})",
        ids,
    )
    connection.execute(f"DELETE FROM document WHERE id {among}", ids)  # noqa: S608


# --- the manifest --------------------------------------------------------------------------------


def _write_manifest(
    connection: sqlite3.Connection, manifest: Manifest, documents: int, chunks: int
) -> None:
    """Note the state of the tables, under a new generation so that readers read again."""
    connection.execute(
        "INSERT OR REPLACE INTO manifest VALUES (1, ?, ?, ?, ?)",
        (uuid.uuid4().hex, to_json(manifest), documents, chunks),
    )


def _note_change(
    connection: sqlite3.Connection, manifest: Manifest, documents: int, chunks: int
) -> None:
    """Note so many more documents and chunks. Inside a run its end takes the hashes; outside, they
    are taken now.

    From here on the index is no rebuild's any more if the run is an ingest. The folder stays that
    of the last run that was done, so that a name mistyped once is not taken again.
    """
    running = runs.origin_of(connection, "running")
    if running:
        origin = manifest.origin if manifest.origin.command == running.command else running
        manifest = replace(manifest, corpus_sha256="", products_sha256="", origin=origin)
    else:
        corpus, products = table_hashes(connection)
        manifest = replace(manifest, corpus_sha256=corpus, products_sha256=products)
    # From what was noted before, never counted anew: that would cover up the loss of a row.
    before = connection.execute("SELECT documents, chunks FROM manifest").fetchone()
    _write_manifest(connection, manifest, before[0] + documents, before[1] + chunks)


def _seal(connection: sqlite3.Connection, origin: Origin | None) -> None:
    """Note what the index holds after a run, and whose it is; what a reader has read stays true."""
    row = connection.execute("SELECT lock FROM manifest").fetchone()
    if row is None:
        return
    with suppress(Damaged):  # the run is recorded all the same; whoever reads the index is told
        manifest = from_json(row["lock"])
        if not manifest.corpus_sha256:
            corpus, products = table_hashes(connection)
            manifest = replace(manifest, corpus_sha256=corpus, products_sha256=products)
        lock = to_json(replace(manifest, origin=origin or manifest.origin))
        connection.execute("UPDATE manifest SET lock = ?1 WHERE lock <> ?1", (lock,))


def explain(error: Exception, path: Path, origin: Origin) -> str:
    """What went wrong with the file, and what to do about it."""
    code = getattr(error, "sqlite_errorname", "")  # faults of the Python module carry none
    if code.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return f"Another process has been using {path} for {BUSY_SECONDS:g} s. Try again later."
    if code.startswith("SQLITE_FULL"):
        return f"The disk is full. {path} is as it was before; free some space and try again."
    # A file that ends too early is damaged, and no fault of the disk.
    if code.startswith("SQLITE_IOERR") and code != "SQLITE_IOERR_SHORT_READ":
        return (
            f"The disk could not be read or written ({error}). {path} is as it was before; check "
            "the disk and the space on it, and try again."
        )
    if code.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM")):
        return _unusable(path, error)
    if code.startswith("SQLITE_CONSTRAINT"):
        return f"What was to be written contradicts itself ({error}). {path} is as it was before."
    if "already exists" in str(error):
        return f"{path} is another program's file ({error}). Name another one with LABKIT_INDEX."
    return f"{path} is damaged or is no index ({error}). Move it away, then run: {mend(origin)}"


def _unusable(path: Path, error: Exception) -> str:
    return f"{path} cannot be opened or written ({error}). Check its permissions and its folder."
