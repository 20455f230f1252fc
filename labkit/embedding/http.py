"""Embeddings over HTTP, from any server that speaks OpenAI's `/v1/embeddings`.

Ollama does, and so do hosted ones; `labkit embed-serve` does and says besides which model it runs.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from labkit.embedding.checks import (
    TextInPieces,
    TextRefused,
    TextTooLong,
    check_batch,
    check_texts,
    health_of,
)
from labkit.model_server import ModelServer, ServerFailed
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Matrix, Role

OF_A_TEXT = {400, 413, 422}  # refusals that one text may cause: too long, not readable, forbidden
UNAUTHORISED = 401
NOT_OURS = (
    "does not say which model it runs. Is it `labkit embed-serve`? The address of an "
    "OpenAI-compatible server ends in /v1. It says"
)


class HttpEmbedder:
    """An embedding server: `labkit.types.Embedder`.

    An address that ends in `/v1` is an OpenAI-compatible server. It is told `model`, of which
    `{role}` becomes query or passage; it makes `dimension` numbers, and the prefixes are put before
    the texts here. Any other address is `labkit embed-serve`: it knows its model's weights and
    prefixes and says so, so that an index made on this machine with the same weights fits; `model`
    and `dimension`, where given, must be what it serves.

    `timeout`, in seconds, bounds one whole reply. TextRefused names the texts that the server
    refuses, in its own words; whatever else fails is EmbeddingError.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "",
        dimension: int = 0,
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        timeout: float = 30.0,
        batch_size: int = 16,
        api_key: str = "",
    ) -> None:
        url = base_url.rstrip("/")
        self._is_ours = not url.endswith("/v1")
        self._set = EmbedderIdentity(
            provider="openai-compatible",
            endpoint=base_url,
            model=model,
            revision="",
            dimension=dimension,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            normalised=False,
        )
        self._server = ModelServer(url, timeout, api_key)
        self._where = f"The embedding server at {url}"
        self._batch_size = batch_size
        self._has_answered = False

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """As set; of the lab's own service, asked once."""
        return self._told_identity() if self._is_ours else self._set

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        check_texts(texts)
        refused: dict[int, str] = {}
        batches = [np.empty((0, self.identity.dimension), dtype=np.float32)]
        for first in range(0, len(texts), self._batch_size):
            batch = texts[first : first + self._batch_size]
            batches.append(self._isolating(batch, role, first, refused))
        if refused:
            raise TextRefused(refused)
        return np.concatenate(batches)

    def health(self) -> Health:
        """Of the lab's own service, what it says of itself; any other has to embed a word."""
        return health_of(self._health if self._is_ours else self._embedding_model)

    def _embedding_model(self) -> Mapping[str, Any]:
        self.embed(["health"], "query")
        return {"model": self.identity.model}

    @property
    def window(self) -> int | None:
        """Tokens that the model reads of one text, if its server says so."""
        window = self._health().get("window") if self._is_ours else None
        return window if isinstance(window, int) else None

    # --- what it serves ---------------------------------------------------------------------------

    def _health(self) -> Mapping[str, Any]:
        try:
            told = self._server.get("/health")
        except ServerFailed as failed:
            raise self._failure(failed) from failed
        if not isinstance(told, dict):
            raise self._unlike(NOT_OURS, told)
        return told

    def _told_identity(self) -> EmbedderIdentity:
        told = self._health()
        try:
            found = EmbedderIdentity(**told["identity"])
            if not isinstance(found.model, str) or int(found.dimension) < 1:
                raise ValueError("no model")
        except (KeyError, TypeError, ValueError) as error:
            raise self._unlike(NOT_OURS, told) from error
        self._check_model(found)
        return found

    def _check_model(self, found: EmbedderIdentity) -> None:
        model, dimension = self._set.model, self._set.dimension
        if model and Path(model).name != Path(found.model).name:
            raise EmbeddingError(
                f"{self._where} runs the model {found.model}, and the settings ask for {model}. "
                "Set embedding.profile or embedding.model to what it runs."
            )
        if dimension and dimension != found.dimension:
            raise EmbeddingError(
                f"{self._where} makes vectors of {found.dimension} dimensions, and "
                f"embedding.dimension is {dimension}."
            )

    # --- one batch --------------------------------------------------------------------------------

    def _isolating(
        self, batch: Sequence[str], role: Role, first: int, refused: dict[int, str]
    ) -> Matrix:
        """The vectors of a batch. One that the server refuses is halved until the texts at fault
        stand alone; they go into `refused` by their number, counted from `first`."""
        try:
            return self._vectors(batch, role, first)
        except ServerFailed as failed:
            if failed.status not in OF_A_TEXT:
                raise self._failure(failed) from failed
            if len(batch) > 1:
                half = len(batch) // 2
                left = self._isolating(batch[:half], role, first, refused)
                right = self._isolating(batch[half:], role, first + half, refused)
                return np.concatenate([left, right])
            self._check_that_it_embeds(role, failed)
            refused[first] = f"was refused: {self._failure(failed)}"
            return np.empty((0, self.identity.dimension), dtype=np.float32)

    def _check_that_it_embeds(self, role: Role, failed: ServerFailed) -> None:
        """The fault is the text's only if the server takes another one: a wrong name of a model
        refuses every text, and nobody's documents are at fault."""
        if not self._has_answered:
            try:
                self._vectors(["text"], role, 0)
            except ServerFailed:
                raise self._failure(failed) from failed

    def _vectors(self, batch: Sequence[str], role: Role, first: int) -> Matrix:
        identity = self.identity
        body: dict[str, Any] = {"encoding_format": "float"}
        if self._is_ours:
            path = "/v1/embeddings"
            # As on this machine: of a text too long, what the model reads of it, and a warning.
            body |= {"model": identity.model, "input": list(batch)}
            body |= {"input_type": role, "truncate": True}
        else:
            path = "/embeddings"
            prefix = identity.query_prefix if role == "query" else identity.passage_prefix
            body |= {"model": identity.model.replace("{role}", role)}
            body |= {"input": [prefix + text for text in batch]}
        reply = self._server.post(path, body)
        vectors = check_batch(self._in_order(reply, len(batch)), batch, identity.dimension, first)
        self._has_answered = True
        self._warn_of_too_long(reply, batch)
        return vectors

    def _in_order(self, reply: Any, expected: int) -> Matrix:
        """The vectors by their `index`; doubled, missing and ragged ones are refused."""
        try:
            items = [(item["index"], item["embedding"]) for item in reply["data"]]
        except (TypeError, KeyError) as error:
            raise self._unlike("sent no list of vectors with their index", reply) from error
        found = [index for index, _ in items]
        if any(type(index) is not int for index in found) or sorted(found) != [*range(expected)]:
            raise EmbeddingError(
                f"{self._where} was sent {expected} texts and returned vectors for "
                f"{self._server.shown(sorted(found, key=repr))}."
            )
        return self._matrix([row for _, row in sorted(items, key=lambda item: item[0])])

    def _matrix(self, rows: Sequence[Any]) -> Matrix:
        """float32 of (n, d); EmbeddingError for ragged rows and for what is no number."""
        try:
            if not all(type(value) in (int, float) for row in rows for value in row):
                raise TypeError("a value is no number")
            with np.errstate(over="ignore"):  # beyond float32 it becomes infinity, refused later
                return np.array(rows, dtype=np.float32)
        except (TypeError, ValueError, OverflowError) as error:
            raise self._unlike("sent vectors that are not lists of numbers", rows) from error

    def _warn_of_too_long(self, reply: Any, batch: Sequence[str]) -> None:
        """The warnings that the model would have given on this machine."""
        for told in reply.get("too_long", ()) if self._is_ours else ():
            try:
                kind = TextInPieces if told["in_pieces"] else TextTooLong
                warning = kind(batch[told["index"]], int(told["tokens"]), int(told["limit"]))
            except (TypeError, KeyError, IndexError, ValueError) as error:
                raise self._unlike("names texts too long in no known way", told) from error
            warnings.warn(warning, stacklevel=2)

    # --- what went wrong --------------------------------------------------------------------------

    def _failure(self, failed: ServerFailed) -> EmbeddingError:
        if failed.status == UNAUTHORISED:
            return EmbeddingError(
                f"{self._where} wants its token: LABKIT_EMBEDDING_API_KEY. It {failed}"
            )
        return EmbeddingError(f"{self._where} {failed}")

    def _unlike(self, what: str, reply: Any) -> EmbeddingError:
        return EmbeddingError(f"{self._where} {what}: {self._server.shown(reply)}.")
