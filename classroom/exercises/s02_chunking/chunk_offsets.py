"""Say where each window stands

Return the `(start, end)` of each window that `chunk_text` would cut, so that `text[start:end]` is
the window, also where a passage repeats.
"""

from __future__ import annotations

from typing import TypeAlias

from classroom.exercise import Exercise, case
from classroom.exercises.s02_chunking.chunk_text import chunk_text
from classroom.exercises.s02_chunking.common import any_window, hidden_texts
from labkit.chunking import windows

Span: TypeAlias = tuple[int, int]


def chunk_offsets(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """The (start, end) of each window; `text[start:end]` is its text."""
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError("size must be above 0 and overlap from 0 to below size")
    spans, start = [], 0
    while start < len(text):
        end = min(start + size, len(text))
        spans.append((start, end))
        if end == len(text):
            break
        start += size - overlap
    return spans


def _by_labkit(text: str, size: int, overlap: int) -> list[Span]:
    return windows(len(text), size, overlap)


def found_with_find(text: str, size: int, overlap: int) -> list[Span]:
    """A repeated passage gets the place of its first copy: `find` cannot know which one it is."""
    pieces = chunk_text(text, size, overlap)
    return [(text.find(piece), text.find(piece) + len(piece)) for piece in pieces]


def end_beyond_text(text: str, size: int, overlap: int) -> list[Span]:
    """The last window's end lies beyond the end of the text."""
    return [(start, start + size) for start, _ in windows(len(text), size, overlap)]


def end_inclusive(text: str, size: int, overlap: int) -> list[Span]:
    """The ends are one too low: an end names the first character that is no longer inside."""
    return [(start, end - 1) for start, end in windows(len(text), size, overlap)]


EXERCISE = Exercise(
    model_solution=chunk_offsets,
    reference=_by_labkit,
    cases=(
        case("three windows", "abcdefghij", 4, 1),
        case("a passage that repeats", "abababab", 4, 2),
        case("nothing to cut", "", 4, 1),
    ),
    hidden=hidden_texts,
    strategy=any_window,
    hints=(
        "You know each start before you cut: keep it instead of looking for it afterwards.",
        "The end is `start + size`, but never more than `len(text)`.",
        "Your loop of `chunk_text` already has both numbers: append `(start, end)`.",
    ),
    off_limits=("labkit.chunking",),
    place=2,
    points=4,
    minutes=10,
    builds_on=("chunk_text",),
)
