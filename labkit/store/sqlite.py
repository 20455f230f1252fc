"""The reference store: one SQLite file, the standard library's module, no extension.

Writing is one transaction each; reading is one snapshot, checked and kept until the file's
generation changes. A reader during a rebuild therefore sees the old index or the new one.
"""

from __future__ import annotations

import json
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from labkit.similarity import check_vectors
from labkit.store.manifest import check_manifest, from_json, to_json
from labkit.store.rows import chunk_row, decode_vector, row_chunk
from labkit.store.runs import RunRecords
from labkit.store.schema import migrate, schema_version
from labkit.store.snapshot import CHUNKS, Snapshot, read_snapshot, table_hashes
from labkit.types import (
    Chunk,
    Document,
    DocumentRecord,
    Eligible,
    EmbedderIdentity,
    Hit,
    IndexedDocument,
    IndexStats,
    Manifest,
    Matrix,
    Product,
    StoreError,
    TermStatistics,
    Vector,
)

BUSY_SECONDS = 30.0


class SqliteStore(RunRecords):
    """An index in one SQLite file: `labkit.types.VectorStore`.

    Only the tables manifest, document, chunk, product and ingest_run are the store's; others in the
    same file are left alone. What writes documents never touches the runs. Deleted rows are
    overwritten with zeros, so that deleted means gone.
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
        _check_rows([*documents, *(product.document for product in products)], chunks)
        check_vectors(vectors, [chunk.id for chunk in chunks], manifest.embedder.dimension)
        self.initialize()
        with self._write(whole=True) as connection:
            for table in ("product", "chunk", "document", "manifest"):
                connection.execute(f"DELETE FROM {table}")  # noqa: S608 - four fixed names
            for document in [*documents, *(product.document for product in products)]:
                _insert_document(connection, document)
            _insert_chunks(connection, chunks, vectors)
            _insert_products(connection, products)
            if table_hashes(connection) != (manifest.corpus_sha256, manifest.products_sha256):
                raise StoreError("The manifest was made for other documents than these.")
            _write_manifest(connection, manifest)

    def upsert_document(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: Matrix,
        embedder: EmbedderIdentity | None = None,
    ) -> None:
        self._upsert(document, chunks, vectors, embedder)

    def upsert_product(
        self,
        product: Product,
        chunks: Sequence[Chunk],
        vectors: Matrix,
        embedder: EmbedderIdentity | None = None,
    ) -> None:
        """As `upsert_document`, for a product and the document rendered from it."""
        self._upsert(product.document, chunks, vectors, embedder, [product])

    def _upsert(
        self,
        document: Document,
        chunks: Sequence[Chunk],
        vectors: Matrix,
        embedder: EmbedderIdentity | None,
        products: Sequence[Product] = (),
    ) -> None:
        _check_rows([document], chunks)
        with self._write() as connection:
            manifest = read_manifest(connection)
            check_manifest(manifest, replace(manifest, embedder=embedder or manifest.embedder))
            check_vectors(vectors, [chunk.id for chunk in chunks], manifest.embedder.dimension)
            connection.execute("DELETE FROM document WHERE id = ?", (document.id,))
            _insert_document(connection, document)
            _insert_chunks(connection, chunks, vectors)
            _insert_products(connection, products)
            _write_manifest(connection, manifest)

    def upsert(self, items: Sequence[IndexedDocument], embedder: EmbedderIdentity) -> None:
        for item in items:
            products = [] if item.product is None else [item.product]
            self._upsert(item.document, item.chunks, item.vectors, embedder, products)

    def delete(self, source_ids: Sequence[str]) -> None:
        for source_id in source_ids:
            self.delete_document(source_id)

    def delete_document(self, source_id: str) -> None:
        with self._write() as connection:
            manifest = read_manifest(connection)
            connection.execute("DELETE FROM document WHERE id = ?", (source_id,))
            _write_manifest(connection, manifest)

    # --- reading ---------------------------------------------------------------------------------

    def exists(self) -> bool:
        """Is there an index in the file, built at least once?"""
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

    def documents(self) -> list[DocumentRecord]:
        with self._read() as connection:
            rows = connection.execute(
                "SELECT id, path, title, content_hash, "
                "id IN (SELECT document_id FROM product) AS product FROM document ORDER BY id"
            )
            return [DocumentRecord(*row[:4], bool(row["product"])) for row in rows.fetchall()]

    def chunks(self, source_id: str) -> list[tuple[Chunk, Vector]]:
        return self.chunk_vectors(source_id)

    def manifest(self) -> Manifest:
        with self._read() as connection:
            return read_manifest(connection)

    def document_hash(self, source_id: str) -> str | None:
        return self.document_hashes().get(source_id)

    def document_hashes(self) -> dict[str, str]:
        """The content hash of every document in the index, by id."""
        with self._read() as connection:
            return dict(connection.execute("SELECT id, content_hash FROM document").fetchall())

    def chunk_vectors(self, source_id: str) -> list[tuple[Chunk, Vector]]:
        """The chunks of one document in order of part, checked, each with its vector."""
        with self._read() as connection:
            dimension = read_manifest(connection).embedder.dimension
            rows = connection.execute(f"{CHUNKS} WHERE document_id = ?", (source_id,))
            found = sorted(
                (row_chunk(row, dimension) for row in rows), key=lambda each: each[0].part
            )
            return [(chunk, decode_vector(blob)) for chunk, blob in found]

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
            if schema_version(connection) == 0:
                raise StoreError(f"There is no index in {self.path.name}. Run: labkit rebuild")
            connection.execute("BEGIN")
            yield connection

    @contextmanager
    def _write(self, whole: bool = False) -> Iterator[sqlite3.Connection]:
        """A write transaction: all of it, or nothing, whatever happens inside.

        `whole` says that every row will be replaced, to a store that keeps more than these tables.
        """
        with self._open("rw") as connection:
            if schema_version(connection) == 0:
                raise StoreError(f"There is no index in {self.path.name}. Run: labkit rebuild")
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                yield connection

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        """An open file; every fault of SQLite becomes a StoreError that says what to do."""
        if mode == "rw" and not self.path.is_file():
            raise StoreError(f"There is no index at {self.path}. Run: labkit rebuild")
        try:
            uri = f"{self.path.resolve().as_uri()}?mode={mode}"
            with closing(self._connect(uri)) as connection:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.execute("PRAGMA secure_delete = ON")
                # Dirty pages wait in memory for the commit, so that readers are not locked out
                # while a large rebuild is being written.
                connection.execute("PRAGMA cache_spill = OFF")
                yield connection
        except (sqlite3.Error, IndexError) as error:  # a row finds no column whose name is damaged
            raise StoreError(explain(error, self.path)) from error

    def _connect(self, uri: str) -> sqlite3.Connection:
        """A connection that starts no transaction by itself and finds a row's values by name."""
        connection = sqlite3.connect(
            uri, uri=True, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        return connection


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


def _insert_document(connection: sqlite3.Connection, document: Document) -> None:
    connection.execute(
        "INSERT INTO document VALUES (?, ?, ?, ?, ?, ?)",
        (
            document.id,
            document.meta.title,
            document.meta.path,
            document.meta.version,
            document.content_hash,
            datetime.now(UTC).isoformat(timespec="seconds"),
        ),
    )


def _insert_chunks(
    connection: sqlite3.Connection, chunks: Sequence[Chunk], vectors: Matrix
) -> None:
    connection.executemany(
        "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (chunk_row(chunk, vector) for chunk, vector in zip(chunks, vectors, strict=True)),
    )


def _insert_products(connection: sqlite3.Connection, products: Sequence[Product]) -> None:
    for product in products:
        connection.execute(
            "INSERT INTO product VALUES (?, ?, ?, ?)",
            (product.code, product.name, json.dumps(product.facts), product.document.id),
        )


def read_manifest(connection: sqlite3.Connection) -> Manifest:
    """The manifest in the file; StoreError if there is none yet, or it is damaged."""
    row = connection.execute("SELECT lock FROM manifest").fetchone()
    if row is None:
        raise StoreError("The index is empty. Run: labkit rebuild")
    return from_json(row["lock"])


def _write_manifest(connection: sqlite3.Connection, manifest: Manifest) -> None:
    """Note the state of the tables, under a new generation so that readers read again."""
    corpus, products = table_hashes(connection)
    lock = to_json(replace(manifest, corpus_sha256=corpus, products_sha256=products))
    connection.execute(
        "INSERT OR REPLACE INTO manifest VALUES (1, ?, ?, "
        "(SELECT count(*) FROM document), (SELECT count(*) FROM chunk))",
        (uuid.uuid4().hex, lock),
    )


def explain(error: Exception, path: Path) -> str:
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
    return f"{path} is damaged or is no index ({error}). Move it away and run: labkit rebuild"


def _unusable(path: Path, error: Exception) -> str:
    return f"{path} cannot be opened or written ({error}). Check its permissions and its folder."
