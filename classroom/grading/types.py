"""The values that travel through the grader."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from classroom.checking import Outcome


class Kind(StrEnum):
    """What a look at a submission finds before anything runs."""

    RENAMED = "renamed file"
    TOO_LARGE = "too large"
    UNREADABLE = "unreadable"
    NO_NOTEBOOK = "no notebook"
    NOT_OURS = "no exercise found"
    MISSING_CELL = "missing cell"
    RENAMED_FUNCTION = "renamed function"
    DUPLICATED_CELL = "duplicated cell"
    RETYPED_CELL = "retyped cell"
    LOST_METADATA = "lost metadata"
    CHANGED_TEST = "changed test cell"
    SYNTAX_ERROR = "syntax error"
    INPUT = "asks for input"
    MAGIC = "magic"
    ABSOLUTE_PATH = "absolute path"
    MACHINERY = "reaches for the machinery"
    SEVERAL_FILES = "several files"
    IGNORED_FILE = "ignored file"
    HOSTILE_NAME = "hostile name"
    LATE = "handed in late"
    SOLUTION_MARKS = "marks of the model solution"
    LEFT_OUT = "left out when run"
    FOLLOW_ON = "follow-on error"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing found. `cell` counts all cells from 1 (0: the file as a whole), `line` from 1
    within the cell; `repaired` says that grading went on as if nothing were wrong."""

    kind: Kind
    message: str
    cell: int = 0
    line: int = 0
    exercise: str = ""
    repaired: bool = False


@dataclass(frozen=True, slots=True)
class RawCell:
    """A cell as it stands in a file. `number` counts all cells from 1; `code` tells a code cell
    from text; `grade_id` and `solution` are nbgrader's, empty and false if there are none."""

    number: int
    source: str
    code: bool = True
    grade_id: str = ""
    solution: bool = False


@dataclass(frozen=True, slots=True)
class File:
    """What was read of a file, without outputs: a class of pictures would fill the memory."""

    cells: tuple[RawCell, ...] = ()
    findings: tuple[Finding, ...] = ()
    notebook: bool = False


@dataclass(frozen=True, slots=True)
class Submission:
    """A student's work on one assignment, as found. `name` is its place below the folder of
    submissions, for people; `file` what was read of it, nothing where it could not be;
    `sha256` the hash of what was sent; `folder` the name that the student's folder has among the
    results. `platform` is "canvas", "moodle" or empty, and `number` what the platform counts the
    student by. `findings` are those of its place; those of its reading stand in `file`."""

    student: str
    assignment: str
    name: str
    file: File = File()
    findings: tuple[Finding, ...] = ()
    folder: str = ""
    number: str = ""
    platform: str = ""
    sha256: str = ""


@dataclass(frozen=True, slots=True)
class Cell:
    """A code cell that will run. `number` counts all cells of the notebook from 1; a Python file is
    one cell. `exercises` are the ids of those that are answered here."""

    number: int
    source: str
    exercises: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Triaged:
    """A submission that was read: what will run, and what was found on the way."""

    cells: tuple[Cell, ...] = ()
    findings: tuple[Finding, ...] = ()


class Group(StrEnum):
    """A group of cases. It earns its share of the points as a whole."""

    EXAMPLES = "examples"
    ORDINARY = "ordinary inputs"
    REFUSALS = "inputs to refuse"


@dataclass(frozen=True, slots=True)
class CaseVerdict:
    """What came of one case. `raised` names the error, or how the worker ended. Of a case that
    failed, `shown` holds the call, what was expected and what came, if the case is public; else
    `secret` does, which stays in the instructor's record."""

    group: Group
    passed: bool
    raised: str = ""
    shown: Mapping[str, str] = field(default_factory=dict)
    secret: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ExerciseMark:
    """The mark for one exercise. `mistake` is the name of a recognised mistake, `sentence` what it
    says to a learner; `line` the learner's own line where the first error struck. The measured
    figures are the worker's: seconds on the clock, seconds of CPU, the most memory in MiB."""

    exercise: str
    score: float
    max_score: int
    outcome: Outcome
    message: str = ""
    mistake: str = ""
    sentence: str = ""
    line: str = ""
    cases: tuple[CaseVerdict, ...] = ()
    findings: tuple[Finding, ...] = ()
    wall: float = 0.0
    cpu: float = 0.0
    memory: float = 0.0


@dataclass(frozen=True, slots=True)
class Graded:
    """All that is known of one submission after grading. `assignment` is empty, and there are no
    marks, where nothing could be read as work on one."""

    student: str
    assignment: str
    name: str
    marks: tuple[ExerciseMark, ...]
    findings: tuple[Finding, ...] = ()
    folder: str = ""
    number: str = ""
    platform: str = ""

    @property
    def score(self) -> float:
        return round(sum(mark.score for mark in self.marks), 2)

    @property
    def max_score(self) -> int:
        return sum(mark.max_score for mark in self.marks)


@dataclass(frozen=True, slots=True)
class Answer:
    """What one student wrote for one exercise. `folder` is the student's among the results."""

    exercise: str
    student: str
    folder: str
    source: str


@dataclass(slots=True)
class Class:
    """A graded class: everything that reports are made of.

    `kept` counts what was graded before and has not changed, `again` what was graded before by
    other code or another Python, and so anew. `faults` names submissions that the grader itself
    failed on; `sandbox` what they ran in.
    """

    graded: list[Graded] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    kept: int = 0
    again: int = 0
    faults: list[str] = field(default_factory=list)
    sandbox: str = ""
