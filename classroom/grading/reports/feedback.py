"""The two files in which a student reads about one assignment."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from classroom.grading.names import file_name
from classroom.grading.reports.feedback_content import feedback
from classroom.grading.reports.feedback_html import as_html
from classroom.grading.reports.feedback_markdown import as_markdown
from classroom.grading.types import Graded
from classroom.grading.writing import write_whole


def write_feedback(one: Graded, folder: Path) -> tuple[Path, Path]:
    """Write `STUDENT/ASSIGNMENT.html` and `.md` below `folder`; the two say the same. Where
    nothing could be read as work on an assignment, they are called `unreadable`."""
    said, page = feedback(one), folder / feedback_name(one)
    text = page.with_name(f"{_stem(one)}.md")
    return write_whole(page, as_html(said)), write_whole(text, as_markdown(said))


def feedback_name(one: Graded) -> PurePosixPath:
    """Where the page of a result stands below the folder of feedback."""
    return PurePosixPath(one.folder or file_name(one.student), f"{_stem(one)}.html")


def _stem(one: Graded) -> str:
    return file_name(one.assignment) if one.assignment else "unreadable"
