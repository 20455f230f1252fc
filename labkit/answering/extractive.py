"""A generator without a model: it picks the unit that shares most with the question.

A unit is a whole sentence, a row of a table, a list item, or code with the line that announces it.

Deterministic, and modest: it understands nothing. Rare words weigh more than frequent ones; when
the best sentence leaves too much of that weight unmentioned, it declines. It never separates a rule
from an exception that it can see.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import log

from labkit.markdown import QUOTABLE, Unit, pieces
from labkit.text import ends_sentence, fold, is_code, significant_terms
from labkit.types import MAX_EVIDENCE, MIN_QUOTE, Chunk, Citation, Hit, Proposal

MIN_COVERAGE = 0.45  # share of the question's weight that a sentence must mention

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
class _Said:
    """Something that a passage says, whole."""

    hit: int
    chunk: Chunk
    unit: Unit
    terms: frozenset[str]  # of the unit and, for a table's row, of its column heads

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


class ExtractiveGenerator:
    """Quotes the sentences that answer, or declines: `labkit.types.Generator`."""

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        readable = [list(_said_whole(rank, hit.chunk)) for rank, hit in enumerate(hits)]
        words, codes = _asked(question)
        quotes: list[Citation] = []
        for code in codes or [""]:
            rows = [row for row in readable if row and (not code or code in _terms_of(row))]
            candidates = list(chain.from_iterable(rows))
            naming = [sentence for sentence in candidates if code in sentence.terms]
            best = _best(words, naming or candidates)
            if best is None:
                return Proposal(can_answer=False)
            widened = list(_with_exceptions(best, readable))
            if not widened:
                return Proposal(can_answer=False)
            for citation in widened:
                if not any(citation.quote in kept.quote for kept in quotes):
                    quotes.append(citation)
        if len(quotes) > MAX_EVIDENCE:  # an answer minus a part is another answer
            return Proposal(can_answer=False)
        return Proposal(True, tuple(quotes))


def _asked(question: str) -> tuple[frozenset[str], list[str]]:
    """The question's words, and the codes it names, whole.

    A question about one product is not answered by the passage of another, so a code is a
    condition; the words have to be found beside it.
    """
    terms = significant_terms(question)
    codes = sorted(term for term in terms if is_code(term))
    parts = {part for code in codes for part in significant_terms(code)}
    return terms - parts or frozenset(codes), codes


def _terms_of(row: Sequence[_Said]) -> frozenset[str]:
    return significant_terms(row[0].chunk.searchable)


def _said_whole(rank: int, chunk: Chunk) -> Iterator[_Said]:
    """What the chunk says and does not cut. A table's heads are what its rows are about."""
    for unit in _whole(chunk):
        if unit.kind != "head":
            terms = significant_terms(chunk.text[unit.start : unit.end])
            yield _Said(rank, chunk, unit, terms | significant_terms(unit.context))


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


def _best(words: frozenset[str], candidates: Sequence[_Said]) -> _Said | None:
    """The unit with most of the question's weight, earlier hits first, if it is enough."""
    quotable = [s for s in candidates if words & s.terms and s.is_quotable]
    if not quotable:
        return None
    weights = _weights(words, candidates)
    best = min(quotable, key=lambda s: (-_weight(words & s.terms, weights), s.hit, s.unit.start))
    covered = _weight(words & best.about, weights)
    return best if covered >= MIN_COVERAGE * _weight(words, weights) else None


def _weights(words: frozenset[str], candidates: Sequence[_Said]) -> dict[str, float]:
    """The inverse document frequency of each word over the sentences, as in BM25."""
    frequency = {word: sum(word in s.terms for s in candidates) for word in words}
    return {word: log(1 + (len(candidates) - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}


def _weight(words: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(weights[word] for word in sorted(words))


def _with_exceptions(best: _Said, rows: Sequence[Sequence[_Said]]) -> Iterator[Citation]:
    """The unit, widened to what it leans on and to exceptions, near or in a sister passage.

    Nothing, if it cannot be widened.
    """
    row = rows[best.hit]
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


def _limits(sentence: _Said, rule: _Said, adjacent: bool) -> bool:
    """Is this an exception to the rule? It says so, and follows it or shares two terms with it.

    The rows of a table share its headings and stand for themselves.
    """
    if sentence.unit.kind == rule.unit.kind == "row":
        return False
    if not _EXCEPTION.search(fold(sentence.text)):
        return False
    return adjacent or len(sentence.terms & rule.terms) >= 2
