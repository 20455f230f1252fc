"""What works in a notebook and is no Python: IPython's magics, shell lines, questions for help.

IPython itself says what is one. A source that Python parses is never touched, and lines keep their
numbers, so that a learner finds the place that a message names.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from functools import cache
from textwrap import dedent
from tokenize import TokenError
from typing import Any

from classroom.grading.names import shown
from classroom.grading.submissions.source import Parsed, parse

MAX_LINE = 1_000  # characters: IPython's pattern for `?` takes quadratic time
_KEPT = ("time", "prun")  # a statement behind them runs without them
_TIMERS = (*_KEPT, *"timeit capture memit mprun lprun".split())
_HARMLESS = frozenset(
    "autoreload cat cd conda config debug env history load_ext ls lsmagic magic mamba matplotlib "
    "mkdir more pdb pinfo pinfo2 pip popd precision psearch pushd pwd pylab reload_ext rm set_env "
    "sx system uv who whos xmode".split()
) | set(_TIMERS)
_CELL = re.compile(r"\s*%%(!|\w*)(.*)")
_CALL = re.compile(r"(?P<before>.*?)get_ipython\(\)\.(?P<how>\w+)\((?P<what>.*)\)\s*", re.DOTALL)


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
    lines = source.split("\n")
    _cell_magics(lines, cleaned)
    if cleaned.python:
        text = dedent("\n".join(lines))  # as IPython does
        if parse(text).tree is None and max(map(len, lines)) <= MAX_LINE:
            text = _line_magics(text.split("\n"), cleaned)
        cleaned.source, cleaned.parsed = text, parse(text)
    return cleaned


def _cell_magics(lines: list[str], cleaned: Cleaned) -> None:
    """Take off the `%%` lines that a cell begins with; one above another counts too."""
    for number, line in enumerate(lines, start=1):
        found = _CELL.match(line)
        if found is None and line.strip():
            return
        if found is None:
            continue
        name = shown(found[1])
        if found[1] not in _TIMERS:
            cleaned.python = False
            said = f"A cell that begins with `%%{name}` is no Python; the cell is left out."
            cleaned.notes.append(Note(number, said, repaired=False))
            return
        lines[number - 1] = ""
        said = f"`%%{name}` is taken off; the cell runs without it."
        cleaned.notes.append(Note(number, said, repaired=True))


@cache
def _ipython() -> Any:
    """IPython's own reading of a cell. It takes half a second to import, and few cells need it."""
    from IPython.core import inputtransformer2

    return inputtransformer2


def _line_magics(lines: list[str], cleaned: Cleaned) -> str:
    """Replace every line that IPython would make a call of."""
    ipython = _ipython()
    kinds = (ipython.MagicAssign, ipython.SystemAssign, ipython.EscapedCommand, ipython.HelpEnd)
    lines = [f"{line}\n" for line in lines]
    try:
        by_line = ipython.make_tokens_by_line(lines)
    except (SyntaxError, TokenError):  # no magic makes Python of this
        by_line = []
    for tokens in by_line:
        for kind in kinds:
            try:
                found = kind.find([tokens])
                changed = found.transform(lines) if found else lines
            except SyntaxError:
                continue
            at = found.start_line if found else 0
            if not found or not (call := _CALL.fullmatch(changed[at])):
                continue
            changed[at], said, repaired = _without(call)
            cleaned.notes.append(Note(at + 1, said, repaired))
            # A magic that went on after a backslash is one line now.
            lines = [*changed[: at + 1], *["\n"] * (len(lines) - len(changed)), *changed[at + 1 :]]
            break
    return "".join(lines)[:-1]


def _without(call: re.Match[str]) -> tuple[str, str, bool]:
    """What a line with a magic becomes, what is said, and whether nothing is lost."""
    before, how = call["before"], call["how"]
    name, rest = (*ast.literal_eval(f"[{call['what']}]"), "", "")[:2]
    if how == "show_usage":  # a `?` alone: it names nothing
        name, how = "pinfo", "run_line_magic"
    indent = before[: len(before) - len(before.lstrip())]
    nothing = f"{indent}pass\n"  # never an empty line: the block around it may hold no other
    if how != "run_line_magic":
        said = "A line with `!` runs a program of the computer; it is left out."
        return nothing, said, not before.strip()
    if name in _KEPT and rest.strip() and not rest.lstrip().startswith("-"):
        said = f"`%{shown(name)}` is taken off; its statement runs without it."
        return f"{before}{rest}\n", said, True
    if name in _HARMLESS and not before.strip():
        return nothing, f"`%{shown(name)}` is for a notebook alone; the line is left out.", True
    said = f"`%{shown(name)}` is a magic that grading cannot replace; the line is left out."
    return nothing, said, False
