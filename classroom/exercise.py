"""An exercise: one object that holds everything about a task.

From it come the lesson's check, the exercise notebook's cells, the grader's verdict and the test of
the exercise itself. Inputs and outputs are plain data (JSON types, bytes, floats), so that a
learner's code can run elsewhere and what it returns can be compared without trusting it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Arguments: TypeAlias = tuple[Any, ...]
Function: TypeAlias = Callable[..., Any]
NOT_YET = "    raise NotImplementedError"
Harness: TypeAlias = Callable[[Function, Arguments], Any]


@dataclass(frozen=True, slots=True)
class Mistake:
    """A wrong implementation that learners really write, and the sentence that names it.

    `hangs` marks one that never returns on some input.
    """

    name: str
    sentence: str
    function: Function
    hangs: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One public call and why it is worth trying."""

    arguments: Arguments
    why: str = ""


def call(function: Function, arguments: Arguments) -> Any:
    """The usual harness: call the function with its arguments."""
    return function(*arguments)


@dataclass(frozen=True)
class Exercise:
    """One task.

    `reference` is labkit's own function on plain data. `hidden` makes cases from a seeded Random.
    `strategy` describes all legal inputs to Hypothesis, which shrinks a failing one. `off_limits`
    names the modules whose use means that the learner only called labkit's solution. `answer` is
    the body of a model solution, indented, that stands on its own.

    `harness` turns one input into calls of the function and into a finding; a grader runs it apart
    from the learner's code. `scenario` is what the function meets where it runs (a file, a failure
    half-way), one of `classroom.inside.scenarios`; `written` then says how a call reads.

    A grader's sandbox knows no labkit. `packages` names what can be imported there beside Python's
    own and numpy. `lends` maps dotted names of labkit that may be used all the same to the ids of
    the exercises whose model solutions stand in for them. `builds_on` names earlier exercises whose
    function may be called: an error in one of those counts there alone.
    """

    id: str
    stage: int
    title: str
    task: str
    starter: str
    reference: Function
    cases: tuple[Case, ...]
    hidden: Callable[[Random], Iterator[Arguments]]
    strategy: Callable[[], SearchStrategy[Arguments]]
    hints: tuple[str, ...]
    mistakes: tuple[Mistake, ...]
    off_limits: tuple[str, ...]
    answer: str = ""
    points: int = 4
    minutes: int = 15
    core: bool = False
    transfer: bool = False
    harness: Harness = call
    scenario: Function | None = None
    packages: tuple[str, ...] = ()
    lends: Mapping[str, str] = field(default_factory=dict)
    builds_on: tuple[str, ...] = ()
    seconds: float = 2.0
    written: Callable[[Arguments], str] | None = None

    @property
    def signature(self) -> str:
        """What the learner's function starts with: its `def`, up to the colon."""
        definition = self.starter[self.starter.index("def ") :]
        return definition[: definition.index(":\n") + 1]

    def run(self, function: Function, arguments: Arguments) -> Any:
        """What a function does with one input, here and now."""
        if self.scenario is not None:
            function = partial(self.scenario, function)
        return self.harness(function, arguments)

    def call_written(self, arguments: Arguments) -> str:
        """The call with these arguments, as a learner would write it."""
        if self.written is not None:
            return self.written(arguments)
        return f"{self.id}({', '.join(map(repr, arguments))})"

    def hidden_cases(self, seed: int | str) -> list[Arguments]:
        """The cases that this seed makes, none of them public; who grades keeps the seed secret."""
        public = {repr(case.arguments) for case in self.cases}
        made = self.hidden(Random(f"{self.id}-{seed}"))  # noqa: S311 - the seed is the secret
        return [arguments for arguments in made if repr(arguments) not in public]

    @property
    def solution(self) -> str:
        """The source of a model solution: the starter with the answer in place of its `raise`."""
        return self.starter.replace(f"{NOT_YET}\n", f"{self.answer.rstrip()}\n")

    def summary(self) -> dict[str, Any]:
        """What `labkit exercises --json` prints."""
        return {
            "id": self.id,
            "stage": self.stage,
            "title": self.title,
            "points": self.points,
            "minutes": self.minutes,
            "core": self.core,
            "transfer": self.transfer,
            "hints": len(self.hints),
            "mistakes": len(self.mistakes),
            "public_cases": len(self.cases),
            "hidden_cases": len(self.hidden_cases(0)),
        }


def cases(*arguments: Arguments | Case) -> tuple[Case, ...]:
    """Public cases from bare argument tuples or from Case values."""
    return tuple(item if isinstance(item, Case) else Case(item) for item in arguments)


def mistakes(*functions: Function, hangs: Sequence[Function] = ()) -> tuple[Mistake, ...]:
    """Mistakes from functions whose docstring is the sentence that names them."""
    return tuple(
        Mistake(
            function.__name__,
            " ".join((function.__doc__ or "").split()),
            function,
            hangs=function in hangs,
        )
        for function in functions
    )
