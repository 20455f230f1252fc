"""Write a vector as bytes

Return the numbers of a vector as bytes for a BLOB column: each as a float32 (4 bytes, IEEE 754), in
order, least significant byte first, and nothing else. So `[1.0]` is `00 00 80 3f` on every machine.
Raise `ValueError` for what must not get into an index: NaN, infinity, a number too large for
float32 (such as 1e39), and a vector that is empty or all zeros.
"""

from __future__ import annotations

import json
import pickle
import struct
from collections.abc import Iterator
from random import Random

import numpy as np

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit.similarity import check_vectors
from labkit.store import rows
from labkit.types import EmbeddingError


def encode_vector(values: list[float]) -> bytes:
    """The numbers as little-endian float32, 4 bytes each."""
    import math
    import struct

    if not all(math.isfinite(value) for value in values):
        raise ValueError("NaN and infinity have no place in an index")
    if not any(values):
        raise ValueError("a vector needs a direction")
    try:
        return struct.pack(f"<{len(values)}f", *values)
    except OverflowError as error:
        raise ValueError("a number is too large for float32") from error


def _by_labkit(values: list[float]) -> bytes:
    with np.errstate(over="ignore"):
        vector = np.array(values, dtype=np.float32)
    try:
        check_vectors(vector[None, :], ["the vector"])
    except EmbeddingError as error:
        raise ValueError(str(error)) from error
    return rows.encode_vector(vector)


def other_byte_order(values: list[float]) -> bytes:
    """The bytes of each number are reversed: write "<f", not the order of some machine."""
    encode_vector(values)
    return struct.pack(f">{len(values)}f", *values)


def eight_bytes_each(values: list[float]) -> bytes:
    """Each number takes 8 bytes, twice what the index expects: float32 takes 4."""
    encode_vector(values)
    return struct.pack(f"<{len(values)}d", *values)


def stored_as_text(values: list[float]) -> bytes:
    """The numbers are written as text, of a length that varies: write 4 bytes for each of them."""
    encode_vector(values)
    return json.dumps(values).encode()


def pickled(values: list[float]) -> bytes:
    """This is a pickle: reading one back runs whatever code somebody has put into it."""
    encode_vector(values)
    return pickle.dumps(values)


def not_a_number_stored(values: list[float]) -> bytes:
    """NaN or infinity is stored: every cosine with this vector is NaN from then on."""
    if all(np.isfinite(values)):
        return encode_vector(values)
    return struct.pack(f"<{len(values)}f", *values)


def zero_stored(values: list[float]) -> bytes:
    """A vector without a direction (empty, or all zeros) is stored: no cosine exists for it."""
    return encode_vector(values) if any(values) else bytes(4 * len(values))


def too_large_stored(values: list[float]) -> bytes:
    """A number too large for float32 ends in an OverflowError: refuse it with a ValueError."""
    if all(np.isfinite(values)) and any(abs(value) > 3.5e38 for value in values):
        raise OverflowError
    return encode_vector(values)


def _hidden_vectors(random: Random) -> Iterator[Arguments]:
    yield ([],)
    yield ([0.0],)
    yield ([0.5, float("nan")],)
    yield ([float("-inf"), 1.0],)
    yield ([1.0, -1e39],)
    yield ([3.0e38, -1.5],)
    yield ([0.0, -0.1],)
    for _ in range(24):
        yield ([round(random.uniform(-3, 3), 3) or 1.0 for _ in range(random.randint(1, 8))],)


def _any_vector() -> Strategy:
    numbers = [1.0, 0.0, -2.5, 0.1, 300.0, 1e39, float("inf"), float("nan")]
    return st.tuples(
        st.integers(0, 3), st.lists(st.sampled_from(numbers), min_size=3, max_size=3)
    ).map(lambda drawn: (drawn[1][: drawn[0]],))


EXERCISE = Exercise(
    model_solution=encode_vector,
    reference=_by_labkit,
    cases=(
        case("one number, four bytes", [1.0]),
        case("0.1 is rounded to the nearest float32", [0.1, -2.5, 300.0]),
        case("not a number", [1.0, float("nan")]),
        case("no direction", [0.0, 0.0]),
        case("too large for four bytes", [1e39]),
    ),
    hidden=_hidden_vectors,
    strategy=_any_vector,
    hints=(
        "How many bytes must three numbers take? Check the length of your result first.",
        "The module `struct` packs numbers into bytes; its format says the type and the order.",
        '`struct.pack(f"<{len(values)}f", *values)`: `<` is little-endian, `f` is float32.',
        "Refuse first: `math.isfinite` for every number, `any(values)` for the whole vector. For "
        "a number that is too large, `struct.pack` raises OverflowError; turn it into ValueError.",
    ),
    off_limits=(
        "labkit.store",
        "labkit.similarity",
    ),
    points=5,
    minutes=15,
    core=True,
)
