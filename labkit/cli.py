"""The command line. Exit 0: done or answered; 3: refused; 2: usage or index error; 1: our fault."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from dataclasses import asdict, replace
from datetime import date, datetime
from enum import StrEnum
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import Progress
from rich.table import Table
from rich.text import Text
from typer.exceptions import TyperException

from labkit import __version__
from labkit.answering.access_filter import admit
from labkit.answering.engine import check_question
from labkit.answering.results import Answer, Outcome, hit_dict
from labkit.answering.retrieval import HybridSearch, StrictSearch
from labkit.assembly import QUESTIONS, open_lab
from labkit.calibration import observe, read_questions, suggested_threshold, threshold_table
from labkit.evaluation.commands import register as register_evaluation
from labkit.indexing import plan as make_plan
from labkit.indexing import rebuild as build_index
from labkit.ingestion.commands import (
    AllowSecret,
    Asked,
    Full,
    SourceFolder,
    WithLegacy,
    WithPdf,
    WithText,
    print_changes,
    refuse_another,
    settings_dict,
    show_plan,
    shows_ingest,
)
from labkit.ingestion.commands import register as register_ingestion
from labkit.ingestion.one_writer import one_writer
from labkit.service.commands import register as register_service
from labkit.settings import as_typed
from labkit.types import Hit, LabError

REFUSED = 3
INDEX_OR_USAGE = 2
OUR_FAULT = 1
INTERRUPTED = 130

app = typer.Typer(
    help="Answers questions with exact quotations from documents, or refuses with a reason.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    add_completion=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class GeneratorKind(StrEnum):
    """Who proposes evidence."""

    extractive = "extractive"
    chat = "chat"


class PassageMode(StrEnum):
    """How a chat model gets the passages."""

    provider = "provider"
    tool = "tool"


Question = Annotated[str, typer.Argument(help="The question, in quotes.", show_default=False)]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", formats=["%Y-%m-%d"], help="The day to answer for; default today."),
]
ViewerName = Annotated[
    str | None, typer.Option("--viewer", help="Who asks: the name of a viewer in labkit.toml.")
]


@app.command()
def rebuild(as_json: AsJson = False) -> None:
    """Build the index anew from the documents, all or nothing."""
    lab = open_lab()
    refuse_another(lab, Path(os.path.abspath(lab.settings.corpus)))
    source = lab.source()
    if not source.all_documents:
        raise LabError(
            f"No file in {lab.settings.corpus} matches {', '.join(lab.settings.included_paths)}. "
            "Name the folder of the documents: LABKIT_CORPUS=FOLDER."
        )
    with one_writer(lab.settings.index), _progress() as bar:
        task = bar.add_task("Embedding", total=None)
        done = build_index(
            source,
            lab.chunker,
            lab.embedder,
            lab.store,
            lambda ready, total: bar.update(task, completed=ready, total=total),
        )
    for chunk_id in done.too_long:
        typer.echo(f"Note: {chunk_id} is longer than the model reads; lower chunk.size.", err=True)
    if as_json:
        _print_json(asdict(done))
    else:
        typer.echo(
            f"Indexed {done.documents} documents and {done.products} products "
            f"in {done.chunks} chunks."
        )


@app.command()
def plan(
    source: SourceFolder = None,
    full: Full = False,
    text: WithText = False,
    pdf: WithPdf = False,
    legacy: WithLegacy = False,
    allow_secret: AllowSecret = None,
    as_json: AsJson = False,
) -> None:
    """Show what a rebuild would change, or an ingest if that made the index; change nothing."""
    lab = open_lab()
    if shows_ingest(lab, source):
        asked = Asked(text, pdf, legacy, allow_secret or (), full)
        show_plan(lab, source, asked, as_json)
        return
    found = make_plan(lab.source(), lab.chunker, lab.embedder, lab.store)
    if as_json:
        settings = settings_dict(found.settings)
        _print_json({"changed": found.changed, **asdict(found), "settings": settings})
        return
    print_changes(found.added, found.changed_documents, found.removed, found.settings)
    typer.echo(f"{len(found.unchanged)} documents unchanged.")


@app.command()
def answer(
    question: Question,
    as_of: AsOf = None,
    viewer: ViewerName = None,
    generator: Annotated[GeneratorKind, typer.Option(help="Who proposes evidence.")] = (
        GeneratorKind.extractive
    ),
    mode: Annotated[
        PassageMode | None, typer.Option(help="How a chat model gets the passages.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show how it came about.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question with quotations, or refuse with a reason (exit 3)."""
    lab = open_lab()
    engine = lab.engine(lab.generator(generator.value, mode.value if mode else None))
    outcome = engine.ask(question, lab.settings.viewer_named(viewer), _day(as_of))
    if as_json:
        _print_json(outcome.to_dict())
    else:
        _print_outcome(outcome, trace)
    if not isinstance(outcome, Answer):
        raise typer.Exit(REFUSED)


@app.command()
def search(
    question: Question,
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages to show.")] = 10,
    path: Annotated[
        str | None, typer.Option("--path", metavar="GLOB", help="Only files of this path.")
    ] = None,
    section: Annotated[
        str | None,
        typer.Option("--section", metavar="TEXT", help="Only under a heading that holds this."),
    ] = None,
    as_of: AsOf = None,
    viewer: ViewerName = None,
    as_json: AsJson = False,
) -> None:
    """Show the ranked passages for a question, and why each was kept or dropped."""
    lab = open_lab()
    who = lab.settings.viewer_named(viewer)
    searching = _part(lab.search(), path, section)
    found = searching.retrieve(check_question(question), who, _day(as_of))
    refusal = found.refusal
    if as_json:
        _print_json(
            {
                **found.detail,
                "reason": refusal.reason if refusal else None,
                "hits": [hit_dict(hit) for hit in found.ranked[:k]],
            }
        )
        return
    if not found.ranked and (path is not None or section is not None):
        asked = [f"--path {path!r}"] if path is not None else []
        asked += [f"--section {section!r}"] if section is not None else []
        typer.echo(f"Nothing that this viewer may read matches {' and '.join(asked)}.")
        return
    _print_hits(found.ranked[:k], "Passages by fused rank")
    if len(found.ranked) > k:
        typer.echo(f"{len(found.ranked) - k} more; -k shows them.")
    if refusal:
        typer.echo(f"Would be refused ({refusal.reason}): {refusal.message}")


@app.command()
def probe(
    question: Question,
    k: Annotated[int, typer.Option("-k", min=1, help="How many passages to show.")] = 10,
    as_of: AsOf = None,
    viewer: ViewerName = None,
    as_json: AsJson = False,
) -> None:
    """Show the nearest passages by cosine alone, before threshold and fusion."""
    lab = open_lab()
    searching = lab.search()
    eligible = searching.admission(lab.settings.viewer_named(viewer), _day(as_of))
    hits = searching.dense(check_question(question), eligible)[:k]
    if as_json:
        _print_json({"threshold": lab.threshold, "hits": [hit_dict(hit) for hit in hits]})
        return
    _print_hits(hits, f"Passages by cosine (the threshold is {lab.threshold:.2f})")


@app.command()
def stats(as_json: AsJson = False) -> None:
    """Show the size of the index, what it was built with, its last run, and the embedder's health.

    The index is shown even if the embedder cannot work now.
    """
    lab = open_lab()
    values = {**asdict(lab.store.stats()), "manifest": asdict(lab.store.manifest())}
    last, health = lab.store.last_run(), lab.health()
    if as_json:
        run = asdict(last) if last else None
        _print_json({**values, "last_run": run, "health": asdict(health)})
        return
    manifest = values.pop("manifest")
    manifest["origin"] = " of ".join(filter(None, manifest["origin"].values())) or "unknown"
    for name, value in {**values, **manifest.pop("embedder"), **manifest}.items():
        typer.echo(f"{name:18}{value}")
    if last:
        files = f", files left out: {last.failed}" if last.failed else ""
        typer.echo(f"{'last run':18}{last.command}, {last.started}, {last.status}{files}")
    typer.echo(f"{'embedder':18}{'ready' if health.ok else health.message}")


@app.command()
def calibrate(
    questions_file: Annotated[
        Path, typer.Option("--questions", help="Annotated questions, as JSON Lines.")
    ] = QUESTIONS,
    as_json: AsJson = False,
) -> None:
    """Measure thresholds for the model in use on annotated questions."""
    lab = open_lab()
    searching = lab.search(threshold=-1.0)
    questions = read_questions(questions_file)
    with _progress() as bar:
        observed = [
            observe(question, searching, lab.settings.viewer_named(question.viewer))
            for question in bar.track(questions, description="Measuring")
        ]
    suggested = suggested_threshold(observed)
    table = threshold_table(observed, lab.profile.shown)
    answerable = sum(question.answerable for question in questions)
    if as_json:
        rows = [{"threshold": t, "kept": kept, "let_through": bad} for t, kept, bad in table]
        _print_json(
            {
                "suggested": suggested,
                "answerable": answerable,
                "unanswerable": len(questions) - answerable,
                "table": rows,
            }
        )
        return
    typer.echo(
        f"threshold  answerable kept (of {answerable})  unanswerable let through "
        f"(of {len(questions) - answerable})"
    )
    for threshold, kept, bad in table:
        typer.echo(f"{threshold:9.2f}  {kept:23}  {bad:23}")
    typer.echo(f"Suggested: {suggested:.2f}, which keeps 98 % of the answerable questions.")


@app.command("ship-vectors", hidden=True)
def ship_vectors() -> None:
    """Write the vectors that the lab ships, with the profile's live model (for its keepers)."""
    lab = open_lab()
    typer.echo(f"Wrote {lab.ship_vectors()} vectors to {lab.shipped.name}.")


register_ingestion(app, lambda: open_lab())  # looked up at each call, so that it can be replaced
register_evaluation(app)
register_service(app)
for other in entry_points(group="labkit.commands"):  # the course, where it is installed
    other.load()(app)


@app.callback(invoke_without_command=True)
def _options(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        typer.echo(f"labkit {__version__}")
        raise typer.Exit


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every end has its exit code, and no traceback reaches a person."""
    for stream in filter(None, (sys.stdout, sys.stderr)):  # None where the shell has closed one
        stream.reconfigure(encoding="utf-8", errors="backslashreplace")
    sys.exit(_run(arguments))


def _run(arguments: Sequence[str] | None) -> int:
    try:
        name = os.environ.get("LABKIT_COMMAND", "labkit")
        code = int(app(arguments, prog_name=name, standalone_mode=False) or 0)
    except TyperException as error:
        if error.format_message():  # none when a bare `labkit` has just shown its help
            words = error.format_message().rstrip(".")
            typer.echo(as_typed(f"labkit: {words}. See labkit --help."), err=True)
        return INDEX_OR_USAGE
    except LabError as error:
        words = " ".join([f"labkit: {error}", *getattr(error, "__notes__", ())])
        typer.echo(as_typed(words), err=True)
        return INDEX_OR_USAGE
    except OSError as error:  # a name that is too long, a folder without permission, a full disk
        if os.environ.get("LABKIT_DEBUG"):
            raise
        typer.echo(f"labkit: a file cannot be used: {error}.", err=True)
        return INDEX_OR_USAGE
    except (typer.Abort, KeyboardInterrupt):
        code = INTERRUPTED
    except Exception as error:
        if os.environ.get("LABKIT_DEBUG"):
            raise
        typer.echo(
            f"labkit: a fault of ours: {type(error).__name__}: {error}. "
            "Run it again with LABKIT_DEBUG=1 to see where, and please report it.",
            err=True,
        )
        return OUR_FAULT
    if code == INTERRUPTED:  # typer, too, turns Ctrl-C into this code
        typer.echo("labkit: interrupted; nothing is half done.", err=True)
    return code


def _progress() -> Progress:
    """A bar for a person who watches; nothing in a file or a pipe."""
    return Progress(console=Console(stderr=True), transient=True, disable=not sys.stderr.isatty())


def _part(
    searching: StrictSearch | HybridSearch, path: str | None, section: str | None
) -> StrictSearch | HybridSearch:
    """The search, or one of a part of the index, which speaks of no more than that part."""
    if path is None and section is None:
        return searching
    within = partial(admit, path=path, section=section)
    return replace(searching, admission=within, knower="passage in this part of the index")


def _day(as_of: datetime | None) -> date:
    return as_of.date() if as_of else date.today()


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2, default=str))


def _print_outcome(outcome: Outcome, trace: bool) -> None:
    """The quotations and where they stand, or the reason and what came closest."""
    typer.echo(str(outcome))
    if isinstance(outcome, Answer):
        metas = {hit.chunk.id: hit.chunk.meta for hit in outcome.closest}
        for item in outcome.evidence:
            title = metas[item.chunk_id].title if item.chunk_id in metas else item.source_id
            typer.secho(
                f"    {item.chunk_id}: {title}, characters {item.start} to {item.end}", dim=True
            )
    elif outcome.closest:
        typer.secho("Closest passages:", dim=True)
        for hit in outcome.closest:
            typer.secho(f"    {hit.chunk.id}: {hit.chunk.meta.title}", dim=True)
    if trace:
        typer.echo(f"\n{outcome.trace}")


def _print_hits(hits: Sequence[Hit], title: str) -> None:
    """A table of hits; texts of documents are shown as they are, never as markup."""
    table = Table(title=title)
    for heading in ("passage", "cosine", "dense", "words", "lex.", "fused", "dropped because"):
        table.add_column(heading, overflow="fold", no_wrap=heading == "passage")
    for hit in hits:
        values = (
            hit.chunk.id,
            _number(hit.cosine, 3),
            _number(hit.dense_rank, 0),
            _number(hit.lexical_score, 0),
            _number(hit.lexical_rank, 0),
            _number(hit.fused, 5),
            hit.dropped,
        )
        table.add_row(*(Text(value) for value in values))
    Console().print(table)


def _number(value: float | None, places: int) -> str:
    return "–" if value is None else f"{value:.{places}f}"
