"""From settings to working parts: the one place that knows which class serves which setting."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from labkit.calibration import read_questions
from labkit.chunking import CharacterChunker
from labkit.documents import FolderLoader, Plain
from labkit.embedding import (
    CachedEmbedder,
    HttpEmbedder,
    SentenceTransformerEmbedder,
    VectorCache,
    read_vectors,
    write_vectors,
)
from labkit.embedding.cache import text_key, to_bytes
from labkit.embedding.profiles import PROFILES, Profile
from labkit.engine import Engine
from labkit.generation import ChatGenerator, ExtractiveGenerator
from labkit.generation.chat import Mode
from labkit.indexing import Source, make_manifest, read_source
from labkit.indexing import plan as make_plan
from labkit.indexing import rebuild as build_index
from labkit.retrieval import StrictSearch
from labkit.settings import Settings, load_settings
from labkit.store.manifest import check_manifest
from labkit.store.sqlite import SqliteStore
from labkit.transport import NO_KEY
from labkit.types import Chunker, Embedder, Generator, LabError, Role

CHECKOUT = Path(__file__).resolve().parents[1]
SHIPPED_VECTORS = CHECKOUT / "corpus/vectors"
QUESTIONS = CHECKOUT / "corpus/questions/starter.jsonl"


class Lab:
    """The parts that the settings ask for, each made when it is first needed."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @property
    def profile(self) -> Profile:
        name = self.settings.embedding.profile
        if name not in PROFILES:
            known = ", ".join(sorted(PROFILES))
            raise LabError(f"embedding.profile is {name!r}. Known profiles: {known}.")
        return PROFILES[name]

    @property
    def loader(self) -> FolderLoader:
        settings = self.settings
        plain = (
            Plain(settings.plain.scope, settings.plain.language) if settings.plain.scope else None
        )
        return FolderLoader(settings.included_paths, settings.excluded_paths, plain)

    @property
    def chunker(self) -> Chunker:
        chunk = self.settings.chunk
        if chunk.kind != "characters":
            raise LabError(f"chunk.kind is {chunk.kind!r}. Known kinds: characters.")
        try:
            return CharacterChunker(chunk.size, chunk.overlap)
        except ValueError as error:
            raise LabError(f"The settings of chunk do not fit: {error}") from error

    @cached_property
    def model(self) -> Embedder:
        """The embedder without any cache."""
        embedding = self.settings.embedding
        model = embedding.model or self.profile.model
        if not embedding.service_url:
            return SentenceTransformerEmbedder(model, embedding.batch_size)
        if embedding.dimension <= 0:
            raise LabError("embedding.service_url needs embedding.dimension: the model's own.")
        return HttpEmbedder(
            embedding.service_url,
            model,
            embedding.dimension,
            timeout=embedding.timeout,
            batch_size=embedding.batch_size,
            api_key=_key("LABKIT_EMBEDDING_API_KEY"),
        )

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """The embedder, behind the shipped vectors and the cache beside the index."""
        cache = VectorCache(self.settings.index.with_suffix(".vectors.sqlite"))
        return CachedEmbedder(self.model, cache, read_vectors(self.shipped, self.model.identity))

    @property
    def shipped(self) -> Path:
        """The file of the vectors that the lab ships for this profile."""
        return SHIPPED_VECTORS / f"{self.settings.embedding.profile}.jsonl"

    @cached_property
    def store(self) -> SqliteStore:
        kind = self.settings.store.kind
        if kind != "sqlite":
            raise LabError(f"store.kind is {kind!r}. Known kinds: sqlite.")
        return SqliteStore(self.settings.index)

    def source(self) -> Source:
        return read_source(self.loader, self.settings.corpus)

    def ready(self) -> None:
        """Build the index if there is none, or if it does not fit the documents and settings."""
        source = self.source()
        if make_plan(source, self.chunker, self.embedder, self.store).changed:
            build_index(source, self.chunker, self.embedder, self.store)

    @property
    def threshold(self) -> float:
        """The threshold set, or the profile's; another model than the profile's needs its own."""
        threshold = self.settings.retrieval.threshold
        if threshold >= -1:
            return threshold
        model = self.settings.embedding.model
        if model and model != self.profile.model:
            raise LabError(
                f"retrieval.threshold is not set, and the one of profile "
                f"'{self.settings.embedding.profile}' means nothing for {model}. Set it; "
                "`labkit calibrate` suggests a value."
            )
        return self.profile.threshold

    def search(self, threshold: float | None = None) -> StrictSearch:
        """The search that the settings ask for, over an index that fits them."""
        retrieval = self.settings.retrieval
        if retrieval.policy != "strict":
            raise LabError(f"retrieval.policy is {retrieval.policy!r}. Known policies: strict.")
        check_manifest(
            self.store.manifest(), make_manifest(self.source(), self.chunker, self.embedder)
        )
        at_least = self.threshold if threshold is None else threshold
        return StrictSearch(self.store, self.embedder, at_least, retrieval.k)

    def generator(self, kind: str = "extractive", mode: Mode | None = None) -> Generator:
        """`extractive` or `chat`; only a chat model can be handed passages as a tool's result."""
        if kind == "extractive":
            if mode == "tool":
                raise LabError("The extractive generator calls no tool. Use --generator chat.")
            return ExtractiveGenerator()
        if kind != "chat":
            raise LabError(f"There is no generator {kind!r}. Use extractive or chat.")
        chat = self.settings.chat
        if not chat.base_url or not chat.model:
            raise LabError("Set chat.base_url and chat.model: the server and model to ask.")
        return ChatGenerator(
            chat.base_url,
            chat.model,
            mode=mode or "provider",
            timeout=chat.timeout,
            context_tokens=self.settings.retrieval.context_tokens,
            api_key=_key("LABKIT_CHAT_API_KEY"),
        )

    def engine(self, generator: Generator | None = None) -> Engine:
        return Engine(self.search(), generator or self.generator())

    def ship_vectors(self) -> int:
        """Embed the corpus and its questions with the live model and write them to be committed."""
        chunks = [c for d in self.source().all_documents for c in self.chunker.chunk(d)]
        passages = [chunk.searchable for chunk in chunks]
        questions = _unique(question.question for question in read_questions(QUESTIONS))
        batches: list[tuple[list[str], Role]] = [(passages, "passage"), (questions, "query")]
        vectors = {
            text_key(text, role): to_bytes(vector)
            for texts, role in batches
            for text, vector in zip(texts, self.model.embed(texts, role), strict=True)
        }
        write_vectors(self.shipped, self.model.identity, vectors)
        return len(vectors)


def _key(variable: str) -> str:
    """The key in a variable; LabError, without it, if no HTTP header can carry it."""
    key = os.environ.get(variable, "").strip() or NO_KEY
    if not key.isascii() or not key.isprintable():
        raise LabError(f"{variable} holds characters that no key has. Copy the key again.")
    return key


def open_lab(start: Path | None = None) -> Lab:
    """The lab of the settings that hold for a folder (default: the current one)."""
    return Lab(load_settings(start))


def _unique(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))
