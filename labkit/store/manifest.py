"""The manifest: the lock file of an index, and what to run where it does not fit."""

from __future__ import annotations

import json
import shlex
import sqlite3
from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from labkit.text import ANALYSER_VERSION
from labkit.types import EmbedderIdentity, Manifest, Origin, StoreError


class Damaged(StoreError):
    """What is wrong with an index, before it is known what its owner can run: the store that it is
    read from knows the file, and adds the command."""


def to_json(manifest: Manifest) -> str:
    """The manifest as JSON, keys sorted."""
    return json.dumps(asdict(manifest), sort_keys=True, ensure_ascii=False)


def from_json(text: str) -> Manifest:
    """The manifest that `to_json` wrote; Damaged if this is another thing."""
    try:
        values = json.loads(text)
        embedder = EmbedderIdentity(**values["embedder"])
        if type(embedder.dimension) is not int or embedder.dimension < 1:
            raise ValueError(embedder.dimension)
        return Manifest(**{**values, "embedder": embedder, "origin": origin_from(values)})
    except (ValueError, TypeError, KeyError) as error:
        raise Damaged("The manifest of the index is damaged.") from error


def origin_from(values: Mapping[str, Any]) -> Origin:
    """The origin among the values of a manifest; unknown if none is there, or no such one."""
    origin = values.get("origin")
    if not isinstance(origin, dict) or origin.get("command") not in ("rebuild", "ingest"):
        return Origin()
    return Origin(origin["command"], str(origin.get("root", "")))


def read_manifest(connection: sqlite3.Connection) -> Manifest:
    """The manifest in the file; StoreError if there is none yet, Damaged if it cannot be read."""
    row = connection.execute("SELECT lock FROM manifest").fetchone()
    if row is None:
        raise StoreError(f"The index is empty. Run: {mend(Origin())}")
    return from_json(row["lock"])


def manifest_differences(index: Manifest, now: Manifest) -> dict[str, tuple[Any, Any]]:
    """The fields in which two manifests differ: {field: (in the index, now)}.

    Equal dimensions do not make two models equal: all of the embedder's identity is compared.
    """
    left, right = _settings(index), _settings(now)
    return {name: (left[name], right[name]) for name in left if left[name] != right[name]}


def check_manifest(index: Manifest, now: Manifest) -> None:
    """StoreError naming the first differing field, both values, and the command that mends it."""
    for name, (indexed, current) in manifest_differences(index, now).items():
        raise StoreError(
            f"The index does not fit these settings: '{name}' is {indexed!r} in the index and "
            f"{current!r} now. Run: {mend(index.origin)}"
        )


def check_space(index: Manifest, embedder: EmbedderIdentity) -> None:
    """StoreError unless questions can be asked of an index with this embedder and analyser."""
    check_manifest(index, replace(index, embedder=embedder, analyser=ANALYSER_VERSION))


def mend(origin: Origin, damaged: bool = False) -> str:
    """The command that makes an index of this origin fit again.

    What `ingest` finds unchanged it leaves as it is, so that `damaged` rows need `--full`; a
    rebuild writes everything in any case. Where nobody knows the origin, the person has to say
    whose documents they are: a command that is only copied must not exchange them for others.
    """
    if origin.command == "ingest":
        return f"labkit ingest --source {shlex.quote(origin.root)}{' --full' * damaged}"
    if origin.command == "rebuild":
        return "labkit rebuild"
    return (
        f"labkit ingest --source FOLDER{' --full' * damaged}, FOLDER being that of your documents; "
        "or, for the documents that the settings name, run: labkit rebuild"
    )


def _settings(manifest: Manifest) -> dict[str, Any]:
    """All that has to agree, in one level of names: every field but the origin."""
    values = asdict(manifest)
    del values["origin"]
    embedder = {f"embedder.{name}": value for name, value in values.pop("embedder").items()}
    return {**embedder, **values}
