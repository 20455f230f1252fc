"""Everything that people read of a graded class, written into the folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from classroom.grading.reports.answers import write_answers
from classroom.grading.reports.feedback import write_feedback
from classroom.grading.reports.marks import write_marks
from classroom.grading.reports.overview import FEEDBACK, write_overview
from classroom.grading.types import Class


def write_reports(graded: Class, folder: Path, summary: Mapping[str, str]) -> list[Path]:
    """Write marks, feedback, the overview and the answers; the paths of the files, and of the
    folder of answers."""
    written = write_marks(graded.graded, folder)
    for one in graded.graded:
        written.append(write_feedback(one, folder / FEEDBACK))
    written.append(write_overview(graded.graded, folder, summary))
    written.append(write_answers(graded.answers, folder))
    return written
