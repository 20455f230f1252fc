"""From the blocks of one section to the spans of its chunks: cut where it hurts least.

Blocks are packed until no further one fits. A part that alone is too long is cut finer, step by
step: a list item or quotation between its blocks, prose between sentences, words and at last
characters, a fence between lines. A table is never cut.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from operator import itemgetter

from labkit.chunking.cuts import (
    Starts,
    cluster_starts,
    later_sentences,
    line_starts,
    paragraph_starts,
    sentence_starts,
    word_starts,
)
from labkit.chunking.structure import CONTAINERS, Block, leaves
from labkit.chunking.tokens import Measure

MOST_PARTS = 16  # in a chunk, for each of its tokens: a bound on what is measured to find its end
LONGEST_CAPTION = 300  # characters; what is longer is a paragraph
_NAMED = re.compile(r"[\s*_(:]*(?:table|tableau|tab\.)(?=[\s\d:*_.–—-]|$)", re.IGNORECASE)
_EMPHASIS = re.compile(r"(\*\*|__|\*|_)(?!\s)[^\n]+\1")
_PROSE: tuple[Starts, ...] = (sentence_starts, word_starts, cluster_starts)
_FINER: dict[str, tuple[Starts, ...]] = {
    "table": (),
    "fence": (line_starts,),
    "code": (line_starts, word_starts, cluster_starts),
    "html": (line_starts, word_starts, cluster_starts),
}
"""How a block that does not fit may be cut, coarse before fine; what is not named here is prose."""


def spans(
    text: str, blocks: Sequence[Block], measure: Measure, room: int, overlap: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """(start, end, flags) of the chunks of one section, white space at their ends included.

    Each has at most `room` tokens, unless a flag says why not, and begins with at most `overlap`
    tokens of the one before.
    """
    start, end = blocks[0].start, blocks[-1].end
    if measure(start, end) <= room or measure(start, stripped(text, start, end)) <= room:
        return iter([(start, end, ())])
    return _Packer(text, blocks, measure, room, overlap).spans()


def stripped(text: str, start: int, end: int) -> int:
    """The end of text[start:end] without the white space before it."""
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


class _Packer:
    """`cuts` are the offsets where a chunk may begin, first and last those of the section; a *part*
    is what lies between two of them. Strict progress: each chunk brings at least one new part."""

    def __init__(
        self, text: str, blocks: Sequence[Block], measure: Measure, room: int, overlap: int
    ) -> None:
        self.text, self.measure, self.room, self.overlap = text, measure, room, overlap
        self.blocks = list(blocks)
        self.cuts = [*_cuts(text, blocks), blocks[-1].end]
        self.cut_fences: list[tuple[int, int]] = []

    def spans(self) -> Iterator[tuple[int, int, tuple[str, ...]]]:
        start, part = self.cuts[0] - 1, 0
        while part < len(self.cuts) - 1:
            flags = self._refine(part)
            start = self._step_back(start, part)
            part = self._furthest(start, part + 1)
            end = self.cuts[part]
            fences = self.cut_fences
            if fences and any(first < end and start < after for first, after in fences):
                flags = ("cut_fence", *flags)
            yield start, end, flags

    def _refine(self, part: int) -> tuple[str, ...]:
        """Cut a part until the first of its parts fits; the flag of one that cannot be cut."""
        while True:
            start, end = self.cuts[part], self.cuts[part + 1]
            if self._fits(start, end) or self._fits(start, stripped(self.text, start, end)):
                return ()
            place, block = self._block_of(start, end)
            if block.kind in CONTAINERS:
                inner = leaves(self.text, block) or [block._replace(kind="text")]
                self.blocks[place : place + 1] = inner
                finer = _cuts(self.text, inner)
            else:
                ways = _FINER.get(block.kind, _PROSE)
                finer = next((f for w in ways if len(f := w(self.text, start, end)) > 1), [])
                if not finer:
                    return ("oversize_table" if block.kind == "table" else "oversize",)
                if block.kind == "fence":
                    self.cut_fences.append((start, end))
            self.cuts[part : part + 1] = [start, *(at for at in finer if start < at < end)]

    def _furthest(self, start: int, known: int) -> int:
        """The last cut up to which a chunk from `start` fits; up to the known one it does."""
        limit = min(len(self.cuts), known + 1 + MOST_PARTS * self.room)
        beyond = bisect_right(
            self.cuts, self.room, known + 1, limit, key=lambda at: self.measure(start, at)
        )
        return beyond - 1

    def _fits(self, start: int, end: int) -> bool:
        return self.measure(start, end) <= self.room

    def _block_of(self, start: int, end: int) -> tuple[int, Block]:
        """What a part is: its table, if it holds one, or its last block; and where that stands."""
        first, last = self._place(start), self._place(end - 1)
        place = next((at for at in range(first, last) if self.blocks[at].kind == "table"), last)
        return place, self.blocks[place]

    def _place(self, offset: int) -> int:
        return bisect_right(self.blocks, offset, key=itemgetter(1)) - 1  # by the start of blocks

    def _step_back(self, before: int, part: int) -> int:
        """Where the chunk begins that brings this part: as far back as the overlap allows.

        That is at a cut, or at a sentence where no cut is near enough; after the start of the chunk
        before, and never so far that the part would not fit.
        """
        begin, end = self.cuts[part], self.cuts[part + 1]
        if not (part and self.overlap):
            return begin
        later = bisect_right(self.cuts, before, 0, part)
        near = bisect_left(
            self.cuts, -self.overlap, later, part, key=lambda at: -self.measure(at, begin)
        )
        starts = self.cuts[near:part]
        if not starts and self._block_of(self.cuts[part - 1], begin)[1].kind == "text":
            inside = later_sentences(self.text, self.cuts[part - 1], begin)
            starts = [
                at for at in inside if at > before and self.measure(at, begin) <= self.overlap
            ]
        return next((at for at in starts if self._fits(at, end)), begin)


# --- where blocks may be parted -------------------------------------------------------------------


def _cuts(text: str, blocks: Sequence[Block]) -> list[int]:
    """The starts of blocks and paragraphs, except below a heading and between table and caption."""
    cuts: list[int] = []
    above, last = "", 0  # the kind of the block above, and where its last paragraph starts
    for number, (kind, start, end, _, _) in enumerate(blocks):
        starts = paragraph_starts(text, start, end) if kind == "text" else [start]
        joins = above == "heading"
        if kind == "table" and above == "text":
            joins = _leads(text[last:start])
        elif kind == "text" and above == "table":
            below = blocks[number + 1].kind if number + 1 < len(blocks) else ""
            joins = (below != "table" or len(starts) > 1) and _is_named(text[start:end])
        cuts += starts[1:] if joins else starts
        above, last = kind, starts[-1]
    return cuts


def _is_named(text: str) -> bool:
    """Does the first paragraph of a text call itself the caption of a table?"""
    return _NAMED.match(text) is not None and len(text.split("\n\n", 1)[0]) <= LONGEST_CAPTION


def _leads(paragraph: str) -> bool:
    """Is a paragraph above a table its caption: named so, all in emphasis, or with a colon?"""
    line = paragraph.strip()
    if len(line) > LONGEST_CAPTION:
        return False
    return bool(_NAMED.match(line) or _EMPHASIS.fullmatch(line) or line.rstrip("*_").endswith(":"))
