"""Small widgets for lessons: turn something and see what it does.

Each shows its picture at once, without any kernel behind it; in a live notebook, controls stand
above the picture. `LABKIT_WIDGETS=off` leaves the controls out, for stored and tested outputs.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from html import escape
from typing import Any

from classroom.plots import Picture, chunk_colours, rank_heatmap
from labkit.answering.gate import check_evidence
from labkit.chunking import windows
from labkit.types import Citation, Hit, Proposal, Refused, Retrieval


class Widget:
    """A picture that depends on a few values, and the controls that change them.

    `state` holds the values now, `picture()` the picture for them.
    """

    def __init__(
        self, draw: Callable[..., Picture], controls: dict[str, Any], **state: Any
    ) -> None:
        self._draw, self._controls = draw, controls
        self.state = state

    def picture(self) -> Picture:
        return self._draw(**self.state)

    def __repr__(self) -> str:
        return repr(self.picture())

    def _ipython_display_(self) -> None:
        from IPython.display import display

        if os.environ.get("LABKIT_WIDGETS") == "off":
            display(self.picture())  # type: ignore[no-untyped-call]
        else:
            display(self.box())  # type: ignore[no-untyped-call]

    def box(self) -> Any:
        """The controls above the picture, as one ipywidgets box."""
        import ipywidgets as widgets

        shown = widgets.HTML(self.picture().html)
        controls = []
        for name, make in self._controls.items():
            control = make(value=self.state[name], description=name.replace("_", " "))
            control.style = {"description_width": "initial"}

            def changed(event: dict[str, Any], name: str = name) -> None:
                self.state[name] = event["new"]
                shown.value = self.picture().html

            control.observe(changed, names="value")
            controls.append(control)
        return widgets.VBox([*controls, shown])


def chunk_explorer(text: str, size: int = 120, overlap: int = 20) -> Widget:
    """See what size and overlap do to a text."""
    import ipywidgets as widgets

    def draw(size: int, overlap: int) -> Picture:
        return chunk_colours(text, windows(len(text), size, min(overlap, size - 1)))

    def slider(minimum: int, maximum: int) -> Callable[..., Any]:
        return lambda **options: widgets.IntSlider(min=minimum, max=maximum, **options)

    controls = {"size": slider(20, max(40, len(text))), "overlap": slider(0, 200)}
    return Widget(draw, controls, size=size, overlap=overlap)


def threshold_slider(ranked: Sequence[Hit], threshold: float = 0.25) -> Widget:
    """See which passages come and go with the threshold."""
    import ipywidgets as widgets

    def draw(threshold: float) -> Picture:
        kept = [h for h in ranked if h.lexical_rank and (h.cosine or -1) >= threshold][:3]
        if kept:
            return rank_heatmap(kept)
        alt = f"At a threshold of {threshold:.2f} no passage is kept: the question is refused."
        return Picture(f"<p>{alt}</p>", alt, {"names": []})

    def slider(**options: Any) -> Any:
        return widgets.FloatSlider(min=0, max=1, step=0.01, **options)

    return Widget(draw, {"threshold": slider}, threshold=threshold)


def evidence_editor(retrieval: Retrieval, chunk_id: str = "", quote: str = "") -> Widget:
    """Type a quotation and see what the gate says of it."""
    import ipywidgets as widgets

    def draw(chunk_id: str, quote: str) -> Picture:
        proposal = Proposal(True, (Citation(chunk_id, quote),))
        try:
            (evidence,) = check_evidence(proposal, retrieval.hits, retrieval.eligible)
        except Refused as refused:
            alt = f"Refused ({refused.reason}): {refused.message}"
        else:
            alt = f"Passed: characters {evidence.start} to {evidence.end} of {evidence.source_id}."
        return Picture(f"<p role='status'>{escape(alt)}</p>", alt, {"verdict": alt.split()[0]})

    ids = [hit.chunk.id for hit in retrieval.hits]
    controls: dict[str, Any] = {
        "chunk_id": lambda **options: widgets.Dropdown(options=ids, **options),
        "quote": lambda **options: widgets.Textarea(
            layout={"width": "95%", "height": "80px"}, **options
        ),
    }
    return Widget(draw, controls, chunk_id=chunk_id or (ids[0] if ids else ""), quote=quote)
