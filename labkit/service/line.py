"""Requests that wait in line for a model or for a few threads."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeAlias, TypeVar

from labkit.embedding.checks import TextRefused, TextTooLong
from labkit.service.limits import Limits
from labkit.types import Embedder, Role

PIECE = 8  # texts between two looks at the clock and at the client
Gone: TypeAlias = Callable[[], Awaitable[bool]]
"""Has the client left?"""
_Done = TypeVar("_Done")


class Busy(Exception):
    """As many requests wait as may."""


class Left(Exception):
    """The client has gone; nobody waits for the rest."""


class Line:
    """Work for requests in threads of its own, with a bound on how many wait and how long.

    Work that has begun when its time is over is finished in its thread, and its result is dropped;
    work that has not begun is not begun.
    """

    def __init__(self, limits: Limits, threads: int = 1, name: str = "model") -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)
        self._waiting = 0

    async def do(self, work: Callable[[], _Done]) -> _Done:
        """What the work returns or raises; Busy, or TimeoutError, if it could not be done."""
        async with self.place():
            return await self.in_thread(work)

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """A place in line, and the time that a request may take in all."""
        if self._waiting >= self._limits.waiting:
            raise Busy
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                yield
        finally:
            self._waiting -= 1

    async def in_thread(self, work: Callable[[], _Done]) -> _Done:
        """Do it in one of the threads; to be called in a `place`."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


class ModelLine:
    """Embeds for many requests, one piece at a time, in one thread of its own.

    A request is given up, at the end of a piece, when its time is over or its client has left, so
    that a client's next try does not wait behind its own last one.
    """

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self._embedder, self._line = embedder, Line(limits)

    async def embed(self, texts: Sequence[str], role: Role, gone: Gone) -> list[list[float]]:
        """A vector for each text. TextRefused, Busy, Left or TimeoutError if there is none."""
        async with self._line.place():
            rows: list[list[float]] = []
            for start in range(0, len(texts), PIECE):
                if await gone():
                    raise Left
                piece = texts[start : start + PIECE]
                rows += await self._line.in_thread(partial(self._rows, piece, role, start))
            return rows

    def _rows(self, texts: Sequence[str], role: Role, first: int) -> list[list[float]]:
        """The vectors of a piece whose first text is number `first` of its request."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error", TextTooLong)  # half a text is never served
                rows: list[list[float]] = self._embedder.embed(texts, role).tolist()
        except TextTooLong as long:
            problem = f"has {long.tokens} tokens; the model reads {long.limit} at once. Cut it."
            raise TextRefused(first + list(texts).index(long.text), problem) from long
        except TextRefused as error:
            number = None if error.number is None else first + error.number
            raise TextRefused(number, error.problem) from error
        return rows
