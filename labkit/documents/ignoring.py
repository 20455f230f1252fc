"""`.aiignore`: what must not be read, in the syntax and with the meaning of `.gitignore`.

The last pattern that matches decides, a folder's own file before those above it. A folder that is
ignored is not walked, so nothing in it can be brought back: https://git-scm.com/docs/gitignore.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from labkit.documents.patterns import Pattern, compiled
from labkit.types import DocumentError

FILE_NAME = ".aiignore"
MAX_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one `.aiignore`; they are relative to its `folder`, an absolute path."""

    folder: str
    patterns: Sequence[Pattern]

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored; False: brought back; None: no pattern matches."""
        inside = path.removeprefix(self.folder.rstrip("/") + "/")
        for pattern in reversed(self.patterns):
            if pattern.matches(inside, is_folder):
                return pattern.takes
        return None


def is_ignored(path: str, is_folder: bool, files: Sequence[IgnoreFile]) -> bool:
    """Is an entry ignored? `files` are those of the folders it lies in, outermost first.

    Paths are absolute, with forward slashes.
    """
    said = (file.decides(path, is_folder) for file in reversed(files))
    return next((ignored for ignored in said if ignored is not None), False)


def files_above(source: Path) -> tuple[IgnoreFile, ...]:
    """The ignore files of the folders that `source` lies in, outermost first, as git reads them.

    Otherwise a page that `ingest --source repo` leaves out would answer after `--source repo/docs`.
    DocumentError if one cannot be understood, or if it ignores `source` itself.
    """
    found: list[IgnoreFile] = []
    for folder in _folders_down_to(source):
        if is_ignored(folder.as_posix(), True, found):
            raise DocumentError(f"a {FILE_NAME} above it ignores {folder}")
        path = folder / FILE_NAME
        if folder != source and os.path.lexists(path):
            try:
                found.append(read_ignore_file(path))
            except DocumentError as fault:
                raise DocumentError(f"{path}: {fault}") from fault
    return tuple(found)


def _folders_down_to(source: Path) -> list[Path]:
    """From the root of the repository that holds `source` down to `source` itself.

    Outside a repository nobody has drawn that border, and a rule too many only leaves a page out:
    then from the user's home folder, or else from the top of the disk.
    """
    folders: list[Path] = []
    home = Path(os.path.realpath(os.path.expanduser("~")))
    for folder in (source, *source.parents):
        folders.insert(0, folder)
        if os.path.exists(folder / ".git") or folder == home or os.path.ismount(folder):
            break
    return folders


def read_ignore_file(path: Path) -> IgnoreFile:
    """The rules of one file. DocumentError for one that cannot be understood in full: a rule that
    is skipped would let a file in."""
    if path.is_symlink():
        raise DocumentError("it is a link; only a file is read here. Copy the rules into one")
    try:
        with path.open("rb") as file:
            raw = file.read(MAX_BYTES + 1)
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise DocumentError(f"byte {error.start} is not UTF-8. Save it as UTF-8") from error
    except OSError as error:
        raise DocumentError(f"it cannot be read ({error.strerror})") from error
    if len(raw) > MAX_BYTES:
        raise DocumentError(f"it is over {MAX_BYTES:,} bytes. Shorten it")
    patterns = [_pattern(line, number) for number, line in enumerate(text.split("\n"), start=1)]
    return IgnoreFile(path.parent.as_posix(), [pattern for pattern in patterns if pattern])


def _pattern(line: str, number: int) -> Pattern | None:
    """One line; None for a comment, a blank line, or one that matches nothing for git either."""
    line = re.sub(r"(?<!\\) +$", "", line.removesuffix("\r"))
    if "\r" in line:  # would hide the rules that follow in a pattern that matches nothing
        raise DocumentError(f"line {number} ends as on an old Mac. Save it with line feeds")
    if "\0" in line or "[:" in line:
        raise DocumentError(f"line {number} cannot be read here. Write [a-z] for [[:lower:]]")
    try:
        return compiled(line)
    except ValueError as error:
        raise DocumentError(f"line {number} is no pattern. Correct or remove it") from error
