"""classroom.checking: what a learner is told, whatever the function does."""

from __future__ import annotations

import _thread
import contextlib
import math
import signal
import sys
import time
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Iterator
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import Phase, settings

from classroom import checking
from classroom.checking import Outcome, Ran, Result, check_function
from classroom.exercise import Arguments, Case, Exercise, Function, Mistake
from classroom.exercises import ALL
from classroom.runtime.serialise import NotPlainError, same, to_plain
from labkit.chunking import windows
from labkit.chunking.characters import windows as windows_under_another_name

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

CHUNK_TEXT = ALL["chunk_text"]


# --- a small exercise of our own: the double of a number, in a list ------------------------------


def doubled(values: list[int]) -> list[int]:
    """The double of every number."""
    return [2 * value for value in values]


def squared(values: list[int]) -> list[int]:
    return [value * value for value in values]


def _lists(random: Random) -> Iterator[Arguments]:
    for _ in range(20):
        yield ([random.randint(3, 9) for _ in range(random.randint(1, 4))],)


def _any_list() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    return st.lists(st.integers(0, 20), max_size=5).map(lambda values: (values,))


DOUBLED = Exercise(
    text="Double\n\nDouble every number.",
    model_solution=doubled,
    reference=doubled,
    cases=(Case(([1, 2],), "two numbers"), Case(([],), "none")),
    hidden=_lists,
    strategy=_any_list,
    hints=("Add.", "Add it to itself.", "2 * value."),
    mistakes=(Mistake("squared", "The numbers are squared, not doubled.", squared),),
    off_limits=("labkit.chunking",),
    seconds=1.0,
)


@pytest.fixture
def few_examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few random inputs, and none made smaller: for tests that only ask for the outcome."""
    monkeypatch.setattr(checking, "EXAMPLES", 12)
    before = settings.get_current_profile_name()
    settings.register_profile("found-is-enough", phases=[Phase.generate])
    settings.load_profile("found-is-enough")
    yield
    settings.load_profile(before)


def check(function: Function, exercise: Exercise = DOUBLED) -> Result:
    """The result; whatever a learner's code does, no exception comes out."""
    return check_function(exercise, function)


# --- the seven outcomes --------------------------------------------------------------------------


def test_right() -> None:
    result = check(lambda values: [value + value for value in values])
    assert result.right
    assert result.arguments is None


def test_the_starter_is_not_called_wrong() -> None:
    def starter(values: list[int]) -> list[int]:
        raise NotImplementedError

    result = check(starter)
    assert result.outcome is Outcome.NOT_ATTEMPTED
    assert not result.mistake


def test_a_branch_that_is_not_written_yet_is_not_attempted() -> None:
    def half_done(values: list[int]) -> list[int]:
        if len(values) == 5:
            raise NotImplementedError
        return doubled(values)

    assert check(half_done).outcome is Outcome.NOT_ATTEMPTED


def test_a_lost_last_piece_gets_its_sentence_and_a_minimal_input() -> None:
    def my_chunks(text: str, size: int, overlap: int) -> list[str]:
        if size <= 0 or not 0 <= overlap < size:
            raise ValueError("no")
        pieces = []
        start = 0
        while start + size <= len(text):
            pieces.append(text[start : start + size])
            start += size - overlap
        return pieces

    result = check(my_chunks, CHUNK_TEXT)
    assert result.outcome is Outcome.WRONG
    assert result.mistake.startswith("The last piece of the text is in no chunk")
    assert result.arguments == ("a", 2, 0)
    assert str(result.expected) == "['a']"
    assert str(result.got) == "[]"


def test_the_smallest_failing_input_is_shown_without_a_known_mistake() -> None:
    result = check(lambda values: [value + value if value < 7 else 0 for value in values])
    assert result.outcome is Outcome.WRONG
    assert not result.mistake
    assert result.arguments == ([7],)
    assert result.got == Ran([0])


def test_a_known_mistake_is_named_although_most_inputs_are_right() -> None:
    result = check(lambda values: [value**2 for value in values])
    assert result.mistake == "The numbers are squared, not doubled."
    assert result.arguments == ([1],)


def test_what_only_resembles_a_mistake_is_not_given_its_sentence() -> None:
    assert not check(lambda values: [value**2 for value in values[:3]]).mistake


def test_a_known_mistake_is_named_although_bad_input_is_not_refused_either() -> None:
    def two_mistakes(text: str, size: int, overlap: int) -> list[str]:
        starts = range(0, len(text) - size + 1, max(1, size - overlap))
        return [text[start : start + size] for start in starts] if size > 0 else []

    result = check(two_mistakes, CHUNK_TEXT)
    assert result.mistake.startswith("The last piece of the text is in no chunk")


def test_an_endless_loop_comes_back_within_its_limit() -> None:
    def endless(values: list[int]) -> list[int]:
        while True:
            pass

    result = check(endless)
    assert result.outcome is Outcome.TOO_SLOW
    assert "within 1 s" in result.message


def test_a_loop_that_catches_everything_comes_back_too() -> None:
    def stubborn(values: list[int]) -> list[int]:
        while True:
            try:
                while True:
                    pass
            except Exception:
                continue

    assert check(stubborn).outcome is Outcome.TOO_SLOW


def test_a_loop_on_rare_inputs_alone_costs_the_limit_once() -> None:
    tried: list[object] = []

    def rarely_endless(values: list[int]) -> list[int]:
        if 17 in values:
            tried.append(values)
            while True:
                pass
        return doubled(values)

    assert check(rarely_endless).outcome is Outcome.TOO_SLOW
    assert len(tried) == 1


def test_a_crash_shows_the_learners_own_line() -> None:
    def crashing(values: list[int]) -> list[int]:
        total = sum(values)
        mean = total / len(values)
        return [2 * value for value in values if mean < 10**9]

    result = check(crashing)
    assert result.outcome is Outcome.CRASHED
    assert result.message.startswith("ZeroDivisionError")
    assert result.arguments == ([],)
    assert result.line == "line 3: mean = total / len(values)"


def test_a_crash_inside_a_library_still_shows_the_learners_line() -> None:
    def crashing(values: list[int]) -> list[int]:
        return list(np.array(values).reshape(-1, 7)[0])

    result = check(crashing)
    assert result.outcome is Outcome.CRASHED
    assert result.line.startswith("line 2: return list(np.array(values)")


def test_a_crash_in_a_helper_names_the_helper_and_counts_its_own_lines() -> None:
    def mean(values: list[int]) -> float:
        return sum(values) / len(values)

    def crashing(values: list[int]) -> list[int]:
        return [2 * value for value in values if mean(values)] or [int(mean([]))]

    result = check(crashing)
    assert result.outcome is Outcome.CRASHED
    assert result.line == "line 2 of mean: return sum(values) / len(values)"


def test_a_crash_in_a_comprehension_counts_from_the_function() -> None:
    def crashing(values: list[int]) -> list[int]:
        doubles = [2 * value for value in values]
        return [value // (value - 14) * 0 + value for value in doubles]

    result = check(crashing)
    assert result.outcome is Outcome.CRASHED
    assert result.line.startswith("line 3: return [value // (value - 14)")


@pytest.mark.usefixtures("few_examples")
def test_a_crash_where_an_error_is_due_is_wrong_and_says_which_error() -> None:
    def other_error(text: str, size: int, overlap: int) -> list[str]:
        if size <= 0 or not 0 <= overlap < size:
            raise KeyError(size)
        return [text[start:end] for start, end in spans(len(text), size, overlap)]

    def spans(length: int, size: int, overlap: int) -> list[tuple[int, int]]:
        found: list[tuple[int, int]] = []
        while length and (not found or found[-1][1] < length):
            start = found[-1][0] + size - overlap if found else 0
            found.append((start, min(start + size, length)))
        return found

    result = check(other_error, CHUNK_TEXT)
    assert result.outcome is Outcome.WRONG
    assert str(result.expected) == "raises ValueError"
    assert str(result.got) == "raises KeyError"


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, GeneratorExit, MemoryError])
@pytest.mark.usefixtures("few_examples")
def test_an_error_that_would_end_a_program_ends_nothing(error: type[BaseException]) -> None:
    def ending(values: list[int]) -> list[int]:
        raise error

    result = check(ending)
    assert result.outcome is Outcome.CRASHED
    assert result.message.startswith(error.__name__)
    assert result.line == "line 2: raise error"


def test_a_ctrl_c_of_the_person_who_waits_ends_the_check(
    request: pytest.FixtureRequest,
) -> None:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))

    def slow(values: list[int]) -> list[int]:
        _thread.interrupt_main()
        time.sleep(0.2)
        return values

    with pytest.raises(KeyboardInterrupt):
        check(slow)


def test_sys_exit_is_a_crash() -> None:
    result = check(lambda values: sys.exit(0))
    assert result.outcome is Outcome.CRASHED


@pytest.mark.usefixtures("few_examples")
def test_endless_recursion_is_a_crash_at_the_learners_line() -> None:
    def recursive(values: list[int]) -> list[int]:
        return recursive(values)

    result = check(recursive)
    assert result.outcome is Outcome.CRASHED
    assert result.message.startswith("RecursionError")
    assert result.line == "line 2: return recursive(values)"


def test_an_error_that_cannot_be_printed_is_a_crash() -> None:
    class Unprintable(Exception):
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def crashing(values: list[int]) -> list[int]:
        raise Unprintable

    result = check(crashing)
    assert result.outcome is Outcome.CRASHED
    assert result.message.startswith("Unprintable")


@pytest.mark.parametrize("thing", [None, 3, "doubled", lambda: [], lambda a, b, c: []])
@pytest.mark.usefixtures("few_examples")
def test_what_cannot_be_called_like_that_is_a_crash(thing: Any) -> None:
    result = check(thing)
    assert result.outcome is Outcome.CRASHED
    assert result.message.startswith("TypeError")


# --- delegating ----------------------------------------------------------------------------------


def _delegating() -> dict[str, Callable[[str, int, int], list[str]]]:
    def called(text: str, size: int, overlap: int) -> list[str]:
        return [text[a:b] for a, b in windows(len(text), size, overlap)]

    def imported_inside(text: str, size: int, overlap: int) -> list[str]:
        from labkit.chunking.characters import windows as cut

        return [text[a:b] for a, b in cut(len(text), size, overlap)]

    def under_another_name(text: str, size: int, overlap: int) -> list[str]:
        mine = [windows_under_another_name][0]
        return [text[a:b] for a, b in mine(len(text), size, overlap)]

    def imported_by_name(text: str, size: int, overlap: int) -> list[str]:
        module = __import__("importlib").import_module("labkit.chunking")
        return [text[a:b] for a, b in module.windows(len(text), size, overlap)]

    def from_the_exercise(text: str, size: int, overlap: int) -> list[str]:
        found: list[str] = ALL["chunk_text"].reference(text, size, overlap)
        return found

    def from_the_model_solution(text: str, size: int, overlap: int) -> list[str]:
        namespace: dict[str, Any] = {}
        exec(ALL["chunk_text"].solution, namespace)
        found: list[str] = namespace["chunk_text"](text, size, overlap)
        return found

    return {name: value for name, value in locals().items() if callable(value)}


@pytest.mark.parametrize("name", _delegating())
def test_calling_the_solution_is_delegating(name: str) -> None:
    result = check(_delegating()[name], CHUNK_TEXT)
    assert result.outcome is Outcome.DELEGATED
    assert "calls labkit." in result.message or "calls classroom." in result.message


def test_passing_the_solution_itself_is_delegating() -> None:
    assert check(CHUNK_TEXT.reference, CHUNK_TEXT).outcome is Outcome.DELEGATED


def test_delegating_for_rare_inputs_alone_is_delegating() -> None:
    def sometimes(values: list[int]) -> list[int]:
        if len(values) == 5:
            windows(3, 2, 1)
        return doubled(values)

    assert check(sometimes).outcome is Outcome.DELEGATED


def test_a_call_that_fails_is_delegating_too() -> None:
    def guarded(text: str, size: int, overlap: int) -> list[str]:
        with contextlib.suppress(ValueError):
            windows(len(text), 0, 0)
        return []

    assert check(guarded, CHUNK_TEXT).outcome is Outcome.DELEGATED


def test_a_single_function_can_be_off_limits() -> None:
    def borrowed(values: list[int]) -> list[int]:
        return doubled(values)

    named = replace(DOUBLED, off_limits=(f"{__name__}.doubled",))
    assert check(borrowed, named).outcome is Outcome.DELEGATED
    other = replace(DOUBLED, off_limits=(f"{__name__}.double", f"{__name__}.doubled.inner"))
    assert check(borrowed, other).right


# --- what comes back -----------------------------------------------------------------------------


class AlwaysEqual(list):  # type: ignore[type-arg]
    """Says that it is equal to everything."""

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False


class AlwaysEqualNumber(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


def _nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def _in_itself() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


@pytest.mark.parametrize(
    "value",
    [
        AlwaysEqual(),
        [AlwaysEqualNumber(2), AlwaysEqualNumber(4)],
        None,
        "24",
        [[2, 4]],
        {0: 2, 1: 4},
        {(0, 1): 2},
        [math.nan, math.nan],
        [True, 4],
        [10**400, 10**5000],
        _nested(10_000),
        _in_itself(),
        (value for value in (2, 4)),
        map(str, [2, 4]),
        object(),
        [object],
        np.array([None, 2], dtype=object),
        np.array(["2026-10-23"], dtype="datetime64[D]"),
        [2 + 0j, 4 + 0j],
        "\ud800",
    ],
    ids=lambda value: type(value).__name__,
)
@pytest.mark.usefixtures("few_examples")
def test_what_is_no_right_answer_is_wrong(value: Any) -> None:
    result = check(lambda values: value)
    assert result.outcome is Outcome.WRONG
    assert str(result.got)
    assert str(result.expected)
    assert "Error" not in result.message


@pytest.mark.parametrize(
    "form",
    [tuple, np.array, lambda values: np.array(values, dtype=float), lambda v: [*map(np.int64, v)]],
)
@pytest.mark.usefixtures("few_examples")
def test_the_same_numbers_in_another_form_are_right(form: Function) -> None:
    assert check(lambda values: form([2 * value for value in values])).right


@pytest.mark.usefixtures("few_examples")
def test_a_generator_function_is_told_to_return_a_list() -> None:
    def generating(values: list[int]) -> Iterator[int]:
        for value in values:
            yield 2 * value

    result = check(generating)
    assert result.outcome is Outcome.WRONG
    assert "generator" in result.message
    assert not result.line


def test_what_a_learner_prints_is_not_shown(capsys: pytest.CaptureFixture[str]) -> None:
    def talkative(values: list[int]) -> list[int]:
        print("here I am", values)
        return doubled(values)

    assert check(talkative).right
    assert capsys.readouterr().out == ""


def test_what_libraries_warn_of_is_not_shown(recwarn: pytest.WarningsRecorder) -> None:
    def warning(values: list[int]) -> list[int]:
        assert np.isnan(np.float64(0.0) / np.float64(0.0))
        return doubled(values)

    assert check(warning).right
    assert not recwarn.list


def test_changing_the_given_values_is_noticed() -> None:
    def sorting(values: list[int]) -> list[int]:
        result = doubled(values)
        values.sort()
        return result

    result = check(sorting)
    assert result.outcome is Outcome.WRONG
    assert "changes the values that it was given" in result.message
    assert result.arguments == ([1, 0],)


def test_a_function_that_remembers_does_not_spoil_its_inputs() -> None:
    def emptying(values: list[int]) -> list[int]:
        return [2 * values.pop(0) for _ in range(len(values))]

    result = check(emptying)
    assert result.outcome is Outcome.WRONG
    assert result.arguments == ([0],)


def test_a_function_that_answers_by_chance_is_wrong() -> None:
    calls = iter(range(10**6))
    result = check(lambda values: doubled(values) if next(calls) % 2 else [])
    assert result.outcome is Outcome.WRONG


@pytest.mark.usefixtures("few_examples")
def test_other_threads_are_left_alone() -> None:
    before = sys.getprofile()
    check(doubled)
    assert sys.getprofile() is before


# --- plain values --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [
        (1, 1.0, True),
        (0.1 + 0.2, 0.3, True),
        (1.0, 1.0 + 1e-6, False),
        (True, 1, False),
        (math.nan, math.nan, True),
        (math.nan, 0.0, False),
        (math.inf, math.inf, True),
        ("1", 1, False),
        (b"a", "a", False),
        ([1, 2], [1], False),
        ({"a": 1}, {"a": 1.0}, True),
        ({"a": 1}, {"b": 1}, False),
        (None, 0, False),
    ],
)
def test_plain_values_are_equal_as_one_would_expect(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
    assert same(right, left) is equal


def test_sets_become_sorted_lists() -> None:
    assert to_plain({"b", "a"}) == ["a", "b"]
    assert to_plain({"x": (1, np.float64(2.0))}) == {"x": [1, 2.0]}


def test_the_containers_of_collections_are_plain_too() -> None:
    assert to_plain(Counter("aab")) == {"a": 2, "b": 1}
    assert to_plain(OrderedDict(a=deque([1, 2]))) == {"a": [1, 2]}
    assert to_plain(bytearray(b"ab")) == b"ab"

    class Mine(Counter):  # type: ignore[type-arg]
        pass

    with pytest.raises(NotPlainError, match="type Mine"):
        to_plain(Mine())


def test_a_class_that_claims_to_be_numpys_is_asked_nothing() -> None:
    class Fake(np.ndarray):  # type: ignore[type-arg]
        def tolist(self) -> Any:
            raise AssertionError("asked")

    with pytest.raises(NotPlainError):
        to_plain(np.zeros(2).view(Fake))


def test_the_limits_are_those_of_a_lesson() -> None:
    """A lesson's check may cost some seconds, not a coffee."""
    assert checking.PROBES <= 20
    assert checking.EXAMPLES <= 200
    assert all(exercise.seconds <= 5 for exercise in ALL.values())


def test_a_part_that_a_lesson_lent_may_be_used_in_the_next_task() -> None:
    from classroom.learner import carry_on

    cosine = carry_on("cosine", ALL["cosine"].reference)

    def top_k(query: Any, vectors: Any, ids: Any, k: int) -> Any:
        pairs = [(name, cosine(query, v)) for name, v in zip(ids, vectors, strict=True)]
        return sorted(pairs, key=lambda pair: (-pair[1], pair[0]))[: max(0, k)]

    assert check_function(ALL["top_k"], top_k).right
