"""What can be quoted of a Markdown text: sentences, rows, list items, and code with its lead-in.

A unit is a span of the text, so that `text[start:end]` is letter for letter what the source says.
What must not be torn is one unit: a row of a table with all its cells, and code with the line that
announces it. What says nothing by itself is none: a lead-in without its code, a question, a row of
links, a tag of a site generator.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from labkit.markdown.blocks import Block, read
from labkit.markdown.hidden import Span, hidden, overlaps
from labkit.text import CLOSERS, sentence_ends

LONGEST_CODE = 1_500  # characters: longer code is a file, which nobody wants as an answer
QUOTABLE = ("sentence", "item", "row", "code")

_ADMONITION = (  # a line by which a site generator builds its page: no sentence
    r"(?:!!!|\?\?\?\+?|={3}[!+]?)[ \t]+\S.*|/{3,}.*|:{3,}.*|\{[%*{!<#].*[%*}!>#]\}|-+8<-+.*"
    r"|\[\[?_?toc_?\]?\]"
)
_BUILDING_LINE = re.compile(rf"[ \t>]*(?:{_ADMONITION})[ \t]*", re.IGNORECASE)
_MARKS = re.compile(r"[ \t]*(?:(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))[ \t]*)*")
_QUOTE_MARKS = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
_PIPE = re.compile(r"(?<!\\)\|")
_ENDS = re.compile(rf"[.!?…。！？][{re.escape(CLOSERS)}]*$")
_LABEL = re.compile(r"\s*(\*\*|__)(?:(?!\1).)*?[^.!?…。！？\s*_]\1\s*", re.DOTALL)
_INLINE = "a|abbr|b|cite|code|del|em|i|ins|kbd|mark|q|s|small|span|strong|sub|sup|u|var"
_TAG = re.compile(r"<[^<>]*>")
_BLOCK_TAG = re.compile(rf"<(?!/?(?:{_INLINE})\b)[/!?]?[A-Za-z][^<>]*>|<!--|-->", re.IGNORECASE)
_HTML_ROW = re.compile(r"<tr\b[^<]*(?:<(?!/?tr\b)[^<]*)*</tr\s*>", re.IGNORECASE)
_LINKS = re.compile(r"!?\[[^\[\]]*\](?:\([^()]*\)|\[[^\[\]]*\])?|<?https?://[^\s<>]+>?|<[^<>]*>")


class Unit(NamedTuple):
    """The span `text[start:end]`. `context` is what it is about without saying so: the heads of a
    row's columns. `kind`: sentence, item (of a list), row or code; those of `pieces` also head
    (of a table), lead (it announces something), question, links and long code: not quotable.
    """

    kind: str
    start: int
    end: int
    context: str = ""


def units(text: str, unseen: Sequence[Span] | None = None) -> list[Unit]:
    """What can be quoted of the text, in order and apart; nothing that is hidden is in one.

    `unseen` are the hidden spans of the text, where they are known.

    >>> text = "# Pumps\\nAll float. Why?\\n\\n| Name | Price |\\n|--|--|\\n| A | 5 euros |\\n"
    >>> [(unit.kind, text[unit.start : unit.end], unit.context) for unit in units(text)]
    [('sentence', 'All float.', ''), ('row', '| A | 5 euros |', '| Name | Price |')]
    """
    spans = hidden(text) if unseen is None else unseen
    return [
        piece
        for piece in pieces(text, unseen=spans)
        if piece.kind in QUOTABLE and not overlaps(spans, piece.start, piece.end)
    ]


def _beside(text: str, piece: Unit, spans: Sequence[Span]) -> list[Unit]:
    """A piece, or the whole sentences of it that stand before and after what is hidden in it."""
    inside = [span for span in spans if span[0] < piece.end and piece.start < span[1]]
    if not inside or piece.kind not in ("sentence", "item"):
        return [piece]
    edges = [piece.start, *(min(max(at, piece.start), piece.end) for span in inside for at in span)]
    seen = [
        (first, after)
        for first, after in zip(edges[::2], [*edges[1::2], piece.end], strict=True)
        if text[first:after].strip()
    ]
    found: list[Unit] = []
    is_begun = False
    for first, after in seen:
        is_whole = after == seen[-1][1] or bool(_ENDS.search(text[first:after].rstrip()))
        if is_whole and not is_begun:
            found += _sentences(text, first, after, piece.kind)
        is_begun = not is_whole
    return found


def sentences(text: str) -> list[Span]:
    """The (start, end) of each sentence, row and block of code, whether it can be quoted or not.

    Headings, rules, definitions of links and marks belong to none.

    >>> text = "# Title\\nOne. Two (e.g. this).\\n- an item"
    >>> [text[start:end] for start, end in sentences(text)]
    ['One.', 'Two (e.g. this).', 'an item']
    """
    return [(piece.start, piece.end) for piece in _of_blocks(text, read(text))]


def pieces(
    text: str, blocks: Sequence[Block] | None = None, unseen: Sequence[Span] = ()
) -> list[Unit]:
    """Everything that is said in the text, or in these blocks of it, quotable or not.

    In order and apart; code stands with its lead-in, and `unseen` spans part sentences.
    """
    found: list[Unit] = []
    for piece in _of_blocks(text, read(text) if blocks is None else blocks):
        if piece.kind == "code":
            if (
                found
                and found[-1].kind == "lead"
                and _is_between(text[found[-1].end : piece.start])
            ):
                piece = piece._replace(start=found.pop().start)
            if piece.end - piece.start > LONGEST_CODE:
                piece = piece._replace(kind="long code")
        found.append(piece)
    return [part for piece in found for part in _beside(text, piece, unseen)]


def _is_between(text: str) -> bool:
    """May this stand between a lead-in and its code: nothing but marks, and labels of tabs?"""
    lines = (_MARKS.sub("", line, count=1) for line in text.split("\n"))
    return all(not line.strip() or _BUILDING_LINE.fullmatch(line) for line in lines)


def _of_blocks(text: str, blocks: Sequence[Block], kind: str = "sentence") -> Iterator[Unit]:
    for block in blocks:
        start = _MARKS.match(text, block.start, block.end).end()  # type: ignore[union-attr]
        if block.inner:
            yield from _of_blocks(text, block.inner, "item" if block.kind == "item" else kind)
        elif block.kind in ("fence", "code"):
            yield Unit("code", start, start + len(text[start : block.end].rstrip()))
        elif block.kind == "table" and text[start] != "<":
            yield from _rows(text, start, block.end)
        elif block.kind == "table":
            yield from _html_rows(text, start, block.end)
        elif block.kind == "html":
            yield from _in_html(text, start, block.end, kind)
        elif block.kind == "text":
            yield from _prose(text, start, block.end, kind)


def _rows(text: str, start: int, end: int) -> Iterator[Unit]:
    """The head of a table, and its rows."""
    (first, after), _, *rows = _lines(text, start, end)
    head = text[first:after]
    yield Unit("head", first, after)
    for first, after in rows:
        if _says_something(text[first:after]):
            yield Unit("row", first, after, head)


def _html_rows(text: str, start: int, end: int) -> Iterator[Unit]:
    head = ""
    for row in _HTML_ROW.finditer(text, start, end):
        if not head and "<th" in row[0].lower():
            head = _TAG.sub(" ", row[0])
            yield Unit("head", *row.span())
        else:
            yield Unit("row", *row.span(), head)


def _in_html(text: str, start: int, end: int, kind: str) -> Iterator[Unit]:
    """The sentences between the tags that part a page; `<b>` and its like part nothing."""
    for match in _BLOCK_TAG.finditer(text, start, end):
        yield from _sentences(text, start, match.start(), kind)
        start = match.end()
    yield from _sentences(text, start, end, kind)


def _prose(text: str, start: int, end: int, kind: str) -> Iterator[Unit]:
    """The sentences of a paragraph. Lines that build a page part it; those with cells are rows.

    A table that was cut from its head is a paragraph to a parser: its rows must stay whole, or one
    of them answers with a neighbour's cell.
    """
    lines = _lines(text, start, end)
    if _LABEL.fullmatch(text, start, end):  # a caption, or a heading without its mark
        yield Unit("lead", lines[0][0], lines[-1][1])
        return
    is_torn = len(lines) > 1 and all(_PIPE.search(text, *line) for line in lines)
    for first, after in lines:
        is_row = is_torn or text.startswith("|", first)
        if is_row or _BUILDING_LINE.fullmatch(text, first, after):
            yield from _sentences(text, start, first, kind)
            start = after
            if is_row and _says_something(text[first:after]):
                yield Unit("row", first, after)
    yield from _sentences(text, start, end, kind)


def _lines(text: str, start: int, end: int) -> list[Span]:
    """The lines of text[start:end] without marks and white space around them."""
    found = []
    while start < end:
        after = text.find("\n", start, end)
        after = end if after < 0 else after
        first = _MARKS.match(text, start, after).end()  # type: ignore[union-attr]
        found.append((first, first + len(text[first:after].rstrip())))
        start = after + 1
    return found


def _sentences(text: str, start: int, end: int, kind: str) -> Iterator[Unit]:
    """The sentences of text[start:end], without marks and white space around them."""
    ends = sentence_ends(text, start, end)
    for first, last in zip([start, *ends], [*ends, end], strict=True):
        first = _QUOTE_MARKS.match(text, first, last).end()  # type: ignore[union-attr]
        sentence = text[first:last].strip()
        if _says_something(sentence):
            first += len(text[first:last]) - len(text[first:last].lstrip())
            yield Unit(_kind(sentence, kind), first, first + len(sentence))


def _kind(sentence: str, kind: str) -> str:
    bare = sentence.rstrip(CLOSERS)
    if bare.endswith((":", "：")):
        return "lead"
    if bare.endswith(("?", "？")):
        return "question"
    return kind if _says_something(_LINKS.sub("", _LINKS.sub("", sentence))) else "links"


def _says_something(text: str) -> bool:
    return any(map(str.isalnum, text))
