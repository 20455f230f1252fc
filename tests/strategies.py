"""Hypothesis strategies, and the plain oracles that more than one test asks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from labkit.markdown import hidden
from labkit.types import Matrix

settings.register_profile("lab", deadline=None)  # a busy machine is no fault
settings.load_profile("lab")

ODD = "\x00\x07\ud800\udfff\ufeff\u00ad\u200d\u2028\u202f\u00a0\U0001f9d1\U0001f680ŒœßİıK️々가ｶﾞ℃𝐁"
any_text = st.text(st.one_of(st.characters(codec=None), st.sampled_from(ODD)), max_size=80)
"""Whatever a person or a program may hand over: NUL, lone surrogates and emoji included."""

readable_text = st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs")), max_size=80)

any_words = st.lists(
    st.sampled_from("csv export pdf report invoice vat plan a c c++ gx-100 été".split()), max_size=8
).map(" ".join)

_LINES = (
    "A line of text. Another one.",
    "lower case goes on",
    "# Heading",
    "#no heading",
    "===",
    "---",
    "* * *",
    "- item one",
    "  continued",
    "1. first",
    "12) twelfth",
    "> quoted. More",
    ">",
    "> > deeper",
    "```python",
    "```",
    "````",
    "~~~",
    "```inline``` code",
    "| a | b |",
    "|---|---|",
    "    indented",
    "Dr. Who? Yes!",
    "« Oui. » Il part.",
    "",
    " ",
    "\t",
)
markdown = st.lists(st.sampled_from(_LINES) | readable_text, max_size=14).map("\n".join)
"""Markdown in every state of disorder."""

spans = st.tuples(st.integers(1, 40), st.integers(0, 39)).filter(lambda pair: pair[1] < pair[0])
"""Legal (size, overlap) pairs."""


@st.composite
def matrices(draw: st.DrawFn, max_rows: int = 30, dimension: int = 3) -> Matrix:
    """Vectors of small whole numbers, so that rows repeat, tie and nearly tie; none is zero."""
    cell = st.integers(-2, 2) | st.sampled_from([0.1, 1.0000001, 0.99999994, 1e-6, 3e4])
    row = st.lists(cell, min_size=dimension, max_size=dimension).filter(any)
    rows = draw(st.lists(row, min_size=1, max_size=max_rows))
    return np.array(rows, dtype=np.float32)


def blanked(text: str) -> str:
    """The text with spaces for what nobody sees."""
    for start, end in hidden(text):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


# --- an oracle for sentences ---------------------------------------------------------------------

_LEFT_OUT = re.compile(
    r"[ \t>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*"
    r"(?:#{1,6}(?:[ \t]|$)|`{3,}|~{3,}|<|:::|\[\[toc\]\]|\[[^]]*\]:)"
)
_TAG = re.compile(r"<[^<>]*>")
_NUMBER = re.compile(r"[ \t>]*\d{1,9}[.)][ \t]")
_ENDS = re.compile(r"[ \t>]*$|[ \t]*(?:`{3}|~{3}|#)")
_UNDERLINE = re.compile(r"[ \t>]*(?:=+|-+)[ \t]*$")


def wrongly_left_out(text: str, found: list[tuple[int, int]]) -> Iterator[str]:
    """Lines with a letter or digit in no sentence, though they are no heading, fence or marker."""
    covered = bytearray(len(text))
    for start, end in found:
        covered[start:end] = b"\x01" * (end - start)
    lines = text.split("\n")
    offset = 0
    for number, line in enumerate(lines):
        rest = takewhile(lambda other: not _ENDS.match(other), lines[number + 1 :])
        is_title = any(map(_UNDERLINE.match, rest))
        number_mark = _NUMBER.match(line)
        first = number_mark.end() if number_mark else 0
        lost = any(
            c.isalnum() and not covered[offset + first + i] for i, c in enumerate(line[first:])
        )
        says = any(map(str.isalnum, _TAG.sub("", line)))
        if lost and says and not _LEFT_OUT.match(line) and not is_title:
            yield line
        offset += len(line) + 1


def in_order(text: str, found: list[tuple[int, int]]) -> bool:
    """Are the spans inside the text, ordered, apart, not blank and without white space around?"""
    last = 0
    for start, end in found:
        piece = text[start:end]
        if not last <= start < end <= len(text) or piece != piece.strip():
            return False
        last = end
    return True
