"""A worker as the grader sees it: a process that answers calls, until it is too slow or gone."""

from __future__ import annotations

import contextlib
import os
import queue
import signal
import subprocess
import tempfile
import threading
from collections.abc import Mapping
from typing import Any

from classroom.grading.running.sandbox import LIMITS, Sandbox, environment, spare_user
from classroom.runtime.protocol import ProtocolError, dumps, loads, values_in

MAX_LINE = 130_000  # bytes of a reply; the worker itself stays below half of it
MAX_PARTS = 6_000  # values in a reply, which take far more room than their bytes
_PIPE = 32_000  # bytes that a pipe takes without anybody reading it


class WorkerTooSlowError(Exception):
    """No reply within the limit; the worker was killed."""


class StoppedError(Exception):
    """Grading was stopped: there is no worker, and what it would have said is not known."""


class WorkerDiedError(Exception):
    """The worker ended, or sent what is no reply; it was killed."""


class Worker:
    """One process for one exercise of one submission.

    Its replies are read by a thread, so that nobody waits for a process that keeps its end open.
    """

    def __init__(self, sandbox: Sandbox, setup: Mapping[str, Any], slot: int) -> None:
        self._sandbox = sandbox
        if sandbox.stopped.is_set():
            raise StoppedError
        self._folder = tempfile.TemporaryDirectory(prefix="worker-")
        user = spare_user(slot) if sandbox.isolated else 0
        self._process = subprocess.Popen(  # noqa: S603
            sandbox.command(setup["packages"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(None if sandbox.isolated else self._folder.name),
            cwd=self._folder.name,
            start_new_session=True,
        )
        sandbox.running.add(self)
        self._message = dumps({**setup, "limits": LIMITS, "user": user})
        self._lines: queue.Queue[bytes] = queue.Queue(maxsize=4)
        threading.Thread(target=self._read, daemon=True).start()

    def start(self, seconds: float) -> Any:
        """Send the setup and wait for the first message."""
        self._write(self._message, seconds)
        return self.next(seconds)

    def ask(self, arguments: tuple[Any, ...], seconds: float) -> Any:
        """The worker's reply to one case."""
        self._write(dumps(arguments), seconds)
        return self.next(seconds)

    def next(self, seconds: float) -> Any:
        """The next message. A worker that is late, or sends what is no message, is killed."""
        try:
            line = self._lines.get(timeout=max(0.0, seconds))
        except queue.Empty:
            self.kill()
            raise WorkerTooSlowError from None
        if self._sandbox.stopped.is_set():
            raise StoppedError
        try:
            if values_in(line) > MAX_PARTS:
                raise ProtocolError("too many values")
            return loads(line)
        except ProtocolError as error:
            self.kill()
            raise WorkerDiedError from error

    def _read(self) -> None:
        """In a thread: lines as they come; an empty one, which is no message, at the end."""
        assert self._process.stdout is not None
        with contextlib.suppress(OSError, ValueError), self._process.stdout as replies:
            while line := replies.readline(MAX_LINE):
                while self._process.returncode is None:
                    with contextlib.suppress(queue.Full):
                        self._lines.put(line, timeout=0.2)
                        break
        with contextlib.suppress(queue.Full):
            self._lines.put(b"", timeout=60)

    def _write(self, message: bytes, seconds: float) -> None:
        """Send a message; a process that does not take a long one is killed."""
        assert self._process.stdin is not None
        alarm = threading.Timer(seconds, self.kill)
        alarm.daemon = True
        if len(message) > _PIPE:
            alarm.start()
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
        except OSError:
            self.kill()  # the reader notices
        finally:
            alarm.cancel()

    def kill(self) -> None:
        """End the process and all that it started."""
        if self._process.returncode is not None:
            return
        with contextlib.suppress(OSError):
            if hasattr(os, "killpg"):
                os.killpg(self._process.pid, signal.SIGKILL)
            else:
                self._process.kill()

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self.kill()
        self._process.wait()
        self._sandbox.running.discard(self)
        with contextlib.suppress(OSError):
            if self._process.stdin is not None:
                self._process.stdin.close()
        with contextlib.suppress(OSError):
            self._folder.cleanup()
