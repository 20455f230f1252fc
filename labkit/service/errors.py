"""The one table of troubles: what went wrong, its status in HTTP, and its words.

A page says a trouble in its reader's language, from `texts/`; a program gets JSON in English.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel

from labkit.embedding.checks import TextRefused
from labkit.service.queueing import Busy
from labkit.service.translator import Translator
from labkit.types import DocumentError, EmbeddingError, LabError, StoreError

_log = logging.getLogger("labkit.service")


class NoIndex(StoreError):
    """There is no index yet."""


_KINDS: tuple[tuple[type[Exception], str], ...] = (
    (Busy, "busy"),
    (TimeoutError, "late"),
    (NoIndex, "no_index"),
    (StoreError, "index"),
    (TextRefused, "text"),
    (EmbeddingError, "embedder"),
    (DocumentError, "documents"),
    (LabError, "settings"),
)
STATUS = {"other_model": 404, "choice": 409, "text": 422, "request": 422, "left": 499, "fault": 500}
"""Of the kinds that are not 503: a part that is missing, or too little time."""
DESCRIPTIONS: Mapping[int, str] = {
    400: "The request is not in UTF-8, or for another host.",
    401: "The token is missing or wrong.",
    403: "It comes from a page of another origin.",
    404: "Another model is asked for than the one that runs here.",
    408: "The request took too long to arrive.",
    409: "The settings know no such viewer.",
    413: "The request is too large.",
    422: "What was sent cannot be used; `detail` says why, and `text` which text is at fault.",
    500: "A fault of ours.",
    503: "A part is missing, too many requests wait, or there was no time.",
}


class ProblemReply(BaseModel):
    """Why there is no answer: `kind` names the trouble, `text` the number, from 0, of the text at
    fault."""

    detail: str
    kind: str | None = None
    text: int | None = None


def responses(*codes: int) -> dict[int | str, dict[str, Any]]:
    """These statuses as an operation's description states them."""
    return {code: {"model": ProblemReply, "description": DESCRIPTIONS[code]} for code in codes}


@dataclass(frozen=True, slots=True)
class Problem:
    """A part that cannot work. `kind` names its words in `texts/`; `detail` is in English, and
    names no path of the machine."""

    kind: str
    detail: str = ""
    text: int | None = None

    @property
    def status(self) -> int:
        return STATUS.get(self.kind, 503)

    def reply(self) -> JSONResponse:
        """The problem for a program."""
        detail = self.detail or Translator("en").gettext(f"problem_{self.kind}") + "."
        told = ProblemReply(detail=detail, kind=self.kind, text=self.text)
        return JSONResponse(told.model_dump(exclude_none=True), self.status)


def problem_of(error: Exception, redact: Callable[[str], str]) -> Problem:
    """The problem behind an error. One that nobody expected is named in the log, by its type."""
    kind = next((kind for known, kind in _KINDS if isinstance(error, known)), None)
    if kind is not None:
        number = min(error.problems) if isinstance(error, TextRefused) else None
        return Problem(kind, redact(str(error)), number)
    if isinstance(error, OSError):
        return Problem("settings", redact(f"A file cannot be used: {error}."))
    return fault(error)


def fault(error: Exception) -> Problem:
    """A fault of ours. Its words may hold a text, so that neither log nor reply gets them."""
    _log.error("A part failed: %s", type(error).__name__)
    return Problem("fault", type(error).__name__)


def invalid_request(error: RequestValidationError) -> Problem:
    """What is wrong with a request, in our words: the library's would repeat the texts."""
    first = error.errors()[0]
    place = [part for part in first["loc"] if part != "body"]
    number = place[1] if len(place) > 1 and isinstance(place[1], int) else None
    what = ".".join(map(str, place)) if number is None else f"text {number}"
    words = _PLAIN.get(first["type"], first["msg"].removeprefix("Value error, "))
    bounds = {key: value for key, value in first.get("ctx", {}).items() if key != "error"}
    return Problem("request", f"{what or 'the body'} {words.format(**bounds)}", number)


_PLAIN = {
    "missing": "is missing",
    "extra_forbidden": "is not known here",
    "json_invalid": "is no JSON",
    "literal_error": "must be {expected}",
    "list_type": "must be a list of texts",
    "string_type": "must be a string",
    "string_unicode": "holds half a surrogate pair, which is no character",
    "string_too_short": "is empty",
    "string_too_long": "is longer than {max_length} characters",
    "string_pattern_mismatch": "is blank or holds a NUL character",
    "too_short": "is empty; send at least one text",
    "too_long": "holds more than {max_length} texts; send them in batches",
    "greater_than_equal": "must be {ge} or more",
    "less_than_equal": "must be {le} or less",
    "model_attributes_type": "must be a JSON object",
}
