"""What the passages say: their whole units, each with what it is about.

A unit is a whole sentence, a row of a table, a list item, or code with the line that announces it.
One that is chosen is widened to what it leans on, and never parted from an exception in sight.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from labkit.markdown import QUOTABLE, Unit, pieces
from labkit.text import ends_sentence, fold, significant_terms
from labkit.types import MIN_QUOTE, Chunk, Citation, Hit

_EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|unless|however|excluding|excluded|but not|only if|instead|even if|"
    r"even when|cannot|may not|do(?:es)? not apply|sauf|a moins|toutefois|cependant|hormis|"
    r"excepte|en revanche|neanmoins|meme si|ne s'applique(?:nt)? pas|ne peu(?:t|vent) pas)\b"
)
_LEANS_BACK = re.compile(
    r"(?:this|these|that|those|it|they|however|in that case|otherwise|toutefois|cependant|cela|"
    r"ceci|dans ce cas|en revanche|ce delai|cette)\b"
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """Something that a passage says, whole."""

    rank: int
    hit: Hit
    unit: Unit
    terms: frozenset[str]  # of the unit and, for a table's row, of its column heads

    @property
    def chunk(self) -> Chunk:
        return self.hit.chunk

    @property
    def text(self) -> str:
        return self.chunk.text[self.unit.start : self.unit.end]

    @property
    def about(self) -> frozenset[str]:
        """What it says, and what its title says of it."""
        return self.terms | significant_terms(self.chunk.meta.title)

    @property
    def is_quotable(self) -> bool:
        shown = self.chunk.shows(self.unit.start, self.unit.end)
        return shown and self.unit.kind in QUOTABLE and len(self.text) >= MIN_QUOTE


def said_by(hits: Sequence[Hit]) -> list[list[Candidate]]:
    """All that each passage says whole, in order of the hits."""
    return [list(_said_whole(rank, hit)) for rank, hit in enumerate(hits)]


def _said_whole(rank: int, hit: Hit) -> Iterator[Candidate]:
    """What the chunk says and does not cut. A table's heads are what its rows are about."""
    for unit in _whole(hit.chunk):
        if unit.kind != "head":
            terms = significant_terms(hit.chunk.text[unit.start : unit.end])
            yield Candidate(rank, hit, unit, terms | significant_terms(unit.context))


def _whole(chunk: Chunk) -> list[Unit]:
    """The units that no border of the chunk cuts, as its flags tell.

    A border that may have cut something has not if a sentence ends there.
    """
    begins_cut = "cut_start" in chunk.flags
    if begins_cut and "cut_fence" in chunk.flags:
        return []  # it begins inside code: where that ends cannot be told from what is left
    units = pieces(chunk.text, unseen=chunk.hidden)[begins_cut:]
    if "cut_end" in chunk.flags and units and units[-1].end == len(chunk.text.rstrip()):
        is_prose = units[-1].kind not in ("row", "code", "long code")
        if not (is_prose and ends_sentence(chunk.text)):
            units.pop()
    return units


def widened(best: Candidate, rows: Sequence[Sequence[Candidate]]) -> Iterator[Citation]:
    """The unit, widened to what it leans on and to exceptions, near or in a sister passage.

    Nothing, if it cannot be widened.
    """
    row = rows[best.rank]
    first = last = row.index(best)
    while first > 0 and _LEANS_BACK.match(fold(row[first].text)):
        first -= 1
    for number in range(last + 1, len(row)):
        if _limits(row[number], best, adjacent=number == last + 1):
            last = number
    start, end = row[first].unit.start, row[last].unit.end
    if not best.chunk.shows(start, end):  # what is hidden in between must not be published
        return
    yield Citation(best.chunk.id, best.chunk.text[start:end])
    for other in rows:
        if other and other is not row and other[0].chunk.source_id == best.chunk.source_id:
            for sentence in other:
                if _limits(sentence, best, adjacent=False) and sentence.is_quotable:
                    yield Citation(sentence.chunk.id, sentence.text)
                    break


def is_exception(unit: Candidate) -> bool:
    """Does it say that something does not hold, or only on a condition?"""
    return _EXCEPTION.search(fold(unit.text)) is not None


def _limits(sentence: Candidate, rule: Candidate, adjacent: bool) -> bool:
    """Is this an exception to the rule? It says so, and follows it or shares two terms with it.

    The rows of a table share its headings and stand for themselves.
    """
    if sentence.unit.kind == rule.unit.kind == "row":
        return False
    if not is_exception(sentence):
        return False
    return adjacent or len(sentence.terms & rule.terms) >= 2
