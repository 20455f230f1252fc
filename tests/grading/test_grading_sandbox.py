"""classroom.grading.running and what runs inside: the fence around a learner's code, tried
from within."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.grading.running import sandbox as fence
from classroom.grading.running.sandbox import Sandbox, can_isolate, sandbox
from classroom.grading.running.worker import Worker, WorkerDiedError, WorkerTooSlowError
from classroom.runtime import protocol
from classroom.runtime.serialise import MAX_DEPTH, same, to_plain
from labkit.types import LabError

needs_sandbox = pytest.mark.skipif(not can_isolate(), reason="bubblewrap does not work here")


@pytest.fixture(scope="module", params=["bubblewrap", "none"])
def box(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    """Both ways to run code; what follows here is harmless, or held by limits alone."""
    if request.param == "bubblewrap" and not can_isolate():
        pytest.skip("bubblewrap does not work here")
    with sandbox(unsafe=True) as found:
        yield Sandbox(request.param == "bubblewrap", found.grader, found.packages)


@pytest.fixture(scope="module")
def fenced() -> Iterator[Sandbox]:
    if not can_isolate():
        pytest.skip("bubblewrap does not work here")
    with sandbox() as found:
        yield found


class Started:
    """A worker with one cell run."""

    def __init__(self, box: Sandbox, source: str, **setup: Any) -> None:
        message = {
            "cells": [(1, source)],
            "skip": [],
            "function": "f",
            "answering": [],
            "scenario": "",
            "packages": [],
            "lends": {},
            **setup,
        }
        self.worker = Worker(box, message, 0)
        self.places = []
        self.first = self.worker.start(10)
        while "at" in self.first:
            self.places.append(self.first["at"])
            self.first = self.worker.next(10)

    def __enter__(self) -> Started:
        return self

    def __exit__(self, *_: object) -> None:
        self.worker.close()

    def ask(self, *arguments: Any, seconds: float = 10) -> Any:
        return self.worker.ask(arguments, seconds)


def run(box: Sandbox, body: str, *arguments: Any, **setup: Any) -> Any:
    """The reply to one call of a function with this body; `x` is its first argument."""
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    with Started(box, f"def f(*xs):\n    x = xs[0] if xs else None\n{lines}", **setup) as started:
        return started.ask(*arguments)


def test_the_worker_imports_nothing_after_a_learners_code(box: Sandbox) -> None:
    """Whatever a cell has done to importing, the functions beside it are still asked."""
    source = (
        "import builtins, sys\n"
        "def broken(*_, **__):\n    raise ImportError('no')\n"
        "builtins.__import__ = broken\nsys.meta_path.clear()\nsys.modules.clear()\n"
        "def f(x):\n    return 2 * x\n"
    )
    with Started(box, source) as started:
        assert started.first["problems"] == []
        assert started.ask(21)["value"] == 42
        assert started.ask(None)["raised"] == "TypeError"


# --- what crosses --------------------------------------------------------------------------------

KEYS = st.integers(-protocol.MAX_WHOLE_KEY, protocol.MAX_WHOLE_KEY)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.text() | KEYS | st.none(), inner, max_size=3)
    ),
    max_leaves=12,
)


def kinds(value: Any) -> Any:
    """The types inside a value, in its order."""
    if isinstance(value, list | tuple):
        return type(value), [kinds(item) for item in value]
    if isinstance(value, dict):
        return dict, [(key, kinds(item)) for key, item in value.items()]
    return type(value)


@given(PLAIN)
def test_plain_data_crosses_unchanged(value: Any) -> None:
    line = protocol.dumps(value)
    assert line.count(b"\n") == 1
    back = protocol.loads(line)
    assert kinds(back) == kinds(value)
    assert same(to_plain(back), to_plain(value))


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_a_value_or_a_protocol_error(line: bytes) -> None:
    with contextlib.suppress(protocol.ProtocolError):
        to_plain(protocol.loads(line))


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"{",
        b"[" * 200_000,
        b'{"bytes": "?"}',
        b'{"bytes": 1}',
        b'{"dictionary": [[{"dictionary": []}, 1]]}',
        b'{"dictionary": [1]}',
        b'{"tuple": 1}',
        b'{"a": 1, "tuple": []}',
        b"{}",
        b"\xff",
        b"1" * 5000,
        protocol.dumps({k * ((1 << 61) - 1): 0 for k in range(1, 20)}),  # keys with one hash
        protocol.dumps(dict.fromkeys(map(str, range(protocol.MAX_KEYS + 1)))),
    ],
)
def test_a_forged_line_is_a_protocol_error(line: bytes) -> None:
    with pytest.raises(protocol.ProtocolError):
        protocol.loads(line)


# --- how cells run -------------------------------------------------------------------------------


def test_a_function_is_called_with_plain_data(box: Sandbox) -> None:
    reply = run(box, "return [x, len(x), {'a': b'b'}]", (1, 2))
    assert reply["value"] == [[1, 2], 2, {"a": b"b"}]
    assert reply["changed"] is False


def test_numpy_is_there_and_pandas_is_not(box: Sandbox) -> None:
    assert run(box, "import numpy\nreturn numpy.arange(3)")["value"] == [0, 1, 2]
    assert run(box, "import pandas")["raised"] == "ModuleNotFoundError"


def test_a_package_that_an_exercise_names_is_there(box: Sandbox) -> None:
    assert run(box, "import yaml\nreturn yaml.safe_load('a: 1')")["raised"] == "ModuleNotFoundError"
    reply = run(box, "import yaml\nreturn yaml.safe_load('a: 1')", packages=["yaml"])
    assert reply["value"] == {"a": 1}


def test_a_statement_that_fails_stops_no_other(box: Sandbox) -> None:
    source = "1 / 0\nimport nothing_of_that_name\nexit()\ndef f():\n    return 5\nraise SystemExit"
    with Started(box, source) as started:
        assert [line for _, line, _ in started.first["problems"]] == [1, 2, 3, 6]
        assert started.first["defined"] is True
        assert started.ask()["value"] == 5


def test_a_cell_that_does_not_parse_leaves_the_others(box: Sandbox) -> None:
    cells = [(1, "def f(:"), (2, "def f():\n    return 2"), (3, "x = \0")]
    with Started(box, "", cells=cells) as started:
        assert [cell for cell, _, _ in started.first["problems"]] == [1, 3]
        assert started.ask()["value"] == 2


def test_a_statement_can_be_left_out(box: Sandbox) -> None:
    with Started(box, "x = 1\nx = 2\ndef f():\n    return x", skip=[(1, 1)]) as started:
        assert started.places == [(1, 0), (1, 2)]
        assert started.ask()["value"] == 1


def test_future_imports_hold_for_their_cell(box: Sandbox) -> None:
    source = "from __future__ import annotations\ndef f() -> Nowhere:\n    return 1"
    with Started(box, source) as started:
        assert started.first["problems"] == []
        assert started.ask()["value"] == 1


def test_what_a_notebook_has_is_there(box: Sandbox) -> None:
    source = (
        "from classroom.learner import check, hint\n"
        "display(1)\nget_ipython()\nprint('x')\n"
        "def f():\n    return __name__\ncheck('f', f)"
    )
    with Started(box, source) as started:
        assert started.first["problems"] == []
        assert started.ask()["value"] == "__main__"


def test_input_says_why_it_cannot_be(box: Sandbox) -> None:
    reply = run(box, "return input('? ')")
    assert reply["raised"] == "EOFError"
    assert "nobody" in reply["said"]


def test_changed_arguments_are_noticed(box: Sandbox) -> None:
    assert run(box, "x.append(1)\nreturn 1", [0])["changed"] is True
    assert run(box, "x.append(object())\nreturn 1", [0])["changed"] is True
    assert run(box, "return sorted(x)", [2, 1])["changed"] is False


def test_an_error_comes_with_its_name_its_base_and_its_place(box: Sandbox) -> None:
    source = (
        "class Mine(KeyError): pass\ndef f(x):\n    return g(x)\ndef g(x):\n    raise Mine('no')"
    )
    with Started(box, source) as started:
        reply = started.ask(1)
    assert reply["raised"] == "Mine"
    assert reply["of"] == "KeyError"
    assert reply["place"] == (1, 5)
    assert "no" in reply["said"]


def test_an_error_whose_words_fail_is_still_named(box: Sandbox) -> None:
    source = (
        "class Mean(type):\n    __name__ = property(lambda self: 1 / 0)\n"
        "class Mine(Exception, metaclass=Mean):\n    def __str__(self): 1 / 0\n"
        "def f():\n    raise Mine"
    )
    with Started(box, source) as started:
        assert started.ask()["raised"] == "Mine"


# --- what does not get through -------------------------------------------------------------------


def test_labkit_can_be_imported_and_calling_it_is_noticed(box: Sandbox) -> None:
    reply = run(box, "from labkit.chunking import chunk_text\nreturn chunk_text(x, 3, 1)", "abc")
    assert reply["delegated"] == "labkit.chunking.chunk_text"
    assert reply["raised"] == "DelegatedError"
    swallowed = (
        "import labkit.answering as engine\ntry:\n    engine.gate.check()\n"
        "except Exception:\n    return 1"
    )
    assert run(box, swallowed)["delegated"] == "labkit.answering.gate.check"


def test_what_an_exercise_lends_is_real(box: Sandbox) -> None:
    lends = {"labkit.similarity.cosine": ("cosine", "def cosine(a, b):\n    return 0.5")}
    body = "from labkit.similarity import cosine\nreturn cosine([1], [1])"
    reply = run(box, body, lends=lends)
    assert reply["value"] == 0.5
    assert reply["delegated"] == ""


@pytest.mark.parametrize(
    "value",
    [
        "object()",
        "lambda: 1",
        "iter([1])",
        "type('list', (list,), {})()",
        "type('Yes', (), {'__eq__': lambda s, o: True, '__class__': list})()",
        "10 ** 400",
        "'x' * 9_000_000",
        "[[]] * 6000",
        "[0.5] * 900_000",
    ],
)
def test_what_is_no_plain_data_is_named(box: Sandbox, value: str) -> None:
    assert run(box, f"return {value}")["raised"] == "NotPlain"


def test_what_is_nested_without_end_is_named(box: Sandbox) -> None:
    assert run(box, "a = []\na.append(a)\nreturn a")["raised"] == "NotPlain"
    deep = f"a = []\nfor _ in range({MAX_DEPTH + 1}): a = [a]\nreturn a"
    assert run(box, deep)["raised"] == "NotPlain"


def test_output_goes_nowhere(box: Sandbox) -> None:
    body = "import sys, os\nprint('x' * 1000)\nsys.stderr.write('y')\nos.write(1, b'z')\nreturn 1"
    assert run(box, body)["value"] == 1


@pytest.mark.parametrize(
    "body",
    [
        "import os\nos.fork()",
        "import os\nos.kill(os.getppid(), 15)",
        "import subprocess\nsubprocess.run(['true'])",
        "import os\nos.system('true')",
        "import socket\nsocket.create_connection(('127.0.0.1', 9), 1)",
        "import sys\nreturn sys._getframe(1).f_locals",
        "import inspect\nreturn inspect.currentframe().f_back",
        "import gc\nreturn gc.get_objects()",
        "import ctypes\nctypes.CDLL(None)",
        "try:\n    1 / 0\nexcept Exception as error:\n    return error.__traceback__.tb_frame",
    ],
)
def test_the_machinery_is_refused(box: Sandbox, body: str) -> None:
    reply = run(box, body)
    assert reply["raised"] == "PermissionError"
    assert "not allowed when exercises are graded" in reply["said"]


@pytest.mark.parametrize(
    "body",
    [
        "from collections import namedtuple\nreturn namedtuple('P', 'a')(1).a",
        "from dataclasses import dataclass\n@dataclass\nclass P:\n    a: int = 1\nreturn P().a",
        "import enum\nreturn enum.Enum('E', 'a').a.value",
        "import typing\nreturn len([typing.NamedTuple('P', [('a', int)])])",
        "import tempfile as t\nwith t.TemporaryDirectory() as d:\n    open(d + '/a','w')\nreturn 1",
        "import inspect\nreturn len([inspect.signature(len)])",
        "import logging\nlogging.getLogger().warning('x')\nreturn 1",
        "import warnings\nwarnings.warn('x')\nreturn 1",
    ],
)
def test_what_honest_code_does_is_not_refused(box: Sandbox, body: str) -> None:
    assert run(box, body).get("value") == 1


@pytest.mark.parametrize(
    "body",
    [
        "import json\njson.dumps = json.loads = None\njson.JSONEncoder.encode = None\nreturn 1",
        "import builtins\nbuiltins.print = None\nreturn 1",
        "import sys\nsys.modules.clear()\nreturn 1",
        "import sys\nsys.stdout = sys.stdin = None\nreturn 1",
        "import sqlite3\nsqlite3.connect = None\nreturn 1",
    ],
)
def test_patched_modules_change_no_reply(box: Sandbox, body: str) -> None:
    assert run(box, body)["value"] == 1


def test_too_much_memory_is_an_error_or_the_end_of_the_worker_alone(box: Sandbox) -> None:
    body = "return len(bytearray(10_000_000_000))"
    with contextlib.suppress(WorkerDiedError):
        assert run(box, body)["raised"] == "MemoryError"


@pytest.mark.parametrize("ending", ["import os\nos._exit(0)", "import os\nos.abort()"])
def test_a_worker_that_ends_is_noticed(box: Sandbox, ending: str) -> None:
    with pytest.raises(WorkerDiedError):
        run(box, ending)


def test_a_worker_that_sends_nonsense_is_ended(box: Sandbox) -> None:
    body = (
        "import os\nfor n in range(3, 20):\n    try: os.write(n, b'{\\n')\n    except OSError: pass"
    )
    with pytest.raises(WorkerDiedError):
        run(box, body)


def test_a_worker_that_keeps_its_pipe_or_drips_is_ended(box: Sandbox) -> None:
    body = "import os, time\nwhile True:\n    for n in range(3, 9):\n        try: os.write(n, b'[')"
    body += "\n        except OSError: pass\n    time.sleep(0.05)"
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    with Started(box, f"def f():\n{lines}") as started, pytest.raises(WorkerTooSlowError):
        started.ask(seconds=0.5)


def test_each_worker_has_a_folder_of_its_own(box: Sandbox) -> None:
    here = set(os.listdir())
    body = "open('notes.txt', 'a').write('anna')\nreturn open('notes.txt').read()"
    assert [run(box, body)["value"], run(box, body)["value"]] == ["anna", "anna"]
    assert set(os.listdir()) == here


def test_a_call_without_end_costs_its_limit_and_no_more(box: Sandbox) -> None:
    with Started(box, "def f():\n    while True: pass") as started:
        began = time.monotonic()
        with pytest.raises(WorkerTooSlowError):
            started.ask(seconds=0.3)
        assert time.monotonic() - began < 5  # a bound against hanging, no measure
        with pytest.raises((WorkerTooSlowError, WorkerDiedError)):
            started.ask(seconds=0.3)


def test_recursion_without_end_is_an_error(box: Sandbox) -> None:
    with Started(box, "def f():\n    return f()") as started:
        assert started.ask()["raised"] == "RecursionError"


# --- the fence itself ----------------------------------------------------------------------------


@needs_sandbox
def test_nothing_of_the_machine_is_to_be_seen(fenced: Sandbox, tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("hidden cases")
    reply = run(fenced, f"return open({str(secret)!r}).read()")
    assert reply["raised"] in ("FileNotFoundError", "PermissionError")
    checkout = Path(__file__).resolve().parents[2]
    assert run(fenced, f"import os\nreturn os.path.exists({str(checkout / 'labkit')!r})")[
        "value"
    ] in (False, None)
    home = run(
        fenced, "import os\nreturn [os.path.exists(p) for p in ('/root/.ssh', '/home', '/var')]"
    )
    assert home["value"] == [False, False, False]


@needs_sandbox
def test_the_environment_is_scrubbed(fenced: Sandbox, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_TOKEN", "hidden")
    seen = run(fenced, "import os\nreturn sorted(os.environ)")["value"]
    assert set(seen) <= {*fence.environment(), "PWD"}


@needs_sandbox
def test_no_installed_labkit_is_to_be_found(fenced: Sandbox) -> None:
    body = (
        "import os\n"
        "return [p for top in ('/usr', '/lib', '/packages', '/opt', '/root', '/home') "
        "for p, _, names in os.walk(top) if 'labkit' in p or 'exercises' in p]"
    )
    assert run(fenced, body)["value"] == []


@needs_sandbox
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="not in a virtual environment")
def test_of_the_environment_only_the_allowed_packages_are_mounted(fenced: Sandbox) -> None:
    words = fenced.command(["yaml"])
    sources = [words[i + 1] for i, word in enumerate(words) if word.startswith("--ro-bind")]
    inside = [Path(source) for source in sources if Path(source).is_relative_to(sys.prefix)]
    assert {path.name for path in inside} <= {"numpy", "numpy.libs", "yaml"}
    assert run(fenced, f"import os\nreturn os.path.exists({sys.prefix!r})")["value"] is False


@needs_sandbox
def test_writing_is_possible_in_the_temporary_folder_alone(fenced: Sandbox) -> None:
    assert run(fenced, "open('/tmp/a', 'w').write('x')\nreturn open('a').read()")["value"] == "x"
    for place in ("/a", "/packages/a", "/packages/numpy/a", "/grader/a", "/usr/lib/a"):
        reply = run(fenced, f"open({place!r}, 'w')")
        assert reply["raised"] in ("OSError", "PermissionError", "FileNotFoundError"), place


@needs_sandbox
def test_the_temporary_folder_is_bounded_and_nobody_elses(fenced: Sandbox) -> None:
    body = (
        "done = 0\n"
        "try:\n"
        "    for n in range(20):\n"
        "        with open(f'/tmp/{n}', 'wb') as file:\n"
        "            for _ in range(15): file.write(bytes(1_000_000))\n"
        "        done += 15\n"
        "except OSError:\n"
        "    return done\n"
        "return done"
    )
    assert run(fenced, body)["value"] < 70
    assert run(fenced, "import os\nreturn os.listdir('/tmp')")["value"] == []


@needs_sandbox
def test_no_other_place_in_memory_can_be_filled(fenced: Sandbox) -> None:
    for place in ("/dev/a", "/dev/shm/a", "/a"):
        reply = run(fenced, f"return open({place!r}, 'wb').write(bytes(2_000_000))")
        assert reply["raised"] in ("OSError", "PermissionError"), place


@needs_sandbox
def test_a_single_file_is_bounded(fenced: Sandbox) -> None:
    reply = run(fenced, "open('/tmp/a', 'wb').write(bytes(30_000_000))")
    assert reply["raised"] == "OSError"


@needs_sandbox
def test_there_is_no_network(fenced: Sandbox) -> None:
    """Tried below the audit hook, with a listening server on this machine."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        body = f"import _socket\nreturn _socket.socket(2, 1, 0).connect_ex(('127.0.0.1', {port}))"
        reply = run(fenced, body)
        assert reply.get("value", 1) != 0
        server.settimeout(0.2)
        with pytest.raises(TimeoutError):
            server.accept()


@needs_sandbox
def test_no_other_process_is_to_be_seen_or_reached(fenced: Sandbox) -> None:
    assert run(fenced, "import os\nreturn os.path.exists('/proc/1')")["value"] is False
    assert run(fenced, "import os\nreturn os.getppid()")["value"] in (0, 1, 2)


@needs_sandbox
@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="not run by root")
def test_roots_worker_is_somebody_else(fenced: Sandbox) -> None:
    assert run(fenced, "import os\nreturn [os.getuid(), os.geteuid(), os.getgroups()]")[
        "value"
    ] == [
        fence.SPARE_USER,
        fence.SPARE_USER,
        [],
    ]
    assert run(fenced, "import os\nos.setuid(0)")["raised"] == "PermissionError"


def test_without_a_sandbox_nothing_runs_unless_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fence, "can_isolate", lambda: False)
    with pytest.raises(LabError, match="--unsafe-without-sandbox"), sandbox():
        pass
    with sandbox(unsafe=True) as found:
        assert not found.isolated
        assert found.name == "none"


def test_a_bubblewrap_that_is_forbidden_counts_as_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    fake = tmp_path / "bwrap"
    fake.write_text("#!/bin/sh\necho 'No permissions to create new namespace' >&2\nexit 1\n")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert can_isolate.__wrapped__() is False
