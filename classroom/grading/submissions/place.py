"""Whose a file is and for which assignment, as far as its place says: folders, names, and what the
learning platforms make of them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from classroom.exercises import TOPICS
from classroom.grading.submissions.found import is_zip
from classroom.grading.submissions.reading import split_ending
from classroom.grading.submissions.released import ASSIGNMENTS

# Moodle: `Anna Smith_12345_assignsubmission_file_`, a folder or the beginning of a file's name.
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
# Canvas: `smithanna_LATE_12345_67890_chunking-1.ipynb`; the 1 counts what was sent again.
_CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_\d+_(?P<file>.+)", re.DOTALL)
_AGAIN = re.compile(r"(?P<stem>.*\S)-(?P<number>\d{1,4})", re.DOTALL)
# Browsers, Jupyter, Windows and macOS name a second copy each in their way, some in French.
_COPY = re.compile(
    r"(?:(?:Copy|Copie)(?: \((?P<before>\d{1,4})\))? (?:of|de) )?(?P<stem>.*?\S)"
    r"(?:[ _]?\((?P<number>\d{1,4})\)|-Copy(?P<jupyter>\d{0,4})|(?: -)? (?:copy|Copy|copie|Copie)"
    r"(?: (?P<mac>\d{1,4}))?)?",
    re.DOTALL,
)
_OTHER_ENDING = re.compile(r"\.(?!\d)\w{1,5}\Z")
_EDGE = " _-."
CANVAS, MOODLE = "canvas", "moodle"


@dataclass(frozen=True, slots=True)
class Place:
    """What a file's place says. `student` is empty where it names none; `number` is the platform's,
    and tells namesakes apart; `late` says that the platform calls it late. `renamed`: the
    assignment was recognised in a name that nobody gave out. `again` counts what was sent again,
    and among copies the higher one."""

    student: str = ""
    number: str = ""
    platform: str = ""
    assignment: str = ""
    renamed: bool = False
    again: tuple[int, int] = (0, 0)
    late: bool = False


def place_of(parts: tuple[str, ...]) -> Place:
    """Read a file's place below the folder of submissions."""
    first, *rest = map(_without_zip, parts)
    if found := _MOODLE.fullmatch(first):
        inner = (found["file"], *rest) if found["file"] else tuple(rest)
        return _inside(inner or ("",), Place(student_name(found["name"]), found["id"], MOODLE))
    if found := _CANVAS.fullmatch(first):
        return _canvas(found, tuple(rest))
    if len(rest) > 1 and rest[0] in ASSIGNMENTS:  # nbgrader's layout, whatever the student's name
        return _inside(tuple(rest), Place(student_name(first)))
    if rest:
        assignment, left = named_in(first)
        inner = (assignment, *rest) if assignment else tuple(rest)
        return _inside(inner, Place(student_name(left if assignment else first)))
    return _at_root(first)


def student_name(name: str) -> str:
    """A name as it is compared: composed, since macOS takes accents apart."""
    return unicodedata.normalize("NFC", name)


def _without_zip(name: str) -> str:
    return name[:-4] if is_zip(name) else name


def _stem(name: str) -> str:
    """A file's name without its ending, also where it is the ending of no notebook."""
    stem, ending = split_ending(name)
    return stem if ending else _OTHER_ENDING.sub("", name)


def named_in(name: str) -> tuple[str, str]:
    """The assignment whose name, or number, stands in a name, and what is left without it.

    >>> named_in("anna_ps02_chunking")
    ('ps02_chunking', 'anna')
    """
    for assignment, pattern in _PATTERNS.items():
        if found := pattern.search(name):
            left = f"{name[: found.start()].rstrip(_EDGE)}_{name[found.end() :].lstrip(_EDGE)}"
            return assignment, left.strip(_EDGE)
    return "", name


def _named(stage: int, topic: str) -> re.Pattern[str]:
    loose = topic.replace("_", "[ _-]?")
    return re.compile(
        rf"(?<![^\W_])ps[ _-]?0?{stage}(?!\d)(?:[ _-]?{loose})?(?![^\W_])", re.IGNORECASE
    )


_PATTERNS = {name: _named(stage, TOPICS[stage][0]) for name, stage in ASSIGNMENTS.items()}
_TOPICS = {TOPICS[stage][0]: name for name, stage in ASSIGNMENTS.items()}


def _canvas(found: re.Match[str], rest: tuple[str, ...]) -> Place:
    stem, ending = split_ending(found["file"])
    again = _AGAIN.fullmatch(stem)
    file = f"{again['stem']}{ending}" if again else found["file"]
    times = int(again["number"]) if again else 0
    name, late = student_name(found["name"]), found["late"] is not None
    return _inside((file, *rest), Place(name, found["id"], CANVAS, again=(times, 0), late=late))


def _inside(parts: tuple[str, ...], whose: Place) -> Place:
    """A file that is known to be a student's: which assignment do its folders and its name tell?"""
    stem, copy, renamed = _without_copy(_stem(parts[-1]))
    assignment = next((a for part in reversed((*parts[:-1], stem)) if (a := named_in(part)[0])), "")
    if not assignment:
        words = [(_topic(stem), renamed or stem.casefold() not in _TOPICS)]
        words += [(_TOPICS.get(part.casefold(), ""), renamed) for part in reversed(parts[:-1])]
        assignment, renamed = next((word for word in words if word[0]), ("", False))
    again = (whose.again[0], copy)
    return replace(whose, assignment=assignment, renamed=renamed, again=again)


def _at_root(name: str) -> Place:
    """A file beside all others: its name is the student's, the assignment's, or both."""
    stem, copy, renamed = _without_copy(_stem(name))
    assignment, left = named_in(stem)
    if not assignment:
        assignment = _topic(stem, "-")  # no space: `Mary Store` may be a person
        topic = TOPICS[ASSIGNMENTS[assignment]][0] if assignment else ""
        left = re.sub(topic.replace("_", "[_-]"), "", stem, count=1, flags=re.IGNORECASE).strip(
            _EDGE
        )
    return Place(student_name(left), assignment=assignment, renamed=renamed, again=(0, copy))


def _topic(stem: str, between: str = " -") -> str:
    """The assignment whose topic a file's name is, or begins or ends with."""
    plain = re.sub(f"[{between}]", "_", stem.casefold())
    for topic, assignment in _TOPICS.items():
        if plain == topic or plain.startswith(f"{topic}_") or plain.endswith(f"_{topic}"):
            return assignment
    return ""


def _without_copy(stem: str) -> tuple[str, int, bool]:
    """A name without what marks it as a copy, the copy's number, and whether it was one."""
    found = _COPY.fullmatch(stem)
    if found is None or found["stem"] == stem:
        return stem, 0, False
    numbers = (found[group] for group in ("before", "number", "jupyter", "mac"))
    return found["stem"], int(next(filter(None, numbers), "1")), True
