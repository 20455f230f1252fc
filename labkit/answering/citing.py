"""Where a passage stands: one account of it for the command line, the pages and their API."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any
from urllib.parse import quote

from labkit.answering.results import Outcome, hit_dict
from labkit.types import Chunk, Hit


def place_dict(hit: Hit, base_url: str) -> dict[str, Any]:
    """Where a passage stands. `start` and `end` count the characters of the normalised document."""
    chunk = hit.chunk
    return {
        "title": chunk.meta.title,
        "path": chunk.meta.path,
        "section": chunk.section,
        "anchor": chunk.anchor,
        "start": chunk.start,
        "end": chunk.end,
        "page": chunk.page,
        "link": link_of(chunk, base_url),
    }


def link_of(chunk: Chunk, base_url: str) -> str:
    """The address of a passage; empty without a base_url, and for what lies in no file."""
    path, anchor = chunk.meta.path, quote(chunk.anchor)
    if not base_url or not path:
        return ""
    return f"{base_url.rstrip('/')}/{quote(path)}{anchor and '#'}{anchor}"


def passage_dict(hit: Hit, base_url: str) -> dict[str, Any]:
    """A passage as plain data: its scores apart, its place and its text."""
    return {**hit_dict(hit), **place_dict(hit, base_url), "text": hit.chunk.text}


def outcome_dict(outcome: Outcome, base_url: str) -> dict[str, Any]:
    """The outcome, each quotation with the place of its passage; offsets are the quotation's."""
    places = {hit.chunk.id: place_dict(hit, base_url) for hit in outcome.closest}
    evidence = outcome.evidence if outcome.status == "answered" else ()
    return {
        **outcome.to_dict(),
        "evidence": [{**places.get(item.chunk_id, {}), **asdict(item)} for item in evidence],
        "closest": [passage_dict(hit, base_url) for hit in outcome.closest],
    }
