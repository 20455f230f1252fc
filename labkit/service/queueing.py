"""Requests that queue for a model, or for a few threads."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias, TypeVar

from labkit.embedding.checks import TextRefused, TextTooLong
from labkit.service.server import Limits
from labkit.types import Embedder, Role

PIECE = 8  # texts between two looks at the clock and at the client
HasLeft: TypeAlias = Callable[[], Awaitable[bool]]
"""Has the client left?"""
_Done = TypeVar("_Done")


class Busy(Exception):
    """As many requests wait as may."""


class ClientLeft(Exception):
    """The client has gone; nobody waits for the rest."""


class WorkQueue:
    """Work for requests in threads of its own, with a bound on how many wait and how long.

    Work that has begun when its time is over is finished in its thread, and its result is dropped;
    work that has not begun is not begun.
    """

    def __init__(self, limits: Limits, threads: int = 1, name: str = "model") -> None:
        self._limits = limits
        self._threads = ThreadPoolExecutor(max_workers=threads, thread_name_prefix=name)
        self._waiting = 0

    async def run(self, work: Callable[[], _Done]) -> _Done:
        """What the work returns or raises; Busy, or TimeoutError, if it could not be done."""
        async with self.slot():
            return await self.in_thread(work)

    @asynccontextmanager
    async def slot(self) -> AsyncIterator[None]:
        """A slot in the queue, and the time that a request may take in all."""
        if self._waiting >= self._limits.waiting:
            raise Busy
        self._waiting += 1
        try:
            async with asyncio.timeout(self._limits.seconds):
                yield
        finally:
            self._waiting -= 1

    async def in_thread(self, work: Callable[[], _Done]) -> _Done:
        """Do it in one of the threads; to be called in a `slot`."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


@dataclass
class Embedded:
    """Vectors as rows, one a text, and the warnings of texts that the model did not read whole, by
    number."""

    rows: list[list[float]] = field(default_factory=list)
    too_long: dict[int, TextTooLong] = field(default_factory=dict)


class ModelQueue:
    """Embeds for many requests, one piece at a time, in one thread of its own.

    A request is given up, at the end of a piece, when its time is over or its client has left, so
    that a client's next try does not wait behind its own last one.
    """

    def __init__(self, embedder: Embedder, limits: Limits) -> None:
        self._embedder, self._queue = embedder, WorkQueue(limits)

    async def embed(
        self, texts: Sequence[str], role: Role, truncate: bool, has_left: HasLeft
    ) -> Embedded:
        """A vector for each text, or TextRefused, Busy, ClientLeft or TimeoutError.

        Without `truncate`, a text that the model cannot read whole is refused: half a text is
        never served to a client that does not know.
        """
        async with self._queue.slot():
            found = Embedded()
            for start in range(0, len(texts), PIECE):
                if await has_left():
                    raise ClientLeft
                piece = texts[start : start + PIECE]
                work = partial(self._piece, piece, role, truncate, start)
                part = await self._queue.in_thread(work)
                found.rows += part.rows
                found.too_long |= part.too_long
            return found

    def _piece(self, texts: Sequence[str], role: Role, truncate: bool, first: int) -> Embedded:
        """A piece whose first text is number `first` of its request."""
        try:
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always" if truncate else "error", TextTooLong)
                rows = self._embedder.embed(texts, role).tolist()
        except TextTooLong as long:
            problem = f"has {long.tokens} tokens; the model reads {long.limit} at once. Cut it."
            raise TextRefused({first + list(texts).index(long.text): problem}) from long
        except TextRefused as refused:
            problems = {first + number: said for number, said in refused.problems.items()}
            raise TextRefused(problems) from refused
        warned = [w.message for w in caught if isinstance(w.message, TextTooLong)]
        too_long = {warning.text: warning for warning in warned}
        numbered = enumerate(texts, first)
        return Embedded(rows, {n: too_long[text] for n, text in numbered if text in too_long})
