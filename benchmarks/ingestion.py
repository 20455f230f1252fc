"""`labkit ingest` into a new index, against the bare model call on the same chunks.

Ingestion reads the files, looks for secrets, cuts with the model's tokenizer, embeds, keeps each
vector in its cache, writes each document in a transaction, and compares all passages at the end.
The bare call embeds the texts of those chunks at once, with the model already loaded on both sides.
Processor time stands beside wall time, which a busy machine stretches.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from time import process_time
from warnings import simplefilter

from character_chunker import _folders
from timing import Mismatch, Report, Skipped, Times, ratio, take_turns

from labkit.assembly import CHECKOUT, Lab
from labkit.documents import Plain
from labkit.documents.reading import read_folder
from labkit.documents.rules import Rules
from labkit.embedding import CachedEmbedder, VectorCache
from labkit.embedding.checks import TextTooLong
from labkit.ingestion.incremental import ingest
from labkit.settings import load_settings
from labkit.store import SqliteStore
from labkit.types import EmbeddingError

INGEST, MODEL = "labkit ingest", "the bare model call"
PLAIN = Plain("ACME/readers")
CHUNKS = 32  # e5 embeds about four of this size a second


def run(quick: bool) -> Report:
    report = Report("Ingestion into a new index", unit="s")
    lab = _lab()
    report.notes.append(f"model {lab.model.identity.model}, chunker {lab.ingest_chunker.version}")
    for name, source in _sources().items():
        with _some_of(source, lab, 12 if quick else CHUNKS) as folder:
            _measure(report, name, folder, lab, 1 if quick else 3)
    return report


def _lab() -> Lab:
    """A lab with e5 where it is installed, else with the packaged model."""
    settings = load_settings(CHECKOUT, environment={})
    for profile in ("e5", "minilm"):
        lab = Lab(settings.having(embedding={"profile": profile}))
        try:
            lab.model.embed(["Load the model."], "passage")
        except EmbeddingError as error:
            reason = error
        else:
            return lab
    raise Skipped(f"needs a model: {reason}") from reason


def _sources() -> dict[str, Path]:
    real = {name: folder for name, folder in _folders().items() if name.startswith("real")}
    return {"knowledge base": CHECKOUT / "corpus/knowledge", **real}


@contextmanager
def _some_of(source: Path, lab: Lab, chunks: int) -> Iterator[Path]:
    """A folder with files from all over a source, about so many chunks of them."""
    documents = read_folder(source, Rules(plain=PLAIN)).documents
    cut = [(document, len(lab.ingest_chunker.chunk(document))) for document in documents]
    every = max(1, sum(count for _, count in cut) // chunks)
    with TemporaryDirectory() as folder:
        for document, _ in cut[::every]:
            path = Path(folder) / document.meta.path
            path.parent.mkdir(parents=True, exist_ok=True)
            copyfile(source / document.meta.path, path)
        yield Path(folder)


def _measure(report: Report, name: str, folder: Path, lab: Lab, rounds: int) -> None:
    simplefilter("ignore", TextTooLong)  # a long table, on both sides
    tree = read_folder(folder, Rules(plain=PLAIN))
    chunks = [chunk for document in tree.documents for chunk in lab.ingest_chunker.chunk(document)]
    texts = [chunk.searchable for chunk in chunks]

    busy: dict[str, list[float]] = {INGEST: [], MODEL: []}

    def ours(_: int) -> None:
        worked = process_time()
        with TemporaryDirectory() as place:
            cached = CachedEmbedder(lab.model, VectorCache(Path(place) / "vectors.sqlite"))
            store = SqliteStore(Path(place) / "index.sqlite")
            documents = read_folder(folder, Rules(plain=PLAIN))
            done = ingest(documents, folder, lab.ingest_chunker, cached, store)
            if done.embedded != len(texts):
                raise Mismatch(f"{done.embedded} chunks were embedded, not {len(texts)}")
        busy[INGEST].append(process_time() - worked)

    def bare(_: int) -> None:
        worked = process_time()
        lab.model.embed(texts, "passage")
        busy[MODEL].append(process_time() - worked)

    wall = take_turns({INGEST: ours, MODEL: bare}, rounds)
    processor = {who: Times(who, seconds[1:]) for who, seconds in busy.items()}
    report.notes.append(f"{name}: {len(tree.documents)} documents, {len(texts)} chunks")
    for clock, times in (("", wall), (", processor time", processor)):
        report.rows += [(f"{name}: {who}{clock}", *each.row(1)[1:]) for who, each in times.items()]
        found = ratio(times, INGEST, MODEL, "<= 1.05")
        report.ratios.append(replace(found, name=f"{name}: {found.name}{clock}"))
