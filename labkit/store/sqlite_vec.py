"""The same index, searched inside SQLite: a `vec0` table of sqlite-vec beside the chunks.

The chunks' vectors stay in the file. `vec0` proposes neighbours in float32; their own vectors are
then read from the chunk table and scored as in the reference store, so that both stores give the
same lists. Whatever `vec0` cannot serve is read and scored without it.

Source: https://alexgarcia.xyz/sqlite-vec/ (its ARCHITECTURE.md describes the tables checked here).
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from labkit.similarity import MARGIN, cosines
from labkit.store import sqlite as reference
from labkit.store.apsw_connection import ApswConnection, apsw_errors, as_sqlite3, cannot_load
from labkit.store.manifest import read_manifest
from labkit.store.rows import damaged, decode_vector, encode_vector
from labkit.store.snapshot import Snapshot, read_snapshot
from labkit.store.sqlite import SqliteStore, explain
from labkit.types import Eligible, Hit, Matrix, StoreError, Vector

MOST = 4096  # neighbours that vec0 gives at most
SPARE = 32  # neighbours asked for beyond the k-th, among which near ties should end
FEW = 0.03  # below this share of the rows, reading them beats looking for them among all
SLOTS = 1024  # vectors that vec0 allocates at a time

_Reading: TypeAlias = AbstractContextManager[sqlite3.Connection]


class SqliteVecStore(SqliteStore):
    """`labkit.types.VectorStore` in one SQLite file, dense search by sqlite-vec.

    The file is the reference store's, with two tables more; either store may open it, though not
    both in one process: apsw and Python's sqlite3 are two libraries, blind to each other's locks.
    The vec0 table is written in the transaction of the chunks, and carries their generation: if
    another program has written the chunks alone, the next search or write makes it anew (until
    then, it still holds the bytes of what that program deleted).

    `extension_path` names the extension's file; empty means that of the package `sqlite-vec`.
    StoreError, at first use, if apsw is missing or cannot load it.
    """

    def __init__(self, path: Path, extension_path: str = "") -> None:
        super().__init__(path)
        self.extension_path = extension_path
        self._held: _Held | None = None

    # --- reading ---------------------------------------------------------------------------------

    def search(self, vector: Vector, k: int, eligible: Eligible) -> list[Hit]:
        with self._searching() as connection:
            held = self._current(connection)
            held.check_question(vector)
            rows = held.rows(eligible)
            if k <= 0 or not len(rows):
                return []
            near = _near(connection, vector, k, held.rowids[rows], len(held.rowids))
            places = np.flatnonzero(np.isin(held.rowids, near))
            scores = cosines(vector, held.read(connection, places))
        best = sorted(zip((-scores).tolist(), places.tolist(), strict=True))[:k]  # in order of id
        return [
            Hit(held.chunks[place], cosine=-score + 0.0, dense_rank=rank)
            for rank, (score, place) in enumerate(best, start=1)
        ]

    def snapshot(self) -> Snapshot:
        """The chunks as they stand, without their vectors."""
        with self._searching() as connection:
            return self._current(connection)

    def _current(self, connection: sqlite3.Connection) -> _Held:
        """Read and checked again only when the generation has changed."""
        (generation,) = connection.execute("SELECT generation FROM manifest").fetchone()
        held = self._held
        if held is None or held.generation != generation:
            self._held = held = _hold(connection, self._read)
        return held

    @contextmanager
    def _searching(self) -> Iterator[sqlite3.Connection]:
        """A read transaction in which the vec0 table fits the chunks, made anew if it must be."""
        with self._read() as connection:
            read_manifest(connection)
            if _in_step(connection):
                yield connection
                return
        try:
            with self._write():
                pass
        except StoreError as error:
            raise StoreError(
                f"Another kind of store wrote this index last, and its vec0 table cannot be made "
                f"anew: {error} Where nothing may be written, set store.kind to sqlite."
            ) from error
        with self._searching() as connection:
            yield connection

    # --- writing ---------------------------------------------------------------------------------

    @contextmanager
    def _write(self, whole: bool = False) -> Iterator[sqlite3.Connection]:
        """As the reference store's; the vec0 table follows in the same transaction."""
        with super()._write() as connection:
            following = not whole and _in_step(connection)
            if following:
                for trigger in FOLLOW:
                    connection.execute(trigger)
            yield connection
            if not following or _mostly_holes(connection):
                _make_anew(connection)
            connection.execute("DELETE FROM dense_state")
            connection.execute("INSERT INTO dense_state SELECT 1, generation FROM manifest")

    # --- connections -----------------------------------------------------------------------------

    @contextmanager
    def _open(self, mode: str) -> Iterator[sqlite3.Connection]:
        try:
            with super()._open(mode) as connection:
                yield connection
        except apsw_errors() as error:
            raise StoreError(explain(as_sqlite3(error), self.path, self._origin())) from error

    def _connect(self, uri: str) -> sqlite3.Connection:
        extension = self.extension_path or _packaged_extension()
        connection = ApswConnection(uri, extension, reference.BUSY_SECONDS)
        connection.create_function("unit", 1, _unit_blob, deterministic=True)
        return cast(sqlite3.Connection, connection)


# --- the vec0 table ------------------------------------------------------------------------------

FOLLOW = (
    """
    CREATE TEMP TRIGGER chunk_came AFTER INSERT ON chunk BEGIN
        INSERT INTO dense (rowid, embedding) VALUES (new.rowid, unit(new.vector));
    END
    """,
    # Before 0.1.9, vec0 only marked a deleted row's place as free. Here, deleted means gone.
    """
    CREATE TEMP TRIGGER chunk_went AFTER DELETE ON chunk BEGIN
        UPDATE dense SET embedding = zeroblob(length(old.vector)) WHERE rowid = old.rowid;
        DELETE FROM dense WHERE rowid = old.rowid;
    END
    """,
)
"""Triggers of one connection, not of the file, where a store without vec0 would stumble on them."""


def _in_step(connection: sqlite3.Connection) -> bool:
    """Was the vec0 table written together with the chunks as they are now?"""
    made = "SELECT 1 FROM sqlite_master WHERE name = 'dense_state'"
    if connection.execute(made).fetchone() is None:
        return False
    (equal,) = connection.execute(
        "SELECT (SELECT generation FROM dense_state) IS (SELECT generation FROM manifest)"
    ).fetchone()
    return bool(equal)


def _make_anew(connection: sqlite3.Connection) -> None:
    """Make the vec0 table from the chunk table; none as long as there is no manifest.

    Vectors of length 1 order by Euclidean distance as by cosine, and vec0 takes it twice as fast.
    """
    connection.execute("DROP TABLE IF EXISTS dense")
    connection.execute("DROP TABLE IF EXISTS dense_state")
    connection.execute(
        "CREATE TABLE dense_state (only INTEGER PRIMARY KEY CHECK (only = 1), "
        "generation ANY NOT NULL) STRICT"
    )
    if connection.execute("SELECT 1 FROM manifest").fetchone() is not None:
        dimension = read_manifest(connection).embedder.dimension
        connection.execute(f"CREATE VIRTUAL TABLE dense USING vec0(embedding float[{dimension:d}])")
        connection.execute(
            "INSERT INTO dense (rowid, embedding) SELECT rowid, unit(vector) FROM chunk"
        )


def _mostly_holes(connection: sqlite3.Connection) -> bool:
    """Are most places of the vec0 table those of deleted rows?

    vec0 does not use them again, and frees a block of places only with its last row.
    """
    if connection.execute("SELECT 1 FROM manifest").fetchone() is None:
        return False
    (blocks, rows) = connection.execute(
        "SELECT (SELECT count(*) FROM dense_chunks), (SELECT count(*) FROM chunk)"
    ).fetchone()
    return bool(blocks * SLOTS > 2 * rows + 2 * SLOTS)


def _near(
    connection: sqlite3.Connection,
    query: Vector,
    k: int,
    rowids: NDArray[np.int64],
    total: int,
) -> NDArray[np.int64]:
    """All of `rowids` that could belong to the best k; all of them where vec0 cannot tell.

    It cannot for more than 4,096; and few among many are sooner read than looked for.
    """
    if len(rowids) < FEW * total:
        return rowids
    sql = "SELECT rowid, distance FROM dense WHERE embedding MATCH ? AND k = ?"
    among: tuple[str, ...] = ()
    if len(rowids) < total:
        sql += " AND rowid IN (SELECT value FROM json_each(?))"
        among = (json.dumps(rowids.tolist()),)
    direction = encode_vector(unit(query))
    fetch = k + SPARE
    while fetch < len(rowids) and fetch <= MOST:
        found = np.array(connection.execute(sql, (direction, fetch, *among)).fetchall())
        cosines = 1 - found[:, 1] ** 2 / 2
        enough = cosines >= cosines[k - 1] - MARGIN
        if not enough[-1]:
            return np.array(found[enough, 0], dtype=np.int64)
        fetch *= 4
    return rowids


# --- the chunks in memory, their vectors in the file ---------------------------------------------


class _Held(Snapshot):
    """One generation of the index without its vectors; each chunk's rowid in the same order."""

    def __init__(
        self, whole: Snapshot, rowids: NDArray[np.int64], connect: Callable[[], _Reading]
    ) -> None:
        super().__init__(
            whole.generation, whole.manifest(), whole.chunks, whole.vectors[:0].copy(), whole.terms
        )
        self.rowids = rowids
        self._connect = connect

    def read(self, connection: sqlite3.Connection, places: NDArray[np.intp]) -> Matrix:
        """The vectors of some chunks, as the chunk table holds them."""
        rows = connection.execute(
            "SELECT id, vector FROM chunk WHERE rowid IN (SELECT value FROM json_each(?)) "
            "ORDER BY id",
            (json.dumps(self.rowids[places].tolist()),),
        ).fetchall()
        if [name for name, _ in rows] != [self.chunks[place].id for place in places]:
            raise damaged("chunk", "its rows have been renumbered")
        return np.stack([decode_vector(blob) for _, blob in rows])

    def _vectors_at(self, rows: NDArray[np.intp]) -> Matrix:
        with self._connect() as connection:
            return self.read(connection, rows)


def _hold(connection: sqlite3.Connection, connect: Callable[[], _Reading]) -> _Held:
    """Read and check the whole index; keep all but the vectors."""
    whole = read_snapshot(connection)
    rowids = [rowid for (rowid,) in connection.execute("SELECT rowid FROM chunk ORDER BY id")]
    _check_dense(connection, rowids, whole.vectors)
    return _Held(whole, np.array(rowids, dtype=np.int64), connect)


def _check_dense(connection: sqlite3.Connection, rowids: Sequence[int], vectors: Matrix) -> None:
    """StoreError unless what vec0 will scan is each chunk's vector, once, and no other.

    vec0 keeps blocks of 1,024 places: a bitmap of the places in use, their rowids, their vectors.
    """
    places = {rowid: place for place, rowid in enumerate(rowids)}
    blocks = connection.execute(
        "SELECT validity, rowids, vectors FROM dense_chunks "
        "JOIN dense_vector_chunks00 AS block ON block.rowid = chunk_id"
    )
    try:
        for bitmap, names, blob in blocks:
            used = np.flatnonzero(np.unpackbits(np.frombuffer(bitmap, np.uint8), bitorder="little"))
            known = [places.pop(rowid) for rowid in np.frombuffer(names, "<i8")[used].tolist()]
            found = np.frombuffer(blob, "<f4").reshape(-1, vectors.shape[1])[used]
            if not np.allclose(found, unit(vectors[known]), rtol=0, atol=1e-7):
                raise ValueError("another vector")
        if places:
            raise ValueError("a vector is missing")
    except (ValueError, TypeError, KeyError, IndexError) as error:
        raise damaged("dense", "sqlite-vec's table does not hold the chunks' vectors") from error


def unit(vectors: Matrix) -> Matrix:
    """Vectors, (d,) or (n, d), scaled to length 1 by way of double, which no float32 overflows."""
    wide = vectors.astype(np.float64)
    shrunk: NDArray[np.float64] = wide / np.linalg.norm(wide, axis=-1, keepdims=True)
    return shrunk.astype(np.float32)


def _unit_blob(blob: bytes) -> bytes:
    return encode_vector(unit(decode_vector(blob)))


def _packaged_extension() -> str:
    """The file of the extension in the package sqlite-vec."""
    try:
        import sqlite_vec
    except ImportError as error:
        raise cannot_load("the package sqlite-vec is not installed") from error
    return str(sqlite_vec.loadable_path())
