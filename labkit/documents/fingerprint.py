"""Fingerprints: equal if and only if nothing that could change an answer has changed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from dataclasses import fields

from labkit.types import Metadata


def content_hash(meta: Metadata, text: str) -> str:
    """SHA-256 over a document's metadata and its normalised text.

    The path is left out: moving a file changes no answer.
    """
    governed = {each.name: getattr(meta, each.name) for each in fields(meta) if each.name != "path"}
    header = json.dumps(governed, default=str, ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(f"{header}\n{text}".encode()).hexdigest()


def corpus_hash(documents: Iterable[tuple[str, str]]) -> str:
    """SHA-256 over (id, content hash) pairs, whatever their order.

    Each pair is written as JSON, so that no id can imitate the border between two pairs.

    >>> corpus_hash([("a", "1"), ("b", "2")]) == corpus_hash([("b", "2"), ("a", "1")])
    True
    """
    digest = hashlib.sha256()
    for pair in sorted(documents):
        digest.update(json.dumps(pair).encode() + b"\n")
    return digest.hexdigest()
