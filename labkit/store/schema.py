"""The tables of the SQLite index, as ordered small migrations."""

from __future__ import annotations

import sqlite3

from labkit.store.manifest import mend
from labkit.types import Origin, StoreError

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        """
        CREATE TABLE manifest (
            only INTEGER PRIMARY KEY CHECK (only = 1),  -- one row, or none before the first build
            generation TEXT NOT NULL,                   -- new with every write: readers look here
            lock TEXT NOT NULL CHECK (json_valid(lock)),
            documents INTEGER NOT NULL CHECK (documents >= 0),
            chunks INTEGER NOT NULL CHECK (chunks >= 0)
        ) STRICT
        """,
        """
        CREATE TABLE document (
            id TEXT PRIMARY KEY CHECK (id <> ''),
            title TEXT NOT NULL,
            path TEXT NOT NULL,
            version TEXT NOT NULL,
            content_hash TEXT NOT NULL CHECK (length(content_hash) = 64),
            indexed_at TEXT NOT NULL
        ) STRICT
        """,
        """
        CREATE TABLE chunk (
            id TEXT PRIMARY KEY,
            document_id TEXT NOT NULL REFERENCES document (id) ON DELETE CASCADE,
            source TEXT NOT NULL CHECK (json_valid(source)),  -- part, offsets, language
            title TEXT NOT NULL,
            text TEXT NOT NULL CHECK (text <> ''),
            vector BLOB NOT NULL CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
            scope TEXT NOT NULL,
            status TEXT NOT NULL CHECK (status IN ('draft', 'approved', 'retired')),
            canonical INTEGER NOT NULL CHECK (canonical IN (0, 1)),
            valid_from TEXT NOT NULL CHECK (valid_from IS date(valid_from, '+0 days')),
            valid_until TEXT CHECK (
                valid_until IS NULL OR valid_until IS date(valid_until, '+0 days')
            ),
            product TEXT
        ) STRICT
        """,
        "CREATE INDEX chunk_by_document ON chunk (document_id)",
        """
        CREATE TABLE product (
            code TEXT PRIMARY KEY,
            name TEXT NOT NULL,
            facts TEXT NOT NULL CHECK (json_valid(facts)),
            document_id TEXT NOT NULL REFERENCES document (id) ON DELETE CASCADE
        ) STRICT
        """,
    ),
    (
        """
        CREATE TABLE ingest_run (
            id INTEGER PRIMARY KEY,
            command TEXT NOT NULL CHECK (command IN ('rebuild', 'ingest')),
            root TEXT NOT NULL,
            started TEXT NOT NULL,
            finished TEXT NOT NULL DEFAULT '',  -- empty while it runs, and if it was killed
            status TEXT NOT NULL DEFAULT 'running'
                CHECK (status IN ('running', 'done', 'failed', 'interrupted')),
            documents INTEGER NOT NULL DEFAULT 0,
            chunks INTEGER NOT NULL DEFAULT 0,
            embedded INTEGER NOT NULL DEFAULT 0,
            added INTEGER NOT NULL DEFAULT 0,
            changed INTEGER NOT NULL DEFAULT 0,
            removed INTEGER NOT NULL DEFAULT 0,
            unchanged INTEGER NOT NULL DEFAULT 0,
            failed INTEGER NOT NULL DEFAULT 0,
            near_duplicates INTEGER NOT NULL DEFAULT 0,
            faults TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(faults)),
            notes TEXT NOT NULL DEFAULT '[]' CHECK (json_valid(notes))
        ) STRICT
        """,
    ),
    (
        # No value in rows from before: their terms are analysed when they are read.
        "ALTER TABLE chunk ADD COLUMN terms TEXT",  # of title, headings and text, a blank between
        "ALTER TABLE chunk ADD COLUMN row_sha256 TEXT",  # of all that stands in the row
    ),
)


def migrate(connection: sqlite3.Connection) -> None:
    """Bring the schema up to date, all in one transaction. What is there already stays."""
    found = schema_version(connection)
    if found >= len(MIGRATIONS):
        return
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        for version in range(schema_version(connection), len(MIGRATIONS)):
            for statement in MIGRATIONS[version]:
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {version + 1:d}")


def schema_version(connection: sqlite3.Connection) -> int:
    """The schema version of the file; StoreError if a newer labkit made it."""
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if version > len(MIGRATIONS):
        raise StoreError(
            f"The index has schema {version}; this labkit knows schemas up to {len(MIGRATIONS)}. "
            f"Update labkit; or name another file with LABKIT_INDEX, then run: {mend(Origin())}"
        )
    return int(version)
