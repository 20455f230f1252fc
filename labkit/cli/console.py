"""What all commands share: the bar, JSON, and the options that mean the same everywhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeAlias

import typer

Told: TypeAlias = Callable[[int, int], None]
"""Tells a bar how far the work is: (done, in all)."""

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(value: Any) -> None:
    """Print a value as JSON; a day or a path is written as text."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


@contextmanager
def bars() -> Iterator[Callable[[str], Told]]:
    """Makes bars, each with a name, for a person who watches; nothing in a file or a pipe."""
    from rich import progress  # a tenth of a second, which a question need not wait for
    from rich.console import Console

    shown = sys.stderr.isatty()
    with progress.Progress(console=Console(stderr=True), transient=True, disable=not shown) as all_:

        def bar(name: str) -> Told:
            task = all_.add_task(name, total=None)
            return lambda done, total: all_.update(task, completed=done, total=total)

        yield bar
