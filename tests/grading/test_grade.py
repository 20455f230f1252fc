"""`labkit grade` and `labkit regrade`: a class from the folder to the marks."""

from __future__ import annotations

import csv
import json
import os
import shutil
import stat
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from classroom.checking import Outcome, check_function
from classroom.exercises import ALL
from classroom.grading import fingerprint
from classroom.grading import grade as grading
from classroom.grading.grade import Options, grade_class, regrade
from classroom.grading.record import RECORDS, read_record
from classroom.grading.reports.all import write_reports
from classroom.grading.running import sandbox as fence
from classroom.grading.running import session
from classroom.grading.running.sandbox import can_isolate
from classroom.grading.secret import Secret, default_secret_path, open_secret
from classroom.grading.types import Class, Kind
from classroom.release import CHECKOUT, TOPICS, assignment_name
from labkit.cli import main
from labkit.types import LabError
from synthetic_attacks import CANARY, MARKER
from synthetic_class import Student, deviations, notebook_of, synthetic_class, write_class

SECRET = Secret(b"k" * 32)
SEED = "autumn"
pytestmark = pytest.mark.skipif(not can_isolate(), reason="bubblewrap does not work here")


def run(*arguments: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(argument) for argument in arguments])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def graded(folder: Path, results: Path, **how: Any) -> Class:
    return grade_class(folder, results, Options(SECRET, SEED, **{"jobs": 2, **how}))


@pytest.fixture(scope="module")
def impatient() -> Iterator[None]:
    """Limits that make hanging submissions cost a second instead of fifteen."""
    patch = pytest.MonkeyPatch()
    patch.setattr(session, "PATIENCE", 0.4)
    patch.setattr(session, "CELL_SECONDS", 1.5)
    patch.setattr(session, "MAX_REPLACED", 1)
    yield
    patch.undo()


def small_class(folder: Path) -> Path:
    """Three students: one right, one untouched, one who made a mistake."""
    answers: Mapping[str, Mapping[str, str]] = {
        "anna": {name: ALL[name].solution for name in ("chunk_text", "chunk_offsets")},
        "ben": {},
        "chloé": {"chunk_text": "def chunk_text(text, size, overlap):\n    return [text]"},
    }
    for student, given in answers.items():
        path = folder / "submitted" / student / "ps02_chunking" / "chunking.ipynb"
        path.parent.mkdir(parents=True)
        path.write_bytes(notebook_of(2, given))
    return folder / "submitted"


# --- what the repository ships -------------------------------------------------------------------


def test_untouched_exercises_get_nothing_and_are_not_attempted(tmp_path: Path) -> None:
    found = graded(CHECKOUT / "exercises", tmp_path)
    assert [one.assignment for one in found.graded] == [assignment_name(n) for n in TOPICS]
    marks = [mark for one in found.graded for mark in one.marks]
    assert {mark.exercise for mark in marks} == set(ALL)
    assert {(mark.outcome, mark.score) for mark in marks} == {(Outcome.NOT_ATTEMPTED, 0.0)}
    assert [one.findings for one in found.graded] == [()] * len(TOPICS)


def test_solutions_get_full_marks(tmp_path: Path) -> None:
    found = graded(CHECKOUT / "solutions", tmp_path)
    marks = {mark.exercise: mark for one in found.graded for mark in one.marks}
    assert set(marks) == set(ALL)
    assert {mark.outcome for mark in marks.values()} == {Outcome.RIGHT}
    assert all(mark.score == ALL[name].points for name, mark in marks.items())
    kinds = {finding.kind for one in found.graded for finding in one.findings}
    assert kinds == {Kind.SOLUTION_MARKS}


# --- a synthetic class ---------------------------------------------------------------------------


def check_class(students: Sequence[Student], folder: Path) -> Class:
    """Grade a class whose right marks are known, with bait around it."""
    write_class(list(students), folder / "submitted")
    (folder / CANARY).write_text("alive")
    (folder / "submitted" / CANARY).write_text("alive")
    found = graded(folder / "submitted", folder / "results")
    assert found.faults == []
    assert deviations(students, found.graded, SECRET.seed(SEED)) == []
    assert (folder / CANARY).read_text() == "alive"
    assert (folder / "submitted" / CANARY).read_text() == "alive"
    for place in (folder, Path.home(), Path.cwd(), Path("/tmp")):
        assert not (place / MARKER).exists(), place
    return found


def hidden_words(found: Class) -> set[str]:
    """Texts of hidden cases that stand in no public one, long enough to be recognised."""
    seed = SECRET.seed(SEED)
    names = {mark.exercise for one in found.graded for mark in one.marks}
    words: set[str] = set()
    for exercise in (ALL[name] for name in names):
        public = repr([case.arguments for case in exercise.cases]) + exercise.task
        for arguments in exercise.hidden_cases(seed):
            words |= {text for text in _texts(arguments) if len(text) > 15 and text not in public}
    return words


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        yield from _texts([*value, *value.values()])
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _texts(item)


@pytest.mark.usefixtures("impatient")
def test_thirty_submissions_get_the_marks_that_they_earn(tmp_path: Path) -> None:
    check_class(synthetic_class(30), tmp_path)


@pytest.mark.slow
@pytest.mark.timeout(1500)
def test_three_hundred_submissions_get_the_marks_that_they_earn(tmp_path: Path) -> None:
    """With the limits that an instructor's machine has, and everything that people read."""
    found = check_class(synthetic_class(), tmp_path)
    assert len(found.graded) >= 300
    written = write_reports(found, tmp_path / "results", {})
    pages = [path for path in written if "feedback" in path.parts]
    words = hidden_words(found)
    assert len(words) > 100
    for path in pages:
        text = path.read_text("utf-8")
        assert [word for word in words if word in text] == [], path


# --- check and grade agree -----------------------------------------------------------------------


@pytest.mark.slow
def test_the_learners_check_and_the_grader_agree_on_public_cases(tmp_path: Path) -> None:
    """For every mistake, case by case: the check's own comparison against the grader's verdict."""
    from classroom.checking import agree, run_reference
    from synthetic_class import standalone

    students = {}
    for exercise in ALL.values():
        for mistake in exercise.mistakes:
            if mistake.hangs:
                continue
            name = f"{exercise.id}-{mistake.name}"
            students[name] = (exercise, mistake)
            path = tmp_path / "submitted" / name / f"{assignment_name(exercise.stage)}.ipynb"
            path.parent.mkdir(parents=True)
            answer = {exercise.id: standalone(exercise, mistake)}
            path.write_bytes(notebook_of(exercise.stage, answer))
    found = {one.student: one for one in graded(tmp_path / "submitted", tmp_path / "r").graded}
    differing = []
    for name, (exercise, mistake) in students.items():
        (mark,) = [mark for mark in found[name].marks if mark.exercise == exercise.id]
        if mark.outcome is Outcome.NOT_ATTEMPTED:
            differing.append(name)
            continue
        for case, verdict in zip(exercise.cases, mark.cases, strict=False):
            theirs = run_reference(replace(exercise, reference=mistake.function), case.arguments)
            if agree(theirs, run_reference(exercise, case.arguments)) != verdict.passed:
                differing.append(f"{name}: {case.why}")
    assert differing == []


# --- records -------------------------------------------------------------------------------------


def test_a_record_holds_everything_and_is_signed(tmp_path: Path) -> None:
    graded(small_class(tmp_path), tmp_path / "results")
    path = tmp_path / "results/records/anna/ps02_chunking.json"
    one, made = read_record(path, SECRET)
    assert (one.student, one.score, one.max_score) == ("anna", 10.0, 16)
    assert made.seed == SEED
    assert made.sandbox == "bubblewrap"
    assert all(len(value) == 64 for value in (made.submission, made.code, made.environment))
    with pytest.raises(LabError, match="another key"):
        read_record(path, Secret(b"x" * 32))


@pytest.mark.parametrize("change", ["score", "fingerprint", "signature", "cases"])
def test_a_record_that_was_changed_is_noticed(tmp_path: Path, change: str) -> None:
    graded(small_class(tmp_path), tmp_path / "results")
    path = tmp_path / "results/records/chloé/ps02_chunking.json"
    record = json.loads(path.read_text())
    if change == "score":
        record["graded"]["marks"][0]["score"] = 6.0
    elif change == "fingerprint":
        record["fingerprint"]["submission"] = "0" * 64
    elif change == "cases":
        record["graded"]["marks"][0]["cases"][0]["passed"] = True
    else:
        record["signature"] = record["signature"][::-1]
    path.write_text(json.dumps(record))
    with pytest.raises(LabError, match="changed"):
        read_record(path, SECRET)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "[" * 100_000, "null", '{"signature": 1}', '{"signature": "a"}']
)
def test_what_is_no_record_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "record.json"
    path.write_text(text)
    with pytest.raises(LabError, match=r"record\.json"):
        read_record(path, SECRET)


def records(results: Path) -> list[Path]:
    return sorted((results / RECORDS).glob("*/*.json"))


def without_figures(folder: Path) -> dict[str, Any]:
    """All records, less what was measured."""
    found = {}
    for path in records(folder):
        record = json.loads(path.read_text())
        for mark in record["graded"]["marks"]:
            del mark["wall"], mark["cpu"], mark["memory"]
        del record["signature"]
        found[path.relative_to(folder).as_posix()] = record
    return found


def test_the_same_submissions_give_the_same_records(tmp_path: Path) -> None:
    folder = small_class(tmp_path)
    for name in ("first", "second"):
        graded(folder, tmp_path / name)
    assert without_figures(tmp_path / "first") == without_figures(tmp_path / "second") != {}


def test_what_was_graded_before_is_kept_until_it_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    assert graded(folder, results).kept == 0
    assert graded(folder, results).kept == 3
    path = folder / "ben" / "ps02_chunking" / "chunking.ipynb"
    path.write_bytes(notebook_of(2, {"chunk_text": ALL["chunk_text"].solution}))
    again = graded(folder, results)
    assert again.kept == 2
    assert {one.student: one.score for one in again.graded}["ben"] == 6.0
    assert graded(folder, results, fresh=True).kept == 0
    monkeypatch.setitem(fence.LIMITS, "CPU", 59)
    assert graded(folder, results).kept == 0


def test_what_other_code_has_graded_is_graded_again_and_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A late submission must not meet other rules than all the rest did."""
    folder, results = small_class(tmp_path), tmp_path / "results"
    graded(folder, results)
    assert (graded(folder, results).kept, graded(folder, results).again) == (3, 0)
    for changed in ("code", "environment"):
        monkeypatch.setattr(fingerprint, changed, lambda: "0" * 64)
        found = graded(folder, results)
        assert (found.kept, found.again) == (0, 3)
        assert graded(folder, results).kept == 3


def test_every_source_file_counts_for_the_fingerprint(tmp_path: Path) -> None:
    for name, content in {"a.py": "x = 1", "deep/b.py": "y = 1", "deep/c.txt": "z"}.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    before = fingerprint.hash_of([tmp_path])
    (tmp_path / "deep/c.txt").write_text("other words")
    assert fingerprint.hash_of([tmp_path]) == before
    (tmp_path / "deep/b.py").write_text("y = 2")
    changed = fingerprint.hash_of([tmp_path])
    (tmp_path / "deep/b.py").rename(tmp_path / "deep/d.py")
    assert len({before, changed, fingerprint.hash_of([tmp_path])}) == 3


def test_the_fingerprint_knows_what_grading_runs_on() -> None:
    versions = fingerprint._versions()
    assert versions.keys() >= {"numpy", "pyyaml", "snowballstemmer", "markdown-it-py", "ipython"}
    assert "pytest" not in versions


@pytest.mark.parametrize("options", [Options(SECRET, "winter"), Options(Secret(b"x" * 32), SEED)])
def test_records_of_another_seed_or_key_are_not_replaced_without_a_word(
    tmp_path: Path, options: Options
) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    graded(folder, results)
    before = {path: path.read_bytes() for path in records(results)}
    with pytest.raises(LabError, match="--fresh"):
        grade_class(folder, results, options)
    assert {path: path.read_bytes() for path in records(results)} == before
    assert grade_class(folder, results, replace(options, fresh=True)).kept == 0


def test_a_damaged_record_is_said_and_graded_again_when_asked(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    graded(folder, results)
    (results / "records/ben/ps02_chunking.json").write_text("{")
    with pytest.raises(LabError, match=r"ben/ps02_chunking\.json is no grade record.*--fresh"):
        graded(folder, results)
    assert graded(folder, results, fresh=True).kept == 0
    assert graded(folder, results).kept == 3


def test_two_students_who_look_alike_are_told_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = small_class(tmp_path)
    collect = grading.collect
    monkeypatch.setattr(
        grading, "collect", lambda path: [replace(one, student="ann") for one in collect(path)]
    )
    found = graded(folder, tmp_path / "results")
    names = [one.student for one in found.graded]
    assert len(set(names)) == 3
    assert all(name.startswith("ann [") for name in names)
    assert len(list(records(tmp_path / "results"))) == 3


def test_a_record_of_another_student_is_no_record(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    graded(folder, results)
    paths = list(records(results))
    paths[1].write_bytes(paths[0].read_bytes())
    with pytest.raises(LabError, match="another student's"):
        graded(folder, results)


def test_results_that_cannot_be_written_are_said_before_anything_runs(tmp_path: Path) -> None:
    (tmp_path / "results").write_text("a file")
    with pytest.raises(OSError, match="results"):
        graded(small_class(tmp_path), tmp_path / "results")


def test_another_reason_is_another_submission(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    path = folder / "ben" / "ps02_chunking" / "chunking.ipynb"
    path.write_bytes(b"{")
    graded(folder, results)
    path.write_bytes(b" " * 11_000_000)
    assert graded(folder, results).kept == 2


def test_results_inside_the_submissions_are_refused(tmp_path: Path) -> None:
    folder = small_class(tmp_path)
    for results in (folder, folder / "results", folder / "ben" / "results"):
        with pytest.raises(LabError, match="lies inside"):
            graded(folder, results)


def test_an_interruption_loses_nothing(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"

    def pressed(done: int, of: int, name: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        grade_class(folder, results, Options(SECRET, SEED, jobs=1), pressed)
    before = len(list(records(results)))
    assert before >= 1
    again = graded(folder, results)
    assert again.kept == before
    assert len(again.graded) == 3


def test_an_interruption_ends_at_once_and_marks_nobody_for_it(tmp_path: Path) -> None:
    """One submission hangs; the Ctrl-C comes when the first other one is done."""
    folder, results = small_class(tmp_path), tmp_path / "results"
    path = folder / "anna" / "ps02_chunking" / "chunking.ipynb"
    path.write_bytes(notebook_of(2, {"chunk_text": "def chunk_text(*a):\n    while True: pass"}))

    def pressed(done: int, of: int, name: str) -> None:
        raise KeyboardInterrupt

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        grade_class(folder, results, Options(SECRET, SEED, jobs=2), pressed)
    assert time.monotonic() - began < 8  # the loop alone would take 12 s and more
    assert not (results / "records/anna").exists()


def test_a_fault_on_one_submission_stops_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    triage = grading.triage

    def failing(submission: Any) -> Any:
        if submission.student == "ben":
            raise RuntimeError("a fault of ours")
        return triage(submission)

    monkeypatch.setattr(grading, "triage", failing)
    found = graded(small_class(tmp_path), tmp_path / "results")
    assert [one.student for one in found.graded] == ["anna", "chloé"]
    (fault,) = found.faults
    assert "a fault of ours" in fault


# --- grading again -------------------------------------------------------------------------------


def test_grading_again_reproduces_the_records(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    graded(folder, results)
    before = {path: path.read_bytes() for path in records(results)}
    again = regrade(folder, results, Options(SECRET, jobs=2))
    assert [one.differences for one in again] == [[], [], []]
    assert {path: path.read_bytes() for path in records(results)} == before


def test_grading_again_lists_what_is_different(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    graded(folder, results)
    path = folder / "ben" / "ps02_chunking" / "chunking.ipynb"
    path.write_bytes(notebook_of(2, {"chunk_text": ALL["chunk_text"].solution}))
    again = {
        one.before.student: one.differences for one in regrade(folder, results, Options(SECRET))
    }
    assert again["anna"] == again["chloé"] == []
    assert again["ben"][0] == "another submission than then"
    assert again["ben"][1].startswith("chunk_text: 0 (not attempted) in the record, 6 (right) now")


def test_grading_again_needs_records_and_their_key(tmp_path: Path) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    with pytest.raises(LabError, match="no record"):
        regrade(folder, results, Options(SECRET))
    graded(folder, results)
    with pytest.raises(LabError, match="another key"):
        regrade(folder, results, Options(Secret(b"y" * 32)))


# --- the key file --------------------------------------------------------------------------------


def test_a_key_file_is_made_once_for_its_owner_alone(tmp_path: Path) -> None:
    path = tmp_path / "below" / "grading.key"
    seed = open_secret(path, create=True).seed("1")
    assert open_secret(path, create=True).seed("1") == open_secret(path).seed("1") == seed
    if os.name == "posix":
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_seeds_tell_keys_and_labels_apart() -> None:
    keys = [Secret(b"a" * 32), Secret(b"b" * 32)]
    assert len({key.seed(label) for key in keys for label in ("1", "2")}) == 4
    assert keys[0].sign(b"x") != keys[0].seed("x")


@pytest.mark.parametrize("text", ["", "secret", "0" * 63, "0" * 66, "g" * 64])
def test_what_is_no_key_is_refused_without_being_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "my.key"
    path.write_text(text)
    with pytest.raises(LabError, match=r"my\.key holds no key") as refused:
        open_secret(path)
    assert not text or text not in str(refused.value)


def test_a_missing_key_is_said(tmp_path: Path) -> None:
    with pytest.raises(LabError, match=r"gone\.key cannot be read"):
        open_secret(tmp_path / "gone.key")


def test_the_key_has_a_place_of_its_own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("LABKIT_GRADING_KEY", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert default_secret_path() == tmp_path / "labkit" / "grading.key"
    monkeypatch.setenv("LABKIT_GRADING_KEY", str(tmp_path / "k"))
    assert default_secret_path() == tmp_path / "k"


# --- the commands --------------------------------------------------------------------------------


def test_grade_writes_what_people_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, results = small_class(tmp_path), tmp_path / "results"
    key = tmp_path / "grading.key"
    assert run("grade", folder, "--out", results, "--key", key, "--new-key", "--jobs", 2) == 0
    said = capsys.readouterr().out
    assert "Submissions: 3" in said
    assert "Sandbox: bubblewrap" in said
    assert str(results / "overview.html") in said
    names = {path.relative_to(results).as_posix() for path in results.rglob("*") if path.is_file()}
    assert names >= {
        "marks.csv",
        "marks-canvas.csv",
        "marks-moodle.csv",
        "marks-nbgrader.csv",
        "overview.html",
        "records/anna/ps02_chunking.json",
        "feedback/anna/ps02_chunking.html",
        "answers/ps02_chunking/submissions/anna/chunk_text.py",
    }
    with (results / "marks.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 9
    scores = {(row["student"], row["exercise"]): row["score"] for row in rows}
    assert float(scores["anna", "chunk_text"]) == 6
    assert float(scores["ben", "chunk_text"]) == 0
    assert run("regrade", folder, results, "--key", key) == 0
    assert "3 graded again, 0 of them with differences." in capsys.readouterr().out


def test_grade_and_regrade_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, results, key = small_class(tmp_path), tmp_path / "results", tmp_path / "k"
    assert run("grade", folder, "-o", results, "--key", key, "--new-key", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    assert said["submissions"] == 3
    assert said["outcomes"] == {"not attempted": 6, "wrong": 1, "right": 2}
    assert "marks.csv" in said["written"]
    shutil.copy(
        folder / "anna" / "ps02_chunking" / "chunking.ipynb",
        folder / "ben" / "ps02_chunking" / "chunking.ipynb",
    )
    assert run("regrade", folder, results, "--key", key, "--json") == 3
    said = json.loads(capsys.readouterr().out)
    assert said["graded_again"] == 3
    assert [item["submission"] for item in said["different"]] == [
        "ben/ps02_chunking/chunking.ipynb"
    ]


def test_without_a_sandbox_the_command_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(fence, "can_isolate", lambda: False)
    folder, results, key = small_class(tmp_path), tmp_path / "results", tmp_path / "k"
    assert run("grade", folder, "-o", results, "--key", key, "--new-key") == 2
    said = capsys.readouterr().err
    assert "bubblewrap" in said
    assert "--unsafe-without-sandbox" in said
    assert run("grade", folder, "-o", results, "--key", key, "--unsafe-without-sandbox") == 0
    assert "Sandbox: none" in capsys.readouterr().out


def test_a_mistyped_key_makes_no_key(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, results, key = small_class(tmp_path), tmp_path / "results", tmp_path / "typo.key"
    assert run("grade", folder, "-o", results, "--key", key) == 2
    assert "--new-key" in capsys.readouterr().err
    assert not key.exists()
    assert run("grade", folder, "-o", results, "--key", key, "--new-key") == 0
    assert f"Made a new key: {key}" in capsys.readouterr().err


def test_an_empty_seed_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("grade", small_class(tmp_path), "-o", tmp_path / "r", "--seed", " ") == 2
    assert "--seed is empty" in capsys.readouterr().err


def test_an_empty_folder_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run("grade", tmp_path / "none", "-o", tmp_path / "r", "--key", tmp_path / "k", "--new-key")
        == 2
    )
    assert "none" in capsys.readouterr().err


def test_the_examples_verdict_is_the_checks(tmp_path: Path) -> None:
    """One mistake all the way: the learner reads the same sentence in a lesson and in feedback."""
    source = "def chunk_text(text, size, overlap):\n    return [text]"
    namespace: dict[str, Any] = {}
    exec(source, namespace)
    said = check_function(ALL["chunk_text"], namespace["chunk_text"])
    found = {one.student: one for one in graded(small_class(tmp_path), tmp_path / "r").graded}
    mark: Any = found["chloé"].marks[0]
    assert mark.sentence == said.mistake
