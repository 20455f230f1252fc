"""One evaluation: an index for each model, every ranking of it, every question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from warnings import catch_warnings, simplefilter, warn

from labkit.answering.engine import Engine
from labkit.assembly import Lab, make_chunker, make_generator, make_search, read_source
from labkit.embedding.checks import TextTooLong
from labkit.evaluation.answers import Examined, Judged, ask_all
from labkit.evaluation.datasets import AnnotatedQuestion, Beir, Squad
from labkit.evaluation.measuring import Asked, Measured, ask_annotated, ask_beir, measure
from labkit.evaluation.rankings import Ranking, dense, lexical, policy
from labkit.evaluation.scratch import (
    READER,
    Measurable,
    WholePassage,
    build,
    passage_source,
    read_folders,
)
from labkit.indexing import Source
from labkit.settings import Settings
from labkit.types import Chunker, FileFault, LabError, VectorStore, Viewer

Dataset: TypeAlias = Beir | Squad | Sequence[AnnotatedQuestion]
Bar: TypeAlias = Callable[[str], Callable[[int, int], None]]
"""Makes, for what is being done, what is told how many are done and how many there are."""

NO_THRESHOLD = -1.0
SLICE = 64  # questions that are embedded between two reports of progress


@dataclass(frozen=True, slots=True)
class Plan:
    """What to measure: `k` passages a question, under these policies, with these profiles' models.

    No policy and no profile: those of the settings. A BEIR folder, the folders `sources` (taken in
    as `ingest` does), or any profile named, get an index of their own in a temporary file;
    otherwise the index of the settings is measured.
    """

    k: int
    policies: Sequence[str] = ()
    profiles: Sequence[str] = ()
    sources: Sequence[Path] = ()


@dataclass(frozen=True, slots=True)
class Evaluation:
    """What was measured. `too_long`: by profile, the texts of which the model read a part only.

    `left_out`: the files of `Plan.sources` that are in no index.
    """

    measured: list[Measured]
    too_long: dict[str, int]
    left_out: tuple[FileFault, ...] = ()


def run(settings: Settings, dataset: Dataset, plan: Plan, bar: Bar) -> Evaluation:
    """The scores of every question under every ranking with every model.

    LabError for an index that does not fit the settings, or lacks the documents of the answers.
    """
    measured: list[Measured] = []
    too_long: dict[str, int] = {}
    source, left_out = _source(settings, dataset, plan)
    with TemporaryDirectory() as folder, _quiet_about_length():
        for index in _indexes(settings, source, dataset, plan, Path(folder), bar):
            profile = index.settings.embedding.profile
            asked = _asked(index, dataset, plan.k)
            rankings = _rankings(index, plan, NO_THRESHOLD if isinstance(dataset, Beir) else None)
            if not isinstance(dataset, Beir | Squad):
                check_documents(dataset, index.store)
            too_long[profile] = index.too_long + _embed_questions(index, asked, bar)
            told = bar(f"Measuring ({profile})")
            for done, found in enumerate(measure(asked, rankings, profile), start=1):
                measured += found
                told(done, len(asked))
    return Evaluation(measured, too_long, tuple(dict.fromkeys(left_out)))


def run_answers(
    settings: Settings, dataset: Squad | Sequence[AnnotatedQuestion], plan: Plan, bar: Bar
) -> list[Judged]:
    """Every question asked end to end, with every profile's model and under every policy.

    `plan.k` is not used: each policy hands on as many passages as for a reader. LabError as `run`.
    """
    judged: list[Judged] = []
    source, _ = _source(settings, dataset, plan)
    items = dataset.questions if isinstance(dataset, Squad) else dataset
    with TemporaryDirectory() as folder, _quiet_about_length():
        for index in _indexes(settings, source, dataset, plan, Path(folder), bar):
            check_documents(items, index.store)
            profile = index.settings.embedding.profile
            for name in dict.fromkeys(plan.policies or [settings.retrieval.policy]):
                own = index.settings.having(retrieval={"policy": name})
                search = make_search(own, index.store, index.embedder)
                engine = Engine(search, make_generator(own))
                viewer_named = _reader if isinstance(dataset, Squad) else own.viewer_named
                told = bar(f"Asking ({profile}, {name})")
                asked = ask_all(Examined(profile, name, engine, index.store), items, viewer_named)
                for done, one in enumerate(asked, start=1):
                    judged.append(one)
                    told(done, len(items))
    return judged


def _reader(_: str) -> Viewer:
    return READER


def check_documents(questions: Sequence[AnnotatedQuestion], store: VectorStore) -> None:
    """LabError if an answer's document is not in the index: a score of 0 would blame the search."""
    needed = {part.document: item.question.id for item in questions for part in item.parts}
    held = {document.id for document in store.documents()}
    missing = [name for name in needed if name not in held]
    if missing:
        raise LabError(
            f"Question {needed[missing[0]]} is answered by {missing[0]!r}; {len(missing)} of "
            f"{len(needed)} such documents are not in the index. Index the folder that the "
            "questions were written for, LABKIT_CORPUS=FOLDER. Run: labkit rebuild. "
            "Or measure on an index of its own: --source FOLDER"
        )


def _source(
    settings: Settings, dataset: Dataset, plan: Plan
) -> tuple[Source | None, Sequence[FileFault]]:
    """What an index of its own is made of, and the files that are not in it; None: none is made."""
    if isinstance(dataset, Beir | Squad):
        return passage_source(dataset.passages), ()
    if plan.sources:
        return read_folders(settings, plan.sources)
    return (read_source(settings) if plan.profiles else None), ()


def _indexes(
    settings: Settings,
    source: Source | None,
    dataset: Dataset,
    plan: Plan,
    folder: Path,
    bar: Bar,
) -> Iterator[Measurable]:
    """The index of the settings, or one a profile that is made for this run."""
    if source is None:
        lab = Lab(settings)
        lab.check_index()
        yield Measurable(settings, lab.store, lab.embedder)
        return
    for name in dict.fromkeys(plan.profiles or [settings.embedding.profile]):
        own = _with_profile(settings, name)
        chunker: Chunker = WholePassage()
        if not isinstance(dataset, Beir | Squad):
            chunker = make_chunker(own, "markdown" if plan.sources else "characters")
        told = bar(f"Embedding passages ({name})")
        yield build(own, source, chunker, folder / f"{name}.sqlite", told)


def _with_profile(settings: Settings, name: str) -> Settings:
    """The settings with another profile; a model that they name is not that profile's."""
    if name == settings.embedding.profile:
        return settings
    return settings.having(embedding={"profile": name, "model": "", "service_url": ""})


def _asked(index: Measurable, dataset: Dataset, k: int) -> list[Asked]:
    if isinstance(dataset, Beir):
        return ask_beir(dataset, k)
    if isinstance(dataset, Squad):
        return ask_annotated(dataset.questions, _reader, k)
    return ask_annotated(dataset, index.settings.viewer_named, k)


def _rankings(index: Measurable, plan: Plan, threshold: float | None) -> dict[str, Ranking]:
    """Both parts of the search, and each policy."""
    settings, store, embedder = index.settings, index.store, index.embedder
    found = {"dense": dense(store, embedder, plan.k), "lexical": lexical(store, plan.k)}
    for name in dict.fromkeys(plan.policies or [settings.retrieval.policy]):
        asked = settings.having(retrieval={"policy": name, "k": plan.k})
        found[name] = policy(make_search(asked, store, embedder, threshold), plan.k)
    return found


def _embed_questions(index: Measurable, asked: Iterable[Asked], bar: Bar) -> int:
    """All questions in few calls of the model; afterwards each is found in the cache.

    Returns how many were too long for the model.
    """
    texts, told = list(dict.fromkeys(item.text for item in asked)), bar("Embedding questions")
    with catch_warnings(record=True) as caught:
        simplefilter("always", TextTooLong)
        for start in range(0, len(texts), SLICE):
            index.embedder.embed(texts[start : start + SLICE], "query")
            told(min(start + SLICE, len(texts)), len(texts))
    for warning in caught:
        if not isinstance(warning.message, TextTooLong):
            warn(warning.message, stacklevel=2)
    return sum(isinstance(warning.message, TextTooLong) for warning in caught)


@contextmanager
def _quiet_about_length() -> Iterator[None]:
    """A text that is longer than the model reads is measured as it would be searched."""
    with catch_warnings():
        simplefilter("ignore", TextTooLong)
        yield
