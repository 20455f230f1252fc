"""From the bytes of a file to its one normalised text, or to a sentence that says what is wrong."""

from __future__ import annotations

import re
import unicodedata
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from pathlib import Path

from labkit.text import normalise
from labkit.types import DocumentError

MAX_BYTES = 5_000_000
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_SYMBOLS = re.compile(r"[^\w\s\x00-\u02ff]{100}")  # a hundred in a row, marks among them
_SAMPLE = 1000  # bytes that tell UTF-16 from UTF-8


def read_text(path: Path, name: str, max_bytes: int = MAX_BYTES) -> str:
    """The normalised text of a file. Bytes that are no text are reported with their place."""
    raw = read_bytes(path, name, max_bytes)
    if _is_utf16(raw[:_SAMPLE]):
        raise DocumentError(f"{name}: the file is UTF-16. Save the file as UTF-8.")
    try:
        return clean_text(raw.decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{name}: byte {error.start} is not UTF-8. Save the file as UTF-8."
        ) from error


def read_bytes(path: Path, name: str, max_bytes: int) -> bytes:
    """A whole file; DocumentError beyond the limit, and no more of it is ever in memory."""
    try:
        with path.open("rb") as file:
            raw = file.read(max_bytes + 1)
    except OSError as error:
        raise DocumentError(f"{name}: the file cannot be read ({error.strerror}).") from error
    if len(raw) > max_bytes:
        # Its author sees three paragraphs and a picture, and would not know what is too long.
        pictures = ", pictures written into it (data: addresses) among them. Save these apart"
        what = f"{pictures}, or split it" if b";base64," in raw else ". Split it"
        raise DocumentError(f"{name}: the file is over {max_bytes:,} bytes{what}.")
    return raw


def clean_text(text: str, name: str) -> str:
    """A text normalised; DocumentError names the line of what no text should hold."""
    for run in _SYMBOLS.finditer(text):  # normalising takes the square of the marks on a letter
        if all(map(unicodedata.combining, run[0])):
            line = text.count("\n", 0, run.start()) + 1
            raise DocumentError(f"{name}: line {line} heaps accents on one letter. Remove them.")
    text = normalise(text)
    control = CONTROL.search(text)
    if control:
        line = text.count("\n", 0, control.start()) + 1
        raise DocumentError(
            f"{name}: line {line} holds control character U+{ord(control[0]):04X}. Remove it."
        )
    return text


def _is_utf16(raw: bytes) -> bool:
    """A mark says so, or every second byte is NUL, as in UTF-16 of Latin letters without a mark."""
    if raw.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
        return True
    return any(len(half) > 3 and half.count(0) > 0.8 * len(half) for half in (raw[::2], raw[1::2]))
