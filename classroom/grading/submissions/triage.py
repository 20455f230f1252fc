"""Reading a submission without running any of it: what will run, and what was found on the way.

Learners copy cells, retype them as text, write an answer elsewhere, merge it with its test. A
notebook run from top to bottom still has one answer for each exercise; triage finds that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from classroom.grading.submissions.answers import Answer
from classroom.grading.submissions.look import look_at
from classroom.grading.submissions.reading import RawCell, read_file
from classroom.grading.submissions.released import exercises_of
from classroom.grading.types import Cell, Finding, Kind, Submission, Triaged

MAX_FINDINGS = 200
MAX_NAMED = 8  # cells that a message names
_SOLUTION = re.compile(r"^[ \t]*#+ *(?:BEGIN|END) SOLUTION\b", re.MULTILINE)
_UNREAD = (Kind.TOO_LARGE, Kind.UNREADABLE, Kind.NO_NOTEBOOK)


def triage(submission: Submission) -> Triaged:
    """What of a submission will run, in its order, and what was found. Runs and raises nothing.

    The findings are those of the reading; the submission keeps its own.
    """
    if not submission.content and any(f.kind in _UNREAD for f in submission.findings):
        return Triaged()
    file = read_file(submission.name, submission.content)
    exercises = [exercise.id for exercise in exercises_of(submission.assignment)]
    looks = [look_at(cell, set(exercises)) for cell in file.cells]
    findings = [*file.findings, *_solution_marks(file.cells)]
    if file.cells:
        for exercise in exercises:
            findings += Answer(exercise, looks, notebook=file.notebook).find()
    for look in looks:
        findings += look.findings if look.runs else []
    cells = [
        Cell(look.number, look.source, tuple(look.answers))
        for look in looks
        if look.runs and look.parses and look.source.strip()
    ]
    return Triaged(tuple(cells), _bounded(findings))


def _solution_marks(cells: Iterable[RawCell]) -> list[Finding]:
    """nbgrader takes these lines out of whatever learners get; copies of the solution keep them."""
    held = [str(cell.number) for cell in cells if cell.code and _SOLUTION.search(cell.source)]
    if not held:
        return []
    more = f" and {len(held) - MAX_NAMED} more" if len(held) > MAX_NAMED else ""
    message = (
        "Lines like `### BEGIN SOLUTION` stand in the model solution alone; here they stand in "
        f"{'cell' if len(held) == 1 else 'cells'} {', '.join(held[:MAX_NAMED])}{more}."
    )
    return [Finding(Kind.SOLUTION_MARKS, message, repaired=True)]


def _bounded(findings: list[Finding]) -> tuple[Finding, ...]:
    """In the order of the file, those of the file as a whole first, and no endless list."""
    ordered = sorted(findings, key=lambda finding: (finding.cell, finding.line))
    if len(ordered) > MAX_FINDINGS:
        more = f"There are {len(ordered) - MAX_FINDINGS} more findings; they are not listed."
        ordered = [*ordered[:MAX_FINDINGS], Finding(Kind.TOO_LARGE, more)]
    return tuple(ordered)
