"""`labkit serve` and `labkit embed-serve`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.service.server import (
    Hosts,
    Limits,
    hosts_for,
    listening_socket,
    make_server,
    token_for,
    url_of,
)
from labkit.types import LabError

if TYPE_CHECKING:
    from fastapi import FastAPI

    from labkit.assembly import Lab

PORT = 8100
PAGES_PORT = 8200
VARIABLE = "LABKIT_SERVICE_TOKEN"
_NEEDED = ("fastapi", "uvicorn", "jinja2", "psutil")

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")]
AllowHost = Annotated[
    list[str] | None,
    typer.Option(help="A name under which this address is reached; may be repeated."),
]
TokenVariable = Annotated[
    str, typer.Option(help="The variable that holds the token clients must send.")
]


def register(app: typer.Typer) -> None:
    """Put the commands of the services on a command line."""
    app.command("serve")(serve)
    app.command("embed-serve")(embed_serve)


def serve(
    host: Host = "127.0.0.1",
    port: Port = PAGES_PORT,
    allow_host: AllowHost = None,
    token_env: TokenVariable = VARIABLE,
) -> None:
    """Show the index, its runs and the way of a question as pages, until Ctrl-C."""

    def make(hosts: Hosts, token: str) -> tuple[FastAPI, Limits, str]:
        from labkit.service.diagnostics.app import LIMITS, diagnostics_app
        from labkit.service.diagnostics.session import LabSession

        app = diagnostics_app(LabSession(limits=LIMITS), hosts, token)
        return app, LIMITS, "Diagnostics at {address}. Ctrl-C ends it."

    _run(make, host, port, allow_host, token_env)


def embed_serve(
    host: Host = "127.0.0.1",
    port: Port = PORT,
    profile: Annotated[
        str | None, typer.Option(help="The model: a profile. Default: embedding.profile.")
    ] = None,
    allow_host: AllowHost = None,
    token_env: TokenVariable = VARIABLE,
) -> None:
    """Serve the embedding model over HTTP, until Ctrl-C."""

    def make(hosts: Hosts, token: str) -> tuple[FastAPI, Limits, str]:
        from labkit.assembly import open_lab
        from labkit.service.embedding import embedding_app

        model, limits = _serving(open_lab(), profile).model, Limits()
        app = embedding_app(model, limits, token, hosts)
        what = f"{model.identity.model} ({model.identity.dimension} d)"
        said = f"Serving {what} at {{address}}. Its page is /docs; Ctrl-C ends it."
        return app, limits, said

    _run(make, host, port, allow_host, token_env)


def _run(
    make: Callable[[Hosts, str], tuple[FastAPI, Limits, str]],
    host: str,
    port: int,
    allow_host: Sequence[str] | None,
    token_env: str,
) -> None:
    """Listen, then make the application, say where it is, and serve it until Ctrl-C."""
    _check_installed(_NEEDED)
    token = token_for(host, token_env)
    with listening_socket(host, port) as listening:
        app, limits, said = make(hosts_for(host, allow_host or ()), token)
        address = f"{url_of(listening)}, {'with' if token else 'without'} a token"
        typer.echo(said.format(address=address))
        make_server(app, limits).run(sockets=[listening])


def _check_installed(names: Sequence[str]) -> None:
    """LabError naming the packages that are missing."""
    missing = [name for name in names if find_spec(name) is None]
    if missing:
        raise LabError(f"A service needs more packages. Run: pip install {' '.join(missing)}")


def _serving(lab: Lab, profile: str | None) -> Lab:
    """The lab with its model on this machine: a service does not ask a service."""
    from labkit.assembly import Lab

    other = {} if profile is None else {"profile": profile, "model": ""}
    return Lab(lab.settings.having(embedding={**other, "service_url": ""}))
