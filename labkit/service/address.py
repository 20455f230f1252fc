"""Where a service listens, and what it then needs."""

from __future__ import annotations

import ipaddress
import os
import socket

from labkit.types import LabError

LEAST_TOKEN = 16


def is_loopback(host: str) -> bool:
    """Does this address reach this machine alone? Names other than localhost are not looked up.

    >>> [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "lab.example")]
    [True, True, True, False, False]
    """
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


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
        family, *_, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server((place[0], place[1]), family=family)
    except OSError as error:
        raise LabError(
            f"Cannot listen on {host}, port {port}: {error.strerror or error}. "
            "Is another service running there? --port names another."
        ) from error


def url_of(listening: socket.socket) -> str:
    """The address as a client writes it."""
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
