"""Stage 08: the reader chooses the unit that answers, and decides whether it is good enough.

A unit's score is a weighted mean of three shares from 0 to 1:

- what it says itself of the question's weight,
- what it says together with its title and its sections: who asks for the limit of a plan finds the
  plan in the heading and the limit in the sentence,
- how high the search placed its passage, in meaning and words.

The weight of a word is its rarity among *all* eligible passages. Among the few that were found for
these very words, what the question is about would weigh least.

What a question names by a number has to stand in the passage: no sentence about 2024 answers for
2021. The score that is needed balances two costs, of a wrong answer and of a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import fsum

from labkit.answering.candidates import Candidate, is_exception, said_by
from labkit.answering.extractive import Choice
from labkit.text import significant_terms
from labkit.types import Hit

OWN, ABOUT, PLACE = 0.3, 0.3, 0.4  # chosen on development questions: docs/evaluation.md
CLOSE = 0.1  # a unit of another passage that scores so near to the best is shown beside it


@dataclass(frozen=True, slots=True)
class Reader:
    """A chooser for `ExtractiveGenerator`; a unit must score `threshold` to be shown."""

    threshold: float

    def __call__(
        self, words: frozenset[str], code: frozenset[str], candidates: Sequence[Candidate]
    ) -> Choice:
        named = frozenset(word for word in words if any(c.isdigit() for c in word))
        told = {unit.rank: significant_terms(unit.chunk.searchable) for unit in candidates}
        fit = [unit for unit in candidates if unit.is_quotable and named <= told[unit.rank]]
        if not fit:
            missing = named.difference(*told.values())
            return Choice(why=f"No passage found names {min(missing)}." if missing else "")
        scored = [(unit_score(unit, words | code), unit) for unit in fit]
        scored.sort(key=lambda pair: (-pair[0], pair[1].rank, pair[1].unit.start))
        score, best = scored[0]
        chosen = {"chunk": best.chunk.id, "unit": best.text}
        detail = {"score": round(score, 3), "needed": self.threshold, "chosen": chosen}
        if score < self.threshold:
            return Choice(why=self._why(score), detail=detail)
        rule = [unit for _, unit in scored if is_exception(best) and _is_rule_of(unit, best)]
        enough = max(self.threshold, score - CLOSE)
        beside = [u for other, u in scored if other >= enough and u.chunk.id != best.chunk.id]
        return Choice((best, *rule[:1], *beside[:1]), detail=detail)

    def _why(self, score: float) -> str:
        return (
            f"The best sentence found scores {score:.2f}, and {self.threshold:.2f} is needed: it "
            "says too little of what was asked."
        )


def snippet(hit: Hit, question: str) -> str:
    """The unit of a passage that says most of a question; the whole text where none does."""
    words = significant_terms(question)
    (units,) = said_by([hit])
    fit = [unit for unit in units if unit.is_quotable and words & unit.terms]
    best = max(fit, key=lambda unit: (unit_score(unit, words), -unit.unit.start), default=None)
    return best.text if best else hit.chunk.text


def unit_score(unit: Candidate, words: frozenset[str]) -> float:
    """How well a unit answers, from 0 to 1."""
    weights = {word: unit.hit.asked.get(word, 1.0) for word in words}
    own, about = _share(weights, unit.terms), _share(weights, _about(unit))
    return OWN * own + ABOUT * about + PLACE * (unit.hit.fused or 0.0)


def _share(weights: Mapping[str, float], said: frozenset[str]) -> float:
    """The part of the weight that these terms make up."""
    total = fsum(weights.values())
    return (
        fsum(weight for word, weight in weights.items() if word in said) / total if total else 0.0
    )


def _about(unit: Candidate) -> frozenset[str]:
    return unit.about | significant_terms(unit.chunk.context)


def _is_rule_of(unit: Candidate, exception: Candidate) -> bool:
    """Does this say plainly, in the same document, what the other one makes an exception to?"""
    is_near = unit.chunk.source_id == exception.chunk.source_id and not is_exception(unit)
    return is_near and len(unit.terms & exception.terms) >= 2
