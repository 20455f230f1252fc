"""Everything that people read of a graded class, written into the folder of results."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from classroom.grading.grade import Class
from classroom.grading.reports.feedback import write_feedback
from classroom.grading.reports.marks import write_marks
from classroom.grading.reports.overview import write_overview
from classroom.grading.reports.similarity import THRESHOLD, compare
from classroom.grading.reports.similarity_report import write_similarity


def write_reports(
    graded: Class, folder: Path, summary: Mapping[str, str], threshold: float | None = None
) -> list[Path]:
    """Write marks, feedback, the overview and the similarity report; the paths of all of them.

    `threshold` is the share from which two answers are called similar.
    """
    written = write_marks(graded.graded, folder)
    for one in graded.graded:
        written += write_feedback(one, folder / "feedback")
    comparison = compare(graded.answers, THRESHOLD if threshold is None else threshold)
    written.append(write_similarity(comparison, folder))
    written.append(write_overview(graded.graded, folder, summary, comparison.solutions))
    return written
