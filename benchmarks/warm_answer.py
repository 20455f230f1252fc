"""`Engine.ask` once everything is warm: starter corpus, its questions, extractive generator.

The vectors of the questions are those that the lab ships, so no model runs: this is the lab's own
share of an answer. A live question adds the embedding of one sentence.
"""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

from timing import Mismatch, Ratio, Report, Skipped, Times

from labkit.assembly import CHECKOUT, QUESTIONS, Lab
from labkit.evaluation.calibration import read_questions
from labkit.indexing import rebuild
from labkit.settings import load_settings
from labkit.types import EmbeddingError

AIM = 20.0  # milliseconds


def run(quick: bool) -> Report:
    rounds = 2 if quick else 10
    settings = load_settings(CHECKOUT, environment={})
    with TemporaryDirectory() as folder:
        index = str(Path(folder) / "index.sqlite")
        lab = Lab(settings.having(store={"path": index}))
        try:
            rebuild(lab.source(), lab.chunker, lab.embedder, lab.store)
        except EmbeddingError as error:
            raise Skipped(f"needs the packaged model's identity. {error}") from error
        engine = lab.engine()
        asked = [
            (question.question, settings.viewer_named(question.viewer), question.as_of)
            for question in read_questions(QUESTIONS)
        ]
        start = perf_counter()
        engine.ask(*asked[0])
        first = perf_counter() - start
        ends = Counter(type(engine.ask(*each)).__name__ for each in asked)
        seconds, busy = [], []
        for _ in range(rounds):
            for each in asked:
                start, worked = perf_counter(), process_time()
                engine.ask(*each)
                seconds.append(perf_counter() - start)
                busy.append(process_time() - worked)
        chunks = lab.store.stats().chunks
    if "torch" in sys.modules:
        raise Mismatch("a model was loaded: some question has no shipped vector")
    times = Times("Engine.ask, warm", seconds)
    median, late = 1e3 * times.quantile(0.5), 1e3 * times.quantile(0.95)
    return Report(
        f"Warm Engine.ask over {len(asked)} questions and {chunks} chunks",
        rows=[
            times.row(),
            Times("the same, processor time alone", busy).row(),
            ("95th percentile", late, late, late),
            ("the very first question, index read", *[1e3 * first] * 3),
        ],
        ratios=[
            Ratio(f"median / {AIM:g} ms", *[median / AIM] * 3, "<= 1"),
            Ratio(f"95th percentile / {AIM:g} ms", *[late / AIM] * 3, "<= 1"),
        ],
        notes=[f"{ends['Answer']} answered, {ends['Refusal']} refused; no model was loaded."],
    )
