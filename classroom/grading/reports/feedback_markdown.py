"""Feedback as Markdown that no text from a submission can break out of."""

from __future__ import annotations

import re
from collections.abc import Sequence

from classroom.grading.reports.feedback_content import (
    IN_WORDS,
    FailingCase,
    Feedback,
    Held,
    Note,
    Section,
)

_SPECIAL = re.compile(r"[\\`*_\[\]<>#|&~$@]|(?<=www)\.|:(?=//)", re.IGNORECASE)


def as_markdown(said: Feedback) -> str:
    """The whole text, in CommonMark."""
    parts = [
        f"# {said.title} {code(said.assignment) if said.assignment else ''}".strip(),
        f"For {code(said.student)}" + (f": **{prose(said.points)}**" if said.points else ""),
        _listed("## What already works", [prose(text) for text in said.works]),
    ]
    if said.next_step:
        parts.append(f"## Your next step\n\n{prose(said.next_step)}")
    parts += map(_section, said.sections)
    parts.append(_listed("## About your file", [_note(each) for each in said.notes]))
    return "\n\n".join(filter(None, parts)) + "\n"


def code(text: str) -> str:
    """A code span that its content cannot end: its fence is longer than any run of backticks."""
    text = " ".join(text.splitlines())
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    blank = not text.strip(" ")
    around = " " if not blank and (text[0] in "` " or text[-1] in "` ") else ""
    return "(nothing)" if blank else f"{fence}{around}{text}{around}{fence}"


def prose(text: str) -> str:
    """A sentence in which only what stands in backticks has form: all else is escaped. It has to
    follow other words: a dash or a number at the start of a line would begin a list."""
    text = " ".join(text.split())
    pieces = re.split("`([^`]+)`", text)
    written = (code(piece) if at % 2 else _escaped(piece) for at, piece in enumerate(pieces))
    return "".join(written)


def _escaped(text: str) -> str:
    return _SPECIAL.sub(r"\\\g<0>", text)


def _note(found: Note) -> str:
    return f"{prose(found.place)}: {prose(found.message)} {found.then}".strip()


def _listed(heading: str, items: Sequence[str]) -> str:
    rows = "\n".join(f"- {item}" for item in items)
    return f"{heading}\n\n{rows}" if items else ""


def _section(said: Section) -> str:
    parts = [
        f"## {prose(said.title)}",
        f"{code(said.exercise)}: **{prose(said.points)}**, {IN_WORDS[said.outcome]}",
        prose(said.works),
        f"**{prose(said.sentence)}**" if said.sentence else "",
        "\n".join(map(_case, said.failing)),
        f"And {said.more_failing} more of the examples." if said.more_failing else "",
        f"Your code stopped at {code(said.line)}" if said.line else "",
        prose(said.where),
        "A group earns its points once all its cases hold:" if said.held else "",
        "\n".join(map(_count, said.held)),
        prose(said.step),
        _listed("### Found in your cells", [_note(each) for each in said.notes]),
    ]
    return "\n\n".join(filter(None, parts))


def _case(case: FailingCase) -> str:
    return f"- Call {code(case.call)}\n  - expected {code(case.expected)}\n  - got {code(case.got)}"


def _count(held: Held) -> str:
    remark = f" ({held.remark})" if held.remark else ""
    return f"- {held.group}: {held.held} of {held.total} hold, {held.points} points{remark}"
