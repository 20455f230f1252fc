"""The page on similar answers: the code side by side, and what it does not prove."""

from __future__ import annotations

from collections import Counter
from html import escape
from pathlib import Path

from classroom.grading.reports.page import page
from classroom.grading.reports.similar_pair import (
    exercise_code,
    name_shown,
    pair_details,
    percent,
)
from classroom.grading.reports.similarity import (
    ALWAYS_COMMON,
    COMMON_SHARE,
    LEAST_SHARED,
    LEAST_STATEMENTS,
    NEVER_COMMON,
    Comparison,
    LeftOut,
    Pair,
)
from classroom.grading.reports.winnowing import GRAM, WINDOW
from classroom.grading.writing import write_whole

ROWS = 30  # of each list before the pairs
NAMES = 40  # of a group
MOST_SOLVERS = 200  # who handed in the whole model solution

_READING = (
    "Open one to see both answers. Lines with a bar match, and the letter before them says which "
    "part on the left belongs to which on the right."
)
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
            _solutions(comparison),
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
        ("Similar pairs", f"{comparison.found:,}, from {percent(comparison.threshold)} on"),
    ]
    facts = "".join(f"<dt>{escape(name)}</dt><dd>{value}</dd>" for name, value in rows)
    return f'<dl class="facts">{facts}</dl>'


def _solutions(comparison: Comparison) -> str:
    """Who handed in the model solution: no likeness of two students, but worth a look."""
    if not comparison.solutions:
        return ""
    whole = [one for one in comparison.solutions if one.whole]
    table = _table(
        "Equal to the model solution",
        "Names, layout and comments aside. Learners may reveal the solution, and a short task has "
        "few other answers; but hardly by chance is every exercise of an assignment equal to it.",
        "<th>Every exercise of</th><th>Student</th><th class='number'>Exercises</th>",
        [
            f"<tr><td>{exercise_code(one.assignment)}</td><td>{name_shown(one.student)}</td>"
            f'<td class="number">{len(one.exercises)} of {one.of}</td></tr>'
            for one in whole[:MOST_SOLVERS]
        ],
        len(whole) - MOST_SOLVERS,
    )
    heading = "" if whole else "<h2>Equal to the model solution</h2>"
    return f"{table}{heading}{_solvers(comparison)}"


def _solvers(comparison: Comparison) -> str:
    """The same by exercise, with all names."""
    names: dict[str, list[str]] = {}
    for one in comparison.solutions:
        for exercise in one.exercises:
            names.setdefault(exercise, []).append(one.student)
    rows = "".join(
        f"<tr><td>{exercise_code(exercise)}</td>"
        f'<td class="number">{len(found):,} of {comparison.by_exercise[exercise]:,}</td>'
        f"<td>{_names(tuple(sorted(found)))}</td></tr>"
        for exercise, found in sorted(names.items())
    )
    return (
        '<div class="scroll"><table><caption>By exercise</caption><thead><tr><th>Exercise</th>'
        "<th class='number'>Answers</th><th>Who</th></tr></thead>"
        f"<tbody>{rows}</tbody></table></div>"
    )


def _clusters(comparison: Comparison) -> str:
    rows = [
        f"<tr><td>{exercise_code(one.exercise)}</td>"
        f'<td class="number">{len(one.students)}</td><td>{_names(one.students)}</td>'
        f'<td class="number">{one.pairs:,} of {_possible(len(one.students)):,}</td></tr>'
        for one in comparison.clusters[:ROWS]
    ]
    table = _table(
        "Groups",
        "Three or more students whose answers are linked, directly or through one another. The "
        "fewer of the possible pairs are similar, the looser is the group. Below the list stands "
        f"the strongest pair of each. {_READING}",
        "<th>Exercise</th><th class='number'>Students</th><th>Who</th>"
        "<th class='number'>Similar pairs</th>",
        rows,
        len(comparison.clusters) - ROWS,
    )
    strongest, others, _ = _grouped(comparison)
    folded = (
        f"<details><summary>{len(others):,} more pairs of these groups</summary>"
        f"{''.join(map(pair_details, others))}</details>"
        if others
        else ""
    )
    return table + "".join(map(pair_details, strongest)) + folded


def _grouped(comparison: Comparison) -> tuple[list[Pair], list[Pair], list[Pair]]:
    """The strongest pair of each group, the other pairs inside groups, and the pairs outside."""
    group = {
        (one.exercise, student): number
        for number, one in enumerate(comparison.clusters)
        for student in one.students
    }
    strongest: dict[int, Pair] = {}
    others, alone = [], []
    for pair in comparison.pairs:  # the strongest first
        number = group.get((pair.exercise, pair.left.student))
        if number is None:
            alone.append(pair)
        elif strongest.setdefault(number, pair) is not pair:
            others.append(pair)
    return [strongest[number] for number in sorted(strongest)], others, alone


def _possible(students: int) -> int:
    return students * (students - 1) // 2


def _repeated(comparison: Comparison) -> str:
    rows = [
        f"<tr><td>{name_shown(one.left)}</td><td>{name_shown(one.right)}</td>"
        f'<td class="number">{len(one.exercises)}</td>'
        f"<td>{', '.join(map(exercise_code, one.exercises))}</td></tr>"
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
    """The pairs outside of groups; of all that are not shown, the number."""
    if not comparison.pairs:
        return "<h2>Pairs</h2><p>No two answers are similar enough to be shown.</p>"
    strongest, _, alone = _grouped(comparison)
    hidden = comparison.found - len(comparison.pairs)
    more = (
        f"<p>On this page are the {len(comparison.pairs):,} strongest pairs; {hidden:,} others "
        "are not shown: they are no stronger, or further ones inside groups.</p>"
        if hidden
        else ""
    )
    where = (
        "All pairs are in the groups above."
        if not alone
        else "Those in no group, the strongest first."
        if strongest
        else "The strongest first."
    )
    reading = f" {_READING}" if alone else ""
    return f'<h2>Pairs</h2><p class="words">{where}{reading}</p>{more}' + "".join(
        map(pair_details, alone)
    )


def _names(students: tuple[str, ...]) -> str:
    listed = ", ".join(map(name_shown, students[:NAMES]))
    hidden = len(students) - NAMES
    return f"{listed} and {hidden:,} more" if hidden > 0 else listed


def _method(comparison: Comparison) -> str:
    return (
        '<h2>How it was measured</h2><div class="words"><p>Each answer is read as a syntax tree. '
        "Only the kinds of its nodes and the names from outside are kept, so other names, "
        "comments, layout, annotations, messages and the order of functions make no difference. "
        f"Each {GRAM} neighbouring nodes give a hash, and of each {WINDOW} neighbouring hashes the "
        "least is a fingerprint (Schleimer, Wilkerson, Aiken: “Winnowing: Local Algorithms for "
        "Document Fingerprinting”, SIGMOD 2003). Fingerprints of the starter and of the model "
        f"solution do not count, nor those that many answers hold: more than {NEVER_COMMON}, and "
        f"more than {percent(COMMON_SHARE)} of the distinct ones, or more than {ALWAYS_COMMON}. "
        "The similarity of two answers is the share of the smaller one's fingerprints that the "
        "other has too.</p>"
        f"<p>A pair is shown from {percent(comparison.threshold)} and {LEAST_SHARED} shared "
        f"fingerprints on. Answers of fewer than {LEAST_STATEMENTS} statements are never "
        "compared.</p></div>"
    )
