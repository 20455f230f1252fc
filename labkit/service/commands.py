"""`labkit serve` and `labkit embed-serve`."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.service.address import listening_socket, token_for, url_of
from labkit.service.limits import Limits
from labkit.types import LabError

if TYPE_CHECKING:
    import uvicorn
    from fastapi import FastAPI

    from labkit.assembly import Lab

PORT = 8100
PAGES_PORT = 8200
VARIABLE = "LABKIT_SERVICE_TOKEN"
_NEEDED = ("fastapi", "uvicorn", "psutil")
_PAGES_NEED = ("fastapi", "uvicorn", "jinja2")

Host = Annotated[str, typer.Option(help="The address to listen on.")]
TokenVariable = Annotated[
    str, typer.Option(help="The variable that holds the token clients must send.")
]


def register(app: typer.Typer) -> None:
    """Put the commands of the services on a command line."""
    app.command("serve")(serve)
    app.command("embed-serve")(embed_serve)


def serve(
    host: Host = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")
    ] = PAGES_PORT,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(help="A name under which browsers reach this address; may be repeated."),
    ] = None,
    token_env: TokenVariable = VARIABLE,
) -> None:
    """Show the index, its runs and the way of a question as pages, until Ctrl-C."""
    _check_installed(_PAGES_NEED)
    token = token_for(host, token_env)
    with listening_socket(host, port) as listening:
        from labkit.service.diagnostics.app import LIMITS, diagnostics_app
        from labkit.service.diagnostics.desk import Desk
        from labkit.service.diagnostics.door import hosts_for

        app = diagnostics_app(Desk(limits=LIMITS), hosts_for(host, allow_host or ()), token)
        typer.echo(
            f"Diagnostics at {url_of(listening)}, {'with' if token else 'without'} a token. "
            "Ctrl-C ends it."
        )
        make_server(app, LIMITS).run(sockets=[listening])


def embed_serve(
    host: Host = "127.0.0.1",
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port; 0 takes a free one.")
    ] = PORT,
    profile: Annotated[
        str | None, typer.Option(help="The model: a profile. Default: embedding.profile.")
    ] = None,
    token_env: TokenVariable = VARIABLE,
) -> None:
    """Serve the embedding model over HTTP, until Ctrl-C."""
    from labkit.assembly import open_lab

    _check_installed(_NEEDED)
    token = token_for(host, token_env)
    model = _serving(open_lab(), profile).model
    with listening_socket(host, port) as listening:
        from labkit.service.embedding import embedding_app

        limits = Limits()
        app = embedding_app(model, limits, token)
        typer.echo(
            f"Serving {model.identity.model} ({model.identity.dimension} d) at "
            f"{url_of(listening)}, {'with' if token else 'without'} a token. "
            "Its page is /docs; Ctrl-C ends it."
        )
        make_server(app, limits).run(sockets=[listening])


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
