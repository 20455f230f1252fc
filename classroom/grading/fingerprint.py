"""The fingerprint of a grading: everything that its marks depend on.

Marks are kept from one run to the next only under the same fingerprint, so that a class is never
marked by two different rules, whatever was changed in between: a reference, a share of the points,
the sandbox, Python, a package.
"""

from __future__ import annotations

import hashlib
import json
import platform
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import classroom
import labkit
from classroom.grading.running.sandbox import LIMITS
from classroom.grading.types import Submission

_OF_GRADING = re.compile(r'([\w.-]+)[^;]*(?:; extra == "course")?')  # a requirement, as pip says it
_INDIRECT = ("ipython",)  # JupyterLab brings it, and it reads magics for us


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Hashes of the submission, of all code that judged it, and of the environment; the label of
    the seed, and the sandbox. Two gradings with one fingerprint give the same marks."""

    submission: str
    code: str
    environment: str
    seed: str
    sandbox: str


def fingerprint(submission: Submission, seed: str, sandbox: str) -> Fingerprint:
    """The fingerprint of a grading that is about to start."""
    return Fingerprint(_submission(submission), code(), environment(), seed, sandbox)


@cache
def code() -> str:
    """The hash of every source file of labkit and of the classroom, computed once a run.

    All of them, since a rule reaches far: an exercise asks a reference, which asks the text
    analyser. Too much is graded again sometimes; nothing is ever kept wrongly.
    """
    return hash_of(Path(str(package.__file__)).parent for package in (classroom, labkit))


def hash_of(folders: Iterable[Path]) -> str:
    """SHA-256 over the names and bytes of all `.py` files below folders, in ordinal order."""
    digest = hashlib.sha256()
    for folder in folders:
        for name in sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py")):
            content = (folder / name).read_bytes()
            digest.update(f"{folder.name}/{name}\0{len(content)}\0".encode() + content)
    return digest.hexdigest()


def environment() -> str:
    """The hash of what the code runs on: Python, the machine, the worker's limits, the versions of
    all packages that labkit and its course ask for."""
    about = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "limits": LIMITS,
        "packages": _versions(),
    }
    return hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()


@cache
def _versions() -> dict[str, str]:
    """The installed versions of what the package declares, without extras no grading needs."""
    declared = map(_OF_GRADING.fullmatch, metadata.requires("labkit") or ())
    names = [*(found[1] for found in declared if found), *_INDIRECT]
    return {name: metadata.version(name) for name in sorted(names)}


def _submission(submission: Submission) -> str:
    """Over what was sent, and over what was found of it where nothing could be read."""
    about = f"{submission.sha256} {submission.findings}"
    return hashlib.sha256(about.encode()).hexdigest()
