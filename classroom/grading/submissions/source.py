"""Python source of a stranger, looked at without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from classroom.grading.names import shown

_DEF = re.compile(r"^(?:async[ \t]+)?def[ \t]+(\w+)[ \t]*\(", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Parsed:
    """A syntax tree, or why there is none, with the line if Python names one."""

    tree: ast.Module | None
    error: str = ""
    line: int = 0


@dataclass(frozen=True, slots=True)
class Definition:
    """A function's definition. `untouched`: its body is the starter's `raise NotImplementedError`.
    `first` and `last` are its lines, decorators included; `apart` says that it may be taken out
    without harm to what stands around it."""

    name: str
    first: int
    last: int
    untouched: bool = False
    apart: bool = False


def parse(source: str) -> Parsed:
    """The tree of a source. Raises nothing, whatever the source.

    It is not compiled here: a few lines can be made that take the compiler minutes and gigabytes,
    so that is left to the sandbox.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Parsed(ast.parse(source))
    except SyntaxError as error:
        return Parsed(None, shown(str(error.msg)), error.lineno or 0)
    except (RecursionError, MemoryError):
        return Parsed(None, "nested too deeply")
    except UnicodeEncodeError:
        return Parsed(None, "a character that is half of another one")
    except (ValueError, OverflowError) as error:
        return Parsed(None, shown(str(error)))


def definitions(source: str, tree: ast.Module | None) -> list[Definition]:
    """The functions that a cell defines, in order; by their first line where it does not parse."""
    if tree is None:
        lines = enumerate(map(_DEF.match, source.split("\n")), start=1)
        return [Definition(found[1], line, line) for line, found in lines if found]
    top = set(map(id, tree.body))
    found = []
    for node in _statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            last = node.end_lineno or node.lineno
            found.append(Definition(node.name, first, last, _untouched(node), id(node) in top))
    return found


def _untouched(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Is the body, a docstring aside, `raise NotImplementedError` alone?"""
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def defined_names(source: str) -> set[str]:
    """The names after every `def` at the margin, without a syntax tree: quick, and enough to see
    what a file is about."""
    return set(_DEF.findall(source))


def bound_names(tree: ast.Module) -> set[str]:
    """The names that a cell binds in any way at its top level."""
    names: set[str] = set()
    for node in _statements(tree.body):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            names |= {(name.asname or name.name).split(".")[0] for name in node.names}
        elif isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            parts = (part for target in targets for part in ast.walk(target))
            names |= {part.id for part in parts if isinstance(part, ast.Name)}
    return names


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a scope: also below `if`, `try`, `with` and loops, in no inner scope."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            held = [one for name in ("handlers", "cases") for one in getattr(node, name, ())]
            blocks = [getattr(node, name, []) for name in ("body", "orelse", "finalbody")]
            blocks += [one.body for one in held]
            waiting += reversed([child for block in blocks for child in block])


def blank(source: str, spans: Iterable[tuple[int, int]]) -> str:
    """The source with the lines of each span (first, last) emptied, so that all others keep theirs.

    >>> blank("a\\nb\\nc", [(1, 2)])
    '\\n\\nc'
    """
    lines = source.split("\n")
    for first, last in spans:
        lines[first - 1 : last] = [""] * (last - first + 1)
    return "\n".join(lines)


def normal(source: str) -> str:
    """A source without what does not count when two are compared: empty lines, ends of lines."""
    return "\n".join(line.rstrip() for line in source.splitlines() if line.strip())
