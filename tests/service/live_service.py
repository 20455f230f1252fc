"""A real service on loopback, in a thread of the test: uvicorn, sockets and all."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from http.client import HTTPConnection
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

from builders import ToyEmbedder
from labkit.embedding.checks import TextTooLong
from labkit.service.embedding import embedding_app
from labkit.service.server import Limits, listening_socket, make_server, url_of
from labkit.types import Embedder, EmbeddingError, Matrix, Role

WINDOW = 12
SECRET_WORDS = "words that no log may hold"


class ModelForTests(ToyEmbedder):
    """The toy model with a window of 12 words, a pace, and a fault for texts that ask for it."""

    def __init__(self, seconds: float = 0.0, too_long: type[TextTooLong] = TextTooLong) -> None:
        super().__init__(dimension=4)
        self._too_long = too_long
        self.seconds, self.at_once, self.most_at_once = seconds, 0, 0

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        try:
            return self._embed(texts, role)
        finally:
            self.at_once -= 1

    def _embed(self, texts: Sequence[str], role: Role) -> Matrix:
        import warnings

        for text in texts:
            if "break" in text:
                raise EmbeddingError(f"broken by {text!r}")
            if (tokens := len(text.split())) > WINDOW:
                warnings.warn(self._too_long(text, tokens, WINDOW), stacklevel=2)
        time.sleep(self.seconds)
        rows = super().embed(texts, role)
        rows[:, 0] += 100 if role == "query" else 0
        return rows


class LiveService:
    """The embedding service of a model, as long as the `with` block lasts."""

    def __init__(
        self, model: Embedder | None = None, limits: Limits | None = None, token: str = ""
    ) -> None:
        self.model = model or ModelForTests()
        limits = limits or Limits()
        self._socket = listening_socket("127.0.0.1", 0)
        self.url = url_of(self._socket)
        self._server = make_server(embedding_app(self.model, limits, token), limits)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))

    def __enter__(self) -> LiveService:
        self._thread.start()
        until = time.monotonic() + 30
        while not self._server.started and time.monotonic() < until:
            time.sleep(0.01)
        assert self._server.started
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        self._thread.join()
        self._socket.close()

    def connection(self, timeout: float = 30) -> HTTPConnection:
        parts = urlsplit(self.url)
        return HTTPConnection(parts.hostname or "", parts.port, timeout=timeout)

    def ask(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        """(status, JSON) of one request; bytes are sent as they are, other bodies as JSON."""
        sent = body if isinstance(body, bytes) else json.dumps(body).encode()
        headers.setdefault("content-type", "application/json")
        connection = self.connection()
        connection.request(method, path, None if body is None else sent, headers)
        reply = connection.getresponse()
        content = reply.read()
        connection.close()
        return reply.status, json.loads(content)

    def embed(self, texts: Any, role: Any = "passage", **headers: str) -> tuple[int, Any]:
        return self.ask("POST", "/embed", {"type": role, "texts": texts}, **headers)
