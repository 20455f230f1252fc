"""The stores that one suite is run over, and how to look into each while it works."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from labkit.store import SqliteStore, sqlite_vec
from labkit.store.apsw_connection import ApswConnection
from labkit.store.sqlite_vec import SqliteVecStore
from labkit.types import (
    Chunk,
    Document,
    EmbedderIdentity,
    IndexedDocument,
    IngestRun,
    Matrix,
    Product,
    VectorStore,
)

KINDS: dict[str, type[SqliteStore]] = {"sqlite": SqliteStore, "sqlite-vec": SqliteVecStore}
needs_sqlite_vec = pytest.mark.skipif(
    find_spec("sqlite_vec") is None, reason="needs pip install 'labkit[sqlite-vec]'"
)
every_kind = [
    pytest.param(name, marks=[needs_sqlite_vec] if name == "sqlite-vec" else [], id=name)
    for name in KINDS
]


class _Used:
    """The store that `open_store` opens."""

    kind: type[SqliteStore] = SqliteStore


@contextmanager
def using(name: str) -> Iterator[None]:
    """Open this kind of store from here on, and let vec0 serve small tables too."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_Used, "kind", KINDS[name])
        patch.setattr(sqlite_vec, "SPARE", 1)
        yield


def open_store(path: Path) -> SqliteStore:
    """A store of the kind under test."""
    return _Used.kind(path)


def upsert(
    store: VectorStore,
    document: Document,
    chunks: Sequence[Chunk],
    vectors: Matrix,
    embedder: EmbedderIdentity | None = None,
    product: Product | None = None,
) -> None:
    """Write one document, by default with the embedder that the index has."""
    item = IndexedDocument(document, chunks, vectors, product)
    store.upsert([item], embedder or store.manifest().embedder)


def hashes(store: VectorStore) -> dict[str, str]:
    """The content hash of every document, by id."""
    return {record.id: record.content_hash for record in store.documents()}


def last_run(store: VectorStore) -> IngestRun | None:
    """The newest run, if there is a record of one."""
    return next(iter(store.runs(limit=1)), None)


class Passed:
    """A connection behind which another one works, so that some of its methods can be replaced."""

    def __init__(self, within: Any) -> None:
        self.within = within

    def __getattr__(self, name: str) -> Any:
        return getattr(self.within, name)

    def __enter__(self) -> Passed:
        return self

    def __exit__(self, *raised: Any) -> Any:
        return self.within.__exit__(*raised)


@contextmanager
def connections(prepare: Callable[[Any], Any]) -> Iterator[None]:
    """Within the block, every connection of the kind under test goes through `prepare` first."""
    with pytest.MonkeyPatch.context() as patch:
        for_each_connection(prepare, patch)
        yield


def for_each_connection(prepare: Callable[[Any], Any], patch: pytest.MonkeyPatch) -> None:
    """What `prepare` returns is used in the connection's place, unless it is None."""
    connect = _Used.kind._connect
    patch.setattr(
        _Used.kind,
        "_connect",
        lambda store, uri: prepare(made := connect(store, uri)) or made,
    )


def trace(connection: Any, show: Callable[[str], None]) -> None:
    """Show every statement of a connection before it runs, those that it runs itself included."""
    if isinstance(connection, ApswConnection):
        import apsw

        events = apsw.SQLITE_TRACE_STMT
        connection._apsw.trace_v2(events, lambda event: show(event["sql"]))
    else:
        connection.set_trace_callback(show)


def check_all(path: Path) -> None:
    """StoreError unless all that the store under test keeps besides the chunks fits them."""
    store = open_store(path)
    if isinstance(store, SqliteVecStore):
        with store._read() as connection:
            assert sqlite_vec._in_step(connection)
            sqlite_vec._hold(connection, store._read)
