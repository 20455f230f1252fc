"""The cells of a notebook or of a Python file whose bytes nobody vouches for.

The JSON is read by hand: nbformat refuses a whole notebook for one wrong field, and a learner's
work should not be lost over that.
"""

from __future__ import annotations

import codecs
import io
import json
import re
import tokenize
from collections.abc import Iterator
from typing import Any

from classroom.grading.names import shown
from classroom.grading.types import File, Finding, Kind, RawCell

MAX_BYTES = 10_000_000  # of a file
MAX_PARTS = 300_000  # lists and dictionaries in a notebook: each takes some 80 bytes when read
MAX_CELLS = 10_000
MAX_SOURCE = 200_000  # characters of a cell's code
MAX_CODE = 500_000  # characters of code in a notebook; a learner's has some ten thousand
_NO_NOTEBOOK = (
    "The file is no notebook, or only a part of one. Download it again from Jupyter (File, "
    "Download) and send the .ipynb."
)
_NO_UTF8 = "The file is not saved as UTF-8; it was read as Western European text (cp1252)."
NOTEBOOK, SCRIPT = ".ipynb", ".py"
_DISGUISED = re.compile(r"(\.ipynb|\.py)(?:\.txt|\.json)?$", re.IGNORECASE)
_UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_DECLARED = ("utf-8", "utf-8-sig", "iso-8859-1", "cp1252")  # others may take minutes to decode


def split_ending(name: str) -> tuple[str, str]:
    """A file's name without its ending, and `.ipynb`, `.py` or ``: browsers and mail programs add
    `.txt` or `.json` behind, which is looked through.

    >>> split_ending("chunking.ipynb.txt")
    ('chunking', '.ipynb')
    """
    found = _DISGUISED.search(name)
    return (name[: found.start()], found[1].lower()) if found else (name, "")


def read_file(name: str, content: bytes) -> File:
    """The cells of a file, and what was wrong with it. Raises nothing, runs nothing."""
    if len(content) > MAX_BYTES:
        return _unread(Kind.TOO_LARGE, f"The file is larger than {MAX_BYTES // 1_000_000} MB.")
    if not content.strip():
        return _unread(Kind.UNREADABLE, "The file is empty. Save the work, and send it again.")
    looks_like_json = content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")
    if split_ending(name)[1] != SCRIPT or (looks_like_json and b'"cells"' in content):
        return _notebook(content)
    text, findings = _decoded(content)
    if len(text) > MAX_SOURCE:
        message = f"The file has more than {MAX_SOURCE:,} characters of code; not read."
        return _unread(Kind.TOO_LARGE, message)
    return File((RawCell(1, _lines(text)),), findings)


def _unread(kind: Kind, message: str) -> File:
    return File(findings=(Finding(kind, message),))


def _decoded(content: bytes) -> tuple[str, tuple[Finding, ...]]:
    """The text of a Python file. One that is no UTF-8 is read as Western European all the same."""
    if content.startswith(_UTF16):
        return content.decode("utf-16", "replace"), ()
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        if encoding in _DECLARED:
            return content.decode(encoding), ()
    except (SyntaxError, UnicodeDecodeError):
        pass
    return content.decode("cp1252", "replace"), (Finding(Kind.UNREADABLE, _NO_UTF8, repaired=True),)


def _lines(text: str) -> str:
    """Python ends a line at each of the three."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _notebook(content: bytes) -> File:
    if content.count(b"[") + content.count(b"{") > MAX_PARTS:
        return _unread(Kind.TOO_LARGE, "The notebook has too many parts to be read.")
    try:
        cells = _all_cells(json.loads(content))
    except RecursionError:
        return _unread(Kind.UNREADABLE, "The notebook is nested too deeply to be read.")
    except (ValueError, MemoryError) as error:
        return _unread(Kind.UNREADABLE, f"{_NO_NOTEBOOK} (Its reader says: {shown(str(error))}.)")
    if cells is None:
        return _unread(Kind.UNREADABLE, f"{_NO_NOTEBOOK} (It has no list of cells.)")
    return _bounded(cells)


def _all_cells(data: Any) -> list[Any] | None:
    """The cells of a notebook of version 4, or of version 3, where they stand in worksheets."""
    if not isinstance(data, dict):
        return None
    if isinstance(data.get("cells"), list):
        return list(data["cells"])
    sheets = data.get("worksheets")
    if not isinstance(sheets, list):
        return None
    lists = (sheet.get("cells") for sheet in sheets if isinstance(sheet, dict))
    return [cell for cells in lists if isinstance(cells, list) for cell in cells]


def _bounded(cells: list[Any]) -> File:
    """The cells that are read, and what is beyond the limits. A text cell counts if it may hold an
    answer; one with a picture in it is long, and of no interest."""
    findings, kept = [], []
    left = {True: MAX_CODE, False: MAX_SOURCE}
    for cell in _raw_cells(cells[:MAX_CELLS]):
        size = len(cell.source) if cell.code or "def " in cell.source else 0
        if size <= min(left[cell.code], MAX_SOURCE):
            left[cell.code] -= size
            kept.append(cell)
        elif cell.code:
            message = "This cell, or the code up to it, is too long to be read; it is left out."
            findings.append(Finding(Kind.TOO_LARGE, message, cell.number))
    if len(cells) > MAX_CELLS:
        message = f"The notebook has {len(cells):,} cells; those after {MAX_CELLS:,} are not read."
        findings.append(Finding(Kind.TOO_LARGE, message))
    return File(tuple(kept), tuple(findings), notebook=True)


def _raw_cells(cells: list[Any]) -> Iterator[RawCell]:
    """Cells as far as they are such; version 3 called a code cell's source `input`."""
    for number, cell in enumerate(cells, start=1):
        if not isinstance(cell, dict):
            continue
        metadata = cell.get("metadata")
        mark = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        mark = mark if isinstance(mark, dict) else {}
        grade_id = mark.get("grade_id")
        source = cell.get("source", cell.get("input", ""))
        if isinstance(source, list):
            source = "".join(part for part in source if isinstance(part, str))
        yield RawCell(
            number,
            _lines(source) if isinstance(source, str) else "",
            cell.get("cell_type") == "code",
            grade_id if isinstance(grade_id, str) else "",
            mark.get("solution") is True,
        )
