"""Patterns of paths, with the meaning of `.gitignore`: https://git-scm.com/docs/gitignore.

Beyond git, both sides are composed to NFC: an accent is the same however a system writes it.
"""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from unicodedata import normalize

from pathspec import GitIgnoreSpec
from pathspec.patterns.gitignore import GitIgnorePatternError


@dataclass(frozen=True, slots=True)
class Pattern:
    """What a pattern matches, whether it takes or (with `!`) gives back, and whether only folders.

    Paths are relative to where the pattern was written, with forward slashes.
    """

    regex: re.Pattern[str]
    takes: bool
    folders_only: bool

    def matches(self, path: str, is_folder: bool = False) -> bool:
        """Does it match this entry itself? What lies in a matched folder is not its business."""
        if self.folders_only and not is_folder:
            return False
        found = self.regex.search(normalize("NFC", path))
        return found is not None and found.groupdict().get("ps_d") is None

    def covers(self, path: str) -> bool:
        """Does it match this entry, or a folder that it lies in?"""
        return self.regex.search(normalize("NFC", path)) is not None


def compiled(line: str) -> Pattern | None:
    """A line of `.gitignore`; None if it matches nothing. ValueError for one that is no pattern."""
    whole = line.rstrip("/") if line.endswith("/") else line
    if line.startswith("#") or not whole.strip("!/ "):
        return None
    try:
        with warnings.catch_warnings():  # of Python, about `[[` in a set: meant as it is written
            warnings.simplefilter("ignore", FutureWarning)
            lines = [normalize("NFC", whole)]
            (found,) = GitIgnoreSpec.from_lines(lines, backend="simple").patterns
    except (GitIgnorePatternError, re.error) as error:
        raise ValueError(f"{line!r} is no pattern") from error
    if found.include is None or not isinstance(found.regex, re.Pattern):
        return None
    return Pattern(found.regex, found.include, line.endswith("/"))
