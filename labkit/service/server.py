"""Where a service listens, under which names, behind which token and within which limits."""

from __future__ import annotations

import ipaddress
import os
import re
import socket
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from labkit.types import LabError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

LEAST_TOKEN = 16
_HOST = re.compile(r"(?:\[(?P<v6>[0-9A-Fa-f:.]+)\]|(?P<name>[^:\[\]/@\s]+))(?::\d{1,5})?")


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a service; sizes in characters or bytes, times in seconds.

    `seconds` bounds the whole work on one request, its wait for the model among it. `waiting` is
    how many requests may wait or be worked on; one more is told to come again (503).
    """

    texts: int = 64
    characters: int = 200_000  # of one text: the largest table that is still worth a vector
    body_bytes: int = 2_000_000
    body_seconds: float = 10.0
    seconds: float = 60.0
    waiting: int = 16
    connections: int = 128


@dataclass(frozen=True, slots=True)
class Hosts:
    """The names under which a server may be called, beside those of loopback.

    A page of somebody else may let its own name point here (DNS rebinding), and a browser would
    then read this server's replies for it. The Host header still says that name.
    """

    names: frozenset[str] = frozenset()
    addresses: bool = False
    """May it be called by any IP address? Nobody can make another machine's address lead here."""

    def admit(self, header: str) -> bool:
        """Is this Host header one that this server answers to?

        >>> [Hosts().admit(h) for h in ("localhost:8200", "[::1]:1", "evil.example")]
        [True, True, False]
        """
        found = _HOST.fullmatch(header)
        if found is None:
            return False
        name = (found["v6"] or found["name"]).rstrip(".").lower()
        if is_loopback(name) or name in self.names:
            return True
        return self.addresses and _address(name) is not None


def hosts_for(host: str, named: Iterable[str] = ()) -> Hosts:
    """The names for a server that listens on `host`, and others that its owner names."""
    names = frozenset(name.rstrip(".").lower() for name in (host, *named))
    return Hosts(names, addresses=not is_loopback(host))


def is_loopback(host: str) -> bool:
    """Does this address reach this machine alone? Names other than localhost are not looked up.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "lab.example")]
    [True, True, True, False, False]
    """
    address = _address(host)
    return host == "localhost" or (address is not None and address.is_loopback)


def token_for(host: str, variable: str) -> str:
    """The token in an environment variable; "" for none, which loopback alone allows.

    LabError, without the token, if it is missing or too weak for an address that others reach.
    """
    token = os.environ.get(variable, "").strip()
    if not token and not is_loopback(host):
        raise LabError(
            f"{host} can be reached from other machines, so a token is needed: set {variable} to "
            f"{LEAST_TOKEN} characters or more. Or listen on 127.0.0.1."
        )
    if token and (len(token) < LEAST_TOKEN or not token.isascii() or not token.isprintable()):
        raise LabError(f"{variable} is no token: {LEAST_TOKEN} printable ASCII characters or more.")
    return token


def listening_socket(host: str, port: int) -> socket.socket:
    """A socket that listens there; port 0 takes a free one. LabError if it cannot be had."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((address[0], address[1]), family=family)
    except OSError as error:
        raise LabError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. "
            "Is another service running there? --port names another."
        ) from error


def url_of(listening: socket.socket) -> str:
    """The address as a client writes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def make_server(app: FastAPI, limits: Limits) -> uvicorn.Server:
    """A server for an application, within limits; it logs no request."""
    import uvicorn

    config = uvicorn.Config(
        app,
        access_log=False,
        log_level="warning",
        server_header=False,
        limit_concurrency=limits.connections,
        timeout_keep_alive=5,
        timeout_graceful_shutdown=5,
    )
    return uvicorn.Server(config)


def _address(name: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(name)
    except ValueError:
        return None
