"""labkit.store under real faults: other processes, signals, full disks and damaged files.

After each of them the file holds the old index or the new one, whole; what cannot be read is named.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import signal
import sqlite3
import stat
import subprocess
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import closing
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import labkit.store.sqlite as sqlite_module
from builders import document, manifest, vectors, whole
from labkit.answering.access_filter import admit
from labkit.assembly import CHECKOUT, Lab
from labkit.indexing import Source, embed_chunks, make_manifest
from labkit.settings import load_settings
from labkit.store import SqliteStore
from labkit.store.manifest import check_manifest
from labkit.types import Document, StoreError, Viewer
from stores import (
    Passed,
    check_all,
    connections,
    every_kind,
    for_each_connection,
    hashes,
    open_store,
    trace,
    upsert,
    using,
)

needs_posix = pytest.mark.skipif(
    os.name != "posix", reason="needs fork and signals, which Windows does not have"
)

READER = admit(Viewer("ACME", frozenset({"readers"})), date(2026, 10, 23))
OLD = [document("a", "The old text of a."), document("b", "The text of b.")]
NEW = [document("a", "The new text of a."), document("c", "The text of c.")]


@pytest.fixture(scope="module", params=every_kind, autouse=True)
def kind(request: pytest.FixtureRequest) -> Iterator[str]:
    """Every test of this file runs on every kind of store."""
    with using(request.param):
        yield request.param


def fill(path: Path, documents: list[Document]) -> SqliteStore:
    store = open_store(path)
    directions = np.array([(1, n) for n in range(len(documents))], np.float32)
    store.replace_all(manifest(documents), documents, list(map(whole, documents)), directions, [])
    return store


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return fill(tmp_path / "index.sqlite", OLD)


def content(path: Path) -> Any:
    """All that an index holds, read with all of the store's checks and SQLite's own.

    Only the time of indexing and the generation are left out: they differ between equal rebuilds.
    """
    snapshot = open_store(path).snapshot()
    check_all(path)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        rows = [
            connection.execute(sql).fetchall()
            for sql in (
                "SELECT id, title, path, version, content_hash FROM document ORDER BY id",
                "SELECT * FROM chunk ORDER BY id",
                "SELECT * FROM product ORDER BY code",
            )
        ]
    return snapshot.manifest(), snapshot.chunks, rows


def texts(store: SqliteStore) -> list[str]:
    return [c.text for c in store.snapshot().chunks]


OLD_TEXTS = [item.text for item in OLD]
NEW_TEXTS = [item.text for item in NEW]
TABLES = {"sqlite": {5}, "sqlite-vec": {6, 10}}  # vec0 makes four itself: not all tracers tell


def in_child(work: Callable[[], None]) -> int:
    """Run `work` in a forked process and return how that ended, as `os.waitpid` says it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def killed_by(status: int) -> int | None:
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else None


def trace_connections(show: Callable[[str], None]) -> None:
    """From now on every statement of every connection of this process is shown before it runs."""
    for_each_connection(lambda connection: trace(connection, show), pytest.MonkeyPatch())


# --- killed at every statement -------------------------------------------------------------------


class StarterRebuild:
    """A rebuild of the starter corpus with the shipped vectors, over an index of half of it."""

    def __init__(self, folder: Path) -> None:
        lab = Lab(load_settings(CHECKOUT))
        source = lab.source()
        self.before = folder / "before.sqlite"
        half = Source(source.documents[::2], source.products[:1])
        self.build(lab, half)(self.before)
        self.rebuild = self.build(lab, source)
        self.chunks = len([c for d in source.all_documents for c in lab.chunker.chunk(d)])
        self.documents = len(source.all_documents)

    @staticmethod
    def build(lab: Lab, source: Source) -> Callable[[Path], None]:
        """All vectors first; what is returned does nothing but replace the index in a file."""
        chunks = [c for d in source.all_documents for c in lab.chunker.chunk(d)]
        embedded, _ = embed_chunks(chunks, lab.embedder)
        lock = make_manifest(source, lab.chunker, lab.embedder)
        return lambda path: open_store(path).replace_all(
            lock, source.documents, chunks, embedded, source.products
        )

    def statements(self, path: Path) -> list[str]:
        """Every statement that SQLite runs in a rebuild, in order, from a run to its end."""
        log = path.with_name("statements.json")

        def run() -> None:
            seen: list[str] = []
            trace_connections(seen.append)
            self.rebuild(path)
            log.write_text(json.dumps(seen))

        assert in_child(run) == 0
        return list(json.loads(log.read_text()))

    def killed_before(self, number: int, path: Path) -> int:
        """Rebuild in a process that kills itself before its statement `number`, from 0."""

        def run() -> None:
            left = iter(range(number, -1, -1))

            def trace(_: str) -> None:
                if next(left, None) == 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            trace_connections(trace)
            self.rebuild(path)

        return in_child(run)


@pytest.fixture(scope="module")
def starter(kind: str, tmp_path_factory: pytest.TempPathFactory) -> StarterRebuild:
    return StarterRebuild(tmp_path_factory.mktemp("starter"))


@needs_posix
def test_a_process_killed_at_any_statement_of_a_rebuild_leaves_the_index_before_it(
    starter: StarterRebuild, kind: str, tmp_path: Path
) -> None:
    path = tmp_path / "index.sqlite"
    shutil.copy(starter.before, path)
    before = content(path)
    statements = starter.statements(path)
    after = content(path)
    assert after != before

    # The loop covers the whole rebuild: each row is a statement, and the last one is the commit.
    assert sum("INSERT INTO chunk " in s for s in statements) == starter.chunks > 40
    assert sum("INSERT INTO document " in s for s in statements) == starter.documents > 20
    assert [s for s in statements if s.startswith(("BEGIN", "COMMIT"))] == [
        "BEGIN IMMEDIATE",
        statements[-1],
    ]
    assert statements[-1].strip() == "COMMIT"

    step = 1 if kind == "sqlite" else 7  # vec0 runs several statements for each of the store's
    for number in sorted({*range(0, len(statements), step), len(statements) - 1}):
        shutil.copy(starter.before, path)
        assert killed_by(starter.killed_before(number, path)) == signal.SIGKILL
        assert content(path) == before, f"killed before {number}: {statements[number]}"

    shutil.copy(starter.before, path)
    assert starter.killed_before(len(statements), path) == 0, "there is no further statement"
    assert content(path) == after


@needs_posix
def test_a_process_killed_at_any_statement_of_the_first_build_leaves_no_index_or_a_whole_one(
    kind: str,
    tmp_path: Path,
) -> None:
    path = tmp_path / "index.sqlite"
    first = StarterRebuild.__new__(StarterRebuild)
    first.rebuild = lambda path: void(fill(path, OLD))
    statements = first.statements(path)
    assert sum(s.lstrip().startswith("CREATE TABLE") for s in statements) in TABLES[kind]
    for number in range(len(statements)):
        path.unlink()
        assert killed_by(first.killed_before(number, path)) == signal.SIGKILL
        assert not open_store(path).exists()
        fill(path, OLD)
        assert texts(open_store(path)) == OLD_TEXTS, "the next build needs no mending"


def void(_: object) -> None:
    """For a function whose value does not matter."""


@needs_posix
def test_a_process_killed_in_the_middle_of_the_commit_leaves_the_index_before_it(
    starter: StarterRebuild, kind: str, tmp_path: Path
) -> None:
    """The kernel kills at the write that crosses a file size, so pages are torn and the journal
    is hot: the next reader has to roll back."""
    import resource

    path = tmp_path / "index.sqlite"
    journal = tmp_path / "index.sqlite-journal"
    before = content(starter.before)
    shutil.copy(starter.before, path)
    starter.rebuild(path)
    whole_size, after = path.stat().st_size, content(path)

    def run(limit: int) -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
        starter.rebuild(path)

    hot = 0
    limits = range(600, whole_size, max(2 * 4096 + 100, whole_size // 60))
    for limit in limits:
        shutil.copy(starter.before, path)
        assert killed_by(in_child(lambda limit=limit: run(limit))) == signal.SIGXFSZ
        hot += journal.is_file() and journal.read_bytes()[:8] != bytes(8)
        assert content(path) == before, f"killed at byte {limit}"
    assert hot > (len(limits) / 4 if kind == "sqlite" else 2), (
        "many of the kills left a journal to roll back"
    )

    assert in_child(lambda: run(whole_size * 2)) == 0
    assert content(path) == after


# --- interrupted or failing inside the transaction -----------------------------------------------


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError, MemoryError, SystemExit])
@pytest.mark.parametrize("place", ["BEGIN", "DELETE FROM document", "INSERT INTO chunk", "COMMIT"])
def test_a_fault_at_a_statement_leaves_the_old_index_searchable(
    store: SqliteStore, fault: type[BaseException], place: str
) -> None:
    class Stopped(Passed):
        """A connection whose statements of this kind run and then fail."""

        def execute(self, sql: str, *values: Any) -> Any:
            cursor = self.within.execute(sql, *values)
            if sql.startswith(place):
                raise fault
            return cursor

        def executemany(self, sql: str, rows: Any) -> Any:
            cursor = self.within.executemany(sql, rows)
            if sql.startswith(place):
                raise fault
            return cursor

        def __exit__(self, *raised: Any) -> Any:
            if place == "COMMIT" and raised[0] is None:
                self.within.__exit__(fault, fault(), None)  # a commit that fails is rolled back
                raise fault
            return self.within.__exit__(*raised)

    before, warm = content(store.path), open_store(store.path)
    assert texts(warm) == OLD_TEXTS
    with connections(Stopped), pytest.raises(fault):
        fill(store.path, NEW)
    assert content(store.path) == before
    assert texts(warm) == texts(store) == OLD_TEXTS
    assert texts(fill(store.path, NEW)) == NEW_TEXTS, "and nothing stays locked"


def test_ctrl_c_while_rows_are_made_leaves_the_old_index(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real SIGINT, while `executemany` draws rows: some are written, more are to come."""
    before, row = content(store.path), sqlite_module.chunk_row

    def interrupted(item: Any, vector: Any) -> Any:
        if item.source_id == "c":
            signal.raise_signal(signal.SIGINT)
        return row(item, vector)

    monkeypatch.setattr(sqlite_module, "chunk_row", interrupted)
    for write in (
        lambda: fill(store.path, NEW),
        lambda: upsert(store, NEW[1], [whole(NEW[1])], vectors((1, 0))),
    ):
        with pytest.raises(KeyboardInterrupt):
            write()
        assert content(store.path) == before


# --- readers and writers at once -----------------------------------------------------------------


class Paused:
    """A rebuild in a thread that stops before its commit, all rows already replaced."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, path: Path, documents: list[Document]
    ) -> None:
        self.reached, self.go_on = threading.Event(), threading.Event()
        write = sqlite_module._write_manifest

        def pause(*values: Any) -> None:
            write(*values)
            self.reached.set()
            assert self.go_on.wait(30)

        monkeypatch.setattr(sqlite_module, "_write_manifest", pause)
        self.thread = threading.Thread(target=fill, args=(path, documents))

    def __enter__(self) -> Paused:
        self.thread.start()
        assert self.reached.wait(30)
        return self

    def __exit__(self, *raised: object) -> None:
        self.go_on.set()
        self.thread.join()


def test_a_reader_during_a_rebuild_sees_the_old_index_then_the_new_one(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cold = open_store(store.path)
    assert texts(store) == OLD_TEXTS
    with Paused(monkeypatch, store.path, NEW):
        assert texts(store) == OLD_TEXTS
        assert texts(cold) == OLD_TEXTS
        assert store.manifest() == manifest(OLD)
        assert sorted(hashes(store)) == ["a", "b"]
        assert store.stats().documents == 2
    assert texts(store) == texts(cold) == NEW_TEXTS
    assert store.manifest() == manifest(NEW)


def test_a_rebuild_larger_than_sqlites_page_cache_does_not_lock_readers_out(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite's cache holds 2 MB; pages spilled from it would need the file for the writer alone."""
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    large = [document(f"d{n:04d}", f"{n} " * 1000) for n in range(1500)]
    with Paused(monkeypatch, store.path, large):
        assert texts(open_store(store.path)) == OLD_TEXTS
    assert store.stats().documents == 1500
    assert store.path.stat().st_size > 4_000_000


READ = """
import sys
from pathlib import Path
from labkit.store import SqliteStore
print(*[chunk.text for chunk in SqliteStore(Path(sys.argv[1])).snapshot().chunks], sep="\\n")
"""


def test_a_reader_in_another_process_sees_the_old_index_until_the_commit(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read() -> list[str]:
        command = [sys.executable, "-c", READ, str(store.path)]
        return subprocess.check_output(command, text=True, cwd=CHECKOUT).splitlines()

    with Paused(monkeypatch, store.path, NEW):
        assert read() == OLD_TEXTS
    assert read() == NEW_TEXTS


def test_reading_uses_one_state_of_the_file_though_a_writer_commits_in_between(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer waits while a reader is inside its transaction: never half old, half new."""
    from labkit.store import snapshot as snapshot_module

    read, started = snapshot_module.read_manifest, threading.Event()
    writer = threading.Thread(target=fill, args=(store.path, NEW))

    def start_a_writer(connection: Any) -> Any:
        if not started.is_set():
            started.set()
            writer.start()
            writer.join(0.5)  # it would commit by now if nothing held it
        return read(connection)

    monkeypatch.setattr(snapshot_module, "read_manifest", start_a_writer)
    first = texts(store)
    writer.join()
    assert started.is_set()
    assert first == OLD_TEXTS
    assert texts(store) == NEW_TEXTS


def test_a_second_writer_waits_for_the_first(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Paused(monkeypatch, store.path, NEW) as first:
        second = threading.Thread(target=store.delete, args=(["c"],))
        second.start()
        first.go_on.set()
        second.join(30)
    assert texts(store) == [NEW[0].text], "the second write found the rows of the first"


def test_a_writer_that_waits_too_long_is_told_so_and_changes_nothing(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Paused(monkeypatch, store.path, NEW):
        monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
        with pytest.raises(StoreError, match=r"Another process has been using .* for 0\.05 s"):
            store.delete(["a"])
        with pytest.raises(StoreError, match="Another process has been using"):
            fill(store.path, OLD)
    assert texts(store) == NEW_TEXTS


def test_a_reader_that_does_not_end_makes_the_commit_fail_by_name_and_the_old_index_stay(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_module, "BUSY_SECONDS", 0.05)
    # A second SQLite library in this process would not see the locks of the first.
    with closing(store._connect(store.path.as_uri())) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT * FROM chunk").fetchone()
        with pytest.raises(StoreError, match="Another process has been using"):
            fill(store.path, NEW)
    assert texts(store) == OLD_TEXTS


@needs_posix
def test_two_processes_that_make_the_same_new_index_both_succeed(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    children = []
    for _ in range(4):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                fill(path, NEW)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0, 0, 0, 0]
    assert texts(open_store(path)) == NEW_TEXTS


# --- no space, no permission ---------------------------------------------------------------------

LARGE = [document(f"d{n:03d}", f"{n} " * 500) for n in range(300)]


@pytest.mark.parametrize("pages", [0, 1, 5, 50])
def test_a_full_file_is_named_and_the_old_index_stays(store: SqliteStore, pages: int) -> None:
    before = content(store.path)
    allowed = store.path.stat().st_size // 4096 + pages

    def limit(connection: Any) -> None:
        connection.execute(f"PRAGMA max_page_count = {allowed}")

    full = r"The disk is full\. .* is as it was before; free"
    with connections(limit), pytest.raises(StoreError, match=full):
        fill(store.path, LARGE)
    assert content(store.path) == before


@needs_posix
def test_a_limit_of_the_system_on_file_sizes_is_named_and_never_ends_in_advice_to_delete(
    store: SqliteStore, tmp_path: Path
) -> None:
    import resource

    before = content(store.path)

    def run() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            fill(store.path, LARGE)
        except StoreError as error:
            os.write(said, str(error).encode())

    said = os.open(tmp_path / "said", os.O_CREAT | os.O_WRONLY)
    assert in_child(run) == 0
    os.close(said)
    message = (tmp_path / "said").read_text()
    assert "The disk could not be read or written" in message
    assert "is as it was before" in message
    assert "damaged" not in message
    assert content(store.path) == before


@pytest.mark.skipif(sys.platform != "linux", reason="needs a file system of its own, as Linux has")
def test_a_disk_that_is_really_full_is_named_and_the_old_index_stays(
    store: SqliteStore, tmp_path: Path
) -> None:
    """A file system of 256 kB, mounted where only the child process sees it."""
    disk, result = tmp_path / "disk", tmp_path / "result"
    disk.mkdir()

    def run() -> None:
        if not mount_small_disk(disk, "size=256k"):
            result.write_text("no mount")
            return
        path = disk / "index.sqlite"
        shutil.copy(store.path, path)
        before = content(path)
        with pytest.raises(StoreError) as refused:
            fill(path, LARGE)
        assert content(path) == before
        (disk / "rest").write_bytes(b"")
        fill(path, NEW)
        assert texts(open_store(path)) == NEW_TEXTS, "what fits can be written again"
        result.write_text(str(refused.value))

    assert in_child(run) == 0
    if result.read_text() == "no mount":
        pytest.skip("this system lets no process mount a file system of its own")
    assert result.read_text().startswith("The disk is full. ")


def mount_small_disk(folder: Path, options: str) -> bool:
    """Mount a file system in memory that only this process sees; False where that is forbidden."""
    new_mounts, new_user, recursive_private = 0x00020000, 0x10000000, 0x44000
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(new_mounts) != 0 and libc.unshare(new_mounts | new_user) != 0:
        return False
    libc.mount(b"none", b"/", None, recursive_private, None)
    done: int = libc.mount(b"none", bytes(folder), b"tmpfs", 0, options.encode())
    return done == 0


@needs_posix
def test_a_file_that_may_only_be_read_can_be_searched_and_names_itself_when_written(
    store: SqliteStore,
) -> None:
    with tempfile.TemporaryDirectory() as name:  # pytest's own folders are closed to other users
        folder = Path(name)
        folder.chmod(0o755)
        path = folder / "index.sqlite"
        shutil.copy(store.path, path)
        path.chmod(stat.S_IRUSR | stat.S_IRGRP | stat.S_IROTH)
        folder.chmod(0o555)

        def run() -> None:
            if os.geteuid() == 0:
                os.setuid(65534)  # to the superuser no file is read-only
            locked = open_store(path)
            locked.initialize()
            assert texts(locked) == OLD_TEXTS
            assert locked.exists()
            assert len(locked.search(np.array([1, 0], np.float32), 9, READER)) == 2
            for write in (lambda: fill(path, NEW), lambda: locked.delete(["a"])):
                with pytest.raises(StoreError, match=r"index\.sqlite cannot be opened or written"):
                    write()
            assert texts(open_store(path)) == OLD_TEXTS
            with pytest.raises(StoreError, match="cannot be opened or written"):
                open_store(folder / "other.sqlite").initialize()
            with pytest.raises(StoreError, match="cannot be opened or written"):
                open_store(folder / "new" / "index.sqlite").initialize()

        try:
            assert in_child(run) == 0
        finally:
            folder.chmod(0o755)


# --- damage --------------------------------------------------------------------------------------


def damage(path: Path, *statements: str) -> None:
    """Change the file as no store would: without checks, without foreign keys."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            connection.execute(statement)


A_BIT = "UPDATE chunk SET vector = x'0000803F01000000' WHERE id = 'a#0'"


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        ("UPDATE chunk SET vector = x'00' WHERE id = 'a#0'", "a#0: its vector has 1 bytes, not 8"),
        ("UPDATE chunk SET vector = zeroblob(12)", "a#0: its vector has 12 bytes, not 8"),
        (A_BIT, "a#0: what the row"),
        ("UPDATE chunk SET text = 'Other.' WHERE id = 'b#0'", "b#0: what the row"),
        ("UPDATE chunk SET text = text || ' ' WHERE id = 'b#0'", "b#0: what the row"),
        ("UPDATE chunk SET id = 'a#9' WHERE id = 'a#0'", "a#9: its id does not fit"),
        ("UPDATE chunk SET id = 'A#0' WHERE id = 'a#0'", "A#0: its id does not fit"),
        ("UPDATE chunk SET document_id = 'b' WHERE id = 'a#0'", "a#0: its id does not fit"),
        ("UPDATE chunk SET source = '{}' WHERE id = 'a#0'", "a#0: its source or its days"),
        ("UPDATE chunk SET source = '[]' WHERE id = 'a#0'", "a#0: its source or its days"),
        ("UPDATE chunk SET source = 'no JSON' WHERE id = 'a#0'", "a#0: its source or its days"),
        ("UPDATE chunk SET valid_from = 'May' WHERE id = 'a#0'", "a#0: its source or its days"),
        (
            "UPDATE chunk SET scope = 'GLOBEX/readers' WHERE id = 'a#0'",
            "a#0: what the row",
        ),
        ("UPDATE chunk SET canonical = 0 WHERE id = 'a#0'", "a#0: what the row"),
        (
            "UPDATE chunk SET valid_until = '2030-01-01' WHERE id = 'a#0'",
            "a#0: what the row",
        ),
        ("UPDATE chunk SET title = 'Other' WHERE id = 'a#0'", "a#0: what the row"),
        (
            "UPDATE chunk SET source = json_set(source, '$.start', 1) WHERE id = 'a#0'",
            "a#0: what the row",
        ),
        *(
            (
                f"UPDATE chunk SET source = json_set(source, '$.{name}', {value})",
                "a#0: what the row",
            )
            for name, value in {
                "section": "'Other'",
                "anchor": "'other'",
                "token_count": "7",
                "flags": "json('[\"oversize\"]')",
                "page": "3",
            }.items()
        ),
        ("UPDATE chunk SET terms = 'another' WHERE id = 'a#0'", "a#0: what the row"),
        ("UPDATE chunk SET terms = NULL WHERE id = 'a#0'", "a#0: what the row"),
        ("UPDATE chunk SET row_sha256 = 'a' WHERE id = 'a#0'", "a#0: what the row"),
        ("UPDATE chunk SET row_sha256 = NULL WHERE id = 'a#0'", "a#0: what the row"),
        ("UPDATE document SET path = 'other.md' WHERE id = 'a'", "a#0: what the row"),
        ("UPDATE document SET version = '9' WHERE id = 'b'", "b#0: what the row"),
        (
            "UPDATE document SET content_hash = replace(content_hash, 'a', 'b')",
            "corpus_sha256: the documents are not those that the manifest notes",
        ),
        ("DELETE FROM chunk WHERE id = 'a#0'", "chunk: the table holds 1 whole rows, .* notes 2"),
        ("DELETE FROM document WHERE id = 'a'", "document: the table holds 1 whole rows"),
        ("UPDATE manifest SET chunks = 3", "chunk: the table holds 2 whole rows, .* notes 3"),
        (
            "UPDATE manifest SET lock = json_set(lock, '$.corpus_sha256', 'other')",
            "corpus_sha256: the documents are not those",
        ),
        (
            "UPDATE manifest SET lock = json_set(lock, '$.products_sha256', 'other')",
            "products_sha256: the documents are not those",
        ),
        ("UPDATE manifest SET lock = json_set(lock, '$.embedder.dimension', 3)", "8 bytes, not 12"),
        ("UPDATE manifest SET lock = '{}'", "The manifest of the index is damaged"),
        ("UPDATE manifest SET lock = '['", "The manifest of the index is damaged"),
        ("UPDATE manifest SET lock = '5'", "The manifest of the index is damaged"),
        ("UPDATE manifest SET lock = json_remove(lock, '$.chunker')", "The manifest of the index"),
        ("UPDATE manifest SET lock = json_set(lock, '$.x', 1)", "The manifest of the index"),
        ("DELETE FROM manifest", "The index is empty"),
        ("DROP TABLE chunk", "no such table: chunk"),
        ("ALTER TABLE chunk RENAME COLUMN title TO tit1e", r"damaged or is no index \("),
        ("ALTER TABLE manifest RENAME COLUMN lock TO l0ck", r"damaged or is no index \("),
    ],
)
def test_damage_is_named_together_with_the_mend(
    store: SqliteStore, statement: str, said: str
) -> None:
    damage(store.path, statement)
    with pytest.raises(StoreError, match=f"{said}.*[Rr]un: labkit rebuild"):
        open_store(store.path).snapshot()


@pytest.mark.parametrize(
    "statement",
    [
        A_BIT,
        "UPDATE chunk SET id = 'a#9' WHERE id = 'a#0'",
        "DELETE FROM document WHERE id = 'a'",
        "UPDATE manifest SET lock = '['",
        "DELETE FROM manifest",
    ],
)
def test_the_mend_mends(store: SqliteStore, statement: str) -> None:
    damage(store.path, statement)
    assert content(fill(store.path, OLD).path) == content(fill(store.path.with_name("x"), OLD).path)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE chunk SET text = CAST(text AS BLOB)",
        "UPDATE chunk SET vector = CAST(x'30303030303030' AS TEXT)",
        "UPDATE chunk SET title = CAST(x'80' AS TEXT)",
        "UPDATE document SET content_hash = CAST(content_hash AS BLOB) WHERE id = 'a'",
    ],
)
def test_a_value_of_another_kind_is_named(store: SqliteStore, statement: str) -> None:
    """SQLite refuses to write them, but one flipped bit in the head of a row makes them."""
    damage(
        store.path,
        "PRAGMA writable_schema = ON",
        "UPDATE sqlite_master SET sql = replace(sql, 'STRICT', '')",
    )
    damage(store.path, statement)
    with pytest.raises(StoreError, match=r"[Rr]un: labkit rebuild"):
        open_store(store.path).snapshot()


def test_a_row_and_its_document_removed_together_are_missed(store: SqliteStore) -> None:
    damage(
        store.path,
        "DELETE FROM chunk WHERE document_id = 'a'",
        "DELETE FROM document WHERE id = 'a'",
        "UPDATE manifest SET documents = 1, chunks = 1",
    )
    with pytest.raises(StoreError, match=r"corpus_sha256: .*run: labkit rebuild"):
        store.snapshot()


@pytest.mark.parametrize(
    "junk",
    [
        b"This is no database, only text that someone put here.\n" * 40,
        bytes(range(255, -1, -1)) * 40,
    ],
)
def test_a_file_that_is_no_database_is_named(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "index.sqlite"
    path.write_bytes(junk)
    store = open_store(path)
    for use in (store.manifest, store.snapshot, store.exists, store.initialize):
        with pytest.raises(StoreError, match=r"index\.sqlite is damaged or is no index .*rebuild"):
            use()
    assert path.read_bytes() == junk


def test_an_empty_file_is_no_index_yet(tmp_path: Path) -> None:
    path = tmp_path / "index.sqlite"
    path.touch()
    assert not open_store(path).exists()
    with pytest.raises(StoreError, match=r"no index in index\.sqlite\. Run: labkit ingest"):
        open_store(path).snapshot()


def outcome(path: Path) -> Any:
    """What a search would read: the chunks and their vectors, or the sentence that refuses."""
    store = open_store(path)
    try:
        check_manifest(store.manifest(), manifest(OLD))
        hits = store.search(np.array([1, 0], np.float32), 9, READER)
    except StoreError as error:
        return str(error)
    return [(hit.chunk, hit.cosine) for hit in hits]


def cuts(path: Path) -> Iterator[bytes]:
    whole_file = path.read_bytes()
    for size in [*range(1, len(whole_file), 512), len(whole_file) - 1]:
        yield whole_file[:size]


def flips(path: Path) -> Iterator[bytes]:
    whole_file = path.read_bytes()
    for place in range(0, len(whole_file), max(61, len(whole_file) // 600)):
        yield whole_file[:place] + bytes([whole_file[place] ^ 0x10]) + whole_file[place + 1 :]


@pytest.mark.parametrize("damaged_files", [cuts, flips])
def test_a_file_cut_or_flipped_anywhere_is_refused_or_says_what_it_always_said(
    store: SqliteStore, damaged_files: Callable[[Path], Iterator[bytes]]
) -> None:
    true = outcome(store.path)
    assert len(true) == 2
    path = store.path.with_name("damaged.sqlite")
    outcomes = []
    for damaged_file in damaged_files(store.path):
        path.write_bytes(damaged_file)
        outcomes.append(outcome(path))
    refusals = [said for said in outcomes if isinstance(said, str)]
    assert [read for read in outcomes if read not in refusals and read != true] == []
    assert [said for said in refusals if "labkit rebuild" not in said] == []
    assert len(refusals) > 10
