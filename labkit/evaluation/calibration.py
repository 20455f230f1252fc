"""Choosing a threshold for a model: where do answerable and unanswerable questions part?

A cosine means nothing outside its own vector space, so each model profile has its own threshold,
chosen on annotated questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from math import floor
from pathlib import Path
from typing import Any

from labkit.assembly import Lab, profile_of
from labkit.types import LabError, Search, Viewer

ASKED = ("id", "question", "language", "as_of", "viewer", "answerable")


@dataclass(frozen=True, slots=True)
class Question:
    """One annotated question: its quotation stands in `document`, or it has no answer."""

    id: str
    question: str
    language: str
    as_of: date
    viewer: str
    answerable: bool
    kind: str
    document: str | None = None
    quotation: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """The cosine that decides about a question.

    Answerable: of the nearest chunk that holds the quotation. Otherwise: of the nearest chunk that
    shares a word, that is, the one that a lower threshold would let through. None: no such chunk.
    A policy that decides about the question as a whole says so itself, as `support`.
    """

    question: Question
    cosine: float | None


@dataclass(frozen=True, slots=True)
class Calibration:
    """What each threshold would do with `answerable` and `unanswerable` questions.

    `table` holds (threshold, answerable questions kept, unanswerable ones let through).
    """

    suggested: float
    answerable: int
    unanswerable: int
    table: list[tuple[float, int, int]]

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        rows = [{"threshold": t, "kept": kept, "let_through": bad} for t, kept, bad in self.table]
        return {
            "suggested": self.suggested,
            "answerable": self.answerable,
            "unanswerable": self.unanswerable,
            "table": rows,
        }


def calibrate(
    lab: Lab, questions: Sequence[Question], told: Callable[[int, int], None]
) -> Calibration:
    """Measure the lab's model on annotated questions; `told` hears how many of all are done."""
    search, observed = lab.search(threshold=-1.0), list[Observation]()
    for done, question in enumerate(questions, start=1):
        observed.append(observe(question, search, lab.settings.viewer_named(question.viewer)))
        told(done, len(questions))
    answerable = sum(question.answerable for question in questions)
    return Calibration(
        suggested_threshold(observed),
        answerable,
        len(questions) - answerable,
        threshold_table(observed, profile_of(lab.settings).shown),
    )


def read_questions(path: Path) -> list[Question]:
    """Annotated questions from JSON Lines; LabError names the line that is none."""
    questions: list[Question] = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), start=1):
        try:
            questions.append(_question(json.loads(line)))
        except (ValueError, KeyError, TypeError) as error:
            raise LabError(
                f"{path.name}, line {number}: no annotated question ({error})."
            ) from error
    return questions


def threshold_table(
    observations: Sequence[Observation], thresholds: Sequence[float]
) -> list[tuple[float, int, int]]:
    """(threshold, answerable questions kept, unanswerable ones let through) for each threshold."""
    return [
        (
            threshold,
            _passing(observations, True, threshold),
            _passing(observations, False, threshold),
        )
        for threshold in thresholds
    ]


def suggested_threshold(observations: Sequence[Observation], keep: float = 0.98) -> float:
    """The highest threshold, to two places, that keeps this share of the answerable questions.

    Answerable questions are the ones to protect here: what a threshold lets through still has to
    pass the generator and the gate.
    """
    cosines = sorted(
        o.cosine for o in observations if o.question.answerable and o.cosine is not None
    )
    if not cosines:
        raise LabError("No answerable question found its quotation; nothing to calibrate on.")
    lost = int((1 - keep) * len(cosines))
    return floor(cosines[lost] * 100) / 100


def _passing(observations: Sequence[Observation], answerable: bool, threshold: float) -> int:
    return sum(
        o.question.answerable == answerable and o.cosine is not None and o.cosine >= threshold
        for o in observations
    )


def observe(question: Question, search: Search, viewer: Viewer) -> Observation:
    """Measure one question; `search` should have no threshold of its own (-1)."""
    found = search.retrieve(question.question, viewer, question.as_of)
    if found.ranked and "support" in found.detail:
        return Observation(question, float(found.detail["support"]))
    cosines = [
        hit.cosine
        for hit in found.ranked
        if hit.cosine is not None
        and hit.lexical_rank is not None
        and (question.quotation is None or question.quotation in hit.chunk.text)
    ]
    return Observation(question, max(cosines, default=None))


def _question(row: dict[str, Any]) -> Question:
    if not isinstance(row, dict):
        raise TypeError("it lacks everything: it is no JSON object")
    missing = [name for name in ASKED if name not in row]
    missing += [] if "kind" in row or "why" in row else ["kind"]
    if missing:
        raise ValueError(f"it lacks {', '.join(missing)}; `labkit eval --help` shows the format")
    return Question(
        id=row["id"],
        question=row["question"],
        language=row["language"],
        as_of=date.fromisoformat(row["as_of"]),
        viewer=row["viewer"],
        answerable=row["answerable"],
        kind=row.get("kind") or row["why"],
        document=row.get("document"),
        quotation=row.get("quotation"),
    )
