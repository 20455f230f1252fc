"""Python source of a stranger, looked at without running it."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from classroom.grading.names import shown
from classroom.grading.submissions.reading import MAX_SOURCE

MAX_WEIGHT = 500_000  # nodes that the compiler would see; a notebook has some thousand
MAX_DEPTH = 500  # of a syntax tree: what a person writes has some twenty
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
    """The tree of a source that Python would compile. Raises nothing, whatever the source."""
    if len(source) > MAX_SOURCE:
        return Parsed(None, f"more than {MAX_SOURCE:,} characters of code")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
            # Compiling functions in functions takes quadratic time; whoever has few is not asked.
            if source.count("lambda") + source.count("def ") > MAX_DEPTH and _too_deep(tree):
                return Parsed(None, "nested too deeply")
            if _weight(tree.body)[0] > MAX_WEIGHT:
                return Parsed(None, "more code than Python can be asked to compile")
            # A `return` outside a function has a tree, and does not compile.
            compile(source, "<cell>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return Parsed(None, shown(str(error.msg)), error.lineno or 0)
    except (RecursionError, MemoryError):
        return Parsed(None, "nested too deeply")
    except UnicodeEncodeError:
        return Parsed(None, "a character that is half of another one")
    except (ValueError, OverflowError) as error:
        return Parsed(None, shown(str(error)))
    return Parsed(tree)


def _too_deep(tree: ast.Module) -> bool:
    """Level by level, since a recursion of our own would end where the tree is too deep."""
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return False
    return True


def _weight(body: Sequence[ast.stmt]) -> tuple[int, int]:
    """About how many nodes a block has when compiled, and how many ways lead out of it: Python
    writes the code after `finally` once more for each."""
    weight = ways = 0
    for node in body:
        inner = _inner(node)
        ways += isinstance(node, ast.Return | ast.Break | ast.Continue)
        if not inner:
            weight += sum(1 for _ in ast.walk(node))
            continue
        last = node.finalbody if isinstance(node, ast.Try | ast.TryStar) else []
        before, out = _weight(inner[: len(inner) - len(last)] if last else inner)
        after, more = _weight(last)
        weight += 1 + before + after * (1 + out)
        ways += 0 if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) else out + more
    return weight, ways


def definitions(source: str, tree: ast.Module | None) -> list[Definition]:
    """The functions that a cell defines, in order; by their first line where it does not parse."""
    if tree is None:
        lines = enumerate(map(_DEF.match, source.split("\n")), start=1)
        return [Definition(found[1], line, line) for line, found in lines if found]
    top = set(map(id, tree.body))
    return [
        _definition(node, id(node) in top)
        for node in _statements(tree.body)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]


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


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement of a scope: also below `if`, `try`, `with` and loops, in no inner scope."""
    waiting = list(reversed(body))
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            waiting += reversed(_inner(node))


def _inner(node: ast.stmt) -> list[ast.stmt]:
    held = [block for name in ("handlers", "cases") for block in getattr(node, name, ())]
    blocks = [getattr(node, name, ()) for name in ("body", "orelse")]
    blocks += [one.body for one in held]
    blocks.append(getattr(node, "finalbody", ()))  # the last one: `_weight` counts on it
    return [child for block in blocks for child in block]


def _definition(node: ast.FunctionDef | ast.AsyncFunctionDef, apart: bool) -> Definition:
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    last = node.end_lineno or node.lineno
    body = node.body[1:] if ast.get_docstring(node, clean=False) is not None else node.body
    return Definition(node.name, first, last, _not_implemented(body), apart)


def _not_implemented(body: list[ast.stmt]) -> bool:
    if len(body) != 1 or not isinstance(body[0], ast.Raise):
        return False
    raised = body[0].exc.func if isinstance(body[0].exc, ast.Call) else body[0].exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"
