"""What the index holds, as the first page shows it: each part by itself, or why it is missing."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, TypeVar

from labkit.assembly import Lab
from labkit.service.diagnostics.session import embedder_of, index_of, store_of
from labkit.service.errors import Problem, problem_of
from labkit.service.redaction import Redactor, last_name, redactor_for
from labkit.types import Eligible, Health, IndexStats, IngestRun, Manifest, Origin

RUNS = 20
_Value = TypeVar("_Value")


@dataclass(frozen=True)
class Overview:
    """The index as it stands. `sound` is True when every row is as it was written."""

    stats: IndexStats | Problem
    manifest: Manifest | Problem
    sound: bool | Problem
    last_run: IngestRun | Problem | None

    @property
    def problem(self) -> Problem | None:
        """What is wrong with the index: the first of its parts that cannot be shown."""
        parts = (self.stats, self.manifest, self.sound, self.last_run)
        return next((part for part in parts if isinstance(part, Problem)), None)


def overview(lab: Lab) -> Overview:
    """Everything about the index; a part that fails keeps none of the others away."""
    redact = redactor_for(lab.settings)

    def part(work: Callable[[], _Value]) -> _Value | Problem:
        try:
            return work()
        except Exception as error:
            return problem_of(error, redact)

    return Overview(
        stats=part(lambda: index_of(lab).stats()),
        manifest=part(lambda: _manifest(lab, redact)),
        sound=part(lambda: _sound(lab)),
        last_run=part(lambda: next(iter(runs(lab, 1)), None)),
    )


def runs(lab: Lab, most: int = RUNS) -> list[IngestRun]:
    """The last runs as a page may show them, newest first."""
    redact = redactor_for(lab.settings)
    return [redact.run(run) for run in store_of(lab).runs(most)]


def health(lab: Lab) -> Health:
    """Whether the embedder can work now, and what it says of itself, without paths."""
    redact = redactor_for(lab.settings)
    if not lab.settings.embedding.service_url:
        with suppress(Exception):  # which `health` names; loaded at most once, whoever asks first
            embedder_of(lab)
    found = lab.health()
    said: dict[str, Any] = {name: found.detail.get(name) for name in ("memory_bytes", "window")}
    said = {name: value for name, value in said.items() if isinstance(value, int)}
    said["model"] = shown_model(str(found.detail.get("model") or ""))
    return Health(found.ok, redact(found.message), said)


def shown_model(model: str) -> str:
    """A model's name: an id as it is, of a folder its last name.

    >>> shown_model("intfloat/multilingual-e5-base"), shown_model("/srv/models/mine")
    ('intfloat/multilingual-e5-base', 'mine')
    """
    is_id = model.count("/") == 1 and not model.startswith(("/", "~", "."))
    return model if is_id else last_name(model)


def _manifest(lab: Lab, redact: Redactor) -> Manifest:
    """The manifest, its model by name, its endpoint without a user, its origin without a path."""
    made = index_of(lab).manifest()
    of = made.embedder
    shown = replace(of, model=shown_model(of.model), endpoint=redact(of.endpoint))
    return replace(made, embedder=shown, origin=Origin(made.origin.command))


def _sound(lab: Lab) -> bool:
    """Have the store read and check all its rows, once for each generation of the index."""
    nobody = Eligible(frozenset(), date.min)
    return index_of(lab).lexical(["check"], 1, nobody) == []
