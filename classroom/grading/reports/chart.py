"""A bar chart as inline SVG, in the colours of the page around it."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_WIDTH, _HEIGHT, _TOP, _FOOT = 384, 180, 20, 24


def score_chart(name: str, title: str, labels: Sequence[str], counts: Sequence[int]) -> str:
    """Counts as upright bars, each with its number above it. `name` makes the ids of this chart
    unique on its page: letters, digits and `-`. Beside it belongs a table with the same numbers.
    """
    said = "; ".join(f"{label}: {count}" for label, count in zip(labels, counts, strict=True))
    step, most = _WIDTH / max(len(counts), 1), max([*counts, 1])
    bars = "".join(
        _bar(at * step, step, label, count, most)
        for at, (label, count) in enumerate(zip(labels, counts, strict=True))
    )
    base = _HEIGHT - _FOOT
    return (
        f'<svg role="img" aria-labelledby="{name}-title {name}-text" width="{_WIDTH}" '
        f'height="{_HEIGHT}" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-size="12" fill="currentColor">'
        f'<title id="{name}-title">{escape(title)}</title>'
        f'<desc id="{name}-text">{escape(said)}</desc>{bars}'
        f'<path d="M0 {base + 0.5} h{_WIDTH}" stroke="currentColor" fill="none"/></svg>'
    )


def _bar(x: float, step: float, label: str, count: int, most: int) -> str:
    base = _HEIGHT - _FOOT
    height = (base - _TOP) * count / most
    middle = x + step / 2
    return (
        f'<rect class="bar" x="{x + step * 0.14:.1f}" y="{base - height:.1f}" '
        f'width="{step * 0.72:.1f}" height="{height:.1f}"/>'
        f'<text x="{middle:.1f}" y="{base - height - 5:.1f}" text-anchor="middle">{count}</text>'
        f'<text x="{middle:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(label)}</text>'
    )
