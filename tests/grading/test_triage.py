"""Triage reads what learners really send: nothing runs, nothing raises, and the answer is found."""

from __future__ import annotations

import ast
import copy
import json
import time
import tracemalloc
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.exercises import ALL
from classroom.grading.submissions import magics, reading
from classroom.grading.submissions.reading import read_file, split_ending
from classroom.grading.submissions.source import parse
from classroom.grading.submissions.triage import MAX_FINDINGS, triage
from classroom.grading.types import Finding, Kind, Submission, Triaged
from classroom.release import CHECKOUT
from strategies import any_text

SHIPPED = sorted(
    path for folder in ("exercises", "solutions") for path in (CHECKOUT / folder).rglob("*.ipynb")
)
Book: TypeAlias = dict[str, Any]
STORE = "ps04_store"


def solution(assignment: str = STORE) -> Book:
    """The model solution as a learner would write it: without the marks of nbgrader."""
    (path,) = (CHECKOUT / "solutions" / assignment).glob("*.ipynb")
    made = json.loads(path.read_text("utf-8"))
    for found in made["cells"]:
        lines = "".join(found["source"]).split("\n")
        found["source"] = "\n".join(line for line in lines if "### " not in line)
    return made  # type: ignore[no-any-return]


def cell(book: Book, grade_id: str) -> dict[str, Any]:
    marked = [c for c in book["cells"] if "nbgrader" in c["metadata"]]
    return next(c for c in marked if c["metadata"]["nbgrader"]["grade_id"] == grade_id)


def text(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def sent(assignment: str, name: str, content: bytes) -> Triaged:
    return triage(Submission("anna", assignment, name, read_file(name, content)))


def read(book: Book, assignment: str = STORE) -> Triaged:
    return sent(assignment, "anna/work.ipynb", json.dumps(book).encode())


def script(source: str | bytes, assignment: str = STORE) -> Triaged:
    content = source.encode() if isinstance(source, str) else source
    return sent(assignment, "anna.py", content)


def kinds(triaged: Triaged) -> list[Kind]:
    return [finding.kind for finding in triaged.findings]


def code(source: str, grade_id: str = "") -> dict[str, Any]:
    mark = {"nbgrader": {"grade_id": grade_id, "solution": True}} if grade_id else {}
    return {"cell_type": "code", "metadata": mark, "source": source}


def book(*cells: dict[str, Any]) -> Book:
    return {"nbformat": 4, "cells": list(cells)}


# --- what was handed out is found -----------------------------------------------------------------


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: f"{path.parts[-3]}-{path.stem}")
def test_the_shipped_notebooks_have_every_exercise_and_no_finding(path: Path) -> None:
    triaged = sent(path.parent.name, path.name, path.read_bytes())
    marked = path.parts[-3] == "solutions"
    assert kinds(triaged) == [Kind.SOLUTION_MARKS] * marked
    stage = int(path.parent.name[2:4])
    ids = [e.id for e in ALL.values() if e.stage == stage]
    assert [c.exercises for c in triaged.cells] == [(name,) for name in ids]
    assert all(f"def {c.exercises[0]}(" in c.source for c in triaged.cells)


def test_a_python_file_of_all_solutions_is_one_cell_without_findings() -> None:
    source = "\n\n".join(e.solution for e in ALL.values() if e.stage == 4)
    triaged = script(source)
    assert triaged.findings == ()
    ids = {e.id for e in ALL.values() if e.stage == 4}
    assert [(c.number, c.source, set(c.exercises)) for c in triaged.cells] == [(1, source, ids)]


# --- each fault alone gives its own finding -------------------------------------------------------

Fault: TypeAlias = Callable[[Book], None]


def lost_metadata(book: Book) -> None:
    cell(book, "encode_vector")["metadata"] = {}


def starter_copied_below(book: Book) -> None:
    found = copy.deepcopy(cell(book, "encode_vector"))
    found["source"] = ALL["encode_vector"].starter
    book["cells"].append(found)


def starter_copied_below_without_marks(book: Book) -> None:
    book["cells"].append(code(f"# my first try\n{ALL['encode_vector'].starter}"))


def retyped(book: Book) -> None:
    cell(book, "encode_vector")["cell_type"] = "markdown"


def retyped_raw(book: Book) -> None:
    found = cell(book, "encode_vector")
    found["cell_type"], found["metadata"] = "raw", {}


def changed_test(book: Book) -> None:
    cell(book, "encode_vector-test")["source"] = "result = 'fine'\nassert result"


def softened_test_without_marks(book: Book) -> None:
    found = cell(book, "encode_vector-test")
    found["metadata"], found["source"] = {}, 'verdict("encode_vector", encode_vector)'


def longer_test(book: Book) -> None:
    found = cell(book, "encode_vector-test")
    found["source"] = f"{text(found)}\nprint('fine')"


def deleted_test(book: Book) -> None:
    book["cells"].remove(cell(book, "encode_vector-test"))


FAULTS: list[tuple[Fault, Kind, int]] = [
    (lost_metadata, Kind.LOST_METADATA, 3),
    (starter_copied_below, Kind.DUPLICATED_CELL, 17),
    (starter_copied_below_without_marks, Kind.DUPLICATED_CELL, 17),
    (retyped, Kind.RETYPED_CELL, 3),
    (retyped_raw, Kind.RETYPED_CELL, 3),
    (changed_test, Kind.CHANGED_TEST, 4),
    (softened_test_without_marks, Kind.CHANGED_TEST, 4),
    (longer_test, Kind.CHANGED_TEST, 4),
    (deleted_test, Kind.CHANGED_TEST, 0),
]


@pytest.mark.parametrize(
    ("fault", "kind", "number"), FAULTS, ids=lambda f: getattr(f, "__name__", "")
)
def test_a_fault_alone_is_named_and_repaired(fault: Fault, kind: Kind, number: int) -> None:
    damaged = solution()
    before = read(damaged).cells
    fault(damaged)
    after = read(damaged)
    (finding,) = after.findings
    assert (finding.kind, finding.cell, finding.exercise) == (kind, number, "encode_vector")
    assert finding.repaired
    answers = [(*c.exercises, c.source) for c in after.cells if c.exercises]
    assert answers == [(*c.exercises, c.source) for c in before]
    assert all("raise NotImplementedError" not in c.source for c in after.cells)
    assert all("verdict(" not in c.source and "'fine'" not in c.source for c in after.cells)


WARNINGS: list[tuple[str, Kind, str]] = [
    ("age = input('How old?')", Kind.INPUT, "Use the parameters instead."),
    ("data = open('/home/anna/data.csv').read()", Kind.ABSOLUTE_PATH, "/home/anna/data.csv"),
    ("data = r'C:\\Users\\anna'", Kind.ABSOLUTE_PATH, "C:\\Users\\anna"),
    ("data = '~/data.csv'", Kind.ABSOLUTE_PATH, "~/data.csv"),
    ("import ctypes", Kind.MACHINERY, "ctypes"),
    ("import gc as g", Kind.MACHINERY, "gc"),
    ("import sys; sys._getframe(1)", Kind.MACHINERY, "_getframe"),
    ("(lambda: 0).__globals__", Kind.MACHINERY, "__globals__"),
    ("getattr(len, '__globals__', 0)", Kind.MACHINERY, "__globals__"),
    ("object.__subclasses__()", Kind.MACHINERY, "__subclasses__"),
    ("import os; os._exit(0)", Kind.MACHINERY, "_exit"),
    ("from os import kill", Kind.MACHINERY, "os.kill"),
    ("import subprocess", Kind.MACHINERY, "subprocess"),
    ("from socket import create_connection", Kind.MACHINERY, "socket"),
    ("maps = open('/proc/self/maps')", Kind.MACHINERY, "/proc/self/maps"),
    ("from classroom.exercises import ALL", Kind.MACHINERY, "classroom.exercises"),
    ("import classroom", Kind.MACHINERY, "classroom"),
    ("exec('1')", Kind.MACHINERY, "exec"),
]


@pytest.mark.parametrize(("line", "kind", "said"), WARNINGS, ids=lambda value: str(value)[:24])
def test_what_an_instructor_should_look_at_is_said_with_its_line(
    line: str, kind: Kind, said: str
) -> None:
    damaged = solution()
    found = cell(damaged, "encode_vector")
    found["source"] = f"# mine\n{line}\n{text(found)}"
    triaged = read(damaged)
    (finding,) = triaged.findings
    assert (finding.kind, finding.cell, finding.line) == (kind, 3, 2)
    assert finding.exercise == "encode_vector"
    assert said in finding.message
    assert not finding.repaired
    assert len(triaged.cells) == 5


def test_the_room_of_the_learner_and_paths_of_the_web_are_no_warning_signs() -> None:
    source = (
        "from classroom import check\nfrom classroom.learner import hint\n"
        "from labkit.chunking import chunk\n"
        "url = '/search'\nroot = '/'\nhalf = '~'\nkey = 'a:b'\nweb = 'http://x.org/home/'\n"
    )
    assert read(book(code(source)), "").findings == ()


def test_a_deleted_cell_is_missing_and_the_others_stand() -> None:
    damaged = solution()
    damaged["cells"].remove(cell(damaged, "encode_vector"))
    triaged = read(damaged)
    (finding,) = triaged.findings
    assert (finding.kind, finding.exercise) == (Kind.MISSING_CELL, "encode_vector")
    assert not finding.repaired
    assert triaged.cells[0].exercises == ("decode_vector",)


def test_an_emptied_cell_and_a_renamed_function_are_said_to_be_so() -> None:
    for source, said, kind in (
        ("", "Its cell is empty.", Kind.MISSING_CELL),
        ("def encode(v):\n    return b''", "`encode`", Kind.RENAMED_FUNCTION),
    ):
        damaged = solution()
        cell(damaged, "encode_vector")["source"] = source
        (finding,) = read(damaged).findings
        assert finding.kind is kind
        assert said in finding.message


def test_a_syntax_error_takes_its_cell_out_and_no_other() -> None:
    damaged = solution()
    found = cell(damaged, "encode_vector")
    found["source"] = "x = 1\n" + text(found).replace(") -> bytes:", ") -> bytes")
    triaged = read(damaged)
    (finding,) = triaged.findings
    assert (finding.kind, finding.cell, finding.line) == (Kind.SYNTAX_ERROR, 3, 2)
    assert (finding.exercise, finding.repaired) == ("encode_vector", False)
    assert "expected ':'" in finding.message
    assert "line 2 of this cell, `def encode_vector(" in finding.message
    assert [c.number for c in triaged.cells] == [6, 9, 12, 15]


@pytest.mark.parametrize(
    "source",
    [
        "x = (",
        "a\0b",
        "'\ud800'",
        "-" * 100_000 + "1",
        "(" * 100_000,
        "a" + ".b" * 50_000,
        "lambda:" * 28000 + "1",
        "x = 1\n" * 40_000,
        "1" * 5000,
    ],
    ids=lambda source: repr(source[:12]),
)
def test_a_cell_that_python_cannot_compile_is_a_finding(source: str) -> None:
    triaged = read(book(code(source), code("y = 1")))
    assert [c.source for c in triaged.cells] == ["y = 1"]
    assert {Kind.SYNTAX_ERROR, Kind.TOO_LARGE} & set(kinds(triaged))


def test_a_line_that_python_cannot_read_is_quoted_in_part_and_ends_no_code() -> None:
    (finding,) = read(book(code("x = '`" + "a" * 500 + "\u202e")), "").findings
    assert "`x = ''aaa" in finding.message
    assert finding.message.count("`") == 2
    assert "aaa…`" in finding.message
    assert len(finding.message) < 250
    assert "\u202e" not in finding.message


def test_marks_of_the_model_solution_are_named_once_with_their_cells() -> None:
    marked = code("def f():\n    ### BEGIN SOLUTION\n    return 1\n    ### END SOLUTION")
    prose = {"cell_type": "markdown", "metadata": {}, "source": "### BEGIN SOLUTION"}
    talk = code("# I BEGIN SOLUTION number 2")
    (finding,) = read(book(code("x = 1"), marked, prose, talk), "").findings
    assert (finding.kind, finding.cell, finding.repaired) == (Kind.SOLUTION_MARKS, 0, True)
    assert "here they stand in cell 2." in finding.message
    (finding,) = read(book(*[marked] * 30), "").findings
    assert finding.message.endswith("in cells 1, 2, 3, 4, 5, 6, 7, 8 and 22 more.")


def test_half_a_download_is_told_in_words_for_people_first() -> None:
    for content in (b'{"cells": [}', b'{"nbformat": 4}'):
        (finding,) = sent(STORE, "anna/x.ipynb", content).findings
        assert finding.kind is Kind.UNREADABLE
        assert "Download it again from Jupyter (File, Download)" in finding.message
        assert finding.message.index("send the .ipynb") < finding.message.index("(It")


def test_a_warning_of_the_compiler_is_not_printed(recwarn: pytest.WarningsRecorder) -> None:
    assert read(book(code("x = 1 is 1; y = '\\d'")), "").findings == ()
    assert len(recwarn) == 0


# --- which answer counts --------------------------------------------------------------------------

FIRST = "def decode_vector(blob, dimension):\n    return 1"
SECOND = FIRST.replace("1", "2")
STARTER = ALL["decode_vector"].starter
ID = "decode_vector"


def answer(*cells: dict[str, Any]) -> tuple[str, list[str]]:
    """The source of the cell that answers, and what else runs."""
    triaged = read(book(*cells))
    answering = [c.source for c in triaged.cells if c.exercises == (ID,)]
    return "".join(answering), [c.source for c in triaged.cells if c.exercises != (ID,)]


def test_the_last_own_definition_counts_and_an_earlier_one_still_runs() -> None:
    assert answer(code(FIRST, ID), code(SECOND, ID)) == (SECOND, [FIRST])
    assert answer(code(SECOND), code(FIRST, ID)) == (FIRST, [SECOND])


def test_an_own_definition_wins_over_a_starter_wherever_it_stands() -> None:
    assert answer(code(STARTER, ID), code(FIRST)) == (FIRST, [])
    assert answer(code(FIRST), code(STARTER, ID)) == (FIRST, [])


def test_one_that_python_can_read_wins_over_one_that_it_cannot() -> None:
    assert answer(code(FIRST, ID), code(f"{SECOND} +", ID)) == (FIRST, [])


def test_a_broken_answer_is_not_replaced_by_the_untouched_starter() -> None:
    triaged = read(book(code(STARTER, ID), code(f"{FIRST} +")))
    assert triaged.cells == ()
    broken = [f for f in triaged.findings if f.kind is Kind.SYNTAX_ERROR]
    assert [f.exercise for f in broken] == [ID]


def test_what_stands_around_a_starter_that_is_taken_out_still_runs() -> None:
    """The answer in another cell needs the constants and imports of the released one."""
    starter = ALL["build_prompt"].starter
    own = "def build_prompt(question, passages, budget):\n    return {'prompt': HEADER}"
    triaged = read(book(code(starter, "build_prompt"), code(own)), "ps07_citation_gate")
    kept, answering = triaged.cells
    assert kept.source.startswith("HEADER = (")
    assert "def " not in kept.source
    assert answering.exercises == ("build_prompt",)


def test_a_starter_left_in_the_same_cell_does_not_undo_the_answer() -> None:
    source, _ = answer(code(f"{FIRST}\n\n{STARTER}", ID))
    assert source.startswith(FIRST)
    assert "NotImplementedError" not in source


def test_all_starters_untouched_leave_one_attempt_to_be_judged() -> None:
    assert answer(code(STARTER, ID), code(STARTER, ID))[0] == STARTER


def test_an_answer_in_an_unmarked_cell_is_told_apart_from_lost_marks() -> None:
    triaged = read(book(code("# see below", ID), code(FIRST)))
    (found,) = (f for f in triaged.findings if f.kind is Kind.LOST_METADATA)
    assert "not in its own cell, which is cell 1" in found.message


def test_an_answer_in_fences_of_a_text_cell_keeps_its_lines() -> None:
    fenced = {"cell_type": "markdown", "source": f"Mine:\n\n```python\n{FIRST}\n```\nDone."}
    source, _ = answer(fenced)
    assert source == f"\n\n\n{FIRST}\n\n"


def test_prose_about_a_function_is_no_answer() -> None:
    prose = {"cell_type": "markdown", "source": "def decode_vector(blob) is hard, I think"}
    assert Kind.RETYPED_CELL not in kinds(read(book(prose)))
    assert answer(code(FIRST, ID), {"cell_type": "markdown", "source": SECOND}) == (FIRST, [])


def test_an_answer_in_the_test_cell_is_taken_if_there_is_no_other() -> None:
    test = code(f"{FIRST}\nassert True", f"{ID}-test")
    assert answer(code(STARTER, ID), test)[0] == test["source"]
    assert answer(code(SECOND, ID), test) == (SECOND, [])


def test_an_answer_merged_with_its_test_is_an_answer() -> None:
    """In the sandbox, `verdict` is a stub: the test below the answer says nothing there."""
    damaged = solution()
    merged, test = cell(damaged, ID), cell(damaged, f"{ID}-test")
    merged["source"] = f"{text(merged)}\n{text(test)}"
    damaged["cells"].remove(test)
    triaged = read(damaged)
    assert triaged.findings == ()
    (found,) = (c for c in triaged.cells if c.exercises == (ID,))
    assert found.source == merged["source"]


def test_a_notebook_saved_as_a_python_file_answers_everything() -> None:
    """What Jupyter writes for magics fails in the sandbox, and stops no other statement."""
    cells = [text(c) for c in solution()["cells"] if c["cell_type"] == "code"]
    saved = "get_ipython().run_line_magic('matplotlib', 'inline')\n" + "\n\n".join(cells)
    triaged = script(saved)
    assert triaged.findings == ()
    (only,) = triaged.cells
    assert set(only.exercises) == {e.id for e in ALL.values() if e.stage == 4}


def test_an_imported_or_assigned_function_is_not_missing() -> None:
    for line in ("decode_vector = lambda blob, dimension: []", "from helper import decode_vector"):
        assert answer(code(line, ID))[0] == line
        assert Kind.MISSING_CELL not in [
            f.kind for f in read(book(code(line, ID))).findings if f.exercise == ID
        ]


# --- files that are no notebooks ------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b" \n",
        b"{",
        b"null",
        b"[]",
        b'{"cells": 3}',
        b'{"cells": {"a": 1}}',
        b'{"worksheets": 3}',
        b"\xff\xfe\x00",
        b"\x00\x01\x02",
        b'{"cells": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"cells": [' + b"[]," * 400_000 + b"[]]}",
        b'{"cells": [' + b"1" * 5000 + b"]}",
        b"x" * (reading.MAX_BYTES + 1),
        b"PK\x03\x04 a zip",
    ],
    ids=lambda content: repr(content[:14]),
)
def test_what_is_no_notebook_is_one_finding(content: bytes) -> None:
    triaged = sent(STORE, "anna.ipynb", content)
    assert triaged.cells == ()
    assert [f.kind in (Kind.UNREADABLE, Kind.TOO_LARGE) for f in triaged.findings] == [True]


def test_what_was_not_read_when_collected_is_not_complained_of_twice() -> None:
    large = Finding(Kind.TOO_LARGE, "The file has 60 MB.")
    assert triage(Submission("anna", STORE, "a.ipynb", findings=(large,))) == Triaged()


def test_cells_of_every_wrong_type_are_passed_over() -> None:
    wrong: list[Any] = [
        None,
        3,
        "x = 1",
        {},
        {"cell_type": 3, "source": {"a": 1}},
        {"cell_type": "code"},
        {"cell_type": "code", "source": None, "metadata": []},
        {"cell_type": "code", "source": [1, None, "y = ", "2"], "metadata": {"nbgrader": 1}},
        {"cell_type": "code", "source": "z = 3", "metadata": {"nbgrader": {"grade_id": []}}},
    ]
    triaged = read({"cells": wrong}, "")
    assert [(c.number, c.source) for c in triaged.cells] == [(8, "y = 2"), (9, "z = 3")]


def test_a_notebook_of_version_three_is_read() -> None:
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["a = 1\n", FIRST]}]}, 3]}
    assert [(c.source, c.exercises) for c in read(old).cells] == [(f"a = 1\n{FIRST}", (ID,))]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_no_obstacle(encoding: str) -> None:
    content = json.dumps(solution()).encode(encoding)
    assert sent(STORE, "a.ipynb", content).findings == ()
    assert script(FIRST.encode(encoding)).cells[0].source == FIRST


def test_a_python_file_that_is_no_utf8_is_read_all_the_same() -> None:
    source = f"# pâte\n{FIRST}\n"
    triaged = script(source.encode("cp1252"))
    assert triaged.cells[0].source == source
    assert (triaged.findings[0].kind, triaged.findings[0].repaired) == (Kind.UNREADABLE, True)
    declared = f"# -*- coding: latin-1 -*-\n{source}".encode("latin-1")
    assert Kind.UNREADABLE not in kinds(script(declared))


def test_limits_of_cells_code_and_findings_hold() -> None:
    many = read(book(*[code("x = (")] * (reading.MAX_CELLS + 10)), "")
    assert len(many.findings) == MAX_FINDINGS + 1
    long = read(book(*[code("x = 1\n" + "# note" * 20_000)] * 6), "")
    assert len(long.cells) == reading.MAX_CODE // 120_000
    assert set(kinds(long)) == {Kind.TOO_LARGE}


def test_windows_lines_are_lines() -> None:
    assert read(book(code("a = 1\r\nb = (\r\n")), "").findings[0].line == 2
    assert read(book(code("a = 1\rb = 2")), "").cells[0].source == "a = 1\nb = 2"


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | any_text
    | st.sampled_from(["code", "markdown", ID]),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from("cells cell_type source metadata nbgrader grade_id worksheets".split()),
            inner,
            max_size=5,
        )
    ),
    max_leaves=30,
)


@given(json_values | st.fixed_dictionaries({"cells": st.lists(json_values, max_size=5)}))
def test_no_json_makes_triage_raise(value: Any) -> None:
    triaged = sent(STORE, "a.ipynb", json.dumps(value).encode())
    assert all(ast.parse(c.source) for c in triaged.cells)


@pytest.mark.parametrize("source", ["?", "??", "  ?", "x = (\n?", "? # help"])
def test_a_question_mark_alone_is_for_a_notebook(source: str) -> None:
    cleaned = magics.clean(f"{source}\ny = 1")
    assert [note.repaired for note in cleaned.notes] in ([], [True])
    assert "show_usage" not in cleaned.source


@given(st.binary(max_size=200), st.sampled_from(["a.py", "a.ipynb", "a"]))
def test_no_bytes_make_triage_raise(content: bytes, name: str) -> None:
    sent(STORE, name, content)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.ipynb", ("a", ".ipynb")),
        ("a.IPYNB", ("a", ".ipynb")),
        ("a.ipynb.json", ("a", ".ipynb")),
        ("a.py.txt", ("a", ".py")),
        ("a.txt", ("a.txt", "")),
        ("a.python", ("a.python", "")),
    ],
)
def test_endings_that_browsers_add_are_looked_through(name: str, expected: tuple[str, str]) -> None:
    assert split_ending(name) == expected


# --- magics ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "becomes", "notes"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1", [(1, True)]),
        ("x = 1\n!pip install numpy\ny = 2", "x = 1\npass\ny = 2", [(2, True)]),
        (
            "?len\nlen?\nstr.find??\nx = 1",
            "pass\npass\npass\nx = 1",
            [(1, True), (2, True), (3, True)],
        ),
        ("if True:\n    %cd data\nx = 1", "if True:\n    pass\nx = 1", [(2, True)]),
        ("%time x = f(1,\n  2)\ny = 3", "x = f(1,\n  2)\ny = 3", [(1, True)]),
        ("x = %time f(1)\ny = 2", "x = f(1)\ny = 2", [(1, True)]),
        ("%timeit -n 5 f(1)\ny = 2", "pass\ny = 2", [(1, True)]),
        ("files = !ls\ny = 2", "pass\ny = 2", [(1, False)]),
        ("%run helper.py\ny = 2", "pass\ny = 2", [(1, False)]),
        ("%frobnicate\ny = 2", "pass\ny = 2", [(1, False)]),
        ("!echo a \\\n  b\ny = 2", "pass\n\ny = 2", [(1, True)]),
        (
            "if a:\n    !ls \\\n      -l\n%time y = 2",
            "if a:\n    pass\n\ny = 2",
            [(2, True), (4, True)],
        ),
        (
            's = """\n%matplotlib inline\n"""\n%pwd',
            's = """\n%matplotlib inline\n"""\npass',
            [(4, True)],
        ),
        ("x = (a\n% b)\n%pwd", "x = (a\n% b)\npass", [(3, True)]),
        ("x = a \\\n% b\n%pwd", "x = a \\\n% b\npass", [(3, True)]),
        ("s = 'it\\'s (' # it's (\n%pwd", "s = 'it\\'s (' # it's (\npass", [(2, True)]),
        ("%%time\nx = 1", "\nx = 1", [(1, True)]),
        ("\n%%capture out\n%%time\nx = 1", "\n\n\nx = 1", [(2, True), (3, True)]),
        ("%%timeit -n 3\n%pwd\nx = 1", "\npass\nx = 1", [(1, True), (2, True)]),
        ("  x = 1\n  y = 2", "x = 1\ny = 2", []),
        ("x == %b\ny = 1", "x == %b\ny = 1", []),
        ("a = b !", "a = b !", []),
    ],
)
def test_a_magic_is_taken_out_and_the_lines_stay(
    source: str, becomes: str, notes: list[tuple[int, bool]]
) -> None:
    cleaned = magics.clean(source)
    assert cleaned.source == becomes
    assert [(note.line, note.repaired) for note in cleaned.notes] == notes
    assert cleaned.python


@pytest.mark.parametrize("name", ["bash", "html", "writefile a.py", "!", "R", "frobnicate"])
def test_a_cell_in_another_language_does_not_run(name: str) -> None:
    triaged = read(book(code(f"%%{name}\nx = 1"), code("y = 2")), "")
    assert [c.source for c in triaged.cells] == ["y = 2"]
    assert [(f.kind, f.cell, f.line, f.repaired) for f in triaged.findings] == [
        (Kind.MAGIC, 1, 1, False)
    ]


def test_a_magic_in_an_answer_is_reported_with_its_exercise() -> None:
    damaged = solution()
    found = cell(damaged, ID)
    found["source"] = f"%matplotlib inline\n{text(found)}"
    triaged = read(damaged)
    (finding,) = triaged.findings
    assert (finding.kind, finding.cell, finding.line) == (Kind.MAGIC, 6, 1)
    assert (finding.exercise, finding.repaired) == (ID, True)
    assert len(triaged.cells) == 5


pieces = st.sampled_from(
    [
        "x = 1",
        "x = (a",
        "% b)",
        "%b",
        "x = a \\",
        "% 3",
        '"""',
        "'''",
        "%matplotlib inline",
        "!ls",
        "# it's",
        "y = '%d' % 3",
        "if x:",
        "    pass",
        "    %time x",
        "len?",
        "f'{x!r}'",
        "  x != y",
        "x %= 3",
        "def f(a,",
        "b): return a%b",
        "[",
        "]",
        "",
    ]
)


@given(st.lists(pieces, max_size=8).map("\n".join) | any_text)
def test_what_python_reads_is_never_changed(source: str) -> None:
    cleaned = magics.clean(source)
    if parse(source).tree is not None:
        assert (cleaned.source, cleaned.notes) == (source, [])
    assert len(cleaned.source.split("\n")) == len(source.split("\n"))


whole = st.sampled_from(
    [
        "x = (a\n% b)",
        "x = a \\\n% 3",
        's = """\n%pwd\n!ls\n"""',
        "%matplotlib inline",
        "% pwd",
        "!ls \\\n  -l 'it",
        "# it's (",
        "y = '%d' % 3",
        "if x:\n    %time x\n    !ls",
        "len?",
        "?len",
        "%time f(1)",
        "x = %time f(1)",
        "x = !ls",
        "%timeit x",
        "s = f'{x!r}'",
        "",
    ]
)


@given(st.lists(whole, max_size=6).map("\n".join))
def test_magics_are_where_ipython_sees_them(source: str) -> None:
    """IPython's own reading of a cell as the oracle: what it can make Python of, we can too."""
    transformer = pytest.importorskip("IPython.core.inputtransformer2").TransformerManager()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = transformer.transform_cell(source)
        assert parse(theirs).tree is not None
    cleaned = magics.clean(source)
    assert cleaned.parsed.tree is not None
    assert bool(cleaned.notes) == ("get_ipython" in theirs)


def test_hostile_lines_take_no_time() -> None:
    for line in (" " * 100_000 + "(", "a " * 50_000 + "!!", "%" * 100_000, "x=" * 50_000 + "%"):
        magics.clean(f"{line}\nx = (")


def test_a_cell_that_is_too_long_does_not_cost_the_answers_below() -> None:
    picture = {"cell_type": "markdown", "source": "![](data:image/png;base64," + "A" * 300_000}
    cells = [code("# data" * 50_000)] * 5 + [picture, code(FIRST, ID)]
    triaged = read(book(*cells))
    assert [c.exercises for c in triaged.cells] == [(ID,)]
    assert [f.cell for f in triaged.findings if f.kind is Kind.TOO_LARGE] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("kind", ["code", "markdown"])
def test_thousands_of_definitions_take_seconds_and_no_minutes(kind: str) -> None:
    source = f"{FIRST}\n{STARTER}\n" * 900
    started = time.process_time()
    read({"cells": [{"cell_type": kind, "source": source}] * 40})
    assert time.process_time() - started < 15


@pytest.mark.parametrize(
    "body",
    [
        "getattr(embed, '__glo' + 'bals__')",
        "getattr(embed, '__globals__')",
        "setattr(json, name, 1)",
        "os.write(5, b'')",
        "os.dup2(1, 2)",
        "vars(embed)",
        "operator.attrgetter('a.b')(embed)",
    ],
)
def test_ways_around_the_usual_names_are_signs_too(body: str) -> None:
    findings = script(f"import os, json, operator\ndef f(embed, name):\n    {body}").findings
    assert Kind.MACHINERY in {finding.kind for finding in findings}


def test_an_ordinary_getattr_is_no_sign() -> None:
    findings = script("x = getattr(object, 'name', None)").findings
    assert Kind.MACHINERY not in {finding.kind for finding in findings}


def test_code_that_would_explode_in_the_compiler_is_not_compiled() -> None:
    """Python writes what follows `finally` once for each way out: 54 kB would take a gigabyte. The
    sandbox has a limit for that; the grader itself only reads."""
    ways, after = "    if a: return 1\n" * 3000, "    x = 1\n" * 3000
    source = f"def f(a):\n  try:\n{ways}  finally:\n{after}"
    tracemalloc.start()
    assert script(source).findings[0].kind is Kind.MISSING_CELL
    assert tracemalloc.get_traced_memory()[1] < 100_000_000
    tracemalloc.stop()
