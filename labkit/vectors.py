"""A vector as bytes: one form, for every file that keeps vectors."""

from __future__ import annotations

import numpy as np

from labkit.types import Vector

LITTLE_ENDIAN = np.dtype("<f4")
"""How a number lies in a file: 4 bytes, the same on every machine."""


def encode_vector(vector: Vector) -> bytes:
    """A vector as little-endian float32: 4 bytes a dimension.

    >>> encode_vector(np.array([1.0], dtype=np.float32)).hex()
    '0000803f'
    """
    return np.asarray(vector, dtype=LITTLE_ENDIAN).tobytes()


def decode_vector(blob: bytes) -> Vector:
    """The vector that `encode_vector` wrote.

    >>> decode_vector(bytes.fromhex("0000803f"))
    array([1.], dtype=float32)
    """
    return np.frombuffer(blob, dtype=LITTLE_ENDIAN).astype(np.float32)
