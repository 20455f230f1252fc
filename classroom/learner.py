"""What a learner calls: check, hint, reveal, progress, predict, quiz.

They work alike in a notebook and in a plain Python shell: each returns a Message.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from classroom.checking import Result, check_function
from classroom.exercise import Exercise, Function
from classroom.exercises import ALL, exercise_named, of_stage
from classroom.progress_file import Progress
from classroom.quizzes import QUIZZES, Question
from classroom.runtime.serialise import same, to_plain
from classroom.show import Line, Message, result_message

FIFTEEN_MINUTES = "Give it fifteen honest minutes before the next one."


def check(name: str, function: Function) -> Message:
    """Check your function against the exercise `name` and say what to do next."""
    exercise = exercise_named(name)
    result = check_function(exercise, function)
    _note(exercise, result)
    return result_message(exercise, result)


@dataclass(frozen=True, slots=True)
class Verdict:
    """A check's outcome for an exercise notebook's test cell."""

    right: bool
    text: str


def verdict(name: str, function: Function) -> Verdict:
    """Check a function; `assert verdict(…).right` is what a graded cell says."""
    exercise = exercise_named(name)
    result = check_function(exercise, function)
    return Verdict(result.right, str(result_message(exercise, result)))


def passes(name: str, function: Function) -> bool:
    """Does the function pass? Noted like a check; says nothing."""
    exercise = exercise_named(name)
    result = check_function(exercise, function)
    _note(exercise, result)
    return result.right


def hint(name: str) -> Message:
    """The next hint of an exercise; each call reveals one more."""
    exercise = exercise_named(name)
    store = Progress()
    shown = int(store.get("exercises", name).get("hints", 0))
    if shown >= len(exercise.hints):
        lines: list[Line] = [("", text) for text in exercise.hints]
        return Message(f"{name}: all {shown} hints", tuple(lines))
    store.put("exercises", name, hints=shown + 1)
    left = len(exercise.hints) - shown - 1
    more = f"{left} more to come. {FIFTEEN_MINUTES}" if left else "That was the last hint."
    return Message(
        f"{name}: hint {shown + 1} of {len(exercise.hints)}",
        (("", exercise.hints[shown]), ("", more)),
    )


def reveal(name: str, sure: bool = False) -> Message:
    """The reference solution. Before your own passes, it asks whether you are sure."""
    exercise = exercise_named(name)
    store = Progress()
    known = store.get("exercises", name)
    if not known.get("passed") and not sure:
        left = len(exercise.hints) - int(known.get("hints", 0))
        offer = f"{left} hints are left: hint({name!r})." if left else "You have seen all hints."
        return Message(
            f"{name}: not yet revealed",
            (("", offer), ("", f"To see the solution all the same: reveal({name!r}, sure=True)")),
        )
    store.put("exercises", name, revealed=True)
    return Message(f"{name}: one solution", tuple(("", line) for line in _code(exercise)))


def carry_on(name: str, function: Function) -> Function:
    """Your function if it passes, labkit's if not; says which, so that the lesson can go on."""
    from IPython.display import display

    mine = passes(name, function)
    whose = "your own" if mine else "labkit's"
    display(Message(f"The lesson goes on with {whose} {name}."))  # type: ignore[no-untyped-call]
    return function if mine else exercise_named(name).reference


def progress() -> Message:
    """Where you stand: points by lesson, and how well your predictions were calibrated."""
    content = Progress().read()
    known = content.get("exercises", {})
    stages = sorted({exercise.stage for exercise in ALL.values()})
    lines: list[Line] = [(f"lesson {stage:02d}", _stage_line(stage, known)) for stage in stages]
    predictions = [p for p in content.get("predictions", {}).values() if "right" in p]
    if predictions:
        lines.append(("predictions", _calibration(predictions)))
    return Message("Your progress", tuple(lines))


def predict(name: str, answer: Any, confidence: float) -> Message:
    """Write down what you expect before you run a cell, and how sure you are (0.5 to 1)."""
    if not 0.5 <= confidence <= 1:
        raise ValueError(f"confidence is {confidence}; say 0.5 (a coin) to 1 (certain).")
    Progress().put("predictions", name, answer=to_plain(answer), confidence=float(confidence))
    return Message(f"Noted: {answer!r}, {confidence:.0%} sure.")


def compare(name: str, actual: Any) -> Message:
    """Hold a prediction against what happened."""
    store = Progress()
    known = store.get("predictions", name)
    if "answer" not in known:
        return Message("No prediction was noted.", (("", f"It is {actual!r}."),))
    right = same(known["answer"], to_plain(actual))
    store.put("predictions", name, right=right)
    verdict = "as you predicted" if right else f"you predicted {known['answer']!r}"
    return Message(
        f"It is {actual!r}: {verdict}.", (("", f"You were {known['confidence']:.0%} sure."),)
    )


def quiz(lesson: int, answers: Sequence[int] | None = None) -> Message:
    """Three questions of a lesson; the same before and after, so that the gain shows.

    Without answers, shows the questions. With three numbers, notes and scores them; the first
    time counts as "before", each later one as "after".
    """
    questions = _questions(lesson)
    if answers is None:
        lines: list[Line] = []
        for number, question in enumerate(questions, start=1):
            lines.append(("", f"{number}. {question.text}"))
            choices = enumerate(question.choices, start=1)
            lines += [("", f"    ({choice}) {text}") for choice, text in choices]
        return Message(f"Lesson {lesson:02d}: three questions", tuple(lines))
    if len(answers) != len(questions):
        raise ValueError(f"Give {len(questions)} answers, as in quiz({lesson}, [1, 2, 1]).")
    for number, (answer, question) in enumerate(zip(answers, questions, strict=True), start=1):
        if answer not in range(1, len(question.choices) + 1):
            raise ValueError(
                f"Answer {number} is {answer!r}; give the number of a choice, "
                f"1 to {len(question.choices)}."
            )
    return _score(lesson, answers)


def _questions(lesson: int) -> Sequence[Question]:
    if lesson not in QUIZZES:
        raise KeyError(f"There is no quiz {lesson!r}. There are: {', '.join(map(str, QUIZZES))}.")
    return QUIZZES[lesson]


def _score(lesson: int, answers: Sequence[int]) -> Message:
    store = Progress()
    right = [a == q.right for a, q in zip(answers, QUIZZES[lesson], strict=True)]
    before = store.get("quizzes", str(lesson)).get("before")
    store.put("quizzes", str(lesson), **{"before" if before is None else "after": sum(right)})
    if before is None:
        return Message(f"Noted: {sum(right)} of 3 before the lesson. Ask again at its end.")
    lines = [
        ("", f"{number}. {'Right' if ok else 'Not quite'}: {question.why}")
        for number, (ok, question) in enumerate(zip(right, QUIZZES[lesson], strict=True), start=1)
    ]
    return Message(f"{sum(right)} of 3 now, {before} before.", tuple(lines))


def _note(exercise: Exercise, result: Result) -> None:
    """Keep the outcome; what once passed stays passed."""
    store = Progress()
    known = store.get("exercises", exercise.id)
    store.put(
        "exercises",
        exercise.id,
        outcome=str(result.outcome),
        passed=bool(known.get("passed")) or result.right,
        tries=int(known.get("tries", 0)) + 1,
    )


def _stage_line(stage: int, known: dict[str, Any]) -> str:
    own = of_stage(stage)
    passed = [exercise for exercise in own if known.get(exercise.id, {}).get("passed")]
    points = f"{sum(e.points for e in passed)} of {sum(e.points for e in own)} points"
    return f"{points}, {len(passed)} of {len(own)} exercises"


def _calibration(predictions: Sequence[dict[str, Any]]) -> str:
    """Share right, mean confidence and the Brier score (Brier 1950; 0 is best)."""
    count = len(predictions)
    right = sum(p["right"] for p in predictions)
    sure = sum(p["confidence"] for p in predictions) / count
    brier = sum((p["confidence"] - p["right"]) ** 2 for p in predictions) / count
    return f"{right} of {count} right, {sure:.0%} sure on average, Brier score {brier:.2f}"


def _code(exercise: Exercise) -> list[str]:
    return exercise.solution.rstrip().splitlines()
