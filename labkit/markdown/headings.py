"""What a heading is called, and how to link to it.

Anchors are made as GitHub makes them, unless an author wrote one: `{#id}` and `{ #id }` of MkDocs
and Kramdown, `<a id="id"></a>` of GitBook. Where none is written, other site generators differ in
small things (accents, underscores), and a link leads to the top of the page instead.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from markdown_it import MarkdownIt

LONGEST_TITLE = 1_000  # characters whose marks are read: a bound, for titles made to be slow
_INLINE = MarkdownIt("commonmark")
_ATTRIBUTES = re.compile(r"[ \t]*\{:?[ \t]*(?=[#.])([^{}]*)\}[ \t]*$")  # ## Prices {#prices .new}
_ANCHOR = re.compile(r"""<a\b[^>]*?\b(?:id|name)\s*=\s*["']?([^\s"'>]+)""", re.IGNORECASE)
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")
_SHOWN = ("text", "code_inline", "text_special")


class Heading(NamedTuple):
    """A heading in its document. `path` holds the titles above it, outermost first."""

    level: int = 0
    title: str = ""
    path: tuple[str, ...] = ()
    anchor: str = ""


@dataclass
class Outline:
    """Reads the headings of a document in order, remembers which are open, and names each once.

    Headings of all levels count, so that anchors are those of the page that a reader sees:
    `Set up`, `Set up` → `set-up`, `set-up-1`.
    """

    _open: list[tuple[int, str]] = field(default_factory=list)
    _anchors: dict[str, int] = field(default_factory=dict)

    def enter(self, level: int, title: str, name: str) -> Heading:
        """Open a heading; above it stand the higher ones, whatever levels were skipped."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        path = tuple(above for _, above in self._open)
        self._open.append((level, title))
        return Heading(level, title, path, self._anchor(name))

    def _anchor(self, name: str) -> str:
        anchor, number = name, self._anchors.get(name, 0)
        while anchor in self._anchors:
            number += 1
            anchor = f"{name}-{number}"
        self._anchors[name] = number
        self._anchors.setdefault(anchor, 0)
        return anchor


def heading(source: str, definitions: dict[str, Any] | None = None) -> tuple[str, str]:
    """(title, anchor) of a heading: what a reader sees of it, and its name before others have one.

    `definitions` tell where links of the document lead (the parser's environment).

    >>> heading("Set up { #set-up }"), heading('Prix <a href="#p" id="p"></a>'), heading("_x_ y_z")
    (('Set up', 'set-up'), ('Prix', 'p'), ('x y_z', 'x-y_z'))
    """
    written = _ATTRIBUTES.search(source)
    bare = source[: written.start()] if written else source
    title = re.sub(r"[ \t\n]+", " ", _shown(bare, definitions or {})).strip(" ")
    given = re.search(r"#([^\s{}]+)", written[1]) if written else _ANCHOR.search(source)
    return title, given[1] if given else anchor_of(title)


def heading_title(source: str) -> str:
    """The title that a reader sees of a heading, without marks, ids and HTML.

    >>> heading_title("**Prices** of [pumps](pumps.md) {#prices}")
    'Prices of pumps'
    """
    return heading(source)[0]


def anchor_of(title: str) -> str:
    """The anchor of a title, as GitHub makes it, before numbers make it unique.

    >>> anchor_of("What's new in GX-100?"), anchor_of("Prix et délais"), anchor_of("?")
    ('whats-new-in-gx-100', 'prix-et-délais', 'section')
    """
    return _NOT_IN_ANCHORS.sub("", title.lower()).replace(" ", "-") or "section"


def _shown(source: str, definitions: dict[str, Any]) -> str:
    if len(source) > LONGEST_TITLE or not re.search(r"[\\`*_<&\[]", source):
        return source
    (inline,) = _INLINE.parseInline(source, definitions)
    return "".join(_texts(inline.children or ()))


def _texts(tokens: Iterable[Any]) -> Iterator[str]:
    """What is shown: HTML and pictures are not, a line break is a space."""
    for token in tokens:
        if token.type in _SHOWN:
            yield token.content
        elif token.type in ("softbreak", "hardbreak"):
            yield " "
