"""Fixed windows of characters with overlap: the chunker that every other one is measured against.

The invariant: for every chunk, `chunk.text == document.text[chunk.start:chunk.end]`, and every
character of the body that a reader of the page sees is in some chunk.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from labkit.markdown import Span, hidden, within
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

    Windows in which a reader would see nothing make no chunk.
    """

    size: int = DEFAULT_SIZE
    overlap: int = DEFAULT_OVERLAP

    def __post_init__(self) -> None:
        windows(0, self.size, self.overlap)  # refuse bad sizes when they are given, not when used

    @property
    def version(self) -> str:
        return f"chars-{self.size}-overlap-{self.overlap}-v2"

    def chunk(self, document: Document) -> list[Chunk]:
        text, body = document.text, document.body_start
        spans = [
            (body + s, body + e) for s, e in windows(len(text) - body, self.size, self.overlap)
        ]
        return window_chunks(document, spans)


def window_chunks(document: Document, spans: Iterable[Span]) -> list[Chunk]:
    """Chunks of these spans of a document, those left out in which a reader would see nothing.

    A window knows nothing of sentences, so its flags say that it may cut one: `cut_start` after
    the beginning of the body, `cut_end` before the end of the text.
    """
    meta, text, unseen = document.meta, document.text, hidden(document.text, document.body_start)
    chunks: list[Chunk] = []
    for start, end in spans:
        cut_start = ("cut_start",) if start > document.body_start else ()
        cut_end = ("cut_end",) if end < len(text) else ()
        chunk = Chunk(
            meta, len(chunks), start, end, text[start:end], flags=cut_start + cut_end,
            hidden=within(unseen, start, end),
        )  # fmt: skip
        if chunk.visible.strip():
            chunks.append(chunk)
    return chunks
