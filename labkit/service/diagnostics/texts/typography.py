"""French typography, so that the table of texts can be typed plainly."""

from __future__ import annotations

import re

NARROW, WIDE = "\u202f", "\u00a0"


def typeset(text: str) -> str:
    """The text with apostrophes ’ and the spaces that French does not break a line at.

    >>> typeset("L'index : « prêt » ?") == "L’index\u00a0: «\u00a0prêt\u00a0»\u202f?"
    True
    """
    text = text.replace("'", "’")
    text = re.sub(r" ([;!?%])", rf"{NARROW}\1", text)
    text = re.sub(r" ([:»])", rf"{WIDE}\1", text)
    return re.sub(r"« ", f"«{WIDE}", text)
