"""For whoever asks: `answer`, `search`, `probe`."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias

import typer

from labkit.cli.console import AsJson, print_json
from labkit.types import Evidence, Hit

if TYPE_CHECKING:
    from labkit.answering.results import Outcome
    from labkit.answering.retrieval import HybridSearch, StrictSearch
    from labkit.assembly import Lab

REFUSED = 3
SNIPPET = 2  # lines of a passage that a list shows


def _glob(pattern: str | None) -> str | None:
    """A pattern that can match something; a usage error for one that is none."""
    if pattern is not None and (not pattern.strip() or pattern.count("[") > pattern.count("]")):
        raise typer.BadParameter(
            f"{pattern!r} matches no path. Write a folder or a pattern, such as 'guides/*.md'"
        )
    return pattern


Question = Annotated[str, typer.Argument(help="The question, in quotes.", show_default=False)]
Path_ = Annotated[
    str | None,
    typer.Option("--path", metavar="GLOB", callback=_glob, help="Only files of this path."),
]
Section = Annotated[
    str | None,
    typer.Option("--section", metavar="TEXT", help="Only under a heading that holds this."),
]
PolicyName: TypeAlias = Literal["strict", "hybrid"]
Policy = Annotated[
    PolicyName | None, typer.Option(help="How passages are chosen; default retrieval.policy.")
]
AsOf = Annotated[
    datetime | None,
    typer.Option("--as-of", formats=["%Y-%m-%d"], help="The day to answer for; default today."),
]
ViewerName = Annotated[
    str | None, typer.Option("--viewer", help="Who asks: the name of a viewer in labkit.toml.")
]
Shown = Annotated[int, typer.Option("--k", "-k", min=1, help="How many passages to show.")]


def register(app: typer.Typer) -> None:
    """Put these commands on a command line."""
    for command in (answer, search, probe):
        app.command()(command)


def answer(
    question: Question,
    k: Annotated[
        int | None,
        typer.Option("--k", "-k", min=1, help="Passages to answer from; default retrieval.k."),
    ] = None,
    policy: Policy = None,
    path: Path_ = None,
    section: Section = None,
    as_of: AsOf = None,
    viewer: ViewerName = None,
    generator: Annotated[
        Literal["extractive", "chat"], typer.Option(help="Who proposes evidence.")
    ] = "extractive",
    mode: Annotated[
        Literal["provider", "tool"] | None, typer.Option(help="How a chat model gets the passages.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show how it came about.")] = False,
    as_json: AsJson = False,
) -> None:
    """Answer a question with quotations, or refuse with a reason (exit 3)."""
    from labkit.answering.citing import outcome_dict
    from labkit.answering.engine import Engine

    lab = _lab(policy, k)
    engine = Engine(_part(lab.search(), path, section), lab.generator(generator, mode))
    outcome = engine.ask(question, lab.settings.viewer_named(viewer), _day(as_of))
    if as_json:
        print_json(outcome_dict(outcome, lab.settings.base_url))
    else:
        _print_outcome(outcome, lab.settings.base_url, trace)
    if outcome.status == "refused":
        raise typer.Exit(REFUSED)


def search(
    question: Question,
    k: Shown = 10,
    policy: Policy = None,
    path: Path_ = None,
    section: Section = None,
    as_of: AsOf = None,
    viewer: ViewerName = None,
    as_json: AsJson = False,
) -> None:
    """Show the ranked passages for a question, and why each was kept or dropped."""
    from labkit.answering.engine import check_question

    lab = _lab(policy)
    who = lab.settings.viewer_named(viewer)
    searching = _part(lab.search(), path, section)
    found = searching.retrieve(check_question(question), who, _day(as_of))
    refusal, hits = found.refusal, found.ranked[:k]
    if as_json:
        shown = [_found_dict(hit, question, lab.settings.base_url) for hit in hits]
        reason = refusal.reason if refusal else None
        print_json({**found.detail, "reason": reason, "hits": shown})
        return
    if not found.ranked and (path is not None or section is not None):
        asked = [f"--path {path!r}"] if path is not None else []
        asked += [f"--section {section!r}"] if section is not None else []
        typer.echo(f"Nothing that this viewer may read matches {' and '.join(asked)}.")
        return
    _print_hits(hits, question, "Passages by fused rank:")
    if len(found.ranked) > k:
        typer.echo(f"{len(found.ranked) - k} more; -k shows them.")
    if refusal:
        typer.echo(f"Would be refused ({refusal.reason}): {refusal.message}")


def probe(
    question: Question,
    k: Shown = 10,
    as_of: AsOf = None,
    viewer: ViewerName = None,
    as_json: AsJson = False,
) -> None:
    """Show the nearest passages by cosine alone, before threshold and fusion."""
    from labkit.answering.engine import check_question

    lab = _lab()
    searching = lab.search()
    eligible = searching.admission(lab.settings.viewer_named(viewer), _day(as_of))
    hits = searching.dense(check_question(question), eligible)[:k]
    if as_json:
        shown = [_found_dict(hit, question, lab.settings.base_url) for hit in hits]
        print_json({"threshold": lab.threshold, "hits": shown})
        return
    _print_hits(hits, question, f"Passages by cosine (the threshold is {lab.threshold:.2f}):")


def _lab(policy: PolicyName | None = None, k: int | None = None) -> Lab:
    """The lab of the settings, with what this question asks for besides."""
    from labkit.assembly import Lab, open_lab

    lab = open_lab()
    asked = {"policy": policy, "k": k}
    wanted = {name: value for name, value in asked.items() if value is not None}
    return Lab(lab.settings.having(retrieval=wanted)) if wanted else lab


def _part(
    searching: StrictSearch | HybridSearch, path: str | None, section: str | None
) -> StrictSearch | HybridSearch:
    """The search, or one of a part of the index, which speaks of no more than that part."""
    from labkit.answering.access_filter import admit

    if path is None and section is None:
        return searching
    within = partial(admit, path=path, section=section)
    return replace(searching, admission=within, knower="passage in this part of the index")


def _day(as_of: datetime | None) -> date:
    return as_of.date() if as_of else date.today()


# --- as text -------------------------------------------------------------------------------------


def _print_outcome(outcome: Outcome, base_url: str, trace: bool) -> None:
    """The quotations and where they stand, or the reason and what came closest."""
    typer.echo(str(outcome))
    hits = {hit.chunk.id: hit for hit in outcome.closest}
    for item in outcome.evidence if outcome.status == "answered" else ():
        for line in _citation(item, hits.get(item.chunk_id), base_url):
            typer.secho(f"    {line}", dim=True)
    if outcome.status == "refused" and outcome.closest:
        typer.secho("Closest passages:", dim=True)
        for hit in outcome.closest:
            typer.secho(f"    {hit.chunk.id}: {_name(hit)}", dim=True)
    if trace:
        typer.echo(f"\n{outcome.trace}")


def _citation(item: Evidence, hit: Hit | None, base_url: str) -> Iterator[str]:
    """Where a quotation stands, for a person who wants to look."""
    from labkit.answering.citing import link_of

    place = f"{_name(hit)}, {hit.chunk.meta.path}" if hit else item.source_id
    page = f", page {item.page}" if item.page is not None else ""
    yield f"{item.chunk_id}: {place}{page}, characters {item.start} to {item.end}"
    if hit and (link := link_of(hit.chunk, base_url)):
        yield link


def _name(hit: Hit) -> str:
    """The title of a passage's document and the section that it stands in."""
    title, section = hit.chunk.meta.title, hit.chunk.section
    return f"{title} › {section}" if section and section != title else title


def _found_dict(hit: Hit, question: str, base_url: str) -> dict[str, Any]:
    from labkit.answering.citing import passage_dict
    from labkit.answering.reader import snippet

    return {**passage_dict(hit, base_url), "snippet": snippet(hit, question)}


def _print_hits(hits: Sequence[Hit], question: str, heading: str) -> None:
    """A list of passages, each with the unit that says most of the question.

    A terminal's width bounds the snippet, never a name or a reason.
    """
    from labkit.answering.reader import snippet

    typer.echo(heading)
    width = max(40, shutil.get_terminal_size().columns - 4)
    for number, hit in enumerate(hits, start=1):
        page = f", page {hit.chunk.page}" if hit.chunk.page is not None else ""
        typer.echo(f"{number:2}. {hit.chunk.id}: {_name(hit)}, {hit.chunk.meta.path}{page}")
        typer.secho(f"    {_scores(hit)}", dim=True)
        if hit.dropped:
            typer.secho(f"    dropped: {hit.dropped}", dim=True)
        text = " ".join(snippet(hit, question).split())
        for line in textwrap.wrap(text, width, max_lines=SNIPPET, placeholder=" …"):
            typer.echo(f"    {line}")


def _scores(hit: Hit) -> str:
    """The scores that the hit has, each with its rank."""
    scores = [
        ("cosine", hit.cosine, ".3f", hit.dense_rank),
        ("words", hit.lexical_score, ".3g", hit.lexical_rank),
        ("fused", hit.fused, ".5f", None),
    ]
    return ", ".join(
        f"{name} {value:{form}}" + (f" (rank {rank})" if rank else "")
        for name, value, form, rank in scores
        if value is not None
    )
