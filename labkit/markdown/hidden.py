"""What a reader of the page cannot see: never evidence, never embedded, never shown to a model.

Comments, `<script>`, `<style>` and `<template>`, elements with `hidden` or a style that hides them,
`data:` addresses, and definitions of links, which people use as comments too. What stands in code
is shown to readers as it is, so it is not hidden. Front matter is no part of a document's body.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence

from labkit.markdown.blocks import Block, leaves, read

Span = tuple[int, int]

_MARK = re.compile(
    r"\\.|(?P<ticks>`+)|(?P<comment><!--)"
    r"|<(?P<tag>[A-Za-z][\w-]*+)"
    r"""(?P<attributes>(?:[^<>"']++|"[^"]{0,2000}+"|'[^']{0,2000}+')*+)>"""
    r"""|(?P<data>\bdata:[\w.+-]+/[\w.+-]+(?:;[\w=.+-]+)*,[^\s)>"'\]]*)""",
    re.DOTALL | re.IGNORECASE,
)
_MAY_HIDE = re.compile(r"<[!a-z]|\bdata:|^[ >]*\[[^\n]*\]:", re.IGNORECASE | re.MULTILINE)
_ATTRIBUTE = re.compile(r"""([\w:-]+)(?:\s*=\s*("[^"]*"|'[^']*'|[^\s"'>]+))?""")
_NOT_SHOWN = re.compile(r"(?:display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_NEVER_SHOWN = ("script", "style", "template")
_EMPTY = "area base br col embed hr img input link meta source track wbr".split()


def hidden(
    text: str, start: int = 0, end: int | None = None, blocks: Sequence[Block] | None = None
) -> list[Span]:
    """The (start, end) of what nobody sees of text[start:end], in order and apart.

    `blocks` are those of the text, where they are known.

    >>> text = "Seen <!-- not --> seen, `<!-- code -->` too."
    >>> [text[start:end] for start, end in hidden(text)]
    ['<!-- not -->']
    """
    end = len(text) if end is None else end
    if blocks is None and not _MAY_HIDE.search(text, start, end):
        return []  # most texts hide nothing, and need not be read for that
    found = list(leaves(read(text, start, end) if blocks is None else blocks))
    spans = [(leaf.start, leaf.end) for leaf in found if leaf.kind == "definition"]
    return _joined([*spans, *_Scan(text, end, found).spans()])


def within(spans: Sequence[Span], start: int, end: int) -> tuple[Span, ...]:
    """Those parts of the spans that lie in text[start:end], counted from its start."""
    return tuple(
        (max(first, start) - start, min(after, end) - start)
        for first, after in spans
        if first < end and start < after
    )


def overlaps(spans: Sequence[Span], start: int, end: int) -> bool:
    """Does one of the spans share a character with text[start:end]?"""
    return any(first < end and start < after for first, after in spans)


class _Scan:
    """One pass over a text, from mark to mark."""

    def __init__(self, text: str, end: int, found: Sequence[Block]) -> None:
        self.text, self.end, self.leaves = text, end, found
        self.starts = [leaf.start for leaf in found]
        self.never_closed = 0  # up to here no comment ends: it is not looked for again

    def spans(self) -> Iterator[Span]:
        position = self.starts[0] if self.starts else self.end
        while match := _MARK.search(self.text, position, self.end):
            leaf = self.leaves[max(0, bisect_right(self.starts, match.start()) - 1)]
            end = 0
            if leaf.kind in ("fence", "code") and match.start() < leaf.end:
                position = leaf.end
            elif match["ticks"]:
                position = self._after_code(match, leaf.end)
            else:
                # a paragraph ends what is open in it; a browser reads HTML to the end of the page
                limit = self.end if leaf.kind in ("html", "table") else leaf.end
                end = self._end(match, limit, leaf.kind == "html")
                # what is in a tag is looked at too: an address may be `data:`
                position = end or match.end("tag" if match["tag"] else 0)
            if end:
                yield match.start(), end

    def _after_code(self, opening: re.Match[str], limit: int) -> int:
        """After the code in backticks that opens here, if as many of them close it."""
        marks = re.compile(rf"(?<!`)`{{{len(opening[0])}}}(?!`)")
        closing = marks.search(self.text, opening.end(), limit)
        return closing.end() if closing else opening.end()

    def _end(self, match: re.Match[str], limit: int, is_html: bool) -> int:
        """Where what is hidden from here ends; 0 if nothing is."""
        if match["data"]:
            return match.end()
        if match["comment"]:
            return self._comment_end(match.start(), limit, is_html)
        if match["tag"] and _is_hidden(match["tag"].lower(), match["attributes"]):
            return self._element_end(match, limit)
        return 0

    def _comment_end(self, start: int, limit: int, is_html: bool) -> int:
        if start < self.never_closed:
            return 0
        end = self.text.find("-->", start + 2, limit)  # `<!-->` is a comment too
        if end >= 0:
            return end + len("-->")
        self.never_closed = limit
        return limit if is_html else 0

    def _element_end(self, opening: re.Match[str], limit: int) -> int:
        """After the tag that closes an element; the limit if none does."""
        tag = opening["tag"].lower()
        if tag in _EMPTY or opening["attributes"].endswith("/"):
            return opening.end()
        depth = 1
        for match in re.compile(rf"<(/?){tag}\b[^<>]*>", re.I).finditer(
            self.text, opening.end(), limit
        ):
            depth += -1 if match[1] else tag not in ("script", "style")
            if not depth:
                return match.end()
        return limit


def _is_hidden(tag: str, attributes: str) -> bool:
    values = {name.lower(): value for name, value in _ATTRIBUTE.findall(attributes)}
    is_unseen = "hidden" in values or _NOT_SHOWN.search(values.get("style", ""))
    return tag in _NEVER_SHOWN or bool(is_unseen)


def _joined(spans: list[Span]) -> list[Span]:
    """In order, overlapping ones made one."""
    joined: list[Span] = []
    for start, end in sorted(spans):
        if joined and start < joined[-1][1]:
            joined[-1] = joined[-1][0], max(end, joined[-1][1])
        else:
            joined.append((start, end))
    return joined
