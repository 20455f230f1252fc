"""One question asked of the lab, with everything that was considered on the way."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from datetime import date

from labkit.answering.engine import Engine
from labkit.answering.results import Outcome
from labkit.assembly import Lab
from labkit.embedding.checks import TextTooLong
from labkit.service.diagnostics.session import embedder_of, index_of
from labkit.store.manifest import check_space
from labkit.types import Retrieval, Search, Viewer


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
