"""The rankings that are compared: each part of a search alone, and a policy, on one index."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from typing import TypeAlias

from labkit.answering.access_filter import admit
from labkit.text import terms
from labkit.types import Embedder, Hit, Search, VectorStore, Viewer

Ranking: TypeAlias = Callable[[str, Viewer, date], list[Hit]]
"""From a question, a viewer and a day to the passages handed on, best first."""


def dense(store: VectorStore, embedder: Embedder, k: int) -> Ranking:
    """The k nearest eligible passages by cosine, without any threshold."""

    def rank(question: str, viewer: Viewer, as_of: date) -> list[Hit]:
        (vector,) = embedder.embed([question], "query")
        return store.search(vector, k, admit(viewer, as_of))

    return rank


def lexical(store: VectorStore, k: int) -> Ranking:
    """The k best eligible passages by BM25; fewer where fewer share a word."""

    def rank(question: str, viewer: Viewer, as_of: date) -> list[Hit]:
        return store.lexical(terms(question), k, admit(viewer, as_of))

    return rank


def policy(search: Search, k: int) -> Ranking:
    """What a policy hands to a generator, at most k; nothing where it refuses."""

    def rank(question: str, viewer: Viewer, as_of: date) -> list[Hit]:
        return list(search.retrieve(question, viewer, as_of).hits[:k])

    return rank
