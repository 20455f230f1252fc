"""What has changed: pure comparisons of what was indexed with what is there now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from labkit.types import Chunk, Vector


class Changes(NamedTuple):
    """Ids of documents, sorted: what an index lacks, holds otherwise, holds still, and holds."""

    added: list[str]
    changed: list[str]
    removed: list[str]
    unchanged: list[str]


def plan_changes(before: Mapping[str, object], now: Mapping[str, object]) -> Changes:
    """Compare {id: hash} of an index with {id: hash} of its source.

    >>> plan_changes({"a": "1", "b": "1", "c": "1"}, {"b": "1", "c": "2", "d": "1"})
    Changes(added=['d'], changed=['c'], removed=['a'], unchanged=['b'])
    """
    both = before.keys() & now.keys()
    return Changes(
        added=sorted(now.keys() - before.keys()),
        changed=sorted(name for name in both if before[name] != now[name]),
        removed=sorted(before.keys() - now.keys()),
        unchanged=sorted(name for name in both if before[name] == now[name]),
    )


def chunk_changes(old: Sequence[tuple[Chunk, Vector]], new: Sequence[Chunk]) -> list[Vector | None]:
    """For each new chunk the vector that it can keep; None: it has to be embedded.

    A vector stands for title, headings and text together. Where all of it is as before, it is the
    same vector, wherever the chunk stands now and whoever may read it now.
    """
    known = {chunk.searchable: vector for chunk, vector in old}
    return [known.get(chunk.searchable) for chunk in new]
