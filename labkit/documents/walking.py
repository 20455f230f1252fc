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

from labkit.documents.ignoring import FILE_NAME, IgnoreFile, is_ignored, read_ignore_file
from labkit.documents.products import FILE_NAME as PRODUCTS
from labkit.documents.rules import Rules
from labkit.types import DocumentError, FileFault


@dataclass(slots=True)
class Walk:
    """The files to read, by path; whether the root's product facts are among what may be read.

    `seen` counts all that lies there, taken or not: only of an empty folder is it 0.
    """

    files: list[Path] = field(default_factory=list)
    faults: list[FileFault] = field(default_factory=list)
    products: bool = False
    seen: int = 0


@dataclass(frozen=True, slots=True)
class _Folder:
    """A folder by its path below the root ('' for the root), and the ignore files in force."""

    path: str
    ignore_files: tuple[IgnoreFile, ...] = ()

    def place(self, base: str) -> str:
        return os.path.normpath(os.path.join(base, self.path))

    def below(self, name: str) -> str:
        return f"{self.path}/{name}" if self.path else name


def walk(root: Path, rules: Rules) -> list[Path]:
    """The files below `root` that the rules ask for, in ordinal order of their path.

    DocumentError if `root` is no folder.
    """
    return survey(root, rules).files


def survey(root: Path, rules: Rules) -> Walk:
    """What `walk` finds, with a fault for each folder that could not be read.

    A folder whose `.aiignore` cannot be understood is not read at all.
    """
    if not root.is_dir():
        raise DocumentError(f"{root} is not a folder. Name the one that holds the documents.")
    found, base = Walk(), os.path.realpath(root)
    waiting = [_Folder("")]
    while waiting:
        folder = waiting.pop()
        try:
            waiting += _visit(folder, base, root, rules, found)
        except DocumentError as fault:
            message = f"{fault}. Nothing in this folder is read until then."
            found.faults.append(FileFault(folder.below(FILE_NAME), message))
        except OSError as error:
            found.seen += isinstance(error, PermissionError)  # closed; a broken disk says otherwise
            message = f"the folder cannot be read ({error.strerror})."
            found.faults.append(FileFault(folder.path or ".", message))
    found.files.sort(key=lambda path: path.relative_to(root).as_posix())
    return found


def _visit(folder: _Folder, base: str, root: Path, rules: Rules, found: Walk) -> list[_Folder]:
    """Note a folder's files in `found`; return the folders in it that are to be walked."""
    with os.scandir(folder.place(base)) as listing:
        entries = list(listing)
    found.seen += len(entries)
    ignore_files = folder.ignore_files
    if any(entry.name == FILE_NAME for entry in entries):
        path = Path(folder.place(base), FILE_NAME)
        ignore_files = (*ignore_files, read_ignore_file(path, folder.path))
    folder = _Folder(folder.path, ignore_files)
    inner: list[_Folder] = []
    for entry, name in _kept(entries, folder, base, rules):
        if entry.is_dir(follow_symlinks=False):
            inner.append(_Folder(name, ignore_files))
            found.seen -= 1  # what lies in it counts
        elif name == PRODUCTS:
            found.products = True
        elif rules.includes(name):
            found.files.append(root / name)
    return inner


def _kept(
    entries: Sequence[os.DirEntry[str]], folder: _Folder, base: str, rules: Rules
) -> Iterator[tuple[os.DirEntry[str], str]]:
    """The files and folders in a folder that nothing hides, each with its path below the root."""
    parent = os.path.basename(folder.place(base))
    for entry in entries:
        name = folder.below(entry.name)
        if rules.hides(parent, entry.name) or rules.excludes(name):
            continue
        is_folder = entry.is_dir(follow_symlinks=False)
        if not is_folder and not entry.is_file(follow_symlinks=False):
            continue  # a link, a pipe, a device
        if is_folder and os.path.realpath(entry.path) != entry.path:
            continue  # a link that does not call itself one: a junction
        if not is_ignored(name, is_folder, folder.ignore_files):
            yield entry, name
