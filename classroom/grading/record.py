"""The record of a graded submission: what was graded, with what, and what came of every case.

Signed with the instructor's secret, so that a record that was changed is noticed, and complete
enough for `labkit regrade` to reproduce it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

from classroom.checking import Outcome
from classroom.grading.fingerprint import Fingerprint
from classroom.grading.names import file_name
from classroom.grading.secret import Secret
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
from labkit.types import LabError

FORMAT = 2
RECORDS = "records"
_MEASURED = ("wall", "cpu", "memory")


def record_path(results: Path, one: Submission | Graded) -> Path:
    """Where the record of a student's assignment stands in a folder of results."""
    folder = one.folder or file_name(one.student)
    return results / RECORDS / folder / f"{file_name(one.assignment or 'none')}.json"


def write_record(path: Path, graded: Graded, of: Fingerprint, secret: Secret) -> Path:
    """Write a signed record, whole or not at all."""
    content = {"format": FORMAT, "fingerprint": asdict(of), "graded": asdict(graded)}
    signature = secret.sign(_canonical(content))
    text = json.dumps({**content, "signature": signature}, indent=1, ensure_ascii=True)
    return write_whole(path, f"{text}\n")


def read_record(path: Path, secret: Secret) -> tuple[Graded, Fingerprint]:
    """What a record holds. LabError if it cannot be read or was not signed with this key."""
    try:
        content = json.loads(path.read_text("utf-8"))
        signature = str(content.pop("signature"))
        if not secret.signed(_canonical(content), signature):
            raise LabError(
                f"{_place(path)} was changed since it was signed, or signed by another key."
            )
        if content["format"] != FORMAT:
            raise LabError(f"{_place(path)} was written by another version of labkit.")
        return _graded(content["graded"]), Fingerprint(**content["fingerprint"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
        raise LabError(f"{_place(path)} is no grade record: {error}.") from error


def _place(path: Path) -> str:
    """A record as people know it: the student's folder and the assignment."""
    return f"The record {path.parent.name}/{path.name}"


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


def _canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, separators=(",", ":")).encode("ascii")


def _graded(content: dict[str, Any]) -> Graded:
    content["marks"] = tuple(map(_mark, content["marks"]))
    content["findings"] = tuple(map(_finding, content["findings"]))
    return Graded(**content)


def _mark(content: dict[str, Any]) -> ExerciseMark:
    content["outcome"] = Outcome(content["outcome"])
    content["cases"] = tuple(map(_case, content["cases"]))
    content["findings"] = tuple(map(_finding, content["findings"]))
    return ExerciseMark(**content)


def _case(content: Mapping[str, Any]) -> CaseVerdict:
    return CaseVerdict(**{**content, "group": Group(content["group"])})


def _finding(content: Mapping[str, Any]) -> Finding:
    return Finding(**{**content, "kind": Kind(content["kind"])})
