"""For whoever measures: `eval`, `calibrate`; and what the keepers of the shipped vectors need."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from labkit.cli.console import AsJson, bars, print_json
from labkit.types import LabError

if TYPE_CHECKING:
    from labkit.evaluation.datasets import AnnotatedQuestion, Squad
    from labkit.evaluation.running import Dataset, Evaluation, Plan

FORMAT = (
    "One JSON object a line: id, question, language, as_of (YYYY-MM-DD), viewer, answerable (true "
    "or false), kind; and for an answerable question its document (an id) and quotation."
)
# Those of the starter corpus: the default, spelled out because nothing heavy is imported here.
QUESTIONS = Path(__file__).resolve().parents[2] / "corpus/questions/starter.jsonl"


Data = Annotated[
    Path,
    typer.Argument(help="Annotated questions (JSON Lines), SQuAD 2.0 (.json), a BEIR folder."),
]
Answers = Annotated[
    bool, typer.Option("--answers", help="Ask end to end: what a reader gets in the end.")
]
Ledger = Annotated[
    bool, typer.Option("--ledger", help="As --answers, with the stage that lost each answer.")
]
Judged = Annotated[
    int | None, typer.Option("--k", "-k", min=1, help="Passages judged; default 5, BEIR 10.")
]
Policies = Annotated[list[str] | None, typer.Option(help="A policy to measure; repeatable.")]
Profiles = Annotated[
    list[str] | None, typer.Option(help="A model to measure, on an index of its own; repeatable.")
]
Sources = Annotated[
    list[str] | None,
    typer.Option(help="Documents to measure on, taken in as by `ingest --pdf`; repeatable."),
]
Half = Annotated[str | None, typer.Option(help="Only this half, as `development`.")]
Split = Annotated[str | None, typer.Option(help="Split of a BEIR folder; default test.")]
Sample = Annotated[
    int | None, typer.Option(min=1, help="Ask only so many questions, drawn by --seed.")
]
Seed = Annotated[int, typer.Option(help="Which questions a sample draws.")]


def register(app: typer.Typer) -> None:
    """Put these commands on a command line."""
    app.command("eval", epilog=f"Annotated questions: {FORMAT}")(evaluate)
    app.command(epilog=f"Annotated questions: {FORMAT}")(calibrate)
    app.command("ship-vectors", hidden=True)(ship_vectors)
    app.command("ship-knowledge-vectors", hidden=True)(ship_knowledge_vectors)


def evaluate(
    data: Data = QUESTIONS,
    answers: Answers = False,
    ledger: Ledger = False,
    k: Judged = None,
    policy: Policies = None,
    profile: Profiles = None,
    source: Sources = None,
    half: Half = None,
    split: Split = None,
    sample: Sample = None,
    seed: Seed = 0,
    as_json: AsJson = False,
) -> None:
    """Measure retrieval (dense alone, lexical alone, the policy), or with --answers the whole."""
    from labkit.evaluation.datasets import Beir, load_beir
    from labkit.evaluation.report import as_text, make_rows
    from labkit.evaluation.running import Plan, run
    from labkit.settings import load_settings

    dataset = load_beir(data, split) if data.is_dir() else _questions(data, half, sample, seed)
    depth = k or (10 if isinstance(dataset, Beir) else 5)
    plan = Plan(depth, policy or (), profile or (), _folders(source or (), dataset))
    if answers or ledger:
        _answers(dataset, plan, data.name, ledger, as_json)
        return
    with bars() as bar:
        evaluation = run(load_settings(), dataset, plan, bar)
    rows, notes = make_rows(evaluation.measured), _notes(dataset, evaluation)
    if as_json:
        figures = [row.to_dict() for row in rows]
        print_json({"data": data.name, "k": plan.k, "rows": figures, "notes": notes})
    else:
        typer.echo("\n".join([as_text(rows, plan.k), "", *notes]))


def _answers(dataset: Dataset, plan: Plan, name: str, ledger: bool, as_json: bool) -> None:
    """Ask every question end to end, and print what became of them."""
    from labkit.evaluation.answer_report import (
        answers_as_text,
        count_answers,
        count_losses,
        losses_as_text,
    )
    from labkit.evaluation.datasets import Beir
    from labkit.evaluation.report import ALL
    from labkit.evaluation.running import run_answers
    from labkit.settings import load_settings

    if isinstance(dataset, Beir):
        raise LabError("A BEIR folder names passages and no quotations. Leave --answers out.")
    with bars() as bar:
        judged = run_answers(load_settings(), dataset, plan, bar)
    rows = count_answers(judged)
    if not as_json:
        typer.echo(answers_as_text(rows) + ("\n\n" + losses_as_text(judged) if ledger else ""))
        return
    lost = [
        {"profile": profile, "policy": policy, **found}
        for (profile, policy), found in count_losses(judged).items()
    ]
    print_json(
        {
            "data": name,
            "answers": [row.to_dict() for row in rows if row.kind == ALL],
            "kinds": [row.to_dict() for row in rows if row.kind != ALL],
            "questions": [one.to_dict() for one in judged],
            **({"ledger": lost} if ledger else {}),
        }
    )


def _folders(sources: Sequence[str], dataset: Dataset) -> list[Path]:
    """The folders to take in; LabError for one that is none, or beside a BEIR folder."""
    from labkit.evaluation.datasets import Beir, Squad

    if sources and isinstance(dataset, Beir | Squad):
        kind = "BEIR folder" if isinstance(dataset, Beir) else "SQuAD file"
        raise LabError(f"A {kind} brings its own passages. Leave --source out.")
    for folder in sources:
        if not folder.strip() or not Path(folder).is_dir():
            raise LabError(f"--source {folder!r} is no folder. Name one that holds documents.")
    return [Path(folder) for folder in sources]


def _questions(
    path: Path, half: str | None, sample: int | None, seed: int
) -> Squad | list[AnnotatedQuestion]:
    """The questions of a file, or so many of them, in their order."""
    from labkit.evaluation.datasets import load_squad

    if path.suffix == ".json":
        squad = load_squad(path)
        return replace(squad, questions=tuple(_drawn(squad.questions, sample, seed)))
    return _drawn(_annotated(path, half), sample, seed)


def _drawn(
    questions: Sequence[AnnotatedQuestion], sample: int | None, seed: int
) -> list[AnnotatedQuestion]:
    if sample is None or sample >= len(questions):
        return list(questions)
    chosen = Random(seed).sample(range(len(questions)), sample)  # noqa: S311 - no secret
    return [questions[number] for number in sorted(chosen)]


def _annotated(path: Path, half: str | None) -> list[AnnotatedQuestion]:
    from labkit.evaluation.datasets import load_annotated

    questions = load_annotated(path)
    found = [item for item in questions if half is None or item.half == half]
    if not found:
        known = ", ".join(sorted({item.half or "none" for item in questions})) or "none"
        raise LabError(
            f"{path.name} holds no question{f' of the half {half!r}' if half else ''}. "
            f"Halves found: {known}."
        )
    return found


def _notes(dataset: Dataset, evaluation: Evaluation) -> list[str]:
    """What a reader of the figures has to know."""
    from labkit.evaluation.datasets import Beir

    notes = ["Left out of a mean: questions that nothing answers. A refusal scores 0."]
    if isinstance(dataset, Beir):
        notes = ["Policies rank without their threshold here: it is calibrated for our questions."]
        if dataset.unjudged:
            notes.append(
                f"Not asked: {dataset.unjudged} queries that {dataset.split} does not judge."
            )
    notes += [
        f"{count} texts are longer than the model of {name} reads at once; their vectors say less."
        for name, count in evaluation.too_long.items()
        if count
    ]
    return [
        *notes,
        *(f"Not in the index: {fault.path}: {fault.message}" for fault in evaluation.left_out),
    ]


def calibrate(
    questions_file: Annotated[
        Path, typer.Option("--questions", help="Annotated questions, as JSON Lines.")
    ] = QUESTIONS,
    answers: Annotated[
        bool, typer.Option("--answers", help="Measure retrieval.answer_score, end to end.")
    ] = False,
    wrong_costs: Annotated[
        float, typer.Option(help="With --answers: refusals that a wrong answer is worth.")
    ] = 4.0,
    as_json: AsJson = False,
) -> None:
    """Measure thresholds for the model in use on annotated questions."""
    from labkit.assembly import open_lab
    from labkit.evaluation.calibration import calibrate, read_questions

    if answers:
        _calibrate_answers(questions_file, wrong_costs, as_json)
        return
    lab = open_lab()
    with bars() as bar:
        found = calibrate(lab, read_questions(questions_file), bar("Measuring"))
    if as_json:
        print_json(found.to_dict())
        return
    typer.echo(
        f"threshold  answerable kept (of {found.answerable})  unanswerable let through "
        f"(of {found.unanswerable})"
    )
    for threshold, kept, bad in found.table:
        typer.echo(f"{threshold:9.2f}  {kept:23}  {bad:23}")
    typer.echo(f"Suggested: {found.suggested:.2f}, which keeps 98 % of the answerable questions.")


def _calibrate_answers(path: Path, wrong_costs: float, as_json: bool) -> None:
    from labkit.evaluation.answer_score import balances, cheapest
    from labkit.evaluation.datasets import load_annotated
    from labkit.evaluation.running import Plan, run_answers
    from labkit.settings import load_settings

    settings = load_settings().having(retrieval={"policy": "hybrid", "answer_score": 0.0})
    with bars() as bar:
        rows = balances(run_answers(settings, load_annotated(path), Plan(1), bar), wrong_costs)
    best = cheapest(rows)
    if as_json:
        found = [row.to_dict() for row in rows]
        print_json({"suggested": best.score, "wrong_costs": wrong_costs, "table": found})
        return
    typer.echo("score  right  other unit  wrong  refused  cost")
    for row in rows:
        typer.echo(
            f"{row.score:5.2f}  {row.right:5}  {row.other_unit:10}  {row.wrong:5}  "
            f"{row.refused:7}  {row.cost:g}"
        )
    typer.echo(f"Suggested: retrieval.answer_score = {best.score:.2f}, where the cost is least.")


def ship_vectors() -> None:
    """Write the starter corpus's vectors with the profile's live model (for its keepers)."""
    from labkit.assembly import open_lab
    from labkit.evaluation.shipping import ship_starter

    path, count = ship_starter(open_lab())
    typer.echo(f"Wrote {count} vectors to {path.name}.")


def ship_knowledge_vectors(
    sources: Annotated[list[Path], typer.Argument(help="The knowledge base, its PDFs.")],
) -> None:
    """Write the knowledge base's vectors with the profile's live model (for its keepers)."""
    from labkit.assembly import open_lab
    from labkit.evaluation.shipping import ship_knowledge

    path, count = ship_knowledge(open_lab(), sources)
    typer.echo(f"Wrote {count} vectors to {path.name}.")
