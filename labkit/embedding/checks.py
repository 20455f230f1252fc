"""What every embedder checks before and after the model's work."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from labkit.similarity import check_vectors
from labkit.types import EmbeddingError, Health, Matrix, Role


class TextTooLong(UserWarning):
    """`text` has more tokens than the model reads: the rest of it is not in its vector."""

    happens = "the model reads the first {limit} of them"

    def __init__(self, text: str, tokens: int, limit: int) -> None:
        happens = self.happens.format(limit=limit)
        super().__init__(f"{text[:40]!r}… has {tokens} tokens; {happens}.")
        self.text, self.tokens, self.limit = text, tokens, limit


class TextInPieces(TextTooLong):
    """`text` has more tokens than the model reads at once: its vector is a mean over pieces."""

    happens = "the model reads {limit} at once, so its vector is a mean over pieces"


class TextRefused(EmbeddingError):
    """Faults of texts, not of the model or the network: trying again would not help.

    `problems` says what is wrong, by the text's number, from 0, among the texts of the call. All
    others of the call could be embedded.
    """

    def __init__(self, problems: Mapping[int, str]) -> None:
        said = [f"text {number} {problem}" for number, problem in sorted(problems.items())]
        super().__init__("\n".join(said))
        self.problems = dict(problems)


class Windowed(Protocol):
    """An embedder that can say, before it computes, what its model cannot read whole."""

    @property
    def window(self) -> int | None:
        """Tokens that the model reads of one text, special tokens and prefix among them."""

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text as the model gets it: with the role's prefix, uncut."""


# A joiner, a mark of direction or an accent alone is nothing to read.
_UNSEEN = (
    r"\s\x00-\x1f\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
READABLE = rf"^[^\x00]*[^{_UNSEEN}][^\x00]*$"
"""A text that can be embedded: with something to read in it, and without NUL, at which engines
written in C would stop."""


def check_texts(texts: Sequence[str]) -> None:
    """Refuse blank texts: their vectors would mean nothing and still be near to something."""
    problems: dict[int, str] = {}
    for number, text in enumerate(texts):
        if "\0" in text:
            problems[number] = "holds a NUL character; remove it."
        elif re.search(READABLE, text) is None:
            problems[number] = "is blank; a blank text has no meaning to embed."
    if problems:
        raise TextRefused(problems)


def health_of(ask: Callable[[], Mapping[str, Any]]) -> Health:
    """Whether an embedder can work: with what it says of itself, or with why it cannot."""
    try:
        return Health(True, detail=ask())
    except EmbeddingError as error:
        return Health(False, str(error))


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
