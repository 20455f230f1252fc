"""Names that strangers chose: safe in a file system, and safe to show to people.

A student's name comes from a folder, a file or an entry of an archive. It may hold slashes, control
characters, or the characters that turn the direction of writing, which make `gpj.exe` of `exe.jpg`.
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable

MAX_SHOWN = 200  # characters of a name in a message
_MAX_CHARACTERS = 80  # of a file name, its hash included
_MAX_BYTES = 180  # a file system takes 255; an ending and a prefix have to fit too
_HASH = 12  # hexadecimal digits
_PUNCTUATION = frozenset(" _-.,'+@()")
_RESERVED = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com\d|lpt\d)\s*(?:\..*)?", re.IGNORECASE
)
_LIKE_CHANGED = re.compile(rf".*-[0-9a-f]{{{_HASH}}}", re.DOTALL)


def file_name(name: str) -> str:
    """A student's or an assignment's name as it may stand in any file system.

    Plain names come back as they are. Whatever had to be changed ends in a hash of the name as it
    was, so that two names never give the same file. Where a file system takes `Ann` and `ann` for
    one, `file_names` keeps them apart.

    >>> file_name("Anna Müller")
    'Anna Müller'
    >>> file_name("../secret")
    '__secret-a6b096789d56'
    """
    plain = _plain(name)
    if plain == name and not _LIKE_CHANGED.fullmatch(name):
        return name
    return _with_hash(plain, name)


def file_names(names: Iterable[str]) -> dict[str, str]:
    """A file name for each name, different even where a file system does not tell case apart."""
    unique = sorted(set(names))
    alike = Counter(file_name(name).casefold() for name in unique)
    return {
        name: made if alike[(made := file_name(name)).casefold()] == 1 else _with_hash(made, name)
        for name in unique
    }


def shown(name: str) -> str:
    """A name for people: control characters and those that turn the direction of writing are
    spelled out. A name of more than 200 characters is cut and ends in a hash of the whole, so
    that two long names that begin alike do not look alike.

    >>> shown("anna\\u202egpj.exe")
    'anna\\\\u202egpj.exe'
    """
    if len(name) <= MAX_SHOWN:
        return spelled_out(name)
    return f"{spelled_out(name[: MAX_SHOWN - _HASH - 1])}…{_digest(name)}"


def spelled_out(text: str) -> str:
    """A text of any length in which no character hides, or turns the direction of writing."""
    return "".join(_spelled(c) if _invisible(c) else c for c in text)


def _invisible(character: str) -> bool:
    """Control, format (direction, zero width), surrogate, private use, unassigned; line ends."""
    category = unicodedata.category(character)
    return category[0] == "C" or category in ("Zl", "Zp")


def _spelled(character: str) -> str:
    number = ord(character)
    return f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


def _plain(name: str) -> str:
    """The name with everything replaced that some system would not take."""
    composed = unicodedata.normalize("NFC", name)
    plain = "".join(c if _harmless(c) else "_" for c in composed)
    plain = plain.replace("..", "_").lstrip(" .-").rstrip(" .")
    return f"_{plain}" if not plain or _RESERVED.fullmatch(plain) else _cut(plain, 0)


def _harmless(character: str) -> bool:
    category = unicodedata.category(character)
    return category[0] in "LM" or category == "Nd" or character in _PUNCTUATION


def _with_hash(plain: str, name: str) -> str:
    return f"{_cut(plain, _HASH + 1)}-{_digest(name)}"


def _digest(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]


def _cut(plain: str, reserve: int) -> str:
    """At most so many characters and bytes that `reserve` more of both still fit."""
    cut = plain[: _MAX_CHARACTERS - reserve]
    encoded = cut.encode("utf-8")[: _MAX_BYTES - reserve]
    return encoded.decode("utf-8", "ignore").rstrip(" .")
