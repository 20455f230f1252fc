"""Small is measured, not declared: the files that a question enters, and each package as a whole.

Each figure is today's. A change that makes one grow by more than two in a hundred fails until the
figure here is changed on purpose, so that a reviewer sees it; no file is left out of the count.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from conftest import CHECKOUT, DAY
from labkit.assembly import open_lab

QUESTION_LINES = 3934
PACKAGE_LINES = {"labkit": 15357, "classroom": 14152}
MAY_GROW = 1.02
QUESTIONS = (
    "Where can I export CSV in Reporting?",  # answered
    "What is the warranty of GX-999?",  # an unknown product
    "How do I renew a passport for my cat?",  # nothing near
)


def lines(path: Path) -> int:
    """Physical lines, blank ones and comments too: what a reader scrolls through."""
    return len(path.read_text(encoding="utf-8").splitlines())


def within(figure: int, found: int) -> bool:
    return found <= figure * MAY_GROW


def report(files: dict[str, int], figure: int) -> str:
    table = "\n".join(f"{size:6} {name}" for name, size in sorted(files.items()))
    return f"{sum(files.values())} lines, and the figure here is {figure}:\n{table}"


# --- what one warm question enters ---------------------------------------------------------------


@pytest.fixture
def ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Asks the three questions of an engine on the starter corpus, which is warm already."""
    monkeypatch.setenv("LABKIT_INDEX", str(tmp_path / "index.sqlite"))
    command = [sys.executable, "-m", "labkit", "rebuild"]
    subprocess.run(command, cwd=CHECKOUT, env=os.environ, check=True, capture_output=True)
    lab = open_lab(CHECKOUT)
    engine, viewer = lab.engine(), lab.settings.viewer

    def asked() -> None:
        for question in QUESTIONS:
            engine.ask(question, viewer, DAY)

    asked()
    return asked


def entered(call: Callable[[], None]) -> set[str]:
    """The files of labkit in which a function was entered while `call` ran."""
    found: set[str] = set()

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call":
            found.add(frame.f_code.co_filename)

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    package = f"{CHECKOUT / 'labkit'}{os.sep}"
    return {name for name in found if name.startswith(package)}


def test_the_files_that_a_warm_question_enters(ask: Callable[[], None]) -> None:
    files = {name.removeprefix(f"{CHECKOUT}{os.sep}"): lines(Path(name)) for name in entered(ask)}
    assert any(name.endswith("gate.py") for name in files)
    assert within(QUESTION_LINES, sum(files.values())), report(files, QUESTION_LINES)


# --- the packages --------------------------------------------------------------------------------


@pytest.mark.parametrize("package", PACKAGE_LINES)
def test_a_package_as_a_whole(package: str) -> None:
    files = {
        path.relative_to(CHECKOUT).as_posix(): lines(path)
        for path in (CHECKOUT / package).rglob("*.py")
    }
    assert within(PACKAGE_LINES[package], sum(files.values())), report(
        files, PACKAGE_LINES[package]
    )
