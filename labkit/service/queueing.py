"""Requests that queue for a few threads."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from typing import Protocol, TypeVar

from labkit.service.server import Limits

_Done = TypeVar("_Done")


class Busy(Exception):
    """As many requests wait as may."""


class InThread(Protocol):
    """Does work in one of the threads of a queue, and returns or raises what it does."""

    def __call__(self, work: Callable[[], _Done], /) -> Awaitable[_Done]: ...


class WorkQueue:
    """Work for requests in threads of its own, with a bound on how many wait and how long.

    Work that has begun when its time is over is finished in its thread, and its result is dropped;
    only then does the thread take more. (A limiter of anyio's would let the next begin beside it.)
    """

    def __init__(self, limits: Limits, threads: int = 1) -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(max_workers=threads)
        self._waiting = 0

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[InThread]:
        """The threads, for the time that a request may take in all; Busy, or TimeoutError."""
        if self._waiting >= self._limits.waiting:
            raise Busy
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                yield self._in_thread
        finally:
            self._waiting -= 1

    def _in_thread(self, work: Callable[[], _Done]) -> Awaitable[_Done]:
        return asyncio.get_running_loop().run_in_executor(self._threads, work)
