"""A document as its chunks, with one passage marked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from typing import Literal, TypeAlias

from labkit.answering.access_filter import admit
from labkit.assembly import Lab
from labkit.service.diagnostics.session import index_of
from labkit.types import Chunk, Metadata

Shade: TypeAlias = Literal["", "again", "mark"]
"""How a stretch of text is shown: `again` repeats the chunk before it."""


@dataclass(frozen=True)
class Piece:
    """A chunk, cut into stretches: their texts in a row are the chunk's text."""

    chunk: Chunk
    stretches: tuple[tuple[Shade, str], ...]

    @property
    def marked(self) -> bool:
        return any(shade == "mark" for shade, _ in self.stretches)


@dataclass(frozen=True)
class SourcePage:
    """A document that this viewer may read on this day, and its chunks in order."""

    meta: Metadata
    pieces: tuple[Piece, ...]

    @property
    def shown(self) -> Chunk:
        """The chunk with the passage, or the first."""
        return next((piece.chunk for piece in self.pieces if piece.marked), self.pieces[0].chunk)


def source_page(
    lab: Lab, source_id: str, viewer: str, as_of: date, part: int, start: int, end: int
) -> SourcePage | None:
    """The page of a document; None, the same for both, if it is not there or not eligible.

    `start` to `end`, offsets in the document, are marked in chunk `part`; all of it if they are
    not in it.
    """
    eligible = admit(lab.settings.viewer_named(viewer or None), as_of)
    chunks = [chunk for chunk, _ in index_of(lab).chunks(source_id)]
    if not chunks or not all(eligible.admits(chunk.meta) for chunk in chunks):
        return None
    return SourcePage(chunks[0].meta, tuple(pieces(chunks, part, start, end)))


def pieces(chunks: Sequence[Chunk], part: int, start: int, end: int) -> list[Piece]:
    """The chunks with what each repeats of the one before it, and the passage marked."""
    shown: list[Piece] = []
    reached = 0
    for chunk in chunks:
        repeated = min(max(reached - chunk.start, 0), len(chunk.text))
        marked = _within(chunk, start, end) if chunk.part == part else (0, 0)
        shown.append(Piece(chunk, _stretches(chunk.text, repeated, *marked)))
        reached = max(reached, chunk.end)
    return shown


def _within(chunk: Chunk, start: int, end: int) -> tuple[int, int]:
    """A range of the document as a range of the chunk; the whole chunk if it is not in it."""
    if chunk.start <= start < end <= chunk.end:
        return start - chunk.start, end - chunk.start
    return 0, len(chunk.text)


def _stretches(text: str, repeated: int, first: int, last: int) -> tuple[tuple[Shade, str], ...]:
    """The text in one to four stretches; what is marked is shown as that, repeated or not.

    >>> _stretches("abcdef", 2, 3, 5)
    (('again', 'ab'), ('', 'c'), ('mark', 'de'), ('', 'f'))
    """
    cuts = sorted({0, repeated, first, last, len(text)})
    found: list[tuple[Shade, str]] = []
    for begin, stop in pairwise(cuts):
        inside = first <= begin < last
        shade: Shade = "mark" if inside else "again" if begin < repeated else ""
        if found and found[-1][0] == shade:
            found[-1] = (shade, found[-1][1] + text[begin:stop])
        else:
            found.append((shade, text[begin:stop]))
    return tuple(found)
