"""`labkit grade` and `labkit regrade`."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from classroom.checking import Outcome
from labkit.cli.console import AsJson, bars, print_json
from labkit.types import LabError

if TYPE_CHECKING:
    from classroom.grading.grade import Options
    from classroom.grading.secret import Secret
    from classroom.grading.types import Class

DIFFERENT = 3
OUR_FAULT = 1
_CORES = os.cpu_count() or 1
Submissions = Annotated[
    Path,
    typer.Argument(
        help="A folder of submissions (nbgrader's `submitted/`, one folder or file a student) or "
        "a zip from a learning platform."
    ),
]
KeyFile = Annotated[
    Path | None,
    typer.Option(
        "--key",
        help="Your key file. Default: LABKIT_GRADING_KEY, or one among your own settings, which "
        "is made at first use.",
    ),
]
NewKey = Annotated[
    bool, typer.Option("--new-key", help="Make the file that --key names, if there is none.")
]
Unsafe = Annotated[
    bool,
    typer.Option(
        "--unsafe-without-sandbox",
        help="Run submissions although there is no sandbox here. Only where nothing can be lost.",
    ),
]
Jobs = Annotated[
    int, typer.Option("--jobs", "-j", min=1, max=64, help="How many submissions at a time.")
]
Results = Annotated[Path, typer.Option("--out", "-o", help="The folder for results.")]
Seed = Annotated[
    str, typer.Option("--seed", help="A label, such as a term: other labels, other cases.")
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Grade again what an earlier run has graded.")]


def grade(
    submissions: Submissions,
    out: Results,
    key: KeyFile = None,
    new_key: NewKey = False,
    seed: Seed = "1",
    jobs: Jobs = _CORES,
    fresh: Fresh = False,
    unsafe: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Grade a folder of submissions that nobody trusts.

    Writes marks (CSV), feedback for each student, a signed record of each submission, an overview,
    and the answers in folders as JPlag, Dolos and MOSS read them. Interrupted, it goes on from
    where it was.
    """
    from classroom.grading.grade import Options, grade_class
    from classroom.grading.reports.all import write_reports

    if not seed.strip():
        raise LabError("The label after --seed is empty; name a term, for instance.")
    options = Options(_secret(key, new_key), seed, jobs, unsafe, fresh)
    began = time.monotonic()
    with _bar("Grading") as progress:
        graded = grade_class(submissions, out, options, progress)
    summary = _summary(graded, options, time.monotonic() - began)
    written = write_reports(graded, out, summary)
    if as_json:
        print_json(_as_json(graded, seed, [path.relative_to(out).as_posix() for path in written]))
    else:
        for label, text in summary.items():
            typer.echo(f"{label}: {text}")
        for outcome, count in _outcomes(graded).items():
            typer.echo(f"{count:5} × {outcome}")
        typer.echo(f"Start with {out / 'overview.html'}; marks are in {out / 'marks.csv'}.")
    for fault in graded.faults:
        typer.echo(f"labkit: not graded, by a fault of ours: {fault}", err=True)
    if graded.faults:
        raise typer.Exit(OUR_FAULT)


def regrade(
    submissions: Submissions,
    results: Annotated[Path, typer.Argument(help="The folder that `labkit grade` wrote.")],
    key: KeyFile = None,
    jobs: Jobs = _CORES,
    unsafe: Unsafe = False,
    as_json: AsJson = False,
) -> None:
    """Grade again what has a record and list the differences (exit 3 if there are any)."""
    from classroom.grading.grade import Options
    from classroom.grading.grade import regrade as grade_again
    from classroom.grading.secret import default_secret_path, open_secret

    options = Options(open_secret(key or default_secret_path()), jobs=jobs, unsafe=unsafe)
    with _bar("Grading again") as progress:
        again = grade_again(submissions, results, options, progress)
    found = [(one.before.name, one.differences) for one in again if one.differences]
    if as_json:
        different = [{"submission": name, "differences": lines} for name, lines in found]
        print_json({"graded_again": len(again), "different": different})
    else:
        for name, lines in found:
            typer.echo(name)
            for line in lines:
                typer.echo(f"  {line}")
        typer.echo(f"{len(again)} graded again, {len(found)} of them with differences.")
        if not found:
            typer.echo("Submissions, code, environment and sandbox are those of the records.")
    if found:
        raise typer.Exit(DIFFERENT)


def _secret(path: Path | None, new: bool) -> Secret:
    """What the instructor's key file holds. A new one is announced; a mistyped path makes none."""
    from classroom.grading.secret import default_secret_path, open_secret

    chosen = path or default_secret_path()
    missing = not chosen.exists()
    if missing and path is not None and not new:
        raise LabError(f"There is no key file {path}. To make it, say --new-key.")
    secret = open_secret(chosen, create=True)
    if missing:
        typer.echo(
            f"Made a new key: {chosen}. Keep a copy: it makes the hidden cases and signs records.",
            err=True,
        )
    return secret


def _summary(graded: Class, options: Options, seconds: float) -> dict[str, str]:
    """What stands above everything else, in the terminal and in the overview."""
    before = f", {graded.kept} of them as graded before" if graded.kept else ""
    if graded.again:
        before += f", {graded.again} graded again: labkit or what it runs on is another than then"
    return {
        "Submissions": f"{len(graded.graded)}{before}",
        "Sandbox": graded.sandbox,
        "Grading took": f"{seconds:.0f} s with {options.jobs} at a time",
        "Hidden cases": f"seed {options.seed!r} under your key",
    }


def _as_json(graded: Class, seed: str, written: Sequence[str]) -> dict[str, Any]:
    return {
        "submissions": len(graded.graded),
        "kept": graded.kept,
        "graded_again": graded.again,
        "sandbox": graded.sandbox,
        "seed": seed,
        "outcomes": _outcomes(graded),
        "scores": [
            {
                "student": one.student,
                "assignment": one.assignment,
                "score": one.score,
                "max_score": one.max_score,
            }
            for one in graded.graded
        ],
        "faults": graded.faults,
        "written": written,
    }


def _outcomes(graded: Class) -> dict[str, int]:
    """How often each outcome came, of those that did."""
    counts = Counter(mark.outcome for one in graded.graded for mark in one.marks)
    return {str(outcome): counts[outcome] for outcome in Outcome if counts[outcome]}


@contextmanager
def _bar(what: str) -> Iterator[Callable[[int, int, str], None]]:
    """A progress bar; whoever interrupts it is told what has been kept."""
    with bars() as bar:
        show = bar(what)
        done, of = 0, 0

        def told(number: int, total: int, _: str) -> None:
            nonlocal done, of
            done, of = number, total
            show(done, of)

        try:
            yield told
        except KeyboardInterrupt:
            typer.echo(
                f"labkit: {done} of {of} submissions are graded and kept. Run the same command "
                "again to go on.",
                err=True,
            )
            raise
