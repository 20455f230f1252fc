"""What the exercises of stage 07 share."""

from __future__ import annotations

from typing import Any, TypeAlias

from classroom.exercises.s06_admission.common import metadata_of
from labkit.types import Chunk, Hit

Passages: TypeAlias = dict[str, str]  # the text of each passage by its id
PlainCitation: TypeAlias = dict[str, str]  # chunk_id, quote
Decision: TypeAlias = dict[str, Any]


PlainProposal: TypeAlias = dict[str, Any]  # can_answer, evidence


def hit(name: str, title: str, text: str) -> Hit:
    source, _, part = name.rpartition("#")
    return Hit(Chunk(metadata_of({"id": source, "title": title}), int(part), 0, len(text), text))


def cite(name: str, quote: str) -> PlainCitation:
    return {"chunk_id": name, "quote": quote}


def propose(*evidence: PlainCitation, can_answer: bool = True) -> PlainProposal:
    return {"can_answer": can_answer, "evidence": list(evidence)}
