"""Stage 02: cutting a text into windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import TYPE_CHECKING

from classroom.exercise import Arguments, Case, Exercise, cases, mistakes
from labkit.chunking import windows
from labkit.text import sentences

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Span = tuple[int, int]


# --- chunk_text ----------------------------------------------------------------------------------


def chunk_text(text: str, size: int, overlap: int) -> list[str]:
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


def _hidden_texts(random: Random) -> Iterator[Arguments]:
    for _ in range(30):
        size = random.randint(1, 12)
        length = random.randint(0, 40)
        text = "".join(random.choice("abcdefghij é\n") for _ in range(length))
        yield text, size, random.randint(0, size - 1)
    yield "abcdef", 3, 3
    yield "abcdef", 0, 0
    yield "abcdef", 3, -1


def _any_window() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    # The length is drawn as a number of its own: that shrinks to the shortest text.
    return st.tuples(
        st.integers(0, 12),
        st.sampled_from(["abcdefghijkl", "abababababab", "a b c d e f "]),
        st.integers(0, 6),
        st.integers(0, 6),
    ).map(lambda drawn: (drawn[1][: drawn[0]], drawn[2], drawn[3]))


CHUNK_TEXT = Exercise(
    id="chunk_text",
    stage=2,
    title="Cut a text into overlapping windows",
    task=(
        "Cut `text` into pieces of at most `size` characters. Each piece starts `size - overlap` "
        "characters after the one before. The last piece ends where the text ends, and nothing "
        "follows it. An empty text has no pieces. Raise `ValueError` unless `size > 0` and "
        "`0 <= overlap < size`."
    ),
    starter='''\
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    """Windows of at most `size` characters, each overlapping the one before."""
    raise NotImplementedError
''',
    reference=chunk_text,
    cases=cases(
        Case(("abcdefghij", 4, 1), "three windows, the last one full"),
        Case(("abcdefgh", 4, 1), "a short last window"),
        Case(("abc", 4, 1), "a text shorter than a window"),
        Case(("", 4, 1), "nothing to cut"),
        Case(("abcdefgh", 4, 4), "an overlap that leaves no step"),
    ),
    hidden=_hidden_texts,
    strategy=_any_window,
    hints=(
        "Where does the second window start, counted from the first? Write that number down.",
        "Walk with a variable `start`; a window is `text[start:start + size]`.",
        "When a window reaches the end of the text, you are done: stop before taking a step.",
        "Refuse bad sizes first: with overlap equal to size, the step is 0 and you never arrive.",
    ),
    mistakes=mistakes(
        last_chunk_lost,
        pure_overlap_tail,
        never_ending,
        no_overlap,
        pieces_stripped,
        bad_sizes_accepted,
        hangs=(never_ending,),
    ),
    off_limits=("labkit.chunking", "classroom.exercises"),
    answer="""\
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError("size must be above 0 and overlap from 0 to below size")
    chunks, start = [], 0
    while start < len(text):
        chunks.append(text[start : start + size])
        if start + size >= len(text):
            break
        start += size - overlap
    return chunks
""",
    core=True,
    points=6,
    minutes=20,
)


# --- chunk_offsets -------------------------------------------------------------------------------


def chunk_offsets(text: str, size: int, overlap: int) -> list[Span]:
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


CHUNK_OFFSETS = Exercise(
    id="chunk_offsets",
    stage=2,
    title="Say where each window stands",
    task=(
        "Return the `(start, end)` of each window that `chunk_text` would cut, so that "
        "`text[start:end]` is the window, also where a passage repeats."
    ),
    starter='''\
def chunk_offsets(text: str, size: int, overlap: int) -> list[tuple[int, int]]:
    """The (start, end) of each window; `text[start:end]` is its text."""
    raise NotImplementedError
''',
    reference=chunk_offsets,
    cases=cases(
        Case(("abcdefghij", 4, 1), "three windows"),
        Case(("abababab", 4, 2), "a passage that repeats"),
        Case(("", 4, 1), "nothing to cut"),
    ),
    hidden=_hidden_texts,
    strategy=_any_window,
    hints=(
        "You know each start before you cut: keep it instead of looking for it afterwards.",
        "The end is `start + size`, but never more than `len(text)`.",
        "Your loop of `chunk_text` already has both numbers: append `(start, end)`.",
    ),
    mistakes=mistakes(found_with_find, end_beyond_text, end_inclusive),
    off_limits=("labkit.chunking", "classroom.exercises"),
    builds_on=("chunk_text",),
    answer="""\
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
""",
    points=4,
    minutes=10,
)


# --- transfer: sentence_windows ------------------------------------------------------------------


def sentence_windows(text: str, ends: list[int], size: int) -> list[str]:
    """Greedy windows that end where a sentence ends, or at `size` where none does."""
    return _pieces(text, ends, size, lambda fitting, limit, _: max(fitting, default=limit))


def sentence_too_long(text: str, ends: list[int], size: int) -> list[str]:
    """A sentence longer than the window makes a piece longer than `size`."""
    return _pieces(
        text, ends, size, lambda fitting, _, later: max(fitting, default=min([*later, len(text)]))
    )


def first_end_taken(text: str, ends: list[int], size: int) -> list[str]:
    """Each piece stops at the first sentence end although more whole sentences would fit."""
    return _pieces(text, ends, size, lambda fitting, limit, _: min(fitting, default=limit))


def end_left_out(text: str, ends: list[int], size: int) -> list[str]:
    """A sentence that exactly fills the window is not taken whole: its end counts as inside."""
    return _pieces(
        text,
        ends,
        size,
        lambda fitting, limit, _: max((end for end in fitting if end < limit), default=limit),
    )


def _pieces(
    text: str, ends: list[int], size: int, choose: Callable[[list[int], int, list[int]], int]
) -> list[str]:
    """Pieces from left to right; `choose(fitting ends, limit, later ends)` says where one ends."""
    if size <= 0:
        raise ValueError("size must be above 0")
    pieces, start = [], 0
    while start < len(text):
        limit = min(start + size, len(text))
        later = [end for end in ends if end > start]
        fitting = [end for end in later if end <= limit]
        end = choose(fitting, limit, later) if limit < len(text) else limit
        pieces.append(text[start:end])
        start = end
    return pieces


def _hidden_sentences(random: Random) -> Iterator[Arguments]:
    for _ in range(25):
        words = ["ab", "cde", "f", "ghij.", "k."]
        text = " ".join(random.choice(words) for _ in range(random.randint(0, 12)))
        yield text, [end for _, end in sentences(text)], random.randint(1, 12)
    for _ in range(5):  # two of four sentences fill the first window to its last character
        text = " ".join("x" * random.randint(2, 5) + "." for _ in range(4))
        ends = [end for _, end in sentences(text.upper())]
        yield text, ends, ends[1]
    yield "abc.", [4], 0


def _any_sentences() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    return st.text("ab", max_size=10).flatmap(
        lambda text: st.tuples(
            st.just(text),
            st.lists(st.integers(1, max(1, len(text))), unique=True, max_size=4).map(
                lambda ends: sorted(end for end in ends if end <= len(text))
            ),
            st.integers(0, 6),
        )
    )


SENTENCE_WINDOWS = Exercise(
    id="sentence_windows",
    stage=2,
    title="Transfer: windows that end at sentence ends",
    task=(
        "Cut `text` into pieces without overlap, from left to right. Each piece takes as many "
        "whole sentences as fit into `size` characters; `ends` lists where sentences end, in "
        "order. Where not even one fits, cut at `size`. What remains and fits is the last piece. "
        "Raise `ValueError` for a `size` of 0 or less."
    ),
    starter='''\
def sentence_windows(text: str, ends: list[int], size: int) -> list[str]:
    """Pieces of at most `size` characters that end where sentences end, if they can."""
    raise NotImplementedError
''',
    reference=sentence_windows,
    cases=cases(
        Case(("One. Two. Three.", [4, 9, 16], 10), "two sentences fit into the first piece"),
        Case(("One. Two. Three.", [4, 9, 16], 9), "two sentences fill the first piece exactly"),
        Case(("Onetwothree. Four.", [12, 18], 8), "a sentence longer than the window"),
        Case(("", [], 5), "nothing to cut"),
    ),
    hidden=_hidden_sentences,
    strategy=_any_sentences,
    hints=(
        "Start from `chunk_text` without overlap and ask only where each piece should end.",
        "Candidates are the ends after `start` and at most at `start + size`.",
        "Take the largest candidate; without one, cut at `start + size`.",
    ),
    mistakes=mistakes(sentence_too_long, first_end_taken, end_left_out),
    off_limits=("labkit.chunking", "classroom.exercises"),
    answer="""\
    if size <= 0:
        raise ValueError("size must be above 0")
    pieces, start = [], 0
    while start < len(text):
        limit = min(start + size, len(text))
        fitting = [end for end in ends if start < end <= limit]
        end = max(fitting) if fitting and limit < len(text) else limit
        pieces.append(text[start:end])
        start = end
    return pieces
""",
    transfer=True,
    points=6,
    minutes=20,
)

EXERCISES = (CHUNK_TEXT, CHUNK_OFFSETS, SENTENCE_WINDOWS)
