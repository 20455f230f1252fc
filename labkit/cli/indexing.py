"""For whoever keeps the documents: `rebuild`, `ingest`, `reindex`, `plan`, `stats`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from labkit.cli.console import AsJson, bars, print_json
from labkit.types import FileFault, IngestRun, LabError, Origin

if TYPE_CHECKING:
    from labkit import indexing
    from labkit.assembly import Lab
    from labkit.documents import Counts

NOTHING_READ = 2

Source = Annotated[
    str | None,
    typer.Option(
        metavar="DIR", help="The folder of documents; default source_root (plan: the last run's)."
    ),
]
Full = Annotated[bool, typer.Option(help="Embed everything and replace the whole index.")]
WithText = Annotated[bool, typer.Option("--text", help="Take in .txt files too.")]
WithPdf = Annotated[bool, typer.Option("--pdf", help="Take in PDF files too, page by page.")]
WithLegacy = Annotated[bool, typer.Option("--legacy", help="Take in inputs/legacy/ too.")]
AllowSecret = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB",
        help="Take in these files although they look as if they held a secret; repeatable.",
    ),
]


def register(app: typer.Typer) -> None:
    """Put these commands on a command line."""
    for command in (rebuild, ingest, reindex, plan, stats):
        app.command()(command)


@dataclass(frozen=True, slots=True)
class Asked:
    """What one command asks for besides the settings."""

    text: bool = False
    pdf: bool = False
    legacy: bool = False
    allow_secrets: Sequence[str] = ()
    full: bool = False

    def read(self, lab: Lab, root: Path) -> indexing.Source:
        """The folder, under the settings' rules and these; a bar shows how far it is."""
        from labkit.assembly import make_rules
        from labkit.documents.reading import read_folder
        from labkit.indexing import Source

        rules = make_rules(lab.settings, self.text, self.pdf, self.legacy, self.allow_secrets)
        with bars() as bar:
            return Source.of(read_folder(root, rules, bar("Reading")), root)


def rebuild(as_json: AsJson = False) -> None:
    """Build the index anew from the documents, all or nothing."""
    from labkit import indexing
    from labkit.assembly import open_lab
    from labkit.store.lock import index_lock

    lab = open_lab()
    _refuse_another(lab, Path(os.path.abspath(lab.settings.corpus)))
    source = lab.source()
    if not source.all_documents:
        raise LabError(
            f"No file in {lab.settings.corpus} matches {', '.join(lab.settings.included_paths)}. "
            "Name the folder of the documents: LABKIT_CORPUS=FOLDER."
        )
    with index_lock(lab.settings.index), bars() as bar:
        done = indexing.rebuild(source, lab.chunker, lab.embedder, lab.store, bar("Embedding"))
    for chunk_id in done.too_long:
        typer.echo(f"Note: {chunk_id} is longer than the model reads; lower chunk.size.", err=True)
    if as_json:
        print_json(asdict(done))
    else:
        typer.echo(
            f"Indexed {done.documents} documents and {done.products} products "
            f"in {done.chunks} chunks."
        )


def ingest(
    source: Source = None,
    full: Full = False,
    text: WithText = False,
    pdf: WithPdf = False,
    legacy: WithLegacy = False,
    allow_secret: AllowSecret = None,
    as_json: AsJson = False,
) -> None:
    """Bring the index up to date with a folder: only what has changed is embedded."""
    from labkit.assembly import open_lab

    lab = open_lab()
    root = _folder(lab, source)
    if source is None:
        _refuse_another(lab, root)
    _say_if_another(lab, root, as_json)
    _run(lab, root, Asked(text, pdf, legacy, allow_secret or (), full), as_json)


def reindex(
    full: Full = False,
    text: WithText = False,
    pdf: WithPdf = False,
    legacy: WithLegacy = False,
    allow_secret: AllowSecret = None,
    as_json: AsJson = False,
) -> None:
    """Ingest the folder of the last run again."""
    from labkit.assembly import open_lab

    lab = open_lab()
    _run(lab, _last_folder(lab), Asked(text, pdf, legacy, allow_secret or (), full), as_json)


def plan(
    source: Source = None,
    full: Full = False,
    text: WithText = False,
    pdf: WithPdf = False,
    legacy: WithLegacy = False,
    allow_secret: AllowSecret = None,
    as_json: AsJson = False,
) -> None:
    """Show what a rebuild would change, or an ingest if that made the index; change nothing."""
    from labkit import indexing
    from labkit.assembly import open_lab

    lab = open_lab()
    if source is not None or _origin(lab).command == "ingest":
        root = _last_folder(lab) if source is None else _folder(lab, source)
        _say_if_another(lab, root, as_json)
        _show_ingest_plan(lab, root, Asked(text, pdf, legacy, allow_secret or (), full), as_json)
        return
    found = indexing.plan(lab.source(), lab.chunker, lab.embedder, lab.store)
    if as_json:
        print_json(_plan_dict(found))
        return
    _print_changes(found)
    typer.echo(f"{len(found.unchanged)} documents unchanged.")


def stats(as_json: AsJson = False) -> None:
    """Show the size of the index, what it was built with, its last run, and the embedder's health.

    The index is shown even if the embedder cannot work now.
    """
    from labkit.assembly import open_lab

    lab = open_lab()
    values = {**asdict(lab.store.stats()), "manifest": asdict(lab.store.manifest())}
    last, health = next(iter(lab.store.runs(limit=1)), None), lab.health()
    if as_json:
        run = asdict(last) if last else None
        print_json({**values, "last_run": run, "health": asdict(health)})
        return
    manifest = values.pop("manifest")
    manifest["origin"] = " of ".join(filter(None, manifest["origin"].values())) or "unknown"
    for name, value in {**values, **manifest.pop("embedder"), **manifest}.items():
        typer.echo(f"{name:18}{value}")
    if last:
        files = f", files left out: {last.failed}" if last.failed else ""
        typer.echo(f"{'last run':18}{last.command}, {last.started}, {last.status}{files}")
    typer.echo(f"{'embedder':18}{'ready' if health.ok else health.message}")


# --- which folder --------------------------------------------------------------------------------


def _folder(lab: Lab, source: str | None) -> Path:
    """The folder that a person names, or else that of the settings; LabError if there is none."""
    if source is not None and not source.strip():  # "$UNSET" must not stand for where one is
        raise LabError("--source is empty. Name the folder that holds the documents: --source DIR.")
    root = Path(os.path.abspath(Path(source).expanduser() if source else lab.settings.corpus))
    if not root.is_dir():
        raise LabError(
            f"{root} is not a folder. Name the one that holds the documents: --source DIR. "
            "The index was left as it is."
        )
    return root


def _last_folder(lab: Lab) -> Path:
    """The folder that `ingest` made the index of; LabError if it did not, or if that has gone."""
    from labkit.indexing import origin_of

    origin = origin_of(lab.store)
    root = Path(os.path.abspath(origin.root))
    if origin.command != "ingest":
        raise LabError("This index was not made by ingest. Run: labkit ingest --source DIR")
    if not root.is_dir():
        raise LabError(
            f"{root}, the folder of the last run, is not there. If its disk is not mounted, mount "
            "it; if the folder has moved, run: labkit ingest --source DIR. The index was left as "
            "it is."
        )
    return root


def _origin(lab: Lab) -> Origin:
    from labkit.indexing import origin_of

    return origin_of(lab.store) if lab.store.exists() else Origin()


def _refuse_another(lab: Lab, root: Path) -> None:
    """LabError if nobody named a folder, and the index was taken in from another one than `root`.

    A forgotten word must not exchange all documents for those of the settings.
    """
    origin = _origin(lab)
    if origin.command == "ingest" and Path(os.path.abspath(origin.root)) != root:
        raise LabError(
            f"The index holds the documents of {origin.root}, and source_root is {root}. To bring "
            "it up to date, run: labkit reindex. For another folder, run: labkit ingest --source "
            "DIR, or name another index with LABKIT_INDEX."
        )


def _say_if_another(lab: Lab, root: Path, as_json: bool) -> None:
    """Tell a person before the documents of one folder make way for those of another."""
    last = _origin(lab).root
    if last and not as_json and Path(os.path.abspath(last)) != root:
        typer.echo(f"The last run was for another folder, {last}.", err=True)


# --- what is done, and what would be -------------------------------------------------------------


def _run(lab: Lab, root: Path, asked: Asked, as_json: bool) -> None:
    """Ingest a folder and print the record of it."""
    from labkit.indexing import ingest
    from labkit.store.lock import index_lock

    with index_lock(lab.settings.index), bars() as bar:
        source = asked.read(lab, root)
        done = ingest(
            source,
            lab.ingest_chunker,
            lab.embedder,
            lab.store,
            bar("Embedding"),
            asked.full,
        )
    _show_run(done, source.counts, done.embedded - lab.embedder.computed, as_json)


def _show_run(run: IngestRun, counts: Counts, cached: int, as_json: bool) -> None:
    """Print a record; files that were left out are no failure, a run that read none is one.

    `cached` of the embedded chunks had their vectors in the cache: no model was asked for them.
    """
    if as_json:
        print_json({**asdict(run), **_untouched(counts)})
    else:
        _print_files(run.faults, run.notes)
        known = f", {cached} of them from the cache" if cached else ""
        typer.echo(
            f"{run.documents} documents in {run.chunks} chunks: {run.added} added, "
            f"{run.changed} changed, {run.removed} removed, {run.unchanged} unchanged; "
            f"{run.embedded} chunks embedded{known}."
        )
        if run.failed:
            typer.echo(f"Files left out, for the reasons above: {run.failed}.")
        _print_untouched(counts)
        if not run.documents:
            typer.echo(
                f"Nothing in {run.root} may be taken in, so that the index holds no document."
            )
        if run.near_duplicates:
            typer.echo(f"Passages that say nearly the same as another one: {run.near_duplicates}.")
    if run.failed and not run.documents:
        raise typer.Exit(NOTHING_READ)


def _show_ingest_plan(lab: Lab, root: Path, asked: Asked, as_json: bool) -> None:
    from labkit.indexing import plan

    source = asked.read(lab, root)
    found = plan(source, lab.ingest_chunker, lab.embedder, lab.store, asked.full)
    if as_json:
        files = {
            "failed": len(source.faults),
            "faults": [asdict(fault) for fault in source.faults],
            "notes": [asdict(note) for note in source.notes],
            **_untouched(source.counts),
        }
        only_ingest = {"command": "ingest", "to_embed": found.to_embed}
        print_json({**_plan_dict(found), **only_ingest, **files})
        return
    _print_changes(found)
    _print_files(source.faults, source.notes)
    _print_untouched(source.counts)
    typer.echo(
        f"{len(found.unchanged)} documents unchanged. {found.to_embed} chunks would be embedded."
    )


def _plan_dict(found: indexing.Plan) -> dict[str, Any]:
    return {
        "changed": found.does_something,
        "added": found.added,
        "changed_documents": found.changed,
        "removed": found.removed,
        "unchanged": found.unchanged,
        "settings": {
            name: {"index": before, "now": now} for name, (before, now) in found.settings.items()
        },
    }


def _print_changes(found: indexing.Plan) -> None:
    """What a run would change, a line a document or setting."""
    lists = (("add", found.added), ("change", found.changed), ("remove", found.removed))
    for label, names in lists:
        for name in names:
            typer.echo(f"{label:8}{name}")
    for name, (before, now) in found.settings.items():
        typer.echo(f"setting {name}: {before!r} becomes {now!r}")


def _untouched(counts: Counts) -> dict[str, int]:
    return {"hidden": counts.hidden, "ignored": counts.ignored}


def _print_untouched(counts: Counts) -> None:
    """Nothing is left out without a word: what nobody asked to take in is counted."""
    if counts.hidden or counts.ignored:
        typer.echo(
            f"Not looked into: {counts.hidden} hidden, {counts.ignored} that an ignore file names "
            "(a folder counts once)."
        )


def _print_files(faults: Sequence[FileFault], notes: Sequence[FileFault]) -> None:
    for label, files in (("Left out", faults), ("Note", notes)):
        for file in files:
            typer.echo(f"{label}: {file.path}: {file.message}")
