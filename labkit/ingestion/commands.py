"""`labkit ingest`, `labkit reindex`, and the plan of either."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Protocol, TypeAlias

import typer
from rich.console import Console
from rich.progress import Progress as Bars

from labkit.documents.reading import Folder, read_folder
from labkit.documents.rules import Rules
from labkit.indexing import Progress
from labkit.ingestion.incremental import IngestPlan, ingest, plan
from labkit.ingestion.one_writer import one_writer
from labkit.ingestion.owner import made_by
from labkit.settings import Settings
from labkit.store.sqlite import SqliteStore
from labkit.types import Chunker, Embedder, FileFault, IngestRun, LabError

NOTHING_READ = 2
Differences: TypeAlias = Mapping[str, tuple[Any, Any]]
"""Settings as {field: (in the index, now)}."""


class IngestLab(Protocol):
    """What these commands need of `labkit.assembly.Lab`, which stands on a floor above."""

    settings: Settings

    @property
    def store(self) -> SqliteStore: ...

    @property
    def embedder(self) -> Embedder: ...

    @property
    def ingest_chunker(self) -> Chunker: ...

    def rules(self, text: bool, pdf: bool, legacy: bool, allow_secrets: Sequence[str]) -> Rules: ...


SourceFolder = Annotated[
    Path | None,
    typer.Option(
        "--source", help="The folder of documents; default source_root (plan: the last run's)."
    ),
]
Full = Annotated[bool, typer.Option("--full", help="Embed everything and replace the whole index.")]
WithText = Annotated[bool, typer.Option("--text", help="Take in .txt files too.")]
WithPdf = Annotated[bool, typer.Option("--pdf", help="Take in PDF files too, page by page.")]
WithLegacy = Annotated[bool, typer.Option("--legacy", help="Take in inputs/legacy/ too.")]
AllowSecret = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-secret",
        metavar="GLOB",
        help="Take in these files although they look as if they held a secret; repeatable.",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


@dataclass(frozen=True, slots=True)
class Asked:
    """What one command asks for besides the settings."""

    text: bool = False
    pdf: bool = False
    legacy: bool = False
    allow_secrets: Sequence[str] = ()
    full: bool = False

    def rules(self, lab: IngestLab) -> Rules:
        return lab.rules(self.text, self.pdf, self.legacy, self.allow_secrets)


def register(app: typer.Typer, open_lab: Callable[[], IngestLab]) -> None:
    """Put `ingest` and `reindex` on a command line."""

    @app.command("ingest")
    def ingest_command(
        source: SourceFolder = None,
        full: Full = False,
        text: WithText = False,
        pdf: WithPdf = False,
        legacy: WithLegacy = False,
        allow_secret: AllowSecret = None,
        as_json: AsJson = False,
    ) -> None:
        """Bring the index up to date with a folder: only what has changed is embedded."""
        lab = open_lab()
        asked = Asked(text, pdf, legacy, allow_secret or (), full)
        root = folder_of(lab, source)
        if source is None:
            refuse_another(lab, root)
        _say_if_another(lab, root, as_json)
        _show_run(run(lab, root, asked), as_json)

    @app.command("reindex")
    def reindex_command(
        full: Full = False,
        text: WithText = False,
        pdf: WithPdf = False,
        legacy: WithLegacy = False,
        allow_secret: AllowSecret = None,
        as_json: AsJson = False,
    ) -> None:
        """Ingest the folder of the last run again."""
        lab = open_lab()
        asked = Asked(text, pdf, legacy, allow_secret or (), full)
        _show_run(run(lab, last_folder(lab), asked), as_json)


def run(lab: IngestLab, root: Path, asked: Asked) -> IngestRun:
    """Ingest a folder, with a bar for a person who watches."""
    with one_writer(lab.settings.index), _bars() as bar:
        tree = read_folder(root, asked.rules(lab), bar("Reading"))
        return ingest(
            tree, root, lab.ingest_chunker, lab.embedder, lab.store, bar("Embedding"), asked.full
        )


def folder_of(lab: IngestLab, source: Path | None) -> Path:
    """The folder that a person names, or else that of the settings; LabError if there is none."""
    root = Path(os.path.abspath(source.expanduser() if source else lab.settings.corpus))
    if not root.is_dir():
        raise LabError(
            f"{root} is not a folder. Name the one that holds the documents: --source DIR. "
            "The index was left as it is."
        )
    return root


def last_folder(lab: IngestLab) -> Path:
    """The folder of the last run of `ingest` that was done, or else begun.

    LabError if there was none, or if the folder has gone.
    """
    root = _last_root(lab)
    if root is None:
        raise LabError("This index was not made by ingest. Run: labkit ingest --source DIR")
    if not root.is_dir():
        raise LabError(
            f"{root}, the folder of the last run, is not there. If its disk is not mounted, mount "
            "it; if the folder has moved, run: labkit ingest --source DIR. The index was left as "
            "it is."
        )
    return root


def _last_root(lab: IngestLab) -> Path | None:
    runs = [run for run in lab.store.runs(limit=1_000_000) if run.command == "ingest"]
    done = next((run for run in runs if run.status == "done"), runs[0] if runs else None)
    return Path(os.path.abspath(done.root)) if done else None


def refuse_another(lab: IngestLab, root: Path) -> None:
    """LabError if nobody named a folder, and the index was taken in from another one than `root`.

    A forgotten word must not exchange all documents for those of the settings.
    """
    if not lab.store.exists() or made_by(lab.store) != "ingest":
        return
    last = _last_root(lab)
    if last is not None and last != root:
        raise LabError(
            f"The index holds the documents of {last}, and source_root is {root}. To bring it up "
            "to date, run: labkit reindex. For another folder, run: labkit ingest --source DIR, or "
            "name another index with LABKIT_INDEX."
        )


def _say_if_another(lab: IngestLab, root: Path, as_json: bool) -> None:
    """Tell a person before the documents of one folder make way for those of another."""
    if as_json or not lab.store.exists():
        return
    done = [run.root for run in lab.store.runs(limit=1_000_000) if run.status == "done"]
    if done and done[0] and Path(os.path.abspath(done[0])) != root:
        typer.echo(f"The last run was for another folder, {done[0]}.", err=True)


def shows_ingest(lab: IngestLab, source: Path | None) -> bool:
    """Is it `ingest` whose plan is wanted? Yes with a source, and for an index that it made."""
    return source is not None or (lab.store.exists() and made_by(lab.store) == "ingest")


def show_plan(lab: IngestLab, source: Path | None, asked: Asked, as_json: bool) -> None:
    """Print what `ingest` would do with that folder, or with the last one."""
    root = folder_of(lab, source) if source else last_folder(lab)
    _say_if_another(lab, root, as_json)
    with _bars() as bar:
        tree = read_folder(root, asked.rules(lab), bar("Reading"))
    found = plan(tree, lab.ingest_chunker, lab.embedder, lab.store, asked.full)
    if as_json:
        _print_json(plan_dict(found, tree))
    else:
        _print_plan(found, tree)


def plan_dict(found: IngestPlan, tree: Folder) -> dict[str, Any]:
    """The plan as JSON: as that of a rebuild, with what only ingest knows."""
    return {
        "command": "ingest",
        "changed": found.does_something,
        "added": found.added,
        "changed_documents": found.changed,
        "removed": found.removed,
        "unchanged": found.unchanged,
        "to_embed": found.to_embed,
        "settings": settings_dict(found.settings),
        "failed": len(tree.faults),
        "faults": [asdict(fault) for fault in tree.faults],
        "notes": [asdict(note) for note in tree.notes],
    }


def _print_plan(found: IngestPlan, tree: Folder) -> None:
    print_changes(found.added, found.changed, found.removed, found.settings)
    _print_files(tree.faults, tree.notes)
    typer.echo(
        f"{len(found.unchanged)} documents unchanged. {found.to_embed} chunks would be embedded."
    )


def print_changes(
    added: Sequence[str], changed: Sequence[str], removed: Sequence[str], settings: Differences
) -> None:
    """What a run would change, a line a document or setting."""
    for label, names in (("add", added), ("change", changed), ("remove", removed)):
        for name in names:
            typer.echo(f"{label:8}{name}")
    for name, (before, now) in settings.items():
        typer.echo(f"setting {name}: {before!r} becomes {now!r}")


def settings_dict(settings: Differences) -> dict[str, dict[str, Any]]:
    """The settings that differ, as JSON."""
    return {name: {"index": before, "now": now} for name, (before, now) in settings.items()}


def _show_run(run: IngestRun, as_json: bool) -> None:
    """Print a record; files that were left out are no failure, a run that read none is one."""
    if as_json:
        _print_json(asdict(run))
    else:
        _print_files(run.faults, run.notes)
        typer.echo(
            f"{run.documents} documents in {run.chunks} chunks: {run.added} added, "
            f"{run.changed} changed, {run.removed} removed, {run.unchanged} unchanged; "
            f"{run.embedded} chunks embedded."
        )
        if run.failed:
            typer.echo(f"Files left out, for the reasons above: {run.failed}.")
        if not run.documents:
            typer.echo(
                f"Nothing in {run.root} may be taken in, so that the index holds no document."
            )
        if run.near_duplicates:
            typer.echo(f"Passages that say nearly the same as another one: {run.near_duplicates}.")
    if run.failed and not run.documents:
        raise typer.Exit(NOTHING_READ)


def _print_files(faults: Sequence[FileFault], notes: Sequence[FileFault]) -> None:
    for label, files in (("Left out", faults), ("Note", notes)):
        for file in files:
            typer.echo(f"{label}: {file.path}: {file.message}")


def _print_json(value: Any) -> None:
    typer.echo(json.dumps(value, ensure_ascii=False, indent=2))


@contextmanager
def _bars() -> Iterator[Callable[[str], Progress]]:
    """Makes bars for a person who watches; nothing in a file or a pipe."""
    console = Console(stderr=True)
    with Bars(console=console, transient=True, disable=not sys.stderr.isatty()) as bars:

        def bar(name: str) -> Progress:
            task = bars.add_task(name, total=None)
            return lambda done, total: bars.update(task, completed=done, total=total)

        yield bar
