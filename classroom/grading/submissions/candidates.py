"""One student's files: which of them is the work on which assignment."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace

from classroom.grading.names import shown
from classroom.grading.submissions.files import Entry, Reader
from classroom.grading.submissions.place import Place, place_of
from classroom.grading.submissions.reading import NOTEBOOK, read_file, split_ending
from classroom.grading.submissions.released import exercises_in
from classroom.grading.types import File, Finding, Kind, Submission

MAX_NAMED = 5  # files that a message names
_UNREAD, _STARTER, _WORK = 0, 1, 2  # what a file holds, the first part of its rank
_REASONS = (
    "is not named after the assignment",
    "was sent earlier",
    "has the name of a copy",
    "is older",
    "comes first by name, and nothing else tells the two apart",
)  # for its later parts
_MISTAKEN = frozenset(
    ".docx .doc .odt .rtf .pdf .txt .md .html .htm .pages .rar .7z .gz .tgz .tar .png .jpg".split()
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A file that may be the work on `assignment`. The greater `rank` wins: what could be read and
    is no mere starter, then what is named after the assignment, what was sent last, what has the
    name that was handed out, the newest. `sha256` is that of its bytes."""

    entry: Entry
    place: Place
    assignment: str
    rank: tuple[float | str, ...]
    file: File = field(default_factory=File)
    findings: tuple[Finding, ...] = ()
    sha256: str = ""


def submissions_of(student: str, entries: Iterable[Entry]) -> list[Submission]:
    """The submissions among one student's files: one for each assignment, and one without an
    assignment for all files that belong to none."""
    by_assignment: dict[str, list[Candidate]] = {}
    others = []
    for entry, content in Reader().read(entries):
        told = entry.fault is not None and (not entry.name or entry.is_zip or entry.astray)
        if split_ending(entry.name)[1] or told:
            for candidate in _candidates(entry, content):
                by_assignment.setdefault(candidate.assignment, []).append(candidate)
        else:
            others.append(entry)
    made = []
    for candidates in by_assignment.values():
        best, *rest = sorted(candidates, key=lambda candidate: candidate.rank, reverse=True)
        made.append(_submission(student, best, rest))
    return made + list(_without_notebook(student, others, set(by_assignment)))


def is_mistaken(name: str) -> bool:
    """Is this a document or an archive that somebody may send instead of a notebook?"""
    return any(name.casefold().endswith(ending) for ending in _MISTAKEN)


def _candidates(entry: Entry, content: bytes) -> Iterator[Candidate]:
    """What a file may be: one candidate for each assignment that it answers.

    An assignment that its place names counts, unless exercises of others alone stand in it.
    """
    place = place_of(entry.parts)
    if entry.fault is not None:
        rank = _rank(entry, place, _UNREAD, 2)
        yield Candidate(entry, place, place.assignment, rank, findings=(entry.fault,))
        return
    file, sha256 = read_file(entry.name, content), hashlib.sha256(content).hexdigest()
    holds = exercises_in(file.cells)
    most = max((found for found, _ in holds.values()), default=0)
    claims = {name: int(found == most) for name, (found, _) in holds.items()}
    # `STUDENT.ipynb` and any `.py` are ways to hand in; a notebook of another name was renamed.
    own_name = len(entry.parts) == 1 or split_ending(entry.name)[1] != NOTEBOOK
    renamed = bool(place.assignment) or not own_name
    if place.assignment and (place.assignment in holds or not holds):
        claims, renamed = {place.assignment: 2}, place.renamed
    for assignment, named in claims.items():
        worked = holds.get(assignment, (0, 0))[1]
        rank = _rank(entry, place, _WORK if worked else _STARTER, named)
        message = f"The file's name is not the one handed out; it was taken for {assignment}."
        findings = (Finding(Kind.RENAMED, message, repaired=True),) if renamed else ()
        yield Candidate(entry, place, assignment, rank, file, findings, sha256)
    if not claims:
        message = "Nothing in this file belongs to an exercise of the course; is it the right one?"
        findings = (Finding(Kind.NOT_OURS, message),) if file.cells or not file.findings else ()
        yield Candidate(entry, place, "", _rank(entry, place, _STARTER, 0), file, findings, sha256)


def _rank(entry: Entry, place: Place, state: int, named: int) -> tuple[float | str, ...]:
    return (state, named, place.again, not place.renamed, entry.changed, *entry.parts)


def _submission(student: str, best: Candidate, others: list[Candidate]) -> Submission:
    """The best candidate as a submission; the others are named."""
    told = _several(best, others) if best.assignment else _also(others)
    findings = [*best.findings, *told]
    if not best.entry.astray and any(shown(part) != part for part in best.entry.parts):
        message = "The file's name holds characters that cannot be seen, or is endless."
        findings.append(Finding(Kind.HOSTILE_NAME, message, repaired=True))
    if best.place.late:
        findings.append(Finding(Kind.LATE, "The platform marks it as handed in late."))
    name = _shown(best.entry)
    return Submission(
        student, best.assignment, name, best.file, tuple(findings), sha256=best.sha256
    )


def _several(best: Candidate, others: list[Candidate]) -> tuple[Finding, ...]:
    """Which file is graded, and why not the others. If nothing is lost without them, which are the
    starter or the same work once more, nobody needs to look."""
    if not others:
        return ()
    named = "; ".join(
        f"{_shown(other.entry)}, which {_why(best, other)}" for other in others[:MAX_NAMED]
    )
    more = f"; and {len(others) - MAX_NAMED} more" if len(others) > MAX_NAMED else ""
    message = (
        f"Several files answer {best.assignment}. This one is graded: {_shown(best.entry)}. "
        f"Left aside: {named}{more}."
    )
    mine = [cell.source for cell in best.file.cells]
    harmless = all(
        other.rank[0] == _STARTER or (mine and mine == [cell.source for cell in other.file.cells])
        for other in others
    )
    return (Finding(Kind.SEVERAL_FILES, message, repaired=harmless),)


def _why(best: Candidate, other: Candidate) -> str:
    """What decided against a file: the first place at which the two ranks differ."""
    state = "holds only the starter" if other.rank[0] else "cannot be read"
    reasons = (state, *_REASONS)
    pairs = zip(best.rank, other.rank, strict=False)
    at = next((at for at, (one, two) in enumerate(pairs) if one != two), len(reasons))
    return reasons[min(at, len(reasons) - 1)]


def _also(others: list[Candidate]) -> tuple[Finding, ...]:
    """What was found of further files that belong to no assignment, with their names."""
    return tuple(
        replace(finding, message=f"{_shown(other.entry)}: {finding.message}")
        for other in others[:MAX_NAMED]
        for finding in other.findings
    )


def _shown(entry: Entry) -> str:
    return "/".join(map(shown, entry.parts))


def _without_notebook(student: str, files: list[Entry], answered: set[str]) -> Iterator[Submission]:
    """A submission without content for each assignment to which only other files were sent; for a
    student who sent nothing else, at least one."""
    others: dict[str, list[Entry]] = {}
    for file in files:
        if is_mistaken(file.name) or not answered:
            others.setdefault(place_of(file.parts).assignment, []).append(file)
    for assignment, held in others.items():
        if assignment in answered or (answered and not assignment):
            continue
        named = ", ".join(map(_shown, held[:MAX_NAMED]))
        message = f"There is no notebook and no Python file here, only {named}. Send the .ipynb."
        findings = [Finding(Kind.NO_NOTEBOOK, message)]
        if place_of(held[0].parts).late:
            findings.append(Finding(Kind.LATE, "The platform marks it as handed in late."))
        yield Submission(student, assignment, _shown(held[0]), findings=tuple(findings))
