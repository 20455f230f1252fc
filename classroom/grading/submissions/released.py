"""What learners were given: the test cells, word for word, as an answer to be told from them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from classroom.exercise import Exercise
from classroom.exercises import ALL, TOPICS, of_stage
from classroom.grading.submissions.python_source import blank, defined_names, normal
from classroom.grading.submissions.reading import RawCell
from classroom.release import assignment_name, source_notebook

ENDING = "-test"
ASSIGNMENTS = {assignment_name(stage): stage for stage in TOPICS}


def exercises_of(assignment: str) -> list[Exercise]:
    """The exercises of an assignment, in order; none if there is no such assignment."""
    return of_stage(ASSIGNMENTS[assignment]) if assignment in ASSIGNMENTS else []


@cache
def tests() -> dict[str, str]:
    """The source of the released test cell of every exercise, by the exercise's id."""
    marks = (
        (cell.metadata.get("nbgrader", {}).get("grade_id", ""), cell.source)
        for stage in TOPICS
        for cell in source_notebook(stage).cells
    )
    return {mark.removesuffix(ENDING): source for mark, source in marks if mark.endswith(ENDING)}


def exercises_in(cells: Iterable[RawCell]) -> dict[str, tuple[int, int]]:
    """For each assignment of which something stands in these cells: how many of its exercises, and
    how many of them differ from the starter."""
    found: dict[str, set[str]] = {}
    worked: dict[str, set[str]] = {}
    for cell in cells:
        source = normal(cell.source)
        for name in (defined_names(source) | {cell.grade_id}) & ALL.keys():
            assignment = assignment_name(ALL[name].stage)
            found.setdefault(assignment, set()).add(name)
            if source not in ("", starters()[name]):
                worked.setdefault(assignment, set()).add(name)
    return {name: (len(found[name]), len(worked.get(name, ()))) for name in sorted(found)}


@cache
def starters() -> dict[str, str]:
    """The starter of every exercise without what does not count in a comparison."""
    return {exercise.id: normal(exercise.starter) for exercise in ALL.values()}


def without_tests(source: str) -> tuple[str, set[str]]:
    """A source without the released tests that stand in it, and whose they were. They are there
    where a learner merged two cells, or saved the notebook as a Python file."""
    found = {name for name, test in tests().items() if test.split("\n")[-2] in source}
    lines = [line.rstrip() for line in source.split("\n")]
    spans, whose = [], set()
    for name in found:
        wanted = normal(tests()[name]).split("\n")
        for span in _stretches(lines, wanted):
            spans.append(span)
            whose.add(name)
    return (blank(source, spans) if spans else source), whose


def _stretches(lines: list[str], wanted: list[str]) -> list[tuple[int, int]]:
    """Where the wanted lines follow one another, empty ones between them not counted: (first line,
    last line), from 1."""
    filled = [(number, line) for number, line in enumerate(lines, start=1) if line]
    size = len(wanted)
    return [
        (filled[start][0], filled[start + size - 1][0])
        for start in range(len(filled) - size + 1)
        if [line for _, line in filled[start : start + size]] == wanted
    ]
