"""Front matter: the YAML block in which a document states who may read it, and when.

A missing or misspelt field is an error that names the file and the field. Governance never guesses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

import yaml

from labkit.types import DocumentError, Metadata

Fields: TypeAlias = Mapping[str, Any]

FENCE = "---"
MAX_FRONT_MATTER = 20_000  # characters; a block without an end is found before YAML sees it
_STATUSES = ("draft", "approved", "retired")


class _UniqueKeyLoader(yaml.SafeLoader):
    """YAML keeps the last of two equal keys without a word; governance must not."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.YAMLError(f"'{key}' is given twice")
        return dict(super().construct_mapping(node, deep))


def load_yaml(text: str, where: str) -> Any:
    """Parse YAML as plain data; DocumentError names `where`."""
    try:
        return yaml.load(text, Loader=_UniqueKeyLoader)  # noqa: S506 - a subclass of SafeLoader
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        reason = " ".join(str(error).split())[:200]
        raise DocumentError(f"{where}: this is not valid YAML: {reason}") from error


def split_front_matter(text: str, path: str = "document") -> tuple[Fields | None, int]:
    """The fields of the front matter, and where the body starts; (None, 0) if there is none.

    >>> split_front_matter("---\\nid: a\\n---\\nBody")
    ({'id': 'a'}, 14)
    """
    lines = text[:MAX_FRONT_MATTER].splitlines(keepends=True)
    if not lines or lines[0].rstrip() != FENCE:
        return None, 0
    for number, line in enumerate(lines[1:], start=1):
        if line.rstrip() == FENCE:
            fields = load_yaml("".join(lines[1:number]), f"{path}: front matter")
            if not isinstance(fields, dict):
                raise DocumentError(f"{path}: the front matter holds no 'name: value' lines.")
            return fields, sum(map(len, lines[: number + 1]))
    raise DocumentError(
        f"{path}: the front matter opens with '{FENCE}' and never closes within "
        f"{MAX_FRONT_MATTER} characters. Close it with a line '{FENCE}'."
    )


def check_metadata(fields: Fields, path: str) -> Metadata:
    """Metadata from front matter; DocumentError names the file, the field and what to write."""
    unknown = sorted(set(map(str, fields)) - set(_READERS))
    if unknown:
        raise DocumentError(
            f"{path}: the front matter has an unknown field '{unknown[0]}'. "
            f"Known fields: {', '.join(_READERS)}."
        )
    values = {name: reader(fields, name, path) for name, reader in _READERS.items()}
    meta = Metadata(**values, path=path)
    if meta.valid_until is not None and meta.valid_until < meta.valid_from:
        raise DocumentError(
            f"{path}: 'valid_until' ({meta.valid_until}) is before "
            f"'valid_from' ({meta.valid_from})."
        )
    return meta


def _required(fields: Fields, name: str, path: str) -> Any:
    value = fields.get(name)
    if value is None:
        raise DocumentError(f"{path}: the front matter lacks '{name}'. Add a line '{name}: …'.")
    return value


def _text(fields: Fields, name: str, path: str) -> str:
    value = _required(fields, name, path)
    if not isinstance(value, str):
        raise DocumentError(
            f"{path}: '{name}' must be text, not {value!r}. Put it in quotes: {name}: \"{value}\"."
        )
    if not value.strip() or any(not c.isprintable() for c in value) or len(value) > 200:
        raise DocumentError(f"{path}: '{name}' must be 1 to 200 printable characters on one line.")
    return value.strip()


def _id(fields: Fields, name: str, path: str) -> str:
    value = _text(fields, name, path)
    if any(c in value for c in "#[]") or any(c.isspace() for c in value):
        raise DocumentError(
            f"{path}: '{name}' is {value!r}; it may not hold spaces, '#', '[' or ']'."
        )
    return value


def _scope(fields: Fields, name: str, path: str) -> str:
    value = _text(fields, name, path)
    organisation, _, audience = value.partition("/")
    if not organisation or not audience or "/" in audience:
        raise DocumentError(
            f"{path}: '{name}' is {value!r}; write it ORGANISATION/AUDIENCE, as in ACME/readers."
        )
    return value


def _status(fields: Fields, name: str, path: str) -> str:
    value = _text(fields, name, path)
    if value not in _STATUSES:
        raise DocumentError(f"{path}: '{name}' is {value!r}; use one of {', '.join(_STATUSES)}.")
    return value


def _flag(fields: Fields, name: str, path: str) -> bool:
    value = _required(fields, name, path)
    if not isinstance(value, bool):
        raise DocumentError(f"{path}: '{name}' is {value!r}; write true or false, without quotes.")
    return value


def _day(fields: Fields, name: str, path: str) -> date:
    value = _required(fields, name, path)
    if not isinstance(value, date) or isinstance(value, datetime):
        raise DocumentError(f"{path}: '{name}' is {value!r}; write a day as 2026-10-23, unquoted.")
    return value


def _optional(reader: Callable[[Fields, str, str], Any]) -> Callable[[Fields, str, str], Any]:
    return lambda fields, name, path: (
        None if fields.get(name) is None else reader(fields, name, path)
    )


_READERS: dict[str, Callable[[Fields, str, str], Any]] = {
    "id": _id,
    "title": _text,
    "language": _text,
    "scope": _scope,
    "status": _status,
    "canonical": _flag,
    "valid_from": _day,
    "valid_until": _optional(_day),
    "version": _text,
    "product": _optional(_text),
}
