"""Embeddings over HTTP, from any server that speaks OpenAI's `/embeddings` (Ollama does)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from labkit.embedding.checks import check_batch, check_texts
from labkit.transport import NO_KEY, ReplyTooLarge, openai_client
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Matrix, Role

if TYPE_CHECKING:
    import openai


class HttpEmbedder:
    """An embedding server: `labkit.types.Embedder`.

    `base_url` ends in `/v1`; `timeout` is in seconds and bounds one whole reply. A refusal of the
    server (4xx) is reported at once; 5xx and time-outs are tried again within a bound first.
    `{role}` in `model` becomes query or passage, for servers that know a role by a model's name.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        dimension: int,
        *,
        query_prefix: str = "",
        passage_prefix: str = "",
        timeout: float = 30.0,
        batch_size: int = 16,
        api_key: str = NO_KEY,
    ) -> None:
        self.identity = EmbedderIdentity(
            provider="openai-compatible",
            endpoint=base_url,
            model=model,
            revision="",
            dimension=dimension,
            query_prefix=query_prefix,
            passage_prefix=passage_prefix,
            normalised=False,
        )
        self._timeout, self._batch_size, self._key = timeout, batch_size, api_key

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        check_texts(texts)
        identity = self.identity
        prefix = identity.query_prefix if role == "query" else identity.passage_prefix
        batches = [np.empty((0, identity.dimension), dtype=np.float32)]
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            vectors = self._request([prefix + text for text in batch], role)
            batches.append(check_batch(vectors, batch, identity.dimension, start))
        return np.concatenate(batches)

    def health(self) -> Health:
        try:
            self.embed(["health"], "query")
        except EmbeddingError as error:
            return Health(False, str(error))
        return Health(True, detail={"model": self.identity.model})

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai_client(self.identity.endpoint, self._timeout, self._key)

    def _request(self, batch: Sequence[str], role: Role) -> Matrix:
        """The vectors of one batch, in the order of its texts."""
        where, model = f"The embedding server at {self.identity.endpoint}", self.identity.model
        with failures_named(where, self._timeout, f" for model '{model}'"):
            reply = self._client.embeddings.create(
                input=list(batch), model=model.replace("{role}", role), encoding_format="float"
            )
        return _in_order(getattr(reply, "data", None), len(batch), where)


@contextmanager
def failures_named(where: str, timeout: float, asked: str = "") -> Iterator[None]:
    """Failures of the `openai` client as EmbeddingError: who failed, how, and at what."""
    import openai

    try:
        yield
    except openai.APITimeoutError as error:
        raise EmbeddingError(f"{where} sent no whole reply in {timeout:g} s.") from error
    except openai.APIConnectionError as error:
        raise EmbeddingError(f"{where} cannot be reached. Is it running?") from error
    except openai.APIStatusError as error:
        raise EmbeddingError(f"{where} answered {error.status_code}{asked}.") from error
    except ReplyTooLarge as error:
        raise EmbeddingError(f"{where} was cut off: {error}.") from error
    except (openai.OpenAIError, ValueError, OverflowError, RecursionError) as error:
        raise EmbeddingError(f"{where} sent a reply that is no embedding reply.") from error


def _in_order(data: Any, expected: int, where: str) -> Matrix:
    """The vectors sorted by their `index`; doubled, missing and ragged ones are refused."""
    try:
        by_index = {item.index: item.embedding for item in data}
        found = sorted(item.index for item in data)
        if found != list(range(expected)) or not all(type(index) is int for index in found):
            raise EmbeddingError(
                f"{where} was sent {expected} texts and returned vectors for {found}."
            )
    except (TypeError, AttributeError) as error:
        raise _no_numbers(where) from error
    return as_matrix([by_index[i] for i in range(expected)], where)


def as_matrix(rows: Sequence[Any], where: str) -> Matrix:
    """A server's vectors as float32; EmbeddingError for ragged ones and for what is no number."""
    try:
        if not all(type(value) in (int, float) for row in rows for value in row):
            raise TypeError("a value is no number")
        with np.errstate(over="ignore"):  # a value beyond float32 becomes infinity, refused later
            return np.array(rows, dtype=np.float32)
    except (TypeError, ValueError, OverflowError) as error:
        raise _no_numbers(where) from error


def _no_numbers(where: str) -> EmbeddingError:
    return EmbeddingError(f"{where} sent vectors that are not lists of numbers.")
