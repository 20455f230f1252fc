"""What is right, and what each known mistake does: computed once, kept from every worker."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass

from classroom.checking import (
    TOO_SLOW,
    Behaviour,
    Ran,
    recognise,
    run_mistake,
    run_reference,
)
from classroom.exercise import Arguments, Exercise, Mistake
from classroom.grading.types import CaseVerdict, Group

SHARES = {Group.EXAMPLES: 1, Group.ORDINARY: 2, Group.REFUSALS: 1}


@dataclass(frozen=True, slots=True)
class KeyCase:
    """One case and what the reference does with it."""

    arguments: Arguments
    group: Group
    expected: Ran


class AnswerKey:
    """The cases of one exercise under one seed, public ones first.

    Hidden cases with a value to return are "ordinary inputs", those with an error to raise "inputs
    to refuse".
    """

    def __init__(self, exercise: Exercise, seed: str) -> None:
        self.exercise = exercise
        public = [case.arguments for case in exercise.cases]
        hidden = exercise.hidden_cases(seed)
        self.cases = [self._case(arguments, public=True) for arguments in public]
        self.cases += [self._case(arguments, public=False) for arguments in hidden]
        self._mistakes: dict[tuple[str, int], Ran] = {}
        self._lock = threading.Lock()

    def _case(self, arguments: Arguments, *, public: bool) -> KeyCase:
        expected = run_reference(self.exercise, arguments)
        hidden = Group.REFUSALS if expected.raised else Group.ORDINARY
        return KeyCase(arguments, Group.EXAMPLES if public else hidden, expected)

    def recognise(self, behaviour: Behaviour) -> Mistake | None:
        """The known mistake that behaves like this on the first `len(behaviour)` cases. Of those
        without a result in time only the first is looked at: what hangs, hangs again."""
        slow = [number for number, ran in enumerate(behaviour) if ran.raised == TOO_SLOW]
        if slow:
            behaviour = behaviour[: slow[0] + 1]
        expected = [case.expected for case in self.cases[: len(behaviour)]]
        return recognise(
            self.exercise.mistakes,
            expected,
            behaviour,
            lambda mistake, number: self._does(mistake, number, behaviour[number]),
        )

    def _does(self, mistake: Mistake, number: int, ran: Ran) -> Ran:
        """What a mistake does with a case; asked of every submission, computed once."""
        with self._lock:
            known = self._mistakes.get((mistake.name, number))
            if known is None:
                arguments = self.cases[number].arguments
                known = run_mistake(self.exercise, mistake, arguments, ran)
                self._mistakes[mistake.name, number] = known
            return known


@dataclass(frozen=True, slots=True)
class Share:
    """What a group of cases earned, and what it can earn at the most."""

    earned: float
    most: float


def shares(points: int, verdicts: Sequence[CaseVerdict]) -> dict[Group, Share]:
    """The share of the points of each group that there are verdicts of.

    A group earns its share if all its cases hold: examples and inputs to refuse one part each,
    ordinary inputs two; an exercise without inputs to refuse has three parts. Whoever raises at
    everything gets nothing for refusing: that part needs the examples too.

    >>> shares(6, [CaseVerdict(Group.ORDINARY, True), CaseVerdict(Group.EXAMPLES, False)])[
    ...     Group.ORDINARY
    ... ]
    Share(earned=4.0, most=4.0)
    """
    holds = {
        group: all(verdict.passed for verdict in verdicts if verdict.group is group)
        for group in Group
        if any(verdict.group is group for verdict in verdicts)
    }
    if not holds.get(Group.EXAMPLES, True):
        holds = {group: held and group is not Group.REFUSALS for group, held in holds.items()}
    parts = sum(SHARES[group] for group in holds)
    most = {group: points * SHARES[group] / parts for group in holds}
    return {group: Share(most[group] * held, most[group]) for group, held in holds.items()}


def score(points: int, verdicts: Sequence[CaseVerdict]) -> float:
    """The points that these verdicts earn, to two decimals: the sum of the `shares`.

    >>> right, wrong = CaseVerdict(Group.ORDINARY, True), CaseVerdict(Group.EXAMPLES, False)
    >>> score(6, [right, wrong])
    4.0
    """
    return round(sum(share.earned for share in shares(points, verdicts).values()), 2)
