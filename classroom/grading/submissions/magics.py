"""What works in a notebook and is no Python: IPython's magics, shell lines, questions for help.

A source that Python parses is never touched, so a `%` in a string or between two numbers is safe.
In all others, only the beginnings of logical lines are looked at. Lines keep their numbers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from classroom.grading.names import shown
from classroom.grading.submissions.python_source import Parsed, blank, parse

_TIMERS = frozenset("time timeit prun capture memit mprun lprun".split())
_TAKEN_OFF = frozenset("time prun".split())  # what their statement binds stays
_HARMLESS = frozenset(
    "alias autoreload automagic bookmark cat cd colors conda config debug dirs doctest_mode "
    "env gui history hist less load_ext logstart ls lsmagic magic mamba man matplotlib mkdir "
    "more notebook page pdb pdef pdoc pfile pinfo pinfo2 pip popd pprint precision psearch "
    "psource pushd pwd pycat pylab quickref reload_ext rm rmdir save set_env system sx tb "
    "unalias unload_ext uv who who_ls whos xmode".split()
) | (_TIMERS - _TAKEN_OFF)
_OTHER_LANGUAGES = frozenset(
    "! bash cmd html HTML javascript js latex markdown perl pypy python python2 python3 R ruby "
    "script sh sql svg SVG system sx cython".split()
)
# Possessive (`*+`): a line of a hundred thousand spaces must not take minutes.
_CELL = re.compile(r"\s*%%(!|\w*)(.*)")
_LINE = re.compile(r"[ \t]*+(?P<target>[\w.,][\w., \t]*=[ \t]*)?%[ \t]*+(?P<name>\w+)(?P<rest>.*)")
_SHELL = re.compile(r"[ \t]*+([\w.,][\w., \t]*=[ \t]*)?!")
_HELP = re.compile(r"[ \t]*+(\?{1,2}[^?]*|[\w.*%\[\]]+\?{1,2}[ \t]*)")
_LITERAL = re.compile(r"\"\"\"|'''|[\"'#()\[\]{}\\]|[^\"'#()\[\]{}\\]+")


@dataclass(frozen=True, slots=True)
class Note:
    """A magic: its line from 1, what is said about it, and whether nothing is lost without it."""

    line: int
    message: str
    repaired: bool


@dataclass(slots=True)
class Cleaned:
    """A cell's source as Python with its tree, and the magics that were in it; `python` is false
    for a cell in another language."""

    source: str
    parsed: Parsed
    notes: list[Note] = field(default_factory=list)
    python: bool = True


def clean(source: str) -> Cleaned:
    """A cell's source without magics. What parses as Python comes back unchanged."""
    cleaned = Cleaned(source, parse(source))
    if cleaned.parsed.tree is not None:
        return cleaned
    _cell_magics(cleaned)
    if cleaned.python and parse(cleaned.source).tree is None:
        _indented(cleaned)
        _line_magics(cleaned)
    if cleaned.notes:
        cleaned.parsed = parse(cleaned.source)
    return cleaned


def exported(source: str, tree: ast.Module) -> Cleaned:
    """The source without the `get_ipython()` lines that Jupyter writes for magics when it saves a
    notebook as a Python file."""
    asking = [(node, name) for node in tree.body if (name := _asked_of_ipython(node))]
    said = "`get_ipython()` stands for a magic of the notebook; the line is left out."
    left = blank(source, [(node.lineno, node.end_lineno or node.lineno) for node, _ in asking])
    return Cleaned(
        left,
        parse(left),
        [Note(node.lineno, said, name != "run_cell_magic") for node, name in asking],
    )


def _asked_of_ipython(node: ast.stmt) -> str:
    """`something`, if the statement is `get_ipython().something(…)`."""
    match node:
        case ast.Expr(ast.Call(ast.Attribute(ast.Call(ast.Name("get_ipython")), name))):
            return name
    return ""


# --- magics of a whole cell ----------------------------------------------------------------------


def _cell_magics(cleaned: Cleaned) -> None:
    """Take off the `%%` lines that a cell begins with; one above another counts too."""
    lines = cleaned.source.split("\n")
    for number, line in enumerate(lines, start=1):
        found = _CELL.match(line)
        if found is None and line.strip():
            break
        if found is None:
            continue
        name = shown(found[1])
        if found[1] not in _TIMERS:
            cleaned.python = False
            other = found[1] in _OTHER_LANGUAGES
            why = "is no Python" if other else "is a magic that grading does not know"
            said = f"A cell that begins with `%%{name}` {why}; the cell is left out."
            cleaned.notes.append(Note(number, said, repaired=False))
            return
        lines[number - 1] = ""
        said = f"`%%{name}` is taken off; the cell runs without it."
        cleaned.notes.append(Note(number, said, repaired=True))
    cleaned.source = "\n".join(lines)


def _indented(cleaned: Cleaned) -> None:
    """IPython takes off an indentation that the first line has; what works there has to here."""
    lines = cleaned.source.split("\n")
    start = next((index for index, line in enumerate(lines) if line.strip()), 0)
    margin = re.match(r"[ \t]*", lines[start])
    if margin is None or not margin[0]:
        return
    dedented = "\n".join(line.removeprefix(margin[0]) for line in lines)
    if parse(dedented).tree is not None:
        cleaned.source = dedented
        said = "The whole cell is indented, which only a notebook takes; it is moved to the margin."
        cleaned.notes.append(Note(start + 1, said, repaired=True))


# --- magics of a line ----------------------------------------------------------------------------


def _line_magics(cleaned: Cleaned) -> None:
    """Replace every line that is no Python, where a logical line begins."""
    lines = cleaned.source.split("\n")
    state = _Inside()
    dropping = False  # the line before was left out, and goes on after its backslash
    for number, line in enumerate(lines, start=1):
        if dropping:
            lines[number - 1], dropping = "", line.endswith("\\")
        elif state.begins and (change := _changed(line)) is not None:
            lines[number - 1], said, repaired = change
            cleaned.notes.append(Note(number, said, repaired))
            dropping = line.endswith("\\") and lines[number - 1].endswith("pass")
            if not dropping:
                state.read(lines[number - 1])
        else:
            state.read(line)
    cleaned.source = "\n".join(lines)


def _changed(line: str) -> tuple[str, str, bool] | None:
    """What a line becomes, what is said about it, and whether nothing is lost; None: Python."""
    indent = line[: len(line) - len(line.lstrip())]
    nothing = f"{indent}pass"  # never an empty line: the block around it may hold no other
    if found := _LINE.fullmatch(line):
        name, target = found["name"], found["target"] or ""
        if (
            name in _TAKEN_OFF
            and found["rest"].strip()
            and not found["rest"].lstrip().startswith("-")
        ):
            kept = f"{indent}{target}{found['rest'].lstrip()}"
            return kept, f"`%{shown(name)}` is taken off; its statement runs without it.", True
        if (name in _HARMLESS or name in _TAKEN_OFF) and not target:
            return nothing, f"`%{shown(name)}` is for a notebook alone; the line is left out.", True
        if target and _keyword_before(target):
            return None
        said = f"`%{shown(name)}` is a magic that grading cannot replace; the line is left out."
        return nothing, said, False
    if shell := _SHELL.match(line):
        if shell[1] and _keyword_before(shell[1]):
            return None
        said = "A line with `!` runs a program of the computer; it is left out."
        return nothing, said, not shell[1]
    if _HELP.fullmatch(line):
        return nothing, "A line with `?` asks a notebook for help; it is left out.", True
    return None


def _keyword_before(target: str) -> bool:
    """Is what stands before the equals sign no name? `a !` and `x == %` are mere mistakes."""
    names = target.rstrip().removesuffix("=").split(",")
    return not all(re.fullmatch(r"[\w.]+", name.strip()) for name in names if name.strip())


class _Inside:
    """Follows a source line by line: do we stand in a string, in brackets, or after a backslash?"""

    def __init__(self) -> None:
        self._quote = ""  # the three quotes of the string that goes on
        self._depth = 0
        self._continued = False

    @property
    def begins(self) -> bool:
        """Does a logical line begin here?"""
        return not self._quote and not self._depth and not self._continued

    def read(self, line: str) -> None:
        """Go through one line."""
        comment = False
        for piece in self._pieces(line):
            if self._quote:
                self._quote = "" if piece == self._quote else self._quote
            elif piece in ('"', "'", '"""', "'''"):
                self._quote = piece
            elif comment := piece == "#":
                break
            else:
                self._bracket(piece)
        if len(self._quote) == 1:  # such a string ends with its line, unless a backslash goes on
            self._quote = self._quote if line.endswith("\\") else ""
        self._continued = not self._quote and not comment and line.endswith("\\")

    def _bracket(self, piece: str) -> None:
        if piece in "([{":
            self._depth += 1
        elif piece in ")]}":
            self._depth = max(0, self._depth - 1)

    def _pieces(self, line: str) -> Iterator[str]:
        """Quotes, brackets and the rest. Inside a string, a backslash takes the next character with
        it, and three quotes are three pieces if the string began with one."""
        position = 0
        while position < len(line):
            if self._quote and line[position] == "\\":
                position += 2
                continue
            if self._quote and line.startswith(self._quote, position):
                piece = self._quote
            elif self._quote:
                piece = line[position]
            else:
                piece = (_LITERAL.match(line, position) or [""])[0]
            position += len(piece)
            yield piece
