"""The way in and out of the pages: by which name, from where, and under which rules."""

from __future__ import annotations

import ipaddress
import logging
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.service.address import is_loopback
from labkit.service.guard import Refuse

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

LONGEST_URL = 32_000  # bytes: a question of the greatest length, percent-encoded, and room
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]/@\s]+))(?::\d{1,5})?")
_log = logging.getLogger("labkit.service")

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


@dataclass(frozen=True)
class Hosts:
    """The names under which a server may be called.

    A page of somebody else may let its own name point here (DNS rebinding), and a browser would
    then read this server's pages for it. The Host header still says that name.
    """

    names: frozenset[str]
    addresses: bool = False
    """May it be called by any IP address? Nobody can make another machine's address lead here."""

    def admit(self, header: str) -> bool:
        """Is this Host header one that this server answers to?

        >>> [Hosts(frozenset()).admit(h) for h in ("localhost:8200", "[::1]:1", "evil.example")]
        [True, True, False]
        """
        found = _HOST.fullmatch(header)
        if found is None:
            return False
        name = (found["v6"] or found["name"]).rstrip(".").lower()
        if is_loopback(name) or name in self.names:
            return True
        return self.addresses and _is_address(name)


def hosts_for(host: str, named: Iterable[str] = ()) -> Hosts:
    """The names for a server that listens on `host`, and others that its owner names."""
    names = frozenset(name.rstrip(".").lower() for name in (host, *named))
    return Hosts(names, addresses=not is_loopback(host))


class Door:
    """ASGI middleware, outermost: checks how a request came in, and sets the rules of each reply.

    400 for a foreign Host, 403 for what a page of another origin sends, 414 for a URL too long, 500
    for a fault of ours; the log gets the name of the fault and no more, as its words may hold a
    text.
    """

    def __init__(self, app: ASGIApp, hosts: Hosts, refuse: Refuse) -> None:
        self._app, self._hosts, self._refuse = app, hosts, refuse

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        way_out = _Replying(send)
        try:
            refusal = self._refusal(scope)
            if refusal is not None:
                await self._refuse(scope, way_out, *refusal)
            else:
                await self._app(scope, receive, way_out)
        except Exception as error:
            _log.error("A page failed: %s", type(error).__name__)
            if not way_out.begun:
                await self._refuse(scope, way_out, 500, "A fault of ours; the log names it.")

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        """(status, sentence) for a request that may not come in."""
        hosts = _values(scope, b"host")
        if len(hosts) != 1 or not self._hosts.admit(hosts[0]):
            return 400, "This server does not go by that name. See --allow-host."
        safe = scope["method"] in ("GET", "HEAD")
        if not safe and not self._from_here(scope, hosts[0]):
            return 403, "A page of another origin may not ask here."
        if len(scope.get("raw_path") or b"") + len(scope["query_string"]) > LONGEST_URL:
            return 414, f"The address has over {LONGEST_URL} bytes. Ask a shorter question."
        return None

    def _from_here(self, scope: Scope, host: str) -> bool:
        """Does it come from these pages, or from a program, which names no origin?"""
        origins = _values(scope, b"origin")
        return all(origin.partition("://")[2] == host for origin in origins)


class _Replying:
    """The way out, which puts the rules on a reply and knows whether it has begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.begun = send, False

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.begun = True
            ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
            theirs = [
                pair for pair in message.get("headers", []) if pair[0].decode() not in HEADERS
            ]
            message = {**message, "headers": [*theirs, *ours]}
        await self._send(message)


def _values(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
