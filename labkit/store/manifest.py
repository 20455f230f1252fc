"""The manifest: the lock file of an index."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from labkit.types import EmbedderIdentity, Manifest, Origin, StoreError


def to_json(manifest: Manifest) -> str:
    """The manifest as JSON, keys sorted."""
    return json.dumps(asdict(manifest), sort_keys=True, ensure_ascii=False)


def from_json(text: str) -> Manifest:
    """The manifest that `to_json` wrote; StoreError if this is another thing."""
    try:
        values = json.loads(text)
        embedder = EmbedderIdentity(**values["embedder"])
        if type(embedder.dimension) is not int or embedder.dimension < 1:
            raise ValueError(embedder.dimension)
        origin = Origin(**values.get("origin", {}))
        return Manifest(**{**values, "embedder": embedder, "origin": origin})
    except (ValueError, TypeError, KeyError) as error:
        raise StoreError("The manifest of the index is damaged. Run: labkit rebuild") from error


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
            f"{current!r} now. Run: labkit rebuild"
        )


def _settings(manifest: Manifest) -> dict[str, Any]:
    """All that has to agree: every field but the origin."""
    values = asdict(manifest)
    del values["origin"]
    return _flat(values)


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    """One level of names: `embedder.model` for values["embedder"]["model"]."""
    flat: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict):
            flat |= {f"{name}.{inner}": inner_value for inner, inner_value in value.items()}
        else:
            flat[name] = value
    return flat
