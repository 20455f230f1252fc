"""Everything the pages say, one table a language."""

from __future__ import annotations

from collections.abc import Mapping

from labkit.service.diagnostics.texts.english import ENGLISH
from labkit.service.diagnostics.texts.french import FRENCH

TEXTS: Mapping[str, Mapping[str, str]] = {"en": ENGLISH, "fr": FRENCH}
DEFAULT = "en"
