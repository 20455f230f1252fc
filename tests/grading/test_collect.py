"""Submissions are found however they were handed in, and no entry stops another."""

from __future__ import annotations

import hashlib
import io
import json
import os
import random
import string
import zipfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.exercises import ALL
from classroom.grading.names import file_name, file_names, shown
from classroom.grading.submissions import files
from classroom.grading.submissions.candidates import MAX_NAMED, submissions_of
from classroom.grading.submissions.collect import collect
from classroom.grading.submissions.place import Place, place_of
from classroom.grading.submissions.triage import triage
from classroom.grading.types import Kind, Submission, Triaged
from classroom.release import CHECKOUT, TOPICS, assignment_name
from labkit.types import LabError
from strategies import any_text

CHUNKING, STORE, GATE = "ps02_chunking", "ps04_store", "ps07_citation_gate"


def work(assignment: str = CHUNKING, folder: str = "solutions") -> bytes:
    (path,) = (CHECKOUT / folder / assignment).glob("*.ipynb")
    return path.read_bytes()


def script(stage: int) -> bytes:
    return "\n\n".join(e.solution for e in ALL.values() if e.stage == stage).encode()


def put(root: Path, files: dict[str, bytes], changed: float | None = None) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        if changed is not None:
            os.utime(path, (changed, changed))
    return root


def zipped(files: dict[str, bytes]) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return buffer.getvalue()


def whose(submissions: list[Submission]) -> list[tuple[str, str]]:
    return [(s.student, s.assignment) for s in submissions]


def kinds(submission: Submission | Triaged) -> list[Kind]:
    return [finding.kind for finding in submission.findings]


# --- layouts --------------------------------------------------------------------------------------

ANNA, BEN = ("anna", CHUNKING), ("ben", STORE)
LAYOUTS: dict[str, dict[str, bytes]] = {
    "nbgrader": {f"anna/{CHUNKING}/chunking.ipynb": work(), f"ben/{STORE}/x.ipynb": work(STORE)},
    "folders": {"anna/chunking.ipynb": work(), "ben/week4/deep/store.ipynb": work(STORE)},
    "folders, Python": {"anna/mine.py": script(2), "ben/store.py": script(4)},
    "plain files": {"anna_ps02_chunking.ipynb": work(), f"ben-{STORE}.ipynb": work(STORE)},
    "short names": {"anna_ps2.ipynb": work(), "PS04 ben.ipynb": work(STORE)},
    "topics": {"anna_chunking.ipynb": work(), "store-ben.ipynb": work(STORE)},
    "by content": {"anna.ipynb": work(), "ben.py": script(4)},
    "named folders": {"anna_ps02/a.ipynb": work(), "ben_ps04_store/b.ipynb": work(STORE)},
    "zips": {"anna.zip": zipped({"chunking.ipynb": work()}),
             "ben.zip": zipped({"b.py": script(4)})},
    "zips with folders": {"anna.zip": zipped({f"anna/{CHUNKING}/chunking.ipynb": work()}),
                          "ben.zip": zipped({"__MACOSX/._x.ipynb": b"x", "ben/b.py": script(4)})},
    "zip in zip": {"anna/all.zip": zipped({"in.zip": zipped({"chunking.ipynb": work()})}),
                   "ben/store.zip": zipped({"b.py": script(4)})},
    "windows zip": {"anna.zip": zipped({"work\\chunking.ipynb": work()}), "ben.py": script(4)},
    "Moodle": {"anna_17_assignsubmission_file_/chunking.ipynb": work(),
               "anna_17_assignsubmission_onlinetext_/onlinetext.html": b"<p>Hello</p>",
               "ben_18_assignsubmission_file_/x.zip": zipped({"store.ipynb": work(STORE)})},
    "Moodle, flat": {"anna_17_assignsubmission_file_chunking.ipynb": work(),
                     "ben_18_assignsubmission_file_store.ipynb": work(STORE)},
    "Canvas": {"anna_17_901_chunking.ipynb": work(), "ben_LATE_18_902_store-2.ipynb": work(STORE)},
    "Canvas, zips": {"anna_17_901_ps02.zip": zipped({"chunking.ipynb": work()}),
                     "ben_18_902_work-1.zip": zipped({"b.py": script(4)})},
    "endings of browsers": {"anna/chunking.ipynb.txt": work(), "ben/store.ipynb.json": work(STORE)},
}  # fmt: skip


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("how", ["folder", "zip", "zip with a folder", "course"])
def test_every_layout_gives_the_same_submissions(layout: str, how: str, tmp_path: Path) -> None:
    files = LAYOUTS[layout]
    root = tmp_path / "class"
    if how == "folder":
        put(root, files)
    elif how == "course":
        put(root, {f"submitted/{name}": content for name, content in files.items()})
        put(root, {f"source/{STORE}/store.ipynb": work(STORE), "nbgrader_config.py": b"c = 1"})
    else:
        root = tmp_path / "class.zip"
        top = "class/" if how == "zip with a folder" else ""
        root.write_bytes(zipped({f"{top}{name}": content for name, content in files.items()}))
    submissions = collect(root)
    assert whose(submissions) == [ANNA, BEN]
    assert all(kinds(s) in ([], [Kind.LATE]) and s.file.cells for s in submissions)
    assert all(not s.name.startswith(("class", "submitted", "/")) for s in submissions)
    for submission in submissions:
        assert set(kinds(triage(submission))) <= {Kind.MAGIC, Kind.SOLUTION_MARKS}


@pytest.mark.parametrize("folder", ["exercises", "solutions"])
def test_the_shipped_folders_are_submissions_of_whoever_is_called_so(folder: str) -> None:
    expected = [(folder, assignment_name(stage)) for stage in TOPICS]
    submissions = collect(CHECKOUT / folder)
    assert whose(submissions) == expected
    assert all(submission.findings == () for submission in submissions)


def test_a_single_students_folder_is_named_after_itself(tmp_path: Path) -> None:
    root = put(tmp_path / "anna", {"chunking.ipynb": work(), "ps04_store.ipynb": work(STORE)})
    assert whose(collect(root)) == [("anna", CHUNKING), ("anna", STORE)]


def test_a_file_with_several_stages_is_a_submission_for_each(tmp_path: Path) -> None:
    both = script(2) + b"\n\n" + script(4)
    put(tmp_path, {"anna.py": both})
    submissions = collect(tmp_path)
    assert whose(submissions) == [("anna", CHUNKING), ("anna", STORE)]
    assert [s.file.cells[0].source for s in submissions] == [both.decode()] * 2


def test_a_helper_of_another_stage_does_not_make_a_second_submission(tmp_path: Path) -> None:
    put(tmp_path, {"anna/chunking.py": script(2) + script(1)})
    assert whose(collect(tmp_path)) == [("anna", CHUNKING)]


def test_a_student_called_submitted_hides_nobody(tmp_path: Path) -> None:
    put(
        tmp_path, {"anna/chunking.ipynb": work(), "submitted/x/ps04_store/store.ipynb": work(STORE)}
    )
    assert {student for student, _ in whose(collect(tmp_path))} == {"anna", "submitted"}
    put(tmp_path / "flat", {"anna.ipynb": work(), "submitted/store.ipynb": work(STORE)})
    assert whose(collect(tmp_path / "flat")) == [("anna", CHUNKING), ("submitted", STORE)]


def test_namesakes_keep_their_platforms_number(tmp_path: Path) -> None:
    put(tmp_path / "moodle", {
        "Anna Li_17_assignsubmission_file_/chunking.ipynb": work(),
        "Anna Li_18_assignsubmission_file_/chunking.ipynb": work(),
        "Ben_19_assignsubmission_file_/chunking.ipynb": work(),
        "Ben_77_assignsubmission_file_/store.ipynb": work(STORE),
    })  # fmt: skip
    assert whose(collect(tmp_path / "moodle")) == [
        ("Anna Li (17)", CHUNKING),
        ("Anna Li (18)", CHUNKING),
        ("Ben", CHUNKING),  # Moodle numbers anew in each assignment
        ("Ben", STORE),
    ]
    put(tmp_path / "canvas", {"li_17_1_chunking.ipynb": work(), "li_18_2_store.ipynb": work(STORE)})
    assert whose(collect(tmp_path / "canvas")) == [("li (17)", CHUNKING), ("li (18)", STORE)]


def test_accents_taken_apart_by_macos_are_one_student(tmp_path: Path) -> None:
    put(tmp_path, {"Jos\u00e9/chunking.ipynb": work(), "Jose\u0301/store.ipynb": work(STORE)})
    assert whose(collect(tmp_path)) == [("Jos\u00e9", CHUNKING), ("Jos\u00e9", STORE)]


# --- which file, which assignment -----------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    [
        "chunking (1).ipynb",
        "chunking(1).ipynb",
        "Copy of chunking.ipynb",
        "chunking-Copy1.ipynb",
        "chunking - Copy.ipynb",
        "chunking copy 2.ipynb",
        "Copie de chunking.ipynb",
        "Chunking_final.ipynb",
        "my chunking.ipynb",
        "homework.ipynb",
    ],
)
def test_a_renamed_file_is_recognised_and_said(name: str, tmp_path: Path) -> None:
    put(tmp_path, {f"anna/{name}": work()})
    (submission,) = collect(tmp_path)
    assert submission.assignment == CHUNKING
    assert [(f.kind, f.repaired) for f in submission.findings] == [(Kind.RENAMED, True)]


def test_a_file_named_after_another_assignment_goes_by_its_content(tmp_path: Path) -> None:
    put(tmp_path, {f"anna/{CHUNKING}/chunking.ipynb": work(STORE)})
    (submission,) = collect(tmp_path)
    assert (submission.assignment, kinds(submission)) == (STORE, [Kind.RENAMED])


def test_an_emptied_notebook_stays_with_its_name(tmp_path: Path) -> None:
    put(tmp_path, {"anna/chunking.ipynb": b'{"cells": []}', "ben/chunking.ipynb": b"{"})
    assert whose(collect(tmp_path)) == [("anna", CHUNKING), ("ben", CHUNKING)]


def test_the_newest_of_several_files_counts_and_names_the_others(tmp_path: Path) -> None:
    put(tmp_path, {f"anna/{CHUNKING}/a.ipynb": work()}, changed=100)
    put(tmp_path, {f"anna/{CHUNKING}/b.ipynb": work() + b"\n"}, changed=200)
    (submission,) = collect(tmp_path)
    assert submission.name == f"anna/{CHUNKING}/b.ipynb"
    (finding,) = submission.findings
    assert finding.kind is Kind.SEVERAL_FILES
    assert finding.message.endswith(f"Left aside: anna/{CHUNKING}/a.ipynb, which is older.")
    os.utime(tmp_path / "anna" / CHUNKING / "a.ipynb", (300, 300))
    assert collect(tmp_path)[0].name == f"anna/{CHUNKING}/a.ipynb"


@pytest.mark.parametrize("copy", ["chunking-Copy1.ipynb", "chunking (1).ipynb"])
@pytest.mark.parametrize("folder", ["", f"{CHUNKING}/"])
def test_the_name_that_was_handed_out_wins_over_a_copy(
    copy: str, folder: str, tmp_path: Path
) -> None:
    put(tmp_path, {f"anna/{folder}chunking.ipynb": work()}, changed=100)
    put(tmp_path, {f"anna/{folder}{copy}": work().replace(b"text", b"txet")}, changed=200)
    (submission,) = collect(tmp_path)
    assert submission.name == f"anna/{folder}chunking.ipynb"
    (finding,) = submission.findings
    assert finding.message.endswith(f"{copy}, which has the name of a copy.")
    assert not finding.repaired  # another work was left aside: a person should look
    put(tmp_path, {f"anna/{folder}chunking.ipynb": work(folder="exercises")}, changed=100)
    (submission,) = collect(tmp_path)
    assert submission.name == f"anna/{folder}{copy}"
    several = next(f for f in submission.findings if f.kind is Kind.SEVERAL_FILES)
    assert several.message.endswith("chunking.ipynb, which holds only the starter.")
    assert several.repaired


def test_the_same_work_twice_asks_nobody_for_a_look(tmp_path: Path) -> None:
    reordered = json.dumps(json.loads(work()), indent=3).encode()
    put(tmp_path, {"anna/chunking.ipynb": work(), "anna/chunking-Copy1.ipynb": reordered}, 100)
    (finding,) = collect(tmp_path)[0].findings
    assert (finding.kind, finding.repaired) == (Kind.SEVERAL_FILES, True)


def test_a_second_file_that_cannot_be_read_asks_for_a_look(tmp_path: Path) -> None:
    put(tmp_path, {f"anna/{CHUNKING}/a.ipynb": work()})
    put(tmp_path, {f"anna/{CHUNKING}/b.ipynb": b"0" * (files.MAX_BYTES + 1)})
    (finding,) = collect(tmp_path)[0].findings
    assert finding.message.endswith("b.ipynb, which cannot be read.")
    assert not finding.repaired


def test_each_file_is_left_aside_for_its_own_reason(tmp_path: Path) -> None:
    put(tmp_path, {"li_1_7_chunking-2.ipynb": work()})
    put(tmp_path, {"li_1_6_chunking-1.ipynb": work(), "li_1_5_my.ipynb": work()})
    put(tmp_path, {"li_1_8_chunking-3.ipynb": work(folder="exercises")})
    (finding,) = collect(tmp_path)[0].findings
    assert finding.message.endswith(
        "Left aside: li_1_6_chunking-1.ipynb, which was sent earlier; "
        "li_1_5_my.ipynb, which is not named after the assignment; "
        "li_1_8_chunking-3.ipynb, which holds only the starter."
    )


def test_what_canvas_calls_the_newest_counts_whatever_the_clock_says(tmp_path: Path) -> None:
    put(tmp_path, {"li_1_7_chunking-2.ipynb": work()}, changed=100)
    put(tmp_path, {"li_1_5_chunking.ipynb": work(), "li_1_6_chunking-1.ipynb": work()}, changed=200)
    (submission,) = collect(tmp_path)
    assert submission.name == "li_1_7_chunking-2.ipynb"


def test_the_untouched_download_does_not_hide_the_work(tmp_path: Path) -> None:
    put(tmp_path, {"anna/my_homework.ipynb": work()}, changed=100)
    put(tmp_path, {"anna/chunking.ipynb": work(folder="exercises")}, changed=200)
    (submission,) = collect(tmp_path)
    assert submission.name == "anna/my_homework.ipynb"


def test_checkpoints_caches_and_hidden_files_are_nobodys_work(tmp_path: Path) -> None:
    put(tmp_path, {
        "anna/chunking.ipynb": work(),
        "anna/.ipynb_checkpoints/store-checkpoint.ipynb": work(STORE),
        "anna/__pycache__/a.py": script(4),
        "anna/__MACOSX/store.ipynb": work(STORE),
        "anna/venv/lib/site.py": script(4),
        "anna/notes.txt": b"a note",
        ".DS_Store": b"x",
        "README.md": b"hello",
        "nbgrader_config.py": b"c = 1",
    })  # fmt: skip
    (submission,) = collect(tmp_path)
    assert (submission.name, submission.findings) == ("anna/chunking.ipynb", ())


# --- what the platforms know ---------------------------------------------------------------------


def test_the_platforms_number_stays_with_the_submission(tmp_path: Path) -> None:
    put(tmp_path, {
        "li_LATE_17_1_chunking.ipynb": work(),
        "Ann Lee_1048576_assignsubmission_file_/store.ipynb": work(STORE),
        "zoe/store.ipynb": work(STORE),
        "no_LATE_18_1_chunking.pdf": b"%PDF",
    })  # fmt: skip
    assert [(s.student, s.number, s.platform) for s in collect(tmp_path)] == [
        ("Ann Lee", "1048576", "moodle"),
        ("li", "17", "canvas"),
        ("no", "18", "canvas"),
        ("zoe", "", ""),
    ]
    assert [Kind.LATE in kinds(s) for s in collect(tmp_path)] == [False, True, True, False]


def test_a_file_for_nothing_counts_for_what_all_others_are_for(tmp_path: Path) -> None:
    put(tmp_path, {f"{name}/chunking.ipynb": work() for name in ("ben", "cleo")})
    put(tmp_path, {"anna/scan.pdf": b"%PDF", "dora/x.py": b"x = 1", "ben/physics.py": b"E = 1"})
    assert whose(collect(tmp_path)) == [
        ("anna", CHUNKING),
        ("ben", ""),  # has answered; a further file is no second answer
        ("ben", CHUNKING),
        ("cleo", CHUNKING),
        ("dora", CHUNKING),
    ]
    anna = collect(tmp_path)[0]
    assert kinds(anna) == [Kind.NO_NOTEBOOK, Kind.RENAMED]
    assert not anna.findings[0].repaired
    put(tmp_path, {"emil/store.ipynb": work(STORE)})
    assert ("anna", "") in whose(collect(tmp_path))


@pytest.mark.parametrize(
    ("name", "student"),
    [("anna.ipynb", "anna"), ("chunking.ipynb.txt", "chunking"), ("ben_ps02.py", "ben")],
)
def test_one_file_is_a_class_of_one(name: str, student: str, tmp_path: Path) -> None:
    content = script(2) if name.endswith(".py") else work()
    (submission,) = collect(put(tmp_path, {name: content}) / name)
    assert (submission.student, submission.assignment) == (student, CHUNKING)
    assert (submission.sha256, submission.name) == (hashlib.sha256(content).hexdigest(), name)


@pytest.mark.parametrize("name", ["scan.pdf", "README"])
def test_a_file_that_is_neither_zip_nor_notebook_is_refused(name: str, tmp_path: Path) -> None:
    message = f"{name} is no zip and no notebook: put submissions into a folder"
    with pytest.raises(LabError, match=message):
        collect(put(tmp_path, {name: b"x"}) / name)


def test_a_zip_needs_no_ending(tmp_path: Path) -> None:
    put(tmp_path, {"download": zipped({"anna/chunking.ipynb": work()})})
    assert whose(collect(tmp_path / "download")) == [("anna", CHUNKING)]


def test_a_path_that_is_not_there_is_named_as_it_was_typed() -> None:
    with pytest.raises(LabError, match=r"`\.\./class/nowhere` does not exist\. Expected"):
        collect(Path("../class/nowhere"))


# --- what is wrong, and stops nobody --------------------------------------------------------------


def others_stand(root: Path) -> Submission:
    """The submission of anna, where ben's must be untouched by hers."""
    put(root, {"ben/store.ipynb": work(STORE)})
    anna, *bens = collect(root)
    assert [(s.student, s.assignment, s.findings) for s in bens] == [(*BEN, ())]
    assert anna.student == "anna"
    assert str(root) not in repr(anna.findings)
    return anna


def test_a_document_instead_of_a_notebook_is_said(tmp_path: Path) -> None:
    put(tmp_path, {"anna/answer.docx": b"PK", "anna/scan.pdf": b"%PDF"})
    anna = others_stand(tmp_path)
    assert (anna.assignment, anna.file.cells, kinds(anna)) == ("", (), [Kind.NO_NOTEBOOK])
    assert "anna/answer.docx, anna/scan.pdf" in anna.findings[0].message


def test_a_document_for_one_assignment_is_said_beside_a_notebook_for_another(
    tmp_path: Path,
) -> None:
    put(tmp_path, {"anna/chunking.ipynb": work(), f"anna/{STORE}/store.pdf": b"%PDF"})
    assert whose(collect(tmp_path)) == [("anna", CHUNKING), ("anna", STORE)]
    assert kinds(collect(tmp_path)[1]) == [Kind.NO_NOTEBOOK]


def test_an_empty_folder_is_a_student_without_a_notebook(tmp_path: Path) -> None:
    (tmp_path / "anna").mkdir()
    assert kinds(others_stand(tmp_path)) == [Kind.NO_NOTEBOOK]


def test_a_file_of_something_else_is_not_ours(tmp_path: Path) -> None:
    put(tmp_path, {"anna/physics.py": b"print('E = mc2')"})
    anna = others_stand(tmp_path)
    assert (anna.assignment, kinds(anna)) == ("", [Kind.NOT_OURS])


def test_files_of_no_assignment_are_one_submission_that_names_them(tmp_path: Path) -> None:
    put(tmp_path, {f"anna/physics{n}.py": b"E = 1" for n in range(9)}, changed=100)
    anna = others_stand(tmp_path)
    assert kinds(anna) == [Kind.NOT_OURS] * (1 + MAX_NAMED)
    assert anna.name == "anna/physics8.py"
    assert anna.findings[1].message.startswith("anna/physics7.py: Nothing in this file")


def test_a_large_file_is_not_read(tmp_path: Path) -> None:
    put(tmp_path, {"anna/chunking.ipynb": b"x" * (files.MAX_BYTES + 1)})
    anna = others_stand(tmp_path)
    assert (anna.assignment, anna.file.cells, kinds(anna)) == (CHUNKING, (), [Kind.TOO_LARGE])
    assert triage(anna).findings == ()


def test_a_file_that_the_computer_refuses_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    put(tmp_path, {"anna/chunking.ipynb": work()})
    plain = files._read

    def read(path: Path, limit: int) -> bytes:
        if path.parent.name == "anna":
            raise PermissionError(13, "Permission denied", str(path))
        return plain(path, limit)

    monkeypatch.setattr(files, "_read", read)
    assert kinds(others_stand(tmp_path)) == [Kind.UNREADABLE]


def test_links_are_never_followed(tmp_path: Path) -> None:
    secret = put(tmp_path / "outside", {"chunking.ipynb": work()})
    root = tmp_path / "class"
    (root / "anna").mkdir(parents=True)
    (root / "anna" / "chunking.ipynb").symlink_to(secret / "chunking.ipynb")
    (root / "anna" / "loop").symlink_to(root)
    anna, *_ = collect(put(root, {"ben/store.ipynb": work(STORE)}))
    assert all(s.file.cells == () for s in collect(root) if s.student == "anna")
    assert Kind.IGNORED_FILE in kinds(anna)


def test_a_pipe_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "anna").mkdir()
    os.mkfifo(tmp_path / "anna" / "chunking.ipynb")
    assert kinds(others_stand(tmp_path)) == [Kind.NO_NOTEBOOK]


def test_a_student_cannot_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "MAX_STUDENT_BYTES", 20_000)
    put(tmp_path, {f"anna/ps0{n}.ipynb": work(assignment_name(n)) for n in range(1, 8)})
    put(tmp_path, {"ben/store.ipynb": work(STORE)})
    submissions = collect(tmp_path)
    large = [s for s in submissions if Kind.TOO_LARGE in kinds(s)]
    assert len(large) == 5
    assert {s.student for s in large} == {"anna"}


def test_a_student_cannot_send_files_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "MAX_FILES", 10)
    put(tmp_path, {"anna/a.ipynb": work()} | {f"anna/b{n}.txt": b"x" for n in range(20)})
    put(tmp_path, {"ben/store.ipynb": work(STORE)})
    submissions = collect(tmp_path)
    assert ("anna", CHUNKING) in whose(submissions)
    assert BEN in whose(submissions)
    assert [kinds(s) for s in submissions if not s.assignment] == [[Kind.TOO_LARGE]]


# --- hostile zips ---------------------------------------------------------------------------------


def entry(name: str, **fields: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)
    for field, value in fields.items():
        setattr(info, field, value)
    return info


def zip_with(info: zipfile.ZipInfo, content: bytes, also: dict[str, bytes] | None = None) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr(info, content)
        for name, more in (also or {}).items():
            archive.writestr(name, more)
    return buffer.getvalue()


@pytest.mark.parametrize(
    "name", ["../../evil.ipynb", "/etc/evil.ipynb", "C:\\evil.ipynb", "..\\e.py"]
)
def test_a_name_that_leads_out_of_a_zip_is_told_and_not_read(name: str, tmp_path: Path) -> None:
    also = {"store.ipynb": work(STORE)}
    put(tmp_path, {"anna.zip": zip_with(entry(name), work(), also), "ben.py": script(4)})
    evil, good, ben = collect(tmp_path)
    assert (evil.student, evil.file.cells, kinds(evil)) == ("anna", (), [Kind.HOSTILE_NAME])
    assert [(good.student, good.assignment), (ben.student, ben.assignment)] == [
        ("anna", STORE),
        BEN,
    ]
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["anna.zip", "ben.py"]


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (zip_with(entry("chunking.ipynb", external_attr=0o120777 << 16), b"/etc/passwd"),
         Kind.IGNORED_FILE),
        (zipped({"chunking.ipynb": b"0" * (files.MAX_BYTES + 1)}), Kind.TOO_LARGE),
        (zipped({f"{n}.ipynb": b"0" * files.MAX_BYTES for n in range(11)}), Kind.TOO_LARGE),
        (zipped({f"{n}.txt": b"" for n in range(files.MAX_FILES + 1)}), Kind.TOO_LARGE),
        (zipped({"chunking.ipynb": work()})[:-30], Kind.UNREADABLE),
        (b"no zip at all", Kind.UNREADABLE),
        (b"", Kind.UNREADABLE),
        (zipped({}), Kind.NO_NOTEBOOK),
        (zipped({"a.zip": zipped({"b.zip": zipped({"c.zip": zipped({})})})}), Kind.UNREADABLE),
    ],
    ids="link large total many truncated none empty-file empty-zip nested".split(),
)  # fmt: skip
def test_a_hostile_zip_is_a_finding(content: bytes, kind: Kind, tmp_path: Path) -> None:
    put(tmp_path, {"anna.zip": content})
    anna = others_stand(tmp_path)
    assert (anna.file.cells, kinds(anna)) == ((), [kind])


def test_a_locked_zip_and_an_odd_packing_are_findings(tmp_path: Path) -> None:
    locked = bytearray(zipped({"chunking.ipynb": work()}))
    locked[6] |= 1
    locked[locked.rindex(b"PK\x01\x02") + 8] |= 1
    put(tmp_path, {"anna.zip": bytes(locked)})
    anna = others_stand(tmp_path)
    assert (kinds(anna), "password" in anna.findings[0].message) == ([Kind.UNREADABLE], True)
    odd = entry("chunking.ipynb", compress_type=zipfile.ZIP_LZMA)
    put(tmp_path, {"anna.zip": zip_with(odd, work())})
    assert kinds(others_stand(tmp_path)) == [Kind.UNREADABLE]


def test_damaged_content_in_a_zip_is_a_finding(tmp_path: Path) -> None:
    content = bytearray(zipped({"chunking.ipynb": work()}))
    content[60:80] = b"\xff" * 20
    put(tmp_path, {"anna.zip": bytes(content)})
    assert kinds(others_stand(tmp_path)) == [Kind.UNREADABLE]


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, 255)), max_size=6))
def test_no_damage_to_a_zip_stops_the_others(changes: list[tuple[int, int]]) -> None:
    content = bytearray(zipped({"chunking.ipynb": work(), "a/b.py": script(2)}))
    for position, byte in changes:
        content[position % len(content)] = byte
    submissions_of("anna", files.in_zip(bytes(content), ("anna.zip",), ("anna.zip",)))


# --- nothing to collect ---------------------------------------------------------------------------


def test_a_folder_without_submissions_says_what_was_expected(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "nowhere"):
        with pytest.raises(LabError, match=r"Expected: a folder or a zip .* Moodle or Canvas"):
            collect(path)
    put(tmp_path, {"class.zip": b"no zip"})
    with pytest.raises(LabError, match=r"class\.zip: The zip cannot be read"):
        collect(tmp_path / "class.zip")


def test_the_result_is_the_same_each_time_and_sorted(tmp_path: Path) -> None:
    names = ["Zoë", "anna", "Ben", "ben", "émile"]
    put(tmp_path, {f"{name}/{t}.ipynb": work(STORE) for name in names for t in ("store", "x")}, 9)
    first = collect(tmp_path)
    assert first == collect(tmp_path)
    assert [s.student for s in first] == ["anna", "Ben", "ben", "Zoë", "émile"]


# --- names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["anna", "Anna Müller", "O'Brien, Seán", "ps02_chunking", "李雷", "a.b-c+d@e (2)"]
)
def test_plain_names_stay(name: str) -> None:
    assert file_name(name) == name


@pytest.mark.parametrize(
    "name",
    ["", ".", "..", "../x", "a/b", "a\\b", "-rf", ".hidden", "con", "NUL.txt", "COM1", "a\0b", "x ",
     "x.", "\u202egpj.exe", "a" * 81, "李" * 79, "a:b", "a*", "Jose\u0301", "x-0123456789ab",
     "\ud800", "-.x", "a..b", "<script>"],
)  # fmt: skip
def test_other_names_change_and_tell_it(name: str) -> None:
    made = file_name(name)
    assert made != name
    assert file_name(made) != made  # nobody can choose the name that another one becomes


@given(any_text | st.text(string.printable, max_size=100))
def test_a_file_name_is_one_on_every_system(name: str) -> None:
    made = file_name(name)
    assert 0 < len(made) <= 80
    assert len(made.encode("utf-8")) <= 200
    assert not set(made) & set('/\\:*?"<>|\0\n\r\t')
    assert ".." not in made
    assert made[0] not in ".- "
    assert made[-1] not in ". "
    assert shown(made) == made
    assert made.split(".")[0].strip().casefold() not in ("con", "nul", "prn", "aux", "com1", "lpt9")


@given(st.lists(any_text, unique=True, max_size=6))
def test_different_names_never_meet(names: list[str]) -> None:
    assert len({file_name(name) for name in names}) == len(names)
    assert len({made.casefold() for made in file_names(names).values()}) == len(names)


def test_names_that_differ_in_case_alone_are_kept_apart() -> None:
    made = file_names(["Ann", "ann", "Ben"])
    assert made["Ben"] == "Ben"
    assert made["Ann"].casefold() != made["ann"].casefold()


def test_what_cannot_be_seen_is_spelled_out(tmp_path: Path) -> None:
    assert shown("a\u202eb\nc\x1b[2J\u200b") == "a\\u202eb\\u000ac\\u001b[2J\\u200b"
    assert shown("Zoë 李") == "Zoë 李"
    assert len(shown("x" * 1000)) == 200
    assert shown("x" * 200) == "x" * 200
    assert shown("x" * 500 + "a") != shown("x" * 500 + "b")
    put(tmp_path, {"anna\u202e/chunk\ning.ipynb": work()})
    (submission,) = collect(tmp_path)
    assert submission.student == "anna\\u202e"
    assert submission.name == "anna\\u202e/chunk\\u000aing.ipynb"
    assert Kind.HOSTILE_NAME in kinds(submission)


@given(st.lists(any_text.filter(bool), min_size=1, max_size=4).map(tuple))
def test_every_place_is_some_place(parts: tuple[str, ...]) -> None:
    assert isinstance(place_of(parts), Place)


def test_three_hundred_submissions_are_collected(tmp_path: Path) -> None:
    chance = random.Random(1)
    stages = sorted(TOPICS)
    put(tmp_path, {
        f"student{n:03d}/{assignment_name(stage)}/x.ipynb": work(assignment_name(stage))
        for n in range(300)
        for stage in [chance.choice(stages)]
    })  # fmt: skip
    assert len(collect(tmp_path)) == 300
    assert all(s.file.cells for s in collect(tmp_path)[:3])


def test_a_large_notebook_is_kept_without_its_pictures(tmp_path: Path) -> None:
    book = json.loads(work(STORE))
    book["cells"][1]["outputs"] = [{"output_type": "display_data", "data": {"png": "x" * 900_000}}]
    path = tmp_path / "anna" / "store.ipynb"
    path.parent.mkdir()
    path.write_bytes(json.dumps(book).encode())
    (one,) = collect(tmp_path)
    assert len(repr(one)) < 60_000
    assert one.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    path.write_bytes(work(STORE))
    (small,) = collect(tmp_path)
    assert triage(one).cells == triage(small).cells != ()


def test_a_student_may_be_called_like_a_folder_of_packages(tmp_path: Path) -> None:
    for name in ("env/store.ipynb", "Venv/store.ipynb", "anna/venv/lib/other.ipynb"):
        path = tmp_path / name
        path.parent.mkdir(parents=True)
        path.write_bytes(work(STORE))
    (tmp_path / "anna" / "store.ipynb").write_bytes(work(STORE))
    assert [(one.student, one.name) for one in collect(tmp_path)] == [
        ("anna", "anna/store.ipynb"),
        ("env", "env/store.ipynb"),
        ("Venv", "Venv/store.ipynb"),
    ]


def test_zips_of_one_student_have_a_limit_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("classroom.grading.submissions.files.MAX_STUDENT_BYTES", 3_000)
    for number in range(4):
        with zipfile.ZipFile(tmp_path / f"anna{number}.zip", "w") as archive:
            archive.writestr("inner.zip", b"x" * 2_500)
    folder = tmp_path / "submitted" / "anna"
    folder.mkdir(parents=True)
    for path in tmp_path.glob("*.zip"):
        path.rename(folder / path.name)
    messages = [finding.message for one in collect(folder.parent) for finding in one.findings]
    assert any("One student's files have more than" in message for message in messages)
