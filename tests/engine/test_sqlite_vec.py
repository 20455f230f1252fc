"""labkit.store.sqlite_vec: what vec0 alone would get wrong, and how the extension is loaded.

The contract of all stores is tried on this one too, in test_store.py and test_store_faults.py.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import chunk, document, identity, manifest, vectors, whole
from labkit.answering.access_filter import admit
from labkit.similarity import top_k
from labkit.store import SqliteStore, sqlite_vec
from labkit.store.rows import encode_vector
from labkit.store.sqlite_vec import MOST, SLOTS, SPARE, SqliteVecStore, unit
from labkit.types import Document, Eligible, Hit, LabError, StoreError, Viewer
from stores import Passed, for_each_connection, needs_sqlite_vec, upsert, using
from strategies import matrices

pytestmark = needs_sqlite_vec

CHECKOUT = Path(__file__).resolve().parents[2]
DAY = date(2026, 10, 23)


def seen_by(*audiences: str) -> Eligible:
    return admit(Viewer("ACME", frozenset(audiences)), DAY)


READER = seen_by("readers")
EVERYBODY = seen_by("readers", "board", "few")
NOBODY = seen_by()


@pytest.fixture(scope="module", autouse=True)
def _vec0_serves_small_tables() -> Iterator[None]:
    with using("sqlite-vec"):
        yield


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "index.sqlite"


def items(scopes: Sequence[str]) -> list[Document]:
    return [document(f"d{n:05}", f"Text {n}.", scope=f"ACME/{s}") for n, s in enumerate(scopes)]


def build(path: Path, documents: Sequence[Document], directions: Any) -> SqliteVecStore:
    """A document, a chunk and a vector each."""
    store = SqliteVecStore(path)
    lock = manifest(documents, embedder=identity(dimension=directions.shape[1]))
    store.replace_all(lock, documents, list(map(whole, documents)), directions, [])
    return store


def circle(number: int) -> Any:
    """So many directions, no two alike, in float32."""
    angles = np.arange(number) * 2.399963  # the golden angle
    return np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)


def seen(hits: Sequence[Hit]) -> list[tuple[Any, ...]]:
    return [(h.chunk, h.cosine, h.dense_rank, h.lexical_score, h.lexical_rank) for h in hits]


def ids(hits: Sequence[Hit]) -> list[str]:
    return [hit.chunk.source_id for hit in hits]


def query(*values: float) -> Any:
    return np.array(values, np.float32)


def execute(path: Path, *statements: str) -> list[Any]:
    """Run SQL on the file behind the store's back."""
    with closing(sqlite3.connect(path)) as connection, connection:
        return [connection.execute(statement).fetchall() for statement in statements][-1]


class Asked:
    """How vec0 was asked: the number of neighbours, each time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fetched: list[int] = []
        for_each_connection(self.watch, monkeypatch)

    def watch(self, connection: Any) -> Passed:
        """The connection, its searches counted."""

        def execute(sql: str, *values: Any) -> Any:
            if "MATCH" in sql:
                self.fetched.append(values[0][1])
            return connection.execute(sql, *values)

        watched = Passed(connection)
        watched.__dict__["execute"] = execute
        return watched


# --- the same lists as the reference store -------------------------------------------------------


@settings(max_examples=60, deadline=None)
@given(
    directions=matrices(max_rows=40),
    question=matrices(max_rows=1),
    scopes=st.lists(st.sampled_from(["readers", "board"]), min_size=40, max_size=40),
    k=st.integers(-1, 45) | st.sampled_from([MOST, MOST + 1, sys.maxsize]),
    eligible=st.sampled_from([READER, EVERYBODY, NOBODY]),
)
def test_both_stores_give_the_same_lists(
    directions: Any, question: Any, scopes: list[str], k: int, eligible: Eligible
) -> None:
    """Rows repeat, tie and nearly tie; some are tiny beside others."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "index.sqlite"
        store = build(path, items(scopes[: len(directions)]), directions)
        found = store.search(question[0], k, eligible)
        assert seen(found) == seen(SqliteStore(path).search(question[0], k, eligible))
        longer = store.search(question[0], min(k, MOST) + 1, eligible)
    assert k > MOST or seen(found) == seen(longer)[: max(0, k)]


def test_both_stores_give_the_same_lists_of_five_thousand(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every direction is there about twice, so that the k-th is nearly always tied."""
    monkeypatch.setattr(sqlite_vec, "SPARE", SPARE)
    random = np.random.default_rng(5)
    directions = random.integers(-3, 4, size=(5000, 4)).astype(np.float32)
    directions[~directions.any(axis=1)] = 1
    scopes = np.where(np.arange(5000) % 2, "readers", "board")
    scopes[::100] = "few"
    store, asked = build(path, items(scopes.tolist()), directions), Asked(monkeypatch)
    reference = SqliteStore(path)
    for eligible in (EVERYBODY, READER, seen_by("few"), NOBODY):
        for k in (-1, 0, 1, 10, 100, 1000, 2500, MOST, MOST + 1, 9999):
            expected = seen(reference.search(query(1, 2, 3, 4), k, eligible))
            assert seen(store.search(query(1, 2, 3, 4), k, eligible)) == expected, k
    assert len(asked.fetched) > 6
    assert max(asked.fetched) <= MOST
    taught = top_k((1, 2, 3, 4), directions.tolist(), [d.id for d in items(scopes)], 30)
    best = store.search(query(1, 2, 3, 4), 30, EVERYBODY)
    assert [(h.chunk.source_id, h.cosine) for h in best] == taught


def test_more_near_ties_than_neighbours_asked_for_are_all_scored_again(path: Path) -> None:
    """Three hundred vectors whose cosines differ by less than vec0 can tell, best ids last."""
    directions = np.stack([np.ones(300), np.linspace(2e-4, 1e-4, 300)], axis=1).astype(np.float32)
    others = np.array([(0, 1)] * 100, np.float32)
    store = build(path, items(["readers"] * 400), np.concatenate([directions, others]))
    for k in (1, 2, 7, 250, 299, 300, 301):
        found = store.search(query(1, 0), k, READER)
        assert seen(found) == seen(SqliteStore(path).search(query(1, 0), k, READER))
    assert ids(store.search(query(1, 0), 2, READER)) == ["d00299", "d00298"]


@pytest.mark.parametrize("size", [1e-42, 1e-25, 1, 1e18, 1e38])
def test_vectors_near_the_ends_of_float32_are_found_by_direction(path: Path, size: float) -> None:
    """vec0's own squares of them are zero or infinite."""
    directions = (circle(40) * np.float32(size)).astype(np.float32)
    store = build(path, items(["readers"] * 40), directions)
    for question in (query(1, 0), query(0.6, 0.8) * np.float32(size)):
        expected = SqliteStore(path).search(question, 5, READER)
        assert seen(store.search(question, 5, READER)) == seen(expected)


@pytest.mark.parametrize("number", [0, 40])
@pytest.mark.parametrize("k", [-1, 0, 3, MOST + 1])
@pytest.mark.parametrize(
    "vector",
    [
        query(0, 0),
        query(np.nan, 1),
        query(-np.inf, 1),
        query(1, 0, 0),
        query(1),
        np.ones((1, 2), np.float32),
        np.ones(2, np.float64),
        np.ones(2, np.int8),
    ],
    ids=repr,
)
def test_a_question_that_means_nothing_is_refused_in_the_same_words(
    path: Path, number: int, k: int, vector: Any
) -> None:
    """vec0 answers a zero vector, and NaN, with whatever lies there."""
    said = []
    store = build(path, items(["readers"] * number), circle(number))
    for each in (store, SqliteStore(path)):
        with pytest.raises(LabError) as refused:
            each.search(vector, k, READER)
        said.append((type(refused.value), str(refused.value)))
    assert said[0] == said[1]


def test_a_filter_that_leaves_few_rows_still_fills_k(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The five that the viewer may see are the farthest of three hundred."""
    scopes = ["board"] * 295 + ["readers"] * 5
    directions = np.array([(1, n / 1000) for n in range(295)] + [(-1, n) for n in range(5)])
    store = build(path, items(scopes), directions.astype(np.float32))
    asked = Asked(monkeypatch)
    assert ids(store.search(query(1, 0), 5, READER)) == [
        f"d{n:05}" for n in (299, 298, 297, 296, 295)
    ]
    assert asked.fetched == [], "few among many are read, not looked for"
    assert ids(store.search(query(1, 0), 1, seen_by("board"))) == ["d00000"]
    assert asked.fetched[:1] == [2]


# --- what is kept, and what is not ---------------------------------------------------------------


def test_the_vectors_stay_in_the_file_and_the_rest_is_read_once(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = build(path, items(["readers"] * 40), circle(40))
    store.search(query(1, 0), 3, READER)
    held = store._held
    assert held is not None
    assert (len(held.chunks), held.vectors.size) == (40, 0)
    monkeypatch.setattr(sqlite_vec, "read_snapshot", None)
    assert ids(store.search(query(1, 0), 1, READER)) == ["d00000"]
    assert len(store.lexical(["text"], 99, READER)) == 40
    assert store._held is held


def block_count(path: Path) -> int:
    return int(execute(path, "SELECT count(*) FROM dense_chunks")[0][0])


def test_a_document_written_again_and_again_does_not_make_the_file_grow(path: Path) -> None:
    """Each turn fills a block of vec0's places, all but one of which are deleted by the next."""
    many = document("many")
    store = build(path, [many], circle(1))
    pieces = [chunk("many", f"Part {n}.", n) for n in range(SLOTS - 1)]
    for turn in range(6):
        one = document(f"one-{turn}")
        upsert(store, one, [whole(one)], vectors((turn, 1)))
        upsert(store, many, pieces, circle(len(pieces)))
        assert block_count(path) <= 4
    assert len(store.search(query(1, 0), 9999, READER)) == SLOTS + 5
    upsert(store, many, [], np.empty((0, 2), np.float32))
    assert ids(store.search(query(1, 0), 2, READER)) == ["one-5", "one-4"]


SECRET = (0.123456789, -0.987654321)


@pytest.mark.parametrize("number", [3, 40])
@pytest.mark.parametrize(
    "remove",
    [
        lambda store, kept: store.delete(["secret"]),
        lambda store, kept: upsert(
            store, document("secret", "Gone."), [chunk("secret", "Gone.")], vectors((1, 0))
        ),
        lambda store, kept: upsert(store, document("secret", ""), [], np.empty((0, 2), np.float32)),
        lambda store, kept: build(store.path, kept, circle(len(kept))),
    ],
    ids=["delete", "upsert", "upsert of nothing", "replace_all"],
)
def test_a_removed_vector_is_gone_from_the_bytes_of_the_file(
    path: Path, number: int, remove: Any
) -> None:
    """Both as it was given and as vec0 holds it, which only marks its place as free."""
    kept, secret = items(["readers"] * number), document("secret", "The code is 9731.")
    both = np.concatenate([circle(number), vectors(SECRET)])
    store = build(path, [*kept, secret], both)
    traces = [encode_vector(query(*SECRET)), encode_vector(unit(query(*SECRET)))]
    assert [trace in path.read_bytes() for trace in traces] == [True, True]
    remove(store, kept)
    assert [trace in path.read_bytes() for trace in traces] == [False, False]
    assert [file.name for file in path.parent.iterdir()] == [path.name], "no journal stays behind"
    assert secret.text not in [h.chunk.text for h in store.search(query(*SECRET), 99, READER)]


def test_an_index_of_another_dimension_replaces_this_one(path: Path) -> None:
    build(path, items(["readers"] * 40), circle(40))
    wide = np.eye(40, dtype=np.float32)
    store = build(path, items(["readers"] * 40), wide)
    assert ids(store.search(wide[7], 1, READER)) == ["d00007"]
    store.delete(["d00007"])
    assert ids(store.search(wide[7], 1, READER)) == ["d00000"]


def test_many_threads_may_search_one_store(path: Path) -> None:
    store = build(path, items(["readers"] * 400), circle(400))
    expected = [ids(SqliteStore(path).search(row, 3, READER)) for row in circle(8)]
    found: dict[int, list[list[str]]] = {}

    def work(name: int) -> None:
        found[name] = [ids(store.search(row, 3, READER)) for row in circle(8)]

    threads = [threading.Thread(target=work, args=(name,)) for name in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert list(found.values()) == [expected] * 4


# --- other programs wrote the same file ----------------------------------------------------------

WRITE = """
import sys
from pathlib import Path
import numpy as np
from labkit.store import SqliteStore
from builders import document, whole
from stores import upsert
store = SqliteStore(Path(sys.argv[1]))
store.delete(["secret"])
new = document("new", "Written without vec0.")
upsert(store, new, [whole(new)], np.array([[0, -1]], np.float32))
"""


def write_elsewhere(path: Path) -> None:
    """In another process, which knows nothing of vec0: `secret` is deleted, `new` is written."""
    command = [sys.executable, "-c", WRITE, str(path)]
    search = os.pathsep.join([*filter(None, sys.path), str(CHECKOUT), str(CHECKOUT / "tests")])
    subprocess.run(command, check=True, env={**os.environ, "PYTHONPATH": search})


@pytest.fixture
def outdated(path: Path) -> SqliteVecStore:
    """A store that has searched before another process wrote to its file."""
    documents = [*items(["readers"] * 40), document("secret", "The code is 9731.")]
    store = build(path, documents, np.concatenate([circle(40), vectors(SECRET)]))
    assert ids(store.search(query(*SECRET), 1, READER)) == ["secret"]
    write_elsewhere(path)
    return store


@pytest.mark.parametrize("cold", [False, True])
def test_a_vec0_table_that_another_process_left_behind_is_made_anew_by_a_search(
    outdated: SqliteVecStore, cold: bool
) -> None:
    path = outdated.path
    store = SqliteVecStore(path) if cold else outdated
    assert "secret" not in ids(store.search(query(*SECRET), 99, READER))
    assert ids(store.search(query(0, -1), 1, READER)) == ["new"]
    assert encode_vector(unit(query(*SECRET))) not in path.read_bytes()
    before = path.read_bytes()
    store.search(query(0, -1), 1, READER)
    assert path.read_bytes() == before, "once"


def test_a_table_that_cannot_be_made_anew_names_the_way_out(
    outdated: SqliteVecStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise StoreError("attempt to write a readonly database.")

    monkeypatch.setattr(SqliteVecStore, "_write", refuse)
    with pytest.raises(StoreError, match=r"readonly .* set store\.kind to sqlite\."):
        outdated.search(query(0, -1), 1, READER)


def test_it_is_made_anew_by_a_write_too(outdated: SqliteVecStore) -> None:
    other = document("other", "Written with vec0.")
    upsert(outdated, other, [whole(other)], vectors((0, -1)))
    assert ids(outdated.search(query(0, -1), 2, READER)) == ["new", "other"]
    assert encode_vector(unit(query(*SECRET))) not in outdated.path.read_bytes()


def test_words_are_searched_in_what_the_other_process_wrote(outdated: SqliteVecStore) -> None:
    assert ids(outdated.lexical(["written"], 9, READER)) == ["new"]
    assert outdated.lexical(["9731"], 9, READER) == []


def test_an_index_of_the_reference_store_is_taken_over_at_the_first_search(path: Path) -> None:
    documents = items(["readers"] * 40)
    lock = manifest(documents)
    SqliteStore(path).replace_all(lock, documents, list(map(whole, documents)), circle(40), [])
    store = SqliteVecStore(path)
    assert store.exists()
    assert ids(store.search(query(1, 0), 1, READER)) == ["d00000"]
    assert block_count(path) == 1
    generation = "SELECT generation FROM manifest"
    assert execute(path, generation) == execute(path, "SELECT generation FROM dense_state")


@pytest.mark.skipif(os.name != "posix", reason="needs permissions of POSIX")
def test_a_file_that_may_only_be_read_cannot_be_taken_over_and_says_so(
    outdated: SqliteVecStore,
) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        locked = folder / "index.sqlite"
        shutil.copy(outdated.path, locked)
        locked.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        folder.chmod(0o555)
        child = os.fork()
        if child == 0:
            code = 1
            try:
                if os.geteuid() == 0:
                    os.setuid(65534)  # to the superuser no file is read-only
                with pytest.raises(StoreError, match="cannot be opened or written"):
                    SqliteVecStore(locked).search(query(1, 0), 1, READER)
                code = 0
            finally:
                os._exit(code)
        try:
            assert os.waitpid(child, 0)[1] == 0
        finally:
            folder.chmod(0o755)


def test_vacuum_changes_no_list(path: Path) -> None:
    """SQLite may renumber rows when it does so, and vec0 would name others."""
    store = build(path, items(["readers"] * 40), circle(40))
    for name in ("d00000", "d00013", "d00021"):
        store.delete([name])
    expected = seen(store.search(query(1, 0), 5, READER))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("VACUUM")
    assert seen(store.search(query(1, 0), 5, READER)) == expected
    assert seen(SqliteVecStore(path).search(query(1, 0), 5, READER)) == expected


# --- damage --------------------------------------------------------------------------------------

DAMAGED = r"dense: sqlite-vec's table does not hold the chunks' vectors\. Run: labkit ingest "


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE dense_vector_chunks00 SET vectors = zeroblob(length(vectors))",
        "UPDATE dense_vector_chunks00 SET vectors = zeroblob(7)",
        "UPDATE dense_chunks SET validity = zeroblob(128)",
        "UPDATE dense_chunks SET validity = CAST(x'ffffffffffffff' || zeroblob(121) AS BLOB)",
        "UPDATE dense_chunks SET rowids = zeroblob(length(rowids))",
        "UPDATE dense_chunks SET rowids = CAST(x'02' || substr(rowids, 2) AS BLOB)",
        "DELETE FROM dense_chunks",
        "DELETE FROM dense_vector_chunks00",
        "INSERT INTO dense_chunks SELECT 2, size, validity, rowids FROM dense_chunks;"
        "INSERT INTO dense_vector_chunks00 SELECT 2, vectors FROM dense_vector_chunks00",
    ],
)
def test_a_damaged_vec0_table_is_named_together_with_the_mend(path: Path, statement: str) -> None:
    build(path, items(["readers"] * 40), circle(40))
    execute(path, *statement.split(";"))
    with pytest.raises(StoreError, match=DAMAGED):
        SqliteVecStore(path).search(query(1, 0), 3, READER)
    store = build(path, items(["readers"] * 40), circle(40))
    assert ids(store.search(query(1, 0), 1, READER)) == ["d00000"]


@pytest.mark.parametrize("step", [601, pytest.param(61, marks=pytest.mark.slow)])
def test_a_bit_flipped_anywhere_is_refused_or_changes_no_list(path: Path, step: int) -> None:
    build(path, items(["readers", "board"] * 20), circle(40))
    questions = [query(*row) for row in circle(6)]

    def outcome(file: Path) -> Any:
        store = SqliteVecStore(file)
        try:
            return [seen(store.search(question, 3, READER)) for question in questions]
        except StoreError as error:
            return str(error)

    true, good, refused = outcome(path), path.read_bytes(), 0
    flipped = path.with_name("flipped.sqlite")
    for place in range(0, len(good), step):
        flipped.write_bytes(good[:place] + bytes([good[place] ^ 0x10]) + good[place + 1 :])
        found = outcome(flipped)
        refused += isinstance(found, str)
        mends = ("labkit rebuild", "name another file")
        assert found == true or any(mend in found for mend in mends), f"byte {place}"
    assert refused > 5


# --- loading the extension -----------------------------------------------------------------------

BOTH = r"`pip install apsw sqlite-vec` brings it"


def test_without_apsw_both_packages_are_named(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "apsw", None)
    store = SqliteVecStore(path)
    with pytest.raises(StoreError, match=rf"the package apsw is not installed\. {BOTH}"):
        store.initialize()


def test_without_the_package_sqlite_vec_both_are_named(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    store = SqliteVecStore(path)
    with pytest.raises(StoreError, match=rf"sqlite-vec is not installed\. .*{BOTH}"):
        store.initialize()
    assert not path.exists()


def test_a_file_that_is_no_extension_is_named(tmp_path: Path, path: Path) -> None:
    junk = tmp_path / "junk.so"
    junk.write_text("no library")
    for file in (junk, tmp_path / "missing.so"):
        with pytest.raises(StoreError, match=rf"{file} cannot be loaded: .*{BOTH}"):
            SqliteVecStore(path, str(file)).initialize()


def test_the_path_of_the_settings_is_used_without_the_package(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    extension = sqlite_vec._packaged_extension()
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    store = SqliteVecStore(path, extension)
    store.initialize()
    assert path.is_file()
    assert not store.exists()


def test_nothing_is_imported_before_the_store_is_used() -> None:
    code = (
        "import sys, pathlib; from labkit.store.sqlite_vec import SqliteVecStore; "
        "SqliteVecStore(pathlib.Path('x')); print({'apsw', 'sqlite_vec'} & set(sys.modules))"
    )
    command = [sys.executable, "-c", code]
    said = subprocess.check_output(command, text=True, cwd=CHECKOUT)
    assert said.strip() == "set()"
