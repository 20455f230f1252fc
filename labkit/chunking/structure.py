"""What a Markdown text is made of: one pass over its lines, from text to blocks.

The blocks of CommonMark 0.31 and the tables of GitHub, as far as a chunker needs them: where
headings stand, and what must not be cut. A list item or a quotation is one block; what is inside
is read when it is asked for (`leaves`), because most of them are never cut.

The invariant: blocks stand in order and apart, each begins and ends with a line, and every line
that is not blank is in one.

Where this reading differs from CommonMark, it keeps more together: an HTML table goes on to its
`</table>`, over blank lines; text right below a list item or a quotation belongs to it, unless that
ends with a heading, a rule, HTML or a fence; a line with a marker of its own heads no table.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import accumulate
from typing import NamedTuple

from labkit.chunking import lines

LONGEST_HTML_TABLE = 50_000  # characters; a bound, so that a thousand open ones take no hour
MAX_DEPTH = 8  # containers inside one another; what lies deeper is read as text
CONTAINERS = ("item", "quote")
_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_CLOSING_SIGNS = re.compile(r"(?:^|[ \t]+)#+$")
_DELIMITER = re.compile(r":?-+:?").fullmatch
_PIPE = re.compile(r"(?<!\\)\|")


class Block(NamedTuple):
    """The lines `text[start:end]`; `level` (1 to 6) and `title` are those of a heading.

    `kind`: heading, text, fence, table, html, code (indented), rule, item or quote.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""


def scan(text: str, start: int = 0) -> list[Block]:
    """The blocks of a Markdown text from `start`, where a line begins, in order.

    >>> [(block.kind, block.title) for block in scan("# One\\nText.\\n\\nTwo\\n---\\n")]
    [('heading', 'One'), ('text', ''), ('heading', 'Two')]
    """
    blocks: list[Block] = []
    position, opened, size = start, -1, len(text)  # where we are; where the open text begins
    while position < size:
        match = lines.begins(text, position) if opened < 0 else lines.goes_on(text, position)
        if match.lastgroup == "delimiter" and not _is_below_its_head(text, opened, match):
            match = lines.goes_on_without_table(text, position)
        kind, begin, position = match.lastgroup or "", position, match.end()
        if kind == "text" or kind == "other":
            opened = begin if opened < 0 else opened
            if text.endswith("\n\n", opened, position):
                blocks.append(Block("text", opened, position))
                opened = -1
            continue
        if opened >= 0:
            if kind == "delimiter":
                begin = _last_line(text, opened, begin)
            elif kind == "underline":
                begin = _title_start(text, opened, begin)
            if opened < begin:
                blocks.append(Block("text", opened, begin))
            opened = -1
        if kind == "underline" and begin == match.start():
            position = begin  # nothing is left above the line: it is read again, as a first one
        elif kind != "blank":
            block = _READERS[kind](text, begin, match)
            blocks.append(block)
            position = block.end
    return [*blocks, Block("text", opened, size)] if opened >= 0 else blocks


def leaves(text: str, block: Block, depth: int = 0) -> list[Block]:
    """The blocks inside a list item or quotation, to the innermost; of any other block, itself."""
    if block.kind not in CONTAINERS:
        return [block]
    if depth == MAX_DEPTH:
        return [block._replace(kind="text")]
    outer = _LINE.findall(text[block.start : block.end])
    inner = _unquoted(outer) if block.kind == "quote" else _outdented(outer)
    at = dict(zip(_starts(inner), (block.start + at for at in _starts(outer)), strict=True))
    bare = "".join(inner)
    return [
        leaf._replace(start=at[leaf.start], end=at[leaf.end])
        for found in scan(bare)
        for leaf in leaves(bare, found, depth + 1)
    ]


def _starts(parts: list[str]) -> list[int]:
    return list(accumulate(map(len, parts), initial=0))


# --- headings and tables --------------------------------------------------------------------------


def _heading(text: str, start: int, match: re.Match[str]) -> Block:
    line = match[0].strip(" \t\n")
    title = line.lstrip("#")
    level = len(line) - len(title)
    title = title.strip(" \t")
    if title.endswith("#"):
        title = _CLOSING_SIGNS.sub("", title)
    return Block("heading", start, match.end(), level, title)


def _underlined(text: str, start: int, match: re.Match[str]) -> Block:
    """A paragraph with a line of = or - below it is a heading."""
    title = " ".join(text[start : match.start()].split())
    return Block("heading", start, match.end(), 1 if "=" in match[0] else 2, title)


def _title_start(text: str, opened: int, underline: int) -> int:
    """Where the last paragraph of an open text begins, after definitions of links in it."""
    blank = text.rfind("\n\n", opened, underline)
    return min(underline, lines.definitions(text, blank + 2 if blank >= 0 else opened))


def _table(text: str, start: int, match: re.Match[str]) -> Block:
    return Block("table", start, lines.rows(text, match.end()))


def _last_line(text: str, start: int, end: int) -> int:
    """Where the last line of text[start:end] begins."""
    return text.rfind("\n", start, end - 1) + 1 or start


def _is_below_its_head(text: str, opened: int, delimiter: re.Match[str]) -> bool:
    """Does the line above a delimiter row hold a `|`, and as many cells?"""
    head = text[_last_line(text, opened, delimiter.start()) : delimiter.start()]
    if "|" not in head or lines.indented(4)(head, 0) > 0:
        return False
    below = [cell.strip(" \t") for cell in _cells(delimiter[0].strip(" \t\n").split("|"))]
    above = _cells(_PIPE.split(head.strip(" \t\n")))
    return len(above) == len(below) > 0 and all(map(_DELIMITER, below))


def _cells(parts: list[str]) -> list[str]:
    """The cells of a row; nothing stands outside its first and last `|`, or what does is a cell."""
    return parts[not parts[0] : len(parts) - (not parts[-1])]


# --- HTML and containers --------------------------------------------------------------------------


def _fence(text: str, start: int, match: re.Match[str]) -> Block:
    closing = lines.closing_fence(match["mark"]).search(text, match.end())
    return Block("fence", start, closing.end() if closing else len(text))


def _code(text: str, start: int, match: re.Match[str]) -> Block:
    return Block("code", start, lines.indented(4)(text, match.end()))


def _rule(text: str, start: int, match: re.Match[str]) -> Block:
    return Block("rule", start, match.end())


def _tag(text: str, start: int, match: re.Match[str]) -> Block:
    return Block("html", start, lines.full(text, start))


def _html(text: str, start: int, match: re.Match[str]) -> Block:
    """Most HTML ends before a blank line; comments, scripts and tables with what closes them."""
    opening = match[0].lstrip(" ").lower()
    if opening.startswith("<table"):
        closing = text.find("</table>", start, start + LONGEST_HTML_TABLE)
        return Block("table", start, lines.full(text, max(start, closing)))
    end = lines.html_end(opening)
    if end is None:
        return Block("html", start, lines.full(text, start))
    found = end.search(text, start)
    after = text.find("\n", found.end()) + 1 if found else 0
    return Block("html", start, lines.newlines(text, after) if after else len(text))


def _quote(text: str, start: int, match: re.Match[str]) -> Block:
    return Block("quote", start, _container_end(text, start, match.end(), lines.quoted))


def _item(text: str, start: int, match: re.Match[str]) -> Block:
    """A list item: what is indented as far as its text. An empty one ends with a blank line."""
    width, is_empty = _width(match[0])
    after = match.end()
    if not (is_empty and lines.blank(text, after) > after):
        after = _container_end(text, start, after, lines.indented(width))
    return Block("item", start, after)


def _width(line: str) -> tuple[int, bool]:
    """In how many columns the text of an item begins, and whether its first line has none."""
    found = lines.marker(line.expandtabs(4))
    assert found is not None
    spaces = len(found[2]) if found[3] and len(found[2]) <= 4 else 1
    return len(found[1]) + spaces, not found[3]


def _container_end(text: str, start: int, after: int, inside: lines.Skip) -> int:
    """Where a container ends whose first line is text[start:after].

    A plain line below an open paragraph goes on with it, without the container's mark.
    """
    while True:
        after = inside(text, after)
        below = lines.lazy(text, after)
        if below == after or (start < after and not _leaves_a_paragraph(text[start:after])):
            return after
        start = after = below


def _leaves_a_paragraph(inside: str) -> bool:
    """Is a paragraph open at the end of these lines of a container?"""
    last = inside[_last_line(inside, 0, len(inside)) :]
    marks = lines.marks(last, 0)
    return lines.closed(last, marks) == marks and len(lines.fence_marks(inside)) % 2 == 0


def _unquoted(quoted: list[str]) -> list[str]:
    return [re.sub(r"^ {0,3}> ?", "", line.expandtabs(4)) for line in quoted]


def _outdented(item: list[str]) -> list[str]:
    """The lines of an item without its marker and indentation."""
    width, _ = _width(item[0])
    bare = [line.expandtabs(4) for line in item]
    cuts = [width, *(min(width, len(line) - len(line.lstrip(" "))) for line in bare[1:])]
    return [
        line[: -1 if line.endswith("\n") else None][cut:] + "\n" * line.endswith("\n")
        for line, cut in zip(bare, cuts, strict=True)
    ]


_READERS: dict[str, Callable[[str, int, re.Match[str]], Block]] = {
    "heading": _heading,
    "underline": _underlined,
    "delimiter": _table,
    "fence": _fence,
    "rule": _rule,
    "html": _html,
    "tag": _tag,
    "quote": _quote,
    "first": _item,
    "item": _item,
    "code": _code,
}
"""How a block is read to its end, by the kind of its first line."""
