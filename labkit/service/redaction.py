"""Messages and values without the paths of this machine: what a page may show of them."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from labkit.settings import Settings
from labkit.types import FileFault, IngestRun

_QUOTED = re.compile(r"""(?P<quote>['"])(?P<path>(?:~?/|[A-Za-z]:[\\/]|\\\\)[^'"\n]*)(?P=quote)""")
_INNER = r"""(?:(?!\.\s)[^/\\'"`,;:()<>\n])+[/\\]+"""  # a folder, whose name may have spaces
_BARE = re.compile(
    rf"""(?<![\w:/\\.~<-])(?:~\w*|[A-Za-z]:|\\)?[/\\]+(?:{_INNER})*[^\s/\\'"`,;:()<>]+[/\\]?"""
    r"""|\bfile:/+[^\s'"`,;()<>]+"""
)
_USER_IN_URL = re.compile(r"(?<=://)[^/\s@]*@")


class Redactor:
    """Takes the folders of this machine out of messages; what stays of a path is its last name.

    `folders` are known ones: they and all above them are recognised whatever their names hold. Of
    others, names with spaces are too, at the price of a few words between two paths of a clause.
    """

    def __init__(self, folders: Iterable[Path | str] = ()) -> None:
        known = sorted(set(_spellings(folders)), key=len, reverse=True)
        ends = "|".join(map(re.escape, known))
        whole = rf"(?:{ends})(?![\w-]|\.\w)(?:[/\\]+[^\s'\"`,;:()<>]*)?"
        self._known = re.compile(whole) if ends else None

    def __call__(self, message: str) -> str:
        """The message, safe to show.

        >>> Redactor()("/srv/lab one/x.sqlite: [Errno 2] '/srv/lab one/y': http://me:pw@h:1/v1")
        "x.sqlite: [Errno 2] 'y': http://h:1/v1"
        >>> Redactor(["/srv/lab one"])("/srv/lab one/x.sqlite is damaged. Run: labkit rebuild")
        'x.sqlite is damaged. Run: labkit rebuild'
        """
        message = _USER_IN_URL.sub("", message)
        message = _QUOTED.sub(lambda m: m["quote"] + last_name(m["path"]) + m["quote"], message)
        if self._known is not None:
            message = self._known.sub(lambda m: last_name(m[0]), message)
        return _BARE.sub(lambda m: last_name(m[0]), message)

    def run(self, run: IngestRun) -> IngestRun:
        """The record of a run as a page may show it: its root by its last name only."""
        return replace(
            run,
            root=last_name(run.root),
            faults=tuple(map(self._fault, run.faults)),
            notes=tuple(map(self._fault, run.notes)),
        )

    def _fault(self, fault: FileFault) -> FileFault:
        return FileFault(below(fault.path), self(fault.message))


def redactor_for(settings: Settings | None) -> Redactor:
    """The redactor that knows the folders of this process and of the settings in force."""
    folders: list[Path | str] = [Path.cwd(), Path.home(), Path(__file__).parents[2], sys.prefix]
    if settings is not None:
        folders += [settings.home, settings.corpus, settings.index.parent]
        model = os.path.expanduser(settings.embedding.model)  # which a home of nobody leaves alone
        folders += [model] if os.path.isabs(model) else []
    return Redactor(folders)


def last_name(path: str) -> str:
    """What a path ends in; the path itself if it has no name.

    >>> last_name("/srv/lab/corpus/"), last_name("C:\\\\lab\\\\corpus"), last_name("/")
    ('corpus', 'corpus', '/')
    """
    return next((name for name in reversed(re.split(r"[/\\]+", path)) if name), path)


def below(path: str) -> str:
    """A path below a root as it is; of one that is not, its last name.

    Records write paths with forward slashes; a backslash is that of an escaped character.

    >>> below(r"notes/\\u202eevil.md"), below("/srv/lab/a.md"), below(r"C:\\lab\\a.md")
    ('notes/\\\\u202eevil.md', 'a.md', 'a.md')
    """
    parts = path.split("/")
    outside = ".." in parts or parts[0] in ("", "~") or re.match(r"[A-Za-z]:|\\\\", path)
    return last_name(path) if outside else path


def _spellings(folders: Iterable[Path | str]) -> Iterator[str]:
    """Each folder and those above it, as given and resolved; not the root, nor a folder in it."""
    for folder in folders:
        for path in {Path(folder), Path(folder).resolve()}:
            for known in (path, *path.parents):
                if len(known.parts) > 2:
                    yield str(known)
