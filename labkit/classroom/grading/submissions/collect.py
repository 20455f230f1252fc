"""Finding the submissions below a folder, or in a zip, however they were handed in.

nbgrader's `submitted/STUDENT/ASSIGNMENT/`, a folder or a zip a student, plain files, and what
Moodle and Canvas make of them: each entry is judged for itself, a broken one stops no other.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from labkit.classroom.grading.names import MAX_SHOWN, file_name, shown
from labkit.classroom.grading.submissions.candidates import is_mistaken, submissions_of
from labkit.classroom.grading.submissions.found import Found, in_folder, in_zip, is_zip, skipped
from labkit.classroom.grading.submissions.place import Place, place_of, student_name
from labkit.classroom.grading.submissions.reading import split_ending
from labkit.classroom.grading.types import Kind, Submission
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
_Owner: TypeAlias = tuple[str, str]
"""A student's name and the platform's number, empty if there is none."""


def collect(folder: Path) -> list[Submission]:
    """All submissions below a folder or in a zip, sorted by student and assignment.

    Nothing runs, nothing is unpacked to the disk, no link is followed. Names are composed (NFC) and
    safe to show. Raises LabError if there is nothing to collect.
    """
    if not folder.exists():
        raise LabError(f"There is no {folder.name or folder}. {_EXPECTED}")
    try:
        owners, lasting = _by_owner(folder)
    except OSError as error:
        raise LabError(f"{folder.name or folder} cannot be read: {error.strerror}.") from error
    found = {
        owner: submissions_of(_student(owner[0]), held) for owner, held in sorted(owners.items())
    }
    submissions = _namesakes_apart(found, lasting)
    if not submissions:
        raise LabError(f"There are no submissions in {folder.name or folder}. {_EXPECTED}")
    return sorted(
        submissions, key=lambda s: (s.student.casefold(), s.student, s.assignment, s.name)
    )


def _by_owner(folder: Path) -> tuple[dict[_Owner, list[Found]], set[str]]:
    """The files of each student, and the names whose platform's number lasts. What names no student
    is the root's own: a learner may grade a folder of assignments."""
    files = _in_class_zip(folder) if folder.is_file() else _in_class_folder(folder)
    root = folder.resolve().stem if folder.is_file() else folder.resolve().name
    owners: defaultdict[_Owner, list[Found]] = defaultdict(list)
    lasting: set[str] = set()
    for file in files:
        place = place_of(file.parts)
        if _is_of_a_student(file, place):
            name = place.student or student_name(root)
            owners[name, place.number].append(file)
            lasting |= {name} if place.lasting else set()
    return owners, lasting


def _student(name: str) -> str:
    """A student's name, safe to show and still different from every other one."""
    return shown(name) if len(name) <= MAX_SHOWN else shown(file_name(name))


def _is_of_a_student(file: Found, place: Place) -> bool:
    """Beside the students' files may lie lists and instructions; they are nobody's."""
    led_astray = file.fault is not None and file.fault.kind in (
        Kind.HOSTILE_NAME,
        Kind.IGNORED_FILE,
    )
    if len(file.parts) > 1 or place.number or led_astray:
        return any(file.parts)
    work = split_ending(file.name)[1] or is_zip(file.name)
    mistaken = is_mistaken(file.name) and not file.name.casefold().startswith("readme")
    return bool(file.name != _CONFIGURATION and (work or mistaken))


def _namesakes_apart(
    found: dict[_Owner, list[Submission]], lasting: set[str]
) -> Iterable[Submission]:
    """Two students of one name keep their platform's number behind it.

    A student has one number in all of Canvas, but in Moodle one for each assignment: there, two
    numbers are two people only if both sent the same assignment.
    """
    by_name: defaultdict[str, dict[str, list[Submission]]] = defaultdict(dict)
    for (name, number), submissions in found.items():
        by_name[name][number] = submissions
    made: list[Submission] = []
    for name, numbers in by_name.items():
        sent = [one.assignment for submissions in numbers.values() for one in submissions]
        apart = len(numbers) > 1 and (name in lasting or len(set(sent)) < len(sent))
        for number, submissions in numbers.items():
            suffix = f" ({number})" if apart and number else ""
            made += [replace(one, student=f"{one.student}{suffix}") for one in submissions]
    return made


# --- where the students' entries begin -----------------------------------------------------------


def _in_class_folder(folder: Path) -> Iterable[Found]:
    """The files below the folder that holds the students: a course's `submitted`, if it has one."""
    entries = [path for path in folder.iterdir() if not skipped(path.name)]
    folders = {path.name for path in entries if path.is_dir() and not path.is_symlink()}
    files = {path.name for path in entries} - folders
    wrapper = _wrapper(folders, files)
    return in_folder(folder / wrapper) if wrapper else in_folder(folder)


def _in_class_zip(path: Path) -> Iterable[Found]:
    files = in_zip(path, (), (path.name,))
    if len(files) == 1 and files[0].fault is not None and files[0].parts == (path.name,):
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
