"""`labkit eval`."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import Progress, TaskID

from labkit.assembly import QUESTIONS, open_lab
from labkit.evaluation.datasets import AnnotatedQuestion, Beir, load_annotated, load_beir
from labkit.evaluation.report import as_text, make_rows
from labkit.evaluation.running import Dataset, Evaluation, Plan, Step, run
from labkit.evaluation.shipping import register as register_shipping
from labkit.types import LabError


def register(app: typer.Typer) -> None:
    """Put `eval` on a command line, and what the keepers of its data need."""
    app.command("eval")(evaluate)
    register_shipping(app)


def evaluate(
    data: Annotated[
        Path, typer.Argument(help="Annotated questions (JSON Lines), or a BEIR folder.")
    ] = QUESTIONS,
    k: Annotated[
        int | None, typer.Option("--k", "-k", min=1, help="Passages judged; default 5, BEIR 10.")
    ] = None,
    policy: Annotated[
        list[str] | None, typer.Option(help="A policy to measure; repeatable.")
    ] = None,
    profile: Annotated[
        list[str] | None,
        typer.Option(help="A model to measure, on an index of its own; repeatable."),
    ] = None,
    source: Annotated[
        list[Path] | None,
        typer.Option(help="Documents to measure on, taken in as by `ingest --pdf`; repeatable."),
    ] = None,
    half: Annotated[str | None, typer.Option(help="Only this half, as `development`.")] = None,
    split: Annotated[str | None, typer.Option(help="Split of a BEIR folder; default test.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Measure retrieval: dense alone, lexical alone, and the policy, on the same index."""
    dataset = load_beir(data, split) if data.is_dir() else _questions(data, half)
    depth = k or (10 if isinstance(dataset, Beir) else 5)
    plan = Plan(depth, policy or (), profile or (), _folders(source or (), dataset))
    with _steps() as step:
        evaluation = run(open_lab().settings, dataset, plan, step)
    rows = make_rows(evaluation.measured)
    notes = [*_notes(dataset), *_cut(evaluation), *_left_out(evaluation)]
    if as_json:
        values = {"data": data.name, "k": plan.k, "rows": [row.to_dict() for row in rows]}
        typer.echo(json.dumps({**values, "notes": notes}, ensure_ascii=False, indent=2))
    else:
        typer.echo("\n".join([as_text(rows, plan.k), "", *notes]))


def _folders(sources: Sequence[Path], dataset: Dataset) -> Sequence[Path]:
    """The folders to take in; LabError for one that is none, or beside a BEIR folder."""
    if sources and isinstance(dataset, Beir):
        raise LabError("A BEIR folder brings its own passages. Leave --source out.")
    for folder in sources:
        if not folder.is_dir():
            raise LabError(f"--source {folder} is no folder. Name one that holds documents.")
    return sources


def _questions(path: Path, half: str | None) -> list[AnnotatedQuestion]:
    questions = load_annotated(path)
    found = [item for item in questions if half is None or item.half == half]
    if not found:
        known = ", ".join(sorted({item.half or "none" for item in questions})) or "none"
        raise LabError(
            f"{path.name} holds no question{f' of the half {half!r}' if half else ''}. "
            f"Halves found: {known}."
        )
    return found


def _notes(dataset: Dataset) -> list[str]:
    """What a reader of the figures has to know."""
    if not isinstance(dataset, Beir):
        return ["Left out of a mean: questions that nothing answers. A refusal scores 0."]
    notes = ["Policies rank without their threshold here: it is calibrated for our questions."]
    if dataset.unjudged:
        notes.append(f"Not asked: {dataset.unjudged} queries that {dataset.split} does not judge.")
    return notes


def _cut(evaluation: Evaluation) -> list[str]:
    return [
        f"{count} texts are longer than the model of {name} reads at once; their vectors say less."
        for name, count in evaluation.too_long.items()
        if count
    ]


def _left_out(evaluation: Evaluation) -> list[str]:
    return [f"Not in the index: {fault.path}: {fault.message}" for fault in evaluation.left_out]


@contextmanager
def _steps() -> Iterator[Step]:
    """Bars for a person who watches; nothing in a file or a pipe."""
    console = Console(stderr=True)
    tasks: dict[str, TaskID] = {}
    with Progress(console=console, transient=True, disable=not sys.stderr.isatty()) as bars:

        def step(task: str, done: int, total: int) -> None:
            if task not in tasks:
                tasks[task] = bars.add_task(task, total=total)
            bars.update(tasks[task], completed=done)

        yield step
