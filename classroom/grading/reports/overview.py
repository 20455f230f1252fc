"""The page for whoever teaches: the class at a glance, and what to do next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from classroom.checking import DIED, TOO_SLOW, Outcome
from classroom.grading.reports.feedback import feedback_name
from classroom.grading.reports.page import clean, render
from classroom.grading.types import Finding, Graded, Kind
from classroom.grading.writing import write_whole

FEEDBACK = "feedback"  # the folder of feedback, beside the overview
REASONS = 6  # shown of one submission
RANGES = ("0–19 %", "20–39 %", "40–59 %", "60–79 %", "80–99 %", "100 %")
# A person looks at the first even where grading went on; the last asks nobody for a look.
ALWAYS = {Kind.MACHINERY, Kind.LEFT_OUT, Kind.SOLUTION_MARKS}
NEVER = {Kind.LATE}
_REMARKABLE = {Outcome.TOO_SLOW: TOO_SLOW, Outcome.DIED: DIED, Outcome.DELEGATED: ""}
_OUTCOMES = (  # in the order of the table's columns
    Outcome.RIGHT,
    Outcome.WRONG,
    Outcome.CRASHED,
    Outcome.TOO_SLOW,
    Outcome.DIED,
    Outcome.DELEGATED,
    Outcome.NOT_ATTEMPTED,
)


@dataclass(frozen=True, slots=True)
class Assignment:
    """One assignment in numbers. `scores` counts results by share of the points; `counts` has, for
    each exercise, how often each of the `outcomes` came that there were."""

    name: str
    graded: Sequence[Graded]
    scores: Sequence[tuple[str, int]]
    outcomes: Sequence[Outcome]
    counts: Mapping[str, Mapping[Outcome, int]]

    @property
    def mean(self) -> float:
        return sum(one.score for one in self.graded) / len(self.graded)

    @property
    def most(self) -> int:
        return max(one.max_score for one in self.graded)


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


def write_overview(graded: Sequence[Graded], folder: Path, summary: Mapping[str, str]) -> Path:
    """Write `overview.html` into `folder`, with links to the feedback in `folder/feedback`.

    `summary` is shown at the top, label by label: the sandbox used, the time taken.
    """
    groups = by_assignment(graded)
    unread = any(not one.assignment for one in graded)
    facts = {
        "Students": str(len({one.student for one in graded})),
        "Submissions": str(len(graded)),
        **summary,
    }
    html = render(
        "overview.html",
        facts=facts,
        assignments=[_assignment(name, group) for name, group in groups.items()],
        mistakes=common_mistakes(graded),
        looks=[(one, reasons) for one in graded if (reasons := reasons_to_look(one))],
        longest=longest_running(graded),
        students=_by_student(graded),
        columns={
            **{name: clean(name, 80) for name in groups},
            **({"": "Unreadable"} if unread else {}),
        },
        most_reasons=REASONS,
        address=_address,
        late=lambda one: any(finding.kind is Kind.LATE for finding in one.findings),
    )
    return write_whole(folder / "overview.html", html)


def _address(one: Graded) -> str:
    """The feedback on a result, as a link beside it."""
    return f"{FEEDBACK}/{quote(str(feedback_name(one)), errors='backslashreplace')}"


def by_assignment(graded: Sequence[Graded]) -> dict[str, list[Graded]]:
    """The results of each assignment, in the order of their names; what could not be read as work
    on one is in none."""
    groups: dict[str, list[Graded]] = {}
    for one in sorted(graded, key=lambda one: (one.assignment, one.student)):
        if one.assignment:
            groups.setdefault(one.assignment, []).append(one)
    return groups


def _by_student(graded: Sequence[Graded]) -> list[dict[str, Graded]]:
    """Each student's results by assignment, students by name."""
    held: dict[str, dict[str, Graded]] = {}
    for one in sorted(graded, key=lambda one: (one.student.casefold(), one.student)):
        held.setdefault(one.student, {})[one.assignment] = one
    return list(held.values())


def _assignment(name: str, group: Sequence[Graded]) -> Assignment:
    counts = outcome_counts(group)
    there = [outcome for outcome in _OUTCOMES if any(row[outcome] for row in counts.values())]
    scores = list(zip(RANGES, score_counts(group), strict=True))
    return Assignment(clean(name, 80), group, scores, there, counts)


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
    reasons = [
        f"{found.kind}{f' (cell {found.cell})' if found.cell else ''}: {found.message}"
        for found in findings
        if _needs_a_look(found, one)
    ]
    for mark in one.marks:
        raised = {case.raised for case in mark.cases} - {""}
        for outcome, name in _REMARKABLE.items():
            if mark.outcome is outcome or name in raised:
                reasons.append(f"`{mark.exercise}`: {outcome}")
    return list(dict.fromkeys(reasons))


def _needs_a_look(finding: Finding, one: Graded) -> bool:
    """A call for `input()` is harmless where the exercise it is about (if none, all) is right."""
    about = [mark for mark in one.marks if finding.exercise in ("", mark.exercise)]
    harmless = bool(about) and all(mark.outcome is Outcome.RIGHT for mark in about)
    if finding.kind in NEVER or (finding.kind is Kind.INPUT and harmless):
        return False
    return not finding.repaired or finding.kind in ALWAYS


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
