"""Stage 11, first half: from a few files to a knowledge base."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from classroom.exercise import Arguments, Case, Exercise, cases, mistakes
from classroom.inside.scenarios import TIMED_OUT, served
from labkit.ingestion import changes

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


# --- split_sections ------------------------------------------------------------------------------

Section: TypeAlias = dict[str, Any]  # level, title, start, end
Heading: TypeAlias = tuple[int, int, str]  # start, level, title

_HEADING = re.compile(r"(#{1,3}) (.*)")
_FENCE = re.compile(r"`{3,}|~{3,}")
_COMMENT_ENDS = "-->"


def split_sections(text: str) -> list[Section]:
    return _cut(text, _headings(_visible(text)))


def _visible(
    text: str,
    opens: Callable[[str], str] | None = None,
    closes: Callable[[str, str], bool] | None = None,
) -> Iterator[tuple[int, str]]:
    """(start, line) of each line in no fence and no comment. `opens(line)` says what closes that
    which the line opens, "" if it opens nothing."""
    opens, closes = opens or _opens, closes or _closes
    start, closing = 0, ""
    for line in text.split("\n"):
        if closing:
            closing = "" if closes(line, closing) else closing
        else:
            closing = opens(line)
            if not closing:
                yield start, line
        start += len(line) + 1


def _opens(line: str) -> str:
    return _opens_fence(line) or _opens_comment(line)


def _opens_fence(line: str) -> str:
    fence = _FENCE.match(line)
    return fence[0] if fence else ""


def _opens_comment(line: str) -> str:
    opened = line.startswith("<!--") and _COMMENT_ENDS not in line
    return _COMMENT_ENDS if opened else ""


def _closes(line: str, closing: str) -> bool:
    if closing == _COMMENT_ENDS:
        return closing in line
    marks = line.rstrip()
    return len(marks) >= len(closing) and set(marks) == {closing[0]}


def _headings(lines: Iterator[tuple[int, str]]) -> list[Heading]:
    found = [(start, _HEADING.match(line)) for start, line in lines]
    return [(start, len(at[1]), at[2].strip()) for start, at in found if at]


def _cut(text: str, headings: Sequence[Heading]) -> list[Section]:
    """The sections that begin at these headings, and before the first of them."""
    if not headings or headings[0][0] > 0:
        headings = [(0, 0, ""), *headings]
    ends = [*(start for start, _, _ in headings[1:]), len(text)]
    return [
        {"level": level, "title": title, "start": start, "end": end}
        for (start, level, title), end in zip(headings, ends, strict=True)
        if start < end
    ]


def heading_in_a_fence(text: str) -> list[Section]:
    """A # inside a fence is taken for a heading: there it is a comment of a program."""
    return _cut(text, _headings(_visible(text, _opens_comment)))


def heading_in_a_comment(text: str) -> list[Section]:
    """A heading inside an HTML comment opens a section, and no reader of the page ever sees it."""
    return _cut(text, _headings(_visible(text, _opens_fence)))


def any_mark_closes(text: str) -> list[Section]:
    """A fence is closed by any three marks: it ends with the sign that opened it, and as many."""

    def closes(line: str, closing: str) -> bool:
        fence = _FENCE.match(line)
        return bool(fence) if closing != _COMMENT_ENDS else closing in line

    return _cut(text, _headings(_visible(text, closes=closes)))


def short_fence_closes(text: str) -> list[Section]:
    """A fence of four signs is closed by three: those stand in it as an example of a fence."""
    return _cut(text, _headings(_visible(text, closes=lambda line, c: _closes(line, c[:3]))))


def open_end_ignored(text: str) -> list[Section]:
    """A fence or comment that never closes hides nothing: it goes on to the end of the text."""
    lines = text.split("\n")

    def opens(line: str) -> str:
        closing = _opens(line)
        later = lines[lines.index(line) + 1 :]
        return closing if any(_closes(other, closing) for other in later) else ""

    return _cut(text, _headings(_visible(text, opens)))


def beginning_lost(text: str) -> list[Section]:
    """What stands before the first heading is in no section, so nobody will ever find it."""
    return [section for section in split_sections(text) if section["level"]]


def heading_line_lost(text: str) -> list[Section]:
    """The line of the heading is in no section: the spans have gaps between them."""
    found = split_sections(text)
    for section in found:
        line = text.find("\n", section["start"], section["end"]) + 1 or section["end"]
        section["start"] = line if section["level"] else section["start"]
    return [section for section in found if section["start"] < section["end"]]


def space_not_needed(text: str) -> list[Section]:
    """A # without a space behind it is taken for a heading: it may be #1, a tag or a colour."""
    found = [(start, re.match(r"(#{1,3})(?!#)(.*)", line)) for start, line in _visible(text)]
    return _cut(text, [(start, len(at[1]), at[2].strip()) for start, at in found if at])


def deep_ones_open_too(text: str) -> list[Section]:
    """A heading of level 4 or deeper opens a section: they get too small to be understood."""
    found = [(start, re.match(r"(#{1,6}) (.*)", line)) for start, line in _visible(text)]
    return _cut(text, [(start, len(at[1]), at[2].strip()) for start, at in found if at])


_LINES = (
    "# Prices",
    "## Set up",
    "### Two wires",
    "#### Details",
    "Text.",
    "Room #4 is free.",
    "#4 is free",
    "",
    "```",
    "````",
    "~~~",
    "```sh",
    "# a comment of the shell",
    "<!--",
    "-->",
    "<!-- # short -->",
    "| a | b |",
)


def _hidden_sections(random: Random) -> Iterator[Arguments]:
    yield ("",)
    yield ("Text before.\n\n## Set up\n\nText.\n\n#### Details\n\nMore.\n",)
    yield ("# One\n```sh\n# run it\n```\n## Two\nText.\n",)
    yield ("# One\n````\n```\n# in it\n```\n````\n## Two\n",)
    yield ("# One\n~~~\n```\n# in it\n~~~\n## Two\n",)
    yield ("# One\n<!--\n## Hidden\n-->\n## Two\n",)
    yield ("# One\n```\n## In a fence that never closes\nText.",)
    yield ("#1 is a number\n# One\n#tag\n## Two",)
    yield ("# One\n<!-- a comment\n## that never closes\n",)
    yield ("# One\n```\n``` no end\n# in it\n```\n# Two",)
    for _ in range(22):
        number = f" {random.randint(1, 99)}"
        lines = [random.choice(_LINES) for _ in range(random.randint(2, 12))]
        named = [line + number if line[:1] == "#" and " " in line else line for line in lines]
        yield ("\n".join(named) + random.choice(["", "\n"]),)


def _any_markdown() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    return st.tuples(
        st.integers(0, 5), st.lists(st.sampled_from(_LINES), min_size=5, max_size=5)
    ).map(lambda drawn: ("\n".join(drawn[1][: drawn[0]]),))


SPLIT_SECTIONS = Exercise(
    id="split_sections",
    stage=11,
    title="Cut a Markdown text into its sections",
    task=(
        "Return the sections of a Markdown text, in order, each as a dictionary with `level`, "
        "`title`, `start` and `end`; `text[start:end]` is the section, its heading included. Each "
        "section begins where the one before ends, the first at 0, and the last ends at "
        "`len(text)`: together they are the text. An empty text has none.\n\n"
        "A section begins at a heading: a line that starts with one, two or three `#` and a space. "
        "Their number is the level; the title is the rest of the line, without white space around "
        "it. What stands before the first heading is a section of level 0 with the title `''`.\n\n"
        "Inside a fence or a comment there are no headings. A line that starts with three or more "
        "backticks, or with three or more `~`, opens a fence; it ends with a line that holds "
        "nothing but the same sign, at least as often. A line that starts with `<!--` opens a "
        "comment, which ends with the first line (perhaps that one) that holds `-->`. What is "
        "never closed goes on to the end. Lines end with `\\n`."
    ),
    starter='''\
def split_sections(text: str) -> list[dict]:
    """The sections as dictionaries with level, title, start and end; together they are the text."""
    raise NotImplementedError
''',
    reference=split_sections,
    cases=cases(
        Case(("# A\nText.\n## B\nMore.\n",), "two sections"),
        Case(("Text.\n\n# A\n",), "text before the first heading"),
        Case(("# A\n```sh\n# run\n```\n",), "a comment of the shell in a fence"),
        Case(("# A\n<!--\n# B\n-->\n# C",), "a heading that nobody sees"),
        Case(("# A\n````\n```\n# B\n````\n",), "a fence inside a fence"),
        Case(("# A\n#### B\n#1\n",), "a deep heading, and a number"),
        Case(("",), "nothing to cut"),
    ),
    hidden=_hidden_sections,
    strategy=_any_markdown,
    hints=(
        "Which lines may be a heading at all? Keep in one variable what you are waiting for: "
        "nothing, the end of a fence, or the end of a comment.",
        "Walk over `text.split('\\n')` and count where each line starts: `start += len(line) + 1`.",
        "While you wait, a line can only end the waiting; only otherwise may it open a fence or a "
        "comment, or be a heading.",
        "`re.match(r'(#{1,3}) (.*)', line)` finds a heading, ``re.match(r'`{3,}|~{3,}', line)`` "
        "the signs that open a fence: remember them, their length counts.",
        "Collect the headings first, as (start, level, title). A section ends where the next one "
        "starts, the last one at `len(text)`.",
    ),
    mistakes=mistakes(
        heading_in_a_fence,
        heading_in_a_comment,
        any_mark_closes,
        short_fence_closes,
        open_end_ignored,
        beginning_lost,
        heading_line_lost,
        space_not_needed,
        deep_ones_open_too,
    ),
    off_limits=("labkit.chunking", "classroom.exercises"),
    answer="""\
    import re

    found, start, closing = [(0, 0, "")], 0, ""
    for line in text.split("\\n"):
        fence = re.match(r"`{3,}|~{3,}", line)
        heading = re.match(r"(#{1,3}) (.*)", line)
        marks = line.rstrip()
        if closing == "-->":
            closing = "" if closing in line else closing
        elif closing:
            if len(marks) >= len(closing) and set(marks) == {closing[0]}:
                closing = ""
        elif fence:
            closing = fence[0]
        elif line.startswith("<!--"):
            closing = "" if "-->" in line else "-->"
        elif heading:
            found.append((start, len(heading[1]), heading[2].strip()))
        start += len(line) + 1
    ends = [start for start, _, _ in found[1:]] + [len(text)]
    return [
        {"level": level, "title": title, "start": start, "end": end}
        for (start, level, title), end in zip(found, ends)
        if start < end
    ]
""",
    core=True,
    points=8,
    minutes=30,
)


# --- keep_tables_whole ---------------------------------------------------------------------------

Piece: TypeAlias = list[str]  # text, flag
Unit: TypeAlias = tuple[str, bool]  # text, whether a table is in it

_BLANK = "\n\n"
_TOO_LONG = "oversize_table"


def keep_tables_whole(text: str, size: int) -> list[Piece]:
    return _pack(_units(text), size)


def _units(text: str, is_caption: Callable[[str], bool] | None = None) -> list[Unit]:
    """Paragraphs, and tables with their captions."""
    is_caption = is_caption or (lambda block: block.endswith(":"))
    units: list[Unit] = []
    for block in text.split(_BLANK) if text else []:
        is_table = all(line.startswith("|") for line in block.split("\n"))
        if is_table and units and not units[-1][1] and is_caption(units[-1][0]):
            block = f"{units.pop()[0]}{_BLANK}{block}"
        units.append((block, is_table))
    return units


def _pack(units: Sequence[Unit], size: int, gap: int = len(_BLANK)) -> list[Piece]:
    """Units into pieces, as long as they fit; a blank line counts as `gap` characters."""
    if size <= 0:
        raise ValueError("size must be above 0")
    pieces: list[Piece] = []
    taken: list[str] = []
    for unit, is_table in units:
        room = size - sum(len(part) + gap for part in taken)
        if len(unit) > room and taken:
            pieces.append([_BLANK.join(taken), ""])
            taken = []
        if len(unit) <= size:
            taken.append(unit)
        else:
            pieces += [[unit, _TOO_LONG]] if is_table else _slices(unit, size)
    return [*pieces, [_BLANK.join(taken), ""]] if taken else pieces


def _slices(text: str, size: int) -> list[Piece]:
    return [[text[at : at + size], ""] for at in range(0, len(text), size)]


def tables_cut(text: str, size: int) -> list[Piece]:
    """A table is cut like any text: its lower half lacks the head that says what it means."""
    return _pack([(unit, False) for unit, _ in _units(text)], size)


def caption_left_behind(text: str, size: int) -> list[Piece]:
    """The caption stays in the piece before: a table without it is only numbers."""
    return _pack(_units(text, lambda _: False), size)


def any_paragraph_joined(text: str, size: int) -> list[Piece]:
    """Any paragraph above a table goes with it: only one that ends with a colon is its caption."""
    return _pack(_units(text, lambda _: True), size)


def long_table_unflagged(text: str, size: int) -> list[Piece]:
    """A table longer than a piece carries no flag: whoever embeds it cannot know that it is cut."""
    return [[piece, ""] for piece, _ in keep_tables_whole(text, size)]


def every_table_flagged(text: str, size: int) -> list[Piece]:
    """Every piece with a table is flagged: the flag is for those that do not fit."""
    return [
        [piece, _TOO_LONG if any(line[:1] == "|" for line in piece.split("\n")) else ""]
        for piece, _ in keep_tables_whole(text, size)
    ]


def long_table_dropped(text: str, size: int) -> list[Piece]:
    """A table longer than a piece is left out: what it says can then never be found."""
    return [piece for piece in keep_tables_whole(text, size) if not piece[1]]


def long_paragraph_kept(text: str, size: int) -> list[Piece]:
    """A paragraph longer than a piece is not cut: only tables are kept whole at any length."""
    if size <= 0:
        raise ValueError
    pieces: list[Piece] = []
    for unit, is_table in _units(text):
        last = pieces[-1][0] if pieces else ""
        if len(unit) > size:
            pieces.append([unit, _TOO_LONG if is_table else ""])
        elif 0 < len(last) <= size - len(_BLANK) - len(unit):
            pieces[-1][0] += _BLANK + unit
        else:
            pieces.append([unit, ""])
    return pieces


def blank_lines_uncounted(text: str, size: int) -> list[Piece]:
    """The blank lines between the parts of a piece are not counted: it gets longer than size."""
    return _pack(_units(text), size, gap=0)


def each_part_alone(text: str, size: int) -> list[Piece]:
    """Every paragraph is a piece of its own: take as many as fit, so that they explain each other."""
    return [piece for unit in _units(text) for piece in _pack([unit], size)] or _pack([], size)


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


def _any_tables() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    blocks = st.sampled_from(["One.", "Two two.", "At:", "| a |", "| a |\n| b |", "| a |\n" * 3])
    return st.tuples(
        st.integers(0, 4), st.lists(blocks, min_size=4, max_size=4), st.integers(0, 24)
    ).map(lambda drawn: (_BLANK.join(b.strip() for b in drawn[1][4 - drawn[0] :]), drawn[2]))


KEEP_TABLES_WHOLE = Exercise(
    id="keep_tables_whole",
    stage=11,
    title="Cut at a size, and never through a table",
    task=(
        "Cut `text` into pieces of at most `size` characters, from left to right. The text "
        "consists of blocks with one blank line (`\\n\\n`) between them. A block whose lines all "
        "start with `|` is a table; if the block right above it is none and ends with a colon, "
        "that is its caption, and both stay together with the blank line between them.\n\n"
        "A piece takes as many blocks as fit, each whole, with the blank lines between them. A "
        "paragraph that alone is longer than `size` is cut every `size` characters, into pieces of "
        "its own. A table that, with its caption, is longer than `size` becomes a piece of its own "
        "all the same. Return `[piece, flag]` pairs: the flag is `'oversize_table'` for such a "
        "table and `''` for all else. An empty text has no pieces. Raise `ValueError` for a `size` "
        "of 0 or less."
    ),
    starter='''\
def keep_tables_whole(text: str, size: int) -> list[list[str]]:
    """[piece, flag] pairs: pieces of at most `size` characters, but tables are never cut."""
    raise NotImplementedError
''',
    reference=keep_tables_whole,
    cases=cases(
        Case(("One.\n\nTwo.\n\nThree.", 10), "two paragraphs fill a piece exactly"),
        Case(("Text.\n\n| a | b |\n| 1 | 2 |", 20), "a table that does not fit any more"),
        Case(("Text.\n\nAt:\n\n| a |\n| 1 |", 16), "a table with its caption"),
        Case(("At:\n\n| a |\n| 1 |\n\nText.", 9), "a table longer than a piece"),
        Case(("abcdefgh", 3), "a paragraph longer than a piece"),
        Case(("Text.", 0), "a size that makes no sense"),
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
    mistakes=mistakes(
        tables_cut,
        caption_left_behind,
        any_paragraph_joined,
        long_table_unflagged,
        every_table_flagged,
        long_table_dropped,
        long_paragraph_kept,
        blank_lines_uncounted,
        each_part_alone,
        bad_size_accepted,
    ),
    off_limits=("labkit.chunking", "classroom.exercises"),
    answer="""\
    if size <= 0:
        raise ValueError("size must be above 0")
    parts = []
    for block in text.split("\\n\\n") if text else []:
        is_table = all(line.startswith("|") for line in block.split("\\n"))
        if is_table and parts and not parts[-1][1] and parts[-1][0].endswith(":"):
            block = parts.pop()[0] + "\\n\\n" + block
        parts.append((block, is_table))
    pieces, piece = [], ""
    for part, is_table in parts:
        longer = piece + "\\n\\n" + part if piece else part
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
    return pieces + [[piece, ""]] if piece else pieces
""",
    points=7,
    minutes=30,
)


# --- plan_changes --------------------------------------------------------------------------------

Hashes: TypeAlias = dict[str, str]  # the hash of each document by its id
Plan: TypeAlias = dict[str, list[str]]


def plan_changes(before: Hashes, now: Hashes) -> Plan:
    return changes.plan_changes(before, now)._asdict()


def _plan(before: Hashes, now: Hashes, is_same: Callable[[str], bool]) -> Plan:
    both = sorted(before.keys() & now.keys())
    return {
        "added": sorted(now.keys() - before.keys()),
        "changed": [name for name in both if not is_same(name)],
        "removed": sorted(before.keys() - now.keys()),
        "unchanged": [name for name in both if is_same(name)],
    }


def ids_alone(before: Hashes, now: Hashes) -> Plan:
    """Only ids are compared: an edited document keeps its id, and its old text would answer."""
    return _plan(before, now, lambda _: True)


def removed_forgotten(before: Hashes, now: Hashes) -> Plan:
    """What is gone is not listed: a document that somebody deleted would go on answering."""
    return {**plan_changes(before, now), "removed": []}


def everything_changed(before: Hashes, now: Hashes) -> Plan:
    """Every document that was there before is called changed: then nothing is ever saved."""
    return _plan(before, now, lambda _: False)


def hashes_alone(before: Hashes, now: Hashes) -> Plan:
    """A hash that was there under another id counts as unchanged: compare it under the same id."""
    known = set(before.values())
    plan = _plan(before, now, lambda name: now[name] in known)
    plan["unchanged"] = sorted([*plan["unchanged"], *(n for n in plan["added"] if now[n] in known)])
    plan["added"] = [name for name in plan["added"] if now[name] not in known]
    return plan


def before_and_now_swapped(before: Hashes, now: Hashes) -> Plan:
    """Added and removed are the wrong way round: what is new would be deleted."""
    return plan_changes(now, before)


def changed_added_again(before: Hashes, now: Hashes) -> Plan:
    """A changed document is listed as removed and added: for a moment it would not be there."""
    plan = plan_changes(before, now)
    added, removed = (sorted([*plan[key], *plan["changed"]]) for key in ("added", "removed"))
    return {**plan, "added": added, "removed": removed, "changed": []}


def in_order_of_arrival(before: Hashes, now: Hashes) -> Plan:
    """The lists are not sorted: the same two states would give another plan on another disk."""
    return {
        "added": [name for name in now if name not in before],
        "changed": [name for name in now if name in before and before[name] != now[name]],
        "removed": [name for name in before if name not in now],
        "unchanged": [name for name in now if name in before and before[name] == now[name]],
    }


def unchanged_left_out(before: Hashes, now: Hashes) -> Plan:
    """The unchanged ones are missing: then nobody can see that every document was looked at."""
    return {**plan_changes(before, now), "unchanged": []}


_DOCUMENTS = ("returns", "sim-card", "alerts", "vat", "leave", "wiring", "plans", "webhooks")


def _two_states(numbers: Sequence[int], offset: int = 0) -> Arguments:
    """Each number says what became of a document: 0 added, 1 removed, 2 changed, else the same."""
    before: Hashes = {}
    now: Hashes = {}
    for place, number in enumerate(numbers):
        name = _DOCUMENTS[(place * 3 + offset) % len(_DOCUMENTS)]
        if number != 0:
            before[name] = f"{place:02x}"
        if number != 1:
            now[name] = f"{place:02x}" if number != 2 else f"{place + 64:02x}"
    return before, now


def _hidden_plans(random: Random) -> Iterator[Arguments]:
    yield {}, {}
    yield {"returns": "a1"}, {}
    yield {}, {"wiring": "b2", "alerts": "a1"}
    yield {"returns": "a1"}, {"returns-policy": "a1"}  # renamed
    yield {"vat": "a1", "leave": "b2"}, {"vat": "b2", "leave": "a1"}  # exchanged
    yield _two_states([0, 1, 2, 3, 3, 2, 1, 0])
    yield _two_states([2, 2, 2])
    for _ in range(24):
        numbers = [random.randint(0, 4) for _ in range(random.randint(2, 8))]
        yield _two_states(numbers, random.randint(0, 7))


def _any_plans() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    hashes = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]), max_size=3)
    return st.tuples(hashes, hashes)


PLAN_CHANGES = Exercise(
    id="plan_changes",
    stage=11,
    title="Plan what an index has to do",
    task=(
        "`before` holds the hash of every document in the index, by its id; `now` that of every "
        "document in the folder. Return a dictionary with four sorted lists of ids: `added` (only "
        "in the folder), `changed` (in both, with another hash), `removed` (only in the index) "
        "and `unchanged`. Every id is in exactly one of them. A document under a new name is one "
        "that was removed and one that was added."
    ),
    starter='''\
def plan_changes(before: dict[str, str], now: dict[str, str]) -> dict[str, list[str]]:
    """Sorted ids under the keys added, changed, removed and unchanged."""
    raise NotImplementedError
''',
    reference=plan_changes,
    cases=cases(
        Case(({"a": "1", "b": "2"}, {"a": "1", "b": "9"}), "one edited, one as it was"),
        Case(({"a": "1"}, {"c": "3", "b": "2", "a": "1"}), "two new ones"),
        Case(({"b": "1", "a": "2"}, {}), "all are gone"),
        Case(({"old": "1"}, {"new": "1"}), "a new name for the same text"),
        Case(({}, {}), "nothing before, nothing now"),
    ),
    hidden=_hidden_plans,
    strategy=_any_plans,
    hints=(
        "In how many ways can an id be in two dictionaries? Each way is one list.",
        "`before.keys() & now.keys()` are the ids in both, `now.keys() - before.keys()` the new "
        "ones: keys can be combined like sets.",
        "For an id that is in both, the hashes decide: `before[name] == now[name]`.",
        "`sorted(...)` makes a list of a set, always in the same order.",
    ),
    mistakes=mistakes(
        ids_alone,
        removed_forgotten,
        everything_changed,
        hashes_alone,
        before_and_now_swapped,
        changed_added_again,
        in_order_of_arrival,
        unchanged_left_out,
    ),
    off_limits=("labkit.ingestion", "classroom.exercises"),
    answer="""\
    both = sorted(before.keys() & now.keys())
    return {
        "added": sorted(now.keys() - before.keys()),
        "changed": [name for name in both if before[name] != now[name]],
        "removed": sorted(before.keys() - now.keys()),
        "unchanged": [name for name in both if before[name] == now[name]],
    }
""",
    core=True,
    points=5,
    minutes=15,
)


# --- transfer: embed_with_service ----------------------------------------------------------------

Vectors: TypeAlias = list[list[float]]
Reply: TypeAlias = dict[str, Any]  # status, vectors: a list of {"index", "vector"}
Post: TypeAlias = Callable[[list[str]], Reply]

_OK, _INPUT_ERROR, _SERVER_ERROR = 200, 400, 500
_NEVER = 10**6


def embed_with_service(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    return _all_batches(texts, post, size, tries)


def _all_batches(
    texts: list[str],
    post: Post,
    size: int,
    tries: int,
    ask: Callable[[list[str], Post, int], Reply] | None = None,
) -> Vectors:
    """All vectors in order; `ask` asks for one batch until there is an answer."""
    ask = ask or _asked
    vectors: Vectors = []
    for batch in _batches(texts, size):
        vectors += _in_order(ask(batch, post, tries))
    return vectors


def _batches(texts: list[str], size: int) -> list[list[str]]:
    return [texts[start : start + size] for start in range(0, len(texts), size)]


def _in_order(reply: Reply) -> Vectors:
    return [item["vector"] for item in sorted(reply["vectors"], key=lambda item: item["index"])]


def _tried(batch: list[str], post: Post) -> Reply:
    """One request; a time-out is a failure of the server's."""
    try:
        return post(batch)
    except TimeoutError:
        return {"status": _SERVER_ERROR, "vectors": []}


def _asked(batch: list[str], post: Post, tries: int) -> Reply:
    for _ in range(tries):
        reply = _tried(batch, post)
        if reply["status"] < _INPUT_ERROR:
            return reply
        if reply["status"] < _SERVER_ERROR:
            raise ValueError(f"the service refused a text: {reply['status']}")
    raise ConnectionError("the service does not answer")


def order_of_arrival(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The vectors are taken as they arrive: each belongs to the text that its index names."""
    vectors: Vectors = []
    for batch in _batches(texts, size):
        vectors += [item["vector"] for item in _asked(batch, post, tries)["vectors"]]
    return vectors


def index_of_all_texts(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The index is taken for a place among all texts: it counts from 0 in every batch."""
    found = {}
    for batch in _batches(texts, size):
        found.update(
            {item["index"]: item["vector"] for item in _asked(batch, post, tries)["vectors"]}
        )
    return [found[index] for index in sorted(found)]


def input_error_retried(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """An input error is tried again: the same texts will be wrong each time, so raise at once."""

    def ask(batch: list[str], post: Post, tries: int) -> Reply:
        for _ in range(tries):
            reply = _tried(batch, post)
            if reply["status"] < _INPUT_ERROR:
                return reply
        raise ValueError if reply["status"] < _SERVER_ERROR else ConnectionError

    return _all_batches(texts, post, size, tries, ask)


def only_422_known(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """Of the input errors only 422 ends the work at once: 400 and 413 are as much your fault."""

    def ask(batch: list[str], post: Post, tries: int) -> Reply:
        for _ in range(tries):
            reply = _tried(batch, post)
            if reply["status"] < _INPUT_ERROR:
                return reply
            if reply["status"] == 422:
                raise ValueError
        raise ConnectionError

    return _all_batches(texts, post, size, tries, ask)


def no_second_try(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The first failure of the server ends everything: it may work again a moment later."""
    return embed_with_service(texts, post, size, min(tries, 1))


def time_out_let_through(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """A time-out is not caught: it is a failure of the server's like any other, so try again."""

    def ask(batch: list[str], post: Post, tries: int) -> Reply:
        for _ in range(tries):
            reply = post(batch)
            if reply["status"] < _INPUT_ERROR:
                return reply
            if reply["status"] < _SERVER_ERROR:
                raise ValueError
        raise ConnectionError

    return _all_batches(texts, post, size, tries, ask)


def tried_without_end(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """There is no end to your tries: a service that is gone would keep you waiting for ever."""
    return embed_with_service(texts, post, size, _NEVER)


def one_try_too_many(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """The service is asked once more than allowed: the first request is a try as well."""
    return embed_with_service(texts, post, size, tries + 1)


def tries_shared(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """All batches share their tries: each batch has as many as the first."""
    left = tries
    vectors: Vectors = []
    for batch in _batches(texts, size):
        reply = {"status": _SERVER_ERROR}
        while reply["status"] >= _SERVER_ERROR:
            if left == 0:
                raise ConnectionError
            reply = _tried(batch, post)
            left -= reply["status"] >= _SERVER_ERROR
        if reply["status"] >= _INPUT_ERROR:
            raise ValueError
        vectors += _in_order(reply)
    return vectors


def begun_again(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """After a failure you begin again with the first batch: ask only for the one that failed."""
    for number in range(tries):
        try:
            return _all_batches(texts, post, size, 1)
        except ConnectionError:
            if number == tries - 1:
                raise
    return []


def half_returned(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """What came before a failure is returned: nobody can tell it from the vectors of all texts."""
    vectors: Vectors = []
    for batch in _batches(texts, size):
        try:
            vectors += _in_order(_asked(batch, post, tries))
        except ConnectionError:
            break
    return vectors


def all_at_once(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """All texts go in one request: the service takes at most `size` of them."""
    return embed_with_service(texts, post, max(size, len(texts)), tries)


def nothing_sent(texts: list[str], post: Post, size: int, tries: int) -> Vectors:
    """A request without texts is sent: for an empty list there is nothing to ask."""
    vectors: Vectors = []
    for batch in _batches(texts, size) or [[]]:
        vectors += _in_order(_asked(batch, post, tries))
    return vectors


_WORDS = ("alpha", "be", "gammas", "d", "epsilon", "zeta", "eta")


def _hidden_requests(random: Random) -> Iterator[Arguments]:
    texts = list(_WORDS)
    yield [], 2, 2, []
    yield texts[:5], 2, 2, []
    yield texts[:4], 2, 3, [200, 503, TIMED_OUT]
    yield texts[:3], 3, 2, [500, 503, 500, 500]
    yield texts[:3], 1, 2, [503, 200, 503, 200, 503]
    yield texts[:4], 2, 3, [200, 422]
    yield texts[:4], 2, 3, [400]
    yield texts[:5], 2, 2, [200, TIMED_OUT, 502, 200]
    yield texts[:2], 2, 4, [413, 200]
    for _ in range(22):
        chosen = random.sample(texts, random.randint(2, 7))
        tries = random.randint(1, 3)
        trouble = [200, 200, 503, 500, TIMED_OUT, TIMED_OUT, random.choice([200, 422, 400])]
        faults = [random.choice(trouble) for _ in range(random.randint(0, 6))]
        yield chosen, random.randint(1, 3), tries, faults


def _any_requests() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    faults = st.lists(st.sampled_from([200, 503, TIMED_OUT, 422, 400]), min_size=4, max_size=4)
    return st.tuples(
        st.integers(0, 5), st.integers(1, 3), st.integers(1, 3), st.integers(0, 4), faults
    ).map(lambda drawn: (list(_WORDS[: drawn[0]]), drawn[1], drawn[2], drawn[4][: drawn[3]]))


def _request_written(arguments: Arguments) -> str:
    texts, size, tries, faults = arguments
    told = ", ".join("time-out" if status == TIMED_OUT else str(status) for status in faults)
    return f"embed_with_service({texts}, post, {size}, {tries}), replies: {told or 'all'} 200"


EMBED_WITH_SERVICE = Exercise(
    id="embed_with_service",
    stage=11,
    title="Transfer: vectors from a service that may fail",
    task=(
        "Return the vector of each of `texts`, in their order. `post(batch)` sends a list of at "
        "most `size` texts to an embedding service and returns its reply: "
        "`{'status': 200, 'vectors': [{'index': 0, 'vector': [...]}, ...]}`. The index is the "
        "place of the text in its batch, from 0; the items come in any order. Fill each batch "
        "before you begin the next.\n\n"
        "A status from 400 to 499 says that the texts are at fault: raise `ValueError` at once. A "
        "status of 500 or more, or a `TimeoutError` that `post` raises, is the service's fault: "
        "ask again for the same batch, up to `tries` requests for it in all, without waiting; "
        "then raise `ConnectionError`. Return either all vectors or none. Without texts, ask "
        "nothing.\n\n"
        "Each case says what becomes of the first requests, one after the other; all later ones "
        "have status 200. The result shows which requests were made."
    ),
    starter='''\
from collections.abc import Callable


def embed_with_service(
    texts: list[str], post: Callable[[list[str]], dict], size: int, tries: int
) -> list[list[float]]:
    """The vector of each text, in order; ValueError or ConnectionError if there is none."""
    raise NotImplementedError
''',
    reference=embed_with_service,
    cases=cases(
        Case((["a", "bb", "ccc"], 2, 1, []), "two batches; the items are out of order"),
        Case((["a", "bb"], 1, 2, [503]), "the first request fails, its second try does not"),
        Case((["a", "bb"], 1, 2, [200, TIMED_OUT, 500]), "a batch fails as often as it may"),
        Case((["a", "bb"], 2, 3, [422]), "the texts are at fault"),
        Case(([], 2, 3, []), "nothing to ask"),
    ),
    hidden=_hidden_requests,
    strategy=_any_requests,
    hints=(
        "Three loops stand inside one another: over batches, over tries, over the items of a "
        "reply. Write a function for one batch first.",
        "What can come of one request? Three things: vectors, your fault, its fault. Each has its "
        "own way on: go on, raise, ask again.",
        "`for _ in range(tries):` with a `return` inside; what stands below the loop is reached "
        "only if no try worked.",
        "`sorted(reply['vectors'], key=lambda item: item['index'])` puts the items in order, one "
        "batch at a time.",
    ),
    mistakes=mistakes(
        order_of_arrival,
        index_of_all_texts,
        input_error_retried,
        only_422_known,
        no_second_try,
        time_out_let_through,
        tried_without_end,
        one_try_too_many,
        tries_shared,
        begun_again,
        half_returned,
        all_at_once,
        nothing_sent,
    ),
    off_limits=("labkit.embedding", "labkit.service", "classroom.exercises"),
    answer="""\
    def ask(batch):
        for _ in range(tries):
            try:
                reply = post(batch)
            except TimeoutError:
                continue
            if reply["status"] < 400:
                return sorted(reply["vectors"], key=lambda item: item["index"])
            if reply["status"] < 500:
                raise ValueError(f"the service refused these texts: {reply['status']}")
        raise ConnectionError(f"no answer after {tries} tries")

    vectors = []
    for start in range(0, len(texts), size):
        vectors += [item["vector"] for item in ask(texts[start : start + size])]
    return vectors
""",
    scenario=served,
    written=_request_written,
    transfer=True,
    points=8,
    minutes=35,
)

EXERCISES = (SPLIT_SECTIONS, KEEP_TABLES_WHOLE, PLAN_CHANGES, EMBED_WITH_SERVICE)
