"""An exercise: one object that holds everything about a task.

From it come the lesson's check, the exercise notebook's cells, the grader's verdict and the test of
the exercise itself. Inputs and outputs are plain data (JSON types, bytes, floats), so that a
learner's code can run elsewhere and what it returns can be compared without trusting it.

One exercise is one file, `classroom/exercises/<stage>_<word>/<exercise>.py`. `docs/authoring.md`
says how to write one.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from random import Random
from types import FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from classroom.starter import NOT_YET, source_of

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Arguments: TypeAlias = tuple[Any, ...]
Function: TypeAlias = Callable[..., Any]
Harness: TypeAlias = Callable[[Function, Arguments], Any]
Strategy: TypeAlias = "SearchStrategy[Arguments]"


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


def case(why: str, *arguments: Any) -> Case:
    """A public case: why it is worth trying, and the arguments of the call."""
    return Case(arguments, why)


def call(function: Function, arguments: Arguments) -> Any:
    """The usual harness: call the function with its arguments."""
    return function(*arguments)


@dataclass(frozen=True)
class Exercise:
    """One task.

    `model_solution` is a function of the exercise's name that stands on its own: the learner's
    starter is its signature and its docstring. `reference` is labkit's own way on plain data, or
    the model solution where labkit has none: it says what is right. `place` orders the exercises of
    a stage as its lesson does.

    Two things are read from the module of the model solution, unless they are given. `text` is its
    docstring: the title, a blank line, the task in Markdown. `mistakes` are its other public
    functions, the docstring of each being the sentence that names it; `hangs` names one of them
    that never returns on some input.

    `hidden` makes cases from a seeded Random. `strategy` describes all legal inputs to Hypothesis,
    which shrinks a failing one. `off_limits` names what of labkit a learner must not call, because
    it is the solution; `classroom.exercises` never may be.

    `harness` turns one input into calls of the function and into a finding; a grader runs it apart
    from the learner's code. `scenario` is what the function meets where it runs (a file, a failure
    half-way), one of `classroom.runtime.scenarios`; `written` then says how a call reads.

    A grader's sandbox knows no labkit. `packages` names what can be imported there beside Python's
    own and numpy. `lends` maps dotted names of labkit that may be used all the same to the ids of
    the exercises whose model solutions stand in for them. `builds_on` names earlier exercises whose
    function may be called: an error in one of those counts there alone.
    """

    model_solution: Function
    reference: Function
    cases: tuple[Case, ...]
    hidden: Callable[[Random], Iterator[Arguments]]
    strategy: Callable[[], Strategy]
    hints: tuple[str, ...]
    off_limits: tuple[str, ...]
    text: str = ""
    mistakes: tuple[Mistake, ...] = ()
    hangs: str = ""
    place: int = 1
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

    def __post_init__(self) -> None:
        module = sys.modules[self.model_solution.__module__]
        object.__setattr__(self, "text", self.text or module.__doc__ or "")
        object.__setattr__(self, "mistakes", self.mistakes or tuple(self._mistakes_of(module)))

    def _mistakes_of(self, module: ModuleType) -> Iterator[Mistake]:
        for name, value in vars(module).items():
            if isinstance(value, FunctionType) and value.__module__ == module.__name__:
                if name != self.id and not name.startswith("_"):
                    sentence = " ".join((value.__doc__ or "").split())
                    yield Mistake(name, sentence, value, hangs=name == self.hangs)

    @property
    def id(self) -> str:
        return self.model_solution.__name__

    @property
    def stage(self) -> int:
        """The number of the folder that the exercise stands in; 0 for one outside of the course."""
        folder = re.search(r"\.s(\d\d)_", self.model_solution.__module__)
        return int(folder[1]) if folder else 0

    @property
    def title(self) -> str:
        return self.text.partition("\n\n")[0].strip()

    @property
    def task(self) -> str:
        """What is asked, each paragraph and each item of a list on one line."""
        body = self.text.partition("\n\n")[2].strip()
        return re.sub(r"(?<!\n)\n(?!\n|- |\d+\. ) *", " ", body)

    @property
    def starter(self) -> str:
        """The cell that a learner begins with."""
        return f"{source_of(self.model_solution).head}\n{NOT_YET}\n"

    @property
    def answer(self) -> str:
        """The body of the model solution, indented."""
        return source_of(self.model_solution).body

    @property
    def solution(self) -> str:
        """The source of the model solution, with all that it needs above it."""
        source = source_of(self.model_solution)
        return f"{source.head}\n{source.body}\n"

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
