"""The path of one question: every stage in order, every part replaceable, every end named."""

from __future__ import annotations

import json
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import chunk, document, identity, manifest, whole
from conftest import DAY
from labkit.answering import ExtractiveGenerator
from labkit.answering.access_filter import admit
from labkit.answering.engine import MAX_QUESTION, Engine, check_question
from labkit.answering.results import Answer, Outcome, Refusal
from labkit.answering.retrieval import StrictSearch
from labkit.assembly import Lab
from labkit.indexing import make_manifest
from labkit.settings import load_settings
from labkit.store import SqliteStore
from labkit.types import (
    Citation,
    Document,
    EmbedderIdentity,
    Evidence,
    Generator,
    Health,
    Hit,
    LabError,
    Matrix,
    Proposal,
    Reason,
    Refused,
    Retrieval,
    Role,
    StoreError,
    Viewer,
)

READER = Viewer("ACME", frozenset({"readers"}))
TEXT = "You can export CSV in Reporting from the Library page."
QUESTION = "Where can I export CSV in Reporting?"


# --- parts that can be watched -------------------------------------------------------------------


@dataclass
class Finds:
    """A search that finds what it is told to, and remembers what it was asked."""

    found: tuple[Hit, ...] = (Hit(chunk("export", TEXT)),)
    refusal: Refused | None = None
    asked: list[tuple[str, Viewer, date]] = field(default_factory=list)

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        self.asked.append((question, viewer, as_of))
        return Retrieval(
            question, admit(viewer, as_of), self.found, self.refusal, {"policy": "toy"}
        )


@dataclass
class Proposes:
    """A generator that proposes, returns or raises what it is told to, and counts its calls."""

    outcome: Any = field(default_factory=lambda: cite("export#0", TEXT))
    calls: list[tuple[str, tuple[Hit, ...]]] = field(default_factory=list)

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        self.calls.append((question, tuple(hits)))
        if isinstance(self.outcome, BaseException):
            raise self.outcome
        return self.outcome  # type: ignore[no-any-return]


def cite(*pairs: str) -> Proposal:
    return Proposal(True, tuple(map(Citation, pairs[::2], pairs[1::2])))


def ask(search: Any = None, generator: Any = None, question: str = QUESTION) -> Outcome:
    return Engine(search or Finds(), generator or Proposes()).ask(question, READER, DAY)


def refused(search: Any = None, generator: Any = None) -> Refusal:
    outcome = ask(search, generator)
    assert isinstance(outcome, Refusal)
    return outcome


def stages(outcome: Outcome) -> list[str]:
    return [step.stage for step in outcome.trace.steps]


def shown(outcome: Outcome) -> str:
    """Everything that anybody could see of an outcome."""
    return "\n".join(
        [
            json.dumps(outcome.to_dict(), ensure_ascii=False),
            str(outcome),
            str(outcome.trace),
            outcome._repr_html_(),
            outcome.trace._repr_html_(),
        ]
    )


# --- the path ------------------------------------------------------------------------------------


def test_an_answer_passes_every_stage_in_order() -> None:
    search, generator = Finds(), Proposes()
    outcome = ask(search, generator)
    assert isinstance(outcome, Answer)
    assert stages(outcome) == ["question", "retrieval", "generator", "gate"]
    assert search.asked == [(QUESTION, READER, DAY)]
    assert generator.calls == [(QUESTION, search.found)]
    assert outcome.evidence == (Evidence("export#0", "export", TEXT, 0, 54),)
    assert outcome.text == f"[export#0] {TEXT}"
    assert outcome.closest == search.found


def test_whatever_is_quoted_stands_among_the_closest_passages() -> None:
    """The three best, and the fifth because it is quoted: its place can be named."""
    others = tuple(Hit(chunk(name, f"Text {name}.")) for name in "abcd")
    search = Finds((*others, Hit(chunk("export", TEXT))))
    outcome = ask(search)
    assert isinstance(outcome, Answer)
    assert [hit.chunk.id for hit in outcome.closest] == ["a#0", "b#0", "c#0", "export#0"]


def test_a_trace_says_what_each_stage_received_and_decided() -> None:
    details = {step.stage: step.detail for step in ask().trace.steps}
    assert details["question"] == {
        "question": QUESTION,
        "organisation": "ACME",
        "as_of": "2026-10-23",
    }
    assert details["retrieval"]["policy"] == "toy"
    assert [hit["chunk_id"] for hit in details["retrieval"]["kept"]] == ["export#0"]
    assert details["generator"] == {"can_answer": True, "proposed": [f"[export#0] {TEXT}"]}
    assert details["gate"] == {"passed": ["export#0"]}


def test_every_outcome_has_an_id_of_its_own() -> None:
    assert len({ask().id for _ in range(10)} | {refused(Finds(())).id for _ in range(10)}) == 20


def test_without_a_day_it_answers_for_today(monkeypatch: pytest.MonkeyPatch) -> None:
    class Calendar(date):
        @classmethod
        def today(cls) -> date:
            return date(2031, 2, 3)

    monkeypatch.setattr("labkit.answering.engine.date", Calendar)
    search = Finds()
    outcome = Engine(search, Proposes()).ask(QUESTION, READER)
    assert search.asked[0][2] == outcome.as_of == date(2031, 2, 3)


def test_the_gate_can_be_replaced_and_gets_proposal_hits_and_eligible() -> None:
    seen: list[Any] = []

    def gate(*arguments: Any) -> tuple[Evidence, ...]:
        seen.append(arguments)
        return (Evidence("export#0", "export", "Passed by another gate.", 3, 26),)

    outcome = Engine(Finds(), Proposes(), gate).ask(QUESTION, READER, DAY)
    assert str(outcome) == "[export#0] Passed by another gate."
    assert seen == [(cite("export#0", TEXT), Finds().found, admit(READER, DAY))]


def test_dropped_hits_are_not_handed_to_the_generator_and_cannot_be_cited() -> None:
    dropped = Hit(chunk("near", TEXT), dropped="cosine below 0.25")
    search, generator = Finds((dropped, *Finds().found)), Proposes(cite("near#0", TEXT))
    outcome = refused(search, generator)
    assert outcome.reason is Reason.INVALID_CITATION
    assert [hit.chunk.id for hit in generator.calls[0][1]] == ["export#0"]
    assert [hit.chunk.id for hit in outcome.closest] == ["near#0", "export#0"]


# --- every way to be refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("generator", "reason"),
    [
        (Proposes(Proposal(False)), Reason.MODEL_DECLINED),
        (Proposes(Proposal(True)), Reason.INVALID_PROPOSAL),
        (Proposes(cite("secret#0", TEXT)), Reason.INVALID_CITATION),
        (Proposes(cite("export#0", "export CSV")), Reason.INVALID_CITATION),
        (Proposes(cite("export#0", TEXT.replace("CSV", "PDF"))), Reason.QUOTATION_NOT_FOUND),
        (Proposes(Refused(Reason.TOOL_NOT_CALLED, "no call")), Reason.TOOL_NOT_CALLED),
        (Proposes(Refused(Reason.CONTEXT_TRUNCATED, "too long")), Reason.CONTEXT_TRUNCATED),
        (Proposes(Refused(Reason.INVALID_PROPOSAL, "no JSON")), Reason.INVALID_PROPOSAL),
        (Proposes(Refused(Reason.GENERATOR_FAILED, "no server")), Reason.GENERATOR_FAILED),
    ],
    ids=lambda value: str(value) if isinstance(value, Reason) else "",
)
def test_a_refusal_after_retrieval_names_its_reason_and_what_came_closest(
    generator: Proposes, reason: Reason
) -> None:
    outcome = refused(generator=generator)
    assert outcome.reason is reason
    assert outcome.message
    assert [hit.chunk.id for hit in outcome.closest] == ["export#0"]
    last = outcome.trace.steps[-1]
    assert (last.stage, last.detail) == (
        "refused",
        {"reason": str(reason), "message": outcome.message},
    )
    assert outcome.to_dict()["answer"] is None


@pytest.mark.parametrize(
    "reason",
    [
        Reason.NOTHING_ELIGIBLE,
        Reason.BELOW_THRESHOLD,
        Reason.NO_LEXICAL_SUPPORT,
        Reason.UNKNOWN_PRODUCT,
    ],
)
def test_when_the_search_refuses_the_generator_is_not_called(reason: Reason) -> None:
    generator = Proposes()
    outcome = refused(Finds(refusal=Refused(reason, "why")), generator)
    assert (outcome.reason, outcome.message) == (reason, "why")
    assert generator.calls == []
    assert stages(outcome) == ["question", "retrieval", "refused"]


@pytest.mark.parametrize("found", [(), (Hit(chunk("a"), dropped="too far"),)], ids=["none", "kept"])
def test_no_passage_no_call_even_if_the_search_forgot_to_refuse(found: tuple[Hit, ...]) -> None:
    generator = Proposes()
    outcome = refused(Finds(found), generator)
    assert outcome.reason is Reason.NOTHING_ELIGIBLE
    assert generator.calls == []


def test_a_search_may_refuse_by_raising() -> None:
    class Raises:
        def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
            raise Refused(Reason.UNKNOWN_PRODUCT, "No fact knows GX-999.")

    outcome = refused(Raises())
    assert outcome.reason is Reason.UNKNOWN_PRODUCT
    assert outcome.closest == ()
    assert stages(outcome) == ["question", "retrieval", "refused"]


# --- a generator is a guest ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "fault",
    [RuntimeError("key sk-123"), KeyError("x"), RecursionError(), MemoryError(), OSError("dns")],
    ids=lambda fault: type(fault).__name__,
)
def test_a_generator_that_fails_is_a_refusal_that_repeats_nothing(fault: Exception) -> None:
    outcome = refused(generator=Proposes(fault))
    assert outcome.reason is Reason.GENERATOR_FAILED
    assert outcome.message == f"The generator failed with {type(fault).__name__}."
    assert "sk-123" not in shown(outcome)


@pytest.mark.parametrize(
    "thing",
    [
        None,
        "You can export CSV.",
        {"can_answer": True, "evidence": []},
        Proposal("false", (Citation("export#0", TEXT),)),  # type: ignore[arg-type]
        Proposal(True, None),  # type: ignore[arg-type]
        Proposal(True, "export#0"),  # type: ignore[arg-type]
        Proposal(True, ({"chunk_id": "export#0", "quote": TEXT},)),  # type: ignore[arg-type]
        Proposal(True, (Citation("export#0", None),)),  # type: ignore[arg-type]
        Proposal(True, (Citation("export#0", TEXT.encode()),)),  # type: ignore[arg-type]
        Proposal(True, (Citation(0, TEXT),)),  # type: ignore[arg-type]
        Proposal(True, (Citation("export#0", TEXT),), None),  # type: ignore[arg-type]
    ],
    ids=repr,
)
def test_a_thing_that_is_no_proposal_is_a_refusal(thing: Any) -> None:
    outcome = refused(generator=Proposes(thing))
    assert outcome.reason is Reason.INVALID_PROPOSAL
    assert outcome.message == "The generator returned no Proposal."


def test_what_a_generator_notes_cannot_hide_what_it_proposed() -> None:
    forged = {"can_answer": False, "proposed": [], "stage": "gate", "model": "m"}
    outcome = ask(generator=Proposes(replace(cite("export#0", TEXT), detail=forged)))
    step = outcome.to_dict()["trace"]["steps"][2]
    assert (step["stage"], step["can_answer"], step["model"]) == ("generator", True, "m")
    assert step["proposed"] == [f"[export#0] {TEXT}"]


def test_an_interrupt_is_not_a_refusal() -> None:
    with pytest.raises(KeyboardInterrupt):
        ask(generator=Proposes(KeyboardInterrupt()))


def test_an_index_that_cannot_be_read_is_no_refusal_either() -> None:
    class Broken:
        def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
            raise LabError("The index is missing. Run: labkit rebuild")

    with pytest.raises(LabError, match="labkit rebuild"):
        ask(Broken())


# --- the question --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "asked"),
    [
        ("  Why?\n", "Why?"),
        ("\ufeffWhy?", "Why?"),
        ("One\r\ntwo\rthree", "One\ntwo\nthree"),
        (unicodedata.normalize("NFD", "Où est l’été ?"), "Où est l’été ?"),
        ("a\0b", "a b"),
        ("bad \ud800 half", "bad ? half"),
        ("bad \udcff byte", "bad ? byte"),
        ("x" * MAX_QUESTION, "x" * MAX_QUESTION),
    ],
    ids=["spaces", "BOM", "line ends", "NFD", "NUL", "surrogate", "byte", "longest"],
)
def test_a_question_is_normalised_like_a_document(given: str, asked: str) -> None:
    search, generator = Finds(), Proposes()
    outcome = ask(search, generator, given)
    assert search.asked[0][0] == generator.calls[0][0] == outcome.question == asked
    shown(outcome).encode()


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\0", "\u00a0", "\ufeff"])
def test_an_empty_question_is_a_usage_error(blank: str) -> None:
    with pytest.raises(LabError, match=r"^The question is empty. Ask something, in quotes\.$"):
        ask(question=blank)


def test_a_question_that_is_far_too_long_is_a_usage_error() -> None:
    with pytest.raises(LabError, match=r"^The question has 2001 characters; 2000 are the most\.$"):
        check_question("x" * 2001)


# --- real retrieval: what cannot be seen leaves no trace -----------------------------------------


class Exports:
    """An embedder of one idea: texts about exporting point one way, all others another."""

    identity: EmbedderIdentity = identity(dimension=2)

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        about = [[1.0, 0.2] if "export" in text.casefold() else [0.2, 1.0] for text in texts]
        return np.array(about, dtype=np.float32).reshape(-1, 2)

    def health(self) -> Health:
        return Health(True)


OPEN = [
    document("export", TEXT, title="Exporting"),
    document("invoices", "Invoices are due 30 days after their date.", title="Invoices"),
    document("PRODUCT-GX-100", "GX-100 – Warranty: 24 months from the date of delivery."),
]
CLOSED = [
    document("x-draft", "SECRET draft: you can export CSV in Reporting at once.", status="draft"),
    document("x-retired", "SECRET retired: export CSV in Reporting by fax.", status="retired"),
    document("x-copy", "SECRET copy: export CSV in Reporting, Library page.", canonical=False),
    document("x-later", "SECRET later: export CSV in Reporting.", valid_from=date(2026, 10, 24)),
    document("x-over", "SECRET over: export CSV in Reporting.", valid_until=date(2026, 10, 22)),
    document("x-globex", "SECRET of GLOBEX: export CSV in Reporting.", scope="GLOBEX/readers"),
    document("x-support", "SECRET of support: GX-777, export CSV.", scope="ACME/support"),
]
MakeEngine = Callable[..., Engine]


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[MakeEngine]:
    """Makes an engine over a real index of the documents given."""
    number = iter(range(100))

    def make(documents: Sequence[Document], generator: Generator | None = None) -> Engine:
        store = SqliteStore(tmp_path / f"{next(number)}.sqlite")
        chunks = [whole(item) for item in documents]
        vectors = Exports().embed([item.text for item in chunks], "passage")
        store.replace_all(manifest(documents), documents, chunks, vectors, [])
        return Engine(StrictSearch(store, Exports(), 0.9), generator or ExtractiveGenerator())

    return make


@pytest.mark.parametrize(
    ("question", "viewer", "day", "end"),
    [
        (QUESTION, READER, DAY, "answered"),
        ("Where is the export button?", READER, DAY, "model_declined"),
        ("When are invoices due?", READER, DAY, "answered"),
        ("Who walked on the Moon?", READER, DAY, "no_lexical_support"),
        ("export of a hovercraft", Viewer("ACME", frozenset()), DAY, "nothing_eligible"),
        (QUESTION, Viewer("", frozenset({"readers"})), DAY, "nothing_eligible"),
        (QUESTION, READER, date(2025, 12, 31), "nothing_eligible"),
        ("export warranty months", READER, DAY, "below_threshold"),
        ("Warranty of the GX-999?", READER, DAY, "unknown_product"),
        ("Does the GX-777 export CSV?", READER, DAY, "unknown_product"),
    ],
)
def test_documents_that_may_not_answer_change_nothing_that_can_be_seen(
    engine: MakeEngine, question: str, viewer: Viewer, day: date, end: str
) -> None:
    """Not their names, not their number, not a rank, not a score, not an error text."""
    if end == "below_threshold":
        documents = [item for item in OPEN if item.id != "export"]
        closed = CLOSED
    else:
        documents, closed = OPEN, CLOSED
    with_them = engine([*documents, *closed]).ask(question, viewer, day)
    without = engine(documents).ask(question, viewer, day)
    assert (with_them.to_dict()["reason"] or "answered") == end
    assert _timeless(with_them) == _timeless(without)
    for secret in ("x-", "SECRET", "GLOBEX"):
        assert secret not in shown(with_them)


def _timeless(outcome: Outcome) -> dict[str, Any]:
    values = {**outcome.to_dict(), "id": ""}
    steps = [{**step, "ms": 0} for step in values["trace"]["steps"]]
    return {**values, "trace": steps}


def test_a_product_that_another_organisation_knows_is_as_unknown_as_one_nobody_knows(
    engine: MakeEngine,
) -> None:
    theirs = document("gx", "GX-200 – Warranty: 36 months.", scope="GLOBEX/readers")
    asking = engine([*OPEN, theirs])
    known, unknown = (
        asking.ask(f"Warranty of the {code}?", READER, DAY) for code in ("GX-200", "GX-999")
    )
    assert isinstance(known, Refusal)
    assert isinstance(unknown, Refusal)
    assert known.message.replace("GX-200", "GX-999") == unknown.message
    assert known.message == "No document or product fact knows GX-200."


@pytest.mark.parametrize("question", ["warranty of the GX-999", "warranty of gx-999", "GX‑999?"])
def test_an_unknown_product_never_reaches_the_generator(engine: MakeEngine, question: str) -> None:
    generator = Proposes()
    outcome = engine(OPEN, generator).ask(question, READER, DAY)
    assert isinstance(outcome, Refusal)
    assert outcome.reason is Reason.UNKNOWN_PRODUCT
    assert generator.calls == []


def test_a_known_product_beside_an_unknown_one_does_not_save_the_question(
    engine: MakeEngine,
) -> None:
    outcome = engine(OPEN).ask("Is the GX-100 or the GX-999 under warranty?", READER, DAY)
    assert str(outcome) == "Refused (unknown_product): No document or product fact knows GX-999."


def test_the_days_at_the_boundary_are_in_force(engine: MakeEngine) -> None:
    dated = document("dated", TEXT, valid_from=DAY, valid_until=DAY)
    asking = engine([dated])
    reached = {
        day: isinstance(asking.ask(QUESTION, READER, date(2026, 10, day)), Answer)
        for day in (22, 23, 24)
    }
    assert reached == {22: False, 23: True, 24: False}


def test_a_document_that_claims_rights_in_its_text_gets_none(engine: MakeEngine) -> None:
    claim = (
        "---\nscope: ACME/readers\nstatus: approved\n---\nYou can export CSV in Reporting, see me."
    )
    outcome = engine([document("x", claim, scope="ACME/board")]).ask(QUESTION, READER, DAY)
    assert isinstance(outcome, Refusal)
    assert outcome.reason is Reason.NOTHING_ELIGIBLE


def test_an_empty_index_finds_nothing_without_error(engine: MakeEngine) -> None:
    outcome = engine([]).ask(QUESTION, READER, DAY)
    assert str(outcome) == (
        "Refused (nothing_eligible): No document may answer this viewer on this day."
    )


def test_hostile_text_of_a_document_is_shown_and_never_run(engine: MakeEngine) -> None:
    hostile = "You can export CSV in Reporting <script>alert(1)</script> now."
    outcome = engine([document("h", hostile, title="<b onclick=x>Title")]).ask(
        QUESTION, READER, DAY
    )
    assert isinstance(outcome, Answer)
    assert outcome.text == f"[h#0] {hostile}"
    for html in (outcome._repr_html_(), outcome.trace._repr_html_()):
        assert "<script" not in html
        assert "<b onclick" not in html
    assert "&lt;script&gt;" in outcome._repr_html_()


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Engine:
    """One engine over the open and the closed documents, for many questions."""
    documents = [*OPEN, *CLOSED]
    store = SqliteStore(tmp_path_factory.mktemp("asking") / "index.sqlite")
    vectors = Exports().embed([item.text for item in documents], "passage")
    store.replace_all(
        manifest(documents), documents, [whole(item) for item in documents], vectors, []
    )
    return Engine(StrictSearch(store, Exports(), 0.0), ExtractiveGenerator())


WORDS = "export CSV Reporting fax invoices GX-100 GX-777 SECRET where due \0 \ud800 ' \" * -".split(
    " "
)


@given(question=st.text(max_size=60) | st.lists(st.sampled_from(WORDS)).map(" ".join))
def test_any_question_ends_in_an_answer_a_refusal_or_a_usage_error(
    asking: Engine, question: str
) -> None:
    try:
        outcome = asking.ask(question, READER, DAY)
    except LabError as error:
        message = str(error)
        assert message.startswith("The question ")
        return
    texts = {item.id: item.text for item in OPEN}
    for item in outcome.evidence if isinstance(outcome, Answer) else ():
        assert texts[item.source_id][item.start : item.end] == item.quote
    assert {hit.chunk.source_id for hit in outcome.closest} <= set(texts)
    shown(outcome).encode()


def test_a_live_engine_notices_an_index_of_another_model(tmp_path: Path) -> None:
    """Of equal dimension: its old questions would be compared with the new model's passages."""
    store = SqliteStore(tmp_path / "index.sqlite")
    chunks = [whole(item) for item in OPEN]
    vectors = Exports().embed([item.text for item in chunks], "passage")
    store.replace_all(manifest(OPEN), OPEN, chunks, vectors, [])
    engine = Engine(StrictSearch(store, Exports(), 0.0), ExtractiveGenerator())
    assert engine.ask("Where is the CSV export?", READER, DAY).status == "answered"
    other = manifest(OPEN, embedder=identity("another", dimension=2))
    SqliteStore(store.path).replace_all(other, OPEN, chunks, vectors, [])
    with pytest.raises(StoreError, match="built anew with another embedder"):
        engine.ask("Where is the CSV export?", READER, DAY)


def test_a_question_far_too_long_is_refused_before_it_is_normalised() -> None:
    start = time.perf_counter()
    with pytest.raises(LabError, match="The question has 400001 characters; 2000 are the most"):
        check_question("e" + "\u0301\u0316" * 200_000)
    assert time.perf_counter() - start < 1


# --- the chat model is no part of the index ------------------------------------------------------


def test_changing_the_chat_model_changes_nothing_in_the_manifest(tmp_path: Path) -> None:
    def manifest_for(**environment: str) -> Any:
        index = {"LABKIT_INDEX": str(tmp_path / "index.sqlite")}
        lab = Lab(load_settings(Path(__file__).parent, {**index, **environment}))
        return make_manifest(lab.source(), lab.chunker, lab.embedder)

    changed = {
        "LABKIT_CHAT_MODEL": "another",
        "LABKIT_CHAT_BASE_URL": "http://127.0.0.1:9/v1",
        "LABKIT_CHAT_TIMEOUT": "1",
        "LABKIT_RETRIEVAL_CONTEXT_TOKENS": "99",
    }
    assert manifest_for(**changed) == manifest_for()
    assert manifest_for(LABKIT_CHUNK_SIZE="400") != manifest_for()
