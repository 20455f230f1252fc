"""From the blocks of one section to the spans of its chunks: cut where it hurts least.

Blocks are packed until no further one fits. A part that alone is too long is cut finer, step by
step: a list item or quotation between its blocks, prose between sentences, words and at last
characters, a fence between lines. A table is never cut.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from operator import itemgetter
from typing import TypeAlias

from labkit.chunking.tokens import Measure
from labkit.markdown import Block, Span, leaves
from labkit.text import sentence_ends

Starts: TypeAlias = Callable[[str, int, int], list[int]]
"""Where the parts of text[start:end] begin; the first is `start` itself."""

MOST_PARTS = 16  # in a chunk, for each of its tokens: a bound on what is measured to find its end
LONGEST_CAPTION = 300  # characters; what is longer is a paragraph
_NAMED = re.compile(r"[\s*_(:]*(?:table|tableau|tab\.)(?=[\s\d:*_.–—-]|$)", re.IGNORECASE)
_EMPHASIS = re.compile(r"(\*\*|__|\*|_)(?!\s)[^\n]+\1")
_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s(?=\S)")
_FIRST_MARK = "\u0300"  # no character below it joins the one before


def spans(
    text: str, blocks: Sequence[Block], measure: Measure, budget: int, overlap: int
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """(start, end, flags) of the chunks of one section, white space at their ends included.

    Each has at most `budget` tokens, unless a flag says why not, and begins with at most `overlap`
    tokens of the one before.
    """
    start, end = blocks[0].start, blocks[-1].end
    if measure(start, end) <= budget or measure(start, stripped(text, start, end)) <= budget:
        return iter([(start, end, ())])
    return _Packer(text, blocks, measure, budget, overlap).spans()


def around(blocks: Sequence[Block], gone: Sequence[Span]) -> list[list[Block]]:
    """The blocks without these spans of the text, parted where one of them stood.

    What is left of a block that loses a part is cut as prose, whatever it was.
    """
    runs: list[list[Block]] = [[]]
    for block in blocks:
        rest = block
        for start, end in gone:
            if start < rest.end and rest.start < end:
                if rest.start < start:
                    runs[-1].append(Block("text", rest.start, start))
                runs.append([])
                rest = Block("text", min(end, rest.end), rest.end)
        if rest.start < rest.end:
            runs[-1].append(rest)
    return [run for run in runs if run]


def stripped(text: str, start: int, end: int) -> int:
    """The end of text[start:end] without the white space before it."""
    while end > start and text[end - 1].isspace():
        end -= 1
    return end


class _Packer:
    """`cuts` are the offsets where a chunk may begin, first and last those of the section; a *part*
    is what lies between two of them. Strict progress: each chunk brings at least one new part."""

    def __init__(
        self, text: str, blocks: Sequence[Block], measure: Measure, budget: int, overlap: int
    ) -> None:
        self.text, self.measure, self.budget, self.overlap = text, measure, budget, overlap
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
            if block.inner:
                inner = list(leaves([block]))
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
        limit = min(len(self.cuts), known + 1 + MOST_PARTS * self.budget)
        beyond = bisect_right(
            self.cuts, self.budget, known + 1, limit, key=lambda at: self.measure(start, at)
        )
        return beyond - 1

    def _fits(self, start: int, end: int) -> bool:
        return self.measure(start, end) <= self.budget

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
            inside = sentence_starts(self.text, self.cuts[part - 1], begin)[1:]
            starts = [
                at for at in inside if at > before and self.measure(at, begin) <= self.overlap
            ]
        return next((at for at in starts if self._fits(at, end)), begin)


# --- where blocks may be parted -------------------------------------------------------------------


def _cuts(text: str, blocks: Sequence[Block]) -> list[int]:
    """The starts of blocks, except below a heading and between a table and its caption."""
    cuts: list[int] = []
    above: Block | None = None
    for block, below in zip(blocks, [*blocks[1:], None], strict=True):
        if not (above and _belong_together(text, above, block, below)):
            cuts.append(block.start)
        above = block
    return cuts


def _belong_together(text: str, above: Block, block: Block, below: Block | None) -> bool:
    if above.kind == "heading":
        return True
    if block.kind == "table" and above.kind == "text":
        return _leads(text[above.start : above.end])
    if block.kind == "text" and above.kind == "table":  # above two tables, it is the second's
        return (below is None or below.kind != "table") and _is_named(text[block.start : block.end])
    return False


def _is_named(paragraph: str) -> bool:
    """Does a paragraph call itself the caption of a table?"""
    return _NAMED.match(paragraph) is not None and len(paragraph) <= LONGEST_CAPTION


def _leads(paragraph: str) -> bool:
    """Is a paragraph above a table its caption: named so, all in emphasis, or with a colon?"""
    line = paragraph.strip()
    if len(line) > LONGEST_CAPTION:
        return False
    return bool(_NAMED.match(line) or _EMPHASIS.fullmatch(line) or line.rstrip("*_").endswith(":"))


# --- where a block may be cut ---------------------------------------------------------------------
# No cut lies inside a grapheme cluster: what a reader sees as one character stays whole.


def line_starts(text: str, start: int, end: int) -> list[int]:
    """At lines."""
    return [start, *_ends(_LINE, text, start, end)]


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """At sentences, those of one paragraph."""
    return _between_clusters(text, [start, *sentence_ends(text, start, end)])


def word_starts(text: str, start: int, end: int) -> list[int]:
    """At words, each with the white space after it."""
    return _between_clusters(text, [start, *_ends(_WORD, text, start, end)])


def cluster_starts(text: str, start: int, end: int) -> list[int]:
    """At every grapheme cluster."""
    return [start, *(match.end() for match in _clusters().finditer(text, start, end))][:-1]


def _ends(pattern: re.Pattern[str], text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in pattern.finditer(text, start, end) if match.end() < end]


def _between_clusters(text: str, starts: Iterable[int]) -> list[int]:
    """Those of the starts that are not inside a grapheme cluster; the first one is not asked."""
    first, *others = starts
    return [first, *(at for at in others if text[at] < _FIRST_MARK or _parts(text, at))]


def _parts(text: str, at: int) -> bool:
    """Does a cluster end here? What stands before is white space or the end of a sentence."""
    match = _clusters().match(text, at - 1)
    return match is not None and match.end() == at


@cache
def _clusters() -> re.Pattern[str]:
    """Grapheme clusters (UAX #29), by `regex`; imported late: few texts are cut so finely."""
    import regex  # type: ignore[import-untyped]

    pattern: re.Pattern[str] = regex.compile(r"\X")
    return pattern


_PROSE: tuple[Starts, ...] = (sentence_starts, word_starts, cluster_starts)
_FINER: dict[str, tuple[Starts, ...]] = {
    "table": (),
    "fence": (line_starts,),
    "code": (line_starts, word_starts, cluster_starts),
    "html": (line_starts, word_starts, cluster_starts),
}
"""How a block that does not fit may be cut, coarse before fine; what is not named here is prose."""
