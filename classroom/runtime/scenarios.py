"""Scenarios: what an exercise's function meets where it runs, such as a file and a failure.

A scenario calls the function once and says what came of it. It looks with functions that it took
before any of a learner's code ran, so that replacing `sqlite3.connect` changes nothing.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from sqlite3 import connect as _connect
from typing import Any

_INSERT = "INSERT INTO passage VALUES (?, ?, ?)"
_OLD = {"a": "old text of a", "old": "a text that is gone"}
_SCHEMA = """
    CREATE TABLE passage (id TEXT PRIMARY KEY, text TEXT NOT NULL, vector BLOB NOT NULL);
    CREATE TABLE note (text TEXT NOT NULL);
    INSERT INTO note VALUES ('keep me');
"""


class _Fault:
    """Something that goes wrong once: `place` is embed or write, at the text of this number."""

    def __init__(self, texts: Mapping[str, str], fault: list[Any] | None) -> None:
        place, number, kind = fault or ["", 0, "OSError"]
        self.place: str = place
        self.text = list(texts.values())[number] if fault else None
        known: dict[str, BaseException] = {
            "OSError": OSError("the disk is full"),
            "ConnectionError": ConnectionError("the embedding service does not answer"),
            "KeyboardInterrupt": KeyboardInterrupt(),
        }
        self.error = known[kind]

    def strike(self, place: str, *values: Any) -> None:
        if place == self.place and self.text in values:
            raise self.error


class _Connection(sqlite3.Connection):
    """A connection on which writing a certain text fails; all else is as usual."""

    fault: _Fault

    def execute(self, *arguments: Any) -> _Cursor:
        return self.cursor().execute(*arguments)

    def executemany(self, *arguments: Any) -> _Cursor:
        return self.cursor().executemany(*arguments)

    def cursor(self, *_: Any) -> _Cursor:  # type: ignore[override]
        return super().cursor(_Cursor)


class _Cursor(sqlite3.Cursor):
    connection: _Connection

    def execute(self, sql: str, parameters: Any = ()) -> _Cursor:
        self.connection.fault.strike("write", *_bound(parameters))
        return super().execute(sql, parameters)

    def executemany(self, sql: str, parameters: Iterable[Any]) -> _Cursor:
        return super().executemany(sql, self._watched(parameters))

    def _watched(self, parameters: Iterable[Any]) -> Iterator[Any]:
        for row in parameters:
            self.connection.fault.strike("write", *_bound(row))
            yield row


def _bound(parameters: Any) -> Iterable[Any]:
    values: Iterable[Any] = parameters.values() if isinstance(parameters, dict) else parameters
    return values


def rebuilt(
    function: Callable[..., Any], texts: dict[str, str], wrong: list[Any] | None
) -> dict[str, Any]:
    """A real file with an old index, a fault on the way, and a second look at it."""
    fault = _Fault(texts, wrong)
    locked: list[bool] = []

    def embed(text: str) -> bytes:
        locked.append(_locked(path))
        fault.strike("embed", text)
        return text[::-1].encode()

    with _file(_SCHEMA) as path, closing(_connect(path, factory=_Connection)) as connection:
        connection.fault = _Fault({}, None)
        connection.execute("PRAGMA synchronous = OFF")
        with connection:
            connection.executemany(_INSERT, [(n, text, b"old") for n, text in _OLD.items()])
        connection.fault = fault
        raised = ""
        try:
            function(connection, texts, embed)
        except BaseException as error:
            if error is not fault.error:
                raise
            raised = type(error).__name__
        return {
            "raised": raised,
            "rows": _seen(path, "SELECT * FROM passage ORDER BY id"),
            "note": _seen(path, "SELECT text FROM note"),
            "locked while embedding": any(locked),
            "connection": _state(connection),
        }


@contextmanager
def _file(script: str) -> Iterator[str]:
    """A SQLite file in a folder that is gone afterwards."""
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder, "index.db"))
        with closing(_connect(path)) as connection:
            connection.executescript(f"PRAGMA synchronous = OFF; BEGIN; {script}; COMMIT")
        yield path


def _seen(path: str, query: str) -> Any:
    """What somebody else sees in the file."""
    with closing(_connect(path, timeout=0)) as second:
        try:
            return second.execute(query).fetchall()
        except sqlite3.OperationalError as error:
            return str(error)


def _locked(path: str) -> bool:
    """Is somebody else kept from writing right now?"""
    with closing(_connect(path, timeout=0)) as second:
        try:
            second.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def _state(connection: sqlite3.Connection) -> str:
    try:
        return "a transaction is still open" if connection.in_transaction else "ready"
    except sqlite3.ProgrammingError:
        return "closed"


def opened(function: Callable[..., Any], found: int, migrations: list[str]) -> dict[str, Any]:
    """A real file of some schema version, and a second look at it."""
    made = migrations[:found]
    made += ["CREATE TABLE later (a)"] * (found > len(migrations))
    script = ";".join([*made, f"PRAGMA user_version = {found}"])
    with _file(script) as path, closing(_connect(path)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        returned, raised = None, ""
        try:
            returned = function(connection, migrations)
        except (ValueError, sqlite3.Error) as error:
            raised = type(error).__name__
        return {
            "returned": returned,
            "raised": raised,
            "user_version": _seen(path, "PRAGMA user_version"),
            "tables": _seen(path, "SELECT name FROM sqlite_master WHERE sql > '' ORDER BY name"),
            "connection": _state(connection),
        }


TIMED_OUT = 0  # in the place of a status: no reply in time


def served(
    function: Callable[..., Any], texts: list[str], size: int, tries: int, faults: list[int]
) -> dict[str, Any]:
    """An embedding service whose first requests end with these statuses, all later ones well."""
    asked: list[list[str]] = []

    def post(batch: Iterable[str]) -> dict[str, Any]:
        asked.append(list(batch))
        status = (faults[len(asked) - 1 :] or [200])[0]
        if status == TIMED_OUT:
            raise TimeoutError("no reply within 30 seconds")
        if not asked[-1] or len(asked[-1]) > size:
            status = 422
        vectors = _rows(asked[-1], len(asked)) if status == 200 else []
        return {"status": status, "vectors": vectors}

    returned, raised = None, ""
    try:
        returned = function(texts, post, size, tries)
    except (ValueError, ConnectionError) as error:
        raised = "ValueError" if isinstance(error, ValueError) else "ConnectionError"
    return {"returned": returned, "raised": raised, "requests": asked}


def _rows(batch: list[str], turn: int) -> list[dict[str, Any]]:
    """A vector for each text, with its index, and the items turned round by so many places."""
    rows = [
        {"index": index, "vector": [float(len(text)), float(sum(map(ord, text)) % 97)]}
        for index, text in enumerate(batch)
    ]
    turn %= len(rows)
    return rows[turn:] + rows[:turn]
