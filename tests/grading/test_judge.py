"""classroom.grading.judge and .answer_key: from what functions do to marks."""

from __future__ import annotations

import sys
import sysconfig
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.checking import Outcome, check_function
from classroom.exercises import ALL
from classroom.grading.answer_key import AnswerKey, score
from classroom.grading.judge import Judge
from classroom.grading.running import session
from classroom.grading.running.sandbox import Sandbox, can_isolate, sandbox
from classroom.grading.submissions.released import exercises_of
from classroom.grading.types import (
    CaseVerdict,
    Cell,
    ExerciseMark,
    Finding,
    Graded,
    Group,
    Kind,
    Submission,
    Triaged,
)
from classroom.release import TOPICS, assignment_name

SEED = "a seed of this test"
NAMES = [assignment_name(stage) for stage in TOPICS]


@pytest.fixture(scope="module")
def keys() -> dict[str, AnswerKey]:
    return {name: AnswerKey(exercise, SEED) for name, exercise in ALL.items()}


@pytest.fixture(scope="module")
def box() -> Iterator[Sandbox]:
    if not can_isolate():
        pytest.skip("bubblewrap does not work here")
    with sandbox() as found:
        yield found


@pytest.fixture(scope="module")
def judge(box: Sandbox, keys: dict[str, AnswerKey]) -> Judge:
    return Judge(box, keys)


def grade(judge: Judge, assignment: str, *cells: Cell) -> Graded:
    submission = Submission("ann", assignment, "ann/work.ipynb")
    return judge.grade(submission, Triaged(cells))


def mark_of(judge: Judge, name: str, source: str, *before: Cell) -> ExerciseMark:
    """The mark of one exercise answered by this source."""
    cell = Cell(9, source, (name,))
    graded = grade(judge, assignment_name(ALL[name].stage), *before, cell)
    return next(mark for mark in graded.marks if mark.exercise == name)


# --- what a whole notebook earns -----------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_model_solutions_get_full_marks(judge: Judge, name: str) -> None:
    cells = [Cell(n, item.solution, (item.id,)) for n, item in enumerate(exercises_of(name), 1)]
    graded = grade(judge, name, *cells)
    assert [mark.outcome for mark in graded.marks] == [Outcome.RIGHT] * len(cells)
    assert graded.score == graded.max_score == sum(item.points for item in exercises_of(name))
    assert graded.findings == ()


@pytest.mark.parametrize("name", NAMES)
def test_untouched_starters_get_nothing_and_are_not_attempted(judge: Judge, name: str) -> None:
    cells = [Cell(n, item.starter, (item.id,)) for n, item in enumerate(exercises_of(name), 1)]
    graded = grade(judge, name, *cells)
    assert {mark.outcome for mark in graded.marks} == {Outcome.NOT_ATTEMPTED}
    assert graded.score == 0


def test_all_answers_may_stand_in_one_cell(judge: Judge) -> None:
    items = exercises_of("ps02_chunking")
    source = "\n\n".join(item.solution for item in items)
    graded = grade(judge, "ps02_chunking", Cell(1, source, tuple(item.id for item in items)))
    assert graded.score == graded.max_score


def test_without_any_cell_nothing_is_run(judge: Judge) -> None:
    graded = grade(judge, "ps02_chunking")
    assert [mark.message for mark in graded.marks] == ["No cell answers this exercise."] * 3


def test_an_unknown_assignment_has_no_marks(judge: Judge) -> None:
    assert grade(judge, "", Cell(1, "x = 1")).marks == ()


# --- partial credit ------------------------------------------------------------------------------


def test_refusals_missing_cost_their_share(judge: Judge) -> None:
    """chunk_text, 6 points: the last example is one to refuse, so a function that refuses nothing
    holds ordinary inputs alone: 2 of 4 parts."""
    source = "def chunk_text(text, size, overlap):\n" + (
        "    out = []\n    start = 0\n"
        "    while True:\n"
        "        out.append(text[start:start + size])\n"
        "        start += max(size - overlap, 1)\n"
        "        if start + overlap >= len(text): break\n"
        "    return out if text else []\n"
    )
    mark = mark_of(judge, "chunk_text", source)
    assert mark.score == 3.0
    assert mark.outcome is Outcome.WRONG
    by_group = {case.group: case.passed for case in mark.cases if case.group is not Group.EXAMPLES}
    assert by_group == {Group.ORDINARY: True, Group.REFUSALS: False}


def test_raising_at_everything_earns_nothing(judge: Judge) -> None:
    source = "def chunk_text(text, size, overlap):\n    raise ValueError"
    mark = mark_of(judge, "chunk_text", source)
    assert mark.score == 0
    assert mark.outcome is Outcome.CRASHED
    assert all(case.passed for case in mark.cases if case.group is Group.REFUSALS)


def test_answers_learnt_by_heart_earn_the_examples_alone(judge: Judge, keys: object) -> None:
    exercise = ALL["cosine"]
    known = [(case.arguments, exercise.reference) for case in exercise.cases]
    table = []
    for arguments, reference in known:
        try:
            table.append((list(arguments), reference(*arguments)))
        except ValueError:
            table.append((list(arguments), None))
    source = (
        f"def cosine(a, b):\n    for given, value in {table!r}:\n"
        "        if given == [a, b]:\n            if value is None: raise ValueError\n"
        "            return value\n    return 0.123"
    )
    mark = mark_of(judge, "cosine", source)
    assert mark.outcome is Outcome.WRONG
    assert 0 < mark.score <= exercise.points / 3
    assert mark.message.startswith("All examples hold")


VERDICTS = st.lists(st.builds(CaseVerdict, st.sampled_from(Group), st.booleans()), max_size=12)


@given(st.integers(1, 10), VERDICTS)
def test_a_score_lies_between_nothing_and_all(points: int, verdicts: list[CaseVerdict]) -> None:
    earned = score(points, verdicts)
    assert 0 <= earned <= points
    if verdicts:
        assert (earned == points) == all(verdict.passed for verdict in verdicts)
    better = [CaseVerdict(verdict.group, True) for verdict in verdicts]
    assert earned <= score(points, better)


@pytest.mark.parametrize(
    ("holds", "expected"),
    [
        ((True, True, True), 8),
        ((True, True, False), 6),
        ((True, False, True), 4),
        ((False, True, True), 4),  # refusing counts only with the examples
        ((False, True, False), 4),
        ((False, False, True), 0),
        ((True, False, False), 2),
        ((True, True, None), 8),
        ((True, False, None), 2.67),
        ((False, True, None), 5.33),
    ],
)
def test_shares_by_hand(holds: tuple[bool | None, ...], expected: float) -> None:
    verdicts = [
        CaseVerdict(group, held)
        for group, held in zip(Group, holds, strict=True)
        if held is not None
    ]
    assert score(8, verdicts) == expected


# --- outcomes ------------------------------------------------------------------------------------

ENDS = {
    "import os\nos._exit(0)": Outcome.DIED,
    "while True: pass": Outcome.TOO_SLOW,
    "return 1 / 0": Outcome.CRASHED,
    "return object()": Outcome.WRONG,
    "return None": Outcome.WRONG,
    "from labkit.similarity import cosine\nreturn cosine(a, b)": Outcome.DELEGATED,
    "raise NotImplementedError": Outcome.NOT_ATTEMPTED,
    "raise SystemExit": Outcome.CRASHED,
    "raise KeyboardInterrupt": Outcome.CRASHED,
    "class E(BaseException): pass\nraise E": Outcome.CRASHED,
    "return cosine(a, b)": Outcome.CRASHED,
}


@pytest.mark.parametrize("body", ENDS)
def test_every_end_has_its_outcome(
    judge: Judge, body: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "PATIENCE", 0.25)
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    mark = mark_of(judge, "cosine", f"def cosine(a, b):\n{lines}")
    assert mark.outcome is ENDS[body]
    assert mark.score == 0
    assert mark.message


def test_a_right_answer_that_also_asks_labkit_is_delegated(judge: Judge) -> None:
    hidden = (
        "\n    try:\n        from labkit.similarity import cosine as theirs\n"
        "        theirs(a, b)\n    except Exception:\n        pass"
    )
    signature = ALL["cosine"].signature
    source = ALL["cosine"].solution.replace(signature, f"{signature}{hidden}")
    mark = mark_of(judge, "cosine", source)
    assert (mark.outcome, mark.score) == (Outcome.DELEGATED, 0)


def test_a_known_mistake_is_named(judge: Judge) -> None:
    source = "def cosine(a, b):\n    return sum(x * y for x, y in zip(a, b))"
    mark = mark_of(judge, "cosine", source)
    assert mark.mistake in {mistake.name for mistake in ALL["cosine"].mistakes}
    assert mark.sentence in {mistake.sentence for mistake in ALL["cosine"].mistakes}


def test_a_mistake_that_hangs_is_named(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PATIENCE", 0.25)
    source = (
        "def chunk_text(text, size, overlap):\n"
        "    out, start = [], 0\n"
        "    while start < len(text):\n"
        "        out.append(text[start:start + size])\n"
        "        start += size - overlap\n"
        "    return out\n"
    )
    mark = mark_of(judge, "chunk_text", source)
    named = check_function(ALL["chunk_text"], _defined(source, "chunk_text"))
    assert mark.sentence == named.mistake


def _defined(source: str, name: str) -> object:
    namespace: dict[str, object] = {}
    exec(source, namespace)
    return namespace[name]


def test_a_function_that_changes_its_input_is_wrong(judge: Judge) -> None:
    source = ALL["top_k"].solution.replace(
        ALL["top_k"].signature, f"{ALL['top_k'].signature}\n    vectors.clear; query.append(0.0)"
    )
    mark = mark_of(judge, "top_k", source)
    assert mark.outcome in (Outcome.WRONG, Outcome.CRASHED)


# --- what a submission cannot do to its other marks ----------------------------------------------


def test_a_statement_that_ends_the_process_is_left_out(judge: Judge) -> None:
    solution = ALL["cosine"].solution
    mark = mark_of(judge, "cosine", solution, Cell(1, "import os\nos._exit(1)"))
    assert mark.outcome is Outcome.RIGHT
    graded = grade(
        judge,
        "ps03_vectors",
        Cell(1, "import os\nos._exit(1)"),
        Cell(2, solution, ("cosine",)),
    )
    (finding,) = graded.findings
    assert (finding.kind, finding.cell, finding.line) == (Kind.LEFT_OUT, 1, 2)


def test_a_statement_without_end_is_left_out(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "CELL_SECONDS", 0.5)
    hangs = Cell(1, "class Loop:\n    while True: pass")
    assert mark_of(judge, "cosine", ALL["cosine"].solution, hangs).outcome is Outcome.RIGHT


def test_a_notebook_full_of_ends_is_given_up(judge: Judge) -> None:
    ends = [Cell(n, "import os\nos._exit(1)") for n in range(1, 9)]
    mark = mark_of(judge, "cosine", ALL["cosine"].solution, *ends)
    assert (mark.outcome, mark.score) == (Outcome.DIED, 0)


def test_one_bad_exercise_leaves_the_others(judge: Judge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "PATIENCE", 0.25)
    graded = grade(
        judge,
        "ps02_chunking",
        Cell(1, "def chunk_text(*a):\n    import os\n    os._exit(1)", ("chunk_text",)),
        Cell(2, ALL["chunk_offsets"].solution, ("chunk_offsets",)),
        Cell(3, "def sentence_windows(*a):\n    while True: pass", ("sentence_windows",)),
    )
    outcomes = [mark.outcome for mark in graded.marks]
    assert outcomes == [Outcome.DIED, Outcome.RIGHT, Outcome.TOO_SLOW]


def test_a_broken_draft_beside_an_answer_costs_nothing(judge: Judge) -> None:
    broken = Finding(Kind.SYNTAX_ERROR, "expected ':'", cell=1, line=1, exercise="cosine")
    submission = Submission("ann", "ps03_vectors", "ann/work.ipynb")
    right = Cell(2, ALL["cosine"].solution, ("cosine",))
    graded = judge.grade(submission, Triaged((right,), (broken,)))
    assert graded.marks[0].outcome is Outcome.RIGHT
    graded = judge.grade(submission, Triaged((), (broken,)))
    assert (graded.marks[0].outcome, graded.marks[0].line) == (Outcome.CRASHED, "cell 1, line 1")


# --- one error counts once -----------------------------------------------------------------------

OWN_TOP_K = """
def top_k(query, vectors, k):
    ranked = sorted(((-cosine(query, v), i) for i, v in vectors.items()))
    return [[i, -s] for s, i in ranked[:max(k, 0)]]
"""


def test_a_function_built_on_a_wrong_one_is_judged_with_a_right_one(judge: Judge) -> None:
    exercise = ALL["top_k"]
    body = exercise.solution
    start = body.index("    def similarity_of(")
    inner = body[start : body.index("\n\n", start) + 1]
    uses_outer = body.replace(inner, "").replace("similarity_of(", "cosine(")
    wrong = Cell(1, "def cosine(a, b):\n    return 0.5", ("cosine",))
    mark = mark_of(judge, "top_k", uses_outer, wrong)
    assert mark.outcome is Outcome.RIGHT
    (finding,) = mark.findings
    assert finding.kind is Kind.FOLLOW_ON
    assert "cosine" in finding.message


# --- what is hidden stays hidden -----------------------------------------------------------------


def test_nothing_of_a_hidden_case_is_shown(judge: Judge, keys: dict[str, AnswerKey]) -> None:
    """A function that packs its input into every word it can: errors, names, lines."""
    source = (
        "def fold(x):\n    return ''.join(c if c.isalnum() else '_' for c in repr(x))\n"
        "def chunk_text(text, size, overlap):\n"
        "    name = 'Spied_' + fold((text, size, overlap))\n"
        "    raise type(name, (Exception,), {})(name)"
    )
    mark = mark_of(judge, "chunk_text", source)
    for case in mark.cases:
        if case.group is not Group.EXAMPLES:
            assert case.shown == {}
    hidden = [case for case in keys["chunk_text"].cases if case.group is Group.ORDINARY]
    told = f"{mark.message} {mark.line} {mark.sentence} {mark.findings}"
    assert "Spied" not in mark.line
    assert not any(
        case.arguments[0] and case.arguments[0][:12] in told
        for case in hidden
        if len(case.arguments[0]) >= 12
    )


def test_a_forged_reply_cannot_smuggle_a_case_out(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The worker's own words about line and delegation are checked against the source."""

    def forged(self: object, arguments: tuple[object, ...], seconds: float) -> dict[str, object]:
        return {
            "raised": "E",
            "said": f"E: {arguments}",
            "place": ("secret", "place"),
            "delegated": f"labkit.{arguments}",
            "line": str(arguments),
        }

    monkeypatch.setattr("classroom.grading.running.worker.Worker.ask", forged)
    mark = mark_of(judge, "cosine", "def cosine(a, b):\n    return 1")
    assert mark.message == "Your function calls labkit's own functions. Write it yourself."
    assert mark.line == ""


@pytest.mark.parametrize(
    "reply",
    [
        None,
        [],
        {},
        {"value": object},
        {"raised": 5, "of": ["x"], "said": {"a": 1}, "place": 7, "delegated": 3, "used": "x"},
        {"raised": "ok", "of": "exit", "place": (1, 2, 3), "used": (None, 1.0)},
        {"raised": "__class__", "of": "__builtins__"},
        {"value": 1, "changed": "yes", "used": (float("nan"), float("inf"))},
    ],
)
def test_any_reply_ends_in_an_outcome(
    judge: Judge, reply: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "classroom.grading.running.worker.Worker.ask", lambda self, arguments, seconds: reply
    )
    mark = mark_of(judge, "cosine", "def cosine(a, b):\n    return 1")
    assert mark.score == 0
    assert mark.outcome in (Outcome.WRONG, Outcome.CRASHED, Outcome.DIED)


def test_the_line_of_a_hidden_case_is_not_shown(judge: Judge) -> None:
    """Else a learner could choose the line that raises by what the hidden input is."""
    exercise = ALL["chunk_text"]
    public = [case.arguments for case in exercise.cases]
    lines = exercise.solution.splitlines()
    lines.insert(2, f"    if [text, size, overlap] not in {[list(a) for a in public]!r}:")
    lines.insert(3, "        raise KeyError(text)")
    mark = mark_of(judge, "chunk_text", "\n".join(lines))
    assert mark.outcome is Outcome.CRASHED
    assert (mark.line, mark.message[:23]) == ("", "All examples hold; anot")


def test_paths_of_this_machine_are_not_shown(judge: Judge) -> None:
    source = (
        "from collections import Countre\ndef cosine(a, b):\n    import sys\n    return sys.prefix"
    )
    mark = mark_of(judge, "cosine", source)
    undefined = mark_of(judge, "cosine", "from collections import Countre as cosine")
    told = repr((mark, undefined))
    assert "Countre" in told
    assert sysconfig.get_path("stdlib") not in told
    assert sys.base_prefix not in told


def test_an_error_of_a_learners_that_is_called_like_an_outcome_is_an_error(judge: Judge) -> None:
    for name in ("TooSlow", "Died", "NotRun", "no result in time", "ended the process"):
        source = f"def cosine(a, b):\n    raise type({name!r}, (Exception,), {{}})"
        assert mark_of(judge, "cosine", source).outcome is Outcome.CRASHED


def test_figures_of_a_worker_that_cannot_be_are_ignored(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for used in ((float("inf"), 1.0), (1e308, 1.0), (-1.0, 1.0), (float("nan"), 1.0)):
        reply = {"value": 1, "used": used}
        monkeypatch.setattr(
            "classroom.grading.running.worker.Worker.ask",
            lambda self, arguments, seconds, reply=reply: reply,
        )
        mark = mark_of(judge, "cosine", "def cosine(a, b):\n    return 1")
        assert (mark.cpu, mark.memory) == (0.0, 0.0)


def test_all_statements_together_have_a_limit(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "START_SECONDS", 1.5)
    slow = Cell(1, "import time\n" + "time.sleep(0.4)\n" * 50)
    began = time.monotonic()
    mark = mark_of(judge, "cosine", ALL["cosine"].solution, slow)
    assert mark.outcome is Outcome.TOO_SLOW
    assert "outside your functions" in mark.message
    assert time.monotonic() - began < 10  # a bound against hanging: all of them would take 20 s


def test_an_exercise_has_a_limit_on_the_clock(
    judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "EXERCISE_SECONDS", 1.0)
    source = ALL["cosine"].solution.replace(
        ALL["cosine"].signature, f"{ALL['cosine'].signature}\n    import time; time.sleep(0.3)"
    )
    mark = mark_of(judge, "cosine", source)
    assert mark.outcome is Outcome.TOO_SLOW
    assert mark.wall < 5


@pytest.mark.parametrize("place", [(1, 5), (7, 0), "x", (1,), (1, 10**4000), None])
def test_a_place_that_leads_nowhere_or_back_ends_the_worker(
    judge: Judge, place: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter([{"at": (9, 0), "line": 1}, {"at": place, "line": 10**50}] * 9)
    monkeypatch.setattr(
        "classroom.grading.running.worker.Worker.start", lambda self, seconds: next(replies)
    )
    monkeypatch.setattr(
        "classroom.grading.running.worker.Worker.next", lambda self, seconds: next(replies)
    )
    mark = mark_of(judge, "cosine", "def cosine(a, b):\n    return 1")
    assert mark.outcome is Outcome.DIED


# --- the key -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(ALL))
def test_a_key_depends_on_its_seed_alone(name: str) -> None:
    first, again, other = (AnswerKey(ALL[name], seed) for seed in ("a", "a", "b"))
    assert repr(first.cases) == repr(again.cases)
    assert repr(first.cases) != repr(other.cases)
    assert {case.group for case in first.cases} >= {Group.EXAMPLES, Group.ORDINARY}
