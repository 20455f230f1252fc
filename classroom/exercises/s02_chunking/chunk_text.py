"""Cut a text into overlapping windows

Cut `text` into pieces of at most `size` characters. Each piece starts `size - overlap` characters
after the one before. The last piece ends where the text ends, and nothing follows it. An empty text
has no pieces. Raise `ValueError` unless `size > 0` and `0 <= overlap < size`.
"""

from __future__ import annotations

from classroom.exercise import Exercise, case
from classroom.exercises.s02_chunking.common import any_window, hidden_texts
from labkit.chunking import windows


def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    """Windows of at most `size` characters, each overlapping the one before."""
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError("size must be above 0 and overlap from 0 to below size")
    chunks, start = [], 0
    while start < len(text):
        chunks.append(text[start : start + size])
        if start + size >= len(text):
            break
        start += size - overlap
    return chunks


def _by_labkit(text: str, size: int, overlap: int) -> list[str]:
    return [text[start:end] for start, end in windows(len(text), size, overlap)]


def last_chunk_lost(text: str, size: int, overlap: int) -> list[str]:
    """The last piece of the text is in no chunk: your loop stops when no full window is left."""
    _refuse(size, overlap)
    starts = range(0, len(text) - size + 1, size - overlap)
    return [text[start : start + size] for start in starts]


def pure_overlap_tail(text: str, size: int, overlap: int) -> list[str]:
    """There is one chunk too many at the end: it holds only overlap, all of it already covered."""
    _refuse(size, overlap)
    return [text[start : start + size] for start in range(0, len(text), size - overlap)]


def never_ending(text: str, size: int, overlap: int) -> list[str]:
    """The loop never ends when the overlap is as large as the window: it makes no step forward."""
    if size <= 0 or overlap < 0:
        raise ValueError("size and overlap must be positive")
    chunks, start = [], 0
    while start < len(text):
        chunks.append(text[start : start + size])
        if start + size >= len(text):
            break
        start += size - overlap
    return chunks


def no_overlap(text: str, size: int, overlap: int) -> list[str]:
    """Neighbouring chunks do not overlap: a sentence on a border is whole in neither of them."""
    _refuse(size, overlap)
    return [text[start : start + size] for start in range(0, len(text), size)]


def pieces_stripped(text: str, size: int, overlap: int) -> list[str]:
    """White space at the ends of a piece is lost: what is cut away can never be quoted."""
    return [piece.strip() for piece in chunk_text(text, size, overlap)]


def bad_sizes_accepted(text: str, size: int, overlap: int) -> list[str]:
    """A size or an overlap that makes no sense is not refused with a ValueError."""
    if size <= 0 or not 0 <= overlap < size:
        return []
    return chunk_text(text, size, overlap)


def _refuse(size: int, overlap: int) -> None:
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError("size must be above 0 and overlap from 0 to below size")


EXERCISE = Exercise(
    model_solution=chunk_text,
    reference=_by_labkit,
    cases=(
        case("three windows, the last one full", "abcdefghij", 4, 1),
        case("a short last window", "abcdefgh", 4, 1),
        case("a text shorter than a window", "abc", 4, 1),
        case("nothing to cut", "", 4, 1),
        case("an overlap that leaves no step", "abcdefgh", 4, 4),
    ),
    hidden=hidden_texts,
    strategy=any_window,
    hints=(
        "Where does the second window start, counted from the first? Write that number down.",
        "Walk with a variable `start`; a window is `text[start:start + size]`.",
        "When a window reaches the end of the text, you are done: stop before taking a step.",
        "Refuse bad sizes first: with overlap equal to size, the step is 0 and you never arrive.",
    ),
    hangs="never_ending",
    off_limits=("labkit.chunking",),
    points=6,
    minutes=20,
    core=True,
)
