"""What is missing, as a page can say it: a kind with words in each language, and a detail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, TypeVar

from labkit.embedding.checks import TextRefused
from labkit.service.diagnostics.clean import Cleaner
from labkit.service.line import Busy
from labkit.types import DocumentError, EmbeddingError, LabError, StoreError

Kind: TypeAlias = Literal[
    "settings", "no_index", "index", "documents", "embedder", "text", "busy", "late", "fault"
]
_Value = TypeVar("_Value")
_log = logging.getLogger("labkit.service")


@dataclass(frozen=True, slots=True)
class Problem:
    """A part that cannot work. `detail` is in English, and names no path of the machine."""

    kind: Kind
    detail: str = ""

    @property
    def status(self) -> int:
        """The HTTP status of a page that cannot show what it was asked for."""
        return {"text": 422, "fault": 500}.get(self.kind, 503)


class NoIndex(StoreError):
    """There is no index yet."""


def attempt(work: Callable[[], _Value], clean: Cleaner) -> _Value | Problem:
    """What the work returns, or why it cannot."""
    try:
        return work()
    except Exception as error:
        return problem_of(error, clean)


def problem_of(error: Exception, clean: Cleaner) -> Problem:
    """The problem behind an error. One that nobody expected is named in the log, by its type."""
    if isinstance(error, Busy):
        return Problem("busy")
    if isinstance(error, TimeoutError):
        return Problem("late")
    for kind, name in _KINDS:
        if isinstance(error, kind):
            return Problem(name, clean(str(error)))
    if isinstance(error, OSError):
        return Problem("settings", clean(f"A file cannot be used: {error}."))
    _log.error("A part failed: %s", type(error).__name__)  # its words may hold a text
    return Problem("fault", type(error).__name__)


_KINDS: tuple[tuple[type[Exception], Kind], ...] = (
    (NoIndex, "no_index"),
    (StoreError, "index"),
    (TextRefused, "text"),
    (EmbeddingError, "embedder"),
    (DocumentError, "documents"),
    (LabError, "settings"),
)
