"""What every request passes before it reaches a service, and the rules that every reply carries."""

from __future__ import annotations

import asyncio
import base64
import logging
import secrets
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException

from labkit.service.server import Hosts, Limits

if TYPE_CHECKING:
    from starlette.responses import Response
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Refuse: TypeAlias = "Callable[[Scope, int, str], Response]"
"""Makes a refusal of the request's scope, a status and a sentence."""

LONGEST_URL = 32_000  # bytes: a question of the greatest length, percent-encoded, and room
HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; form-action 'self'; "
    "frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_CHALLENGES = ('Basic realm="labkit", charset="UTF-8"', "Bearer")
_log = logging.getLogger("labkit.service")


class AccessMiddleware:
    """ASGI middleware, outermost: checks how a request came in, and sets the rules of each reply.

    400 for a foreign Host, 401 without the token, 403 for what a page of another origin sends, 408
    for a body that drips, 413 for one over the size, 414 for a URL too long, 500 for a fault of
    ours; the log gets the name of the fault and no more, as its words may hold a text.

    The token comes as a Bearer, or as the password of HTTP Basic authentication, which a browser
    asks for: there is no cookie and no form to forge. A body is read whole before the service sees
    it, so that none of its parts waits for one.
    """

    def __init__(
        self, app: ASGIApp, limits: Limits, hosts: Hosts, token: str, refuse: Refuse
    ) -> None:
        self._app, self._limits, self._hosts = app, limits, hosts
        self._token, self._refuse = token.encode(), refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        reply = _Reply(send)
        try:
            self._check(scope, Headers(scope=scope))
            body = await self._whole_body(receive)
            await self._app(scope, _replayed(body, receive), reply)
        except HTTPException as refusal:
            told = self._refuse(scope, refusal.status_code, refusal.detail)
            told.headers["connection"] = "close"
            for challenge in _CHALLENGES if refusal.status_code == 401 else ():
                told.headers.append("www-authenticate", challenge)
            await told(scope, receive, reply)
        except Exception as error:
            _log.error("A request failed: %s", type(error).__name__)
            if not reply.begun:
                told = self._refuse(scope, 500, "A fault of ours; the log names it.")
                await told(scope, receive, reply)

    def _check(self, scope: Scope, headers: Headers) -> None:
        """HTTPException for a request that may not come in."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._hosts.admit(hosts[0]):
            raise HTTPException(400, "This server does not go by that name. See --allow-host.")
        if scope["method"] not in ("GET", "HEAD"):
            # A program names no origin; a page's own origin is this host, under http or https.
            origins = headers.getlist("origin")
            if any(origin.partition("://")[2] != hosts[0] for origin in origins):
                raise HTTPException(403, "A page of another origin may not ask here.")
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_URL:
            what = f"The address has over {LONGEST_URL} bytes. Ask a shorter question."
            raise HTTPException(414, what)
        if not self._knows_token(headers.get("authorization", "").encode("latin-1")):
            raise HTTPException(401, "This service wants its token: Authorization: Bearer TOKEN.")

    def _knows_token(self, given: bytes) -> bool:
        """Compared in the same time, however much of a token is right."""
        if not self._token:
            return True
        scheme, _, rest = given.partition(b" ")
        if scheme.lower() == b"basic":
            return secrets.compare_digest(_password(rest), self._token)
        return scheme.lower() == b"bearer" and secrets.compare_digest(rest.strip(), self._token)

    async def _whole_body(self, receive: Receive) -> bytes:
        """The body; HTTPException if it is too large, whatever its header says, or too slow."""
        body = bytearray()
        seconds, most = self._limits.body_seconds, self._limits.body_bytes
        try:
            async with asyncio.timeout(seconds):
                while True:
                    message = await receive()
                    body += message.get("body", b"")
                    if len(body) > most:
                        what = f"The request has over {most} bytes. Send fewer texts."
                        raise HTTPException(413, what)
                    if not message.get("more_body"):
                        return bytes(body)
        except TimeoutError as error:
            what = f"The request did not arrive within {seconds:g} seconds."
            raise HTTPException(408, what) from error


class _Reply:
    """The way out, which puts the rules on a reply and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            MutableHeaders(scope=message).update(HEADERS)
        await self._send(message)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once; then whatever comes, which is the client's leaving."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _password(credentials: bytes) -> bytes:
    """The password in what a browser sends, b"" for what no browser sends.

    >>> _password(base64.b64encode(b"name:a:b"))
    b'a:b'
    """
    try:
        return base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""
