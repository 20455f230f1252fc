"""Plain data: what may come back from code that nobody trusts, and how it is compared.

Only exact types of Python's own pass. A learner's class with an `__eq__` of its own is never asked.
"""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict, deque
from math import isclose, isnan
from typing import Any

_SCALARS = (bool, int, float, str, bytes, type(None))
_LISTS = (list, tuple, deque)
_DICTIONARIES = (dict, OrderedDict, defaultdict, Counter)
MAX_DEPTH = 30
MAX_BITS = 1000  # of a whole number: what compares with a float


class NotPlainError(TypeError):
    """The value holds something that is no plain data; the message says what."""


def to_plain(value: Any, depth: int = 0) -> Any:
    """A deep copy in built-in types: tuples and arrays become lists, sets become sorted lists, the
    dictionaries of `collections` become plain ones."""
    if depth > MAX_DEPTH:
        raise NotPlainError("it is nested too deeply")
    kind = type(value)
    if kind is int and value.bit_length() > MAX_BITS:
        raise NotPlainError("it holds a number of hundreds of digits")
    if kind in _SCALARS:
        return value
    if _is_numpy(value):
        return to_plain(value.tolist(), depth + 1)
    if kind is bytearray:
        return bytes(value)
    if kind in _LISTS:
        return [to_plain(item, depth + 1) for item in value]
    if kind in (set, frozenset):
        return sorted((to_plain(item, depth + 1) for item in value), key=repr)
    if kind in _DICTIONARIES:
        return {_key(key): to_plain(item, depth + 1) for key, item in dict.items(value)}
    raise NotPlainError(f"it holds a value of type {kind.__name__}")


def _is_numpy(value: Any) -> bool:
    """Is it an array or a number of numpy's own? Nothing is, where nobody imported numpy."""
    numpy = sys.modules.get("numpy")
    if numpy is None or type(value).__module__ != "numpy":
        return False
    return isinstance(value, numpy.generic | numpy.ndarray)


def _key(key: Any) -> Any:
    if type(key) not in _SCALARS:
        raise NotPlainError(f"it holds a dictionary with a {type(key).__name__} as a key")
    return to_plain(key)


def same(left: Any, right: Any) -> bool:
    """Are two plain values equal? Numbers within 1e-9; True is not 1; NaN is NaN."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, int | float) and isinstance(right, int | float):
        both_nan = isnan(left) and isnan(right)
        return both_nan or isclose(left, right, rel_tol=1e-9, abs_tol=1e-9)
    if type(left) is not type(right):
        return False
    if isinstance(left, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    return bool(left == right)
