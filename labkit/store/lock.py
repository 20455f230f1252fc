"""One run at a time: two that mean to make the index equal to two folders would mix them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from labkit.types import StoreError


@contextmanager
def index_lock(index: Path) -> Iterator[None]:
    """Hold the index for one run; StoreError at once if another run holds it.

    The lock is SQLite's own, on an empty file beside the index: it works on every system, and a
    process that is killed lets go of it. Questions need no lock, and a single write waits for its
    own transaction only; a run may take hours, so a second one is refused and does not wait.
    """
    path = index.parent / f"{index.name}.lock"  # appended: `.lock` may be the index's own ending
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(path, timeout=0, isolation_level=None)
    except (OSError, sqlite3.Error) as error:
        raise StoreError(f"{path} cannot be opened ({error}). Check its folder.") from error
    with closing(connection):
        try:
            connection.execute("BEGIN EXCLUSIVE")
        except sqlite3.Error as error:
            raise StoreError(_explain(path, error)) from error
        yield


def _explain(path: Path, error: sqlite3.Error) -> str:
    if getattr(error, "sqlite_errorname", "").startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return (
            "Another run is at work on this index. Wait until it has ended, then try again; "
            "questions can be asked meanwhile."
        )
    return f"{path} cannot be locked ({error}). Check its permissions and its folder."
