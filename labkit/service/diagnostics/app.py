"""The diagnostics pages as one ASGI application."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI, Security
from fastapi.exceptions import RequestValidationError
from fastapi.security import HTTPBasic, HTTPBearer
from markupsafe import Markup
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from labkit import __version__
from labkit.service.diagnostics.api import PATH, add_api, trouble
from labkit.service.diagnostics.desk import Desk
from labkit.service.diagnostics.door import Door, Hosts
from labkit.service.diagnostics.frame import Renderer, frame_of
from labkit.service.diagnostics.pages import Pages
from labkit.service.guard import Guard, Refuse, refuse_in_json
from labkit.service.limits import Limits
from labkit.service.page import openapi_body

if TYPE_CHECKING:
    from starlette.types import Scope, Send

LIMITS = Limits(body_bytes=64_000)
_ABOUT = "Answers with exact quotations from documents, or refuses with a reason."
_STYLE = files("labkit.service.diagnostics").joinpath("static/style.css")


def diagnostics_app(desk: Desk, hosts: Hosts, token: str = "", limits: Limits = LIMITS) -> FastAPI:
    """The pages and their API; with a token, everything asks for it.

    A browser sends the token as the password of HTTP Basic authentication: there is no cookie and
    no form to forge, and nothing that a request could change. A program sends it as a Bearer.
    """
    app = FastAPI(
        title="labkit diagnostics",
        description=_ABOUT,
        version=__version__,
        docs_url=None,  # FastAPI's own pages load their scripts from the network
        redoc_url=None,
        dependencies=_ways_to_send() if token else [],
    )
    renderer = Renderer()
    pages, refuse = Pages(desk, renderer), _refusing(renderer)
    pages.add_to(app)
    add_api(app, desk)
    _add_reference(app, renderer)
    _add_errors(app, pages)
    app.add_middleware(Guard, limits=limits, token=token, basic=True, refuse=refuse)
    app.add_middleware(Door, hosts=hosts, refuse=refuse)
    return app


def _ways_to_send() -> list[Any]:
    """The token as the description shows it; the guard has checked it before."""
    return [Security(HTTPBearer(auto_error=False)), Security(HTTPBasic(auto_error=False))]


def _add_reference(app: FastAPI, renderer: Renderer) -> None:
    async def reference(request: Request) -> Response:
        described = Markup(openapi_body(app.openapi()))  # noqa: S704 - escaped where it is made
        return renderer.page("api.html", frame_of(request), described=described, problems=[])

    async def style() -> Response:
        return Response(_STYLE.read_text("utf-8"), media_type="text/css")

    app.add_api_route("/api", reference, include_in_schema=False)
    app.add_api_route("/style.css", style, include_in_schema=False)


def _add_errors(app: FastAPI, pages: Pages) -> None:
    """Errors in the form of what was asked for: a page, or JSON."""

    async def wrong_status(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if _is_api(request.scope):
            return trouble(error.status_code, str(error.detail))
        return pages.status(frame_of(request), error.status_code)

    async def invalid(_: Request, error: Exception) -> Response:
        """In our words: the library's would repeat the question."""
        assert isinstance(error, RequestValidationError)
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"] if part != "body") or "the body"
        return trouble(422, f"{place}: {first['msg']}")

    app.add_exception_handler(HTTPException, wrong_status)
    app.add_exception_handler(RequestValidationError, invalid)


def _refusing(renderer: Renderer) -> Refuse:
    """Refusals before any page: JSON for programs, a bare page for people."""

    async def refuse(scope: Scope, send: Send, status: int, detail: str) -> None:
        if _is_api(scope):
            await refuse_in_json(scope, send, status, detail)
            return
        page = renderer.text("bare.html", frame_of(Request(scope)), status=status, detail=detail)
        headers = [(b"content-type", b"text/html; charset=utf-8")]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": page.encode()})

    return refuse


def _is_api(scope: Scope) -> bool:
    return bool(scope["path"] in (PATH, "/openapi.json"))
