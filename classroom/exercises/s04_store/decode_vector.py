"""Read a vector back

Turn the bytes of a BLOB back into numbers: little-endian float32, 4 bytes each, exactly `dimension`
of them. Raise `ValueError` if the BLOB has any other length: the row is damaged, or another model
wrote it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit.store import rows


def decode_vector(blob: bytes, dimension: int) -> list[float]:
    """The `dimension` numbers that stand in these bytes as little-endian float32."""
    import struct

    if len(blob) != 4 * dimension:
        raise ValueError(f"the vector has {len(blob)} bytes, not {4 * dimension}")
    return list(struct.unpack(f"<{dimension}f", blob))


def _by_labkit(blob: bytes, dimension: int) -> list[float]:
    if len(blob) != 4 * dimension:
        raise ValueError(f"the vector has {len(blob)} bytes, not {4 * dimension}")
    values: list[float] = rows.decode_vector(blob).tolist()
    return values


def read_in_other_order(blob: bytes, dimension: int) -> list[float]:
    """The bytes of each number are read in reverse: read "<f", whatever machine you are on."""
    decode_vector(blob, dimension)
    return list(struct.unpack(f">{dimension}f", blob))


def length_not_checked(blob: bytes, dimension: int) -> list[float]:
    """A BLOB of the wrong length is read all the same: a damaged row must be refused."""
    count = len(blob) // 4
    return list(struct.unpack(f"<{count}f", blob[: 4 * count]))


def rest_ignored(blob: bytes, dimension: int) -> list[float]:
    """Bytes are left over and nobody is told: a longer BLOB is of another model, or damaged."""
    return decode_vector(blob[: 4 * dimension], dimension)


def short_one_filled_up(blob: bytes, dimension: int) -> list[float]:
    """A BLOB that is too short is filled up with zeros: a damaged row must be refused."""
    return decode_vector(blob.ljust(4 * dimension, b"\0"), dimension)


def foreign_error(blob: bytes, dimension: int) -> list[float]:
    """The wrong length ends in an error of struct: raise a ValueError that names both lengths."""
    return list(struct.unpack(f"<{dimension}f", blob))


def rounded_values(blob: bytes, dimension: int) -> list[float]:
    """The numbers are rounded: return exactly what the four bytes say."""
    return [round(value, 2) for value in decode_vector(blob, dimension)]


def _hidden_blobs(random: Random) -> Iterator[Arguments]:
    yield struct.pack("<2f", 1.5, 0.3), 1
    yield struct.pack("<2f", 1.5, 0.3), 3
    yield b"", 1
    yield b"\0\0\x80", 1
    yield struct.pack("<1f", 7.0) + b"\0", 1
    for _ in range(24):
        count = random.randint(1, 6)
        blob = struct.pack(f"<{count}f", *(random.uniform(-2, 2) for _ in range(count)))
        yield blob, random.choice([count] * 5 + [count + 1])


def _any_blob() -> Strategy:
    numbers = st.lists(st.sampled_from([0.1, 1.0, -2.5]), min_size=3, max_size=3)
    return st.tuples(
        st.integers(0, 3), st.integers(1, 3), st.sampled_from([b"", b"\1"]), numbers
    ).map(lambda drawn: (struct.pack(f"<{drawn[0]}f", *drawn[3][: drawn[0]]) + drawn[2], drawn[1]))


EXERCISE = Exercise(
    model_solution=decode_vector,
    reference=_by_labkit,
    cases=(
        case("the four bytes of 1.0", b"\x00\x00\x80\x3f", 1),
        case("three numbers", struct.pack("<3f", 0.1, -2.5, 300.0), 3),
        case("two bytes left over", b"\x00\x00\x80\x3f\x00\x00", 1),
        case("a number is missing", b"\x00\x00\x80\x3f", 2),
    ),
    hidden=_hidden_blobs,
    strategy=_any_blob,
    hints=(
        "Which length must the BLOB have? Compare it before you read anything.",
        "`struct.unpack` takes the same format as `struct.pack` and gives a tuple.",
        '`list(struct.unpack(f"<{dimension}f", blob))` after a check of `len(blob)`.',
    ),
    off_limits=("labkit.store",),
    place=2,
    points=4,
    minutes=10,
)
