"""A look at one cell: what would run of it, what it defines, and what is remarkable about it."""

from __future__ import annotations

import re
from collections.abc import Set
from dataclasses import dataclass, field, replace

from classroom.grading.names import shown
from classroom.grading.submissions import magics
from classroom.grading.submissions.released import ENDING, tests
from classroom.grading.submissions.source import (
    Definition,
    Parsed,
    blank,
    bound_names,
    definitions,
    normal,
    parse,
)
from classroom.grading.submissions.warning_signs import signs
from classroom.grading.types import Finding, Kind, RawCell

MAX_QUOTED = 80  # characters of a line in a message
_FENCE = re.compile(r"[ \t]*(?:```|~~~)")
_VERDICT = re.compile(r"^\w*[ \t=]*verdict\([ \t]*[\"'](\w+)[\"']", re.MULTILINE)


@dataclass(slots=True)
class Inspection:
    """What was seen of a cell. `source` is what would run; `runs` says whether it does, which may
    change while the answers are looked for. `mark` is the exercise that nbgrader's metadata names;
    `test_of` the exercise whose test this cell was meant to be; `tests` those whose released test
    stands in it word for word. `definitions` and `names` are those of the assignment's exercises,
    `others` a few other functions."""

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

    @property
    def is_released_test(self) -> bool:
        return normal(self.source) in tests().values()

    def defining(self, name: str) -> list[Definition]:
        return [found for found in self.definitions if found.name == name]

    def untouched_out(self, name: str) -> None:
        """Take the starter of an exercise out, so that a copy does not undo the answer."""
        starters = [d for d in self.defining(name) if d.untouched and d.apart]
        self.source = blank(self.source, [(d.first, d.last) for d in starters])


def inspect(cell: RawCell, exercises: Set[str]) -> Inspection:
    """Read one cell of an assignment that has these exercises. Raises nothing, runs nothing."""
    seen = _code(cell, exercises) if cell.code else _text(cell, exercises)
    about = seen.mark or next((found.name for found in seen.definitions), "")
    seen.findings = [
        replace(finding, cell=cell.number, exercise=about) for finding in seen.findings
    ]
    return seen


def _text(cell: RawCell, exercises: Set[str]) -> Inspection:
    seen = Inspection(cell.number, _fenced(cell.source), code=False, runs=False)
    seen.mark = cell.grade_id if cell.grade_id in exercises else ""
    if seen.mark or "def " in seen.source:
        _read(seen, parse(seen.source), exercises)
    return seen


def _code(cell: RawCell, exercises: Set[str]) -> Inspection:
    cleaned = magics.clean(cell.source)
    seen = Inspection(cell.number, cleaned.source, code=True, runs=True)
    seen.mark = cell.grade_id if cell.solution and cell.grade_id in exercises else ""
    seen.findings = [
        Finding(Kind.MAGIC, note.message, line=note.line, repaired=note.repaired)
        for note in cleaned.notes
    ]
    if cleaned.python:
        _read(seen, cleaned.parsed, exercises)
    plain = normal(cell.source) if "verdict(" in cell.source else ""
    seen.tests = {name for name, test in tests().items() if plain and test in plain}
    # The test of an exercise: by nbgrader's metadata, or by its call where nothing is defined.
    named, called = cell.grade_id.removesuffix(ENDING), _VERDICT.search(seen.source)
    if cell.grade_id.endswith(ENDING) and named in tests():
        seen.test_of = named
    elif called and called[1] in tests() and not (seen.definitions or seen.others):
        seen.test_of = called[1]
    seen.runs = not seen.test_of
    return seen


def _read(seen: Inspection, parsed: Parsed, exercises: Set[str]) -> None:
    """Fill in what the source says."""
    found = definitions(seen.source, parsed.tree)
    seen.definitions = [definition for definition in found if definition.name in exercises]
    seen.others = [definition.name for definition in found if definition.name not in exercises][:3]
    seen.parses = parsed.tree is not None
    if parsed.tree is not None:
        seen.names = bound_names(parsed.tree) & exercises
        seen.findings += signs(parsed.tree)
    else:
        seen.findings.append(_syntax_error(parsed, seen.source))


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
