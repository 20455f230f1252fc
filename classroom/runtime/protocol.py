"""Plain data as one line of JSON, and back: what crosses between a grader and its sandbox."""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

_TUPLE, _BYTES, _DICTIONARY = "tuple", "bytes", "dictionary"


MAX_KEYS = 10_000  # of one dictionary
MAX_WHOLE_KEY = 1 << 53


class ProtocolError(ValueError):
    """What arrived is no line that `dumps` writes."""


def dumps(value: Any) -> bytes:
    """One line for a plain value; NaN and infinities travel as JSON's usual extension."""
    return json.dumps(_packed(value), separators=(",", ":")).encode("ascii") + b"\n"


def loads(line: bytes) -> Any:
    """The value in a line; ProtocolError whatever else arrived."""
    try:
        return _unpacked(json.loads(line.decode("ascii")))
    except (ValueError, TypeError, KeyError, RecursionError, MemoryError, binascii.Error) as error:
        raise ProtocolError(f"not a message: {type(error).__name__}") from error


def values_in(line: bytes) -> int:
    """About how many values a line holds, counted before it is read: they take the memory."""
    return sum(map(line.count, (b",", b"[", b"{")))


def _packed(value: Any) -> Any:
    if isinstance(value, tuple):
        return {_TUPLE: [_packed(item) for item in value]}
    if isinstance(value, list):
        return [_packed(item) for item in value]
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode("ascii")}
    if isinstance(value, dict):
        return {_DICTIONARY: [[_packed(key), _packed(item)] for key, item in value.items()]}
    return value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(item) for item in value]
    if not isinstance(value, dict):
        return value
    ((kind, content),) = value.items()
    if kind == _TUPLE:
        return tuple(_unpacked(item) for item in content)
    if kind == _BYTES:
        return base64.b64decode(content, validate=True)
    if kind == _DICTIONARY and len(content) <= MAX_KEYS:
        return {_key(key): _unpacked(item) for key, item in content}
    raise KeyError(kind)


def _key(value: Any) -> Any:
    """A key; whole numbers whose hashes could be made to collide are refused."""
    key = _unpacked(value)
    if isinstance(key, int) and abs(key) > MAX_WHOLE_KEY:
        raise KeyError("a key that is too large")
    return key
