"""One way out to model servers: JSON there, JSON back, within a time and a size.

Embedders and chat models are asked through it. The time-outs of an HTTP library start anew with
every byte, so a server that drips its headers could hold a caller for ever. Here each try runs
under one deadline, which ends it wherever it stands.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import ssl

    import httpx2

TRIES = 3
PAUSE = 0.5  # seconds before the second try, and twice as long before the third
MAX_REPLY_BYTES = 64_000_000
SHOWN = 300  # characters of a server's own words that a message repeats
_PASSING = {408, 409, 425, 429}  # refusals of the moment; all other 4xx would be the same again


class ServerFailed(Exception):
    """What a server did instead of answering: a sentence, to be put after its name.

    `status` is that of its reply, None where there was none. `wait` is how many seconds to leave it
    alone before another try; None if another try would end the same.
    """

    def __init__(self, problem: str, status: int | None = None, wait: float | None = None) -> None:
        super().__init__(problem)
        self.status, self.wait = status, wait


@dataclass(frozen=True)
class ModelServer:
    """A server under `url`. `timeout` bounds each try, from the connection to the last byte, in
    seconds, and each pause before another one, whatever the server asks for.

    Server errors, lost connections and time-outs are tried `TRIES` times in all. Redirects are not
    followed: a question and its passages go to the address that was set, or nowhere.
    """

    url: str
    timeout: float
    api_key: str = field(default="", repr=False)

    def get(self, path: str) -> Any:
        """The JSON under a path, or ServerFailed."""
        return self._ask("GET", path, None)

    def post(self, path: str, body: Any) -> Any:
        """The JSON that comes back for a JSON body, or ServerFailed."""
        return self._ask("POST", path, json.dumps(body).encode())

    def shown(self, value: Any) -> str:
        """A value of a reply as a message may repeat it: on one line, in part, without the key."""
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if self.api_key:
            text = text.replace(self.api_key, "[key]")
        printed = "".join(sign if sign.isprintable() else " " for sign in text[: 4 * SHOWN])
        line = " ".join(printed.split())
        return line if len(line) <= SHOWN else f"{line[:SHOWN]}…"

    def _ask(self, method: str, path: str, content: bytes | None) -> Any:
        # The loop runs in a thread of its own, because a notebook's thread has one running already;
        # an interrupt here cancels what is under way there.
        from anyio.from_thread import start_blocking_portal

        with start_blocking_portal() as portal:
            return portal.call(self._tries, method, path, content)

    async def _tries(self, method: str, path: str, content: bytes | None) -> Any:
        import anyio
        import httpx2

        pause = PAUSE
        async with httpx2.AsyncClient(verify=_certificates(), timeout=None) as client:
            request = self._request(client, method, path, content)
            for left in reversed(range(TRIES)):
                try:
                    return await self._one_try(client, request)
                except ServerFailed as failed:
                    if failed.wait is None or failed.wait > self.timeout or not left:
                        raise
                    await anyio.sleep(max(failed.wait, min(pause, self.timeout)))
                    pause *= 2
        raise AssertionError("the last try returns or raises")

    def _request(
        self, client: httpx2.AsyncClient, method: str, path: str, content: bytes | None
    ) -> httpx2.Request:
        """With the key that was given and no other: none is read from the environment."""
        import httpx2

        # Plain bytes only: some kilobytes that unpack to gigabytes would pass the bound of size.
        headers = {"content-type": "application/json", "accept-encoding": "identity"}
        if self.api_key:
            headers["authorization"] = f"Bearer {self.api_key.strip()}"
        try:
            url = httpx2.URL(self.url + path)
            if url.scheme in ("http", "https") and url.host:
                return client.build_request(method, url, content=content, headers=headers)
        except (httpx2.InvalidURL, ValueError):  # of which the words might hold the key
            pass
        raise ServerFailed("cannot be asked: the address has to be like http://127.0.0.1:8100.")

    async def _one_try(self, client: httpx2.AsyncClient, request: httpx2.Request) -> Any:
        import anyio
        import httpx2

        try:
            with anyio.fail_after(self.timeout):
                reply = await client.send(request, stream=True)
                try:
                    body = await _whole(reply)
                finally:
                    await reply.aclose()
        except TimeoutError as error:
            raise ServerFailed(f"sent no whole reply in {self.timeout:g} s.", wait=0) from error
        except httpx2.HTTPError as error:
            raise ServerFailed("cannot be reached. Is it running?", wait=0) from error
        return self._read(reply, body)

    def _read(self, reply: httpx2.Response, body: bytes) -> Any:
        """The JSON of a reply; ServerFailed, with the server's own words, for anything else."""
        code = reply.status_code
        if 300 <= code < 400:
            place = self.shown(reply.headers.get("location", ""))
            raise ServerFailed(f"answered {code}: go to {place!r}. That is not followed.", code)
        if code >= 400:
            said = self.shown(_message(body)).removesuffix(".")
            wait = _asked_to_wait(reply) if code in _PASSING or code >= 500 else None
            raise ServerFailed(f"answered {code}{said and ': '}{said}.", code, wait)
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as error:
            said = self.shown(body[: 8 * SHOWN].decode("utf-8", "replace"))
            raise ServerFailed(f"sent no JSON: {said or 'nothing at all'}.", code) from error


@cache
def _certificates() -> ssl.SSLContext:
    """Read once: it takes longer than many a request."""
    import httpx2

    return httpx2.create_ssl_context()


async def _whole(reply: httpx2.Response) -> bytes:
    """The bytes of a reply as they came; ServerFailed above MAX_REPLY_BYTES."""
    body = bytearray()
    async for part in reply.aiter_raw():
        body += part
        if len(body) > MAX_REPLY_BYTES:
            raise ServerFailed(f"was cut off: its reply is over {MAX_REPLY_BYTES:,} bytes.")
    return bytes(body)


def _asked_to_wait(reply: httpx2.Response) -> float:
    """Seconds of a Retry-After; 0 for none, and for a date, which clocks disagree about."""
    try:
        return max(0.0, float(reply.headers.get("retry-after", "0")))
    except ValueError:
        return 0.0


def _message(body: bytes) -> str:
    """What an error's body says: its message, where it has one, else all of it.

    >>> _message(b'{"error": {"message": "too long", "code": null}}'), _message(b"<p>Sign in</p>")
    ('too long', '<p>Sign in</p>')
    """
    text = body[: 8 * SHOWN].decode("utf-8", "replace")
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return text
    for name in ("error", "message", "detail"):
        if isinstance(told, dict) and told.get(name):
            told = told[name]
    return told if isinstance(told, str) else text
