"""PDFs: the text of each page, read by a process that can be stopped."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Any

from labkit.documents.decoding import CONTROL, clean_text, read_text
from labkit.documents.fingerprint import content_hash
from labkit.documents.front_matter import load_yaml
from labkit.documents.governance import Fields
from labkit.documents.plain import Plain, govern
from labkit.types import Document, DocumentError, LabError

PAGE_BREAK = "\n\f\n"  # between two pages of a document's text; it belongs to the page before
SIDECAR = ".yaml"  # `<name>.pdf.yaml` holds the front matter of `<name>.pdf`
_WORKER = Path(__file__).with_name("pdf_pages.py")
_BREAKS = str.maketrans("\f\v", "\n\n")  # a form feed inside a page would look like its end
_SURROGATE = re.compile("[\ud800-\udfff]")
_NO_CHARACTER = "\ufffd"


@dataclass(frozen=True, slots=True)
class PdfLimits:
    """What one PDF may take: seconds, pages, characters in all, bytes of memory."""

    seconds: float = 60
    pages: int = 2_000
    characters: int = 5_000_000
    memory: int = 2_000_000_000


LIMITS = PdfLimits()


def pdf_pages(raw: bytes, name: str, limits: PdfLimits = LIMITS) -> tuple[list[str], Sequence[int]]:
    """The normalised text of each page, '' for one without text; the pages with unseen text.

    Text that no reader of the page can see is left out. What a font says in characters that no text
    may hold is read as U+FFFD, one for one.
    DocumentError for a PDF that is encrypted, broken, without any text, or beyond the limits;
    LabError if pypdf is not installed.
    """
    reply = _asked(raw, name, limits)
    if "missing" in reply:
        raise LabError("PDFs are to be read: run `pip install pypdf`.")
    if "fault" in reply:
        raise DocumentError(f"{name}: {reply['fault']}")
    pages = [
        clean_text(_printable(page), f"{name}, page {number}")
        for number, page in enumerate(reply["pages"], start=1)
    ]
    unseen = reply.get("unseen", [])
    if not "".join(pages).strip():
        what = "no text, perhaps a scan. Run text recognition on it"
        if unseen:  # as many programs leave what they recognise on a scan
            what = "no text that its readers can see. Save what is hidden in it as a text"
        raise DocumentError(f"{name}: the PDF holds {what}.")
    return pages, unseen


def pdf_document(
    pages: list[str], fields: Fields | None, name: str, plain: Plain | None
) -> Document:
    """A document whose text is its pages, joined by `PAGE_BREAK`; `page_starts` says where.

    The fields stand for front matter, which a PDF cannot hold: those of `<name>.pdf.yaml`, or None.
    """
    if fields is None and plain is None:
        raise DocumentError(
            f"{name}: nothing states who may read this PDF. "
            f"Write its front matter into {name.rsplit('/', 1)[-1]}{SIDECAR} beside it."
        )
    text = PAGE_BREAK.join(pages)
    lengths = (len(page) + len(PAGE_BREAK) for page in pages[:-1])
    try:
        meta = govern(fields, "", name, plain)
    except DocumentError as fault:
        raise DocumentError(str(fault).replace(f"{name}:", f"{name}{SIDECAR}:", 1)) from fault
    starts = tuple(accumulate(lengths, initial=0))
    return Document(meta, text, content_hash(meta, text), 0, starts)


def sidecar_text(path: Path, name: str) -> str | None:
    """What stands in the `.yaml` file beside a PDF; None if there is none."""
    sidecar = path.with_name(path.name + SIDECAR)
    if sidecar.is_symlink():
        raise DocumentError(f"{name}{SIDECAR}: it is a link. Put the file itself there.")
    return read_text(sidecar, name + SIDECAR) if sidecar.exists() else None


def sidecar_fields(text: str | None, name: str) -> Fields | None:
    """The fields that the file beside a PDF states."""
    if text is None:
        return None
    fields = load_yaml(text, name + SIDECAR)
    if not isinstance(fields, dict):
        raise DocumentError(f"{name}{SIDECAR}: it holds no 'name: value' lines.")
    return fields


def _asked(raw: bytes, name: str, limits: PdfLimits) -> dict[str, Any]:
    """The reply of the process that opens the PDF."""
    numbers = (limits.pages, limits.characters, limits.memory)
    command = [sys.executable, "-P", str(_WORKER), *map(str, numbers)]
    try:
        done = subprocess.run(  # noqa: S603 - this interpreter, on a file of this package
            command,
            input=raw,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            timeout=limits.seconds,
            check=True,
        )
        return dict(json.loads(done.stdout))
    except subprocess.TimeoutExpired as error:
        raise DocumentError(
            f"{name}: the PDF was not read within {limits.seconds:g} seconds. Save it anew."
        ) from error
    except (subprocess.CalledProcessError, ValueError) as error:
        raise DocumentError(
            f"{name}: the PDF ended the process that read it. Save it anew."
        ) from error


def _printable(page: str) -> str:
    """A page without what no text may hold, letter for letter as long as before."""
    page = page.replace("\r\n", "\n").replace("\r", "\n").translate(_BREAKS)
    return _SURROGATE.sub(_NO_CHARACTER, CONTROL.sub(_NO_CHARACTER, page))
