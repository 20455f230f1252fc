"""From ranked passages to the scores of one question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from typing import TypeAlias

from labkit.evaluation.datasets import DAY, AnnotatedQuestion, Beir, Part
from labkit.evaluation.hit_rate import hit_at_k
from labkit.evaluation.ndcg import ndcg_at_k
from labkit.evaluation.rankings import Ranking
from labkit.evaluation.recall import recall_at_k
from labkit.evaluation.reciprocal_rank import reciprocal_rank
from labkit.evaluation.scratch import READER
from labkit.types import Hit, Viewer

Scores: TypeAlias = dict[str, float | None]
"""Metric → score in [0, 1]; None where nothing is relevant."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to measure: who asks it when, its kind, and how passages are scored for it."""

    text: str
    viewer: Viewer
    as_of: date
    kind: str
    score: Callable[[Sequence[Hit]], Scores]


@dataclass(frozen=True, slots=True)
class Measured:
    """The scores of one question under one ranking; `refused`: nothing was handed on."""

    profile: str
    ranking: str
    kind: str
    scores: Scores
    refused: bool

    @property
    def answerable(self) -> bool:
        """Is there anything to find? Else a refusal is right, and no metric has a value."""
        return any(score is not None for score in self.scores.values())


def measure(
    asked: Iterable[Asked], rankings: Mapping[str, Ranking], profile: str
) -> Iterator[list[Measured]]:
    """The scores of each question under every ranking, question by question."""
    for item in asked:
        found = {name: rank(item.text, item.viewer, item.as_of) for name, rank in rankings.items()}
        yield [
            Measured(profile, name, item.kind, item.score(hits), not hits)
            for name, hits in found.items()
        ]


def ask_annotated(
    items: Iterable[AnnotatedQuestion], viewers: Callable[[str], Viewer], k: int
) -> list[Asked]:
    """The lab's own questions, ready to be measured."""
    return [
        Asked(
            item.question.question,
            viewers(item.question.viewer),
            item.question.as_of,
            item.question.kind,
            partial(score_parts, parts=item.parts, k=k),
        )
        for item in items
    ]


def ask_beir(dataset: Beir, k: int) -> list[Asked]:
    """The judged queries of a BEIR folder, ready to be measured."""
    return [
        Asked(
            text,
            READER,
            DAY,
            dataset.name,
            partial(score_passages, gains=dataset.judgements[name], k=k),
        )
        for name, text in dataset.queries.items()
    ]


def score_passages(hits: Sequence[Hit], gains: Mapping[str, float], k: int) -> Scores:
    """The metrics for passages that are judged by the id of their document."""
    return score_ranking([hit.chunk.source_id for hit in hits], gains, k)


def score_ranking(ranked: Sequence[str], gains: Mapping[str, float], k: int) -> Scores:
    """The four metrics for ids in order of rank."""
    relevant = [name for name, gain in gains.items() if gain > 0]
    return {
        "recall": recall_at_k(ranked, relevant, k),
        "hit_rate": hit_at_k(ranked, relevant, k),
        "mrr": reciprocal_rank(ranked, relevant, k),
        "ndcg": ndcg_at_k(ranked, gains, k),
    }


def score_parts(hits: Sequence[Hit], parts: Sequence[Part], k: int) -> Scores:
    """The metrics for passages that hold the quotations, and recall of their documents.

    A part is found by any passage of its document that holds its quotation whole; of documents, one
    that answers as well is as good. So a quotation that the chunker cut in two is not found.
    `k` counts passages, for documents too: those are what a generator is handed.
    """
    top = hits[:k]
    held = [name for hit in top for name in _parts_held(hit, parts)]
    documents = [name for hit in top for name in _documents_met(hit, parts)]
    gains = {f"part {number}": 1.0 for number in range(len(parts))}
    return {
        "document_recall": recall_at_k(
            documents, {part.document for part in parts}, max(k, len(documents))
        ),
        **score_ranking(held, gains, max(k, len(held))),  # one passage may hold several parts
    }


def _parts_held(hit: Hit, parts: Sequence[Part]) -> list[str]:
    """The parts whose quotation this passage holds; its own id if none."""
    found = [
        f"part {number}"
        for number, part in enumerate(parts)
        if part.document == hit.chunk.source_id and part.quotation in hit.chunk.text
    ]
    return found or [hit.chunk.id]


def _documents_met(hit: Hit, parts: Sequence[Part]) -> list[str]:
    """The annotated documents that this passage's document is, or stands for; itself if none."""
    source = hit.chunk.source_id
    return [p.document for p in parts if source in (p.document, *p.also)] or [source]
