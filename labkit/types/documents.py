"""Documents, their chunks, and who may read them. Offsets count code points in normalised text."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from itertools import chain
from unicodedata import normalize

from pathspec import GitIgnoreSpec

from labkit.text import fold
from labkit.types.base import LabError, Status


@dataclass(frozen=True, slots=True)
class Metadata:
    """What governance knows of a document: its front matter, checked.

    `scope` is `ORGANISATION/AUDIENCE`. Both validity days are in force; `valid_until=None` is open.
    """

    id: str
    title: str
    language: str
    scope: str
    status: Status
    canonical: bool
    valid_from: date
    valid_until: date | None
    version: str
    product: str | None = None
    path: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """One document: `text` is the whole normalised file, `body_start` where its front matter ends.

    `content_hash` covers the text and the metadata, so that a change of either is a change.
    `page_starts` holds where each page begins, from page 1, if the document has pages.
    """

    meta: Metadata
    text: str
    content_hash: str
    body_start: int = 0
    page_starts: tuple[int, ...] = ()

    @property
    def id(self) -> str:
        return self.meta.id


@dataclass(frozen=True, slots=True)
class Product:
    """A structured fact sheet. It answers only through the document rendered from it."""

    code: str
    name: str
    facts: Mapping[str, str]
    document: Document


@dataclass(frozen=True, slots=True)
class Chunk:
    """A slice of a document: `text == document.text[start:end]`, always.

    `context` is the path of headings above it, outermost first, a line each: embedded and searched,
    never quotable. `section` and `anchor` are those of the heading of level 1 to 3 that it stands
    under, also where a deeper one is nearer; empty before the first. `token_count` is None where
    the chunker counts none. `flags` name what could not be kept: `oversize_table`, `oversize`,
    `cut_fence`, `cut_start`, `cut_end` (a sentence may begin before the chunk, or go on behind it).
    `hidden` holds the (start, end), in `text`, of what a reader of the page cannot see, such as a
    comment: it is neither embedded nor searched nor evidence.
    """

    meta: Metadata
    part: int
    start: int
    end: int
    text: str
    context: str = ""
    page: int | None = None
    section: str = ""
    anchor: str = ""
    token_count: int | None = None
    flags: tuple[str, ...] = ()
    hidden: tuple[tuple[int, int], ...] = ()

    @property
    def id(self) -> str:
        return f"{self.meta.id}#{self.part}"

    @property
    def content_hash(self) -> str:
        """SHA-256 of the text, in hexadecimal digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def source_id(self) -> str:
        return self.meta.id

    @property
    def searchable(self) -> str:
        """What is embedded and searched: title, context and the visible text."""
        return "\n".join(part for part in (self.meta.title, self.context, self.visible) if part)

    @property
    def visible(self) -> str:
        """The text without what is hidden: what may be shown to a reader or a model."""
        edges = (0, *chain.from_iterable(self.hidden), len(self.text))
        return "".join(self.text[a:b] for a, b in zip(edges[::2], edges[1::2], strict=True))

    def shows(self, start: int, end: int) -> bool:
        """Can a reader of the page see all of text[start:end]?"""
        return not any(first < end and start < after for first, after in self.hidden)


@dataclass(frozen=True, slots=True)
class Viewer:
    """Who asks. No scope means nothing may be read."""

    organisation: str
    scopes: frozenset[str]

    @property
    def grants(self) -> frozenset[str]:
        """The document scopes that this viewer may read: `ORGANISATION/AUDIENCE`."""
        return frozenset(f"{self.organisation}/{scope}" for scope in self.scopes)


@dataclass(frozen=True, slots=True)
class Eligible:
    """What one question may see: made once by `access_filter.admit`, required by every search path.

    It is declarative, so that a database can turn it into a WHERE clause: one rule, whose values
    are these fields. `path` and `section` narrow a search to a part of the index; None is all.
    A store refuses a subclass, which would be another rule.
    """

    grants: frozenset[str]
    as_of: date
    path: str | None = None
    section: str | None = None

    def admits(self, meta: Metadata) -> bool:
        """May a document answer? In a granted scope, approved, canonical, in force, on the path.

        Both the first and the last day of validity are in force. No grant means nothing. `path` is
        a glob below the root: `**` is any number of folders, a folder stands for all that lies in
        it, capitals do not matter.
        """
        return (
            meta.scope in self.grants
            and meta.status == "approved"
            and meta.canonical
            and meta.valid_from <= self.as_of
            and (meta.valid_until is None or self.as_of <= meta.valid_until)
            and (self.path is None or _glob(self.path).match_file(_plain(meta.path)))
        )

    def admits_chunk(self, chunk: Chunk) -> bool:
        """The same, and a heading above the passage or in it holds the words of `section`.

        Neither capitals nor accents count.
        """
        return self.admits(chunk.meta) and (
            self.section is None or fold(self.section) in fold("\n".join(_headings(chunk)))
        )


def _headings(chunk: Chunk) -> list[str]:
    # A line of a fenced script that begins with # counts too. That shows a passage more to a person
    # who narrows a search, and decides nothing else.
    return [chunk.context, chunk.section, *re.findall(r"(?m)^ {0,3}#{1,6}[ \t]+(.*)$", chunk.text)]


@lru_cache(maxsize=8)
def _glob(pattern: str) -> GitIgnoreSpec:
    try:
        # The slash ties the pattern to the root; without it, a bare name would match at any depth.
        return GitIgnoreSpec.from_lines(["/" + _plain(pattern).removeprefix("./")])
    except ValueError as error:
        raise LabError(f"'{pattern}' is no pattern of paths. Write it as guides/*.md.") from error


def _plain(path: str) -> str:
    return normalize("NFC", path).lower()
