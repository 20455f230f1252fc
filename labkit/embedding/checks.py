"""What every embedder checks before and after the model's work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from labkit.similarity import check_vectors
from labkit.types import EmbeddingError, Matrix, Role


class TextTooLong(UserWarning):
    """`text` has more tokens than the model reads: the rest of it is not in its vector."""

    happens = "the model reads the first {limit} of them"

    def __init__(self, text: str, tokens: int, limit: int) -> None:
        happens = self.happens.format(limit=limit)
        super().__init__(f"{text[:40]!r}… has {tokens} tokens; {happens}.")
        self.text, self.tokens, self.limit = text, tokens, limit


class TextRefused(EmbeddingError):
    """A fault of one text, not of the model or the network: trying again would not help.

    `number` counts from 0 among the texts of one call; None where it is not known.
    """

    def __init__(self, number: int | None, problem: str) -> None:
        super().__init__(problem if number is None else f"text {number} {problem}")
        self.number, self.problem = number, problem


class Windowed(Protocol):
    """An embedder that can say, before it computes, what its model cannot read whole."""

    @property
    def window(self) -> int | None:
        """Tokens that the model reads of one text, special tokens and prefix among them."""

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the model gets it: with the role's prefix, uncut."""


def check_texts(texts: Sequence[str]) -> None:
    """Refuse a blank text: its vector would mean nothing and still be near to something."""
    for index, text in enumerate(texts):
        if not text.strip():
            raise TextRefused(index, "is blank; a blank text has no meaning to embed.")


def longer_than_window(
    embedder: Windowed, texts: Sequence[str], role: Role
) -> list[tuple[int, int, int]]:
    """(number, tokens, window) of each text of which the model cannot read every token at once."""
    window = embedder.window
    if window is None:
        return []
    counted = enumerate(embedder.count_tokens(texts, role))
    return [(number, tokens, window) for number, tokens in counted if tokens > window]


def check_batch(vectors: Matrix, texts: Sequence[str], dimension: int, first: int = 0) -> Matrix:
    """The vectors as contiguous float32, one a text, or EmbeddingError naming the broken one.

    `first` is the number of the first text, where these are one batch of many.
    """
    names = [f"text {index} ({text[:40]!r})" for index, text in enumerate(texts, first)]
    check_vectors(vectors, names, dimension)
    return np.ascontiguousarray(vectors)
