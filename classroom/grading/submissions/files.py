"""Files of submissions where they lie: in a folder, or in a zip that is read in memory.

Nothing is unpacked to the disk, no symbolic link is followed, and every count has a limit.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from classroom.grading.submissions.reading import MAX_BYTES, split_ending
from classroom.grading.types import Finding, Kind

MAX_DEPTH = 8  # folders below the folder of submissions
MAX_FILES = 2_000  # of one student, or in one zip of a student
MAX_CLASS_FILES = 100_000  # in a zip of a whole class
MAX_ZIP_BYTES = 50_000_000  # of a student's zip
MAX_STUDENT_BYTES = 100_000_000  # of one student: all that a zip says it holds, all that is read
_SKIPPED = frozenset("__pycache__ __MACOSX".casefold().split())
_SKIPPED_BELOW = frozenset("venv env node_modules site-packages".split())  # or a person's name
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others may ask for gigabytes to unpack
_DRIVE = re.compile(r"[A-Za-z]:")
_ENTRY = b"PK\x01\x02"  # before each entry of a zip's list
_ENCRYPTED = 0x1


@dataclass(frozen=True, slots=True)
class Entry:
    """A file: its place below the folder of submissions, when it was changed (a number that grows
    with time), and how its bytes are read. `fault` says why they cannot be."""

    parts: tuple[str, ...]
    changed: float
    read: Callable[[], bytes]
    fault: Finding | None = None

    @property
    def name(self) -> str:
        return self.parts[-1]

    @property
    def is_zip(self) -> bool:
        return is_zip(self.name)

    @property
    def astray(self) -> bool:
        """Is it a link, or named so that it leads elsewhere? People have to hear of it."""
        return self.fault is not None and self.fault.kind in (Kind.HOSTILE_NAME, Kind.IGNORED_FILE)


def skipped(name: str, *, top: bool = False) -> bool:
    """Is a file or folder of this name nobody's work? Hidden ones, caches, installed packages. At
    the `top`, where students' names stand, fewer are; two dots at the start hide nothing."""
    if (name[:1] == "." and name[:2] != "..") or name.casefold() in _SKIPPED:
        return True
    return not top and name.casefold() in _SKIPPED_BELOW


def faulty(parts: tuple[str, ...], kind: Kind, message: str) -> Entry:
    """A file that is named, and not read."""
    return Entry(parts, 0.0, lambda: b"", Finding(kind, message))


# --- a folder ------------------------------------------------------------------------------------


def in_folder(folder: Path) -> Iterator[Entry]:
    """All files below a folder, by name. What one student's folder holds beyond the limit is left
    out and said once. A folder without a file gives one file without a name."""
    for entry in _entries(folder, top=True):
        count = 0
        for found in _below(entry, (entry.name,)):
            count += 1
            if count > MAX_FILES:
                yield faulty((entry.name, ""), Kind.TOO_LARGE, _too_many(MAX_FILES))
                break
            yield found
        if not count and entry.is_dir(follow_symlinks=False):
            yield faulty((entry.name, ""), Kind.NO_NOTEBOOK, "The folder is empty.")


def _too_many(limit: int) -> str:
    return f"There are more than {limit:,} files; only the first ones, by name, were looked at."


def _entries(folder: Path | os.DirEntry[str], *, top: bool = False) -> list[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        kept = (entry for entry in entries if not skipped(entry.name, top=top))
        return sorted(kept, key=lambda entry: entry.name)


def _below(entry: os.DirEntry[str], parts: tuple[str, ...]) -> Iterator[Entry]:
    try:
        if entry.is_symlink():
            yield faulty(
                parts, Kind.IGNORED_FILE, "This is a link, not a file; it is not followed."
            )
        elif entry.is_dir(follow_symlinks=False):
            for child in _entries(entry) if len(parts) <= MAX_DEPTH else ():
                yield from _below(child, (*parts, child.name))
        elif entry.is_file(follow_symlinks=False):
            about = entry.stat(follow_symlinks=False)
            yield _file(Path(entry.path), parts, about.st_size, about.st_mtime)
    except OSError as error:
        why = error.strerror or "an error of the disk"
        yield faulty(parts, Kind.UNREADABLE, f"The computer could not read it: {why}.")


def one_file(path: Path) -> Entry:
    """A file that somebody named. OSError if it is not there."""
    about = path.stat()
    return _file(path, (path.name,), about.st_size, about.st_mtime)


def _file(path: Path, parts: tuple[str, ...], size: int, changed: float) -> Entry:
    limit = MAX_ZIP_BYTES if is_zip(parts[-1]) else MAX_BYTES
    if size > limit:
        return _large(parts, size, limit)
    return Entry(parts, changed, lambda: _read(path, limit))


def _read(path: Path, limit: int) -> bytes:
    with path.open("rb") as file:
        return file.read(limit + 1)


def _large(parts: tuple[str, ...], size: int, limit: int) -> Entry:
    message = (
        f"The file has {size / 1e6:.0f} MB; one of more than {limit // 1_000_000} MB is not read. "
        "Clear the outputs, save, and send it again."
    )
    return faulty(parts, Kind.TOO_LARGE, message)


# --- a zip ---------------------------------------------------------------------------------------


def is_zip(name: str) -> bool:
    """Does the name say that it is a zip?"""
    return name.casefold().endswith(".zip")


def in_zip(source: Path | bytes, below: tuple[str, ...], shown_as: tuple[str, ...]) -> list[Entry]:
    """All files in a zip, by name, as if they lay at `below`. `shown_as` is the zip's own place,
    which stands in the fault if it cannot be read. A path is a class's, and may hold more."""
    try:
        archive, infos = _opened(source)
        limit = MAX_FILES if isinstance(source, bytes) else MAX_CLASS_FILES
        if len(infos) > limit:
            return [faulty(shown_as, Kind.TOO_LARGE, f"The zip holds more than {limit:,} files.")]
        if isinstance(source, bytes) and sum(info.file_size for info in infos) > MAX_STUDENT_BYTES:
            message = f"The zip holds more than {MAX_STUDENT_BYTES // 1_000_000} MB when unpacked."
            return [faulty(shown_as, Kind.TOO_LARGE, message)]
        found = (_entry(archive, info, below) for info in infos)
        return sorted((file for file in found if file is not None), key=lambda file: file.parts)
    except Exception as error:  # zipfile meets a hostile zip with a dozen kinds of errors
        name = type(error).__name__
        return [faulty(shown_as, Kind.UNREADABLE, f"The zip cannot be read ({name}).")]


def _opened(source: Path | bytes) -> tuple[zipfile.ZipFile, list[zipfile.ZipInfo]]:
    """The zip and its list of files. A list without end is refused before it fills the memory."""
    if isinstance(source, bytes) and source.count(_ENTRY) > 10 * MAX_FILES:
        raise ValueError("too many entries")
    archive = zipfile.ZipFile(source if isinstance(source, Path) else io.BytesIO(source))
    return archive, [info for info in archive.infolist() if not info.is_dir()]


def _entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, below: tuple[str, ...]) -> Entry | None:
    """One file in a zip; None for what is nobody's work. A name that leads out of the zip, or a
    link, is told and not read."""
    raw = re.split(r"[/\\]", info.filename)
    parts = (*below, *(part for part in raw if part not in ("", ".", "..")))
    inner = enumerate(parts[len(below) :], start=len(below))
    nobodys = any(skipped(part, top=number == 0) for number, part in inner)
    if nobodys or len(parts) > MAX_DEPTH + len(below):
        return None
    if ".." in raw or not raw[0] or _DRIVE.match(raw[0]) or len(parts) == len(below):
        message = "The name of this file in the zip leads out of the zip; it is not read."
        return faulty(parts, Kind.HOSTILE_NAME, message)
    if stat.S_ISLNK(info.external_attr >> 16):
        return faulty(parts, Kind.IGNORED_FILE, "This is a link, not a file; it is not followed.")
    if info.flag_bits & _ENCRYPTED:
        return faulty(parts, Kind.UNREADABLE, "The zip is locked with a password.")
    if info.compress_type not in _PACKED:
        return faulty(parts, Kind.UNREADABLE, "The zip is packed in an unusual way; use plain zip.")
    limit = MAX_ZIP_BYTES if is_zip(parts[-1]) else MAX_BYTES
    if info.file_size > limit:
        return _large(parts, info.file_size, limit)
    year, month, day, hour, minute, second = info.date_time
    changed = ((((year * 12 + month) * 31 + day) * 24 + hour) * 60 + minute) * 60.0 + second
    return Entry(parts, changed, lambda: _unpacked(archive, info, limit))


def _unpacked(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limit: int) -> bytes:
    with archive.open(info) as file:
        return file.read(limit + 1)


# --- what one student sent -----------------------------------------------------------------------


class Reader:
    """Reads one student's files, with zips and zips in zips opened, within limits for them all."""

    def __init__(self) -> None:
        self._files = self._bytes = 0

    def read(self, entries: Iterable[Entry], depth: int = 0) -> Iterator[tuple[Entry, bytes]]:
        """Each file with its bytes: of a file that is no notebook, no Python and no zip, or that
        could not be read, there are none."""
        for entry in entries:
            self._files += 1
            if self._files > MAX_FILES:
                yield faulty((entry.parts[0], ""), Kind.TOO_LARGE, _too_many(MAX_FILES)), b""
                return
            if entry.fault is not None or not (entry.is_zip or split_ending(entry.name)[1]):
                yield entry, b""
                continue
            content, why = self._content(entry)
            if why is not None:
                yield replace(entry, fault=why), b""
            elif not entry.is_zip:
                yield entry, content
            else:
                yield from self._opened(entry, content, depth)

    def _content(self, entry: Entry) -> tuple[bytes, Finding | None]:
        if self._bytes > MAX_STUDENT_BYTES:
            limit = MAX_STUDENT_BYTES // 1_000_000
            message = f"One student's files have more than {limit} MB; this one is not read."
            return b"", Finding(Kind.TOO_LARGE, message)
        try:
            content = entry.read()
        except Exception as error:  # zipfile meets a hostile zip with a dozen kinds of errors
            name = type(error).__name__
            return b"", Finding(Kind.UNREADABLE, f"The file cannot be read ({name}).")
        self._bytes += len(content)
        return content, None

    def _opened(self, entry: Entry, content: bytes, depth: int) -> Iterator[tuple[Entry, bytes]]:
        if depth == 2:
            message = "A zip in a zip in a zip is not opened."
            yield replace(entry, fault=Finding(Kind.UNREADABLE, message)), b""
            return
        held = in_zip(content, entry.parts, entry.parts)
        if not held:
            held = [faulty(entry.parts, Kind.NO_NOTEBOOK, "The zip holds no file.")]
        yield from self.read(held, depth + 1)
