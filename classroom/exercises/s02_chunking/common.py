"""What the exercises of stage 02 share."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Strategy


def hidden_texts(random: Random) -> Iterator[Arguments]:
    for _ in range(30):
        size = random.randint(1, 12)
        length = random.randint(0, 40)
        text = "".join(random.choice("abcdefghij é\n") for _ in range(length))
        yield text, size, random.randint(0, size - 1)
    yield "abcdef", 3, 3
    yield "abcdef", 0, 0
    yield "abcdef", 3, -1


def any_window() -> Strategy:
    # The length is drawn as a number of its own: that shrinks to the shortest text.
    return st.tuples(
        st.integers(0, 12),
        st.sampled_from(["abcdefghijkl", "abababababab", "a b c d e f "]),
        st.integers(0, 6),
        st.integers(0, 6),
    ).map(lambda drawn: (drawn[1][: drawn[0]], drawn[2], drawn[3]))
