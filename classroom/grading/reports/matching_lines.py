"""Where two answers match: the lines of one that correspond to lines of the other.

Runs of equal hashes are laid from the longest possible on, each place used once (M. J. Wise:
"Running Karp-Rabin Matching and Greedy String Tiling", 1993; here from left to right).
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from classroom.grading.reports.winnowing import GRAM, Piece

Lines: TypeAlias = tuple[int, int]
"""First and last line of a source, counted from 1."""
_CANDIDATES = 16
"""A hash that repeats more often in one source is tried at so many places and no more."""


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """Lines on the left that match lines on the right."""

    left: Lines
    right: Lines


def matching_lines(
    left: Sequence[Piece], right: Sequence[Piece], ignored: frozenset[int]
) -> tuple[Part, ...]:
    """The matching parts, in the order of the left source. Hashes in `ignored` start none."""
    places = defaultdict[int, list[tuple[int, int]]](list)
    there = [piece.grams() for piece in right]
    for number, grams in enumerate(there):
        for at, gram in enumerate(grams):
            if gram not in ignored and len(places[gram]) < _CANDIDATES:
                places[gram].append((number, at))
    used = set[tuple[int, int]]()
    found = [part for piece in left for part in _tiles(piece, right, there, places, used)]
    return tuple(_merged(sorted(set(found))))


def _tiles(
    piece: Piece,
    right: Sequence[Piece],
    there: list[list[int]],
    places: dict[int, list[tuple[int, int]]],
    used: set[tuple[int, int]],
) -> Iterator[Part]:
    """From left to right: the longest unused run that starts here, then on behind it."""
    grams, start = piece.grams(), 0
    while start < len(grams):
        options = [
            (_run(grams[start:], there[number][at:]), -number, -at)
            for number, at in places.get(grams[start], ())
            if (number, at) not in used
        ]
        length, number, at = max(options, default=(0, 0, 0))
        if length:
            used.update((-number, -at + step) for step in range(length))
            yield Part(_lines(piece, start, length), _lines(right[-number], -at, length))
        start += max(1, length)


def _run(left: list[int], right: list[int]) -> int:
    """How many hashes agree from the start on."""
    for length, (one, other) in enumerate(zip(left, right, strict=False)):
        if one != other:
            return length
    return min(len(left), len(right))


def _lines(piece: Piece, start: int, length: int) -> Lines:
    """The lines of a run of hashes: each covers GRAM nodes. A line of which less than half is
    covered does not count, or each part would reach into its neighbours."""
    covered = Counter(piece.lines[start : start + length + GRAM - 1])
    nodes = Counter(piece.lines)
    mostly = [line for line, count in covered.items() if 2 * count >= nodes[line]]
    return min(mostly or covered), max(mostly or covered)


def _merged(parts: list[Part]) -> Iterator[Part]:
    """Parts that touch on both sides are one."""
    waiting: Part | None = None
    for part in parts:
        if waiting is None:
            waiting = part
        elif _touch(waiting.left, part.left) and _touch(waiting.right, part.right):
            waiting = Part(_joined(waiting.left, part.left), _joined(waiting.right, part.right))
        else:
            yield waiting
            waiting = part
    if waiting is not None:
        yield waiting


def _touch(one: Lines, other: Lines) -> bool:
    return one[0] <= other[1] + 1 and other[0] <= one[1] + 1


def _joined(one: Lines, other: Lines) -> Lines:
    return min(one[0], other[0]), max(one[1], other[1])
