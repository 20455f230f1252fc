"""The embedding service: one model, loaded once, for whoever may reach it.

    GET  /health  →  {"status", "model", "dim", …}
    POST /embed   {"type": "query" | "passage", "texts": […]}  →  {"model", "dim", "vectors"}
    GET  /docs, /openapi.json

It keeps nothing between requests, and writes neither a text nor a token anywhere.
"""

# No `from __future__ import annotations`: FastAPI reads the annotations below as they run.

import logging
from dataclasses import asdict
from typing import Annotated, Any, Literal

import psutil
from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse
from fastapi.security import HTTPBearer
from pydantic import BaseModel, ConfigDict, Field, create_model

from labkit import __version__
from labkit.embedding.checks import TextRefused
from labkit.service.guard import Guard
from labkit.service.limits import Limits
from labkit.service.line import Busy, Left, ModelLine
from labkit.service.page import openapi_page
from labkit.types import Embedder, Role

# Something to read (a joiner, a mark of direction or an accent alone is nothing), and no NUL, at
# which engines written in C would stop.
_UNSEEN = (
    r"\s\x00-\x1f\u00ad\u0300-\u036f\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff"
)
READABLE = rf"^[^\x00]*[^{_UNSEEN}][^\x00]*$"
CLIENT_LEFT = 499
_log = logging.getLogger("labkit.service")


class HealthReply(BaseModel):
    """What is served, by whom, and how much memory it takes."""

    status: Literal["ok", "failing"]
    model: str
    dim: int
    window: int | None = Field(description="Tokens the model reads of one text.")
    memory_bytes: int = Field(description="Memory that this process holds.")
    identity: dict[str, Any] = Field(description="All that makes the vector space.")


class EmbedReply(BaseModel):
    """One vector a text, in the order of the texts."""

    model: str
    dim: int
    vectors: list[list[float]]


class Problem(BaseModel):
    """Why there is no answer; `text` is the number, from 0, of the text at fault."""

    detail: str
    text: int | None = None


_PROBLEMS: dict[int | str, dict[str, Any]] = {
    400: {"model": Problem, "description": "The request is not in UTF-8."},
    401: {"model": Problem, "description": "The token is missing or wrong."},
    408: {"model": Problem, "description": "The request took too long to arrive."},
    413: {"model": Problem, "description": "The request is too large."},
    422: {"model": Problem, "description": "The texts cannot be embedded; `text` says which."},
    500: {"model": Problem, "description": "The model failed."},
    503: {"model": Problem, "description": "Too many requests wait, or this one took too long."},
}


def embedding_app(embedder: Embedder, limits: Limits | None = None, token: str = "") -> FastAPI:
    """The service as an ASGI application; with a token, every page of it asks for the token.

    The model is loaded here, once; EmbeddingError says why it cannot be.
    """
    limits = limits or Limits()
    embedder.embed(["ready"], "query")
    app = FastAPI(
        title="labkit embedding service",
        description=__doc__,
        version=__version__,
        docs_url=None,  # FastAPI's own page loads its scripts from the network
        redoc_url=None,
        responses={status: _PROBLEMS[status] for status in (401,)},
        dependencies=[Security(HTTPBearer(auto_error=False))] if token else [],
    )
    _add_health(app, embedder)
    _add_embed(app, embedder, limits)
    app.add_exception_handler(RequestValidationError, _invalid)

    @app.get("/docs", include_in_schema=False)
    async def docs() -> HTMLResponse:
        return openapi_page(app.openapi())

    app.add_middleware(Guard, limits=limits, token=token)
    return app


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


def _add_embed(app: FastAPI, embedder: Embedder, limits: Limits) -> None:
    body_model: Any = _request_model(limits)
    line = ModelLine(embedder, limits)

    @app.post("/embed", response_model=EmbedReply, responses=_PROBLEMS)
    async def embed(body: body_model, request: Request) -> Any:
        try:
            vectors = await line.embed(body.texts, body.type, request.is_disconnected)
        except TextRefused as error:
            return _problem(422, str(error), error.number)
        except Busy:
            return _problem(503, "Too many requests are waiting. Try again later.")
        except TimeoutError:
            return _problem(503, f"Not done within {limits.seconds:g} seconds. Send fewer texts.")
        except Left:
            return _problem(CLIENT_LEFT, "The client has left.")
        except Exception as error:
            _log.error("The model failed: %s", type(error).__name__)  # its words may hold a text
            return _problem(500, "The model failed on these texts.")
        identity = embedder.identity
        return EmbedReply(model=identity.model, dim=identity.dimension, vectors=vectors)

    _ = embed


def _request_model(limits: Limits) -> type[BaseModel]:
    """The body of a request, with these limits in its schema."""
    text = Annotated[str, Field(min_length=1, max_length=limits.characters, pattern=READABLE)]
    texts = Field(min_length=1, max_length=limits.texts)
    return create_model(
        "EmbedRequest",
        __config__=ConfigDict(extra="forbid", strict=True),
        type=(Role, ...),
        texts=(Annotated[list[text], texts], ...),
    )


def _problem(status: int, detail: str, text: int | None = None) -> JSONResponse:
    return JSONResponse(Problem(detail=detail, text=text).model_dump(exclude_none=True), status)


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    """422 in our words: the library's would repeat the texts."""
    assert isinstance(error, RequestValidationError)
    first = error.errors()[0]
    place = [part for part in first["loc"] if part != "body"]
    number = place[1] if len(place) > 1 and place[0] == "texts" else None
    what = f"text {number}" if isinstance(number, int) else ".".join(map(str, place)) or "the body"
    problem = _PLAIN.get(first["type"], first["msg"])
    bounds = {key: value for key, value in first.get("ctx", {}).items() if key != "error"}
    return _problem(422, f"{what} {problem.format(**bounds)}", number)


_PLAIN = {
    "missing": "is missing",
    "extra_forbidden": "is not known here; send type and texts",
    "json_invalid": "is no JSON",
    "literal_error": "must be {expected}",
    "list_type": "must be a list of texts",
    "string_type": "must be a string",
    "string_unicode": "holds half a surrogate pair, which is no character",
    "string_too_short": "is empty",
    "string_too_long": "is longer than {max_length} characters",
    "string_pattern_mismatch": "is blank or holds a NUL character",
    "too_short": "is empty; send at least one text",
    "too_long": "holds more than {max_length} texts; send them in batches",
    "model_attributes_type": "must be a JSON object with type and texts",
}
