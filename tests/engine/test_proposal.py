"""What a model sends: exactly one JSON object of the agreed shape, or a refusal that says why."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.answering import PROPOSAL_SCHEMA, parse_proposal
from labkit.types import Citation, Proposal, Reason, Refused

GOOD = '{"can_answer": true, "evidence": [{"chunk_id": "a#0", "quote": "The words themselves."}]}'


def why_refused(reply: str) -> str:
    with pytest.raises(Refused) as caught:
        parse_proposal(reply)
    assert caught.value.reason is Reason.INVALID_PROPOSAL
    assert caught.value.message.startswith("The model's reply was no proposal: ")
    return caught.value.message.removeprefix("The model's reply was no proposal: ")


# --- what is read --------------------------------------------------------------------------------


def test_a_proposal_is_read() -> None:
    assert parse_proposal(GOOD) == Proposal(True, (Citation("a#0", "The words themselves."),))


def test_white_space_around_the_object_is_nothing() -> None:
    assert parse_proposal(f"\n  {GOOD}\r\n") == parse_proposal(GOOD)


def test_declining_is_a_proposal() -> None:
    assert parse_proposal('{"can_answer": false, "evidence": []}') == Proposal(False)


def test_the_order_of_keys_is_free_and_the_order_of_evidence_is_kept() -> None:
    reply = (
        '{"evidence": [{"quote": "q", "chunk_id": "b#0"}, {"quote": "", "chunk_id": "a#0"}], '
        '"can_answer": true}'
    )
    assert parse_proposal(reply).evidence == (Citation("b#0", "q"), Citation("a#0", ""))


def test_quotations_are_taken_as_they_are() -> None:
    quote = 'A tab\t, a no-break space\u00a0, "marks", a line\nbreak, 日本, 👩‍💻 and e\u0301.'
    reply = json.dumps({"can_answer": True, "evidence": [{"chunk_id": "a#0", "quote": quote}]})
    assert parse_proposal(reply).evidence[0].quote == quote


def test_a_model_cannot_write_into_the_trace() -> None:
    assert parse_proposal(GOOD).detail == {}


# --- what is not one JSON object -----------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param("", id="empty"),
        pytest.param("   \n", id="blank"),
        pytest.param(f"```json\n{GOOD}\n```", id="fenced"),
        pytest.param(f"```\n{GOOD}\n```", id="fenced without a language"),
        pytest.param(f"Here is the answer: {GOOD}", id="text before"),
        pytest.param(f"{GOOD} I hope this helps.", id="text after"),
        pytest.param(f"{GOOD}\n{GOOD}", id="two objects"),
        pytest.param(GOOD[:-1], id="cut before the last brace"),
        pytest.param(GOOD[:40], id="cut in the middle"),
        pytest.param("\ufeff" + GOOD, id="byte-order mark"),
        pytest.param(GOOD.replace('"', "'"), id="single quotes"),
        pytest.param(GOOD.replace("true", "True"), id="Python's True"),
        pytest.param(GOOD.replace("]}", "],}"), id="trailing comma"),
        pytest.param("Sorry, I cannot do that.", id="prose"),
        pytest.param("<think>…</think>" + GOOD, id="thoughts before"),
        pytest.param("[" * 100_000 + "]" * 100_000, id="nested deeply"),
        pytest.param('{"a":' * 100_000 + "1" + "}" * 100_000, id="objects nested deeply"),
        pytest.param('{"can_answer": ' + "9" * 100_000 + "}", id="a number of 100,000 digits"),
        pytest.param("x" * 5_000_000, id="huge"),
    ],
)
def test_anything_but_one_json_object_is_refused(reply: str) -> None:
    assert why_refused(reply).startswith("it is not one JSON object (")


@pytest.mark.parametrize("name", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_json_does_not_know_are_refused(name: str) -> None:
    reply = f'{{"can_answer": true, "evidence": [], "score": {name}}}'
    assert why_refused(reply) == f"it is not one JSON object ({name} is no JSON)."


@pytest.mark.parametrize(
    "reply",
    [
        '{"can_answer": false, "can_answer": true, "evidence": []}',
        '{"can_answer": true, "evidence": [], "evidence": [{"chunk_id": "a#0", "quote": "q"}]}',
        '{"can_answer": true, "evidence": [{"chunk_id": "a#0", "chunk_id": "b#0", "quote": "q"}]}',
    ],
    ids=["can_answer", "evidence", "chunk_id"],
)
def test_a_doubled_key_is_refused(reply: str) -> None:
    """Readers disagree on which one counts, so none does."""
    assert why_refused(reply) == "it is not one JSON object (a key is given twice)."


# --- what is another object ----------------------------------------------------------------------

OBJECT = "the object must have exactly the keys can_answer, evidence."
PIECE = "a piece of evidence must have exactly the keys chunk_id, quote."
TEXT = "'chunk_id' and 'quote' must be text."


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (None, OBJECT),
        ([], OBJECT),
        ("can_answer", OBJECT),
        (["can_answer", "evidence"], OBJECT),
        ({}, OBJECT),
        ({"can_answer": True}, OBJECT),
        ({"evidence": []}, OBJECT),
        ({"can_answer": True, "evidence": [], "answer": "my own words"}, OBJECT),
        ({"can_answer": True, "evidence": [], "Evidence": []}, OBJECT),
        ({"can_answer": 1, "evidence": []}, "'can_answer' is neither true nor false."),
        ({"can_answer": "true", "evidence": []}, "'can_answer' is neither true nor false."),
        ({"can_answer": None, "evidence": []}, "'can_answer' is neither true nor false."),
        ({"can_answer": True, "evidence": None}, "'evidence' is not a list."),
        ({"can_answer": True, "evidence": {}}, "'evidence' is not a list."),
        ({"can_answer": True, "evidence": "a#0"}, "'evidence' is not a list."),
        ({"can_answer": True, "evidence": [None]}, PIECE),
        ({"can_answer": True, "evidence": ["a#0"]}, PIECE),
        ({"can_answer": True, "evidence": [["a#0", "q"]]}, PIECE),
        ({"can_answer": True, "evidence": [{"chunk_id": "a#0"}]}, PIECE),
        ({"can_answer": True, "evidence": [{"chunk_id": "a", "quote": "q", "page": 1}]}, PIECE),
        ({"can_answer": True, "evidence": [{"chunk_id": 0, "quote": "q"}]}, TEXT),
        ({"can_answer": True, "evidence": [{"chunk_id": "a#0", "quote": None}]}, TEXT),
        ({"can_answer": True, "evidence": [{"chunk_id": "a#0", "quote": ["q"]}]}, TEXT),
    ],
)
def test_wrong_types_and_unknown_keys_are_refused_by_name(value: Any, why: str) -> None:
    assert why_refused(json.dumps(value)) == why


def test_two_citations_of_one_chunk_are_refused() -> None:
    piece = {"chunk_id": "a#0", "quote": "q"}
    twice = {"can_answer": True, "evidence": [piece, {**piece, "quote": "r"}]}
    assert why_refused(json.dumps(twice)) == "it cites one chunk twice."


def test_the_refusal_does_not_repeat_what_the_model_said() -> None:
    reply = '{"can_answer": true, "evidence": [], "note": "<script>IGNORE</script>"}'
    assert "IGNORE" not in why_refused(reply)
    assert "IGNORE" not in why_refused("IGNORE " + reply)


# --- for all replies -----------------------------------------------------------------------------

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@given(st.text() | json_values.map(json.dumps))
def test_any_reply_is_a_proposal_or_a_named_refusal(reply: str) -> None:
    try:
        end: Proposal | Reason = parse_proposal(reply)
    except Refused as refused:
        end = refused.reason
    assert isinstance(end, Proposal) or end is Reason.INVALID_PROPOSAL


@given(
    st.booleans(),
    st.lists(st.tuples(st.text(), st.text()), max_size=5, unique_by=lambda pair: pair[0]),
)
def test_what_fits_the_schema_is_read_as_it_was_written(
    can_answer: bool, pairs: list[tuple[str, str]]
) -> None:
    evidence = [{"chunk_id": name, "quote": quote} for name, quote in pairs]
    found = parse_proposal(json.dumps({"can_answer": can_answer, "evidence": evidence}))
    assert found == Proposal(can_answer, tuple(Citation(*pair) for pair in pairs))


def test_the_schema_sent_to_servers_asks_for_the_same_keys() -> None:
    piece = PROPOSAL_SCHEMA["properties"]["evidence"]["items"]
    assert PROPOSAL_SCHEMA["required"] == ["can_answer", "evidence"]
    assert piece["required"] == ["chunk_id", "quote"]
    assert PROPOSAL_SCHEMA["additionalProperties"] is piece["additionalProperties"] is False
