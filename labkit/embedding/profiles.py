"""Model profiles: a model, how to run it, and the threshold that was calibrated for it."""

from __future__ import annotations

from dataclasses import dataclass

from labkit.embedding.local import DEFAULT_MODEL


@dataclass(frozen=True, slots=True)
class Profile:
    """`threshold` is the cosine below which a passage is not near enough to answer from."""

    model: str
    threshold: float


PROFILES = {
    # `labkit calibrate` on corpus/questions/starter.jsonl; docs/calibration.md shows the table.
    "minilm": Profile(DEFAULT_MODEL, threshold=0.25),
}
