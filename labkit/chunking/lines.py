"""What a line of Markdown can be: the patterns with which `structure` reads a text.

After CommonMark 0.31 and the tables of GitHub. All are called with (text, start), where a line
begins, and read whole lines; several at once where nothing else can begin.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import TypeAlias, cast

Reader: TypeAlias = Callable[[str, int], "re.Match[str]"]
"""Reads a line, or a few; the match's `lastgroup` is their kind."""

Skip: TypeAlias = Callable[[str, int], int]
"""Where such lines end; `start` itself if there are none."""

_TAGS = (
    "address article aside base basefont blockquote body caption center col colgroup dd details "
    "dialog dir div dl dt fieldset figcaption figure footer form frame frameset h1 h2 h3 h4 h5 h6 "
    "head header hr html iframe legend li link main menu menuitem nav noframes ol optgroup option "
    "p param search section summary table tbody td tfoot th thead title tr track ul"
)


def _by_first_letter(names: str) -> str:
    """A pattern of the names in small or capital letters that fails fast on any other."""
    words = [*names.split(), *names.upper().split()]
    rests = {word[0]: [other[1:] for other in words if other[0] == word[0]] for word in words}
    return "|".join(f"{letter}(?:{'|'.join(rest)})" for letter, rest in rests.items())


_RAW = "script|pre|style|textarea"  # what is inside these is not read, blank lines or not
_VALUE = r"""[^\s"'=<>`]+|'[^'\n]*'|"[^"\n]*\""""
_NAME = r"[A-Za-z][A-Za-z0-9-]*"
_ATTRIBUTE = rf"[ \t]+[A-Za-z_:][\w:.-]*(?:[ \t]*=[ \t]*(?:{_VALUE}))?"
_LINE = r".*\n?"
_BULLET, _NUMBER = "[-*+]", r"\d{1,9}[.)]"
_INDENT = r"(?: {0,3}\t| {4})"
_PROSE = r"(?:[^ \t\n0-9#>|`~<=*+\-:_]|`{1,2}(?!`)|\*{1,2}(?![\s*]))"  # only a paragraph begins so
_WHOLE = {
    "text": rf"{_PROSE}.*\n(?:{_PROSE}.*\n|\n)*",  # paragraphs, blank lines too
    "blank": r"(?:[ \t]*\n)+|[ \t]+\Z",
    "code": rf"{_INDENT}{_LINE}",
    "other": _LINE,
}
_INDENTED = {  # after at most three spaces
    "delimiter": r"(?=[|:]|-[-|:])[|:\- \t]+$\n?",  # of a table, perhaps
    "underline": r"(?:=+|-+)[ \t]*$\n*",
    "heading": rf"\#{{1,6}}(?=[ \t]|$){_LINE}\n*",
    "fence": rf"(?P<mark>`{{3,}}(?=[^`\n]*$)|~{{3,}}){_LINE}",
    "rule": r"(?:-[ \t]*(?:-[ \t]*){2,}|\*[ \t]*(?:\*[ \t]*){2,}|_[ \t]*(?:_[ \t]*){2,})$\n*",
    "html": rf"<(?:!--|\?|![A-Za-z]|!\[CDATA\[|(?:{_RAW}|{_RAW.upper()})(?=[\s>]|\Z)"
    rf"|/?(?:{_by_first_letter(_TAGS)})(?=\s|/?>|\Z)){_LINE}",
    "tag": rf"<(?:{_NAME}(?:{_ATTRIBUTE})*[ \t]*/?|/{_NAME}[ \t]*)>[ \t]*$\n?",
    "quote": rf">{_LINE}",
    "first": rf"(?:{_BULLET}|0*1[.)])[ \t]+[^ \t\n]{_LINE}",  # an item that ends a paragraph
    "item": rf"(?:{_BULLET}|{_NUMBER})(?=[ \t]|$){_LINE}",
}
_BREAKS = "heading fence rule html quote"  # what ends a paragraph without a blank line


def _reads(kinds: str) -> Reader:
    """`other` must be among the kinds: then there is a match for every line."""
    return cast(Reader, re.compile(_one_of(kinds), re.MULTILINE).match)


def _skips(pattern: str) -> Skip:
    match = re.compile(pattern, re.MULTILINE).match

    def skip(text: str, start: int) -> int:
        found = match(text, start)
        return found.end() if found else start

    return skip


def _one_of(kinds: str) -> str:
    """A group for each kind. What may be indented stands together: the indent is read once."""
    first, indented, last = ([], [], [])  # type: tuple[list[str], list[str], list[str]]
    for kind in kinds.split():
        if kind in _INDENTED:
            indented.append(f"(?P<{kind}>{_INDENTED[kind]})")
        else:
            (last if indented else first).append(f"(?P<{kind}>{_WHOLE[kind]})")
    return "|".join([*first, f" {{0,3}}(?:{'|'.join(indented)})", *last])


begins = _reads(f"text blank {_BREAKS} item tag code other")
"""A line where no paragraph is open."""

goes_on = _reads(f"text blank delimiter underline {_BREAKS} first other")
"""A line after one of a paragraph."""

goes_on_without_table = _reads(f"text blank underline {_BREAKS} first other")
"""The same, where a delimiter row is none."""

definitions = _skips(r"(?: {0,3}\[[^\]\n]+\]:[ \t]*\S.*\n)*")
"""Where links lead: `[name]: address`."""

newlines = _skips(r"\n*")

blank = _skips(_WHOLE["blank"])

closed = _skips(_one_of(f"blank {_BREAKS}"))
"""A line after which no paragraph is open."""

_PLAIN = rf"(?!{_one_of(f'blank {_BREAKS} item')})"
lazy = _skips(rf"{_PLAIN}.+\n?")
"""A line that goes on with the paragraph of a container, though it stands outside."""

rows = _skips(rf"(?:{_PLAIN} {{0,3}}[^ \t\n]{_LINE})*\n*")
"""The rows of a table below its delimiter."""

full = _skips(rf"(?:[ \t]*[^ \t\n]{_LINE})*\n*")
"""Lines up to the next blank one."""

quoted = _skips(rf"(?: {{0,3}}>{_LINE})*")
"""Lines that go on with a quotation."""

marks = _skips(rf"[ \t]*(?:(?:>|(?:{_BULLET}|{_NUMBER})(?=[ \t]|$))[ \t]*)*")
"""The marks of all containers at the beginning of a line."""

marker = re.compile(rf"( {{0,3}}(?:{_BULLET}|{_NUMBER}))( *)([^\n]?)").match
"""A list marker, the spaces after it, and the first character of the item."""

fence_marks = re.compile(
    rf"^[ \t>]*(?:(?:{_BULLET}|{_NUMBER})[ \t]+)*(?:`{{3,}}[^`\n]*$|~{{3}})", re.MULTILINE
).findall
"""The lines of a text that open or close a fence, in whatever container."""


@lru_cache(maxsize=64)
def indented(columns: int) -> Skip:
    """Lines that are indented so far or more, with blank ones between them."""
    whole, rest = divmod(columns, 4)
    indent = _INDENT * whole + (rf"(?: {{0,{rest - 1}}}\t| {{{rest}}})" if rest else "")
    return _skips(rf"(?:(?:[ \t]*\n)*{indent}(?=[ \t]*[^ \t\n]){_LINE})*")


@lru_cache(maxsize=64)
def closing_fence(mark: str) -> re.Pattern[str]:
    """The line that closes a fence opened with this mark: as long or longer, and nothing else."""
    return re.compile(rf"^ {{0,3}}{mark[0]}{{{len(mark)},}}[ \t]*$\n*", re.MULTILINE)


_HTML_ENDS = (
    (r"<!--", r"-->"),
    (r"<\?", r"\?>"),
    (r"<!\[CDATA\[", r"\]\]>"),
    (r"<!", r">"),
    (rf"<(?:{_RAW})(?![\w-])", rf"</(?:{_RAW})>"),
)
_ENDS = [(re.compile(begin, re.I).match, re.compile(end, re.I)) for begin, end in _HTML_ENDS]


def html_end(opening: str) -> re.Pattern[str] | None:
    """What ends the HTML that opens so; None if a blank line does."""
    return next((end for begins_so, end in _ENDS if begins_so(opening)), None)
