"""`labkit eval --answers`: what became of each question, and which stage lost an answer."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import Any, cast

import pytest

from builders import chunk
from conftest import CHECKOUT, DAY
from labkit.answering.access_filter import admit
from labkit.answering.engine import Engine
from labkit.answering.results import Answer, Outcome, Refusal, Trace
from labkit.assembly import open_lab
from labkit.cli import console, main
from labkit.embedding.profiles import PROFILES
from labkit.evaluation.answer_report import (
    AnswerCounts,
    answers_as_text,
    count_answers,
    count_losses,
    losses_as_text,
)
from labkit.evaluation.answer_score import Balance, balances, cheapest
from labkit.evaluation.answers import Examined, Judged, Stage, Verdict, ask_all, judge
from labkit.evaluation.calibration import Question
from labkit.evaluation.datasets import AnnotatedQuestion, Part, load_squad
from labkit.indexing import rebuild
from labkit.types import (
    Chunk,
    Citation,
    Evidence,
    Hit,
    LabError,
    Proposal,
    Reason,
    Refused,
    Retrieval,
    Vector,
    VectorStore,
    Viewer,
)

READER = Viewer("ACME", frozenset({"readers"}))
TEXT = "Exports are made on the Library page. Invoices are due 30 days after their date."
QUOTE = "Invoices are due 30 days after their date."


def answer(*pairs: tuple[str, str]) -> Answer:
    evidence = tuple(Evidence(f"{name}#0", name, quote, 0, len(quote)) for name, quote in pairs)
    return Answer("1", "?", DAY, evidence, (), Trace())


REFUSED = Refusal("1", "?", DAY, Reason.MODEL_DECLINED, "No.", (), Trace())
TWO = (Part("a", "first part of it"), Part("b", "second part of it", also=("c",)))


@pytest.mark.parametrize(
    ("outcome", "parts", "verdict"),
    [
        (answer(("a", "The first part of it.")), TWO[:1], "right"),
        (answer(("a", "The first\n  part of it.")), TWO[:1], "right"),  # a line break of the file
        (answer(("a", "A first part of it."), ("c", "The second part of it.")), TWO, "right"),
        (answer(("a", "The first part of it.")), TWO, "other_unit"),  # half an answer
        (answer(("a", "Another sentence.")), TWO[:1], "other_unit"),
        (answer(("c", "Another sentence.")), TWO, "other_unit"),
        (answer(("b", "The first part of it.")), TWO[:1], "other_document"),
        (REFUSED, TWO, "refused"),
        (REFUSED, (), "unanswerable_refused"),
        (answer(("a", "Anything.")), (), "unanswerable_answered"),
    ],
)
def test_what_became_of_a_question(outcome: Outcome, parts: Sequence[Part], verdict: str) -> None:
    assert judge(outcome, parts) == verdict


# --- the ledger: a fault in each stage is found in that stage ------------------------------------


@dataclass
class Finds:
    """A search that finds what it is told to."""

    ranked: tuple[Hit, ...]
    refusal: Refused | None = None

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        return Retrieval(question, admit(viewer, as_of), self.ranked, self.refusal)


@dataclass
class Proposes:
    proposal: Proposal

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        return self.proposal


@dataclass
class Holds:
    """Stands for an index of one passage."""

    held: Chunk

    def chunks(self, source_id: str) -> list[tuple[Chunk, Vector]]:
        return [(self.held, cast(Vector, None))] if source_id == self.held.source_id else []


RIGHT = chunk("invoices", TEXT)
OTHER = chunk("other", "Something else is said here, at length.")
CHOSEN = {"chosen": {"chunk": RIGHT.id, "unit": QUOTE}}
DROPPED = Hit(RIGHT, dropped="too far")
BELOW = Refused(Reason.BELOW_THRESHOLD, "Too far.")
QUESTION = AnnotatedQuestion(
    Question("q1", "When are invoices due?", "en", DAY, "reader", True, "direct"),
    (Part("invoices", QUOTE),),
)


def lost(
    search: Finds, proposal: Proposal, held: Chunk = RIGHT, viewer: Viewer = READER
) -> Stage | None:
    store = cast(VectorStore, Holds(held))
    examined = Examined("toy", "toy", Engine(search, Proposes(proposal)), store)
    (one,) = ask_all(examined, [QUESTION], lambda _: viewer)
    return one.lost_at


DECLINED = Proposal(False)
CITED = Proposal(True, (Citation(RIGHT.id, QUOTE),))


def test_nothing_is_lost_of_a_right_answer() -> None:
    assert lost(Finds((Hit(RIGHT),)), CITED) is None


@pytest.mark.parametrize(
    ("search", "proposal", "stage"),
    [
        (Finds((Hit(OTHER),)), DECLINED, Stage.CANDIDATES),
        (Finds((DROPPED,), BELOW), DECLINED, Stage.THRESHOLD),
        (Finds((Hit(OTHER), DROPPED)), DECLINED, Stage.RANKING),
        (Finds((Hit(RIGHT),)), DECLINED, Stage.CHOICE),
        (Finds((Hit(RIGHT),)), replace(DECLINED, detail=CHOSEN), Stage.DECISION),
        (
            Finds((Hit(RIGHT),)),
            Proposal(True, (Citation(RIGHT.id, "Not there."),), CHOSEN),
            Stage.GATE,
        ),
    ],
)
def test_the_first_stage_that_lost_an_answer(
    search: Finds, proposal: Proposal, stage: Stage
) -> None:
    assert lost(search, proposal) == stage


def test_what_no_unit_holds_and_what_the_viewer_may_not_see_come_first() -> None:
    torn = chunk("invoices", "Invoices are due 30 days")
    assert lost(Finds((Hit(torn),)), DECLINED, torn) == Stage.UNIT
    stranger = Viewer("GLOBEX", frozenset({"readers"}))
    assert lost(Finds(()), DECLINED, viewer=stranger) == Stage.ADMISSION


# --- the report ----------------------------------------------------------------------------------


def judged(verdict: Verdict, kind: str = "direct", lost_at: Stage | None = None) -> Judged:
    return Judged("e5", "hybrid", "q", kind, "?", verdict, (), "", None, lost_at)


ALL_KINDS = [
    judged(Verdict.RIGHT),
    judged(Verdict.RIGHT),
    judged(Verdict.OTHER_UNIT, lost_at=Stage.CHOICE),
    judged(Verdict.REFUSED, lost_at=Stage.DECISION),
    judged(Verdict.UNANSWERABLE_REFUSED, "far"),
    judged(Verdict.UNANSWERABLE_ANSWERED, "far"),
]


def test_counts_stand_by_kind_and_all_of_them_first() -> None:
    assert count_answers(ALL_KINDS) == [
        AnswerCounts("e5", "hybrid", "all", 4, 2, 1, 0, 1, 2, 1),
        AnswerCounts("e5", "hybrid", "direct", 4, 2, 1, 0, 1, 0, 0),
        AnswerCounts("e5", "hybrid", "far", 0, 0, 0, 0, 0, 2, 1),
    ]
    assert count_answers([]) == []
    text = answers_as_text(count_answers(ALL_KINDS)).splitlines()
    assert text[2].split() == "all 4 2 0.500 [0.15, 0.85] 1 0 1 | 2 1".split()
    assert text[4].split() == "far 0 – 0 0 0 | 2 1".split()


def test_losses_are_counted_by_stage() -> None:
    losses = count_losses(ALL_KINDS)
    assert {stage: n for stage, n in losses["e5", "hybrid"].items() if n} == {
        Stage.CHOICE: 1,
        Stage.DECISION: 1,
    }
    assert losses_as_text(ALL_KINDS).splitlines() == [
        "e5, hybrid: 2 answers lost, first by",
        "     1  choice of the unit",
        "     1  decision",
    ]


# --- the score that is needed --------------------------------------------------------------------


def scored(score: float | None, verdict: Verdict) -> Judged:
    return replace(judged(verdict), score=score)


MEASURED = [
    scored(0.9, Verdict.RIGHT),
    scored(0.7, Verdict.RIGHT),
    scored(0.5, Verdict.OTHER_UNIT),
    scored(0.6, Verdict.UNANSWERABLE_ANSWERED),
    scored(0.4, Verdict.OTHER_DOCUMENT),
    scored(None, Verdict.REFUSED),
]


def test_costs_by_hand() -> None:
    """At 0: two wrong at 4, one beside and one refused at 1. At 0.7 all three but the right ones
    are refused, of which one had no answer. At 0.8 a right one more."""
    rows = {row.score: row for row in balances(MEASURED)}
    assert rows[0.0] == Balance(0.0, right=2, other_unit=1, wrong=2, refused=1, cost=10)
    assert rows[0.7] == Balance(0.7, right=2, other_unit=0, wrong=0, refused=3, cost=3)
    assert rows[0.8] == Balance(0.8, right=1, other_unit=0, wrong=0, refused=4, cost=4)
    assert cheapest(list(rows.values())).score == 0.7
    dear = balances(MEASURED, wrong_costs=100)
    assert cheapest(dear).score == 0.7


def test_a_dearer_wrong_answer_never_asks_for_a_lower_score() -> None:
    suggested = [cheapest(balances(MEASURED, costs)).score for costs in (1, 2, 4, 8, 16)]
    assert suggested == sorted(suggested)


@pytest.mark.parametrize("costs", [0.5, -1, float("nan")])
def test_a_wrong_answer_costs_no_less_than_a_refusal(costs: float) -> None:
    with pytest.raises(LabError, match="it must be 1 or more"):
        balances(MEASURED, costs)


# --- SQuAD files ---------------------------------------------------------------------------------

CONTEXT = "Tin melts at 232 degrees. Lead melts at 327 degrees."
SQUAD = {
    "data": [
        {
            "title": "Soft_metals",
            "paragraphs": [
                {
                    "context": CONTEXT,
                    "qas": [
                        {
                            "id": "1",
                            "question": "When does tin melt?",
                            "is_impossible": False,
                            "answers": [{"text": "at 232 degrees"}, {"text": "232 degrees"}],
                        },
                        {"id": "2", "question": "And zinc?", "is_impossible": True, "answers": []},
                    ],
                }
            ],
        }
    ]
}


def test_a_squad_file_is_read_and_the_shortest_gold_answer_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(json.dumps(SQUAD), "utf-8")
    squad = load_squad(path)
    assert [(p.id, p.title, p.text) for p in squad.passages] == [
        ("Soft_metals-0", "Soft metals", CONTEXT)
    ]
    assert [(q.question.id, q.question.kind, q.parts) for q in squad.questions] == [
        ("1", "answerable", (Part("Soft_metals-0", "232 degrees"),)),
        ("2", "unanswerable", ()),
    ]


@pytest.mark.parametrize("content", ["", "[]", '{"data": [{}]}', '{"data": 3}'])
def test_a_file_that_is_no_squad_file_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "tiny.json"
    path.write_text(content, "utf-8")
    with pytest.raises(LabError, match=r"^tiny\.json is no SQuAD 2\.0 file: "):
        load_squad(path)


# --- the command ---------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(words)
    out, err = capsys.readouterr()
    return int(ended.value.code or 0), out, err


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The starter corpus, indexed."""
    monkeypatch.chdir(CHECKOUT)
    monkeypatch.setenv("LABKIT_INDEX", str(tmp_path / "index.sqlite"))
    lab = open_lab()
    rebuild(lab.source(), lab.chunker, lab.embedder, lab.store)


@pytest.mark.usefixtures("starter")
def test_eval_answers_asks_every_question_end_to_end(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "eval", "--ledger", "--json", "--policy", "hybrid")
    found: dict[str, Any] = json.loads(out)
    (counts,) = found["answers"]
    assert code == 0
    assert (counts["answerable"], counts["unanswerable"]) == (59, 41)
    sums = ("right", "other_unit", "other_document", "refused")
    assert sum(counts[name] for name in sums) == 59
    assert counts["right"] >= 43
    assert counts["other_document"] == 0
    assert counts["unanswerable_answered"] <= 4
    (ledger,) = found["ledger"]
    assert sum(ledger[stage] for stage in Stage) == 59 - counts["right"]
    assert len(found["questions"]) == 100
    refused = next(one for one in found["questions"] if one["verdict"] == "refused")
    assert refused["shown"] == []
    assert refused["reason"]


@pytest.mark.usefixtures("starter")
def test_calibrate_suggests_the_cheapest_score(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(run(capsys, "calibrate", "--answers", "--json")[1])
    costs = {row["score"]: row["cost"] for row in found["table"]}
    assert len(costs) == 51
    assert costs[found["suggested"]] == min(costs.values())
    assert costs[PROFILES["minilm"].answer_score] <= 32  # not far from it on these questions
    code, out, _ = run(capsys, "calibrate", "--answers")
    assert code == 0
    assert out.splitlines()[0] == "score  right  other unit  wrong  refused  cost"
    assert out.splitlines()[-1] == (
        f"Suggested: retrieval.answer_score = {found['suggested']:.2f}, where the cost is least."
    )


@pytest.mark.usefixtures("starter")
def test_the_score_can_be_set(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_RETRIEVAL_ANSWER_SCORE", "1.0")
    code, out, _ = run(capsys, "answer", "how long do you keep backups", "--as-of", str(DAY))
    assert code == 3
    assert "and 1.00 is needed: it says too little of what was asked." in out


@pytest.mark.usefixtures("starter")
def test_a_sample_is_drawn_by_its_seed_and_asked_alone(capsys: pytest.CaptureFixture[str]) -> None:
    def asked(seed: str) -> list[str]:
        words = ("eval", "--answers", "--json", "--sample", "7", "--seed", seed)
        return [one["id"] for one in json.loads(run(capsys, *words)[1])["questions"]]

    assert len(asked("1")) == 7
    assert asked("1") == asked("1") != asked("2")


@pytest.mark.usefixtures("starter")
def test_eval_answers_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "eval", "--answers", "--sample", "5")
    assert code == 0
    assert out.startswith("minilm, hybrid: questions asked end to end; the share that is right")


def test_long_work_in_a_pipe_says_a_line_a_minute_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ten questions of 25 seconds: nothing before a minute has gone, then after 3, 6 and 9."""
    now = 0.0
    monkeypatch.setattr(console, "monotonic", lambda: now)
    with console.bars() as bar:
        told = bar("Asking")
        for done in range(11):
            told(done, 10)
            now += 25
    assert capsys.readouterr().err.splitlines() == [
        "Asking: 3 of 10, about 3 min left.",
        "Asking: 6 of 10, about 2 min left.",
        "Asking: 9 of 10, about 0 min left.",
    ]


def test_a_beir_folder_has_no_quotations_to_judge_answers_by(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "tiny"
    (folder / "qrels").mkdir(parents=True)
    row = {"_id": "p", "title": "", "text": "Tin melts."}
    (folder / "corpus.jsonl").write_text(json.dumps(row), "utf-8")
    (folder / "queries.jsonl").write_text(json.dumps({"_id": "q", "text": "Tin?"}), "utf-8")
    (folder / "qrels/test.tsv").write_text("query-id\tcorpus-id\tscore\nq\tp\t1\n", "utf-8")
    code, _, err = run(capsys, "eval", str(folder), "--answers")
    assert (code, err) == (
        2,
        "labkit: A BEIR folder names passages and no quotations. Leave --answers out.\n",
    )
