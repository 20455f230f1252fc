"""Plan what an index has to do

`before` holds the hash of every document in the index, by its id; `now` that of every document in
the folder. Return a dictionary with four sorted lists of ids: `added` (only in the folder),
`changed` (in both, with another hash), `removed` (only in the index) and `unchanged`. Every id is
in exactly one of them. A document under a new name is one that was removed and one that was added.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit import indexing

Hashes: TypeAlias = dict[str, str]  # the hash of each document by its id
Plan: TypeAlias = dict[str, list[str]]


def plan_changes(before: dict[str, str], now: dict[str, str]) -> dict[str, list[str]]:
    """Sorted ids under the keys added, changed, removed and unchanged."""
    both = sorted(before.keys() & now.keys())
    return {
        "added": sorted(now.keys() - before.keys()),
        "changed": [name for name in both if before[name] != now[name]],
        "removed": sorted(before.keys() - now.keys()),
        "unchanged": [name for name in both if before[name] == now[name]],
    }


def _by_labkit(before: Hashes, now: Hashes) -> Plan:
    return indexing.plan_changes(before, now)


def _plan(before: Hashes, now: Hashes, is_same: Callable[[str], bool]) -> Plan:
    both = sorted(before.keys() & now.keys())
    return {
        "added": sorted(now.keys() - before.keys()),
        "changed": [name for name in both if not is_same(name)],
        "removed": sorted(before.keys() - now.keys()),
        "unchanged": [name for name in both if is_same(name)],
    }


def ids_alone(before: Hashes, now: Hashes) -> Plan:
    """Only ids are compared: an edited document keeps its id, and its old text would answer."""
    return _plan(before, now, lambda _: True)


def removed_forgotten(before: Hashes, now: Hashes) -> Plan:
    """What is gone is not listed: a document that somebody deleted would go on answering."""
    return {**plan_changes(before, now), "removed": []}


def everything_changed(before: Hashes, now: Hashes) -> Plan:
    """Every document that was there before is called changed: then nothing is ever saved."""
    return _plan(before, now, lambda _: False)


def hashes_alone(before: Hashes, now: Hashes) -> Plan:
    """A hash that was there under another id counts as unchanged: compare it under the same id."""
    known = set(before.values())
    plan = _plan(before, now, lambda name: now[name] in known)
    plan["unchanged"] = sorted([*plan["unchanged"], *(n for n in plan["added"] if now[n] in known)])
    plan["added"] = [name for name in plan["added"] if now[name] not in known]
    return plan


def before_and_now_swapped(before: Hashes, now: Hashes) -> Plan:
    """Added and removed are the wrong way round: what is new would be deleted."""
    return plan_changes(now, before)


def changed_added_again(before: Hashes, now: Hashes) -> Plan:
    """A changed document is listed as removed and added: for a moment it would not be there."""
    plan = plan_changes(before, now)
    added, removed = (sorted([*plan[key], *plan["changed"]]) for key in ("added", "removed"))
    return {**plan, "added": added, "removed": removed, "changed": []}


def in_order_of_arrival(before: Hashes, now: Hashes) -> Plan:
    """The lists are not sorted: the same two states would give another plan on another disk."""
    return {
        "added": [name for name in now if name not in before],
        "changed": [name for name in now if name in before and before[name] != now[name]],
        "removed": [name for name in before if name not in now],
        "unchanged": [name for name in now if name in before and before[name] == now[name]],
    }


def unchanged_left_out(before: Hashes, now: Hashes) -> Plan:
    """The unchanged ones are missing: then nobody can see that every document was looked at."""
    return {**plan_changes(before, now), "unchanged": []}


_DOCUMENTS = ("returns", "sim-card", "alerts", "vat", "leave", "wiring", "plans", "webhooks")


def _two_states(numbers: Sequence[int], offset: int = 0) -> Arguments:
    """Each number says what became of a document: 0 added, 1 removed, 2 changed, else the same."""
    before: Hashes = {}
    now: Hashes = {}
    for place, number in enumerate(numbers):
        name = _DOCUMENTS[(place * 3 + offset) % len(_DOCUMENTS)]
        if number != 0:
            before[name] = f"{place:02x}"
        if number != 1:
            now[name] = f"{place:02x}" if number != 2 else f"{place + 64:02x}"
    return before, now


def _hidden_plans(random: Random) -> Iterator[Arguments]:
    yield {}, {}
    yield {"returns": "a1"}, {}
    yield {}, {"wiring": "b2", "alerts": "a1"}
    yield {"returns": "a1"}, {"returns-policy": "a1"}  # renamed
    yield {"vat": "a1", "leave": "b2"}, {"vat": "b2", "leave": "a1"}  # exchanged
    yield _two_states([0, 1, 2, 3, 3, 2, 1, 0])
    yield _two_states([2, 2, 2])
    for _ in range(24):
        numbers = [random.randint(0, 4) for _ in range(random.randint(2, 8))]
        yield _two_states(numbers, random.randint(0, 7))


def _any_plans() -> Strategy:
    hashes = st.dictionaries(st.sampled_from("abc"), st.sampled_from(["1", "2"]), max_size=3)
    return st.tuples(hashes, hashes)


EXERCISE = Exercise(
    model_solution=plan_changes,
    reference=_by_labkit,
    cases=(
        case("one edited, one as it was", {"a": "1", "b": "2"}, {"a": "1", "b": "9"}),
        case("two new ones", {"a": "1"}, {"c": "3", "b": "2", "a": "1"}),
        case("all are gone", {"b": "1", "a": "2"}, {}),
        case("a new name for the same text", {"old": "1"}, {"new": "1"}),
        case("nothing before, nothing now", {}, {}),
    ),
    hidden=_hidden_plans,
    strategy=_any_plans,
    hints=(
        "In how many ways can an id be in two dictionaries? Each way is one list.",
        "`before.keys() & now.keys()` are the ids in both, `now.keys() - before.keys()` the new "
        "ones: keys can be combined like sets.",
        "For an id that is in both, the hashes decide: `before[name] == now[name]`.",
        "`sorted(...)` makes a list of a set, always in the same order.",
    ),
    off_limits=("labkit.indexing",),
    place=3,
    points=5,
    minutes=15,
    core=True,
)
