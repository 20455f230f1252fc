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
from labkit.service.rendering import context_of, page
from labkit.service.server import Hosts, Limits

if TYPE_CHECKING:
    from starlette.types import Scope

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
            return refuse_in_json(request.scope, error.status_code, str(error.detail))
        return pages.status(context_of(request), error.status_code)

    app.add_exception_handler(HTTPException, wrong_status)
    return app


def _refuse(scope: Scope, status: int, detail: str) -> Response:
    """Refusals before any page: JSON for programs, a bare page for people."""
    if _is_api(scope):
        return refuse_in_json(scope, status, detail)
    return page("bare.html", context_of(Request(scope)), status, detail=detail)


def _is_api(scope: Scope) -> bool:
    return bool(scope["path"] in (PATH, "/openapi.json"))
