"""Where a text may be cut: at paragraphs, lines, sentences, words, and at last between characters.

Each function gives the starts of the parts of text[start:end]; the first is `start` itself. No cut
lies inside a grapheme cluster: what a reader sees as one character stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from typing import TypeAlias

from labkit.text import sentences

Starts: TypeAlias = Callable[[str, int, int], list[int]]

_LINE = re.compile(r"\n")
_WORD = re.compile(r"\s(?=\S)")
_SENTENCE_END = re.compile(
    r"[.!?…][\"'”’)\]*_»\u00a0\u202f]*\s+(?=[^\sa-zà-ÿ])|[。！？][」』”]*\s*"
)
_FIRST_MARK = "\u0300"  # no character below it joins the one before


def paragraph_starts(text: str, start: int, end: int) -> list[int]:
    """At paragraphs: below blank lines."""
    starts = [start]
    while (blank := text.find("\n\n", starts[-1], end - 2)) >= 0:
        after = blank + 2
        while after < end and text[after] == "\n":
            after += 1
        if after == end:
            break
        starts.append(after)
    return starts


def line_starts(text: str, start: int, end: int) -> list[int]:
    """At lines."""
    return [start, *_ends(_LINE, text, start, end)]


def sentence_starts(text: str, start: int, end: int) -> list[int]:
    """At sentences; a heading stays with the one below it, a list marker with the one it begins."""
    part = text[start:end]
    found = sentences(part)
    starts, last = [start], 0
    for number, (first, after) in enumerate(found):
        line = part.rfind("\n", last, first) + 1
        if number:
            starts.append(start + (line or first))
        last = after
    return _between_clusters(text, starts)


def later_sentences(text: str, start: int, end: int) -> list[int]:
    """Where sentences probably begin in a paragraph of which text[start:end] is the end.

    Fast rather than fine: a wrong guess makes an overlap a little longer or shorter.
    """
    return _between_clusters(text, [start, *_ends(_SENTENCE_END, text, start, end)])[1:]


def word_starts(text: str, start: int, end: int) -> list[int]:
    """At words, each with the white space after it."""
    return _between_clusters(text, [start, *_ends(_WORD, text, start, end)])


def cluster_starts(text: str, start: int, end: int) -> list[int]:
    """At every grapheme cluster."""
    return [start, *(match.end() for match in _clusters().finditer(text, start, end))][:-1]


def _ends(pattern: re.Pattern[str], text: str, start: int, end: int) -> list[int]:
    return [match.end() for match in pattern.finditer(text, start, end) if match.end() < end]


def _between_clusters(text: str, starts: Iterable[int]) -> list[int]:
    """Those of the starts that are not inside a grapheme cluster; the first one is not asked."""
    first, *others = starts
    return [first, *(at for at in others if text[at] < _FIRST_MARK or _parts(text, at))]


def _parts(text: str, at: int) -> bool:
    """Does a cluster end here? What stands before is white space or the end of a sentence."""
    match = _clusters().match(text, at - 1)
    return match is not None and match.end() == at


@cache
def _clusters() -> re.Pattern[str]:
    """Grapheme clusters (UAX #29), by `regex`; imported late: few texts are cut so finely."""
    import regex  # type: ignore[import-untyped]

    pattern: re.Pattern[str] = regex.compile(r"\X")
    return pattern
