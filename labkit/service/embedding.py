"""The embedding service: one model, loaded once, for whoever may reach it.

    GET  /health         →  {"status", "model", "dim", "window", "identity", …}
    POST /v1/embeddings  →  as OpenAI's; besides "input_type": "query" or "passage", "truncate"
    POST /embed          {"type": "query" or "passage", "texts"}  →  {"model", "dim", "vectors"}
    GET  /docs, /openapi.json

It keeps nothing between requests, and writes neither a text nor a token anywhere.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations below as they run.

import base64
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Annotated, Any, Literal

import numpy as np
import psutil
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model

from labkit.embedding.checks import READABLE, TextInPieces, TextRefused, TextTooLong
from labkit.service.application import add_reference, make_app
from labkit.service.errors import Problem, fault, problem_of, responses
from labkit.service.queueing import Busy, WorkQueue
from labkit.service.server import Hosts, Limits
from labkit.types import Embedder, Role

PIECE = 8  # texts between two looks at the clock and at the client


class HealthReply(BaseModel):
    """What is served, by whom, and how much memory it takes."""

    status: Literal["ok", "failing"]
    model: str
    dim: int
    window: int | None = Field(description="Tokens the model reads of one text.")
    memory_bytes: int = Field(description="Memory that this process holds.")
    identity: dict[str, Any] = Field(description="All that makes the vector space.")


class VectorItem(BaseModel):
    """One vector: a list of numbers, or their float32 bytes, little-endian, in base64."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class TooLong(BaseModel):
    """A text of which the model did not read every token at once; `in_pieces`: it read all of them,
    and the vector is a mean."""

    index: int
    tokens: int
    limit: int
    in_pieces: bool


class EmbeddingsReply(BaseModel):
    """Vectors in the order of the texts."""

    object: Literal["list"] = "list"
    model: str
    data: list[VectorItem]
    too_long: list[TooLong]


class EmbedReply(BaseModel):
    """One vector a text, in the order of the texts."""

    model: str
    dim: int
    vectors: list[list[float]]


def embedding_app(
    embedder: Embedder, limits: Limits | None = None, token: str = "", hosts: Hosts | None = None
) -> FastAPI:
    """The service as an ASGI application; with a token, every page of it asks for the token.

    The model is loaded here, once; EmbeddingError says why it cannot be.
    """
    limits = limits or Limits()
    embedder.embed(["ready"], "query")
    app = make_app("labkit embedding service", __doc__ or "", limits, hosts or Hosts(), token)
    _add_health(app, embedder)
    _add_embed(app, _Service(embedder, limits), limits)
    add_reference(app, "/docs")
    return app


@dataclass
class _Embedded:
    """Vectors as rows, one a text, and the warnings of texts that the model did not read whole, by
    number."""

    rows: list[list[float]] = field(default_factory=list)
    too_long: dict[int, TextTooLong] = field(default_factory=dict)


class _Service:
    """A model and the queue before its one thread.

    A request is given up, between two pieces, when its time is over or its client has left, so
    that a client's next try does not wait behind its own last one.
    """

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self.identity = embedder.identity
        self._embedder, self._limits, self._queue = embedder, limits, WorkQueue(limits)

    async def embed(
        self, texts: Sequence[str], role: Role, truncate: bool, request: Request
    ) -> _Embedded | Problem:
        """A vector for each text. Without `truncate`, one that the model cannot read whole is
        refused: half a text is never served to a client that does not know."""
        found = _Embedded()
        try:
            async with self._queue.slot() as in_thread:
                for start in range(0, len(texts), PIECE):
                    if await request.is_disconnected():
                        return Problem("left")
                    piece = texts[start : start + PIECE]
                    part = await in_thread(partial(self._piece, piece, role, truncate, start))
                    found.rows += part.rows
                    found.too_long |= part.too_long
        except TimeoutError:
            seconds = f"{self._limits.seconds:g} seconds"
            return Problem("late", f"Not done within {seconds}. Send fewer texts.")
        except (TextRefused, Busy) as error:
            return problem_of(error, str)
        except Exception as error:
            fault(error)
            return Problem("fault", "The model failed on these texts.")
        return found

    def _piece(self, texts: Sequence[str], role: Role, truncate: bool, first: int) -> _Embedded:
        """A piece whose first text is number `first` of its request."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always" if truncate else "error", TextTooLong)
                rows = self._embedder.embed(texts, role).tolist()
        except TextTooLong as long:
            problem = f"has {long.tokens} tokens; the model reads {long.limit} at once. Cut it."
            raise TextRefused({first + list(texts).index(long.text): problem}) from long
        except TextRefused as refused:
            problems = {first + number: said for number, said in refused.problems.items()}
            raise TextRefused(problems) from refused
        too_long = {w.message.text: w.message for w in caught if isinstance(w.message, TextTooLong)}
        numbered = enumerate(texts, first)
        return _Embedded(rows, {n: too_long[text] for n, text in numbered if text in too_long})


def _add_health(app: FastAPI, embedder: Embedder) -> None:
    @app.get("/health", responses={503: {"model": HealthReply, "description": "It cannot work."}})
    async def health() -> JSONResponse:
        identity, ok = embedder.identity, embedder.health().ok
        reply = HealthReply(
            status="ok" if ok else "failing",
            model=identity.model,
            dim=identity.dimension,
            window=getattr(embedder, "window", None),
            memory_bytes=psutil.Process().memory_info().rss,
            identity=asdict(identity),
        )
        return JSONResponse(reply.model_dump(), 200 if ok else 503)

    _ = health


def _add_embed(app: FastAPI, service: _Service, limits: Limits) -> None:
    openai_body: Any
    plain_body: Any
    openai_body, plain_body = _bodies(limits)
    identity = service.identity

    @app.post(
        "/v1/embeddings",
        response_model=EmbeddingsReply,
        responses=responses(400, 401, 403, 404, 408, 413, 422, 500, 503),
    )
    async def embeddings(body: openai_body, request: Request) -> Any:
        """Vectors, as an OpenAI-compatible client asks for them."""
        if body.model not in ("", identity.model):
            return Problem("other_model", f"This service runs the model {identity.model}.").reply()
        found = await service.embed(body.input, body.input_type, body.truncate, request)
        if isinstance(found, Problem):
            return found.reply()
        items = [
            VectorItem(index=n, embedding=_written(row, body.encoding_format))
            for n, row in enumerate(found.rows)
        ]
        too_long = [_too_long(number, long) for number, long in found.too_long.items()]
        return EmbeddingsReply(model=identity.model, data=items, too_long=too_long)

    @app.post(
        "/embed",
        response_model=EmbedReply,
        responses=responses(400, 401, 403, 408, 413, 422, 500, 503),
    )
    async def embed(body: plain_body, request: Request) -> Any:
        """Vectors, for a client that needs no more than them. A text too long is refused."""
        found = await service.embed(body.texts, body.type, False, request)
        if isinstance(found, Problem):
            return found.reply()
        return EmbedReply(model=identity.model, dim=identity.dimension, vectors=found.rows)

    _ = embeddings, embed


def _bodies(limits: Limits) -> tuple[type[BaseModel], type[BaseModel]]:
    """The bodies of the two requests, with these limits in their schemas."""
    text = Annotated[str, Field(min_length=1, max_length=limits.characters, pattern=READABLE)]
    texts = Annotated[list[text], Field(min_length=1, max_length=limits.texts)]
    strict = ConfigDict(extra="forbid", strict=True)
    openai: dict[str, Any] = {
        "model": (str, ""),
        "input": (Annotated[texts, BeforeValidator(_as_list)], ...),
        "input_type": (Role, "passage"),
        "truncate": (bool, False),
        "encoding_format": (Literal["float", "base64"], "float"),
        "user": (str | None, None),
    }
    plain: dict[str, Any] = {"type": (Role, ...), "texts": (texts, ...)}
    return (
        create_model("EmbeddingsRequest", __config__=strict, **openai),
        create_model("EmbedRequest", __config__=strict, **plain),
    )


def _as_list(texts: Any) -> Any:
    """OpenAI's clients may send a single text bare."""
    return [texts] if isinstance(texts, str) else texts


def _written(row: list[float], encoding: str) -> list[float] | str:
    if encoding == "float":
        return row
    return base64.b64encode(np.asarray(row, dtype="<f4").tobytes()).decode()


def _too_long(number: int, long: TextTooLong) -> TooLong:
    in_pieces = isinstance(long, TextInPieces)
    return TooLong(index=number, tokens=long.tokens, limit=long.limit, in_pieces=in_pieces)
