"""What continuous integration requires cannot be skipped in silence."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import CHECKOUT

SKIPPING = """
import pytest

def test_pages():
    pytest.skip("no Chromium: apt-get install chromium")
"""
SKIPPING_AS_A_FILE = """
import pytest

pytest.importorskip("a_hub_that_is_not_installed")
"""


def run(folder: Path, source: str, required: str) -> subprocess.CompletedProcess[str]:
    shutil.copyfile(CHECKOUT / "conftest.py", folder / "conftest.py")
    (folder / "test_it.py").write_text(source)
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "-p", "no:cacheprovider", "test_it.py"]
    environment = {**os.environ, "LABKIT_REQUIRED": required}
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.parametrize(
    ("source", "required"),
    [(SKIPPING, "bubblewrap,Chromium"), (SKIPPING_AS_A_FILE, "a_hub_that_is_not_installed")],
)
def test_a_skip_for_want_of_what_is_required_is_a_failure(
    tmp_path: Path, source: str, required: str
) -> None:
    done = run(tmp_path, source, required)
    assert done.returncode not in (0, 5)
    assert "It is required here: LABKIT_REQUIRED names" in done.stdout


@pytest.mark.parametrize("required", ["", "bubblewrap"])
def test_another_skip_stays_one_and_says_why(tmp_path: Path, required: str) -> None:
    done = run(tmp_path, SKIPPING, required)
    assert done.returncode == 0
    assert "no Chromium: apt-get install chromium" in done.stdout
