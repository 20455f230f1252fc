"""What a learner calls: messages that teach, and progress that is kept."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from classroom.exercises import ALL
from classroom.learner import (
    carry_on,
    check,
    compare,
    hint,
    predict,
    progress,
    quiz,
    reveal,
    verdict,
)
from classroom.progress_file import Progress
from classroom.quizzes import QUIZZES

COSINE = ALL["cosine"]


@pytest.fixture(autouse=True)
def own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "progress.json"
    monkeypatch.setenv("LABKIT_PROGRESS", str(path))
    return path


def starter(a: list[float], b: list[float]) -> float:
    raise NotImplementedError


def solved() -> object:
    namespace: dict[str, object] = {"__name__": "learner"}
    exec(compile(COSINE.solution, "<learner>", "exec"), namespace)
    return namespace["cosine"]


def test_an_untouched_starter_is_not_called_wrong() -> None:
    message = check("cosine", starter)
    assert message.heading == "cosine: not attempted"
    assert "wrong" not in str(message)


def test_a_wrong_function_gets_input_expected_got_and_what_to_do_next() -> None:
    def cosine(a: list[float], b: list[float]) -> float:
        return sum(x * y for x, y in zip(a, b, strict=True))

    message = check("cosine", cosine)
    assert message.heading == "cosine: wrong"
    assert [label for label, _ in message.lines] == ["", "input", "expected", "got", ""]
    assert message.lines[1][1].startswith("cosine([")


def test_messages_are_text_in_a_shell_and_escaped_html_in_a_notebook() -> None:
    def cosine(a: list[float], b: list[float]) -> str:
        return "<script>"

    message = check("cosine", cosine)
    assert "<script>" in str(message)
    assert "<script>" not in message._repr_html_()
    assert "&lt;script&gt;" in message._repr_html_()
    assert "Traceback" not in str(message)


def test_two_spellings_of_one_letter_do_not_look_alike() -> None:
    def lines_alone(text: str) -> str:
        return text.lstrip("\ufeff").replace("\r\n", "\n").replace("\r", "\n")

    message = dict(check("normalise_text", lines_alone).lines)
    assert message["expected"] == "'é'"
    assert message["got"] == "'e\\u0301'"
    assert message["input"] == "normalise_text('e\\u0301')"


def test_each_hint_reveals_the_next_and_says_how_many_remain() -> None:
    total = len(COSINE.hints)
    first, second = hint("cosine"), hint("cosine")
    assert first.heading == f"cosine: hint 1 of {total}"
    assert first.lines[0][1] == COSINE.hints[0]
    assert f"{total - 1} more to come" in first.lines[1][1]
    assert "fifteen" in first.lines[1][1]
    assert second.lines[0][1] == COSINE.hints[1]


def test_after_the_last_hint_all_are_shown_again() -> None:
    for _ in COSINE.hints:
        last = hint("cosine")
    assert "last hint" in last.lines[1][1]
    assert [text for _, text in hint("cosine").lines] == list(COSINE.hints)


def test_the_solution_is_revealed_after_success_or_when_one_is_sure() -> None:
    assert reveal("cosine").heading == "cosine: not yet revealed"
    assert "return" in str(reveal("cosine", sure=True))
    assert check("cosine", solved()).heading == "cosine: right"  # type: ignore[arg-type]
    assert "return" in str(reveal("cosine"))


def test_what_passed_once_stays_passed() -> None:
    check("cosine", solved())  # type: ignore[arg-type]
    check("cosine", starter)
    known = Progress().get("exercises", "cosine")
    assert (known["passed"], known["tries"], known["outcome"]) == (True, 2, "not attempted")


def test_progress_counts_points_by_lesson(own_progress: Path) -> None:
    check("cosine", solved())  # type: ignore[arg-type]
    lines = dict(progress().lines)
    everything = sum(e.points for e in ALL.values() if e.stage == 3)
    assert lines["lesson 03"].startswith(f"{COSINE.points} of {everything} points, 1 of 3")
    assert json.loads(own_progress.read_text("utf-8"))["exercises"]["cosine"]["passed"]


def test_a_broken_progress_file_is_set_aside_and_not_overwritten(own_progress: Path) -> None:
    own_progress.write_text("{half", encoding="utf-8")
    hint("cosine")
    assert own_progress.with_suffix(".broken.json").read_text("utf-8") == "{half"
    assert Progress().get("exercises", "cosine")["hints"] == 1


def test_a_prediction_is_noted_compared_and_scored() -> None:
    predict("chunks", 3, confidence=0.9)
    predict("other", "yes", confidence=0.5)
    assert compare("chunks", 4).heading == "It is 4: you predicted 3."
    assert compare("other", "yes").heading == "It is 'yes': as you predicted."
    # Brier: ((0.9 - 0)^2 + (0.5 - 1)^2) / 2 = 0.53
    assert dict(progress().lines)["predictions"].endswith("Brier score 0.53")


@pytest.mark.parametrize(
    ("answer", "actual"),
    [
        (3, np.int64(3)),
        (np.int64(3), 3),
        ((1, 2), (1, 2)),
        ({"b", "a"}, {"a", "b"}),
        (0.3, 0.1 + 0.2),
    ],
)
def test_a_prediction_may_be_any_plain_value(answer: object, actual: object) -> None:
    predict("value", answer, confidence=0.8)
    assert "as you predicted" in compare("value", actual).heading
    assert list(Progress().path.parent.glob("*.tmp")) == []  # type: ignore[union-attr]


def test_a_confidence_below_a_coin_is_refused() -> None:
    with pytest.raises(ValueError, match=r"confidence is 0\.2; say 0\.5"):
        predict("x", 1, confidence=0.2)


def test_the_quiz_shows_its_gain() -> None:
    right = [question.right for question in QUIZZES[2]]
    wrong = [1 if answer != 1 else 2 for answer in right]
    assert quiz(2).heading == "Lesson 02: three questions"
    assert quiz(2, wrong).heading.startswith("Noted: 0 of 3 before")
    after = quiz(2, right)
    assert after.heading == "3 of 3 now, 0 before."
    assert QUIZZES[2][0].why in str(after)


def test_a_quiz_with_too_few_answers_says_how_to_call_it() -> None:
    with pytest.raises(ValueError, match="Give 3 answers"):
        quiz(2, [1])


@pytest.mark.parametrize("answer", [0, 4, "1"])
def test_an_answer_that_is_no_choice_is_not_scored(answer: object) -> None:
    with pytest.raises(ValueError, match="give the number of a choice, 1 to 3"):
        quiz(2, [1, answer, 1])  # type: ignore[list-item]
    assert Progress().get("quizzes", "2") == {}


def test_a_quiz_that_is_not_there_names_those_that_are() -> None:
    with pytest.raises(KeyError, match=r"There is no quiz 99\. There are: 0, 1"):
        quiz(99)


@pytest.mark.parametrize("lesson", sorted(QUIZZES))
def test_every_quiz_has_a_right_choice(lesson: int) -> None:
    for question in QUIZZES[lesson]:
        assert 1 <= question.right <= len(question.choices)
        assert question.why.endswith(".")


def test_the_lesson_goes_on_with_whoever_passes(capsys: pytest.CaptureFixture[str]) -> None:
    mine = solved()
    assert carry_on("cosine", mine) is mine  # type: ignore[arg-type]
    assert carry_on("cosine", starter) is COSINE.reference
    said = capsys.readouterr().out
    assert "your own cosine" in said
    assert "labkit's cosine" in said


def test_a_graded_cell_gets_a_verdict_and_its_words() -> None:
    assert verdict("cosine", solved()).right  # type: ignore[arg-type]
    assert "not attempted" in verdict("cosine", starter).text


def test_an_unknown_exercise_names_those_that_there_are() -> None:
    with pytest.raises(KeyError, match="There are: normalise_text"):
        check("cosinus", starter)
