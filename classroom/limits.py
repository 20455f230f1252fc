"""Calling a function that may never return."""

from __future__ import annotations

import ctypes
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any


class TimeUpError(BaseException):
    """Raised inside a call that ran out of time. No `except Exception` of a learner's stops it."""


class TooSlowError(Exception):
    """The call did not return within its limit."""


def call_with_limit(function: Callable[[], Any], seconds: float) -> Any:
    """Call `function` in a thread of its own and wait `seconds` for it.

    On time-out an exception is raised in the thread, which ends any loop written in Python, on
    every platform.
    """
    outcome: dict[str, Any] = {}
    thread = threading.Thread(target=_work, args=(function, outcome), daemon=True)
    try:
        thread.start()
        thread.join(seconds)
    except KeyboardInterrupt:  # from the person who waits
        _stop(thread)
        raise
    if thread.is_alive():
        _stop(thread)
        raise TooSlowError(f"no result within {seconds:g} s")
    if "error" in outcome:
        raise outcome["error"]
    return outcome["value"]


def raised_inside(error: BaseException) -> bool:
    """Did the call raise this error, or was it something outside, such as a Ctrl-C meanwhile?"""
    frames = traceback.walk_tb(error.__traceback__)
    return any(frame.f_code is _work.__code__ for frame, _ in frames)


def _work(function: Callable[[], Any], outcome: dict[str, Any]) -> None:
    """The call, in its thread."""
    try:
        outcome["value"] = function()
    except BaseException as error:
        outcome["error"] = error


def _stop(thread: threading.Thread) -> None:
    """Raise TimeUpError in the thread until it ends; give up on one that waits outside Python."""
    with _time_up_unreported():
        for _ in range(20):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread.ident or 0), ctypes.py_object(TimeUpError)
            )
            thread.join(0.05)
            if not thread.is_alive():
                return


@contextmanager
def _time_up_unreported() -> Iterator[None]:
    """Nothing on the screen for a TimeUpError that strikes where nobody can catch it: in a
    finaliser, a callback of the garbage collector, or the thread's own last lines."""
    unraisable, in_thread = sys.unraisablehook, threading.excepthook

    def quiet(args: Any, usual: Callable[[Any], object]) -> None:
        if args.exc_type is not TimeUpError:
            usual(args)

    sys.unraisablehook = lambda args: quiet(args, unraisable)
    threading.excepthook = lambda args: quiet(args, in_thread)
    try:
        yield
    finally:
        sys.unraisablehook, threading.excepthook = unraisable, in_thread
