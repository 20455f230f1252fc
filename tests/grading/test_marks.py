"""Marks as CSV: read back by what will read them, and harmless in a spreadsheet."""

from __future__ import annotations

import csv
import io
import unicodedata
from itertools import product
from pathlib import Path
from types import SimpleNamespace

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from classroom.checking import Outcome
from classroom.grading.names import shown
from classroom.grading.reports.marks import COLUMNS, MOODLE, guarded, number, write_marks
from classroom.grading.types import ExerciseMark, Finding, Graded, Kind
from labkit.types import LabError

FILES = ["marks.csv", "marks-canvas.csv", "marks-moodle.csv", "marks-nbgrader.csv"]
HOSTILE = [
    "Lee, Ann",
    'Ann "the queen" Lee',
    "Ann\nLee",
    "=cmd|' /C calc'!A0",
    "+1+2",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r\n=1",
    "  =1",
    "\"'=1",
    "＝1",
    "＋1",
    "－1",
    "＠x",
    "\u202emoc.live",
    "שרה לוי",
    "\u200f=1",
    "Zoë 🙂",
    "a;=1+1",
    "caf\udce9",
    "\x00=1",
    "",
]


def graded(student: str, assignment: str, *marks: ExerciseMark, **more: object) -> Graded:
    return Graded(student, assignment, "x.ipynb", marks, **more)  # type: ignore[arg-type]


def mark(exercise: str = "top_k", score: float = 1.5, max_score: int = 6) -> ExerciseMark:
    return ExerciseMark(exercise, score, max_score, Outcome.WRONG)


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file, strict=True))


def table(folder: Path, name: str, *results: Graded) -> list[list[str]]:
    write_marks(results, folder)
    return rows(folder / name)


# --- what the files say --------------------------------------------------------------------------


def test_writes_the_four_files(tmp_path: Path) -> None:
    paths = write_marks([graded("ana", "ps03", mark())], tmp_path / "results")
    assert paths == [tmp_path / "results" / name for name in FILES]
    assert sorted(path.name for path in (tmp_path / "results").iterdir()) == sorted(FILES)


def test_a_row_for_each_student_and_exercise(tmp_path: Path) -> None:
    first = ExerciseMark(
        "cosine",
        4.5,
        6,
        Outcome.CRASHED,
        mistake="no_root",
        sentence="The root is missing.",
        findings=(Finding(Kind.MAGIC, "…", 4, 2, "cosine"),),
        wall=1.2345,
        cpu=0.5,
        memory=51.0,
    )
    one = graded(
        "ana",
        "ps03",
        first,
        mark("top_k", 0.0),
        findings=(
            Finding(Kind.RENAMED, "…", repaired=True),
            Finding(Kind.INPUT, "…", 5, exercise="top_k"),
        ),
    )
    first_found = "magic (cell 4, line 2); renamed file, repaired"
    second_found = "renamed file, repaired; asks for input (cell 5)"
    assert table(tmp_path, "marks.csv", one) == [
        list(COLUMNS),
        [*"ana ps03 cosine 4.5 6 crashed no_root 1.23 0.5 51".split(), first_found],
        ["ana", "ps03", "top_k", "0", "6", "wrong", "", "0", "0", "0", second_found],
    ]


def test_canvas_has_the_points_in_its_second_row_and_nothing_for_what_is_missing(
    tmp_path: Path,
) -> None:
    results = [
        graded("ben", "ps02", mark(score=4.25)),
        graded("ana", "ps02", mark(score=6.0), mark("cosine", 2.0, 4)),
        graded("ana", "ps03", mark(score=0.0, max_score=5)),
    ]
    assert table(tmp_path, "marks-canvas.csv", *results) == [
        ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", "ps02", "ps03"],
        ["    Points Possible", "", "", "", "", "10", "5"],
        ["ana", "", "", "ana", "", "8", "0"],
        ["ben", "", "", "ben", "", "4.25", ""],
    ]


def test_no_student_passes_for_the_row_of_points(tmp_path: Path) -> None:
    """Canvas takes every row whose first cell contains the two words for the points."""
    found = table(tmp_path, "marks-canvas.csv", graded("x Points Possible", "ps02", mark()))
    assert [("Points Possible" in row[0]) for row in found] == [False, True, False]


def test_moodle_has_grade_and_feedback_side_by_side(tmp_path: Path) -> None:
    results = [
        graded("ana", "ps02", mark(score=6.0), mark("cosine", 2.0, 4)),
        graded("ben", "ps03", mark(score=0.0)),
    ]
    assert table(tmp_path, "marks-moodle.csv", *results) == [
        [*MOODLE, "ps02", "Feedback for ps02", "ps03", "Feedback for ps03"],
        ["", "", "ana", "8", "top_k: wrong, 6 of 6; cosine: wrong, 2 of 4", "", ""],
        ["", "", "ben", "", "", "0", "top_k: wrong, 0 of 6"],
    ]


def test_moodle_gets_its_participants_back(tmp_path: Path) -> None:
    def of(student: str, number: str, assignment: str = "ps02") -> Graded:
        return graded(student, assignment, mark(), number=number, platform="moodle")

    results = [of("Ann Lee (17)", "17"), of("Ann Lee (18)", "18"), of("Bo", "20")]
    results.append(of("Bo", "33", "ps03"))  # Moodle numbers anew in each assignment
    found = table(tmp_path, "marks-moodle.csv", *results)
    assert [row[:3] for row in found[1:]] == [
        ["Participant 17", "Ann Lee", "Ann Lee (17)"],
        ["Participant 18", "Ann Lee", "Ann Lee (18)"],
        ["", "Bo", "Bo"],
    ]


def test_canvas_gets_its_users_back(tmp_path: Path) -> None:
    results = [
        graded("leeann", "ps02", mark(), number="4711", platform="canvas"),
        graded("leeann", "ps03", mark(), number="4711", platform="canvas"),
        graded("zoe", "ps02", mark(), number="5", platform="moodle"),
    ]
    found = table(tmp_path, "marks-canvas.csv", *results)
    assert [row[:5] for row in found[2:]] == [
        ["leeann", "4711", "", "", ""],
        ["zoe", "", "", "zoe", ""],
    ]


# --- what could not be read ----------------------------------------------------------------------

UNREAD = graded("casse", "", findings=(Finding(Kind.UNREADABLE, "…"),))


def test_a_student_of_whom_nothing_could_be_read_has_a_row_without_a_score(tmp_path: Path) -> None:
    found = table(tmp_path, "marks.csv", UNREAD, graded("zoe", "ps02", mark()))
    assert found[1] == ["casse", "", "", "", "", "unreadable", "", "", "", "", "unreadable"]
    assert len(found) == 3


def test_gradebooks_have_no_assignment_without_a_name(tmp_path: Path) -> None:
    write_marks([UNREAD, graded("zoe", "ps02", mark())], tmp_path)
    assert rows(tmp_path / "marks-canvas.csv")[0][5:] == ["ps02"]
    assert rows(tmp_path / "marks-canvas.csv")[2] == ["casse", "", "", "casse", "", ""]
    assert rows(tmp_path / "marks-moodle.csv")[0][3:] == ["ps02", "Feedback for ps02"]
    assert [row[0] for row in rows(tmp_path / "marks-nbgrader.csv")[1:]] == ["ps02", "ps02"]


def test_late_work_says_so(tmp_path: Path) -> None:
    one = graded("ana", "ps02", mark(), findings=(Finding(Kind.LATE, "…"),))
    assert table(tmp_path, "marks.csv", one)[1][-1] == "handed in late"


def test_two_long_names_that_begin_alike_stay_two(tmp_path: Path) -> None:
    results = [graded("x" * 300 + end, "ps02", mark()) for end in "ab"]
    names = [row[0] for row in table(tmp_path, "marks.csv", *results)[1:]]
    assert len(set(names)) == 2


def test_nbgrader_has_a_row_for_each_assignment_and_student(tmp_path: Path) -> None:
    results = [graded("ana", "ps02", mark(score=3.0)), graded("ben", "ps03", mark(score=0.0))]
    found = table(tmp_path, "marks-nbgrader.csv", *results)
    assert found[1:] == [
        ["ps02", "", "", "ana", "", "", "", "3", "0", "3", "6"],
        ["ps02", "", "", "ben", "", "", "", "", "", "", "6"],
        ["ps03", "", "", "ana", "", "", "", "", "", "", "6"],
        ["ps03", "", "", "ben", "", "", "", "0", "0", "0", "6"],
    ]


def test_nbgrader_columns_are_those_of_its_own_exporter(tmp_path: Path) -> None:
    from nbgrader.plugins import CsvExportPlugin

    exporter = CsvExportPlugin()
    exporter.to = str(tmp_path / "grades.csv")
    exporter.export(SimpleNamespace(assignments=[], students=[]))
    ours = table(tmp_path, "marks-nbgrader.csv", graded("ana", "ps02", mark()))
    assert ours[0] == rows(tmp_path / "grades.csv")[0]


def test_an_empty_class_has_heads_alone(tmp_path: Path) -> None:
    write_marks([], tmp_path)
    assert [len(rows(tmp_path / name)) for name in FILES] == [1, 2, 1, 1]


def test_two_results_for_one_work_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(LabError, match="Two results for ana in ps02: keep one"):
        write_marks([graded("ana", "ps02", mark()), graded("ana", "ps02", mark())], tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.0, 0),
        (1 / 3, 0.33),
        (0.1 + 0.2, 0.3),
        (2.5, 2.5),
        (6.0, 6),
        (1.999, 2),
        (-0.001, 0),
        (float("nan"), ""),
        (float("inf"), ""),
    ],
)
def test_numbers_have_two_decimals_at_most(value: float, written: object) -> None:
    assert number(value) == written
    assert isinstance(number(value), type(written))


# --- formulas ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    ["=1", "+1", "-1", "@a", "\t1", "\r1", "\n1", " =1", '"=1', "'=1", " \" '=1", "\u00a0=1"],
)
def test_what_could_be_a_formula_gets_an_apostrophe(text: str) -> None:
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize(
    "text", ["＝1", "＋1", "－1", "＠1", "﹦1", "﹣1", "  ＝1", "“=1", "\x00=1", " \t a"]
)
def test_so_do_other_forms_and_disguises_of_it(text: str) -> None:
    assert guarded(text) == f"'{text}"


@pytest.mark.parametrize("text", ["", "ana", "1-2", "a=b", "    Points", "“ana”", "é", "5", "  "])
def test_other_text_stays_as_it_is(text: str) -> None:
    assert guarded(text) == text


def test_what_follows_a_semicolon_is_guarded_too() -> None:
    assert guarded('a;=1; "+2;b') == "a;'=1;' \"+2;b"


def test_a_spreadsheet_that_splits_at_semicolons_finds_no_formula(tmp_path: Path) -> None:
    write_marks([graded('a;=1+1;"=2', "b;=1+1", mark())], tmp_path)
    for name in FILES:
        text = (tmp_path / name).read_text("utf-8")
        cells = [cell for row in csv.reader(io.StringIO(text), delimiter=";") for cell in row]
        assert not [cell for cell in cells if cell.startswith("=")], name


# --- read back -----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", HOSTILE)
def test_csv_and_pandas_read_the_same_names(tmp_path: Path, name: str) -> None:
    results = [graded(name, "ps02", mark(score=1.25)), graded("zoe", "ps02", mark(score=6.0))]
    write_marks(results, tmp_path)
    expected = guarded(shown(name))
    assert sorted(row[0] for row in rows(tmp_path / "marks.csv")[1:]) == sorted([expected, "zoe"])
    frame = pd.read_csv(tmp_path / "marks.csv", keep_default_na=False)
    assert dict(zip(frame["student"], frame["score"], strict=True)) == {expected: 1.25, "zoe": 6}
    assert frame["score"].dtype.kind == "f"


def test_honest_names_are_written_as_they_are(tmp_path: Path) -> None:
    names = ["Lee, Ann", 'Ann "the queen" Lee', "Zoë", "שרה", "🙂", "o'neil", "李"]
    write_marks([graded(name, "ps02", mark()) for name in names], tmp_path)
    assert sorted(row[0] for row in rows(tmp_path / "marks.csv")[1:]) == sorted(names)


def test_pandas_sees_a_missing_work_as_missing(tmp_path: Path) -> None:
    write_marks([graded("ana", "ps02", mark()), graded("ben", "ps03", mark(score=0.0))], tmp_path)
    frame = pd.read_csv(tmp_path / "marks-moodle.csv", index_col="Username")
    assert pd.isna(frame.loc["ben", "ps02"])
    assert frame.loc["ben", "ps03"] == 0


TEXTS = st.one_of(st.sampled_from(HOSTILE), st.text(max_size=12))
QUIET = settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


@QUIET
@given(
    students=st.lists(TEXTS, min_size=1, max_size=4, unique=True),
    assignments=st.lists(TEXTS, min_size=1, max_size=3, unique=True),
    exercise=TEXTS,
    message=TEXTS,
    score=st.floats(allow_nan=True, allow_infinity=True),
)
def test_any_names_give_as_many_rows_and_columns_as_there_should_be(
    tmp_path: Path,
    students: list[str],
    assignments: list[str],
    exercise: str,
    message: str,
    score: float,
) -> None:
    one = ExerciseMark(exercise, score, 6, Outcome.WRONG, mistake=message, wall=score)
    results = [graded(*pair, one, one) for pair in product(students, assignments)]
    write_marks(results, tmp_path)
    many, few = len(students), len({*assignments} - {""})
    shapes = {
        "marks.csv": (1 + 2 * many * len(assignments), 11),
        "marks-canvas.csv": (2 + many, 5 + few),
        "marks-moodle.csv": (1 + many, 3 + 2 * few),
        "marks-nbgrader.csv": (1 + many * few, 11),
    }
    for name, (height, width) in shapes.items():
        found = rows(tmp_path / name)
        assert (len(found), {len(row) for row in found}) == (height, {width}), name
        assert not [cell for row in found for cell in row if could_be_a_formula(cell)], name


def could_be_a_formula(cell: str) -> bool:
    """As a spreadsheet sees it, numbers aside: judged apart from the code under test."""
    try:
        float(cell)
    except ValueError:
        plain = unicodedata.normalize("NFKC", cell.lstrip())
        return cell[:1] in ("\t", "\r", "\n") or plain[:1] in ("=", "+", "-", "@")
    return False


# --- faults --------------------------------------------------------------------------------------


def test_a_disk_that_fails_leaves_the_old_file_and_no_rest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_marks([graded("ana", "ps02", mark())], tmp_path)
    before = (tmp_path / "marks.csv").read_bytes()

    def full(self: Path, target: Path) -> Path:
        raise OSError("No space left on device")

    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(OSError, match="No space"):
        write_marks([graded("ben", "ps02", mark())], tmp_path)
    assert (tmp_path / "marks.csv").read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(FILES)


def test_a_link_at_the_place_of_a_file_is_replaced_not_followed(tmp_path: Path) -> None:
    other = tmp_path / "other.txt"
    other.write_text("mine")
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "marks.csv").symlink_to(other)
    write_marks([graded("ana", "ps02", mark())], tmp_path / "results")
    assert other.read_text() == "mine"
    assert not (tmp_path / "results" / "marks.csv").is_symlink()


def test_equal_results_in_any_order_give_equal_bytes(tmp_path: Path) -> None:
    results = [graded(name, "ps02", mark()) for name in ("ana", "ben", "cleo")]
    first = [path.read_bytes() for path in write_marks(results, tmp_path / "a")]
    second = [path.read_bytes() for path in write_marks(results[::-1], tmp_path / "b")]
    assert first == second
