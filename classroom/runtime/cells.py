"""Running a notebook's cells as a patient reader would: one statement after the other.

A statement that fails does not stop the next one, so an import that is missing where grading
happens, or a plot, costs nobody their function.
"""

from __future__ import annotations
import __future__

import ast
import builtins
from collections.abc import Callable, Collection, Iterator, Sequence
from types import CodeType
from typing import Any, TypeAlias

from .guard import CELL

Cell: TypeAlias = tuple[int, str]  # number, source
Position: TypeAlias = tuple[int, int]  # number of the cell, index of the statement
Problem: TypeAlias = tuple[int, int, str]  # number of the cell, line, what was said

MAX_PROBLEMS = 20
_NOTEBOOK = """
def display(*values, **options):
    return None


def get_ipython():
    return None


def input(prompt=""):
    raise EOFError("there is nobody who could answer input() when exercises are graded")
"""


def run_cells(
    cells: Sequence[Cell],
    namespace: dict[str, Any],
    skip: Collection[Position],
    wanted: tuple[str, Collection[int]],
    announce: Callable[[Position, int], None],
) -> tuple[list[Problem], Any]:
    """Run the cells in `namespace`; `announce(place, line)` before each statement: it may hang.

    Returns what failed, and the value that is `wanted`: its name, and the numbers of the cells that
    define it. It is taken right after them, as the test below it would: further down, a try such as
    `cosine = cosine(a, b)` may have replaced it. An exit is a failure like any other.
    """
    _furnish()
    problems: list[Problem] = []
    name, answering = wanted
    found = None
    for number, source in cells:
        try:
            statements = list(_statements(number, source))
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            problems.append((number, getattr(error, "lineno", None) or 1, said(error)))
            continue
        for index, node, code in statements:
            if (number, index) in skip:
                continue
            announce((number, index), node.lineno)
            try:
                exec(code, namespace)  # noqa: S102 - what the sandbox is for
            except BaseException as error:
                problems.append((number, node.lineno, said(error)))
        if number in answering:
            found = namespace.get(name, found)
    return problems[:MAX_PROBLEMS], namespace.get(name) if found is None else found


def said(error: BaseException) -> str:
    """The name and the message of an error, whatever its `__str__` does."""
    name = kind_name(type(error))
    try:
        text = str(error)
    except BaseException:
        return name
    return f"{name}: {text[:300]}" if text else name


def kind_name(kind: type) -> str:
    """A class's name, as Python itself knows it."""
    return str(type.__dict__["__name__"].__get__(kind))


def _statements(number: int, source: str) -> Iterator[tuple[int, ast.stmt, CodeType]]:
    """Each statement of a cell, compiled by itself, under the cell's `from __future__` imports."""
    name = f"{CELL}{number}"
    flags = (
        compile(source, name, "exec", dont_inherit=True).co_flags
        & __future__.annotations.compiler_flag
    )
    for index, node in enumerate(ast.parse(source, name).body):
        module = ast.Module([node], [])
        yield index, node, compile(module, name, "exec", flags=flags, dont_inherit=True)


def _furnish() -> None:
    """What a notebook has and a bare Python lacks."""
    furniture: dict[str, Any] = {}
    exec(_NOTEBOOK, furniture)  # noqa: S102 - a fixed text
    for name in ("display", "get_ipython", "input"):
        setattr(builtins, name, furniture[name])
