"""Transfer: an index that refuses a newer schema

A SQLite file keeps a number of its own, read with `PRAGMA user_version` and set with `PRAGMA
user_version = 3`; a new file has 0. Let it count the schema steps that the file has behind it.
`migrations` lists the steps that your program knows, an SQL statement each. Take those that are
missing, in order, note the new number, and return it. If one of them fails, let its error through
and leave the file as it was, number and tables. If the file's number is higher than the steps you
know, a newer program made it: raise `ValueError` and change nothing.

The result of each case is what a second connection then sees in the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.runtime.scenarios import opened


def open_index(connection: sqlite3.Connection, migrations: list[str]) -> int:
    """Bring the schema up to date and return its number; ValueError if it is a newer one."""
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


def _any_opening() -> Strategy:
    return st.tuples(st.integers(0, 5), st.integers(0, 4), st.booleans()).map(
        lambda drawn: _opening(*drawn)
    )


EXERCISE = Exercise(
    model_solution=open_index,
    reference=open_index,
    cases=(
        case("a new file", *_opening(0, 2, False)),
        case("an older file: two steps are missing", *_opening(1, 3, False)),
        case("a file that is up to date", *_opening(2, 2, False)),
        case("a file that a newer program made", *_opening(3, 2, False)),
        case("a step that fails after one that works", *_opening(1, 2, True)),
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
    off_limits=("labkit.store",),
    place=5,
    points=6,
    minutes=25,
    transfer=True,
    scenario=opened,
    written=lambda arguments: f"open_index(connection to a file at {arguments[0]}, {arguments[1]})",
)
