r"""Cut at a size, and never through a table

Cut `text` into pieces of at most `size` characters, from left to right. The text consists of blocks
with one blank line (`\n\n`) between them. A block whose lines all start with `|` is a table; if the
block right above it is none and ends with a colon, that is its caption, and both stay together with
the blank line between them.

A piece takes as many blocks as fit, each whole, with the blank lines between them. A paragraph that
alone is longer than `size` is cut every `size` characters, into pieces of its own. A table that,
with its caption, is longer than `size` becomes a piece of its own all the same. Return `[piece,
flag]` pairs: the flag is `'oversize_table'` for such a table and `''` for all else. An empty text
has no pieces. Raise `ValueError` for a `size` of 0 or less.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from random import Random
from typing import TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case

Piece: TypeAlias = list[str]  # text, flag


def keep_tables_whole(text: str, size: int) -> list[list[str]]:
    """[piece, flag] pairs: pieces of at most `size` characters, but tables are never cut."""
    if size <= 0:
        raise ValueError("size must be above 0")
    parts: list[tuple[str, bool]] = []
    for block in text.split("\n\n") if text else []:
        is_table = all(line.startswith("|") for line in block.split("\n"))
        if is_table and parts and not parts[-1][1] and parts[-1][0].endswith(":"):
            block = parts.pop()[0] + "\n\n" + block
        parts.append((block, is_table))
    pieces: list[list[str]] = []
    piece = ""
    for part, is_table in parts:
        longer = piece + "\n\n" + part if piece else part
        if len(longer) <= size:
            piece = longer
            continue
        if piece:
            pieces.append([piece, ""])
        piece = part if len(part) <= size else ""
        if not piece and is_table:
            pieces.append([part, "oversize_table"])
        elif not piece:
            pieces += [[part[at : at + size], ""] for at in range(0, len(part), size)]
    return [*pieces, [piece, ""]] if piece else pieces


_BLANK = "\n\n"
_TOO_LONG = "oversize_table"


def _caption(block: str) -> bool:
    return block.endswith(":")


def _pieces(
    text: str,
    size: int,
    is_caption: Callable[[str], bool] = _caption,
    cuts_tables: bool = False,
    cuts_paragraphs: bool = True,
    gap: int = len(_BLANK),
) -> list[Piece]:
    """The pieces by the given rules; a blank line counts as `gap` characters."""
    if size <= 0:
        raise ValueError("size must be above 0")
    parts: list[tuple[str, bool]] = []
    for block in text.split(_BLANK) if text else []:
        is_table = all(line.startswith("|") for line in block.split("\n"))
        if is_table and parts and not parts[-1][1] and is_caption(parts[-1][0]):
            block = f"{parts.pop()[0]}{_BLANK}{block}"
        parts.append((block, is_table))
    pieces: list[Piece] = []
    room = 0
    for part, is_table in parts:
        if len(part) <= room:
            pieces[-1][0] += _BLANK + part
        elif len(part) <= size:
            pieces.append([part, ""])
            room = size
        elif cuts_tables if is_table else cuts_paragraphs:
            pieces += [[part[at : at + size], ""] for at in range(0, len(part), size)]
            room = 0
        else:
            pieces.append([part, _TOO_LONG if is_table else ""])
            room = 0
        room -= len(part) + gap
    return pieces


def tables_cut(text: str, size: int) -> list[Piece]:
    """A table is cut like any text: its lower half lacks the head that says what it means."""
    return _pieces(text, size, cuts_tables=True)


def caption_left_behind(text: str, size: int) -> list[Piece]:
    """The caption stays in the piece before: a table without it is only numbers."""
    return _pieces(text, size, is_caption=lambda _: False)


def any_paragraph_joined(text: str, size: int) -> list[Piece]:
    """Any paragraph above a table goes with it: only one that ends with a colon is its caption."""
    return _pieces(text, size, is_caption=lambda _: True)


def long_table_unflagged(text: str, size: int) -> list[Piece]:
    """A table longer than a piece carries no flag: whoever embeds it cannot know that it is cut."""
    return [[piece, ""] for piece, _ in keep_tables_whole(text, size)]


def every_table_flagged(text: str, size: int) -> list[Piece]:
    """Every piece with a table is flagged: the flag is for those that do not fit."""
    pieces = [piece for piece, _ in keep_tables_whole(text, size)]
    return [[piece, _TOO_LONG if f"\n{piece}".count("\n|") else ""] for piece in pieces]


def long_table_dropped(text: str, size: int) -> list[Piece]:
    """A table longer than a piece is left out: what it says can then never be found."""
    return [piece for piece in keep_tables_whole(text, size) if not piece[1]]


def long_paragraph_kept(text: str, size: int) -> list[Piece]:
    """A paragraph longer than a piece is not cut: only tables are kept whole at any length."""
    return _pieces(text, size, cuts_paragraphs=False)


def blank_lines_uncounted(text: str, size: int) -> list[Piece]:
    """The blank lines between the parts of a piece are not counted: it gets longer than size."""
    return _pieces(text, size, gap=0)


def each_part_alone(text: str, size: int) -> list[Piece]:
    """Every paragraph is a piece of its own: take as many as fit, so that they explain each other."""
    return _pieces(text, size, gap=size)


def bad_size_accepted(text: str, size: int) -> list[Piece]:
    """A size of 0 or less is not refused with a ValueError."""
    return [] if size <= 0 else keep_tables_whole(text, size)


_PARAGRAPHS = ("Short.", "A second one.", "These are the prices:", "In short:", "x" * 45)
_ROWS = ("| a | 1 |", "| code | price |", "| GX-100 | 240 |", "| --- | --- |")


def _hidden_tables(random: Random) -> Iterator[Arguments]:
    table = "| code | price |\n| --- | --- |\n| GX-100 | 240 |"
    yield f"Prices:\n\n{table}", 60
    yield f"Prices:\n\n{table}\n\nText.", 30
    yield f"First.\n\nPrices:\n\n{table}", 65
    yield f"First.\n\n{table}", len(table)
    yield f"First one.\n\n{table}", len(table) + 12
    yield f"{'x' * 45}\n\n{table}\n\nText.", 44
    yield "One.\n\nTwo.\n\nThree.", 17
    yield "One.\n\nTwo.", 0
    yield "", -1
    for _ in range(24):
        blocks = []
        for _ in range(random.randint(1, 5)):
            rows = "\n".join(random.choice(_ROWS) for _ in range(random.randint(1, 4)))
            blocks.append(random.choice([rows, random.choice(_PARAGRAPHS)]))
        yield _BLANK.join(blocks), random.choice([20, 40, 60])


def _any_tables() -> Strategy:
    blocks = st.sampled_from(["One.", "Two two.", "At:", "| a |", "| a |\n| b |", "| a |\n" * 3])
    return st.tuples(
        st.integers(0, 4), st.lists(blocks, min_size=4, max_size=4), st.integers(0, 24)
    ).map(lambda drawn: (_BLANK.join(b.strip() for b in drawn[1][4 - drawn[0] :]), drawn[2]))


EXERCISE = Exercise(
    model_solution=keep_tables_whole,
    reference=keep_tables_whole,
    cases=(
        case("two paragraphs fill a piece exactly", "One.\n\nTwo.\n\nThree.", 10),
        case("a table that does not fit any more", "Text.\n\n| a | b |\n| 1 | 2 |", 20),
        case("a table with its caption", "Text.\n\nAt:\n\n| a |\n| 1 |", 16),
        case("a table longer than a piece", "At:\n\n| a |\n| 1 |\n\nText.", 9),
        case("a paragraph longer than a piece", "abcdefgh", 3),
        case("a size that makes no sense", "Text.", 0),
    ),
    hidden=_hidden_tables,
    strategy=_any_tables,
    hints=(
        "Which parts of the text may be parted at all? Make a list of them before you fill pieces.",
        "`text.split('\\n\\n')` gives the blocks. Where a table follows a block that ends with a "
        "colon, make one part of the two.",
        "Keep the piece that you are filling. If piece, blank line and part are together too long, "
        "the piece is finished, and the part begins a new one.",
        "A part that is too long even for an empty piece: close the piece before it, then append "
        "the table with its flag, or the paragraph in slices.",
    ),
    off_limits=("labkit.chunking",),
    place=2,
    points=7,
    minutes=30,
)
