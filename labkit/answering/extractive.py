"""A generator without a model: it picks the whole sentence that shares most with the question.

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

from labkit.text import fold, is_code, sentences, significant_terms
from labkit.types import MAX_EVIDENCE, MIN_QUOTE, Chunk, Citation, Hit, Proposal

MIN_COVERAGE = 0.45  # share of the question's weight that a sentence must mention

_EXCEPTION = re.compile(
    r"\b(?:except|exceptions?|unless|however|excluding|excluded|but not|only if|instead|even if|"
    r"even when|cannot|may not|do(?:es)? not apply|sauf|a moins|toutefois|cependant|hormis|"
    r"excepte|en revanche|neanmoins|meme si|ne s'applique(?:nt)? pas|ne peu(?:t|vent) pas)\b"
)
_RULE_LINE = re.compile(r"\|?[\s:|-]*-[\s:|-]*")
_LEANS_BACK = re.compile(
    r"(?:this|these|that|those|it|they|however|in that case|otherwise|toutefois|cependant|cela|"
    r"ceci|dans ce cas|en revanche|ce delai|cette)\b"
)


@dataclass(frozen=True, slots=True)
class _Sentence:
    hit: int
    chunk: Chunk
    start: int
    end: int
    terms: frozenset[str]  # of the sentence and, for a table's row, of its column headings

    @property
    def text(self) -> str:
        return self.chunk.text[self.start : self.end]

    @property
    def about(self) -> frozenset[str]:
        """What the sentence says, and what its title says of it."""
        return self.terms | significant_terms(self.chunk.meta.title)


class ExtractiveGenerator:
    """Quotes the sentences that answer, or declines: `labkit.types.Generator`."""

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        readable = [list(_whole_sentences(rank, hit.chunk)) for rank, hit in enumerate(hits)]
        words, codes = _asked(question)
        quotes: list[Citation] = []
        for code in codes or [""]:
            rows = [row for row in readable if row and (not code or code in _terms_of(row))]
            candidates = list(chain.from_iterable(rows))
            naming = [sentence for sentence in candidates if code in sentence.terms]
            best = _best(words, naming or candidates)
            if best is None:
                return Proposal(can_answer=False)
            for citation in _with_exceptions(best, readable):
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


def _terms_of(row: Sequence[_Sentence]) -> frozenset[str]:
    return significant_terms(row[0].chunk.searchable)


def _whole_sentences(rank: int, chunk: Chunk) -> Iterator[_Sentence]:
    """The sentences that the chunk holds whole: a window's border may cut its first and last.

    A table's headings are no answer; they are part of what each of its rows is about.
    """
    spans = sentences(chunk.text)
    texts = [chunk.text[start:end] for start, end in spans]
    columns: frozenset[str] = frozenset()
    for number, (text, (start, end)) in enumerate(zip(texts, spans, strict=True)):
        if _RULE_LINE.fullmatch(text):
            continue
        if number + 1 < len(texts) and _RULE_LINE.fullmatch(texts[number + 1]):
            columns = significant_terms(text)
            continue
        if not text.startswith("|"):
            columns = frozenset()
        cut_before = chunk.part > 0 and number == 0
        cut_after = number == len(spans) - 1 and end == len(chunk.text) and not _ends_well(chunk)
        if not cut_before and not cut_after:
            yield _Sentence(rank, chunk, start, end, significant_terms(text) | columns)


def _ends_well(chunk: Chunk) -> bool:
    return chunk.text.rstrip("\"'»”’)]*_ ").endswith((".", "!", "?", "…", "|"))


def _best(words: frozenset[str], candidates: Sequence[_Sentence]) -> _Sentence | None:
    """The sentence with most of the question's weight, earlier hits first, if it is enough."""
    quotable = [s for s in candidates if words & s.terms and len(s.text) >= MIN_QUOTE]
    if not quotable:
        return None
    weights = _weights(words, candidates)
    best = min(quotable, key=lambda s: (-_weight(words & s.terms, weights), s.hit, s.start))
    covered = _weight(words & best.about, weights)
    return best if covered >= MIN_COVERAGE * _weight(words, weights) else None


def _weights(words: frozenset[str], candidates: Sequence[_Sentence]) -> dict[str, float]:
    """The inverse document frequency of each word over the sentences, as in BM25."""
    frequency = {word: sum(word in s.terms for s in candidates) for word in words}
    return {word: log(1 + (len(candidates) - n + 0.5) / (n + 0.5)) for word, n in frequency.items()}


def _weight(words: frozenset[str], weights: Mapping[str, float]) -> float:
    return sum(weights[word] for word in sorted(words))


def _with_exceptions(best: _Sentence, rows: Sequence[Sequence[_Sentence]]) -> Iterator[Citation]:
    """The sentence, widened to what it leans on and to exceptions, near or in a sister passage."""
    row = rows[best.hit]
    first = last = row.index(best)
    while first > 0 and _LEANS_BACK.match(fold(row[first].text)):
        first -= 1
    for number in range(last + 1, len(row)):
        if _limits(row[number], best, adjacent=number == last + 1):
            last = number
    yield Citation(best.chunk.id, best.chunk.text[row[first].start : row[last].end])
    for other in rows:
        if other and other is not row and other[0].chunk.source_id == best.chunk.source_id:
            for sentence in other:
                if _limits(sentence, best, adjacent=False) and len(sentence.text) >= MIN_QUOTE:
                    yield Citation(sentence.chunk.id, sentence.text)
                    break


def _limits(sentence: _Sentence, rule: _Sentence, adjacent: bool) -> bool:
    """Is this an exception to the rule? It says so, and follows it or shares two terms with it.

    The rows of a table share its headings and stand for themselves.
    """
    if sentence.text.startswith("|") and rule.text.startswith("|"):
        return False
    if not _EXCEPTION.search(fold(sentence.text)):
        return False
    return adjacent or len(sentence.terms & rule.terms) >= 2
