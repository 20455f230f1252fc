"""Reading a folder: every file is checked, and all that is wrong is said at once."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from labkit.documents.fingerprint import content_hash
from labkit.documents.front_matter import (
    MAX_LINE,
    Fields,
    check_metadata,
    split_front_matter,
    states_governance,
)
from labkit.text import normalise
from labkit.types import Document, DocumentError, Metadata

MAX_BYTES = 5_000_000
RESERVED = "PRODUCT-"  # ids that begin so belong to documents rendered from product facts
_TITLE = re.compile(r"^ {0,3}#[ \t]+(?=[^\s#])(.+)$", re.MULTILINE)
CONTROL = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_SYMBOLS = re.compile(r"[^\w\s\x00-\u02ff]{100}")  # a hundred in a row, marks among them
_NO = (False, "false", "no", "off", "0")
_PLAIN_VALID_FROM = date(1, 1, 1)


@dataclass(frozen=True, slots=True)
class Plain:
    """What the owner of a folder says of its files that state no governance themselves."""

    scope: str
    language: str = "en"


def read_document(path: Path, root: Path, plain: Plain | None = None) -> Document:
    """Read and check one file; its `path` is kept relative to `root`, with forward slashes."""
    name = path.relative_to(root).as_posix()
    if any("\ud800" <= character <= "\udfff" for character in name):
        raise DocumentError(f"{name!a}: the file's name is not UTF-8. Rename it.")
    return parse_document(read_text(path, name), name, plain)


def parse_document(text: str, name: str, plain: Plain | None = None) -> Document:
    """The document that a normalised text is, under the front matter at its start."""
    fields, body_start = split_front_matter(text, name)
    meta = govern(fields, text[body_start:], name, plain)
    return Document(meta, text, content_hash(meta, text), body_start)


def govern(fields: Fields | None, body: str, name: str, plain: Plain | None = None) -> Metadata:
    """The metadata that a file states, or that `plain` says of a file which states none."""
    if fields is not None and (plain is None or states_governance(fields)):
        meta = check_metadata(fields, name)
    elif plain is not None:
        meta = _plain_metadata(fields or {}, body, name, plain)
    else:
        raise DocumentError(f"{name}: the file has no front matter. Start it with a '---' block.")
    if meta.id.startswith(RESERVED):
        raise DocumentError(
            f"{name}: 'id' is '{meta.id}'; '{RESERVED}' is kept for product facts. Choose another."
        )
    return meta


def read_text(path: Path, name: str, max_bytes: int = MAX_BYTES) -> str:
    """The normalised text of a file. Bytes that are no text are reported with their place."""
    try:
        if path.stat().st_size > max_bytes:
            raise DocumentError(f"{name}: the file is over {max_bytes:,} bytes. Split it.")
        return clean_text(path.read_bytes().decode("utf-8"), name)
    except UnicodeDecodeError as error:
        raise DocumentError(
            f"{name}: byte {error.start} is not UTF-8. Save the file as UTF-8."
        ) from error
    except OSError as error:
        raise DocumentError(f"{name}: the file cannot be read ({error.strerror}).") from error


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


def _plain_metadata(foreign: Fields, body: str, name: str, plain: Plain) -> Metadata:
    """Metadata of a file without governance. What another tool calls a draft is one."""
    heading = _TITLE.search(body)
    stem = unicodedata.normalize("NFC", name).removesuffix(".md")
    title = heading[1].rstrip(" \t#").replace("\t", " ") if heading else stem.rsplit("/", 1)[-1]
    fields = {
        "id": re.sub(r"[\s#\[\]]+", "-", stem),
        "title": title[:MAX_LINE],
        "language": plain.language,
        "scope": plain.scope,
        "status": "draft" if _is_hidden(foreign) else "approved",
        "canonical": True,
        "valid_from": _PLAIN_VALID_FROM,
        "version": "1",
    }
    return check_metadata(fields, name)


def _is_hidden(foreign: Fields) -> bool:
    """Does another tool's front matter keep the file back? Case and quotes change nothing."""
    said = {str(k).lower(): v.lower() if isinstance(v, str) else v for k, v in foreign.items()}
    return any(said.get(name) not in (None, *_NO) for name in ("draft", "private")) or any(
        said.get(name) in _NO for name in ("published", "publish")
    )
