"""The shape of an answer, and the fingerprints of that shape.

A Python source is parsed, and of its syntax tree only what a disguise does not change is kept: the
kinds of the nodes, in order, with the names that come from outside. Names chosen in the source,
annotations, docstrings, comments, layout, imports and the words of messages are gone. Every run of
`GRAM` nodes is hashed, and of each `WINDOW` neighbouring hashes the least is a fingerprint: two
sources that share `GRAM + WINDOW - 1` nodes in a row share a fingerprint for certain (S. Schleimer,
D. S. Wilkerson, A. Aiken: "Winnowing: Local Algorithms for Document Fingerprinting", SIGMOD 2003).
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import blake2b
from typing import TypeAlias

from labkit.types import LabError

GRAM = 10
WINDOW = 4
MOST_CHARACTERS = 100_000
MOST_NODES = 20_000

Shape: TypeAlias = tuple[tuple[str, ...], ...]

_PRIME = (1 << 61) - 1
_BASE = 1_000_003
_GONE = pow(_BASE, GRAM, _PRIME)

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_IMPORTS = (ast.Import, ast.ImportFrom)
_UNSAID = (*_IMPORTS, ast.Pass, ast.Global, ast.Nonlocal, ast.arguments)
_STATEMENTS = frozenset(
    kind.__name__ for kind in ast.stmt.__subclasses__() if kind not in _DEFINITIONS
)
_NO_CODE = frozenset({"annotation", "returns", "type_params", "ctx"})
_BINDERS = (ast.ExceptHandler, ast.MatchAs, ast.MatchStar, ast.MatchMapping)
_SAME: dict[type[ast.AST], str] = {ast.JoinedStr: "str", ast.AnnAssign: "Assign"}


_Walked: TypeAlias = list[tuple[ast.AST, int]]
"""The nodes of a statement in the order of its source, each with its line."""


@dataclass(frozen=True, slots=True)
class Piece:
    """One statement of the outer level (a function, as a rule): its nodes, and the line of each."""

    nodes: tuple[str, ...]
    lines: tuple[int, ...] = ()

    def grams(self) -> list[int]:
        """The hash of each run of GRAM nodes: rolling, after Karp and Rabin, and the same in every
        process."""
        numbers = [_number(node) for node in self.nodes]
        rolling, found = 0, []
        for at, number in enumerate(numbers):
            gone = numbers[at - GRAM] if at >= GRAM else 0
            rolling = (rolling * _BASE + number - gone * _GONE) % _PRIME
            if at >= GRAM - 1:
                found.append(rolling)
        return found


def pieces(source: str, function: str) -> tuple[Piece, ...]:
    """The definition of `function` and all that it uses from the outer level of the same source.

    Where no such function is defined, every definition counts. LabError for a source that is no
    Python, or too large to compare.
    """
    body = _parsed(source).body
    walked = _used([(statement, _walk(statement)) for statement in body], function)
    if sum(map(len, walked)) > MOST_NODES:
        raise LabError(f"The answer has more than {MOST_NODES:,} nodes: too many to compare.")
    imports: _Walked = [(statement, 0) for statement in body if isinstance(statement, _IMPORTS)]
    owned = _owned(node for nodes in (imports, *walked) for node, _ in nodes)
    return tuple(_piece(nodes, owned) for nodes in walked)


def shape(found: Sequence[Piece]) -> Shape:
    """What two sources have in common that differ in names and layout alone, and in the order of
    their functions."""
    return tuple(sorted(piece.nodes for piece in found))


def statements(form: Shape) -> int:
    """How many statements a shape holds; definitions do not count."""
    return sum(node in _STATEMENTS for nodes in form for node in nodes)


def all_grams(form: Shape) -> frozenset[int]:
    """Every hash of a shape, for what is to be discounted wherever it stands."""
    return frozenset(gram for nodes in form for gram in Piece(nodes).grams())


def fingerprints(form: Shape) -> frozenset[int]:
    """The hashes that winnowing keeps, about two in five."""
    return frozenset(gram for nodes in form for gram in _winnow(Piece(nodes).grams()))


def _winnow(grams: list[int]) -> Iterator[int]:
    """The least hash of each window. A piece shorter than a window is one window."""
    for start in range(max(1, len(grams) - WINDOW + 1) if grams else 0):
        yield min(grams[start : start + WINDOW])


@lru_cache(maxsize=4096)
def _number(label: str) -> int:
    digest = blake2b(label.encode("utf-8", "surrogatepass"), digest_size=7).digest()
    return int.from_bytes(digest, "big")


def _parsed(source: str) -> ast.Module:
    """The syntax tree of a source that may be anything."""
    if len(source) > MOST_CHARACTERS:
        raise LabError(f"The answer has more than {MOST_CHARACTERS:,} characters.")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an odd escape in a learner's string is no news here
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise LabError("The answer is no Python that can be read.") from error


def _walk(statement: ast.stmt) -> _Walked:
    """Down the tree without recursion: it may be deep."""
    found: _Walked = []
    waiting: list[tuple[ast.AST, int]] = [(statement, statement.lineno)]
    while waiting:
        node, line = waiting.pop()
        if _says_nothing(node):
            continue
        line = getattr(node, "lineno", line)
        found.append((node, line))
        # A message is a message, however it is put together.
        if not isinstance(node, ast.JoinedStr):
            waiting += [(child, line) for child in reversed(_children(node))]
    return found


def _says_nothing(node: ast.AST) -> bool:
    """A docstring, a string instead of a comment, an annotation without a value."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    return isinstance(node, ast.AnnAssign) and node.value is None


def _children(node: ast.AST) -> list[ast.AST]:
    """The nodes below, in the order of the grammar."""
    found: list[ast.AST] = []
    for name in node._fields:
        if name in _NO_CODE:
            continue
        value = getattr(node, name, None)
        if isinstance(value, ast.AST):
            found.append(value)
        elif isinstance(value, list):
            found += [item for item in value if isinstance(item, ast.AST)]
    return found


def _used(body: list[tuple[ast.stmt, _Walked]], function: str) -> list[_Walked]:
    """The outer statements that define `function` or a name that it needs, in their order."""
    makers: dict[str, list[int]] = {}
    for number, (statement, nodes) in enumerate(body):
        for name in _defines(statement, nodes):
            makers.setdefault(name, []).append(number)
    if function not in makers:
        return [nodes for statement, nodes in body if isinstance(statement, _DEFINITIONS)]
    wanted, needed = [function], set[int]()
    while wanted:
        for number in makers.pop(wanted.pop(), ()):
            if number not in needed:
                needed.add(number)
                wanted += [node.id for node, _ in body[number][1] if isinstance(node, ast.Name)]
    return [body[number][1] for number in sorted(needed)]


def _defines(statement: ast.stmt, nodes: _Walked) -> list[str]:
    """The names that an outer statement binds; imports are left out, as they are everywhere."""
    if isinstance(statement, _DEFINITIONS):
        return [statement.name]
    if isinstance(statement, ast.Assign | ast.AnnAssign | ast.AugAssign):
        return [
            node.id
            for node, _ in nodes
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
    return []


@dataclass(frozen=True, slots=True)
class _Owned:
    """The names that an answer chose itself: those it binds, and the attributes that it sets."""

    names: set[str] = field(default_factory=set)
    functions: set[str] = field(default_factory=set)
    attributes: set[str] = field(default_factory=set)
    modules: dict[str, str] = field(default_factory=dict)


def _owned(nodes: Iterable[ast.AST]) -> _Owned:
    """Collect them over the whole answer, scopes aside."""
    owned = _Owned()
    for node in nodes:
        if isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                owned.names.add(node.id)
        elif isinstance(node, ast.Attribute):
            if isinstance(node.ctx, ast.Store):
                owned.attributes.add(node.attr)
        elif isinstance(node, ast.arg):
            owned.names.add(node.arg)
        elif isinstance(node, _DEFINITIONS):
            owned.functions.add(node.name)
            if isinstance(node, ast.ClassDef):
                owned.attributes.update(
                    inner.name for inner in node.body if isinstance(inner, _FUNCTIONS)
                )
        elif isinstance(node, _IMPORTS):
            for one in node.names:
                owned.modules[one.asname or one.name.split(".")[0]] = one.name
        elif isinstance(node, _BINDERS):
            owned.names.add(getattr(node, "name", None) or getattr(node, "rest", None) or "")
    return owned


def _piece(walked: _Walked, owned: _Owned) -> Piece:
    """What is kept of a statement."""
    said = [(_label(node, owned), line) for node, line in walked if not isinstance(node, _UNSAID)]
    return Piece(tuple(label for label, _ in said), tuple(line for _, line in said))


def _label(node: ast.AST, owned: _Owned) -> str:
    """What stays of a node: a name from outside as it is, one of the answer's own as its kind."""
    if isinstance(node, ast.Name):
        if node.id in owned.names:
            return "name"
        return "function" if node.id in owned.functions else owned.modules.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        return ".own" if node.attr in owned.attributes else f".{node.attr}"
    if isinstance(node, ast.Constant):
        value = node.value
        return str(value) if value is None or isinstance(value, bool) else type(value).__name__
    return _SAME.get(type(node)) or type(node).__name__
