"""A worker as the grader sees it: a process that answers calls, until it is too slow or gone."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Mapping
from typing import Any

from labkit.classroom.grading.running.sandbox import LIMITS, Sandbox, environment, spare_user
from labkit.classroom.inside.wire import WireError, dumps, loads

MAX_LINE = 8_000_000  # bytes of a reply; the worker itself stays below half of it
START_SECONDS = 20.0


class WorkerTooSlowError(Exception):
    """No reply within the limit; the worker was killed."""


class WorkerDiedError(Exception):
    """The worker ended, or sent what is no reply; it was killed."""


class Worker:
    """One process for one exercise of one submission."""

    def __init__(self, sandbox: Sandbox, setup: Mapping[str, Any], slot: int) -> None:
        self._late = False
        user = spare_user(slot) if sandbox.isolated else 0
        self._process = subprocess.Popen(  # noqa: S603
            sandbox.command(setup["packages"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment(),
            start_new_session=True,
        )
        self._message = dumps({**setup, "limits": LIMITS, "user": user})

    def start(self, seconds: float) -> Any:
        """Send the setup and wait for the first message."""
        return self._exchange(self._message, START_SECONDS + seconds)

    def next(self, seconds: float) -> Any:
        """Wait for another message without asking for one."""
        return self._exchange(b"", seconds)

    def ask(self, arguments: tuple[Any, ...], seconds: float) -> Any:
        """The worker's reply to one case."""
        return self._exchange(dumps(arguments), seconds)

    def _exchange(self, message: bytes, seconds: float) -> Any:
        """Write and read under one limit: at its end the process is killed, which ends both."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        alarm = threading.Timer(seconds, self._kill_late)
        alarm.daemon = True
        alarm.start()
        try:
            self._process.stdin.write(message)
            self._process.stdin.flush()
            line = self._process.stdout.readline(MAX_LINE)
        except OSError:
            line = b""
        finally:
            alarm.cancel()
        if self._late:
            raise WorkerTooSlowError
        try:
            return loads(line)
        except WireError as error:
            self.kill()
            raise WorkerDiedError from error

    def _kill_late(self) -> None:
        self._late = True
        self.kill()

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
        for pipe in (self._process.stdin, self._process.stdout):
            with contextlib.suppress(OSError):
                if pipe is not None:
                    pipe.close()
