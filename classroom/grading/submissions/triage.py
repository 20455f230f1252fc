"""Reading a submission without running any of it: what will run, and what was found on the way.

Learners copy cells, retype them as text, write an answer elsewhere, merge it with its test. A
notebook run from top to bottom still has one answer for each exercise; triage finds that one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from classroom.grading.submissions.inspection import Inspection, inspect
from classroom.grading.submissions.released import exercises_of
from classroom.grading.types import Cell, Finding, Kind, RawCell, Submission, Triaged

MAX_FINDINGS = 200
MAX_NAMED = 8  # cells that a message names
_SOLUTION = re.compile(r"^[ \t]*#+ *(?:BEGIN|END) SOLUTION\b", re.MULTILINE)


def triage(submission: Submission) -> Triaged:
    """What of a submission will run, in its order, and what was found. Runs and raises nothing.

    The findings are those of the reading; the submission keeps its own.
    """
    file = submission.file
    exercises = [exercise.id for exercise in exercises_of(submission.assignment)]
    seen = [inspect(cell, set(exercises)) for cell in file.cells]
    findings = [*file.findings, *_solution_marks(file.cells)]
    if file.cells:
        for exercise in exercises:
            findings += _Search(exercise, seen, notebook=file.notebook).find()
    for one in seen:
        findings += one.findings if one.runs else []
    cells = [
        Cell(one.number, one.source, tuple(one.answers))
        for one in seen
        if one.runs and one.parses and one.filled
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


class _Search:
    """The search for one exercise's answer among all cells.

    A definition written by the learner wins over an untouched starter, a later one over an earlier
    one, one that Python can read over one that it cannot.
    """

    def __init__(self, exercise: str, seen: Sequence[Inspection], *, notebook: bool) -> None:
        self.exercise, self.seen, self.notebook = exercise, seen, notebook
        self.marked = [one for one in seen if one.code and one.mark == exercise]
        self.defining = [one for one in seen if one.code and one.runs and one.defining(exercise)]

    def find(self) -> Iterator[Finding]:
        """Mark the cell that answers, take copies of the starter out, say what was remarkable."""
        yield from self._copies()
        other = None if self._worked(self.defining) else self._elsewhere()
        if other is not None:
            other.runs = True
            self.defining.append(other)
            if not other.code:
                message = (
                    f"The answer to `{self.exercise}` stands in a text cell; it was read as code. "
                    "Change the cell's type to code."
                )
                yield self._finding(Kind.RETYPED_CELL, message, other.number)
        worked = self._worked(self.defining)
        answering = self._answering(worked)
        if worked:
            for one in self.defining:
                one.untouched_out(self.exercise)
        if answering is None:
            yield self._missing()
        else:
            answering.answers.append(self.exercise)
            if other is None:
                yield from self._unmarked(answering)
        if self.notebook:
            yield from self._tests()

    def _worked(self, cells: Iterable[Inspection]) -> list[Inspection]:
        return [one for one in cells if any(not d.untouched for d in one.defining(self.exercise))]

    def _answering(self, worked: Sequence[Inspection]) -> Inspection | None:
        orders = (
            [one for one in worked if one.parses],
            worked,
            self.defining,
            [one for one in self.seen if one.runs and self.exercise in one.names],
            [one for one in self.marked if one.filled and not one.parses],
        )
        return next((cells[-1] for cells in orders if cells), None)

    def _elsewhere(self) -> Inspection | None:
        """A text cell, or the cell of a test, that holds the answer which no code cell holds."""
        held = [
            one
            for one in self.seen
            if one.defining(self.exercise)
            and not one.runs
            and (one.parses or one.mark == self.exercise or one.code)
        ]
        worked = self._worked(held)
        if worked or self.defining:
            return worked[-1] if worked else None
        return held[-1] if held else None

    def _finding(self, kind: Kind, message: str, cell: int, *, repaired: bool = True) -> Finding:
        return Finding(kind, message, cell, exercise=self.exercise, repaired=repaired)

    def _copies(self) -> Iterator[Finding]:
        defining = [one.number for one in self.defining]
        marked = [one.number for one in self.marked if one.filled]
        several = sorted(set(defining if len(defining) > 1 else marked))
        if len(several) > 1:
            message = (
                f"The cells {', '.join(map(str, several))} all answer `{self.exercise}`. As in a "
                "notebook that runs from top to bottom, the last one that you wrote yourself "
                "counts."
            )
            yield self._finding(Kind.DUPLICATED_CELL, message, several[-1])

    def _unmarked(self, answering: Inspection) -> Iterator[Finding]:
        """An answer in a cell that is not the exercise's own."""
        marked = any(one.mark == self.exercise for one in self.defining)
        if not self.notebook or not self.defining or marked:
            return
        why = (
            f"not in its own cell, which is cell {self.marked[-1].number}"
            if self.marked
            else "in a cell that lost the marks of the released notebook"
        )
        message = f"The answer to `{self.exercise}` stands {why}; it was found by its name."
        yield self._finding(Kind.LOST_METADATA, message, answering.number)

    def _missing(self) -> Finding:
        filled = [one for one in self.marked if one.filled]
        message, kind = f"Nothing here defines `{self.exercise}`. ", Kind.MISSING_CELL
        if filled and filled[-1].others:
            kind = Kind.RENAMED_FUNCTION
            message += f"Its cell defines `{filled[-1].others[0]}`; was the function renamed?"
        elif self.marked and not filled:
            message += "Its cell is empty."
        else:
            message += "Was its cell deleted? Copy it from the released notebook."
        cell = self.marked[-1].number if self.marked else 0
        return self._finding(kind, message, cell, repaired=False)

    def _tests(self) -> Iterator[Finding]:
        """A test that was changed or deleted. Its words do not matter: the released one counts."""
        intact = any(self.exercise in one.tests for one in self.seen)
        theirs = [
            one
            for one in self.seen
            if one.test_of == self.exercise and one.filled and not one.is_released_test
        ]
        if theirs and (not intact or any(self.exercise in one.tests for one in theirs)):
            message = (
                f"The test of `{self.exercise}` was changed. It is not run; "
                "every answer meets the same tests."
            )
            yield self._finding(Kind.CHANGED_TEST, message, theirs[-1].number)
        elif not intact and self.defining:
            message = (
                f"The test of `{self.exercise}` is not there any more. "
                "That does not matter: every answer meets the same tests."
            )
            yield self._finding(Kind.CHANGED_TEST, message, 0)
