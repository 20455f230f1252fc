"""One consistent reading of an index, checked, in memory: all searches run here."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, lru_cache
from sys import intern

import numpy as np
from numpy.typing import NDArray

from labkit.documents.fingerprint import corpus_hash
from labkit.ranking.lexical import Bm25
from labkit.similarity import DIGITS, Scan, check_vectors, mean_direction
from labkit.store.manifest import read_manifest
from labkit.store.rows import damaged, row_chunk, row_terms
from labkit.types import Chunk, Eligible, Hit, Manifest, Matrix, StoreError, TermStatistics, Vector

CHUNKS = (
    "SELECT chunk.*, document.path, document.version FROM chunk "
    "JOIN document ON document.id = chunk.document_id"
)
CACHED_VIEWS = 8  # (viewer, day) pairs whose eligible rows, words and means are kept


class Snapshot:
    """The chunks of one generation of the index, their vectors and their terms, in order of id.

    The searching half of `VectorStore`, whose words it keeps. Immutable.
    """

    def __init__(
        self,
        generation: str,
        manifest: Manifest,
        chunks: Sequence[Chunk],
        vectors: Matrix,
        terms: Sequence[Sequence[str]],
    ) -> None:
        self.generation = generation
        self.chunks = list(chunks)
        self.vectors = vectors
        self.terms = terms
        self._manifest = manifest
        self._ids = [chunk.id for chunk in self.chunks]
        self.rows: Callable[[Eligible], NDArray[np.intp]] = lru_cache(CACHED_VIEWS)(self._rows)
        self._words: Callable[[Eligible], Bm25] = lru_cache(CACHED_VIEWS)(self._bm25)
        self._means: Callable[[Eligible], Mapping[str, NDArray[np.float64]]]
        self._means = lru_cache(CACHED_VIEWS)(self._mean_directions)

    def manifest(self) -> Manifest:
        return self._manifest

    def search(self, vector: Vector, k: int, eligible: Eligible) -> list[Hit]:
        self.check_question(vector)
        found = self._scan.top_k(vector, k, self.rows(eligible))
        return [
            Hit(self.chunks[row], cosine=score, dense_rank=rank)
            for rank, (row, score) in enumerate(found, start=1)
        ]

    def lexical(self, terms: Sequence[str], k: int, eligible: Eligible) -> list[Hit]:
        rows = self.rows(eligible)
        # Rows stand in order of id, so that their numbers break ties as their ids would.
        found = self._words(eligible).top_k(terms, k, range(len(rows)))
        return [
            Hit(self.chunks[rows[row]], lexical_score=score, lexical_rank=rank)
            for rank, (row, score) in enumerate(found, start=1)
        ]

    def mean_cosines(self, vector: Vector, eligible: Eligible) -> Mapping[str, float]:
        self.check_question(vector)
        wide = vector.astype(np.float64)
        asked = wide / np.linalg.norm(wide)
        return {
            language: round(float((asked * mean).sum()), DIGITS)
            for language, mean in self._means(eligible).items()
        }

    def term_statistics(self, terms: Sequence[str], eligible: Eligible) -> TermStatistics:
        words = self._words(eligible)
        shares = {term: words.postings(term)[1] for term in terms}
        held = {term: found for term, found in shares.items() if len(found)}
        return TermStatistics(
            words.size,
            {term: len(found) for term, found in held.items()},
            {term: round(float(found.max()), DIGITS) for term, found in held.items()},
        )

    def check_question(self, vector: Vector) -> None:
        """StoreError for a vector that does not have the dimensions of the index."""
        dimension = self._manifest.embedder.dimension
        if vector.shape != (dimension,):
            raise StoreError(
                f"The question's vector has shape {vector.shape}; the index holds vectors of "
                f"{dimension} dimensions."
            )
        check_vectors(vector[None, :], ["query"])

    def _rows(self, eligible: Eligible) -> NDArray[np.intp]:
        if type(eligible) is not Eligible:  # a database could not run another rule than the one
            raise StoreError(f"A store knows one rule of access, not that of {type(eligible)}.")
        return self._admitted(eligible)

    def _admitted(self, eligible: Eligible) -> NDArray[np.intp]:
        rows = [row for row, chunk in enumerate(self.chunks) if eligible.admits_chunk(chunk)]
        return np.array(rows, dtype=np.intp)

    def _bm25(self, eligible: Eligible) -> Bm25:
        # Of the eligible passages alone: how rare a word is in documents that the viewer may not
        # see must not show in a score.
        return Bm25([self.terms[row] for row in self.rows(eligible)])

    def _mean_directions(self, eligible: Eligible) -> Mapping[str, NDArray[np.float64]]:
        rows = self.rows(eligible)
        languages = [self.chunks[row].meta.language for row in rows]
        return {
            language: mean_direction(self._vectors_at(rows[np.array(languages) == language]))
            for language in sorted(set(languages))
        }

    def _vectors_at(self, rows: NDArray[np.intp]) -> Matrix:
        return self.vectors[rows]

    @cached_property
    def _scan(self) -> Scan:
        return Scan(self.vectors, self._ids)


def read_snapshot(connection: sqlite3.Connection) -> Snapshot:
    """Read and check everything inside the caller's transaction; StoreError names what is wrong."""
    try:
        return _read_and_check(connection)
    except (TypeError, ValueError, AttributeError) as error:  # as when bytes stand for a text
        raise damaged("a value", f"it is of another kind than was written ({error})") from error


def _read_and_check(connection: sqlite3.Connection) -> Snapshot:
    manifest = read_manifest(connection)
    head = connection.execute("SELECT * FROM manifest").fetchone()
    chunks: list[Chunk] = []
    terms: list[list[str]] = []
    blobs = bytearray()
    for row in connection.execute(f"{CHUNKS} ORDER BY chunk.id"):
        chunk, blob = row_chunk(row, manifest.embedder.dimension)
        chunks.append(chunk)
        terms.append(list(map(intern, row_terms(row, chunk))))  # one object a word
        blobs += blob
    (documents,) = connection.execute("SELECT count(*) FROM document").fetchone()
    for name, found, noted in (
        ("document", documents, head["documents"]),
        ("chunk", len(chunks), head["chunks"]),
    ):
        if found != noted:
            raise damaged(name, f"the table holds {found} whole rows, the manifest notes {noted}")
    for name, found in zip(("corpus", "products"), table_hashes(connection), strict=True):
        if getattr(manifest, f"{name}_sha256") not in (found, ""):  # none while a run is open
            raise damaged(f"{name}_sha256", "the documents are not those that the manifest notes")
    vectors = np.frombuffer(blobs, np.dtype("<f4")).astype(np.float32, copy=False)
    shape = (-1, manifest.embedder.dimension)
    return Snapshot(head["generation"], manifest, chunks, vectors.reshape(shape), terms)


def table_hashes(connection: sqlite3.Connection) -> tuple[str, str]:
    """(corpus hash, products hash) of the documents as they stand in the tables."""
    rows = connection.execute(
        "SELECT id, content_hash, id IN (SELECT document_id FROM product) FROM document"
    ).fetchall()
    return (
        corpus_hash((name, content) for name, content, is_product in rows if not is_product),
        corpus_hash((name, content) for name, content, is_product in rows if is_product),
    )
