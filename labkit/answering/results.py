"""What a person gets: an answer or a refusal, with the trace of how it came about.

One object each, shown in three ways: as JSON (`to_dict`), as text (`str`) and in a notebook.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from datetime import date
from html import escape
from typing import Any, Literal, TypeAlias

from labkit.types import Evidence, Hit, Reason

# A line inside a quotation that would read as the head of another one
_IMITATION = re.compile(r"(?<=[\n\f\u2028\u2029])(?=\[[^\[\]\s]+#\d+\])")
# Controls, line separators, changes of direction and lone surrogates
_UNPRINTED = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(slots=True)
class Step:
    """One stage's part in a trace: what it received and decided. `ms` is wall time."""

    stage: str
    detail: dict[str, Any] = field(default_factory=dict)
    ms: float = 0.0


@dataclass(frozen=True, slots=True, repr=False)
class Trace:
    """The path of one question through the stages, in order."""

    steps: tuple[Step, ...] = ()

    @property
    def ms(self) -> float:
        return sum(step.ms for step in self.steps)

    def to_dict(self) -> dict[str, Any]:
        return {"ms": round(self.ms, 1), "steps": [_step_dict(step) for step in self.steps]}

    def __str__(self) -> str:
        """A line a fact, without times, so that the same path always reads the same."""
        lines: list[str] = []
        for step in self.steps:
            lines.append(step.stage)
            lines += [f"    {name}: {_plain(value)}" for name, value in step.detail.items()]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th scope='row'>{escape(step.stage)}</th><td>{_details(step.detail)}</td></tr>"
            for step in self.steps
        )
        return f"<table><caption>Trace of the question</caption>{rows}</table>"


class Recorder:
    """Collects the steps of a trace while they happen."""

    def __init__(self) -> None:
        self._steps: list[Step] = []

    @contextmanager
    def step(self, stage: str) -> Iterator[dict[str, Any]]:
        """Time a stage; what it puts into the dictionary becomes the step's detail."""
        step = Step(stage)
        self._steps.append(step)
        start = time.perf_counter()
        try:
            yield step.detail
        finally:
            step.ms = (time.perf_counter() - start) * 1000

    @property
    def trace(self) -> Trace:
        return Trace(tuple(self._steps))


@dataclass(frozen=True, slots=True, repr=False)
class Answer:
    """Quotations that passed the gate. `text` holds nothing else."""

    id: str
    question: str
    as_of: date
    evidence: tuple[Evidence, ...]
    closest: tuple[Hit, ...]
    trace: Trace

    status: Literal["answered"] = "answered"

    @property
    def text(self) -> str:
        """The quotations alone, a line each: `[chunk id] quotation`.

        A quotation may run over lines; one that begins as if it named a chunk is set in, so that
        only what passed the gate stands under a name. `evidence` holds every quotation as it is.
        """
        return "\n".join(
            f"[{item.chunk_id}] {_IMITATION.sub('    ', item.quote)}" for item in self.evidence
        )

    def to_dict(self) -> dict[str, Any]:
        return _to_dict(self, None, None, self.text, self.evidence)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        quotes = "".join(
            f"<blockquote>{escape(item.quote)}<footer>— {escape(item.chunk_id)}, "
            f"characters {item.start} to {item.end}</footer></blockquote>"
            for item in self.evidence
        )
        return f"<section><p><b>Answered</b> with {_count(self.evidence)}</p>{quotes}</section>"


@dataclass(frozen=True, slots=True, repr=False)
class Refusal:
    """No answer, why, and the passages that came closest."""

    id: str
    question: str
    as_of: date
    reason: Reason
    message: str
    closest: tuple[Hit, ...]
    trace: Trace

    status: Literal["refused"] = "refused"

    def to_dict(self) -> dict[str, Any]:
        return _to_dict(self, self.reason, self.message, None, ())

    def __str__(self) -> str:
        return f"Refused ({self.reason}): {self.message}"

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        closest = "".join(
            f"<li>{escape(hit.chunk.id)}: {escape(hit.chunk.meta.title)}</li>"
            for hit in self.closest
        )
        return (
            f"<section><p><b>Refused</b> ({escape(self.reason)}): {escape(self.message)}</p>"
            + (f"<p>Closest passages:</p><ul>{closest}</ul>" if closest else "")
            + "</section>"
        )


Outcome: TypeAlias = Answer | Refusal


def hit_dict(hit: Hit) -> dict[str, Any]:
    """A hit as plain data, scores apart, without the text."""
    return {
        "chunk_id": hit.chunk.id,
        "title": hit.chunk.meta.title,
        "cosine": _rounded(hit.cosine),
        "dense_rank": hit.dense_rank,
        "lexical_score": _rounded(hit.lexical_score),
        "lexical_rank": hit.lexical_rank,
        "fused": _rounded(hit.fused),
        "dropped": hit.dropped,
    }


def _step_dict(step: Step) -> dict[str, Any]:
    """A step as plain data; a detail cannot take the place of the stage's name or time."""
    head = {"stage": step.stage, "ms": round(step.ms, 1)}
    return {**head, **step.detail, **head}


def _evidence_dict(item: Evidence) -> dict[str, Any]:
    """Evidence as plain data, with a page where there is one."""
    values = asdict(item)
    return values if item.page is not None else {k: v for k, v in values.items() if k != "page"}


def _to_dict(
    outcome: Outcome,
    reason: Reason | None,
    message: str | None,
    answer: str | None,
    evidence: Sequence[Evidence],
) -> dict[str, Any]:
    return {
        "id": outcome.id,
        "status": outcome.status,
        "question": outcome.question,
        "as_of": outcome.as_of.isoformat(),
        "reason": reason,
        "message": message,
        "answer": answer,
        "evidence": [_evidence_dict(item) for item in evidence],
        "closest": [hit_dict(hit) for hit in outcome.closest],
        "trace": outcome.trace.to_dict(),
    }


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 6)


def _count(evidence: Sequence[Evidence]) -> str:
    return "1 quotation" if len(evidence) == 1 else f"{len(evidence)} quotations"


def _plain(value: Any) -> str:
    """A detail as one line of text that draws nothing on a terminal: a model may have said it."""
    if isinstance(value, Mapping):
        return ", ".join(
            f"{key} {_plain(inner)}" for key, inner in value.items() if inner not in ("", None)
        )
    if isinstance(value, list | tuple):
        return "; ".join(map(_plain, value)) or "none"
    if isinstance(value, float):
        return f"{value:.4f}"
    return _UNPRINTED.sub(lambda match: repr(match[0])[1:-1], str(value))


def _details(detail: Mapping[str, Any]) -> str:
    return "<br>".join(f"{escape(name)}: {escape(_plain(value))}" for name, value in detail.items())
