"""What learners were given: starters and test cells, as an answer to be told from them."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

from classroom.exercise import Exercise
from classroom.exercises import ALL, TOPICS, of_stage
from classroom.grading.submissions.source import defined_names, normal
from classroom.grading.types import RawCell
from classroom.release import assignment_name, source_notebook

ENDING = "-test"
ASSIGNMENTS = {assignment_name(stage): stage for stage in TOPICS}


def exercises_of(assignment: str) -> list[Exercise]:
    """The exercises of an assignment, in order; none if there is no such assignment."""
    return of_stage(ASSIGNMENTS[assignment]) if assignment in ASSIGNMENTS else []


@cache
def tests() -> dict[str, str]:
    """The released test cell of every exercise, `normal`, by the exercise's id."""
    marks = (
        (cell.metadata.get("nbgrader", {}).get("grade_id", ""), cell.source)
        for stage in TOPICS
        for cell in source_notebook(stage).cells
    )
    return {
        mark.removesuffix(ENDING): normal(source) for mark, source in marks if mark.endswith(ENDING)
    }


@cache
def starters() -> dict[str, str]:
    """The starter of every exercise, `normal`."""
    return {exercise.id: normal(exercise.starter) for exercise in ALL.values()}


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
