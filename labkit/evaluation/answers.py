"""The whole engine on annotated questions: what a reader gets in the end, and what lost it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from labkit.answering.access_filter import admit
from labkit.answering.candidates import said_by
from labkit.answering.engine import Engine
from labkit.answering.results import Outcome
from labkit.evaluation.datasets import AnnotatedQuestion, Part
from labkit.types import Chunk, Evidence, Hit, VectorStore, Viewer


class Verdict(StrEnum):
    """What became of a question: the first four of an answerable one, the others of the rest."""

    RIGHT = "right"
    OTHER_UNIT = "other_unit"
    OTHER_DOCUMENT = "other_document"
    REFUSED = "refused"
    UNANSWERABLE_ANSWERED = "unanswerable_answered"
    UNANSWERABLE_REFUSED = "unanswerable_refused"


class Stage(StrEnum):
    """The first stage that lost an answer, in order of the path."""

    UNIT = "no unit holds the answer"
    ADMISSION = "admission"
    CANDIDATES = "candidates"
    THRESHOLD = "threshold of the search"
    RANKING = "ranking"
    CHOICE = "choice of the unit"
    DECISION = "decision"
    GATE = "gate"


@dataclass(frozen=True, slots=True)
class Judged:
    """One question and what the engine did with it; `lost_at` only where an answer was lost."""

    profile: str
    policy: str
    id: str
    kind: str
    question: str
    verdict: Verdict
    shown: tuple[str, ...]
    reason: str
    score: float | None
    lost_at: Stage | None = None

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        return {name: getattr(self, name) for name in self.__slots__}


@dataclass(frozen=True)
class Examined:
    """An engine under examination: the index that it answers from, and the names of both."""

    profile: str
    policy: str
    engine: Engine
    store: VectorStore


def ask_all(
    examined: Examined, items: Sequence[AnnotatedQuestion], viewers: Callable[[str], Viewer]
) -> Iterator[Judged]:
    """Every question asked once, end to end."""
    for item in items:
        viewer = viewers(item.question.viewer)
        outcome = examined.engine.ask(item.question.question, viewer, item.question.as_of)
        verdict = judge(outcome, item.parts)
        is_lost = bool(item.parts) and verdict != Verdict.RIGHT
        yield Judged(
            examined.profile,
            examined.policy,
            item.question.id,
            item.question.kind,
            item.question.question,
            verdict,
            tuple(one.quote for one in _evidence(outcome)),
            "" if outcome.status == "answered" else str(outcome.reason),
            _step(outcome, "generator").get("score"),
            lost_at(examined, item, viewer, outcome) if is_lost else None,
        )


def judge(outcome: Outcome, parts: Sequence[Part]) -> Verdict:
    """The verdict on one outcome; a question without `parts` has no answer.

    Right is an answer that quotes all that was annotated, each part whole in one quotation.
    """
    evidence = _evidence(outcome)
    if not parts:
        return Verdict.UNANSWERABLE_ANSWERED if evidence else Verdict.UNANSWERABLE_REFUSED
    if not evidence:
        return Verdict.REFUSED
    if all(any(_holds(one, part) for one in evidence) for part in parts):
        return Verdict.RIGHT
    known = {name for part in parts for name in (part.document, *part.also)}
    is_known = any(one.source_id in known for one in evidence)
    return Verdict.OTHER_UNIT if is_known else Verdict.OTHER_DOCUMENT


def lost_at(examined: Examined, item: AnnotatedQuestion, viewer: Viewer, outcome: Outcome) -> Stage:
    """The first stage that lost the first part that the answer lacks."""
    evidence = _evidence(outcome)
    part = next(p for p in item.parts if not any(_holds(one, p) for one in evidence))
    day = item.question.as_of
    holding = [c for c, _ in examined.store.chunks(part.document) if _says(c, part)]
    if not holding:
        return Stage.UNIT
    eligible = admit(viewer, day)
    names = {chunk.id for chunk in holding if eligible.admits(chunk.meta)}
    if not names:
        return Stage.ADMISSION
    retrieval = examined.engine.search.retrieve(item.question.question, viewer, day)
    if not names & {hit.chunk.id for hit in retrieval.ranked}:
        return Stage.CANDIDATES
    if retrieval.refusal is not None:
        return Stage.THRESHOLD
    if not names & {hit.chunk.id for hit in retrieval.hits}:
        return Stage.RANKING
    chosen = _step(outcome, "generator").get("chosen", {})
    if part.quotation not in chosen.get("unit", ""):
        return Stage.CHOICE
    return Stage.DECISION if not _step(outcome, "generator").get("can_answer") else Stage.GATE


def _holds(evidence: Evidence, part: Part) -> bool:
    is_there = evidence.source_id in (part.document, *part.also)
    return is_there and _plain(part.quotation) in _plain(evidence.quote)


def _says(chunk: Chunk, part: Part) -> bool:
    """Does one quotable unit of the passage hold the annotated words?"""
    (units,) = said_by([Hit(chunk)])
    wanted = _plain(part.quotation)
    return any(unit.is_quotable and wanted in _plain(unit.text) for unit in units)


def _plain(text: str) -> str:
    """Line breaks and indents are of the file, not of what it says."""
    return " ".join(text.split())


def _evidence(outcome: Outcome) -> tuple[Evidence, ...]:
    return outcome.evidence if outcome.status == "answered" else ()


def _step(outcome: Outcome, stage: str) -> dict[str, Any]:
    return next((step.detail for step in outcome.trace.steps if step.stage == stage), {})
