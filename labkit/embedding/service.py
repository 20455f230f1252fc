"""Embeddings from `labkit embed-serve`, or from any server of its protocol.

`GET /health` says which model is served, `POST /embed` embeds texts in a role.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.embedding.checks import TextRefused, check_batch, check_texts
from labkit.embedding.http import as_matrix, failures_named
from labkit.transport import NO_KEY, openai_client
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Matrix, Role

if TYPE_CHECKING:
    import openai

TOO_MUCH, UNPROCESSABLE, UNAUTHORISED = 413, 422, 401
SHOWN = 300  # characters of a server's own words that are repeated


class ServiceEmbedder:
    """An embedding service: `labkit.types.Embedder`.

    The service puts prefixes before the texts, knows its model's weights and says so: an index made
    on this machine with the same weights fits. `model` and `dimension`, where given, must be what
    it serves. `timeout` is in seconds and bounds one whole reply. 5xx and time-outs are tried again
    within a bound; 422 is a TextRefused with the text's number, any other failure EmbeddingError.
    """

    def __init__(
        self,
        base_url: str,
        model: str = "",
        dimension: int = 0,
        *,
        timeout: float = 30.0,
        batch_size: int = 16,
        api_key: str = NO_KEY,
    ) -> None:
        self._url, self._model, self._dimension = base_url.rstrip("/"), model, dimension
        self._timeout, self._batch_size, self._key = timeout, batch_size, api_key
        self._where = f"The embedding service at {self._url}"

    @cached_property
    def identity(self) -> EmbedderIdentity:
        """Asked of the service, once."""
        told = self._ask("/health")
        try:
            name, dimension = str(told["model"]), int(told["dim"])
            whole = told.get("identity")
            found = (
                EmbedderIdentity(**whole)
                if whole
                else EmbedderIdentity("embedding-service", self._url, name, "", dimension)
            )
            if (found.model, found.dimension) != (name, dimension) or dimension < 1:
                raise ValueError(f"model {name!r} with {dimension} dimensions")
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise EmbeddingError(
                f"{self._where} does not say which model it runs. Is it `labkit embed-serve`? "
                "The address of an OpenAI-compatible server ends in /v1."
            ) from error
        self._check_model(found)
        return found

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        check_texts(texts)
        dimension = self.identity.dimension
        batches = [np.empty((0, dimension), dtype=np.float32)]
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            vectors = self._batch(batch, role, start)
            batches.append(check_batch(vectors, batch, dimension, start))
        return np.concatenate(batches)

    def health(self) -> Health:
        try:
            told = self._ask("/health")
        except EmbeddingError as error:
            return Health(False, str(error))
        return Health(True, detail=told)

    def _check_model(self, found: EmbedderIdentity) -> None:
        if self._model and Path(self._model).name != Path(found.model).name:
            raise EmbeddingError(
                f"{self._where} runs the model {found.model}, and the settings ask for "
                f"{self._model}. Set embedding.profile or embedding.model to what it runs."
            )
        if self._dimension and self._dimension != found.dimension:
            raise EmbeddingError(
                f"{self._where} makes vectors of {found.dimension} dimensions, and "
                f"embedding.dimension is {self._dimension}."
            )

    def _batch(self, batch: Sequence[str], role: Role, first: int) -> Matrix:
        """The vectors of one batch; the service must still run the model that it named before."""
        told = self._ask("/embed", {"type": role, "texts": list(batch)}, first)
        now = {"model": self.identity.model, "dim": self.identity.dimension}
        if any(told.get(name) != value for name, value in now.items()):
            raise EmbeddingError(f"{self._where} has changed its model. Run: labkit rebuild")
        vectors = told.get("vectors")
        if not isinstance(vectors, list) or len(vectors) != len(batch):
            raise EmbeddingError(f"{self._where} did not send {len(batch)} vectors.")
        return as_matrix(vectors, self._where)

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai_client(self._url, self._timeout, self._key)

    def _ask(self, path: str, body: Any = None, first: int = 0) -> Mapping[str, Any]:
        """One request and its tries; the JSON object of the reply."""
        import httpx2
        import openai

        with failures_named(self._where, self._timeout):
            try:
                if body is None:
                    reply = self._client.get(path, cast_to=httpx2.Response)
                else:
                    reply = self._client.post(path, cast_to=httpx2.Response, body=body)
            except openai.APIStatusError as error:
                raise self._refused(error, first) from error
            told = reply.json()
            if not isinstance(told, dict):
                raise ValueError(f"a reply of type {type(told).__name__}")
            return told

    def _refused(self, error: openai.APIStatusError, first: int) -> EmbeddingError:
        """What the service says of a request: of a text, if it names one."""
        try:
            told = error.response.json()
            detail = " ".join(str(told["detail"]).split())[:SHOWN]
            number = told.get("text")
        except (ValueError, KeyError, TypeError, AttributeError):
            detail, number = "", None
        said = f"{self._where} answered {error.status_code}{': ' if detail else '.'}{detail}"
        if error.status_code == UNAUTHORISED:
            return EmbeddingError(f"{self._where} wants its token: LABKIT_EMBEDDING_API_KEY.")
        if error.status_code not in (TOO_MUCH, UNPROCESSABLE):
            return EmbeddingError(said)
        if type(number) is int:
            return TextRefused(first + number, f"was refused. {said}")
        return TextRefused(None, said)
