"""All exercises, by id, in the order of the lessons."""

from __future__ import annotations

from classroom.exercise import Exercise
from classroom.exercises import (
    stage01,
    stage02,
    stage03,
    stage04,
    stage05,
    stage06,
    stage07,
    stage11,
)

_STAGES = (stage01, stage02, stage03, stage04, stage05, stage06, stage07, stage11)

ALL: dict[str, Exercise] = {
    exercise.id: exercise for module in _STAGES for exercise in module.EXERCISES
}


def of_stage(stage: int) -> list[Exercise]:
    """The exercises of a stage, in the order of its lesson; none if there is no such stage."""
    return [exercise for exercise in ALL.values() if exercise.stage == stage]


def exercise_named(name: str) -> Exercise:
    """The exercise with this id; KeyError names those that there are."""
    if name not in ALL:
        raise KeyError(f"There is no exercise {name!r}. There are: {', '.join(ALL)}.")
    return ALL[name]
