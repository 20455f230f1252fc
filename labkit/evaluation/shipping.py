"""The vectors that the lab ships, so that nobody waits for a model: for those who keep them.

Of the starter corpus: its passages, as `rebuild` cuts them, and its annotated questions. Of the
knowledge base: its passages, as `ingest` cuts them for one profile's tokenizer, and the questions
of the development half; those of the other half are embedded when they are asked: few, and seldom.
A text that is longer than the model reads is left out: whoever takes it in has to be told of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias
from warnings import catch_warnings, simplefilter

from labkit.assembly import CHECKOUT, QUESTIONS, Lab, make_chunker, shipped_vectors
from labkit.embedding import CachedEmbedder, VectorCache, write_vectors
from labkit.embedding.cache import Key, text_key
from labkit.embedding.checks import TextTooLong
from labkit.evaluation.calibration import read_questions
from labkit.evaluation.scratch import read_folders
from labkit.types import Chunker, Document, Role
from labkit.vectors import encode_vector

KNOWLEDGE_QUESTIONS = CHECKOUT / "corpus/questions/knowledge-development.jsonl"
Texts: TypeAlias = Mapping[Role, Sequence[str]]
"""What is to be embedded in each role: each text once, in order."""


def ship_starter(lab: Lab) -> tuple[Path, int]:
    """Write the starter corpus's vectors; returns their file and how many they are."""
    texts = _texts(lab.source().all_documents, lab.chunker, QUESTIONS)
    return _ship(lab, texts, shipped_vectors(lab.settings.embedding.profile)[0])


def ship_knowledge(lab: Lab, sources: Sequence[Path]) -> tuple[Path, int]:
    """Write the knowledge base's vectors; returns their file and how many they are."""
    texts = knowledge_texts(lab, sources)
    return _ship(lab, texts, shipped_vectors(lab.settings.embedding.profile)[1])


def knowledge_texts(lab: Lab, sources: Sequence[Path]) -> Texts:
    """The texts of the knowledge base, whose folders are `sources`."""
    documents = read_folders(lab.settings, sources)[0].all_documents
    chunker = make_chunker(lab.settings, "markdown", lab.model)
    return _texts(documents, chunker, KNOWLEDGE_QUESTIONS)


def _texts(documents: Sequence[Document], chunker: Chunker, questions: Path) -> Texts:
    passages = [chunk.searchable for document in documents for chunk in chunker.chunk(document)]
    asked = [question.question for question in read_questions(questions)]
    return {"passage": list(dict.fromkeys(passages)), "query": list(dict.fromkeys(asked))}


def _ship(lab: Lab, texts: Texts, path: Path) -> tuple[Path, int]:
    vectors: dict[Key, bytes] = {}
    for role, found in texts.items():
        vectors |= _embedded(lab, found, role)
    write_vectors(path, lab.model.identity, vectors)
    return path, len(vectors)


def _embedded(lab: Lab, texts: Sequence[str], role: Role) -> dict[Key, bytes]:
    """The vectors of the texts that the model reads to their end, by key."""
    cache = VectorCache(lab.settings.index.with_suffix(".vectors.sqlite"))
    embedder = CachedEmbedder(lab.model, cache)  # an interrupted run goes on where it was
    with catch_warnings(record=True) as caught:
        simplefilter("always", TextTooLong)
        found = embedder.embed(texts, role)
    cut = {w.message.text for w in caught if isinstance(w.message, TextTooLong)}
    pairs = zip(texts, found, strict=True)
    whole = ((text, vector) for text, vector in pairs if text not in cut)
    return {text_key(text, role): encode_vector(vector) for text, vector in whole}
