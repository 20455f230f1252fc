"""The synthetic class: sources that behave as they should, and a mix that leaves nothing out."""

from __future__ import annotations

import builtins
import dis
import json
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from random import Random
from types import CodeType, FunctionType
from typing import Any

import pytest

from classroom.checking import Outcome, Ran, run_reference
from classroom.exercise import Arguments, Case, Exercise, Function, Mistake
from classroom.exercises import ALL
from classroom.limits import TooSlowError, call_with_limit
from classroom.release import TOPICS
from classroom.runtime.serialise import same
from synthetic_class import (
    ATTACKS,
    DELEGATING,
    QUIRKS,
    SIZE,
    Student,
    expected_mark,
    notebook_of,
    standalone,
    synthetic_class,
    write_class,
)

MISTAKES = [(exercise, mistake) for exercise in ALL.values() for mistake in exercise.mistakes]

each_mistake = pytest.mark.parametrize(
    ("exercise", "mistake"), MISTAKES, ids=[f"{item.id}-{found.name}" for item, found in MISTAKES]
)


def namespace_of(source: str, *allowed: str) -> dict[str, Any]:
    """What a source defines where Python's own library, numpy and `allowed` are all there is."""

    def guarded(name: str, *rest: Any) -> Any:
        root = name.partition(".")[0]
        if root not in sys.stdlib_module_names and root not in ("numpy", *allowed):
            raise ModuleNotFoundError(f"no module named {root}")
        return builtins.__import__(name, *rest)

    namespace = {"__builtins__": {**vars(builtins), "__import__": guarded}, "__name__": "work"}
    exec(compile(source, "<cell>", "exec"), namespace)
    return namespace


def defined(exercise: Exercise, source: str) -> Function:
    function: Function = namespace_of(source, *exercise.packages)[exercise.id]
    return function


def ran(exercise: Exercise, function: Function, arguments: Arguments, hangs: bool) -> Ran | None:
    """What a call comes to; None if it does not come to an end."""
    changed = replace(exercise, reference=function)
    if not hangs:
        return run_reference(changed, arguments)
    try:
        result: Ran = call_with_limit(lambda: run_reference(changed, arguments), 0.3)
    except TooSlowError:
        return None
    return result


def alike(left: Ran | None, right: Ran | None) -> bool:
    if left is None or right is None:
        return left is right
    return left.raised == right.raised and same(left.value, right.value)


@each_mistake
def test_a_mistake_that_stands_alone_behaves_as_it_does_in_labkit(
    exercise: Exercise, mistake: Mistake
) -> None:
    function = defined(exercise, standalone(exercise, mistake))
    probes = [case.arguments for case in exercise.cases] + exercise.hidden_cases(1)
    for arguments in probes:
        theirs = ran(exercise, mistake.function, arguments, mistake.hangs)
        mine = ran(exercise, function, arguments, mistake.hangs)
        assert alike(mine, theirs), arguments


def _globals_asked(code: CodeType) -> Iterator[str]:
    for instruction in dis.get_instructions(code):
        if instruction.opname == "LOAD_GLOBAL":
            yield instruction.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals_asked(constant)


@each_mistake
def test_nothing_in_a_slice_is_missing_or_tells_its_name(
    exercise: Exercise, mistake: Mistake
) -> None:
    source = standalone(exercise, mistake)
    namespace = namespace_of(source, *exercise.packages)
    for function in [item for item in namespace.values() if isinstance(item, FunctionType)]:
        assert function.__doc__ is None
        asked = set(_globals_asked(function.__code__))
        assert asked <= {*namespace, *vars(builtins)}
    assert mistake.name not in source
    assert "labkit" not in source


# --- the oracle ----------------------------------------------------------------------------------


def _doubled(numbers: list[int]) -> list[int]:
    if len(numbers) > 3:
        raise ValueError("too many")
    return [2 * number for number in numbers]


def _exercise(*hidden: list[int]) -> Exercise:
    """Double up to three numbers, for 4 points; the examples are [1] and []."""

    def some(_: Random) -> Iterator[Arguments]:
        yield from ((list(numbers),) for numbers in hidden)

    return replace(
        ALL["cosine"], points=4, reference=_doubled, cases=(Case(([1],)), Case(([],))), hidden=some
    )


def test_each_group_earns_its_share_as_a_whole() -> None:
    exercise = _exercise([5], [7, 8], [1, 2, 3, 4])

    def only_short(numbers: list[int]) -> list[int]:
        return _doubled(numbers) if len(numbers) != 2 else []

    def never_refuses(numbers: list[int]) -> list[int]:
        return [2 * number for number in numbers]

    def fails_an_example(numbers: list[int]) -> list[int]:
        return _doubled(numbers) if numbers else [0]

    def refuses_otherwise(numbers: list[int]) -> list[int]:
        if len(numbers) > 3:
            raise TypeError
        return _doubled(numbers)

    def changes_what_it_is_given(numbers: list[int]) -> list[int]:
        result = _doubled(numbers)
        numbers.append(0)
        return result

    earned = {
        _doubled: 4.0,
        only_short: 2.0,
        never_refuses: 3.0,
        fails_an_example: 2.0,
        refuses_otherwise: 3.0,
        changes_what_it_is_given: 0.0,
    }
    for function, mark in earned.items():
        assert expected_mark(exercise, function, 0) == mark, function.__name__


def test_without_refusals_examples_earn_a_third() -> None:
    exercise = _exercise([5])
    assert expected_mark(exercise, _doubled, 0) == 4.0
    assert expected_mark(exercise, lambda numbers: [2] * len(numbers), 0) == 1.33
    assert expected_mark(exercise, lambda numbers: [10 for _ in numbers], 0) == 2.67


@pytest.mark.parametrize("exercise", ALL.values(), ids=lambda exercise: exercise.id)
def test_the_oracle_tells_right_from_wrong(exercise: Exercise) -> None:
    assert expected_mark(exercise, exercise.reference, "secret") == exercise.points
    for mistake in exercise.mistakes:
        mark = expected_mark(exercise, mistake.function, "secret")
        assert 0 <= mark <= 0.75 * exercise.points, mistake.name


# --- the class -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def students() -> list[Student]:
    return synthetic_class()


def _digest(students: list[Student]) -> str:
    digest = sha256()
    for student in students:
        digest.update(repr((student.name, student.assignment, student.kind)).encode())
        for name, content in student.files.items():
            digest.update(repr((name, len(content))).encode() + content)
    return digest.hexdigest()


def test_the_same_seed_gives_the_same_class(students: list[Student]) -> None:
    assert _digest(synthetic_class()) == _digest(students)
    assert _digest(synthetic_class(seed=1)) != _digest(students)


def test_a_class_holds_everything(students: list[Student]) -> None:
    assert len(students) == len({student.name for student in students}) == SIZE
    made = {
        (expected.exercise, expected.mistake)
        for student in students
        for expected in student.expected.values()
        if expected.mistake
    }
    assert made == {(exercise.id, mistake.name) for exercise, mistake in MISTAKES}
    assert {student.case for student in students} == {"", *ATTACKS, *DELEGATING, *QUIRKS}
    for kind in ("right", "untouched", "mistakes"):
        stages = {student.assignment for student in students if student.kind == kind}
        assert len(stages) == len(TOPICS), kind
    kinds = Counter(student.kind for student in students)
    assert kinds["half finished"] and kinds["ordinary"]
    assert sum(student.kind in ("right", "ordinary") for student in students) >= 40
    assert any("\u202e" in student.name for student in students)


def test_each_submission_says_what_is_expected_of_each_exercise(students: list[Student]) -> None:
    for student in students:
        stage = int(student.assignment[2:4])
        assert list(student.expected) == [item.id for item in ALL.values() if item.stage == stage]
        for name, expected in student.expected.items():
            assert expected.exercise == name
            assert bool(expected.mistake) <= (expected.function is not None)
            if expected.mistake:  # see the test of the oracle
                continue
            lowest, highest = expected.marks(seed=3)
            assert 0 <= lowest <= highest <= ALL[name].points
            assert (highest == ALL[name].points) == (Outcome.RIGHT in expected.outcomes)
        if student.kind == "attack":  # all but the attacked one are right
            others = set(student.expected) - {ATTACKS[student.case].exercise}
            assert all(student.expected[name].outcomes == {Outcome.RIGHT} for name in others)


def test_known_examples_alone_earn_their_quarter(students: list[Student]) -> None:
    begun = [
        student.expected["chunk_text"].marks(seed=3)
        for student in students
        if student.kind == "half finished" and "chunk_text" in student.expected
    ]
    assert max(begun) == (1.5, 1.5)  # of 6 points


def test_answers_in_one_notebook_do_not_disturb_one_another(students: list[Student]) -> None:
    for student in students:
        if student.kind != "mistakes":
            continue
        (content,) = student.files.values()
        cells = json.loads(content)["cells"]
        answers = [c for c in cells if c["metadata"].get("nbgrader", {}).get("solution")]
        source = "\n\n".join("".join(cell["source"]) for cell in answers)
        future = "from __future__ import annotations\n"
        namespace = namespace_of(future + source.replace(future, ""), "yaml")
        for expected in student.expected.values():
            exercise, function = ALL[expected.exercise], namespace[expected.exercise]
            known = {item.name: item for item in exercise.mistakes}.get(expected.mistake)
            hangs = known is not None and known.hangs
            for case in exercise.cases:
                mine = ran(exercise, function, case.arguments, hangs)
                right = expected.function or exercise.reference
                theirs = ran(exercise, right, case.arguments, hangs)
                assert alike(mine, theirs), expected.mistake


def test_a_smaller_class_is_as_large_as_asked() -> None:
    assert len(synthetic_class(size=12)) == 12


def test_answers_go_into_their_cells_and_nothing_else_changes() -> None:
    before, after = (json.loads(notebook_of(3, answers)) for answers in ({}, {"top_k": "x = 1\ny"}))
    changed = [
        (old, new) for old, new in zip(before["cells"], after["cells"], strict=True) if old != new
    ]
    ((old, new),) = changed
    assert new == {**old, "source": ["x = 1\n", "y"]}
    assert new["metadata"]["nbgrader"]["grade_id"] == "top_k"
    with pytest.raises(KeyError, match="no cell for cosines"):
        notebook_of(3, {"cosines": ""})


def test_an_untouched_notebook_is_the_released_one() -> None:
    released = Path(__file__).parents[2] / "exercises/ps02_chunking/chunking.ipynb"
    assert notebook_of(2, {}) == released.read_bytes()


def test_every_hostile_source_is_python() -> None:
    for case, attack in {**ATTACKS, **DELEGATING}.items():
        compile(attack.source, case, "exec")  # compiled, never run
        assert attack.outcomes
        if "os.kill" in attack.source and "getpid()" not in attack.source:
            assert attack.needs == "processes", case


def test_a_class_is_written_as_nbgrader_lays_it_out(
    students: list[Student], tmp_path: Path
) -> None:
    chosen = [student for student in students if student.case != "fifty_megabytes"]
    paths = write_class(chosen, tmp_path)
    assert len(paths) == sum(len(student.files) for student in chosen)
    for student in chosen:
        for name, content in student.files.items():
            assert name.startswith(f"{student.assignment}/")
            assert (tmp_path / student.name / name).read_bytes() == content
