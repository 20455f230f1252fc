"""A look at one cell: what would run of it, what it defines, and what is remarkable about it."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field, replace

from classroom.grading.names import shown
from classroom.grading.submissions import magics
from classroom.grading.submissions.python_source import (
    Definition,
    Parsed,
    blank,
    bound_names,
    definitions,
    parse,
)
from classroom.grading.submissions.reading import RawCell
from classroom.grading.submissions.released import ENDING, tests, without_tests
from classroom.grading.submissions.warning_signs import signs
from classroom.grading.types import Finding, Kind

MAX_QUOTED = 80  # characters of a line in a message
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_VERDICT = re.compile(r"^\w*[ \t=]*verdict\([ \t]*[\"'](\w+)[\"']", re.MULTILINE)


@dataclass(slots=True)
class Look:
    """What was seen of a cell. `source` is what would run; `runs` says whether it does, which may
    change while the answers are looked for. `mark` is the exercise that nbgrader's metadata names;
    `test_of` the exercise whose test this cell was meant to be. `definitions` and `names` are those
    of the assignment's exercises, `others` a few other functions."""

    number: int
    source: str
    code: bool
    runs: bool
    parses: bool = False
    mark: str = ""
    test_of: str = ""
    tests: set[str] = field(default_factory=set)
    definitions: list[Definition] = field(default_factory=list)
    names: set[str] = field(default_factory=set)
    others: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)

    @property
    def filled(self) -> bool:
        return bool(self.source.strip())

    def untouched_out(self, name: str) -> None:
        """Take the starter of an exercise out, so that a copy does not undo the answer."""
        starters = [d for d in self.definitions if d.name == name and d.untouched and d.apart]
        self.source = blank(self.source, [(d.first, d.last) for d in starters])


def look_at(cell: RawCell, exercises: Set[str]) -> Look:
    """Read one cell of an assignment that has these exercises. Raises nothing, runs nothing."""
    look = _code(cell, exercises) if cell.code else _text(cell, exercises)
    look.findings = [
        replace(finding, cell=cell.number, exercise=_about(look)) for finding in look.findings
    ]
    return look


def _text(cell: RawCell, exercises: Set[str]) -> Look:
    look = Look(cell.number, _fenced(cell.source), code=False, runs=False)
    look.mark = cell.grade_id if cell.grade_id in exercises else ""
    if look.mark or "def " in look.source:
        _read(look, parse(look.source), exercises)
    return look


def _code(cell: RawCell, exercises: Set[str]) -> Look:
    cleaned = magics.clean(cell.source)
    source, found = without_tests(cleaned.source)
    look = Look(cell.number, source, code=True, runs=True, tests=found)
    look.mark = cell.grade_id if cell.solution and cell.grade_id in exercises else ""
    look.findings = _magic(cleaned.notes)
    if cleaned.python:
        parsed = parse(source) if found else cleaned.parsed
        if parsed.tree is not None and "get_ipython" in source:
            exported = magics.exported(source, parsed.tree)
            look.source, parsed = exported.source, exported.parsed
            look.findings += _magic(exported.notes)
        _read(look, parsed, exercises)
    look.test_of = _test_of(cell.grade_id, look)
    look.runs = not look.test_of
    return look


def _read(look: Look, parsed: Parsed, exercises: Set[str]) -> None:
    """Fill in what the source says."""
    found = definitions(look.source, parsed.tree)
    look.definitions = [definition for definition in found if definition.name in exercises]
    look.others = [definition.name for definition in found if definition.name not in exercises][:3]
    look.parses = parsed.tree is not None
    if parsed.tree is not None:
        look.names = bound_names(parsed.tree) & exercises
        look.findings += signs(parsed.tree)
    else:
        look.findings.append(_syntax_error(parsed, look.source))


def _syntax_error(parsed: Parsed, source: str) -> Finding:
    """Where Python stopped reading, with the line itself, as far as there is one."""
    where = f"line {parsed.line} of this cell" if parsed.line else "this cell"
    lines = source.split("\n")
    text = lines[parsed.line - 1].strip() if 0 < parsed.line <= len(lines) else ""
    if text:
        cut = f"{text[:MAX_QUOTED]}…" if len(text) > MAX_QUOTED else text
        where += ", `" + shown(cut).replace("`", "'") + "`"
    message = f"Python cannot read {where}: {parsed.error}. The cell is left out; the others run."
    return Finding(Kind.SYNTAX_ERROR, message, line=parsed.line)


def _about(look: Look) -> str:
    """The exercise that a cell is about, as far as it shows."""
    return look.mark or next((definition.name for definition in look.definitions), "")


def _magic(notes: list[magics.Note]) -> list[Finding]:
    return [
        Finding(Kind.MAGIC, note.message, line=note.line, repaired=note.repaired) for note in notes
    ]


def _test_of(grade_id: str, look: Look) -> str:
    """The exercise whose test the cell was: by nbgrader's metadata, or by the call for a verdict in
    a cell that defines nothing."""
    named = grade_id.removesuffix(ENDING)
    if grade_id.endswith(ENDING) and named in tests():
        return named
    called = _VERDICT.search(look.source)
    defines = look.definitions or look.others
    return called[1] if called and called[1] in tests() and not defines else ""


def _fenced(source: str) -> str:
    """A text cell's code: what stands in its fences, if it has any; lines keep their numbers."""
    lines = source.split("\n")
    if not any(_FENCE.match(line) for line in lines):
        return source
    inside, kept = False, []
    for line in lines:
        fence = _FENCE.match(line) is not None
        inside ^= fence
        kept.append(line if inside and not fence else "")
    return "\n".join(kept)
