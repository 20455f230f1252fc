"""One way out to model servers: the `openai` client, with a bound on time and on size.

The client's own time-out starts anew with every byte that arrives, so a server that drips would
hold it for ever. The transport here counts the whole reply against one deadline.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import openai

MAX_REPLY_BYTES = 64_000_000
RETRIES = 2
NO_KEY = "no-key"


def openai_client(base_url: str, timeout: float, api_key: str = NO_KEY) -> openai.OpenAI:
    """A client for an OpenAI-compatible server; `timeout` bounds each whole reply, in seconds.

    Server errors and time-outs are tried `RETRIES` times more. The key is the one given and no
    other: keys meant for another server are not read from the environment.
    """
    import httpx2
    import openai

    class BoundedStream(httpx2.SyncByteStream):
        """A reply's bytes, cut off at a deadline and at a size."""

        def __init__(self, stream: httpx2.SyncByteStream, deadline: float) -> None:
            self._stream, self._deadline = stream, deadline

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for part in self._stream:
                size += len(part)
                if time.monotonic() > self._deadline:
                    raise httpx2.ReadTimeout(f"no whole reply within {timeout:g} s")
                if size > MAX_REPLY_BYTES:
                    raise httpx2.ReadError(f"the reply is over {MAX_REPLY_BYTES:,} bytes")
                yield part

        def close(self) -> None:
            self._stream.close()

    class BoundedTransport(httpx2.HTTPTransport):
        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            deadline = time.monotonic() + timeout
            response = super().handle_request(request)
            assert isinstance(response.stream, httpx2.SyncByteStream)
            response.stream = BoundedStream(response.stream, deadline)
            return response

    return openai.OpenAI(
        base_url=base_url,
        api_key=api_key,
        timeout=timeout,
        max_retries=RETRIES,
        http_client=openai.DefaultHttpxClient(transport=BoundedTransport()),
    )
