"""One student's files: which of them is the work on which assignment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from classroom.grading.names import shown
from classroom.grading.submissions.found import (
    MAX_FILES,
    MAX_ZIP_TOTAL,
    Found,
    faulty,
    in_zip,
    is_zip,
)
from classroom.grading.submissions.place import Place, place_of
from classroom.grading.submissions.reading import (
    MAX_BYTES,
    NOTEBOOK,
    read_file,
    split_ending,
    without_outputs,
)
from classroom.grading.submissions.released import exercises_in
from classroom.grading.types import Finding, Kind, Submission

MAX_STUDENT_BYTES = 30_000_000  # of all notebooks of one student together
MAX_NAMED = 5  # files that a message names
_UNREAD, _STARTER, _WORK = 0, 1, 2  # what a file holds, the first part of its rank
_REASONS = (
    "is not named after the assignment",
    "was sent earlier",
    "has the name of a copy",
    "is older",
    "has the lower number of a copy",
    "comes first by name, and nothing else tells the two apart",
)  # for its later parts
_MISTAKEN = frozenset(
    ".docx .doc .odt .rtf .pdf .txt .md .html .htm .pages .rar .7z .gz .tgz .tar .png .jpg".split()
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be the work on `assignment`. The greater `rank` wins: what could be read and
    is no mere starter, then what is named after the assignment, what was sent last, what has the
    name that was handed out, the newest."""

    found: Found
    assignment: str
    rank: tuple[float | str, ...]
    content: bytes = b""
    findings: tuple[Finding, ...] = ()


def submissions_of(student: str, files: Iterable[Found]) -> list[Submission]:
    """The submissions among one student's files: one for each assignment, and one without an
    assignment for all files that belong to none."""
    files = list(_unpacked(files, _Budget(MAX_ZIP_TOTAL)))
    by_assignment: dict[str, list[Candidate]] = {}
    budget = _Budget(MAX_STUDENT_BYTES)
    for file in files:
        if _is_work(file):
            for candidate in _candidates(file, budget):
                by_assignment.setdefault(candidate.assignment, []).append(candidate)
    made = []
    for candidates in by_assignment.values():
        candidates.sort(key=lambda candidate: candidate.rank, reverse=True)
        made.append(_submission(student, candidates))
    return made + list(_without_notebook(student, files, set(by_assignment)))


def is_mistaken(name: str) -> bool:
    """Is this a document or an archive that somebody may send instead of a notebook?"""
    return any(name.casefold().endswith(ending) for ending in _MISTAKEN)


# --- the files -----------------------------------------------------------------------------------


class _Budget:
    """How many bytes of a student may still be read."""

    def __init__(self, left: int) -> None:
        self.left = left

    def read(self, file: Found) -> bytes:
        """The file's bytes; _TooMuchError if there were enough already."""
        if self.left <= 0:
            raise _TooMuchError
        content = file.read()
        self.left -= len(content)
        return content


class _TooMuchError(Exception):
    """A student sent more than is read."""


def _unpacked(files: Iterable[Found], budget: _Budget) -> Iterator[Found]:
    """The files, with what lies in zips and in zips inside zips in their place."""
    count = 0
    for file in files:
        for inner in _inside(file, budget, depth=2):
            count += 1
            if count > MAX_FILES:
                yield faulty(
                    (file.parts[0], ""), Kind.TOO_LARGE, f"There are more than {MAX_FILES:,} files."
                )
                return
            yield inner


def _inside(file: Found, budget: _Budget, depth: int) -> Iterator[Found]:
    if not is_zip(file.name) or file.fault is not None:
        yield file
        return
    try:
        content = budget.read(file) if depth else b""
    except _TooMuchError:
        limit = MAX_ZIP_TOTAL // 1_000_000
        message = f"One student's zips have more than {limit} MB; this one is not opened."
        yield faulty(file.parts, Kind.TOO_LARGE, message)
        return
    except Exception:  # zipfile again, or the disk
        yield faulty(file.parts, Kind.UNREADABLE, "The zip cannot be read.")
        return
    if not depth:
        yield faulty(file.parts, Kind.UNREADABLE, "A zip in a zip in a zip is not opened.")
        return
    held = in_zip(content, file.parts, file.parts)
    if not held:
        yield faulty(file.parts, Kind.NO_NOTEBOOK, "The zip holds no file.")
    for inner in held:
        yield from _inside(inner, budget, depth - 1) if inner.parts != file.parts else (inner,)


def _is_work(file: Found) -> bool:
    """Is it a notebook or a Python file, or a fault that people have to hear of?"""
    if split_ending(file.name)[1]:
        return True
    told = (Kind.HOSTILE_NAME, Kind.IGNORED_FILE)
    return file.fault is not None and (
        not file.name or is_zip(file.name) or file.fault.kind in told
    )


# --- candidates ----------------------------------------------------------------------------------


def _candidates(file: Found, budget: _Budget) -> Iterator[Candidate]:
    """What a file may be: one candidate for each assignment that it answers."""
    place = place_of(file.parts)
    content, fault = _content(file, budget)
    if fault is not None:
        yield Candidate(file, place.assignment, _rank(file, place, _UNREAD, 2), b"", (fault,))
        return
    read = read_file(file.name, content)
    holds = exercises_in(read.cells)
    if place.assignment and (place.assignment in holds or not holds):
        worked = holds.get(place.assignment, (0, 0))[1]
        findings = _renamed(file, place.assignment) if place.renamed else ()
        rank = _rank(file, place, _WORK if worked else _STARTER, 2)
        yield Candidate(file, place.assignment, rank, content, findings)
    elif holds:
        yield from _by_content(file, place, content, holds)
    else:
        message = "Nothing in this file belongs to an exercise of the course; is it the right one?"
        findings = (Finding(Kind.NOT_OURS, message),) if read.cells or not read.findings else ()
        yield Candidate(file, "", _rank(file, place, _STARTER, 0), content, findings)


def _by_content(
    file: Found, place: Place, content: bytes, holds: dict[str, tuple[int, int]]
) -> Iterator[Candidate]:
    """One candidate for each assignment of which exercises stand in the file."""
    most = max(found for found, _ in holds.values())
    for assignment, (found, worked) in holds.items():
        # `STUDENT.ipynb` and any `.py` are ways to hand in; a notebook of another name was renamed.
        own_name = len(file.parts) == 1 or split_ending(file.name)[1] != NOTEBOOK
        renamed = () if own_name and not place.assignment else _renamed(file, assignment)
        rank = _rank(file, place, _WORK if worked else _STARTER, 1 if found == most else 0)
        yield Candidate(file, assignment, rank, content, renamed)


def _content(file: Found, budget: _Budget) -> tuple[bytes, Finding | None]:
    """A file's bytes, or why there are none."""
    if file.fault is not None:
        return b"", file.fault
    try:
        content = budget.read(file)
    except _TooMuchError:
        limit = MAX_STUDENT_BYTES // 1_000_000
        message = f"One student's files have more than {limit} MB; this one is not read."
        return b"", Finding(Kind.TOO_LARGE, message)
    except Exception as error:  # zipfile meets a hostile zip with a dozen kinds of errors
        name = type(error).__name__
        return b"", Finding(Kind.UNREADABLE, f"The file cannot be read ({name}).")
    if len(content) > MAX_BYTES:
        return b"", Finding(Kind.TOO_LARGE, "The file is larger than it says; it is not read.")
    return content, None


def _rank(file: Found, place: Place, state: int, named: int) -> tuple[float | str, ...]:
    again, copy = place.again
    return (state, named, again, not place.renamed, file.changed, copy, *file.parts)


def _renamed(file: Found, assignment: str) -> tuple[Finding, ...]:
    message = f"The file's name is not the one handed out; it was taken for {assignment}."
    return (Finding(Kind.RENAMED, message, repaired=True),)


# --- submissions ---------------------------------------------------------------------------------


def _submission(student: str, candidates: list[Candidate]) -> Submission:
    """The first candidate as a submission; the others are named."""
    best, *others = candidates
    told = _several(best, others) if best.assignment else _also(others)
    findings = (*best.findings, *told, *_hostile(best.found), *_late(best.found))
    name, sent = _shown_place(best.found), hashlib.sha256(best.content).hexdigest()
    slim = without_outputs(best.content) if best.found.name.endswith(NOTEBOOK) else best.content
    return Submission(student, best.assignment, name, slim, findings, sha256=sent)


def _several(best: Candidate, others: list[Candidate]) -> tuple[Finding, ...]:
    if not others:
        return ()
    named = "; ".join(
        f"{_shown_place(other.found)}, which {_why(best, other)}" for other in others[:MAX_NAMED]
    )
    more = f"; and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    message = (
        f"Several files answer {best.assignment}. This one is graded: {_shown_place(best.found)}. "
        f"Left aside: {named}{more}."
    )
    harmless = all(_says_nothing_else(best, other) for other in others)
    return (Finding(Kind.SEVERAL_FILES, message, repaired=harmless),)


def _why(best: Candidate, other: Candidate) -> str:
    """What decided against a file: the first place at which the two ranks differ."""
    state = "holds only the starter" if other.rank[0] else "cannot be read"
    reasons = (state, *_REASONS)
    pairs = zip(best.rank, other.rank, strict=False)
    at = next((at for at, (one, two) in enumerate(pairs) if one != two), len(reasons))
    return reasons[min(at, len(reasons) - 1)]


def _says_nothing_else(best: Candidate, other: Candidate) -> bool:
    """Is nothing lost without it: is it the starter, or the same work once more?"""
    if other.rank[0] == _STARTER or other.content == best.content:
        return other.rank[0] != _UNREAD
    mine, theirs = (read_file(one.found.name, one.content).cells for one in (best, other))
    return bool(theirs) and [c.source for c in mine] == [c.source for c in theirs]


def _also(others: list[Candidate]) -> tuple[Finding, ...]:
    """What was found of further files that belong to no assignment, with their names."""
    return tuple(
        replace(finding, message=f"{_shown_place(other.found)}: {finding.message}")
        for other in others[:MAX_NAMED]
        for finding in other.findings
    )


def _hostile(file: Found) -> tuple[Finding, ...]:
    told = file.fault is not None and file.fault.kind is Kind.HOSTILE_NAME
    if told or all(shown(part) == part for part in file.parts):
        return ()
    message = "The file's name holds characters that cannot be seen, or is endless."
    return (Finding(Kind.HOSTILE_NAME, message, repaired=True),)


def _late(file: Found) -> tuple[Finding, ...]:
    late = place_of(file.parts).late
    return (Finding(Kind.LATE, "The platform marks it as handed in late."),) if late else ()


def _shown_place(file: Found) -> str:
    return "/".join(map(shown, file.parts))


def _without_notebook(student: str, files: list[Found], answered: set[str]) -> Iterator[Submission]:
    """A submission without content for each assignment to which only other files were sent; for a
    student who sent nothing else, at least one."""
    others: dict[str, list[Found]] = {}
    for file in files:
        assignment = place_of(file.parts).assignment
        if not _is_work(file) and (is_mistaken(file.name) or not answered):
            others.setdefault(assignment, []).append(file)
    for assignment, held in others.items():
        if assignment in answered or (answered and not assignment):
            continue
        named = ", ".join(_shown_place(file) for file in held[:MAX_NAMED])
        message = f"There is no notebook and no Python file here, only {named}. Send the .ipynb."
        finding = Finding(Kind.NO_NOTEBOOK, message)
        place = _shown_place(held[0])
        yield Submission(student, assignment, place, b"", (finding, *_late(held[0])))
