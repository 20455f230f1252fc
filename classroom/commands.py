"""The command line of the classroom, for those who prefer an editor to a notebook."""

from __future__ import annotations

import re
import runpy
import shutil
import traceback
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from classroom.exercises import ALL
from classroom.grading.commands import grade, regrade
from classroom.learner import check as check_function
from classroom.learner import hint as next_hint
from classroom.learner import progress as show_progress
from labkit.cli.console import AsJson, print_json
from labkit.text import fold
from labkit.types import LabError

CHECKOUT = Path(__file__).resolve().parents[1]
NOTEBOOKS = CHECKOUT / "notebooks"
GLOSSARY = CHECKOUT / "docs/glossary.md"
WRONG = 3


def register(app: typer.Typer) -> None:
    """Add the classroom's commands to an app."""
    for command in (exercises, check, hint, progress, reset, release, grade, regrade):
        app.command()(command)
    app.command("new-lesson")(new_lesson)
    app.command("run-lesson")(run_lesson)
    app.command("check-lesson")(check_lesson)


def exercises(
    as_json: AsJson = False,
) -> None:
    """List all exercises."""
    summaries = [exercise.summary() for exercise in ALL.values()]
    if as_json:
        print_json(summaries)
        return
    for item in summaries:
        kind = "core" if item["core"] else "transfer" if item["transfer"] else "stretch"
        typer.echo(
            f"{item['stage']:02d}  {item['id']:26} {kind:9} {item['points']:2} points "
            f"{item['minutes']:3} min  {item['title']}"
        )


def check(
    file: Annotated[Path, typer.Argument(help="A Python file with functions of exercises.")],
) -> None:
    """Check every function in FILE whose name is an exercise (exit 3 if one does not pass)."""
    if file.suffix == ".ipynb":
        raise LabError(f"{file.name} is a notebook: call check(name, function) inside it.")
    functions = _functions(file)
    messages = [check_function(name, functions[name]) for name in ALL if name in functions]
    if not messages:
        raise LabError(f"{file} defines no exercise. `labkit exercises` lists their names.")
    for message in messages:
        typer.echo(str(message))
    if not all(message.heading.endswith(": right") for message in messages):
        raise typer.Exit(WRONG)


def hint(name: Annotated[str, typer.Argument(help="The name of an exercise.")]) -> None:
    """Show the next hint of an exercise."""
    _known(name)
    typer.echo(str(next_hint(name)))


def progress() -> None:
    """Show where you stand."""
    typer.echo(str(show_progress()))


def reset(
    lesson: Annotated[str, typer.Argument(help="A lesson's number or name, such as 02.")],
) -> None:
    """Get a fresh copy of a lesson; your own is kept beside it under another name."""
    shipped = _lesson(lesson)
    mine = CHECKOUT / "my-lab" / "notebooks" / shipped.name
    if mine.exists():
        stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
        kept = mine.with_name(f"{mine.stem}-mine-{stamp}.ipynb")
        mine.replace(kept)
        typer.echo(f"Yours is kept as {kept.name}.")
    mine.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(shipped, mine)
    typer.echo(f"{mine.name} is fresh.")


def release(
    bundle: Annotated[
        Path | None, typer.Option("--bundle", help="Also write a zip for learners.")
    ] = None,
) -> None:
    """Make solutions/ and exercises/ anew from the exercise objects."""
    from classroom import release as releasing

    for path in releasing.release():
        typer.echo(path.relative_to(CHECKOUT).as_posix())
    if bundle is not None:
        typer.echo(f"Wrote {releasing.bundle(bundle)}.")


def new_lesson(
    number: Annotated[str, typer.Argument(help="The lesson's number, such as 9 or 11b.")],
    title: Annotated[str, typer.Argument(help="Its title, in quotes.")],
) -> None:
    """Start a lesson from the template; `check-lesson` then says what is missing."""
    from classroom import notebook
    from classroom.template import lesson_template

    slug = re.sub(r"[^a-z0-9]+", "_", fold(title)).strip("_")
    found = re.fullmatch(r"(\d{1,2})([a-z]?)", number)
    if not found:
        raise LabError(f"{number!r} is no lesson's number: give 0 to 99, perhaps with a letter.")
    label = number.zfill(2 + len(found[2]))
    path = NOTEBOOKS / f"{label}_{slug}.ipynb"
    if not slug:
        raise LabError(f"The title {title!r} holds no letter that could name a file.")
    if any(NOTEBOOKS.glob(f"{label}_*.ipynb")):
        raise LabError(f"There is a lesson {label} already.")
    notebook.write(lesson_template(int(found[1]), title, found[2]), path)
    typer.echo(
        f"Wrote {path.name}. Write it (docs/authoring.md says how), then: labkit run-lesson {label}"
    )


def run_lesson(
    lessons: Annotated[list[str], typer.Argument(help="Numbers or names of lessons.")],
) -> None:
    """Execute lessons and store their outputs, as the tests will compare them."""
    from classroom import notebook

    for name in lessons:
        path = _lesson(name)
        notebook.write(notebook.execute(path), path)
        typer.echo(f"{path.name}: executed")


def check_lesson(
    lessons: Annotated[list[str], typer.Argument(help="Numbers or names of lessons.")],
) -> None:
    """Say what a lesson lacks (exit 3 if it lacks anything)."""
    from classroom import lesson_lint
    from classroom.glossary import read_glossary

    glossary = read_glossary(GLOSSARY) if GLOSSARY.is_file() else []
    found = 0
    for name in lessons:
        path = _lesson(name)
        for problem in lesson_lint.problems(path, glossary):
            found += 1
            typer.echo(f"{path.name}: {problem}")
    if found:
        raise typer.Exit(WRONG)
    typer.echo("Nothing is missing.")


def _functions(file: Path) -> dict[str, Any]:
    """What the learner's file defines; a fault in it is shown with its own line."""
    try:
        return runpy.run_path(str(file))
    except FileNotFoundError as error:
        raise LabError(f"There is no file {file}.") from error
    except SyntaxError as error:
        raise LabError(f"{file}, line {error.lineno}: {error.msg}: {error.text}") from error
    except (Exception, SystemExit) as error:
        lines = [
            line
            for frame, line in traceback.walk_tb(error.__traceback__)
            if frame.f_code.co_filename == str(file)
        ]
        place = f", line {lines[-1]}," if lines else ""
        said = f"{type(error).__name__}: {error}".removesuffix(": ")
        raise LabError(f"{file}{place} stops with {said}") from error


def _known(name: str) -> None:
    if name not in ALL:
        raise LabError(f"There is no exercise {name!r}. `labkit exercises` lists their names.")


def _lesson(name: str) -> Path:
    """The file of the lesson with this number, name or path."""
    start = name.zfill(2) if name.isdigit() else name
    found = sorted(NOTEBOOKS.glob(f"{start}*.ipynb")) if re.match(r"\w+$", name) else []
    path = found[0] if len(found) == 1 else Path(name)
    if not path.is_file():
        known = ", ".join(item.stem for item in sorted(NOTEBOOKS.glob("*.ipynb"))) or "none"
        raise LabError(f"There is no lesson {name!r}. There are: {known}.")
    return path
