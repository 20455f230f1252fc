"""Who handed in the model solution, names aside, and of how much of an assignment."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass

from classroom.exercise import Exercise
from classroom.release import assignment_name


@dataclass(frozen=True, slots=True)
class SameAsSolution:
    """A student whose answers to these exercises of an assignment, which has `of` of them, are the
    model solution."""

    student: str
    assignment: str
    exercises: tuple[str, ...]
    of: int

    @property
    def whole(self) -> bool:
        """Is it so in every exercise of the assignment?"""
        return len(self.exercises) == self.of


def same_as_solution(
    solvers: Mapping[str, Set[str]], exercises: Mapping[str, Exercise]
) -> tuple[SameAsSolution, ...]:
    """One value for each student and assignment, from those whose answer to each exercise is the
    model solution. Whole assignments come first, then the most exercises."""
    stages = Counter(exercise.stage for exercise in exercises.values())
    held = defaultdict[tuple[str, int], list[str]](list)
    for name, exercise in exercises.items():
        for student in solvers.get(name, ()):
            held[student, exercise.stage].append(name)
    found = [
        SameAsSolution(student, assignment_name(stage), tuple(names), stages[stage])
        for (student, stage), names in held.items()
    ]
    return tuple(
        sorted(
            found,
            key=lambda one: (not one.whole, -len(one.exercises), one.assignment, one.student),
        )
    )
