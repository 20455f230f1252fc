"""What the results of a class add up to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from classroom.checking import DIED, TOO_SLOW, Outcome
from classroom.grading.types import Finding, Graded, Kind

RANGES = ("0–19 %", "20–39 %", "40–59 %", "60–79 %", "80–99 %", "100 %")
# A person looks at the first even where grading went on; the last asks nobody for a look.
ALWAYS = {Kind.MACHINERY, Kind.LEFT_OUT, Kind.SOLUTION_MARKS}
NEVER = {Kind.LATE}
_REMARKABLE = {Outcome.TOO_SLOW: TOO_SLOW, Outcome.DIED: DIED, Outcome.DELEGATED: ""}


@dataclass(frozen=True, slots=True)
class CommonMistake:
    """A recognised mistake and how many students made it."""

    exercise: str
    name: str
    sentence: str
    students: int


@dataclass(frozen=True, slots=True)
class Cost:
    """What grading one submission took: seconds on the clock and of CPU, and MiB at the most."""

    one: Graded
    wall: float
    cpu: float
    memory: float


def by_assignment(graded: Sequence[Graded]) -> dict[str, list[Graded]]:
    """The results of each assignment, in the order of their names; what could not be read as work
    on one is in none."""
    groups: dict[str, list[Graded]] = {}
    for one in sorted(graded, key=lambda one: (one.assignment, one.student)):
        if one.assignment:
            groups.setdefault(one.assignment, []).append(one)
    return groups


def score_counts(graded: Sequence[Graded]) -> list[int]:
    """How many results lie in each of RANGES. What is worth no points counts as 0 %."""
    counts = [0] * len(RANGES)
    for one in graded:
        share = one.score / one.max_score if one.max_score else 0.0
        fifth = int(round(share * 5, 9))  # 1.2 of 6 points is a fifth, whatever floats say
        counts[min(max(fifth, 0), 5)] += 1
    return counts


def outcome_counts(graded: Sequence[Graded]) -> dict[str, Counter[Outcome]]:
    """For each exercise, in the order of the notebooks, how often each outcome came."""
    counts: dict[str, Counter[Outcome]] = {}
    for one in graded:
        for mark in one.marks:
            counts.setdefault(mark.exercise, Counter())[mark.outcome] += 1
    return counts


def common_mistakes(graded: Sequence[Graded], most: int = 10) -> list[CommonMistake]:
    """Recognised mistakes, those of most students first; of equals, by exercise and name."""
    students: dict[tuple[str, str], set[str]] = {}
    sentences: dict[tuple[str, str], str] = {}
    for one in graded:
        for mark in one.marks:
            if mark.mistake:
                key = (mark.exercise, mark.mistake)
                students.setdefault(key, set()).add(one.student)
                sentences.setdefault(key, mark.sentence)
    ranked = sorted(students, key=lambda key: (-len(students[key]), key))
    return [CommonMistake(*key, sentences[key], len(students[key])) for key in ranked[:most]]


def reasons_to_look(one: Graded) -> list[str]:
    """Why a person should look at a submission, each reason once; empty if nobody needs to."""
    findings = [*one.findings, *(finding for mark in one.marks for finding in mark.findings)]
    reasons = [_said(finding) for finding in findings if _needs_a_look(finding, one)]
    for mark in one.marks:
        raised = {case.raised for case in mark.cases} - {""}
        for outcome, name in _REMARKABLE.items():
            if mark.outcome is outcome or name in raised:
                reasons.append(f"`{mark.exercise}`: {outcome}")
    return list(dict.fromkeys(reasons))


def longest_running(graded: Sequence[Graded], most: int = 5) -> list[Cost]:
    """The submissions that took longest on the clock; those that took no time are left out."""
    costs = [
        Cost(
            one,
            sum(mark.wall for mark in one.marks),
            sum(mark.cpu for mark in one.marks),
            max((mark.memory for mark in one.marks), default=0.0),
        )
        for one in graded
    ]
    ranked = sorted(costs, key=lambda cost: (-cost.wall, cost.one.student, cost.one.assignment))
    return [cost for cost in ranked[:most] if cost.wall > 0]


def _needs_a_look(finding: Finding, one: Graded) -> bool:
    if finding.kind in NEVER or (finding.kind is Kind.INPUT and _all_points(finding, one)):
        return False
    return not finding.repaired or finding.kind in ALWAYS


def _all_points(finding: Finding, one: Graded) -> bool:
    """Did the exercise that it is about get all points; of a finding about none, did all?"""
    about = [mark for mark in one.marks if finding.exercise in ("", mark.exercise)]
    return bool(about) and all(mark.outcome is Outcome.RIGHT for mark in about)


def _said(finding: Finding) -> str:
    place = f" (cell {finding.cell})" if finding.cell else ""
    return f"{finding.kind}{place}: {finding.message}"
