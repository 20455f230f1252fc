"""Decide whether a document may answer

Say whether a document may answer a viewer on a day. It may if all of this holds: its `scope` (such
as `"ACME/readers"`) is one of the `grants`, exactly as written; its `status` is `"approved"`; it is
`canonical`; and it is in force. Both `valid_from` and `valid_until` are days on which it is in
force, and a `valid_until` of `None` never comes. Days are texts such as `2026-10-23`, which compare
as days do. Return `True` or `False`.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date
from random import Random
from typing import Any

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s06_admission.common import Fields, document, metadata_of
from labkit.answering.access_filter import is_eligible


def eligible(metadata: dict, grants: list[str], day: str) -> bool:
    """May a document with this metadata answer a viewer with these grants on this day?

    `metadata` has the keys scope, status, canonical, valid_from and valid_until.
    """
    return (
        metadata["scope"] in grants
        and metadata["status"] == "approved"
        and metadata["canonical"]
        and metadata["valid_from"] <= day
        and (metadata["valid_until"] is None or day <= metadata["valid_until"])
    )


def _by_labkit(metadata: Fields, grants: list[str], day: str) -> bool:
    return is_eligible(metadata_of(metadata), frozenset(grants), date.fromisoformat(day))


def last_day_excluded(metadata: Fields, grants: list[str], day: str) -> bool:
    """The last day of validity is treated as over: on `valid_until` itself a document is in force."""
    return eligible(metadata, grants, day) and day != metadata["valid_until"]


def first_day_excluded(metadata: Fields, grants: list[str], day: str) -> bool:
    """The first day is treated as too early: on `valid_from` itself a document is in force."""
    return eligible(metadata, grants, day) and day != metadata["valid_from"]


def future_admitted(metadata: Fields, grants: list[str], day: str) -> bool:
    """A document that is not yet in force is admitted: `valid_from` is never compared."""
    return eligible({**metadata, "valid_from": "0001-01-01"}, grants, day)


def expired_admitted(metadata: Fields, grants: list[str], day: str) -> bool:
    """An expired document is admitted: `valid_until` is never compared."""
    return eligible({**metadata, "valid_until": None}, grants, day)


def open_end_compared(metadata: Fields, grants: list[str], day: str) -> bool:
    """A document without an end is compared with `None`: ask `is None` before you compare."""
    begun = expired_admitted(metadata, grants, day)
    return begun and bool(day <= metadata["valid_until"])


def open_end_refused(metadata: Fields, grants: list[str], day: str) -> bool:
    """A document without an end is never admitted: `None` means that it stays in force."""
    return metadata["valid_until"] is not None and eligible(metadata, grants, day)


def empty_grants_mean_all(metadata: Fields, grants: list[str], day: str) -> bool:
    """Without any grant, everything is admitted: an empty list of grants means nothing at all."""
    return eligible(metadata, grants or [metadata["scope"]], day)


def scope_prefix(metadata: Fields, grants: list[str], day: str) -> bool:
    """A scope that only begins like a grant is admitted: `ACME/hr` does not open `ACME/hr-board`."""
    granted = any(metadata["scope"].startswith(grant) for grant in grants)
    return granted and eligible(metadata, [metadata["scope"]], day)


def scope_in_joined_grants(metadata: Fields, grants: list[str], day: str) -> bool:
    """A scope that is only a part of a longer grant is admitted: `in` on a text finds parts."""
    return metadata["scope"] in " ".join(grants) and eligible(metadata, [metadata["scope"]], day)


def organisation_forgotten(metadata: Fields, grants: list[str], day: str) -> bool:
    """Only what follows the slash is compared: readers of one organisation see another's papers."""
    audience = metadata["scope"].partition("/")[2]
    granted = audience in {grant.partition("/")[2] for grant in grants}
    return granted and eligible(metadata, [metadata["scope"]], day)


def audience_forgotten(metadata: Fields, grants: list[str], day: str) -> bool:
    """Only the organisation is compared: its readers see what is meant for its support staff."""
    organisation = metadata["scope"].partition("/")[0]
    granted = organisation in {grant.partition("/")[0] for grant in grants}
    return granted and eligible(metadata, [metadata["scope"]], day)


def status_forgotten(metadata: Fields, grants: list[str], day: str) -> bool:
    """The status is never asked: drafts and retired documents answer as if they were approved."""
    return eligible({**metadata, "status": "approved"}, grants, day)


def draft_admitted(metadata: Fields, grants: list[str], day: str) -> bool:
    """A draft is admitted: only `retired` is shut out, but a document must be `approved`."""
    return metadata["status"] != "retired" and status_forgotten(metadata, grants, day)


def canonical_forgotten(metadata: Fields, grants: list[str], day: str) -> bool:
    """A copy that is not canonical is admitted: it may say something else than the original."""
    return eligible({**metadata, "canonical": True}, grants, day)


def or_for_and(metadata: Fields, grants: list[str], day: str) -> bool:
    """An `or` stands where an `and` belongs: approved or canonical is not enough, both are asked."""
    answers = metadata["status"] == "approved" or metadata["canonical"]
    return answers and eligible({**metadata, "status": "approved", "canonical": True}, grants, day)


def _other_document(**changes: Any) -> Fields:
    """The same for an organisation that no public case names."""
    days = {"valid_from": "2025-03-01", "valid_until": "2025-08-31"}
    return {**document(scope="GLOBEX/staff", **days), **changes}


def _hidden_documents(random: Random) -> Iterator[Arguments]:
    edges: list[tuple[Fields, list[str], str]] = [
        ({}, ["GLOBEX/staff"], "2025-08-31"),
        ({}, ["GLOBEX/staff"], "2025-03-01"),
        ({"valid_until": None}, ["GLOBEX/staff"], "2031-01-01"),
        ({}, [], "2025-05-05"),
        ({"scope": "GLOBEX/staff-board"}, ["GLOBEX/staff"], "2025-05-05"),
        ({}, ["GLOBEX/staff-board"], "2025-05-05"),
        ({}, ["INITECH/staff", "GLOBEX/sales"], "2025-05-05"),
        ({"status": "draft"}, ["GLOBEX/staff"], "2025-05-05"),
        ({"status": "retired"}, ["GLOBEX/staff"], "2025-05-05"),
        ({"canonical": False}, ["GLOBEX/staff"], "2025-05-05"),
        ({}, ["GLOBEX/staff"], "2025-09-01"),
        ({}, ["GLOBEX/staff"], "2025-02-28"),
    ]
    for changes, grants, day in edges:
        yield _other_document(**changes), grants, day
    scopes = ["GLOBEX/staff", "GLOBEX/sales", "INITECH/staff", "GLOBEX/staff-board"]
    days = ["2025-02-28", "2025-03-01", "2025-05-05", "2025-08-31", "2025-09-01"]
    for _ in range(20):
        changes = {
            "scope": random.choice(scopes),
            "status": random.choice(["approved", "approved", "approved", "draft", "retired"]),
            "canonical": random.random() < 0.8,
            "valid_until": random.choice(["2025-08-31", "2025-08-31", None]),
        }
        grants = random.sample(scopes, random.randint(0, 3))
        yield _other_document(**changes), grants, random.choice(days)


def _any_document() -> Strategy:
    # What admits is drawn most often, so that one condition at a time decides.
    scopes = ["ACME/hr", "ACME/hr-board", "ACME/it", "GLOBEX/hr"]
    fields = st.fixed_dictionaries(
        {
            "scope": st.sampled_from(scopes),
            "status": st.sampled_from(["approved", "approved", "approved", "draft", "retired"]),
            "canonical": st.sampled_from([True, True, True, False]),
            "valid_from": st.sampled_from(["2026-01-01", "2026-06-01"]),
            "valid_until": st.sampled_from(["2026-06-30", None]),
        }
    )
    own = fields.map(lambda drawn: (drawn, [drawn["scope"]]))
    other = st.tuples(fields, st.lists(st.sampled_from(scopes), max_size=2, unique=True))
    days = st.sampled_from(["2026-06-15", "2026-01-01", "2026-06-01", "2026-06-30", "2026-07-01"])
    return st.tuples(st.one_of(own, other), days).map(lambda drawn: (*drawn[0], drawn[1]))


EXERCISE = Exercise(
    model_solution=eligible,
    reference=_by_labkit,
    cases=(
        case("all conditions hold", document(), ["ACME/readers"], "2026-10-23"),
        case("the last day is in force", document(), ["ACME/readers"], "2026-12-31"),
        case("the day after is not", document(), ["ACME/readers"], "2027-01-01"),
        case("no end", document(valid_until=None), ["ACME/readers"], "2040-01-01"),
        case("no grant means nothing", document(), [], "2026-10-23"),
        case("not approved", document(status="draft"), ["ACME/readers"], "2026-10-23"),
        case("another organisation", document(), ["GLOBEX/readers"], "2026-10-23"),
    ),
    hidden=_hidden_documents,
    strategy=_any_document,
    hints=(
        "Write the conditions of the task as a list, one a line. How many of them must hold?",
        "`in` on the list of grants asks for the whole scope; `in` on a text would find parts.",
        "Both ends of the validity count: compare with `<=`, and ask first whether there is an end.",
        "Join five conditions with `and`; the last one is "
        '`(metadata["valid_until"] is None or day <= metadata["valid_until"])`.',
    ),
    off_limits=("labkit.answering.access_filter",),
    points=4,
    minutes=15,
    core=True,
)
