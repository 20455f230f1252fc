"""The vectors of the knowledge base that the lab ships, so that nobody waits for a model.

They hold its passages, as `ingest` cuts them for one profile's tokenizer, and the questions of the
development half. Questions of the other half are embedded when they are asked: few, and seldom.
A text that is longer than the model reads is left out: whoever takes it in has to be told of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from warnings import catch_warnings, simplefilter

import typer

from labkit.assembly import CHECKOUT, Lab, open_lab
from labkit.calibration import read_questions
from labkit.embedding import CachedEmbedder, VectorCache, write_vectors
from labkit.embedding.cache import Key, text_key, to_bytes
from labkit.embedding.checks import TextTooLong
from labkit.evaluation.scratch import ScratchLab
from labkit.types import Role

QUESTIONS = CHECKOUT / "corpus/questions/knowledge-development.jsonl"


def register(app: typer.Typer) -> None:
    """Put the keepers' command on a command line."""
    app.command("ship-knowledge-vectors", hidden=True)(ship)


def ship(
    sources: Annotated[list[Path], typer.Argument(help="The knowledge base, its PDFs.")],
) -> None:
    """Write the knowledge base's vectors with the profile's live model (for its keepers)."""
    lab = open_lab()
    vectors: dict[Key, bytes] = {}
    for role, found in knowledge_texts(lab, sources).items():
        vectors |= _embedded(lab, found, role)
    write_vectors(lab.shipped_knowledge, lab.model.identity, vectors)
    typer.echo(f"Wrote {len(vectors)} vectors to {lab.shipped_knowledge.name}.")


def _embedded(lab: Lab, texts: list[str], role: Role) -> dict[Key, bytes]:
    """The vectors of the texts that the model reads to their end, by key."""
    cache = VectorCache(lab.settings.index.with_suffix(".vectors.sqlite"))
    embedder = CachedEmbedder(lab.model, cache)  # an interrupted run goes on where it was
    with catch_warnings(record=True) as caught:
        simplefilter("always", TextTooLong)
        found = embedder.embed(texts, role)
    cut = {w.message.text for w in caught if isinstance(w.message, TextTooLong)}
    pairs = zip(texts, found, strict=True)
    return {text_key(text, role): to_bytes(vector) for text, vector in pairs if text not in cut}


def knowledge_texts(lab: Lab, sources: Sequence[Path]) -> dict[Role, list[str]]:
    """What is to be embedded in each role: each text once, in order."""
    with TemporaryDirectory() as folder:
        scratch = ScratchLab(lab.settings, Path(folder), sources=sources)
        documents = scratch.source().all_documents
        passages = [chunk.searchable for d in documents for chunk in scratch.chunker.chunk(d)]
    questions = [question.question for question in read_questions(QUESTIONS)]
    return {"passage": list(dict.fromkeys(passages)), "query": list(dict.fromkeys(questions))}
