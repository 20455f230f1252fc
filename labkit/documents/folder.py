"""Reading a folder: every file is checked, and all that is wrong is said at once."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
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


@dataclass(frozen=True, slots=True)
class FolderLoader:
    """Reads the Markdown files below a folder: `labkit.types.Loader`.

    `plain` governs files without front matter, or with that of another tool (`permalink: …`); with
    None they are an error. A file that states anything of its governance is never completed: a
    field that is missing there is an error.
    """

    included: Sequence[str] = ("**/*.md",)
    excluded: Sequence[str] = ()
    plain: Plain | None = None

    def load(self, root: Path) -> list[Document]:
        """All documents below `root` by id; DocumentError lists every fault, a line each."""
        if not root.is_dir():
            raise DocumentError(f"{root} is not a folder. Name the one that holds the documents.")
        documents: list[Document] = []
        faults: list[str] = []
        for path in self.paths(root):
            try:
                documents.append(read_document(path, root, self.plain))
            except DocumentError as fault:
                faults.append(str(fault))
        faults += _doubled_ids(documents)
        if faults:
            raise DocumentError("\n".join(faults))
        return sorted(documents, key=lambda document: document.id)

    def paths(self, root: Path) -> Iterator[Path]:
        """The files to read, sorted. A link that leads out of the folder is not followed, and what
        tools keep there (hidden folders, `node_modules`) is not walked."""
        inside = root.resolve()
        found, left_out = _matching(root, self.included), _matching(root, self.excluded)
        for path in sorted(found - left_out):
            if not path.is_file() or not path.resolve().is_relative_to(inside):
                continue
            if not left_out.intersection(path.parents) and not _of_a_tool(path.relative_to(root)):
                yield path


def _matching(root: Path, patterns: Sequence[str]) -> set[Path]:
    """What the patterns match; DocumentError names one that is no pattern."""
    found: set[Path] = set()
    for pattern in patterns:
        try:
            found.update(root.glob(pattern))
        except (NotImplementedError, ValueError, IndexError) as error:
            raise DocumentError(
                f"'{pattern}' matches no path below a folder ({error}). Write it as **/*.md."
            ) from error
    return found


def _of_a_tool(path: Path) -> bool:
    return any(part.startswith(".") or part == "node_modules" for part in path.parts)


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


def _doubled_ids(documents: Sequence[Document]) -> list[str]:
    """One sentence for each id that two files claim."""
    first: dict[str, str] = {}
    faults: list[str] = []
    for document in documents:
        other = first.setdefault(document.id, document.meta.path)
        if other != document.meta.path:
            faults.append(
                f"{document.meta.path}: 'id' is '{document.id}', which {other} has already. "
                "Give one of them another id."
            )
    return faults
