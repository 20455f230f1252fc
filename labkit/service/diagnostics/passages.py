"""The passages of a retrieval as rows of a table: scores, ranks, and why each was kept or not."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from labkit.service.translator import Translator
from labkit.types import Hit, Retrieval

_KNOWN = (
    (r"shares no significant word with the question", "drop_words"),
    (r"cosine below (-?[\d.]+)", "drop_cosine"),
    (r"beyond the best (\d+)", "drop_beyond"),
    (r"nothing found is near enough, in meaning or in words", "drop_unsupported"),
    (r"(?s)the same passage as (.+)", "drop_same"),
)

Verdict: TypeAlias = Literal["kept", "dropped", "considered"]


class Column(NamedTuple):
    """A score or rank of a `Hit`: its decimals, and what the whole width of its bar is, if any."""

    name: str
    places: int
    most: float | None = None


@dataclass(frozen=True)
class Row:
    """One passage. `considered` is one that a refusal kept from being handed on."""

    place: int
    hit: Hit
    verdict: Verdict
    why: str
    why_lang: str


def shown_rows(retrieval: Retrieval, most: int, translator: Translator) -> list[Row]:
    """The best passages, and every one that was kept, wherever it stands."""
    kept = {hit.chunk.id for hit in retrieval.hits}
    rows: list[Row] = []
    for place, hit in enumerate(retrieval.ranked, start=1):
        if place <= most or hit.chunk.id in kept:
            why, lang = why_dropped(hit.dropped, translator)
            verdict: Verdict = "dropped" if hit.dropped else "considered"
            rows.append(Row(place, hit, "kept" if hit.chunk.id in kept else verdict, why, lang))
    return rows


def columns(rows: Sequence[Row]) -> list[Column]:
    """The scores of these rows: a cosine beside 1, the others beside the greatest one shown."""
    return [
        Column("cosine", 3, 1.0),
        Column("dense_rank", 0),
        Column("lexical_score", 2, max((row.hit.lexical_score or 0.0 for row in rows), default=0)),
        Column("lexical_rank", 0),
        Column("fused", 5, max((row.hit.fused or 0.0 for row in rows), default=0)),
    ]


def share(value: float, most: float) -> float:
    """A value as a width of 0 to 100 beside the greatest.

    >>> share(0.5, 1.0), share(-0.2, 1.0), share(3.0, 2.0), share(1.0, 0.0)
    (50.0, 0.0, 100.0, 0.0)
    """
    return round(min(max(value / most, 0.0), 1.0) * 100, 1) if most > 0 else 0.0


def why_dropped(dropped: str, translator: Translator) -> tuple[str, str]:
    """(words, their language): the policy's own words, in English, where no others are known.

    >>> why_dropped("cosine below 0.25", Translator("fr"))
    ('Son cosinus est inférieur à 0,25.', 'fr')
    >>> why_dropped("fell off", Translator("fr"))
    ('fell off', 'en')
    """
    for pattern, key in _KNOWN:
        if found := re.fullmatch(pattern, dropped):
            values = [translator.figure(value) for value in found.groups()]
            return translator.gettext(key, *values), translator.lang
    return dropped, "en"
