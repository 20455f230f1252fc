"""All exercises, by id, in the order of the lessons.

They are found by walking the folders: `s<number>_<word>/<exercise>.py` holds an `EXERCISE`, and
`common.py` what the exercises of a stage share. The docstring of a folder says what the stage is
about: its title, a blank line, an introduction.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

from classroom.exercise import Exercise

_ROOM = Path(__file__).parent


class Topic(NamedTuple):
    """What the exercises of one stage are about."""

    word: str
    title: str
    introduction: str


def _topics() -> Iterator[tuple[int, Topic]]:
    for folder in sorted(_ROOM.glob("s[0-9][0-9]_*")):
        title, _, introduction = (
            import_module(f"{__name__}.{folder.name}").__doc__ or ""
        ).partition("\n\n")
        yield (
            int(folder.name[1:3]),
            Topic(folder.name[4:], title, re.sub(r"\s+", " ", introduction).strip()),
        )


def _found() -> Iterator[Exercise]:
    for path in _ROOM.glob("s[0-9][0-9]_*/*.py"):
        if path.stem not in ("__init__", "common"):
            module = import_module(f"{__name__}.{path.parent.name}.{path.stem}")
            yield module.EXERCISE


TOPICS: dict[int, Topic] = dict(_topics())
ALL: dict[str, Exercise] = {
    exercise.id: exercise
    for exercise in sorted(_found(), key=lambda item: (item.stage, item.place, item.id))
}


def of_stage(stage: int) -> list[Exercise]:
    """The exercises of a stage, in the order of its lesson; none if there is no such stage."""
    return [exercise for exercise in ALL.values() if exercise.stage == stage]


def exercise_named(name: str) -> Exercise:
    """The exercise with this id; KeyError names those that there are."""
    if name not in ALL:
        raise KeyError(f"There is no exercise {name!r}. There are: {', '.join(ALL)}.")
    return ALL[name]
