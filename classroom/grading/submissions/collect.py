"""Finding the submissions below a folder, or in a zip, however they were handed in.

nbgrader's `submitted/STUDENT/ASSIGNMENT/`, a folder or a zip a student, plain files, and what
Moodle and Canvas make of them: each entry is judged for itself, a broken one stops no other.
"""

from __future__ import annotations

import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from classroom.grading.names import MAX_SHOWN, file_name, shown
from classroom.grading.submissions.candidates import is_mistaken, submissions_of
from classroom.grading.submissions.files import (
    Entry,
    in_folder,
    in_zip,
    is_zip,
    one_file,
    skipped,
)
from classroom.grading.submissions.place import CANVAS, Place, composed, place_of
from classroom.grading.submissions.reading import split_ending
from classroom.grading.types import Finding, Kind, Submission
from labkit.types import LabError

_WRAPPERS = frozenset({"submitted", "submissions"})
_NBGRADER = frozenset(
    "source release autograded feedback exchange downloaded solutions exercises".split()
)
_CONFIGURATION = "nbgrader_config.py"
_EXPECTED = (
    "Expected: a folder or a zip with a folder, a zip, a notebook or a Python file for each "
    "student; or nbgrader's submitted/STUDENT/ASSIGNMENT/; or what Moodle or Canvas gives you "
    "to download."
)
_ENOUGH = 2  # submissions that tell what a class was to hand in


class _Owner(NamedTuple):
    """A student's name; the platform's number and the platform, both empty if there is none."""

    name: str
    number: str
    platform: str


def collect(folder: Path) -> list[Submission]:
    """All submissions below a folder or in a zip, sorted by student and assignment; a notebook or a
    Python file is a class of one.

    Nothing runs, nothing is unpacked to the disk, no link is followed. Names are composed (NFC) and
    safe to show. Raises LabError if there is nothing to collect.
    """
    if not folder.exists():
        raise LabError(f"`{folder}` does not exist. {_EXPECTED}")
    try:
        owners = _by_owner(folder)
    except OSError as error:
        raise LabError(f"{folder.name or folder} cannot be read: {error.strerror}.") from error
    found: dict[_Owner, list[Submission]] = {}
    for owner, held in sorted(owners.items()):
        # A student's name, safe to show and still different from every other one.
        student = shown(owner.name if len(owner.name) <= MAX_SHOWN else file_name(owner.name))
        found[owner] = [
            replace(one, number=owner.number, platform=owner.platform)
            for one in submissions_of(student, held)
        ]
    submissions = _assumed(_namesakes_apart(found))
    if not submissions:
        raise LabError(f"There are no submissions in {folder.name or folder}. {_EXPECTED}")
    return sorted(
        submissions, key=lambda s: (s.student.casefold(), s.student, s.assignment, s.name)
    )


def _by_owner(folder: Path) -> dict[_Owner, list[Entry]]:
    """The files of each student. What names no student is the root's own: a learner may grade a
    folder of assignments, or a file."""
    files = _in_class_file(folder) if folder.is_file() else _in_class_folder(folder)
    root = folder.resolve().name
    if folder.is_file():
        root = split_ending(root)[0] if split_ending(root)[1] else folder.resolve().stem
    owners: defaultdict[_Owner, list[Entry]] = defaultdict(list)
    for file in files:
        place = place_of(file.parts)
        if _is_of_a_student(file, place):
            name = place.student or composed(root)
            owners[_Owner(name, place.number, place.platform)].append(file)
    return owners


def _is_of_a_student(file: Entry, place: Place) -> bool:
    """Beside the students' files may lie lists and instructions; they are nobody's."""
    if len(file.parts) > 1 or place.number or file.astray:
        return any(file.parts)
    work = split_ending(file.name)[1] or is_zip(file.name)
    mistaken = is_mistaken(file.name) and not file.name.casefold().startswith("readme")
    return bool(file.name != _CONFIGURATION and (work or mistaken))


def _namesakes_apart(found: dict[_Owner, list[Submission]]) -> list[Submission]:
    """Two students of one name keep their platform's number behind it.

    A student has one number in all of Canvas, but in Moodle one for each assignment: there, two
    numbers are two people only if both sent the same assignment.
    """
    by_name: defaultdict[str, dict[_Owner, list[Submission]]] = defaultdict(dict)
    for owner, submissions in found.items():
        by_name[owner.name][owner] = submissions
    made: list[Submission] = []
    for owners in by_name.values():
        sent = [one.assignment for submissions in owners.values() for one in submissions]
        lasting = any(owner.platform == CANVAS for owner in owners)
        apart = len(owners) > 1 and (lasting or len(set(sent)) < len(sent))
        for owner, submissions in owners.items():
            suffix = f" ({owner.number})" if apart and owner.number else ""
            made += [replace(one, student=f"{one.student}{suffix}") for one in submissions]
    return made


def _assumed(submissions: list[Submission]) -> list[Submission]:
    """What names no assignment counts for the one that all others of the class are of."""
    sent = Counter(one.assignment for one in submissions if one.assignment)
    if len(sent) != 1 or sent.total() < _ENOUGH:
        return submissions
    (assignment,) = sent
    answered = {one.student for one in submissions if one.assignment}
    message = (
        "Nothing here tells for which assignment it is; all others of the class are of "
        f"{assignment}, so it counts for that."
    )
    found = Finding(Kind.RENAMED, message, repaired=True)
    return [
        one
        if one.assignment or one.student in answered
        else replace(one, assignment=assignment, findings=(*one.findings, found))
        for one in submissions
    ]


# --- where the students' entries begin -----------------------------------------------------------


def _in_class_folder(folder: Path) -> Iterable[Entry]:
    """The files below the folder that holds the students: a course's `submitted`, if it has one."""
    entries = [path for path in folder.iterdir() if not skipped(path.name, top=True)]
    folders = {path.name for path in entries if path.is_dir() and not path.is_symlink()}
    files = {path.name for path in entries} - folders
    wrapper = _wrapper(folders, files)
    return in_folder(folder / wrapper) if wrapper else in_folder(folder)


def _in_class_file(path: Path) -> Iterable[Entry]:
    """The files in a zip; or the one file, if it is a notebook or Python."""
    if split_ending(path.name)[1]:
        return [one_file(path)]
    if is_zip(path.name) or zipfile.is_zipfile(path):
        return _in_class_zip(path)
    raise LabError(
        f"{path.name} is no zip and no notebook: put submissions into a folder. {_EXPECTED}"
    )


def _in_class_zip(path: Path) -> Iterable[Entry]:
    files = in_zip(path, (), (path.name,))
    if len(files) == 1 and files[0].fault and files[0].parts == (path.name,):
        raise LabError(f"{path.name}: {files[0].fault.message} {_EXPECTED}")
    for _ in range(2):  # a zip often holds one folder of its own name, and that one `submitted`
        folders = {file.parts[0] for file in files if len(file.parts) > 1}
        loose = {file.parts[0] for file in files if len(file.parts) == 1}
        wrapper = _wrapper(folders, loose) or _wrapper(folders, loose, path.stem)
        if wrapper:
            files = [replace(f, parts=f.parts[1:]) for f in files if f.parts[0] == wrapper]
    return files


def _wrapper(folders: set[str], files: set[str], own: str = "") -> str:
    """The folder that holds all students, if it is plain that one does: a student might call a
    folder `submitted` too, and must not hide the others."""
    work = {name for name in files if split_ending(name)[1] or is_zip(name)} - {_CONFIGURATION}
    names = _WRAPPERS | ({own} if own else set())
    found = sorted(names & folders)
    if work or len(found) != 1 or folders - {found[0]} - _NBGRADER:
        return ""
    return found[0]
