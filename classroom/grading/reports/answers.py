"""Answers laid out for the tools that look for copies: JPlag, Dolos, MOSS, copydetect.

    answers/ASSIGNMENT/submissions/STUDENT/EXERCISE.py    what was handed in
    answers/ASSIGNMENT/starter/EXERCISE.py                what everybody was given: the base code
    answers/ASSIGNMENT/solution/EXERCISE.py               the model solution, to be compared with

These tools have years of research in them and run on code of every size, so labkit has none of its
own. `docs/instructor.md` shows one of them run.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from classroom.exercises import ALL
from classroom.grading.types import Answer
from classroom.grading.writing import write_whole
from classroom.release import assignment_name

FOLDER = "answers"
GIVEN = ("starter", "solution")  # folders, and what an exercise calls them


def write_answers(answers: Sequence[Answer], folder: Path) -> Path:
    """Write `answers/` into `folder`; of an assignment that is there, nothing of before stays.

    Each assignment has a folder of its own, so that a tool compares what answers the same task.
    """
    by_assignment: dict[str, list[Answer]] = {}
    for answer in answers:
        name = assignment_name(ALL[answer.exercise].stage)
        by_assignment.setdefault(name, []).append(answer)
    for name, held in by_assignment.items():
        below = folder / FOLDER / name
        shutil.rmtree(below, ignore_errors=True)
        for exercise in {answer.exercise for answer in held}:
            for kind in GIVEN:
                write_whole(below / kind / f"{exercise}.py", getattr(ALL[exercise], kind))
        for answer in held:
            place = below / "submissions" / answer.folder / f"{answer.exercise}.py"
            write_whole(place, f"{answer.source.rstrip()}\n")
    return folder / FOLDER
