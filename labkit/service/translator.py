"""Which language a page is in: its words, and how it writes numbers, days and sizes.

The words stand in `texts/`, one file a language.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime
from importlib.resources import files
from operator import itemgetter

DEFAULT = "en"
KILO = 1000
NARROW, WIDE = "\u202f", "\u00a0"


def typeset(text: str) -> str:
    """French as it is printed: with apostrophes ’ and the spaces that no line is broken at, so that
    its file of texts can be typed plainly.

    >>> typeset("L'index : « prêt » ?") == "L’index\\u00a0: «\\u00a0prêt\\u00a0»\\u202f?"
    True
    """
    text = text.replace("'", "’")
    text = re.sub(r" ([;!?%])", rf"{NARROW}\1", text)
    text = re.sub(r" ([:»])", rf"{WIDE}\1", text)
    return re.sub(r"« ", f"«{WIDE}", text)


def _read(lang: str) -> Mapping[str, str]:
    text = files("labkit.service").joinpath(f"texts/{lang}.toml").read_text("utf-8")
    return tomllib.loads(text)


TEXTS: Mapping[str, Mapping[str, str]] = {
    "en": _read("en"),
    "fr": {key: typeset(text) for key, text in _read("fr").items()},
}
_RANGE = re.compile(
    rf"(?:^|(?<=,))\s*({'|'.join(TEXTS)})(?:-[^,;]*)?(?:;+\s*q=(0(?:\.\d+)?|1(?:\.0+)?))?\s*(?=,|$)"
)
"""A language that is spoken here, and its weight, in an Accept-Language."""


def choose_language(asked: str, accepted: str) -> str:
    """The language asked for in the address, else the best of an Accept-Language, else English.

    >>> choose_language("", "de, fr-CA;q=0.9, en;q=0.8"), choose_language("en", "fr")
    ('fr', 'en')
    """
    if asked in TEXTS:
        return asked
    ranges = [
        (float(weight or 1), lang) for lang, weight in _RANGE.findall(accepted[:2000].lower())
    ]
    best = max(ranges, key=itemgetter(0), default=(0.0, DEFAULT))  # the first of equals
    return best[1] if best[0] > 0 else DEFAULT


@dataclass(frozen=True)
class Translator:
    """Words, numbers and days in one language."""

    lang: str

    @property
    def _texts(self) -> Mapping[str, str]:
        return TEXTS[self.lang]

    def gettext(self, key: str, *parts: object, **values: object) -> str:
        """The words under a key, with values put in. KeyError for a key that no file has."""
        return self._texts[key].format(*parts, **values)

    def knows(self, key: str) -> bool:
        return key in self._texts

    def number(self, value: float, places: int = 0) -> str:
        """A number as it is written here.

        >>> Translator("en").number(12345.678, 1), Translator("fr").number(0.5321, 3)
        ('12,345.7', '0,532')
        """
        marks = {",": self._texts["thousands"], ".": self._texts["decimal"], "-": "−"}
        return "".join(marks.get(sign, sign) for sign in f"{value:,.{places}f}")

    def figure(self, value: str) -> str:
        """A number in figures as it is written here; anything else as it is."""
        if not re.fullmatch(r"-?\d+(\.\d+)?", value):
            return value
        return self.number(float(value), len(value.partition(".")[2]))

    def ngettext(self, key: str, count: int) -> str:
        """The words for one, or for many; French counts 0 as one."""
        single = count in (0, 1) if self.lang == "fr" else count == 1
        return self.gettext(f"{key}_{'one' if single else 'many'}", count=self.number(count))

    def size(self, count: int) -> str:
        """Bytes in a unit that a person reads.

        >>> Translator("en").size(3_686_400), Translator("en").size(12)
        ('3.7 MB', '12 bytes')
        """
        if count < KILO:
            return self.gettext("bytes", number=self.number(count))
        if count < KILO**2:
            return self.gettext("kilobytes", number=self.number(count / KILO))
        return self.gettext("megabytes", number=self.number(count / KILO**2, 1))

    def day(self, day: date) -> str:
        """A day in words.

        >>> Translator("fr").day(date(2026, 10, 1)), Translator("en").day(date(2026, 10, 23))
        ('1er octobre 2026', '23 October 2026')
        """
        month = self._texts["months"].split()[day.month - 1]
        number = "1er" if self.lang == "fr" and day.day == 1 else str(day.day)
        return self.gettext("date", day=number, month=month, year=day.year)

    def moment(self, text: str) -> str:
        """An ISO time in words; what is none, as it is."""
        found = _moment(text)
        if found is None:
            return text
        return self.gettext("moment", date=self.day(found.date()), time=f"{found:%H:%M}")

    def duration(self, started: str, finished: str) -> str:
        """From one ISO time to another; "" if one is none."""
        first, last = _moment(started), _moment(finished)
        if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
            return ""
        return self.gettext("seconds", number=self.number((last - first).total_seconds()))


def _moment(text: str) -> datetime | None:
    """A time in ISO 8601; None for anything else."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
