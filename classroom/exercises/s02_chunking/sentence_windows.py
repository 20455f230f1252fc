"""Transfer: windows that end at sentence ends

Cut `text` into pieces without overlap, from left to right. Each piece takes as many whole sentences
as fit into `size` characters; `ends` lists where sentences end, in order. Where not even one fits,
cut at `size`. What remains and fits is the last piece. Raise `ValueError` for a `size` of 0 or
less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit.markdown import sentences


def sentence_windows(text: str, ends: list[int], size: int) -> list[str]:
    """Pieces of at most `size` characters that end where sentences end, if they can."""
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


def _any_sentences() -> Strategy:
    return st.text("ab", max_size=10).flatmap(
        lambda text: st.tuples(
            st.just(text),
            st.lists(st.integers(1, max(1, len(text))), unique=True, max_size=4).map(
                lambda ends: sorted(end for end in ends if end <= len(text))
            ),
            st.integers(0, 6),
        )
    )


EXERCISE = Exercise(
    model_solution=sentence_windows,
    reference=sentence_windows,
    cases=(
        case("two sentences fit into the first piece", "One. Two. Three.", [4, 9, 16], 10),
        case("two sentences fill the first piece exactly", "One. Two. Three.", [4, 9, 16], 9),
        case("a sentence longer than the window", "Onetwothree. Four.", [12, 18], 8),
        case("nothing to cut", "", [], 5),
    ),
    hidden=_hidden_sentences,
    strategy=_any_sentences,
    hints=(
        "Start from `chunk_text` without overlap and ask only where each piece should end.",
        "Candidates are the ends after `start` and at most at `start + size`.",
        "Take the largest candidate; without one, cut at `start + size`.",
    ),
    off_limits=("labkit.chunking",),
    place=3,
    points=6,
    minutes=20,
    transfer=True,
)
