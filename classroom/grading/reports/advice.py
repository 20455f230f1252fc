"""What to do next with one exercise, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence

from classroom.checking import Outcome
from classroom.grading.types import ExerciseMark, Finding, Group, Kind

_STEP = {
    Outcome.RIGHT: "",
    Outcome.NOT_ATTEMPTED: "Replace the `raise` line with a first attempt. A short one is enough "
    "for a check to tell you more.",
    Outcome.WRONG: "Take the first case shown here, go through your function with it by hand, and "
    "find the line where it takes another way.",
    Outcome.CRASHED: "Ask with which input your function gets to the line where it stops, and what "
    "it should do there.",
    Outcome.TOO_SLOW: "Ask what makes your loop or your recursion end, and whether it does for "
    "every input: an empty one, too.",
    Outcome.DELEGATED: "The point is to build it: start from the task, not from the answer.",
    Outcome.DIED: "Your code ended Python itself, or needed more memory than there was. Look for "
    "`exit()`, and for a list or a recursion that grows without end.",
}
_BEYOND_EXAMPLES = (
    "The examples hold, so look beyond them: the empty input, the smallest, a tie, and what the "
    "task says about errors."
)
_REFUSALS_LEFT = (
    "All legal inputs come out right. Read again what the task says about the others, and which "
    "error each of them should raise."
)
_MEND = "Mend this line; nothing in this cell ran."
_PARAMETERS = (
    "Use the parameters instead of `input()`: they hold what your function is to work with."
)
_RENAME = "Give your function the name from the task again, and every case is tried."
_RESTORE = "Write your answer into the cell of the released notebook, and leave its name as it is."


def next_step(mark: ExerciseMark, findings: Sequence[Finding]) -> str:
    """What to do next; `findings` are those of this exercise. Nothing if it is solved.

    What kept the function from running comes first; then, for a wrong function, the first group
    of cases that does not hold.
    """
    if mark.outcome is Outcome.RIGHT:
        return ""
    kinds = {finding.kind for finding in findings}
    if Kind.SYNTAX_ERROR in kinds:
        return _MEND
    if mark.outcome is Outcome.NOT_ATTEMPTED and Kind.RENAMED_FUNCTION in kinds:
        return _RENAME
    if mark.outcome is Outcome.NOT_ATTEMPTED and Kind.MISSING_CELL in kinds:
        return _RESTORE
    if mark.outcome is not Outcome.NOT_ATTEMPTED and Kind.INPUT in kinds:
        return _PARAMETERS
    broken = {case.group for case in mark.cases if not case.passed}
    if mark.outcome is Outcome.WRONG and broken == {Group.REFUSALS}:
        return _REFUSALS_LEFT
    if mark.outcome is Outcome.WRONG and Group.EXAMPLES not in broken:
        return _BEYOND_EXAMPLES
    return _STEP[mark.outcome]
