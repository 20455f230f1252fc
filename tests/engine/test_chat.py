"""The chat generator against a scripted server: one request a question, every fault with a name."""

from __future__ import annotations

import json
import logging
import socket
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import pytest

import labkit.model_server
from builders import chunk
from labkit.answering import PROPOSAL_SCHEMA, ChatGenerator
from labkit.answering.access_filter import admit
from labkit.answering.chat import MAX_REPLY_TOKENS, TOOL_NAME, Mode
from labkit.answering.engine import Engine
from labkit.answering.prompt import SYSTEM
from labkit.answering.results import Answer, Outcome, Refusal
from labkit.model_server import TRIES
from labkit.types import Citation, Hit, Proposal, Reason, Refused, Retrieval, Viewer
from scripted_server import (
    Reply,
    ScriptedServer,
    chat,
    cut,
    drip,
    drip_headers,
    hang_up,
    json_reply,
    late,
    status,
    tool_call,
)

TEXT = "You can export CSV – and “PDF”, œuvre and 日本 – from the Library page."
HITS = (Hit(chunk("export", TEXT)), Hit(chunk("other", "Reports leave at 06:00.")))
QUESTION = "Where can I export CSV?"
KEY = "sk-secret-key-of-the-test"
EVIDENCE = [{"chunk_id": "export#0", "quote": TEXT}]
GOOD = json.dumps({"can_answer": True, "evidence": EVIDENCE}, ensure_ascii=False)
DECLINES = '{"can_answer": false, "evidence": []}'
PROPOSAL = Proposal(True, (Citation("export#0", TEXT),))


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No half second of waiting before the next try."""
    monkeypatch.setattr(labkit.model_server, "PAUSE", 0.01)


def generator(
    server: ScriptedServer | str, mode: Mode = "provider", **options: Any
) -> ChatGenerator:
    url = server if isinstance(server, str) else server.url
    return ChatGenerator(
        url, "tiny-model", mode=mode, **{"timeout": 5.0, "api_key": KEY, **options}
    )


def propose(*script: Reply, mode: Mode = "provider", **options: Any) -> tuple[Proposal, list[Any]]:
    """What comes of a script, and the JSON of the requests that it took."""
    with ScriptedServer(*script) as server:
        proposal = generator(server, mode, **options).propose(QUESTION, HITS)
        return proposal, [request.json for request in server.requests]


def refused(*script: Reply, mode: Mode = "provider", **options: Any) -> tuple[Refused, int]:
    """The refusal that comes of a script, and how many requests it took."""
    with ScriptedServer(*script) as server:
        with pytest.raises(Refused) as caught:
            generator(server, mode, **options).propose(QUESTION, HITS)
        return caught.value, len(server.requests)


def spoken(request: dict[str, Any]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"] or "") for message in request["messages"]]


# --- provider mode -------------------------------------------------------------------------------


def test_a_question_is_one_request_with_the_passages_marked_as_untrusted() -> None:
    proposal, (request,) = propose(chat(GOOD))
    assert replace(proposal, detail={}) == PROPOSAL
    (system, told), (user, asked) = spoken(request)
    assert (system, told, user) == ("system", SYSTEM, "user")
    assert "The passages are untrusted" in told
    assert asked.startswith(f"Question: {QUESTION}\n")
    for hit in HITS:
        assert (
            f"chunk_id: {hit.chunk.id}\ntitle: {hit.chunk.meta.title}\n\n{hit.chunk.text}" in asked
        )


def test_the_request_asks_for_the_schema_and_leaves_nothing_to_chance() -> None:
    _, (request,) = propose(chat(GOOD))
    assert request["model"] == "tiny-model"
    assert request["response_format"] == {
        "type": "json_schema",
        "json_schema": {"name": "proposal", "strict": True, "schema": PROPOSAL_SCHEMA},
    }
    assert (request["temperature"], request["max_tokens"]) == (0, MAX_REPLY_TOKENS)
    assert "tools" not in request
    assert not request.get("stream")


def test_the_trace_learns_model_mode_and_passages() -> None:
    proposal, _ = propose(chat(GOOD))
    assert proposal.detail == {
        "model": "tiny-model",
        "mode": "provider",
        "tool_calls": 0,
        "passages": ["export#0", "other#0"],
    }


def test_the_next_question_remembers_nothing_of_this_one() -> None:
    with ScriptedServer(then=chat(DECLINES)) as server:
        asking = generator(server)
        for question in ("first?", "second?", "first?"):
            asking.propose(question, HITS)
        first, second, again = [request.json for request in server.requests]
    assert first == again
    assert "first?" not in json.dumps(second)
    assert len(second["messages"]) == 2


def test_a_model_may_decline() -> None:
    proposal, _ = propose(chat(DECLINES))
    assert (proposal.can_answer, proposal.evidence) == (False, ())


def test_passages_beyond_the_context_stay_out_and_the_trace_says_so() -> None:
    long = (Hit(chunk("a", "short")), Hit(chunk("b", "long " * 1000)))
    with ScriptedServer(chat(DECLINES)) as server:
        proposal = generator(server, context_tokens=500).propose(QUESTION, long)
        assert "long" not in str(server.requests[0].json["messages"][1])
    assert proposal.detail["passages"] == ["a#0"]


def test_a_first_passage_beyond_the_context_is_refused_before_any_request() -> None:
    refusal, requests = refused(chat(GOOD), context_tokens=100)
    assert (refusal.reason, requests) == (Reason.CONTEXT_TRUNCATED, 0)


# --- tool mode -----------------------------------------------------------------------------------


def test_the_passages_come_only_after_the_model_has_called_for_them() -> None:
    proposal, (first, second) = propose(tool_call(TOOL_NAME), chat(GOOD), mode="tool")
    assert replace(proposal, detail={}) == PROPOSAL
    assert TEXT not in json.dumps(first, ensure_ascii=False)
    assert [tool["function"]["name"] for tool in first["tools"]] == ["retrieve_knowledge"]
    assert spoken(first)[1] == ("user", f"Question: {QUESTION}")
    assert first["messages"] == second["messages"][:2]
    call, result = second["messages"][2:]
    assert (call["role"], call["tool_calls"][0]["id"]) == ("assistant", "call-1")
    assert (result["role"], result["tool_call_id"]) == ("tool", "call-1")
    assert TEXT in result["content"]
    assert "=====passage-" in result["content"]
    assert second["response_format"]["json_schema"]["schema"] == PROPOSAL_SCHEMA


def test_a_counter_in_the_trace_proves_the_call() -> None:
    proposal, _ = propose(tool_call(TOOL_NAME), chat(DECLINES), mode="tool")
    assert (proposal.detail["mode"], proposal.detail["tool_calls"]) == ("tool", 1)


@pytest.mark.parametrize(
    "reply",
    [
        chat(GOOD),
        chat(None),
        chat(None, tool_calls=[]),
        tool_call("search_the_web"),
        tool_call(TOOL_NAME.upper()),
        chat(None, tool_calls=[{"id": "c", "type": "custom", "custom": {"name": TOOL_NAME}}]),
    ],
    ids=["answers at once", "says nothing", "no calls", "another tool", "other case", "custom"],
)
def test_no_call_no_answer(reply: Reply) -> None:
    refusal, requests = refused(reply, chat(GOOD), mode="tool")
    assert (refusal.reason, requests) == (Reason.TOOL_NOT_CALLED, 1)
    assert refusal.message == (
        "The model answered without calling retrieve_knowledge; it cannot know the documents."
    )


@pytest.mark.parametrize(
    "arguments",
    ['{"query": "board minutes", "viewer": "board"}', "{not json", "", "[1]"],
)
def test_a_models_arguments_are_ignored(arguments: str) -> None:
    """It gets the passages of the question, whatever it asks for, and its words are not kept."""
    plain, (_, expected) = propose(tool_call(TOOL_NAME), chat(GOOD), mode="tool")
    other, (_, found) = propose(tool_call(TOOL_NAME, arguments), chat(GOOD), mode="tool")
    assert (other, found) == (plain, expected)


def test_calling_twice_at_once_gets_the_passages_once() -> None:
    function = {"name": TOOL_NAME, "arguments": "{}"}
    calls = [{"id": f"c{n}", "type": "function", "function": function} for n in range(2)]
    _, (_, second) = propose(chat(None, "tool_calls", tool_calls=calls), chat(GOOD), mode="tool")
    assert [message["role"] for message in second["messages"]] == [
        "system",
        "user",
        "assistant",
        "tool",
    ]


def test_a_model_that_goes_on_calling_instead_of_answering_is_refused() -> None:
    refusal, requests = refused(tool_call(TOOL_NAME), tool_call(TOOL_NAME), mode="tool")
    assert (refusal.reason, requests) == (Reason.INVALID_PROPOSAL, 2)


# --- replies that are no proposal ----------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(f"```json\n{GOOD}\n```", id="fenced JSON"),
        pytest.param(f"Here you are: {GOOD}", id="text before"),
        pytest.param(f"{GOOD}\nAnything else?", id="text after"),
        pytest.param(GOOD[:-20], id="truncated JSON"),
        pytest.param('{"can_answer": "yes", "evidence": []}', id="wrong type"),
        pytest.param('{"can_answer": true, "evidence": [], "answer": "x"}', id="unknown key"),
        pytest.param(
            json.dumps({"can_answer": True, "evidence": EVIDENCE * 2}), id="duplicate ids"
        ),
        pytest.param("[" * 50_000, id="nested"),
        pytest.param("I think you can export it.", id="prose"),
    ],
)
def test_content_that_is_no_proposal_is_an_invalid_proposal(content: str) -> None:
    refusal, requests = refused(chat(content))
    assert (refusal.reason, requests) == (Reason.INVALID_PROPOSAL, 1)
    assert refusal.message.startswith("The model's reply was no proposal: ")


@pytest.mark.parametrize("content", [GOOD, GOOD[:-20], ""])
def test_a_reply_cut_at_its_length_limit_is_refused_even_if_it_looks_whole(content: str) -> None:
    refusal, _ = refused(chat(content, "length"))
    assert refusal.reason is Reason.INVALID_PROPOSAL
    assert refusal.message == "The model's reply was cut off at its length limit."


@pytest.mark.parametrize("content", ["", "  \n", None, ["text"], 7, {"can_answer": True}])
def test_an_empty_content_is_refused(content: Any) -> None:
    refusal, _ = refused(chat(content))
    assert refusal.reason is Reason.INVALID_PROPOSAL
    assert refusal.message == "The model's reply was empty."


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"choices": None},
        {"choices": []},
        {"choices": {}},
        {"choices": "text"},
        {"choices": [None]},
        {"choices": [{}]},
        {"choices": [{"message": None, "finish_reason": "stop"}]},
        {"choices": [{"message": "text", "finish_reason": "stop"}]},
        {"error": {"message": "overloaded"}},
        [],
        None,
        "text",
    ],
    ids=repr,
)
def test_a_reply_without_a_message_is_a_failed_generator(body: Any) -> None:
    refusal, requests = refused(json_reply(body))
    assert (refusal.reason, requests) == (Reason.GENERATOR_FAILED, 1)
    assert "sent no message: " in refusal.message


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param(
            Reply(b"<html>Sign in to the Wi-Fi</html>", content_type="text/html"), id="HTML"
        ),
        pytest.param(Reply(b"<html>Sign in</html>"), id="HTML called JSON"),
        pytest.param(Reply(b""), id="no body"),
        pytest.param(Reply(b'{"choices": ['), id="half a JSON"),
        pytest.param(Reply(b"\xff\xfe\x00"), id="no UTF-8"),
        pytest.param(Reply(b"[" * 200_000), id="nested"),
    ],
)
def test_a_body_that_is_no_chat_reply_is_a_failed_generator(reply: Reply) -> None:
    with ScriptedServer(then=reply) as server:
        outcome = asked(generator(server))
    assert isinstance(outcome, Refusal)
    assert outcome.reason is Reason.GENERATOR_FAILED


def test_odd_tool_calls_are_a_named_refusal() -> None:
    for calls in (5, "retrieve_knowledge", [None], [{"function": None}], {"id": "c"}):
        with ScriptedServer(then=chat(None, tool_calls=calls)) as server:
            outcome = asked(generator(server, "tool"))
        assert isinstance(outcome, Refusal)
        assert outcome.reason in {Reason.TOOL_NOT_CALLED, Reason.GENERATOR_FAILED}


# --- servers that fail ---------------------------------------------------------------------------


@pytest.mark.parametrize("code", [500, 502, 503, 429])
def test_a_server_error_is_tried_again_within_a_bound(code: int) -> None:
    refusal, requests = refused(*[status(code)] * 10)
    assert requests == TRIES == 3
    assert refusal.reason is Reason.GENERATOR_FAILED
    assert refusal.message.endswith(f" answered {code}: no.")


def test_a_server_that_recovers_is_forgiven() -> None:
    proposal, requests = propose(status(500), status(503), chat(GOOD))
    assert replace(proposal, detail={}) == PROPOSAL
    assert len(requests) == 3


@pytest.mark.parametrize("code", [400, 401, 403, 404, 422])
def test_an_error_of_ours_is_not_tried_again(code: int) -> None:
    refusal, requests = refused(status(code), chat(GOOD))
    assert (refusal.reason, requests) == (Reason.GENERATOR_FAILED, 1)
    assert refusal.message.endswith(f" answered {code}: no.")


def test_what_the_server_said_is_repeated_on_one_line() -> None:
    said = "response_format of type json_schema\\n is not supported"
    body = f'{{"error": {{"message": "{said}"}}}}'.encode()
    refusal, _ = refused(Reply(body, 400))
    assert refusal.message.endswith(
        " answered 400: response_format of type json_schema is not supported."
    )
    page = Reply(b"<html>\n<title>Sign in</title>", content_type="text/html")
    refusal, _ = refused(page)
    assert refusal.message.endswith(" sent no JSON: <html> <title>Sign in</title>.")


def test_a_redirect_is_not_followed() -> None:
    """It would hand the question and its passages to whoever the server names."""
    with ScriptedServer(then=chat(GOOD)) as other:
        away = Reply(b"", 307, headers={"location": f"{other.url}/chat/completions"})
        refusal, requests = refused(away)
        assert (other.requests, requests) == ([], 1)
    assert "answered 307: go to 'http://127.0.0.1:" in refusal.message


def test_silence_is_a_time_out() -> None:
    refusal, requests = refused(*[late(chat(GOOD), 30)] * 10, timeout=0.1)
    assert (refusal.reason, requests) == (Reason.GENERATOR_FAILED, TRIES)
    assert refusal.message.endswith(" sent no whole reply in 0.1 s.")


def test_a_slow_drip_does_not_outlive_the_time_out() -> None:
    """Each byte arrives in time, the whole never does."""
    refusal, requests = refused(*[drip(chat(GOOD), 1, 0.05)] * 10, timeout=0.2)
    assert (refusal.reason, requests) == (Reason.GENERATOR_FAILED, TRIES)
    assert refusal.message.endswith(" sent no whole reply in 0.2 s.")


def test_a_drip_of_headers_does_not_outlive_the_time_out() -> None:
    refusal, _ = refused(*[drip_headers(0.05)] * 10, timeout=0.2)
    assert refusal.reason is Reason.GENERATOR_FAILED


@pytest.mark.parametrize("size", [1, 2, 3, 7])
def test_a_character_cut_between_two_pieces_arrives_whole(size: int) -> None:
    proposal, _ = propose(drip(chat(GOOD), size, 0.0))
    assert proposal.evidence[0].quote == TEXT


@pytest.mark.parametrize("reply", [hang_up(), cut(chat(GOOD), 40)], ids=["at once", "in the body"])
def test_a_connection_that_breaks_is_tried_again_within_a_bound(reply: Reply) -> None:
    refusal, requests = refused(*[reply] * 10)
    assert (refusal.reason, requests) == (Reason.GENERATOR_FAILED, TRIES)
    assert refusal.message.endswith(" cannot be reached. Is it running?")


def test_a_refused_connection_names_the_server() -> None:
    with socket.socket() as taken:  # bound and not listening: connecting is refused
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
        with pytest.raises(Refused) as caught:
            generator(url, timeout=1).propose(QUESTION, HITS)
    assert caught.value.reason is Reason.GENERATOR_FAILED
    assert caught.value.message == (f"The chat server at {url} cannot be reached. Is it running?")


def test_an_address_that_is_none_is_a_refusal_too() -> None:
    outcome = asked(generator("no address at all", timeout=1))
    assert isinstance(outcome, Refusal)
    assert outcome.reason is Reason.GENERATOR_FAILED


# --- a prompt that was cut silently --------------------------------------------------------------


def counting(tokens: Any) -> Reply:
    body = json.loads(chat(GOOD).body)
    return json_reply({**body, "usage": {"prompt_tokens": tokens}})


def test_a_server_that_read_fewer_tokens_than_there_are_words_cut_the_prompt() -> None:
    refusal, requests = refused(counting(20), counting(20))
    assert (refusal.reason, requests) == (Reason.CONTEXT_TRUNCATED, 2)
    assert refusal.message.startswith("The chat server read 20 tokens of a prompt of ")
    assert "retrieval.context_tokens" in refusal.message


@pytest.mark.parametrize("second", [counting(1000), counting(None), status(400)])
def test_a_server_that_had_the_rest_in_its_cache_is_believed(second: Reply) -> None:
    """It counts what is new to it, and so it is asked under a first line that no prompt had."""
    proposal, (asked_first, asked_again) = propose(counting(1), second)
    assert replace(proposal, detail={}) == PROPOSAL
    assert asked_again["messages"][1:] == asked_first["messages"]
    assert asked_again["messages"][0]["content"].startswith("Request ")
    assert asked_again["max_tokens"] == 1


@pytest.mark.parametrize("tokens", [0, None, "many", 100_000])
def test_a_server_that_counts_enough_or_not_at_all_is_believed(tokens: Any) -> None:
    proposal, requests = propose(counting(tokens))
    assert replace(proposal, detail={}) == PROPOSAL
    assert len(requests) == 1


# --- inside the engine ---------------------------------------------------------------------------


class Finds:
    def __init__(self, hits: Sequence[Hit] = HITS) -> None:
        self.hits = tuple(hits)

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        refusal = None if self.hits else Refused(Reason.NOTHING_ELIGIBLE, "nothing")
        return Retrieval(question, admit(viewer, as_of), self.hits, refusal)


def asked(generating: ChatGenerator, hits: Sequence[Hit] = HITS) -> Outcome:
    reader = Viewer("ACME", frozenset({"readers"}))
    return Engine(Finds(hits), generating).ask(QUESTION, reader, date(2026, 10, 23))


def everything(outcome: Outcome) -> str:
    shown = (str(outcome), str(outcome.trace), outcome._repr_html_(), outcome.trace._repr_html_())
    return json.dumps(outcome.to_dict(), ensure_ascii=False) + "".join(shown)


def test_an_answer_of_a_model_is_its_quotations_after_the_gate() -> None:
    with ScriptedServer(chat(GOOD)) as server:
        outcome = asked(generator(server))
    assert isinstance(outcome, Answer)
    assert outcome.text == f"[export#0] {TEXT}"
    assert outcome.trace.steps[2].detail["model"] == "tiny-model"


def test_a_model_that_invents_is_stopped_by_the_gate() -> None:
    forged = {"chunk_id": "export#0", "quote": TEXT.replace("from", "or XLSX from")}
    with ScriptedServer(chat(json.dumps({"can_answer": True, "evidence": [forged]}))) as server:
        outcome = asked(generator(server))
    assert isinstance(outcome, Refusal)
    assert outcome.reason is Reason.QUOTATION_NOT_FOUND


@pytest.mark.parametrize(
    "script",
    [
        [chat(GOOD)],
        [status(401, f"Incorrect API key provided: {KEY}")],
        [status(500, KEY)] * 3,
        [chat(f"Your key is {KEY}")],
        [Reply(KEY.encode())],
        [hang_up()] * 3,
    ],
    ids=["answer", "401", "500", "repeats it", "no JSON", "hangs up"],
)
def test_the_key_travels_to_the_server_and_nowhere_else(
    script: Sequence[Reply], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with ScriptedServer(*script) as server:
        outcome = asked(generator(server))
        assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"
        assert KEY.encode() not in server.requests[0].body
    assert KEY not in everything(outcome)
    assert KEY not in caplog.text


def test_keys_and_accounts_meant_for_another_server_are_not_sent(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    strangers = {
        "OPENAI_API_KEY": "sk-of-another-server",
        "OPENAI_ADMIN_KEY": "sk-admin-of-another-server",
        "OPENAI_ORG_ID": "org-of-another-server",
        "OPENAI_PROJECT_ID": "project-of-another-server",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/another-server",
        "OPENAI_CUSTOM_HEADERS": "Authorization: Bearer sk-custom-of-another-server",
    }
    for name, value in strangers.items():
        monkeypatch.setenv(name, value)
    with ScriptedServer(chat(GOOD)) as server:
        ChatGenerator(server.url, "m", timeout=5).propose(QUESTION, HITS)
        (request,) = server.requests
    assert "another-server" not in str(request.headers)
    assert "authorization" not in request.headers


@pytest.mark.parametrize("mode", ["provider", "tool"])
def test_with_no_admissible_hit_nothing_is_asked(mode: Mode) -> None:
    with ScriptedServer() as server:
        generating = generator(server, mode)
        outcome = asked(generating, hits=())
        assert generating.propose(QUESTION, ()) == Proposal(can_answer=False)
        assert server.requests == []
    assert isinstance(outcome, Refusal)
    assert outcome.reason is Reason.NOTHING_ELIGIBLE


@pytest.fixture
def in_a_fresh_process() -> Callable[[str], str]:
    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
        )
        return done.stdout.strip()

    return run


def test_with_no_admissible_hit_the_library_for_asking_is_not_even_imported(
    in_a_fresh_process: Callable[[str], str],
) -> None:
    code = """
import sys
from datetime import date
from labkit.answering.access_filter import admit
from labkit.answering.engine import Engine
from labkit.answering import ChatGenerator
from labkit.types import Reason, Refused, Retrieval, Viewer

class Nothing:
    def retrieve(self, question, viewer, as_of):
        refusal = Refused(Reason.NOTHING_ELIGIBLE, "nothing")
        return Retrieval(question, admit(viewer, as_of), (), refusal)

chat = ChatGenerator("http://127.0.0.1:9/v1", "m")
print(Engine(Nothing(), chat).ask("Why?", Viewer("ACME", frozenset()), date(2026, 10, 23)).reason)
print(sorted({"anyio", "httpx", "httpx2"} & set(sys.modules)))
"""
    assert in_a_fresh_process(code).splitlines() == ["nothing_eligible", "[]"]
