"""`.aiignore`: what must not be read, in the syntax and with the meaning of `.gitignore`.

The last pattern that matches decides, a folder's own file before those above it. A folder that is
ignored is not walked, so nothing in it can be brought back: https://git-scm.com/docs/gitignore.
Beyond git, both sides are composed to NFC: an accent is the same however a system writes it.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unicodedata import normalize

from labkit.types import DocumentError, LabError

FILE_NAME = ".aiignore"
MAX_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Pattern:
    """One line: what it matches, whether it ignores or brings back, and whether only folders."""

    regex: re.Pattern[str]
    ignores: bool
    folders_only: bool

    def matches(self, path: str, is_folder: bool) -> bool:
        """Does it match this entry itself? What lies in a matched folder is not its business."""
        if self.folders_only and not is_folder:
            return False
        found = self.regex.search(path)
        return found is not None and found.groupdict().get("ps_d") is None


@dataclass(frozen=True, slots=True)
class IgnoreFile:
    """The patterns of one `.aiignore`; they are relative to its `folder` below the root ('')."""

    folder: str
    patterns: Sequence[Pattern]

    def decides(self, path: str, is_folder: bool) -> bool | None:
        """True: ignored; False: brought back; None: no pattern matches."""
        inside = path.removeprefix(f"{self.folder}/") if self.folder else path
        inside = normalize("NFC", inside)
        for pattern in reversed(self.patterns):
            if pattern.matches(inside, is_folder):
                return pattern.ignores
        return None


def is_ignored(path: str, is_folder: bool, files: Sequence[IgnoreFile]) -> bool:
    """Is an entry ignored? `files` are those of the folders it lies in, outermost first."""
    said = (file.decides(path, is_folder) for file in reversed(files))
    return next((ignored for ignored in said if ignored is not None), False)


def read_ignore_file(path: Path, folder: str) -> IgnoreFile:
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
    lines = normalize("NFC", text).split("\n")
    patterns = [_pattern(line.removesuffix("\r"), number) for number, line in enumerate(lines, 1)]
    return IgnoreFile(folder, [pattern for pattern in patterns if pattern])


def _pattern(line: str, number: int) -> Pattern | None:
    """One line; None for a comment, a blank line, or one that matches nothing for git either."""
    line = re.sub(r"(?<!\\) +$", "", line)
    if "\r" in line:  # would hide the rules that follow in a pattern that matches nothing
        raise DocumentError(f"line {number} ends as on an old Mac. Save it with line feeds")
    if "\0" in line or "[:" in line:
        raise DocumentError(f"line {number} cannot be read here. Write [a-z] for [[:lower:]]")
    whole = line.rstrip("/") if line.endswith("/") else line
    if line.startswith("#") or not whole.strip("!/ "):
        return None
    try:
        from pathspec import GitIgnoreSpec  # late: few folders hold such a file
        from pathspec.patterns.gitignore import GitIgnorePatternError
    except ImportError as error:
        raise LabError(f"A {FILE_NAME} file has to be read: run `pip install pathspec`.") from error
    try:
        (compiled,) = GitIgnoreSpec.from_lines([whole], backend="simple").patterns
    except (GitIgnorePatternError, re.error) as error:
        raise DocumentError(f"line {number} is no pattern. Correct or remove it") from error
    if compiled.include is None or not isinstance(compiled.regex, re.Pattern):
        return None
    return Pattern(compiled.regex, compiled.include, line.endswith("/"))
