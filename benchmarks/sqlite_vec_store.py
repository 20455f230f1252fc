"""The top 1,000 of 50,000 x 384 through a store: SQLite's own against sqlite-vec, both warm.

The reference store keeps the vectors in memory and looks into the file only to see that it has
not changed; that look is inside the clock. sqlite-vec reads all vectors from the file for each
question. It is measured twice: bare and as fast as it goes (an open connection, vectors of length
1 and Euclidean distance, which it takes twice as fast as cosine), and as labkit's store on it,
which opens the file for each question and scores what comes near the k-th in exact double
precision.

In the last pair one document in twenty is eligible. Both stores then score those alone: one
gathers their vectors in memory, the other reads them from the file.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from datetime import date
from importlib.metadata import version
from pathlib import Path

import numpy as np
from timing import Report, Skipped, check_same_top, ratio, take_turns

from labkit.answering.access_filter import admit
from labkit.documents.fingerprint import content_hash, corpus_hash
from labkit.ranking.hybrid import CANDIDATES
from labkit.store import SqliteStore
from labkit.store.rows import encode_vector
from labkit.store.sqlite_vec import SqliteVecStore, unit
from labkit.types import (
    Chunk,
    Document,
    EmbedderIdentity,
    Hit,
    Manifest,
    Metadata,
    StoreError,
    Viewer,
)

K = CANDIDATES  # what the engine asks for
DIMENSION = 384
DAY = date(2026, 10, 23)
OURS, BARE, OURS_VEC = "SqliteStore", "sqlite-vec, bare", "SqliteVecStore"
OURS_FEW, VEC_FEW = "SqliteStore, 5 %", "SqliteVecStore, 5 %"


def run(quick: bool) -> Report:
    size, rounds = (10_000, 10) if quick else (50_000, 20)
    rng = np.random.default_rng(7)
    vectors = rng.standard_normal((size, DIMENSION), dtype=np.float32)
    queries = rng.standard_normal((rounds, DIMENSION), dtype=np.float32)
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        path = Path(folder) / "index.sqlite"
        vec, plain = SqliteVecStore(path), SqliteStore(path.with_name("plain.sqlite"))
        for store in (vec, plain):
            try:
                _fill(store, vectors)
            except StoreError as error:
                raise Skipped(str(error)) from error
        connection = stack.enter_context(vec._read())
        (library,) = connection.execute("SELECT sqlite_version()").fetchone()

        def bare(number: int) -> list[tuple[int, float]]:
            found = connection.execute(
                "SELECT rowid, distance FROM dense WHERE embedding MATCH ? AND k = ?",
                (encode_vector(unit(queries[number])), K),
            ).fetchall()
            return [(rowid - 1, 1 - distance**2 / 2) for rowid, distance in found]

        ask_plain, ask_vec = _asker(plain, queries), _asker(vec, queries)
        few_plain, few_vec = _asker(plain, queries, "few"), _asker(vec, queries, "few")
        for number in range(3):
            check_same_top(_top(ask_plain(number)), bare(number), 1e-5)
            for one, other in ((ask_plain, ask_vec), (few_plain, few_vec)):
                check_same_top(_top(one(number)), _top(other(number)), 0)
        times = take_turns({OURS: ask_plain, BARE: bare, OURS_VEC: ask_vec}, rounds)
        filtered = take_turns({OURS_FEW: few_plain, VEC_FEW: few_vec}, rounds)
    return Report(
        f"Top {K} of {size:,} x {DIMENSION} through a store, warm, one question at a time",
        rows=[measured.row() for measured in (*times.values(), *filtered.values())],
        ratios=[
            ratio(times, BARE, OURS, ">= 5"),
            ratio(times, OURS_VEC, OURS, ">= 5"),
            ratio(times, OURS_VEC, BARE),
            ratio(filtered, VEC_FEW, OURS_FEW),
        ],
        notes=[
            f"sqlite-vec {version('sqlite-vec')} in SQLite {library}.",
            "Checked first: the stores' lists are equal to the last bit, the bare one within 1e-5.",
        ],
    )


def _asker(store: SqliteStore, queries: np.ndarray, *audiences: str) -> Callable[[int], list[Hit]]:
    viewer = Viewer("ACME", frozenset(audiences or ("few", "many")))
    eligible = admit(viewer, DAY)
    return lambda number: store.search(queries[number], K, eligible)


def _top(hits: list[Hit]) -> list[tuple[int, float]]:
    return [(int(hit.chunk.source_id[1:]), hit.cosine or 0.0) for hit in hits]


def _fill(store: SqliteStore, vectors: np.ndarray) -> None:
    """One short document, one chunk, one vector each; every twentieth is for few readers."""
    documents = [_document(number) for number in range(len(vectors))]
    chunks = [Chunk(each.meta, 0, 0, len(each.text), each.text) for each in documents]
    manifest = Manifest(
        embedder=EmbedderIdentity("bench", "", "drawn", "1", DIMENSION),
        chunker="whole",
        analyser="none",
        corpus_sha256=corpus_hash((each.id, each.content_hash) for each in documents),
        products_sha256=corpus_hash([]),
    )
    store.replace_all(manifest, documents, chunks, vectors, [])


def _document(number: int) -> Document:
    meta = Metadata(
        id=f"d{number:06}",
        title="",
        language="en",
        scope="ACME/few" if number % 20 == 0 else "ACME/many",
        status="approved",
        canonical=True,
        valid_from=DAY,
        valid_until=None,
        version="1",
    )
    text = f"Text {number}."
    return Document(meta, text, content_hash(meta, text))
