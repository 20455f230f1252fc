"""Known mistakes as stand-alone source text: what a learner who made one would hand in.

A mistake stands in labkit, between helpers that it shares with other mistakes. Here it is cut out
with all that it needs, so that it runs where labkit cannot be imported: Python's standard library
and numpy (PyYAML for front matter). Where it asks the exercise's own reference, it gets the model
solution under another name.
"""

from __future__ import annotations

import ast
import builtins
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path
from types import FunctionType, ModuleType

from classroom.exercise import Exercise, Mistake
from classroom.exercises import ALL

_EXERCISES = "classroom.exercises."


class CannotSliceError(Exception):
    """A mistake that cannot be cut out; the message says what stands in the way."""


def standalone(exercise: Exercise, mistake: Mistake) -> str:
    """The source of a cell that defines `exercise.id` as this known mistake.

    What names the mistake (its own name, its docstring) is taken away. Raises CannotSliceError.
    """
    return _standalone(exercise.id, mistake.name)


@cache
def _standalone(exercise_id: str, mistake_name: str) -> str:
    exercise = ALL[exercise_id]
    mistake = next(item for item in exercise.mistakes if item.name == mistake_name)
    return _Slice().text(exercise, mistake)


class _Slice:
    """One mistake with all that it needs, in an order in which it can be run."""

    def __init__(self) -> None:
        self._imports: dict[str, None] = {}
        self._definitions: list[str] = []
        self._names: dict[tuple[str, str], str] = {}  # (module, name) → the name in the slice

    def text(self, exercise: Exercise, mistake: Mistake) -> str:
        function = mistake.function
        if not isinstance(function, FunctionType) or function.__closure__:
            raise CannotSliceError(f"{mistake.name} is no plain function of a module")
        module = function.__module__
        self._names[module, function.__name__] = exercise.id
        self._emit(module, function.__name__)
        parts = ["\n".join(["from __future__ import annotations", *sorted(self._imports)])]
        return "\n\n\n".join([*parts, *self._definitions]) + "\n"

    def _need(self, module: str, name: str) -> str:
        """The name under which a module's global stands in the slice; it is put there first."""
        if (module, name) not in self._names:
            if name not in _statements(module):
                if hasattr(builtins, name):
                    return name
                raise CannotSliceError(f"{module} has no {name} at its top level")
            self._names[module, name] = _name_in_slice(module, name)  # first: it may ask for itself
            self._names[module, name] = self._put(module, name)
        return self._names[module, name]

    def _put(self, module: str, name: str) -> str:
        statement = _statement(module, name)
        if module.startswith(_EXERCISES) and name in ALL:
            return self._solution(name)
        if isinstance(statement, ast.Import | ast.ImportFrom):
            return self._imported(statement, name)
        self._emit(module, name)
        return self._names[module, name]

    def _solution(self, name: str) -> str:
        """The model solution of an exercise, under another name."""
        given = f"_right_{name}"
        for statement in ast.parse(ALL[name].solution).body:
            if isinstance(statement, ast.Import | ast.ImportFrom):
                self._imports[ast.unparse(statement)] = None
            else:
                self._define(_Rewrite({name: given}).visit(statement))
        return given

    def _imported(self, statement: ast.Import | ast.ImportFrom, name: str) -> str:
        alias = next(item for item in statement.names if (item.asname or item.name) == name)
        origin = statement.module if isinstance(statement, ast.ImportFrom) else alias.name
        if (origin or "").startswith(_EXERCISES):
            return self._need(origin or "", alias.name)
        if not (origin or "").startswith("labkit"):
            single = (
                ast.ImportFrom(statement.module, [alias], 0)
                if isinstance(statement, ast.ImportFrom)
                else ast.Import([alias])
            )
            self._imports[ast.unparse(single)] = None
            return name
        value = getattr(import_module(origin or ""), alias.name)
        if isinstance(value, FunctionType | type):
            return self._need(value.__module__, value.__name__)
        if type(value) not in (int, float, str, bool):
            raise CannotSliceError(f"{origin}.{name} is no plain constant")
        self._definitions.append(f"{name} = {value!r}")
        return name

    def _emit(self, module: str, name: str) -> None:
        """Put the statement that binds a name into the slice, after all that it needs."""
        statement = _statement(module, name)
        if not isinstance(statement, ast.FunctionDef | ast.Assign | ast.AnnAssign):
            raise CannotSliceError(f"{module}: a {type(statement).__name__} is not cut out")
        bound, (local, loaded) = _bound(statement), _needs(module, name)
        for own in bound:
            self._names.setdefault((module, own), _name_in_slice(module, own))
        names = {own: self._names[module, own] for own in bound}
        members: dict[tuple[str, str], str] = {}
        for other in sorted(loaded.keys() - {*local, *bound}):
            value = getattr(import_module(module), other, None)
            if isinstance(value, ModuleType) and value.__name__.startswith("labkit"):
                for member in loaded[other]:
                    members[other, member] = self._need(value.__name__, member)
            else:
                names[other] = self._need(module, other)
        self._define(_Rewrite(names, members).visit(statement))

    def _define(self, node: ast.stmt) -> None:
        text = ast.unparse(ast.fix_missing_locations(node))
        if text not in self._definitions:
            self._definitions.append(text)


class _Rewrite(ast.NodeTransformer):
    """Gives globals, and members of modules, their names in the slice; drops docstrings and
    annotations. It changes what it visits."""

    def __init__(
        self, names: Mapping[str, str], members: Mapping[tuple[str, str], str] | None = None
    ) -> None:
        self._names, self._members = names, members or {}

    def visit_Name(self, node: ast.Name) -> ast.AST:
        node.id = self._names.get(node.id, node.id)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        given = isinstance(node.value, ast.Name) and self._members.get((node.value.id, node.attr))
        return ast.Name(given, node.ctx) if given else self.generic_visit(node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
        node.name, node.returns = self._names.get(node.name, node.name), None
        return self.generic_visit(node)

    def visit_arg(self, node: ast.arg) -> ast.AST:
        node.annotation = None
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST | None:
        return node.value and self.generic_visit(ast.Assign([node.target], node.value))


@cache
def _statements(module: str) -> dict[str, str]:
    """The source of the statement that binds each name at a module's top level."""
    path = Path(import_module(module).__file__ or "")
    text = path.read_text(encoding="utf-8")
    lines = text.split("\n")
    return {
        name: "\n".join(lines[statement.lineno - 1 : statement.end_lineno])
        for statement in ast.parse(text).body
        for name in _bound(statement)
    }


def _statement(module: str, name: str) -> ast.stmt:
    """That statement, for the caller alone to change."""
    return ast.parse(_statements(module)[name]).body[0]


@cache
def _needs(module: str, name: str) -> tuple[set[str], dict[str, list[str]]]:
    """What the statement binds inside; what it reads."""
    return _local_names(_statement(module, name)), _loaded(_statement(module, name))


def _bound(statement: ast.stmt) -> list[str]:
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    if isinstance(statement, ast.Assign | ast.AnnAssign):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        nodes = (node for target in targets for node in ast.walk(target))
        return [node.id for node in nodes if isinstance(node, ast.Name)]
    return []


def _local_names(statement: ast.stmt) -> set[str]:
    """What is bound inside a statement: parameters, variables, imports, functions in functions."""
    names: set[str] = set()
    for node in (node for child in ast.iter_child_nodes(statement) for node in ast.walk(child)):
        if isinstance(node, ast.arg):
            names.add(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.ExceptHandler):
            names.add(node.name or "")
        elif isinstance(node, ast.stmt):
            names.update(_bound(node))
    own = () if isinstance(statement, ast.FunctionDef) else _bound(statement)
    return names.difference(own)


def _loaded(statement: ast.stmt) -> dict[str, list[str]]:
    """The names that a statement reads when it runs, with the attributes it asks of each. The
    statement is changed."""
    nodes = list(ast.walk(_Rewrite({}).visit(statement)))
    loaded: dict[str, list[str]] = defaultdict(list)
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            loaded[node.id] += []
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            loaded[node.value.id].append(node.attr)
    return loaded


def _name_in_slice(module: str, name: str) -> str:
    """Names of the exercises stay as they are; others say where they come from."""
    if module.startswith(_EXERCISES):
        return name
    return f"_{module.rpartition('.')[2]}_{name.lstrip('_')}"
