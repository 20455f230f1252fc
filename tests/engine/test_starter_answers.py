"""The starter corpus asked through the whole engine, with the shipped vectors and no model at all.

The numbers are lower bounds of what each policy's generator finds today. What it may never do,
such as answering from a document that this viewer may not see, holds for each question.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import pytest

from conftest import CHECKOUT, DAY
from labkit.answering import ExtractiveGenerator
from labkit.answering.access_filter import is_eligible
from labkit.answering.engine import Engine
from labkit.answering.results import Answer, Outcome, Refusal
from labkit.assembly import QUESTIONS, Lab, open_lab, shipped_vectors
from labkit.embedding import CachedEmbedder, read_vectors
from labkit.evaluation.calibration import Question, read_questions
from labkit.indexing import rebuild
from labkit.types import Document, Embedder, Health, Hit, Matrix, Proposal, Reason, Role

ASKED = read_questions(QUESTIONS)
ANNOTATED: dict[str, dict[str, Any]] = {
    row["id"]: row for row in map(json.loads, QUESTIONS.read_text("utf-8").splitlines())
}
GOVERNED = {
    "draft",
    "retired",
    "not_canonical",
    "not_yet_valid",
    "expired",
    "other_organisation",
    "no_scope",
    "restricted_scope",
    "injection",
}
CSV = "Where can I export CSV in Reporting?"
CSV_ANSWER = (
    "You can export CSV in Reporting from the Library page: "
    "open the report, choose Export, then CSV."
)


class NoModel:
    """Stands where the model would: these tests must find every vector among those shipped."""

    def __init__(self, model: Embedder) -> None:
        self.identity = model.identity

    def embed(self, texts: Any, role: Role) -> Matrix:
        raise AssertionError(f"not among the shipped vectors: {texts}")

    def health(self) -> Health:
        return Health(False)


class Counted(ExtractiveGenerator):
    """The extractive generator, counting its calls."""

    calls = 0

    def propose(self, question: str, hits: Any) -> Proposal:
        self.calls += 1
        return super().propose(question, hits)


@dataclass
class Starter:
    lab: Lab
    engine: Engine
    documents: dict[str, Document]
    outcomes: dict[str, Outcome]

    def ask(self, question: str, viewer: str = "reader", day: date = DAY) -> Outcome:
        return self.engine.ask(question, self.lab.settings.viewer_named(viewer), day)

    def text_of(self, source_id: str) -> str:
        """The document as anyone reads it: the file, or the facts of a product."""
        files = list((CHECKOUT / "corpus/starter").glob(f"**/{source_id}.md"))
        return files[0].read_text("utf-8") if files else self.documents[source_id].text


@pytest.fixture(scope="module", params=["strict", "hybrid"])
def policy(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def starter(tmp_path_factory: pytest.TempPathFactory, policy: str) -> Iterator[Starter]:
    """The whole lab over an index of its own, and every annotated question asked once."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith("LABKIT_")]:
            patch.delenv(name)
        patch.setenv("LABKIT_INDEX", str(tmp_path_factory.mktemp("starter") / "index.sqlite"))
        lab = open_lab(CHECKOUT, policy)
        shipped = read_vectors(shipped_vectors("minilm")[0], lab.model.identity)
        lab.embedder = CachedEmbedder(NoModel(lab.model), None, shipped)
        source = lab.source()
        rebuild(source, lab.chunker, lab.embedder, lab.store)
        ready = Starter(lab, lab.engine(), {item.id: item for item in source.all_documents}, {})
        for asked in ASKED:
            ready.outcomes[asked.id] = ready.ask(asked.question, asked.viewer, asked.as_of)
        yield ready


# --- the questions that must show ----------------------------------------------------------------


def test_the_first_question_is_answered_from_the_export_document(starter: Starter) -> None:
    outcome = starter.ask(CSV)
    assert isinstance(outcome, Answer)
    first = outcome.evidence[0]
    assert (first.source_id, first.quote) == ("reporting-export", CSV_ANSWER)
    assert outcome.text.splitlines()[0] == f"[{first.chunk_id}] {CSV_ANSWER}"
    assert starter.text_of("reporting-export")[first.start : first.end] == CSV_ANSWER


def test_an_unknown_product_is_refused_and_the_generator_is_not_called(starter: Starter) -> None:
    generator = Counted()
    engine = replace(starter.engine, generator=generator)
    outcome = engine.ask(
        "What is the warranty of GX-999?", starter.lab.settings.viewer_named("reader"), DAY
    )
    assert str(outcome) == "Refused (unknown_product): No document or product fact knows GX-999."
    assert generator.calls == 0


@pytest.mark.parametrize(
    ("viewer", "day"),
    [("globex", DAY), ("reader", date(2025, 12, 31)), ("nobody", DAY)],
    ids=["another organisation", "the day before", "no scope"],
)
def test_the_first_question_is_refused_to_those_who_may_not_know(
    starter: Starter, viewer: str, day: date
) -> None:
    outcome = starter.ask(CSV, viewer, day)
    assert isinstance(outcome, Refusal)
    assert "reporting-export" not in json.dumps(outcome.to_dict())


def test_on_its_first_day_the_document_answers(starter: Starter) -> None:
    assert isinstance(starter.ask(CSV, day=date(2026, 1, 1)), Answer)


def test_what_no_document_is_about_is_refused(starter: Starter) -> None:
    outcome = starter.ask("Who was the first person on the Moon?")
    assert isinstance(outcome, Refusal)
    assert outcome.reason in {Reason.BELOW_THRESHOLD, Reason.NO_LEXICAL_SUPPORT}


def test_the_products_answer_with_their_own_lines(starter: Starter) -> None:
    assert str(starter.ask("What is the warranty of the GX-100?")).startswith(
        "[PRODUCT-GX-100#0] GX-100 – Warranty: 24 months from the date of delivery."
    )


# --- over all annotated questions ----------------------------------------------------------------


def by_id(questions: list[Question]) -> Any:
    return pytest.mark.parametrize("asked", questions, ids=[item.id for item in questions])


@by_id(ASKED)
def test_every_quotation_slices_out_of_a_document_that_may_answer(
    starter: Starter, asked: Question
) -> None:
    outcome = starter.outcomes[asked.id]
    viewer = starter.lab.settings.viewer_named(asked.viewer)
    may = {
        item.id
        for item in starter.documents.values()
        if is_eligible(item.meta, viewer.grants, asked.as_of)
    }
    evidence = outcome.evidence if isinstance(outcome, Answer) else ()
    for item in evidence:
        assert starter.text_of(item.source_id)[item.start : item.end] == item.quote
    assert {item.source_id for item in evidence} <= may
    assert {hit.chunk.source_id for hit in outcome.closest} <= may


@by_id([item for item in ASKED if item.answerable])
def test_an_answer_comes_from_the_annotated_document_or_not_at_all(
    starter: Starter, asked: Question
) -> None:
    note = ANNOTATED[asked.id]
    right = {asked.document, note.get("exception_document"), *note.get("also", [])}
    outcome = starter.outcomes[asked.id]
    if isinstance(outcome, Answer):
        assert {item.source_id for item in outcome.evidence} <= right
    else:
        assert isinstance(outcome, Refusal)
        assert outcome.reason in {
            Reason.MODEL_DECLINED,
            Reason.BELOW_THRESHOLD,
            Reason.NO_LEXICAL_SUPPORT,
        }


@by_id([item for item in ASKED if item.kind == "rule-with-exception"])
def test_a_rule_is_never_quoted_without_its_exception(starter: Starter, asked: Question) -> None:
    outcome, note = starter.outcomes[asked.id], ANNOTATED[asked.id]
    if isinstance(outcome, Answer) and asked.quotation in outcome.text:
        assert note["exception"] in outcome.text


def test_most_answerable_questions_are_answered_with_the_annotated_quotation(
    starter: Starter, policy: str
) -> None:
    answerable = [item for item in ASKED if item.answerable]
    answered = [
        item.id
        for item in answerable
        if item.quotation is not None and item.quotation in _text(starter.outcomes[item.id])
    ]
    assert len(answerable) == 59
    assert len(answered) >= {"strict": 41, "hybrid": 43}[policy]


def test_hardly_an_unanswerable_question_is_answered(starter: Starter, policy: str) -> None:
    unanswerable = [item for item in ASKED if not item.answerable]
    answered = [item.id for item in unanswerable if _text(starter.outcomes[item.id])]
    assert len(unanswerable) == 41
    assert len(answered) <= {"strict": 2, "hybrid": 4}[policy], answered


def test_what_only_governance_forbids_was_really_asked() -> None:
    """Each reason occurs, so that the tests above have met it."""
    assert {item.kind for item in ASKED} >= GOVERNED


def _text(outcome: Outcome) -> str:
    return outcome.text if isinstance(outcome, Answer) else ""


# --- repeated ------------------------------------------------------------------------------------


def test_the_same_question_gets_the_same_answer_and_the_same_trace(starter: Starter) -> None:
    first, second = starter.ask(CSV), starter.ask(CSV)
    assert str(first) == str(second)
    assert str(first.trace) == str(second.trace)
    assert first.id != second.id


def test_the_hits_of_a_shorter_list_are_the_first_of_a_longer_one(starter: Starter) -> None:
    """A passage's rank does not depend on how many are kept."""
    search = starter.engine.search

    def ids(hits: tuple[Hit, ...]) -> list[str]:
        return [hit.chunk.id for hit in hits]

    reader = starter.lab.settings.viewer_named("reader")
    kept = {
        k: ids(replace(search, k=k).retrieve(CSV, reader, DAY).hits)  # type: ignore[type-var]
        for k in range(1, 6)
    }
    for k in range(1, 5):
        assert kept[k] == kept[k + 1][:k]
