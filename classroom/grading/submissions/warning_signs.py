"""What an instructor may want to look at in a learner's code, read from its syntax tree.

None of this changes a mark: the sandbox holds whatever the code does. A sign says where to look.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import classroom
from classroom.grading.names import shown
from classroom.grading.types import Finding, Kind

MAX_SIGNS = 20  # a cell
_MODULES = frozenset(
    "ctypes gc inspect subprocess socket multiprocessing signal pty resource importlib builtins "
    "faulthandler _thread _ctypes _socket posix".split()
)
# What knows the answers; what a lesson imports, such as `check` and `hint`, is not among it.
_OURS = re.compile(rf"classroom(?:$|\.(?!(?:learner|{'|'.join(classroom.__all__)})\b))")
_ATTRIBUTES = frozenset(
    "_getframe _current_frames __globals__ __builtins__ __subclasses__ __code__ __closure__ "
    "__loader__ __spec__ f_back f_globals f_locals f_builtins tb_frame gi_frame cr_frame "
    "settrace setprofile addaudithook _exit fork forkpty kill killpg abort system popen "
    "execv execve execvp spawnv spawnl setrlimit".split()
)
_OF_A_MODULE = frozenset(
    "sys.modules os.write os.dup os.dup2 os.pipe operator.attrgetter operator.methodcaller".split()
)
_NAMES = frozenset(
    "__import__ __builtins__ __loader__ exec eval compile vars globals locals".split()
)
_PATH = re.compile(
    r"(?:/(?:home|Users|root|tmp|mnt|media|content|kaggle|var|usr|opt|etc|Volumes)(?:/|$)"
    r"|~[\w.-]*[/\\]|[A-Za-z]:[\\/](?![\\/])|\\\\\w)"
)
_MAX_SHOWN = 60
_INPUT = (
    "`input()` has nobody to answer while grading: it raises EOFError. Use the parameters instead."
)


def signs(tree: ast.Module) -> list[Finding]:
    """Calls for input, absolute paths, and what reaches for the machinery; each once, in the order
    of lines. `cell` and `exercise` are for the caller to fill in."""
    found: dict[str, Finding] = {}
    for node in ast.walk(tree):
        for kind, message in _of(node):
            sign = Finding(kind, message, line=getattr(node, "lineno", 0))
            if message not in found or sign.line < found[message].line:
                found[message] = sign
    return sorted(found.values(), key=lambda sign: (sign.line, sign.message))[:MAX_SIGNS]


def _of(node: ast.AST) -> Iterator[tuple[Kind, str]]:
    match node:
        case ast.Call(ast.Name("input") | ast.Attribute(ast.Name("builtins"), "input")):
            yield Kind.INPUT, _INPUT
        case ast.Constant(str(text)):
            yield from _text(text)
        case ast.Import(names):
            for name in names:
                yield from _imported(name.name)
        case ast.ImportFrom(module, names):
            for name in names:
                yield from _imported(module or "", name.name)
        case ast.Attribute(_, name) if name in _ATTRIBUTES:
            yield _machinery(f"uses `{name}`")
        case ast.Attribute(ast.Name(module), name) if f"{module}.{name}" in _OF_A_MODULE:
            yield _machinery(f"uses `{module}.{name}`")
        case ast.Call(ast.Name("getattr" | "setattr" | "delattr" as name), [_, what, *_]):
            if not isinstance(what, ast.Constant):
                yield _machinery(f"calls `{name}` with a name that is made on the way")
        case ast.Name(name) if name in _NAMES:
            yield _machinery(f"uses `{name}`")


def _imported(module: str, name: str = "") -> Iterator[tuple[Kind, str]]:
    full = f"{module}.{name}" if name else module
    if module.split(".")[0] in _MODULES or _OURS.match(full):
        yield _machinery(f"imports `{shown(module)}`")
    elif name in _ATTRIBUTES:
        yield _machinery(f"imports `{shown(full)}`")


def _text(text: str) -> Iterator[tuple[Kind, str]]:
    cut = shown(text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…")
    # The second is getattr(value, "__globals__").
    if "/proc/" in text or (text in _ATTRIBUTES and text.startswith("_")):
        yield _machinery(f"names `{cut}`")
    elif _PATH.match(text) and "\n" not in text:
        where = "exists on one computer, not where the code is graded."
        yield Kind.ABSOLUTE_PATH, f"The path `{cut}` {where}"


def _machinery(what: str) -> tuple[Kind, str]:
    return Kind.MACHINERY, f"The code {what}, which no exercise asks for; worth a look."
