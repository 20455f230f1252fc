"""The program inside the sandbox: it runs a learner's cells, then one function, case by case.

It reads messages (`protocol`) from standard input and answers on what was standard output: first
one message with everything needed, then one a case. Nothing in this process knows what is right.
"""

from __future__ import annotations

import builtins
import os
import sys
import time
import traceback
from collections.abc import Mapping
from functools import partial
from types import ModuleType
from typing import Any, BinaryIO, TypeAlias

try:  # here, since a learner's code may replace what imports
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

from . import scenarios
from .cells import kind_name, run_cells, said
from .guard import CELL, set_guard
from .import_stub import ImportStub, set_import_stub
from .protocol import dumps, loads, values_in
from .serialise import NotPlainError, same, to_plain

Message: TypeAlias = dict[str, Any]
MAX_PARTS = 5_000  # values in it
MAX_REPLY = 64_000  # bytes; the longest right answer has some four hundred
_FORGOTTEN = (
    "runtime",
    "json",
    "base64",
    "ast",
    "tempfile",
)  # a learner's import gets its own copy


def main(packages: str) -> None:
    """Serve one exercise of one submission until the other side closes."""
    requests, replies = _channels()
    setup: Message = loads(requests.readline())
    limit(setup["limits"], setup["user"])
    sys.path[:] = [*sys.path[1:], packages]  # the first is this program's own
    lent = {dotted: _lent(source, name) for dotted, (name, source) in setup["lends"].items()}
    namespace = _main_module()
    stub = set_import_stub(lent, _FORGOTTEN)
    set_guard()

    def send(message: Message) -> None:
        replies.write(dumps(message))

    problems, function = run_cells(
        setup["cells"],
        namespace,
        set(setup["skip"]),
        (setup["function"], setup["answering"]),
        lambda place, line: send({"at": place, "line": line}),
    )
    stub.called.clear()
    send({"ready": True, "problems": problems, "defined": function is not None})
    if setup["scenario"]:
        function = partial(getattr(scenarios, setup["scenario"]), function)
    for line in iter(requests.readline, b""):
        replies.write(_answer(function, line, stub))
    os._exit(0)  # whatever a learner has registered for the end


def limit(limits: Mapping[str, int], user: int) -> None:
    """Take on the limits, by their names in `resource`; give up root for `user`, if it is not 0."""
    if resource is None:
        return
    for name, most in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}", None)
        if kind is None:
            continue
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (most, most))
        except (OSError, ValueError):  # macOS does not know all of them
            continue
    if user:
        os.setgroups([])
        os.setresgid(user, user, user)
        os.setresuid(user, user, user)


def _channels() -> tuple[BinaryIO, BinaryIO]:
    """The two ends for messages. What a learner prints or reads goes nowhere."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb", buffering=0)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, replies


def _main_module() -> dict[str, Any]:
    """A fresh `__main__` for the learner, as a notebook has."""
    module = ModuleType("__main__")
    sys.modules["__main__"] = module
    return module.__dict__


def _lent(source: str, name: str) -> Any:
    namespace: dict[str, Any] = {"__name__": "lent"}
    exec(source, namespace)  # noqa: S102 - a model solution of our own
    return namespace[name]


def _answer(function: Any, line: bytes, stub: ImportStub) -> bytes:
    """One call, and the line that says what came of it."""
    given, kept = loads(line), loads(line)
    try:
        reply: Message = {"value": to_plain(function(*given)), "changed": _changed(given, kept)}
    except NotPlainError as error:
        reply = {"raised": "NotPlain", "said": str(error)}
    except BaseException as error:
        reply = _raised(error)
    reply["used"] = _used()
    reply["delegated"] = stub.called[0] if stub.called else ""
    answer = dumps(reply)
    if len(answer) > MAX_REPLY or values_in(answer) > MAX_PARTS:
        said = "it is larger than anything an exercise asks for"
        return dumps({"raised": "NotPlain", "said": said})
    return answer


def _used() -> tuple[float, float]:
    """Seconds of CPU and the most memory in MiB so far; 0 where the system does not say."""
    if resource is None:
        return time.process_time(), 0.0
    per_mebibyte = 1 << 20 if sys.platform == "darwin" else 1 << 10
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / per_mebibyte


def _changed(given: Any, kept: Any) -> bool:
    """Were the arguments changed? What is no plain data any more was."""
    try:
        return not same(to_plain(list(given)), to_plain(list(kept)))
    except NotPlainError:
        return True


def _raised(error: BaseException) -> Message:
    """The name of an error, Python's own class that it is of, its message, and the learner's place:
    the number of the cell and the line in it."""
    kinds: tuple[type, ...] = type.__dict__["__mro__"].__get__(type(error))
    python = vars(builtins)
    own = next(kind for kind in kinds if python.get(kind_name(kind)) is kind)
    places = [
        (int(frame.f_code.co_filename.removeprefix(CELL)), number)
        for frame, number in traceback.walk_tb(error.__traceback__)
        if frame.f_code.co_filename.startswith(CELL)
    ]
    return {
        "raised": kind_name(type(error))[:60],
        "of": kind_name(own),
        "said": said(error),
        "place": places[-1] if places else (0, 0),
    }
