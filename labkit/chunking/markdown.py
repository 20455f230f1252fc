"""Structure-aware chunks of Markdown: sections, then paragraphs, then sentences; tables whole.

A document that fits is one chunk. Else each heading of level 1 to 3 opens a section, and each
section is cut by itself: between blocks where that is enough, between sentences where a paragraph
is too long, then between words, and at last between characters as a reader sees them. Sections are
never merged: a chunk has one heading, and a citation one link.

Never cut: a table, which stands with its caption, and a fence that fits. What cannot be cut to size
says so in `flags`: `oversize_table`, `oversize` (a line of a fence, or one character), and
`cut_fence` on the parts of a fence that does not fit, which is cut between its lines. `cut_start`
and `cut_end` say that a sentence, or code with its lead-in, goes on beyond the chunk.

What no reader sees is noted in `hidden`; where it is long, such as a picture in a `data:` address,
no chunk holds it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain, pairwise
from operator import attrgetter
from typing import NamedTuple

from labkit.chunking.sections import Section, Sections
from labkit.chunking.splitter import around, spans, stripped
from labkit.chunking.tokens import EstimatedTokens, Measure, TokenCounter
from labkit.markdown import Block, Span, Unit, hidden, pieces, read, within
from labkit.text import ends_sentence
from labkit.types import Chunk, Document

DEFAULT_SIZE = 512
DEFAULT_OVERLAP = 64
CONTEXT = 32  # tokens of the model's window that are kept for title and headings
LONGEST_HIDDEN = 200  # characters that nobody sees; longer ones are cut out


class _Page(NamedTuple):
    """What is read of text[start:end]; `number` is None where a document has no pages."""

    number: int | None
    start: int
    end: int
    blocks: list[Block]
    unseen: list[Span]
    said: list[Unit]


@dataclass(frozen=True, slots=True)
class MarkdownChunker:
    """Chunks of at most `size` tokens, those of one section overlapping: `labkit.types.Chunker`.

    The overlap is whole sentences or blocks, of at most `overlap` tokens together. `tokens` counts,
    and knows the model's window: no chunk exceeds it together with its title and headings.

    `context` holds the headings above a chunk, outermost first, a line each. The heading of its
    own section stands in the slice of the section's first chunk, and in the context of the others.

    Raises ValueError unless size > 0 and 0 <= overlap < the effective size.
    """

    size: int = DEFAULT_SIZE
    overlap: int = DEFAULT_OVERLAP
    tokens: TokenCounter = field(default_factory=EstimatedTokens)

    def __post_init__(self) -> None:
        size = self.effective_size
        if size <= 0:
            raise ValueError(f"size is {size}; a chunk needs at least one token.")
        if not 0 <= self.overlap < size:
            raise ValueError(
                f"overlap is {self.overlap}; it must be at least 0 and below size ({size})."
            )

    @property
    def effective_size(self) -> int:
        """The size asked for, or what the model's window leaves for it."""
        window = self.tokens.window
        return self.size if window is None else min(self.size, window - CONTEXT)

    @property
    def version(self) -> str:
        return f"markdown-{self.effective_size}-overlap-{self.overlap}-v2"

    def chunk(self, document: Document) -> list[Chunk]:
        pages, sections = _pages(document), Sections()
        measure = self.tokens.measure(_seen(document.text, pages))
        budget = self._budget(document, ())[0]
        chunks: list[Chunk] = []
        for page in pages:
            fits = measure(page.start, stripped(document.text, page.start, page.end)) <= budget
            split = sections.whole if fits else sections.split
            for section in split(page.blocks):
                chunks += self._of_section(document, section, page, measure, len(chunks))
        return chunks

    def _of_section(
        self, document: Document, section: Section, page: _Page, measure: Measure, part: int
    ) -> Iterator[Chunk]:
        """The chunks of one section; the first has the number `part`."""
        meta, text, (_, title, path, anchor) = document.meta, document.text, section.heading
        own = (title,) if title else ()
        budget, headings = self._budget(document, path + own)
        context = "\n".join(headings[: len(headings) - len(own)])
        last = -1  # where the chunk before ends: white space alone brings nothing new
        gone = [span for span in page.unseen if span[1] - span[0] > LONGEST_HIDDEN]
        for run in around(section.blocks, gone):
            for start, after, flags in spans(text, run, measure, budget, self.overlap):
                end = stripped(text, start, after)
                if end <= max(start, last):
                    continue
                last = end
                flags += tuple(_cut_flags(text, page, start, end))
                unseen = within(page.unseen, start, end)
                count = measure(start, end)
                chunk = Chunk(
                    meta, part, start, end, text[start:end], context, page.number, title, anchor,
                    count, flags, unseen,
                )  # fmt: skip
                if chunk.visible.strip():
                    yield chunk
                    part, context = part + 1, "\n".join(headings)

    def _budget(self, document: Document, headings: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
        """Tokens for the text of a chunk under these headings, and the headings that are kept.

        Very long ones leave from the outermost until they leave half of the size to the text.
        """
        window = self.tokens.window
        if window is None:
            return self.size, headings
        size = self.effective_size
        while True:
            beside = "\n".join((document.meta.title, *headings))
            left = window - self.tokens.measure(beside)(0, len(beside))
            if left >= size / 2 or not headings:
                return max(min(size, left), (size + 1) // 2), headings
            headings = headings[1:]


def _pages(document: Document) -> list[_Page]:
    text, starts = document.text, document.page_starts
    borders = pairwise((document.body_start, *starts[1:], len(text)))
    return [
        _page(text, number if starts else None, start, end)
        for number, (start, end) in enumerate(borders, start=1)
    ]


def _page(text: str, number: int | None, start: int, end: int) -> _Page:
    blocks = read(text, start, end)
    unseen = hidden(text, start, end, blocks)
    blocks = [_without_hidden_heading(block, unseen) for block in blocks]
    return _Page(number, start, end, blocks, unseen, pieces(text, blocks))


def _without_hidden_heading(block: Block, unseen: list[Span]) -> Block:
    """A heading inside a hidden element names nothing: its words would be embedded with others."""
    if block.level and any(start <= block.start and block.end <= end for start, end in unseen):
        return block._replace(kind="html", level=0)
    return block


def _seen(text: str, pages: list[_Page]) -> str:
    """The text with spaces for what nobody sees: that has no tokens."""
    parts, position = [], 0
    for start, end in chain.from_iterable(page.unseen for page in pages):
        parts += [text[position:start], " " * (end - start)]
        position = end
    return "".join([*parts, text[position:]])


def _cut_flags(text: str, page: _Page, start: int, end: int) -> Iterator[str]:
    """Does a sentence, or code with its lead-in, go on beyond a chunk? A page may end in one."""
    runs_in = page.number is not None and not text[page.start : start].strip()
    runs_on = page.number is not None and not text[end : page.end].strip()
    before = text[: page.start].rstrip()
    if _is_inside(page.said, start) or (runs_in and before and not ends_sentence(before)):
        yield "cut_start"
    is_last = page.end == len(text)
    if _is_inside(page.said, end) or (runs_on and not is_last and not ends_sentence(text[:end])):
        yield "cut_end"


def _is_inside(said: list[Unit], offset: int) -> bool:
    """Is the offset between the first and the last character of something that is said?"""
    unit = said[bisect_left(said, offset, key=attrgetter("start")) - 1] if said else None
    return unit is not None and unit.start < offset < unit.end
