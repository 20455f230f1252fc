"""What every request passes before it reaches a service: token, size, and time to arrive."""

from __future__ import annotations

import asyncio
import base64
import json
import secrets
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from labkit.service.limits import Limits

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

Refuse: TypeAlias = "Callable[[Scope, Send, int, str], Awaitable[None]]"
"""Sends a refusal: called with the request's scope, the way out, a status and a sentence."""
BASIC = b'Basic realm="labkit", charset="UTF-8"'


class Guard:
    """ASGI middleware: 401 without the token, 413 over the size, 408 for a body that drips.

    A body is read whole before the service sees it, so that none of its parts waits for one. With
    `basic` the token may also come as the password that a browser asks for, under any name.
    """

    def __init__(
        self,
        app: ASGIApp,
        limits: Limits,
        token: str = "",
        basic: bool = False,
        refuse: Refuse | None = None,
    ) -> None:
        self._app, self._limits, self._basic = app, limits, basic
        self._token = token.encode()
        self._refuse = refuse or refuse_in_json

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        if not self._knows(scope):
            wanted = "This service wants its token: Authorization: Bearer TOKEN."
            await self._refuse(scope, self._challenging(send), 401, wanted)
            return
        try:
            async with asyncio.timeout(self._limits.body_seconds):
                body = await self._whole_body(receive)
        except TimeoutError:
            within = f"{self._limits.body_seconds:g} seconds"
            late = f"The request did not arrive within {within}."
            await self._refuse(scope, _closing(send), 408, late)
            return
        if body is None:
            most = self._limits.body_bytes
            large = f"The request has over {most} bytes. Send fewer texts."
            await self._refuse(scope, _closing(send), 413, large)
            return
        await self._app(scope, _replayed(body, receive), send)

    def _knows(self, scope: Scope) -> bool:
        """Compared in the same time, however much of a token is right."""
        if not self._token:
            return True
        given = dict(scope["headers"]).get(b"authorization", b"")
        scheme, _, rest = given.partition(b" ")
        if self._basic and scheme.lower() == b"basic":
            return secrets.compare_digest(_password(rest), self._token)
        return scheme.lower() == b"bearer" and secrets.compare_digest(rest.strip(), self._token)

    async def _whole_body(self, receive: Receive) -> bytes | None:
        """The body; None if it is too large, whatever its header says."""
        body = bytearray()
        while True:
            message = await receive()
            body += message.get("body", b"")
            if len(body) > self._limits.body_bytes:
                return None
            if not message.get("more_body"):
                return bytes(body)

    def _challenging(self, send: Send) -> Send:
        """The way out, telling how to send the token."""
        ways = [BASIC, b"Bearer"] if self._basic else [b"Bearer"]
        return _with_headers(_closing(send), [(b"www-authenticate", way) for way in ways])


def _password(credentials: bytes) -> bytes:
    """The password in what a browser sends, b"" for what no browser sends.

    >>> _password(base64.b64encode(b"name:a:b"))
    b'a:b'
    """
    try:
        return base64.b64decode(credentials.strip(), validate=True).partition(b":")[2]
    except ValueError:
        return b""


def _replayed(body: bytes, receive: Receive) -> Receive:
    """The body once; then whatever comes, which is the client's leaving."""
    messages: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Message:
        return messages.pop() if messages else await receive()

    return replayed


def _closing(send: Send) -> Send:
    """The way out, after which the connection closes."""
    return _with_headers(send, [(b"connection", b"close")])


def _with_headers(send: Send, headers: list[tuple[bytes, bytes]]) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            message = {**message, "headers": [*message.get("headers", []), *headers]}
        await send(message)

    return sending


async def refuse_in_json(_: Scope, send: Send, status: int, detail: str) -> None:
    """A refusal in the form that services have for programs."""
    headers: list[Any] = [(b"content-type", b"application/json")]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": json.dumps({"detail": detail}).encode()})
