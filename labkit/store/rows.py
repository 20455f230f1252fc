"""Between values and rows: how a chunk lies in the table, and how damage is noticed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from datetime import date
from typing import Any

from labkit.text import terms
from labkit.types import Chunk, Metadata, StoreError, Vector
from labkit.vectors import LITTLE_ENDIAN, decode_vector, encode_vector

__all__ = ["chunk_row", "damaged", "decode_vector", "encode_vector", "row_chunk", "row_terms"]


def chunk_row(chunk: Chunk, vector: Vector) -> tuple[Any, ...]:
    """A row of the chunk table, columns in the order of the schema."""
    meta, blob = chunk.meta, encode_vector(vector)
    source = {
        "part": chunk.part,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "context": chunk.context,
        "section": chunk.section,
        "anchor": chunk.anchor,
        "token_count": chunk.token_count,
        "flags": chunk.flags,
        "hidden": chunk.hidden,
        "language": meta.language,
        "text_sha256": hashlib.sha256(chunk.text.encode()).hexdigest(),
        "vector_sha256": hashlib.sha256(blob).hexdigest(),
        "rest_sha256": _rest_hash(chunk),
    }
    return (
        chunk.id,
        meta.id,
        json.dumps(source, ensure_ascii=False),
        meta.title,
        chunk.text,
        blob,
        meta.scope,
        meta.status,
        int(meta.canonical),
        meta.valid_from.isoformat(),
        None if meta.valid_until is None else meta.valid_until.isoformat(),
        meta.product,
    )


def row_chunk(row: sqlite3.Row, dimension: int) -> tuple[Chunk, bytes]:
    """The chunk and the vector's bytes in a row; StoreError names a row that is not as written."""
    try:
        source = json.loads(row["source"])
        chunk = _chunk(row, source)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(row["id"], "its source or its days cannot be read") from error
    blob: bytes = row["vector"]
    if chunk.id != row["id"]:
        raise damaged(row["id"], "its id does not fit its document and part")
    if hashlib.sha256(chunk.text.encode()).hexdigest() != source.get("text_sha256"):
        raise damaged(chunk.id, "its text is not the text that was indexed")
    if len(blob) != LITTLE_ENDIAN.itemsize * dimension:
        raise damaged(chunk.id, f"its vector has {len(blob)} bytes, not {4 * dimension}")
    if hashlib.sha256(blob).hexdigest() != source.get("vector_sha256"):
        raise damaged(chunk.id, "its vector is not the vector that was indexed")
    if _rest_hash(chunk) != source.get("rest_sha256"):
        raise damaged(chunk.id, "its title, scope, days or offsets are not those that were indexed")
    return chunk, blob


def row_terms(row: sqlite3.Row, chunk: Chunk) -> list[str]:
    """The terms of a chunk: those that are kept with its row, or else analysed now.

    A file from before terms were kept has no such column, and old rows in a newer one no value.
    """
    kept = row["terms"] if "terms" in row.keys() else None  # noqa: SIM118 - a row holds values
    return terms(chunk.searchable) if kept is None else kept.split()


def _rest_hash(chunk: Chunk) -> str:
    """SHA-256 of a row besides text and vector: who may read it, when, where it stands.

    What a chunker did not say is left out, so that rows from before it could be said still fit.
    """
    rest: tuple[Any, ...]
    rest = (chunk.meta, chunk.part, chunk.start, chunk.end, chunk.context, chunk.page)
    more = (chunk.section, chunk.anchor, chunk.token_count, chunk.flags)
    rest += more if more != ("", "", None, ()) else ()
    rest += (chunk.hidden,) if chunk.hidden else ()
    return hashlib.sha256(repr(rest).encode()).hexdigest()


def damaged(name: str, what: str) -> StoreError:
    """The error for a row that is not as it was written."""
    return StoreError(f"The index is damaged: {name}: {what}. Run: labkit rebuild")


def _chunk(row: sqlite3.Row, source: Mapping[str, Any]) -> Chunk:
    until = row["valid_until"]
    meta = Metadata(
        id=row["document_id"],
        title=row["title"],
        language=source["language"],
        scope=row["scope"],
        status=row["status"],
        canonical=bool(row["canonical"]),
        valid_from=date.fromisoformat(row["valid_from"]),
        valid_until=None if until is None else date.fromisoformat(until),
        version=row["version"],
        product=row["product"],
        path=row["path"],
    )
    return Chunk(
        meta=meta,
        part=source["part"],
        start=source["start"],
        end=source["end"],
        text=row["text"],
        context=source["context"],
        page=source["page"],
        section=source.get("section", ""),
        anchor=source.get("anchor", ""),
        token_count=source.get("token_count"),
        flags=tuple(source.get("flags", ())),
        hidden=tuple((start, end) for start, end in source.get("hidden", ())),
    )
