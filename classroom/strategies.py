"""Hypothesis' strategies, imported when one is first asked for.

Hypothesis takes longer to import than all exercises together, and most commands draw nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hypothesis.strategies import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        from hypothesis import strategies

        return getattr(strategies, name)
