"""What a student is told about one assignment.

It is chosen here, once; `feedback_html` and `feedback_markdown` only give it form.
Of a case that is not an example, nothing is said but whether it holds, and as a count.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.classroom.checking import DIED, NOT_RUN, TOO_SLOW, Outcome
from labkit.classroom.exercise import Exercise
from labkit.classroom.exercises import ALL
from labkit.classroom.grading.names import shown
from labkit.classroom.grading.types import CaseVerdict, ExerciseMark, Finding, Graded, Group
from labkit.classroom.show import short_run, visible

CASES, FINDINGS = 5, 30  # how many of each one exercise shows
IN_WORDS = {
    Outcome.RIGHT: "right",
    Outcome.NOT_ATTEMPTED: "not attempted yet",
    Outcome.WRONG: "not right yet",
    Outcome.CRASHED: "ends in an error",
    Outcome.TOO_SLOW: "no result in time",
    Outcome.DELEGATED: "calls labkit's own solution",
    Outcome.DIED: "ended the process",
}
_STEP = {
    Outcome.RIGHT: "",
    Outcome.NOT_ATTEMPTED: "Replace the `raise` line with a first attempt. A short one is enough "
    "for a check to tell you more.",
    Outcome.WRONG: "Take the first case shown here, go through your function with it by hand, and "
    "find the line where it takes another way.",
    Outcome.CRASHED: "Ask with which input your function gets to the line where it stops, and what "
    "it should do there.",
    Outcome.TOO_SLOW: "Ask what makes your loop or your recursion end, and whether it does for "
    "every input: an empty one, too.",
    Outcome.DELEGATED: "The point is to build it: start from the task, not from the answer.",
    Outcome.DIED: "Your code ended Python itself, or needed more memory than there was. Look for "
    "`exit()`, and for a list or a recursion that grows without end.",
}
_BEYOND_EXAMPLES = (
    "The examples hold, so look beyond them: the empty input, the smallest, a tie, and what the "
    "task says about errors."
)
_REFUSALS_LEFT = (
    "All legal inputs come out right. Read again what the task says about the others, and which "
    "error each of them should raise."
)
_NO_CASES = (Outcome.RIGHT, Outcome.NOT_ATTEMPTED, Outcome.DELEGATED)  # whose counts say nothing
_ENDED = {
    TOO_SLOW: "no result in time",
    DIED: "ended the process",
    NOT_RUN: "not run any more",
}


@dataclass(frozen=True, slots=True)
class Held:
    """How many cases of a group hold; `remark` says what else may be said of them."""

    group: Group
    held: int
    total: int
    remark: str = ""


@dataclass(frozen=True, slots=True)
class FailingCase:
    """A public case that fails: the call, what was expected, and what came."""

    call: str
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Note:
    """Something found in the submission: where, what, and what became of it."""

    place: str
    message: str
    then: str


@dataclass(frozen=True, slots=True)
class Section:
    """What is said of one exercise. Texts may hold `code` in backticks; all are short, and none is
    escaped."""

    exercise: str
    title: str
    points: str
    outcome: Outcome
    works: str
    held: tuple[Held, ...] = ()
    sentence: str = ""
    failing: tuple[FailingCase, ...] = ()
    more_failing: int = 0
    line: str = ""
    step: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Feedback:
    """All that a student is told of one assignment; what works comes first."""

    student: str
    assignment: str
    points: str
    works: tuple[str, ...]
    next_step: str
    sections: tuple[Section, ...]
    notes: tuple[Note, ...]


def feedback(one: Graded) -> Feedback:
    """What is said of a result."""
    return Feedback(
        student=clean(one.student, 80),
        assignment=clean(one.assignment, 80),
        points=f"{points(one.score)} of {one.max_score} points",
        works=_what_works(one.marks),
        next_step=_next_step(one.marks),
        sections=tuple(map(_section, one.marks)),
        notes=_notes(one.findings),
    )


def points(value: float) -> str:
    """A score in at most two decimals."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def clean(text: str, limit: int) -> str:
    """A text from outside: cut, and with the characters visible that are not so by themselves."""
    return short_run(visible("".join(map(shown, text[: limit + 1]))), limit)


def _what_works(marks: Sequence[ExerciseMark]) -> tuple[str, ...]:
    solved = [mark for mark in marks if mark.outcome is Outcome.RIGHT]
    partly = [mark for mark in marks if mark not in solved and mark.score > 0]
    said = []
    if solved:
        names = ", ".join(map(_named, solved))
        said.append(f"Solved: {names}. That is {len(solved)} of {len(marks)} exercises.")
    if partly:
        names = ", ".join(f"{_named(mark)} ({_earned(mark)})" for mark in partly)
        said.append(f"Partly there: {names}.")
    return tuple(said) or ("Your submission arrived.",)


def _next_step(marks: Sequence[ExerciseMark]) -> str:
    """The unsolved exercise that is nearest to its goal comes next; of equals, the first."""
    open_ones = [mark for mark in marks if mark.outcome is not Outcome.RIGHT]
    if not open_ones:
        return "Everything holds. Well done: go on with the next lesson." if marks else ""
    nearest = max(open_ones, key=lambda mark: mark.score / max(mark.max_score, 1))
    if nearest.score <= 0:
        return f"Go on with {_named(nearest)}. {_step(nearest)}"
    earned = f"{_earned(nearest)} are yours already."
    return f"Go on with {_named(nearest)}: {earned} {clean(nearest.sentence, 300)}".strip()


def _named(mark: ExerciseMark) -> str:
    return f"`{clean(mark.exercise, 80)}`"


def _earned(mark: ExerciseMark) -> str:
    return f"{points(mark.score)} of {mark.max_score} points"


def _section(mark: ExerciseMark) -> Section:
    exercise = ALL.get(mark.exercise)
    failing = _failing(mark)
    return Section(
        exercise=clean(mark.exercise, 80),
        title=exercise.title if exercise else clean(mark.exercise, 80),
        points=_earned(mark),
        outcome=mark.outcome,
        works=_works(mark),
        held=() if mark.outcome in _NO_CASES else _held(mark.cases),
        sentence=clean(mark.sentence, 300) or _own_message(mark),
        failing=failing[:CASES],
        more_failing=max(len(failing) - CASES, 0),
        line=clean(mark.line, 200),
        step=_step(mark) and f"{_step(mark)}{_help(exercise)}",
        notes=_notes(mark.findings),
    )


def _own_message(mark: ExerciseMark) -> str:
    """The judge's message, which of hidden cases says nothing that would describe them. `_works`
    has that of an exercise not attempted."""
    return clean(mark.message, 300) if mark.outcome is not Outcome.NOT_ATTEMPTED else ""


def _works(mark: ExerciseMark) -> str:
    """The first sentence of an exercise: what already works in it."""
    if mark.outcome is Outcome.RIGHT:
        return "Every case holds. Well done."
    if mark.outcome is Outcome.NOT_ATTEMPTED:
        return f"This one is still ahead of you. {clean(mark.message, 300)}".strip()
    if mark.outcome is Outcome.DELEGATED:
        return "You found out where labkit does this; now write your own."
    parts = [_part(held) for held in _held(mark.cases) if held.held]
    if parts:
        return f"What holds already: {', '.join(parts)}."
    return "A start is made."


def _part(held: Held) -> str:
    whole = held.held == held.total > 1
    return f"{'all' if whole else f'{held.held} of'} {held.total} {held.group}"


def _held(cases: Sequence[CaseVerdict]) -> tuple[Held, ...]:
    """The groups in their order, counted."""
    examples_hold = all(case.passed for case in cases if case.group is Group.EXAMPLES)
    counted = []
    for group in Group:
        of_group = [case for case in cases if case.group is group]
        if of_group:
            remarks = _endings(of_group)
            if group is Group.REFUSALS and not examples_hold:
                remarks.append("count as soon as all examples hold")
            held = sum(case.passed for case in of_group)
            counted.append(Held(group, held, len(of_group), "; ".join(remarks)))
    return tuple(counted)


def _endings(cases: Sequence[CaseVerdict]) -> list[str]:
    """Of errors, only the two that the student's own clock and machine would show, as counts."""
    counts = {
        words: sum(case.raised == raised and not case.passed for case in cases)
        for raised, words in _ENDED.items()
    }
    return [f"{count} × {words}" for words, count in counts.items() if count]


def _failing(mark: ExerciseMark) -> tuple[FailingCase, ...]:
    """The failing examples. Cases of other groups are hidden, whatever they carry."""
    return tuple(
        FailingCase(
            clean(case.shown.get("call", ""), 320),
            clean(case.shown.get("expected", ""), 200),
            clean(case.shown.get("got", ""), 200),
        )
        for case in mark.cases
        if case.group is Group.EXAMPLES and not case.passed and case.shown
    )


def _step(mark: ExerciseMark) -> str:
    """What to do next; for a wrong function, by the first group that does not hold."""
    broken = {case.group for case in mark.cases if not case.passed}
    if mark.outcome is Outcome.WRONG and broken == {Group.REFUSALS}:
        return _REFUSALS_LEFT
    if mark.outcome is Outcome.WRONG and Group.EXAMPLES not in broken:
        return _BEYOND_EXAMPLES
    return _STEP[mark.outcome]


def _help(exercise: Exercise | None) -> str:
    if exercise is None:
        return ""
    return f' Lesson {exercise.stage:02d} explains it; `hint("{exercise.id}")` gives the next hint.'


def _notes(findings: Sequence[Finding]) -> tuple[Note, ...]:
    notes = [
        Note(
            _place(finding),
            clean(finding.message, 300),
            "We repaired it; it costs no points." if finding.repaired else "",
        )
        for finding in findings[:FINDINGS]
    ]
    if len(findings) > FINDINGS:
        notes.append(Note("In the file", f"And {len(findings) - FINDINGS} more like these.", ""))
    return tuple(notes)


def _place(finding: Finding) -> str:
    if not finding.cell:
        return f"Line {finding.line}" if finding.line else "In the file"
    return f"Cell {finding.cell}" + (f", line {finding.line}" if finding.line else "")
