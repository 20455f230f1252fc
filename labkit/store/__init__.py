"""Stage 04: the index. One contract, and SQLite as its reference."""

from labkit.store.sqlite import SqliteStore

__all__ = ["SqliteStore"]
