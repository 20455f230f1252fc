"""An index for one evaluation, in a file of its own: the index that people use is not touched."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.assembly import make_embedder, make_model, make_rules, make_store
from labkit.documents.fingerprint import content_hash
from labkit.documents.reading import read_folder
from labkit.evaluation.datasets import DAY, Passage
from labkit.indexing import Source, rebuild
from labkit.settings import Settings
from labkit.types import (
    Chunk,
    Chunker,
    Document,
    Embedder,
    FileFault,
    Metadata,
    VectorStore,
    Viewer,
)

READER = Viewer("BEIR", frozenset({"readers"}))


@dataclass(frozen=True, slots=True)
class Measurable:
    """An index to measure. `too_long` counts its texts of which the model read a part only."""

    settings: Settings
    store: VectorStore
    embedder: Embedder
    too_long: int = 0


def build(
    settings: Settings,
    source: Source,
    chunker: Chunker,
    path: Path,
    told: Callable[[int, int], None],
) -> Measurable:
    """Index a source in a file of its own; vectors are cached as always."""
    embedder = make_embedder(settings, make_model(settings))
    store = make_store(settings.having(store={"kind": "sqlite", "path": str(path)}))
    done = rebuild(source, chunker, embedder, store, told)
    return Measurable(settings, store, embedder, len(done.too_long))


def read_folders(settings: Settings, folders: Sequence[Path]) -> tuple[Source, list[FileFault]]:
    """What `ingest --pdf` would take in of these folders, and the files that it would name."""
    trees = [read_folder(root, make_rules(settings, pdf=True)) for root in folders]
    documents = [document for tree in trees for document in tree.documents]
    products = [product for tree in trees for product in tree.products]
    left_out = [fault for tree in trees for fault in (*tree.faults, *tree.notes)]
    return Source(sorted(documents, key=lambda document: document.id), products), left_out


def passage_source(passages: Sequence[Passage]) -> Source:
    """The passages of a BEIR folder, each a document."""
    return Source(sorted(map(passage_document, passages), key=lambda document: document.id), [])


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
