"""A linter for lessons: each rule says what is missing and why it matters.

nbval compares outputs, but passes notebooks whose outputs were stripped, cells with unknown magics
and cells that were meant to fail and did not. These rules stand before it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from classroom.exercises import ALL, of_stage
from classroom.glossary import Term
from classroom.notebook import Notebook, clean, lesson_number, read
from classroom.quizzes import QUIZZES

HEADER = ("You will build", "Level", "Minutes", "Before", "Needs")
SECTIONS = (
    "Understand",
    "Think",
    "Design",
    "Implement",
    "Test",
    "Improve",
    "Compare with an AI",
    "Recap",
    "Quiz",
    "Next",
)
MIN_CELLS, MAX_CELLS = 25, 50
WORDS_A_MINUTE = 130  # technical prose, read to be understood
CODE_LINES_A_MINUTE = 8
_EMPTY_ALT = re.compile(r"!\[\s*\]\(|<img(?![^>]*\balt=['\"][^'\"]+['\"])[^>]*>")
# nbval's own switches (its documentation, "Special comments and tags"), and what each does.
_SWITCHES = {
    "nbval-skip": "does not run it",
    "skip-execution": "does not run it",
    "nbval-ignore-output": "compares nothing",
    "nbval-raises-exception": "passes it without an error as well",
    "raises-exception": "passes it without an error as well",
}
_SWITCH_COMMENT = re.compile(
    r"^\s*#\s*(NBVAL_(?:SKIP|IGNORE_OUTPUT|RAISES_EXCEPTION)|PYTEST_VALIDATE_IGNORE_OUTPUT)",
    re.MULTILINE,
)
_ABSOLUTE_PATH = re.compile(r"""["']((?:/|~/|[A-Za-z]:[\\/]{1,2})[\w.-]+[\\/][^"'\s]*)["']""")
_MACHINE_PATH = re.compile(r"(?:/home/|/root/|/Users/|/tmp/|[A-Z]:\\\\Users)")


def problems(path: Path, glossary: Sequence[Term] = ()) -> list[str]:
    """Everything that is wrong with a lesson, a sentence each; none for a good one."""
    notebook = read(path)
    lesson = lesson_number(path)
    rules = (
        _header(notebook),
        _sections(notebook),
        _placeholders(notebook),
        _size(notebook),
        _outputs(notebook),
        _unchecked_cells(notebook),
        _questions_to_nobody(notebook),
        _pictures(notebook),
        _paths(notebook),
        _exercises(notebook, lesson),
        _quiz(notebook, lesson),
        _prediction(notebook),
        _minutes(notebook, lesson),
        _terms(notebook, lesson, glossary),
        _cleanliness(path),
    )
    return [problem for rule in rules for problem in rule]


def estimated_minutes(notebook: Notebook, lesson: int) -> float:
    """Reading the prose and the code, and the minutes of the core exercises."""
    words = len(_prose(notebook).split())
    lines = sum(len(cell.source.splitlines()) for cell in _code(notebook))
    exercises = sum(e.minutes for e in of_stage(lesson) if e.core)
    return words / WORDS_A_MINUTE + lines / CODE_LINES_A_MINUTE + exercises


def declared_minutes(notebook: Notebook) -> int | None:
    """The minutes that the header promises."""
    found = re.search(r"\*\*Minutes\*\*[^\d\n]*(\d+)", _prose(notebook))
    return int(found[1]) if found else None


def _header(notebook: Notebook) -> Iterator[str]:
    first = notebook.cells[0].source if notebook.cells else ""
    if not re.match(r"# \d\d[a-z]? · \S", first):
        yield "The first cell must start with '# NN · Title', so that lessons can be told apart."
    for name in HEADER:
        if f"**{name}**" not in first:
            yield f"The header lacks '**{name}**': a learner decides by it whether to start now."


def _sections(notebook: Notebook) -> Iterator[str]:
    found = re.findall(r"^## (.+?)\s*$", _prose(notebook), re.MULTILINE)
    if tuple(found) != SECTIONS:
        yield f"The sections are {', '.join(found)}; every lesson has {', '.join(SECTIONS)}."


def _placeholders(notebook: Notebook) -> Iterator[str]:
    """A template that nobody filled in has every section, and nothing in it."""
    for cell in notebook.cells:
        if found := re.fullmatch(r"## (.+)\n\n\([^\n]+\)", cell.source.strip()):
            yield f"The section '{found[1]}' still holds the template's words."
    if re.search(r"\| \(one sentence\) \||beginner / intermediate / advanced", _prose(notebook)):
        yield "The header still holds the template's words: say what is built, and for whom."


def _size(notebook: Notebook) -> Iterator[str]:
    count = len(notebook.cells)
    if not MIN_CELLS <= count <= MAX_CELLS:
        yield f"It has {count} cells; {MIN_CELLS} to {MAX_CELLS} are a lesson's length."


def _outputs(notebook: Notebook) -> Iterator[str]:
    """Stripped outputs compare with nothing, so nbval would pass them."""
    for number, cell in enumerate(_code(notebook), start=1):
        if cell.execution_count is None and _shows_something(cell.source):
            yield f"Code cell {number} has no stored output. Run: labkit run-lesson"
        for output in cell.outputs:
            if output.output_type == "error":
                yield f"Code cell {number} ends in {output.ename}; a shipped lesson runs through."
            if output.get("name") == "stderr":
                yield f"Code cell {number} writes to stderr: {output.text[:60]!r}."


def _shows_something(source: str) -> bool:
    """Does a cell end in an expression, whose value a notebook shows?"""
    try:
        body = ast.parse(source).body
    except SyntaxError:
        return True
    return bool(body) and isinstance(body[-1], ast.Expr)


def _unchecked_cells(notebook: Notebook) -> Iterator[str]:
    """Whatever makes nbval pass over a cell: what it says is then not tested any more."""
    for number, cell in enumerate(_code(notebook), start=1):
        if re.search(r"^\s*[%!]", cell.source, re.MULTILINE):
            yield f"Code cell {number} has a magic or shell line; nbval skips what it cannot run."
        for tag in cell.metadata.get("tags", []):
            if tag in _SWITCHES:
                yield f"Code cell {number} is tagged {tag}: nbval then {_SWITCHES[tag]}."
        for found in _SWITCH_COMMENT.finditer(cell.source):
            yield (
                f"Code cell {number} says '# {found[1]}', which tells nbval to look away: "
                "make the output the same everywhere instead."
            )


def _questions_to_nobody(notebook: Notebook) -> Iterator[str]:
    for number, cell in enumerate(_code(notebook), start=1):
        if re.search(r"(?<![\w.])input\(", cell.source):
            yield f"Code cell {number} calls input(): where lessons are tested nobody answers."


def _pictures(notebook: Notebook) -> Iterator[str]:
    texts = [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]
    texts += [str(html) for output in _all_outputs(notebook) if (html := _html(output))]
    if any(_EMPTY_ALT.search(text) for text in texts):
        yield "A picture has no alternative text: it says nothing to who cannot see it."
    if any("image/png" in output.get("data", {}) for output in _all_outputs(notebook)):
        yield "A bare PNG output has no alternative text; return a classroom.plots.Picture."


def _paths(notebook: Notebook) -> Iterator[str]:
    if _MACHINE_PATH.search(str([cell.get("outputs", "") for cell in notebook.cells])):
        yield "An output holds a path of the machine that ran it."
    for number, cell in enumerate(_code(notebook), start=1):
        if found := _ABSOLUTE_PATH.search(cell.source):
            yield (
                f"Code cell {number} names the absolute path {found[1]}, which nobody else has: "
                "start from the lesson's own folder."
            )


def _exercises(notebook: Notebook, lesson: int) -> Iterator[str]:
    """Each core exercise: the starter as it is, a check, a way to go on, a folded reveal."""
    code = "\n\n".join(cell.source for cell in _code(notebook))
    for exercise in ALL.values():
        if exercise.stage != lesson or not exercise.core:
            continue
        if exercise.starter.strip() not in code:
            yield f"The starter of {exercise.id} is not in a cell, word for word."
        for call in ("check", "carry_on"):
            if f'{call}("{exercise.id}"' not in code:
                yield f'There is no {call}("{exercise.id}", …).'
        folded = [c for c in _code(notebook) if f'reveal("{exercise.id}"' in c.source]
        if not any(c.metadata.get("jupyter", {}).get("source_hidden") for c in folded):
            yield f'There is no folded cell with reveal("{exercise.id}").'


def _quiz(notebook: Notebook, lesson: int) -> Iterator[str]:
    if lesson not in QUIZZES:
        yield f"classroom.quizzes has no questions for lesson {lesson:02d}."
    calls = sum(cell.source.count(f"quiz({lesson}") for cell in _code(notebook))
    if calls < 2:
        yield f"quiz({lesson}) must be called at the start and at the end, so that the gain shows."


def _prediction(notebook: Notebook) -> Iterator[str]:
    code = "\n".join(cell.source for cell in _code(notebook))
    if "predict(" not in code or "compare(" not in code:
        yield "There is no predict(…) before and compare(…) after a result."


def _minutes(notebook: Notebook, lesson: int) -> Iterator[str]:
    declared, estimated = declared_minutes(notebook), estimated_minutes(notebook, lesson)
    if declared is None:
        yield "The header gives no number of minutes: a learner plans by it."
    elif not 0.6 * estimated <= declared <= 1.7 * estimated:
        yield f"It declares {declared} minutes; reading and exercises take about {estimated:.0f}."


def _terms(notebook: Notebook, lesson: int, glossary: Sequence[Term]) -> Iterator[str]:
    prose = _prose(notebook)
    running = _running_text(notebook)
    for term in glossary:
        if term.lesson > lesson and term.used_in(prose):
            yield f"'{term.term}' is used before lesson {term.lesson:02d} introduces it."
        if term.lesson == lesson and f"**{term.term.lower()}" not in prose.lower():
            yield f"'{term.term}' belongs to this lesson and is not introduced in bold."
        elif term.lesson == lesson and term.used_in(running.partition(f"**{term.term.lower()}")[0]):
            yield f"'{term.term}' is used before the words that introduce it in bold."


def _cleanliness(path: Path) -> Iterator[str]:
    import nbformat

    text = path.read_text(encoding="utf-8")
    again = nbformat.writes(clean(read(path)), indent=1)  # type: ignore[no-untyped-call]
    if text.rstrip() != again.rstrip():
        yield "Its ids, counts or metadata are not the clean ones. Run: labkit run-lesson"


def _code(notebook: Notebook) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def _prose(notebook: Notebook) -> str:
    return "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")


def _running_text(notebook: Notebook) -> str:
    """The prose in lower case, without the header, headings and code: what is read in a row."""
    texts = [c.source for c in notebook.cells[1:] if c.cell_type == "markdown"]
    return re.sub(r"^#.*$|`[^`]*`", "", "\n\n".join(texts), flags=re.MULTILINE).lower()


def _all_outputs(notebook: Notebook) -> Iterator[Any]:
    for cell in _code(notebook):
        yield from cell.outputs


def _html(output: Any) -> str:
    return str(output.get("data", {}).get("text/html", ""))
