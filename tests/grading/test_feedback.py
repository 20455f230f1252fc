"""Feedback: what works comes first, nothing of a hidden case shows, and no text breaks out."""

from __future__ import annotations

import re
from dataclasses import replace
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from classroom.checking import DIED, TOO_SLOW, Outcome
from classroom.grading.answer_key import score, shares
from classroom.grading.reports.feedback import (
    IN_WORDS,
    as_html,
    feedback,
    feedback_name,
    write_feedback,
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

SHOWN = {"call": "chunk_text('abcdef', 4, 1)", "expected": "['abcd', 'def']", "got": "['abcd']"}
CASES = (
    CaseVerdict(Group.EXAMPLES, True),
    CaseVerdict(Group.EXAMPLES, False, shown=SHOWN),
    CaseVerdict(Group.ORDINARY, True),
    CaseVerdict(Group.ORDINARY, True),
    CaseVerdict(Group.REFUSALS, True),
)
WRONG = ExerciseMark(
    "chunk_text",
    3.0,
    6,
    Outcome.WRONG,
    mistake="last_chunk_lost",
    sentence="The last piece is in no chunk.",
    cases=CASES,
    findings=(Finding(Kind.RETYPED_CELL, "The cell became Markdown.", 7, 1, repaired=True),),
)
RIGHT = ExerciseMark("chunk_offsets", 4.0, 4, Outcome.RIGHT, cases=CASES[:1])
ONE = Graded(
    "ana",
    "ps02_chunking",
    "ana/x.ipynb",
    (WRONG, RIGHT),
    (Finding(Kind.ABSOLUTE_PATH, "The cell reads a file of your machine.", 3, 2),),
)


def html(one: Graded) -> str:
    return as_html(feedback(one))


def with_mark(**changes: object) -> Graded:
    return replace(ONE, marks=(replace(WRONG, **changes),))  # type: ignore[arg-type]


# --- what it says --------------------------------------------------------------------------------


def test_writes_a_page_below_the_student(tmp_path: Path) -> None:
    page = write_feedback(ONE, tmp_path)
    assert page == tmp_path / "ana" / "ps02_chunking.html" == tmp_path / feedback_name(ONE)
    assert page.read_text("utf-8") == html(ONE)


def test_the_page_word_for_word() -> None:
    page = html(ONE)
    body = page[page.index("<main>") : page.index("</main>") + len("</main>")]
    assert " ".join(Shape(body.replace("><", "> <")).text.split()) == (
        "Feedback on ps02_chunking For ana: 7 of 10 points "
        "What already works Solved: chunk_offsets. That is 1 of 2 exercises. "
        "Partly there: chunk_text (3 of 6 points). "
        "Your next step Go on with chunk_text: 3 of 6 points are yours already. "
        "The last piece is in no chunk. "
        "Cut a text into overlapping windows chunk_text: 3 of 6 points, not right yet "
        "What holds already: 1 of 2 examples, all 2 ordinary inputs, 1 of 1 inputs to refuse. "
        "The last piece is in no chunk. "
        "Call chunk_text('abcdef', 4, 1) Expected ['abcd', 'def'] Got ['abcd'] "
        "What was tried: a group earns its points once all its cases hold "
        "Cases Hold Points Remark examples 1 of 2 0 of 1.5 ordinary inputs 2 of 2 3 of 3 "
        "inputs to refuse 1 of 1 0 of 1.5 count as soon as all examples hold "
        "Take the first case shown here, go through your function with it by hand, and find the "
        'line where it takes another way. Lesson 02 explains it; hint("chunk_text") gives the '
        "next hint. Found in your cells Cell 7, line 1: The cell became Markdown. "
        "This costs no points. Say where each window stands chunk_offsets: 4 of 4 points, right "
        "Every case holds. Well done. "
        "About your file Cell 3, line 2: The cell reads a file of your machine."
    )


def test_what_works_comes_before_what_does_not() -> None:
    text = html(ONE)
    order = [
        "What already works",
        "Your next step",
        "What holds already",
        "is in no chunk.",
        "Call",
    ]
    body = text[text.index("Cut a text") :]
    assert text.index(order[0]) < text.index(order[1]) < text.index("Cut a text")
    assert body.index(order[2]) < body.index(order[3]) < body.index(order[4])


@pytest.mark.parametrize("outcome", list(Outcome))
def test_each_outcome_has_words_and_a_next_step(outcome: Outcome) -> None:
    [section] = feedback(with_mark(outcome=outcome, score=0.0)).sections
    assert IN_WORDS[outcome] in unescape(html(with_mark(outcome=outcome)))
    assert bool(section.step) is (outcome is not Outcome.RIGHT)
    assert section.works


def test_the_step_of_a_wrong_function_follows_the_first_group_that_fails() -> None:
    def step(*failing: Group) -> str:
        cases = [CaseVerdict(group, group not in failing) for group in Group]
        [section] = feedback(with_mark(cases=tuple(cases))).sections
        return section.step

    assert "first case shown" in step(Group.EXAMPLES, Group.ORDINARY)
    assert "look beyond them" in step(Group.ORDINARY, Group.REFUSALS)
    assert "which error" in step(Group.REFUSALS)


def test_the_next_step_is_the_first_exercise_that_is_not_solved() -> None:
    """Later exercises build on earlier ones."""
    marks = (
        RIGHT,
        replace(WRONG, exercise="cosine", score=0.0, sentence="", outcome=Outcome.TOO_SLOW),
        replace(WRONG, exercise="top_k", score=4.5, sentence=""),
    )
    assert feedback(replace(ONE, marks=marks)).next_step.startswith("Go on with `cosine`. Ask what")
    said = feedback(replace(ONE, marks=(marks[0], marks[2], marks[1]))).next_step
    assert said == "Go on with `top_k`: 4.5 of 6 points are yours already."


def test_a_class_act_is_praised_and_sent_on() -> None:
    said = feedback(replace(ONE, marks=(RIGHT,)))
    assert said.next_step == "Everything holds. Well done: go on with the next lesson."


def test_a_submission_without_a_mark_still_gets_its_page() -> None:
    empty = replace(ONE, marks=(), findings=(Finding(Kind.UNREADABLE, "It is no notebook."),))
    text = html(empty)
    assert "What already works" not in text
    assert text.count("Your file: It is no notebook.") == 1
    assert feedback(empty).next_step == "It is no notebook."


def test_what_could_not_be_read_has_a_page_of_its_own_name(tmp_path: Path) -> None:
    finding = Finding(Kind.NO_NOTEBOOK, "Only scan.pdf. Send the .ipynb.")
    nothing = Graded("ana", "", "ana/scan.pdf", (), (finding,))
    page = write_feedback(nothing, tmp_path)
    assert page.name == feedback_name(nothing).name == "unreadable.html"
    text = page.read_text("utf-8")
    assert "<title>We could not read what you sent</title>" in text
    assert "<li>Your file: Only scan.pdf. Send the .ipynb.</li>" in text
    assert "points" not in re.sub("<style>.*</style>", "", text, flags=re.DOTALL)


def test_a_file_in_an_old_encoding_was_read() -> None:
    note = Finding(Kind.UNREADABLE, "It is cp1252.", repaired=True)
    missing = ExerciseMark("chunk_text", 0.0, 6, Outcome.NOT_ATTEMPTED)
    said = feedback(replace(ONE, marks=(missing,), findings=(note,)))
    assert said.next_step.startswith("Go on with `chunk_text`")
    assert len(said.sections) == 1


def test_an_unread_file_is_the_next_step_and_no_exercise_has_another() -> None:
    finding = Finding(Kind.UNREADABLE, "Download it again.")
    missing = ExerciseMark("chunk_text", 0.0, 6, Outcome.NOT_ATTEMPTED, "No cell answers this.")
    said = feedback(replace(ONE, marks=(missing,), findings=(finding,)))
    assert (said.next_step, said.works) == ("Download it again.", ())
    assert said.sections == ()
    read = feedback(replace(ONE, findings=(finding,)))  # something was read all the same
    assert read.next_step.startswith("Go on with `chunk_text`")


# --- what kept a function from running -----------------------------------------------------------

ABOUT = "chunk_text"


def kept_from(kind: Kind, said: str, outcome: Outcome, **changes: object) -> Graded:
    mark = ExerciseMark(ABOUT, 0.0, 6, outcome, **changes)  # type: ignore[arg-type]
    return replace(ONE, marks=(mark,), findings=(Finding(kind, said, 3, 2, ABOUT),))


def test_a_line_that_python_cannot_read_is_to_be_mended() -> None:
    message = "Python cannot read line 2 of this cell, `def f(`: '(' was never closed."
    one = kept_from(
        Kind.SYNTAX_ERROR, message, Outcome.CRASHED, message=message, line="cell 3, line 2"
    )
    [section] = feedback(one).sections
    assert section.sentence == message
    assert section.where == "Cell 3 (your answer to `chunk_text`), line 2"
    assert section.step.startswith("Mend this line; nothing in this cell ran.")
    assert feedback(one).next_step == (
        "Go on with `chunk_text`. Cell 3 (your answer to `chunk_text`), line 2: "
        "Mend this line; nothing in this cell ran."
    )
    assert "Your code stopped" not in html(one)
    assert html(one).count("was never closed") == 1


def test_a_broken_draft_beside_an_answer_that_ran_changes_no_advice() -> None:
    draft = Finding(Kind.SYNTAX_ERROR, "Python cannot read it.", 2, 1, ABOUT)
    assert feedback(replace(ONE, findings=(draft,))).sections == feedback(ONE).sections


def test_a_renamed_function_is_said_where_its_exercise_is() -> None:
    message = "Nothing here defines `chunk_text`. Its cell defines `chunkText`; was it renamed?"
    one = kept_from(Kind.RENAMED_FUNCTION, message, Outcome.NOT_ATTEMPTED, message="No cell.")
    [section] = feedback(one).sections
    assert section.works == message
    assert section.step.startswith("Give your function the name from the task again")
    assert feedback(one).next_step.startswith(f"Go on with `chunk_text`. {message} Give your")
    assert feedback(one).notes == ()
    assert "Replace the" not in html(one)


def test_a_missing_cell_is_to_be_brought_back() -> None:
    message = "Nothing here defines `chunk_text`. Was its cell deleted?"
    one = kept_from(Kind.MISSING_CELL, message, Outcome.NOT_ATTEMPTED, message="No cell.")
    [section] = feedback(one).sections
    assert section.works == f"This one is still ahead of you. {message}"
    assert "released notebook" in section.step


def test_whoever_asks_for_input_is_pointed_to_the_parameters() -> None:
    one = kept_from(Kind.INPUT, "It asks.", Outcome.CRASHED, message="EOFError: nobody")
    assert feedback(one).sections[0].step.startswith("Use the parameters instead of `input()`")
    right = kept_from(Kind.INPUT, "It asks.", Outcome.RIGHT)
    assert feedback(right).sections[0].step == ""


def test_a_cell_is_named_by_its_exercise_as_jupyter_numbers_no_text_cells() -> None:
    found = (
        Finding(Kind.MAGIC, "m", 3, 2, ABOUT, repaired=True),
        Finding(Kind.CHANGED_TEST, "t", 4, 0, ABOUT, repaired=True),
        Finding(Kind.SEVERAL_FILES, "s", repaired=True),
        Finding(Kind.SOLUTION_MARKS, "b", repaired=True),
    )
    notes = feedback(replace(ONE, findings=found)).notes
    assert [(note.place, note.then) for note in notes] == [
        ("Cell 3 (your answer to `chunk_text`), line 2", "This costs no points."),
        ("Cell 4 (the test of `chunk_text`)", "This costs no points."),
        ("Your file", "This costs no points."),
        ("Your file", ""),
    ]


def test_the_points_of_the_groups_are_those_of_the_score() -> None:
    assert [count.points for count in feedback(ONE).sections[0].counts] == [
        "0 of 1.5",
        "3 of 3",
        "0 of 1.5",
    ]
    assert score(6, WRONG.cases) == WRONG.score == 3.0
    without = [case for case in CASES if case.group is not Group.REFUSALS]
    assert shares(4, without)[Group.ORDINARY].most == pytest.approx(4 * 2 / 3)
    assert shares(4, []) == {}
    assert score(4, []) == 0.0


def test_what_was_not_attempted_is_said_kindly_with_its_message() -> None:
    one = with_mark(outcome=Outcome.NOT_ATTEMPTED, message="The cell is missing.", sentence="")
    [section] = feedback(one).sections
    assert section.works == "This one is still ahead of you. The cell is missing."
    assert (section.sentence, section.counts) == ("", ())


def test_ends_of_the_worker_are_counted() -> None:
    ended = tuple(
        CaseVerdict(Group.ORDINARY, False, raised)
        for raised in (TOO_SLOW, TOO_SLOW, DIED, "ValueError")
    )
    [section] = feedback(with_mark(cases=ended)).sections
    assert section.counts[0].remark == "2 × no result in time; 1 × ended the process"


def test_an_unknown_exercise_is_named_by_its_id() -> None:
    text = html(with_mark(exercise="unknown_one"))
    assert "<h2>unknown_one</h2>" in text
    assert "Lesson" not in text


def test_much_is_cut_and_says_so() -> None:
    one = with_mark(
        cases=(CaseVerdict(Group.EXAMPLES, False, shown={"got": "x" * 100_000}),) * 8,
        findings=(Finding(Kind.MAGIC, "y" * 100_000, 1),) * 100,
        line="z" * 100_000,
    )
    text = html(replace(one, student="s" * 5000))
    assert len(text) < 60_000
    assert "And 3 more of the examples." in text
    assert "And 70 more like these." in text


# --- nothing of a hidden case --------------------------------------------------------------------

HIDDEN = {"call": "HIDDEN-CALL", "expected": "HIDDEN-EXPECTED", "got": "HIDDEN-GOT", "x": "HIDDEN"}


@pytest.mark.parametrize("outcome", list(Outcome))
@pytest.mark.parametrize("passed", [True, False])
def test_a_hidden_case_shows_nothing_but_its_group(outcome: Outcome, passed: bool) -> None:
    hidden = tuple(
        CaseVerdict(group, passed, "HIDDEN-ERROR", HIDDEN)
        for group in (Group.ORDINARY, Group.REFUSALS)
    )
    one = with_mark(outcome=outcome, cases=(*CASES[:2], *hidden))
    assert "HIDDEN" not in html(one)
    secret = replace(one.marks[0], cases=(CaseVerdict(Group.ORDINARY, passed, "", {}, HIDDEN),))
    assert "HIDDEN" not in html(replace(one, marks=(secret,)))


def test_a_message_stands_where_no_mistake_was_recognised() -> None:
    """The judge sees to it that its message describes no hidden case."""
    one = with_mark(message="The function changes the values that it was given.", sentence="")
    assert feedback(one).sections[0].sentence.startswith("The function changes")
    assert "The function changes" not in html(with_mark(message="The function changes …"))


def test_of_an_example_only_call_expected_and_got_are_shown() -> None:
    case = CaseVerdict(Group.EXAMPLES, False, "HIDDEN-ERROR", {**SHOWN, "seed": "HIDDEN"})
    text = html(with_mark(cases=(case,)))
    assert "HIDDEN" not in text
    assert "abcdef" in text


# --- no text breaks out --------------------------------------------------------------------------

EVIL = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror='alert(1)'>",
    "</code></section></main>",
    "&lt;b&gt; &amp;",
    "```\n# heading\n```",
    "`` ` ``` `",
    "| a | b |\n|---|---|\n| c | d |",
    "[x](javascript:alert(1)) ![y](http://example.org/z.png) <http://example.org>",
    "http://example.org www.example.org a@example.org",
    "# a",
    "- a",
    "1. a",
    "=====",
    "    indented",
    "*a* _b_ ~~c~~ **d**",
    "\\`",
    "\u202egpj.exe",
    "a\r\n\r\n<div>\n",
    "`<b>`",
    "&#60;b&#62;",
    "[ref]: http://example.org",
    "e\u0301",
    "caf\udce9",
    " ",
    "`",
]
TEXT = st.one_of(
    st.sampled_from(EVIL), st.text(max_size=30), st.text("`<>|*_[]()!\\&# \n-1.", max_size=15)
)


def hostile(text: str) -> Graded:
    """A result in which `text` stands wherever a submission could have put it."""
    shown = dict.fromkeys(("call", "expected", "got"), text)
    found = (Finding(Kind.HOSTILE_NAME, text, 1, 1), Finding(Kind.MAGIC, text))
    mark = replace(
        WRONG,
        sentence=text,
        message=text,
        line=text,
        cases=(CaseVerdict(Group.EXAMPLES, False, text, shown),),
        findings=found,
    )
    marks = (mark, replace(mark, outcome=Outcome.NOT_ATTEMPTED, score=0.0))
    return Graded(text, text, text, marks, found)


@settings(deadline=None)
@given(TEXT)
@example("a" * 400)
def test_html_keeps_its_shape_whatever_a_submission_says(text: str) -> None:
    told = Shape(as_html(feedback(hostile(text))))
    if text:
        assert told.elements == Shape(as_html(feedback(hostile("text")))).elements


def test_invisible_characters_are_spelled_out() -> None:
    text = html(hostile("a\u202eb\u200bc"))
    assert "\u202e" not in text
    assert "\u200b" not in text
    assert "a\\u202eb\\u200bc" in text


def test_hostile_names_stay_below_the_folder(tmp_path: Path) -> None:
    for name in ("../up", "/etc/x", "a/b", "", ".", "..", "nul", "\x00", "caf\udce9"):
        path = write_feedback(replace(ONE, student=name, assignment=name), tmp_path)
        assert tmp_path in path.resolve().parents
        assert len(path.relative_to(tmp_path).parts) == 2


# --- the page ------------------------------------------------------------------------------------


def test_the_page_loads_and_runs_nothing() -> None:
    html = as_html(feedback(ONE))
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">')
    assert "default-src 'none'" in html
    assert "width=device-width" in html
    assert not re.search(r"<script|<link|<iframe|<img|\bon\w+=|url\(|@import|https?:", html)
    assert 'scope="row"' in html and 'scope="col"' in html


def test_headings_go_down_one_level_at_a_time() -> None:
    levels = [int(level) for level in re.findall(r"<h([1-6])", as_html(feedback(ONE)))]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))


def test_colours_meet_wcag_aa_in_light_dark_and_print() -> None:
    blocks = re.findall(r":root \{(.*?)\}", html(ONE), re.DOTALL)
    palettes = [dict(re.findall(r"--(\w+): (#\w+);", block)) for block in blocks]
    assert len(palettes) == 3
    for palette in palettes:
        for back in ("paper", "panel"):
            for front in ("ink", "muted", "link", "good", "attention"):
                assert contrast(palette[front], palette[back]) >= 4.5, (front, back, palette)
        assert contrast(palette["bar"], palette["paper"]) >= 3  # a part of a graphic


def contrast(one: str, other: str) -> float:
    """The contrast of two colours by the formula of WCAG 2."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_the_measure_of_contrast_is_right() -> None:
    assert contrast("#000000", "#fff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
