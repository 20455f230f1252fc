"""The form of a question: what the address says, checked field by field."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date

from labkit.answering.engine import MAX_QUESTION, check_question
from labkit.settings import Settings
from labkit.types import LabError

SHOWN = (10, 25, 50, 100)


@dataclass(frozen=True)
class QuestionForm:
    """A question as it was typed; `asked` is False before anything was.

    `viewer` "" is the default viewer. `as_of` is the day in `day`, or today where that is none.
    `errors` has, for each field that is wrong, the key of the words that say so.
    """

    asked: bool
    question: str
    viewer: str
    day: str
    as_of: date
    shown: int
    errors: Mapping[str, str]


def read_form(query: Mapping[str, str], settings: Settings, today: date) -> QuestionForm:
    """The form in an address; a field that was not given has its default."""
    question, viewer = query.get("q", ""), query.get("viewer", "")
    typed = query.get("day", "").strip() or today.isoformat()
    as_of = day_of(typed)
    errors = {
        "q": question_error(question) if "q" in query else "",
        "viewer": "" if known_viewer(viewer, settings) else "error_viewer",
        "day": "error_day" if as_of is None else "",
    }
    return QuestionForm(
        asked="q" in query,
        question=question,
        viewer=viewer,
        day=typed,
        as_of=as_of or today,
        shown={str(count): count for count in SHOWN}.get(query.get("shown", ""), SHOWN[0]),
        errors={name: key for name, key in errors.items() if key},
    )


def question_error(question: str) -> str:
    """The key of what is wrong with a question, "" if nothing is.

    >>> question_error("\ufeff"), question_error("x" * 2001), question_error("Why?")
    ('error_empty', 'error_long', '')
    """
    try:
        check_question(question)
    except LabError:  # normalising may lengthen a text, three times at the most
        is_long = len(question.replace("\0", " ").strip()) > MAX_QUESTION // 4
        return "error_long" if is_long else "error_empty"
    return ""


def known_viewer(name: str, settings: Settings) -> bool:
    """Do the settings know this viewer? "" is the default one."""
    return not name or name in settings.viewers


def day_of(text: str) -> date | None:
    """A day written as 2026-10-23; None for anything else.

    >>> day_of("2026-10-23"), day_of("2026-02-30"), day_of("20261023")
    (datetime.date(2026, 10, 23), None, None)
    """
    try:
        day = date.fromisoformat(text)
    except ValueError:
        return None
    return day if day.isoformat() == text else None
