"""What holds for every test and for every notebook that is run as one.

nbval's kernels inherit this environment: a stored output must not depend on a person's progress,
nor on controls that only a live notebook has.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import Any

import pytest

os.environ["LABKIT_WIDGETS"] = "off"
os.environ["LABKIT_PROGRESS"] = "memory"
os.environ["PYTHONWARNINGS"] = "ignore"

REQUIRED = [word for word in os.environ.get("LABKIT_REQUIRED", "").split(",") if word]
"""What must be here: a test that is skipped because one of these is missing has failed."""


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _failed_if_required((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _failed_if_required((yield))


def _failed_if_required(report: Any) -> Any:
    """The report of a test or a file; a skip for want of something required becomes a failure."""
    if report.skipped and isinstance(report.longrepr, tuple):
        reason = str(report.longrepr[2])
        for word in REQUIRED:
            if word in reason:
                report.outcome = "failed"
                report.longrepr = f"{reason}\nIt is required here: LABKIT_REQUIRED names {word!r}."
    return report
