"""`labkit ingest` into a new index, for more and more documents of one sentence.

All is measured but the model: a stub in its place makes vectors of the same size at once. The files
are read, searched for secrets, cut, their vectors kept in the cache, written a group at a time, and
all passages compared at the end. Four times the documents may take 4.6 times as long at the most:
whatever looks at all rows again for each document shows here.

Processor time stands beside wall time, which a busy machine and its disk stretch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time

import numpy as np
from timing import Mismatch, Report, Times, ratio, take_turns

from labkit.chunking import MarkdownChunker
from labkit.documents import Plain
from labkit.documents.reading import read_folder
from labkit.documents.rules import Rules
from labkit.embedding import CachedEmbedder, VectorCache
from labkit.indexing import Source, ingest
from labkit.store import SqliteStore
from labkit.types import EmbedderIdentity, Health, Matrix, Role

SIZES = (500, 1000, 2000, 4000)
QUICK = (50, 100)
RULES = Rules(plain=Plain("ACME/readers"))
DIMENSION = 384
MILLISECONDS = 2.0  # a document, at the most


class Stub:
    """Vectors that no model was asked for: as many and as large, all different."""

    identity = EmbedderIdentity("stub", "", "stub", "1", DIMENSION)

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """Directions by chance, the same for the same number of texts."""
        return np.random.default_rng(len(texts)).normal(size=(len(texts), DIMENSION)).astype("f4")

    def health(self) -> Health:
        """Always well."""
        return Health(True)


def run(quick: bool) -> Report:
    """Measure each size in turn."""
    sizes = QUICK if quick else SIZES
    report = Report("Ingestion into a new index, without the model", unit="s")
    report.notes.append(f"documents of one sentence, vectors of {DIMENSION} dimensions")
    busy: dict[str, list[float]] = {_name(size): [] for size in sizes}
    with TemporaryDirectory() as place:
        folders = {_name(size): _folder(Path(place) / str(size), size) for size in sizes}
        work = {name: _ingesting(folder, busy[name]) for name, folder in folders.items()}
        wall = take_turns(work, 1 if quick else 3)
    processor = {name: Times(name, seconds[1:]) for name, seconds in busy.items()}
    for clock, times in (("", wall), (", processor time", processor)):
        report.rows += [(f"{name}{clock}", *each.row(1)[1:]) for name, each in times.items()]
        for less, more in zip(sizes, sizes[2:], strict=False):  # four times as many
            found = ratio(times, _name(more), _name(less), "<= 4.6")
            report.ratios.append(replace(found, name=f"{found.name}{clock}"))
        report.notes += [_each(f"{_name(size)}{clock}", size, times[_name(size)]) for size in sizes]
    return report


def _name(size: int) -> str:
    return f"{size:,} documents"


def _each(name: str, size: int, times: Times) -> str:
    milliseconds = 1000 * times.quantile(0.5) / size
    verdict = "met" if milliseconds <= MILLISECONDS else "missed"
    return f"{name}: {milliseconds:.2f} ms a document, aim <= {MILLISECONDS:g}: {verdict}"


def _folder(folder: Path, size: int) -> Path:
    folder.mkdir()
    for number in range(size):
        text = (
            f"# Gate {number}\n\nGate {number} opens at {number % 24} and closes an hour later.\n"
        )
        (folder / f"gate-{number:05d}.md").write_text(text, encoding="utf-8")
    return folder


def _ingesting(folder: Path, busy: list[float]) -> Callable[[int], None]:
    """What reads that folder into a new index, and notes the processor time that it took."""
    size = len(list(folder.iterdir()))

    def work(_: int) -> None:
        started = process_time()
        with TemporaryDirectory() as place:
            cached = CachedEmbedder(Stub(), VectorCache(Path(place) / "vectors.sqlite"))
            store = SqliteStore(Path(place) / "index.sqlite")
            source = Source.of(read_folder(folder, RULES), folder)
            done = ingest(source, MarkdownChunker(), cached, store)
            if (done.added, done.embedded) != (size, size):
                raise Mismatch(f"{done.added} documents were added, not {size}")
        busy.append(process_time() - started)

    return work
