"""One way out to model servers: the `openai` client, with a bound on time and on size.

The client's own time-out starts anew with every byte that arrives, so a server that drips would
hold it for ever. The transport here counts the whole reply, headers too, against one deadline.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import httpcore2
    import httpx2
    import openai

MAX_REPLY_BYTES = 64_000_000
RETRIES = 2
NO_KEY = "no-key"


class ReplyTooLarge(ValueError):
    """A reply was cut off at MAX_REPLY_BYTES. It is not tried again."""


def openai_client(base_url: str, timeout: float, api_key: str = NO_KEY) -> openai.OpenAI:
    """A client for an OpenAI-compatible server; `timeout` bounds each whole reply, in seconds.

    Server errors and time-outs are tried `RETRIES` times more. The key is the one given and no
    other: keys meant for another server are not read from the environment.
    """
    import openai

    client = openai.OpenAI(
        base_url=base_url,
        api_key=api_key.strip(),  # a line end, as files have it, would be no legal header
        timeout=timeout,
        max_retries=RETRIES,
        http_client=openai.DefaultHttpxClient(transport=_bounded_transport(timeout)),
    )
    # These come from OPENAI_ORG_ID, OPENAI_PROJECT_ID and OPENAI_CUSTOM_HEADERS.
    client.organization, client.project, client._custom_headers = None, None, {}
    return client


def _bounded_transport(timeout: float) -> httpx2.HTTPTransport:
    """A transport whose replies end at a deadline and at a size."""
    import httpcore2
    import httpx2

    under_way = threading.local()  # its deadline: a client may serve many threads

    class BoundedTransport(httpx2.HTTPTransport):
        def __init__(self) -> None:  # in place of the parent's, which makes an unbounded pool
            self._pool = httpcore2.ConnectionPool(network_backend=_bounded_network(under_way))

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            under_way.deadline = time.monotonic() + timeout
            # Plain bytes only: some kilobytes that unpack to gigabytes would pass the size.
            request.headers["accept-encoding"] = "identity"
            response = super().handle_request(request)
            response.headers.pop("content-encoding", None)
            assert isinstance(response.stream, httpx2.SyncByteStream)
            response.stream = _bounded_stream(response.stream)
            return response

    return BoundedTransport()


def _bounded_network(under_way: threading.local) -> httpcore2.NetworkBackend:
    """Connections on which no read outlasts `under_way.deadline`, headers included."""
    import httpcore2

    class BoundedSocket(httpcore2.NetworkStream):
        def __init__(self, stream: httpcore2.NetworkStream) -> None:
            self._stream = stream
            self.write, self.close = stream.write, stream.close  # type: ignore[method-assign]
            self.get_extra_info = stream.get_extra_info  # type: ignore[method-assign]

        def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
            left = under_way.deadline - time.monotonic()
            if left <= 0:
                raise httpcore2.ReadTimeout("the deadline of the whole reply has passed")
            return self._stream.read(max_bytes, left)

        def start_tls(self, *args: Any, **options: Any) -> httpcore2.NetworkStream:
            return BoundedSocket(self._stream.start_tls(*args, **options))

    class BoundedNetwork(httpcore2.SyncBackend):
        def connect_tcp(self, *args: Any, **options: Any) -> httpcore2.NetworkStream:
            return BoundedSocket(super().connect_tcp(*args, **options))

    return BoundedNetwork()


def _bounded_stream(stream: httpx2.SyncByteStream) -> httpx2.SyncByteStream:
    """A reply's bytes, cut off at a size."""
    import httpx2

    class BoundedStream(httpx2.SyncByteStream):
        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for part in stream:
                size += len(part)
                if size > MAX_REPLY_BYTES:
                    raise ReplyTooLarge(f"the reply is over {MAX_REPLY_BYTES:,} bytes")
                yield part

        def close(self) -> None:
            stream.close()

    return BoundedStream()
