"""All commands, and how each of them may end. Exit 0: done or answered; 3: refused; 2: usage or
index error; 1: our fault; 130: interrupted.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.exceptions import TyperException
from typer.main import get_group

from labkit import __version__
from labkit.cli import asking, indexing, measuring, serving
from labkit.types import LabError

OUR_FAULT, INDEX_OR_USAGE, INTERRUPTED = 1, 2, 130
OTHERS = "labkit.commands"
"""The entry points by which other packages, such as the course, bring their words."""


class _Words(TyperGroup):
    """Our commands, and those of other packages, which are imported when one of them is asked for.

    So `labkit answer` never imports the course, and `labkit --help` lists all that is there.
    """

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        if cmd_name not in self.commands:
            self._bring_others()
        return super().get_command(ctx, cmd_name)

    def list_commands(self, ctx: Any) -> list[str]:
        self._bring_others()
        return super().list_commands(ctx)

    def _bring_others(self) -> None:
        others = typer.Typer(add_completion=False)
        for point in entry_points(group=OTHERS):
            point.load()(others)
        if others.registered_commands:
            self.commands.update(get_group(others).commands)


app = typer.Typer(
    cls=_Words,
    help="Answers questions with exact quotations from documents, or refuses with a reason.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
indexing.register(app)
asking.register(app)
measuring.register(app)
serving.register(app)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"labkit {__version__}")
        raise typer.Exit


def run(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code; what went wrong is told in a sentence."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the shell has closed one
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    try:
        name = os.environ.get("LABKIT_COMMAND", "labkit")
        code = int(app(arguments, prog_name=name, standalone_mode=False) or 0)
    except (Exception, KeyboardInterrupt) as error:
        code, sentence = _ending(error)
        if sentence:
            typer.echo(as_typed(f"labkit: {sentence}"), err=True)
        return code
    if code == INTERRUPTED:  # typer makes a code of Ctrl-C
        raise KeyboardInterrupt
    return code


def _ending(error: BaseException) -> tuple[int, str]:
    """The exit code of an error, and what is said of it."""
    if isinstance(error, typer.Abort | KeyboardInterrupt):
        raise KeyboardInterrupt from error
    if isinstance(error, TyperException):
        return INDEX_OR_USAGE, _usage(error.format_message().rstrip("."))
    if isinstance(error, LabError):
        return INDEX_OR_USAGE, " ".join([str(error), *getattr(error, "__notes__", ())])
    if os.environ.get("LABKIT_DEBUG"):
        raise error
    if isinstance(error, ModuleNotFoundError):  # the engine's own extras have their own sentences
        return INDEX_OR_USAGE, f"{error.name} is missing. Run: pip install 'labkit[course]'"
    if isinstance(error, OSError):  # a name that is too long, a folder without permission, …
        return INDEX_OR_USAGE, f"a file cannot be used: {error}."
    return OUR_FAULT, (
        f"a fault of ours: {type(error).__name__}: {error}. "
        "Run it again with LABKIT_DEBUG=1 to see where, and please report it."
    )


def _usage(words: str) -> str:
    """A usage error; without words where a bare `labkit` has just shown its help."""
    if not words:
        return ""
    dash = (
        " A question that begins with a dash comes after --." if "No such option" in words else ""
    )
    return f"{words}. See labkit --help.{dash}"


def as_typed(message: str) -> str:
    """A message whose commands read as this person types them: `LABKIT_COMMAND` says how.

    >>> as_typed("The index is empty. Run: labkit rebuild")
    'The index is empty. Run: labkit rebuild'
    """
    command = os.environ.get("LABKIT_COMMAND", "labkit")
    return re.sub(r"(Run: |run: |See |then: |`)labkit (?=[a-z-])", rf"\1{command} ", message)
