"""`Engine.ask` under the hybrid policy, once everything is warm and in a new process.

The passages are drawn: words by Zipf's law, vectors at random, four of them about each of many
topics. The embedder is a stub that knows its questions' vectors, so no model runs: this is the
lab's own share of an answer, and a live question adds the embedding of one sentence. The floor of
an exact search is one pass over the vectors; `ask` is measured as a multiple of it.

A new process opens the index, reads and checks all of it, builds what the searches need, and
answers one question; the time of loading Python's modules is printed apart.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from bm25_query import _shares
from timing import Ratio, Report, ratio, take_turns

from labkit.answering import ExtractiveGenerator
from labkit.answering.engine import Engine
from labkit.answering.retrieval import HybridSearch
from labkit.documents.fingerprint import content_hash, corpus_hash
from labkit.store import SqliteStore
from labkit.types import (
    Chunk,
    Document,
    EmbedderIdentity,
    Health,
    Manifest,
    Matrix,
    Metadata,
    Role,
    Viewer,
)

DIMENSION = 384
DAY = date(2026, 10, 23)
READER = Viewer("ACME", frozenset({"readers"}))
IDENTITY = EmbedderIdentity("bench", "", "drawn", "1", DIMENSION)
ASK, PASS = "Engine.ask, warm, hybrid", "one pass over the vectors"
VOCABULARY = 50_000
AIM = 2.0  # seconds of a new process beyond loading the modules


class Drawn:
    """An embedder of questions that end in a number: each has a vector of its own."""

    identity = IDENTITY

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        return np.stack([_question_vector(int(text.rsplit(" ", 1)[1])) for text in texts])

    def health(self) -> Health:
        return Health(True)


def run(quick: bool) -> Report:
    size, few, rounds = (2_000, 500, 5) if quick else (50_000, 5_000, 30)
    report = Report(f"Engine.ask over {size:,} passages x {DIMENSION}, and over {few:,} at first")
    with TemporaryDirectory() as folder:
        path = Path(folder) / "many.sqlite"
        fill(path, size)
        store = SqliteStore(path)
        engine = engine_on(store)
        engine.ask(question(0), READER, DAY)
        blocks = store.snapshot()._scan._blocks
        times = take_turns(
            {
                ASK: lambda number: engine.ask(question(number), READER, DAY),
                PASS: lambda _: [block.max() for block in blocks],
            },
            rounds,
        )
        path = Path(folder) / "few.sqlite"
        fill(path, few)
        cold = sorted(_cold(path) for _ in range(2 if quick else 5))
    three = (cold[0], cold[len(cold) // 2], cold[-1])
    beyond, loading = ([seconds[place] for seconds in three] for place in (0, 1))
    report.rows += [measured.row() for measured in times.values()]
    report.rows += [
        (f"new process, {few:,}: beyond loading modules", *(1e3 * each for each in beyond)),
        ("new process: loading modules", *(1e3 * each for each in loading)),
    ]
    report.ratios += [
        ratio(times, ASK, PASS, "<= 8"),
        Ratio(f"new process / {AIM:g} s", *(each / AIM for each in beyond), "<= 1"),
    ]
    return report


def _cold(path: Path) -> tuple[float, float]:
    """Seconds of a new process: (opening the index and one answer, loading the modules)."""
    code = (
        "import time; start = time.perf_counter(); import sys, timing, asking; "
        "from pathlib import Path; loaded = time.perf_counter(); "
        "asking.engine_on(asking.SqliteStore(Path(sys.argv[1])))"
        ".ask(asking.question(1), asking.READER, asking.DAY); "
        "print(time.perf_counter() - loaded, loaded - start)"
    )
    command = [sys.executable, "-c", code, str(path)]
    here = Path(__file__).parent
    done = subprocess.run(command, check=True, capture_output=True, text=True, cwd=here)
    beyond, loading = map(float, done.stdout.split())
    return beyond, loading


def engine_on(store: SqliteStore) -> Engine:
    return Engine(HybridSearch(store, Drawn(), 0.0), ExtractiveGenerator())


def question(number: int) -> str:
    """Four words, some of them common, and the number of the question."""
    words = np.random.default_rng(number).choice(
        VOCABULARY, 4, replace=False, p=_shares(VOCABULARY)
    )
    return f"What is {' '.join(map(_word, words))} for {number}"


def _question_vector(number: int) -> np.ndarray:
    return np.random.default_rng(number).standard_normal(DIMENSION).astype(np.float32)


def _word(number: int) -> str:
    """A word that the analyser leaves whole: made of consonants, no stem of another."""
    letters = "bcdfghjklmnpqrtvwxz"
    return "".join(letters[number // len(letters) ** place % len(letters)] for place in range(5))


def fill(path: Path, size: int) -> SqliteStore:
    """An index of drawn passages, half of them English and half French: one chunk a document."""
    rng = np.random.default_rng(7)
    lengths = rng.integers(20, 60, size)
    words = rng.choice(VOCABULARY, int(lengths.sum()), p=_shares(VOCABULARY))
    texts = [
        f"Passage {number}: {' '.join(map(_word, part))}."
        for number, part in enumerate(np.split(words, lengths.cumsum()[:-1]))
    ]
    topics = rng.standard_normal((size // 4 + 1, DIMENSION))
    near = topics[np.arange(size) // 4] + 0.5 * rng.standard_normal((size, DIMENSION))
    documents = [_document(number, text) for number, text in enumerate(texts)]
    chunks = [Chunk(each.meta, 0, 0, len(each.text), each.text) for each in documents]
    corpus = corpus_hash((each.id, each.content_hash) for each in documents)
    store = SqliteStore(path)
    lock = Manifest(IDENTITY, "whole", "drawn", corpus, corpus_hash([]))
    store.replace_all(lock, documents, chunks, near.astype(np.float32), [])
    return store


def _document(number: int, text: str) -> Document:
    meta = Metadata(
        id=f"d{number:06}",
        title=f"Page {number}",
        language="fr" if number % 2 else "en",
        scope="ACME/readers",
        status="approved",
        canonical=True,
        valid_from=DAY,
        valid_until=None,
        version="1",
        path=f"d{number:06}.md",
    )
    return Document(meta, text, content_hash(meta, text))
