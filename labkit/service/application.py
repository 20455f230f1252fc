"""What the two services have in common as applications: the way in, the errors, the description."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Request, Security
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, Response
from fastapi.security import HTTPBasic, HTTPBearer

from labkit import __version__
from labkit.service.errors import invalid_request
from labkit.service.middleware import AccessMiddleware, Refuse
from labkit.service.rendering import render
from labkit.service.server import Hosts, Limits

if TYPE_CHECKING:
    from starlette.types import Scope

_STYLE = files("labkit.service").joinpath("static/style.css")


def refuse_in_json(_: Scope, status: int, detail: str) -> Response:
    """A refusal in the form that services have for programs."""
    return JSONResponse({"detail": detail}, status)


def make_app(
    title: str,
    description: str,
    limits: Limits,
    hosts: Hosts,
    token: str,
    refuse: Refuse = refuse_in_json,
) -> FastAPI:
    """An application behind the checks of `AccessMiddleware`, with its style and no documentation
    pages of FastAPI's, which load their scripts from the network."""
    app = FastAPI(
        title=title,
        description=description,
        version=__version__,
        docs_url=None,
        redoc_url=None,
        dependencies=_ways_to_send() if token else [],
    )
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_middleware(AccessMiddleware, limits=limits, hosts=hosts, token=token, refuse=refuse)

    async def style() -> Response:
        return Response(_STYLE.read_text("utf-8"), media_type="text/css")

    app.add_api_route("/style.css", style, include_in_schema=False)
    return app


def add_reference(app: FastAPI, path: str) -> None:
    """A page that describes the operations, made from the application's own OpenAPI."""

    async def reference() -> HTMLResponse:
        return HTMLResponse(render("reference.html", spec=app.openapi()))

    app.add_api_route(path, reference, include_in_schema=False)


def _ways_to_send() -> list[Any]:
    """The token as the description shows it; the middleware has checked it before."""
    return [Security(HTTPBearer(auto_error=False)), Security(HTTPBasic(auto_error=False))]


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return invalid_request(error).reply()
