"""Read and check a front matter

If the first line of `text` is `---`, what follows up to the next line `---` is its front matter, in
YAML (you may use the `yaml` library). Return `{"fields": …, "body_start": …}`: a dictionary with
all ten fields, and the offset at which the line after the closing one begins. A text without front
matter gives `None` and 0.

Required: `id`, `title`, `language`, `scope` and `version`, all text; `status`, one of `draft`,
`approved`, `retired`; `canonical`, true or false; `valid_from`, a day without a time. Optional,
`None` where missing: `valid_until`, a day not before `valid_from`; `product`, text. Give days back
as ISO text (`2026-10-23`).

Raise `ValueError` for a field that is missing, unknown, or of another kind. Its message starts with
the field's name and a colon, as in `scope: is missing`. Where no field can be named (the block is
never closed, holds no fields, is no valid YAML), the message starts with `front matter:`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from random import Random
from typing import Any, TypeAlias

import yaml

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Function, Strategy, case

Parsed: TypeAlias = dict[str, Any]  # fields, body_start
_FIELDS = {
    "id": "leave",
    "title": "Annual leave",
    "language": "en",
    "scope": "ACME/readers",
    "status": "approved",
    "canonical": "true",
    "valid_from": "2026-01-01",
    "version": '"3"',
}
_OPTIONAL = {"valid_until": "2026-12-31", "product": "GX-100"}
_KNOWN = (*_FIELDS, *_OPTIONAL)


def parse_front_matter(text: str) -> dict[str, object]:
    """{"fields": the checked front matter or None, "body_start": where the body begins}."""
    from datetime import date

    import yaml

    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return {"fields": None, "body_start": 0}
    closing = next((n for n, line in enumerate(lines) if n and line.rstrip() == "---"), None)
    if closing is None:
        raise ValueError("front matter: the block is never closed")
    try:
        given = yaml.safe_load("".join(lines[1:closing]))
    except yaml.YAMLError as error:
        raise ValueError(f"front matter: {error}") from error
    if not isinstance(given, dict):
        raise ValueError("front matter: it holds no fields")
    required = {
        **dict.fromkeys(("id", "title", "language", "scope", "status", "version"), str),
        "canonical": bool,
        "valid_from": date,
    }
    optional = {"valid_until": date, "product": str}
    for name in given:
        if name not in required and name not in optional:
            raise ValueError(f"{name}: is no known field")
    fields: dict = {}
    for name, kind in {**required, **optional}.items():
        value = given.get(name)
        if value is None and name in required:
            raise ValueError(f"{name}: is missing")
        if value is not None and type(value) is not kind:
            raise ValueError(f"{name}: must be of type {kind.__name__}")
        fields[name] = value.isoformat() if isinstance(value, date) else value
    if fields["status"] not in ("draft", "approved", "retired"):
        raise ValueError("status: must be draft, approved or retired")
    if fields["valid_until"] and fields["valid_until"] < fields["valid_from"]:
        raise ValueError("valid_until: is before valid_from")
    return {"fields": fields, "body_start": sum(map(len, lines[: closing + 1]))}


def body_with_fence(text: str) -> Parsed:
    """`body_start` is where the closing line begins, so that your body still starts with ---."""
    parsed: Parsed = parse_front_matter(text)
    lines = text[: parsed["body_start"]].splitlines(keepends=True)
    return {**parsed, "body_start": sum(map(len, lines[:-1]))}


def last_fence_taken(text: str) -> Parsed:
    """The block runs on to the last --- of the file: it ends at the first line that closes it."""
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(fences) < 2 or fences[0] != 0:
        return parse_front_matter(text)
    return _checked(*_block(lines, fences[-1]))


def dashes_in_a_value(text: str) -> Parsed:
    """Three dashes inside a value end your block: they close it only as a line of their own."""
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines[1:], start=1) if "---" in line]
    if not lines or lines[0].rstrip() != "---" or not fences:
        return parse_front_matter(text)
    return _checked(*_block(lines, fences[0]))


def unknown_field_accepted(text: str) -> Parsed:
    """A misspelt field passes unseen: a document with `valid_untl` would never expire."""
    fields, body_start = _split(text)
    return _checked({name: fields[name] for name in fields if name in _KNOWN}, body_start)


def missing_field_passed_over(text: str) -> Parsed:
    """A required field that is missing comes back as None: who may read a file is never guessed."""
    fields, body_start = _split(text)
    missing = [name for name in _FIELDS if name not in fields]
    stand_ins = yaml.safe_load("\n".join(f"{name}: {_FIELDS[name]}" for name in missing)) or {}
    return _checked({**fields, **stand_ins}, body_start, dict.fromkeys(missing))


def numbers_turned_into_text(text: str) -> Parsed:
    """A value that is no text is turned into text: version 1.10 becomes 1.1 without a word."""
    fields, body_start = _split(text)
    names = ("id", "title", "language", "scope", "version")
    turned = {name: str(fields[name]) for name in names if name in fields}
    return _checked({**fields, **turned}, body_start)


def any_flag_is_true(text: str) -> Parsed:
    """`canonical: "false"` counts as true, as any text does: take only true and false."""
    fields, body_start = _split(text)
    flag = {"canonical": bool(fields["canonical"])} if "canonical" in fields else {}
    return _checked({**fields, **flag}, body_start)


def any_status_accepted(text: str) -> Parsed:
    """A status outside the three allowed words is accepted: a typing error could publish a file."""
    fields, body_start = _split(text)
    given = fields.get("status")
    if not isinstance(given, str):
        return parse_front_matter(text)
    return _checked({**fields, "status": "approved"}, body_start, {"status": given})


def time_taken_for_a_day(text: str) -> Parsed:
    """A value with a time of day passes as a day: a datetime is a date for isinstance."""
    fields, body_start = _split(text)
    for name in ("valid_from", "valid_until"):
        if isinstance(fields.get(name), datetime):
            fields[name] = fields[name].date()
    return _checked(fields, body_start)


def days_reversed(text: str) -> Parsed:
    """A document that ends before it begins is accepted: compare the two days."""
    fields, body_start = _split(text)
    until = fields.get("valid_until")
    unchecked = {"valid_until": until and until.isoformat()}
    return _checked({**fields, "valid_until": fields.get("valid_from")}, body_start, unchecked)


def fault_without_a_name(text: str) -> Parsed:
    """The error does not begin with the field: whoever must mend the file cannot see where."""
    try:
        return parse_front_matter(text)
    except ValueError as fault:
        raise ValueError("This front matter is wrong.") from fault


def _split(text: str) -> tuple[dict[str, Any], int]:
    """The raw fields, unchecked, and where the body begins; none and 0 without a front matter."""
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return {}, 0
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(fences) < 2:
        raise ValueError("front matter: the block is never closed")
    return _block(lines, fences[1])


def _block(lines: list[str], closing: int) -> tuple[dict[str, Any], int]:
    """The raw fields between the first line and the closing one, wherever that stands."""
    try:
        fields = yaml.safe_load("".join(lines[1:closing]))
    except yaml.YAMLError as error:
        raise ValueError(f"front matter: {error}") from error
    if not isinstance(fields, dict):
        raise ValueError("front matter: it holds no fields")
    return fields, sum(map(len, lines[: closing + 1]))


def _checked(
    fields: dict[str, Any], body_start: int, unchecked: Mapping[str, Any] | None = None
) -> Parsed:
    """What is right for these fields, but for the `unchecked` values that nobody has looked at."""
    if not body_start:
        return {"fields": None, "body_start": 0}
    parsed: Parsed = parse_front_matter(f"---\n{yaml.safe_dump(fields)}---\n")
    return {"fields": {**parsed["fields"], **(unchecked or {})}, "body_start": body_start}


def _refusal_named(function: Function, arguments: Arguments) -> Any:
    """The harness: a ValueError is shown by what stands before the colon in its message."""
    try:
        return function(*arguments)
    except ValueError as error:
        return {"refused": str(error).partition(":")[0].strip(" '\"`")}


def _file(changes: Mapping[str, str | None], body: str, order: int = 0) -> str:
    """A file with valid front matter, some of its YAML values changed; None leaves a line out."""
    values = {**_FIELDS, **changes}
    lines = [f"{name}: {value}" for name, value in values.items() if value is not None]
    lines = lines[order:] + lines[:order]
    return "\n".join(["---", *lines, "---", body])


_CHANGES: tuple[Mapping[str, str | None], ...] = (
    {},
    _OPTIONAL,
    {"title": '"A --- B"'},
    {"valid_until": None},
    {"valid_untl": "2026-12-31"},
    {"scope": None},
    {"language": None},
    {"version": "1.10"},
    {"language": "no"},
    {"canonical": '"false"'},
    {"canonical": "1"},
    {"status": "aproved"},
    {"valid_from": '"2026-01-01"'},
    {"valid_from": "2026-01-01 10:00:00"},
    {"valid_until": "2025-12-31"},
    {"valid_until": "2026-01-01"},
    {"product": "100"},
)
_BODIES = ("", "Text.\n", "Text.\n---\nMore.\n", "\n# Heading\n")


def _hidden_files(random: Random) -> Iterator[Arguments]:
    yield ("",)
    yield ("Text.\n\n---\n\nMore.\n",)
    yield ("---\n---\nText.\n",)
    yield ("---\ntitle: [open\n---\nText.\n",)
    yield (_file({"title": "A---B"}, "Text.\n"),)
    yield (_file({"valid_from": "2026-01-01T08:30:00"}, "Text.\n"),)
    yield (_file({"valid_until": "2025-06-30"}, "Text.\n"),)
    yield (_file({"status": "final"}, "Text.\n"),)
    yield (_file({"canonical": '"no"'}, "Text.\n"),)
    yield (_file({"scope": None}, "---\n"),)
    yield (_file({"audience": "all"}, "Text.\n"),)
    yield (_file({"version": "2.40"}, "Text.\n"),)
    for _ in range(21):
        changes, body = random.choice(_CHANGES), random.choice(_BODIES)
        name = f"doc-{random.randint(1, 99)}"
        yield (_file({"id": name, **changes}, body, random.randrange(8)),)


def _any_file() -> Strategy:
    plain = st.sampled_from(["", "Text.\n", "---\nText.\n", "---\n---\n"])
    files = st.tuples(st.sampled_from(_CHANGES), st.sampled_from(_BODIES))
    return st.one_of(plain.map(lambda text: (text,)), files.map(lambda drawn: (_file(*drawn),)))


EXERCISE = Exercise(
    model_solution=parse_front_matter,
    reference=parse_front_matter,
    cases=(
        case("the required fields, as they should be", _file({}, "Text.\n")),
        case("a rule in the body closes nothing", _file(_OPTIONAL, "One.\n---\nTwo.\n")),
        case("no front matter at all", "# Title\n\nText.\n"),
        case("a required field is missing", _file({"scope": None}, "Text.\n")),
        case("a misspelt field", _file({"valid_untl": "2026-12-31"}, "")),
        case("YAML reads a bare no as false", _file({"language": "no"}, "")),
        case("YAML reads this as a number", _file({"version": "1.10"}, "")),
        case("the block is never closed", "---\nid: leave\n"),
    ),
    hidden=_hidden_files,
    strategy=_any_file,
    hints=(
        "Two jobs: find the block and its end, then check what is in it. Do the first one alone.",
        "Walk over `text.splitlines(keepends=True)`: the lengths of the lines add up to offsets.",
        "`yaml.safe_load(block)` gives a dictionary, with days as `datetime.date` values.",
        "Compare the names first: what is required and absent, what is there and unknown.",
        "A `datetime` is a `date` and `True` is an `int`: check with `type(value) is …`.",
    ),
    off_limits=("labkit.documents",),
    place=2,
    points=8,
    minutes=30,
    core=True,
    harness=_refusal_named,
    packages=("yaml",),
)
