"""One evaluation: an index for each model, every ranking of it, every question."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeAlias
from warnings import catch_warnings, simplefilter, warn

from labkit.assembly import Lab
from labkit.embedding.checks import TextTooLong
from labkit.evaluation.datasets import AnnotatedQuestion, Beir
from labkit.evaluation.measuring import Asked, Measured, ask_annotated, ask_beir, measure
from labkit.evaluation.rankings import Ranking, dense, lexical, policy
from labkit.evaluation.scratch import ScratchLab
from labkit.settings import Settings
from labkit.types import FileFault, LabError, Search, VectorStore

Dataset: TypeAlias = Beir | Sequence[AnnotatedQuestion]
Step: TypeAlias = Callable[[str, int, int], None]
"""Called with (what is being done, how many are done, how many in all)."""

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


def run(settings: Settings, dataset: Dataset, plan: Plan, step: Step) -> Evaluation:
    """The scores of every question under every ranking with every model.

    LabError for an index that does not fit the settings, or lacks the documents of the answers.
    """
    measured: list[Measured] = []
    too_long: dict[str, int] = {}
    left_out: dict[FileFault, None] = {}
    with TemporaryDirectory() as folder, _quiet_about_length():
        for lab, cut in _labs(settings, dataset, plan, Path(folder), step):
            profile = lab.settings.embedding.profile
            asked = _asked(lab, dataset, plan.k)
            rankings = _rankings(lab, plan, NO_THRESHOLD if isinstance(dataset, Beir) else None)
            if not isinstance(dataset, Beir):
                check_documents(dataset, lab.store)
            if isinstance(lab, ScratchLab):
                left_out |= dict.fromkeys(lab.left_out)
            too_long[profile] = cut + _embed_questions(lab, asked, step)
            for done, found in enumerate(measure(asked, rankings, profile), start=1):
                measured += found
                step(f"Measuring ({profile})", done, len(asked))
    return Evaluation(measured, too_long, tuple(left_out))


def check_documents(questions: Sequence[AnnotatedQuestion], store: VectorStore) -> None:
    """LabError if an answer's document is not in the index: a score of 0 would blame the search."""
    needed = {part.document: item.question.id for item in questions for part in item.parts}
    missing = [name for name in needed if store.document_hash(name) is None]
    if missing:
        raise LabError(
            f"Question {needed[missing[0]]} is answered by {missing[0]!r}; {len(missing)} of "
            f"{len(needed)} such documents are not in the index. Index the folder that the "
            "questions were written for, LABKIT_CORPUS=FOLDER. Run: labkit rebuild. "
            "Or measure on an index of its own: --source FOLDER"
        )


def _labs(
    settings: Settings, dataset: Dataset, plan: Plan, folder: Path, step: Step
) -> Iterator[tuple[Lab, int]]:
    """A lab a profile, and how many of its passages were too long for the model.

    Its index is the settings' own, whose building told of such, or is made for this run.
    """
    if not (plan.profiles or plan.sources or isinstance(dataset, Beir)):
        yield Lab(settings), 0
        return
    passages = dataset.passages if isinstance(dataset, Beir) else None
    for name in dict.fromkeys(plan.profiles or [settings.embedding.profile]):
        lab = ScratchLab(_with_profile(settings, name), folder, passages, plan.sources)
        yield lab, len(lab.build(partial(step, f"Embedding passages ({name})")).too_long)


def _with_profile(settings: Settings, name: str) -> Settings:
    """The settings with another profile; a model that they name is not that profile's."""
    embedding = settings.embedding
    if name != embedding.profile:
        embedding = replace(embedding, profile=name, model="", service_url="")
    return replace(settings, embedding=embedding)


def _asked(lab: Lab, dataset: Dataset, k: int) -> list[Asked]:
    if isinstance(dataset, Beir):
        return ask_beir(dataset, k)
    return ask_annotated(dataset, lab.settings.viewer_named, k)


def _rankings(lab: Lab, plan: Plan, threshold: float | None) -> dict[str, Ranking]:
    """Both parts of the search, and each policy; the index is checked against the settings."""
    names = dict.fromkeys(plan.policies or [lab.settings.retrieval.policy])
    searches = {name: _search(lab, name, plan.k, threshold) for name in names}
    return {
        "dense": dense(lab.store, lab.embedder, plan.k),
        "lexical": lexical(lab.store, plan.k),
        **{name: policy(search, plan.k) for name, search in searches.items()},
    }


def _search(lab: Lab, name: str, k: int, threshold: float | None) -> Search:
    """The search of a policy; the copy shares the model and the store with the lab."""
    _ = lab.embedder, lab.store  # made once, before the copy
    other = copy(lab)
    other.settings = replace(
        lab.settings, retrieval=replace(lab.settings.retrieval, policy=name, k=k)
    )
    return other.search(threshold)


def _embed_questions(lab: Lab, asked: Iterable[Asked], step: Step) -> int:
    """All questions in few calls of the model; afterwards each is found in the cache.

    Returns how many were too long for the model.
    """
    texts = list(dict.fromkeys(item.text for item in asked))
    with catch_warnings(record=True) as caught:
        simplefilter("always", TextTooLong)
        for start in range(0, len(texts), SLICE):
            lab.embedder.embed(texts[start : start + SLICE], "query")
            step("Embedding questions", min(start + SLICE, len(texts)), len(texts))
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
