"""labkit.indexing: plan and rebuild, with every vector made before the index is touched."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import ToyEmbedder, document
from labkit.chunking import CharacterChunker
from labkit.documents import product_document
from labkit.embedding.checks import TextTooLong
from labkit.indexing import (
    Plan,
    Rebuilt,
    Source,
    embed_chunks,
    ingest,
    make_manifest,
    plan,
    rebuild,
)
from labkit.store import SqliteStore
from labkit.types import Chunk, Document, EmbeddingError, Matrix, Product, Role, StoreError
from stores import hashes

GOVERNED = {
    "title": "Gate GX-1",
    "language": "en",
    "scope": "ACME/readers",
    "status": "approved",
    "canonical": True,
    "valid_from": date(2026, 1, 1),
    "version": "1",
}
GX = Product(
    "GX-1", "Gate", {"Height": "2 m"}, product_document("GX-1", {"Height": "2 m"}, GOVERNED)
)
A, B = document("a", "The east gate opens at eight."), document("b", "The west door is locked.")
CHUNKER = CharacterChunker(20, 5)


@pytest.fixture
def store(tmp_path: Path) -> SqliteStore:
    return SqliteStore(tmp_path / "index.sqlite")


def content(store: SqliteStore) -> Any:
    """All that a search can see, and the manifest."""
    snapshot = store.snapshot()
    return store.manifest(), snapshot.chunks, hashes(store), store.stats()


def total(*documents: Document) -> int:
    return sum(len(CHUNKER.chunk(item)) for item in documents)


# --- rebuild -------------------------------------------------------------------------------------


def test_a_rebuild_indexes_documents_and_product_facts_and_counts_them(store: SqliteStore) -> None:
    source = Source([A, B], [GX])
    done = rebuild(source, CHUNKER, ToyEmbedder(), store)
    assert done == Rebuilt(documents=2, products=1, chunks=total(A, B, GX.document), too_long=[])
    assert hashes(store) == source.hashes
    assert sorted(source.hashes) == ["PRODUCT-GX-1", "a", "b"]
    assert store.manifest() == make_manifest(source, CHUNKER, ToyEmbedder())


def test_chunks_are_embedded_as_passages_in_order_of_document_id(store: SqliteStore) -> None:
    toy = ToyEmbedder()
    rebuild(Source([B, A], [GX]), CHUNKER, toy, store)
    expected = [c.searchable for d in (GX.document, A, B) for c in CHUNKER.chunk(d)]
    assert [(list(texts), role) for texts, role in toy.calls] == [(expected, "passage")]


def test_each_chunk_has_the_vector_of_its_own_text(store: SqliteStore) -> None:
    rebuild(Source([A, B], []), CHUNKER, ToyEmbedder(), store)
    for chunk in store.snapshot().chunks:
        (vector,) = ToyEmbedder().embed([chunk.searchable], "passage")
        best = store.snapshot()._scan.top_k(vector, 1)
        assert store.snapshot().chunks[best[0][0]] == chunk


def test_a_rebuild_of_the_same_source_gives_the_same_index(store: SqliteStore) -> None:
    rebuild(Source([A, B], [GX]), CHUNKER, ToyEmbedder(), store)
    first = content(store)
    rebuild(Source([B, A], [GX]), CHUNKER, ToyEmbedder(), store)
    assert content(store) == first
    rebuild(Source([A], []), CHUNKER, ToyEmbedder(), store)
    assert content(store) != first


def test_no_documents_make_an_empty_index(store: SqliteStore) -> None:
    assert rebuild(Source([], []), CHUNKER, ToyEmbedder(), store) == Rebuilt(0, 0, 0, [])
    assert store.exists()
    assert hashes(store) == {}


def test_the_chat_model_and_the_folder_are_no_part_of_the_manifest(tmp_path: Path) -> None:
    lock = make_manifest(Source([A], []), CHUNKER, ToyEmbedder())
    assert str(tmp_path) not in str(lock)
    assert lock.chunker == CHUNKER.version == "chars-20-overlap-5-v2"


# --- progress ------------------------------------------------------------------------------------


def lines(count: int) -> list[Chunk]:
    """That many chunks, each of one short document."""
    return [c for n in range(count) for c in CHUNKER.chunk(document(f"d{n:03d}", f"Line {n}."))]


@pytest.mark.parametrize(
    ("count", "reports"),
    [
        (0, []),
        (1, [(1, 1)]),
        (128, [(128, 128)]),
        (129, [(128, 129), (129, 129)]),
        (300, [(128, 300), (256, 300), (300, 300)]),
    ],
)
def test_progress_is_told_after_each_slice_up_to_the_total(
    count: int, reports: list[tuple[int, int]]
) -> None:
    told: list[tuple[int, int]] = []
    toy = ToyEmbedder()
    vectors, too_long = embed_chunks(
        lines(count), toy, lambda done, all_: told.append((done, all_))
    )
    assert told == reports
    assert vectors.shape == (count, 8)
    assert vectors.dtype == np.float32
    assert too_long == []
    assert [len(texts) for texts, _ in toy.calls] == [
        done - before for (done, _), before in zip(reports, [0, 128, 256], strict=False)
    ]


def test_rows_stay_with_their_chunks_over_the_borders_of_slices() -> None:
    chunks = lines(300)
    vectors, _ = embed_chunks(chunks, ToyEmbedder())
    assert np.array_equal(vectors, ToyEmbedder().embed([c.searchable for c in chunks], "passage"))


# --- failure -------------------------------------------------------------------------------------


class FailsAt(ToyEmbedder):
    """Fails when it is to embed for the n-th time."""

    def __init__(self, turn: int, error: BaseException) -> None:
        super().__init__()
        self.turn, self.error = turn, error

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        if len(self.calls) + 1 == self.turn:
            raise self.error
        return super().embed(texts, role)


MANY = [document(f"d{n:03d}", f"Line {n}.") for n in range(300)]


@pytest.mark.parametrize("error", [EmbeddingError("the server is gone."), KeyboardInterrupt()])
def test_an_embedder_that_fails_on_the_last_slice_leaves_the_index_byte_for_byte(
    store: SqliteStore, error: BaseException
) -> None:
    rebuild(Source([A, B], []), CHUNKER, ToyEmbedder(), store)
    before, seen = store.path.read_bytes(), content(store)
    embedder: Any = FailsAt(3, error)
    with pytest.raises(type(error)):
        rebuild(Source(MANY, []), CHUNKER, embedder, store)
    assert store.path.read_bytes() == before
    assert content(SqliteStore(store.path)) == seen


def test_an_embedder_that_fails_at_the_first_build_leaves_no_file(store: SqliteStore) -> None:
    embedder: Any = FailsAt(1, EmbeddingError("the server is gone."))
    with pytest.raises(EmbeddingError, match="the server is gone"):
        rebuild(Source(MANY, []), CHUNKER, embedder, store)
    assert not store.path.exists()


def test_a_progress_bar_that_fails_leaves_the_index(store: SqliteStore) -> None:
    rebuild(Source([A, B], []), CHUNKER, ToyEmbedder(), store)
    before = store.path.read_bytes()

    def stop(done: int, of: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        rebuild(Source(MANY, []), CHUNKER, ToyEmbedder(), store, stop)
    assert store.path.read_bytes() == before


# --- texts longer than the model reads -----------------------------------------------------------


class Narrow(ToyEmbedder):
    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        for text in texts:
            if "west" in text:
                warnings.warn(TextTooLong(text, 9, 5), stacklevel=2)
            warnings.warn("another matter", UserWarning, stacklevel=2)
        return super().embed(texts, role)


def test_chunks_that_the_model_could_not_read_to_their_end_are_named(store: SqliteStore) -> None:
    embedder: Any = Narrow()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        done = rebuild(Source([A, B], []), CHUNKER, embedder, store)
    assert done.too_long == [c.id for c in CHUNKER.chunk(B) if "west" in c.searchable] == ["b#0"]
    assert store.stats().chunks == done.chunks, "they are indexed all the same"


def test_two_chunks_of_one_text_are_both_named() -> None:
    same = [document(name, "Go west.", title="One title") for name in ("x", "y")]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        embedder: Any = Narrow()
        _, too_long = embed_chunks([c for d in same for c in CHUNKER.chunk(d)], embedder, size=1)
    assert too_long == ["x#0", "y#0"]


def test_other_warnings_of_the_embedder_reach_the_caller() -> None:
    embedder: Any = Narrow()
    with pytest.warns(UserWarning, match="another matter"):
        embed_chunks(CHUNKER.chunk(A), embedder)


# --- plan ----------------------------------------------------------------------------------------


def test_the_plan_of_a_first_build_adds_everything_and_makes_no_file(store: SqliteStore) -> None:
    found = plan(Source([B, A], [GX]), CHUNKER, ToyEmbedder(), store)
    assert found == Plan(added=["PRODUCT-GX-1", "a", "b"])
    assert found.to_embed == total(A, B, GX.document)
    assert found.does_something
    assert not store.path.exists()


def test_the_plan_after_a_rebuild_changes_nothing(store: SqliteStore) -> None:
    source = Source([A, B], [GX])
    rebuild(source, CHUNKER, ToyEmbedder(), store)
    found = plan(source, CHUNKER, ToyEmbedder(), store)
    assert found == Plan(unchanged=["PRODUCT-GX-1", "a", "b"])
    assert not found.does_something


def test_the_plan_names_added_changed_removed_and_unchanged(store: SqliteStore) -> None:
    rebuild(Source([A, B, document("c")], [GX]), CHUNKER, ToyEmbedder(), store)
    before = store.path.read_bytes()
    now = Source([A, document("b", "The west door is open."), document("d")], [])
    found = plan(now, CHUNKER, ToyEmbedder(), store)
    assert found == Plan(
        added=["d"],
        changed=["b"],
        removed=["PRODUCT-GX-1", "c"],
        unchanged=["a"],
    )
    assert found.does_something
    assert store.path.read_bytes() == before, "a plan changes nothing"


def test_a_change_of_governance_alone_is_a_change(store: SqliteStore) -> None:
    rebuild(Source([A], []), CHUNKER, ToyEmbedder(), store)
    retired = document("a", A.text, status="retired")
    assert plan(Source([retired], []), CHUNKER, ToyEmbedder(), store).changed == ["a"]


def test_a_moved_file_is_a_change_because_its_path_is_published(store: SqliteStore) -> None:
    rebuild(Source([A], []), CHUNKER, ToyEmbedder(), store)
    found = plan(
        Source([document("a", A.text, path="elsewhere/a.md")], []), CHUNKER, ToyEmbedder(), store
    )
    assert (found.changed, found.to_embed) == (["a"], 0)


def test_a_change_of_settings_alone_is_a_change_with_both_values(store: SqliteStore) -> None:
    source = Source([A, B], [])
    rebuild(source, CHUNKER, ToyEmbedder(), store)
    found = plan(source, CharacterChunker(30, 5), ToyEmbedder(model="other"), store)
    assert found == Plan(
        unchanged=["a", "b"],
        settings={
            "embedder.model": ("toy", "other"),
            "chunker": ("chars-20-overlap-5-v2", "chars-30-overlap-5-v2"),
        },
        whole=True,
    )
    other = CharacterChunker(30, 5)
    assert found.to_embed == len(other.chunk(A)) + len(other.chunk(B)), "all of it"
    assert found.does_something


def test_a_plan_against_a_damaged_index_says_so(store: SqliteStore) -> None:
    store.path.write_bytes(b"no database " * 100)
    with pytest.raises(StoreError, match=r"is damaged or is no index .*labkit rebuild"):
        plan(Source([A], []), CHUNKER, ToyEmbedder(), store)


def test_a_full_plan_cuts_all_and_says_what_would_have_changed(store: SqliteStore) -> None:
    rebuild(Source([A, B], []), CHUNKER, ToyEmbedder(), store)
    found = plan(Source([A], []), CHUNKER, ToyEmbedder(), store, full=True)
    assert found == Plan(removed=["b"], unchanged=["a"], whole=True)
    assert found.to_embed == total(A)


def test_a_plan_promises_what_a_run_then_embeds(store: SqliteStore) -> None:
    ingest(Source([A, B, document("c")], []), CHUNKER, ToyEmbedder(), store)
    now = Source([document("a", A.text + " And more."), B, document("d")], [])
    promised = plan(now, CHUNKER, ToyEmbedder(), store)
    toy = ToyEmbedder()
    done = ingest(now, CHUNKER, toy, store)
    assert promised == Plan(added=["d"], changed=["a"], removed=["c"], unchanged=["b"])
    assert promised.to_embed == done.embedded == sum(len(texts) for texts, _ in toy.calls) > 0
    assert not plan(now, CHUNKER, ToyEmbedder(), store).does_something
