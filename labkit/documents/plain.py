"""Files that state no governance of ours: what their owner says of all of them, and what they say.

Another tool's front matter may name the title, the language, and that a page is held back. Nothing
in it is a fault.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from datetime import date
from pathlib import PurePosixPath
from unicodedata import normalize

from labkit.documents.governance import (
    MAX_LINE,
    NOT_IN_IDS,
    UNPRINTABLE,
    Fields,
    check_metadata,
    is_one_line,
    is_ours,
    str_of,
)
from labkit.markdown import first_title
from labkit.types import DocumentError, Metadata

RESERVED = "PRODUCT-"  # ids that begin so belong to documents rendered from product facts
TITLE_WITHIN = 20_000  # characters of a body: a title stands at the top, and a page may be long
_VALID_FROM = date(1, 1, 1)
_NO = ("false", "no", "off", "0")
_HELD_BACK = ("draft", "retired", "private", "unpublished")
_LANGUAGE = re.compile(r"([A-Za-z]{2})(?:[-_][A-Za-z]{2,4})?")
_PAGE_OF_A_SITE = (".html", ".htm", ".xhtml")  # `signon.html.md` becomes signon.html


@dataclass(frozen=True, slots=True)
class Plain:
    """What the owner of a folder says of its files that state no governance themselves."""

    scope: str
    language: str = "en"


def govern(fields: Fields | None, body: str, name: str, plain: Plain | None = None) -> Metadata:
    """The metadata that a file states, or that `plain` says of a file which states none.

    A file that is ours is never completed: a field that is missing there is an error.
    """
    if fields is not None and (plain is None or is_ours(fields)):
        meta = check_metadata(fields, name)
    elif plain is not None:
        return _plain_metadata(fields or {}, body, name, plain)
    else:
        raise DocumentError(f"{name}: the file has no front matter. Start it with a '---' block.")
    if meta.id.startswith(RESERVED):
        raise DocumentError(
            f"{name}: 'id' is '{meta.id}'; '{RESERVED}' is kept for product facts. Choose another."
        )
    return meta


def held_back(foreign: Fields) -> str:
    """The line by which another tool's front matter keeps a page from its readers, or "".

    >>> held_back({"Draft": True}), held_back({"published": "2026-01-02"})
    ('Draft: true', '')
    """
    for name, value in foreign.items():
        field, said = str_of(name).lower(), str_of(value).lower()
        hides = field in ("draft", "private") and value is not None and said not in _NO
        hides |= field in ("published", "publish") and said in _NO
        hides |= field == "status" and said in _HELD_BACK
        if hides:
            return f"{str_of(name)}: {said[:MAX_LINE]}"
    return ""


def derived_id(name: str) -> str:
    """The id of a file that states none: its path, readable, the same on every system.

    A path with characters that an id may not hold, or too long for one, ends in a hash of the whole
    path, so that no two paths get one id.

    >>> derived_id("guide/start.md"), derived_id("my file.md")
    ('guide/start', 'my-file-116115de')
    """
    path = normalize("NFC", name)
    stem = path.removesuffix(".md")
    if is_one_line(stem) and not NOT_IN_IDS.search(stem) and not stem.startswith(RESERVED):
        return stem
    short = re.sub(rf"(?:{NOT_IN_IDS.pattern})+", "-", stem).strip("-")
    while len(short) > MAX_LINE - 10 and "/" in short:
        short = short.partition("/")[2]  # the file's own name says most
    short = short[: MAX_LINE - 10].replace(RESERVED, RESERVED.lower(), 1)
    return f"{short}-{hashlib.sha256(path.encode()).hexdigest()[:8]}"


def _plain_metadata(foreign: Fields, body: str, name: str, plain: Plain) -> Metadata:
    said = {str_of(key).lower(): value for key, value in foreign.items()}
    fields = {
        "id": derived_id(name),
        "title": _title(said, body, name),
        "language": _language(said) or plain.language,
        "scope": plain.scope,
        "status": "draft" if held_back(foreign) else "approved",
        "canonical": True,
        "valid_from": _VALID_FROM,
        "version": "1",
    }
    return check_metadata(fields, name)


def _title(foreign: Fields, body: str, name: str) -> str:
    """What the file states, or else its first heading, or else its own name."""
    stated = foreign.get("title")
    title = _one_line(str_of(stated)) if isinstance(stated, (str, int, float, date)) else ""
    stem = PurePosixPath(normalize("NFC", name)).stem
    for suffix in _PAGE_OF_A_SITE:
        stem = stem.removesuffix(suffix)
    heading = title or _one_line(first_title(body[:TITLE_WITHIN]))
    return heading or _one_line(stem) or derived_id(name)


def _one_line(text: str) -> str:
    """A text made fit for a title; no-break spaces stay, as French needs them."""
    return re.sub(r"[ \t\n]+", " ", UNPRINTABLE.sub(" ", text)).strip()[:MAX_LINE]


def _language(foreign: Fields) -> str:
    """The language that a file states, as two letters; "" for none, or for what is none."""
    for field in ("language", "lang"):
        found = _LANGUAGE.fullmatch(str_of(foreign.get(field)))
        if found:
            return found[1].lower()
    return ""
