"""What every embedder checks before and after the model's work."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from labkit.scan import check_vectors
from labkit.types import EmbeddingError, Matrix


class TextTooLong(UserWarning):
    """`text` has more tokens than the model reads: the rest of it is not in its vector."""

    def __init__(self, text: str, tokens: int, limit: int) -> None:
        super().__init__(
            f"{text[:40]!r}… has {tokens} tokens; the model reads the first {limit} of them."
        )
        self.text, self.tokens, self.limit = text, tokens, limit


def check_texts(texts: Sequence[str]) -> None:
    """Refuse a blank text: its vector would mean nothing and still be near to something."""
    for index, text in enumerate(texts):
        if not text.strip():
            raise EmbeddingError(f"text {index} is blank; a blank text has no meaning to embed.")


def check_batch(vectors: Matrix, texts: Sequence[str], dimension: int, first: int = 0) -> Matrix:
    """The vectors as contiguous float32, one a text, or EmbeddingError naming the broken one.

    `first` is the number of the first text, where these are one batch of many.
    """
    names = [f"text {index} ({text[:40]!r})" for index, text in enumerate(texts, first)]
    check_vectors(vectors, names, dimension)
    return np.ascontiguousarray(vectors)
