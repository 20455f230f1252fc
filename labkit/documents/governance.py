"""Governance: what a document states of who may read it, whether it counts, and when.

A missing or misspelt field is an error that names the file and the field. Governance never guesses.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime
from typing import Any, TypeAlias

from labkit.types import DocumentError, Metadata

Fields: TypeAlias = Mapping[str, Any]

MAX_LINE = 200  # characters of a title, a name or another short text
_STATUSES = ("draft", "approved", "retired")
_SCOPE = re.compile(r"(?=\S)[^/]*[^/\s]/(?=\S)[^/]*[^/\s]")
# Control characters, line ends, marks that turn the direction of writing, halves of a character.
# No-break spaces are welcome: French writes them before a question mark.
UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
NOT_IN_IDS = re.compile(rf"[\s#\[\]]|{UNPRINTABLE.pattern}")


def is_one_line(value: str) -> bool:
    """Is this text fit for a title or a name: 1 to 200 printable characters on one line?"""
    return bool(value.strip()) and len(value) <= MAX_LINE and not UNPRINTABLE.search(value)


def is_ours(fields: Fields) -> bool:
    """Is this front matter written for this lab? Then it is judged in full, or else not at all.

    Many tools write `id`, `title`, `status`, `version` or `language`, and mean something else. Ours
    is what states a `scope` as ORGANISATION/AUDIENCE, which no other tool does and which must never
    be passed over; or two of: `id`, `scope`, `canonical` as true or false, a day of validity.

    >>> is_ours({"id": "intro", "status": "new"}), is_ours({"id": "intro", "canonical": False})
    (False, True)
    """
    said = {str_of(name).lower().replace("-", "_"): value for name, value in fields.items()}
    scope, canonical = said.get("scope"), said.get("canonical")
    if isinstance(scope, str) and _SCOPE.fullmatch(scope):
        return True
    marks = (
        "id" in said,
        "scope" in said,
        isinstance(canonical, bool) or canonical in ("true", "false"),
        "valid_from" in said or "valid_until" in said,
    )
    return sum(marks) >= 2


def check_metadata(fields: Fields, path: str) -> Metadata:
    """Metadata from front matter; DocumentError names the file, the field and what to write."""
    unknown = sorted(set(map(str_of, fields)) - set(_READERS))
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


def str_of(value: object, form: Callable[[object], str] = str) -> str:
    """`value` as text, for a message or a name.

    YAML reads 0xff… as a number of any length, and Python refuses to print one beyond 4,300 digits.
    """
    try:
        return form(value)
    except (ValueError, RecursionError):
        return "a value too long to print"


def _shown(value: object) -> str:
    shown = str_of(value, repr)
    return shown if len(shown) <= MAX_LINE else f"{shown[:MAX_LINE]}…"


def _required(fields: Fields, name: str, path: str) -> Any:
    value = fields.get(name)
    if value is None:
        raise DocumentError(f"{path}: the front matter lacks '{name}'. Add a line '{name}: …'.")
    return value


def _text(fields: Fields, name: str, path: str) -> str:
    value = _required(fields, name, path)
    if not isinstance(value, str):
        raise DocumentError(
            f"{path}: '{name}' must be text, and YAML reads {_shown(value)} there. "
            f'Put what you wrote in quotes: {name}: "…".'
        )
    if not is_one_line(value):
        raise DocumentError(
            f"{path}: '{name}' must be 1 to {MAX_LINE} printable characters on one line."
        )
    return value.strip()


def _id(fields: Fields, name: str, path: str) -> str:
    value = _text(fields, name, path)
    if NOT_IN_IDS.search(value):
        raise DocumentError(
            f"{path}: '{name}' is {value!r}; it may not hold spaces, '#', '[' or ']'."
        )
    return value


def _scope(fields: Fields, name: str, path: str) -> str:
    value = _text(fields, name, path)
    if not _SCOPE.fullmatch(value):
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
        raise DocumentError(
            f"{path}: '{name}' is {_shown(value)}; write true or false, without quotes."
        )
    return value


def _day(fields: Fields, name: str, path: str) -> date:
    value = _required(fields, name, path)
    if not isinstance(value, date) or isinstance(value, datetime):
        raise DocumentError(
            f"{path}: '{name}' is {_shown(value)}; write a day as 2026-10-23, unquoted."
        )
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
