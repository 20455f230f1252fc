"""From what a learner's functions did to marks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from classroom.checking import DIED, NOT_PLAIN, NOT_RUN, TOO_SLOW, Outcome, Ran, agree
from classroom.exercise import Exercise
from classroom.exercises import ALL
from classroom.grading.answer_key import AnswerKey, KeyCase, score
from classroom.grading.running.sandbox import Sandbox
from classroom.grading.running.session import (
    GivenUpError,
    Position,
    Reply,
    Session,
    without_paths,
)
from classroom.grading.submissions.released import exercises_of
from classroom.grading.types import (
    CaseVerdict,
    Cell,
    ExerciseMark,
    Finding,
    Graded,
    Group,
    Kind,
    Submission,
    Triaged,
)
from classroom.show import short_run, visible

_NOT_IMPLEMENTED = "NotImplementedError"
_NOT_RUN = Reply(Ran(raised=NOT_RUN))


class Judge:
    """Marks submissions in a sandbox; `keys` holds the answer key of every exercise."""

    def __init__(self, sandbox: Sandbox, keys: Mapping[str, AnswerKey]) -> None:
        self._sandbox, self._keys = sandbox, keys

    def grade(self, submission: Submission, triaged: Triaged, slot: int = 0) -> Graded:
        """The marks of one submission. `slot` is a number that no other worker has right now."""
        skip: dict[Position, Finding] = {}
        marks: dict[str, ExerciseMark] = {}
        for exercise in exercises_of(submission.assignment):
            if any(exercise.id in cell.exercises for cell in triaged.cells):
                mark = self._mark(exercise, triaged.cells, skip, slot)
                mark = self._follow_on(exercise, mark, marks, triaged.cells, skip, slot)
            else:
                mark = _unanswered(exercise, triaged.findings)
            marks[exercise.id] = mark
        findings = (*submission.findings, *triaged.findings, *skip.values())
        return Graded(
            submission.student,
            submission.assignment,
            submission.name,
            tuple(marks.values()),
            findings,
            submission.folder,
            submission.number,
            submission.platform,
        )

    def _follow_on(
        self,
        exercise: Exercise,
        mark: ExerciseMark,
        marks: Mapping[str, ExerciseMark],
        cells: Sequence[Cell],
        skip: dict[Position, Finding],
        slot: int,
    ) -> ExerciseMark:
        """The mark with a model solution in place of an earlier function that failed, if that is
        better: one error counts once."""
        failed = [
            name
            for name in exercise.builds_on
            if name in marks and marks[name].outcome is not Outcome.RIGHT
        ]
        judged = mark.outcome not in (Outcome.RIGHT, Outcome.NOT_ATTEMPTED)
        if not failed or not judged:
            return mark
        lent = [Cell(0, ALL[name].solution) for name in failed]
        again = self._mark(exercise, [*cells, *lent], skip, slot)
        if again.score <= mark.score:
            return mark
        names = " and ".join(failed)
        text = f"Judged with the lab's {names} in place of yours: one error counts once."
        found = Finding(Kind.FOLLOW_ON, text, exercise=exercise.id, repaired=True)
        return replace(again, findings=(*again.findings, found))

    def _mark(
        self, exercise: Exercise, cells: Sequence[Cell], skip: dict[Position, Finding], slot: int
    ) -> ExerciseMark:
        key = self._keys[exercise.id]
        with Session(self._sandbox, exercise, cells, skip, slot) as session:
            said = _asked(session, key.cases)
            wall, cpu, memory = session.used
            mark = _marked(_blank(exercise), key, said, session)
        return replace(mark, wall=round(wall, 3), cpu=round(cpu, 3), memory=round(memory, 1))


def _blank(exercise: Exercise) -> ExerciseMark:
    return ExerciseMark(exercise.id, 0.0, exercise.points, Outcome.NOT_ATTEMPTED)


def _unanswered(exercise: Exercise, findings: Sequence[Finding]) -> ExerciseMark:
    """The mark where no cell answers, or none that Python can read."""
    for found in findings:
        if found.kind is Kind.SYNTAX_ERROR and found.exercise == exercise.id:
            place = f"cell {found.cell}, line {found.line}"
            return replace(
                _blank(exercise), outcome=Outcome.CRASHED, message=found.message, line=place
            )
    return replace(_blank(exercise), message="No cell answers this exercise.")


def _asked(session: Session, cases: Sequence[KeyCase]) -> list[Reply]:
    """What the function said to each case; one that is untouched is asked the examples alone."""
    said: list[Reply] = []
    for case in cases:
        if case.group is not Group.EXAMPLES and _untouched(said):
            break
        try:
            said.append(session.ask(case.arguments))
        except GivenUpError:
            break
        if not session.defined:
            break
    return said + [_NOT_RUN] * (len(cases) - len(said))


def _untouched(said: Sequence[Reply]) -> bool:
    return all(item.ran.raised == _NOT_IMPLEMENTED for item in said)


def _marked(
    blank: ExerciseMark, key: AnswerKey, said: Sequence[Reply], session: Session
) -> ExerciseMark:
    asked = [item for item in said if item is not _NOT_RUN]
    for case, item in zip(key.cases, asked, strict=False):
        if item.delegated:
            name = item.delegated if case.group is Group.EXAMPLES else "own functions"
            message = f"Your function calls labkit's {name}. Write it yourself."
            return replace(blank, outcome=Outcome.DELEGATED, message=message)
    if session.slow and not asked:
        message = "What stands outside your functions takes too long to run."
        return replace(blank, outcome=Outcome.TOO_SLOW, message=message)
    if not session.defined:
        return _undefined(blank, key.exercise, session)
    if asked and _untouched(asked):
        return replace(blank, message="The starter is still as it was.")
    verdicts = [_verdict(key.exercise, *pair) for pair in zip(key.cases, said, strict=True)]
    failing = [i for i, verdict in enumerate(verdicts) if not verdict.passed]
    if not failing:
        return replace(
            blank, score=float(blank.max_score), outcome=Outcome.RIGHT, cases=tuple(verdicts)
        )
    first, case = said[failing[0]], key.cases[failing[0]]
    examples = sum(verdicts[number].group is Group.EXAMPLES for number in failing)
    # A mistake is recognised by what it does, so not by what a lost worker left undone.
    behaviour = [item.ran for item in asked]
    died = any(ran.raised == DIED for ran in behaviour)
    mistake = None if died else key.recognise(behaviour)
    return replace(
        blank,
        score=score(blank.max_score, verdicts),
        outcome=_outcome(first, case),
        message=_message(first, examples),
        mistake=mistake.name if mistake else "",
        sentence=mistake.sentence if mistake else "",
        line=first.line if case.group is Group.EXAMPLES else "",
        cases=tuple(verdicts),
    )


def _undefined(blank: ExerciseMark, exercise: Exercise, session: Session) -> ExerciseMark:
    """A function that is not there after all cells have run."""
    where = "; ".join(session.problems)
    message = f"After all cells had run, there was no {exercise.id}."
    return replace(blank, outcome=Outcome.CRASHED, message=message, line=where[:400])


def _verdict(exercise: Exercise, case: KeyCase, said: Reply) -> CaseVerdict:
    """Compared here, where none of the learner's objects is."""
    passed = agree(said.ran, case.expected) and not said.changed
    told = {}
    if not passed:
        told = {
            "call": short_run(visible(exercise.call_written(case.arguments)), 320),
            "expected": short_run(visible(str(case.expected))),
            "got": _got(said) + ", and changes its input" * said.changed,
        }
    public = case.group is Group.EXAMPLES
    return CaseVerdict(
        case.group, passed, said.ran.raised, told if public else {}, {} if public else told
    )


def _got(said: Reply) -> str:
    """A result for people: cut before it is written out, without paths of this machine."""
    return short_run(visible(without_paths(str(said.ran)[:1000])))


def _outcome(said: Reply, case: KeyCase) -> Outcome:
    """The outcome that the first failing case stands for."""
    raised = said.ran.raised
    if raised == TOO_SLOW:
        return Outcome.TOO_SLOW
    if raised in (DIED, NOT_RUN):
        return Outcome.DIED
    if raised and raised != NOT_PLAIN and not case.expected.raised:
        return Outcome.CRASHED
    return Outcome.WRONG


def _message(said: Reply, examples: int) -> str:
    """What to say of the first failing case, where so many examples fail: of a hidden one nothing
    that would describe it."""
    raised = said.ran.raised
    if raised == TOO_SLOW:
        return "One input had no result in time."
    if raised in (DIED, NOT_RUN):
        return (
            "On one input the process ended: no memory left, an exit, or a crash of Python itself."
        )
    if raised == NOT_PLAIN:
        return "What you return is no plain data: return text, numbers, bytes, lists, dictionaries."
    if said.changed:
        return "The function changes the values that it was given; its caller needs them."
    if not examples:
        return "All examples hold; another input gives another result than expected."
    inputs = "One input gives" if examples == 1 else "Some inputs give"
    return said.error or f"{inputs} another result than expected."
