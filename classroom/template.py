"""The template of a lesson: every part that the gates ask for, ready to be written."""

from __future__ import annotations

from classroom.exercise import Exercise
from classroom.exercises import of_stage
from classroom.lesson_lint import SECTIONS
from classroom.notebook import Notebook, new

_HEADER = """\
# {number:02d}{letter} · {title}

| | |
|---|---|
| **You will build** | (one sentence) |
| **Level** | beginner / intermediate / advanced |
| **Minutes** | 60 |
| **Before** | lesson {before:02d} |
| **Needs** | the lab's environment, no network |
"""
_WHAT_FOR = {
    "Understand": "Say what the stage is for, with one small example to look at.",
    "Think": "Ask for a prediction before a cell runs.",
    "Design": "Say which choices there are, and what each costs.",
    "Implement": "The starter, fifteen honest minutes, hints one at a time, a folded reveal.",
    "Test": "Try the function on real documents; state what must always hold.",
    "Improve": "Measure a change: before and after.",
    "Compare with an AI": "A prompt, a typical answer with a real flaw, the checks that find it.",
    "Recap": "Three sentences to remember.",
    "Quiz": "The same three questions again.",
    "Next": "Where the next lesson takes up.",
}


def lesson_template(number: int, title: str, letter: str = "") -> Notebook:
    """A lesson that has every part and says what goes where; a letter where it is one of several
    of its number."""
    before = max(0, number - 1)
    header = _HEADER.format(number=number, letter=letter, title=title, before=before)
    cells = [("markdown", header)]
    cells += [("code", _imports()), ("code", f"quiz({number})")]
    for section in SECTIONS:
        cells.append(("markdown", f"## {section}\n\n({_WHAT_FOR[section]})"))
        cells += _cells_of(section, number)
    lesson = new(cells)
    for cell in lesson.cells:
        if cell.source.startswith("reveal("):
            cell.metadata["jupyter"] = {"source_hidden": True}
    return lesson


def exercise_cells(exercise: Exercise) -> list[tuple[str, str]]:
    """The cells of one exercise in a lesson: task, starter, check, hint, reveal, carry on."""
    name = exercise.id
    return [
        ("markdown", f"### {exercise.title}\n\n{exercise.task}"),
        ("code", exercise.starter.strip()),
        ("code", f'check("{name}", {name})'),
        ("code", f'hint("{name}")'),
        ("code", f'reveal("{name}")'),
        ("code", f'{name} = carry_on("{name}", {name})'),
    ]


def _imports() -> str:
    return (
        "from classroom.learner import (\n"
        "    carry_on, check, compare, hint, predict, progress, quiz, reveal,\n"
        ")"
    )


def _cells_of(section: str, number: int) -> list[tuple[str, str]]:
    """The code that a section must have."""
    if section == "Think":
        return [("code", f'predict("{number:02d}-first", 0, confidence=0.7)')]
    if section == "Implement":
        core = [exercise for exercise in of_stage(number) if exercise.core]
        return [cell for exercise in core for cell in exercise_cells(exercise)]
    if section == "Test":
        return [("code", f'compare("{number:02d}-first", 0)')]
    if section == "Quiz":
        return [("code", f"quiz({number})")]
    return []
