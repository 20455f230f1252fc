"""The fence around a learner's code: a process that sees Python, numpy and nothing else.

On Linux `bubblewrap` makes it: own namespaces for processes, network, users and files, a temporary
folder in memory, nothing of the machine but Python's own folders, read-only. Elsewhere there is no
fence; the limits of `LIMITS` hold all the same, as far as the system knows them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol

from classroom import runtime
from labkit.types import LabError

MEBIBYTE = 1 << 20
LIMITS = {
    "CPU": 60,  # seconds of a whole worker; each case has a limit of its own on the clock
    "AS": 1024 * MEBIBYTE,
    "FSIZE": 16 * MEBIBYTE,
    "NPROC": 6,
    "NOFILE": 64,
    "CORE": 0,
}
SCRATCH = 64 * MEBIBYTE  # of the temporary folder, which lies in memory
SPARE_USER = 61200  # root becomes this user inside, one a worker; no system gives it to a person
GRADER, PACKAGES = "/grader", "/packages"
PACKAGES_FOR_ALL = ("numpy",)
_SYSTEM = ("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/etc/ld.so.cache", "/usr/share/zoneinfo")
_HANDED_ON = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # some processors compute wrong without
_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); "
    "from runtime.worker import main; main(sys.argv[1])"
)

_DANGER = "and submissions are code that nobody has read. "
_OTHERWISE = (
    "or grade in a virtual machine that you can throw away and say --unsafe-without-sandbox."
)
_MISSING = (
    f"There is no sandbox on this machine, {_DANGER}On Linux install bubblewrap (Debian, Ubuntu, "
    f"Fedora: the package `bubblewrap`), {_OTHERWISE}"
)
_FORBIDDEN = (
    f"bubblewrap is installed but does not work here, {_DANGER}Containers and some systems forbid "
    f"it; allow user namespaces, {_OTHERWISE}"
)


class Killable(Protocol):
    """A process that can be ended at once."""

    def kill(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How workers are started: behind bubblewrap, or with nothing but limits."""

    isolated: bool
    grader: Path
    packages: Path
    running: set[Killable] = field(default_factory=set, compare=False)
    stopped: threading.Event = field(default_factory=threading.Event, compare=False)

    def stop(self) -> None:
        """End every worker, and let no other one start."""
        self.stopped.set()
        for worker in list(self.running):
            worker.kill()

    @property
    def name(self) -> str:
        return "bubblewrap" if self.isolated else "none"

    def command(self, allowed: Sequence[str]) -> list[str]:
        """The command of a worker that may import `allowed` beside Python's own and numpy."""
        if self.isolated:
            return _bubblewrap(self.grader, [*PACKAGES_FOR_ALL, *allowed])
        folder = _linked(self.packages, [*PACKAGES_FOR_ALL, *allowed])
        return [*_python(), str(self.grader), str(folder)]


@contextmanager
def sandbox(*, unsafe: bool = False) -> Iterator[Sandbox]:
    """The best sandbox that there is; LabError if there is none and `unsafe` does not allow it."""
    isolated = can_isolate()
    if not isolated and not unsafe:
        raise LabError(_FORBIDDEN if shutil.which("bwrap") else _MISSING)
    with tempfile.TemporaryDirectory(prefix="grader-") as folder:
        grader, packages = Path(folder, "grader"), Path(folder, "packages")
        shutil.copytree(
            Path(runtime.__file__).parent,
            grader / "runtime",
            ignore=shutil.ignore_patterns("__*__"),
        )
        packages.mkdir()
        for path in (Path(folder), grader, grader / "runtime", packages):
            path.chmod(0o755)  # root's worker becomes somebody else
        yield Sandbox(isolated, grader, packages)


@cache
def can_isolate() -> bool:
    """Does bubblewrap work here? Tried, since a container may have it and forbid it."""
    if not shutil.which("bwrap"):
        return False
    command = _bubblewrap(Path(runtime.__file__).parent, PACKAGES_FOR_ALL)
    probe = [*command[: command.index("-c") + 1], "import os; os._exit(7)"]
    done = subprocess.run(probe, env=environment(), capture_output=True, check=False, timeout=60)  # noqa: S603
    return done.returncode == 7


def environment(home: str | None = None) -> dict[str, str]:
    """What a worker knows of this machine's environment: next to nothing. `home` is the folder of
    one that no sandbox gives its own."""
    folder = home or "/tmp"  # noqa: S108 - the sandbox's own
    scrubbed = {
        "LANG": "C.UTF-8",
        "HOME": folder,
        "TMPDIR": folder,
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    return scrubbed | {name: os.environ[name] for name in _HANDED_ON if name in os.environ}


def spare_user(slot: int) -> int:
    """Whom the worker in this slot becomes; 0 (nobody else) unless we are root."""
    return SPARE_USER + slot if hasattr(os, "geteuid") and os.geteuid() == 0 else 0


def _python() -> list[str]:
    """This Python without its environment's packages; `-s -S -P` keeps a learner's out too."""
    return [os.path.realpath(sys.executable), "-s", "-S", "-B", "-P", "-c", _START]


def _bubblewrap(grader: Path, packages: Sequence[str]) -> list[str]:
    command = [
        *(shutil.which("bwrap") or "bwrap", "--die-with-parent", "--new-session"),
        *("--unshare-pid", "--unshare-net", "--unshare-ipc", "--unshare-uts"),
        *("--cap-drop", "ALL"),
    ]
    if spare_user(0):
        command += ["--cap-add", "CAP_SETUID", "--cap-add", "CAP_SETGID"]
    else:
        command += ["--unshare-user"]
    command += ["--dev", "/dev"]  # no /proc: it would show how the fence was made
    # The temporary folder before Python's: that may lie below the machine's own.
    for folder, size in (("/dev/shm", MEBIBYTE), ("/tmp", SCRATCH)):  # noqa: S108
        command += ["--size", str(size), "--perms", "1777", "--tmpfs", folder]
    mounted = _pythons_folders()
    for folder in mounted:
        command += [*_parents(folder, mounted), "--ro-bind-try", folder, folder]
    for folder in _other_packages(mounted):
        command += ["--tmpfs", folder]
    command += ["--ro-bind", str(grader), GRADER, "--perms", "0755", "--dir", PACKAGES]
    for path in _folders(packages):
        command += ["--ro-bind", str(path), f"{PACKAGES}/{path.name}"]
    command += ["--remount-ro", "/dev", "--remount-ro", "/", "--chdir", "/tmp"]  # noqa: S108
    return [*command, "--", *_python(), GRADER, PACKAGES]


def _pythons_folders() -> list[str]:
    """What Python needs: the system's libraries, its own, and its program."""
    base = {"platbase": sys.base_exec_prefix}  # not the environment's, where labkit is
    own = [sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib", vars=base)]
    if sys.base_prefix != "/usr":
        own.append(str(Path(sys.base_prefix, "lib")))
    return [*_SYSTEM, *sorted(set(own), key=len), os.path.realpath(sys.executable)]


def _parents(path: str, mounted: Sequence[str]) -> list[str]:
    """Make the folders above a mount readable for all: they are root's alone otherwise."""
    above = [parent for parent in reversed(Path(path).parents) if len(parent.parts) > 1]
    free = [p for p in above if not any(p.is_relative_to(folder) for folder in mounted)]
    return [word for parent in free for word in ("--perms", "0755", "--dir", str(parent))]


def _other_packages(mounted: Sequence[str]) -> list[str]:
    """Folders of installed packages that lie inside Python's own: labkit may be in one."""
    library = Path(sysconfig.get_path("stdlib"))
    found = [library / "site-packages", library / "dist-packages"]
    found += [Path("/usr/lib/python3/dist-packages"), Path("/usr/local/lib") / library.name]
    hidden = [path for path in found if path.is_dir() and path != library]
    return [str(path) for path in hidden if any(path.is_relative_to(m) for m in mounted)]


def _folders(packages: Sequence[str]) -> list[Path]:
    """Where packages lie, and the shared libraries that their wheels brought along."""
    folders = []
    for name in packages:
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise LabError(f"{name} is not installed, which graded exercises may import.")
        folder = Path(spec.origin).parent
        folders += [folder, *folder.parent.glob(f"{name}.libs")]
    return folders


def _linked(root: Path, packages: Sequence[str]) -> Path:
    """A folder in which these packages and no others are found."""
    folder = root / "-".join(packages)
    folder.mkdir(exist_ok=True)
    for path in _folders(packages):
        link = folder / path.name
        if not link.exists():
            try:
                link.symlink_to(path, target_is_directory=True)
            except FileExistsError:  # another worker was faster
                continue
    return folder
