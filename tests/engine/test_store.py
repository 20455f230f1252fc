"""labkit.store: what every kind of index promises, on rows one can see in real files."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import chunk, document, identity, manifest, vectors, whole
from conftest import CHECKOUT
from labkit.answering.access_filter import admit
from labkit.documents.fingerprint import corpus_hash
from labkit.store import SqliteStore
from labkit.store.rows import decode_vector, encode_vector
from labkit.text import terms
from labkit.types import (
    Chunk,
    Document,
    Eligible,
    EmbeddingError,
    FileFault,
    Hit,
    IndexStats,
    IngestRun,
    Metadata,
    Product,
    StoreError,
    VectorStore,
    Viewer,
)
from stores import every_kind, hashes, last_run, open_store, upsert, using

DAY = date(2026, 10, 23)
READER = admit(Viewer("ACME", frozenset({"readers"})), DAY)

EAST = document("east", "The east gate opens at eight.")
NORTH = document("north", "The north gate opens at nine.")
WEST = document("west", "The west door is locked.")
ROWS = ((EAST, (1, 0)), (NORTH, (0, 1)), (WEST, (-1, 0)))

NO_INDEX = r"There is no index .*labkit ingest --source FOLDER, .*run: labkit rebuild"

GX = Product("GX-1", "Gate", {"Height": "2 m"}, document("PRODUCT-GX-1", "Gate GX-1: 2 m high."))


@pytest.fixture(scope="module", params=every_kind, autouse=True)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of this file runs on every kind of store."""
    with using(request.param):
        yield request.param


def build(
    path: Path, *rows: tuple[Document, Sequence[float]], products: Sequence[Product] = ()
) -> SqliteStore:
    """An index of these documents, one chunk and one vector each; a product's vector is (1, 1)."""
    store = open_store(path)
    documents = [item for item, _ in rows]
    facts = [product.document for product in products]
    store.replace_all(
        manifest(documents, products_sha256=corpus_hash((d.id, d.content_hash) for d in facts)),
        documents,
        [whole(item) for item in [*documents, *facts]],
        np.array([*(v for _, v in rows), *((1, 1) for _ in facts)], np.float32).reshape(-1, 2),
        products,
    )
    return store


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


@pytest.fixture
def store(path: Path) -> SqliteStore:
    return build(path, *ROWS)


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.id for hit in hits]


def query(*values: float) -> Any:
    return np.array(values, np.float32)


def execute(path: Path, sql: str, *values: object) -> list[Any]:
    """Run SQL on the file behind the store's back, foreign keys on as in the store."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA foreign_keys = ON")
        return connection.execute(sql, values).fetchall()


def test_every_store_has_all_that_the_contract_names(store: SqliteStore) -> None:
    assert isinstance(store, VectorStore)
    kept: VectorStore = store  # and the type checker compares the signatures
    assert kept.exists()


# --- the schema refuses bad rows by itself -------------------------------------------------------

CHUNK = {
    "id": "east#7",
    "document_id": "east",
    "source": "{}",
    "title": "Title",
    "text": "Some text.",
    "vector": b"\0\0\x80\x3f\0\0\0\0",
    "scope": "ACME/readers",
    "status": "approved",
    "canonical": 1,
    "valid_from": "2026-01-01",
    "valid_until": None,
    "product": None,
}
DOCUMENT = {
    "id": "south",
    "title": "Title",
    "path": "south.md",
    "version": "1",
    "content_hash": "0" * 64,
    "indexed_at": "2026-10-23T00:00:00+00:00",
}
MANIFEST = {"only": 1, "generation": "g", "lock": "{}", "documents": 0, "chunks": 0}
PRODUCT = {"code": "GX-2", "name": "Door", "facts": "{}", "document_id": "east"}
GOOD = {"chunk": CHUNK, "document": DOCUMENT, "manifest": MANIFEST, "product": PRODUCT}


def insert(path: Path, table: str, **changes: object) -> None:
    row = {**GOOD[table], **changes}
    names, places = ", ".join(row), ", ".join("?" * len(row))
    execute(path, f"INSERT INTO {table} ({names}) VALUES ({places})", *row.values())


@pytest.mark.parametrize("table", ["chunk", "document", "product"])
def test_the_rows_that_the_next_test_spoils_are_good(store: SqliteStore, table: str) -> None:
    insert(store.path, table)
    key, value = next(iter(GOOD[table].items()))
    assert execute(store.path, f"SELECT count(*) FROM {table} WHERE {key} = ?", value) == [(1,)]


@pytest.mark.parametrize(
    ("table", "column", "value", "said"),
    [
        ("manifest", "only", 2, "CHECK constraint failed: only = 1"),
        ("manifest", "only", 1, "UNIQUE constraint failed: manifest.only"),
        ("manifest", "only", None, "CHECK constraint failed: only = 1"),
        ("document", "id", "", "CHECK constraint failed: id <> ''"),
        ("document", "id", "east", "UNIQUE constraint failed: document.id"),
        ("document", "content_hash", "0" * 63, "CHECK constraint failed: length"),
        ("document", "title", None, "NOT NULL constraint failed: document.title"),
        ("document", "title", b"\xff", "cannot store BLOB value in TEXT column document.title"),
        ("chunk", "id", "east#0", "UNIQUE constraint failed: chunk.id"),
        ("chunk", "document_id", "nobody", "FOREIGN KEY constraint failed"),
        ("chunk", "source", "no JSON", "CHECK constraint failed: json_valid"),
        ("chunk", "text", "", "CHECK constraint failed: text <> ''"),
        ("chunk", "vector", b"", "CHECK constraint failed: length"),
        ("chunk", "vector", b"\0\0\x80", "CHECK constraint failed: length"),
        ("chunk", "vector", "[1, 0]", "cannot store TEXT value in BLOB column chunk.vector"),
        ("chunk", "status", "published", "CHECK constraint failed: status"),
        ("chunk", "canonical", 2, "CHECK constraint failed: canonical"),
        ("chunk", "canonical", "yes", "cannot store TEXT value in INTEGER column"),
        ("chunk", "valid_from", "2026-1-1", "CHECK constraint failed: valid_from"),
        ("chunk", "valid_from", "2026-02-30", "CHECK constraint failed: valid_from"),
        ("chunk", "valid_from", "now", "non-deterministic use of date"),
        ("chunk", "valid_until", "never", "CHECK constraint failed: valid_until"),
        ("product", "facts", "no JSON", "CHECK constraint failed: json_valid"),
        ("product", "document_id", "nobody", "FOREIGN KEY constraint failed"),
    ],
)
def test_sqlite_itself_refuses_a_bad_row(
    store: SqliteStore, table: str, column: str, value: object, said: str
) -> None:
    before = execute(store.path, f"SELECT * FROM {table}")
    with pytest.raises(sqlite3.DatabaseError, match=said):
        insert(store.path, table, **{column: value})
    assert execute(store.path, f"SELECT * FROM {table}") == before


@pytest.mark.parametrize(
    ("change", "said"),
    [("documents = -1", "documents >= 0"), ("chunks = -1", "chunks >= 0"), ("lock = '{'", "json")],
)
def test_sqlite_itself_refuses_a_spoiled_manifest(
    store: SqliteStore, change: str, said: str
) -> None:
    with pytest.raises(sqlite3.IntegrityError, match=f"CHECK constraint failed: {said}"):
        execute(store.path, f"UPDATE manifest SET {change}")


def test_the_manifest_has_one_row_whatever_is_written(store: SqliteStore) -> None:
    store.delete(["west"])
    upsert(store, WEST, [whole(WEST)], vectors((-1, 0)))
    build(store.path, *ROWS)
    assert execute(store.path, "SELECT count(*), min(only) FROM manifest") == [(1, 1)]


# --- starting: migrations, and what a start must not do ------------------------------------------


def tables(path: Path) -> list[str]:
    return [n for (n,) in execute(path, "SELECT name FROM sqlite_master WHERE type = 'table'")]


def test_initialize_makes_the_tables_in_a_fresh_file_and_its_folder(tmp_path: Path) -> None:
    store = open_store(tmp_path / "new folder" / "index.sqlite")
    store.initialize()
    assert sorted(tables(store.path)) == ["chunk", "document", "ingest_run", "manifest", "product"]
    assert execute(store.path, "PRAGMA user_version") == [(3,)]
    assert not store.exists(), "a schema without a build is no index"


def test_initialize_on_a_migrated_file_changes_not_one_byte(store: SqliteStore) -> None:
    before = store.path.read_bytes()
    store.initialize()
    open_store(store.path).initialize()
    assert store.path.read_bytes() == before
    assert ids(store.search(query(1, 0), 3, READER)) == ["east#0", "north#0", "west#0"]


def test_a_newer_schema_is_refused_naming_both_versions_and_left_alone(store: SqliteStore) -> None:
    execute(store.path, "PRAGMA user_version = 7")
    before = store.path.read_bytes()
    for use in (
        store.initialize,
        store.manifest,
        store.exists,
        lambda: store.delete(["east"]),
        lambda: store.search(query(1, 0), 1, READER),
        lambda: build(store.path, *ROWS),
    ):
        with pytest.raises(
            StoreError, match=r"has schema 7; .* knows schemas up to 3\. .*LABKIT_INDEX"
        ):
            use()
    assert store.path.read_bytes() == before


def test_a_file_of_the_first_schema_is_read_as_it_is_and_migrated_by_the_next_build(
    store: SqliteStore,
) -> None:
    """As the first labkit left it: no runs, no terms, and rows that know no section."""
    before = store.snapshot().chunks
    as_the_first_schema(store.path)
    old = open_store(store.path)
    assert old.snapshot().chunks == before
    assert (old.runs(), last_run(old)) == ([], None)
    assert [c for c, _ in old.chunks("east")] == [whole(EAST)]
    assert ids(old.search(query(1, 0), 9, READER)) == ["east#0", "north#0", "west#0"]
    upsert(old, EAST, [whole(EAST)], vectors((0, 1)))
    assert old.start_run("ingest", "documents") == 1
    assert execute(store.path, "PRAGMA user_version") == [(3,)]
    assert old.stats().chunks == 3


def as_the_first_schema(path: Path) -> None:
    """Make of an index one of the first schema, whose rows note the hashes of text and vector."""
    rows = execute(path, "SELECT id, source, text, vector FROM chunk")
    for name, source, text, vector in rows:
        values = json.loads(source)
        for later in ("section", "anchor", "token_count", "flags"):
            del values[later]
        values["text_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        values["vector_sha256"] = hashlib.sha256(vector).hexdigest()
        values["rest_sha256"] = "of what a dataclass looked like in those days"
        execute(path, "UPDATE chunk SET source = ? WHERE id = ?", json.dumps(values), name)
    execute(path, "ALTER TABLE chunk DROP COLUMN terms")
    execute(path, "ALTER TABLE chunk DROP COLUMN row_sha256")
    execute(path, "DROP TABLE ingest_run")
    execute(path, "UPDATE manifest SET lock = json_remove(lock, '$.origin')")
    execute(path, "PRAGMA user_version = 1")


def test_an_index_of_the_first_schema_finds_words_and_its_damage_is_noticed(
    store: SqliteStore,
) -> None:
    as_the_first_schema(store.path)
    assert ids(open_store(store.path).lexical(terms("gate"), 9, READER)) == ["east#0", "north#0"]
    execute(store.path, "UPDATE chunk SET text = 'Other.' WHERE id = 'west#0'")
    with pytest.raises(StoreError, match="west#0: what the row holds is not what was indexed"):
        open_store(store.path).snapshot()


FIELDS = """
import dataclasses, sys
from pathlib import Path
import labkit.types as types

Metadata = dataclasses.make_dataclass(
    "Metadata", [("audience", str, "everyone")], bases=(types.Metadata,), frozen=True
)
Chunk = dataclasses.make_dataclass(
    "Chunk", [("mood", str, "good")], bases=(types.Chunk,), frozen=True
)
types.Metadata, types.Chunk = Metadata, Chunk
from labkit.store import SqliteStore

for chunk in SqliteStore(Path(sys.argv[1])).snapshot().chunks:
    print(chunk.id, chunk.meta.audience, chunk.mood)
"""


def test_a_value_that_gains_a_field_damages_no_index(store: SqliteStore) -> None:
    command = [sys.executable, "-c", FIELDS, str(store.path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=CHECKOUT, check=False)
    assert done.stderr == ""
    assert done.stdout.splitlines() == [
        f"{name}#0 everyone good" for name in ("east", "north", "west")
    ]


def test_the_terms_of_a_passage_are_kept_and_not_analysed_again(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = seen(store.lexical(terms("north gate"), 9, READER))
    kept = execute(store.path, "SELECT terms FROM chunk WHERE id = 'east#0'")
    assert kept == [(" ".join(terms(whole(EAST).searchable)),)]

    def analyse(_: str) -> list[str]:
        raise AssertionError("a passage is analysed again")

    monkeypatch.setattr("labkit.store.rows.terms", analyse)
    assert seen(open_store(store.path).lexical(terms("north gate"), 9, READER)) == found


def test_a_file_with_other_tables_of_the_same_name_is_not_called_damaged(path: Path) -> None:
    execute(path, "CREATE TABLE document (mine TEXT)")
    execute(path, "INSERT INTO document VALUES ('kept')")
    with pytest.raises(StoreError, match=r"already exists.*LABKIT_INDEX") as refused:
        open_store(path).initialize()
    assert "Delete" not in str(refused.value)
    assert execute(path, "SELECT * FROM document") == [("kept",)]
    assert tables(path) == ["document"]


@pytest.mark.parametrize(
    "use",
    [
        lambda store: store.manifest(),
        lambda store: store.stats(),
        lambda store: hashes(store).get("east"),
        lambda store: store.search(query(1, 0), 1, READER),
        lambda store: store.lexical(["gate"], 1, READER),
        lambda store: store.delete(["east"]),
        lambda store: upsert(store, EAST, [whole(EAST)], vectors((1, 0))),
    ],
)
def test_without_a_file_every_use_says_what_to_run_and_makes_none(path: Path, use: Any) -> None:
    store = open_store(path)
    with pytest.raises(
        StoreError,
        match=NO_INDEX,
    ):
        use(store)
    assert not path.exists()
    assert not store.exists()


def test_an_index_that_was_never_built_says_what_to_run(path: Path) -> None:
    store = open_store(path)
    store.initialize()
    for use in (store.manifest, lambda: store.search(query(1, 0), 1, READER)):
        with pytest.raises(StoreError, match=r"The index is empty\. Run: labkit ingest --source "):
            use()


def test_a_folder_that_cannot_be_made_is_a_store_error_naming_the_path(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StoreError, match=r"index\.sqlite cannot be opened or written"):
        open_store(tmp_path / "file" / "index.sqlite").initialize()


def test_a_folder_in_the_place_of_the_file_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened or written"):
        open_store(tmp_path).initialize()


@pytest.mark.parametrize("name", ["50% of #1 ?mode=ro&x.sqlite", "l’été.sqlite", "a'b;--.sqlite"])
def test_a_file_name_is_a_name_whatever_signs_it_holds(tmp_path: Path, name: str) -> None:
    store = build(tmp_path / name, *ROWS)
    assert (tmp_path / name).is_file()
    assert store.stats().documents == 3


# --- replacing all -------------------------------------------------------------------------------


def test_replace_all_keeps_nothing_of_the_index_before(store: SqliteStore) -> None:
    build(store.path, (WEST, (0, 1)), products=[GX])
    assert store.stats() == IndexStats(documents=2, chunks=2, products=1, vector_bytes=16)
    assert hashes(store) == {
        "west": WEST.content_hash,
        "PRODUCT-GX-1": GX.document.content_hash,
    }
    assert ids(store.search(query(0, 1), 9, READER)) == ["west#0", "PRODUCT-GX-1#0"]
    assert hashes(store).get("east") is None


def test_replace_all_touches_no_other_table_in_the_file(store: SqliteStore) -> None:
    execute(store.path, "CREATE TABLE notes (id INTEGER PRIMARY KEY, note TEXT)")
    execute(store.path, "INSERT INTO notes VALUES (1, 'mine'), (2, 'too')")
    execute(store.path, "CREATE VIEW loud AS SELECT upper(note) AS note FROM notes")
    build(store.path, (WEST, (0, 1)))
    store.delete(["west"])
    assert execute(store.path, "SELECT * FROM notes") == [(1, "mine"), (2, "too")]
    assert execute(store.path, "SELECT * FROM loud") == [("MINE",), ("TOO",)]


def test_products_are_kept_with_their_facts(path: Path) -> None:
    build(path, products=[GX])
    assert execute(path, "SELECT * FROM product") == [
        ("GX-1", "Gate", '{"Height": "2 m"}', "PRODUCT-GX-1")
    ]


def test_what_is_read_is_what_was_written(path: Path) -> None:
    item = document(
        "rules",
        "Ünïcode — “text”, l’été, 日本語, 🙂, tab\there,\nand a line.",
        title="L’Œuvre",
        language="fr",
        valid_from=date(2026, 10, 23),
        valid_until=date(2026, 10, 23),
        version="2.1",
        product="GX-1",
        path="sub/rules.md",
    )
    store = open_store(path)
    written = Chunk(
        item.meta,
        part=3,
        start=0,
        end=7,
        text="Ünïcode",
        context="A > B",
        page=12,
        section="L’été",
        anchor="l-été-1",
        token_count=4,
        flags=("oversize_table", "cut_fence"),
    )
    store.replace_all(manifest([item]), [item], [written], vectors((0.1, -3e-5)), [])
    (hit,) = store.search(query(0.1, -3e-5), 1, READER)
    assert hit.chunk == written
    assert hit.cosine == 1.0
    assert store.manifest() == manifest([item])


def test_a_manifest_made_for_other_documents_is_refused(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match="The manifest was made for other documents than these"):
        store.replace_all(manifest([EAST]), [WEST], [whole(WEST)], vectors((1, 0)), [])
    assert sorted(hashes(store)) == ["east", "north", "west"]


@pytest.mark.parametrize(
    ("given_vectors", "said"),
    [
        (np.zeros((1, 2), np.float32), "east#0: the vector is zero"),
        (np.array([[np.nan, 1]], np.float32), "east#0: the vector holds NaN or infinity"),
        (np.array([[1, -np.inf]], np.float32), "east#0: the vector holds NaN or infinity"),
        (np.ones((1, 3), np.float32), "east#0: expected 2 dimensions, got 3"),
        (np.ones((2, 2), np.float32), "expected 1 float32 vectors in rows, got float32"),
        (np.ones(2, np.float32), "expected 1 float32 vectors in rows, got float32"),
        (np.ones((1, 2), np.float64), "got float64"),
        (np.ones((1, 2), ">f4"), "got >f4"),
        (np.ones((1, 2), np.int32), "got int32"),
    ],
)
def test_vectors_that_are_not_as_the_contract_says_change_nothing(
    store: SqliteStore, given_vectors: Any, said: str
) -> None:
    before = store.path.read_bytes()
    with pytest.raises(EmbeddingError, match=said):
        store.replace_all(manifest([EAST]), [EAST], [whole(EAST)], given_vectors, [])
    with pytest.raises(EmbeddingError, match=said):
        upsert(store, EAST, [whole(EAST)], given_vectors)
    assert store.path.read_bytes() == before


@pytest.mark.parametrize(
    ("chunks", "said"),
    [
        ([whole(EAST), whole(EAST)], "east#0"),
        ([whole(EAST), chunk("nobody")], "nobody"),
    ],
)
def test_chunks_that_contradict_the_documents_are_refused_by_name_not_as_damage(
    store: SqliteStore, chunks: Any, said: str
) -> None:
    before = store.path.read_bytes()
    with pytest.raises(StoreError, match=said) as refused:
        store.replace_all(manifest([EAST]), [EAST], chunks, vectors((1, 0), (0, 1)), [])
    assert "damaged" not in str(refused.value)
    assert store.path.read_bytes() == before


def test_two_documents_of_one_id_are_refused_not_as_damage(store: SqliteStore) -> None:
    with pytest.raises(StoreError, match=r"UNIQUE constraint failed: document\.id") as refused:
        store.replace_all(manifest([EAST]), [EAST, EAST], [whole(EAST)], vectors((1, 0)), [])
    assert "damaged" not in str(refused.value)
    assert "as it was before" in str(refused.value)
    assert store.stats().documents == 3


def test_an_index_of_no_documents_finds_nothing_without_error(path: Path) -> None:
    store = build(path)
    assert store.exists()
    assert store.search(query(1, 0), 5, READER) == []
    assert store.lexical(["gate"], 5, READER) == []
    assert store.stats() == IndexStats(0, 0, 0, 0)


# --- one document --------------------------------------------------------------------------------


def parts(item: Document, *texts: str) -> list[Any]:
    return [chunk(item.id, text, part) for part, text in enumerate(texts)]


def test_upsert_of_a_shorter_version_leaves_no_tail(store: SqliteStore) -> None:
    long = document("east", "One. Two. Three.")
    upsert(store, long, parts(long, "One.", "Two.", "Three."), vectors((1, 0), (1, 1), (0, 1)))
    assert store.stats().chunks == 5
    short = document("east", "Only.")
    upsert(store, short, parts(short, "Only."), vectors((1, 0)))
    assert [h.chunk.text for h in store.search(query(1, 0), 9, READER)] == [
        "Only.",
        NORTH.text,
        WEST.text,
    ]
    assert hashes(store).get("east") == short.content_hash


def test_upsert_of_a_new_document_adds_it_and_the_manifest_follows(store: SqliteStore) -> None:
    south = document("south", "The south gate.")
    upsert(store, south, [whole(south)], vectors((1, 0)))
    assert store.manifest() == manifest([EAST, NORTH, WEST, south])
    assert ids(store.search(query(1, 0), 2, READER)) == ["east#0", "south#0"]


def test_upsert_then_its_reverse_gives_the_index_of_a_rebuild(store: SqliteStore) -> None:
    before = store.manifest()
    upsert(store, document("east", "Other."), [chunk("east", "Other.")], vectors((0, 1)))
    assert store.manifest() != before
    upsert(store, EAST, [whole(EAST)], vectors((1, 0)))
    assert store.manifest() == before


def test_upsert_of_a_document_without_chunks_keeps_the_document(store: SqliteStore) -> None:
    blank = document("east", "")
    upsert(store, blank, [], np.empty((0, 2), np.float32))
    assert hashes(store).get("east") == blank.content_hash
    assert ids(store.search(query(1, 0), 9, READER)) == ["north#0", "west#0"]


def test_upsert_refuses_chunks_of_another_document_by_id(store: SqliteStore) -> None:
    before = store.path.read_bytes()
    with pytest.raises(StoreError, match="west#0 was not cut from the documents given with it"):
        upsert(store, EAST, [whole(EAST), whole(WEST)], vectors((1, 0), (0, 1)))
    assert store.path.read_bytes() == before


def test_upsert_refuses_chunks_of_an_older_version_of_the_governance(store: SqliteStore) -> None:
    """Else the rows of a document that has moved to the board would still say `readers`."""
    moved = document("east", EAST.text, scope="ACME/board")
    with pytest.raises(StoreError, match="east#0 was not cut from the documents given with it"):
        upsert(store, moved, [whole(EAST)], vectors((1, 0)))


def test_upsert_refuses_one_chunk_twice_by_id(store: SqliteStore) -> None:
    before = store.path.read_bytes()
    with pytest.raises(StoreError, match="east#0 is there twice"):
        upsert(store, EAST, [whole(EAST), whole(EAST)], vectors((1, 0), (0, 1)))
    assert store.path.read_bytes() == before


def test_upsert_takes_vectors_of_the_embedder_of_the_manifest_alone(store: SqliteStore) -> None:
    before = store.path.read_bytes()
    other = identity("another model of equal dimension")
    for item, product in ((EAST, None), (GX.document, GX)):
        with pytest.raises(StoreError, match=r"'embedder.model' is 'toy' .*'another .*rebuild"):
            upsert(store, item, [whole(item)], vectors((0, 1)), other, product)
    assert store.path.read_bytes() == before
    upsert(store, EAST, [whole(EAST)], vectors((0, 1)), embedder=identity())
    assert ids(store.search(query(0, 1), 2, READER)) == ["east#0", "north#0"]


def test_upsert_of_a_product_keeps_its_facts_beside_its_document(store: SqliteStore) -> None:
    upsert(store, GX.document, [whole(GX.document)], vectors((1, 1)), product=GX)
    taller = Product(
        "GX-1", "Gate", {"Height": "3 m"}, document("PRODUCT-GX-1", "Gate GX-1: 3 m high.")
    )
    upsert(store, taller.document, [whole(taller.document)], vectors((1, 1)), product=taller)
    assert execute(store.path, "SELECT code, facts FROM product") == [("GX-1", '{"Height": "3 m"}')]
    assert store.stats() == IndexStats(documents=4, chunks=4, products=1, vector_bytes=32)
    (best,) = store.search(query(1, 1), 1, READER)
    assert best.chunk == whole(taller.document)
    expected = [("PRODUCT-GX-1", taller.document.content_hash)]
    assert store.manifest().products_sha256 == corpus_hash(expected)
    assert [(each.id, each.product) for each in store.documents()] == [
        *(("PRODUCT-GX-1", True), ("east", False), ("north", False), ("west", False))
    ]
    store.delete(["PRODUCT-GX-1"])
    assert store.stats().products == 0
    assert store.manifest() == manifest([EAST, NORTH, WEST])


def test_the_chunks_of_one_document_come_in_order_of_part_with_their_vectors(
    store: SqliteStore,
) -> None:
    long = document("east", "x")
    pieces = [chunk("east", f"Part {n}.", n) for n in range(12)]
    directions = np.array([(1, n) for n in range(12)], np.float32)
    upsert(store, long, pieces[::-1], directions[::-1])
    found = store.chunks("east")
    assert [c for c, _ in found] == pieces, "part 2 before part 10"
    assert np.array_equal(np.stack([v for _, v in found]), directions)
    assert store.chunks("nobody") == []


def test_delete_of_one_document_leaves_the_others(store: SqliteStore) -> None:
    store.delete(["east"])
    assert ids(store.search(query(1, 0), 9, READER)) == ["north#0", "west#0"]
    assert store.manifest() == manifest([NORTH, WEST])
    store.delete(["nobody"])
    assert store.stats().documents == 2


SECRET = "The vault code is nine seven three one."
SECRET_VECTOR = (0.123456789, -0.987654321)


@pytest.mark.parametrize(
    "remove",
    [
        lambda store: store.delete(["secret"]),
        lambda store: upsert(
            store, document("secret", "Gone."), [chunk("secret", "Gone.")], vectors((1, 0))
        ),
        lambda store: build(store.path, *ROWS),
    ],
    ids=["delete", "upsert", "replace_all"],
)
def test_what_is_removed_is_gone_from_the_bytes_of_the_file(path: Path, remove: Any) -> None:
    secret = document("secret", SECRET, title="Vault codes")
    store = build(path, *ROWS, (secret, SECRET_VECTOR))
    traces = [SECRET.encode(), b"Vault codes", encode_vector(query(*SECRET_VECTOR))]
    assert [trace in path.read_bytes() for trace in traces] == [True, True, True]
    remove(store)
    assert [trace in path.read_bytes() for trace in traces] == [False, False, False]
    assert [file.name for file in path.parent.iterdir()] == [path.name], "no journal stays behind"


def test_removed_bytes_are_gone_however_the_pages_were_split(path: Path) -> None:
    """Many documents of many sizes, removed one by one, so that pages split, merge and overflow."""
    random = np.random.default_rng(7)
    sizes = [*random.integers(1, 400, size=60).tolist(), 3000, 9000]
    items = [document(f"d{n}", f"<{n}>" + f"secret{n:04d}-" * s) for n, s in enumerate(sizes)]
    store = build(path, *((item, (1, n)) for n, item in enumerate(items)))
    for n in random.permutation(len(items)).tolist():
        store.delete([f"d{n}"])
        assert b"secret%04d-" % n not in path.read_bytes()
        if n % 3 == 0:
            again = document(f"e{n}", "x" * int(random.integers(1, 4000)))
            upsert(store, again, [whole(again)], vectors((1, 0)))
    assert b"secret" not in path.read_bytes()


# --- the records of runs -------------------------------------------------------------------------

DONE = IngestRun(
    "ingest",
    "documents",
    started="",
    finished="2026-10-23T12:00:00+00:00",
    status="done",
    documents=3,
    chunks=4,
    embedded=5,
    added=6,
    changed=7,
    removed=8,
    unchanged=9,
    failed=1,
    near_duplicates=2,
    faults=(FileFault("sub/é.md", "It is “no” UTF-8."),),
    notes=(FileFault("key.md", "It looks as if it held a secret."), FileFault("b.md", "Too.")),
)


def test_a_run_is_recorded_before_there_is_an_index_and_read_as_it_was_finished(path: Path) -> None:
    store = open_store(path)
    number = store.start_run("ingest", "documents")
    (running,) = store.runs()
    assert (running.id, running.status, running.finished) == (number, "running", "")
    assert datetime.fromisoformat(running.started).utcoffset() == timedelta(0)
    store.finish_run(number, DONE)
    assert last_run(store) == replace(DONE, id=number, started=running.started)
    assert not store.exists(), "a run is no build"


def test_runs_come_newest_first_and_what_was_still_running_was_interrupted(path: Path) -> None:
    store = open_store(path)
    for root in ("one", "two", "three"):
        store.start_run("rebuild", root)
    assert [(run.root, run.status) for run in store.runs()] == [
        ("three", "running"),
        ("two", "interrupted"),
        ("one", "interrupted"),
    ]
    assert [run.root for run in store.runs(limit=2)] == ["three", "two"]
    assert store.runs(limit=0) == store.runs(limit=-1) == []


def test_the_end_of_a_run_is_stamped_if_nobody_says_when(path: Path) -> None:
    store = open_store(path)
    number = store.start_run("rebuild", "documents")
    store.finish_run(number, replace(DONE, finished=""))
    last = last_run(store)
    assert last is not None
    assert last.command == "rebuild", "what started stays as it started"
    assert last.started <= last.finished <= datetime.now(UTC).isoformat(timespec="seconds")


def test_who_records_a_run_late_says_when_it_started(path: Path) -> None:
    store = open_store(path)
    number = store.start_run("rebuild", "documents", started="2026-10-23T11:00:00+00:00")
    store.finish_run(number, DONE)
    assert [run.started for run in store.runs()] == ["2026-10-23T11:00:00+00:00"]


def test_a_run_that_never_started_or_still_runs_cannot_be_finished(path: Path) -> None:
    store = open_store(path)
    store.start_run("ingest", "documents")
    with pytest.raises(StoreError, match="There is no run 7 in this index"):
        store.finish_run(7, DONE)
    with pytest.raises(StoreError, match="cannot have the status 'running'"):
        store.finish_run(1, replace(DONE, status="running"))
    assert [run.status for run in store.runs()] == ["running"]


def test_writing_documents_touches_no_run_and_a_run_no_document(store: SqliteStore) -> None:
    store.start_run("ingest", "documents")
    before = store.runs()
    build(store.path, *ROWS)
    upsert(store, EAST, [whole(EAST)], vectors((0, 1)))
    store.delete(["west"])
    assert store.runs() == before
    first = store.snapshot()
    store.finish_run(1, DONE)
    assert store.snapshot() is first


def test_runs_without_a_file_say_what_to_run(path: Path) -> None:
    for use in (open_store(path).runs, open_store(path).documents):
        with pytest.raises(
            StoreError,
            match=NO_INDEX,
        ):
            use()
    assert not path.exists()


# --- ids and texts are data ----------------------------------------------------------------------

ODD_IDS = ["100%", "a_b", "aXb", "it's", 'say "hi"', "é", "e\u0301", "日本", "a#0", "a;--", "🙂"]


def test_ids_are_compared_letter_for_letter(path: Path) -> None:
    store = build(path, *((document(name, f"Text of {name}."), (1, 1)) for name in ODD_IDS))
    assert sorted(ids(store.search(query(1, 1), 99, READER))) == sorted(n + "#0" for n in ODD_IDS)
    left = sorted(ODD_IDS)
    for name in ODD_IDS:
        assert hashes(store).get(name) is not None
        store.delete([name])
        left.remove(name)
        assert sorted(hashes(store)) == left
    assert hashes(store).get("%") is None


def test_equal_scores_come_in_ordinal_order_of_id(path: Path) -> None:
    store = build(path, *((document(name, "Same text."), (1, 1)) for name in ("b", "B", "é", "c")))
    assert ids(store.search(query(1, 1), 9, READER)) == ["B#0", "b#0", "c#0", "é#0"]
    assert ids(store.lexical(terms("text"), 9, READER)) == ["B#0", "b#0", "c#0", "é#0"]


def test_the_same_text_under_two_ids_is_two_chunks(path: Path) -> None:
    store = build(
        path, (document("one", "Same text."), (1, 0)), (document("two", "Same text."), (1, 0))
    )
    hits = store.search(query(1, 0), 9, READER)
    assert [(h.chunk.source_id, h.chunk.text) for h in hits] == [
        ("one", "Same text."),
        ("two", "Same text."),
    ]
    store.delete(["one"])
    assert ids(store.search(query(1, 0), 9, READER)) == ["two#0"]


# --- searching -----------------------------------------------------------------------------------


def test_hits_carry_their_cosine_and_rank_and_nothing_of_another_list(store: SqliteStore) -> None:
    hits = store.search(query(2, 0), 3, READER)
    assert [(h.chunk.id, h.cosine, h.dense_rank) for h in hits] == [
        ("east#0", 1.0, 1),
        ("north#0", 0.0, 2),
        ("west#0", -1.0, 3),
    ]
    assert {(h.lexical_score, h.lexical_rank, h.fused) for h in hits} == {(None, None, None)}


def test_lexical_hits_carry_score_and_rank_and_none_scores_zero(store: SqliteStore) -> None:
    hits = store.lexical(terms("north gate"), 9, READER)
    assert [(h.chunk.id, h.lexical_rank) for h in hits] == [("north#0", 1), ("east#0", 2)]
    assert all(h.lexical_score is not None and h.lexical_score > 0 for h in hits)
    assert {(h.cosine, h.dense_rank, h.fused) for h in hits} == {(None, None, None)}
    assert store.lexical(terms("zebra"), 9, READER) == []
    assert store.lexical([], 9, READER) == []


@pytest.mark.parametrize("k", [0, -1, -(2**31)])
def test_k_of_nothing_or_less_finds_nothing(store: SqliteStore, k: int) -> None:
    assert store.search(query(1, 0), k, READER) == []
    assert store.lexical(terms("gate"), k, READER) == []


@pytest.mark.parametrize("k", [3, 4, 10**6, 2**31 - 1, 2**63])
def test_k_above_the_number_of_chunks_finds_them_all(store: SqliteStore, k: int) -> None:
    assert ids(store.search(query(1, 0), k, READER)) == ["east#0", "north#0", "west#0"]
    assert ids(store.lexical(terms("gate"), k, READER)) == ["east#0", "north#0"]


def test_a_filter_that_leaves_very_few_rows_still_fills_k(path: Path) -> None:
    """A search of the nearest k first, filtered afterwards, would find none of the three."""
    near = [(document(f"n{i}", "Gate.", scope="ACME/board"), (1, i / 1000)) for i in range(300)]
    far = [(document(f"f{i}", "Gate."), (-1, i)) for i in range(3)]
    store = build(path, *near, *far)
    assert ids(store.search(query(1, 0), 3, READER)) == ["f2#0", "f1#0", "f0#0"]
    assert ids(store.lexical(terms("gate"), 3, READER)) == ["f0#0", "f1#0", "f2#0"]


@pytest.mark.parametrize(
    ("vector", "kind", "said"),
    [
        (query(0, 0), EmbeddingError, "query: the vector is zero"),
        (query(np.nan, 1), EmbeddingError, "query: the vector holds NaN or infinity"),
        (query(np.inf, 1), EmbeddingError, "query: the vector holds NaN or infinity"),
        (query(1, 0, 0), StoreError, r"shape \(3,\); the index holds vectors of 2 dimensions"),
        (np.ones((1, 2), np.float32), StoreError, r"shape \(1, 2\)"),
        (np.ones(2, np.float64), EmbeddingError, "got float64"),
    ],
)
def test_a_question_vector_that_means_nothing_is_refused(
    store: SqliteStore, vector: Any, kind: type[Exception], said: str
) -> None:
    with pytest.raises(kind, match=said):
        store.search(vector, 3, READER)


def test_the_first_and_the_last_day_of_validity_are_in_force(path: Path) -> None:
    item = document(
        "offer", "Offer.", valid_from=DAY - timedelta(1), valid_until=DAY + timedelta(1)
    )
    store = build(path, (item, (1, 0)))
    viewer = Viewer("ACME", frozenset({"readers"}))
    found = [
        len(store.search(query(1, 0), 1, admit(viewer, DAY + timedelta(days))))
        for days in (-2, -1, 0, 1, 2)
    ]
    assert found == [0, 1, 1, 1, 0]


@dataclass(frozen=True, slots=True)
class Anything(Eligible):
    """Another rule than the one that stores know."""

    def admits(self, meta: Metadata) -> bool:
        return True


def test_a_store_refuses_another_rule_than_the_one_it_knows(store: SqliteStore) -> None:
    other = Anything(READER.grants, READER.as_of)
    searches: list[Callable[[], object]] = [
        lambda: store.search(query(1, 0), 1, other),
        lambda: store.lexical(["gate"], 1, other),
    ]
    for search in searches:
        with pytest.raises(StoreError, match="A store knows one rule of access, not that of"):
            search()


@pytest.mark.parametrize("k", [-1, 0, 1, 99])
def test_a_search_in_a_part_of_the_index_gives_the_order_of_the_whole(path: Path, k: int) -> None:
    rows = [
        (document(f"d{n}", f"Gate {n}.", path=f"{'guides' if n % 3 else 'notes'}/d{n}.md"), (n, 9))
        for n in range(20)
    ]
    store = build(path, *rows)
    part = replace(READER, path="guides")
    for found, everything in (
        (store.search(query(1, 0), k, part), store.search(query(1, 0), 99, READER)),
        (store.lexical(terms("gate"), k, part), store.lexical(terms("gate"), 99, part)),
    ):
        kept = [hit.chunk.id for hit in everything if hit.chunk.meta.path.startswith("guides/")]
        assert len(kept) == 13
        assert ids(found) == kept[: max(k, 0)]
        ranks = [hit.dense_rank or hit.lexical_rank for hit in found]
        assert ranks == list(range(1, len(found) + 1))


def test_no_scope_means_nothing(store: SqliteStore) -> None:
    nobody = admit(Viewer("ACME", frozenset()), DAY)
    assert store.search(query(1, 0), 9, nobody) == []
    assert store.lexical(terms("gate"), 9, nobody) == []


WORDS = ["gate", "door", "eight", "nine", "gate gate", "locked"]
DAYS = [DAY + timedelta(days) for days in (-1, 0, 1)]


@st.composite
def corpora(draw: st.DrawFn) -> list[tuple[Document, tuple[float, float]]]:
    """Up to thirty documents that differ in words, direction, governance and days."""
    number = st.integers(-2, 2) | st.floats(0.0078125, 1, width=32)
    direction = st.tuples(number, number).filter(any)
    rows = draw(
        st.lists(
            st.tuples(
                st.lists(st.sampled_from(WORDS), min_size=1, max_size=4),
                direction,
                st.sampled_from(["ACME/readers", "ACME/board", "GLOBEX/readers"]),
                st.sampled_from(["approved", "approved", "approved", "draft", "retired"]),
                st.sampled_from([True, True, True, False]),
                st.sampled_from(DAYS),
                st.none() | st.sampled_from(DAYS),
            ),
            max_size=30,
        )
    )
    return [
        (
            document(
                f"d{n}",
                " ".join(words),
                scope=scope,
                status=status,
                canonical=canonical,
                valid_from=valid_from,
                valid_until=valid_until,
            ),
            vector,
        )
        for n, (words, vector, scope, status, canonical, valid_from, valid_until) in enumerate(rows)
    ]


def may_answer(meta: Metadata, viewer: Viewer, day: date) -> bool:
    """The contract of admission, said another way than the engine says it."""
    organisation, audience = meta.scope.split("/")
    last = meta.valid_until or date.max
    return (
        (organisation == viewer.organisation and audience in viewer.scopes)
        and (meta.status, meta.canonical) == ("approved", True)
        and not day < meta.valid_from
        and not day > last
    )


def seen(hits: Sequence[Hit]) -> list[tuple[Any, ...]]:
    return [
        (h.chunk, h.cosine, h.dense_rank, h.lexical_score, h.lexical_rank, h.fused) for h in hits
    ]


@settings(max_examples=40, deadline=None)
@given(
    rows=corpora(),
    organisation=st.sampled_from(["ACME", "GLOBEX"]),
    scopes=st.frozensets(st.sampled_from(["readers", "board"])),
    day=st.sampled_from(DAYS),
    k=st.integers(0, 31),
    words=st.lists(st.sampled_from(WORDS), max_size=3),
    direction=st.tuples(st.integers(-2, 2), st.integers(-2, 2)).filter(any),
)
def test_searching_gives_exactly_what_a_store_without_the_other_documents_gives(
    rows: list[tuple[Document, tuple[float, float]]],
    organisation: str,
    scopes: frozenset[str],
    day: date,
    k: int,
    words: list[str],
    direction: tuple[int, int],
) -> None:
    viewer = Viewer(organisation, scopes)
    eligible = admit(viewer, day)
    allowed = [row for row in rows if may_answer(row[0].meta, viewer, day)]
    with tempfile.TemporaryDirectory() as folder:
        everything = build(Path(folder) / "all.sqlite", *rows)
        alone = build(Path(folder) / "alone.sqlite", *allowed)
        question = terms(" ".join(words))
        dense = everything.search(query(*direction), k, eligible)
        lexical = everything.lexical(question, k, eligible)
        assert seen(dense) == seen(alone.search(query(*direction), k, eligible))
        assert seen(lexical) == seen(alone.lexical(question, k, eligible))
        longer = everything.search(query(*direction), k + 1, eligible)
    assert len(dense) == min(k, len(allowed))
    assert seen(dense) == seen(longer)[:k]
    assert [(-h.cosine, h.chunk.id) for h in dense if h.cosine is not None] == sorted(
        (-h.cosine, h.chunk.id) for h in dense if h.cosine is not None
    )


# --- vectors as bytes ----------------------------------------------------------------------------


def test_a_vector_lies_in_the_file_as_little_endian_float32(path: Path) -> None:
    build(path, (EAST, (1.0, -2.5)))
    assert execute(path, "SELECT hex(vector) FROM chunk") == [("0000803F" + "000020C0",)]


@pytest.mark.parametrize(
    "vector",
    [
        np.array([1.0, -2.5], "<f4"),
        np.array([1.0, -2.5], ">f4"),
        np.array([1.0, -2.5], np.float64),
        np.array([[1.0, 9.0], [-2.5, 9.0]], np.float32)[:, 0],
        np.array([-2.5, 1.0], np.float32)[::-1],
    ],
    ids=["little-endian", "big-endian", "float64", "column of a matrix", "reversed view"],
)
def test_encoding_gives_the_same_bytes_however_the_vector_lies_in_memory(vector: Any) -> None:
    assert encode_vector(vector) == bytes.fromhex("0000803f000020c0")


def test_decoding_gives_native_writable_float32() -> None:
    vector = decode_vector(bytes.fromhex("0000803f000020c0"))
    assert vector.tolist() == [1.0, -2.5]
    assert vector.dtype == np.float32
    assert vector.flags.writeable


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_that_are_not_contiguous_are_stored_right(path: Path, order: Any) -> None:
    wide = np.array([[1, 9, 2, 9], [3, 9, 4, 9], [5, 9, 6, 9]], np.float32, order=order)
    store = open_store(path)
    documents = [EAST, NORTH]
    store.replace_all(
        manifest(documents), documents, list(map(whole, documents)), wide[::2, ::2], []
    )
    assert execute(path, "SELECT hex(vector) FROM chunk ORDER BY id") == [
        ("0000803F" + "00000040",),
        ("0000A040" + "0000C040",),
    ]


# --- a store that stays open ---------------------------------------------------------------------


def test_a_snapshot_is_read_once_and_again_only_after_a_write(store: SqliteStore) -> None:
    first = store.snapshot()
    assert store.snapshot() is first
    store.initialize()
    assert store.snapshot() is first
    open_store(store.path).delete(["west"])
    assert store.snapshot() is not first
    assert ids(store.search(query(1, 0), 9, READER)) == ["east#0", "north#0"]


def test_a_rebuild_of_the_same_documents_is_read_again(store: SqliteStore) -> None:
    first = store.snapshot()
    build(store.path, *ROWS)
    assert store.snapshot() is not first
    assert [c.id for c in store.snapshot().chunks] == ["east#0", "north#0", "west#0"]
