"""The sections of a document: blocks under one heading."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from labkit.markdown import Block, Heading, Outline

OPENS_A_SECTION = 3  # headings of level 1 to 3; deeper ones stay inside


class Section(NamedTuple):
    """Blocks under one heading, which has no title before the first one of the document."""

    blocks: list[Block]
    heading: Heading = Heading()


@dataclass
class Sections:
    """Reads the blocks of a document in order, a page at a time; headings stay open over pages."""

    _outline: Outline = field(default_factory=Outline)
    _last: Heading = field(default_factory=Heading)

    def split(self, blocks: Sequence[Block]) -> list[Section]:
        """The sections of these blocks. A heading with nothing below it but a deeper one stands
        with that: it opens the deeper section's slice."""
        found = [Section([], self._last)]
        for block in blocks:
            if block.level:
                heading = self._outline.enter(block.level, block.title, block.name)
                if block.level <= OPENS_A_SECTION:
                    before = found.pop().blocks if _is_bare(found[-1], block.level) else []
                    found.append(Section(before, heading))
            found[-1].blocks.append(block)
        self._last = found[-1].heading
        return [section for section in found if section.blocks]

    def whole(self, blocks: Sequence[Block]) -> list[Section]:
        """The same blocks as one section, named by the heading that they begin with, if any."""
        first = self.split(blocks[:1])
        self.split(blocks[1:])
        return [first[0]._replace(blocks=list(blocks))] if first else []


def _is_bare(section: Section, level: int) -> bool:
    """Is there nothing in this section but headings, and none as deep as this level?"""
    blocks = section.blocks
    return bool(blocks) and all(0 < block.level < level for block in blocks)
