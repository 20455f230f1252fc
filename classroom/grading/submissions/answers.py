"""Which cell answers an exercise, as a notebook run from top to bottom would decide."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from classroom.grading.submissions.look import Look
from classroom.grading.submissions.python_source import Definition
from classroom.grading.types import Finding, Kind


class Answer:
    """The search for one exercise's answer among all cells.

    A definition written by the learner wins over an untouched starter, a later one over an earlier
    one, one that Python can read over one that it cannot.
    """

    def __init__(self, exercise: str, looks: Sequence[Look], *, notebook: bool) -> None:
        self.exercise, self.looks, self.notebook = exercise, looks, notebook
        self.marked = [look for look in looks if look.code and look.mark == exercise]
        self.places = [place for place in self._all_places() if place[0].code and place[0].runs]
        self._retyped: Look | None = None

    def find(self) -> list[Finding]:
        """Mark the cell that answers, take copies of the starter out, say what was remarkable."""
        findings = list(self._copies())
        if not self._worked() and (other := self._elsewhere()) is not None:
            other.runs, self._retyped = True, other
            self.places.append((other, self._own(other)[-1]))
            findings += self._said_elsewhere(other)
        answering = self._answering()
        if answering is not None:
            answering.answers.append(self.exercise)
        if self._worked():
            for look in {look.number: look for look, _ in self.places}.values():
                look.untouched_out(self.exercise)
        findings += [*self._unmarked(answering), *self._missing(answering)]
        return findings + (list(self._tests()) if self.notebook else [])

    def _own(self, look: Look) -> list[Definition]:
        return [found for found in look.definitions if found.name == self.exercise]

    def _all_places(self) -> list[tuple[Look, Definition]]:
        return [(look, found) for look in self.looks for found in self._own(look)]

    def _worked(self) -> list[Look]:
        return [look for look, found in self.places if not found.untouched]

    def _answering(self) -> Look | None:
        worked = self._worked()
        orders = (
            [look for look in worked if look.parses],
            worked,
            [look for look, _ in self.places],
            [look for look in self.looks if look.runs and self.exercise in look.names],
            [look for look in self.marked if look.filled and not look.parses],
        )
        return next((looks[-1] for looks in orders if looks), None)

    def _elsewhere(self) -> Look | None:
        """A text cell, or the cell of a test, that holds the answer which no code cell holds."""
        held = [
            (look, found)
            for look, found in self._all_places()
            if not look.runs and (look.parses or look.mark == self.exercise or look.code)
        ]
        worked = [look for look, found in held if not found.untouched]
        if worked or self.places:
            return worked[-1] if worked else None
        return held[-1][0] if held else None

    # --- what is said ------------------------------------------------------------------------

    def _finding(self, kind: Kind, message: str, cell: int, *, repaired: bool = True) -> Finding:
        return Finding(kind, message, cell, exercise=self.exercise, repaired=repaired)

    def _copies(self) -> Iterator[Finding]:
        cells = {look.number for look, _ in self.places}
        marked = {look.number for look in self.marked if look.filled}
        several = cells if len(cells) > 1 else marked
        if len(several) > 1:
            numbers = ", ".join(map(str, sorted(several)))
            yield self._finding(
                Kind.DUPLICATED_CELL,
                f"The cells {numbers} all answer `{self.exercise}`. As in a notebook that runs "
                "from top to bottom, the last one that you wrote yourself counts.",
                max(several),
            )

    def _said_elsewhere(self, look: Look) -> Iterator[Finding]:
        if not look.code:
            yield self._finding(
                Kind.RETYPED_CELL,
                f"The answer to `{self.exercise}` stands in a text cell; it was read as code. "
                "Change the cell's type to code.",
                look.number,
            )

    def _unmarked(self, answering: Look | None) -> Iterator[Finding]:
        marked = any(look.mark == self.exercise for look, _ in self.places)
        if answering is None or not self.places or not self.notebook or self._retyped or marked:
            return
        why = (
            f"not in its own cell, which is cell {self.marked[-1].number}"
            if self.marked
            else "in a cell that lost the marks of the released notebook"
        )
        yield self._finding(
            Kind.LOST_METADATA,
            f"The answer to `{self.exercise}` stands {why}; it was found by its name.",
            answering.number,
        )

    def _missing(self, answering: Look | None) -> Iterator[Finding]:
        if answering is not None:
            return
        filled = [look for look in self.marked if look.filled]
        message, kind = f"Nothing here defines `{self.exercise}`. ", Kind.MISSING_CELL
        if filled and filled[-1].others:
            kind = Kind.RENAMED_FUNCTION
            message += f"Its cell defines `{filled[-1].others[0]}`; was the function renamed?"
        elif self.marked and not filled:
            message += "Its cell is empty."
        else:
            message += "Was its cell deleted? Copy it from the released notebook."
        cell = self.marked[-1].number if self.marked else 0
        yield self._finding(kind, message, cell, repaired=False)

    def _tests(self) -> Iterator[Finding]:
        """A test that was changed or deleted. Its words do not matter: the released one counts."""
        intact = any(self.exercise in look.tests for look in self.looks)
        theirs = [look for look in self.looks if look.test_of == self.exercise and look.filled]
        if theirs and (not intact or any(self.exercise in look.tests for look in theirs)):
            message = (
                f"The test of `{self.exercise}` was changed. It is not run; "
                "every answer meets the same tests."
            )
            yield self._finding(Kind.CHANGED_TEST, message, theirs[-1].number)
        elif not intact and self.places:
            message = (
                f"The test of `{self.exercise}` is not there any more. "
                "That does not matter: every answer meets the same tests."
            )
            yield self._finding(Kind.CHANGED_TEST, message, 0)
