"""Stage 06: who may see what, as of which day. One predicate, used by every search path.

The viewer's rights come from the caller. Nothing that a document says can widen them.
"""

from __future__ import annotations

from datetime import date

from labkit.types import Eligible, Metadata, Viewer


def is_eligible(meta: Metadata, grants: frozenset[str], as_of: date) -> bool:
    """May a document answer a viewer with these grants on this day?

    It must lie in a granted scope, be approved and canonical, and be in force; both the first and
    the last day of its validity count. No grant means nothing.
    """
    return Eligible(grants, as_of).admits(meta)


def admit(
    viewer: Viewer, as_of: date, path: str | None = None, section: str | None = None
) -> Eligible:
    """The value that a question carries through every search path.

    `path` and `section` narrow it to a part of the index, as `Eligible` says.
    """
    return Eligible(viewer.grants, as_of, path, section)
