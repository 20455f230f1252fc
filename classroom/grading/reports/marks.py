"""Marks as CSV: for a look, and as Canvas, Moodle and nbgrader read them.

All text is quoted and all numbers are bare, so that a reader can tell `007` from 7. Quotation
marks alone keep no formula away: a spreadsheet removes them, and one that splits at semicolons, as
in much of Europe, finds other borders than ours. So each piece between semicolons is guarded.
"""

from __future__ import annotations

import csv
import io
import math
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TypeAlias

from classroom.grading.names import shown
from classroom.grading.types import ExerciseMark, Finding, Graded
from classroom.grading.writing import write_whole
from labkit.types import LabError

Field: TypeAlias = str | int | float
Row: TypeAlias = Sequence[Field]

COLUMNS = (
    "student",
    "assignment",
    "exercise",
    "score",
    "max_score",
    "outcome",
    "mistake",
    "seconds",
    "cpu",
    "memory_mb",
    "findings",
)
UNREADABLE = "unreadable"  # in place of an outcome, where there is no assignment
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
MOODLE = ("Identifier", "Full name", "Username")
NBGRADER = (
    "assignment",
    "duedate",
    "timestamp",
    "student_id",
    "last_name",
    "first_name",
    "email",
    "raw_score",
    "late_submission_penalty",
    "score",
    "max_score",
)
_POINTS = "    Points Possible"  # four spaces, as Canvas exports it
_BEFORE = re.compile(r"""[\s"'`´‘’‚‛“”„‟«»‹›\x00]*""")


def write_marks(graded: Sequence[Graded], folder: Path) -> list[Path]:
    """Write `marks.csv`, `marks-canvas.csv`, `marks-moodle.csv` and `marks-nbgrader.csv`.

    A student who handed in nothing for an assignment has an empty cell there, not 0: what a missing
    work is worth is the teacher's to say. What could not be read as work on any assignment has one
    row in `marks.csv`, without a score, and leaves the other files empty. Scores have at most two
    decimals. A text that a spreadsheet could take for a formula is `guarded`. Names are written as
    people should see them, so one with invisible characters shows them, and matches nobody else's.
    Files are UTF-8 without a byte order mark and are replaced whole. LabError if a student has two
    results for one assignment: one of them would be lost.
    """
    table = _Table(graded)
    files = {
        "marks.csv": _marks(table),
        "marks-canvas.csv": _canvas(table),
        "marks-moodle.csv": _moodle(table),
        "marks-nbgrader.csv": _nbgrader(table),
    }
    return [write_whole(folder / name, _csv(rows)) for name, rows in files.items()]


def guarded(text: str) -> str:
    """The text, with an apostrophe in front if a spreadsheet could take it for a formula, and the
    same after each semicolon.

    Spaces and quotation marks before the first character do not hide it, nor does a full-width or
    small form of it. Tabs and line ends at the start count too: they can move the rest elsewhere.
    """
    return ";".join(f"'{piece}" if _like_a_formula(piece) else piece for piece in text.split(";"))


def _like_a_formula(text: str) -> bool:
    before = _BEFORE.match(text)
    start = before.end() if before else 0
    first = unicodedata.normalize("NFKC", text[start : start + 1])[:1]
    moved = any(mark in text[:start] for mark in "\t\r\n")
    return moved or (first != "" and first in "=+-@")


def number(value: float) -> Field:
    """A number with at most two decimals, whole if it can be; empty for what is none."""
    if not math.isfinite(value):
        return ""
    rounded = round(value, 2)
    return int(rounded) if rounded == int(rounded) else rounded


class _Table:
    """Results by student and assignment, both sorted by name."""

    def __init__(self, graded: Sequence[Graded]) -> None:
        self._results: dict[tuple[str, str], Graded] = {}
        for one in graded:
            if self._results.setdefault((one.student, one.assignment), one) is not one:
                raise LabError(
                    f"Two results for {shown(one.student)} in {shown(one.assignment)}: "
                    "keep one of the two submissions."
                )
        self._numbers = defaultdict[tuple[str, str], set[str]](set)
        for one in graded:
            self._numbers[one.student, one.platform].add(one.number)
        self.students = sorted({one.student for one in graded})
        self.assignments = sorted({one.assignment for one in graded} - {""})

    def result(self, student: str, assignment: str) -> Graded | None:
        return self._results.get((student, assignment))

    def points(self, assignment: str) -> int:
        """What an assignment is worth: the most that anybody could get."""
        return max(
            (one.max_score for one in self._results.values() if one.assignment == assignment),
            default=0,
        )

    def in_order(self) -> list[Graded]:
        return [self._results[key] for key in sorted(self._results)]

    def numbers(self, student: str, platform: str) -> list[str]:
        """The numbers that a platform has for a student, each once."""
        return sorted(self._numbers[student, platform] - {""})

    def score(self, student: str, assignment: str) -> Field:
        one = self.result(student, assignment)
        return "" if one is None else number(one.score)


def _marks(table: _Table) -> list[Row]:
    rows: list[Row] = [COLUMNS]
    for one in table.in_order():
        rows += [_mark_row(one, mark) for mark in one.marks] if one.marks else [_unread_row(one)]
    return rows


def _unread_row(one: Graded) -> Row:
    """A student is not to vanish because nothing could be read."""
    named = (shown(one.student), shown(one.assignment), "", "", "", UNREADABLE)
    return (*named, "", "", "", "", _joined(one.findings))


def _mark_row(one: Graded, mark: ExerciseMark) -> Row:
    found = [*mark.findings, *(f for f in one.findings if f.exercise in ("", mark.exercise))]
    return (
        shown(one.student),
        shown(one.assignment),
        shown(mark.exercise),
        number(mark.score),
        number(mark.max_score),
        str(mark.outcome),
        shown(mark.mistake),
        number(mark.wall),
        number(mark.cpu),
        number(mark.memory),
        _joined(found),
    )


def _joined(findings: Iterable[Finding]) -> str:
    """Findings as kinds and places; each once."""
    return "; ".join(dict.fromkeys(map(_finding, findings)))


def _finding(finding: Finding) -> str:
    place = [f"cell {finding.cell}"] if finding.cell else []
    place += [f"line {finding.line}"] if finding.line else []
    where = f" ({', '.join(place)})" if place else ""
    return f"{finding.kind}{where}{', repaired' if finding.repaired else ''}"


def _canvas(table: _Table) -> list[Row]:
    """Canvas finds a student by ID, SIS ID or login, and creates assignments it does not know. Its
    ID stands in the names of the files that it gives to download; a login does not."""
    nothing = [""] * (len(CANVAS) - 1)
    header = [*CANVAS, *map(shown, table.assignments)]
    points = [_POINTS, *nothing, *(number(table.points(name)) for name in table.assignments)]
    return [header, points, *(_canvas_row(table, student) for student in table.students)]


def _canvas_row(table: _Table, student: str) -> Row:
    # Canvas takes any row whose first cell contains these words for the points of assignments.
    name = shown(student).replace("Points Possible", "Points\u00a0Possible")
    scores = (table.score(student, assignment) for assignment in table.assignments)
    numbers = table.numbers(student, "canvas")
    identity, login = (numbers[0], "") if numbers else ("", shown(student))
    return [name, identity, "", login, "", *scores]


def _moodle(table: _Table) -> list[Row]:
    """Two columns an assignment: Moodle drops grades whose feedback is imported without them."""
    header = [*MOODLE]
    for name in table.assignments:
        header += [shown(name), f"Feedback for {shown(name)}"]
    return [header, *(_moodle_row(table, student) for student in table.students)]


def _moodle_row(table: _Table, student: str) -> Row:
    """Moodle numbers a student anew in each assignment, so a student with two numbers has no
    identifier here; the full name is without the number that tells namesakes apart."""
    numbers = table.numbers(student, "moodle")
    identifier = f"Participant {numbers[0]}" if len(numbers) == 1 else ""
    full_name = student.removesuffix(f" ({numbers[0]})") if numbers else ""
    row: list[Field] = [shown(identifier), shown(full_name), shown(student)]
    for assignment in table.assignments:
        one = table.result(student, assignment)
        row += [table.score(student, assignment), "" if one is None else _in_words(one)]
    return row


def _in_words(one: Graded) -> str:
    """A line of feedback: of our own words alone, because Moodle shows it as HTML."""
    return "; ".join(
        f"{mark.exercise}: {mark.outcome}, {number(mark.score)} of {mark.max_score}"
        for mark in one.marks
    )


def _nbgrader(table: _Table) -> list[Row]:
    """A row for each assignment and student, as nbgrader's exporter writes them; what it would
    know of dates, names and penalties stays empty."""
    rows: list[Row] = [NBGRADER]
    for assignment in table.assignments:
        for student in table.students:
            score = table.score(student, assignment)
            penalty: Field = "" if score == "" else 0
            named = (shown(assignment), "", "", shown(student), "", "", "")
            rows.append((*named, score, penalty, score, number(table.points(assignment))))
    return rows


def _csv(rows: Iterable[Row]) -> str:
    buffer = io.StringIO(newline="")
    writer = csv.writer(buffer, quoting=csv.QUOTE_NONNUMERIC, lineterminator="\r\n")
    for row in rows:
        writer.writerow([guarded(field) if isinstance(field, str) else field for field in row])
    return buffer.getvalue()
