"""Checking a function against an exercise: an outcome, and a message that teaches.

The order is the order of usefulness to a learner: a mistake that is recognised is named before a
failing input is shown, and the failing input shown is the smallest that Hypothesis finds.
"""

from __future__ import annotations

import contextlib
import copy
import io
import linecache
import sys
import traceback
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from types import CodeType, FrameType
from typing import Any, TypeAlias

from classroom.exercise import Arguments, Exercise, Function, Mistake
from classroom.limits import TooSlowError, call_with_limit, raised_inside
from classroom.runtime.serialise import NotPlainError, same, to_plain

PROBES = 12  # hidden cases tried in a lesson, beside the public ones
LESSON_SEED = 0
EXAMPLES = 150
# In the place of an error's name; no error is called so.
TOO_SLOW = "no result in time"
NOT_PLAIN = "no plain data"
DIED = "ended the process"  # these two where a worker ran the function: it ended, or was not asked
NOT_RUN = "not run any more"
_NO_RESULT = (TOO_SLOW, NOT_PLAIN, DIED, NOT_RUN)
_EXERCISES = "classroom.exercises"
_MODEL_SOLUTIONS = (_EXERCISES, "classroom.exercise.Exercise", "classroom.starter")
_INTERRUPTIONS = (KeyboardInterrupt, SystemExit)


class Outcome(StrEnum):
    """What came of a check."""

    NOT_ATTEMPTED = "not attempted"
    WRONG = "wrong"
    CRASHED = "crashed"
    TOO_SLOW = "too slow"
    DELEGATED = "delegated"
    RIGHT = "right"
    DIED = "ended the process"  # a grader's alone: in a lesson, the kernel would have ended


@dataclass(frozen=True, slots=True)
class Ran:
    """What one call came to: a plain value, or the name of what it raised."""

    value: Any = None
    raised: str = ""

    def __str__(self) -> str:
        if self.raised:
            return self.raised if self.raised in _NO_RESULT else f"raises {self.raised}"
        return repr(self.value)


@dataclass(frozen=True, slots=True)
class Result:
    """A check's outcome. `arguments`, `expected` and `got` show the failing call, if one failed;
    `mistake` is the sentence of a recognised mistake; `line` is the learner's own."""

    exercise: str
    outcome: Outcome
    message: str = ""
    mistake: str = ""
    arguments: Arguments | None = None
    expected: Ran | None = None
    got: Ran | None = None
    line: str = ""

    @property
    def right(self) -> bool:
        return self.outcome is Outcome.RIGHT


class _Found(BaseException):
    """Ends a check early with its result. Not an Exception: a search for inputs lets it through."""

    def __init__(self, result: Result) -> None:
        super().__init__(result.outcome)
        self.result = result


class _HangsError(BaseException):
    """Ends a search for the smallest failing input: each further try could cost the limit again."""

    def __init__(self, arguments: Arguments) -> None:
        super().__init__(arguments)
        self.arguments = arguments


Behaviour: TypeAlias = list[Ran]


def check_function(exercise: Exercise, function: Function) -> Result:
    """Check a learner's function. What it prints, and what libraries say of its calls, is
    swallowed; what it changes is noticed."""
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            _check(exercise, function)
        except _Found as found:
            return found.result
    return Result(exercise.id, Outcome.RIGHT, "Every case and property holds.")


def run_reference(exercise: Exercise, arguments: Arguments) -> Ran:
    """What labkit's own function does with this input."""
    return _run_trusted(exercise, exercise.reference, arguments)


def _check(exercise: Exercise, function: Function) -> None:
    """Raise _Found unless the function is right."""
    learner = _Learner(exercise, function)
    probes = [case.arguments for case in exercise.cases]
    probes += exercise.hidden_cases(LESSON_SEED)[:PROBES]
    failing = next((probe for probe in probes if learner.fails(probe)), None)
    if failing is not None and learner.run(failing).raised == TOO_SLOW:
        probes = probes[: probes.index(failing) + 1]  # each further one would cost the limit again
        raise _Found(learner.verdict(failing, _recognise(exercise, learner, probes)))
    smallest = learner.smallest_failing_input() or failing
    if smallest is None:
        return
    probes += [] if failing is not None else [smallest]
    raise _Found(learner.verdict(smallest, _recognise(exercise, learner, probes)))


class _Learner:
    """The learner's function, called with care."""

    def __init__(self, exercise: Exercise, function: Function) -> None:
        self.exercise, self.function = exercise, function
        self._errors: dict[str, BaseException] = {}
        self._mutated: set[str] = set()
        self._seen: dict[str, Ran] = {}

    def run(self, arguments: Arguments) -> Ran:
        """What the function does with this input; the same input is tried once."""
        key = repr(arguments)
        if key not in self._seen:
            self._seen[key] = self._run(arguments)
        return self._seen[key]

    def _run(self, arguments: Arguments) -> Ran:
        """One call. A starter and a delegated solution end the check at once."""
        given = copy.deepcopy(arguments)
        watch = _Watch(self.exercise)
        try:
            value = call_with_limit(
                lambda: self.exercise.run(watch.over(self.function), given), self.exercise.seconds
            )
            ran = Ran(to_plain(value))
        except NotImplementedError:
            raise _Found(_not_attempted(self.exercise)) from None
        except TooSlowError:
            ran = Ran(raised=TOO_SLOW)
        except NotPlainError as error:
            self._errors[repr(arguments)] = error
            ran = Ran(raised=NOT_PLAIN)
        except BaseException as error:
            if isinstance(error, KeyboardInterrupt) and not raised_inside(error):
                raise
            self._errors[repr(arguments)] = error
            ran = Ran(raised=type(error).__name__)
        if watch.delegated:
            raise _Found(_delegated(self.exercise, watch.delegated))
        if not ran.raised and not _unchanged(given, arguments):
            self._mutated.add(repr(arguments))
        return ran

    def fails(self, arguments: Arguments) -> bool:
        ran, expected = self.run(arguments), run_reference(self.exercise, arguments)
        return not agree(ran, expected) or repr(arguments) in self._mutated

    def fails_in_a_search(self, arguments: Arguments) -> bool:
        if self.run(arguments).raised == TOO_SLOW:
            raise _HangsError(arguments)
        return self.fails(arguments)

    def fails_where_it_should_not_raise(self, arguments: Arguments) -> bool:
        raises = run_reference(self.exercise, arguments).raised
        return not raises and self.fails_in_a_search(arguments)

    def smallest_failing_input(self) -> Arguments | None:
        """The smallest input that Hypothesis finds to fail; a legal one, if there is such a one."""
        import hypothesis
        from hypothesis.errors import HypothesisException

        settings = hypothesis.settings(
            max_examples=EXAMPLES,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(hypothesis.HealthCheck),
        )
        try:
            for predicate in (self.fails_where_it_should_not_raise, self.fails_in_a_search):
                with contextlib.suppress(HypothesisException):
                    return hypothesis.find(self.exercise.strategy(), predicate, settings=settings)
        except _HangsError as hangs:
            return hangs.arguments
        return None

    def verdict(self, arguments: Arguments, mistake: Mistake | None) -> Result:
        """The result for a failing input."""
        got, expected = self.run(arguments), run_reference(self.exercise, arguments)
        error = self._errors.get(repr(arguments))
        outcome, message = Outcome.WRONG, "One input gives another result than expected."
        if got.raised == TOO_SLOW:
            outcome = Outcome.TOO_SLOW
            message = f"One input had no result within {self.exercise.seconds:g} s."
        elif got.raised == NOT_PLAIN:
            message = (
                f"What you return is no plain data: {error}. "
                "Return text, numbers, bytes, and lists or dictionaries of them."
            )
        elif error is not None and not expected.raised:
            outcome, message = Outcome.CRASHED, _said(error)
        elif repr(arguments) in self._mutated:
            message = "The function changes the values that it was given; its caller needs them."
        return Result(
            self.exercise.id,
            outcome,
            message,
            mistake.sentence if mistake else "",
            arguments,
            expected,
            got,
            own_line(error, self.function) if error is not None else "",
        )


class _Watch:
    """A profile function that notices calls into the modules, or of the functions, off limits."""

    def __init__(self, exercise: Exercise) -> None:
        own = _MODEL_SOLUTIONS if exercise.off_limits else ()
        self._off_limits = tuple(f"{name}." for name in (*exercise.off_limits, *own))
        self._lent = frozenset(exercise.lends.values())
        self.delegated = ""

    def over(self, function: Function) -> Function:
        """The function, watched; what a harness does around it is not."""

        def watched(*arguments: Any) -> Any:
            sys.setprofile(self)
            try:
                return function(*arguments)
            finally:
                sys.setprofile(None)

        return watched

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and not self.delegated:
            module = frame.f_globals.get("__name__", "")
            name = f"{module}.{frame.f_code.co_qualname}"
            if f"{name}.".startswith(self._off_limits) and not self._is_lent(module):
                self.delegated = name

    def _is_lent(self, module: str) -> bool:
        """Is this the file of an exercise whose function a lesson lends to this one?"""
        return module.startswith(_EXERCISES) and module.rpartition(".")[2] in self._lent


def recognise(
    mistakes: Sequence[Mistake],
    expected: Behaviour,
    behaviour: Behaviour,
    run: Callable[[Mistake, int], Ran],
) -> Mistake | None:
    """The known mistake that behaves just like the learner's function on every probe, or at least
    on all those that are legal: whoever also forgot to refuse bad input gets its sentence too.

    `run(mistake, number)` says what a mistake does on the probe of that number.
    """
    legal = [number for number, right in enumerate(expected) if not right.raised]
    for numbers in (range(len(expected)), legal):
        if all(agree(behaviour[number], expected[number]) for number in numbers):
            continue
        for mistake in mistakes:
            if all(agree(behaviour[number], run(mistake, number)) for number in numbers):
                return mistake
    return None


def _recognise(
    exercise: Exercise, learner: _Learner, probes: Sequence[Arguments]
) -> Mistake | None:
    behaviour = [learner.run(probe) for probe in probes]

    def run(mistake: Mistake, number: int) -> Ran:
        return run_mistake(exercise, mistake, probes[number], behaviour[number])

    expected = [run_reference(exercise, probe) for probe in probes]
    return recognise(exercise.mistakes, expected, behaviour, run)


def run_mistake(exercise: Exercise, mistake: Mistake, arguments: Arguments, ran: Ran) -> Ran:
    """What a known mistake does where the learner's function did `ran`; one that hangs is
    waited for a moment only."""
    if not mistake.hangs:
        return _run_trusted(exercise, mistake.function, arguments)
    try:
        value = call_with_limit(
            lambda: exercise.run(mistake.function, copy.deepcopy(arguments)),
            0.2 if ran.raised == TOO_SLOW else 0.5,
        )
        return Ran(to_plain(value))
    except TooSlowError:
        return Ran(raised=TOO_SLOW)
    except Exception as error:
        return Ran(raised=type(error).__name__)


def _run_trusted(exercise: Exercise, function: Function, arguments: Arguments) -> Ran:
    """A call of our own code: no thread, no limit."""
    try:
        return Ran(to_plain(exercise.run(function, copy.deepcopy(arguments))))
    except _INTERRUPTIONS:
        raise
    except Exception as error:
        return Ran(raised=type(error).__name__)


def agree(left: Ran, right: Ran) -> bool:
    """Did two calls come to the same?"""
    return left.raised == right.raised and same(left.value, right.value)


def _unchanged(given: Arguments, arguments: Arguments) -> bool:
    """Were the arguments left as they were? What cannot be compared as plain data is let be."""
    try:
        return same(to_plain(list(given)), to_plain(list(arguments)))
    except NotPlainError:
        return True


def _not_attempted(exercise: Exercise) -> Result:
    return Result(exercise.id, Outcome.NOT_ATTEMPTED, "The starter is still as it was. Go ahead!")


def _delegated(exercise: Exercise, name: str) -> Result:
    return Result(
        exercise.id,
        Outcome.DELEGATED,
        f"Your function calls {name}, which is the solution. Write it yourself.",
    )


def _said(error: BaseException) -> str:
    """The name and the message of a learner's error, whatever its `__str__` does."""
    try:
        return f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}"


def own_line(error: BaseException, function: Function) -> str:
    """The last line of the learner's own code in a traceback, counted from its function's `def`.

    A helper that stands in the same cell or file is named: its lines have a count of their own.
    """
    code = getattr(function, "__code__", None)
    if not isinstance(code, CodeType):
        return ""
    owner, lines = code, []
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename != code.co_filename:
            continue
        if not frame.f_code.co_name.startswith("<"):  # a comprehension belongs to its function
            owner = frame.f_code
        lines.append(_line(owner, number, code))
    # A recursion without end fails in the act of calling, where the line is still the `def`.
    return next((line for line in reversed(lines) if ": def " not in line), "")


def _line(code: CodeType, number: int, checked: CodeType) -> str:
    place = "" if code is checked else f" of {code.co_name}"
    text = linecache.getline(code.co_filename, number).strip()
    return f"line {number - code.co_firstlineno + 1}{place}: {text}".strip()
