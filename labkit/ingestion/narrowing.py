"""Questions to a part of the index: the files of a path, the sections of a name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import cast

from labkit.chunking.structure import scan
from labkit.ingestion.rules import matches
from labkit.text import fold
from labkit.types import Chunk, Eligible, Hit, Manifest, Vector, VectorStore

ALL = 2**31 - 1


@dataclass(frozen=True)
class NarrowedStore:
    """A store of which a search sees only the eligible chunks that `keep` keeps.

    They are chosen before any ranking takes its k, so that few of them still fill k. The cosine
    and the word score of a chunk are those of the whole store. What a search makes of them is not:
    ranks, fused scores, the best that a question could reach and so what is dropped are those of
    the part, as if it were alone.
    """

    store: VectorStore
    keep: Callable[[Chunk], bool]

    def search(self, vector: Vector, k: int, eligible: Eligible) -> list[Hit]:
        """As `VectorStore.search`; ranks count the chunks that are kept."""
        kept = self._kept(self.store.search(vector, ALL, eligible), k)
        return [replace(hit, dense_rank=rank) for rank, hit in enumerate(kept, start=1)]

    def lexical(self, terms: Sequence[str], k: int, eligible: Eligible) -> list[Hit]:
        """As `VectorStore.lexical`; ranks count the chunks that are kept."""
        kept = self._kept(self.store.lexical(terms, ALL, eligible), k)
        return [replace(hit, lexical_rank=rank) for rank, hit in enumerate(kept, start=1)]

    def manifest(self) -> Manifest:
        return self.store.manifest()

    def _kept(self, hits: Iterable[Hit], k: int) -> list[Hit]:
        return [hit for hit in hits if self.keep(hit.chunk)][: max(k, 0)]


def _headings(chunk: Chunk) -> Iterator[str]:
    yield chunk.context
    yield chunk.section
    yield from (block.title for block in scan(chunk.text) if block.level)


def narrowed(store: VectorStore, path: str | None, section: str | None) -> VectorStore:
    """The store itself if nothing is asked for, or what a search may see of it."""
    if path is None and section is None:
        return store
    return cast(VectorStore, NarrowedStore(store, within(path, section)))


def within(path: str | None, section: str | None) -> Callable[[Chunk], bool]:
    """The chunks of files that match a glob, under a heading that holds a text. None: any.

    The glob is read as in `excluded_paths`; a folder stands for all that lies in it. A heading
    may stand above a chunk or in it; neither capitals nor accents count.
    """
    wanted = fold(section or "")

    def keep(chunk: Chunk) -> bool:
        if path is not None and not matches(chunk.meta.path, [path]):
            return False
        return not wanted or wanted in fold("\n".join(_headings(chunk)))

    return keep
