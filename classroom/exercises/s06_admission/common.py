"""What the exercises of stage 06 share."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any, TypeAlias

from labkit.types import Metadata

Fields: TypeAlias = dict[str, Any]  # scope, status, canonical, valid_from, valid_until


def metadata_of(fields: Mapping[str, Any]) -> Metadata:
    """The Metadata value with these fields, days given as ISO text; what is missing is harmless."""
    until = fields.get("valid_until")
    return Metadata(
        id=fields.get("id", "document"),
        title=fields.get("title", ""),
        language="en",
        scope=fields.get("scope", "ACME/readers"),
        status=fields.get("status", "approved"),
        canonical=fields.get("canonical", True),
        valid_from=date.fromisoformat(fields.get("valid_from", "2026-01-01")),
        valid_until=None if until is None else date.fromisoformat(until),
        version="1",
    )


def document(**changes: Any) -> Fields:
    """A document of ACME's readers that is admitted, with some fields changed."""
    fields: Fields = {
        "scope": "ACME/readers",
        "status": "approved",
        "canonical": True,
        "valid_from": "2026-01-01",
        "valid_until": "2026-12-31",
    }
    return {**fields, **changes}
