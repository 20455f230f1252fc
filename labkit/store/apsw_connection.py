"""SQLite by way of apsw, as much of it as a store uses: apsw loads extensions, with any Python.

Python's own sqlite3 often cannot: it is built without them on macOS and in many distributions.
"""

from __future__ import annotations

import sqlite3
from typing import Any

from labkit.types import StoreError


class ApswConnection:
    """As much of `sqlite3.Connection` as the store uses, with an extension loaded.

    apsw's own errors pass through: `apsw_errors` names them, `as_sqlite3` translates them.
    StoreError if apsw is not installed, or the extension cannot be loaded.
    """

    def __init__(self, uri: str, extension: str, busy_seconds: float) -> None:
        try:
            import apsw
        except ImportError as error:
            raise cannot_load("the package apsw is not installed") from error
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        self._apsw = apsw.Connection(uri, flags=flags)
        self._apsw.set_busy_timeout(round(1000 * busy_seconds))
        self._apsw.row_trace = _name_values
        self.execute = self._apsw.execute
        self.executemany = self._apsw.executemany
        self.close = self._apsw.close
        try:
            self._apsw.enable_load_extension(True)
            self._apsw.load_extension(extension)
            self._apsw.enable_load_extension(False)
        except apsw.Error as error:
            self.close()
            raise cannot_load(f"{extension} cannot be loaded: {error}") from error

    def create_function(self, name: str, count: int, call: Any, *, deterministic: bool) -> None:
        self._apsw.create_scalar_function(name, call, count, deterministic=deterministic)

    def __enter__(self) -> ApswConnection:
        return self

    def __exit__(self, kind: object, *_: object) -> None:
        """Commit, or roll back after an exception. SQLite rolls back by itself on some faults."""
        if kind is None:
            self.execute("COMMIT")
        elif self._apsw.in_transaction:
            self.execute("ROLLBACK")


class _Row(tuple[Any, ...]):
    """A row of apsw whose values are found by position and by name, as in `sqlite3.Row`."""

    names: list[str]

    def keys(self) -> list[str]:
        return self.names

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, str) and key not in self.names:
            raise IndexError(f"there is no column {key!r}")
        return super().__getitem__(self.names.index(key) if isinstance(key, str) else key)


def _name_values(cursor: Any, values: tuple[Any, ...]) -> _Row:
    row = _Row(values)
    row.names = [name for name, *_ in cursor.get_description()]
    return row


def cannot_load(why: str) -> StoreError:
    """The error that says what the store on sqlite-vec needs."""
    return StoreError(
        f"The store sqlite-vec needs an extension of SQLite: {why}. "
        "`pip install apsw sqlite-vec` brings it; store.extension_path names another file. "
        'The store that needs none is store.kind = "sqlite".'
    )


def apsw_errors() -> tuple[type[Exception], ...]:
    """The class to catch; nothing where apsw is not installed."""
    try:
        import apsw
    except ImportError:
        return ()
    return (apsw.Error,)


def as_sqlite3(error: Any) -> sqlite3.Error:
    """An error of apsw with the name that sqlite3 would give it."""
    import apsw

    same = sqlite3.OperationalError(str(error))
    code = getattr(error, "extendedresult", 0)
    name = apsw.mapping_extended_result_codes.get(code) or apsw.mapping_result_codes.get(code)
    same.sqlite_errorname = str(name or "")
    return same
