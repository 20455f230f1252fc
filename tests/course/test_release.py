"""The exercise notebooks: generated from one source, never edited, gradable by nbgrader."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

from classroom import notebook
from classroom.exercises import ALL
from classroom.release import (
    CHECKOUT,
    TOPICS,
    assignment_name,
    bundle,
    release,
    write_sources,
)

SOURCES = sorted((CHECKOUT / "solutions").rglob("*.ipynb"))
RELEASED = sorted((CHECKOUT / "exercises").rglob("*.ipynb"))


def test_every_exercise_is_in_a_source_and_in_a_released_notebook() -> None:
    for paths in (SOURCES, RELEASED):
        text = "\n".join(path.read_text("utf-8") for path in paths)
        assert len(paths) == len(TOPICS)
        for exercise in ALL.values():
            assert f'\\"{exercise.id}\\"' in text


def test_the_sources_are_what_the_exercise_objects_say(tmp_path: Path) -> None:
    made = write_sources(tmp_path)
    assert [p.relative_to(tmp_path) for p in made] == [
        p.relative_to(CHECKOUT / "solutions") for p in SOURCES
    ]
    for path in made:
        shipped = CHECKOUT / "solutions" / path.relative_to(tmp_path)
        assert path.read_text("utf-8") == shipped.read_text("utf-8"), "run: labkit release"


@pytest.mark.slow
def test_the_exercises_are_what_nbgrader_makes_of_the_sources(tmp_path: Path) -> None:
    made = release(tmp_path)
    assert len(made) == len(RELEASED)
    for path in made:
        shipped = CHECKOUT / "exercises" / path.relative_to(tmp_path / "exercises")
        assert path.read_text("utf-8") == shipped.read_text("utf-8"), "run: labkit release"


@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_no_solution_is_in_a_released_notebook(path: Path) -> None:
    text = path.read_text("utf-8")
    assert "BEGIN SOLUTION" not in text
    released = {cell.source for cell in notebook.read(path).cells}
    stage = int(path.parent.name[2:4])
    for exercise in ALL.values():
        if exercise.stage == stage:
            assert exercise.starter.strip() in released
            body = [line.strip() for line in exercise.answer.splitlines() if len(line.strip()) > 40]
            assert not [line for line in body if any(line in source for source in released)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_graded_cells_cannot_be_bought_with_a_last_value(path: Path) -> None:
    """nbgrader gives full marks to a test cell that ends in a string, True or a negative number."""
    graded = [c for c in notebook.read(path).cells if c.metadata.get("nbgrader", {}).get("grade")]
    stage = int(path.parent.name[2:4])
    points = {e.id: e.points for e in ALL.values() if e.stage == stage}
    assert {c.metadata.nbgrader.grade_id.removesuffix("-test") for c in graded} == set(points)
    for cell in graded:
        assert cell.source.splitlines()[-1].startswith("assert ")
        assert cell.metadata.nbgrader.locked
    assert sum(cell.metadata.nbgrader.points for cell in graded) == sum(points.values())


def run_notebook(path: Path) -> list[Any]:
    """Execute a copy, going on after a failing cell; the error of each graded cell, or None."""
    from nbclient import NotebookClient

    book = notebook.read(path)
    NotebookClient(book, timeout=120, kernel_name="python3", allow_errors=True).execute()
    graded = [c for c in book.cells if c.metadata.get("nbgrader", {}).get("grade")]
    return [next((o for o in cell.outputs if o.output_type == "error"), None) for cell in graded]


@pytest.mark.slow
@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.stem)
def test_the_solutions_pass(path: Path) -> None:
    assert [error for error in run_notebook(path) if error is not None] == []


@pytest.mark.slow
@pytest.mark.parametrize("path", RELEASED, ids=lambda path: path.stem)
def test_untouched_exercises_fail_as_a_learner_should_see_it(path: Path) -> None:
    errors = run_notebook(path)
    assert all(error is not None and error.ename == "AssertionError" for error in errors)
    assert all("not attempted" in error.evalue for error in errors)


@pytest.mark.slow
def test_nbgraders_own_command_works_from_the_root(tmp_path: Path) -> None:
    name = assignment_name(2)
    (tmp_path / "solutions" / name).mkdir(parents=True)
    source = next((CHECKOUT / "solutions" / name).glob("*.ipynb"))
    (tmp_path / "solutions" / name / source.name).write_bytes(source.read_bytes())
    config = (CHECKOUT / "nbgrader_config.py").read_bytes()
    (tmp_path / "nbgrader_config.py").write_bytes(config)
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", "generate_assignment", name, "--create"],
        cwd=tmp_path,
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert (tmp_path / "exercises" / name / source.name).is_file()


def test_a_bundle_for_learners_holds_no_solution(tmp_path: Path) -> None:
    with zipfile.ZipFile(bundle(tmp_path / "lab.zip")) as archive:
        names = archive.namelist()
    assert len(names) == len(RELEASED)
    assert all(name.startswith("exercises/") for name in names)
