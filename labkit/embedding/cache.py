"""Vectors that were paid for once: a cache on disk, and the vectors that the lab ships.

A key is (identity, role, text hash): another model, another prefix or another role is another
entry. Texts themselves are not kept.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import TypeAlias

import numpy as np

from labkit.embedding.checks import TextRefused, TextTooLong, check_batch, check_texts
from labkit.types import Embedder, EmbedderIdentity, EmbeddingError, Health, Matrix, Role
from labkit.vectors import LITTLE_ENDIAN, encode_vector

Key: TypeAlias = tuple[str, str]
"""(role, SHA-256 of the text), within one identity."""


def text_key(text: str, role: Role) -> Key:
    """The key of a text in one role."""
    return role, hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


@lru_cache  # asked for with every vector
def identity_key(identity: EmbedderIdentity) -> str:
    """The identity as text: equal only if all of it is equal."""
    return json.dumps(asdict(identity), sort_keys=True)


class VectorCache:
    """A SQLite file of vectors. A broken or unwritable file costs time, never an answer."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def get(self, identity: EmbedderIdentity, keys: Iterable[Key]) -> dict[Key, bytes]:
        found: dict[Key, bytes] = {}
        try:
            if not self._path.is_file():
                return found
            with closing(self._connect()) as connection:
                for key in keys:
                    row = connection.execute(
                        "SELECT vector FROM vector WHERE identity = ? AND role = ? AND sha256 = ?",
                        (identity_key(identity), *key),
                    ).fetchone()
                    if row is not None and _usable(row[0], identity.dimension):
                        found[key] = row[0]
        except (sqlite3.Error, OSError):
            return {}
        return found

    def put(self, identity: EmbedderIdentity, vectors: Mapping[Key, bytes]) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with closing(self._connect()) as connection, connection:
                connection.executemany(
                    "INSERT OR REPLACE INTO vector VALUES (?, ?, ?, ?)",
                    [(identity_key(identity), *key, blob) for key, blob in vectors.items()],
                )
        except (sqlite3.Error, OSError):
            return

    def _connect(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self._path, timeout=5)
        connection.execute(
            "CREATE TABLE IF NOT EXISTS vector (identity TEXT, role TEXT, sha256 TEXT, "
            "vector BLOB NOT NULL, PRIMARY KEY (identity, role, sha256)) WITHOUT ROWID"
        )
        return connection


def _usable(blob: object, dimension: int) -> bool:
    """Is this a vector of that dimension that a cosine can be taken of?"""
    if not isinstance(blob, bytes) or len(blob) != LITTLE_ENDIAN.itemsize * dimension:
        return False
    vector = np.frombuffer(blob, LITTLE_ENDIAN)
    return bool(np.isfinite(vector).all() and vector.any())


class CachedEmbedder:
    """An embedder that asks the model only for what neither `shipped` nor `cache` holds.

    `computed` counts the texts that the model was asked for since this object was made.
    """

    def __init__(
        self,
        embedder: Embedder,
        cache: VectorCache | None = None,
        shipped: Mapping[Key, bytes] | None = None,
    ) -> None:
        self._embedder, self._cache, self._shipped = embedder, cache, shipped or {}
        self.computed = 0

    @property
    def identity(self) -> EmbedderIdentity:
        return self._embedder.identity

    def health(self) -> Health:
        return self._embedder.health()

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        """As `Embedder.embed`; the model sees each missing text once."""
        check_texts(texts)
        keys = [text_key(text, role) for text in texts]
        known = self._known(keys)
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in known}
        try:
            known |= self._new(missing, role)
        except TextRefused as refused:  # all others are kept before it goes on
            asked = list(missing)
            problems = {asked[number]: said for number, said in refused.problems.items()}
            fine = {key: text for key, text in missing.items() if key not in problems}
            self._new(fine, role)
            numbered = enumerate(keys)
            raise TextRefused(
                {n: problems[key] for n, key in numbered if key in problems}
            ) from refused
        dimension = self.identity.dimension
        joined = b"".join(known[key] for key in keys)
        vectors = np.frombuffer(joined, LITTLE_ENDIAN).reshape(len(keys), dimension)
        return check_batch(vectors.astype(np.float32), texts, dimension)

    def _new(self, missing: Mapping[Key, str], role: Role) -> dict[Key, bytes]:
        """New vectors. One that stands for half a text is not kept: each run shall warn of it."""
        if not missing:
            return {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            vectors = self._embedder.embed(list(missing.values()), role)
        self.computed += len(missing)
        new = {key: encode_vector(row) for key, row in zip(missing, vectors, strict=True)}
        for warning in caught:
            warnings.warn(warning.message, stacklevel=4)
        too_long = {w.message.text for w in caught if isinstance(w.message, TextTooLong)}
        if self._cache is not None:
            keep = {key: blob for key, blob in new.items() if missing[key] not in too_long}
            self._cache.put(self.identity, keep)
        return new

    def _known(self, keys: Sequence[Key]) -> dict[Key, bytes]:
        known = {key: self._shipped[key] for key in keys if key in self._shipped}
        left = [key for key in keys if key not in known]
        if left and self._cache is not None:
            known |= self._cache.get(self.identity, left)
        return known


def write_vectors(path: Path, identity: EmbedderIdentity, vectors: Mapping[Key, bytes]) -> None:
    """Write vectors to ship: one JSON line with the identity, then a line a vector."""
    lines = [json.dumps({"identity": asdict(identity)}, sort_keys=True)]
    lines += [
        json.dumps({"role": role, "sha256": sha256, "vector": base64.b64encode(blob).decode()})
        for (role, sha256), blob in sorted(vectors.items())
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def read_vectors(path: Path, identity: EmbedderIdentity) -> dict[Key, bytes]:
    """The vectors of a shipped file, if it was made for this identity; else none.

    EmbeddingError names a line that is not as `write_vectors` wrote it.
    """
    if not path.is_file():
        return {}
    found: dict[Key, bytes] = {}
    try:
        with path.open(encoding="utf-8") as lines:
            if json.loads(next(lines, ""))["identity"] != asdict(identity):
                return {}
            for row in map(json.loads, lines):
                blob = base64.b64decode(row["vector"], validate=True)
                if not _usable(blob, identity.dimension):
                    raise ValueError("the vector cannot be used")
                found[row["role"], row["sha256"]] = blob
    except (ValueError, KeyError, TypeError) as error:
        raise EmbeddingError(
            f"{path} is damaged after line {len(found)}. Restore it: git checkout -- {path.name}"
        ) from error
    return found
