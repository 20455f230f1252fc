"""The classroom's commands, for those who prefer an editor, and for authors of lessons."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from classroom import commands, notebook
from classroom.exercises import ALL
from labkit.cli import main

KEYS = {
    "id",
    "stage",
    "title",
    "points",
    "minutes",
    "hints",
    "mistakes",
    "public_cases",
    "hidden_cases",
}
DONE, USAGE, WRONG = 0, 2, 3


@pytest.fixture(autouse=True)
def own_progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LABKIT_PROGRESS", str(tmp_path / "progress.json"))


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout with one lesson, so that no test writes into the real one."""
    monkeypatch.setattr(commands, "CHECKOUT", tmp_path)
    monkeypatch.setattr(commands, "NOTEBOOKS", tmp_path / "notebooks")
    lesson = notebook.new([("markdown", "# 02 · Chunking"), ("code", "1 + 1")])
    notebook.write(lesson, tmp_path / "notebooks/02_chunking.ipynb")
    return tmp_path


def run(*words: str) -> int:
    """The exit code of a command."""
    with pytest.raises(SystemExit) as end:
        main(list(words))
    return int(end.value.code or 0)


def written(folder: Path, text: str) -> str:
    path = folder / "mine.py"
    path.write_text(text, encoding="utf-8")
    return str(path)


def solution(name: str) -> str:
    return ALL[name].solution


# --- for learners --------------------------------------------------------------------------------


def test_all_exercises_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("exercises") == DONE
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[1] for line in lines] == list(ALL)


def test_the_list_as_json_has_the_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("exercises", "--json") == DONE
    items = json.loads(capsys.readouterr().out)
    assert [item["id"] for item in items] == list(ALL)
    for item in items:
        assert item.keys() >= KEYS
        exercise = ALL[item["id"]]
        assert item["hints"] == len(exercise.hints)
        assert item["mistakes"] == len(exercise.mistakes)
        assert item["public_cases"] == len(exercise.cases)


def test_a_file_is_checked_function_by_function(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = written(tmp_path, solution("cosine") + "\n\n" + ALL["chunk_text"].starter)
    assert run("check", file) == WRONG
    said = capsys.readouterr().out
    assert "cosine: right" in said
    assert "chunk_text: not attempted" in said
    assert run("check", written(tmp_path, solution("cosine"))) == DONE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\ny = x / 0\n", "line 2, stops with ZeroDivisionError: division by zero"),
        ("import sys\n\nsys.exit()\n", "line 3, stops with SystemExit"),
        ("def cosine(a, b)\n    return 1\n", "line 1: expected ':'"),
        ("x = 1\n", "defines no exercise"),
    ],
)
def test_a_file_with_a_fault_is_answered_with_its_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, said: str
) -> None:
    assert run("check", written(tmp_path, text)) == USAGE
    error = capsys.readouterr().err
    assert said in error
    assert "Traceback" not in error


def test_a_file_that_is_not_there(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("check", "nowhere.py") == USAGE
    assert "There is no file nowhere.py" in capsys.readouterr().err


def test_hints_and_progress_survive_a_restart(capsys: pytest.CaptureFixture[str]) -> None:
    assert run("hint", "cosine") == DONE
    assert run("hint", "cosine") == DONE
    said = capsys.readouterr().out
    assert "hint 1 of" in said
    assert "hint 2 of" in said
    assert "fifteen" in said
    assert run("hint", "cosinus") == USAGE
    assert run("progress") == DONE
    assert "lesson 03: 0 of" in capsys.readouterr().out


def test_a_reset_keeps_the_old_copy(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    mine = lab / "my-lab/notebooks/02_chunking.ipynb"
    assert run("reset", "02") == DONE
    mine.write_text("my work", encoding="utf-8")
    assert run("reset", "2") == DONE
    (kept,) = mine.parent.glob("02_chunking-mine-*.ipynb")
    assert kept.read_text("utf-8") == "my work"
    assert kept.name in capsys.readouterr().out
    assert mine.read_bytes() == (lab / "notebooks/02_chunking.ipynb").read_bytes()


def test_an_unknown_lesson_names_those_that_there_are(
    lab: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("reset", "11") == USAGE
    assert "There are: 02_chunking." in capsys.readouterr().err


# --- for authors ---------------------------------------------------------------------------------


def test_a_new_lesson_is_told_what_it_lacks(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("new-lesson", "9", "Évaluer l’essai") == DONE
    assert (lab / "notebooks/09_evaluer_l_essai.ipynb").is_file()
    assert run("check-lesson", "09") == WRONG
    said = capsys.readouterr().out
    assert "The section 'Think' still holds the template's words." in said
    assert "The header still holds the template's words" in said
    assert "has no questions for lesson 09" in said


@pytest.mark.parametrize(("number", "title"), [("2", "Again"), ("9", "···")])
def test_a_lesson_never_takes_anothers_place(lab: Path, number: str, title: str) -> None:
    assert run("new-lesson", number, title) == USAGE
    assert len(list((lab / "notebooks").iterdir())) == 1


def test_a_lesson_that_fails_says_where(lab: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = lab / "notebooks/02_chunking.ipynb"
    notebook.write(notebook.new([("code", "1 + 1"), ("code", "x = 3\nx / 0")]), path)
    before = path.read_bytes()
    assert run("run-lesson", "02") == USAGE
    error = capsys.readouterr().err
    assert "stops in code cell 2 (x = 3): ZeroDivisionError: division by zero" in error
    assert path.read_bytes() == before
