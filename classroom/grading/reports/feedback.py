"""What a student is told about one assignment, and the page it stands on.

Of a case that is not an example, nothing is said but whether it holds, and as a count.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from classroom.checking import DIED, NOT_RUN, TOO_SLOW, Outcome
from classroom.exercises import ALL
from classroom.grading.answer_key import shares
from classroom.grading.names import file_name
from classroom.grading.reports.advice import next_step
from classroom.grading.reports.page import clean, points, render
from classroom.grading.types import CaseVerdict, ExerciseMark, Finding, Graded, Group, Kind
from classroom.grading.writing import write_whole

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
_TONES = {Outcome.RIGHT: "good", Outcome.NOT_ATTEMPTED: "muted"}
_FILE = "Your file"
_UNREAD = (Kind.UNREADABLE, Kind.TOO_LARGE, Kind.NO_NOTEBOOK, Kind.NOT_OURS)
_NO_CASES = (Outcome.RIGHT, Outcome.NOT_ATTEMPTED, Outcome.DELEGATED)  # whose counts say nothing


@dataclass(frozen=True, slots=True)
class Count:
    """How many cases of a group hold, and the points for it; `remark` says what else may be said
    of them."""

    group: Group
    held: int
    total: int
    points: str = ""
    remark: str = ""

    def __str__(self) -> str:
        whole = self.held == self.total > 1
        return f"{'all' if whole else f'{self.held} of'} {self.total} {self.group}"


@dataclass(frozen=True, slots=True)
class Note:
    """Something found in the submission: where, what, and what became of it."""

    place: str
    message: str
    then: str


@dataclass(frozen=True, slots=True)
class Section:
    """What is said of one exercise. Texts may hold `code` in backticks; all are short, and none is
    escaped. `failing` has a list of (label, text) for each example that fails; `line` is where the
    code stopped, `where` where Python could not read it."""

    exercise: str
    title: str
    points: str
    outcome: Outcome
    works: str
    counts: tuple[Count, ...] = ()
    sentence: str = ""
    failing: tuple[tuple[tuple[str, str], ...], ...] = ()
    more_failing: int = 0
    line: str = ""
    where: str = ""
    step: str = ""
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Feedback:
    """All that a student is told of one assignment; what works comes first. `assignment` and
    `points` are empty where nothing could be read as work on one."""

    title: str
    student: str
    assignment: str
    points: str
    works: tuple[str, ...]
    next_step: str
    sections: tuple[Section, ...]
    notes: tuple[Note, ...]


def write_feedback(one: Graded, folder: Path) -> Path:
    """Write `STUDENT/ASSIGNMENT.html` below `folder`. Where nothing could be read as work on an
    assignment, the page is called `unreadable`."""
    return write_whole(folder / feedback_name(one), as_html(feedback(one)))


def feedback_name(one: Graded) -> PurePosixPath:
    """Where the page of a result stands below the folder of feedback."""
    name = file_name(one.assignment) if one.assignment else "unreadable"
    return PurePosixPath(one.folder or file_name(one.student), f"{name}.html")


def as_html(said: Feedback) -> str:
    """The page of a result, whole."""
    return render("feedback.html", said=said, in_words=IN_WORDS, tones=_TONES)


def feedback(one: Graded) -> Feedback:
    """What is said of a result."""
    about = {mark.exercise: _about(mark, one.findings) for mark in one.marks}
    unread = _unread(one)
    sections = tuple(_section(mark, about[mark.exercise]) for mark in one.marks)
    return Feedback(
        title="Feedback on" if one.assignment else "We could not read what you sent",
        student=clean(one.student, 80),
        assignment=clean(one.assignment, 80),
        points=f"{points(one.score)} of {one.max_score} points" if one.assignment else "",
        works=_what_works(one.marks),
        next_step=unread or _go_on(one.marks, about),
        sections=() if unread else sections,
        notes=_notes([found for found in one.findings if not _stands_below(found, one.marks)]),
    )


def _unread(one: Graded) -> str:
    """Why nothing could be read as an answer, if that is so: then nothing else comes next."""
    if any(mark.outcome is not Outcome.NOT_ATTEMPTED for mark in one.marks):
        return ""
    reasons = (f.message for f in one.findings if f.kind in _UNREAD and not (f.cell or f.repaired))
    return clean(next(reasons, ""), 300)


def _stands_below(found: Finding, marks: Sequence[ExerciseMark]) -> bool:
    """Is it said where the exercise is?"""
    missing = found.kind in (Kind.MISSING_CELL, Kind.RENAMED_FUNCTION)
    return any(
        found.exercise == mark.exercise and (missing or found.message == mark.message)
        for mark in marks
    )


def _about(mark: ExerciseMark, findings: Sequence[Finding]) -> list[Finding]:
    """What was found of an exercise; a draft that Python cannot read says nothing of an answer
    whose cases ran."""
    about = [finding for finding in findings if finding.exercise == mark.exercise]
    return [f for f in about if not (mark.cases and f.kind is Kind.SYNTAX_ERROR)]


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
    return tuple(said)


def _go_on(marks: Sequence[ExerciseMark], about: Mapping[str, Sequence[Finding]]) -> str:
    """The first exercise that is not solved comes next: later ones build on it."""
    first = next((mark for mark in marks if mark.outcome is not Outcome.RIGHT), None)
    if first is None:
        return "Everything holds. Well done: go on with the next lesson." if marks else ""
    if first.score > 0:
        earned = f"{_earned(first)} are yours already."
        return f"Go on with {_named(first)}: {earned} {clean(first.sentence, 300)}".strip()
    said = [f"Go on with {_named(first)}."]
    for found in about[first.exercise]:  # what kept the answer from being tried, if something did
        if found.kind is Kind.SYNTAX_ERROR:
            said.append(f"{_place(found)}:")
            break
        if found.kind in (Kind.RENAMED_FUNCTION, Kind.MISSING_CELL):
            said.append(clean(found.message, 300))
            break
    return " ".join([*said, next_step(first, about[first.exercise])])


def _named(mark: ExerciseMark) -> str:
    return f"`{clean(mark.exercise, 80)}`"


def _earned(mark: ExerciseMark) -> str:
    return f"{points(mark.score)} of {mark.max_score} points"


def _section(mark: ExerciseMark, findings: Sequence[Finding]) -> Section:
    exercise = ALL.get(mark.exercise)
    failing = _failing(mark)
    unread = next((found for found in findings if found.kind is Kind.SYNTAX_ERROR), None)
    step = next_step(mark, findings)
    if step and exercise:
        more = f'`hint("{exercise.id}")` gives the next hint.'
        step += f" Lesson {exercise.stage:02d} explains it; {more}"
    # The judge's message says nothing that would describe a hidden case; `_works` has that of an
    # exercise not attempted.
    own = clean(mark.message, 300) if mark.outcome is not Outcome.NOT_ATTEMPTED else ""
    counts = _counts(mark)
    return Section(
        exercise=clean(mark.exercise, 80),
        title=exercise.title if exercise else clean(mark.exercise, 80),
        points=_earned(mark),
        outcome=mark.outcome,
        works=_works(mark, findings, counts),
        counts=() if mark.outcome in _NO_CASES else counts,
        sentence=clean(mark.sentence, 300) or own,
        failing=failing[:CASES],
        more_failing=max(len(failing) - CASES, 0),
        line="" if unread else clean(mark.line, 200),
        where=_place(unread) if unread else "",
        step=step,
        notes=_notes(mark.findings),
    )


def _works(mark: ExerciseMark, findings: Sequence[Finding], counts: Sequence[Count]) -> str:
    """The first sentence of an exercise: what already works in it."""
    if mark.outcome is Outcome.RIGHT:
        return "Every case holds. Well done."
    if mark.outcome is Outcome.NOT_ATTEMPTED:
        return _not_attempted(mark, findings)
    if mark.outcome is Outcome.DELEGATED:
        return "You found out where labkit does this; now write your own."
    parts = ", ".join(str(count) for count in counts if count.held)
    return f"What holds already: {parts}." if parts else "A start is made."


def _not_attempted(mark: ExerciseMark, findings: Sequence[Finding]) -> str:
    """What was found instead of an answer says more than that there is none."""
    for found in findings:
        if found.kind is Kind.RENAMED_FUNCTION:
            return clean(found.message, 300)
    missing = [found.message for found in findings if found.kind is Kind.MISSING_CELL]
    return f"This one is still ahead of you. {clean([*missing, mark.message][0], 300)}".strip()


def _counts(mark: ExerciseMark) -> tuple[Count, ...]:
    """The groups in their order, counted, with the points that each earned as a whole."""
    cases, earned = mark.cases, shares(mark.max_score, mark.cases)
    examples_hold = all(case.passed for case in cases if case.group is Group.EXAMPLES)
    counted = []
    for group, share in earned.items():
        of_group = [case for case in cases if case.group is group]
        remarks = _endings(of_group)
        if group is Group.REFUSALS and not examples_hold:
            remarks.append("count as soon as all examples hold")
        held = sum(case.passed for case in of_group)
        gained = f"{points(share.earned)} of {points(share.most)}"
        counted.append(Count(group, held, len(of_group), gained, "; ".join(remarks)))
    return tuple(counted)


def _endings(cases: Sequence[CaseVerdict]) -> list[str]:
    """Of errors, only those that the student's own clock and machine would show, as counts."""
    raised = [case.raised for case in cases if not case.passed]
    ended = (TOO_SLOW, DIED, NOT_RUN)
    return [f"{raised.count(words)} × {words}" for words in ended if words in raised]


def _failing(mark: ExerciseMark) -> tuple[tuple[tuple[str, str], ...], ...]:
    """The failing examples. Cases of other groups are hidden, whatever they carry."""
    return tuple(
        tuple(
            (name.capitalize(), clean(case.shown.get(name, ""), limit))
            for name, limit in (("call", 320), ("expected", 200), ("got", 200))
        )
        for case in mark.cases
        if case.group is Group.EXAMPLES and not case.passed and case.shown
    )


def _notes(findings: Sequence[Finding]) -> tuple[Note, ...]:
    notes = []
    for found in findings[:FINDINGS]:
        free = found.repaired and found.kind is not Kind.SOLUTION_MARKS
        then = "This costs no points." if free else ""
        notes.append(Note(_place(found), clean(found.message, 300), then))
    if len(findings) > FINDINGS:
        notes.append(Note(_FILE, f"And {len(findings) - FINDINGS} more like these.", ""))
    return tuple(notes)


def _place(finding: Finding) -> str:
    """Jupyter numbers no text cells, and we do: so the exercise helps to find the cell."""
    if not finding.cell:
        return f"Line {finding.line}" if finding.line else _FILE
    what = "the test of" if finding.kind is Kind.CHANGED_TEST else "your answer to"
    name = clean(finding.exercise, 80).replace("`", "'")
    whose = f" ({what} `{name}`)" if name else ""
    return f"Cell {finding.cell}{whose}" + (f", line {finding.line}" if finding.line else "")
