"""The records of runs, beside the index in its file: `labkit.types.IngestRun` as rows."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import asdict, fields, replace
from datetime import UTC, datetime
from typing import Any

from labkit.types import Command, FileFault, IngestRun, StoreError

_FINAL = [
    field.name
    for field in fields(IngestRun)
    if field.name not in ("id", "command", "root", "started")
]


class RunRecords:
    """The part of a store that keeps records of runs; the store itself gives it connections."""

    def initialize(self) -> None:
        raise NotImplementedError

    def _read(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError

    def _write(self) -> AbstractContextManager[sqlite3.Connection]:
        raise NotImplementedError

    def start_run(self, command: Command, root: str, started: str = "") -> int:
        """Record that a run started, now if `started` is empty, and return its id.

        A run that is still noted as running did not live to say how it ended: it was interrupted.
        No build is needed before, and a file of an older schema is brought up to date.
        """
        self.initialize()
        with self._write() as connection:
            return _start(connection, command, root, started or _now())

    def finish_run(self, run_id: int, run: IngestRun) -> None:
        """Record how a run ended: all of `run` but its id, command, root and start, which stay.

        An empty `finished` becomes now. StoreError for an unknown id, and for a run still
        `running`.
        """
        if run.status == "running":
            raise StoreError("A run that is finished cannot have the status 'running'.")
        with self._write() as connection:
            _finish(connection, run_id, replace(run, finished=run.finished or _now()))

    def runs(self, limit: int | None = 20) -> list[IngestRun]:
        """The last `limit` runs, or all; none in a file from before runs were recorded."""
        with self._read() as connection:
            return _latest(connection, limit)

    def last_run(self) -> IngestRun | None:
        """The newest run, whatever its status; None if there is no record."""
        return next(iter(self.runs(limit=1)), None)


def _start(connection: sqlite3.Connection, command: Command, root: str, started: str) -> int:
    connection.execute("UPDATE ingest_run SET status = 'interrupted' WHERE status = 'running'")
    (run_id,) = connection.execute(
        "INSERT INTO ingest_run (command, root, started) VALUES (?, ?, ?) RETURNING id",
        (command, root, started),
    ).fetchone()
    return int(run_id)


def _finish(connection: sqlite3.Connection, run_id: int, run: IngestRun) -> None:
    values = asdict(run) | {name: _to_json(getattr(run, name)) for name in ("faults", "notes")}
    changed = connection.execute(
        f"UPDATE ingest_run SET {', '.join(f'{name} = ?' for name in _FINAL)} "  # noqa: S608
        "WHERE id = ? RETURNING id",
        (*(values[name] for name in _FINAL), run_id),
    ).fetchall()
    if not changed:
        raise StoreError(f"There is no run {run_id} in this index.")


def _latest(connection: sqlite3.Connection, limit: int | None) -> list[IngestRun]:
    if not connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'ingest_run'").fetchone():
        return []
    names = [field.name for field in fields(IngestRun)]
    rows = connection.execute(
        f"SELECT {', '.join(names)} FROM ingest_run ORDER BY id DESC LIMIT ?",  # noqa: S608
        (-1 if limit is None else max(0, limit),),  # to SQLite, below zero is without limit
    )
    return [_run(dict(zip(names, row, strict=True))) for row in rows.fetchall()]


def _run(values: dict[str, Any]) -> IngestRun:
    faults = {name: _from_json(values[name]) for name in ("faults", "notes")}
    return IngestRun(**{**values, **faults})


def _to_json(faults: Sequence[FileFault]) -> str:
    return json.dumps([asdict(fault) for fault in faults], ensure_ascii=False)


def _from_json(text: str) -> tuple[FileFault, ...]:
    return tuple(FileFault(**fault) for fault in json.loads(text))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
