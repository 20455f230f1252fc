"""The learner's own engine: their functions where they pass, labkit's elsewhere, one real path.

`bench = workbench(chunk_text=chunk_text, eligible=eligible)` asks the real corpus through `Engine`;
`bench.bisect(question)` finds which part makes an answer differ from the reference.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from classroom.exercise import Function
from classroom.exercises import exercise_named
from classroom.exercises.s05_ranking.common import analysed
from classroom.learner import passes
from classroom.show import Line, Message
from labkit.answering.access_filter import is_eligible
from labkit.answering.engine import Engine
from labkit.answering.results import Answer, Outcome
from labkit.answering.retrieval import HybridSearch, StrictSearch
from labkit.assembly import Lab, chunk_sizes, open_lab
from labkit.store.snapshot import Snapshot
from labkit.text import terms
from labkit.types import (
    Chunk,
    Document,
    Eligible,
    Evidence,
    Hit,
    Metadata,
    Proposal,
    Reason,
    Refused,
    Retrieval,
    VectorStore,
    Viewer,
)

PINNED_DAY = date(2026, 10, 23)
PARTS = (
    "normalise_text",
    "chunk_text",
    "chunk_offsets",
    "cosine",
    "top_k",
    "significant_terms",
    "reciprocal_rank_fusion",
    "rank_hits",
    "eligible",
    "check_evidence",
)
RRF_K = 60

Policy = TypeVar("Policy", StrictSearch, HybridSearch)


@dataclass(frozen=True, slots=True)
class OwnRule(Eligible):
    """What a question may see by a rule of your own. A store refuses it; `any_rule` runs it."""

    rule: Callable[[Metadata, frozenset[str], date], bool] = is_eligible

    def admits(self, meta: Metadata) -> bool:
        return self.rule(meta, self.grants, self.as_of)


class AnyRule(Snapshot):
    """A copy of an index in memory, which searches by whatever rule it is handed."""

    def _rows(self, eligible: Eligible) -> NDArray[np.intp]:
        return self._admitted(eligible)


def any_rule(search: Policy) -> Policy:
    """The same search over a copy of its index, so that rules of your own can be tried."""
    store = search.store
    held = [pair for document in store.documents() for pair in store.chunks(document.id)]
    held.sort(key=lambda pair: pair[0].id)
    chunks, vectors = zip(*held, strict=True)
    words = [terms(chunk.searchable) for chunk in chunks]
    copy = AnyRule("a copy", store.manifest(), chunks, np.stack(vectors), words)
    return replace(search, store=cast(VectorStore, copy))  # the half of a store that is asked


def workbench(lab: Lab | None = None, **functions: Function) -> Workbench:
    """An engine with the given functions, each named like its exercise, where they pass."""
    for name in functions:
        exercise_named(name)
        if name not in PARTS:
            raise KeyError(f"{name} has no place in the path of a question: {', '.join(PARTS)}.")
    failing = [name for name, function in functions.items() if not passes(name, function)]
    return Workbench(lab or open_lab(policy="strict"), functions, failing)


class Workbench:
    """Engines on the real corpus, made of labkit's parts and a learner's."""

    def __init__(self, lab: Lab, functions: Mapping[str, Function], failing: Sequence[str]) -> None:
        self._lab = lab
        self._mine = dict(functions)
        self._failing = list(failing)

    def ask(self, question: str, viewer: Viewer | None = None, as_of: date = PINNED_DAY) -> Outcome:
        """Ask with every part of yours that passes."""
        used = {name: f for name, f in self._mine.items() if name not in self._failing}
        return self._engine(used).ask(question, viewer or self._lab.settings.viewer, as_of)

    def whose(self) -> Message:
        """Which part is yours and which is labkit's."""
        lines: list[Line] = []
        for name in PARTS:
            owner = "yours" if name in self._mine else "labkit's"
            if name in self._failing:
                owner = "labkit's, until yours passes its check"
            lines.append((name, owner))
        return Message("Your engine", tuple(lines))

    def bisect(
        self, question: str, viewer: Viewer | None = None, as_of: date = PINNED_DAY
    ) -> Message:
        """Put each of your parts alone into the reference engine and say which one changes the
        answer. Parts that do not pass their check are tried too: that is where to look first."""
        reader = viewer or self._lab.settings.viewer
        expected = _said(self._engine({}).ask(question, reader, as_of))
        lines: list[Line] = []
        for name, function in self._mine.items():
            got = _outcome_of(self._engine({name: function}), question, reader, as_of)
            if got != expected:
                lines.append((name, f"gives: {got}"))
        if not lines:
            return Message("No part of yours changes this answer.", (("answer", expected),))
        return Message("These parts change the answer:", (("expected", expected), *lines))

    def _engine(self, parts: Mapping[str, Function]) -> Engine:
        gate = _Gate(parts["check_evidence"]) if "check_evidence" in parts else None
        engine = Engine(BenchSearch(self._lab, parts), self._lab.generator())
        return engine if gate is None else replace(engine, gate=gate)


@dataclass(frozen=True)
class BenchSearch:
    """The strict search over the corpus, in memory, from plain functions: `labkit.types.Search`."""

    lab: Lab
    parts: Mapping[str, Function]

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        eligible = OwnRule(viewer.grants, as_of, rule=self._rule)
        chunks = [c for c in self._chunks() if eligible.admits(c.meta)]
        ranked = self._ranked(question, chunks)
        refusal = None
        if all(hit.dropped for hit in ranked):
            reason = Reason.BELOW_THRESHOLD if chunks else Reason.NOTHING_ELIGIBLE
            refusal = Refused(reason, "No passage was kept for this question.")
        detail = {
            "policy": "workbench",
            "threshold": self.lab.threshold,
            "eligible": len(chunks),
        }
        return Retrieval(question, eligible, tuple(ranked), refusal, detail)

    def _chunks(self) -> list[Chunk]:
        normalise = self.parts.get("normalise_text", str)
        documents = self.lab.source().all_documents
        return [
            chunk
            for document in documents
            for chunk in self._cut(replace(document, text=normalise(document.text)))
        ]

    def _cut(self, document: Document) -> list[Chunk]:
        """The chunks of a document, by the learner's spans or labkit's."""
        body = document.text[document.body_start :]
        size, overlap = chunk_sizes(self.lab.settings, "characters")
        if "chunk_offsets" in self.parts:
            spans = [tuple(span) for span in self.parts["chunk_offsets"](body, size, overlap)]
        elif "chunk_text" in self.parts:
            pieces = self.parts["chunk_text"](body, size, overlap)
            starts = [number * (size - overlap) for number in range(len(pieces))]
            spans = [(s, s + len(piece)) for s, piece in zip(starts, pieces, strict=True)]
        else:
            return self.lab.chunker.chunk(document)
        shift = document.body_start
        return [
            Chunk(document.meta, part, shift + start, shift + end, body[start:end])
            for part, (start, end) in enumerate(spans)
            if body[start:end].strip()
        ]

    def _rule(self, meta: Metadata, grants: frozenset[str], day: date) -> bool:
        function = self.parts.get("eligible", exercise_named("eligible").reference)
        fields = {
            "scope": meta.scope,
            "status": meta.status,
            "canonical": meta.canonical,
            "valid_from": meta.valid_from.isoformat(),
            "valid_until": None if meta.valid_until is None else meta.valid_until.isoformat(),
        }
        return bool(function(fields, sorted(grants), day.isoformat()))

    def _ranked(self, question: str, chunks: Sequence[Chunk]) -> list[Hit]:
        """Hits by fused score; those that the policy does not keep say so."""
        cosines = self._cosines(question, chunks)
        hits = [
            {
                "id": chunk.id,
                "cosine": cosines.get(chunk.id, -1.0),
                "shared": len(self._terms(question) & self._terms(_title_and_text(chunk))),
            }
            for chunk in chunks
        ]
        kept = dict(self._policy(hits))
        by_id = {chunk.id: chunk for chunk in chunks}
        order = [*kept, *sorted(by_id.keys() - kept.keys(), key=lambda n: (-cosines[n], n))]
        return [
            Hit(
                by_id[name],
                cosine=cosines[name],
                fused=kept.get(name),
                dropped="" if name in kept else "not kept by the policy",
            )
            for name in order
        ]

    def _cosines(self, question: str, chunks: Sequence[Chunk]) -> dict[str, float]:
        if not chunks:
            return {}
        embedder = self.lab.embedder
        query = embedder.embed([question], "query")[0].tolist()
        rows = embedder.embed([chunk.searchable for chunk in chunks], "passage").tolist()
        ids = [chunk.id for chunk in chunks]
        if "top_k" not in self.parts and "cosine" in self.parts:
            cosine = self.parts["cosine"]
            return {name: cosine(query, row) for name, row in zip(ids, rows, strict=True)}
        top_k = self.parts.get("top_k", exercise_named("top_k").reference)
        return {name: float(score) for name, score in top_k(query, rows, ids, len(ids))}

    def _terms(self, text: str) -> frozenset[str]:
        function = self.parts.get("significant_terms")
        function = function or exercise_named("significant_terms").reference
        return frozenset(function(*analysed(text)))

    def _policy(self, hits: list[dict[str, Any]]) -> list[tuple[str, float]]:
        """The kept (id, fused score) pairs, best first."""
        if "rank_hits" in self.parts or "reciprocal_rank_fusion" not in self.parts:
            rank = self.parts.get("rank_hits", exercise_named("rank_hits").reference)
            found = rank(hits, self.lab.threshold, self.lab.settings.retrieval.k)
            return [(name, score) for name, score in found]
        by_meaning = [h["id"] for h in sorted(hits, key=lambda h: (-h["cosine"], h["id"]))]
        with_words = [hit for hit in hits if hit["shared"]]
        with_words.sort(key=lambda h: (-h["shared"], -h["cosine"], h["id"]))
        by_words = [h["id"] for h in with_words]
        fused = self.parts["reciprocal_rank_fusion"]([by_meaning, by_words], RRF_K)
        near = {hit["id"] for hit in with_words if hit["cosine"] >= self.lab.threshold}
        kept = [(name, score) for name, score in fused if name in near]
        return kept[: self.lab.settings.retrieval.k]


@dataclass(frozen=True)
class _Gate:
    """The learner's gate in the place of labkit's."""

    function: Function

    def __call__(
        self, proposal: Proposal, hits: Sequence[Hit], eligible: Eligible
    ) -> tuple[Evidence, ...]:
        chunks = {hit.chunk.id: hit.chunk for hit in hits if eligible.admits(hit.chunk.meta)}
        cited = [{"chunk_id": c.chunk_id, "quote": c.quote} for c in proposal.evidence]
        decision = self.function(
            {"can_answer": proposal.can_answer, "evidence": cited},
            {name: chunk.text for name, chunk in chunks.items()},
        )
        if "accepted" not in decision:
            raise Refused(Reason(decision["refused"]), "Your gate refused the proposal.")
        return tuple(_evidence(item, chunks) for item in decision["accepted"])


def _evidence(item: Mapping[str, str], chunks: Mapping[str, Chunk]) -> Evidence:
    chunk, quote = chunks[item["chunk_id"]], item["quote"]
    start = chunk.start + chunk.text.find(quote)
    return Evidence(chunk.id, chunk.source_id, quote, start, start + len(quote), chunk.page)


def _title_and_text(chunk: Chunk) -> str:
    return f"{chunk.meta.title}\n{chunk.text}"


def _said(outcome: Outcome) -> str:
    return outcome.text if isinstance(outcome, Answer) else f"refused ({outcome.reason})"


def _outcome_of(engine: Engine, question: str, viewer: Viewer, as_of: date) -> str:
    """What an engine says; a part that crashes says so."""
    try:
        return _said(engine.ask(question, viewer, as_of))
    except Exception as error:
        return f"stops with {type(error).__name__}: {error}"
