"""What a learner gets of an exercise is read from its file (classroom.starter, .exercise)."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import pytest

from classroom.exercise import Exercise, case
from classroom.exercises import ALL, TOPICS, of_stage
from classroom.starter import source_of

FILE = '''\
"""Add what is due

Add up `amounts` in the order
of `DAYS`:

1. take a day
   at a time;
2. skip what is missing.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from math import fsum

DAYS = ("Mon",
        "Tue")
UNUSED = 1


def due(connection: sqlite3.Connection, read: Callable[[str], float]) -> float:
    """The sum of all days.

    `read` gives the amount of one.
    """

    import math

    # All days at once.
    return math.fsum(read(day) for day in DAYS)


def _helper(days: Iterator[str]) -> str:
    return json.dumps(list(days))


def first_day_only(connection: sqlite3.Connection, read: Callable[[str], float]) -> float:
    """Only the first day is added:
    your loop returns too early."""
    return fsum([read(DAYS[0])])


def for_ever(connection: sqlite3.Connection, read: Callable[[str], float]) -> float:
    """Your loop never ends, whatever the days."""
    while True:
        read(DAYS[0])


def bare(value: int) -> int:
    return value
'''
HEAD = '''\
import sqlite3
from collections.abc import Callable

DAYS = ("Mon",
        "Tue")


def due(connection: sqlite3.Connection, read: Callable[[str], float]) -> float:
    """The sum of all days.

    `read` gives the amount of one.
    """
'''
BODY = """\
    import math

    # All days at once.
    return math.fsum(read(day) for day in DAYS)
"""


@pytest.fixture
def module(tmp_path: Path) -> Iterator[ModuleType]:
    """The module of an exercise, as an author would write it."""
    path = tmp_path / "due.py"
    path.write_text(FILE, encoding="utf-8")
    spec = spec_from_file_location("exercise_file.s08_money.due", path)
    assert spec is not None
    assert spec.loader is not None
    made = module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    yield made
    del sys.modules[spec.name]


@pytest.fixture
def exercise(module: ModuleType) -> Exercise:
    return Exercise(
        model_solution=module.due,
        reference=module.due,
        cases=(case("one call", None, len),),
        hidden=lambda _: iter(()),
        strategy=lambda: pytest.fail("nothing is drawn here"),
        hints=("Add.",),
        off_limits=("labkit",),
        hangs="for_ever",
    )


def test_a_starter_is_the_signature_the_docstring_and_what_they_need(exercise: Exercise) -> None:
    assert exercise.starter == f"{HEAD}    raise NotImplementedError\n"


def test_a_solution_is_the_same_with_the_body(exercise: Exercise) -> None:
    assert exercise.solution == HEAD + BODY
    assert exercise.answer == BODY.rstrip()


def test_title_and_task_come_from_the_docstring_a_paragraph_a_line(exercise: Exercise) -> None:
    assert exercise.title == "Add what is due"
    assert exercise.task == (
        "Add up `amounts` in the order of `DAYS`:\n\n"
        "1. take a day at a time;\n2. skip what is missing."
    )


def test_id_and_stage_come_from_the_names(exercise: Exercise) -> None:
    assert (exercise.id, exercise.stage) == ("due", 8)


def test_other_public_functions_are_the_mistakes(exercise: Exercise, module: ModuleType) -> None:
    """`fsum` is imported and `_helper` is private: neither is one."""
    assert [(item.name, item.sentence, item.hangs) for item in exercise.mistakes] == [
        ("first_day_only", "Only the first day is added: your loop returns too early.", False),
        ("for_ever", "Your loop never ends, whatever the days.", True),
        ("bare", "", False),
    ]
    assert exercise.mistakes[0].function is module.first_day_only


def test_a_solution_without_a_docstring_tells_the_author(module: ModuleType) -> None:
    with pytest.raises(ValueError, match="bare has no docstring that could tell a learner"):
        source_of(module.bare)


def test_every_file_of_a_folder_is_an_exercise_and_in_its_place() -> None:
    room = Path(str(sys.modules["classroom.exercises"].__file__)).parent
    files = {path for path in room.glob("s*/*.py") if path.stem not in ("__init__", "common")}
    assert {(int(path.parent.name[1:3]), path.stem) for path in files} == {
        (exercise.stage, name) for name, exercise in ALL.items()
    }
    for stage, topic in TOPICS.items():
        assert [item.place for item in of_stage(stage)] == list(range(1, len(of_stage(stage)) + 1))
        assert topic.word
        assert topic.title
        assert topic.introduction.endswith(".")
