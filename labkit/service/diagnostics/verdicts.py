"""Why a passage was dropped, in the reader's language."""

from __future__ import annotations

import re

from labkit.service.diagnostics.language import Speech

_KNOWN = (
    (re.compile(r"shares no significant word with the question"), "drop_words"),
    (re.compile(r"cosine below (-?[\d.]+)"), "drop_cosine"),
    (re.compile(r"beyond the best (\d+)"), "drop_beyond"),
    (re.compile(r"nothing found is near enough, in meaning or in words"), "drop_unsupported"),
    (re.compile(r"the same passage as (.+)", re.DOTALL), "drop_same"),
)


def why_dropped(dropped: str, speech: Speech) -> tuple[str, str]:
    """(words, their language): the policy's own words, in English, where no others are known.

    >>> why_dropped("cosine below 0.25", Speech("fr"))
    ('Son cosinus est inférieur à 0,25.', 'fr')
    >>> why_dropped("fell off", Speech("fr"))
    ('fell off', 'en')
    """
    for pattern, key in _KNOWN:
        if found := pattern.fullmatch(dropped):
            values = [_in_words(value, speech) for value in found.groups()]
            return speech.say(key, *values) if values else speech.say(key), speech.lang
    return dropped, "en"


def _in_words(value: str, speech: Speech) -> str:
    """A number as the language writes it; a name as it is."""
    if not re.fullmatch(r"-?\d+(\.\d+)?", value):
        return value
    return speech.number(float(value), len(value.partition(".")[2]))
