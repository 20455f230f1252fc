"""The page for whoever teaches: the class at a glance, and what to do next."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from pathlib import Path
from urllib.parse import quote

from classroom.checking import Outcome
from classroom.grading.reports.chart import score_chart
from classroom.grading.reports.feedback import feedback_name
from classroom.grading.reports.feedback_content import clean, points
from classroom.grading.reports.feedback_html import prose
from classroom.grading.reports.page import page
from classroom.grading.reports.same_as_solution import SameAsSolution
from classroom.grading.reports.tally import (
    RANGES,
    by_assignment,
    common_mistakes,
    longest_running,
    outcome_counts,
    reasons_to_look,
    score_counts,
)
from classroom.grading.types import Graded, Kind
from classroom.grading.writing import write_whole

FEEDBACK = "feedback"  # the folder of feedback, beside the overview
SIMILARITY = "similarity.html"
REASONS = 6  # shown of one submission
_OUTCOMES = (
    Outcome.RIGHT,
    Outcome.WRONG,
    Outcome.CRASHED,
    Outcome.TOO_SLOW,
    Outcome.DIED,
    Outcome.DELEGATED,
    Outcome.NOT_ATTEMPTED,
)


def write_overview(
    graded: Sequence[Graded],
    folder: Path,
    summary: Mapping[str, str],
    solutions: Sequence[SameAsSolution] = (),
) -> Path:
    """Write `overview.html` into `folder`, with links to the feedback in `folder/feedback` and to
    the report on similar answers.

    `summary` is shown at the top, label by label: the sandbox used, the time taken. `solutions`
    are those who handed in the model solution; who did so throughout an assignment is named.
    """
    looks = [(one, reasons) for one in graded if (reasons := reasons_to_look(one))]
    body = "\n".join(
        filter(
            None,
            [
                "<h1>The class at a glance</h1>",
                _facts(graded, len(looks), summary),
                _scores(graded),
                _mistakes(graded),
                _outcomes(graded),
                _looks(looks),
                _solutions(graded, solutions),
                _longest(graded),
                _students(graded),
            ],
        )
    )
    return write_whole(folder / "overview.html", page("The class at a glance", body))


def _facts(graded: Sequence[Graded], looks: int, summary: Mapping[str, str]) -> str:
    students = len({one.student for one in graded})
    named = "submission needs" if looks == 1 else "submissions need"
    facts = {
        "Students": str(students),
        "Submissions": str(len(graded)),
        **{clean(label, 80): clean(text, 300) for label, text in summary.items()},
    }
    rows = "\n".join(f"<dt>{escape(a)}</dt><dd>{escape(b)}</dd>" for a, b in facts.items())
    pointer = f'<p><a href="#look">{looks} {named} a person\'s look</a>.</p>' if looks else ""
    students_below = '<a href="#students">All students</a>, ' if graded else ""
    links = f'<p>{students_below}<a href="{SIMILARITY}">similar answers</a>.</p>'
    return f'<dl class="facts">\n{rows}\n</dl>\n{pointer}\n{links}'


def _scores(graded: Sequence[Graded]) -> str:
    if not graded:
        return "<p>No submission was found.</p>"
    if not by_assignment(graded):
        return "<p>None of these could be read as work on an assignment.</p>"
    charts = [
        _score_figure(number, assignment, group)
        for number, (assignment, group) in enumerate(by_assignment(graded).items(), start=1)
    ]
    return "<h2>Scores</h2>\n" + "\n".join(charts)


def _score_figure(number: int, assignment: str, group: Sequence[Graded]) -> str:
    """The distribution of one assignment: the chart, and a table that says the same."""
    name, counts = clean(assignment, 80), score_counts(group)
    mean = f"{sum(one.score for one in group) / len(group):.1f}"
    most = max(one.max_score for one in group)
    handed_in = f"{len(group)} {'submission' if len(group) == 1 else 'submissions'}"
    chart = score_chart(f"scores-{number}", f"Scores in {name}", RANGES, counts)
    rows = zip(RANGES, map(str, counts), strict=True)
    return (
        f"<h3>{escape(name)}</h3>\n<p>{handed_in}, on average {mean} of {most} points.</p>\n"
        f"<figure>{chart}</figure>\n<details>\n<summary>In numbers</summary>\n"
        f"{_table('Submissions by share of the points', ('Score', 'Submissions'), rows)}\n"
        "</details>"
    )


def _mistakes(graded: Sequence[Graded]) -> str:
    common = common_mistakes(graded)
    rows = (
        (
            f"<code>{escape(clean(mistake.exercise, 80))}</code>",
            prose(clean(mistake.sentence or mistake.name, 300)),
            str(mistake.students),
        )
        for mistake in common
    )
    if not common:
        return ""
    table = _table("Recognised mistakes", ("Exercise", "Mistake", "Students"), rows)
    return f"<h2>What to talk about next week</h2>\n{table}"


def _outcomes(graded: Sequence[Graded]) -> str:
    tables = []
    for assignment, group in by_assignment(graded).items():
        counted = outcome_counts(group)
        there = [o for o in _OUTCOMES if any(counts[o] for counts in counted.values())]
        rows = (
            (f"<code>{escape(clean(exercise, 80))}</code>", *(str(counts[o]) for o in there))
            for exercise, counts in counted.items()
        )
        head = ("Exercise", *(str(outcome).capitalize() for outcome in there))
        tables.append(_table(clean(assignment, 80), head, rows, numbers=True))
    return "<h2>Outcomes by exercise</h2>\n" + "\n".join(tables) if tables else ""


def _looks(looks: Sequence[tuple[Graded, Sequence[str]]]) -> str:
    items = "\n".join(f"<li>{_link(one)}\n{_reasons(reasons)}</li>" for one, reasons in looks)
    if not looks:
        return ""
    return f'<h2 id="look">Submissions that need a person\'s look</h2>\n<ul>\n{items}\n</ul>'


def _reasons(reasons: Sequence[str]) -> str:
    items = [prose(clean(reason, 300)) for reason in reasons[:REASONS]]
    if len(reasons) > REASONS:
        items.append(f"and {len(reasons) - REASONS} more")
    return "<ul>" + "".join(f"<li>{item}</li>" for item in items) + "</ul>"


def _link(one: Graded) -> str:
    return _linked(one, f"{_name(one.student)}, {escape(clean(_what(one), 80))}")


def _linked(one: Graded, text: str) -> str:
    """Some HTML as a link to the feedback on a result."""
    address = f"{FEEDBACK}/{quote(str(feedback_name(one)), errors='backslashreplace')}"
    return f'<a href="{escape(address)}">{text}</a>'


def _name(student: str) -> str:
    return f"<bdi>{escape(clean(student, 80))}</bdi>"


def _what(one: Graded) -> str:
    return one.assignment or "unreadable"


def _solutions(graded: Sequence[Graded], solutions: Sequence[SameAsSolution]) -> str:
    """Who handed in the model solution throughout an assignment."""
    known = {(one.student, one.assignment): one for one in graded}
    items = "\n".join(
        f"<li>{_link(known[same.student, same.assignment])}</li>"
        for same in solutions
        if same.whole and (same.student, same.assignment) in known
    )
    if not items:
        return ""
    return (
        "<h2>Equal to the model solution in every exercise</h2>\n<p>Names, layout and comments "
        f'aside; <a href="{SIMILARITY}">similar answers</a> has each exercise.</p>\n'
        f"<ul>\n{items}\n</ul>"
    )


def _students(graded: Sequence[Graded]) -> str:
    """Every student with the points in each assignment, linked to the feedback."""
    if not graded:
        return ""
    assignments = list(by_assignment(graded))
    held: dict[str, dict[str, Graded]] = {}
    for one in graded:
        held.setdefault(one.student, {})[one.assignment] = one
    unread = any(not one.assignment for one in graded)
    rows = (
        (
            _name(student),
            *(_points(held[student].get(assignment)) for assignment in assignments),
            *([_points(held[student].get(""))] if unread else []),
        )
        for student in sorted(held, key=lambda name: (name.casefold(), name))
    )
    head = ["Student", *(clean(name, 80) for name in assignments), *["Unreadable"] * unread]
    table = _table("Points and feedback", head, rows, numbers=True)
    return f'<h2 id="students">All students</h2>\n{table}'


def _points(one: Graded | None) -> str:
    if one is None:
        return ""
    score = f"{points(one.score)} of {one.max_score}" if one.assignment else "feedback"
    late = any(finding.kind is Kind.LATE for finding in one.findings)
    return _linked(one, score) + (", late" if late else "")


def _longest(graded: Sequence[Graded]) -> str:
    costs = longest_running(graded)
    rows = (
        (_link(cost.one), f"{cost.wall:.1f} s", f"{cost.cpu:.1f} s", f"{cost.memory:.0f} MiB")
        for cost in costs
    )
    if not costs:
        return ""
    head = ("Submission", "Time", "CPU", "Memory")
    return "<h2>Longest running</h2>\n" + _table("By time", head, rows, numbers=True)


def _table(
    caption: str, head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = False
) -> str:
    """A table whose first column names its rows and whose last one holds numbers; with `numbers`,
    all but the first do. Cells are HTML, the caption and the head are text."""
    first = 1 if numbers else len(head) - 1
    kinds = [' class="number"' if at >= first else "" for at in range(len(head))]
    heads = "".join(
        f'<th scope="col"{kind}>{escape(text)}</th>' for kind, text in zip(kinds, head, strict=True)
    )
    lines = "\n".join(_row(row, kinds) for row in rows)
    return (
        '<div class="scroll" tabindex="0" role="region" '
        f'aria-label="{escape(caption)}">\n<table>\n<caption>{escape(caption)}</caption>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n{lines}\n</tbody>\n</table>\n</div>"
    )


def _row(cells: Sequence[str], kinds: Sequence[str]) -> str:
    named = f'<th scope="row">{cells[0]}</th>'
    rest = zip(cells[1:], kinds[1:], strict=True)
    return f"<tr>{named}{''.join(f'<td{kind}>{cell}</td>' for cell, kind in rest)}</tr>"
