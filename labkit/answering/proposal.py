"""What a model must send: one JSON object, and nothing around it."""

from __future__ import annotations

import json
from typing import Any

from labkit.types import Citation, Proposal, Reason, Refused

PROPOSAL_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "can_answer": {"type": "boolean"},
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"chunk_id": {"type": "string"}, "quote": {"type": "string"}},
                "required": ["chunk_id", "quote"],
                "additionalProperties": False,
            },
        },
    },
    "required": ["can_answer", "evidence"],
    "additionalProperties": False,
}


def parse_proposal(reply: str) -> Proposal:
    """Read a model's reply; Refused(invalid_proposal) unless it is exactly a proposal.

    Fences, prose around the object, unknown or doubled keys, wrong types and two citations of one
    chunk are refused: whoever repairs a reply decides what the model meant.
    """
    try:
        value = json.loads(reply, object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise _invalid(f"it is not one JSON object ({error})") from error
    _expect_keys(value, {"can_answer", "evidence"}, "the object")
    if not isinstance(value["can_answer"], bool):
        raise _invalid("'can_answer' is neither true nor false")
    if not isinstance(value["evidence"], list):
        raise _invalid("'evidence' is not a list")
    evidence = tuple(_citation(item) for item in value["evidence"])
    if len({citation.chunk_id for citation in evidence}) < len(evidence):
        raise _invalid("it cites one chunk twice")
    return Proposal(value["can_answer"], evidence)


def _citation(item: Any) -> Citation:
    _expect_keys(item, {"chunk_id", "quote"}, "a piece of evidence")
    if not isinstance(item["chunk_id"], str) or not isinstance(item["quote"], str):
        raise _invalid("'chunk_id' and 'quote' must be text")
    return Citation(item["chunk_id"], item["quote"])


def _expect_keys(value: Any, keys: set[str], what: str) -> None:
    if not isinstance(value, dict) or set(value) != keys:
        raise _invalid(f"{what} must have exactly the keys {', '.join(sorted(keys))}")


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len({key for key, _ in pairs}) < len(pairs):
        raise ValueError("a key is given twice")
    return dict(pairs)


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is no JSON")


def _invalid(why: str) -> Refused:
    return Refused(Reason.INVALID_PROPOSAL, f"The model's reply was no proposal: {why}.")
