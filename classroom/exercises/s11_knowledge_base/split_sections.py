r"""Cut a Markdown text into its sections

Return the sections of a Markdown text, in order, each as a dictionary with `level`, `title`,
`start` and `end`; `text[start:end]` is the section, its heading included. Each section begins where
the one before ends, the first at 0, and the last ends at `len(text)`: together they are the text.
An empty text has none.

A section begins at a heading: a line that starts with one, two or three `#` and a space. Their
number is the level; the title is the rest of the line, without white space around it. What stands
before the first heading is a section of level 0 with the title `''`.

Inside a fence or a comment there are no headings. A line that starts with three or more backticks,
or with three or more `~`, opens a fence; it ends with a line that holds nothing but the same sign,
at least as often. A line that starts with `<!--` opens a comment, which ends with the first line
(perhaps that one) that holds `-->`. What is never closed goes on to the end. Lines end with `\n`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from random import Random
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case

Section: TypeAlias = dict[str, Any]  # level, title, start, end


def split_sections(text: str) -> list[dict]:
    """The sections as dictionaries with level, title, start and end; together they are the text."""
    import re

    found, start, closing = [(0, 0, "")], 0, ""
    for line in text.split("\n"):
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
        for (start, level, title), end in zip(found, ends, strict=True)
        if start < end
    ]


_FENCE = re.compile(r"`{3,}|~{3,}")


def _opens_fence(line: str) -> str:
    fence = _FENCE.match(line)
    return fence[0] if fence else ""


def _opens_comment(line: str) -> str:
    return "-->" if line.startswith("<!--") and "-->" not in line else ""


def _opens(line: str) -> str:
    return _opens_fence(line) or _opens_comment(line)


def _closes(line: str, closing: str) -> bool:
    marks = line.rstrip()
    ends_fence = len(marks) >= len(closing) and set(marks) == {closing[0]}
    return closing in line if closing == "-->" else ends_fence


def _sections(
    text: str,
    opens: Callable[[str], str] = _opens,
    closes: Callable[[str, str], bool] = _closes,
    heading: str = r"(#{1,3}) (.*)",
) -> list[Section]:
    """The sections by the given rules. `opens(line)` says what closes that which the line opens."""
    found, start, closing = [(0, 0, "")], 0, ""
    for line in text.split("\n"):
        waiting, closing = bool(closing), closing or opens(line)
        at = re.match(heading, line)
        if waiting and closes(line, closing):
            closing = ""
        elif at and not closing:
            found.append((start, len(at[1]), at[2].strip()))
        start += len(line) + 1
    ends = [*(start for start, _, _ in found[1:]), len(text)]
    return [
        {"level": level, "title": title, "start": start, "end": end}
        for (start, level, title), end in zip(found, ends, strict=True)
        if start < end
    ]


def heading_in_a_fence(text: str) -> list[Section]:
    """A # inside a fence is taken for a heading: there it is a comment of a program."""
    return _sections(text, _opens_comment)


def heading_in_a_comment(text: str) -> list[Section]:
    """A heading inside an HTML comment opens a section, and no reader of the page ever sees it."""
    return _sections(text, _opens_fence)


def any_mark_closes(text: str) -> list[Section]:
    """A fence is closed by any three marks: it ends with the sign that opened it, and as many."""

    def closes(line: str, closing: str) -> bool:
        return closing in line if closing == "-->" else bool(_FENCE.match(line))

    return _sections(text, closes=closes)


def short_fence_closes(text: str) -> list[Section]:
    """A fence of four signs is closed by three: those stand in it as an example of a fence."""
    return _sections(text, closes=lambda line, closing: _closes(line, closing[:3]))


def open_end_ignored(text: str) -> list[Section]:
    """A fence or comment that never closes hides nothing: it goes on to the end of the text."""
    lines = text.split("\n")

    def opens(line: str) -> str:
        closing = _opens(line)
        later = lines[lines.index(line) + 1 :]
        return closing if any(_closes(other, closing) for other in later) else ""

    return _sections(text, opens)


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
    return _sections(text, heading=r"(#{1,3})(?!#)(.*)")


def deep_ones_open_too(text: str) -> list[Section]:
    """A heading of level 4 or deeper opens a section: they get too small to be understood."""
    return _sections(text, heading=r"(#{1,6}) (.*)")


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


def _any_markdown() -> Strategy:
    return st.tuples(
        st.integers(0, 5), st.lists(st.sampled_from(_LINES), min_size=5, max_size=5)
    ).map(lambda drawn: ("\n".join(drawn[1][: drawn[0]]),))


EXERCISE = Exercise(
    model_solution=split_sections,
    reference=split_sections,
    cases=(
        case("two sections", "# A\nText.\n## B\nMore.\n"),
        case("text before the first heading", "Text.\n\n# A\n"),
        case("a comment of the shell in a fence", "# A\n```sh\n# run\n```\n"),
        case("a heading that nobody sees", "# A\n<!--\n# B\n-->\n# C"),
        case("a fence inside a fence", "# A\n````\n```\n# B\n````\n"),
        case("a deep heading, and a number", "# A\n#### B\n#1\n"),
        case("nothing to cut", ""),
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
    off_limits=("labkit.chunking",),
    points=8,
    minutes=30,
    core=True,
)
