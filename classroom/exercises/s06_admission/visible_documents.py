"""Transfer: a viewer with two organisations

A consultant belongs to several organisations. Return the sorted ids of the documents that may
answer on this day: those that at least one membership opens by `"ORGANISATION/SCOPE"`, and that are
approved, canonical and in force as in `eligible` (you may call your own). A scope held in one
organisation opens nothing in another. The same organisation may appear twice; then its scopes add
up. Each id is listed once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date
from random import Random
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s06_admission.common import Fields, document, metadata_of
from labkit.answering.access_filter import admit
from labkit.types import Viewer

Documents: TypeAlias = list[Fields]
Membership: TypeAlias = dict[str, Any]  # organisation, scopes
Members: TypeAlias = list[Membership]


def visible_documents(documents: list[dict], memberships: list[dict], day: str) -> list[str]:
    """The sorted ids of the documents that these memberships open on this day.

    A document has the keys id, scope, status, canonical, valid_from and valid_until; a membership
    has the keys organisation and scopes.
    """
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


def _by_labkit(documents: Documents, memberships: Members, day: str) -> list[str]:
    viewers = [Viewer(m["organisation"], frozenset(m["scopes"])) for m in memberships]
    admissions = [admit(viewer, date.fromisoformat(day)) for viewer in viewers]
    metas = map(metadata_of, documents)
    return sorted(meta.id for meta in metas if any(a.admits(meta) for a in admissions))


def crossed(documents: Documents, memberships: Members, day: str) -> list[str]:
    """Scopes of one organisation are used in another: each membership must keep its own pairs."""
    scopes = [scope for m in memberships for scope in m["scopes"]]
    return visible_documents(documents, [{**m, "scopes": scopes} for m in memberships], day)


def only_first_membership(documents: Documents, memberships: Members, day: str) -> list[str]:
    """Only the first membership counts: the viewer may read what any of them opens."""
    return visible_documents(documents, memberships[:1], day)


def only_last_membership(documents: Documents, memberships: Members, day: str) -> list[str]:
    """Only the last membership counts: each turn of your loop throws away what came before."""
    return visible_documents(documents, memberships[-1:], day)


def same_organisation_overwritten(
    documents: Documents, memberships: Members, day: str
) -> list[str]:
    """A second membership in the same organisation replaces the first: their scopes add up."""
    by_organisation = {m["organisation"]: m for m in memberships}
    return visible_documents(documents, list(by_organisation.values()), day)


def all_memberships_asked(documents: Documents, memberships: Members, day: str) -> list[str]:
    """A document must be open to all memberships at once, and a viewer without any sees all."""
    opened = [set(visible_documents(documents, [member], day)) for member in memberships]
    return sorted({item["id"] for item in documents}.intersection(*opened))


def seen_twice(documents: Documents, memberships: Members, day: str) -> list[str]:
    """A document that two memberships open is listed twice: it is one document."""
    opened = [visible_documents(documents, [member], day) for member in memberships]
    return sorted(name for names in opened for name in names)


def only_scopes_asked(documents: Documents, memberships: Members, day: str) -> list[str]:
    """Only the scope is asked: status, canonical and validity hold for these viewers too."""
    harmless = {"status": "approved", "canonical": True, "valid_from": day, "valid_until": None}
    return visible_documents([{**item, **harmless} for item in documents], memberships, day)


def _library(owner: str, guest: str) -> list[Fields]:
    """Two organisations with two scopes each, and documents that may not answer."""
    return [
        {"id": "a", **document(scope=f"{owner}/readers")},
        {"id": "b", **document(scope=f"{owner}/support")},
        {"id": "c", **document(scope=f"{guest}/readers")},
        {"id": "d", **document(scope=f"{guest}/support")},
        {"id": "e", **document(scope=f"{owner}/readers", status="draft")},
        {"id": "f", **document(scope=f"{guest}/support", valid_until="2026-05-31")},
        {"id": "g", **document(scope=f"{owner}/support", canonical=False)},
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


def _any_memberships() -> Strategy:
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


EXERCISE = Exercise(
    model_solution=visible_documents,
    reference=_by_labkit,
    cases=(
        case(
            "the union of two memberships, and no cross of them",
            _library("ACME", "GLOBEX")[:4],
            [_member("ACME", "readers"), _member("GLOBEX", "support")],
            "2026-10-23",
        ),
        case(
            "one organisation in two parts",
            _library("ACME", "GLOBEX")[:4],
            [_member("ACME", "readers"), _member("ACME", "support")],
            "2026-10-23",
        ),
        case(
            "a draft and a copy stay out",
            _library("ACME", "GLOBEX"),
            [_member("ACME", "readers", "support")],
            "2026-10-23",
        ),
        case("no membership", _library("ACME", "GLOBEX")[:2], [], "2026-10-23"),
    ),
    hidden=_hidden_memberships,
    strategy=_any_memberships,
    hints=(
        "What is a grant of one membership? Write the grants of the first public case on paper.",
        "Make the grants of each membership first, organisation and scope together, then unite.",
        "A set of `ORGANISATION/SCOPE` texts is all you need from the memberships.",
        "With `grants` in hand, the rest is `eligible(document, grants, day)` for each document.",
    ),
    off_limits=("labkit.answering.access_filter",),
    place=2,
    points=4,
    minutes=15,
    transfer=True,
)
