"""The record of a graded submission: what was graded, with what, and what came of every case.

Signed with the instructor's key, so that a record that was changed is noticed, and complete enough
for `labkit regrade` to reproduce it.
"""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import platform
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from classroom import inside
from classroom.checking import Outcome
from classroom.exercise import Exercise
from classroom.grading.key import Key
from classroom.grading.names import file_name
from classroom.grading.running.sandbox import LIMITS, PACKAGES_FOR_ALL
from classroom.grading.types import (
    CaseVerdict,
    ExerciseMark,
    Finding,
    Graded,
    Group,
    Kind,
    Submission,
)
from classroom.grading.writing import write_whole
from labkit import __version__
from labkit.types import LabError

FORMAT = 1
RECORDS = "records"
_MEASURED = ("wall", "cpu", "memory")
_DISTRIBUTIONS = {"yaml": "pyyaml"}


@dataclass(frozen=True, slots=True)
class Basis:
    """What marks depend on: hashes of the submission, the exercises and the environment, the
    label of the seed, and the sandbox. Two gradings with one basis give the same marks."""

    submission: str
    exercises: str
    environment: str
    seed: str
    sandbox: str


def basis(submission: Submission, exercises: Sequence[Exercise], seed: str, sandbox: str) -> Basis:
    """The basis of a grading that is about to start."""
    return Basis(
        _submission_hash(submission),
        _exercises_hash(exercises),
        _environment_hash(exercises),
        seed,
        sandbox,
    )


def record_path(results: Path, one: Submission | Graded) -> Path:
    """Where the record of a student's assignment stands in a folder of results."""
    folder = one.folder or file_name(one.student)
    return results / RECORDS / folder / f"{file_name(one.assignment or 'none')}.json"


def write_record(path: Path, graded: Graded, on: Basis, key: Key) -> Path:
    """Write a signed record, whole or not at all."""
    content = {"format": FORMAT, "basis": asdict(on), "graded": asdict(graded)}
    signature = key.sign(_canonical(content))
    text = json.dumps({**content, "signature": signature}, indent=1, ensure_ascii=True)
    return write_whole(path, f"{text}\n")


def read_record(path: Path, key: Key) -> tuple[Graded, Basis]:
    """What a record holds. LabError if it cannot be read or was not signed with this key."""
    try:
        content = json.loads(path.read_text("utf-8"))
        signature = str(content.pop("signature"))
        if not key.signed(_canonical(content), signature):
            raise LabError(
                f"{_place(path)} was changed since it was signed, or signed by another key."
            )
        return _graded(content["graded"]), Basis(**content["basis"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise LabError(f"{_place(path)} is no grade record: {error}.") from error


def _place(path: Path) -> str:
    """A record as people know it: the student's folder and the assignment."""
    return f"The record {path.parent.name}/{path.name}"


def records(folder: Path) -> Iterator[Path]:
    """The records in a folder of results, in order."""
    yield from sorted((folder / RECORDS).glob("*/*.json"))


def differences(before: Graded, after: Graded) -> list[str]:
    """Where two gradings of one submission differ, in words; what was measured may."""
    known = {mark.exercise: mark for mark in before.marks}
    found = []
    for mark in after.marks:
        old = known.pop(mark.exercise, None)
        if old is None:
            found.append(f"{mark.exercise}: not in the record")
        elif _verdict(old) != _verdict(mark):
            found.append(
                f"{mark.exercise}: {old.score:g} ({old.outcome}) in the record, "
                f"{mark.score:g} ({mark.outcome}) now" + _changed_cases(old, mark)
            )
    return found + [f"{name}: in the record, but no longer graded" for name in known]


def _verdict(mark: ExerciseMark) -> dict[str, Any]:
    return {name: value for name, value in asdict(mark).items() if name not in _MEASURED}


def _changed_cases(old: ExerciseMark, new: ExerciseMark) -> str:
    if len(old.cases) != len(new.cases):
        return f"; {len(old.cases)} cases in the record, {len(new.cases)} now"
    pairs = zip(old.cases, new.cases, strict=True)
    numbers = [str(number) for number, (a, b) in enumerate(pairs, start=1) if a != b]
    return f"; other verdicts on cases {', '.join(numbers)}" if numbers else ""


def _submission_hash(submission: Submission) -> str:
    """Over what was sent, and over what was found of it where nothing could be read."""
    sent = submission.sha256 or hashlib.sha256(submission.content).hexdigest()
    return hashlib.sha256(f"{sent} {submission.findings}".encode()).hexdigest()


def _exercises_hash(exercises: Sequence[Exercise]) -> str:
    """Over the modules that hold these exercises and over what runs them in the sandbox."""
    modules = {sys.modules[exercise.hidden.__module__].__file__ for exercise in exercises}
    files = [Path(str(name)) for name in modules]
    files += Path(str(inside.__file__)).parent.glob("*.py")
    digest = hashlib.sha256()
    for path in sorted(files, key=lambda path: path.name):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _environment_hash(exercises: Sequence[Exercise]) -> str:
    """Over the versions that a learner's code or the reference can tell apart."""
    names = {*PACKAGES_FOR_ALL, *(name for item in exercises for name in item.packages)}
    versions: Mapping[str, object] = {
        "labkit": __version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "limits": LIMITS,
        **{
            name: importlib.metadata.version(_DISTRIBUTIONS.get(name, name))
            for name in sorted(names)
        },
    }
    return hashlib.sha256(_canonical(versions)).hexdigest()


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


def _graded(content: Mapping[str, Any]) -> Graded:
    return Graded(
        content["student"],
        content["assignment"],
        content["name"],
        tuple(map(_mark, content["marks"])),
        tuple(map(_finding, content["findings"])),
        content["folder"],
        content.get("number", ""),
        content.get("platform", ""),
    )


def _mark(content: Mapping[str, Any]) -> ExerciseMark:
    values = {**content, "outcome": Outcome(content["outcome"])}
    values["cases"] = tuple(map(_case, content["cases"]))
    values["findings"] = tuple(map(_finding, content["findings"]))
    return ExerciseMark(**values)


def _case(content: Mapping[str, Any]) -> CaseVerdict:
    return CaseVerdict(**{**content, "group": Group(content["group"])})


def _finding(content: Mapping[str, Any]) -> Finding:
    return Finding(**{**content, "kind": Kind(content["kind"])})
