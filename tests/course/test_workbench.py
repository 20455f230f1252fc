"""The learner's own engine on the real corpus."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from classroom.exercises import ALL
from classroom.workbench import PARTS, PINNED_DAY, workbench
from labkit.answering.results import Answer, Refusal
from labkit.assembly import Lab, open_lab

CSV = "Where can I export CSV in Reporting?"


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Lab:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LABKIT_INDEX", str(tmp_path_factory.mktemp("lab") / "index.sqlite"))
        opened = open_lab(Path(__file__).parent)
    opened.ready()
    return opened


def solved(name: str) -> Callable[..., Any]:
    namespace: dict[str, Any] = {"__name__": "learner"}
    exec(compile(ALL[name].solution, "<learner>", "exec"), namespace)
    function: Callable[..., Any] = namespace[name]
    return function


def test_without_any_part_it_answers_as_the_engine_does(lab: Lab) -> None:
    expected = lab.engine().ask(CSV, lab.settings.viewer, PINNED_DAY)
    got = workbench(lab).ask(CSV)
    assert isinstance(expected, Answer)
    assert isinstance(got, Answer)
    assert got.evidence == expected.evidence


@pytest.mark.parametrize("name", PARTS)
def test_each_part_of_a_learner_that_passes_answers_alike(lab: Lab, name: str) -> None:
    bench = workbench(lab, **{name: solved(name)})
    assert dict(bench.whose().lines)[name] == "yours"
    outcome = bench.ask(CSV)
    assert isinstance(outcome, Answer)
    assert [item.chunk_id for item in outcome.evidence] == ["reporting-export#0"]


def test_a_part_that_does_not_pass_is_labkits_until_it_does(lab: Lab) -> None:
    def eligible(metadata: dict[str, Any], grants: list[str], day: str) -> bool:
        return True

    bench = workbench(lab, eligible=eligible)
    assert dict(bench.whose().lines)["eligible"] == "labkit's, until yours passes its check"
    assert isinstance(bench.ask(CSV, lab.settings.viewer_named("nobody")), Refusal)


def test_bisect_names_the_part_that_changes_an_answer(lab: Lab) -> None:
    def check_evidence(proposal: dict[str, Any], passages: dict[str, str]) -> dict[str, Any]:
        return {"refused": "quotation_not_found"}

    bench = workbench(lab, check_evidence=check_evidence, cosine=solved("cosine"))
    lines = dict(bench.bisect(CSV).lines)
    assert lines["check_evidence"] == "gives: refused (quotation_not_found)"
    assert "cosine" not in lines


def test_bisect_says_where_a_part_stops(lab: Lab) -> None:
    def top_k(query: Any, vectors: Any, ids: Any, k: int) -> Any:
        raise ZeroDivisionError("division by zero")

    lines = dict(workbench(lab, top_k=top_k).bisect(CSV).lines)
    assert lines["top_k"] == "gives: stops with ZeroDivisionError: division by zero"


def test_bisect_finds_nothing_where_nothing_differs(lab: Lab) -> None:
    bench = workbench(lab, chunk_text=solved("chunk_text"))
    assert bench.bisect(CSV).heading == "No part of yours changes this answer."


def test_a_function_without_a_place_in_the_path_is_refused(lab: Lab) -> None:
    with pytest.raises(KeyError, match="no place in the path"):
        workbench(lab, encode_vector=solved("encode_vector"))
