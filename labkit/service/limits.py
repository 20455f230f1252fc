"""What one request may ask of a service."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of a service; sizes in characters or bytes, times in seconds.

    `seconds` bounds the whole work on one request, its wait for the model among it. `waiting` is
    how many requests may wait or be worked on; one more is told to come again (503).
    """

    texts: int = 64
    characters: int = 10_000
    body_bytes: int = 2_000_000
    body_seconds: float = 10.0
    seconds: float = 60.0
    waiting: int = 16
    connections: int = 128
