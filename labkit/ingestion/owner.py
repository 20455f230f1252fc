"""Whose index it is, and what a question needs of one that `ingest` made."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from labkit.store.manifest import manifest_differences
from labkit.store.sqlite import SqliteStore
from labkit.text import ANALYSER_VERSION
from labkit.types import EmbedderIdentity, Manifest, StoreError


def made_by(store: SqliteStore) -> Literal["rebuild", "ingest"]:
    """The command whose index this is: that of the last run that was done, or else begun.

    A run that was stopped counts too if it has written: by its own record, or, where it was killed
    before it could keep one, if the index has no longer the size that the run before left it at.
    """
    runs = store.runs()
    if runs and all(run.status != "done" for run in runs):
        runs = store.runs(limit=1_000_000)
    done = next((run for run in runs if run.status == "done"), None)
    if done is None:
        return runs[0].command if runs else "rebuild"
    stopped = runs[: runs.index(done)]
    wrote = [run.command for run in stopped if run.added or run.changed or run.removed]
    if wrote or not stopped:
        return [*wrote, done.command][0]
    stats = store.stats()
    same = (stats.documents, stats.chunks) == (done.documents, done.chunks)
    return done.command if same else stopped[0].command


def check_space(index: Manifest, embedder: EmbedderIdentity) -> None:
    """StoreError unless questions can be asked of an index with this embedder and analyser."""
    now = replace(index, embedder=embedder, analyser=ANALYSER_VERSION)
    for name, (indexed, current) in manifest_differences(index, now).items():
        raise StoreError(
            f"The index does not fit these settings: '{name}' is {indexed!r} in the index and "
            f"{current!r} now. Run: labkit reindex"
        )
