"""Incremental runs: what is embedded, what leaves, what is written down, where one may end."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import ToyEmbedder, document
from conftest import CHECKOUT, DAY
from labkit.answering.access_filter import admit
from labkit.chunking import CharacterChunker, MarkdownChunker
from labkit.documents import corpus_hash, product_document
from labkit.documents.reading import read_folder
from labkit.documents.rules import Rules
from labkit.embedding.checks import TextRefused, TextTooLong
from labkit.indexing import (
    Source,
    chunk_changes,
    ingest,
    origin_of,
    plan,
    plan_changes,
    rebuild,
)
from labkit.store import SqliteStore
from labkit.store.lock import index_lock
from labkit.store.manifest import check_space
from labkit.types import (
    Chunk,
    Chunker,
    Document,
    DocumentError,
    EmbeddingError,
    FileFault,
    IngestRun,
    Matrix,
    Origin,
    Product,
    Role,
    StoreError,
    Viewer,
)
from stores import connections, hashes, last_run, trace, upsert

GOVERNED = {
    "title": "Gate GX-1",
    "language": "en",
    "scope": "ACME/readers",
    "status": "approved",
    "canonical": True,
    "valid_from": date(2026, 1, 1),
    "version": "1",
}
ROOT = "somewhere"
CHUNKER = CharacterChunker(40, 0)
SECTIONS = "\n\n".join(
    f"## Part {n}\n\n" + f"Paragraph {n} says what part {n} is about. " * 3 for n in range(9)
)


def gx(height: str = "2 m") -> Product:
    facts = {"Height": height}
    return Product("GX-1", "Gate", facts, product_document("GX-1", facts, GOVERNED))


def tree(*items: Document | Product, **more: Any) -> Source:
    documents = [item for item in items if isinstance(item, Document)]
    products = [item for item in items if isinstance(item, Product)]
    return Source(documents, products, **{"root": ROOT, **more})


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "index.sqlite")


def run(
    store: SqliteStore,
    *items: Document | Product,
    embedder: Any = None,
    chunker: Chunker = CHUNKER,
    full: bool = False,
    **more: Any,
) -> IngestRun:
    """One run; whatever the embedder is, it is asked for what `embedded` counts."""
    model = embedder or ToyEmbedder()
    before = len(model.calls)
    done = ingest(tree(*items, **more), chunker, model, store, full=full)
    assert done.embedded == sum(len(texts) for texts, _ in model.calls[before:])
    assert {role for _, role in model.calls} <= {"passage"}
    return done


def counts(record: IngestRun) -> tuple[int, int, int, int]:
    return record.added, record.changed, record.removed, record.unchanged


def content(store: SqliteStore) -> Any:
    """All that a search can see, in an order of its own."""
    found = {
        chunk.id: (chunk, vector.tobytes())
        for name in hashes(store)
        for chunk, vector in store.chunks(name)
    }
    manifest = store.manifest()
    return manifest, dict(sorted(found.items())), hashes(store), store.stats()


# --- what has changed ----------------------------------------------------------------------------


def test_what_is_there_before_and_now_is_told_apart() -> None:
    before = {"stays": "1", "edited": "1", "goes": "1"}
    now = {"edited": "2", "comes": "1", "stays": "1"}
    assert plan_changes(before, now) == {
        "added": ["comes"],
        "changed": ["edited"],
        "removed": ["goes"],
        "unchanged": ["stays"],
    }
    assert plan_changes({}, {}) == {"added": [], "changed": [], "removed": [], "unchanged": []}


HASHES = st.dictionaries(st.sampled_from("abcdef"), st.sampled_from("12"))


@given(HASHES, HASHES)
def test_each_id_is_in_one_list_in_order_and_the_way_back_mirrors_it(
    before: dict[str, str], now: dict[str, str]
) -> None:
    found = plan_changes(before, now)
    assert sorted(chain(*found.values())) == sorted({*before, *now})
    assert all(names == sorted(names) for names in found.values())
    back = plan_changes(now, before)
    assert back == {**found, "added": found["removed"], "removed": found["added"]}


def chunks_of(*texts: str, **changes: Any) -> list[Chunk]:
    meta = document("a", **changes).meta
    return [Chunk(meta, part, 0, len(text), text) for part, text in enumerate(texts)]


def test_a_chunk_keeps_its_vector_wherever_it_stands_if_all_that_is_embedded_is_as_before() -> None:
    one, two = np.array([1, 0], np.float32), np.array([0, 1], np.float32)
    old = list(zip(chunks_of("one", "two"), (one, two), strict=True))
    kept = chunk_changes(old, chunks_of("new", "two", "one", scope="ACME/support"))
    assert kept[0] is None
    assert kept[1] is two
    assert kept[2] is one
    assert chunk_changes(old, chunks_of("one", title="Another title")) == [None]
    (moved,) = chunks_of("one")
    assert chunk_changes(old, [replace(moved, context="Under a heading")]) == [None]
    assert chunk_changes([], chunks_of("one")) == [None]


# --- runs ----------------------------------------------------------------------------------------


def test_a_first_run_embeds_everything_and_writes_down_what_it_did(store: SqliteStore) -> None:
    a, b = document("a", "East. " * 20), document("b", "West.")
    done = run(store, b, a, gx())
    assert counts(done) == (3, 0, 0, 0)
    assert (done.documents, done.chunks, done.embedded) == (3, 5, 5)
    assert (done.command, done.root, done.status) == ("ingest", "somewhere", "done")
    assert (done.failed, done.faults, done.notes) == (0, (), ())
    assert done.started <= done.finished
    assert last_run(store) == done
    assert origin_of(store).command == "ingest"


def test_a_second_run_embeds_nothing_and_leaves_the_index_untouched(store: SqliteStore) -> None:
    items = document("a", "East. " * 20), gx()
    run(store, *items)
    generation = store.snapshot().generation
    embedder = ToyEmbedder()
    done = run(store, *items, embedder=embedder)
    assert (counts(done), done.embedded, embedder.calls) == ((0, 0, 0, 2), 0, [])
    assert (done.documents, done.chunks) == (2, 4)
    assert store.snapshot().generation == generation


def test_an_edited_paragraph_embeds_only_the_chunks_that_it_touches(store: SqliteStore) -> None:
    cut = MarkdownChunker(60, 10)
    run(store, document("a", SECTIONS), document("b", "Another."), chunker=cut)
    edited = SECTIONS.replace("Paragraph 4 says", "Paragraph 4, in short, says")
    embedder = ToyEmbedder()
    done = run(
        store, document("a", edited), document("b", "Another."), chunker=cut, embedder=embedder
    )
    assert counts(done) == (0, 1, 0, 1)
    old = {chunk.searchable for chunk in cut.chunk(document("a", SECTIONS))}
    new = [chunk.searchable for chunk in cut.chunk(document("a", edited))]
    assert [text for texts, _ in embedder.calls for text in texts] == [
        text for text in new if text not in old
    ]
    assert 0 < done.embedded < len(new) / 2


def test_a_change_of_governance_embeds_nothing_and_holds_at_once(store: SqliteStore) -> None:
    text = "East. " * 20
    run(store, document("a", text))
    done = run(store, document("a", text, scope="ACME/support", version="2"))
    assert (counts(done), done.embedded) == ((0, 1, 0, 0), 0)
    assert {chunk.meta.scope for chunk in store.snapshot().chunks} == {"ACME/support"}


def test_a_new_title_is_embedded_with_every_chunk(store: SqliteStore) -> None:
    text = "East. " * 20
    first = run(store, document("a", text))
    assert run(store, document("a", text, title="Another")).embedded == first.chunks


def test_a_moved_file_is_shown_where_it_lies_now(store: SqliteStore) -> None:
    run(store, document("a"), document("empty", " "))
    done = run(store, document("a", path="new/a.md"), document("empty", " "))
    assert (counts(done), done.embedded) == ((0, 1, 0, 1), 0)
    assert [chunk.meta.path for chunk in store.snapshot().chunks] == ["new/a.md"]


def test_what_is_shortened_or_removed_leaves_nothing_behind(store: SqliteStore) -> None:
    tail = "The pelican nests on the third lamp post. "
    run(store, document("a", "East. " * 20 + tail), document("b", tail), document("c"))
    assert store.path.read_bytes().count(b"pelican") > 1
    done = run(store, document("a", "East. " * 20), document("c"))
    assert (counts(done), done.embedded) == ((0, 1, 1, 1), 0)
    assert b"pelican" not in store.path.read_bytes()
    assert sorted(hashes(store)) == ["a", "c"]
    assert done.chunks == len(store.snapshot().chunks)


def test_product_facts_come_change_and_go_with_their_products(store: SqliteStore) -> None:
    run(store, document("a"), gx())
    changed = run(store, document("a"), gx("3 m"))
    assert (counts(changed), changed.embedded, store.stats().products) == ((0, 1, 0, 1), 1, 1)
    gone = run(store, document("a"))
    assert (counts(gone), store.stats().products) == ((0, 0, 1, 1), 0)
    assert sorted(hashes(store)) == ["a"]


def test_a_file_that_can_no_longer_be_read_no_longer_answers(store: SqliteStore) -> None:
    run(store, document("a"), document("b"))
    faults = (FileFault("b.md", "byte 3 is not UTF-8. Save the file as UTF-8."),)
    notes = (FileFault("key.md", "it looks as if it held a secret"),)
    done = run(store, document("a"), faults=faults, notes=notes)
    assert (counts(done), done.failed, done.status) == ((0, 0, 1, 1), 1, "done")
    assert (done.faults, done.notes) == (faults, notes)
    assert sorted(hashes(store)) == ["a"]
    assert run(store, document("a"), document("b")).added == 1


def test_a_document_without_a_body_is_indexed_without_a_chunk(store: SqliteStore) -> None:
    done = run(store, document("a", " \n"), document("b"))
    assert (done.documents, done.chunks) == (2, 1)
    assert run(store, document("a", " \n"), document("b")).unchanged == 2


def test_passages_that_repeat_another_one_are_counted(store: SqliteStore) -> None:
    text = "The east gate opens at eight and closes when the last lorry has left the yard."
    chunker = CharacterChunker(400, 0)
    done = run(store, document("a", text), document("b", text), document("c"), chunker=chunker)
    assert done.near_duplicates == 1
    assert run(store, document("a", text), document("c"), chunker=chunker).near_duplicates == 0


class Narrow(ToyEmbedder):
    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        for text in texts:
            if "west" in text:
                warnings.warn(TextTooLong(text, 9, 5), stacklevel=2)
        return super().embed(texts, role)


def test_a_chunk_that_the_model_could_not_read_to_its_end_is_a_note(store: SqliteStore) -> None:
    done = run(store, document("a", "Go west."), document("b"), embedder=Narrow())
    assert done.notes == (FileFault("a.md", "longer than the model reads: a#0."),)
    assert (done.failed, store.stats().chunks) == (0, 2), "they are indexed all the same"


TEXTS = st.text("ab \n", min_size=1, max_size=90)
FOLDERS = st.dictionaries(
    st.sampled_from("uvwxyz"),
    st.tuples(TEXTS, st.sampled_from(["ACME/readers", "ACME/support"]), st.sampled_from("12")),
    min_size=1,
)


@settings(max_examples=15, deadline=None)
@given(st.lists(FOLDERS, min_size=1, max_size=3))
def test_after_any_runs_the_index_is_as_one_built_at_once(folders: list[dict[str, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        increments, at_once = (SqliteStore(Path(folder) / name) for name in ("a", "b"))
        for state in folders:
            documents = [
                document(name, text, scope=scope, path=f"{place}/{name}.md")
                for name, (text, scope, place) in sorted(state.items())
            ]
            done = run(increments, *documents)
            rebuild(Source(documents, []), CHUNKER, ToyEmbedder(), at_once)
            assert content(increments) == content(at_once)
            assert (done.documents, done.chunks) == (len(state), at_once.stats().chunks)


class Refuses(ToyEmbedder):
    """Refuses a text that tells of squeaking, and says which of a call it is."""

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        squeaks = {n: "was refused." for n, text in enumerate(texts) if "squeaks" in text}
        if squeaks:
            raise TextRefused(squeaks)
        return super().embed(texts, role)


@pytest.mark.parametrize("full", [False, True])
def test_a_document_that_the_model_refuses_is_left_out_and_stops_no_other(
    store: SqliteStore, full: bool
) -> None:
    names = "abcdefg"
    run(store, *map(document, names))
    now = [document(name, "It squeaks." if name in "bf" else f"Gate {name}.") for name in names]
    done = run(store, *now, document("new", "This squeaks."), embedder=Refuses(), full=full)
    assert (counts(done), done.status, done.failed) == ((0, 5, 2, 0), "done", 3)
    assert done.faults == tuple(
        FileFault(f"{name}.md", "text 0 was refused.") for name in ("b", "f", "new")
    )
    assert sorted(hashes(store)) == list("acdeg")
    again = run(store, *now, embedder=Refuses())
    assert (counts(again), again.failed, again.embedded) == ((0, 0, 0, 5), 2, 0)


# --- the whole index anew ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "other", [{"chunker": CharacterChunker(50, 5)}, {"embedder": ToyEmbedder(9)}, {"full": True}]
)
def test_other_settings_and_full_embed_everything(
    store: SqliteStore, other: dict[str, Any]
) -> None:
    items = document("a", "East. " * 20), gx()
    run(store, *items)
    done = run(store, *items, **other)
    assert done.embedded == done.chunks == store.stats().chunks
    assert counts(done) == (0, 0, 0, 2)


@pytest.mark.usefixtures("_small_groups")
@pytest.mark.parametrize("error", [EmbeddingError("the server is gone."), KeyboardInterrupt()])
def test_until_all_is_embedded_the_old_index_answers(
    store: SqliteStore, error: BaseException
) -> None:
    run(store, *MANY)
    before = content(store)
    with pytest.raises(type(error)):
        ingest(tree(*MANY), CharacterChunker(50, 5), FailsAt(2, error), store)
    assert content(store) == before


def test_full_mends_an_index_whose_rows_are_damaged(store: SqliteStore) -> None:
    run(store, document("a"), document("b"))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE chunk SET text = 'Other words.' WHERE id = 'a#0'")
    mended = SqliteStore(store.path)
    assert run(mended, document("a"), document("b")).unchanged == 2
    with pytest.raises(StoreError) as caught:
        mended.passages()
    assert str(caught.value) == (
        "The index is damaged: a#0: what the row holds is not what was indexed. "
        "Run: labkit ingest --source somewhere --full"
    )
    assert run(mended, document("a"), document("b"), full=True).unchanged == 2
    assert len(mended.passages()) == 2


# --- an empty folder -----------------------------------------------------------------------------

FAULTS = (FileFault("a.md", "the file is over 5 bytes. Split it."),)


@pytest.mark.parametrize("faults", [(), FAULTS])
def test_a_folder_with_nothing_in_it_does_not_empty_an_index(
    store: SqliteStore, faults: tuple[FileFault, ...]
) -> None:
    run(store, document("a"), document("b"))
    before = store.path.read_bytes()
    with pytest.raises(DocumentError) as caught:
        run(store, faults=faults)
    assert str(caught.value).startswith(
        "Nothing in somewhere can be taken in, and the index holds 2 documents; it was left as it "
        "is. If all of them shall go, add --full."
    )
    assert all(f"\n{fault.path}: {fault.message}" in str(caught.value) for fault in faults)
    assert store.path.read_bytes() == before
    done = run(store, faults=faults, full=True)
    assert (done.documents, done.removed, done.failed) == (0, 2, len(faults))


@pytest.mark.parametrize("full", [False, True])
def test_a_first_run_over_nothing_makes_no_file(store: SqliteStore, full: bool) -> None:
    with pytest.raises(DocumentError, match=r"Name the folder of the documents: --source\.\na\.md"):
        run(store, faults=FAULTS, full=full)
    assert not store.path.exists()


def test_where_files_are_there_and_none_may_be_read_none_answers(store: SqliteStore) -> None:
    run(store, document("a"), document("b"), gx())
    done = run(store, faults=FAULTS, seen=1)
    assert (done.status, done.documents, done.removed, done.failed) == ("done", 0, 3, 1)
    assert hashes(store) == {}
    assert store.stats().products == 0
    assert run(store, seen=1).removed == 0
    assert run(store, document("a")).added == 1


def test_where_none_may_be_read_any_more_other_settings_change_nothing(store: SqliteStore) -> None:
    run(store, document("a"))
    done = run(store, chunker=CharacterChunker(50, 5), seen=1)
    assert (done.documents, done.removed) == (0, 1)


@pytest.mark.parametrize(("error", "seen"), [(PermissionError, 1), (OSError, 0)])
def test_a_folder_that_is_closed_is_not_empty_and_a_disk_that_fails_says_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: type[OSError], seen: int
) -> None:
    def scandir(_: str) -> None:
        raise error(5, "no")

    monkeypatch.setattr("labkit.documents.walking.os.scandir", scandir)
    found = read_folder(tmp_path, Rules())
    assert (found.seen, len(found.faults)) == (seen, 1)


def test_a_first_run_that_may_read_nothing_makes_no_file(store: SqliteStore) -> None:
    with pytest.raises(DocumentError, match="Name the folder of the documents"):
        run(store, seen=5)
    assert not store.path.exists()


# --- where a run may end -------------------------------------------------------------------------


def stopped_count(monkeypatch: pytest.MonkeyPatch, error: BaseException) -> None:
    def count(_: Sequence[Chunk]) -> dict[str, str]:
        raise error

    monkeypatch.setattr("labkit.indexing.near_duplicates", count)


REPEATED = "The east gate opens at eight and closes when the last lorry has left the yard."


@pytest.mark.parametrize("error", [KeyboardInterrupt(), MemoryError(), RuntimeError("ours")])
@pytest.mark.parametrize("first", ["nothing", "rebuild", "ingest"])
def test_a_run_whose_index_is_whole_is_done_whatever_stops_the_count(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, first: str, error: BaseException
) -> None:
    chunker = CharacterChunker(400, 0)
    now = [document("a", REPEATED), document("b", REPEATED)]
    if first == "rebuild":
        rebuild(Source([document("a")], []), CHUNKER, ToyEmbedder(), store)
    elif first == "ingest":
        run(store, document("a"), chunker=chunker)
    with monkeypatch.context() as stopping:
        stopped_count(stopping, error)
        with pytest.raises(type(error)):
            ingest(tree(*now), chunker, ToyEmbedder(), store)
    last = last_run(store)
    assert last is not None
    assert (last.status, last.documents, last.near_duplicates) == ("done", 2, 0)
    assert origin_of(store).command == "ingest"
    again = run(store, *now, chunker=chunker)
    assert (again.unchanged, again.near_duplicates) == (2, 1), "counted after all"


def test_a_count_that_the_index_refuses_stops_no_run(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    stopped_count(monkeypatch, StoreError("Another process has been using it"))
    assert run(store, document("a")).status == "done"


@pytest.mark.parametrize("full", [False, True])
def test_a_run_that_is_stopped_while_it_is_written_down_is_done(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch, full: bool
) -> None:
    rebuild(Source([document("a")], []), CHUNKER, ToyEmbedder(), store)
    finish, turns = store.finish_run, [KeyboardInterrupt()]

    def once(run_id: int, record: IngestRun) -> None:
        if turns:
            raise turns.pop()
        finish(run_id, record)

    monkeypatch.setattr(store, "finish_run", once)
    with pytest.raises(KeyboardInterrupt):
        ingest(tree(document("a"), document("b")), CHUNKER, ToyEmbedder(), store, full=full)
    last = last_run(store)
    assert last is not None
    assert (last.status, last.documents) == ("done", 2)
    assert origin_of(store).command == "ingest"


class FailsAt(ToyEmbedder):
    """Fails when it is to embed for the n-th time."""

    def __init__(self, turn: int, error: BaseException) -> None:
        super().__init__()
        self.turn, self.error = turn, error

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        if len(self.calls) + 1 == self.turn:
            raise self.error
        return super().embed(texts, role)


GROUP = 4
MANY = [document(f"d{n:03d}", f"Line {n}.") for n in range(2 * GROUP + 2)]


@pytest.fixture
def _small_groups(monkeypatch: pytest.MonkeyPatch) -> None:
    """Few texts a call of the model, so that few documents make several."""
    monkeypatch.setattr("labkit.indexing.GROUP", GROUP)


@pytest.mark.usefixtures("_small_groups")
@pytest.mark.parametrize(
    ("error", "status"),
    [
        (EmbeddingError("the server is gone."), "failed"),
        (RuntimeError("a fault of ours"), "failed"),
        (KeyboardInterrupt(), "interrupted"),
    ],
)
@pytest.mark.parametrize("turn", [1, 2, 3])
def test_what_was_done_stays_and_the_next_run_embeds_only_the_rest(
    store: SqliteStore, turn: int, error: BaseException, status: str
) -> None:
    with pytest.raises(type(error)):
        ingest(tree(*MANY), CHUNKER, FailsAt(turn, error), store)
    stopped = last_run(store)
    assert stopped is not None
    done = (turn - 1) * GROUP
    assert (stopped.status, stopped.embedded, stopped.added) == (status, done, done)
    assert len(store.snapshot().chunks) == stopped.documents == done, "the index answers"
    rest = run(store, *MANY)
    assert (rest.status, rest.embedded, rest.unchanged) == ("done", len(MANY) - done, done)
    assert content(store) == content_at_once(store, MANY)


@pytest.mark.usefixtures("_small_groups")
@pytest.mark.parametrize(
    ("chunks", "calls"), [([1, 1], [2]), ([3, 3, 3], [6, 3]), ([13], [5, 5, 3]), ([1, 9], [5, 5])]
)
def test_documents_are_embedded_together_in_even_calls(
    store: SqliteStore, chunks: list[int], calls: list[int]
) -> None:
    embedder = ToyEmbedder()
    told: list[tuple[int, int]] = []
    items = [document(f"d{n}", "x" * 40 * count) for n, count in enumerate(chunks)]
    ingest(tree(*items), CHUNKER, embedder, store, lambda *now: told.append(now))
    assert [len(texts) for texts, _ in embedder.calls] == calls
    assert told == [(sum(calls[: n + 1]), sum(calls)) for n in range(len(calls))]


@pytest.mark.usefixtures("_small_groups")
def test_an_error_half_way_says_what_stays_and_one_before_any_write_does_not(
    store: SqliteStore,
) -> None:
    stays = (
        "Before that, the run had brought 4 documents up to date: they stay so, and the next run "
        "does the rest."
    )
    for turn, notes in ((1, []), (2, [stays])):
        error = StoreError("The disk is full. The index is as it was before.")
        with pytest.raises(StoreError) as caught:
            ingest(tree(*MANY), CHUNKER, FailsAt(turn, error), store)
        assert getattr(caught.value, "__notes__", []) == notes


def content_at_once(store: SqliteStore, documents: list[Document]) -> Any:
    other = SqliteStore(store.path.with_name("at-once.sqlite"))
    rebuild(Source(documents, []), CHUNKER, ToyEmbedder(), other)
    return content(other)


def test_what_must_no_longer_answer_leaves_before_anything_is_embedded(store: SqliteStore) -> None:
    run(store, document("goes"), document("closed"), document("stays"))
    now = document("closed", scope="ACME/support"), document("stays"), document("comes", "New.")
    with pytest.raises(EmbeddingError):
        ingest(tree(*now), CHUNKER, FailsAt(1, EmbeddingError("gone")), store)
    reader = admit(Viewer("ACME", frozenset({"readers"})), DAY)
    vector = np.ones(8, np.float32)
    assert [hit.chunk.id for hit in store.search(vector, 9, reader)] == ["stays#0"]
    stopped = last_run(store)
    assert stopped is not None
    assert counts(stopped) == (0, 1, 1, 1)


@pytest.mark.usefixtures("_small_groups")
def test_an_index_that_rebuild_made_stays_whole_until_ingest_replaces_it(
    store: SqliteStore,
) -> None:
    rebuild(Source(MANY, []), CHUNKER, ToyEmbedder(), store)
    assert origin_of(store).command == "rebuild"
    with pytest.raises(EmbeddingError):
        ingest(tree(*MANY), MarkdownChunker(), FailsAt(2, EmbeddingError("gone")), store)
    assert origin_of(store).command == "rebuild"
    run(store, *MANY, chunker=MarkdownChunker())
    assert origin_of(store).command == "ingest"


# --- others at work ------------------------------------------------------------------------------


class Meanwhile(ToyEmbedder):
    """Does something while it embeds."""

    def __init__(self, act: Callable[[], Any]) -> None:
        super().__init__()
        self.act = act

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        self.act()
        return super().embed(texts, role)


def test_readers_and_writers_work_while_a_run_embeds(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.store.sqlite.BUSY_SECONDS", 0.1)
    run(store, document("a"))
    other = SqliteStore(store.path)
    seen: list[int] = []

    def act() -> None:
        seen.append(len(other.snapshot().chunks))
        extra = document("extra")
        upsert(other, extra, CHUNKER.chunk(extra), np.ones((1, 8), np.float32))

    done = run(store, document("a"), document("b"), embedder=Meanwhile(act))
    assert seen == [1]
    assert (done.added, done.documents) == (1, 3)
    assert run(store, document("a"), document("b")).removed == 1


@pytest.mark.parametrize(
    ("chunker", "embedder", "message"),
    [
        (CharacterChunker(50, 5), ToyEmbedder(), "with the chunker 'chars-50-overlap-5-v2'"),
        (CHUNKER, ToyEmbedder(model="other"), r"'embedder\.model'"),
    ],
)
def test_an_index_that_was_built_anew_meanwhile_is_not_mixed(
    store: SqliteStore, chunker: Chunker, embedder: ToyEmbedder, message: str
) -> None:
    run(store, document("a"))

    def act() -> None:
        rebuild(Source([document("a")], []), chunker, embedder, SqliteStore(store.path))

    with pytest.raises(StoreError, match=message):
        run(store, document("a"), document("b"), embedder=Meanwhile(act))
    assert sorted(hashes(store)) == ["a"]
    assert store.manifest().chunker == chunker.version


def test_one_run_at_a_time(tmp_path: Path) -> None:
    index = tmp_path / "folder/index.sqlite"
    with index_lock(index):
        with (
            pytest.raises(StoreError, match="Another run is at work on this index"),
            index_lock(index),
        ):
            pass
        with index_lock(tmp_path / "another.sqlite"):
            pass
    with index_lock(index):
        pass


def test_a_run_that_is_killed_lets_go_of_the_index(tmp_path: Path) -> None:
    index = tmp_path / "index.sqlite"
    code = (
        "import sys, time; from pathlib import Path\n"
        "from labkit.store.lock import index_lock\n"
        f"with index_lock(Path({str(index)!r})):\n"
        "    print('held', flush=True); time.sleep(60)"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as held:
        assert held.stdout is not None
        assert held.stdout.readline() == "held\n"
        with pytest.raises(StoreError, match="Another run"), index_lock(index):
            pass
        held.kill()
    with index_lock(index):
        pass


def test_a_lock_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "index.sqlite.lock").mkdir()
    for index in (tmp_path / "file/index.sqlite", tmp_path / "index.sqlite"):
        said = r"index\.sqlite\.lock cannot be opened .* Check its folder"
        with pytest.raises(StoreError, match=said), index_lock(index):
            pass


@pytest.mark.parametrize("name", ["index.sqlite", "index.lock", "poetry.db"])
def test_the_lock_is_a_file_of_its_own(tmp_path: Path, name: str) -> None:
    """Whatever the index is called, and whatever lies beside it."""
    for other in ("poetry.lock", "index.lock"):
        (tmp_path / other).write_text("not yours")
    with index_lock(tmp_path / name):
        assert (tmp_path / f"{name}.lock").exists()
    for other in ("poetry.lock", "index.lock"):
        assert (tmp_path / other).read_text() == "not yours"


# --- whose index it is ---------------------------------------------------------------------------


def noted(store: SqliteStore, *runs: tuple[Any, Any]) -> SqliteStore:
    for command, status in runs:
        run_id = store.start_run(command, ROOT)
        if status != "running":
            store.finish_run(run_id, IngestRun(command, "", "", status=status))
    return store


def rebuilt(store: SqliteStore, *documents: Document) -> None:
    rebuild(Source(list(documents), [], "a folder"), CHUNKER, ToyEmbedder(), store)


REBUILD, INGEST = Origin("rebuild", "a folder"), Origin("ingest", ROOT)


def test_an_index_is_that_of_the_command_and_the_folder_that_made_it(store: SqliteStore) -> None:
    rebuilt(store, document("a"))
    assert store.manifest().origin == REBUILD
    run(store, document("a"))
    assert store.manifest().origin == INGEST, "although there was nothing to write"
    run(store, document("a"), root="elsewhere")
    assert store.manifest().origin == Origin("ingest", "elsewhere")
    rebuilt(store, document("a"))
    assert store.manifest().origin == REBUILD


@pytest.mark.parametrize("status", ["failed", "interrupted", "running"])
def test_a_run_that_wrote_nothing_does_not_make_an_index_its_own(
    store: SqliteStore, status: str
) -> None:
    rebuilt(store, document("a"))
    noted(store, *[("ingest", status)] * 30)
    assert store.manifest().origin == origin_of(store) == REBUILD


@pytest.mark.usefixtures("_small_groups")
def test_an_index_of_a_rebuild_that_a_run_has_half_changed_is_no_rebuilds_any_more(
    store: SqliteStore,
) -> None:
    rebuilt(store, *MANY[:1])
    with pytest.raises(KeyboardInterrupt):
        ingest(tree(*MANY), CHUNKER, FailsAt(2, KeyboardInterrupt()), store)
    assert store.manifest().origin == INGEST


def test_a_run_that_was_killed_after_it_had_written_has_made_the_index_its_own(
    store: SqliteStore,
) -> None:
    """Its record was never finished; the origin was written with the documents."""
    rebuilt(store, document("a"))
    noted(store, ("ingest", "running"))
    new = document("b")
    (chunk,) = CHUNKER.chunk(new)
    upsert(store, new, [chunk], ToyEmbedder().embed([chunk.searchable], "passage"))
    assert store.manifest().origin == INGEST
    assert (store.manifest().corpus_sha256, store.manifest().products_sha256) == ("", "")
    assert [chunk.id for chunk in store.passages()] == ["a#0", "b#0"], "and it can be read"
    run(store, document("a"), new)
    assert content(store) == content_at_once(store, [document("a"), new])


def test_what_is_written_outside_a_run_leaves_the_origin_as_it_is(store: SqliteStore) -> None:
    rebuilt(store, document("a"))
    upsert(store, document("a"), [], np.empty((0, 8), np.float32))
    store.delete(["a"])
    assert store.manifest().origin == REBUILD


@pytest.mark.parametrize(
    ("runs", "command"),
    [
        ([], ""),
        ([("rebuild", "done")], "rebuild"),
        ([("ingest", "done"), ("rebuild", "failed")], "ingest"),
        ([("ingest", "interrupted")], "ingest"),
        ([("ingest", "running")], "ingest"),
    ],
)
@pytest.mark.parametrize("lock", ["json_remove(lock, '$.origin')", "'{}'", None])
def test_where_the_manifest_cannot_tell_the_runs_do(
    store: SqliteStore, runs: list[tuple[Any, Any]], command: str, lock: str | None
) -> None:
    """In an index from before origins were noted, in a damaged one, and before the first build."""
    if lock is not None:
        rebuilt(store, document("a"))
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute("DELETE FROM ingest_run")
    noted(store, *runs)
    if lock is not None:
        with closing(sqlite3.connect(store.path)) as connection, connection:
            connection.execute(f"UPDATE manifest SET lock = {lock}")
    store.initialize()
    assert origin_of(store) == Origin(command, ROOT if runs else "")


def test_a_question_needs_the_same_embedder_and_analyser(store: SqliteStore) -> None:
    run(store, document("a"))
    manifest = store.manifest()
    check_space(replace(manifest, chunker="other", corpus_sha256="other"), ToyEmbedder().identity)
    with pytest.raises(StoreError) as caught:
        check_space(manifest, ToyEmbedder(model="other").identity)
    assert str(caught.value) == (
        "The index does not fit these settings: 'embedder.model' is 'toy' in the index and "
        "'other' now. Run: labkit ingest --source somewhere"
    )
    with pytest.raises(StoreError, match="'analyser' is 'old' in the index"):
        check_space(replace(manifest, analyser="old"), ToyEmbedder().identity)


# --- the work grows with the documents, not with their square ------------------------------------


def statements_of(path: Path, work: Callable[[], object]) -> list[str]:
    """Every statement that SQLite runs on an index while `work` is done."""
    seen: list[str] = []
    with connections(lambda connection: trace(connection, seen.append)):
        work()
    return seen


def test_a_run_makes_as_many_commits_as_groups_and_looks_at_each_row_once(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Counted, not timed, with 2,560 documents: 20 groups."""
    documents = [document(f"d{n:04d}", f"Line {n}.") for n in range(20 * 128)]
    hashed: list[int] = []

    def counted(pairs: Any) -> str:
        hashed.append(len(held := list(pairs)))
        return corpus_hash(held)

    monkeypatch.setattr("labkit.store.snapshot.corpus_hash", counted)
    seen = statements_of(store.path, lambda: run(store, *documents))
    commits = [each for each in seen if each.startswith("COMMIT")]
    # Besides the groups: the schema, the start, the empty index, the end, the count of repeats.
    assert len(commits) == 20 + 5
    assert sum("INSERT INTO chunk " in each for each in seen) == len(documents)
    assert len(seen) < 2 * len(documents) + 20 * 30, "two statements for each document"
    # The empty index, the end of the run, and the check of whoever reads it: never for a group.
    assert sum(hashed) == 2 * len(documents)


def test_planning_reads_no_vector_of_what_is_unchanged(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    documents = [document(f"d{n:04d}", f"Line {n}.") for n in range(2_000)]
    run(store, *documents)

    def decode(_: bytes) -> Any:
        raise AssertionError("a vector is read")

    monkeypatch.setattr("labkit.store.sqlite.decode_vector", decode)
    seen = statements_of(store.path, lambda: plan(tree(*documents), CHUNKER, ToyEmbedder(), store))
    assert not [each for each in seen if "FROM chunk" in each]
    assert len(seen) < 30, "the same few for any number of documents"


def test_closing_many_documents_to_readers_takes_few_commits(store: SqliteStore) -> None:
    """They need no new vector, and go together all the same."""
    names = [f"d{n:03d}" for n in range(256)]
    run(store, *map(document, names))
    now = [document(name, scope="ACME/support") for name in names]
    seen = statements_of(store.path, lambda: run(store, *now))
    assert len([each for each in seen if each.startswith("COMMIT")]) == 2 + 3


# --- the record of a rebuild ---------------------------------------------------------------------


def test_a_rebuild_is_written_down_once_it_is_done(store: SqliteStore) -> None:
    a, b = document("a", "East. " * 20), document("b", "West.")
    rebuild(Source([a, b], [gx()], "/a/folder"), CHUNKER, ToyEmbedder(), store)
    first = last_run(store)
    assert first is not None
    assert (first.command, first.root, first.status) == ("rebuild", "/a/folder", "done")
    assert (first.documents, first.chunks, first.embedded) == (3, 5, 5)
    assert counts(first) == (3, 0, 0, 0)
    failing: Any = FailsAt(1, EmbeddingError("gone"))
    with pytest.raises(EmbeddingError):
        rebuild(Source([a], []), CHUNKER, failing, store)
    assert last_run(store) == first
    rebuild(Source([a, document("b", "East.")], []), CHUNKER, ToyEmbedder(), store)
    second = last_run(store)
    assert second is not None
    assert counts(second) == (0, 1, 1, 1)


@pytest.mark.parametrize(
    ("damage", "counted"),
    [
        ("UPDATE manifest SET lock = '{}'", (0, 0, 0, 1)),
        ("UPDATE document SET content_hash = replace(content_hash, 'a', 'b')", (0, 1, 0, 0)),
    ],
)
def test_a_rebuild_over_a_damaged_index_counts_what_can_still_be_told(
    store: SqliteStore, damage: str, counted: tuple[int, int, int, int]
) -> None:
    rebuilt(store, document("a"))
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute(damage)
    rebuilt(store, document("a"))
    last = last_run(store)
    assert last is not None
    assert counts(last) == counted


# --- the knowledge base --------------------------------------------------------------------------


@pytest.fixture
def knowledge(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CHECKOUT / "corpus/knowledge", tmp_path / "knowledge"))


def test_the_knowledge_base_a_paragraph_edited_a_page_retired_a_page_gone(
    knowledge: Path, store: SqliteStore
) -> None:
    chunker = MarkdownChunker()

    def again() -> tuple[IngestRun, list[str]]:
        embedder = ToyEmbedder()
        done = ingest(
            Source.of(read_folder(knowledge, Rules()), knowledge), chunker, embedder, store
        )
        return done, [text for texts, _ in embedder.calls for text in texts]

    first, texts = again()
    assert first.added == first.documents > 60
    assert first.embedded == first.chunks == len(texts) > first.documents
    assert again()[0].embedded == 0

    page = knowledge / "support/gateway-error-catalogue.md"
    words = "The gateway restarted by itself."
    page.write_text(page.read_text("utf-8").replace(words, "It began again."), encoding="utf-8")
    edited, texts = again()
    assert (counts(edited)[:3], edited.chunks) == ((0, 1, 0), first.chunks)
    assert 1 <= len(texts) <= 2, "the chunk, and one that repeats it as its overlap"
    assert all("It began again." in text for text in texts)

    page.write_text(page.read_text("utf-8").replace("status: approved", "status: retired"), "utf-8")
    retired, texts = again()
    assert (counts(retired)[:3], texts) == ((0, 1, 0), [])

    (knowledge / ".aiignore").write_text("support/gateway-error-catalogue.md\n", encoding="utf-8")
    (knowledge / "support/.aiignore").unlink(missing_ok=True)
    excluded, texts = again()
    assert "gateway-error-catalogue" not in hashes(store)
    assert b"It began again." not in store.path.read_bytes()
    assert excluded.removed >= 1
