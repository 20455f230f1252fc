"""The process that opens a PDF: `python -P pdf_pages.py PAGES CHARACTERS MEMORY` < PDF > JSON.

A PDF is a program written by a stranger. It is read in a process of its own, which can be ended,
and which holds nothing but the standard library and pypdf. The reply is an object with `pages`, the
text of each that its reader can see, and `unseen`, the numbers of those with other text; or with
`fault`, one sentence; or with `missing`, if pypdf is not installed.
"""

from __future__ import annotations

import contextlib
import io
import json
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""

Matrix = Sequence[float]
"""The six numbers of an affine map, as PDF writes them."""

EVERYWHERE: Box = (-1e9, -1e9, 1e9, 1e9)
WIDTH = 0.5  # of a letter, in units of its size: about the mean of most fonts
SMALLEST = 0.5  # points: nobody reads a smaller letter
UNPAINTED = (3, 7)  # rendering modes that leave no mark on the page: ISO 32000-1, 9.3.6
FILLS = (b"f", b"F", b"f*", b"B", b"B*", b"b", b"b*")
ENDS_PATH = (*FILLS, b"n", b"s", b"S")
SHOWS = {b"Tj": 0, b"TJ": 0, b"'": 0, b'"': 2}
"""Operators that show text, with the place of the text among their operands."""


def answer(data: bytes, most_pages: int, most_characters: int) -> dict[str, object]:
    """The pages of a PDF, or what is wrong with it."""
    try:
        from pypdf import PdfReader
    except ImportError:
        return {"missing": True}
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            return {"fault": "the PDF is encrypted. Save a copy without a password."}
        return _pages(reader.pages, most_pages, most_characters)
    except MemoryError:
        return {"fault": "the PDF takes too much memory. Split it or save it anew."}
    except Exception as error:  # pypdf's own, and whatever a broken file makes of its objects
        return {"fault": f"the PDF is broken ({type(error).__name__}). Save it anew."}


def _pages(pages: Any, most_pages: int, most_characters: int) -> dict[str, object]:
    """The text of each page, within the limits."""
    if len(pages) > most_pages:
        return {"fault": f"the PDF has more than {most_pages:,} pages. Split it."}
    texts: list[str] = []
    unseen: list[int] = []
    for number, page in enumerate(pages, start=1):
        left, bottom, right, top = map(float, page.cropbox)
        eye = Eye((left, bottom, right, top))
        texts.append(
            page.extract_text(visitor_operand_before=eye.before, visitor_operand_after=eye.after)
        )
        if eye.missed:
            unseen.append(number)
        if sum(map(len, texts)) > most_characters:
            return {"fault": f"the PDF has more than {most_characters:,} characters. Split it."}
    return {"pages": texts, "unseen": unseen}


@dataclass(frozen=True)
class Pen:
    """What of the graphics state decides whether text is seen; size in units of text space."""

    mode: int = 0
    is_white: bool = False
    size: float = 0.0


@dataclass
class Eye:
    """Takes away what a page's reader cannot see, just before pypdf reads it.

    Not seen is text that leaves no mark, that is too small, that lies off the page, or that is
    white where nothing has been painted. In doubt text is seen: white letters stand on dark table
    heads in many honest pages. Inside a form, whose place is not known, only the pen counts.
    """

    page: Box
    missed: bool = False
    pen: Pen = field(default_factory=Pen)
    pens: list[Pen] = field(default_factory=list)
    painted: list[Box] = field(default_factory=list)
    path: list[tuple[float, float]] = field(default_factory=list)
    forms: int = 0

    def before(self, operator: bytes, operands: list[Any], cm: Matrix, tm: Matrix) -> None:
        """Called for each operator: `cm` and `tm` are the matrices of the page and of the text."""
        with contextlib.suppress(TypeError, ValueError, IndexError):  # a broken operand says none
            self._follow(operator, operands, cm)
            shown = operands[SHOWS[operator]] if operator in SHOWS else None
            if shown and not self._sees(_length(shown), cm, tm):
                self.missed = True
                operands[SHOWS[operator]] = type(shown)()

    def after(self, operator: bytes, operands: list[Any], cm: Matrix, tm: Matrix) -> None:
        if operator == b"Do":
            self.forms -= 1
            self.pen = self.pens.pop()

    def _follow(self, operator: bytes, operands: Sequence[Any], cm: Matrix) -> None:
        if operator in (b"q", b"Do"):
            self.pens.append(self.pen)
        elif operator == b"Q" and len(self.pens) > self.forms:
            self.pen = self.pens.pop()
        elif operator == b"Tr":
            self.pen = replace(self.pen, mode=int(operands[0]))
        elif operator == b"Tf":
            self.pen = replace(self.pen, size=float(operands[1]))
        elif operator in (b"g", b"rg", b"k", b"cs", b"sc", b"scn"):
            self.pen = replace(self.pen, is_white=_is_white(operator, operands))
        elif operator == b"re":
            x, y, width, height = map(float, operands)
            self.path += [_at(cm, x, y), _at(cm, x + width, y + height)]
        elif operator in (b"m", b"l", b"c", b"v", b"y"):
            numbers = list(map(float, operands))
            self.path += [_at(cm, *pair) for pair in zip(numbers[::2], numbers[1::2], strict=True)]
        self._paint(operator, cm)

    def _paint(self, operator: bytes, cm: Matrix) -> None:
        """Note where something is painted that white letters can be read on."""
        if operator in FILLS and not self.pen.is_white:
            self.painted.append(EVERYWHERE if self.forms else _box(self.path))
        if operator in (b"Do", b"INLINE IMAGE"):
            self.painted.append(_box([_at(cm, 0, 0), _at(cm, 1, 0), _at(cm, 0, 1), _at(cm, 1, 1)]))
        elif operator == b"sh":
            self.painted.append(EVERYWHERE)
        if operator in ENDS_PATH:
            self.path.clear()
        self.forms += operator == b"Do"

    def _sees(self, length: int, cm: Matrix, tm: Matrix) -> bool:
        """Does a text of so many characters, at the place of the matrices, reach a reader?"""
        if self.pen.mode in UNPAINTED:
            return False
        if self.forms:
            return not self.pen.is_white or bool(self.painted)
        size = self.pen.size
        corners = (0.0, 0.0), (WIDTH * size * length, 0.0), (0.0, size)
        start, end, top = (_at(cm, *_at(tm, x, y)) for x, y in corners)
        if math.dist(start, top) < SMALLEST or not _meet(_box([start, end, top]), self.page):
            return False
        return not self.pen.is_white or any(_meet((*start, *start), box) for box in self.painted)


def _length(shown: Any) -> int:
    """The characters of a text, or of the texts in an array, which holds distances too."""
    parts = shown if isinstance(shown, list) else [shown]
    return sum(len(part) for part in parts if isinstance(part, (str, bytes)))


def _is_white(operator: bytes, operands: Sequence[Any]) -> bool:
    """Is it the white of grey, RGB or CMYK? In any other colour space nobody knows."""
    inks = [float(ink) for ink in operands if operator != b"cs"]
    if len(inks) == 4:
        return all(ink < 0.01 for ink in inks)
    return (operator == b"g" or len(inks) == 3) and all(ink > 0.99 for ink in inks)


def _at(matrix: Matrix, x: float, y: float) -> tuple[float, float]:
    a, b, c, d, e, f = matrix
    return x * a + y * c + e, x * b + y * d + f


def _box(points: Sequence[tuple[float, float]]) -> Box:
    if not points:
        return (0.0, 0.0, 0.0, 0.0)
    across, up = zip(*points, strict=True)
    return min(across), min(up), max(across), max(up)


def _meet(one: Box, other: Box) -> bool:
    return one[0] <= other[2] and other[0] <= one[2] and one[1] <= other[3] and other[1] <= one[3]


def _bound_memory(most: int) -> None:
    """At most so many bytes for this process, where the system can hold it to that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Answer for the PDF that arrives on standard input."""
    most_pages, most_characters, memory = map(int, sys.argv[1:])
    _bound_memory(memory)
    json.dump(answer(sys.stdin.buffer.read(), most_pages, most_characters), sys.stdout)


if __name__ == "__main__":
    main()
