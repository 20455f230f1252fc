"""What all commands share: the bar, JSON, and the options that mean the same everywhere."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Annotated, Any, TypeAlias

import typer

Told: TypeAlias = Callable[[int, int], None]
"""Tells a bar how far the work is: (done, in all)."""

A_LINE_EVERY = 60.0  # seconds

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


def print_json(value: Any) -> None:
    """Print a value as JSON; a day or a path is written as text."""
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


@contextmanager
def bars() -> Iterator[Callable[[str], Told]]:
    """Makes bars, each with a name, for a person who watches; in a pipe it says a line a minute."""
    if not sys.stderr.isatty():
        yield _line_a_minute
        return
    from rich import progress  # a tenth of a second, which a question need not wait for
    from rich.console import Console

    with progress.Progress(console=Console(stderr=True), transient=True) as all_:

        def bar(name: str) -> Told:
            task = all_.add_task(name, total=None)
            return lambda done, total: all_.update(task, completed=done, total=total)

        yield bar


def _line_a_minute(name: str) -> Told:
    """Says on stderr how far the work is and how long it will take, once a minute."""
    started = said = monotonic()

    def told(done: int, total: int) -> None:
        nonlocal said
        now = monotonic()
        if done and now - said >= A_LINE_EVERY:
            said = now
            left = (now - started) / done * (total - done) / 60
            typer.echo(f"{name}: {done:,} of {total:,}, about {left:.0f} min left.", err=True)

    return told
