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
    return (
        meta.scope in grants
        and meta.status == "approved"
        and meta.canonical
        and meta.valid_from <= as_of
        and (meta.valid_until is None or as_of <= meta.valid_until)
    )


def admit(viewer: Viewer, as_of: date) -> Eligible:
    """The value that a question carries through every search path."""
    return Eligible(viewer.grants, as_of, is_eligible)
