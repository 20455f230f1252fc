"""Between values and rows: how a chunk lies in the table, and how damage is noticed."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Mapping
from datetime import date
from typing import Any

from labkit.store.manifest import Damaged
from labkit.text import terms
from labkit.types import Chunk, Metadata, Vector
from labkit.vectors import LITTLE_ENDIAN, decode_vector, encode_vector

__all__ = ["chunk_row", "damaged", "decode_vector", "encode_vector", "row_chunk", "row_terms"]

# What a row's hash covers besides the vector. A column that is added to the schema is added here:
# rows from before it hold no value there, and a column without one takes no part in the hash.
HASHED = (
    *("id", "document_id", "source", "title", "text", "scope", "status", "canonical"),
    *("valid_from", "valid_until", "product", "terms", "path", "version"),
)


def chunk_row(chunk: Chunk, vector: Vector) -> tuple[Any, ...]:
    """A row of the chunk table, columns in the order of the schema."""
    meta = chunk.meta
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
    }
    columns = {
        "id": chunk.id,
        "document_id": meta.id,
        "source": json.dumps(source, ensure_ascii=False),
        "title": meta.title,
        "text": chunk.text,
        "vector": encode_vector(vector),
        "scope": meta.scope,
        "status": meta.status,
        "canonical": int(meta.canonical),
        "valid_from": meta.valid_from.isoformat(),
        "valid_until": None if meta.valid_until is None else meta.valid_until.isoformat(),
        "product": meta.product,
        "terms": " ".join(terms(chunk.searchable)),
    }
    beside = {"path": meta.path, "version": meta.version}  # the document's row holds them
    return (*columns.values(), _row_hash(columns | beside))


def row_chunk(row: sqlite3.Row, dimension: int) -> tuple[Chunk, bytes]:
    """The chunk and the vector's bytes in a row; Damaged names a row that is not as written."""
    try:
        source = json.loads(row["source"])
        chunk = _chunk(row, source)
    except (ValueError, KeyError, TypeError) as error:
        raise damaged(row["id"], "its source or its days cannot be read") from error
    blob: bytes = row["vector"]
    if chunk.id != row["id"]:
        raise damaged(row["id"], "its id does not fit its document and part")
    if len(blob) != LITTLE_ENDIAN.itemsize * dimension:
        raise damaged(chunk.id, f"its vector has {len(blob)} bytes, not {4 * dimension}")
    if not _is_as_written(row, source):
        raise damaged(chunk.id, "what the row holds is not what was indexed")
    return chunk, blob


def row_terms(row: sqlite3.Row, chunk: Chunk) -> list[str]:
    """The terms of a chunk: those that are kept with its row, or else analysed now."""
    kept = _value(row, "terms")
    return terms(chunk.searchable) if kept is None else kept.split()


def damaged(name: str, what: str) -> Damaged:
    """The error for a row that is not as it was written."""
    return Damaged(f"The index is damaged: {name}: {what}.")


def _row_hash(values: Mapping[str, Any] | sqlite3.Row) -> str:
    """SHA-256 of what stands in a row, column by column.

    Of the columns and not of the values made from them: a dataclass that gains a field must not
    make old rows look damaged.
    """
    digest = hashlib.sha256(values["vector"])  # of a known length: what follows cannot imitate it
    held = [(name, values[name]) for name in HASHED if values[name] is not None]
    digest.update(json.dumps(held).encode())
    return digest.hexdigest()


def _is_as_written(row: sqlite3.Row, source: Mapping[str, Any]) -> bool:
    noted = _value(row, "row_sha256")
    if noted is not None:
        return bool(noted == _row_hash(row))
    # A row from before rows had a hash of their own notes those of its text and its vector.
    return (source.get("text_sha256"), source.get("vector_sha256")) == (
        hashlib.sha256(row["text"].encode()).hexdigest(),
        hashlib.sha256(row["vector"]).hexdigest(),
    )


def _value(row: sqlite3.Row, name: str) -> Any:
    """What a column holds; None too where the file is older than the column."""
    try:
        return row[name]
    except IndexError:
        return None


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
