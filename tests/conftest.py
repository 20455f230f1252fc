"""What every test may use."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

import pytest

from labkit.types import Viewer

CHECKOUT = Path(__file__).resolve().parents[1]
DAY = date(2026, 10, 23)
"""The day on which lessons and tests are pinned, so that nothing expires in CI."""


@pytest.fixture(autouse=True)
def _no_settings_from_outside(monkeypatch: pytest.MonkeyPatch) -> None:
    """A variable of the person who runs the tests must not change what they test."""
    for name in list(os.environ):
        if name.startswith("LABKIT_") and name != "LABKIT_REAL_DATA":
            monkeypatch.delenv(name)


@pytest.fixture
def reader() -> Viewer:
    return Viewer("ACME", frozenset({"readers"}))


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data, where the machine has one; the test is skipped elsewhere."""
    named = os.environ.get("LABKIT_REAL_DATA")
    if not named:
        pytest.skip("LABKIT_REAL_DATA is not set: no real data to measure on")
    return Path(named)
