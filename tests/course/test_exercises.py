"""classroom.exercises: every exercise knows right from wrong, and says what is wrong."""

from __future__ import annotations

import base64
import json
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from types import FunctionType
from typing import Any

import pytest
from hypothesis import Phase, settings

from classroom import checking
from classroom.checking import Outcome, Ran, check_function, run_reference
from classroom.exercise import Arguments, Exercise, Function, Mistake
from classroom.exercises import ALL, TOPICS, exercise_named
from classroom.release import CHECKOUT
from classroom.runtime.serialise import same, to_plain
from classroom.starter import NOT_YET
from labkit.chunking.sections import OPENS_A_SECTION
from labkit.markdown import read
from labkit.text import normalise

PROMISED = """
    normalise_text parse_front_matter fingerprint chunk_text chunk_offsets cosine top_k
    encode_vector decode_vector manifest_differences replace_index significant_terms bm25_scores
    reciprocal_rank_fusion rank_hits eligible build_prompt check_evidence
    split_sections keep_tables_whole plan_changes embed_with_service
""".split()

EXERCISES = list(ALL.values())
MISTAKES = [(exercise, mistake) for exercise in EXERCISES for mistake in exercise.mistakes]

each_exercise = pytest.mark.parametrize("exercise", EXERCISES, ids=lambda item: item.id)
each_mistake = pytest.mark.parametrize(
    ("exercise", "mistake"), MISTAKES, ids=[f"{item.id}-{found.name}" for item, found in MISTAKES]
)


@pytest.fixture
def few_examples(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Few random inputs, and none made smaller: for tests that only ask what is found."""
    monkeypatch.setattr(checking, "EXAMPLES", 12)
    before = settings.get_current_profile_name()
    settings.register_profile("found-is-enough", phases=[Phase.generate])
    settings.load_profile("found-is-enough")
    yield
    settings.load_profile(before)


def written(source: str, name: str) -> Function:
    """The function that a learner has written in a cell."""
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<cell>", "exec"), namespace)
    function: Function = namespace[name]
    return function


def as_a_learner(function: Function) -> Function:
    """The same code in a module of the learner's."""
    assert isinstance(function, FunctionType)
    return FunctionType(
        function.__code__, {**function.__globals__, "__name__": "__main__"}, function.__name__
    )


def agree(left: Ran, right: Ran) -> bool:
    return left.raised == right.raised and same(left.value, right.value)


def unguarded(exercise: Exercise) -> Exercise:
    """The exercise without its guard against calling labkit."""
    return replace(exercise, off_limits=())


# --- what a check makes of a function ------------------------------------------------------------


@each_exercise
def test_the_starter_is_not_attempted(exercise: Exercise) -> None:
    result = check_function(exercise, written(exercise.starter, exercise.id))
    assert result.outcome is Outcome.NOT_ATTEMPTED


@each_exercise
@pytest.mark.usefixtures("few_examples")
def test_the_model_solution_is_right(exercise: Exercise) -> None:
    result = check_function(exercise, written(exercise.solution, exercise.id))
    assert result.outcome is Outcome.RIGHT, result


@each_exercise
@pytest.mark.usefixtures("few_examples")
def test_labkits_own_way_is_right(exercise: Exercise) -> None:
    result = check_function(unguarded(exercise), as_a_learner(exercise.reference))
    assert result.outcome is Outcome.RIGHT, result


@each_exercise
def test_calling_the_reference_is_delegating(exercise: Exercise) -> None:
    result = check_function(exercise, lambda *arguments: exercise.reference(*arguments))
    assert result.outcome is Outcome.DELEGATED, result
    assert exercise.reference.__name__ in result.message or "labkit." in result.message


@each_mistake
@pytest.mark.usefixtures("few_examples")
def test_a_mistake_is_caught_by_its_own_sentence(exercise: Exercise, mistake: Mistake) -> None:
    result = check_function(unguarded(exercise), mistake.function)
    assert result.outcome in (Outcome.WRONG, Outcome.CRASHED, Outcome.TOO_SLOW)
    assert result.mistake == mistake.sentence
    assert (result.outcome is Outcome.TOO_SLOW) == mistake.hangs


@each_exercise
@pytest.mark.parametrize(
    "seed", [*range(3), *(pytest.param(f"secret {n}", marks=pytest.mark.slow) for n in range(20))]
)
def test_every_mistake_fails_hidden_cases_whatever_the_seed(
    exercise: Exercise, seed: int | str
) -> None:
    """Else a grader that draws another seed would give it full marks."""
    hidden = exercise.hidden_cases(seed)
    expected = [run_reference(exercise, arguments) for arguments in hidden]
    unseen = [
        mistake.name
        for mistake in exercise.mistakes
        if not mistake.hangs
        and all(
            agree(run_reference(replace(exercise, reference=mistake.function), arguments), right)
            for arguments, right in zip(hidden, expected, strict=True)
        )
    ]
    assert unseen == []


@each_exercise
def test_the_model_solution_passes_every_hidden_case(exercise: Exercise) -> None:
    solution = written(exercise.solution, exercise.id)
    for seed in (1, 2):
        for arguments in exercise.hidden_cases(seed):
            expected = run_reference(exercise, arguments)
            got = run_reference(replace(exercise, reference=solution), arguments)
            assert agree(expected, got), arguments


# --- the cases -----------------------------------------------------------------------------------


@each_exercise
def test_every_seed_makes_cases_that_are_not_public(exercise: Exercise) -> None:
    public = {repr(case.arguments) for case in exercise.cases}
    for seed in range(100):
        hidden = exercise.hidden_cases(f"secret {seed}")
        assert len(hidden) >= 18
        assert not public.intersection(map(repr, hidden))


@each_exercise
def test_hidden_cases_depend_on_the_seed_alone(exercise: Exercise) -> None:
    first, again, other = (repr(exercise.hidden_cases(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert 20 <= len(exercise.hidden_cases(1)) <= 45


@each_exercise
def test_every_value_is_plain(exercise: Exercise) -> None:
    for arguments in [case.arguments for case in exercise.cases] + exercise.hidden_cases(0):
        assert same(travelled(list(arguments)), to_plain(list(arguments)))
        value = run_reference(exercise, arguments).value
        assert same(travelled(value), value)


@each_exercise
def test_a_case_survives_as_lists(exercise: Exercise) -> None:
    """A grader sends cases as JSON: a tuple inside one would arrive as a list."""
    for arguments in exercise.hidden_cases(0):
        sent: Arguments = tuple(travelled(list(arguments)))
        assert agree(run_reference(exercise, arguments), run_reference(exercise, sent))


@each_exercise
def test_every_public_case_says_why(exercise: Exercise) -> None:
    assert len(exercise.cases) >= 3
    assert all(case.why.strip() for case in exercise.cases)


@each_exercise
def test_no_case_is_refused_only(exercise: Exercise) -> None:
    """A function that does nothing but raise must not come far."""
    raised = [bool(run_reference(exercise, a).raised) for a in exercise.hidden_cases(0)]
    assert sum(raised) <= len(raised) / 2


def travelled(value: Any) -> Any:
    """A value after a journey through JSON; bytes travel as base64."""
    text = json.dumps(to_plain(value), default=lambda b: {"bytes": base64.b64encode(b).decode()})
    return json.loads(text, object_hook=_unpacked)


def _unpacked(item: dict[str, Any]) -> Any:
    return base64.b64decode(item["bytes"]) if item.keys() == {"bytes"} else item


# --- what stands around them ---------------------------------------------------------------------


def test_the_promised_exercises_are_there() -> None:
    assert set(PROMISED) <= set(ALL)


def test_ids_are_unique_and_in_order() -> None:
    assert list(ALL) == [exercise.id for exercise in EXERCISES]
    stages = [exercise.stage for exercise in EXERCISES]
    assert stages == sorted(stages)


def test_each_stage_has_core_exercises_and_one_transfer_task() -> None:
    stages = {exercise.stage for exercise in EXERCISES}
    core = Counter(exercise.stage for exercise in EXERCISES if exercise.core)
    transfer = Counter(exercise.stage for exercise in EXERCISES if exercise.transfer)
    assert stages == set(TOPICS)
    assert all(1 <= core[stage] <= 2 for stage in stages)
    assert all(transfer[stage] == 1 for stage in stages)
    assert not any(exercise.core and exercise.transfer for exercise in EXERCISES)


@each_exercise
def test_hints_and_mistakes_are_enough(exercise: Exercise) -> None:
    assert len(exercise.hints) >= 3
    assert len(exercise.mistakes) >= 3
    assert len(set(exercise.hints)) == len(exercise.hints)
    assert all(hint.strip()[-1] in ".?!" for hint in exercise.hints)
    assert exercise.points > 0
    assert 5 <= exercise.minutes <= 45
    assert exercise.off_limits


def test_sentences_are_sentences_and_unique() -> None:
    sentences = [mistake.sentence for _, mistake in MISTAKES]
    assert [s for s, times in Counter(sentences).items() if times > 1] == []
    for sentence in sentences:
        assert sentence.endswith(".")
        assert sentence[0].isupper() or not sentence[0].isalpha()
        assert 30 <= len(sentence) <= 200


@each_exercise
def test_the_starter_shows_types_and_a_contract(exercise: Exercise) -> None:
    function = written(exercise.starter, exercise.id)
    assert function.__doc__
    assert "return" in function.__annotations__
    assert exercise.starter.count(NOT_YET) == 1
    assert exercise.signature.startswith(f"def {exercise.id}(")
    assert exercise.signature.endswith(":")
    assert NOT_YET not in exercise.solution


@each_exercise
def test_a_call_is_written_as_a_learner_would(exercise: Exercise) -> None:
    for case in exercise.cases:
        assert exercise.call_written(case.arguments).startswith(f"{exercise.id}(")


@each_exercise
def test_the_summary_counts(exercise: Exercise) -> None:
    summary = exercise.summary()
    assert summary["id"] == exercise.id
    assert summary["hidden_cases"] == len(exercise.hidden_cases(0))
    assert json.loads(json.dumps(summary)) == summary


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    with pytest.raises(KeyError, match="chunk_text"):
        exercise_named("chunk_texts")


# --- against labkit's own reading of Markdown ----------------------------------------------------


def bodies() -> Iterator[tuple[str, str]]:
    """(name, body) of each Markdown file of the corpus that can be read."""
    for path in sorted((CHECKOUT / "corpus").rglob("*.md")):
        try:
            text = normalise(path.read_text("utf-8"))
        except UnicodeDecodeError:
            continue
        if "/corpus/README" not in path.as_posix():
            yield path.stem, text[text.find("\n---\n", 3) + 5 :] if text[:4] == "---\n" else text


def test_sections_begin_where_labkits_do() -> None:
    """The exercise knows headings with # alone, as nearly every document does."""
    others = []
    for name, body in bodies():
        found = ALL["split_sections"].reference(body)
        assert "".join(body[item["start"] : item["end"]] for item in found) == body
        mine = [(item["start"], item["level"], item["title"]) for item in found if item["level"]]
        theirs = [(b.start, b.level, b.title) for b in read(body) if 0 < b.level <= OPENS_A_SECTION]
        others += [name] if mine != theirs else []
    assert others == ["module-io-8"]  # whose headings are underlined


def test_tables_are_the_tables_that_labkit_sees() -> None:
    whole = cut = 0
    for _, body in bodies():
        text = re.sub(r"\n{3,}", "\n\n", body.strip())
        tables = [text[b.start : b.end].strip() for b in read(text) if b.kind == "table"]
        pieces = ALL["keep_tables_whole"].reference(text, 600)
        assert all(len(piece) <= 600 or flag for piece, flag in pieces)
        for table in tables:
            whole += any(table in piece for piece, _ in pieces)
            cut += not any(table in piece for piece, _ in pieces)
    assert cut == 0
    assert whole > 50


# --- the service of embed_with_service -----------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "returned", "raised", "requests"),
    [
        ((["a", "bb", "c"], 2, 1, []), [[1.0, 0.0], [2.0, 2.0], [1.0, 2.0]], "", ["a bb", "c"]),
        ((["a", "bb"], 1, 2, [503, 200, 0]), [[1.0, 0.0], [2.0, 2.0]], "", ["a", "a", "bb", "bb"]),
        ((["a", "bb"], 1, 2, [0, 500]), None, "ConnectionError", ["a", "a"]),
        ((["a", "bb"], 1, 9, [200, 413]), None, "ValueError", ["a", "bb"]),
        (([], 1, 9, [503]), [], "", []),
    ],
)
def test_what_a_service_makes_of_the_reference(
    arguments: Arguments, returned: object, raised: str, requests: list[str]
) -> None:
    ran = run_reference(ALL["embed_with_service"], arguments)
    asked = [batch.split() for batch in requests]
    assert ran.value == {"returned": returned, "raised": raised, "requests": asked}


def test_a_service_refuses_what_it_does_not_take() -> None:
    for batch in ([], ["a", "b", "c"]):
        exercise = replace(
            ALL["embed_with_service"],
            reference=lambda texts, post, size, tries, batch=batch: post(batch)["status"],
        )
        assert run_reference(exercise, (["a"], 2, 1, [])).value["returned"] == 422
