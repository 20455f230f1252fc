"""`pip install .` in a fresh environment: the engine answers without any part of the course."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType

import pytest

from conftest import CHECKOUT

PINS = Path(sys.prefix) / "pins.txt"  # `./lab` writes it: the lock's versions
SENTENCE = "The gate of the harbour opens at eight in the morning."
COURSE = ["jupyterlab", "notebook", "pandas", "matplotlib", "hypothesis", "nbgrader", "nbclient"]

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]


def bootstrap() -> ModuleType:
    """`lab`, which knows where a torch for this machine comes from."""
    loader = SourceFileLoader("lab_that_installs", str(CHECKOUT / "lab"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return module


def run(*command: object, cwd: Path, code: int = 0) -> str:
    """What a command prints; the test fails with its words if it ends otherwise."""
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "LABKIT_COMMAND")}
    done = subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The scripts of an environment that holds the package and its `dependencies` alone."""
    if not PINS.is_file():
        pytest.skip(f"there is no {PINS.name}: these tests run in the environment that ./lab makes")
    home = tmp_path_factory.mktemp("fresh")
    source = home / "source"  # pip leaves its build beside what it builds
    for name in ("labkit", "classroom"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(CHECKOUT / name, source / name, ignore=ignored)
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(CHECKOUT / name, source / name)
    venv.create(home / "venv", with_pip=True)
    scripts = home / "venv" / ("Scripts" if os.name == "nt" else "bin")
    lab = bootstrap()
    torch = lab.choose_torch(lab.wanted_torch() == "cpu", str(scripts / "python")).words
    pip = (scripts / "python", "-m", "pip", "install", "--quiet", "-c", PINS)
    run(*pip, *torch, cwd=home)
    run(*pip, source, cwd=home)
    return scripts


def test_it_answers_a_question_without_any_part_of_the_course(
    installed: Path, tmp_path: Path
) -> None:
    """Without a checkout and without settings: what this person takes in, this person may read."""
    (tmp_path / "handbook").mkdir()
    (tmp_path / "handbook/gate.md").write_text(f"# The gate\n\n{SENTENCE}\n", encoding="utf-8")
    labkit = installed / "labkit"
    run(labkit, "ingest", "--source", "handbook", cwd=tmp_path)
    assert SENTENCE in run(
        labkit, "answer", "When does the gate of the harbour open?", cwd=tmp_path
    )
    run(labkit, "answer", "Who was the first person on the Moon?", cwd=tmp_path, code=3)
    listed = run(installed / "python", "-m", "pip", "list", "--format=freeze", cwd=tmp_path)
    names = {line.partition("==")[0].casefold() for line in listed.splitlines()}
    assert "labkit" in names
    assert names.isdisjoint(COURSE)


def test_a_word_that_needs_more_packages_says_so(installed: Path, tmp_path: Path) -> None:
    labkit = installed / "labkit"
    assert "answer" in run(labkit, "--help", cwd=tmp_path)
    said = subprocess.run(
        [labkit, "run-lesson", "00"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert said.returncode == 2
    assert "pip install 'labkit[course]'" in said.stderr
