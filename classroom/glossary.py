"""The glossary: each term belongs to the lesson that introduces it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_ROW = re.compile(
    r"^\|\s*(?P<term>[^|]+?)\s*\|\s*(?P<lesson>\d\d)[a-z]?\s*\|\s*(?P<meaning>[^|]+?)\s*\|$"
)


@dataclass(frozen=True, slots=True)
class Term:
    """A term, the number of its lesson, and what it means."""

    term: str
    lesson: int
    meaning: str

    def used_in(self, text: str) -> bool:
        """Does the text use the term, whole and in any case, also in the plural?"""
        return bool(
            re.search(rf"(?<!\w){re.escape(self.term)}(?:s|es)?(?!\w)", text, re.IGNORECASE)
        )


def read_glossary(path: Path) -> list[Term]:
    """The rows of the glossary's table."""
    rows = map(_ROW.match, path.read_text(encoding="utf-8").splitlines())
    return [Term(row["term"], int(row["lesson"]), row["meaning"]) for row in rows if row]
