"""The overview: numbers counted by hand, links that lead somewhere, and no text that breaks out."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classroom.checking import DIED, TOO_SLOW, Outcome
from classroom.grading.reports.feedback import write_feedback
from classroom.grading.reports.overview import (
    FEEDBACK,
    RANGES,
    CommonMistake,
    common_mistakes,
    longest_running,
    outcome_counts,
    reasons_to_look,
    score_counts,
    write_overview,
)
from classroom.grading.types import (
    CaseVerdict,
    ExerciseMark,
    Finding,
    Graded,
    Group,
    Kind,
)
from pages import Shape


def mark(exercise: str = "top_k", score: float = 6.0, **more: object) -> ExerciseMark:
    given_ = {"outcome": Outcome.RIGHT if score == 6 else Outcome.WRONG, **more}
    return ExerciseMark(exercise, score, 6, **given_)  # type: ignore[arg-type]


def graded(student: str, *marks: ExerciseMark, assignment: str = "ps03", **more: object) -> Graded:
    return Graded(student, assignment, "x.ipynb", marks, **more)  # type: ignore[arg-type]


def overview(folder: Path, *results: Graded, **summary: str) -> str:
    return write_overview(results, folder, summary).read_text("utf-8")


def cells(html: str, caption: str) -> list[list[str]]:
    """The rows of the table with this caption, as text."""
    table = html[html.index(f"<caption>{caption}</caption>") :]
    table = table[: table.index("</table>")]
    return [
        [unescape(re.sub("<[^>]+>", "", cell)) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in re.findall("<tr>.*?</tr>", table)
    ]


# --- what is counted -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("score", "at"),
    [(0, 0), (1.19, 0), (1.2, 1), (2.4, 2), (3.6, 3), (4.8, 4), (5.99, 4), (6, 5)],
)
def test_scores_fall_into_their_range(score: float, at: int) -> None:
    counts = score_counts([graded("ana", mark(score=score))])
    assert [number for number, count in enumerate(counts) if count] == [at]


def test_what_is_worth_nothing_counts_as_nothing() -> None:
    assert score_counts([graded("ana")]) == [1, 0, 0, 0, 0, 0]


def test_outcomes_are_counted_by_exercise_in_the_order_of_the_notebook() -> None:
    results = [
        graded("ana", mark("b"), mark("a", 0.0)),
        graded("ben", mark("b", outcome=Outcome.DIED), mark("a", 0.0)),
    ]
    counts = outcome_counts(results)
    assert list(counts) == ["b", "a"]
    assert counts == {"b": {Outcome.RIGHT: 1, Outcome.DIED: 1}, "a": {Outcome.WRONG: 2}}


def test_mistakes_are_counted_by_student_most_common_first() -> None:
    one = mark("cosine", 0.0, mistake="no_root", sentence="The root is missing.")
    two = mark("top_k", 0.0, mistake="ties", sentence="Ties are lost.")
    results = [
        graded("ana", two),
        graded("ben", one, one),
        graded("cleo", one),
        graded("ben", one, assignment="ps04"),
    ]
    assert common_mistakes(results) == [
        CommonMistake("cosine", "no_root", "The root is missing.", 2),
        CommonMistake("top_k", "ties", "Ties are lost.", 1),
    ]
    assert len(common_mistakes(results, most=1)) == 1


@pytest.mark.parametrize(
    ("found", "looks"),
    [
        (Finding(Kind.RENAMED, "m", repaired=True), []),
        (Finding(Kind.RENAMED, "m"), ["renamed file: m"]),
        (Finding(Kind.MACHINERY, "m", 4, repaired=True), ["reaches for the machinery (cell 4): m"]),
        (Finding(Kind.LEFT_OUT, "m", repaired=True), ["left out when run: m"]),
    ],
)
def test_a_finding_asks_for_a_look_if_nothing_repaired_it(found: Finding, looks: list[str]) -> None:
    assert reasons_to_look(graded("ana", mark(), findings=(found, found))) == looks
    assert reasons_to_look(graded("ana", mark(findings=(found,)))) == looks


def test_late_work_asks_nobody_for_a_look_and_stands_beside_the_points(tmp_path: Path) -> None:
    one = graded("ana", mark(), findings=(Finding(Kind.LATE, "m"),))
    assert reasons_to_look(one) == []
    assert cells(overview(tmp_path, one), "Points and feedback")[1] == ["ana", "6 of 6, late"]


def test_marks_of_the_model_solution_ask_for_a_look() -> None:
    found = Finding(Kind.SOLUTION_MARKS, "m", repaired=True)
    assert reasons_to_look(graded("ana", mark(), findings=(found,))) == [
        "marks of the model solution: m"
    ]


@pytest.mark.parametrize(
    ("exercise", "looks"), [("a", False), ("b", True), ("", True), ("other", True)]
)
def test_a_harmless_call_for_input_asks_nobody_for_a_look(exercise: str, looks: bool) -> None:
    found = (Finding(Kind.INPUT, "m", 4, exercise=exercise),)
    assert bool(reasons_to_look(graded("ana", mark("a"), mark("b", 0.0), findings=found))) is looks
    assert reasons_to_look(graded("ana", mark("a"), findings=(Finding(Kind.INPUT, "m"),))) == []


def test_a_delegated_answer_asks_for_a_look() -> None:
    one = mark("a", 0.0, outcome=Outcome.DELEGATED, cases=(CaseVerdict(Group.ORDINARY, True),))
    assert reasons_to_look(graded("ana", one, mark("b"))) == [f"`a`: {Outcome.DELEGATED}"]


def test_what_could_not_be_read_is_in_no_chart_and_has_a_name(tmp_path: Path) -> None:
    unread = graded("casse", assignment="", findings=(Finding(Kind.UNREADABLE, "It is torn."),))
    write_feedback(unread, tmp_path / FEEDBACK)
    html = overview(tmp_path, unread, graded("zoe", mark()))
    assert html.count("<svg") == 1
    assert re.findall("<h3>(.*?)</h3>", html) == ["ps03"]
    assert "<bdi>casse</bdi>, unreadable</a>" in html
    assert cells(html, "Points and feedback") == [
        ["Student", "ps03", "Unreadable"],
        ["casse", "", "feedback"],
        ["zoe", "6 of 6", ""],
    ]
    assert (tmp_path / "feedback/casse/unreadable.html").is_file()
    assert 'href="feedback/casse/unreadable.html"' in html
    assert "<svg" not in overview(tmp_path, unread)


def test_deaths_and_timeouts_ask_for_a_look() -> None:
    slow = mark("a", 3.0, cases=(CaseVerdict(Group.ORDINARY, False, TOO_SLOW),))
    died = mark("b", 0.0, outcome=Outcome.DIED)
    later = mark("c", 3.0, cases=(CaseVerdict(Group.ORDINARY, False, DIED),))
    assert reasons_to_look(graded("ana", slow, died, later)) == [
        "`a`: too slow",
        "`b`: ended the process",
        "`c`: ended the process",
    ]
    assert reasons_to_look(graded("ana", mark(), mark("c", 0.0, outcome=Outcome.CRASHED))) == []


def test_longest_running_adds_times_and_takes_the_largest_memory() -> None:
    first, second = mark(wall=1.5, cpu=1.0, memory=40.0), mark(wall=2.0, cpu=0.5, memory=90.0)
    costs = longest_running([graded("ana", first), graded("ben", first, second), graded("c")])
    assert [(c.one.student, c.wall, c.cpu, c.memory) for c in costs] == [
        ("ben", 3.5, 1.5, 90.0),
        ("ana", 1.5, 1.0, 40.0),
    ]


# --- what the page says --------------------------------------------------------------------------


def test_the_page_says_what_was_counted(tmp_path: Path) -> None:
    wrong = mark("top_k", 3.0, mistake="ties", sentence="Ties are `lost`.", wall=12.34, memory=50.6)
    html = overview(
        tmp_path,
        graded("ana", wrong),
        graded("ben", mark()),
        graded("ben", mark("bm25", 0.0), assignment="ps05"),
        Sandbox="none",
    )
    facts = re.findall(r"<dt>(.*?)</dt><dd>(.*?)</dd>", html)
    assert facts == [("Students", "2"), ("Submissions", "3"), ("Sandbox", "none")]
    assert "2 submissions, on average 4.5 of 6 points." in html
    assert "1 submission, on average 0.0 of 6 points." in html
    assert cells(html, "Submissions by share of the points") == [
        ["Score", "Submissions"],
        *zip_rows(RANGES, "0 0 1 0 0 1".split()),
    ]
    assert cells(html, "Recognised mistakes")[1:] == [["top_k", "Ties are lost.", "1"]]
    assert cells(html, "ps03") == [["Exercise", "Right", "Wrong"], ["top_k", "1", "1"]]
    assert cells(html, "ps05") == [["Exercise", "Wrong"], ["bm25", "1"]]
    assert cells(html, "Points and feedback") == [
        ["Student", "ps03", "ps05"],
        ["ana", "3 of 6", ""],
        ["ben", "6 of 6", "0 of 6"],
    ]
    assert html.count('href="feedback/ben/ps05.html"') == 1
    assert '<a href="#students">' in html and 'id="students"' in html
    assert html.index("<details>") < html.index("<caption>Submissions by") < html.index("</details")
    assert cells(html, "By time")[1:] == [["ana, ps03", "12.3 s", "0.0 s", "51 MiB"]]
    assert "need a person" not in html


def zip_rows(*columns: object) -> list[list[str]]:
    return [list(row) for row in zip(*columns, strict=True)]  # type: ignore[call-overload]


def test_every_outcome_has_its_column(tmp_path: Path) -> None:
    results = [graded(str(outcome), mark(outcome=outcome)) for outcome in Outcome]
    head, row = cells(overview(tmp_path, *results), "ps03")
    assert sorted(head[1:]) == sorted(str(outcome).capitalize() for outcome in Outcome)
    assert row == ["top_k"] + ["1"] * len(Outcome)


@pytest.mark.parametrize(
    "student", ["ana", "Ann Müller", "a/b", "#1 50%?", "../x", "\u202ea", "a&b"]
)
def test_links_lead_to_the_feedback(tmp_path: Path, student: str) -> None:
    one = graded(student, mark(score=0.0), findings=(Finding(Kind.MACHINERY, "It reads x.", 2),))
    written = write_feedback(one, tmp_path / FEEDBACK)
    html = overview(tmp_path, one)
    [address] = set(re.findall(r'href="(feedback[^"]*)"', html))
    assert address.isascii()
    assert (tmp_path / unquote(unescape(address))).resolve() == written.resolve()
    assert '<a href="#look">1 submission needs' in html and 'id="look"' in html


def test_many_reasons_are_cut_and_say_so(tmp_path: Path) -> None:
    found = tuple(Finding(Kind.MAGIC, f"m{number}", number) for number in range(1, 100))
    html = overview(tmp_path, graded("ana", mark(), findings=found))
    assert "and 93 more" in html


def test_an_empty_class_has_a_page(tmp_path: Path) -> None:
    html = overview(tmp_path)
    assert "No submission was found." in html
    assert "<table" not in html


def test_two_assignments_have_charts_with_ids_of_their_own(tmp_path: Path) -> None:
    html = overview(tmp_path, graded("a", mark()), graded("a", mark(), assignment="ps05"))
    ids = re.findall(r'\bid="([^"]+)"', html)
    assert len(ids) == len(set(ids)) == 5
    for names in re.findall(r'aria-labelledby="([^"]+)"', html):
        assert set(names.split()) <= set(ids)


# --- the chart -----------------------------------------------------------------------------------


def svg(html: str) -> ElementTree.Element:
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + 6])


def test_a_chart_reads_aloud_and_draws_what_it_says(tmp_path: Path) -> None:
    results = [graded(str(number), mark(score=6.0 if number else 0.0)) for number in range(5)]
    drawn = svg(overview(tmp_path, *results))
    assert (
        drawn.get("role") == "img"
        and drawn.get("aria-labelledby") == "scores-1-title scores-1-text"
    )
    assert drawn.findtext("title") == "Scores in ps03"
    assert drawn.findtext("desc") == "; ".join(map("{}: {}".format, RANGES, (1, 0, 0, 0, 0, 4)))
    first, *_, last = (float(bar.get("height", "")) for bar in drawn.findall("rect"))
    assert (first, last) == (34.0, 136.0)
    assert [text.text for text in drawn.findall("text")][:4] == ["1", "0–19 %", "0", "20–39 %"]


# --- no text breaks out --------------------------------------------------------------------------


def hostile(text: str) -> Graded:
    found = (Finding(Kind.HOSTILE_NAME, text, 1), Finding(Kind.MACHINERY, text, 2))
    one = mark(text, 0.0, mistake=text, sentence=text, message=text, line=text, wall=1.0)
    return Graded(text, text, text, (replace(one, findings=found),), found)


EVIL = ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</table></main>", "`<b>`"]
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUIET
@given(
    st.one_of(st.sampled_from([*EVIL, "&lt;", "a\x00", "\u202e", "caf\udce9"]), st.text(min_size=1))
)
def test_the_page_keeps_its_shape_whatever_a_submission_says(tmp_path: Path, text: str) -> None:
    told = Shape(overview(tmp_path, hostile(text), label=text))
    assert told.elements == Shape(overview(tmp_path, hostile("text"), label="text")).elements


def test_labels_of_the_summary_are_escaped_and_the_page_runs_nothing(tmp_path: Path) -> None:
    html = write_overview([hostile(EVIL[1])], tmp_path, {"<b>": "<i>"}).read_text("utf-8")
    assert "<dt>&lt;b&gt;</dt><dd>&lt;i&gt;</dd>" in html
    assert not re.search(r"<script|<link|<iframe|<img|url\(|@import", html)
    assert "default-src 'none'" in html
