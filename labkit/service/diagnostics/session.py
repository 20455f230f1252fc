"""The lab behind the pages: opened anew for each request, its model loaded once, and asked."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date
from typing import TypeVar

from labkit.answering.engine import Engine
from labkit.answering.results import Outcome
from labkit.assembly import Lab, open_lab
from labkit.embedding import CachedEmbedder
from labkit.embedding.checks import TextTooLong
from labkit.service.errors import NoIndex, Problem, problem_of
from labkit.service.queueing import WorkQueue
from labkit.service.redaction import redactor_for
from labkit.service.server import Limits
from labkit.settings import Settings
from labkit.store.manifest import check_space, mend
from labkit.types import Origin, Retrieval, Search, VectorStore, Viewer

CHECK_SECONDS = 5.0
READERS = 4
_Value = TypeVar("_Value")
_LOADING = threading.Lock()


class LabSession:
    """Does a page's work on the lab of the settings as they are now, and never raises.

    The settings are read for each request; while they are equal, the same `Lab` serves, with the
    model that it has loaded and the index that it has read. Its store looks at each reading
    whether the index was built anew. Nothing need exist at the start.

    Questions run one after another in one thread, because models and Python's warnings are not
    made for several; what only reads the index does not wait behind them. A check of the embedder
    has a few seconds, since a service that hangs must not take the page with it.
    """

    def __init__(self, opener: Callable[[], Lab] = open_lab, limits: Limits | None = None) -> None:
        limits = limits or Limits()
        self._opener = opener
        self._lab: Lab | None = None
        self._lock = threading.Lock()
        self._questions = WorkQueue(limits)
        self._readings = WorkQueue(limits, threads=READERS)
        self._checks = WorkQueue(replace(limits, seconds=min(CHECK_SECONDS, limits.seconds)))

    async def ask(self, work: Callable[[Lab], _Value]) -> _Value | Problem:
        """Work that needs the model."""
        return await self._do(self._questions, work)

    async def read(self, work: Callable[[Lab], _Value]) -> _Value | Problem:
        """Work that needs the settings and the index alone."""
        return await self._do(self._readings, work)

    async def check(self, work: Callable[[Lab], _Value]) -> _Value | Problem:
        """A question to the embedder about itself."""
        return await self._do(self._checks, work)

    async def _do(self, queue: WorkQueue, work: Callable[[Lab], _Value]) -> _Value | Problem:
        try:
            async with queue.slot() as in_thread:
                return await in_thread(lambda: self._attempt(work))
        except Exception as error:
            return problem_of(error, redactor_for(None))

    def _attempt(self, work: Callable[[Lab], _Value]) -> _Value | Problem:
        settings: Settings | None = None
        try:
            lab = self._open()
            settings = lab.settings
            return work(lab)
        except Exception as error:
            return problem_of(error, redactor_for(settings))

    def _open(self) -> Lab:
        """The lab in use, or a new one if the settings have changed since it was opened."""
        fresh = self._opener()
        with self._lock:
            if self._lab is None or self._lab.settings != fresh.settings:
                self._lab = fresh
            return self._lab


def embedder_of(lab: Lab) -> CachedEmbedder:
    """The embedder of a lab, made once however many threads ask for it at the same time.

    Its identity is asked for inside: to know it, a model given by its id has to be loaded.
    """
    with _LOADING:
        embedder = lab.embedder
        _ = embedder.identity
        return embedder


def store_of(lab: Lab) -> VectorStore:
    """The store of a lab whose file is there; NoIndex for one before its first run."""
    if not lab.settings.index.is_file():
        raise NoIndex(f"There is no index yet. Run: {mend(Origin())}")
    return lab.store


def index_of(lab: Lab) -> VectorStore:
    """The store of a lab with an index in it; NoIndex for one before its first build."""
    store = store_of(lab)
    if not store.exists():
        raise NoIndex(f"The index is empty. Run: {mend(Origin())}")
    return store


# --- a question -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """An outcome and the retrieval that it came from; `too_long` is (tokens, tokens read) of a
    question that the model could not read to its end."""

    outcome: Outcome
    retrieval: Retrieval
    too_long: tuple[int, int] | None = None


def ask(lab: Lab, question: str, viewer: str, as_of: date) -> Asked:
    """Answer, or refuse, on the one path that every question takes. LabError if it cannot be."""
    index_of(lab)
    embedder_of(lab)
    kept = _Keeping(lab.search())
    who = lab.settings.viewer_named(viewer or None)
    with warnings.catch_warnings(record=True) as caught:  # its message holds the question
        warnings.simplefilter("always", TextTooLong)
        outcome = Engine(kept, lab.generator()).ask(question, who, as_of)
    assert kept.found is not None, "the engine retrieves before anything else"
    long = [w.message for w in caught if isinstance(w.message, TextTooLong)]
    return Asked(outcome, kept.found, (long[0].tokens, long[0].limit) if long else None)


def check_fit(lab: Lab) -> None:
    """StoreError, with what mends it, unless the configured model made the index."""
    check_space(index_of(lab).manifest(), embedder_of(lab).identity)


class _Keeping:
    """A search that keeps what it found, so that the page shows what the engine was given."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self.found: Retrieval | None = None

    def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
        self.found = self._search.retrieve(question, viewer, as_of)
        return self.found
