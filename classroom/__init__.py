"""The course: exercises as objects, and what learners and instructors do with them.

Lessons say `from classroom import check, hint, …`; nothing is imported before it is asked for.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from classroom.learner import (
        carry_on,
        check,
        compare,
        hint,
        predict,
        progress,
        quiz,
        reveal,
    )

__all__ = ["carry_on", "check", "compare", "hint", "predict", "progress", "quiz", "reveal"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("classroom.learner"), name)
    raise AttributeError(f"module 'classroom' has no attribute {name!r}")
