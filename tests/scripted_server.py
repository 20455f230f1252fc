"""A small model server for tests: it answers on loopback exactly what a test has scripted.

It speaks enough of OpenAI's HTTP interface for `/v1/embeddings` and `/v1/chat/completions`. Every
request is recorded and gets the next reply of the script:

    with ScriptedServer(status(500), embeddings([1, 0])) as server:
        HttpEmbedder(server.url, "m", 2).embed(["text"], "query")
    assert len(server.requests) == 2
    assert server.requests[1].json["input"] == ["text"]

A step of the script is a `Reply`, or a function `Request -> Reply` for answers that depend on what
was asked. The last argument `then=` is the step for all requests after the script; without it they
get 418, which no client tries again, so a request too many shows in `server.requests` and as an
error.

Ways to answer:

    embeddings([1, 0], [0, 1])          a correct embedding reply, one vector a text
    chat('{"can_answer": false}')       a correct chat reply with this content
    tool_call("retrieve_knowledge")     a chat reply in which the model calls a tool
    json_reply({...}), Reply(b"...")    any JSON value; any bytes
    status(429)                         an error status with OpenAI's error body
    late(reply, seconds)                nothing at all for some seconds, then the reply
    drip(reply, size, pause)            the body in pieces of `size` bytes (cuts UTF-8 where it may)
    cut(reply, size)                    the connection closes after `size` bytes of the body
    hang_up()                           the connection closes without a byte
    drip_headers(pause)                 a status line, then one more header line every `pause`

Leaving the `with` block ends every pause at once.
"""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, TypeAlias


@dataclass(frozen=True)
class Request:
    """A request as it arrived. Names of headers are in lower case."""

    path: str
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Reply:
    """One scripted answer: `body`, and how it reaches the client."""

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    content_type: str = "application/json"
    delay: float = 0.0
    """Seconds before the first byte."""
    piece: int = 0
    """Bytes a write; 0 writes the body at once."""
    pause: float = 0.0
    """Seconds between two pieces."""
    close_after: int | None = None
    """Bytes of the body after which the connection closes, though more were announced."""
    silent: bool = False
    """Close the connection without any byte."""
    endless_headers: bool = False
    """Never come to the body: a header line every `pause` seconds."""


Step: TypeAlias = Reply | Callable[[Request], Reply]


class ScriptedServer:
    """Serves a script in threads; `url` ends in `/v1`; `requests` holds what arrived."""

    def __init__(self, *script: Step, then: Step | None = None) -> None:
        self.requests: list[Request] = []
        self._script = list(script)
        self._then = then
        self._lock = threading.Lock()
        self.closing = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
        self._server.daemon_threads = True
        self._server.script = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> ScriptedServer:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def next_reply(self, request: Request) -> Reply:
        with self._lock:
            turn = len(self.requests)
            self.requests.append(request)
        step = self._script[turn] if turn < len(self._script) else self._then
        if step is None:
            return status(418, "the script has no reply left")
        return step if isinstance(step, Reply) else step(request)


# --- replies -------------------------------------------------------------------------------------


def json_reply(value: Any, status: int = 200) -> Reply:
    return Reply(json.dumps(value, ensure_ascii=False).encode(), status)


def status(code: int, message: str = "no", *, headers: Mapping[str, str] | None = None) -> Reply:
    body = {"error": {"message": message, "type": "scripted", "param": None, "code": None}}
    return replace(json_reply(body, code), headers=headers or {})


def embeddings(*vectors: Sequence[float], order: Sequence[int] | None = None) -> Reply:
    """A vector a text; `order` lists the items of the reply by their `index`."""
    return items(*((index, vectors[index]) for index in order or range(len(vectors))))


def items(*pairs: tuple[Any, Any]) -> Reply:
    """An embedding reply of (index, vector) pairs, right or wrong, in the order given."""
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in pairs]
    return json_reply(
        {
            "object": "list",
            "model": "scripted",
            "data": data,
            "usage": {"prompt_tokens": 0, "total_tokens": 0},
        }
    )


def chat(content: str | None, finish_reason: str = "stop", **message: Any) -> Reply:
    """A chat reply with one choice; further words are fields of its message."""
    return json_reply(
        {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": "scripted",
            "choices": [
                {
                    "index": 0,
                    "finish_reason": finish_reason,
                    "message": {"role": "assistant", "content": content, **message},
                }
            ],
            "usage": {"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0},
        }
    )


def tool_call(name: str, arguments: str = "{}", identifier: str = "call-1") -> Reply:
    function = {"name": name, "arguments": arguments}
    return chat(
        None,
        "tool_calls",
        tool_calls=[{"id": identifier, "type": "function", "function": function}],
    )


def late(reply: Reply, seconds: float) -> Reply:
    return replace(reply, delay=seconds)


def drip(reply: Reply, size: int, pause: float) -> Reply:
    return replace(reply, piece=size, pause=pause)


def cut(reply: Reply, size: int) -> Reply:
    return replace(reply, close_after=size)


def hang_up() -> Reply:
    return Reply(b"", silent=True)


def drip_headers(pause: float) -> Reply:
    return Reply(b"", pause=pause, endless_headers=True)


# --- the wire ------------------------------------------------------------------------------------


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # every write reaches the client as a piece of its own

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, self.rfile.read(size))
        script: ScriptedServer = self.server.script  # type: ignore[attr-defined]
        reply = script.next_reply(request)
        self.close_connection = True
        with contextlib.suppress(OSError):  # the client may have gone: that is its answer
            self._send(reply, script.closing)

    do_GET = do_POST  # noqa: N815 - named by the standard library

    def _send(self, reply: Reply, closing: threading.Event) -> None:
        if reply.delay and closing.wait(reply.delay):
            return
        if reply.silent:
            return
        self.send_response(reply.status)
        if reply.endless_headers:
            self._drip_headers(reply.pause, closing)
            return
        self.send_header("content-type", reply.content_type)
        self.send_header("content-length", str(len(reply.body)))
        self.send_header("connection", "close")
        for name, value in reply.headers.items():
            self.send_header(name, value)
        self.end_headers()
        for piece in _pieces(reply):
            self.wfile.write(piece)
            if reply.pause and closing.wait(reply.pause):
                return

    def _drip_headers(self, pause: float, closing: threading.Event) -> None:
        self.flush_headers()
        while not closing.wait(pause):
            self.wfile.write(b"x-wait: 1\r\n")

    def log_message(self, format: str, *args: Any) -> None:
        """Keep quiet: tests read `requests`."""


def _pieces(reply: Reply) -> Iterator[bytes]:
    body = reply.body if reply.close_after is None else reply.body[: reply.close_after]
    size = reply.piece or max(len(body), 1)
    for start in range(0, len(body), size):
        yield body[start : start + size]
