"""Which files a run may read: said once, before any file is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import PurePosixPath

from labkit.documents.decoding import MAX_BYTES
from labkit.documents.patterns import Pattern, compiled
from labkit.documents.plain import Plain
from labkit.types import DocumentError

MAX_PDF_BYTES = 50_000_000
MARKDOWN = (".md", ".markdown")
TEXT = (".txt",)
PDF = (".pdf",)
SCRATCH = "scratch"  # the stem of a half-written page: never read, wherever it lies
LEGACY = ("inputs", "legacy")  # a folder, and the one that it lies in


@dataclass(frozen=True, slots=True)
class Rules:
    """What the owner of a folder asks for.

    `included` and `excluded` are patterns as in `.gitignore`, written from the root of the folder:
    `**` is any number of folders, `*` and `?` stay within one name. An included pattern that ends
    in `.md` means every kind of file that is asked for: Markdown (`.md` and `.markdown`, in
    capitals too), with `text` also `.txt`, with `pdf` also `.pdf`. One that ends in another
    extension asks for that one itself. An excluded folder is excluded with all that it holds, and
    capitals do not matter there.

    `plain` governs files that state no governance; with None they are a fault. `allow_secrets`
    holds patterns of files in which nothing is taken for a secret. `legacy` reads `inputs/legacy/`
    too, which is left out otherwise. Sizes are in bytes.

    DocumentError names a pattern that can match nothing.
    """

    included: Sequence[str] = ("**/*.md",)
    excluded: Sequence[str] = ()
    plain: Plain | None = None
    text: bool = False
    pdf: bool = False
    allow_secrets: Sequence[str] = ()
    legacy: bool = False
    max_bytes: int = MAX_BYTES
    max_pdf_bytes: int = MAX_PDF_BYTES

    def __post_init__(self) -> None:
        for pattern in (*self.included, *self.excluded, *self.allow_secrets):
            _rooted(pattern)

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The extensions that are read when a pattern names none of its own, in lower case."""
        return MARKDOWN + (TEXT if self.text else ()) + (PDF if self.pdf else ())

    def includes(self, name: str) -> bool:
        """Is the file of this path below the root (forward slashes) asked for?"""
        return any(self._asks_for(PurePosixPath(name), pattern) for pattern in self.included)

    def excludes(self, name: str) -> bool:
        """Is this file or folder left out by a pattern, or by lying in a folder that is?"""
        return _covered(name, self.excluded)

    def allows_secrets(self, name: str) -> bool:
        """May this file be read as it is, although it looks as if it held a secret?"""
        return _covered(name, self.allow_secrets)

    def leaves_no_trace(self, parent: str, name: str) -> bool:
        """Is this entry of a folder never to be walked, read, counted or named?

        `parent` is the folder's own name; capitals do not matter.
        """
        scratch = PurePosixPath(name.lower())
        if scratch.stem == SCRATCH and scratch.suffix in MARKDOWN + TEXT + PDF:
            return True
        return (parent.lower(), name.lower()) == LEGACY and not self.legacy

    def _asks_for(self, path: PurePosixPath, pattern: str) -> bool:
        wanted, suffix = PurePosixPath(pattern), path.suffix.lower()
        if not wanted.suffix or any(sign in wanted.suffix for sign in "*?["):
            return suffix in self.suffixes and _rooted(pattern).matches(path.as_posix())
        kind = wanted.suffix.lower()
        if suffix not in (self.suffixes if kind == ".md" else (kind,)):
            return False
        stem = wanted.with_suffix("").as_posix()
        return _rooted(stem).matches(path.with_suffix("").as_posix())


def is_hidden(name: str) -> bool:
    """Does this entry of a folder belong to a tool, so that it is counted and not read?"""
    return name.startswith(".") or name == "node_modules"


def _covered(name: str, patterns: Sequence[str]) -> bool:
    return any(_rooted(pattern.lower()).covers(name.lower()) for pattern in patterns)


@cache
def _rooted(pattern: str) -> Pattern:
    """A pattern that starts at the root of the folder; DocumentError if it can match nothing."""
    parts = PurePosixPath(pattern).parts
    if not parts or parts[0] == "/" or ".." in parts:
        raise DocumentError(f"'{pattern}' matches no path below a folder. Write it as **/*.md.")
    try:
        found = compiled("/" + "/".join(parts))
    except ValueError as error:
        raise DocumentError(f"'{pattern}' is no pattern of paths. Write it as **/*.md.") from error
    if found is None:
        raise DocumentError(f"'{pattern}' matches no path below a folder. Write it as **/*.md.")
    return found
