"""What became of all questions, by profile, policy and kind, and where answers were lost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labkit.evaluation.answers import Judged, Stage, Verdict
from labkit.evaluation.report import ALL
from labkit.evaluation.summary import summarise


@dataclass(frozen=True, slots=True)
class AnswerCounts:
    """What became of the questions of one kind, asked with one profile under one policy."""

    profile: str
    policy: str
    kind: str
    answerable: int
    right: int
    other_unit: int
    other_document: int
    refused: int
    unanswerable: int
    unanswerable_answered: int

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return asdict(self)


def count_answers(judged: Sequence[Judged]) -> list[AnswerCounts]:
    """One row a profile, policy and kind, in order of appearance; `all` kinds stand first."""
    engines = dict.fromkeys((one.profile, one.policy) for one in judged)
    kinds = list(dict.fromkeys(one.kind for one in judged))
    return [
        _counts(profile, policy, kind, found)
        for profile, policy in engines
        for kind in ([ALL, *kinds] if len(kinds) > 1 else [ALL])
        if (found := [one for one in judged if _belongs(one, profile, policy, kind)])
    ]


def count_losses(judged: Sequence[Judged]) -> dict[tuple[str, str], dict[str, int]]:
    """For each profile and policy, how many answers each stage was the first to lose."""
    losses: dict[tuple[str, str], Counter[str]] = {}
    for one in judged:
        found = losses.setdefault((one.profile, one.policy), Counter())
        if one.lost_at is not None:
            found[one.lost_at] += 1
    return {name: {stage: found[stage] for stage in Stage} for name, found in losses.items()}


def answers_as_text(rows: Sequence[AnswerCounts]) -> str:
    """One table a profile and policy: kinds in rows, verdicts side by side."""
    engines = dict.fromkeys((row.profile, row.policy) for row in rows)
    return "\n\n".join(
        _table(profile, policy, [r for r in rows if (r.profile, r.policy) == (profile, policy)])
        for profile, policy in engines
    )


def losses_as_text(judged: Sequence[Judged]) -> str:
    """The first stage that lost each answer which was not right."""
    tables = []
    for (profile, policy), found in count_losses(judged).items():
        lines = [f"{profile}, {policy}: {sum(found.values())} answers lost, first by"]
        lines += [f"{number:6}  {stage}" for stage, number in found.items() if number]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


def _belongs(one: Judged, profile: str, policy: str, kind: str) -> bool:
    return (one.profile, one.policy) == (profile, policy) and kind in (ALL, one.kind)


def _counts(profile: str, policy: str, kind: str, found: Sequence[Judged]) -> AnswerCounts:
    number = Counter(one.verdict for one in found)
    unanswerable = number[Verdict.UNANSWERABLE_ANSWERED] + number[Verdict.UNANSWERABLE_REFUSED]
    return AnswerCounts(
        profile,
        policy,
        kind,
        answerable=len(found) - unanswerable,
        right=number[Verdict.RIGHT],
        other_unit=number[Verdict.OTHER_UNIT],
        other_document=number[Verdict.OTHER_DOCUMENT],
        refused=number[Verdict.REFUSED],
        unanswerable=unanswerable,
        unanswerable_answered=number[Verdict.UNANSWERABLE_ANSWERED],
    )


def _table(profile: str, policy: str, rows: Sequence[AnswerCounts]) -> str:
    width = max(len(row.kind) for row in rows)
    lines = [
        f"{profile}, {policy}: questions asked end to end; the share that is right, with its "
        "95 % interval",
        f"{'kind':{width}}  answerable  right                 other unit  other document  refused"
        "  | unanswerable  answered",
    ]
    for row in rows:
        share = summarise([1.0] * row.right + [0.0] * (row.answerable - row.right))
        shown = f"{row.right:3} {share}" if row.answerable else "  –"
        lines.append(
            f"{row.kind:{width}}  {row.answerable:10}  {shown:22}{row.other_unit:10}"
            f"  {row.other_document:14}  {row.refused:7}  | {row.unanswerable:12}"
            f"  {row.unanswerable_answered:8}"
        )
    return "\n".join(lines)
