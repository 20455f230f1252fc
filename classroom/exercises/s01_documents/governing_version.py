"""Transfer: which version governs?

`versions` lists the versions of one document, in no particular order, each with `version` (numbers
joined by dots, no two equal), `status`, `valid_from` and `valid_until` (ISO days; `None` means no
last day). Return the `version` that governs on `day`, or `None`. It must be approved and in force;
its first and its last day count. Where several fit, the one with the latest `valid_from` governs;
where those are equal, the highest version, compared number by number (1.10 is above 1.9).
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case

Version: TypeAlias = dict[str, str | None]


def governing_version(versions: list[dict[str, str | None]], day: str) -> str | None:
    """The version of a document that governs on a day, or None."""

    def governs(version: dict) -> bool:
        until = version["valid_until"]
        in_time = version["valid_from"] <= day and (until is None or day <= until)
        return version["status"] == "approved" and in_time

    def rank(version: dict) -> tuple[str, list[int]]:
        return version["valid_from"], [int(n) for n in version["version"].split(".")]

    in_force = [version for version in versions if governs(version)]
    return max(in_force, key=rank)["version"] if in_force else None


def last_day_excluded(versions: list[Version], day: str) -> str | None:
    """The last day of validity is left out: a version is still in force on `valid_until`."""
    return governing_version([item for item in versions if item["valid_until"] != day], day)


def first_day_excluded(versions: list[Version], day: str) -> str | None:
    """The first day of validity is left out: a version is in force from `valid_from` on."""
    return governing_version([item for item in versions if item["valid_from"] != day], day)


def open_end_expired(versions: list[Version], day: str) -> str | None:
    """A version without a last day counts as expired: without one it stays in force."""
    return governing_version([item for item in versions if item["valid_until"]], day)


def future_version_governs(versions: list[Version], day: str) -> str | None:
    """A version that has not begun yet governs already: look at `valid_from` too."""
    begun = [{**item, "valid_from": min(_text(item, "valid_from"), day)} for item in versions]
    known = {item["version"]: item for item in versions}
    in_force = [known[item["version"]] for item in begun if _governs(item, day)]
    return max(in_force, key=_rank)["version"] if in_force else None


def any_status_governs(versions: list[Version], day: str) -> str | None:
    """A draft or a retired version governs: only an approved one may."""
    return governing_version([{**item, "status": "approved"} for item in versions], day)


def versions_compared_as_text(versions: list[Version], day: str) -> str | None:
    """Version 1.10 counts as older than 1.9: compare the numbers, not the text."""
    in_force = [version for version in versions if _governs(version, day)]
    key = max(in_force, key=lambda item: (item["valid_from"], item["version"]), default=None)
    return key["version"] if key else None


def highest_number_governs(versions: list[Version], day: str) -> str | None:
    """The highest number wins although another version began later: the later day comes first."""
    in_force = [version for version in versions if _governs(version, day)]
    return max(in_force, key=lambda item: _rank(item)[1])["version"] if in_force else None


def last_in_the_list(versions: list[Version], day: str) -> str | None:
    """The last fitting version of the list is taken: the order of the list means nothing."""
    in_force = [version for version in versions if _governs(version, day)]
    return in_force[-1]["version"] if in_force else None


def _governs(version: Version, day: str) -> bool:
    until = version["valid_until"]
    in_time = _text(version, "valid_from") <= day and (until is None or day <= until)
    return version["status"] == "approved" and in_time


def _rank(version: Version) -> tuple[str, list[int]]:
    return _text(version, "valid_from"), [int(n) for n in _text(version, "version").split(".")]


def _text(version: Version, field: str) -> str:
    return version[field] or ""


def _version(
    number: str, since: str, until: str | None = None, status: str = "approved"
) -> Version:
    return {"version": number, "status": status, "valid_from": since, "valid_until": until}


_OLD = _version("1", "2025-01-01", "2026-06-30")
_NEW = _version("2", "2026-07-01")
_DAYS = ("2026-01-01", "2026-03-01", "2026-06-30", "2026-10-23")
_NUMBERS = ("1", "2", "10", "1.9", "1.10", "2.1")


def _hidden_versions(random: Random) -> Iterator[Arguments]:
    one, two = _version("1", "2025-01-01", "2025-12-31"), _version("2", "2026-01-01")
    yield [], "2026-10-23"
    yield [two, one], "2025-12-31"
    yield [two, one], "2026-01-01"
    yield [_version("3", "2026-09-01"), two, one], "2026-10-23"
    yield [_version("9", "2026-01-01"), _version("10", "2026-01-01")], "2026-10-23"
    yield [_version("3", "2026-01-01"), _version("2", "2026-05-01")], "2026-10-23"
    yield [one, _version("3", "2027-01-01")], "2026-10-23"
    yield [two, _version("3", "2026-05-01", status="retired")], "2026-10-23"
    for _ in range(24):
        numbers = random.sample(_NUMBERS, random.randint(1, 4))
        versions = [
            _version(
                number,
                random.choice(_DAYS[:3]),
                random.choice([None, None, "2026-06-30", "2026-10-23"]),
                random.choice(["approved", "approved", "approved", "draft", "retired"]),
            )
            for number in numbers
        ]
        yield versions, random.choice(_DAYS)


def _any_versions() -> Strategy:
    drawn = st.tuples(
        st.sampled_from(_NUMBERS),
        st.sampled_from(_DAYS),
        st.sampled_from([None, *_DAYS]),
        st.sampled_from(["approved", "draft", "retired"]),
    )
    return st.tuples(
        st.lists(drawn, max_size=3, unique_by=lambda item: item[0]).map(
            lambda items: [_version(*item) for item in items]
        ),
        st.sampled_from(_DAYS),
    )


EXERCISE = Exercise(
    model_solution=governing_version,
    reference=governing_version,
    cases=(
        case("the last day of the old one", [_OLD, _NEW], "2026-06-30"),
        case("the first day of the new one", [_OLD, _NEW], "2026-07-01"),
        case(
            "two are in force; one of them began later",
            [_version("1", "2026-01-01"), _version("2", "2026-07-01")],
            "2026-10-23",
        ),
        case(
            "the same first day",
            [_version("1.10", "2026-01-01"), _version("1.9", "2026-01-01")],
            "2026-10-23",
        ),
        case("a draft", [_OLD, _version("2", "2026-02-01", None, "draft")], "2026-03-01"),
        case("nothing is in force yet", [_version("1", "2027-01-01")], "2026-10-23"),
    ),
    hidden=_hidden_versions,
    strategy=_any_versions,
    hints=(
        "Two steps: first leave out what cannot govern on that day, then choose among the rest.",
        "ISO days compare rightly as text; `None` as last day needs a case of its own.",
        "`max` with a key that is a pair: the first day, then the version as a list of numbers.",
        '`[int(n) for n in version.split(".")]` makes 1.10 larger than 1.9.',
    ),
    off_limits=("labkit.documents",),
    place=4,
    points=6,
    minutes=20,
    transfer=True,
)
