"""labkit.embedding.http and labkit.model_server against a server that answers as scripted."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import labkit.model_server
from labkit.embedding import HttpEmbedder
from labkit.embedding.checks import TextRefused
from labkit.model_server import TRIES
from labkit.types import EmbedderIdentity, EmbeddingError, Health
from scripted_server import (
    Reply,
    Request,
    ScriptedServer,
    Step,
    cut,
    drip,
    drip_headers,
    embeddings,
    hang_up,
    items,
    json_reply,
    late,
    status,
)

KEY = "the-secret-key"


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No half second of waiting before the next try."""
    monkeypatch.setattr(labkit.model_server, "PAUSE", 0.01)


def embedder(server: ScriptedServer, dimension: int = 2, **options: Any) -> HttpEmbedder:
    return HttpEmbedder(server.url, "toy", dimension, api_key=KEY, **options)


def letters(request: Request) -> Reply:
    """A vector for each text that shows which text it belongs to: (code of its first letter, 1)."""
    return embeddings(*((float(ord(text[0])), 1.0) for text in request.json["input"]))


def refusal(*script: Step, then: Step | None = None, n: int = 1, **options: Any) -> tuple[str, int]:
    """(what the embedder says, how many requests arrived) when it is to embed n texts."""
    with ScriptedServer(*script, then=then) as server:
        with pytest.raises(EmbeddingError) as refused:
            embedder(server, **options).embed([f"text {i}" for i in range(n)], "passage")
        said = str(refused.value).replace(server.url, "URL")
    assert KEY not in said
    return said, len(server.requests)


# --- what is asked -------------------------------------------------------------------------------


def test_a_request_names_the_model_and_carries_the_texts_and_the_given_key() -> None:
    with ScriptedServer(embeddings((1, 0), (0, 1))) as server:
        vectors = embedder(server).embed(["one", "two"], "passage")
    (request,) = server.requests
    assert request.path == "/v1/embeddings"
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {"input": ["one", "two"], "model": "toy", "encoding_format": "float"}
    assert vectors.tolist() == [[1, 0], [0, 1]]
    assert (vectors.dtype, vectors.flags.c_contiguous) == (np.float32, True)


def test_a_key_of_the_environment_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "meant-for-another-server")
    with ScriptedServer(embeddings((1, 0))) as server:
        HttpEmbedder(server.url, "toy", 2).embed(["one"], "query")
    assert "authorization" not in server.requests[0].headers


def test_a_line_end_after_the_key_is_not_part_of_it() -> None:
    with ScriptedServer(embeddings((1, 0))) as server:
        HttpEmbedder(server.url, "toy", 2, api_key=f"{KEY}\n").embed(["one"], "query")
    assert server.requests[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("texts", "options", "sizes"),
    [(16, {}, [16]), (17, {}, [16, 1]), (40, {}, [16, 16, 8]), (5, {"batch_size": 2}, [2, 2, 1])],
)
def test_texts_go_in_batches_of_sixteen_or_as_set(
    texts: int, options: dict[str, int], sizes: list[int]
) -> None:
    alphabet = [chr(ord("A") + i) for i in range(texts)]
    with ScriptedServer(then=letters) as server:
        vectors = embedder(server, **options).embed(alphabet, "passage")
    assert [len(request.json["input"]) for request in server.requests] == sizes
    assert "".join(map(chr, vectors[:, 0].astype(int))) == "".join(alphabet)


def test_no_texts_give_no_vectors_and_no_request() -> None:
    with ScriptedServer() as server:
        vectors = embedder(server, dimension=5).embed([], "query")
    assert (vectors.shape, vectors.dtype) == ((0, 5), np.float32)
    assert server.requests == []


def test_query_and_passage_get_their_own_prefix() -> None:
    with ScriptedServer(then=embeddings((1, 0))) as server:
        both = embedder(server, query_prefix="query: ", passage_prefix="passage: ")
        both.embed(["gate"], "query")
        both.embed(["gate"], "passage")
    assert [request.json["input"] for request in server.requests] == [
        ["query: gate"],
        ["passage: gate"],
    ]


def test_the_identity_holds_all_that_makes_the_vector_space() -> None:
    assert HttpEmbedder(
        "http://host/v1", "toy", 2, query_prefix="q: ", passage_prefix="p: "
    ).identity == EmbedderIdentity(
        provider="openai-compatible",
        endpoint="http://host/v1",
        model="toy",
        revision="",
        dimension=2,
        query_prefix="q: ",
        passage_prefix="p: ",
        normalised=False,
        metric="cosine",
    )


@pytest.mark.parametrize("blank", ["", " ", "\n\t", "\u00a0\u2003"])
def test_a_blank_text_is_refused_by_number_before_any_request(blank: str) -> None:
    with (
        ScriptedServer() as server,
        pytest.raises(EmbeddingError, match="text 1 is blank"),
    ):
        embedder(server, passage_prefix="passage: ").embed(["gate", blank], "passage")
    assert server.requests == []


def test_texts_arrive_letter_for_letter() -> None:
    texts = ["L’été à 8 h", "日本語", "🙂", 'say "hi" \\ \x01']
    with ScriptedServer(embeddings(*[(1, 0)] * 4)) as server:
        embedder(server).embed(texts, "passage")
    assert server.requests[0].json["input"] == texts


# --- what is answered: the order and the number of vectors ---------------------------------------


def test_vectors_are_ordered_by_index_however_the_server_lists_them() -> None:
    with ScriptedServer(embeddings((1, 0), (2, 0), (3, 0), order=[2, 0, 1])) as server:
        vectors = embedder(server).embed(["a", "b", "c"], "passage")
    assert vectors.tolist() == [[1, 0], [2, 0], [3, 0]]


@pytest.mark.parametrize(
    ("reply", "returned"),
    [
        (items((0, [1, 0])), "[0]"),
        (items((0, [1, 0]), (0, [0, 1])), "[0, 0]"),
        (items((0, [1, 0]), (2, [0, 1])), "[0, 2]"),
        (items((1, [1, 0]), (2, [0, 1])), "[1, 2]"),
        (items((-1, [1, 0]), (0, [0, 1])), "[-1, 0]"),
        (items((0, [1, 0]), (1, [0, 1]), (2, [1, 1])), "[0, 1, 2]"),
        (items((0, [1, 0]), (1, [0, 1]), (1, [0, 1])), "[0, 1, 1]"),
        (items((False, [1, 0]), (True, [0, 1])), "[false, true]"),
        (items((0.0, [1, 0]), (1.0, [0, 1])), "[0.0, 1.0]"),
        (items(), "[]"),
    ],
)
def test_doubled_missing_and_extra_vectors_are_refused(reply: Reply, returned: str) -> None:
    said, requests = refusal(reply, n=2)
    assert said == (
        f"The embedding server at URL was sent 2 texts and returned vectors for {returned}."
    )
    assert requests == 1


# --- what is answered: vectors that mean nothing -------------------------------------------------


def raw(vector: str) -> Reply:
    """A reply whose vector is written as given: JSON as servers write it, legal or not."""
    return Reply(f'{{"object":"list","data":[{{"index":0,"embedding":{vector}}}]}}'.encode())


NAN = "text 0 ('text 0'): the vector holds NaN or infinity."


@pytest.mark.parametrize(
    ("vector", "said"),
    [
        ("[NaN, 1]", NAN),
        ("[1, Infinity]", NAN),
        ("[1, -Infinity]", NAN),
        ("[1, 1e999]", NAN),
        ("[1, 1e39]", NAN),
        ("[0, 0]", "text 0 ('text 0'): the vector is zero."),
        ("[0.0, -0.0]", "text 0 ('text 0'): the vector is zero."),
        ("[1e-60, 0]", "text 0 ('text 0'): the vector is zero."),
        ("[1]", "text 0 ('text 0'): expected 2 dimensions, got 1."),
        ("[1, 2, 3]", "text 0 ('text 0'): expected 2 dimensions, got 3."),
        ("[]", "text 0 ('text 0'): expected 2 dimensions, got 0."),
    ],
)
def test_a_vector_that_means_nothing_is_refused_naming_its_text(vector: str, said: str) -> None:
    assert refusal(raw(vector)) == (said, 1)


def test_the_text_is_named_by_its_number_among_all_and_later_batches_are_not_asked_for() -> None:
    good = embeddings(*[(1, 0)] * 16)
    bad = embeddings((1, 0), (0, 0), *[(1, 0)] * 14)
    assert refusal(good, bad, n=48) == ("text 17 ('text 17'): the vector is zero.", 2)


def test_a_batch_of_another_dimension_than_the_first_is_refused_naming_its_text() -> None:
    assert refusal(embeddings(*[(1, 0)] * 16), embeddings((1, 2, 3)), n=17) == (
        "text 16 ('text 16'): expected 2 dimensions, got 3.",
        2,
    )


WHERE = "The embedding server at URL "


@pytest.mark.parametrize(
    "vector",
    ['["1", 2]', "[null, 1]", "[[1, 2]]", "[{}, 1]", "null", "5", '"AACAPwAAAAA="'],
)
def test_values_that_are_no_numbers_are_refused_and_not_converted(vector: str) -> None:
    said = f"{WHERE}sent vectors that are not lists of numbers: [{vector}]."
    assert refusal(raw(vector)) == (said, 1)


def test_rows_of_different_lengths_in_one_batch_are_refused() -> None:
    said = f"{WHERE}sent vectors that are not lists of numbers: [[1, 0], [1]]."
    assert refusal(items((0, [1, 0]), (1, [1])), n=2) == (said, 1)


NO_LIST = "sent no list of vectors with their index: "


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"", "sent no JSON: nothing at all."),
        (b"<html>\n <p>Sign in</p></html>", "sent no JSON: <html> <p>Sign in</p></html>."),
        (b"\x1b[2J\xff", "sent no JSON: [2J\ufffd."),
        (b'{"data": [{"index": 0, "embedding": [1', 'sent no JSON: {"data": [{"index": 0, '),
        (b"[" * 100_000, f"sent no JSON: {'[' * 300}…."),
        (b'{"data": [1' + b"0" * 5000 + b"]}", "sent no JSON: "),
        (b"null", f"{NO_LIST}null."),
        (b"[[0.1, 0.2]]", f"{NO_LIST}[[0.1, 0.2]]."),
        (b"{}", f"{NO_LIST}{{}}."),
        (b'{"data": null}', f'{NO_LIST}{{"data": null}}.'),
        (b'{"data": ["a"]}', f'{NO_LIST}{{"data": ["a"]}}.'),
        (b'{"data": [{"embedding": [1, 0]}]}', f'{NO_LIST}{{"data": [{{"embedding": [1, 0]}}]}}.'),
        (b'{"error": "the-secret-key"}', f'{NO_LIST}{{"error": "[key]"}}.'),
        (
            b'{"data": [{"index": 0, "embedding": [1' + b"0" * 400 + b", 1]}]}",
            "sent vectors that are not lists of numbers: [[1000",
        ),
    ],
    ids=lambda value: repr(value[:24]),
)
@pytest.mark.parametrize("content_type", ["application/json", "text/html"])
def test_a_reply_that_is_no_embedding_reply_is_shown_in_part(
    body: bytes, said: str, content_type: str
) -> None:
    found, requests = refusal(Reply(body, content_type=content_type))
    assert found.startswith(WHERE + said)
    assert len(found) < 450
    assert requests == 1


# --- statuses, time-outs, broken connections -----------------------------------------------------


@pytest.mark.parametrize("code", [401, 403, 404, 405, 415])
def test_a_refusal_that_no_text_causes_is_reported_at_once(code: int) -> None:
    said, requests = refusal(status(code, f"Incorrect key: {KEY}"))
    assert f"answered {code}: Incorrect key: [key]." in said
    assert ("LABKIT_EMBEDDING_API_KEY" in said) == (code == 401)
    assert requests == 1


@pytest.mark.parametrize("code", [500, 502, 503, 529])
def test_a_server_error_is_tried_again_within_a_bound_and_then_reported(code: int) -> None:
    said, requests = refusal(then=status(code))
    assert said == f"{WHERE}answered {code}: no."
    assert requests == TRIES == 3


@pytest.mark.parametrize("code", [301, 302, 307, 308])
def test_a_redirect_is_not_followed(code: int) -> None:
    """A server could have texts and passages sent to any other address."""
    with ScriptedServer() as other:
        away = Reply(b"", code, headers={"location": f"{other.url}/embeddings"})
        said, requests = refusal(away)
        assert other.requests == []
    assert said.startswith(f"{WHERE}answered {code}: go to 'http://127.0.0.1:")
    assert requests == 1


def test_a_server_that_asks_for_patience_gets_no_more_than_the_time_out() -> None:
    patient = status(503, "in an hour", headers={"retry-after": "3600"})
    assert refusal(patient, timeout=5) == (f"{WHERE}answered 503: in an hour.", 1)
    soon = status(503, "soon", headers={"retry-after": "0.01"})
    assert refusal(then=soon, timeout=5)[1] == TRIES


# --- texts that a server refuses -----------------------------------------------------------------


def refusing(*words: str, code: int = 400) -> Step:
    """A server that refuses every batch in which one of the words stands."""

    def step(request: Request) -> Reply:
        if any(word in text for text in request.json["input"] for word in words):
            return status(code, f"input is too long for {KEY}")
        return embeddings(*[(1, 0)] * len(request.json["input"]))

    return step


@pytest.mark.parametrize("code", [400, 413, 422])
@pytest.mark.parametrize("bad", [{0}, {6}, {3, 4}, {0, 1, 2, 3, 4, 5}])
def test_the_texts_at_fault_are_named_and_all_of_them(code: int, bad: Collection[int]) -> None:
    texts = [("bad" if n in bad else "good") + f" {n}" for n in range(7)]
    with (
        ScriptedServer(then=refusing("bad", code=code)) as server,
        pytest.raises(TextRefused) as refused,
    ):
        embedder(server, batch_size=4).embed(texts, "passage")
    said = f"The embedding server at {server.url} answered {code}: input is too long for [key]."
    assert refused.value.problems == dict.fromkeys(bad, f"was refused: {said}")
    assert str(refused.value).startswith(f"text {min(bad)} was refused: The embedding server")


def test_a_batch_that_is_too_large_only_as_a_whole_is_sent_in_parts() -> None:
    def at_most_two(request: Request) -> Reply:
        return letters(request) if len(request.json["input"]) < 3 else status(413, "too much")

    with ScriptedServer(then=at_most_two) as server:
        found = embedder(server).embed(list("ABCDEFG"), "passage")
    assert "".join(map(chr, found[:, 0].astype(int))) == "ABCDEFG"


def test_a_server_that_refuses_every_text_is_at_fault_itself() -> None:
    """A mistyped model is answered with 400 by some: no document of the user's is to blame."""
    said, requests = refusal(then=status(400, "model 'toy' not found"), n=1)
    assert said == f"{WHERE}answered 400: model 'toy' not found."
    assert requests == 2


@pytest.mark.parametrize("code", [408, 409, 429])
def test_busy_and_conflict_are_tried_again_though_they_are_4xx(code: int) -> None:
    assert refusal(then=status(code))[1] == TRIES


@pytest.mark.parametrize(
    "first",
    [
        status(500),
        hang_up(),
        cut(embeddings((1, 0)), 10),
        late(embeddings((9, 9)), 5),
        drip(embeddings((9, 9)), 1, 0.1),
    ],
    ids=["500", "hang up", "cut", "late", "drip"],
)
def test_the_next_try_answers(first: Reply) -> None:
    with ScriptedServer(first, embeddings((1, 0))) as server:
        vectors = embedder(server, timeout=0.5).embed(["text"], "query")
    assert vectors.tolist() == [[1, 0]]
    assert len(server.requests) == 2
    assert server.requests[0].json == server.requests[1].json


@pytest.mark.parametrize(
    "reply",
    [
        late(embeddings((1, 0)), 60),
        drip(embeddings((1, 0)), 1, 0.05),
        drip(embeddings((1, 0)), 100, 60),
        drip_headers(0.05),
    ],
    ids=["no byte", "a byte at a time", "stops in the middle", "headers without end"],
)
def test_a_reply_that_is_not_whole_by_the_deadline_is_cut_off_and_reported(reply: Reply) -> None:
    """None of these would end within a minute, whatever the time between two bytes."""
    said, requests = refusal(then=reply, timeout=0.3)
    assert said == "The embedding server at URL sent no whole reply in 0.3 s."
    assert requests == TRIES


def test_a_reply_in_many_pieces_that_arrives_in_time_is_whole() -> None:
    """A sign of several bytes that is cut between two writes is still one sign."""
    reply = json_reply({"model": "é🙂", "data": [{"index": 0, "embedding": [1, 0]}]})
    assert "🙂".encode() in reply.body
    with ScriptedServer(drip(reply, 1, 0.001)) as server:
        assert embedder(server).embed(["text"], "query").tolist() == [[1, 0]]


@pytest.mark.parametrize("reply", [hang_up(), cut(embeddings((1, 0)), 10)])
def test_a_connection_that_closes_early_is_tried_again_and_then_reported(reply: Reply) -> None:
    said, requests = refusal(then=reply)
    assert said == "The embedding server at URL cannot be reached. Is it running?"
    assert requests == TRIES


def test_a_server_that_is_not_there_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    nobody = HttpEmbedder(f"http://127.0.0.1:{port}/v1", "toy", 2, api_key=KEY)
    with pytest.raises(EmbeddingError) as refused:
        nobody.embed(["text"], "query")
    assert str(refused.value) == (
        f"The embedding server at http://127.0.0.1:{port}/v1 cannot be reached. Is it running?"
    )


def test_nothing_is_asked_again_after_a_batch_failed() -> None:
    assert refusal(embeddings(*[(1, 0)] * 16), status(404), n=48)[1] == 2


@pytest.mark.parametrize("address", ["", "localhost", "127.0.0.1:9/v1", "ftp://host/v1", "http://"])
def test_an_address_that_is_none_is_said_to_be_none(address: str) -> None:
    with pytest.raises(EmbeddingError, match="the address has to be like http://"):
        HttpEmbedder(address, "toy", 2).embed(["text"], "query")


def test_it_works_where_a_loop_is_running_as_in_a_notebook() -> None:
    async def cell() -> None:
        with ScriptedServer(embeddings((1, 0))) as server:
            assert embedder(server).embed(["text"], "query").tolist() == [[1, 0]]

    asyncio.run(cell())


# --- size ----------------------------------------------------------------------------------------


def test_a_huge_reply_is_cut_off_and_not_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labkit.model_server, "MAX_REPLY_BYTES", 10_000)
    huge = replace(embeddings((1, 0)), body=b" " * 5_000_000, piece=4096)
    assert refusal(huge) == (
        "The embedding server at URL was cut off: its reply is over 10,000 bytes.",
        1,
    )


def test_a_small_reply_that_unpacks_to_a_huge_one_is_not_unpacked() -> None:
    packed = Reply(gzip.compress(b" " * 50_000_000), headers={"content-encoding": "gzip"})
    with ScriptedServer(packed) as server:
        with pytest.raises(EmbeddingError, match="sent no JSON"):
            embedder(server).embed(["text"], "query")
        assert server.requests[0].headers["accept-encoding"] == "identity"


# --- one embedder for many threads, health -------------------------------------------------------


def test_threads_share_an_embedder_each_under_its_own_deadline() -> None:
    """Three fast requests begin while a slow one is waiting: they must not stretch its deadline."""
    with ScriptedServer(then=slow_for_z) as server:
        shared = embedder(server, timeout=0.5)
        outcomes: dict[str, object] = {}
        threads = [threading.Thread(target=record, args=(shared, t, outcomes)) for t in "zabc"]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert (
        outcomes.pop("z") == f"The embedding server at {server.url} sent no whole reply in 0.5 s."
    )
    assert outcomes == {"a": [[97, 1]], "b": [[98, 1]], "c": [[99, 1]]}


def slow_for_z(request: Request) -> Reply:
    return late(letters(request), 30 if request.json["input"] == ["z"] else 0)


def record(shared: HttpEmbedder, text: str, outcomes: dict[str, object]) -> None:
    try:
        outcomes[text] = shared.embed([text], "query").tolist()
    except EmbeddingError as error:
        outcomes[text] = str(error)


def test_health_says_whether_the_server_embeds_right_now() -> None:
    with ScriptedServer(embeddings((1, 0)), status(404, KEY)) as server:
        both = embedder(server)
        assert both.health() == Health(True, detail={"model": "toy"})
        assert both.health() == Health(
            False, f"The embedding server at {server.url} answered 404: [key]."
        )


def test_no_error_of_any_kind_shows_the_key_nor_the_whole_text() -> None:
    """`refusal` looks for the key in every error text of this file; the long text is here."""
    long = "A confidential sentence that goes on and on, and should not fill a log. " * 20
    with ScriptedServer(embeddings((0, 0))) as server, pytest.raises(EmbeddingError) as refused:
        embedder(server).embed([long], "passage")
    assert str(refused.value) == (
        "text 0 ('A confidential sentence that goes on and'): the vector is zero."
    )
