"""Arrays, roles and errors: what every other value is made of."""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One embedding: float32, shape (d,), finite, norm > 0."""

Matrix: TypeAlias = NDArray[np.float32]
"""Embeddings in rows: float32, shape (n, d)."""

Role: TypeAlias = Literal["query", "passage"]
"""What a text is to the embedder. Some models prefix the two differently."""

Status: TypeAlias = Literal["draft", "approved", "retired"]


class LabError(Exception):
    """A fault that the person at the keyboard can mend; its message says how."""


class DocumentError(LabError):
    """A document cannot be read as the lab's contract asks."""


class StoreError(LabError):
    """The index is missing, damaged, or made for other settings."""


class EmbeddingError(LabError):
    """An embedder could not turn these texts into usable vectors."""
