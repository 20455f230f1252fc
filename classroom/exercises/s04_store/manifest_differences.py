"""Say in what two manifests differ

`index` says with which settings an index was built, `now` with which ones it is about to be read.
Both have the same fields; a field may hold a dictionary of its own, one level deep. Return a
dictionary with one entry for every field in which they differ, `{field: (value in the index, value
now)}`; a field inside a dictionary is named with it, as in `embedder.model`. Where nothing differs,
the result is empty.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from random import Random
from typing import Any, TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit.store import manifest
from labkit.types import EmbedderIdentity, Manifest

Values: TypeAlias = dict[str, Any]
Differences: TypeAlias = dict[str, tuple[Any, Any]]


def manifest_differences(
    index: dict[str, object], now: dict[str, object]
) -> dict[str, tuple[object, object]]:
    """{field: (value in the index, value now)} for every field that differs."""

    def flat(values: dict) -> dict:
        names = {}
        for name, value in values.items():
            if isinstance(value, dict):
                names.update({f"{name}.{inner}": value[inner] for inner in value})
            else:
                names[name] = value
        return names

    left, right = flat(index), flat(now)
    return {name: (left[name], right[name]) for name in left if left[name] != right[name]}


def _by_labkit(index: Values, now: Values) -> Differences:
    return manifest.manifest_differences(_manifest(index), _manifest(now))


_NEUTRAL = Manifest(EmbedderIdentity("", "", "", "", 1), "", "", "", "")


def dimension_alone(index: Values, now: Values) -> Differences:
    """Only the dimension is compared: two models of equal dimension are two different spaces."""
    found = manifest_differences(index, now)
    return {name: pair for name, pair in found.items() if name.endswith("dimension")}


def first_one_only(index: Values, now: Values) -> Differences:
    """You stop at the first difference: whoever must mend the index needs to see them all."""
    found = manifest_differences(index, now)
    return {name: found[name] for name in [name for name in _flat(index) if name in found][:1]}


def nested_values_whole(index: Values, now: Values) -> Differences:
    """Two dictionaries are reported as a whole: name the field in them, as in embedder.model."""
    return {name: (index[name], now[name]) for name in index if index[name] != now[name]}


def nested_values_skipped(index: Values, now: Values) -> Differences:
    """What stands in a dictionary of its own is not compared: the model itself could change."""
    found = manifest_differences(index, now)
    return {name: pair for name, pair in found.items() if "." not in name}


def group_not_named(index: Values, now: Values) -> Differences:
    """A field of a nested dictionary is named without its group: write embedder.model."""
    found = manifest_differences(index, now)
    return {name.rpartition(".")[2]: pair for name, pair in found.items()}


def turned_around(index: Values, now: Values) -> Differences:
    """The two values stand the wrong way round: first that of the index, then that of now."""
    return manifest_differences(now, index)


def empty_values_skipped(index: Values, now: Values) -> Differences:
    """A value that is empty on one side is passed over: a prefix that is gone is a difference."""
    found = manifest_differences(index, now)
    return {name: pair for name, pair in found.items() if all(pair)}


def equal_ones_listed(index: Values, now: Values) -> Differences:
    """Fields that agree are listed too: only a difference is worth a word."""
    left, right = _flat(index), _flat(now)
    return {name: (left[name], right[name]) for name in left}


def _manifest(values: Values) -> Manifest:
    """A manifest with these values, and neutral ones elsewhere."""
    base = asdict(_NEUTRAL)
    embedder = {**base["embedder"], **values.get("embedder", {})}
    return Manifest(**{**base, **values, "embedder": EmbedderIdentity(**embedder)})


def _flat(values: Mapping[str, Any], group: str = "") -> Values:
    flat: Values = {}
    for name, value in values.items():
        flat |= _flat(value, f"{name}.") if isinstance(value, dict) else {group + name: value}
    return flat


_SETTINGS: tuple[tuple[str, Any, Any], ...] = (
    ("chunker", "chars-600-overlap-80-v1", "chars-400-overlap-80-v1"),
    ("embedder.model", "mini", "other-mini"),
    ("embedder.revision", "1", "2"),
    ("embedder.dimension", 384, 768),
    ("embedder.query_prefix", "query: ", ""),
    ("embedder.normalised", True, False),
    ("analyser", "v1", "v2"),
    ("corpus_sha256", "ab12", "cd34"),
)


def _two_manifests(chosen: Iterable[tuple[int, bool]], swapped: bool = False) -> Arguments:
    """Two manifests with the chosen fields; those that are marked differ."""
    index: Values = {}
    now: Values = {}
    for number, differs in chosen:
        name, old, new = _SETTINGS[number]
        group, _, field = name.rpartition(".")
        for values, value in ((index, old), (now, new if differs else old)):
            (values.setdefault(group, {}) if group else values)[field] = value
    return (now, index) if swapped else (index, now)


def _hidden_manifests(random: Random) -> Iterator[Arguments]:
    everything = range(len(_SETTINGS))
    yield {}, {}
    yield _two_manifests((i, True) for i in everything)
    yield _two_manifests((i, False) for i in everything)
    for position in (1, 2, 4, 5):
        yield _two_manifests(((i, i == position) for i in everything), swapped=position == 4)
    yield _two_manifests([(3, False), (6, True)])
    for _ in range(24):
        numbers = random.sample(everything, random.randint(1, 8))
        yield _two_manifests(
            [(i, random.random() < 0.4) for i in numbers], swapped=random.random() < 0.5
        )


def _any_manifests() -> Strategy:
    chosen = st.tuples(st.integers(0, len(_SETTINGS) - 1), st.booleans())
    return st.tuples(
        st.lists(chosen, max_size=4, unique_by=lambda item: item[0]), st.booleans()
    ).map(lambda drawn: _two_manifests(*drawn))


EXERCISE = Exercise(
    model_solution=manifest_differences,
    reference=_by_labkit,
    cases=(
        case("another chunker", *_two_manifests([(0, True), (7, False)])),
        case("another model of equal dimension", *_two_manifests([(1, True), (3, False)])),
        case("a prefix that is gone", *_two_manifests([(4, True), (1, False)])),
        case("three differences at once", *_two_manifests([(0, True), (2, True), (7, True)])),
        case("nothing differs", *_two_manifests([(0, False), (1, False)])),
    ),
    hidden=_hidden_manifests,
    strategy=_any_manifests,
    hints=(
        "It is easier to compare two flat dictionaries. How would you make one of each?",
        "Flatten first: `embedder` with `model` inside becomes one name, `embedder.model`.",
        "Then go over the names and keep those whose values are not equal.",
        "`{name: (left[name], right[name]) for name in left if left[name] != right[name]}`.",
    ),
    off_limits=("labkit.store",),
    place=3,
    points=5,
    minutes=15,
)
