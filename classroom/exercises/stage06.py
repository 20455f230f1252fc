"""Stage 06: who may see what, as of which day."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from classroom.exercise import Arguments, Case, Exercise, cases, mistakes
from labkit.answering.access_filter import admit, is_eligible
from labkit.types import Metadata, Viewer

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Fields: TypeAlias = dict[str, Any]  # scope, status, canonical, valid_from, valid_until
Membership: TypeAlias = dict[str, Any]  # organisation, scopes


# --- eligible ------------------------------------------------------------------------------------


def eligible(metadata: Fields, grants: list[str], day: str) -> bool:
    return is_eligible(metadata_of(metadata), frozenset(grants), date.fromisoformat(day))


def metadata_of(fields: Mapping[str, Any]) -> Metadata:
    """The Metadata value with these fields, days given as ISO text; what is missing is harmless."""
    until = fields.get("valid_until")
    return Metadata(
        id=fields.get("id", "document"),
        title=fields.get("title", ""),
        language="en",
        scope=fields.get("scope", "ACME/readers"),
        status=fields.get("status", "approved"),
        canonical=fields.get("canonical", True),
        valid_from=date.fromisoformat(fields.get("valid_from", "2026-01-01")),
        valid_until=None if until is None else date.fromisoformat(until),
        version="1",
    )


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


def _document(**changes: Any) -> Fields:
    """A document of ACME's readers that is admitted, with some fields changed."""
    fields: Fields = {
        "scope": "ACME/readers",
        "status": "approved",
        "canonical": True,
        "valid_from": "2026-01-01",
        "valid_until": "2026-12-31",
    }
    return {**fields, **changes}


def _other_document(**changes: Any) -> Fields:
    """The same for an organisation that no public case names."""
    days = {"valid_from": "2025-03-01", "valid_until": "2025-08-31"}
    return {**_document(scope="GLOBEX/staff", **days), **changes}


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


def _any_document() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

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


ELIGIBLE = Exercise(
    id="eligible",
    stage=6,
    title="Decide whether a document may answer",
    task=(
        "Say whether a document may answer a viewer on a day. It may if all of this holds: its "
        '`scope` (such as `"ACME/readers"`) is one of the `grants`, exactly as written; its '
        '`status` is `"approved"`; it is `canonical`; and it is in force. Both `valid_from` and '
        "`valid_until` are days on which it is in force, and a `valid_until` of `None` never "
        "comes. Days are texts such as `2026-10-23`, which compare as days do. Return `True` or "
        "`False`."
    ),
    starter='''\
def eligible(metadata: dict, grants: list[str], day: str) -> bool:
    """May a document with this metadata answer a viewer with these grants on this day?

    `metadata` has the keys scope, status, canonical, valid_from and valid_until.
    """
    raise NotImplementedError
''',
    reference=eligible,
    cases=cases(
        Case((_document(), ["ACME/readers"], "2026-10-23"), "all conditions hold"),
        Case((_document(), ["ACME/readers"], "2026-12-31"), "the last day is in force"),
        Case((_document(), ["ACME/readers"], "2027-01-01"), "the day after is not"),
        Case((_document(valid_until=None), ["ACME/readers"], "2040-01-01"), "no end"),
        Case((_document(), [], "2026-10-23"), "no grant means nothing"),
        Case((_document(status="draft"), ["ACME/readers"], "2026-10-23"), "not approved"),
        Case((_document(), ["GLOBEX/readers"], "2026-10-23"), "another organisation"),
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
    mistakes=mistakes(
        last_day_excluded,
        first_day_excluded,
        future_admitted,
        expired_admitted,
        open_end_compared,
        open_end_refused,
        empty_grants_mean_all,
        scope_prefix,
        scope_in_joined_grants,
        organisation_forgotten,
        audience_forgotten,
        status_forgotten,
        draft_admitted,
        canonical_forgotten,
        or_for_and,
    ),
    off_limits=("labkit.answering.access_filter", "classroom.exercises"),
    answer="""\
    return (
        metadata["scope"] in grants
        and metadata["status"] == "approved"
        and metadata["canonical"]
        and metadata["valid_from"] <= day
        and (metadata["valid_until"] is None or day <= metadata["valid_until"])
    )
""",
    core=True,
    points=4,
    minutes=15,
)


# --- transfer: visible_documents -----------------------------------------------------------------


def visible_documents(
    documents: list[Fields], memberships: list[Membership], day: str
) -> list[str]:
    viewers = [Viewer(m["organisation"], frozenset(m["scopes"])) for m in memberships]
    admissions = [admit(viewer, date.fromisoformat(day)) for viewer in viewers]
    metas = map(metadata_of, documents)
    return sorted(meta.id for meta in metas if any(a.admits(meta) for a in admissions))


def crossed(documents: list[Fields], memberships: list[Membership], day: str) -> list[str]:
    """Scopes of one organisation are used in another: each membership must keep its own pairs."""
    organisations = {m["organisation"] for m in memberships}
    scopes = [scope for m in memberships for scope in m["scopes"]]
    return visible_documents(
        documents, [{"organisation": o, "scopes": scopes} for o in organisations], day
    )


def only_first_membership(
    documents: list[Fields], memberships: list[Membership], day: str
) -> list[str]:
    """Only the first membership counts: the viewer may read what any of them opens."""
    return visible_documents(documents, memberships[:1], day)


def only_last_membership(
    documents: list[Fields], memberships: list[Membership], day: str
) -> list[str]:
    """Only the last membership counts: each turn of your loop throws away what came before."""
    return visible_documents(documents, memberships[-1:], day)


def same_organisation_overwritten(
    documents: list[Fields], memberships: list[Membership], day: str
) -> list[str]:
    """A second membership in the same organisation replaces the first: their scopes add up."""
    by_organisation = {m["organisation"]: m for m in memberships}
    return visible_documents(documents, list(by_organisation.values()), day)


def all_memberships_asked(
    documents: list[Fields], memberships: list[Membership], day: str
) -> list[str]:
    """A document must be open to all memberships at once, and a viewer without any sees all."""
    metas = {item["id"]: item for item in documents}
    return sorted(
        name
        for name, item in metas.items()
        if all(visible_documents([item], [membership], day) for membership in memberships)
    )


def seen_twice(documents: list[Fields], memberships: list[Membership], day: str) -> list[str]:
    """A document that two memberships open is listed twice: it is one document."""
    return sorted(
        name
        for membership in memberships
        for name in visible_documents(documents, [membership], day)
    )


def only_scopes_asked(
    documents: list[Fields], memberships: list[Membership], day: str
) -> list[str]:
    """Only the scope is asked: status, canonical and validity hold for these viewers too."""
    bare = [{"id": item["id"], "scope": item["scope"], "valid_from": day} for item in documents]
    return visible_documents(bare, memberships, day)


def _library(owner: str, guest: str) -> list[Fields]:
    """Two organisations with two scopes each, and documents that may not answer."""
    return [
        {"id": "a", **_document(scope=f"{owner}/readers")},
        {"id": "b", **_document(scope=f"{owner}/support")},
        {"id": "c", **_document(scope=f"{guest}/readers")},
        {"id": "d", **_document(scope=f"{guest}/support")},
        {"id": "e", **_document(scope=f"{owner}/readers", status="draft")},
        {"id": "f", **_document(scope=f"{guest}/support", valid_until="2026-05-31")},
        {"id": "g", **_document(scope=f"{owner}/support", canonical=False)},
    ]


def _member(organisation: str, *scopes: str) -> Membership:
    return {"organisation": organisation, "scopes": list(scopes)}


def _hidden_memberships(random: Random) -> Iterator[Arguments]:
    owner, guest = random.sample(["NORTH", "SOUTH", "EAST", "WEST"], 2)
    edges = [
        [_member(owner, "readers"), _member(guest, "support")],
        [_member(owner, "support"), _member(owner, "readers")],
        [_member(owner, "readers", "support"), _member(owner, "readers")],
        [_member(guest, "readers", "support")],
        [],
        [_member(owner)],
        [_member(guest), _member(owner, "support")],
    ]
    for number, memberships in enumerate(edges):
        yield _shuffled(random, _library(owner, guest)), memberships, f"2026-05-{31 - number}"
    for _ in range(18):
        memberships = [
            _member(
                random.choice([owner, guest]),
                *random.sample(["readers", "support"], random.randint(0, 2)),
            )
            for _ in range(random.randint(0, 3))
        ]
        day = random.choice(["2026-05-31", "2026-06-01", "2026-12-31", "2027-01-01"])
        documents = random.sample(_library(owner, guest), random.randint(2, 7))
        yield documents, memberships, day


def _shuffled(random: Random, documents: Sequence[Fields]) -> list[Fields]:
    return random.sample(documents, len(documents))


def _any_memberships() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    library = _library("ACME", "GLOBEX")
    membership = st.tuples(
        st.sampled_from(["ACME", "GLOBEX"]),
        st.lists(st.sampled_from(["readers", "support"]), max_size=2, unique=True),
    ).map(lambda drawn: _member(drawn[0], *drawn[1]))
    return st.tuples(
        st.lists(st.sampled_from(library), max_size=3, unique_by=lambda item: item["id"]),
        st.lists(membership, max_size=3),
        st.sampled_from(["2026-05-31", "2026-06-01"]),
    )


VISIBLE_DOCUMENTS = Exercise(
    id="visible_documents",
    stage=6,
    title="Transfer: a viewer with two organisations",
    task=(
        "A consultant belongs to several organisations. Return the sorted ids of the documents "
        "that may answer on this day: those that at least one membership opens by "
        '`"ORGANISATION/SCOPE"`, and that are approved, canonical and in force as in `eligible` '
        "(you may call your own). A scope held in one organisation opens nothing in another. The "
        "same organisation may appear twice; then its scopes add up. Each id is listed once."
    ),
    starter='''\
def visible_documents(documents: list[dict], memberships: list[dict], day: str) -> list[str]:
    """The sorted ids of the documents that these memberships open on this day.

    A document has the keys id, scope, status, canonical, valid_from and valid_until; a membership
    has the keys organisation and scopes.
    """
    raise NotImplementedError
''',
    reference=visible_documents,
    cases=cases(
        Case(
            (
                _library("ACME", "GLOBEX")[:4],
                [_member("ACME", "readers"), _member("GLOBEX", "support")],
                "2026-10-23",
            ),
            "the union of two memberships, and no cross of them",
        ),
        Case(
            (
                _library("ACME", "GLOBEX")[:4],
                [_member("ACME", "readers"), _member("ACME", "support")],
                "2026-10-23",
            ),
            "one organisation in two parts",
        ),
        Case(
            (_library("ACME", "GLOBEX"), [_member("ACME", "readers", "support")], "2026-10-23"),
            "a draft and a copy stay out",
        ),
        Case((_library("ACME", "GLOBEX")[:2], [], "2026-10-23"), "no membership"),
    ),
    hidden=_hidden_memberships,
    strategy=_any_memberships,
    hints=(
        "What is a grant of one membership? Write the grants of the first public case on paper.",
        "Make the grants of each membership first, organisation and scope together, then unite.",
        "A set of `ORGANISATION/SCOPE` texts is all you need from the memberships.",
        "With `grants` in hand, the rest is `eligible(document, grants, day)` for each document.",
    ),
    mistakes=mistakes(
        crossed,
        only_first_membership,
        only_last_membership,
        same_organisation_overwritten,
        all_memberships_asked,
        seen_twice,
        only_scopes_asked,
    ),
    off_limits=("labkit.answering.access_filter", "classroom.exercises"),
    answer="""\
    grants = {f"{m['organisation']}/{scope}" for m in memberships for scope in m["scopes"]}
    return sorted(
        d["id"]
        for d in documents
        if d["scope"] in grants
        and d["status"] == "approved"
        and d["canonical"]
        and d["valid_from"] <= day
        and (d["valid_until"] is None or day <= d["valid_until"])
    )
""",
    transfer=True,
    points=4,
    minutes=15,
)

EXERCISES = (ELIGIBLE, VISIBLE_DOCUMENTS)
