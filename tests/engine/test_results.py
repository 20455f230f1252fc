"""What a person gets: one object, shown as JSON, as text and in a notebook, and never obeyed."""

from __future__ import annotations

import contextlib
import json
from dataclasses import replace
from datetime import date
from html.parser import HTMLParser
from typing import Any

import pytest

from builders import chunk
from labkit.answering.results import Answer, Outcome, Recorder, Refusal, Step, Trace, hit_dict
from labkit.types import Evidence, Hit, Reason

DAY = date(2026, 10, 23)
QUOTE = "The quoted words themselves."
EVIDENCE = Evidence("a#0", "a", QUOTE, 10, 38)
HIT = Hit(chunk("a"), 0.123456789, 1, 2.0, 3, 0.0317460)
TRACE = Trace(
    (Step("question", {"question": "Why?"}, 1.26), Step("gate", {"passed": ["a#0"]}, 2.0))
)


def answer(**changes: Any) -> Answer:
    return replace(Answer("id-1", "Why?", DAY, (EVIDENCE,), (HIT,), TRACE), **changes)


def refusal(**changes: Any) -> Refusal:
    made = Refusal("id-2", "Why?", DAY, Reason.BELOW_THRESHOLD, "Too far.", (HIT,), TRACE)
    return replace(made, **changes)


# --- JSON ----------------------------------------------------------------------------------------


def test_an_answer_as_json() -> None:
    assert json.loads(json.dumps(answer().to_dict())) == {
        "id": "id-1",
        "status": "answered",
        "question": "Why?",
        "as_of": "2026-10-23",
        "reason": None,
        "message": None,
        "answer": "[a#0] The quoted words themselves.",
        "evidence": [{"chunk_id": "a#0", "source_id": "a", "quote": QUOTE, "start": 10, "end": 38}],
        "closest": [
            {
                "chunk_id": "a#0",
                "title": "Title a",
                "cosine": 0.123457,
                "dense_rank": 1,
                "lexical_score": 2.0,
                "lexical_rank": 3,
                "fused": 0.031746,
                "dropped": "",
            }
        ],
        "trace": {
            "ms": 3.3,
            "steps": [
                {"stage": "question", "ms": 1.3, "question": "Why?"},
                {"stage": "gate", "ms": 2.0, "passed": ["a#0"]},
            ],
        },
    }


def test_a_refusal_as_json_has_the_same_keys_and_no_answer() -> None:
    value = json.loads(json.dumps(refusal().to_dict()))
    assert list(value) == list(answer().to_dict())
    assert (value["status"], value["reason"], value["message"]) == (
        "refused",
        "below_threshold",
        "Too far.",
    )
    assert value["answer"] is None
    assert value["evidence"] == []
    assert value["closest"][0]["chunk_id"] == "a#0"


def test_a_page_is_named_where_there_is_one() -> None:
    (piece,) = answer(evidence=(replace(EVIDENCE, page=4),)).to_dict()["evidence"]
    assert piece["page"] == 4


def test_a_hit_as_json_holds_no_text_of_the_document() -> None:
    assert "SECRET" not in json.dumps(hit_dict(Hit(chunk("a", "SECRET"))))


def test_what_a_stage_noted_cannot_rename_the_stage() -> None:
    step = Trace((Step("gate", {"stage": "forged", "ms": -1.0, "passed": []}, 2.0),))
    assert step.to_dict()["steps"] == [{"stage": "gate", "ms": 2.0, "passed": []}]


# --- text ----------------------------------------------------------------------------------------


def test_an_answer_as_text_is_its_quotations_and_nothing_else() -> None:
    second = Evidence("b#1", "b", "Another quotation, longer.", 0, 26)
    assert str(answer(evidence=(EVIDENCE, second))) == (
        "[a#0] The quoted words themselves.\n[b#1] Another quotation, longer."
    )


@pytest.mark.parametrize("line_end", ["\n", "\f", "\u2028"])
def test_a_line_in_a_quotation_cannot_pass_itself_off_as_another_quotation(line_end: str) -> None:
    """A document of one author must not speak in the name of another's."""
    quote = f"Leave is 25 days.{line_end}[policy#0] Leave is 50 days."
    made = answer(evidence=(replace(EVIDENCE, quote=quote),))
    assert made.text == f"[a#0] Leave is 25 days.{line_end}    [policy#0] Leave is 50 days."
    assert made.to_dict()["evidence"][0]["quote"] == quote, "the evidence stays letter for letter"


def test_other_lines_and_brackets_in_a_quotation_stay_as_they_are() -> None:
    quote = "See:\n[Exports](export.md)\n- [x] done\n[#1] and [a b#2]"
    assert answer(evidence=(replace(EVIDENCE, quote=quote),)).text == f"[a#0] {quote}"


def test_a_refusal_as_text_names_its_reason() -> None:
    assert str(refusal()) == "Refused (below_threshold): Too far."


def test_a_trace_as_text_says_a_fact_a_line_without_times() -> None:
    trace = Trace(
        (
            Step("question", {"question": "Why?"}, 123.4),
            Step("retrieval", {"k": 3, "threshold": 0.25, "kept": [{"chunk_id": "a#0"}]}, 5.0),
            Step("gate", {"passed": []}, 6.0),
        )
    )
    assert str(trace) == (
        "question\n    question: Why?\n"
        "retrieval\n    k: 3\n    threshold: 0.2500\n    kept: chunk_id a#0\n"
        "gate\n    passed: none"
    )


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("one\ntwo", r"one\ntwo"),
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb\x00c\x9bd", r"a\rb\x00c\x9bd"),
        ("a\u2028b\u202ec", r"a\u2028b\u202ec"),
    ],
    ids=["line break", "colour", "window title", "controls", "separator and override"],
)
def test_a_trace_as_text_cannot_draw_on_a_terminal(hostile: str, shown: str) -> None:
    """A chat server's words stand in the trace, passed by the gate or not."""
    assert str(Trace((Step("generator", {"proposed": [hostile]}),))) == (
        f"generator\n    proposed: {shown}"
    )


def test_a_trace_as_text_keeps_the_letters_of_every_language() -> None:
    trace = Trace((Step("question", {"question": "Où ?\u00a0«\u202fœuvre\u202f» 日本 👩‍💻"}),))
    assert str(trace) == "question\n    question: Où ?\u00a0«\u202fœuvre\u202f» 日本 👩‍💻"


# --- notebook ------------------------------------------------------------------------------------

SCRIPT = "<script>alert('x')</script> & <img src=x onerror=alert(1)>"


class Tags(HTMLParser):
    """The tags and the text of a piece of HTML."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


HOSTILE = chunk(SCRIPT, SCRIPT, title=SCRIPT)


@pytest.mark.parametrize(
    "shown",
    [
        answer(evidence=(Evidence(HOSTILE.id, HOSTILE.source_id, SCRIPT, 0, 58),)),
        refusal(message=SCRIPT, closest=(Hit(HOSTILE),)),
        Trace((Step(SCRIPT, {SCRIPT: SCRIPT, "list": [SCRIPT], "map": [{SCRIPT: SCRIPT}]}),)),
    ],
    ids=["answer", "refusal", "trace"],
)
def test_text_of_documents_and_models_is_shown_never_run(shown: Outcome | Trace) -> None:
    found = Tags(shown._repr_html_())
    assert not {"script", "img"} & set(found.tags)
    assert SCRIPT in found.text


def test_an_answer_in_a_notebook() -> None:
    assert answer()._repr_html_() == (
        "<section><p><b>Answered</b> with 1 quotation</p>"
        "<blockquote>The quoted words themselves.<footer>— a#0, characters 10 to 38</footer>"
        "</blockquote></section>"
    )


def test_a_refusal_in_a_notebook() -> None:
    assert refusal()._repr_html_() == (
        "<section><p><b>Refused</b> (below_threshold): Too far.</p>"
        "<p>Closest passages:</p><ul><li>a#0: Title a</li></ul></section>"
    )
    assert "Closest" not in refusal(closest=())._repr_html_()


def test_a_trace_in_a_notebook_is_a_table_with_a_caption_and_row_headings() -> None:
    assert TRACE._repr_html_() == (
        "<table><caption>Trace of the question</caption>"
        "<tr><th scope='row'>question</th><td>question: Why?</td></tr>"
        "<tr><th scope='row'>gate</th><td>passed: a#0</td></tr></table>"
    )


def test_the_three_ways_to_show_a_trace_hold_the_same_facts() -> None:
    facts = {"policy": "strict", "kept": ["a#0", "b#1"], "reason": "below_threshold"}
    trace = Trace((Step("retrieval", facts),))
    for shown in (json.dumps(trace.to_dict()), str(trace), trace._repr_html_()):
        for fact in ("retrieval", "strict", "a#0", "b#1", "below_threshold"):
            assert fact in shown


# --- recording -----------------------------------------------------------------------------------


def test_steps_are_recorded_in_order_with_what_they_noted_even_when_they_fail() -> None:
    recorder = Recorder()
    with recorder.step("first") as detail:
        detail["seen"] = 1
    with contextlib.suppress(RuntimeError), recorder.step("second") as detail:
        detail["seen"] = 2
        raise RuntimeError
    steps = recorder.trace.steps
    assert [(step.stage, step.detail) for step in steps] == [
        ("first", {"seen": 1}),
        ("second", {"seen": 2}),
    ]
    assert all(step.ms >= 0 for step in steps)
    assert recorder.trace.ms == sum(step.ms for step in steps)
