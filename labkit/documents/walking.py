"""Walking a folder: every file that the rules ask for, and no way out of the folder.

Links are never followed, whatever they point to: what lies inside the folder is read where it lies,
and what lies outside is not its owner's to give. So a walk cannot leave the folder, nor run in
circles, nor read a file under a name that the rules do not hide.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from labkit.documents.ignoring import (
    FILE_NAME,
    IgnoreFile,
    files_above,
    is_ignored,
    read_ignore_file,
)
from labkit.documents.products import FILE_NAME as PRODUCTS
from labkit.documents.rules import Rules, is_hidden
from labkit.types import DocumentError, FileFault


@dataclass(slots=True)
class Walk:
    """The files to read, by path; whether the root's product facts are among what may be read.

    `left_out`, `hidden` and `ignored` count files and folders that were not taken, a folder once.
    `seen` counts all that lies there, taken or not: only of an empty folder is it 0.
    """

    files: list[Path] = field(default_factory=list)
    faults: list[FileFault] = field(default_factory=list)
    products: bool = False
    left_out: int = 0
    hidden: int = 0
    ignored: int = 0
    seen: int = 0


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder by its path below the root ('' for the root), and the ignore files in force."""

    base: str  # the root, without links
    path: str
    ignore_files: tuple[IgnoreFile, ...]

    @property
    def place(self) -> str:
        return os.path.normpath(os.path.join(self.base, self.path))

    def below(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name

    def ignores(self, name: str, is_folder: bool) -> bool:
        return is_ignored(Path(self.base, name).as_posix(), is_folder, self.ignore_files)


def walk(root: Path, rules: Rules) -> Walk:
    """The files below `root` that the rules ask for, in ordinal order of their path.

    A folder that cannot be read is a fault; one whose `.aiignore` cannot be understood is not read
    at all. DocumentError if `root` is no folder.
    """
    if not root.is_dir():
        raise DocumentError(f"{root} is not a folder. Name the one that holds the documents.")
    found, base = Walk(), os.path.realpath(root)
    waiting: list[_Folder] = []
    try:
        waiting.append(_Folder(base, "", files_above(Path(base))))
    except DocumentError as fault:
        found.seen = 1
        found.faults.append(FileFault(".", f"{fault}. Nothing in this folder is read until then."))
    while waiting:
        waiting += _visited(waiting.pop(), root, rules, found)
    found.files.sort(key=lambda path: path.relative_to(root).as_posix())
    return found


def _visited(folder: _Folder, root: Path, rules: Rules, found: Walk) -> list[_Folder]:
    """The folders in a folder that are to be walked; what cannot be read is a fault."""
    try:
        return _visit(folder, root, rules, found)
    except DocumentError as fault:
        message = f"{fault}. Nothing in this folder is read until then."
        found.faults.append(FileFault(folder.below(FILE_NAME), message))
    except OSError as error:
        found.seen += isinstance(error, PermissionError)  # closed; a broken disk says otherwise
        message = f"the folder cannot be read ({error.strerror})."
        found.faults.append(FileFault(folder.path or ".", message))
    return []


def _visit(folder: _Folder, root: Path, rules: Rules, found: Walk) -> list[_Folder]:
    """Note a folder's files in `found`; return the folders in it that are to be walked."""
    with os.scandir(folder.place) as listing:
        entries = list(listing)
    found.seen += len(entries)
    if any(entry.name == FILE_NAME for entry in entries):
        own = read_ignore_file(Path(folder.place, FILE_NAME))
        folder = _Folder(folder.base, folder.path, (*folder.ignore_files, own))
    inner: list[_Folder] = []
    for entry, name in _kept(entries, folder, rules, found):
        if entry.is_dir(follow_symlinks=False):
            inner.append(_Folder(folder.base, name, folder.ignore_files))
            found.seen -= 1  # what lies in it counts
        elif name == PRODUCTS:
            found.products = True
        elif rules.includes(name):
            found.files.append(root / name)
        else:
            found.left_out += 1
    return inner


def _kept(
    entries: Sequence[os.DirEntry[str]], folder: _Folder, rules: Rules, found: Walk
) -> Iterator[tuple[os.DirEntry[str], str]]:
    """The files and folders in a folder that nothing hides, each with its path below the root."""
    parent = os.path.basename(folder.place)
    for entry in entries:
        name = folder.below(entry.name)
        is_folder = entry.is_dir(follow_symlinks=False)
        if entry.name == FILE_NAME or rules.leaves_no_trace(parent, entry.name):
            continue
        if not is_folder and not entry.is_file(follow_symlinks=False):
            continue  # a link, a pipe, a device
        if is_folder and os.path.realpath(entry.path) != entry.path:
            continue  # a link that does not call itself one: a junction
        if is_hidden(entry.name):
            found.hidden += 1
        elif rules.excludes(name):
            found.left_out += 1
        elif folder.ignores(name, is_folder):
            found.ignored += 1
        else:
            yield entry, name
