"""The passages of a retrieval as rows of a table: scores, ranks, and why each was kept or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from labkit.service.translator import Translator
from labkit.types import Hit, Retrieval

_KNOWN = (
    (re.compile(r"shares no significant word with the question"), "drop_words"),
    (re.compile(r"cosine below (-?[\d.]+)"), "drop_cosine"),
    (re.compile(r"beyond the best (\d+)"), "drop_beyond"),
    (re.compile(r"nothing found is near enough, in meaning or in words"), "drop_unsupported"),
    (re.compile(r"the same passage as (.+)", re.DOTALL), "drop_same"),
)

Verdict: TypeAlias = Literal["kept", "dropped", "considered"]


@dataclass(frozen=True)
class Score:
    """A score or a rank in words; `width` and `mark` are those of its bar, out of 100."""

    name: str
    text: str
    width: float | None = None
    mark: float | None = None


@dataclass(frozen=True)
class Row:
    """One passage. `considered` is one that a refusal kept from being handed on."""

    place: int
    hit: Hit
    verdict: Verdict
    why: str
    why_lang: str
    scores: tuple[Score, ...]


def shown_rows(retrieval: Retrieval, most: int, translator: Translator) -> list[Row]:
    """The best passages, and every one that was kept, wherever it stands."""
    kept = {hit.chunk.id for hit in retrieval.hits}
    placed = [
        (place, hit)
        for place, hit in enumerate(retrieval.ranked, start=1)
        if place <= most or hit.chunk.id in kept
    ]
    hits = [hit for _, hit in placed]
    threshold = retrieval.detail.get("threshold")
    scales = _Scales(hits, threshold if isinstance(threshold, float) else None, translator)
    return [_row(place, hit, hit.chunk.id in kept, scales) for place, hit in placed]


def _row(place: int, hit: Hit, kept: bool, scales: _Scales) -> Row:
    why, lang = why_dropped(hit.dropped, scales.translator) if hit.dropped else ("", "")
    verdict: Verdict = "kept" if kept else "dropped" if hit.dropped else "considered"
    return Row(place, hit, verdict, why, lang, scales.scores(hit))


class _Scales:
    """How the scores of these hits are written and drawn beside one another."""

    def __init__(
        self, hits: Sequence[Hit], threshold: float | None, translator: Translator
    ) -> None:
        self.translator, self._threshold = translator, threshold
        self._words = max((hit.lexical_score or 0.0 for hit in hits), default=0.0)
        self._fused = max((hit.fused or 0.0 for hit in hits), default=0.0)

    def scores(self, hit: Hit) -> tuple[Score, ...]:
        mark = None if self._threshold is None else share(self._threshold, 1.0)
        words = hit.lexical_score
        places = 0 if words is None or words == int(words) else 2
        return (
            Score("cosine", self._said(hit.cosine, 3), share(hit.cosine, 1.0), mark),
            Score("dense_rank", self._said(hit.dense_rank, 0)),
            Score("lexical_score", self._said(words, places), share(words, self._words)),
            Score("lexical_rank", self._said(hit.lexical_rank, 0)),
            Score("fused", self._said(hit.fused, 5), share(hit.fused, self._fused)),
        )

    def _said(self, value: float | None, places: int) -> str:
        return "" if value is None else self.translator.number(value, places)


def share(value: float | None, most: float) -> float:
    """A value as a width of 0 to 100 beside the greatest.

    >>> share(0.5, 1.0), share(-0.2, 1.0), share(3.0, 2.0), share(None, 1.0), share(1.0, 0.0)
    (50.0, 0.0, 100.0, 0.0, 0.0)
    """
    if value is None or most <= 0:
        return 0.0
    return round(min(max(value / most, 0.0), 1.0) * 100, 1)


def why_dropped(dropped: str, translator: Translator) -> tuple[str, str]:
    """(words, their language): the policy's own words, in English, where no others are known.

    >>> why_dropped("cosine below 0.25", Translator("fr"))
    ('Son cosinus est inférieur à 0,25.', 'fr')
    >>> why_dropped("fell off", Translator("fr"))
    ('fell off', 'en')
    """
    for pattern, key in _KNOWN:
        if found := pattern.fullmatch(dropped):
            values = [_in_words(value, translator) for value in found.groups()]
            return translator.gettext(key, *values) if values else translator.gettext(
                key
            ), translator.lang
    return dropped, "en"


def _in_words(value: str, translator: Translator) -> str:
    """A number as the language writes it; a name as it is."""
    if not re.fullmatch(r"-?\d+(\.\d+)?", value):
        return value
    return translator.number(float(value), len(value.partition(".")[2]))
