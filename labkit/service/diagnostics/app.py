"""The diagnostics pages as one ASGI application."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from labkit.service.application import make_app, refuse_in_json
from labkit.service.diagnostics.api import PATH, add_api
from labkit.service.diagnostics.pages import Pages
from labkit.service.diagnostics.session import LabSession
from labkit.service.errors import problem_reply
from labkit.service.rendering import context_of, render_page
from labkit.service.server import Hosts, Limits

if TYPE_CHECKING:
    from starlette.types import Scope, Send

LIMITS = Limits(body_bytes=64_000)
_ABOUT = "Answers with exact quotations from documents, or refuses with a reason."


def diagnostics_app(
    session: LabSession, hosts: Hosts, token: str = "", limits: Limits = LIMITS
) -> FastAPI:
    """The pages and their API; with a token, everything asks for it."""
    app = make_app("labkit diagnostics", _ABOUT, limits, hosts, token, _refuse)
    pages = Pages(session)
    pages.add_to(app)
    add_api(app, session)

    async def wrong_status(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        if _is_api(request.scope):
            return problem_reply(error.status_code, str(error.detail))
        return pages.status(context_of(request), error.status_code)

    app.add_exception_handler(HTTPException, wrong_status)
    return app


async def _refuse(scope: Scope, send: Send, status: int, detail: str) -> None:
    """Refusals before any page: JSON for programs, a bare page for people."""
    if _is_api(scope):
        await refuse_in_json(scope, send, status, detail)
        return
    context = context_of(Request(scope))
    page = render_page("bare.html", context, status=status, detail=detail)
    headers = [(b"content-type", b"text/html; charset=utf-8")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": page.encode()})


def _is_api(scope: Scope) -> bool:
    return bool(scope["path"] in (PATH, "/openapi.json"))
