"""Front matter: the YAML block in which a document states who may read it, and when.

A missing or misspelt field is an error that names the file and the field. Governance never guesses.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import date, datetime
from difflib import get_close_matches
from typing import Any, TypeAlias

import yaml

from labkit.types import DocumentError, Metadata

Fields: TypeAlias = Mapping[str, Any]

FENCE = "---"
MAX_FRONT_MATTER = 20_000  # characters; a block without an end is found before YAML sees it
MAX_LINE = 200  # characters of a title, a name or another short text
_INVISIBLE = "\ufeff\u200b\u200c\u200d\u2060\u00a0 \t\n\f"
# Front matter as TOML (+++), behind a comment, or between lines that are nearly a fence
_OTHER_BLOCK = re.compile(
    r"(?:\s|<!--(?s:.*?)-->)*+(?:\+{3}|—|---(?:[ \t]+#.*)?)[ \t]*\n\s*[\w-]+[ \t]*[:=]"
)
_STATUSES = ("draft", "approved", "retired")
# Control characters, line ends, marks that turn the direction of writing, halves of a character.
# No-break spaces are welcome: French writes them before a question mark.
_UNPRINTABLE = re.compile(
    r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
)


class _StrictLoader(yaml.SafeLoader):
    """Plain YAML without its traps.

    YAML keeps the last of two equal keys without a word; governance must not. An alias repeats what
    an anchor names, and ten of them can name a billion values: none is needed here.
    """

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.YAMLError("aliases (*name) are not read here; write the value out")
        return super().compose_node(parent, index)

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        names = Counter(key.value for key, _ in node.value if isinstance(key, yaml.ScalarNode))
        for name, times in names.items():
            if times > 1:
                raise yaml.YAMLError(f"'{name}' is given twice")
        if "<<" in names:
            raise yaml.YAMLError("merged keys (<<) are not read here; write them out")
        return dict(super().construct_mapping(node, deep))

    def day(self, node: yaml.ScalarNode) -> Any:
        """A day; a text if there is no such day, so that the error can name its field."""
        try:
            return self.construct_yaml_timestamp(node)
        except (ValueError, OverflowError):
            return node.value


_StrictLoader.add_constructor("tag:yaml.org,2002:timestamp", _StrictLoader.day)


def load_yaml(text: str, where: str) -> Any:
    """Parse YAML as plain data; DocumentError names `where`."""
    try:
        return yaml.load(text, Loader=_StrictLoader)  # noqa: S506 - a subclass of SafeLoader
    except Exception as error:  # PyYAML's own, and KeyError, IndexError, … for a tag such as !!bool
        reason = " ".join(str(error).split())[:200]
        raise DocumentError(f"{where}: this is not valid YAML: {reason}") from error


def split_front_matter(text: str, path: str = "document") -> tuple[Fields | None, int]:
    """The fields of the front matter, and where the body starts; (None, 0) if there is none.

    >>> split_front_matter("---\\nid: a\\n---\\nBody")
    ({'id': 'a'}, 14)
    """
    lines = text[:MAX_FRONT_MATTER].splitlines(keepends=True)
    if not lines or lines[0].rstrip() != FENCE:
        _refuse_late_front_matter(text, path)
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


def states_governance(fields: Fields) -> bool:
    """Does front matter, perhaps of another tool, state or misspell a field of governance?"""
    ours = [name for name in _READERS if name not in ("title", "language")]
    return any(get_close_matches(str(name).lower(), ours, cutoff=0.75) for name in fields)


def is_one_line(value: str) -> bool:
    """Is this text fit for a title or a name: 1 to 200 printable characters on one line?"""
    return bool(value.strip()) and len(value) <= MAX_LINE and not _UNPRINTABLE.search(value)


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


def _refuse_late_front_matter(text: str, path: str) -> None:
    """A block that a blank line pushes down would be read as text, and its `draft` with it."""
    first, _, _ = text.lstrip(_INVISIBLE).partition("\n")
    if first.rstrip() == FENCE:
        raise DocumentError(
            f"{path}: a '{FENCE}' line comes first, but not at the very start of the file. Remove "
            "what stands before it if it opens the front matter, or the line if it does not."
        )
    if _OTHER_BLOCK.match(text):
        raise DocumentError(
            f"{path}: the file opens with lines that look like front matter and cannot be read. "
            f"Write them as YAML between two lines '{FENCE}', at the very start of the file."
        )


def _required(fields: Fields, name: str, path: str) -> Any:
    value = fields.get(name)
    if value is None:
        raise DocumentError(f"{path}: the front matter lacks '{name}'. Add a line '{name}: …'.")
    return value


def _text(fields: Fields, name: str, path: str) -> str:
    value = _required(fields, name, path)
    if not isinstance(value, str):
        raise DocumentError(
            f"{path}: '{name}' must be text, and YAML reads {value!r} there. "
            f'Put what you wrote in quotes: {name}: "…".'
        )
    if not is_one_line(value):
        raise DocumentError(
            f"{path}: '{name}' must be 1 to {MAX_LINE} printable characters on one line."
        )
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
    parts = (organisation, audience)
    if not all(parts) or "/" in audience or any(part != part.strip() for part in parts):
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
