"""The lab behind the pages: opened anew for each request, its model loaded once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from labkit.assembly import Lab, open_lab
from labkit.embedding import CachedEmbedder
from labkit.service.errors import NoIndex, Problem, attempt, problem_of
from labkit.service.queueing import WorkQueue
from labkit.service.redaction import redactor_for
from labkit.service.server import Limits
from labkit.store.manifest import mend
from labkit.types import Origin, VectorStore

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
        lab = attempt(self._open, redactor_for(None))
        if isinstance(lab, Problem):
            return lab
        return attempt(lambda: work(lab), redactor_for(lab.settings))

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
