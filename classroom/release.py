"""From exercise objects to notebooks: first the instructor's source, then the learner's copy.

`solutions/` holds nbgrader source notebooks made from the exercise objects; `exercises/` is what
nbgrader's generate_assignment makes of them. Neither is edited by hand: a test makes both anew and
compares.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from classroom.exercise import Exercise
from classroom.exercises import TOPICS, of_stage
from classroom.notebook import Notebook, new, read, write
from classroom.starter import NOT_YET
from labkit.types import LabError

CHECKOUT = Path(__file__).resolve().parents[1]


def assignment_name(stage: int) -> str:
    """The name under which nbgrader knows the exercises of a stage."""
    return f"ps{stage:02d}_{TOPICS[stage].word}"


def source_notebook(stage: int) -> Notebook:
    """The nbgrader source notebook of one stage."""
    topic = TOPICS[stage]
    cells: list[tuple[str, str]] = [
        ("markdown", f"# {topic.title}\n\n{topic.introduction}\n\n{_HOW}")
    ]
    marks: list[dict[str, Any] | None] = [None]
    for exercise in of_stage(stage):
        cells += [
            ("markdown", _task(exercise)),
            ("code", _solution_cell(exercise)),
            ("code", _test_cell(exercise)),
        ]
        marks += [
            None,
            _mark(exercise.id, solution=True),
            _mark(f"{exercise.id}-test", points=exercise.points),
        ]
    notebook = new(cells)
    for cell, mark in zip(notebook.cells, marks, strict=True):
        if mark is not None:
            cell.metadata["nbgrader"] = mark
    return notebook


def write_sources(folder: Path) -> list[Path]:
    """Write the source notebooks of all stages below `folder`."""
    paths = []
    for stage in TOPICS:
        path = folder / assignment_name(stage) / f"{TOPICS[stage].word}.ipynb"
        write(source_notebook(stage), path)
        paths.append(path)
    return paths


def release(checkout: Path = CHECKOUT) -> list[Path]:
    """Write `solutions/`, let nbgrader make `exercises/` from it, and clean what it made."""
    write_sources(checkout / "solutions")
    target = checkout / "exercises"
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        shutil.copytree(checkout / "solutions", root / "solutions")
        shutil.copyfile(CHECKOUT / "nbgrader_config.py", root / "nbgrader_config.py")
        for stage in TOPICS:
            _generate(root, assignment_name(stage))
        for path in sorted((root / "exercises").rglob("*.ipynb")):
            write(read(path), target / path.relative_to(root / "exercises"))
    return sorted(target.rglob("*.ipynb"))


def bundle(path: Path, checkout: Path = CHECKOUT) -> Path:
    """A zip for learners: the exercises, and nothing of the solutions."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for notebook in sorted((checkout / "exercises").rglob("*.ipynb")):
            archive.write(notebook, notebook.relative_to(checkout).as_posix())
    return path


_HOW = (
    "Each task has a cell to write in and a cell that checks it. A check tells you what it found; "
    "`hint` gives the next hint:\n\n"
    "```python\nfrom classroom.learner import check, hint\n```"
)


def _task(exercise: Exercise) -> str:
    calls = "\n".join(
        f"- `{written}`: {case.why}"
        for case in exercise.cases
        if case.why and len(written := exercise.call_written(case.arguments)) <= 140
    )
    return (
        f"## {exercise.title}\n\n{exercise.task}\n\n"
        f"*{exercise.points} points, about {exercise.minutes} minutes.*"
        + (f"\n\nWorth trying:\n\n{calls}" if calls else "")
    )


def _solution_cell(exercise: Exercise) -> str:
    marked = f"    ### BEGIN SOLUTION\n{exercise.answer.rstrip()}\n    ### END SOLUTION"
    return exercise.starter.replace(NOT_YET, marked).strip()


def _test_cell(exercise: Exercise) -> str:
    """An assertion, never an expression: nbgrader takes a last value for marks."""
    return (
        "from classroom.learner import verdict\n\n"
        f'result = verdict("{exercise.id}", {exercise.id})\n'
        "assert result.right, result.text"
    )


def _mark(name: str, *, solution: bool = False, points: int | None = None) -> dict[str, Any]:
    """nbgrader's metadata of a cell, schema 3."""
    mark: dict[str, Any] = {
        "schema_version": 3,
        "grade_id": name,
        "grade": points is not None,
        "solution": solution,
        "locked": not solution,
        "task": False,
        "cell_type": "code",
    }
    return mark if points is None else {**mark, "points": points}


def _generate(root: Path, assignment: str) -> None:
    """Run nbgrader on one assignment in a scratch folder."""
    command = [
        sys.executable,
        "-m",
        "nbgrader",
        "generate_assignment",
        assignment,
        "--create",
        "--force",
        f"--CourseDirectory.root={root}",
        f"--CourseDirectory.db_url=sqlite:///{root / 'gradebook.db'}",
    ]
    # nbgrader calls alembic by name, which stands beside the interpreter.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(  # noqa: S603
        command,
        cwd=root,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    made = root / "exercises" / assignment
    if done.returncode or not any(made.glob("*.ipynb")):
        with contextlib.suppress(OSError):
            shutil.rmtree(made)
        raise LabError(f"nbgrader could not make {assignment}:\n{done.stderr[-800:]}")
