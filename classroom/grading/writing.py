"""Writing a file whole: it is there with its new content, or as it was before."""

from __future__ import annotations

import secrets
from pathlib import Path


def write_whole(path: Path, text: str) -> Path:
    """Write `text` as UTF-8, its line ends as they are; folders are made as needed.

    What cannot be encoded (half of a surrogate pair, as in names of undecodable files) is written
    as an escape.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("x", encoding="utf-8", errors="backslashreplace", newline="") as file:
            file.write(text)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    return path
