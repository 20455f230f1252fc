"""One exercise of one submission, asked case by case; a worker that ends is replaced by another."""

from __future__ import annotations

import builtins
import sys
import sysconfig
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from classroom.checking import DIED, NOT_PLAIN, TOO_SLOW, Ran
from classroom.exercise import Arguments, Exercise
from classroom.exercises import ALL
from classroom.grading.running.sandbox import GRADER, PACKAGES, Sandbox
from classroom.grading.running.worker import (
    StoppedError,
    Worker,
    WorkerDiedError,
    WorkerTooSlowError,
)
from classroom.grading.types import Cell, Finding, Kind
from classroom.runtime.serialise import NotPlainError, to_plain

CELL_SECONDS = 5.0  # for one statement outside any function
START_SECONDS = 20.0  # for all of them, the start of the process included
EXERCISE_SECONDS = 90.0  # on the clock, for all that an exercise may cost
PATIENCE = 2.0  # times an exercise's own limit: a grading machine is busier than a learner's
MAX_REPLACED = 2  # workers that a submission may use up on one exercise, beside the first
MAX_SKIPPED = 4  # statements that are left out because they end or hang the process

Position: TypeAlias = tuple[int, int]
_PATHS = sorted(
    {sysconfig.get_path("stdlib"), sys.base_prefix, sys.prefix, GRADER, PACKAGES},
    key=len,
    reverse=True,
)


class GivenUpError(Exception):
    """The exercise used up its workers; the cases that are left are not run."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of one case: the result, whether arguments were changed, what was called of labkit,
    the error in words and the learner's line that it struck.

    The error's words are the learner's: of a hidden case they are never shown. What is called is a
    name that we know, and the line is taken from the source that we have, so that a reply cannot
    smuggle a case out in them.
    """

    ran: Ran
    changed: bool = False
    delegated: str = ""
    error: str = ""
    line: str = ""


class Session:
    """Asks a learner's function. Use as a context manager: it ends its worker.

    `skip` lists statements that an earlier session found to end or hang the process; what this one
    finds is added, so that nobody waits for the same statement twice.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        exercise: Exercise,
        cells: Sequence[Cell],
        skip: dict[Position, Finding],
        slot: int,
    ) -> None:
        self._sandbox, self._exercise, self._slot = sandbox, exercise, slot
        self._cells, self._skip = cells, skip
        self._worker: Worker | None = None
        self._replaced = 0
        self._cpu = 0.0  # of the workers that ended
        self._used = (0.0, 0.0)
        self._began = time.monotonic()
        self.defined = True
        self.slow = False  # did it start too slowly to be asked anything?
        self.problems: list[str] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def used(self) -> tuple[float, float, float]:
        """Seconds on the clock, seconds of CPU, the most memory in MiB."""
        return time.monotonic() - self._began, self._cpu + self._used[0], self._used[1]

    def ask(self, arguments: Arguments) -> Reply:
        """What the function does with one input. GivenUpError after too many lost workers, or when
        the time for the exercise is up."""
        if time.monotonic() - self._began > EXERCISE_SECONDS:
            self._give_up()
            return Reply(Ran(raised=TOO_SLOW))
        last: list[Mapping[str, Any]] = []

        def remote(*given: Any) -> Any:
            reply = self._reply(given)
            last.append(reply)
            return _value(reply)

        try:
            ran = Ran(to_plain(self._exercise.harness(remote, arguments)))
        except (GivenUpError, StoppedError):
            raise
        except WorkerTooSlowError:
            return self._lost(TOO_SLOW)
        except WorkerDiedError:
            return self._lost(DIED)
        except NotPlainError:
            ran = Ran(raised=NOT_PLAIN)
        except Exception as error:
            ran = Ran(raised=type(error).__name__)
        return self._said(ran, last)

    def _said(self, ran: Ran, replies: Sequence[Mapping[str, Any]]) -> Reply:
        """A result together with what the worker told beside it."""
        reply = replies[-1] if replies else {}
        return Reply(
            ran,
            any(item.get("changed") is True for item in replies),
            next((name for item in replies if (name := self._called(item))), ""),
            _text(reply, "said") if ran.raised else "",
            self._line(reply.get("place")) if ran.raised else "",
        )

    def _called(self, reply: Mapping[str, Any]) -> str:
        """What a learner's code called of labkit: one of the names that an exercise knows."""
        name = _text(reply, "delegated")
        last = name.rpartition(".")[2]
        known = last in ALL or any(off.endswith(f".{last}") for off in self._exercise.off_limits)
        return last if known else "own functions" * bool(name)

    def _line(self, place: Any) -> str:
        """A learner's own line: the text comes from the source that we have."""
        if not isinstance(place, tuple) or len(place) != 2:
            return ""
        for cell in self._cells:
            lines = cell.source.splitlines()
            if cell.number == place[0] and place[1] in range(1, len(lines) + 1):
                text = lines[place[1] - 1].strip()[:200]
                return f"cell {cell.number}, line {place[1]}: {text}"
        return ""

    def _reply(self, arguments: Arguments) -> Mapping[str, Any]:
        worker = self._started()
        try:
            reply = worker.ask(arguments, self._exercise.seconds * PATIENCE)
            if not isinstance(reply, dict):
                raise WorkerDiedError
        except (WorkerTooSlowError, WorkerDiedError):
            self._end()
            raise
        used = reply.get("used")
        if isinstance(used, tuple) and len(used) == 2 and all(map(_is_a_figure, used)):
            self._used = (used[0], max(self._used[1], used[1]))
        return reply

    def _give_up(self) -> None:
        self._replaced = MAX_REPLACED + 1
        self._end()

    def _lost(self, how: str) -> Reply:
        """A case that cost a worker."""
        self._replaced += 1
        return Reply(Ran(raised=how))

    def _started(self) -> Worker:
        """The worker, with all cells run; a statement that loses it is left out the next time."""
        while self._worker is None:
            if self._replaced > MAX_REPLACED:
                raise GivenUpError
            self._worker = Worker(self._sandbox, self._setup(), self._slot)
            reached = _Reached(self._cells)
            try:
                self._ready(self._run_cells(self._worker, reached))
            except (WorkerTooSlowError, WorkerDiedError, ValueError, TypeError) as error:
                self._end()
                self._leave_out(reached, isinstance(error, WorkerTooSlowError))
        return self._worker

    def _run_cells(self, worker: Worker, reached: _Reached) -> Any:
        """Follow the worker through the statements; the message that comes after the last one."""
        end = time.monotonic() + START_SECONDS
        message = worker.start(START_SECONDS)
        while isinstance(message, dict) and "at" in message:
            reached.move(message["at"], message.get("line"))
            left = end - time.monotonic()
            if left <= 0:
                reached.place = None  # no single statement is to blame
                raise WorkerTooSlowError
            message = worker.next(min(CELL_SECONDS, left))
        return message

    def _ready(self, message: Any) -> None:
        """Take the message that all cells have run; ValueError or TypeError if it is another."""
        if not isinstance(message, dict) or message.get("ready") is not True:
            raise ValueError("not ready")
        self.defined = message.get("defined") is True
        self.problems = [
            f"cell {int(cell)}, line {int(line)}: {without_paths(str(text)[:400])}"
            for cell, line, text in message.get("problems", [])[:20]
        ]

    def _leave_out(self, reached: _Reached, slow: bool) -> None:
        place = reached.place
        if place is None or place in self._skip or len(self._skip) >= MAX_SKIPPED:
            self.slow = slow
            self._give_up()
            return
        what = f"does not end within {CELL_SECONDS:g} s" if slow else "ends the process"
        self._skip[place] = Finding(
            Kind.LEFT_OUT,
            f"This statement {what}; the rest was run without it.",
            cell=place[0],
            line=reached.line,
            repaired=True,
        )

    def _setup(self) -> dict[str, Any]:
        exercise = self._exercise
        return {
            "cells": [(cell.number, cell.source) for cell in self._cells],
            "skip": list(self._skip),
            "function": exercise.id,
            "answering": [cell.number for cell in self._cells if exercise.id in cell.exercises],
            "scenario": exercise.scenario.__name__ if exercise.scenario else "",
            "packages": list(exercise.packages),
            "lends": {name: (id_, ALL[id_].solution) for name, id_ in exercise.lends.items()},
        }

    def _end(self) -> None:
        if self._worker is not None:
            self._worker.close()
            self._worker = None
            self._cpu, self._used = self._cpu + self._used[0], (0.0, self._used[1])


def _value(reply: Mapping[str, Any]) -> Any:
    """The value in a reply, or its error, as a call here would give it."""
    if "value" in reply:
        return to_plain(reply["value"])
    name = _text(reply, "raised", 60)
    if name == "NotPlain":
        raise NotPlainError(_text(reply, "said"))
    own = vars(builtins).get(_text(reply, "of"), Exception)
    is_value_error = isinstance(own, type) and issubclass(own, ValueError)
    said = _text(reply, "said").partition(": ")[2]
    raise _error_class(name, ValueError if is_value_error else Exception)(said)


def _error_class(name: str, of: type[Exception]) -> type[Exception]:
    return type(name if name.isidentifier() else "Error", (of,), {})


def _text(reply: Mapping[str, Any], key: str, limit: int = 400) -> str:
    value = reply.get(key, "")
    return without_paths(value[:limit]) if type(value) is str else ""


def _is_a_figure(value: Any) -> bool:
    return type(value) is float and 0 <= value < 1e6


def without_paths(text: str) -> str:
    """A text without where Python lies on this machine, which may name its owner."""
    for path in _PATHS:
        text = text.replace(path, "…")
    return text


class _Reached:
    """How far a worker says that it has come. It can only go forward, through cells that exist."""

    def __init__(self, cells: Sequence[Cell]) -> None:
        self._lines = {cell.number: cell.source.count("\n") + 1 for cell in cells}
        self._order = {cell.number: index for index, cell in enumerate(cells)}
        self.place: Position | None = None
        self.line = 0

    def move(self, place: Any, line: Any) -> None:
        """Take a message's place; WorkerDiedError if it is none, or leads back."""
        known = isinstance(place, tuple) and len(place) == 2
        if not known or not all(type(number) is int for number in (*place, line)):
            raise WorkerDiedError
        if place[0] not in self._order or not 1 <= line <= self._lines[place[0]]:
            raise WorkerDiedError
        if self.place is not None and self._rank(place) <= self._rank(self.place):
            raise WorkerDiedError
        self.place, self.line = (place[0], place[1]), line

    def _rank(self, place: Position) -> tuple[int, int]:
        return self._order[place[0]], place[1]
