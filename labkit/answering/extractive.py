"""A generator without a model: it quotes the unit that answers, as a chooser picks it.

Two choosers share it. `most_words`, of stage 07, is below: deterministic, and modest. Rare words
weigh more than frequent ones; when the best unit leaves too much of that weight unmentioned, it
declines. `labkit.answering.reader`, of stage 08, knows the whole index and decides by cost.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import log
from typing import Any, TypeAlias

from labkit.answering.candidates import Candidate, said_by, widened
from labkit.text import is_code, significant_terms
from labkit.types import MAX_EVIDENCE, Citation, Hit, Proposal

MIN_COVERAGE = 0.45  # share of the question's weight that a sentence must mention


@dataclass(frozen=True, slots=True)
class Choice:
    """What a chooser picked: the best unit, and those that stand beside it; none, and `why`.

    `detail` is for the trace: the score, what was needed, and which unit was best though declined.
    """

    units: tuple[Candidate, ...] = ()
    why: str = ""
    detail: Mapping[str, Any] = field(default_factory=dict)


Chooser: TypeAlias = Callable[[frozenset[str], frozenset[str], Sequence[Candidate]], Choice]
"""From the question's words, the code that it asks about (none or one), and the units of the
passages that hold this code, to the units that answer."""


def most_words(
    words: frozenset[str], code: frozenset[str], candidates: Sequence[Candidate]
) -> Choice:
    """The unit with most of the question's weight, earlier hits first, if it is enough.

    A word's weight is its inverse document frequency over these units, as in BM25.
    """
    quotable = [unit for unit in candidates if words & unit.terms and unit.is_quotable]
    if not quotable:
        return Choice()
    weights = _weights(words, candidates)
    best = min(quotable, key=lambda c: (-_weight(words & c.terms, weights), c.rank, c.unit.start))
    covered = _weight(words & best.about, weights)
    return Choice((best,) if covered >= MIN_COVERAGE * _weight(words, weights) else ())


class ExtractiveGenerator:
    """Quotes the units that answer, or declines: `labkit.types.Generator`."""

    def __init__(self, choose: Chooser = most_words) -> None:
        self._choose = choose

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        readable = said_by(hits)
        words, codes = _asked(question)
        quotes: list[Citation] = []
        details: list[Mapping[str, Any]] = []
        for code in codes or [""]:
            rows = [row for row in readable if row and (not code or code in _terms_of(row))]
            candidates = list(chain.from_iterable(rows))
            naming = [sentence for sentence in candidates if code in sentence.terms]
            choice = self._choose(words, frozenset({code} - {""}), naming or candidates)
            details.append(choice.detail)
            found = [list(widened(unit, readable)) for unit in choice.units]
            if not found or not found[0]:
                return Proposal(False, detail=_merged(details), why=choice.why)
            for number, group in enumerate(found):
                new = _not_quoted(group, quotes)
                if number == 0 or len(quotes) + len(new) <= MAX_EVIDENCE:  # the rest is an extra
                    quotes += new
        if len(quotes) > MAX_EVIDENCE:  # an answer minus a part is another answer
            return Proposal(False, detail=_merged(details))
        return Proposal(True, tuple(quotes), _merged(details))


def _not_quoted(group: Sequence[Citation], quotes: Sequence[Citation]) -> list[Citation]:
    """Those of the group that say something which no other quotation says already."""
    new: list[Citation] = []
    for one in group:
        if not any(one.quote in kept.quote for kept in (*quotes, *new)):
            new.append(one)
    return new


def _merged(details: Sequence[Mapping[str, Any]]) -> Mapping[str, Any]:
    """One detail for the trace; a question about several products has one for each."""
    said = [detail for detail in details if detail]
    return {"choices": said} if len(said) > 1 else dict(*said)


def _asked(question: str) -> tuple[frozenset[str], list[str]]:
    """The question's words, and the codes it names, whole.

    A question about one product is not answered by the passage of another, so a code is a
    condition; the words have to be found beside it.
    """
    terms = significant_terms(question)
    codes = sorted(term for term in terms if is_code(term))
    parts = {part for code in codes for part in significant_terms(code)}
    return terms - parts or frozenset(codes), codes


def _terms_of(row: Sequence[Candidate]) -> frozenset[str]:
    return significant_terms(row[0].chunk.searchable)


def _weights(words: frozenset[str], candidates: Sequence[Candidate]) -> dict[str, float]:
    frequency = {word: sum(word in unit.terms for unit in candidates) for word in words}
    return {word: log(1 + (len(candidates) - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}


def _weight(words: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(weights[word] for word in sorted(words))
