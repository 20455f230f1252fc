"""Replace an index, all or nothing

`connection` is an open SQLite file (from `sqlite3.connect`, nothing changed) with a table `passage
(id, text, vector)`. Replace all its rows by those of `texts` (`{id: text}`); the vector of each is
`embed(text)`: bytes, slow, and it may fail. Whatever goes wrong on the way (an embedder that fails,
an error while writing, a Ctrl-C), let it through to the caller and leave the old index whole, with
no transaction open. While the embedder works, others must still be able to write to the file. Leave
the file's other tables alone, and the connection open.

Each case says what goes wrong on the way, if anything does; the result is what a second connection
then sees in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import suppress
from random import Random
from sqlite3 import Connection
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.runtime.scenarios import rebuilt

Embed: TypeAlias = Callable[[str], bytes]
Texts: TypeAlias = dict[str, str]


def replace_index(
    connection: sqlite3.Connection, texts: dict[str, str], embed: Callable[[str], bytes]
) -> None:
    """Replace all rows of `passage`; on any failure the old ones stay."""
    rows = [(name, text, embed(text)) for name, text in texts.items()]
    with connection:
        connection.execute("DELETE FROM passage")
        connection.executemany("INSERT INTO passage VALUES (?, ?, ?)", rows)


_DELETE, _INSERT = "DELETE FROM passage", "INSERT INTO passage VALUES (?, ?, ?)"


def embedded_inside(connection: Connection, texts: Texts, embed: Embed) -> None:
    """The embedder runs while your transaction is open: for all that time nobody else can write."""
    with connection:
        connection.execute(_DELETE)
        connection.executemany(_INSERT, _rows(texts, embed))


def two_transactions(connection: Connection, texts: Texts, embed: Embed) -> None:
    """Deleting is a transaction of its own: a failure after it leaves no index, old or new."""
    made = [*_rows(texts, embed)]
    with connection:
        connection.execute(_DELETE)
    with connection:
        connection.executemany(_INSERT, made)


def committed_before_vectors(connection: Connection, texts: Texts, embed: Embed) -> None:
    """The old rows are gone before the vectors exist: make all of them before you delete."""
    with connection:
        connection.execute(_DELETE)
    replace_index(connection, texts, embed)


def committed_row_by_row(connection: Connection, texts: Texts, embed: Embed) -> None:
    """Every row is committed by itself: a failure half-way leaves half an index."""
    made = [*_rows(texts, embed)]
    connection.execute(_DELETE)
    for row in made:
        connection.execute(_INSERT, row)
        connection.commit()
    connection.commit()


def never_committed(connection: Connection, texts: Texts, embed: Embed) -> None:
    """Nothing is committed: nobody else sees the new rows, and closing the file loses them."""
    made = [*_rows(texts, embed)]
    connection.execute(_DELETE)
    connection.executemany(_INSERT, made)


def never_rolled_back(connection: Connection, texts: Texts, embed: Embed) -> None:
    """After a failure the transaction stays open: the next commit writes your half-made index."""
    never_committed(connection, texts, embed)
    connection.commit()


def interruption_forgotten(connection: Connection, texts: Texts, embed: Embed) -> None:
    """A Ctrl-C is not rolled back: KeyboardInterrupt is no Exception, so your except misses it."""
    vectors = {text: embed(text) for text in texts.values()}
    try:
        never_rolled_back(connection, texts, vectors.__getitem__)
    except Exception:
        connection.rollback()
        raise


def failure_swallowed(connection: Connection, texts: Texts, embed: Embed) -> None:
    """The failure is swallowed: whoever called you believes that the new index is in place."""
    with suppress(Exception):
        replace_index(connection, texts, embed)


def old_rows_kept(connection: Connection, texts: Texts, embed: Embed) -> None:
    """Rows of texts that are gone stay in the index: they would still answer questions."""
    made = [*_rows(texts, embed)]
    with connection:
        connection.executemany(f"INSERT OR REPLACE{_INSERT.removeprefix('INSERT')}", made)


def other_tables_emptied(connection: Connection, texts: Texts, embed: Embed) -> None:
    """Another table of the same file is emptied: only the rows of `passage` are yours."""
    replace_index(connection, texts, embed)
    with connection:
        connection.execute("DELETE FROM note")


def _rows(texts: Texts, embed: Embed) -> Iterator[tuple[str, str, bytes]]:
    for name, text in texts.items():
        yield name, text, embed(text)


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


def _any_rebuild() -> Strategy:
    def rebuild(drawn: tuple[int, int, tuple[str, str] | None]) -> Arguments:
        count, number, fault = drawn
        texts = dict(list(_TEXTS.items())[:count])
        if fault is None or not count:
            return texts, None
        return texts, [fault[0], min(number, count - 1), fault[1]]

    faults = st.sampled_from([None, *_FAULTS])
    return st.tuples(st.integers(0, 3), st.integers(0, 2), faults).map(rebuild)


EXERCISE = Exercise(
    model_solution=replace_index,
    reference=replace_index,
    cases=(
        case("nothing goes wrong", _TEXTS, None),
        case("the embedder fails at the second text", _TEXTS, ["embed", 1, "ConnectionError"]),
        case("an error half-way through the rows", _TEXTS, ["write", 1, "OSError"]),
        case("a Ctrl-C at the last row", _TEXTS, ["write", 2, "KeyboardInterrupt"]),
        case("a Ctrl-C while the embedder works", _TEXTS, ["embed", 2, "KeyboardInterrupt"]),
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
    off_limits=(
        "labkit.store",
        "labkit.indexing",
    ),
    place=4,
    points=8,
    minutes=30,
    core=True,
    scenario=rebuilt,
    written=lambda arguments: (
        f"replace_index(connection, {arguments[0]}, embed), {_trouble(arguments[1])}"
    ),
)
