"""The blocks of a Markdown text: where headings, tables, code and lists stand.

`markdown-it-py` reads them (CommonMark 0.31, the tables of GitHub); here its line numbers become
offsets. The invariant: blocks stand in order and apart, each begins with a line, ends with one that
is not blank, and every line that is not blank is in one.

Three things are read more broadly than CommonMark does, so that nothing is torn: an HTML table goes
on to its `</table>`, over blank lines; what is indented below the mark of an admonition or a tab
(`!!! note`, `=== "Tab"`) is Markdown, not code; and what lies too deep is one paragraph.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from labkit.markdown.headings import heading

CONTAINERS = ("item", "quote")
LONGEST_HTML_TABLE = 50_000  # characters; a bound, so that a thousand open ones take no hour
MAX_DEPTH = 8  # admonitions inside one another

_PARSER = MarkdownIt("commonmark").enable("table")
_PARSER.core.ruler.enableOnly(["normalize", "block"])  # no text inside blocks is looked at
_KINDS = {
    "heading_open": "heading",
    "paragraph_open": "text",
    "fence": "fence",
    "code_block": "code",
    "html_block": "html",
    "hr": "rule",
    "table_open": "table",
    "blockquote_open": "quote",
    "list_item_open": "item",
}
_MARKS = re.compile(r"[ \t]*(?:(?:>|(?:[-*+]|\d{1,9}[.)])(?=[ \t]|$))[ \t]*)*")
_DEFINITION = re.compile(r" {0,3}\[(?!\^)")  # `[^1]: …` is a footnote, which a reader sees
_TABLE = re.compile(r"[ \t>]*<table(?=[\s>]|$)", re.IGNORECASE)
_INDENTED_BELOW = re.compile(r" *(?:!!!|\?\?\?\+?|===[!+]?)[ \t]+\S")


class Block(NamedTuple):
    """The lines `text[start:end]`. `inner` holds the blocks of a list item or quotation.

    `kind`: heading, text (a paragraph), fence, code (indented), table, html, rule, item, quote, or
    definition (where links lead: `[name]: address`). `level` (1 to 6), `title` as a reader sees it,
    and `name`, its anchor before numbers make it unique, are those of a heading.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""
    name: str = ""
    inner: tuple[Block, ...] = ()


def read(text: str, start: int = 0, end: int | None = None) -> list[Block]:
    """The blocks of text[start:end], which begins and ends with a line.

    >>> [(block.kind, block.title) for block in read("# One\\nText.\\n\\nTwo\\n---\\n")]
    [('heading', 'One'), ('text', ''), ('heading', 'Two')]
    """
    lines = text[start:end].split("\n")
    environment: dict[str, Any] = {}
    tokens = _PARSER.parse("\n".join(_as_quotations(lines)).replace("\r", " "), environment)
    return _Reader(lines, start, environment).blocks(tokens)


def leaves(blocks: Iterable[Block]) -> Iterator[Block]:
    """The blocks with those inside list items and quotations instead of these, to the innermost."""
    for block in blocks:
        if block.inner:
            yield from leaves(block.inner)
        else:
            yield block


class _Reader:
    """Turns tokens, which count lines, into blocks, which count characters."""

    def __init__(self, lines: list[str], start: int, environment: dict[str, Any]) -> None:
        self.lines, self.environment = lines, environment
        self.at = list(accumulate((len(line) + 1 for line in lines), initial=start))

    def blocks(self, tokens: Sequence[Token]) -> list[Block]:
        opened: list[Token] = []
        found: list[list[Block]] = [[]]
        title = ""
        for token in tokens:
            if token.nesting == 1:
                opened.append(token)
                found.append([])
            elif token.nesting == -1:
                inner = found.pop()
                found[-1] += self._block(opened.pop(), inner, title)
            elif token.type == "inline":
                title = token.content
            else:
                found[-1] += self._block(token, [], "")
        return self._complete(found[0], 0, len(self.lines), in_container=False)

    def _block(self, token: Token, inner: list[Block], title: str) -> list[Block]:
        """The block of a token; of a list, its items."""
        kind = _KINDS.get(token.type)
        if kind is None or token.map is None:
            return inner
        first, after = self._full(*token.map)
        if kind in ("item", "quote"):
            inner = self._complete(inner, first, after, in_container=True)
        block = Block(kind, self.at[first], self.at[after] - 1, inner=tuple(inner))
        if kind == "heading":
            seen, name = heading(title, self.environment)
            block = block._replace(level=int(token.tag[1]), title=seen, name=name)
        return [block]

    def _full(self, first: int, after: int) -> tuple[int, int]:
        """These lines without blank ones around them."""
        while after > first + 1 and not self.lines[after - 1].strip():
            after -= 1
        while first + 1 < after and not self.lines[first].strip():
            first += 1
        return first, after

    def _complete(
        self, blocks: Iterable[Block], first: int, after: int, in_container: bool
    ) -> list[Block]:
        """With blocks for the lines that the parser puts in none, and with whole HTML tables."""
        found: list[Block] = []
        for block in blocks:
            if found and block.start < found[-1].end:  # inside the HTML table before it
                if block.end > found[-1].end:
                    found[-1] = found[-1]._replace(end=block.end)
            else:
                found += self._left_out(first, self._line(block.start), in_container)
                found.append(self._as_table(block, after))
            first = self._line(found[-1].end) + 1
        return found + self._left_out(first, after, in_container)

    def _line(self, offset: int) -> int:
        return bisect_right(self.at, offset) - 1

    def _left_out(self, first: int, after: int, in_container: bool) -> list[Block]:
        """Definitions of links, and what lies too deep for the parser."""
        bare = self.lines[first:after]
        if in_container:
            bare = [_MARKS.sub("", line, count=1) for line in bare]
        full = [number for number, line in enumerate(bare, first) if line.strip()]
        if not full:
            return []
        kind = "definition" if _DEFINITION.match(bare[full[0] - first]) else "text"
        return [Block(kind, self.at[full[0]], self.at[full[-1] + 1] - 1)]

    @cached_property
    def _table_ends(self) -> list[int]:
        """The lines that close an HTML table, looked for once."""
        return [number for number, line in enumerate(self.lines) if "</table>" in line.lower()]

    def _as_table(self, block: Block, after: int) -> Block:
        """A block of HTML that begins as a table is one, up to the line that closes it."""
        first = self._line(block.start)
        if block.kind != "html" or not _TABLE.match(self.lines[first]):
            return block
        place = bisect_left(self._table_ends, first)
        last = self._table_ends[place] if place < len(self._table_ends) else after
        end = block.end
        if last < after and self.at[last + 1] - block.start <= LONGEST_HTML_TABLE:
            end = max(end, self.at[last + 1] - 1)
        return block._replace(kind="table", end=end)


def _as_quotations(lines: list[str]) -> list[str]:
    """The lines with `> ` for what indents the text of an admonition or a tab.

    To CommonMark it would be code. Only this copy is changed: it has the same number of lines.
    """
    if not any(_INDENTED_BELOW.match(line) for line in lines):
        return lines
    marks: list[int] = []  # the indents of the marks under which a line stands
    changed: list[str] = []
    for line in lines:
        bare = line.lstrip(" ")
        indent = len(line) - len(bare)
        while bare and marks and indent < marks[-1] + 4:
            marks.pop()
        inside = line[marks[-1] + 4 :] if marks else line
        changed.append(" " * marks[0] + "> " * len(marks) + inside if marks else line)
        if _INDENTED_BELOW.match(line) and len(marks) < MAX_DEPTH:
            marks.append(indent)
    return changed


def first_title(text: str, start: int = 0) -> str:
    """The title of a document: its first heading of level 1, as a reader sees it, or "".

    >>> first_title("See below.\\n\\n# The *guide* {#guide}\\n")
    'The guide'
    """
    return next((block.title for block in read(text, start) if block.level == 1), "")
