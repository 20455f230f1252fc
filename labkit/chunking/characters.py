"""Fixed windows of characters with overlap: the chunker that every other one is measured against.

The invariant: for every chunk, `chunk.text == document.text[chunk.start:chunk.end]`, and every
character of the body is in some chunk.
"""

from __future__ import annotations

from dataclasses import dataclass

from labkit.types import Chunk, Document

DEFAULT_SIZE = 600
DEFAULT_OVERLAP = 80


def windows(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
    """The (start, end) pairs of windows that cover `length` characters.

    Each window starts `size - overlap` after the one before. The last one ends at `length`, and
    nothing follows it: a window of pure overlap would only repeat what is already covered.

    Raises ValueError unless size > 0 and 0 <= overlap < size.

    >>> windows(10, size=4, overlap=1)
    [(0, 4), (3, 7), (6, 10)]
    """
    if size <= 0:
        raise ValueError(f"size is {size}; a window needs at least one character.")
    if not 0 <= overlap < size:
        raise ValueError(f"overlap is {overlap}; it must be at least 0 and below size ({size}).")
    spans: list[tuple[int, int]] = []
    start = 0
    while start < length:
        end = min(start + size, length)
        spans.append((start, end))
        if end == length:
            break
        start += size - overlap
    return spans


@dataclass(frozen=True, slots=True)
class CharacterChunker:
    """Windows over the body of a document, in code points: `labkit.types.Chunker`.

    Windows that hold only white space make no chunk.
    """

    size: int = DEFAULT_SIZE
    overlap: int = DEFAULT_OVERLAP

    def __post_init__(self) -> None:
        windows(0, self.size, self.overlap)  # refuse bad sizes when they are given, not when used

    @property
    def version(self) -> str:
        return f"chars-{self.size}-overlap-{self.overlap}-v1"

    def chunk(self, document: Document) -> list[Chunk]:
        meta, text, body = document.meta, document.text, document.body_start
        chunks: list[Chunk] = []
        for offset, limit in windows(len(text) - body, self.size, self.overlap):
            start, end = body + offset, body + limit
            piece = text[start:end]
            if not piece.isspace():
                chunks.append(Chunk(meta, len(chunks), start, end, piece))
        return chunks
