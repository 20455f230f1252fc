"""Which language a page is in, and how that language writes numbers, days and sizes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, datetime

from labkit.service.diagnostics.texts import DEFAULT, TEXTS

KILO = 1000


def choose_language(asked: str, accepted: str) -> str:
    """The language asked for in the address, else the best of an Accept-Language, else English.

    >>> choose_language("", "de, fr-CA;q=0.9, en;q=0.8"), choose_language("en", "fr")
    ('fr', 'en')
    """
    if asked in TEXTS:
        return asked
    ranges = [_range(part) for part in accepted.split(",")[:50]]
    best = max(ranges, key=lambda found: found[0])  # the first of equals, as browsers order them
    return best[1] if best[0] > 0 else DEFAULT


def _range(part: str) -> tuple[float, str]:
    """(quality, language) of one range of an Accept-Language; 0 for what is not spoken here."""
    name, _, parameter = part.partition(";")
    language = name.strip().lower().partition("-")[0]
    _, _, quality = parameter.partition("=")
    try:
        weight = float(quality) if quality else 1.0
    except ValueError:
        weight = 0.0
    return (weight if language in TEXTS and 0 <= weight <= 1 else 0.0), language


@dataclass(frozen=True)
class Speech:
    """Words, numbers and days in one language."""

    lang: str

    @property
    def _texts(self) -> Mapping[str, str]:
        return TEXTS[self.lang]

    def say(self, key: str, *parts: object, **values: object) -> str:
        """The words under a key, with values put in. KeyError for a key that no table has."""
        words = self._texts[key]
        return words.format(*parts, **values) if parts or values else words

    def knows(self, key: str) -> bool:
        return key in self._texts

    def number(self, value: float, places: int = 0) -> str:
        """A number as it is written here.

        >>> Speech("en").number(12345.678, 1), Speech("fr").number(0.5321, 3)
        ('12,345.7', '0,532')
        """
        marks = {",": self._texts["thousands"], ".": self._texts["decimal"], "-": "−"}
        return "".join(marks.get(sign, sign) for sign in f"{value:,.{places}f}")

    def count(self, key: str, count: int) -> str:
        """The words for one, or for many; French counts 0 as one."""
        single = count in (0, 1) if self.lang == "fr" else count == 1
        return self.say(f"{key}_{'one' if single else 'many'}", count=self.number(count))

    def size(self, count: int) -> str:
        """Bytes in a unit that a person reads.

        >>> Speech("en").size(3_686_400), Speech("en").size(12)
        ('3.7 MB', '12 bytes')
        """
        if count < KILO:
            return self.say("bytes", number=self.number(count))
        if count < KILO**2:
            return self.say("kilobytes", number=self.number(count / KILO))
        return self.say("megabytes", number=self.number(count / KILO**2, 1))

    def day(self, day: date) -> str:
        """A day in words.

        >>> Speech("fr").day(date(2026, 10, 1)), Speech("en").day(date(2026, 10, 23))
        ('1er octobre 2026', '23 October 2026')
        """
        month = self._texts["months"].split()[day.month - 1]
        number = "1er" if self.lang == "fr" and day.day == 1 else str(day.day)
        return self.say("date", day=number, month=month, year=day.year)

    def moment(self, text: str) -> str:
        """An ISO time in words; what is none, as it is."""
        found = moment_of(text)
        if found is None:
            return text
        return self.say("moment", date=self.day(found.date()), time=f"{found:%H:%M}")

    def duration(self, started: str, finished: str) -> str:
        """From one ISO time to another; "" if one is none."""
        first, last = moment_of(started), moment_of(finished)
        if first is None or last is None or (first.tzinfo is None) != (last.tzinfo is None):
            return ""
        return self.say("seconds", number=self.number((last - first).total_seconds()))


def moment_of(text: str) -> datetime | None:
    """A time in ISO 8601; None for anything else."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None
