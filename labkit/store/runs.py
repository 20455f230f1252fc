"""The records of runs, beside the index in its file: `labkit.types.IngestRun` as rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import Any

from labkit.types import Command, FileFault, IngestRun, Origin, StoreError

_FINAL = [
    field.name
    for field in fields(IngestRun)
    if field.name not in ("id", "command", "root", "started")
]


def start(connection: sqlite3.Connection, command: Command, root: str, started: str) -> int:
    """Note a run, and that one which still counts as running did not live to say how it ended."""
    connection.execute("UPDATE ingest_run SET status = 'interrupted' WHERE status = 'running'")
    (run_id,) = connection.execute(
        "INSERT INTO ingest_run (command, root, started) VALUES (?, ?, ?) RETURNING id",
        (command, root, started or _now()),
    ).fetchone()
    return int(run_id)


def finish(connection: sqlite3.Connection, run_id: int, run: IngestRun) -> Origin:
    """Note how a run ended, now if it does not say when, and return what it brought in."""
    run = replace(run, finished=run.finished or _now())
    values = asdict(run) | {name: _to_json(getattr(run, name)) for name in ("faults", "notes")}
    noted = connection.execute(
        f"UPDATE ingest_run SET {', '.join(f'{name} = ?' for name in _FINAL)} "  # noqa: S608
        "WHERE id = ? RETURNING command, root",
        (*(values[name] for name in _FINAL), run_id),
    ).fetchall()
    if not noted:
        raise StoreError(f"There is no run {run_id} in this index.")
    return Origin(*noted[0])


def latest(connection: sqlite3.Connection, limit: int | None) -> list[IngestRun]:
    """The last runs, newest first; none in a file from before runs were recorded."""
    if not _recorded(connection):
        return []
    names = [field.name for field in fields(IngestRun)]
    rows = connection.execute(
        f"SELECT {', '.join(names)} FROM ingest_run ORDER BY id DESC LIMIT ?",  # noqa: S608
        (-1 if limit is None else max(0, limit),),  # to SQLite, below zero is without limit
    )
    return [_run(dict(zip(names, row, strict=True))) for row in rows.fetchall()]


def origin_of(connection: sqlite3.Connection, status: str) -> Origin | None:
    """Command and folder of the newest run of that status, if there is one."""
    if not _recorded(connection):
        return None
    row = connection.execute(
        "SELECT command, root FROM ingest_run WHERE status = ? ORDER BY id DESC LIMIT 1", (status,)
    ).fetchone()
    return None if row is None else Origin(*row)


def _recorded(connection: sqlite3.Connection) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ingest_run'").fetchone()
    return found is not None


def _run(values: dict[str, Any]) -> IngestRun:
    faults = {name: _from_json(values[name]) for name in ("faults", "notes")}
    return IngestRun(**{**values, **faults})


def _to_json(faults: Sequence[FileFault]) -> str:
    return json.dumps([asdict(fault) for fault in faults], ensure_ascii=False)


def _from_json(text: str) -> tuple[FileFault, ...]:
    return tuple(FileFault(**fault) for fault in json.loads(text))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
