"""The path of one question through the stages, and nothing else."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from labkit.answering.gate import check_evidence
from labkit.answering.results import Answer, Outcome, Recorder, Refusal, hit_dict
from labkit.text import normalise
from labkit.types import (
    Citation,
    Eligible,
    Evidence,
    Generator,
    Hit,
    LabError,
    Proposal,
    Reason,
    Refused,
    Retrieval,
    Search,
    Viewer,
)

MAX_QUESTION = 2000  # characters
MAX_TRACED = 5000  # characters of a proposed quotation, however long, that the trace keeps


@dataclass(frozen=True)
class Engine:
    """Answers with exact quotations, or refuses with a reason. Every part can be replaced.

    `search` finds passages, `generator` proposes evidence from them, `gate` has the last word.
    """

    search: Search
    generator: Generator
    gate: Callable[[Proposal, Sequence[Hit], Eligible], tuple[Evidence, ...]] = check_evidence

    def ask(self, question: str, viewer: Viewer, as_of: date | None = None) -> Outcome:
        """Answer one question for one viewer as of one day (today, if none is given).

        Raises LabError for a question that is none, or an index or embedder that cannot work. A
        stage that raises Refused, and whatever a generator does wrong, end in a Refusal.
        """
        question = check_question(question)
        day = as_of or date.today()
        recorder = Recorder()
        with recorder.step("question") as detail:
            detail |= {"question": question, "organisation": viewer.organisation, "as_of": str(day)}
        name = uuid.uuid4().hex
        closest: tuple[Hit, ...] = ()
        try:
            with recorder.step("retrieval") as detail:
                retrieval = self.search.retrieve(question, viewer, day)
                detail |= _retrieval_detail(retrieval)
            closest = retrieval.closest
            evidence = self._evidence(retrieval, recorder)
            closest = _with_quoted(closest, retrieval.hits, evidence)
        except Refused as refused:
            with recorder.step("refused") as detail:
                detail |= {"reason": str(refused.reason), "message": refused.message}
            return Refusal(
                name, question, day, refused.reason, refused.message, closest, recorder.trace
            )
        return Answer(name, question, day, evidence, closest, recorder.trace)

    def _evidence(self, retrieval: Retrieval, recorder: Recorder) -> tuple[Evidence, ...]:
        """From passages to checked evidence; Refused ends the path at any stage."""
        if retrieval.refusal is not None:
            raise retrieval.refusal
        if not retrieval.hits:
            raise Refused(Reason.NOTHING_ELIGIBLE, "The search handed over no passage.")
        with recorder.step("generator") as detail:
            proposal = self._propose(retrieval)
            detail |= {
                **proposal.detail,
                "can_answer": proposal.can_answer,
                "proposed": [f"[{c.chunk_id}] {c.quote}"[:MAX_TRACED] for c in proposal.evidence],
            }
        with recorder.step("gate") as detail:
            evidence = self.gate(proposal, retrieval.hits, retrieval.eligible)
            detail |= {"passed": [item.chunk_id for item in evidence]}
        return evidence

    def _propose(self, retrieval: Retrieval) -> Proposal:
        """Call the generator. It is a guest here: whatever it raises becomes a refusal."""
        try:
            proposal = self.generator.propose(retrieval.question, retrieval.hits)
        except Refused:
            raise
        except Exception as error:
            raise Refused(
                Reason.GENERATOR_FAILED, f"The generator failed with {type(error).__name__}."
            ) from error
        if not _is_proposal(proposal):
            raise Refused(Reason.INVALID_PROPOSAL, "The generator returned no Proposal.")
        return proposal


def _with_quoted(
    closest: tuple[Hit, ...], hits: Sequence[Hit], evidence: Sequence[Evidence]
) -> tuple[Hit, ...]:
    """The closest passages, and all that are quoted: whoever shows a quotation names its place."""
    quoted = {item.chunk_id for item in evidence} - {hit.chunk.id for hit in closest}
    return (*closest, *(hit for hit in hits if hit.chunk.id in quoted))


def _is_proposal(value: object) -> bool:
    """Is this a Proposal of the types that it promises? Anyone may write a generator."""
    return (
        isinstance(value, Proposal)
        and isinstance(value.can_answer, bool)
        and isinstance(value.evidence, tuple | list)
        and isinstance(value.detail, Mapping)
        and all(
            isinstance(item, Citation)
            and isinstance(item.chunk_id, str)
            and isinstance(item.quote, str)
            for item in value.evidence
        )
    )


def check_question(question: str) -> str:
    """The question, normalised; LabError if there is nothing to ask, or far too much."""
    text = question
    if len(question) <= 4 * MAX_QUESTION:  # normalising takes the square of the marks on a letter
        text = normalise(question.encode("utf-8", "replace").decode()).replace("\0", " ").strip()
    if not text:
        raise LabError("The question is empty. Ask something, in quotes.")
    if len(text) > MAX_QUESTION:
        raise LabError(f"The question has {len(text)} characters; {MAX_QUESTION} are the most.")
    return text


def _retrieval_detail(retrieval: Retrieval) -> dict[str, object]:
    """What the search decided: kept passages and the best of the dropped ones."""
    dropped = [hit for hit in retrieval.ranked if hit.dropped]
    return {
        **retrieval.detail,
        "eligible": len(retrieval.ranked),
        "kept": [hit_dict(hit) for hit in retrieval.hits],
        "dropped": [hit_dict(hit) for hit in dropped[:5]],
    }
