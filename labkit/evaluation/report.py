"""Figures that can be read: each mean with its n and its interval, by kind and profile."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from labkit.evaluation.measuring import Measured
from labkit.evaluation.summary import Summary, summarise

ALL = "all"
TITLES: Mapping[str, str] = {
    "document_recall": "recall@{k} of documents",
    "recall": "recall@{k} of passages",
    "hit_rate": "hit rate@{k}",
    "mrr": "MRR@{k}",
    "ndcg": "nDCG@{k}",
    "false_refusals": "answerable questions refused by the search",
    "refusals": "unanswerable questions refused by the search",
}


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one kind of question under one ranking with one profile's model."""

    profile: str
    ranking: str
    kind: str
    questions: int
    figures: Mapping[str, Summary]
    """By metric; `false_refusals` and `refusals` are the shares of the answerable and of the
    unanswerable questions for which nothing was handed on. Generator and gate refuse later."""

    def to_dict(self) -> dict[str, Any]:
        """As JSON writes it."""
        figures = {name: asdict(summary) for name, summary in self.figures.items()}
        return {
            "profile": self.profile,
            "ranking": self.ranking,
            "kind": self.kind,
            "questions": self.questions,
            **figures,
        }


def make_rows(measured: Sequence[Measured]) -> list[Row]:
    """One row a profile, ranking and kind, in order of appearance; `all` kinds stand first."""
    kinds = list(_unique(item.kind for item in measured))
    groups = [ALL, *kinds] if len(kinds) > 1 else kinds
    return [
        _row(profile, ranking, kind, found)
        for profile, ranking in _unique((item.profile, item.ranking) for item in measured)
        for kind in groups
        if (found := [m for m in measured if _belongs(m, profile, ranking, kind)])
    ]


def as_text(rows: Sequence[Row], k: int) -> str:
    """One table a profile and metric: kinds in rows, rankings side by side.

    A kind of which no question counts has no row; `all` says how many were left out.
    """
    return "\n\n".join(
        _table(name, metric, [row for row in rows if row.profile == name], k)
        for name in _unique(row.profile for row in rows)
        for metric in TITLES
        if any(
            row.figures[metric].n for row in rows if row.profile == name and metric in row.figures
        )
    )


def _row(profile: str, ranking: str, kind: str, found: Sequence[Measured]) -> Row:
    metrics = found[0].scores
    figures = {name: summarise([item.scores[name] for item in found]) for name in metrics}
    for name, answerable in (("false_refusals", True), ("refusals", False)):
        figures[name] = summarise(
            [float(item.refused) if item.answerable == answerable else None for item in found]
        )
    return Row(profile, ranking, kind, len(found), figures)


def _belongs(item: Measured, profile: str, ranking: str, kind: str) -> bool:
    return (item.profile, item.ranking) == (profile, ranking) and kind in (ALL, item.kind)


def _table(profile: str, metric: str, rows: Sequence[Row], k: int) -> str:
    rankings = list(_unique(row.ranking for row in rows))
    cells = {(row.kind, row.ranking): row.figures[metric] for row in rows}
    kinds = list(_unique(row.kind for row in rows if row.figures[metric].n))
    width = max(len(kind) for kind in (*kinds, "kind"))
    lines = [
        f"{profile}: {TITLES[metric].format(k=k)}, mean [95 % interval]",
        f"{'kind':{width}}  {'n':>5}  {'left out':>8}  {_spread(rankings)}",
    ]
    for kind in kinds:
        shown = [cells[kind, ranking] for ranking in rankings]
        counts = f"{shown[0].n:5}  {shown[0].excluded:8}"  # the same under every ranking
        lines.append(f"{kind:{width}}  {counts}  {_spread(map(str, shown))}")
    return "\n".join(lines)


def _spread(words: Iterable[str]) -> str:
    return "  ".join(f"{word:20}" for word in words).rstrip()


def _unique(values: Iterable[Any]) -> Iterator[Any]:
    return iter(dict.fromkeys(values))
