"""The sections of a document: which headings stand above a passage, and how to link to it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import NamedTuple

from labkit.chunking.structure import Block

OPENS_A_SECTION = 3  # headings of level 1 to 3; deeper ones stay inside
_ID = re.compile(r"[ \t]*\{#([^\s{}]+)[^{}]*\}$")  # ## Prices {#prices}
_LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
_NOT_IN_ANCHORS = re.compile(r"[^\w\- ]")


class Section(NamedTuple):
    """Blocks under one heading. `path` holds the titles of the headings above it, outermost first.

    Before the first heading, `title` and `anchor` are empty.
    """

    blocks: list[Block]
    path: tuple[str, ...] = ()
    title: str = ""
    anchor: str = ""


@dataclass
class Outline:
    """Reads blocks in order, a page at a time, and remembers the headings that are open.

    Anchors are made as GitHub makes them, over headings of all levels, so that they are those of
    the page that a reader sees: `Set up`, `Set up` → `set-up`, `set-up-1`.
    """

    _open: list[tuple[int, str]] = field(default_factory=list)
    _anchors: dict[str, int] = field(default_factory=dict)
    _last: Section = field(default_factory=lambda: Section([]))

    def sections(self, blocks: list[Block]) -> list[Section]:
        """The sections of these blocks. A heading with nothing below it but a deeper one stands
        with that: it opens the deeper section's slice."""
        found = [self._last._replace(blocks=[])]
        begun = 0  # the block with which the last section begins
        for number, block in enumerate(blocks):
            if not block.level:
                continue
            title, anchor = self._named(block.title)
            if block.level <= OPENS_A_SECTION:
                found[-1].blocks.extend(blocks[begun:number])
                before = found.pop().blocks if _is_bare(found[-1], block.level) else []
                found.append(Section(before, self._enter(block.level, title), title, anchor))
                begun = number
        found[-1].blocks.extend(blocks[begun:])
        self._last = found[-1]
        return [section for section in found if section.blocks]

    def whole(self, blocks: list[Block]) -> list[Section]:
        """The same blocks as one section, named by the heading that they begin with, if any."""
        first = self.sections(blocks[:1])
        self.sections(blocks[1:])
        return [first[0]._replace(blocks=blocks)] if first else []

    def _enter(self, level: int, title: str) -> tuple[str, ...]:
        """Open a heading; the titles above it, whatever levels were skipped."""
        while self._open and self._open[-1][0] >= level:
            self._open.pop()
        path = tuple(above for _, above in self._open)
        self._open.append((level, title))
        return path

    def _named(self, title: str) -> tuple[str, str]:
        """The title without an id that is written into it, and its anchor."""
        given = _ID.search(title) if "{#" in title else None
        title = title[: given.start()] if given else title
        name = given[1] if given else anchor_of(title)
        anchor, number = name, self._anchors.get(name, 0)
        while anchor in self._anchors:
            number += 1
            anchor = f"{name}-{number}"
        self._anchors[name] = number
        self._anchors.setdefault(anchor, 0)
        return title, anchor


def anchor_of(title: str) -> str:
    """The anchor of a heading, as GitHub makes it, before numbers make it unique.

    >>> anchor_of("What's new in `GX-100`?"), anchor_of("Prix et délais"), anchor_of("?")
    ('whats-new-in-gx-100', 'prix-et-délais', 'section')
    """
    text = _LINK.sub(r"\1", title) if "](" in title else title
    return _NOT_IN_ANCHORS.sub("", text.lower()).replace(" ", "-") or "section"


def _is_bare(section: Section, level: int) -> bool:
    """Is there nothing in this section but headings, and none as deep as this level?"""
    blocks = section.blocks
    return bool(blocks) and all(0 < block.level < level for block in blocks)
