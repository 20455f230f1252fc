"""Small values for tests: documents and chunks whose every field can be seen."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Any

import numpy as np

from labkit.documents.fingerprint import content_hash, corpus_hash
from labkit.text import ANALYSER_VERSION
from labkit.types import (
    Chunk,
    Document,
    EmbedderIdentity,
    Health,
    Manifest,
    Matrix,
    Metadata,
    Role,
)


def metadata(name: str = "a", **changes: Any) -> Metadata:
    fields: dict[str, Any] = {
        "id": name,
        "title": f"Title {name}",
        "language": "en",
        "scope": "ACME/readers",
        "status": "approved",
        "canonical": True,
        "valid_from": date(2026, 1, 1),
        "valid_until": None,
        "version": "1",
        "product": None,
        "path": f"{name}.md",
    }
    return Metadata(**{**fields, **changes})


def document(name: str = "a", text: str = "Some text.", **changes: Any) -> Document:
    meta = metadata(name, **changes)
    return Document(meta, text, content_hash(meta, text))


def chunk(name: str = "a", text: str = "Some text.", part: int = 0, **changes: Any) -> Chunk:
    return Chunk(metadata(name, **changes), part, 0, len(text), text)


def whole(item: Document) -> Chunk:
    """The document as one chunk."""
    return Chunk(item.meta, 0, 0, len(item.text), item.text)


def vectors(*rows: Sequence[float]) -> Matrix:
    return np.array(rows, dtype=np.float32)


def identity(model: str = "toy", dimension: int = 2) -> EmbedderIdentity:
    return EmbedderIdentity("test", "", model, "1", dimension)


def manifest(documents: Sequence[Document], **changes: Any) -> Manifest:
    fields: dict[str, Any] = {
        "embedder": identity(),
        "chunker": "whole-v1",
        "analyser": ANALYSER_VERSION,
        "corpus_sha256": corpus_hash((d.id, d.content_hash) for d in documents),
        "products_sha256": corpus_hash([]),
    }
    return Manifest(**{**fields, **changes})


class ToyEmbedder:
    """An embedder of letters: dimension d, text t gets the counts of its letters modulo d.

    Counts its calls, so that a test can see what was embedded.
    """

    def __init__(self, dimension: int = 8, model: str = "toy") -> None:
        self.identity = identity(model, dimension)
        self.calls: list[tuple[tuple[str, ...], Role]] = []

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        self.calls.append((tuple(texts), role))
        rows = np.full((len(texts), self.identity.dimension), 0.01, dtype=np.float32)
        for row, text in enumerate(texts):
            for character in text.casefold():
                rows[row, ord(character) % self.identity.dimension] += 1
        return rows

    def health(self) -> Health:
        return Health(True)
