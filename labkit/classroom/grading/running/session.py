"""One exercise of one submission, asked case by case; a worker that ends is replaced by another."""

from __future__ import annotations

import builtins
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from labkit.classroom.checking import DIED, NOT_PLAIN, TOO_SLOW, Ran
from labkit.classroom.exercise import Arguments, Exercise
from labkit.classroom.exercises import ALL
from labkit.classroom.grading.running.sandbox import Sandbox
from labkit.classroom.grading.running.worker import Worker, WorkerDiedError, WorkerTooSlowError
from labkit.classroom.grading.types import Cell, Finding, Kind
from labkit.classroom.inside.plain import NotPlainError, to_plain

CELL_SECONDS = 5.0  # for one statement outside any function
PATIENCE = 2.0  # times an exercise's own limit: a grading machine is busier than a learner's
MAX_REPLACED = 2  # workers that a submission may use up on one exercise, beside the first
MAX_SKIPPED = 4  # statements that are left out because they end or hang the process

Place: TypeAlias = tuple[int, int]


class GivenUpError(Exception):
    """The exercise used up its workers; the cases that are left are not run."""


@dataclass(frozen=True, slots=True)
class Said:
    """What came of one case: the result, whether arguments were changed, what was called of labkit,
    the error in words and the learner's line that it struck.

    The error's words are the learner's: of a hidden case they are never shown. What is called and
    the line are taken from the learner's source, so a reply cannot smuggle a case out in them.
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
        skip: dict[Place, Finding],
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
        self.problems: list[tuple[int, int, str]] = []

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    @property
    def used(self) -> tuple[float, float, float]:
        """Seconds on the clock, seconds of CPU, the most memory in MiB."""
        return time.monotonic() - self._began, self._cpu + self._used[0], self._used[1]

    def ask(self, arguments: Arguments) -> Said:
        """What the function does with one input. GivenUpError after too many lost workers."""
        last: list[Mapping[str, Any]] = []

        def remote(*given: Any) -> Any:
            reply = self._reply(given)
            last.append(reply)
            return _value(reply)

        try:
            ran = Ran(to_plain(self._exercise.harness(remote, arguments)))
        except GivenUpError:
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

    def _said(self, ran: Ran, replies: Sequence[Mapping[str, Any]]) -> Said:
        """A result together with what the worker told beside it."""
        reply = replies[-1] if replies else {}
        return Said(
            ran,
            any(item.get("changed") is True for item in replies),
            next((name for item in replies if (name := self._called(item))), ""),
            _text(reply, "said") if ran.raised else "",
            self._line(reply.get("place")) if ran.raised else "",
        )

    def _called(self, reply: Mapping[str, Any]) -> str:
        """What a learner's code called of labkit, by the part of the name that stands in it."""
        name = _text(reply, "delegated")
        last = name.rpartition(".")[2]
        written = last and any(last in cell.source for cell in self._cells)
        return last if written else "labkit" * bool(name)

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
        if isinstance(used, tuple) and len(used) == 2 and all(type(x) is float for x in used):
            self._used = (used[0], max(self._used[1], used[1]))
        return reply

    def _lost(self, how: str) -> Said:
        """A case that cost a worker."""
        self._replaced += 1
        return Said(Ran(raised=how))

    def _started(self) -> Worker:
        """The worker, with all cells run; a statement that loses it is left out the next time."""
        while self._worker is None:
            if self._replaced > MAX_REPLACED:
                raise GivenUpError
            worker = self._worker = Worker(self._sandbox, self._setup(), self._slot)
            place, line = None, 0
            try:
                message = worker.start(CELL_SECONDS)
                while isinstance(message, dict) and "at" in message:
                    place, line = message["at"], message["line"]
                    message = worker.next(CELL_SECONDS)
                self._ready(message)
            except (WorkerTooSlowError, WorkerDiedError, ValueError, TypeError) as error:
                self._end()
                self._leave_out(place, line, isinstance(error, WorkerTooSlowError))
        return self._worker

    def _ready(self, message: Any) -> None:
        """Take the message that all cells have run; ValueError or TypeError if it is another."""
        if not isinstance(message, dict) or message.get("ready") is not True:
            raise ValueError("not ready")
        self.defined = message["defined"] is True
        self.problems = [
            (int(cell), int(line), str(text)[:400]) for cell, line, text in message["problems"]
        ]

    def _leave_out(self, place: Any, line: Any, slow: bool) -> None:
        known = isinstance(place, tuple) and all(type(x) is int for x in (*place, line))
        if not known or place in self._skip or len(self._skip) >= MAX_SKIPPED:
            self._replaced = MAX_REPLACED + 1
            return
        what = f"does not end within {CELL_SECONDS:g} s" if slow else "ends the process"
        self._skip[place] = Finding(
            Kind.LEFT_OUT,
            f"This statement {what}; the rest was run without it.",
            cell=place[0],
            line=line,
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
    name = str(reply.get("raised"))
    if name == NOT_PLAIN:
        raise NotPlainError(str(reply.get("said"))[:200])
    own = vars(builtins).get(str(reply.get("of")), Exception)
    is_value_error = isinstance(own, type) and issubclass(own, ValueError)
    said = str(reply.get("said"))[:400].partition(": ")[2]
    raise _error_class(name, ValueError if is_value_error else Exception)(said)


def _error_class(name: str, of: type[Exception]) -> type[Exception]:
    return type(name if name.isidentifier() else "Error", (of,), {})


def _text(reply: Mapping[str, Any], key: str) -> str:
    value = reply.get(key, "")
    return value[:400] if type(value) is str else ""
