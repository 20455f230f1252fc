"""Pictures and instruments, checked by the data that they show."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

from builders import chunk, vectors
from classroom.plots import (
    STAGES,
    Picture,
    bars,
    chunk_colours,
    rank_heatmap,
    trace_diagram,
    vector_plane,
    you_are_here,
)
from classroom.widgets import chunk_explorer, evidence_editor, threshold_slider
from labkit.answering.results import Answer, Refusal, Step, Trace
from labkit.types import Eligible, Hit, Reason, Retrieval

from conftest import DAY  # isort: skip


def hits() -> list[Hit]:
    rows = [("a", 0.9, 1, 2), ("b", 0.5, 2, 1), ("c", 0.2, 3, None)]
    return [
        Hit(
            chunk(name, f"Passage {name} is long enough to quote."),
            cosine=c,
            dense_rank=d,
            lexical_rank=w,
        )
        for name, c, d, w in rows
    ]


def drawn(picture: Picture) -> str:
    """The SVG inside a picture."""
    found = re.search(r"base64,([A-Za-z0-9+/=]+)", picture.html)
    assert found is not None
    return base64.b64decode(found[1]).decode()


@pytest.mark.parametrize("stage", STAGES)
def test_you_are_here_marks_one_stage(stage: str) -> None:
    picture = you_are_here(stage)
    assert drawn(picture).count("font-weight='bold'") == 1
    assert picture.alt.endswith(f"you are at {stage}.")


def test_an_unknown_stage_is_refused() -> None:
    with pytest.raises(ValueError, match="There is no stage 'cake'"):
        you_are_here("cake")


def test_chunk_colours_count_the_overlap_and_keep_the_text() -> None:
    picture = chunk_colours("abcdefghij", [(0, 4), (3, 7), (6, 10)])
    assert picture.data["overlap"] == 2
    assert re.sub(r"<[^>]+>", "", picture.html).startswith("abcdefghij")


def test_a_documents_markup_stays_text() -> None:
    picture = chunk_colours("<script>alert(1)</script>", [(0, 25)])
    assert "<script>" not in picture.html
    assert "&lt;script&gt;" in picture.html


def test_the_plane_of_two_dimensional_vectors_keeps_their_distances() -> None:
    points = vectors([0, 0], [3, 0], [0, 4])
    picture = vector_plane(points, ["o", "x", "y"], [3, 0.5], ["g", "g", "h"])
    shown = np.array(picture.data["points"])
    assert np.linalg.norm(shown[1] - shown[2]) == pytest.approx(5, abs=1e-4)
    assert "100%" in picture.alt
    assert "Nearest to the question in it: x." in picture.alt


def test_the_heat_map_shows_the_ranks_and_a_missing_one() -> None:
    picture = rank_heatmap(hits())
    assert picture.data["ranks"] == [[1, 2, 1], [2, 1, 2], [3, None, 3]]
    assert "c#0 3, none, 3" in picture.alt


def test_the_trace_diagram_ends_where_the_question_ended() -> None:
    trace = Trace((Step("question"), Step("retrieval"), Step("refused")))
    refusal = Refusal("1", "q", DAY, Reason.UNKNOWN_PRODUCT, "No.", (), trace)
    assert trace_diagram(refusal).data == {
        "steps": ["question", "retrieval"],
        "end": "refused: unknown_product",
    }
    steps = Trace((Step("question"), Step("retrieval"), Step("generator"), Step("gate")))
    assert trace_diagram(Answer("1", "q", DAY, (), (), steps)).data["end"] == "answered"


def test_pictures_are_the_same_each_time_and_have_alternative_text() -> None:
    first, second = (
        bars({"before": 1, "after": 3}, "Found"),
        bars({"before": 1, "after": 3}, "Found"),
    )
    assert first.html == second.html
    assert first.alt == "Found: before 1, after 3"
    assert "alt='Found: before 1, after 3'" in first.html


def test_the_chunk_explorer_redraws_when_a_control_moves() -> None:
    instrument = chunk_explorer("x" * 300, size=100, overlap=0)
    assert len(instrument.picture().data["spans"]) == 3
    box = instrument.box()
    size, overlap, shown = box.children
    before = shown.value
    size.value = 50
    assert len(instrument.picture().data["spans"]) == 6
    assert shown.value != before
    overlap.value = 200  # above the size: kept below it, so that nothing hangs
    assert instrument.picture().data["spans"][0] == (0, 50)


def test_the_threshold_slider_lets_hits_come_and_go() -> None:
    instrument = threshold_slider(hits(), threshold=0.1)
    assert instrument.picture().data["names"] == ["a#0", "b#0"]
    instrument.state["threshold"] = 0.95
    assert "no passage is kept" in instrument.picture().alt


def test_the_evidence_editor_shows_the_gates_verdict() -> None:
    eligible = Eligible(frozenset({"ACME/readers"}), DAY)
    retrieval = Retrieval("q", eligible, tuple(hits()))
    editor = evidence_editor(retrieval, quote="Passage a is long enough")
    assert editor.picture().data["verdict"] == "Passed:"
    editor.state["quote"] = "Passage b is long enough"
    assert editor.picture().alt.startswith("Refused (quotation_not_found)")
    editor.state["quote"] = "<b>short"
    assert "<b>" not in editor.picture().html
