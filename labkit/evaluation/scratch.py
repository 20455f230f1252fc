"""An index for one evaluation, in a file of its own: the index that people use is not touched."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from functools import cached_property
from pathlib import Path

from labkit.assembly import Lab
from labkit.documents.fingerprint import content_hash
from labkit.documents.reading import Folder, read_folder
from labkit.evaluation.datasets import Passage
from labkit.indexing import Progress, Rebuilt, Source, rebuild
from labkit.settings import Settings
from labkit.store.sqlite import SqliteStore
from labkit.types import Chunk, Chunker, Document, FileFault, Metadata, Viewer

READER = Viewer("BEIR", frozenset({"readers"}))
DAY = date(2000, 1, 1)


class ScratchLab(Lab):
    """The lab of these settings with its index in `folder`; vectors are cached as always.

    Its documents are those of the settings, as `rebuild` takes them; or those below the folders
    `sources`, as `ingest` does, PDF files among them; or `passages`, each as one chunk.
    """

    def __init__(
        self,
        settings: Settings,
        folder: Path,
        passages: tuple[Passage, ...] | None = None,
        sources: Sequence[Path] = (),
    ) -> None:
        super().__init__(settings)
        self._folder = folder
        self._passages = passages
        self._sources = sources

    @cached_property
    def store(self) -> SqliteStore:
        return SqliteStore(self._folder / f"{self.settings.embedding.profile}.sqlite")

    @property
    def chunker(self) -> Chunker:
        if self._passages is not None:
            return WholePassage()
        return self.ingest_chunker if self._sources else super().chunker

    @cached_property
    def trees(self) -> list[Folder]:
        """What the folders hold, each read once."""
        return [read_folder(root, self.rules(pdf=True)) for root in self._sources]

    @property
    def left_out(self) -> list[FileFault]:
        """Files that a run of `ingest` would name, because it could not or would not read them."""
        return [fault for tree in self.trees for fault in (*tree.faults, *tree.notes)]

    @cached_property
    def _read(self) -> Source:
        if self._passages is not None:
            return Source(sorted(map(passage_document, self._passages), key=lambda d: d.id), [])
        if not self._sources:
            return super().source()
        documents = [document for tree in self.trees for document in tree.documents]
        products = [product for tree in self.trees for product in tree.products]
        return Source(sorted(documents, key=lambda document: document.id), products)

    def source(self) -> Source:
        return self._read

    def build(self, progress: Progress | None = None) -> Rebuilt:
        """Embed everything and fill the index."""
        return rebuild(self.source(), self.chunker, self.embedder, self.store, progress)


class WholePassage:
    """A chunker that cuts nothing: a data set judges its passages as they are."""

    version = "whole-passage-v1"

    def chunk(self, document: Document) -> list[Chunk]:
        """The document as one chunk; none if it is blank."""
        text = document.text
        return [Chunk(document.meta, 0, 0, len(text), text)] if text.strip() else []


def passage_document(passage: Passage) -> Document:
    """A passage as a document that `READER` may read on `DAY`; a title alone is its text."""
    blank = not passage.text.strip()
    meta = Metadata(
        id=passage.id,
        title="" if blank else passage.title,
        language="en",
        scope="BEIR/readers",
        status="approved",
        canonical=True,
        valid_from=DAY,
        valid_until=None,
        version="1",
    )
    text = passage.title if blank else passage.text
    return Document(meta, text, content_hash(meta, text))
