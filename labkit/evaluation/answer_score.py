"""The score that a unit must reach to be shown: where wrong answers and refusals balance.

Costs are counted in refusals. To refuse a question that the documents answer costs 1, and so does
another sentence of the right document, which answers nothing and misleads nobody. An answer from
another document, or to a question that nothing answers, costs `wrong_costs`.

Source: Chow, "On Optimum Recognition Error and Reject Tradeoff" (1970).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labkit.evaluation.answers import Judged, Verdict
from labkit.types import LabError

WRONG_COSTS = 4.0
STEPS = [step / 50 for step in range(51)]
_WRONG = (Verdict.OTHER_DOCUMENT, Verdict.UNANSWERABLE_ANSWERED)
_USELESS = (Verdict.OTHER_UNIT, Verdict.REFUSED)


@dataclass(frozen=True, slots=True)
class Balance:
    """What becomes of the questions when a unit needs `score` to be shown, and what that costs."""

    score: float
    right: int
    other_unit: int
    wrong: int
    refused: int
    cost: float

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return asdict(self)


def balances(judged: Sequence[Judged], wrong_costs: float = WRONG_COSTS) -> list[Balance]:
    """One row a score, from questions that were asked with no score needed.

    LabError for costs below 1, at which answering anything would pay.
    """
    if not wrong_costs >= 1:  # so that NaN is refused too
        raise LabError(f"A wrong answer costs {wrong_costs} refusals; it must be 1 or more.")
    return [_balance(judged, score, wrong_costs) for score in STEPS]


def cheapest(rows: Sequence[Balance]) -> Balance:
    """The row of least cost; of several the one that refuses most."""
    return min(rows, key=lambda row: (row.cost, -row.score))


def _balance(judged: Sequence[Judged], score: float, wrong_costs: float) -> Balance:
    found = Counter(_verdict(one, score) for one in judged)
    wrong, useless = (sum(found[v] for v in kinds) for kinds in (_WRONG, _USELESS))
    return Balance(
        score,
        found[Verdict.RIGHT],
        found[Verdict.OTHER_UNIT],
        wrong,
        found[Verdict.REFUSED],
        wrong_costs * wrong + useless,
    )


def _verdict(one: Judged, score: float) -> Verdict:
    """What would have become of the question."""
    if one.score is None or one.score >= score:
        return one.verdict
    is_answerable = one.verdict not in (
        Verdict.UNANSWERABLE_ANSWERED,
        Verdict.UNANSWERABLE_REFUSED,
    )
    return Verdict.REFUSED if is_answerable else Verdict.UNANSWERABLE_REFUSED
