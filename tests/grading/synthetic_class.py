"""A class of 304 submissions: every known mistake, every attack, and the ordinary rest.

Deterministic: the same seed gives the same bytes. `expected` says what may come of each exercise,
by an oracle of its own: it runs what labkit knows of a mistake, never what was handed in.

Never run a submission of this class outside of the grader's sandbox: see `synthetic_attacks`.
"""

from __future__ import annotations

import copy
import json
import os
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, TypeAlias

from classroom.checking import Outcome, Ran
from classroom.exercise import Arguments, Exercise, Function
from classroom.exercises import ALL
from classroom.grading.names import shown
from classroom.grading.types import ExerciseMark, Graded
from classroom.limits import TooSlowError, call_with_limit
from classroom.release import CHECKOUT, TOPICS, assignment_name
from classroom.runtime.serialise import NotPlainError, same, to_plain
from synthetic_attacks import ANY, ATTACKS, CANARY, DELEGATING, HONEST, MARKER, TOLERATED, Attack
from synthetic_mistakes import CannotSliceError, standalone

__all__ = [
    "ATTACKS",
    "CANARY",
    "DELEGATING",
    "MARKER",
    "QUIRKS",
    "CannotSliceError",
    "Expected",
    "Student",
    "deviations",
    "expected_mark",
    "notebook_of",
    "standalone",
    "synthetic_class",
    "write_class",
]

SIZE, SEED = 304, 20261023
UNRIGHT = ANY - HONEST
_HANG_SECONDS = 0.3  # a mistake that hangs fills memory as long as it is let
_Json: TypeAlias = dict[str, Any]


# --- the oracle ----------------------------------------------------------------------------------


def expected_mark(exercise: Exercise, function: Function, seed: int | str) -> float:
    """What a function has to earn, in points: the groups of cases that it gets right as a whole.

    Examples (the public cases) earn 1/4, ordinary inputs 1/2, inputs to refuse 1/4, or 1/3 and 2/3
    where the hidden cases refuse nothing. Refusals count only beside the examples. The function
    runs in this process: never give it a submission's.
    """
    hidden = [
        (probe, _ran(exercise, exercise.reference, probe)) for probe in exercise.hidden_cases(seed)
    ]
    groups = [
        [
            (case.arguments, _ran(exercise, exercise.reference, case.arguments))
            for case in exercise.cases
        ],
        [(probe, right) for probe, right in hidden if not right.raised],
        [(probe, right) for probe, right in hidden if right.raised],
    ]
    holds = [
        all(_agrees(exercise, function, probe, right) for probe, right in group) for group in groups
    ]
    holds[2] = holds[2] and holds[0]
    shares = (1 / 4, 1 / 2, 1 / 4) if groups[2] else (1 / 3, 2 / 3, 0)
    earned = sum((share for share, held in zip(shares, holds, strict=True) if held), 0.0)
    return round(exercise.points * earned, 2)


def _agrees(exercise: Exercise, function: Function, arguments: Arguments, right: Ran) -> bool:
    given = copy.deepcopy(arguments)
    got = _ran(exercise, function, given)
    untouched = bool(got.raised) or same(to_plain(list(given)), to_plain(list(arguments)))
    return got.raised == right.raised and same(got.value, right.value) and untouched


def _ran(exercise: Exercise, function: Function, arguments: Arguments) -> Ran:
    hangs = any(known.hangs and known.function is function for known in exercise.mistakes)
    limit = _HANG_SECONDS if hangs else 10 * exercise.seconds
    try:
        return Ran(to_plain(call_with_limit(lambda: exercise.run(function, arguments), limit)))
    except (TooSlowError, NotPlainError) as error:
        return Ran(raised=f"no value: {type(error).__name__}")
    except Exception as error:
        return Ran(raised=type(error).__name__)


@cache
def _mark_of(exercise: str, function: Function, seed: int | str) -> float:
    return expected_mark(ALL[exercise], function, seed)


@dataclass(frozen=True, slots=True)
class Expected:
    """What may come of one exercise of a submission.

    `mistake` is the name of the known one that was made. `function` does the same as the answer,
    where this is worth something without being right.
    """

    exercise: str
    outcomes: frozenset[Outcome]
    function: Function | None = field(default=None, repr=False)
    mistake: str = ""

    def marks(self, seed: int | str) -> tuple[float, float]:
        """The lowest and the highest mark that is fair; equal unless several outcomes are."""
        if self.function is not None:
            mark = _mark_of(self.exercise, self.function, seed)
            return mark, mark
        points = float(ALL[self.exercise].points)
        return (
            points if self.outcomes == HONEST else 0.0,
            points if Outcome.RIGHT in self.outcomes else 0.0,
        )


# --- notebooks -----------------------------------------------------------------------------------


def notebook_of(stage: int, answers: Mapping[str, str]) -> bytes:
    """The released notebook of a stage with these answers, by id of the exercise, in its cells."""
    return _written(_answered(stage, answers))


def _answered(stage: int, answers: Mapping[str, str]) -> _Json:
    notebook = copy.deepcopy(_released(stage))
    left = dict(answers)
    for cell in notebook["cells"]:
        mark = cell["metadata"].get("nbgrader", {})
        if mark.get("solution") and mark["grade_id"] in left:
            cell["source"] = left.pop(mark["grade_id"]).strip().splitlines(keepends=True)
    if left:
        raise KeyError(f"stage {stage} has no cell for {', '.join(left)}")
    return notebook


@cache
def _released(stage: int) -> _Json:
    name = f"{TOPICS[stage][0]}.ipynb"
    text = (CHECKOUT / "exercises" / assignment_name(stage) / name).read_text(encoding="utf-8")
    notebook: _Json = json.loads(text)
    return notebook


def _written(notebook: _Json) -> bytes:
    return f"{json.dumps(notebook, indent=1, ensure_ascii=False)}\n".encode(
        "utf-8", "surrogatepass"
    )


def _exercises(stage: int) -> list[Exercise]:
    return [exercise for exercise in ALL.values() if exercise.stage == stage]


def _solutions(stage: int) -> dict[str, str]:
    return {exercise.id: exercise.solution for exercise in _exercises(stage)}


def _file_name(stage: int) -> str:
    return f"{assignment_name(stage)}/{TOPICS[stage][0]}.ipynb"


# --- students ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Student:
    """One submission. `files` are named by their path below the student's folder; `kind` says what
    it stands for, `case` which attack, quirk or delegation it is."""

    name: str
    assignment: str
    files: Mapping[str, bytes] = field(repr=False)
    expected: Mapping[str, Expected] = field(repr=False)
    kind: str
    case: str = ""


_Answer: TypeAlias = tuple[str | None, Expected]  # a source, or None for an untouched starter


def _right(exercise: Exercise) -> _Answer:
    return exercise.solution, Expected(exercise.id, HONEST)


def _untouched(exercise: Exercise) -> _Answer:
    return None, Expected(exercise.id, frozenset({Outcome.NOT_ATTEMPTED}))


def _mistaken(exercise: Exercise, number: int) -> _Answer:
    mistake = exercise.mistakes[number]
    outcomes = {Outcome.WRONG, Outcome.CRASHED} | ({Outcome.TOO_SLOW} if mistake.hangs else set())
    expected = Expected(exercise.id, frozenset(outcomes), mistake.function, mistake.name)
    return standalone(exercise, mistake), expected


def _student(kind: str, stage: int, answers: Mapping[str, _Answer], case: str = "") -> Student:
    """A submission of one notebook; exercises without an answer are right."""
    given = {item.id: answers.get(item.id) or _right(item) for item in _exercises(stage)}
    sources = {name: source for name, (source, _) in given.items() if source is not None}
    expected = {name: value for name, (_, value) in given.items()}
    files = {_file_name(stage): notebook_of(stage, sources)}
    return Student("", assignment_name(stage), files, expected, kind, case)


def _mistakes_of(stage: int) -> Iterator[Student]:
    """As few notebooks as hold every known mistake of the stage, one an exercise in each."""
    exercises = _exercises(stage)
    for number in range(max(len(exercise.mistakes) for exercise in exercises)):
        answers = {
            exercise.id: _mistaken(exercise, number)
            for exercise in exercises
            if number < len(exercise.mistakes)
        }
        yield _student("mistakes", stage, answers)


_BEGUN = {  # answers that somebody was in the middle of: they earn what they do
    "chunk_text": "def chunk_text(text, size, overlap):\n    return [text[:size]]",
    "chunk_offsets": "def chunk_offsets(text, size, overlap):\n    pass  # later",
    "fingerprint": "def fingerprint(documents):\n    return 'f' * 64",
    "cosine": "def cosine(a, b):\n    return sum(x * y for x, y in zip(a, b)) / unknown",
    "decode_vector": "def decode_vector(blob, dimension):\n    return list(map(float, blob))",
    "open_index": "def open_index(connection, migrations):\n    return len(migrations)",
    "bm25_scores": "def bm25_scores(terms, passages):\n    return [0.0 for _ in passages]",
    "eligible": "def eligible(metadata, grants, day):\n    return False",
    "check_evidence": "def check_evidence(proposal, passages):\n    ...",
}


def _memorised(exercise: Exercise) -> str:
    """An answer to chunk_text that knows the examples and nothing else."""
    known = {
        repr(case.arguments): ran.value
        for case in exercise.cases
        if not (ran := _ran(exercise, exercise.reference, case.arguments)).raised
    }
    return exercise.starter.replace(
        "    raise NotImplementedError\n",
        f"    known = {known!r}\n"
        "    if overlap >= size:\n        raise ValueError(size)\n"
        "    return known.get(repr((text, size, overlap)), [])\n",
    )


def _begun(name: str, source: str) -> Student:
    exercise = ALL[name]
    defined: dict[str, Any] = {}
    exec(source, defined)  # written above, and harmless
    outcomes = frozenset({Outcome.WRONG, Outcome.CRASHED})
    answers = {item.id: _untouched(item) for item in _exercises(exercise.stage)}
    answers |= {name: (source, Expected(name, outcomes, defined[name]))}
    return _student("half finished", exercise.stage, answers)


def _hostile(kind: str, case: str, attack: Attack) -> Student:
    exercise = ALL[attack.exercise]
    answer = (attack.source, Expected(exercise.id, attack.outcomes))
    return _student(kind, exercise.stage, {exercise.id: answer}, case)


def _ordinary(random: Random) -> Student:
    """Mostly right, as most are, with a few mistakes and gaps."""
    stage = random.choice(list(TOPICS))
    answers = {}
    for exercise in _exercises(stage):
        drawn = random.random()
        if drawn < 0.2:
            answers[exercise.id] = _mistaken(exercise, random.randrange(len(exercise.mistakes)))
        elif drawn < 0.3:
            answers[exercise.id] = _untouched(exercise)
    return _student("ordinary" if answers else "right", stage, answers)


# --- files that are not as they should be --------------------------------------------------------

_STAGE = 2
_FILE = _file_name(_STAGE)
_FOLDER = assignment_name(_STAGE)
_Files: TypeAlias = dict[str, bytes]
Quirk: TypeAlias = tuple[_Files, Mapping[str, frozenset[Outcome]]]  # outcomes that are not RIGHT
_IDS = tuple(exercise.id for exercise in _exercises(_STAGE))
_LOOSE = HONEST | {Outcome.NOT_ATTEMPTED, Outcome.WRONG, Outcome.CRASHED}


def _everything(outcomes: frozenset[Outcome]) -> dict[str, frozenset[Outcome]]:
    return dict.fromkeys(_IDS, outcomes)


def _raw(content: bytes, outcomes: frozenset[Outcome] = UNRIGHT) -> Callable[[], Quirk]:
    """A file with this in the notebook's place."""
    return lambda: ({_FILE: content}, _everything(outcomes))


def _notebook(
    change: Callable[[_Json], object], outcomes: Mapping[str, frozenset[Outcome]] | None = None
) -> Callable[[], Quirk]:
    """The right notebook, changed."""

    def made() -> Quirk:
        notebook = _answered(_STAGE, _solutions(_STAGE))
        change(notebook)
        return {_FILE: _written(notebook)}, outcomes or {}

    return made


def _source(source: str, outcomes: frozenset[Outcome] = UNRIGHT) -> Callable[[], Quirk]:
    """The right notebook with this in the cell of chunk_text."""
    return _notebook(
        lambda notebook: _cell(notebook).update(source=source), {"chunk_text": outcomes}
    )


def _beside(**more: bytes) -> Callable[[], Quirk]:
    """The right notebook, and other files beside it."""
    named = {f"{_FOLDER}/{name}": content for name, content in more.items()}
    return lambda: ({_FILE: notebook_of(_STAGE, _solutions(_STAGE)), **named}, {})


def _cell(notebook: _Json, grade_id: str = "chunk_text") -> _Json:
    cells: list[_Json] = notebook["cells"]
    return next(c for c in cells if c["metadata"].get("nbgrader", {}).get("grade_id") == grade_id)


def _code(source: str) -> _Json:
    return {
        "cell_type": "code",
        "execution_count": None,
        "id": "added",
        "metadata": {},
        "outputs": [],
        "source": source,
    }


def _add(*sources: str, at: int = 1) -> Callable[[_Json], object]:
    def change(notebook: _Json) -> None:
        notebook["cells"][at:at] = [_code(source) for source in sources]

    return change


def _copy_cell(notebook: _Json, source: str | None = None) -> None:
    copied = copy.deepcopy(_cell(notebook))
    copied["source"] = copied["source"] if source is None else source
    notebook["cells"].append(copied)


def _drop(notebook: _Json, grade_id: str) -> None:
    notebook["cells"].remove(_cell(notebook, grade_id))


def _bare(notebook: _Json) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}


def _retype(notebook: _Json, kind: str) -> None:
    cell = _cell(notebook)
    cell["cell_type"] = kind
    del cell["execution_count"], cell["outputs"]


def _greedy(notebook: _Json) -> None:
    """The test cell gives itself a thousand points and asks for nothing."""
    cell = _cell(notebook, "chunk_text-test")
    cell["metadata"]["nbgrader"]["points"] = 1000
    cell["source"] = "assert True"
    _cell(notebook)["source"] = "".join(_cell(_released(_STAGE))["source"])


def _outputs(notebook: _Json) -> None:
    text = "<script>alert(document.cookie)</script>\n" * 100_000
    data = {"text/html": text, "text/plain": "3.0"}
    output = {"output_type": "execute_result", "execution_count": 1, "metadata": {}, "data": data}
    _cell(notebook, "chunk_text-test")["outputs"] = [output]


def _crossed(notebook: _Json) -> None:
    """Two solution cells under one another's names."""
    first, second = _cell(notebook, "chunk_text"), _cell(notebook, "chunk_offsets")
    first["source"], second["source"] = second["source"], first["source"]


def _foreign_ids(notebook: _Json) -> None:
    _cell(notebook)["metadata"]["nbgrader"]["grade_id"] = "../../outside"


def _windows_lines(notebook: _Json) -> None:
    for cell in notebook["cells"]:
        cell["source"] = "".join(cell["source"]).replace("\n", "\r\n")


def _renamed(name: str) -> Callable[[], Quirk]:
    return lambda: ({f"{_FOLDER}/{name}": notebook_of(_STAGE, _solutions(_STAGE))}, {})


def _as_script() -> Quirk:
    text = "\n\n\n".join(_solutions(_STAGE).values())
    return {_FILE.replace(".ipynb", ".py"): text.encode()}, {}


def _two_notebooks() -> Quirk:
    untouched = notebook_of(_STAGE, {})
    right = notebook_of(_STAGE, _solutions(_STAGE))
    return {_FILE: right, _FILE.replace(".ipynb", "-Copy1.ipynb"): untouched}, _everything(_LOOSE)


def _other_assignment() -> Quirk:
    return {_FILE: notebook_of(3, _solutions(3))}, _everything(UNRIGHT)


def _right_bytes() -> bytes:
    return notebook_of(_STAGE, _solutions(_STAGE))


def _huge() -> Quirk:
    notebook = _answered(_STAGE, _solutions(_STAGE))
    notebook["cells"][0]["source"] = "x" * 50_000_000
    return {_FILE: _written(notebook)}, _everything(HONEST | UNRIGHT)


_RIGHT = ALL["chunk_text"].solution
QUIRKS: dict[str, Callable[[], Quirk]] = {
    "fifty_megabytes": _huge,
    "invalid_json": _raw(b"{ this is no notebook"),
    "cut_off": lambda: ({_FILE: _right_bytes()[: len(_right_bytes()) // 2]}, _everything(UNRIGHT)),
    "empty_file": _raw(b""),
    "binary": _raw(bytes(range(256)) * 100),
    "nested_json": _raw(b"[" * 200_000),
    "json_but_no_notebook": _raw(b'{"cells": 5, "metadata": [], "nbformat": "four"}'),
    "null": _raw(b"null"),
    "cells_of_other_kinds": _raw(b'{"cells": [1, null, {}, {"cell_type": 7}], "nbformat": 4}'),
    "huge_number": _raw(b'{"nbformat": ' + b"9" * 10_000 + b', "cells": []}'),
    "byte_order_mark": lambda: (
        {_FILE: b"\xef\xbb\xbf" + _right_bytes()},
        _everything(TOLERATED | UNRIGHT),
    ),
    "cell_copied": _notebook(_copy_cell),
    "cell_copied_and_changed": _notebook(
        lambda notebook: _copy_cell(notebook, "def chunk_text(*arguments):\n    return []"),
        {"chunk_text": _LOOSE},
    ),
    "cell_deleted": _notebook(
        lambda notebook: _drop(notebook, "chunk_text"), {"chunk_text": UNRIGHT}
    ),
    "test_deleted": _notebook(lambda notebook: _drop(notebook, "chunk_text-test")),
    "metadata_lost": _notebook(_bare),
    "cell_made_markdown": _notebook(lambda n: _retype(n, "markdown"), {"chunk_text": _LOOSE}),
    "cell_made_raw": _notebook(lambda n: _retype(n, "raw"), {"chunk_text": _LOOSE}),
    "test_rewritten": _notebook(_greedy, {"chunk_text": UNRIGHT}),
    "cells_crossed": _notebook(_crossed, dict.fromkeys(("chunk_text", "chunk_offsets"), _LOOSE)),
    "id_of_a_path": _notebook(_foreign_ids, {"chunk_text": _LOOSE}),
    "hostile_outputs": _notebook(_outputs),
    "windows_line_ends": _notebook(_windows_lines),
    "many_cells": _notebook(_add(*["pass"] * 5000)),
    "input_and_magics": _notebook(
        _add(
            "name = input('Who are you? ')",
            "%matplotlib inline",
            "!pip install numpy",
            "%%time\npass",
        )
    ),
    "other_cells_fail": _notebook(_add("import a_library_that_is_missing", "1 / 0", "plot(")),
    "reads_a_file_of_its_own": _notebook(_add("open('C:/Users/me/notes.txt').read()")),
    "defined_again_below": _notebook(
        _add("chunk_text = lambda *arguments: []", at=99), {"chunk_text": _LOOSE}
    ),
    "syntax_error": _source("def chunk_text(text, size, overlap)\n    return []"),
    "null_character": _source(f"{_RIGHT}\n\0"),
    "half_a_character": _source(f"{_RIGHT}\n'\ud800'"),
    "nested_source": _source(f"{_RIGHT}\n{'(' * 50_000}"),
    "endless_minus": _source(f"{_RIGHT}\n{'-' * 1_000_000}1", ANY),
    "huge_constant": _source(f"{_RIGHT}\nx = [{'0,' * 500_000}]", ANY),
    "hidden_direction": _source(_RIGHT.replace("text:", "\u202etext\u202c:", 1), ANY),
    "renamed": _renamed("my final version (2).ipynb"),
    "renamed_with_other_letters": _renamed("chunking.IPYNB"),
    "hostile_file_name": _renamed("=1+1 & 'x' .ipynb"),
    "python_file": _as_script,
    "two_notebooks": _two_notebooks,
    "junk_beside": _beside(
        **{
            ".DS_Store": b"\0\0\0\1Bud1",
            ".ipynb_checkpoints/chunking-checkpoint.ipynb": b"{}",
            "__MACOSX/._chunking.ipynb": b"\0\5\x16\7",
            "__pycache__/chunking.pyc": b"\0",
            "photo.png": b"\x89PNG\r\n\x1a\n" + bytes(10_000),
            "json.py": b"raise SystemExit('shadowed')",
            "conftest.py": b"raise SystemExit('shadowed')",
        }
    ),
    "only_other_files": lambda: ({f"{_FOLDER}/README.md": b"I was ill."}, _everything(UNRIGHT)),
    "other_assignment": _other_assignment,
}

_LONG = "n" * 200
_NAMES = [  # of students, as a file system allows them
    "Ada Tournesol",
    "=cmd|'C calc'!A1",
    "+1+1",
    "-rf",
    "@SUM(A1)",
    "..x",
    "...",
    "%2e%2e%2fx",
    "~root",
    "$(reboot)",
    "`reboot`",
    'o\'brien, "jr"; DROP',
    "<script>alert(1)<script>",
    "a&b;#",
    "Zoe\u0308",
    "Zoë ",
    "\u202egnp.exe",
    "\u200b",
    "学生",
    "🎓",
    _LONG,
    "ps02_chunking",
    "nul",
    "a\\b",
    "tab\there",
    "line\nbreak",
    "bell\x07",
]


def _hostile_names() -> list[str]:
    """Those that this system's file systems take."""
    if os.name == "nt":
        taken = [name for name in _NAMES if not set(name) & set('<>:"/\\|?*\t\n\x07')]
        return [name for name in taken if name.rstrip(" .") == name and name != "nul"]
    return _NAMES + (["half\udcff"] if sys.platform == "linux" else [])


def _quirky(case: str) -> Student:
    files, outcomes = QUIRKS[case]()
    expected = {name: Expected(name, outcomes.get(name, HONEST)) for name in _IDS}
    return Student("", _FOLDER, files, expected, "quirk", case)


# --- the class -----------------------------------------------------------------------------------


def synthetic_class(size: int = SIZE, seed: int = SEED) -> list[Student]:
    """A class of `size` submissions, one a student, in the order of their folders' names.

    A class of 304 holds everything at least once: the right and the untouched notebook of every
    stage, every known mistake, every attack, quirk and delegation. A smaller one is drawn from it.
    """
    random = Random(seed)
    students = [*_necessary()]
    while len(students) < size:
        students.append(_ordinary(random))
    random.shuffle(students)
    return sorted(_named(students[:size]), key=lambda student: student.name)


def _necessary() -> Iterator[Student]:
    for stage in TOPICS:
        yield _student("right", stage, {})
        yield _student(
            "untouched", stage, {item.id: _untouched(item) for item in _exercises(stage)}
        )
        yield from _mistakes_of(stage)
    begun = [*_BEGUN.items(), ("chunk_text", _memorised(ALL["chunk_text"]))]
    yield from (_begun(name, source) for name, source in begun)
    yield from (_hostile("delegating", case, item) for case, item in DELEGATING.items())
    yield from (_hostile("attack", case, item) for case, item in ATTACKS.items())
    yield from map(_quirky, QUIRKS)


def _named(students: list[Student]) -> Iterator[Student]:
    """Hostile names for some of those who have done everything right, plain ones for the rest."""
    hostile = iter(_hostile_names())
    for number, student in enumerate(students, start=1):
        plain = f"student{number:03d}"
        name = next(hostile, plain) if student.kind in ("right", "ordinary") else plain
        yield replace(student, name=name)


def write_class(students: list[Student], folder: Path) -> list[Path]:
    """Write submissions as nbgrader lays them out: STUDENT/ASSIGNMENT/file."""
    paths = []
    for student in students:
        for name, content in student.files.items():
            path = folder / student.name / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)
            paths.append(path)
    return paths


def deviations(students: Sequence[Student], graded: Sequence[Graded], seed: int | str) -> list[str]:
    """Where a grading differs from what every student earned; empty if it is right."""
    found = {(one.student, one.assignment): one for one in graded}
    wrong = []
    for student in students:
        shown_name = shown(unicodedata.normalize("NFC", student.name))
        one = found.get((shown_name, student.assignment))
        marks = {mark.exercise: mark for mark in one.marks} if one else {}
        for name, expected in student.expected.items():
            fault = _deviation(expected, marks.get(name), seed)
            if fault:
                wrong.append(f"{student.kind} {student.case or shown_name}, {name}: {fault}")
    return wrong


def _deviation(expected: Expected, mark: ExerciseMark | None, seed: int | str) -> str:
    lowest, highest = expected.marks(seed)
    if mark is None:
        return "" if lowest == 0 else f"not graded, {lowest} expected"
    if mark.outcome not in expected.outcomes:
        return f"{mark.outcome} ({mark.message}), expected {sorted(expected.outcomes)}"
    if not lowest <= mark.score <= highest:
        return f"{mark.score} points, expected {lowest} to {highest}"
    if expected.mistake and mark.mistake != expected.mistake:
        return f"taken for {mark.mistake or 'no mistake'}, expected {expected.mistake}"
    return ""
