"""Whose index it is, and what a question needs of one that `ingest` made."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from labkit.store.manifest import manifest_differences
from labkit.store.sqlite import SqliteStore
from labkit.text import ANALYSER_VERSION
from labkit.types import EmbedderIdentity, Manifest, StoreError


def made_by(store: SqliteStore) -> Literal["rebuild", "ingest"]:
    """The command whose index this is: that of the last run that was done, or else begun."""
    runs = store.runs()
    if runs and all(run.status != "done" for run in runs):
        runs = store.runs(limit=1_000_000)
    done = [run.command for run in runs if run.status == "done"]
    return (done or [run.command for run in runs] or ["rebuild"])[0]


def check_space(index: Manifest, embedder: EmbedderIdentity) -> None:
    """StoreError unless questions can be asked of an index with this embedder and analyser."""
    now = replace(index, embedder=embedder, analyser=ANALYSER_VERSION)
    for name, (indexed, current) in manifest_differences(index, now).items():
        raise StoreError(
            f"The index does not fit these settings: '{name}' is {indexed!r} in the index and "
            f"{current!r} now. Run: labkit reindex"
        )
