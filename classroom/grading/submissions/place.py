"""Whose a file is and for which assignment, as far as its place says: folders, names, and what the
learning platforms make of them."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, replace

from classroom.exercises import TOPICS
from classroom.grading.submissions.reading import split_ending
from classroom.grading.submissions.released import ASSIGNMENTS

# nbgrader's own collector has no pattern for these two; it asks each instructor to write one.
# Moodle: `Anna Smith_12345_assignsubmission_file_`, a folder or the beginning of a file's name.
_MOODLE = re.compile(r"(?P<name>.+?)_(?P<id>\d+)_assignsubmission_[a-z]+_?(?P<file>.*)", re.DOTALL)
# Canvas: `smithanna_LATE_12345_67890_chunking-1.ipynb`; the 1 counts what was sent again.
_CANVAS = re.compile(r"(?P<name>[^_]+)(?P<late>_LATE)?_(?P<id>\d+)_\d+_(?P<file>.+)", re.DOTALL)
_AGAIN = re.compile(r"(?P<stem>.*\S)-(?P<number>\d{1,4})", re.DOTALL)
# Browsers, Jupyter, Windows and macOS name a second copy each in their way, some in French.
_COPY = re.compile(
    r"(?:cop(?:y|ie)(?: \(\d{1,4}\))? (?:of|de) )?(?P<stem>.*?\S)"
    r"(?:[ _]?\(\d{1,4}\)|-copy\d{0,4}|(?: -)? cop(?:y|ie)(?: \d{1,4})?)?",
    re.DOTALL | re.IGNORECASE,
)
_OTHER_ENDING = re.compile(r"\.(?!\d)\w{1,5}\Z")
_EDGE = " _-."
CANVAS, MOODLE = "canvas", "moodle"


@dataclass(frozen=True, slots=True)
class Place:
    """What a file's place says. `student` is empty where it names none; `number` is the platform's,
    and tells namesakes apart; `late` says that the platform calls it late. `renamed`: the
    assignment was recognised in a name that nobody gave out. `again` counts what was sent again."""

    student: str = ""
    number: str = ""
    platform: str = ""
    assignment: str = ""
    renamed: bool = False
    again: int = 0
    late: bool = False


def place_of(parts: tuple[str, ...]) -> Place:
    """Read a file's place below the folder of submissions."""
    first, *rest = (part[:-4] if part.casefold().endswith(".zip") else part for part in parts)
    if found := _MOODLE.fullmatch(first):
        inner = [found["file"], *rest] if found["file"] else rest
        return _inside(inner or [""], Place(composed(found["name"]), found["id"], MOODLE))
    if found := _CANVAS.fullmatch(first):
        stem, ending = split_ending(found["file"])
        again = _AGAIN.fullmatch(stem)
        place = Place(composed(found["name"]), found["id"], CANVAS, late=found["late"] is not None)
        if again is None:
            return _inside([found["file"], *rest], place)
        place = replace(place, again=int(again["number"]))
        return _inside([f"{again['stem']}{ending}", *rest], place)
    if len(rest) > 1 and rest[0] in ASSIGNMENTS:  # nbgrader's layout, whatever the student's name
        return _inside(rest, Place(composed(first)))
    if rest:
        assignment, left = named_in(first)
        inner = [assignment, *rest] if assignment else rest
        return _inside(inner, Place(composed(left if assignment else first)))
    return _at_root(first)


def composed(name: str) -> str:
    """A name as it is compared, since macOS takes accents apart."""
    return unicodedata.normalize("NFC", name)


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


def _inside(parts: list[str], whose: Place) -> Place:
    """A file that is known to be a student's: which assignment do its folders and its name tell?"""
    stem, renamed = _without_copy(parts[-1])
    assignment = next((a for part in reversed([*parts[:-1], stem]) if (a := named_in(part)[0])), "")
    if not assignment and (assignment := _topic(stem)):
        renamed = renamed or stem.casefold() not in _TOPICS
    if not assignment:
        folders = (_TOPICS.get(part.casefold(), "") for part in reversed(parts[:-1]))
        assignment = next(filter(None, folders), "")
    return replace(whose, assignment=assignment, renamed=renamed and bool(assignment))


def _at_root(name: str) -> Place:
    """A file beside all others: its name is the student's, the assignment's, or both."""
    stem, renamed = _without_copy(name)
    assignment, left = named_in(stem)
    if not assignment and (assignment := _topic(stem, "-")):  # no space: `Mary Store` is a person
        topic = TOPICS[ASSIGNMENTS[assignment]][0].replace("_", "[_-]")
        left = re.sub(topic, "", stem, count=1, flags=re.IGNORECASE).strip(_EDGE)
    return Place(composed(left), assignment=assignment, renamed=renamed)


def _topic(stem: str, between: str = " -") -> str:
    """The assignment whose topic a file's name is, or begins or ends with."""
    plain = re.sub(f"[{between}]", "_", stem.casefold())
    for topic, assignment in _TOPICS.items():
        if plain == topic or plain.startswith(f"{topic}_") or plain.endswith(f"_{topic}"):
            return assignment
    return ""


def _without_copy(name: str) -> tuple[str, bool]:
    """A file's name without its ending and without what marks a copy; whether it was a copy."""
    stem, ending = split_ending(name)
    stem = stem if ending else _OTHER_ENDING.sub("", name)
    found = _COPY.fullmatch(stem)
    return (found["stem"], True) if found and found["stem"] != stem else (stem, False)
