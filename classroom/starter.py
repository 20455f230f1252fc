"""From a model solution to the text that a learner starts from.

The solution is a function like any other, so that an editor, ruff and mypy see it. What stands in a
learner's cell is cut out of its file: signature and docstring, with `raise NotImplementedError` for
a body.
"""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

NOT_YET = "    raise NotImplementedError"


@dataclass(frozen=True, slots=True)
class Source:
    """A function's text in two parts: all down to the end of its docstring, and its body."""

    head: str
    body: str


@cache
def source_of(function: Callable[..., Any]) -> Source:
    """The text of a function, with what it needs of its module above it.

    What it needs are the imports that its signature names and the constants that its body names.
    Imports for the body belong into the body: in the starter they would give the way away.

    Raises ValueError for a function without a docstring, which is the learner's contract.
    """
    text = inspect.getsource(sys.modules[function.__module__])
    lines, module = text.splitlines(), ast.parse(text)
    node = _definition(module, function.__name__)
    if ast.get_docstring(node) is None:
        raise ValueError(f"{function.__name__} has no docstring that could tell a learner its task")
    docstring_end = node.body[0].end_lineno
    signature = _names([node.args, *([node.returns] if node.returns else [])])
    imports = list(_imports(module, signature))
    constants = list(_constants(module, _names(node.body), lines))
    above = "\n\n".join("\n".join(part) for part in (imports, constants) if part)
    definition = "\n".join(lines[node.lineno - 1 : docstring_end])
    return Source(
        f"{above}\n\n\n{definition}" if above else definition,
        "\n".join(lines[docstring_end : node.end_lineno]).strip("\n"),
    )


def _definition(module: ast.Module, name: str) -> ast.FunctionDef:
    return next(n for n in module.body if isinstance(n, ast.FunctionDef) and n.name == name)


def _names(nodes: Iterable[ast.AST]) -> set[str]:
    """Every name that is read in these parts of a program."""
    return {n.id for node in nodes for n in ast.walk(node) if isinstance(n, ast.Name)}


def _imports(module: ast.Module, names: set[str]) -> Iterator[str]:
    """The import statements of a module, cut down to these names."""
    for statement in module.body:
        if isinstance(statement, ast.Import | ast.ImportFrom):
            kept = [item for item in statement.names if (item.asname or item.name) in names]
            if kept:
                statement.names = kept
                yield ast.unparse(statement)


def _constants(module: ast.Module, names: set[str], lines: list[str]) -> Iterator[str]:
    """The assignments of a module to these names, as they are written."""
    for statement in module.body:
        if isinstance(statement, ast.Assign) and names & _names(statement.targets):
            yield "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
