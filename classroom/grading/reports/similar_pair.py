"""Two similar answers side by side, as HTML: what matches, and a little around it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from classroom.grading.names import MAX_SHOWN, shown, spelled_out
from classroom.grading.reports.matching_lines import Lines
from classroom.grading.reports.similarity import Answer, Pair

MOST_LINES = 120  # shown of one answer
AROUND = 3  # lines shown around those that match


def pair_details(pair: Pair) -> str:
    """A line on a pair that opens to both answers."""
    sides = (
        (pair.left, [part.left for part in pair.parts]),
        (pair.right, [part.right for part in pair.parts]),
    )
    columns = "".join(
        f"<div><h3>{name_shown(answer.student)}</h3>{_code(answer, lines)}</div>"
        for answer, lines in sides
    )
    return (
        f"<details><summary><b>{percent(pair.similarity)}</b> "
        f"{exercise_code(pair.exercise)} "
        f"{name_shown(pair.left.student)} and {name_shown(pair.right.student)} "
        f'<span class="muted">({pair.shared:,} shared fingerprints)</span></summary>'
        f'<div class="sides">{columns}</div></details>'
    )


def _code(answer: Answer, parts: list[Lines]) -> str:
    """The source with its line numbers, as far as it is near a matching line."""
    source = re.split(r"\r\n|\r|\n", answer.source)
    letters = _letters(parts)
    rows, before = [], 0
    for number in _near(letters, len(source)):
        if number > before + 1:
            rows.append(_gap(number - before - 1))
        rows.append(_line(number, source[number - 1], letters.get(number, "")))
        before = number
    if before < len(source):
        rows.append(_gap(len(source) - before))
    return f'<table class="code"><tbody>{"".join(rows)}</tbody></table>'


def _letters(parts: list[Lines]) -> dict[int, str]:
    """The letter of the part that each matching line belongs to: a to z, then aa and so on."""
    letters: dict[int, str] = {}
    for number, (first, last) in enumerate(parts):
        letter = chr(ord("a") + number % 26) * (1 + number // 26 % 3)
        for line in range(first, last + 1):
            letters.setdefault(line, letter)
    return letters


def _near(letters: Iterable[int], lines: int) -> list[int]:
    """The lines to show: the matching ones and those around them, but not too many."""
    near = {
        line
        for matching in letters
        for line in range(matching - AROUND, matching + AROUND + 1)
        if 1 <= line <= lines
    }
    return sorted(near)[:MOST_LINES]


def _line(number: int, text: str, letter: str) -> str:
    kind = ' class="alike"' if letter else ""
    return (
        f'<tr{kind}><td class="place part">{letter}</td><td class="place">{number}</td>'
        f'<td class="line">{_visible(text)}</td></tr>'
    )


def _gap(lines: int) -> str:
    said = "1 line" if lines == 1 else f"{lines:,} lines"
    return f'<tr><td></td><td class="place">⋯</td><td class="line muted">{said}</td></tr>'


def _visible(text: str) -> str:
    """A line of code, cut and escaped; what would not be seen, or turns the writing, is spelled."""
    wide = text[: MAX_SHOWN + 1].expandtabs(4)
    return escape(spelled_out(wide if len(wide) <= MAX_SHOWN else f"{wide[: MAX_SHOWN - 1]}…"))


def exercise_code(name: str) -> str:
    """An exercise's or an assignment's name."""
    return f"<code>{escape(shown(name))}</code>"


def name_shown(student: str) -> str:
    """A student's name, which turns the direction of no writing but its own."""
    return f"<bdi>{escape(shown(student))}</bdi>"


def percent(share: float) -> str:
    """A share in whole percent, rounded down: 100 % means all of it."""
    return f"{int(share * 100 + 1e-9)} %"
