"""Structure-aware chunks of Markdown: sections, then paragraphs, then sentences; tables whole.

A document that fits is one chunk. Else each heading of level 1 to 3 opens a section, and each
section is cut by itself: between blocks where that is enough, between sentences where a paragraph
is too long, then between words, and at last between characters as a reader sees them. Sections are
never merged: a chunk has one heading, and a citation one link.

Never cut: a table, which stands with its caption, and a fence that fits. What cannot be cut to size
says so in `flags`: `oversize_table`, `oversize` (a line of a fence, or one character), and
`cut_fence` on the parts of a fence that does not fit, which is cut between its lines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from labkit.chunking.outline import Outline, Section
from labkit.chunking.packing import spans, stripped
from labkit.chunking.structure import scan
from labkit.chunking.tokens import EstimatedTokens, Measure, TokenCounter
from labkit.types import Chunk, Document

DEFAULT_SIZE = 512
DEFAULT_OVERLAP = 64
CONTEXT = 32  # tokens of the model's window that are kept for title and headings


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
        return f"markdown-{self.effective_size}-overlap-{self.overlap}-v1"

    def chunk(self, document: Document) -> list[Chunk]:
        text, outline = document.text, Outline()
        measure, room = self.tokens.measure(text), self._room(document, ())[0]
        chunks: list[Chunk] = []
        for page, start, end in _pages(document):
            blocks = scan(text if end == len(text) else text[:end], start)
            fits = measure(start, stripped(text, start, end)) <= room
            for section in outline.whole(blocks) if fits else outline.sections(blocks):
                chunks += self._of_section(document, section, page, measure, len(chunks))
        return chunks

    def _of_section(
        self, document: Document, section: Section, page: int | None, measure: Measure, part: int
    ) -> Iterator[Chunk]:
        """The chunks of one section; the first has the number `part`."""
        meta, text, own = document.meta, document.text, (section.title,) if section.title else ()
        title, anchor = section.title, section.anchor
        room, headings = self._room(document, section.path + own)
        context = "\n".join(headings[: len(headings) - len(own)])
        last = -1  # where the chunk before ends: white space alone brings nothing new
        for start, after, flags in spans(text, section.blocks, measure, room, self.overlap):
            end = stripped(text, start, after)
            if end > max(start, last):
                piece, count, last = text[start:end], measure(start, end), end
                yield Chunk(
                    meta, part, start, end, piece, context, page, title, anchor, count, flags
                )
                part, context = part + 1, "\n".join(headings)

    def _room(self, document: Document, headings: tuple[str, ...]) -> tuple[int, tuple[str, ...]]:
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


def _pages(document: Document) -> list[tuple[int | None, int, int]]:
    """(page, start, end) of each page; one without a number where a document has no pages."""
    starts, end = document.page_starts, len(document.text)
    if not starts:
        return [(None, document.body_start, end)]
    spans_of_pages = pairwise((document.body_start, *starts[1:], end))
    return [(number, *span) for number, span in enumerate(spans_of_pages, start=1)]
