"""The page on similar answers: the code side by side, and what it does not prove."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from html import escape
from pathlib import Path

from labkit.classroom.grading.names import MAX_SHOWN, shown
from labkit.classroom.grading.reports.matching_lines import Lines
from labkit.classroom.grading.reports.page import page
from labkit.classroom.grading.reports.similarity import (
    COMMON_SHARE,
    LEAST_SHARED,
    LEAST_STATEMENTS,
    NEVER_COMMON,
    Answer,
    Comparison,
    LeftOut,
    Pair,
)
from labkit.classroom.grading.reports.winnowing import GRAM, WINDOW
from labkit.classroom.grading.reports.writing import write_whole

ROWS = 30  # of each list before the pairs
NAMES = 40  # of a group
MOST_LINES = 120  # shown of one answer
AROUND = 3  # lines shown around those that match

_STYLE = """<style>
main { max-width: 84rem; }
.words { max-width: 46rem; }
.sides { display: grid; grid-template-columns: 1fr 1fr; gap: 1rem; }
.sides > div { min-width: 0; }
@media (max-width: 50rem) { .sides { grid-template-columns: 1fr; } }
summary { cursor: pointer; padding: .5rem 0; border-bottom: 1px solid var(--line); }
table.code { font: .8rem/1.45 ui-monospace, Consolas, "Liberation Mono", monospace; }
table.code td { border: 0; padding: 0 .5rem 0 0; white-space: pre-wrap; }
table.code td.place { text-align: right; color: var(--muted); white-space: nowrap; width: 1%; }
table.code tr.alike td { background: var(--panel); }
table.code td.line { border-left: 4px solid transparent; padding-left: .4rem; }
table.code tr.alike td.line { border-left-color: var(--attention); }
table.code td.part { color: var(--attention); font-weight: 700; }
</style>"""


def write_similarity(comparison: Comparison, folder: Path) -> Path:
    """Write `similarity.html` into `folder`. OSError if it cannot be written."""
    body = "\n".join(
        [
            _STYLE,
            "<h1>Similar answers</h1>",
            _caution(),
            _facts(comparison),
            _clusters(comparison),
            _repeated(comparison),
            _pairs(comparison),
            _method(comparison),
        ]
    )
    return write_whole(folder / "similarity.html", page("Similar answers", body))


def _caution() -> str:
    return (
        '<div class="panel words"><p><b>This page can start a conversation and is never a verdict: '
        "answers look alike for many reasons, and copying is only one of them.</b></p>"
        "<p>It cannot tell who wrote first, whether two students worked together as you allowed, "
        "were helped by the same person, or followed the same lesson, book or assistant. Short "
        "functions converge: the fewer ways there are to write one, the less a likeness means. "
        "Nor does a pair's absence prove anything: code that was rewritten with care is not found. "
        "Ask each student to explain the marked lines and to change them.</p></div>"
    )


def _facts(comparison: Comparison) -> str:
    """What was compared, and what was not."""
    left_out: Counter[LeftOut] = Counter()
    for (_, why), count in comparison.left_out.items():
        left_out[why] += count
    rows = [
        ("Answers", f"{comparison.answers:,}"),
        ("Compared", f"{comparison.answers - left_out.total():,}"),
        *((f"Left out: {why}", f"{left_out[why]:,}") for why in LeftOut if left_out[why]),
        ("Similar pairs", f"{comparison.found:,}, from {_percent(comparison.threshold)} on"),
    ]
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="facts">{facts}</dl>{_solutions(comparison)}'


def _solutions(comparison: Comparison) -> str:
    """Where the model solution was handed in: no likeness of two students, but worth a look."""
    counts = {
        exercise: count
        for (exercise, why), count in comparison.left_out.items()
        if why is LeftOut.SOLUTION
    }
    if not counts:
        return ""
    listed = ", ".join(f"{_exercise(name)} {counts[name]:,}" for name in sorted(counts))
    return (
        f'<p class="words">Equal to the model solution, names aside: {listed}. Learners may reveal '
        "it, and for a short task it is what many write.</p>"
    )


def _clusters(comparison: Comparison) -> str:
    rows = [
        f"<tr><td>{_exercise(one.exercise)}</td>"
        f'<td class="number">{len(one.students)}</td><td>{_names(one.students)}</td>'
        f'<td class="number">{one.pairs:,} of {_possible(len(one.students)):,}</td></tr>'
        for one in comparison.clusters[:ROWS]
    ]
    return _table(
        "Groups",
        "Three or more students whose answers are linked, directly or through one another. The "
        "fewer of the possible pairs are similar, the looser is the group.",
        "<th>Exercise</th><th class='number'>Students</th><th>Who</th>"
        "<th class='number'>Similar pairs</th>",
        rows,
        len(comparison.clusters) - ROWS,
    )


def _possible(students: int) -> int:
    return students * (students - 1) // 2


def _repeated(comparison: Comparison) -> str:
    rows = [
        f"<tr><td>{_name(one.left)}</td><td>{_name(one.right)}</td>"
        f'<td class="number">{len(one.exercises)}</td>'
        f"<td>{', '.join(map(_exercise, one.exercises))}</td></tr>"
        for one in comparison.repeated[:ROWS]
    ]
    return _table(
        "Alike more than once",
        "One similar answer may be chance; several by the same two students rarely are.",
        "<th>Student</th><th>Student</th><th class='number'>Exercises</th><th>Which</th>",
        rows,
        len(comparison.repeated) - ROWS,
    )


def _table(heading: str, meaning: str, head: str, rows: list[str], hidden: int) -> str:
    """A list with a sentence on what it means; nothing if it is empty."""
    if not rows:
        return ""
    more = f"<p>{hidden:,} more are not shown.</p>" if hidden > 0 else ""
    return (
        f'<h2>{heading}</h2><p class="words">{meaning}</p><div class="scroll"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{more}"
    )


def _pairs(comparison: Comparison) -> str:
    if not comparison.pairs:
        return "<h2>Pairs</h2><p>No two answers are similar enough to be shown.</p>"
    hidden = comparison.found - len(comparison.pairs)
    more = (
        f"<p>These are the {len(comparison.pairs):,} strongest pairs; {hidden:,} others that are "
        "no stronger are not shown.</p>"
        if hidden
        else ""
    )
    return (
        '<h2>Pairs</h2><p class="words">The strongest first; open one to see both answers. Lines '
        "with a bar match, and the letter before them says which part on the left belongs to which "
        f"on the right.</p>{more}" + "".join(map(_pair, comparison.pairs))
    )


def _pair(pair: Pair) -> str:
    sides = (
        (pair.left, [part.left for part in pair.parts]),
        (pair.right, [part.right for part in pair.parts]),
    )
    columns = "".join(
        f"<div><h3>{_name(answer.student)}</h3>{_code(answer, lines)}</div>"
        for answer, lines in sides
    )
    return (
        f"<details><summary><b>{_percent(pair.similarity)}</b> "
        f"{_exercise(pair.exercise)} "
        f"{_name(pair.left.student)} and {_name(pair.right.student)} "
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
    return escape(shown(text[: MAX_SHOWN + 1].expandtabs(4)))


def _exercise(name: str) -> str:
    return f"<code>{escape(shown(name))}</code>"


def _name(student: str) -> str:
    return f"<bdi>{escape(shown(student))}</bdi>"


def _names(students: tuple[str, ...]) -> str:
    listed = ", ".join(map(_name, students[:NAMES]))
    hidden = len(students) - NAMES
    return f"{listed} and {hidden:,} more" if hidden > 0 else listed


def _percent(share: float) -> str:
    return f"{int(share * 100 + 1e-9)} %"


def _method(comparison: Comparison) -> str:
    return (
        '<h2>How it was measured</h2><div class="words"><p>Each answer is read as a syntax tree. '
        "Only the kinds of its nodes and the names from outside are kept, so other names, "
        "comments, layout, annotations, messages and the order of functions make no difference. "
        f"Each {GRAM} neighbouring nodes give a hash, and of each {WINDOW} neighbouring hashes the "
        "least is a fingerprint (Schleimer, Wilkerson, Aiken: “Winnowing: Local Algorithms for "
        "Document Fingerprinting”, SIGMOD 2003). Fingerprints of the starter and of the model "
        f"solution do not count, nor those that more than {_percent(COMMON_SHARE)} of the distinct "
        f"answers hold, if these are more than {NEVER_COMMON}. The similarity of two answers is "
        "the share of the smaller one's fingerprints that the other has too.</p>"
        f"<p>A pair is shown from {_percent(comparison.threshold)} and {LEAST_SHARED} shared "
        f"fingerprints on. Answers of fewer than {LEAST_STATEMENTS} statements are never "
        "compared.</p></div>"
    )
