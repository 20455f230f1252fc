"""Which files a run may read: said once, before any file is opened."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from unicodedata import normalize

from labkit.documents.folder import MAX_BYTES, Plain
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

    `included` and `excluded` are glob patterns below the root: `**` is any number of folders, `*`
    and `?` stay within one name. A pattern that ends in `.md` means every kind of file that is
    asked for: Markdown (`.md` and `.markdown`, in capitals too), with `text` also `.txt`, with
    `pdf` also `.pdf`. One that ends in another extension asks for that one itself. An excluded
    folder is excluded with all that it holds. An accent is the same whether it is part of its
    letter or a character of its own, as in the names that a Mac hands out.

    `plain` governs files that state no governance; with None they are a fault. `allow_secrets`
    holds patterns of files that may be read although they look as if they held a secret. `legacy`
    reads `inputs/legacy/` too, which is left out otherwise. Sizes are in bytes.

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
            parts = pattern.split("/")
            if not pattern.strip("/") or pattern.startswith("/") or ".." in parts:
                raise DocumentError(
                    f"'{pattern}' matches no path below a folder. Write it as **/*.md."
                )

    @property
    def suffixes(self) -> tuple[str, ...]:
        """The extensions that are read when a pattern names none of its own, in lower case."""
        return MARKDOWN + (TEXT if self.text else ()) + (PDF if self.pdf else ())

    def includes(self, name: str) -> bool:
        """Is the file of this path below the root (forward slashes) asked for?"""
        return any(self._asks_for(name, pattern) for pattern in self.included)

    def excludes(self, name: str) -> bool:
        """Is this file or folder left out by a pattern, or by lying in a folder that is?"""
        return matches(name, self.excluded)

    def allows_secrets(self, name: str) -> bool:
        """May this file be read although it looks as if it held a secret?"""
        return matches(name, self.allow_secrets)

    def hides(self, parent: str, name: str) -> bool:
        """Is this entry of a folder never to be walked, read, counted or named?

        `parent` is the folder's own name; capitals do not matter. Hidden entries and `node_modules`
        belong to tools.
        """
        scratch = PurePosixPath(name.lower())
        if scratch.stem == SCRATCH and scratch.suffix in MARKDOWN + TEXT + PDF:
            return True
        if (parent.lower(), name.lower()) == LEGACY and not self.legacy:
            return True
        return name.startswith(".") or name == "node_modules"

    def _asks_for(self, name: str, pattern: str) -> bool:
        path, wanted = PurePosixPath(name), PurePosixPath(pattern)
        suffix = path.suffix.lower()
        if wanted.suffix.lower() == ".md":
            stems = path.with_suffix("").as_posix(), wanted.with_suffix("").as_posix()
            return suffix in self.suffixes and _matches(*stems)
        if not wanted.suffix or any(sign in wanted.suffix for sign in "*?["):
            return suffix in self.suffixes and _matches(name, pattern)
        return suffix == wanted.suffix.lower() and _matches(
            path.with_suffix(suffix).as_posix(), wanted.with_suffix(suffix).as_posix()
        )


def matches(name: str, patterns: Sequence[str]) -> bool:
    """Does a pattern match this path, or a folder that it lies in? Capitals do not matter.

    >>> matches("drafts/a/plan.md", ["drafts"]), matches("a/drafts.md", ["drafts"])
    (True, False)
    """
    parts = name.lower().split("/")
    above = ["/".join(parts[:depth]) for depth in range(1, len(parts) + 1)]
    return any(_matches(path, pattern.lower()) for pattern in patterns for path in above)


def _matches(name: str, pattern: str) -> bool:
    name, pattern = normalize("NFC", name), normalize("NFC", pattern)
    wanted = [part for part in pattern.split("/") if part not in ("", ".")]
    return _same(name.split("/"), wanted)


def _same(parts: Sequence[str], wanted: Sequence[str]) -> bool:
    """`**` stands for any number of folders; at the end, for all that lies below."""
    if not wanted:
        return not parts
    if wanted[0] != "**":
        return bool(parts) and fnmatchcase(parts[0], wanted[0]) and _same(parts[1:], wanted[1:])
    rest = wanted[1:]
    if not rest:
        return bool(parts)
    if rest[0] == "**":
        return _same(parts, rest)
    return any(_same(parts[skipped:], rest) for skipped in range(len(parts)))
