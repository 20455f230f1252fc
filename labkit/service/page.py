"""An OpenAPI description as a page: no script, nothing from the network."""

from __future__ import annotations

import json
from collections.abc import Mapping
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fastapi.responses import HTMLResponse

_STYLE = "body{font:1rem/1.5 sans-serif;max-width:50rem;margin:2rem auto;padding:0 1rem}"
_SAFE = {
    "content-security-policy": "default-src 'none'; style-src 'unsafe-inline'",
    "x-content-type-options": "nosniff",
}


def openapi_page(spec: Mapping[str, Any]) -> HTMLResponse:
    """The operations of a description, their replies and their schemas, as HTML."""
    from fastapi.responses import HTMLResponse

    info = spec["info"]
    title = escape(f"{info['title']} {info['version']}")
    page = (
        f"<!doctype html><html lang='en'><head><meta charset='utf-8'><title>{title}</title>"
        f"<meta name='viewport' content='width=device-width'><style>{_STYLE}</style></head>"
        f"<body><main><h1>{title}</h1><pre tabindex='0'>{escape(info.get('description', ''))}</pre>"
        "<p>For programs: <a href='openapi.json'>openapi.json</a></p>"
        f"{openapi_body(spec)}</main></body></html>"
    )
    return HTMLResponse(page, headers=_SAFE)


def openapi_body(spec: Mapping[str, Any]) -> str:
    """The operations and schemas of a description as HTML for the middle of a page, escaped."""
    operations = [
        _operation(method, path, operation)
        for path, methods in spec["paths"].items()
        for method, operation in methods.items()
    ]
    schemas = [
        f"<h3 id='{escape(name)}'>{escape(name)}</h3>"
        f"<pre tabindex='0' role='region' aria-label='{escape(name)}'>{_json(schema)}</pre>"
        for name, schema in spec.get("components", {}).get("schemas", {}).items()
    ]
    return f"<h2>Operations</h2>{''.join(operations)}<h2>Schemas</h2>{''.join(schemas)}"


def _operation(method: str, path: str, operation: Mapping[str, Any]) -> str:
    sent = _schema(operation.get("requestBody", {}))
    replies = [
        f"<li><b>{escape(status)}</b> {escape(reply['description'])} {_schema(reply)}</li>"
        for status, reply in operation["responses"].items()
    ]
    takes = f"<p>Takes {sent}</p>" if sent else ""
    return f"<h3>{escape(method.upper())} {escape(path)}</h3>{takes}<ul>{''.join(replies)}</ul>"


def _schema(described: Mapping[str, Any]) -> str:
    """A link to the schema that a body or a reply names."""
    schema = described.get("content", {}).get("application/json", {}).get("schema", {})
    name = escape(schema.get("$ref", "").rpartition("/")[2])
    return f"<a href='#{name}'>{name}</a>" if name else ""


def _json(value: Any) -> str:
    return escape(json.dumps(value, indent=2, ensure_ascii=False))
