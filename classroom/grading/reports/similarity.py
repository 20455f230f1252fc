"""Which answers to one exercise look alike, beyond what the task and common idiom explain.

Answers are compared by their fingerprints (`winnowing`). What stands in the starter or in the model
solution does not count, nor what more than a quarter of the distinct answers hold. The similarity
of two answers is the share of the smaller one's fingerprints that the other has too, so that
padding one of them does not lower it. An aid to a conversation, never a verdict.
"""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations, product

from classroom.exercise import Exercise
from classroom.exercises import ALL
from classroom.grading.reports.matching_lines import Part, matching_lines
from classroom.grading.reports.same_as_solution import SameAsSolution, same_as_solution
from classroom.grading.reports.winnowing import (
    Shape,
    all_grams,
    fingerprints,
    pieces,
    shape,
    statements,
)
from classroom.grading.types import Triaged
from labkit.types import LabError

THRESHOLD = 0.5
LEAST_SHARED = 12
LEAST_STATEMENTS = 5
COMMON_SHARE = 0.25
"""What more than this share of the distinct answers hold is common idiom …"""
NEVER_COMMON, ALWAYS_COMMON = 5, 25
"""… but never what 5 or fewer hold, and always what more than 25 hold, which bounds the work."""


class LeftOut(StrEnum):
    """Why an answer was compared with no other."""

    UNREADABLE = "no Python that can be read, or too large"
    UNTOUCHED = "the starter, untouched"
    SOLUTION = "the model solution, names aside"
    TOO_LITTLE = "too short, or too little in it that is not in the task or in many answers"


@dataclass(frozen=True, slots=True, order=True)
class Answer:
    """What one student wrote for one exercise: the source, helpers included."""

    exercise: str
    student: str
    source: str


@dataclass(frozen=True, slots=True)
class Pair:
    """Two students' answers to one exercise. `similarity` runs from 0 to 1; `shared` counts the
    fingerprints that both have, after the discount. The left student's name sorts first."""

    left: Answer
    right: Answer
    similarity: float
    shared: int
    parts: tuple[Part, ...] = ()

    @property
    def exercise(self) -> str:
        return self.left.exercise


@dataclass(frozen=True, slots=True)
class Cluster:
    """Three or more students whose answers to an exercise are linked by similar pairs, directly or
    through others. `pairs` counts the similar pairs among them."""

    exercise: str
    students: tuple[str, ...]
    pairs: int


@dataclass(frozen=True, slots=True)
class Repeated:
    """Two students whose answers are similar in more than one exercise."""

    left: str
    right: str
    exercises: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Comparison:
    """What a comparison found: the strongest of `found` similar pairs, and what became of all
    `answers`, of which there are so many `by_exercise`. `left_out` counts those compared with no
    other, by exercise and reason; `solutions` names who handed in the model solution."""

    threshold: float = THRESHOLD
    answers: int = 0
    by_exercise: Mapping[str, int] = field(default_factory=dict)
    left_out: Mapping[tuple[str, LeftOut], int] = field(default_factory=dict)
    solutions: tuple[SameAsSolution, ...] = ()
    found: int = 0
    pairs: tuple[Pair, ...] = ()
    clusters: tuple[Cluster, ...] = ()
    repeated: tuple[Repeated, ...] = ()


def answers_in(student: str, triaged: Triaged) -> list[Answer]:
    """A student's answers, one an exercise; cells that answer the same one are joined."""
    sources: dict[str, list[str]] = {}
    for cell in triaged.cells:
        for exercise in cell.exercises:
            sources.setdefault(exercise, []).append(cell.source)
    return [Answer(exercise, student, "\n".join(found)) for exercise, found in sources.items()]


def compare(
    answers: Iterable[Answer],
    threshold: float = THRESHOLD,
    most: int = 100,
    exercises: Mapping[str, Exercise] = ALL,
) -> Comparison:
    """Compare all answers to the same exercise, of different students.

    Two are similar from `threshold` on, if they share LEAST_SHARED fingerprints. The `most`
    strongest pairs are kept; after the first pair of a group, its others come last. The order of
    the answers changes nothing. LabError for a threshold that is no share above 0.
    """
    if not 0 < threshold <= 1:
        raise LabError(f"The threshold is a share above 0 and at most 1, not {threshold}.")
    by_exercise = defaultdict[str, list[Answer]](list)
    for answer in sorted(set(answers)):
        by_exercise[answer.exercise].append(answer)
    classes = {name: _read(found, exercises.get(name)) for name, found in by_exercise.items()}
    pairs = [pair for found in classes.values() for pair in _similar(found.forms, threshold)]
    clusters = _clusters(pairs)
    strongest = _strongest(pairs, clusters, max(0, most))
    return Comparison(
        threshold,
        answers=sum(map(len, by_exercise.values())),
        by_exercise={name: len(found) for name, found in by_exercise.items()},
        left_out={
            (name, why): count
            for name, found in classes.items()
            for why, count in sorted(found.left_out.items())
        },
        solutions=same_as_solution(
            {name: found.solvers for name, found in classes.items() if found.solvers}, exercises
        ),
        found=len(pairs),
        pairs=tuple(_with_parts(pair, classes[pair.exercise].discounted) for pair in strongest),
        clusters=tuple(clusters),
        repeated=tuple(_repeated(pairs)),
    )


@dataclass(frozen=True, slots=True)
class _Form:
    """A distinct answer: its fingerprints after the discount, and all who wrote it."""

    own: frozenset[int]
    answers: tuple[Answer, ...]


@dataclass(frozen=True, slots=True)
class _Class:
    """All answers to one exercise, read; `solvers` are those whose answer is the model solution."""

    forms: tuple[_Form, ...]
    discounted: frozenset[int]
    left_out: Mapping[LeftOut, int]
    solvers: frozenset[str]


def _read(answers: list[Answer], exercise: Exercise | None) -> _Class:
    """Sort the answers out, and take from each what does not count."""
    left_out: Counter[LeftOut] = Counter()
    by_source = defaultdict[str, list[Answer]](list)
    for answer in answers:
        by_source[answer.source].append(answer)
    written = defaultdict[Shape, list[Answer]](list)
    for source, same in by_source.items():
        try:
            written[shape(pieces(source, same[0].exercise))] += same
        except LabError:
            left_out[LeftOut.UNREADABLE] += len(same)
    discounted, solvers = frozenset[int](), frozenset[str]()
    for why, given in _given(exercise):
        same = written.pop(given, [])
        left_out[why] += len(same)
        if why is LeftOut.SOLUTION:
            solvers = frozenset(answer.student for answer in same)
        discounted |= all_grams(given)
    kept = {form: fingerprints(form) - discounted for form in written}
    common = _common(kept.values())
    forms = []
    for form, own in kept.items():
        if statements(form) >= LEAST_STATEMENTS and len(own - common) >= LEAST_SHARED:
            forms.append(_Form(own - common, tuple(written[form])))
        else:
            left_out[LeftOut.TOO_LITTLE] += len(written[form])
    return _Class(tuple(forms), discounted | common, +left_out, solvers)


def _given(exercise: Exercise | None) -> Iterator[tuple[LeftOut, Shape]]:
    """What everybody was given."""
    if exercise is not None:
        yield LeftOut.UNTOUCHED, shape(pieces(exercise.starter, exercise.id))
        yield LeftOut.SOLUTION, shape(pieces(exercise.solution, exercise.id))


def _common(answers: Iterable[frozenset[int]]) -> frozenset[int]:
    """The fingerprints that too many distinct answers hold to say anything about two of them."""
    distinct = list(answers)
    limit = min(max(int(COMMON_SHARE * len(distinct)), NEVER_COMMON), ALWAYS_COMMON)
    held = Counter(one for own in distinct for one in own)
    return frozenset(one for one, count in held.items() if count > limit)


def _similar(forms: tuple[_Form, ...], threshold: float) -> Iterator[Pair]:
    """All similar pairs of one exercise, through an index from fingerprints to answers."""
    holders = defaultdict[int, list[int]](list)
    for number, form in enumerate(forms):
        yield from _pairs(combinations(form.answers, 2), 1.0, len(form.own))
        for one in form.own:
            holders[one].append(number)
    shared = Counter(both for numbers in holders.values() for both in combinations(numbers, 2))
    for (i, j), count in shared.items():
        similarity = count / min(len(forms[i].own), len(forms[j].own))
        if count >= LEAST_SHARED and similarity >= threshold:
            yield from _pairs(product(forms[i].answers, forms[j].answers), similarity, count)


def _pairs(
    answers: Iterable[tuple[Answer, Answer]], similarity: float, shared: int
) -> Iterator[Pair]:
    """A pair for any two answers of different students."""
    for one, other in answers:
        if one.student < other.student:
            yield Pair(one, other, similarity, shared)
        elif one.student > other.student:
            yield Pair(other, one, similarity, shared)


def _strength(pair: Pair) -> tuple[float, int, str, str, str, str, str]:
    """The order of pairs: most alike first, then what shares most, then by name."""
    left, right = pair.left, pair.right
    names = left.exercise, left.student, right.student
    return (-pair.similarity, -pair.shared, *names, left.source, right.source)


def _strongest(pairs: list[Pair], clusters: Iterable[Cluster], most: int) -> list[Pair]:
    """The `most` pairs to show, strongest first. A large group has thousands of equal pairs, which
    are not to hide all others: so its first pair stands with the rest, its others after them."""
    group = {(one.exercise, name): one for one in clusters for name in one.students}
    first: dict[Cluster, Pair] = {}
    for pair in sorted(pairs, key=_strength):
        if one := group.get((pair.exercise, pair.left.student)):
            first.setdefault(one, pair)
    leading = set(map(id, first.values()))
    further = {
        id(pair)
        for pair in pairs
        if (pair.exercise, pair.left.student) in group and id(pair) not in leading
    }
    kept = heapq.nsmallest(most, pairs, key=lambda pair: (id(pair) in further, _strength(pair)))
    return sorted(kept, key=_strength)


def _with_parts(pair: Pair, discounted: frozenset[int]) -> Pair:
    """The pair, with the lines that match."""
    left, right = (pieces(one.source, one.exercise) for one in (pair.left, pair.right))
    parts = matching_lines(left, right, discounted)
    return Pair(pair.left, pair.right, pair.similarity, pair.shared, parts)


def _clusters(pairs: Iterable[Pair]) -> list[Cluster]:
    """Students linked by similar pairs in one exercise, three or more; the largest first."""
    room: dict[tuple[str, str], list[tuple[str, str]]] = {}
    linked: Counter[tuple[str, str, str]] = Counter()
    for pair in pairs:
        linked[pair.exercise, pair.left.student, pair.right.student] += 1
    for exercise, left, right in linked:
        one = room.setdefault((exercise, left), [(exercise, left)])
        other = room.setdefault((exercise, right), [(exercise, right)])
        if one is not other:
            large, small = (one, other) if len(one) >= len(other) else (other, one)
            large += small
            room.update(dict.fromkeys(small, large))
    inside = Counter(id(room[exercise, left]) for exercise, left, _ in linked)
    found = [
        Cluster(members[0][0], tuple(sorted(student for _, student in members)), inside[key])
        for key, members in {id(members): members for members in room.values()}.items()
        if len(members) > 2
    ]
    return sorted(found, key=lambda one: (-len(one.students), one.exercise, one.students))


def _repeated(pairs: Iterable[Pair]) -> list[Repeated]:
    """Pairs of students alike in several exercises, most exercises first."""
    together = defaultdict[tuple[str, str], set[str]](set)
    for pair in pairs:
        together[pair.left.student, pair.right.student].add(pair.exercise)
    found = [
        Repeated(left, right, tuple(sorted(exercises)))
        for (left, right), exercises in together.items()
        if len(exercises) > 1
    ]
    return sorted(found, key=lambda one: (-len(one.exercises), one.left, one.right))
