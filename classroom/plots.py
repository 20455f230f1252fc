"""Pictures for lessons: each with its alternative text and with the data that it shows.

A Picture's `data` is what was drawn, so that a test can check the picture by its numbers.
"""

from __future__ import annotations

import base64
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.answering.results import Answer, Outcome
from labkit.types import Hit, Matrix

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STAGES = ("documents", "chunks", "vectors", "store", "ranking", "admission", "generator", "gate")
_INK, _MUTED, _LINE = "#1f2933", "#52606d", "#9aa5b1"
_FILLS = ("#d7e8f7", "#fbe3c8", "#dcefd9", "#ecdff2")
_OVERLAP = "#c9b458"


@dataclass(frozen=True)
class Picture:
    """HTML to show, `alt` to read aloud, `data` to check."""

    html: str
    alt: str
    data: Mapping[str, Any] = field(default_factory=dict)

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.alt


def you_are_here(stage: str) -> Picture:
    """The pipeline with one stage marked."""
    if stage not in STAGES:
        raise ValueError(f"There is no stage {stage!r}. There are: {', '.join(STAGES)}.")
    boxes = []
    for number, name in enumerate(STAGES):
        x, here = 8 + number * 102, name == stage
        fill, weight = ("#fbe3c8", "bold") if here else ("#f5f7fa", "normal")
        stroke = "#c2570c" if here else _LINE
        boxes.append(
            f"<rect x='{x}' y='8' width='90' height='34' rx='6' fill='{fill}' stroke='{stroke}'/>"
            f"<text x='{x + 45}' y='30' text-anchor='middle' font-weight='{weight}'>{name}</text>"
        )
        if number:
            boxes.append(f"<path d='M{x - 12} 25 h10' stroke='{_LINE}' fill='none'/>")
    alt = f"The pipeline {' → '.join(STAGES)}; you are at {stage}."
    return _picture(_svg(828, 50, "".join(boxes)), alt, {"stages": STAGES, "here": stage})


def chunk_colours(text: str, spans: Sequence[tuple[int, int]]) -> Picture:
    """A text with its chunks coloured; what lies in two chunks has the colour of overlap."""
    pieces, overlap = [], 0
    borders = sorted({0, len(text), *(border for span in spans for border in span)})
    for start, end in pairwise(borders):
        inside = [number for number, (a, b) in enumerate(spans) if a <= start and end <= b]
        overlap += (end - start) * (len(inside) > 1)
        if len(inside) > 1:
            colour = _OVERLAP
        else:
            colour = _FILLS[inside[0] % len(_FILLS)] if inside else "transparent"
        title = "chunk " + " and ".join(map(str, inside)) if inside else "in no chunk"
        pieces.append(
            f"<span title='{title}' style='background:{colour}'>{escape(text[start:end])}</span>"
        )
    alt = (
        f"A text of {len(text)} characters in {len(spans)} chunks; "
        f"{overlap} characters lie in two of them."
    )
    html = (
        f"<figure role='img' aria-label='{escape(alt, quote=True)}'>"
        f"<div style='white-space:pre-wrap;line-height:1.7;color:{_INK}'>{''.join(pieces)}</div>"
        f"<figcaption style='color:{_MUTED}'>{escape(alt)}</figcaption></figure>"
    )
    return Picture(html, alt, {"spans": list(spans), "overlap": overlap})


def vector_plane(
    vectors: Matrix, labels: Sequence[str], question: Sequence[float], groups: Sequence[str]
) -> Picture:
    """Vectors and a question in the plane of their two largest principal components.

    Distances in the picture only hint at cosines: most of the dimensions are not in it.
    """
    points, share = _principal_plane(np.vstack([vectors, np.asarray(question, np.float32)]))
    figure, axes = _axes(6.4, 4.2)
    for number, group in enumerate(dict.fromkeys(groups)):
        rows = [row for row, name in enumerate(groups) if name == group]
        axes.scatter(
            points[rows, 0], points[rows, 1], s=36, label=group, marker="os^Dv"[number % 5]
        )
    axes.scatter(*points[-1], s=160, marker="*", color="#c2570c", label="the question")
    axes.set_xlabel("first component")
    axes.set_ylabel("second component")
    axes.legend(loc="best", fontsize=8)
    nearest = labels[int(np.argmin(np.linalg.norm(points[:-1] - points[-1], axis=1)))]
    alt = (
        f"{len(labels)} passages and the question as points; the plane shows {share:.0%} of their "
        f"variance. Nearest to the question in it: {nearest}."
    )
    return _figure_picture(
        figure, alt, {"points": points.round(6).tolist(), "labels": list(labels)}
    )


def rank_heatmap(hits: Sequence[Hit]) -> Picture:
    """The ranks of hits in the two lists and in the fused one; dark is early."""
    names = [hit.chunk.id for hit in hits]
    ranks = [[hit.dense_rank, hit.lexical_rank, number] for number, hit in enumerate(hits, start=1)]
    figure, axes = _axes(5.6, 0.5 + 0.36 * len(hits))
    worst = max((rank for row in ranks for rank in row if rank), default=1)
    shown = np.array([[np.nan if rank is None else rank for rank in row] for row in ranks], float)
    axes.imshow(shown, cmap="Blues_r", vmin=0, vmax=worst * 1.4, aspect="auto")
    for row, values in enumerate(ranks):
        for column, rank in enumerate(values):
            dark = rank is not None and rank < worst * 0.5
            colour = "white" if dark else _INK
            axes.text(
                column,
                row,
                "–" if rank is None else str(rank),
                ha="center",
                va="center",
                color=colour,
            )
    axes.set_xticks(range(3), ["meaning", "words", "fused"])
    axes.set_yticks(range(len(names)), names)
    alt = "Ranks by meaning, by words and fused: " + "; ".join(
        f"{name} {a}, {'none' if b is None else b}, {c}"
        for name, (a, b, c) in zip(names, ranks, strict=True)
    )
    return _figure_picture(figure, alt, {"names": names, "ranks": ranks})


def trace_diagram(outcome: Outcome) -> Picture:
    """The path of one question, stage by stage, and where it ended."""
    answered = isinstance(outcome, Answer)
    steps = [step.stage for step in outcome.trace.steps if step.stage != "refused"]
    last = len(steps) - 1
    parts = []
    for number, name in enumerate(steps):
        x, stopped = 8 + number * 160, number == last and not answered
        fill, stroke = ("#fdecea", "#b3261e") if stopped else ("#e3f2e6", "#2f7d3b")
        parts.append(
            f"<rect x='{x}' y='8' width='130' height='36' rx='6' fill='{fill}' stroke='{stroke}'/>"
            f"<text x='{x + 65}' y='31' text-anchor='middle'>{escape(name)}</text>"
        )
        if number:
            parts.append(f"<path d='M{x - 30} 26 h30' stroke='{_LINE}' fill='none'/>")
    end = "answered" if answered else f"refused: {getattr(outcome, 'reason', '')}"
    colour = "#2f7d3b" if answered else "#b3261e"
    parts.append(f"<text x='8' y='68' font-weight='bold' fill='{colour}'>{escape(end)}</text>")
    alt = f"The question went through {', '.join(steps)} and was {end}."
    width = max(320, 8 + len(steps) * 160)
    return _picture(_svg(width, 78, "".join(parts)), alt, {"steps": steps, "end": end})


def bars(values: Mapping[str, float], title: str, unit: str = "") -> Picture:
    """A few labelled numbers as horizontal bars: for before and after."""
    figure, axes = _axes(5.6, 0.6 + 0.4 * len(values))
    names = list(values)
    axes.barh(names, [values[name] for name in names], color="#486581")
    for row, name in enumerate(names):
        axes.text(values[name], row, f" {values[name]:g}{unit}", va="center")
    axes.invert_yaxis()
    axes.set_title(title, fontsize=10)
    axes.margins(x=0.15)
    alt = f"{title}: " + ", ".join(f"{name} {value:g}{unit}" for name, value in values.items())
    return _figure_picture(figure, alt, {"values": dict(values)})


def _principal_plane(matrix: Matrix) -> tuple[Matrix, float]:
    """Coordinates in the two largest principal components, signs fixed, and their share."""
    centred = matrix - matrix.mean(axis=0)
    left, sizes, _ = np.linalg.svd(centred.astype(np.float64), full_matrices=False)
    points = left[:, :2] * sizes[:2]
    signs = np.sign(points[np.abs(points).argmax(axis=0), range(points.shape[1])])
    share = float((sizes[:2] ** 2).sum() / max((sizes**2).sum(), 1e-12))
    return (points * np.where(signs == 0, 1, signs)).astype(np.float32), share


def _axes(width: float, height: float) -> tuple[Figure, Any]:
    """A figure that belongs to nobody's global state."""
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasSVG(figure)
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def _figure_picture(figure: Figure, alt: str, data: Mapping[str, Any]) -> Picture:
    import matplotlib as mpl

    buffer = io.StringIO()
    with mpl.rc_context({"svg.hashsalt": "labkit", "svg.fonttype": "path"}):
        figure.savefig(buffer, format="svg", metadata={"Date": None})
    return _picture(buffer.getvalue(), alt, data)


def _svg(width: int, height: int, body: str) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' width='{width}' height='{height}' "
        f"viewBox='0 0 {width} {height}' font-family='Helvetica, Arial, sans-serif' "
        f"font-size='13' fill='{_INK}'>{body}</svg>"
    )


def _picture(svg: str, alt: str, data: Mapping[str, Any]) -> Picture:
    encoded = base64.b64encode(svg.encode()).decode()
    html = f"<img alt='{escape(alt, quote=True)}' src='data:image/svg+xml;base64,{encoded}'>"
    return Picture(html, alt, data)
