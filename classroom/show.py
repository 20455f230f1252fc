"""What the classroom says: the same words as HTML in a notebook and as text elsewhere."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from html import escape
from typing import TypeAlias

from classroom.checking import Outcome, Result
from classroom.exercise import Exercise

Line: TypeAlias = tuple[str, str]
"""(label, text); an empty label for a plain sentence."""

_NEXT = {
    Outcome.NOT_ATTEMPTED: "Replace the `raise` line with your own code, then check again.",
    Outcome.WRONG: "Run your function on this input by hand and find where it goes wrong.",
    Outcome.CRASHED: "Look at that line with this input in mind.",
    Outcome.TOO_SLOW: "Ask what makes your loop end, and whether it does for this input.",
    Outcome.DELEGATED: "The point is to build it: start from the task.",
    Outcome.DIED: "Your code ended Python itself, or needed more memory than there was.",
    Outcome.RIGHT: "",
}
_COLOURS = {Outcome.RIGHT: "#2f7d3b", Outcome.NOT_ATTEMPTED: "#616e7c"}
_ATTENTION = "#9a3412"


@dataclass(frozen=True, slots=True)
class Message:
    """A short message: a heading and lines. `str` is its text, a notebook shows its HTML."""

    heading: str
    lines: tuple[Line, ...] = ()
    colour: str = "#334e68"

    def __str__(self) -> str:
        body = [f"  {label}: {text}" if label else f"  {text}" for label, text in self.lines]
        return "\n".join([self.heading, *body])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(f"<div>{_html_line(label, text)}</div>" for label, text in self.lines)
        return (
            f"<div role='status' style='border-left:4px solid {self.colour};padding:4px 12px'>"
            f"<b>{escape(self.heading)}</b>{rows}</div>"
        )


def _html_line(label: str, text: str) -> str:
    """A line as HTML: labelled values and what stands in backticks are code."""
    if label:
        return f"<b>{escape(label)}</b> <code>{escape(text)}</code>"
    indent = "&nbsp;" * (len(text) - len(text.lstrip()))
    return indent + re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text.lstrip()))


def result_message(exercise: Exercise, result: Result) -> Message:
    """The result of a check, in the order in which a learner needs it."""
    lines: list[Line] = []
    if result.mistake:
        lines.append(("", result.mistake))
    elif result.message:
        lines.append(("", result.message))
    if result.arguments is not None:
        lines.append(("input", short_run(visible(exercise.call_written(result.arguments)), 320)))
        lines.append(("expected", short_run(visible(str(result.expected)))))
        lines.append(("got", short_run(visible(str(result.got)))))
    if result.line:
        lines.append(("your line", result.line))
    if _NEXT[result.outcome]:
        lines.append(("", _NEXT[result.outcome]))
    colour = _COLOURS.get(result.outcome, _ATTENTION)
    return Message(f"{exercise.id}: {result.outcome}", tuple(lines), colour)


def visible(text: str) -> str:
    """The text with marks that join the letter before them written out, as in `e\\u0301`: else two
    spellings of one letter would look alike."""
    return "".join(_escaped(character) for character in text)


def _escaped(character: str) -> str:
    joins = unicodedata.category(character).startswith("M")
    if joins or not unicodedata.is_normalized("NFC", character):
        return ascii(character)[1:-1]
    return character


def short_run(text: str, limit: int = 200) -> str:
    """The text, cut after `limit` characters."""
    return text if len(text) <= limit else f"{text[: limit - 3]}…"
