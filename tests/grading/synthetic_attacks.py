"""Hostile answers, as text: what a grader must survive, and must not pay for.

NEVER run a source of this module outside of the grader's sandbox. Each is bounded (a few hundred
processes, 127.0.0.1 only, files of known names), yet some of them end processes or fill memory.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass

from classroom.checking import Outcome
from classroom.exercises import ALL
from classroom.starter import NOT_YET

MARKER = "labkit-was-here.txt"  # what an attack tries to leave outside its folder
CANARY = "labkit-canary.txt"  # what an attack removes wherever it finds it; a test puts it there

Outcomes = frozenset[Outcome]
NO_MARKS: Outcomes = frozenset(Outcome) - {Outcome.RIGHT, Outcome.NOT_ATTEMPTED}
ENDED: Outcomes = frozenset({Outcome.DIED, Outcome.CRASHED, Outcome.TOO_SLOW, Outcome.WRONG})
SLOW: Outcomes = frozenset({Outcome.TOO_SLOW, Outcome.DIED})
ANY: Outcomes = frozenset(Outcome)
HONEST: Outcomes = frozenset({Outcome.RIGHT})
TOLERATED: Outcomes = ENDED | HONEST  # a right answer with a nuisance: marks or none, both are fair


@dataclass(frozen=True, slots=True)
class Attack:
    """A hostile answer to one exercise, and the outcomes that are acceptable for it. It earns
    nothing unless RIGHT is among them.

    `needs` names what must be fenced off before it may run at all: "processes" for one that signals
    to more than itself.
    """

    source: str
    outcomes: Outcomes
    exercise: str = "chunk_text"
    needs: str = ""


def _body(code: str) -> str:
    return textwrap.indent(textwrap.dedent(code).strip("\n"), "    ")


def _wrong(inside: str, outcomes: Outcomes = NO_MARKS, **more: str) -> Attack:
    """An answer that does this in every call and has no right result to give."""
    exercise = more.get("exercise", "chunk_text")
    body = f"{_body(inside)}\n    return []\n"
    return Attack(ALL[exercise].starter.replace(f"{NOT_YET}\n", body), outcomes, **more)


def _at_once(before: str, outcomes: Outcomes = NO_MARKS, **more: str) -> Attack:
    """An answer that does this as soon as its cell runs; the function after it is wrong."""
    return Attack(
        f"{textwrap.dedent(before).strip()}\n\n\n{_wrong('pass').source}", outcomes, **more
    )


def _right(inside: str, before: str = "", outcomes: Outcomes = TOLERATED, **more: str) -> Attack:
    """A right answer that does this besides."""
    exercise = ALL[more.get("exercise", "chunk_text")]
    body = f"{_body(inside)}\n{exercise.answer.rstrip()}\n"
    answer = exercise.starter.replace(f"{NOT_YET}\n", body)
    return Attack(f"{textwrap.dedent(before).strip()}\n\n\n{answer}".lstrip(), outcomes, **more)


# --- results that lie about themselves -----------------------------------------------------------

_RESULTS = {
    "equal_to_everything": _wrong(
        """
        class Yes:
            def __eq__(self, other):
                return True

            def __ne__(self, other):
                return False

            def __hash__(self):
                return 0

            def __bool__(self):
                return True

        return Yes()
        """
    ),
    "list_equal_to_everything": _wrong(
        """
        class Agreeable(list):
            __hash__ = None
            __eq__ = lambda self, other: True
            __ne__ = lambda self, other: False
            __len__ = lambda self: 3
            __iter__ = lambda self: iter(())

        return Agreeable()
        """
    ),
    "class_forged": _wrong(
        """
        class Forged:
            __class__ = property(lambda self: list)
            __eq__ = lambda self, other: True

        return Forged()
        """
    ),
    "metaclass_forged": _wrong(
        """
        class Meta(type):
            __eq__ = lambda self, other: True
            __hash__ = lambda self: hash(list)
            __instancecheck__ = lambda self, other: True

        class Forged(metaclass=Meta):
            __eq__ = lambda self, other: True

        Forged.__name__ = Forged.__qualname__ = "list"
        Forged.__module__ = "builtins"
        return Forged()
        """
    ),
    "text_equal_to_everything": _wrong(
        """
        class Text(str):
            __eq__ = lambda self, other: True
            __hash__ = str.__hash__

        return [Text("?")]
        """
    ),
    "number_equal_to_everything": _wrong(
        """
        class Number(float):
            __eq__ = __le__ = __ge__ = __lt__ = lambda self, other: True
            __sub__ = __rsub__ = __abs__ = lambda self, *_: 0.0
            __hash__ = float.__hash__

        return Number(0.0)
        """,
        exercise="cosine",
    ),
    "not_a_number": _wrong("return float('nan')", exercise="cosine"),
    "numpy_not_a_number": _wrong(
        """
        import numpy as np

        return np.full((3,), np.nan)
        """,
        exercise="top_k",
    ),
    "runs_when_unpickled": _wrong(
        """
        class Bomb:
            def __reduce__(self):
                import os

                return os._exit, (0,)

        return [Bomb()]
        """
    ),
    "unpicklable": _wrong("return [lambda: text, iter([]), open]"),
    "holds_itself": _wrong(
        """
        own = []
        own.append(own)
        return own
        """
    ),
    "nested_deeply": _wrong(
        """
        nested = []
        for _ in range(200_000):
            nested = [nested]
        return nested
        """,
        ENDED,
    ),
    "endless_result": _wrong(
        """
        import itertools

        return itertools.repeat(text)
        """
    ),
    "huge_result": _wrong("return ['x' * 1_000_000_000]", ENDED),
    "wide_result": _wrong("return [''] * 100_000_000", ENDED),
    "huge_number": _wrong("return 1 << 100_000_000"),
    "half_a_character": _wrong("return ['\\ud800', '\\x00', '\\x1b[2J', '\\u202e<script>']"),
    "generator": _wrong("yield from ()"),
    "coroutine": Attack(
        ALL["chunk_text"].solution.replace("def chunk_text", "async def chunk_text"), NO_MARKS
    ),
    "no_function": Attack("chunk_text = ['abcd', 'defg', 'ghij']", ANY - HONEST),
    "name_taken_away": Attack(f"{ALL['chunk_text'].solution}\n\ndel chunk_text", ANY - HONEST),
    "error_that_cannot_be_said": _wrong(
        """
        class Unspeakable(BaseException):
            def __str__(self):
                raise self

            __repr__ = __str__

        raise Unspeakable
        """
    ),
    "error_with_a_borrowed_name": _wrong(
        """
        raise type("ValueError", (BaseException,), {"__eq__": lambda self, other: True})("size")
        """
    ),
    "error_of_a_megabyte": _wrong("raise ValueError('<script>alert(1)</script>' * 100_000)"),
    "arguments_emptied": _wrong(
        """
        query.clear(), vectors.clear(), ids.clear()
        return []
        """,
        exercise="top_k",
    ),
}

# --- the machinery patched -----------------------------------------------------------------------

_PATCHES = {
    "json_patched": _at_once(
        """
        import json

        json.dumps = lambda *a, **k: '{"passed": true, "raised": "", "value": null}'
        json.loads = lambda *a, **k: {"passed": True, "value": None, "expected": None}
        json.JSONEncoder.encode = lambda self, value: "true"
        """
    ),
    "builtins_patched": _at_once(
        """
        import builtins

        builtins.isinstance = lambda *_: True
        builtins.all = builtins.any = builtins.callable = lambda *_: True
        builtins.repr = lambda *_: "the same"
        builtins.sorted = lambda *a, **k: []
        """
    ),
    "libraries_patched": _at_once(
        """
        import copy
        import marshal
        import math
        import operator
        import pickle

        math.isclose = operator.eq = lambda *a, **k: True
        pickle.dumps = marshal.dumps = lambda *a, **k: b"N."
        copy.deepcopy = lambda value, *_: value
        """
    ),
    "sqlite3_patched": _wrong(
        """
        import sqlite3

        class Pretender:
            in_transaction = False

            def __getattr__(self, name):
                return lambda *a, **k: self

            def fetchall(self):
                return [(name, value, embed(value)) for name, value in texts.items()]

            def __enter__(self):
                return self

            def __exit__(self, *_):
                return False

        sqlite3.connect = lambda *a, **k: Pretender()
        sqlite3.Connection = sqlite3.Cursor = Pretender
        """,
        exercise="replace_index",
    ),
    "comparison_patched": _at_once(
        """
        import sys

        for module in list(sys.modules.values()):
            for name in ("same", "agree", "_agree", "compare", "is_right", "passed"):
                if hasattr(module, name):
                    setattr(module, name, lambda *a, **k: True)
            for name in ("to_plain", "_changed", "loads"):
                if hasattr(module, name) and module.__name__ != "json":
                    setattr(module, name, lambda *a, **k: None)
        """
    ),
    "modules_forged": _at_once(
        """
        import sys
        import types

        ours = ("labkit", "labkit.chunking", "runtime.serialise")
        for name in (*ours, "numpy", "tempfile", "_json"):
            sys.modules[name] = types.ModuleType(name)
            sys.modules[name].same = lambda *_: True
        sys.meta_path.clear()
        """
    ),
    "modules_shadowed": _at_once(
        """
        from pathlib import Path

        for name in ("json", "labkit", "sitecustomize", "usercustomize", "numpy", "math", "random"):
            for folder in (Path(), Path(__import__("tempfile").gettempdir())):
                try:
                    (folder / f"{name}.py").write_text(f"# {__name__}\\nraise SystemExit(0)\\n")
                except OSError:
                    pass
        """
    ),
    "false_made_true": _wrong(
        """
        import ctypes

        ctypes.memmove(id(False) + 24, id(True) + 24, 4)
        """,
        ENDED,
    ),
    "traced": _at_once(
        """
        import sys

        def tracer(frame, event, argument):
            for name in list(frame.f_globals):
                if name in ("same", "passed", "failed"):
                    frame.f_globals[name] = lambda *_: True
            return tracer

        sys.settrace(tracer)
        """
    ),
    "import_hooked": _at_once(
        """
        import builtins

        original = builtins.__import__
        builtins.__import__ = lambda name, *rest: original("math", *rest)
        """
    ),
    "recursion_limit_lowered": _right("__import__('sys').setrecursionlimit(50)"),
    "files_forbidden": _right(
        """
        import resource

        resource.setrlimit(resource.RLIMIT_NOFILE, (0, 0))
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
        """
    ),
}

# --- looking for what is right -------------------------------------------------------------------

_LOOKING = {
    "frames_read": _wrong(
        """
        import sys

        frame = sys._getframe(1)
        while frame is not None:
            for name, value in {**frame.f_globals, **frame.f_locals}.items():
                if "expected" in name or "reference" in name or "case" in name:
                    if callable(value):
                        return value(text, size, overlap)
                    if isinstance(value, list) and value:
                        return value[0]
            frame = frame.f_back
        """
    ),
    "traceback_read": _wrong(
        """
        try:
            raise ValueError
        except ValueError as error:
            frame = error.__traceback__.tb_frame.f_back
        while frame is not None:
            if "expected" in frame.f_locals:
                return frame.f_locals["expected"]
            frame = frame.f_back
        """
    ),
    "generator_frame_read": _wrong(
        """
        own = (own.gi_frame.f_back.f_back for _ in [0])
        frame = next(own)
        return [value for name, value in frame.f_locals.items() if "expected" in name][0]
        """
    ),
    "memory_searched": _wrong(
        """
        import gc

        for item in gc.get_objects():
            if type(item) is tuple and len(item) == 2 and item[0] == (text, size, overlap):
                return item[1]
            if type(item) is dict and "expected" in item:
                return item["expected"]
            if getattr(item, "__name__", "") == "windows":
                return [text[start:end] for start, end in item(len(text), size, overlap)]
        """
    ),
    "subclasses_searched": _wrong(
        """
        for kind in object.__subclasses__():
            if kind.__name__ in ("Exercise", "Case", "Mistake"):
                import gc

                return [item for item in gc.get_referrers(kind)][0].reference(text, size, overlap)
        """
    ),
    "modules_searched": _wrong(
        """
        import sys

        for module in list(sys.modules.values()):
            for name in ("ALL", "exercise_named", "windows", "CHUNK_TEXT"):
                if hasattr(module, name):
                    return module.ALL["chunk_text"].reference(text, size, overlap)
        """
    ),
    "solutions_read": _wrong(
        """
        import json
        from pathlib import Path

        for up in (".", "..", "../..", "../../..", "../../../.."):
            for path in Path(up).glob("solutions/ps02_chunking/*.ipynb"):
                for cell in json.loads(path.read_text())["cells"]:
                    source = "".join(cell["source"])
                    if source.startswith("def chunk_text"):
                        found = {}
                        exec(source, found)
                        return found["chunk_text"](text, size, overlap)
        """
    ),
    "file_system_searched": _wrong(
        """
        import os
        import re
        import time

        until = time.monotonic() + 1
        for folder, _, names in os.walk("/"):
            if time.monotonic() > until:
                break
            for name in names:
                if name in ("chunk_text.py", "chunking.ipynb", "characters.py", "expected.json"):
                    try:
                        content = open(os.path.join(folder, name)).read()
                    except OSError:
                        continue
                    answer = re.search(r"def windows.*?return spans", content, re.S)
                    if answer:
                        found = {}
                        exec(answer[0], found)
                        pairs = found["windows"](len(text), size, overlap)
                        return [text[start:end] for start, end in pairs]
        """
    ),
    "installed_source_read": _wrong(
        """
        import sys
        from pathlib import Path

        for folder in [*sys.path, *map(str, Path(sys.prefix).glob("lib/python3*/site-packages"))]:
            for path in Path(folder).glob("labkit/chunking/characters.py"):
                found = {}
                source = path.read_text()
                start = source.index("def windows")
                exec(source[start : source.index("@dataclass")], found)
                pairs = found["windows"](len(text), size, overlap)
                return [text[start:end] for start, end in pairs]
        """
    ),
    "parent_read": _wrong(
        """
        import os
        from pathlib import Path

        parent = Path("/proc", str(os.getppid()))
        seen = []
        for name in ("cmdline", "environ", "cwd/labkit/__init__.py", "maps"):
            try:
                seen.append((parent / name).read_bytes())
            except OSError:
                pass
        for link in parent.glob("fd/*"):
            try:
                seen.append(link.open("rb", buffering=0).read(10))
            except OSError:
                pass
        return [repr(seen)[:200]]
        """
    ),
    "descriptors_read": _wrong(
        """
        import os

        seen = b""
        for number in range(64):
            try:
                os.set_blocking(number, False)
                seen += os.read(number, 100_000)
            except OSError:
                pass
        return [seen.decode("latin-1")[:100]]
        """
    ),
    "environment_read": _wrong(
        """
        import os

        return [f"{name}={value}" for name, value in os.environ.items()]
        """
    ),
}

# --- messages in the grader's name ---------------------------------------------------------------

_FORGED = r"""
import json
import os

for message in (
    {"value": ["abcd", "defg", "ghij"], "changed": False, "used": [0, 0], "delegated": ""},
    {"ready": True, "problems": [], "defined": True},
    {"outcome": "right", "passed": True, "score": 6},
):
    for number in range(1, 16):
        try:
            os.set_blocking(number, False)
            os.write(number, json.dumps(message).encode() + b"\n")
        except OSError:
            pass
"""
_MESSAGES = {
    "messages_forged": _wrong(_FORGED),
    "messages_forged_at_once": _at_once(_FORGED),
    "messages_forged_before_the_end": _wrong(f"{_FORGED}\nos._exit(0)", ENDED),
    "garbage_for_a_message": _wrong(
        r"""
        import os

        for number in range(1, 16):
            try:
                os.set_blocking(number, False)
                os.write(number, b'\xff\x00{"value": ' + b"[" * 50_000 + b"\n")
            except OSError:
                pass
        """,
        ENDED,
    ),
    "descriptors_closed": _right("__import__('os').closerange(0, 64)"),
    "output_on_every_stream": _right(
        r"""
        import os
        import sys
        import warnings

        print("right", {"outcome": "right"})
        print("\x1b[2J\x1b]0;owned\x07", file=sys.stderr)
        warnings.warn("noise")
        os.write(1, b"noise\n")
        os.write(2, b"noise\n")
        """
    ),
}

# --- ends ----------------------------------------------------------------------------------------

_ENDS = {
    "exit_in_call": _wrong("__import__('os')._exit(0)", ENDED),
    "exit_at_once": _at_once("__import__('os')._exit(0)", ANY - HONEST),
    "exit_by_error": _wrong("raise SystemExit(0)", ENDED),
    "exit_by_error_at_once": _at_once("raise SystemExit(0)"),
    "interrupted": _wrong("raise KeyboardInterrupt", ENDED),
    "aborted": _wrong("__import__('os').abort()", ENDED),
    "segmentation_fault": _wrong("__import__('ctypes').string_at(0)", ENDED),
    "killed_by_itself": _wrong(
        """
        import os

        os.kill(os.getpid(), 9)
        """,
        ENDED,
    ),
    "exit_hooks": _right(
        "pass",
        """
        import atexit
        import os
        import threading

        class Last:
            def __del__(self):
                os._exit(7)

        kept = Last()
        atexit.register(os._exit, 7)
        threading.Thread(target=threading.Event().wait, daemon=False).start()
        """,
    ),
    "not_yet_raised": _wrong("raise NotImplementedError", NO_MARKS | {Outcome.NOT_ATTEMPTED}),
}

# --- too much ------------------------------------------------------------------------------------

_TOO_MUCH = {
    "endless_loop": _wrong("while True:\n    pass", SLOW),
    "endless_loop_at_once": _at_once("while True:\n    pass", ANY - HONEST),
    "endless_loop_that_catches_all": _wrong(
        """
        import signal

        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM):
            try:
                signal.signal(number, signal.SIG_IGN)
            except (ValueError, OSError):
                pass
        while True:
            try:
                while True:
                    pass
            except BaseException:
                pass
        """,
        SLOW,
    ),
    "endless_loop_in_c": _wrong("sum(__import__('itertools').repeat(0))", SLOW),
    "endless_sleep": _wrong("__import__('time').sleep(3600)", SLOW),
    "endless_read": _wrong("__import__('sys').stdin.read()\ninput()", NO_MARKS),
    "endless_match": _wrong("__import__('re').match('(a+)+$', 'a' * 64 + 'b')", SLOW),
    "huge_memory": _wrong(
        """
        kept = []
        for _ in range(1024):
            kept.append(bytearray(b"x") * 10_485_760)
        """,
        ENDED,
    ),
    "huge_memory_swallowed": _wrong(
        """
        kept = []
        for _ in range(1024):
            try:
                kept.append(bytearray(b"x") * 10_485_760)
            except MemoryError:
                pass
        """,
        ENDED,
    ),
    "huge_memory_at_once": _at_once("kept = [bytearray(b'x') * 10_737_418_240]", ANY - HONEST),
    "huge_output": _right("for _ in range(1000):\n    print('x' * 1_000_000)"),
    "huge_output_below_python": _right(
        """
        import os

        for number in (1, 2):
            for _ in range(500):
                os.write(number, b"x" * 1_000_000)
        """
    ),
    "huge_file": _right(
        """
        with open("large.bin", "wb") as file:
            for _ in range(1024):
                file.write(bytes(1_000_000))
        """
    ),
    "many_files": _right(
        """
        import pathlib

        for number in range(20_000):
            pathlib.Path(f"file{number}").touch()
        """
    ),
    "fork_bomb": _wrong(
        """
        import os
        import time

        for _ in range(200):
            try:
                if os.fork() == 0:
                    time.sleep(20)
                    os._exit(0)
            except BaseException:
                pass
        """
    ),
    "processes_left_behind": _right(
        """
        import subprocess
        import sys

        try:
            subprocess.Popen(
                [sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True
            )
        except BaseException:
            pass
        """
    ),
    "threads_left_behind": _right(
        """
        import threading
        import time

        for _ in range(300):
            try:
                threading.Thread(target=time.sleep, args=(60,)).start()
            except BaseException:
                pass
        """
    ),
    "deep_recursion": _wrong(
        """
        def deeper(depth):
            return deeper(depth + 1)

        deeper(0)
        """,
        ENDED,
    ),
    "deep_recursion_without_a_limit": _wrong(
        """
        import sys

        sys.setrecursionlimit(1_000_000_000)

        class Deep:
            def __repr__(self):
                return repr(self)

        repr(Deep())
        """,
        ENDED,
    ),
    "slow_but_right": _right("__import__('time').sleep(0.05)"),
}

# --- the world outside ---------------------------------------------------------------------------

_OUTSIDE = {
    "network": _wrong(
        """
        import socket

        for port in (22, 80, 631, 5432, 8080, 8888):
            try:
                socket.create_connection(("127.0.0.1", port), timeout=0.1).sendall(b"cases?")
            except OSError:
                pass
        """
    ),
    "network_by_url": _wrong(
        """
        import urllib.request

        urllib.request.urlopen("http://127.0.0.1:9/cases", timeout=1).read()
        """
    ),
    "network_opened": _right(
        """
        import socket

        try:
            socket.create_server(("127.0.0.1", 0))
            socket.socket(socket.AF_UNIX).bind("socket")
        except (OSError, AttributeError):
            pass
        """
    ),
    "writes_outside": _right(
        f"""
        from pathlib import Path

        for place in (Path(".."), Path("../.."), Path("../../.."), Path.home(), Path("/var/tmp")):
            try:
                (place / "{MARKER}").write_text("outside")
            except (OSError, RuntimeError):
                pass
        """
    ),
    "deletes_outside": _right(
        f"""
        import os
        from pathlib import Path

        here = Path.cwd()
        for place in [here, *list(here.parents)[:4], Path("/proc", str(os.getppid()), "cwd")]:
            try:
                for path in [*place.glob("{CANARY}"), *place.glob("*/{CANARY}")]:
                    path.unlink()
            except OSError:
                pass
        """
    ),
    "links_outside": _right(
        """
        import os
        from pathlib import Path

        for name, target in (("results", "/"), ("case.json", "/etc/passwd"), ("loop", "loop")):
            try:
                Path(name).symlink_to(target)
            except OSError:
                pass
        try:
            os.mkfifo("pipe")
        except (OSError, AttributeError):
            pass
        """
    ),
    "own_folder_locked": _right(
        """
        import os
        import tempfile

        try:
            os.makedirs("locked/deep", exist_ok=True)
            os.chmod("locked", 0)
            if os.path.realpath(os.getcwd()).startswith(os.path.realpath(tempfile.gettempdir())):
                os.chmod(".", 0)
            os.chdir("/")
        except OSError:
            pass
        """
    ),
    "parent_signalled": _wrong(
        """
        import os

        for number in (15, 2, 1):
            try:
                os.kill(os.getppid(), number)
            except OSError:
                pass
        """,
        needs="processes",
    ),
    "group_signalled": _wrong("__import__('os').killpg(0, 15)", ENDED, needs="processes"),
    "everybody_signalled": _wrong("__import__('os').kill(-1, 15)", NO_MARKS, needs="processes"),
    "shell": _wrong(
        f"""
        import os
        import subprocess

        os.system("echo outside > ../{MARKER}")
        subprocess.run(["sh", "-c", "echo outside > ../{MARKER}"], check=False)
        """
    ),
    "program_replaced": _wrong(
        """
        import os
        import sys

        os.execv(sys.executable, [sys.executable, "-c", "print('right')"])
        """,
        ENDED,
    ),
}

# --- answers that only call labkit ---------------------------------------------------------------

DELEGATING = {
    "imported": Attack(
        "from labkit.chunking import windows\n\n\n"
        "def chunk_text(text, size, overlap):\n"
        "    return [text[start:end] for start, end in windows(len(text), size, overlap)]",
        NO_MARKS,
    ),
    "imported_by_a_wrong_name": Attack("from labkit.chunking import chunk_text", ANY - HONEST),
    "imported_inside": Attack(
        "def check_evidence(proposal, passages):\n"
        "    import labkit.answering.gate\n\n"
        "    return labkit.answering.gate.check_evidence(proposal, passages)",
        NO_MARKS,
        "check_evidence",
    ),
    "imported_by_importlib": Attack(
        "import importlib\n\n\n"
        "def bm25_scores(terms, passages):\n"
        "    return importlib.import_module('labkit.ranking').bm25_scores(terms, passages)",
        NO_MARKS,
        "bm25_scores",
    ),
    "imported_by_a_hidden_name": Attack(
        "def eligible(metadata, grants, day):\n"
        "    name = 'tikbal'[::-1] + '.classroom.exercises'\n"
        "    module = __import__(name).classroom.exercises\n"
        "    return module.ALL['eligible'].reference(metadata, grants, day)",
        NO_MARKS,
        "eligible",
    ),
    "model_solution_run": Attack(
        "def decode_vector(blob, dimension):\n"
        "    from classroom.exercises import ALL\n\n"
        "    found = {}\n"
        "    exec(ALL['decode_vector'].solution, found)\n"
        "    return found['decode_vector'](blob, dimension)",
        NO_MARKS,
        "decode_vector",
    ),
    "other_process_asked": Attack(
        "import json\nimport subprocess\nimport sys\n\n\n"
        "def governing_version(versions, day):\n"
        "    program = 'import sys, json; from classroom.exercises import ALL; '\n"
        "    program += 'ask = ALL[\"governing_version\"].reference; '\n"
        "    program += 'print(json.dumps(ask(*json.loads(sys.argv[1]))))'\n"
        "    command = [sys.executable, '-c', program, json.dumps([versions, day])]\n"
        "    return json.loads(subprocess.run(command, capture_output=True, check=True).stdout)",
        NO_MARKS,
        "governing_version",
    ),
    "lent_cosine": Attack(
        "from labkit.similarity import cosine\n\n\n"
        "def top_k(query, vectors, ids, k):\n"
        "    scored = [(i, cosine(query, v)) for i, v in zip(ids, vectors, strict=True)]\n"
        "    return sorted(scored, key=lambda pair: (-pair[1], pair[0]))[: max(0, k)]",
        HONEST,  # what a lesson has lent may be used
        "top_k",
    ),
    "lent_top_k": Attack("from labkit.similarity import top_k", ANY - HONEST, "top_k"),
    "lent_fusion": Attack(
        "from labkit.ranking import reciprocal_rank_fusion\n\n\n"
        "def weighted_fusion(rankings, weights, k):\n"
        "    return [list(pair) for pair in reciprocal_rank_fusion(rankings, k, weights)]",
        NO_MARKS,
        "weighted_fusion",
    ),
}

ATTACKS: dict[str, Attack] = {
    **_RESULTS,
    **_PATCHES,
    **_LOOKING,
    **_MESSAGES,
    **_ENDS,
    **_TOO_MUCH,
    **_OUTSIDE,
}
