"""A second fence inside the worker: what no answer to an exercise needs is refused.

The first fence is the sandbox around the process. This one is an audit hook (PEP 578), which cannot
be taken off again; it makes the usual tricks end in an error with a name instead of in a riddle.
"""

from __future__ import annotations

import os
import sys
from types import FrameType

CELL = "cell "  # what the file name of a learner's cell starts with
_NEVER = (
    "os.fork",
    "os.forkpty",
    "os.exec",
    "os.posix_spawn",
    "os.spawn",
    "os.system",
    "os.kill",
    "os.killpg",
    "pty.spawn",
    "subprocess.Popen",
    "socket.connect",
    "socket.bind",
    "socket.sendto",
    "socket.getaddrinfo",
    "signal.pthread_kill",
    "sys.setprofile",
    "sys.settrace",
    "sys.addaudithook",
)
_NEVER_BY_A_LEARNER = (
    "gc.get_objects",
    "gc.get_referrers",
    "gc.get_referents",
    "sys._getframe",
    "sys._current_frames",
    "ctypes.dlopen",
    "ctypes.dlsym",
    "ctypes.call_function",
    "ctypes.string_at",
    "ctypes.addressof",
)
_GO_BETWEENS = (f"{os.sep}inspect.py", f"ctypes{os.sep}__init__.py")
_FRAMES = ("tb_frame", "gi_frame", "cr_frame", "ag_frame")


def set_guard() -> None:
    """Refuse, from now on, with a PermissionError."""
    getframe, permission_error = sys._getframe, PermissionError
    asking = [False]

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if asking[0]:
            return
        if event in _NEVER:
            raise permission_error(f"{event} is not allowed when exercises are graded")
        frames = event == "object.__getattr__" and arguments[1] in _FRAMES
        if not frames and event not in _NEVER_BY_A_LEARNER:
            return
        asking[0] = True
        try:
            caller = getframe(1)
        finally:
            asking[0] = False
        if _is_a_learners(caller):
            raise permission_error(f"{event} is not allowed when exercises are graded")

    sys.addaudithook(hook)


def _is_a_learners(frame: FrameType | None) -> bool:
    """Does a learner's code ask, by itself or through a module that is made for asking? Files of
    Python's own have whole paths; a cell, and what `compile` makes in it, has a bare name."""
    while frame is not None and frame.f_code.co_filename.endswith(_GO_BETWEENS):
        frame = frame.f_back
    name = frame.f_code.co_filename if frame is not None else ""
    return bool(name) and not name.startswith((os.sep, "<frozen ")) and name[1:3] != ":\\"
