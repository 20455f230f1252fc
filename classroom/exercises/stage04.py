"""Stage 04: the index in a SQLite file."""

from __future__ import annotations

import json
import pickle
import sqlite3
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np

from classroom.exercise import Arguments, Case, Exercise, cases, mistakes
from classroom.inside.scenarios import opened, rebuilt
from labkit.scan import check_vectors
from labkit.store import manifest, rows
from labkit.types import EmbedderIdentity, EmbeddingError, Manifest

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


# --- encode_vector -------------------------------------------------------------------------------


def encode_vector(values: list[float]) -> bytes:
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


def _any_vector() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    numbers = [1.0, 0.0, -2.5, 0.1, 300.0, 1e39, float("inf"), float("nan")]
    return st.tuples(
        st.integers(0, 3), st.lists(st.sampled_from(numbers), min_size=3, max_size=3)
    ).map(lambda drawn: (drawn[1][: drawn[0]],))


ENCODE_VECTOR = Exercise(
    id="encode_vector",
    stage=4,
    title="Write a vector as bytes",
    task=(
        "Return the numbers of a vector as bytes for a BLOB column: each as a float32 (4 bytes, "
        "IEEE 754), in order, least significant byte first, and nothing else. So `[1.0]` is "
        "`00 00 80 3f` on every machine. Raise `ValueError` for what must not get into an index: "
        "NaN, infinity, a number too large for float32 (such as 1e39), and a vector that is empty "
        "or all zeros."
    ),
    starter='''\
def encode_vector(values: list[float]) -> bytes:
    """The numbers as little-endian float32, 4 bytes each."""
    raise NotImplementedError
''',
    reference=encode_vector,
    cases=cases(
        Case(([1.0],), "one number, four bytes"),
        Case(([0.1, -2.5, 300.0],), "0.1 is rounded to the nearest float32"),
        Case(([1.0, float("nan")],), "not a number"),
        Case(([0.0, 0.0],), "no direction"),
        Case(([1e39],), "too large for four bytes"),
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
    mistakes=mistakes(
        other_byte_order,
        eight_bytes_each,
        stored_as_text,
        pickled,
        not_a_number_stored,
        zero_stored,
        too_large_stored,
    ),
    off_limits=("labkit.store", "labkit.scan", "classroom.exercises"),
    answer="""\
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
""",
    core=True,
    points=5,
    minutes=15,
)


# --- decode_vector -------------------------------------------------------------------------------


def decode_vector(blob: bytes, dimension: int) -> list[float]:
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


def _any_blob() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    numbers = st.lists(st.sampled_from([0.1, 1.0, -2.5]), min_size=3, max_size=3)
    return st.tuples(
        st.integers(0, 3), st.integers(1, 3), st.sampled_from([b"", b"\1"]), numbers
    ).map(lambda drawn: (struct.pack(f"<{drawn[0]}f", *drawn[3][: drawn[0]]) + drawn[2], drawn[1]))


DECODE_VECTOR = Exercise(
    id="decode_vector",
    stage=4,
    title="Read a vector back",
    task=(
        "Turn the bytes of a BLOB back into numbers: little-endian float32, 4 bytes each, exactly "
        "`dimension` of them. Raise `ValueError` if the BLOB has any other length: the row is "
        "damaged, or another model wrote it."
    ),
    starter='''\
def decode_vector(blob: bytes, dimension: int) -> list[float]:
    """The `dimension` numbers that stand in these bytes as little-endian float32."""
    raise NotImplementedError
''',
    reference=decode_vector,
    cases=cases(
        Case((b"\x00\x00\x80\x3f", 1), "the four bytes of 1.0"),
        Case((struct.pack("<3f", 0.1, -2.5, 300.0), 3), "three numbers"),
        Case((b"\x00\x00\x80\x3f\x00\x00", 1), "two bytes left over"),
        Case((b"\x00\x00\x80\x3f", 2), "a number is missing"),
    ),
    hidden=_hidden_blobs,
    strategy=_any_blob,
    hints=(
        "Which length must the BLOB have? Compare it before you read anything.",
        "`struct.unpack` takes the same format as `struct.pack` and gives a tuple.",
        '`list(struct.unpack(f"<{dimension}f", blob))` after a check of `len(blob)`.',
    ),
    mistakes=mistakes(
        read_in_other_order,
        length_not_checked,
        rest_ignored,
        short_one_filled_up,
        foreign_error,
        rounded_values,
    ),
    off_limits=("labkit.store", "classroom.exercises"),
    answer="""\
    import struct

    if len(blob) != 4 * dimension:
        raise ValueError(f"the vector has {len(blob)} bytes, not {4 * dimension}")
    return list(struct.unpack(f"<{dimension}f", blob))
""",
    points=4,
    minutes=10,
)


# --- manifest_differences ------------------------------------------------------------------------

Values = dict[str, Any]
Differences = dict[str, tuple[Any, Any]]

_NEUTRAL = Manifest(EmbedderIdentity("", "", "", "", 1), "", "", "", "")


def manifest_differences(index: Values, now: Values) -> Differences:
    return manifest.manifest_differences(_manifest(index), _manifest(now))


def dimension_alone(index: Values, now: Values) -> Differences:
    """Only the dimension is compared: two models of equal dimension are two different spaces."""
    found = manifest_differences(index, now)
    return {name: pair for name, pair in found.items() if name.endswith("dimension")}


def first_one_only(index: Values, now: Values) -> Differences:
    """You stop at the first difference: whoever must mend the index needs to see them all."""
    found = manifest_differences(index, now)
    return {name: found[name] for name in [name for name in _flat(index) if name in found][:1]}


def nested_values_whole(index: Values, now: Values) -> Differences:
    """Two dictionaries are reported as a whole: name the field in them, as in embedder.model."""
    return {name: (index[name], now[name]) for name in index if index[name] != now[name]}


def nested_values_skipped(index: Values, now: Values) -> Differences:
    """What stands in a dictionary of its own is not compared: the model itself could change."""
    found = manifest_differences(index, now)
    return {name: pair for name, pair in found.items() if "." not in name}


def group_not_named(index: Values, now: Values) -> Differences:
    """A field of a nested dictionary is named without its group: write embedder.model."""
    found = manifest_differences(index, now)
    return {name.rpartition(".")[2]: pair for name, pair in found.items()}


def turned_around(index: Values, now: Values) -> Differences:
    """The two values stand the wrong way round: first that of the index, then that of now."""
    return manifest_differences(now, index)


def empty_values_skipped(index: Values, now: Values) -> Differences:
    """A value that is empty on one side is passed over: a prefix that is gone is a difference."""
    found = manifest_differences(index, now)
    return {name: pair for name, pair in found.items() if all(pair)}


def equal_ones_listed(index: Values, now: Values) -> Differences:
    """Fields that agree are listed too: only a difference is worth a word."""
    left, right = _flat(index), _flat(now)
    return {name: (left[name], right[name]) for name in left}


def _manifest(values: Values) -> Manifest:
    """A manifest with these values, and neutral ones elsewhere."""
    base = asdict(_NEUTRAL)
    embedder = {**base["embedder"], **values.get("embedder", {})}
    return Manifest(**{**base, **values, "embedder": EmbedderIdentity(**embedder)})


def _flat(values: Mapping[str, Any], group: str = "") -> Values:
    flat: Values = {}
    for name, value in values.items():
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {group + name: value}
    return flat


_SETTINGS: tuple[tuple[str, Any, Any], ...] = (
    ("chunker", "chars-600-overlap-80-v1", "chars-400-overlap-80-v1"),
    ("embedder.model", "mini", "other-mini"),
    ("embedder.revision", "1", "2"),
    ("embedder.dimension", 384, 768),
    ("embedder.query_prefix", "query: ", ""),
    ("embedder.normalised", True, False),
    ("analyser", "v1", "v2"),
    ("corpus_sha256", "ab12", "cd34"),
)


def _two_manifests(chosen: Iterable[tuple[int, bool]], swapped: bool = False) -> Arguments:
    """Two manifests with the chosen fields; those that are marked differ."""
    index: Values = {}
    now: Values = {}
    for number, differs in chosen:
        name, old, new = _SETTINGS[number]
        group, _, field = name.rpartition(".")
        for values, value in ((index, old), (now, new if differs else old)):
            (values.setdefault(group, {}) if group else values)[field] = value
    return (now, index) if swapped else (index, now)


def _hidden_manifests(random: Random) -> Iterator[Arguments]:
    everything = range(len(_SETTINGS))
    yield {}, {}
    yield _two_manifests((i, True) for i in everything)
    yield _two_manifests((i, False) for i in everything)
    for position in (1, 2, 4, 5):
        yield _two_manifests(((i, i == position) for i in everything), swapped=position == 4)
    yield _two_manifests([(3, False), (6, True)])
    for _ in range(24):
        numbers = random.sample(everything, random.randint(1, 8))
        yield _two_manifests(
            [(i, random.random() < 0.4) for i in numbers], swapped=random.random() < 0.5
        )


def _any_manifests() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    chosen = st.tuples(st.integers(0, len(_SETTINGS) - 1), st.booleans())
    return st.tuples(
        st.lists(chosen, max_size=4, unique_by=lambda item: item[0]), st.booleans()
    ).map(lambda drawn: _two_manifests(*drawn))


MANIFEST_DIFFERENCES = Exercise(
    id="manifest_differences",
    stage=4,
    title="Say in what two manifests differ",
    task=(
        "`index` says with which settings an index was built, `now` with which ones it is about to "
        "be read. Both have the same fields; a field may hold a dictionary of its own, one level "
        "deep. Return a dictionary with one entry for every field in which they differ, "
        "`{field: (value in the index, value now)}`; a field inside a dictionary is named with it, "
        "as in `embedder.model`. Where nothing differs, the result is empty."
    ),
    starter='''\
def manifest_differences(
    index: dict[str, object], now: dict[str, object]
) -> dict[str, tuple[object, object]]:
    """{field: (value in the index, value now)} for every field that differs."""
    raise NotImplementedError
''',
    reference=manifest_differences,
    cases=cases(
        Case(_two_manifests([(0, True), (7, False)]), "another chunker"),
        Case(_two_manifests([(1, True), (3, False)]), "another model of equal dimension"),
        Case(_two_manifests([(4, True), (1, False)]), "a prefix that is gone"),
        Case(_two_manifests([(0, True), (2, True), (7, True)]), "three differences at once"),
        Case(_two_manifests([(0, False), (1, False)]), "nothing differs"),
    ),
    hidden=_hidden_manifests,
    strategy=_any_manifests,
    hints=(
        "It is easier to compare two flat dictionaries. How would you make one of each?",
        "Flatten first: `embedder` with `model` inside becomes one name, `embedder.model`.",
        "Then go over the names and keep those whose values are not equal.",
        "`{name: (left[name], right[name]) for name in left if left[name] != right[name]}`.",
    ),
    mistakes=mistakes(
        dimension_alone,
        first_one_only,
        nested_values_whole,
        nested_values_skipped,
        group_not_named,
        turned_around,
        empty_values_skipped,
        equal_ones_listed,
    ),
    off_limits=("labkit.store", "classroom.exercises"),
    answer="""\
    def flat(values):
        names = {}
        for name, value in values.items():
            if isinstance(value, dict):
                names.update({f"{name}.{inner}": value[inner] for inner in value})
            else:
                names[name] = value
        return names

    left, right = flat(index), flat(now)
    return {name: (left[name], right[name]) for name in left if left[name] != right[name]}
""",
    points=5,
    minutes=15,
)


# --- replace_index -------------------------------------------------------------------------------

Embed = Callable[[str], bytes]

_INSERT = "INSERT INTO passage VALUES (?, ?, ?)"


def replace_index(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    # As labkit.store does: all vectors first, then one transaction for everything that is written.
    vectors = {name: embed(text) for name, text in texts.items()}
    with connection:
        connection.execute("DELETE FROM passage")
        connection.executemany(
            "INSERT INTO passage VALUES (?, ?, ?)",
            [(name, text, vectors[name]) for name, text in texts.items()],
        )


def embedded_inside(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    """The embedder runs while your transaction is open: for all that time nobody else can write."""
    with connection:
        connection.execute("DELETE FROM passage")
        for name, text in texts.items():
            connection.execute(_INSERT, (name, text, embed(text)))


def two_transactions(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    """Deleting is a transaction of its own: a failure after it leaves no index, old or new."""
    made = _embedded(texts, embed)
    with connection:
        connection.execute("DELETE FROM passage")
    with connection:
        connection.executemany(_INSERT, made)


def committed_before_vectors(
    connection: sqlite3.Connection, texts: dict[str, str], embed: Embed
) -> None:
    """The old rows are gone before the vectors exist: make all of them before you delete."""
    with connection:
        connection.execute("DELETE FROM passage")
    made = _embedded(texts, embed)
    with connection:
        connection.executemany(_INSERT, made)


def committed_row_by_row(
    connection: sqlite3.Connection, texts: dict[str, str], embed: Embed
) -> None:
    """Every row is committed by itself: a failure half-way leaves half an index."""
    made = _embedded(texts, embed)
    connection.execute("DELETE FROM passage")
    for row in made:
        connection.execute(_INSERT, row)
        connection.commit()
    connection.commit()


def never_committed(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    """Nothing is committed: nobody else sees the new rows, and closing the file loses them."""
    made = _embedded(texts, embed)
    connection.execute("DELETE FROM passage")
    connection.executemany(_INSERT, made)


def never_rolled_back(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    """After a failure the transaction stays open: the next commit writes your half-made index."""
    made = _embedded(texts, embed)
    connection.execute("DELETE FROM passage")
    connection.executemany(_INSERT, made)
    connection.commit()


def interruption_forgotten(
    connection: sqlite3.Connection, texts: dict[str, str], embed: Embed
) -> None:
    """A Ctrl-C is not rolled back: KeyboardInterrupt is no Exception, so your except misses it."""
    made = _embedded(texts, embed)
    try:
        connection.execute("DELETE FROM passage")
        connection.executemany(_INSERT, made)
        connection.commit()
    except Exception:
        connection.rollback()
        raise


def failure_swallowed(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    """The failure is swallowed: whoever called you believes that the new index is in place."""
    try:
        replace_index(connection, texts, embed)
    except Exception:
        connection.rollback()


def old_rows_kept(connection: sqlite3.Connection, texts: dict[str, str], embed: Embed) -> None:
    """Rows of texts that are gone stay in the index: they would still answer questions."""
    made = _embedded(texts, embed)
    with connection:
        connection.executemany(f"INSERT OR REPLACE{_INSERT.removeprefix('INSERT')}", made)


def other_tables_emptied(
    connection: sqlite3.Connection, texts: dict[str, str], embed: Embed
) -> None:
    """Another table of the same file is emptied: only the rows of `passage` are yours."""
    made = _embedded(texts, embed)
    with connection:
        for table in ("passage", "note"):
            connection.execute(f"DELETE FROM {table}")  # noqa: S608 - two fixed names
        connection.executemany(_INSERT, made)


def _embedded(texts: dict[str, str], embed: Embed) -> list[tuple[str, str, bytes]]:
    return [(name, text, embed(text)) for name, text in texts.items()]


def _trouble(fault: list[Any] | None) -> str:
    if fault is None:
        return "nothing goes wrong"
    place, number, kind = fault
    doing = "embedding" if place == "embed" else "writing"
    return f"{kind} while {doing} text {number + 1}"


_TEXTS = {"a": "new text of a", "b": "text of b", "c": "text of c"}
_FAULTS = (
    ("write", "OSError"),
    ("write", "KeyboardInterrupt"),
    ("embed", "ConnectionError"),
    ("embed", "KeyboardInterrupt"),
)


def _hidden_rebuilds(random: Random) -> Iterator[Arguments]:
    yield {}, None
    yield {"new": "one text"}, None
    yield {"new": "one text", "old": "another"}, ["write", 1, "OSError"]
    yield {"new": "one text", "old": "another"}, ["write", 1, "KeyboardInterrupt"]
    yield {"new": "one text", "old": "another"}, ["embed", 0, "KeyboardInterrupt"]
    yield {"new": "one text", "old": "another"}, ["write", 0, "OSError"]
    for _ in range(18):
        names = random.sample(["a", "b", "old", "p#0", "p%1", "d'e"], random.randint(2, 5))
        texts = {name: f"text {i} of {name}" for i, name in enumerate(names)}
        place, kind = random.choice(_FAULTS)
        fault = [place, random.randrange(len(names)), kind]
        yield texts, random.choice([None, fault, fault, fault])


def _any_rebuild() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    def rebuild(drawn: tuple[int, int, tuple[str, str] | None]) -> Arguments:
        count, number, fault = drawn
        texts = dict(list(_TEXTS.items())[:count])
        if fault is None or not count:
            return texts, None
        return texts, [fault[0], min(number, count - 1), fault[1]]

    faults = st.sampled_from([None, *_FAULTS])
    return st.tuples(st.integers(0, 3), st.integers(0, 2), faults).map(rebuild)


REPLACE_INDEX = Exercise(
    id="replace_index",
    stage=4,
    title="Replace an index, all or nothing",
    task=(
        "`connection` is an open SQLite file (from `sqlite3.connect`, nothing changed) with a "
        "table `passage (id, text, vector)`. Replace all its rows by those of `texts` "
        "(`{id: text}`); the vector of each is `embed(text)`: bytes, slow, and it may fail. Whatever "
        "goes wrong on the way (an embedder that fails, an error while writing, a Ctrl-C), let it "
        "through to the caller and leave the old index whole, with no transaction open. While the "
        "embedder works, others must still be able to write to the file. Leave the file's other "
        "tables alone, and the connection open.\n\n"
        "Each case says what goes wrong on the way, if anything does; "
        "the result is what a second connection then sees in the file."
    ),
    starter='''\
import sqlite3
from collections.abc import Callable


def replace_index(
    connection: sqlite3.Connection, texts: dict[str, str], embed: Callable[[str], bytes]
) -> None:
    """Replace all rows of `passage`; on any failure the old ones stay."""
    raise NotImplementedError
''',
    reference=replace_index,
    cases=cases(
        Case((_TEXTS, None), "nothing goes wrong"),
        Case((_TEXTS, ["embed", 1, "ConnectionError"]), "the embedder fails at the second text"),
        Case((_TEXTS, ["write", 1, "OSError"]), "an error half-way through the rows"),
        Case((_TEXTS, ["write", 2, "KeyboardInterrupt"]), "a Ctrl-C at the last row"),
        Case((_TEXTS, ["embed", 2, "KeyboardInterrupt"]), "a Ctrl-C while the embedder works"),
    ),
    hidden=_hidden_rebuilds,
    strategy=_any_rebuild,
    hints=(
        "Two things take part: slow work that may fail, and writing. Which can be over before the "
        "other begins?",
        "Make all vectors first, into a list or a dictionary. If that fails, nothing has happened.",
        "Deleting and inserting belong into one transaction: all of it is done, or nothing.",
        "`with connection:` commits at its end and rolls back on every exception, a Ctrl-C too.",
    ),
    mistakes=mistakes(
        embedded_inside,
        two_transactions,
        committed_before_vectors,
        committed_row_by_row,
        never_committed,
        never_rolled_back,
        interruption_forgotten,
        failure_swallowed,
        old_rows_kept,
        other_tables_emptied,
    ),
    off_limits=("labkit.store", "labkit.indexing", f"{__name__}.replace_index"),
    answer="""\
    rows = [(name, text, embed(text)) for name, text in texts.items()]
    with connection:
        connection.execute("DELETE FROM passage")
        connection.executemany("INSERT INTO passage VALUES (?, ?, ?)", rows)
""",
    scenario=rebuilt,
    written=lambda arguments: (
        f"replace_index(connection, {arguments[0]}, embed), {_trouble(arguments[1])}"
    ),
    core=True,
    points=8,
    minutes=30,
)


# --- transfer: open_index ------------------------------------------------------------------------


def open_index(connection: sqlite3.Connection, migrations: list[str]) -> int:
    # As labkit.store does: refuse first, then all that is missing in one transaction.
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    if found > len(migrations):
        raise ValueError(f"schema {found} is newer than {len(migrations)}: update the program")
    with connection:
        connection.execute("BEGIN")
        for statement in migrations[found:]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    return len(migrations)


def newer_one_opened(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """A file with a newer schema is opened: you would read and write what you do not know."""
    found = _version(connection)
    return found if found > len(migrations) else open_index(connection, migrations)


def newer_one_set_back(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """The number of a newer schema is set back: the program that knows it is deceived."""
    if _version(connection) > len(migrations):
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    return open_index(connection, migrations)


def newest_one_refused(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """A file that is up to date is refused: only a number above yours is newer."""
    if _version(connection) >= len(migrations):
        raise ValueError
    return open_index(connection, migrations)


def all_steps_again(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """Steps that the file has behind it are taken again: begin with the first that is missing."""
    if _version(connection) > len(migrations):
        raise ValueError
    with connection:
        connection.execute("BEGIN")
        for statement in migrations:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    return len(migrations)


def number_not_noted(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """The new number is not written into the file: the next start takes the same steps again."""
    found = _version(connection)
    result = open_index(connection, migrations)
    connection.execute(f"PRAGMA user_version = {found}")
    return result


def step_by_step(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """A step that fails leaves the ones before it in the file: Python begins no transaction for
    CREATE by itself, so say BEGIN."""
    if _version(connection) > len(migrations):
        raise ValueError
    with connection:
        for statement in migrations[_version(connection) :]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {len(migrations)}")
    return len(migrations)


def one_step_only(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """Only one step is taken although more are missing: an old file needs them all, in order."""
    return open_index(connection, migrations[: _version(connection) + 1])


def _version(connection: sqlite3.Connection) -> int:
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    return int(found)


_STEPS = (
    "CREATE TABLE passage (id TEXT PRIMARY KEY, text TEXT)",
    "CREATE TABLE product (code TEXT PRIMARY KEY)",
    "CREATE INDEX by_text ON passage (text)",
    "CREATE TABLE question (text TEXT)",
)
_BROKEN = "CREATE TABLE passage (a)"  # it is there already


def _opening(found: int, known: int, broken: bool) -> Arguments:
    """A file at schema `found`, a program that knows `known` steps, perhaps with a broken last."""
    steps = list(_STEPS[:known])
    return found, [*steps, _BROKEN] if broken and steps and found <= known else steps


def _hidden_openings(random: Random) -> Iterator[Arguments]:
    yield 0, []
    yield 1, []
    yield _opening(4, 4, False)
    yield _opening(1, 4, False)
    yield _opening(1, 3, True)
    yield _opening(0, 2, True)
    yield _opening(9, 4, False)
    for _ in range(20):
        tables = [f"CREATE TABLE t{i} (a)" for i in random.sample(range(50), random.randint(2, 6))]
        broken = tables[0] if random.random() < 0.3 else "CREATE INDEX i ON nothing (a)"
        found = random.randint(0, len(tables) + 2)
        if found <= len(tables) and random.random() < 0.4:
            tables.append(broken)
        yield found, tables


def _any_opening() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    return st.tuples(st.integers(0, 5), st.integers(0, 4), st.booleans()).map(
        lambda drawn: _opening(*drawn)
    )


OPEN_INDEX = Exercise(
    id="open_index",
    stage=4,
    title="Transfer: an index that refuses a newer schema",
    task=(
        "A SQLite file keeps a number of its own, read with `PRAGMA user_version` and set with "
        "`PRAGMA user_version = 3`; a new file has 0. Let it count the schema steps that the file "
        "has behind it. `migrations` lists the steps that your program knows, an SQL statement "
        "each. Take those that are missing, in order, note the new number, and return it. If one "
        "of them fails, let its error through and leave the file as it was, number and tables. If "
        "the file's number is higher than the steps you know, a newer program made it: raise "
        "`ValueError` and change nothing.\n\n"
        "The result of each case is what a second connection "
        "then sees in the file."
    ),
    starter='''\
import sqlite3


def open_index(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """Bring the schema up to date and return its number; ValueError if it is a newer one."""
    raise NotImplementedError
''',
    reference=open_index,
    cases=cases(
        Case(_opening(0, 2, False), "a new file"),
        Case(_opening(1, 3, False), "an older file: two steps are missing"),
        Case(_opening(2, 2, False), "a file that is up to date"),
        Case(_opening(3, 2, False), "a file that a newer program made"),
        Case(_opening(1, 2, True), "a step that fails after one that works"),
    ),
    hidden=_hidden_openings,
    strategy=_any_opening,
    hints=(
        "There are three situations: the file is newer, up to date, or older. Which one must be "
        "dealt with before anything is written?",
        "What is missing is `migrations[found:]`: the first `found` steps are behind the file.",
        "All steps and the new number belong into one transaction: all of it, or nothing.",
        "Python begins a transaction by itself for INSERT, UPDATE and DELETE, but for no CREATE: "
        'inside `with connection:`, start with `connection.execute("BEGIN")`.',
    ),
    mistakes=mistakes(
        newer_one_opened,
        newer_one_set_back,
        newest_one_refused,
        all_steps_again,
        number_not_noted,
        step_by_step,
        one_step_only,
    ),
    off_limits=("labkit.store", f"{__name__}.open_index"),
    answer="""\
    (found,) = connection.execute("PRAGMA user_version").fetchone()
    known = len(migrations)
    if found > known:
        raise ValueError(f"the file has schema {found}; this program knows up to {known}")
    with connection:
        connection.execute("BEGIN")
        for statement in migrations[found:]:
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {known}")
    return known
""",
    scenario=opened,
    written=lambda arguments: f"open_index(connection to a file at {arguments[0]}, {arguments[1]})",
    transfer=True,
    points=6,
    minutes=25,
)

EXERCISES = (ENCODE_VECTOR, DECODE_VECTOR, MANIFEST_DIFFERENCES, REPLACE_INDEX, OPEN_INDEX)
