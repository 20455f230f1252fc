"""Product facts: structured values, rendered as documents so that they pass the same gate."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from labkit.documents.decoding import read_text
from labkit.documents.fingerprint import content_hash
from labkit.documents.front_matter import load_yaml
from labkit.documents.governance import check_metadata, is_one_line
from labkit.documents.plain import RESERVED
from labkit.types import Document, DocumentError, Product

FILE_NAME = "products.yaml"
_CODE = re.compile(r"[^\s#\[\]]+")


def load_products(root: Path) -> list[Product]:
    """The products in `root/products.yaml`, by code; none if there is no such file."""
    path = root / FILE_NAME
    if not path.is_file():
        return []
    content = load_yaml(read_text(path, FILE_NAME), FILE_NAME)
    entries = content.get("products") if isinstance(content, dict) else None
    if not isinstance(entries, list):
        raise DocumentError(f"{FILE_NAME}: write a list under 'products:'.")
    products = [_product(entry, number) for number, entry in enumerate(entries, start=1)]
    codes = [product.code for product in products]
    for code in codes:
        if codes.count(code) > 1:
            raise DocumentError(f"{FILE_NAME}: 'code' {code} is given twice. Merge the entries.")
    return sorted(products, key=lambda product: product.code)


def product_document(code: str, facts: Mapping[str, str], fields: Mapping[str, Any]) -> Document:
    """Render product facts as a document `PRODUCT-<code>`, one quotable line a fact."""
    lines = [f"{code} – {label}: {value}." for label, value in facts.items()]
    text = "\n".join(lines) + "\n"
    meta = check_metadata({**fields, "id": f"{RESERVED}{code}", "product": code}, FILE_NAME)
    return Document(meta, text, content_hash(meta, text))


def _product(entry: Any, number: int) -> Product:
    """One entry of the file, checked."""
    where = f"{FILE_NAME}, entry {number}"
    if not isinstance(entry, dict):
        raise DocumentError(f"{where}: write 'code:', 'name:' and 'facts:' lines.")
    fields = dict(entry)
    code, name, facts = (
        fields.pop("code", None),
        fields.pop("name", None),
        fields.pop("facts", None),
    )
    for field, value in (("code", code), ("name", name)):
        if not isinstance(value, str) or not is_one_line(value):
            raise DocumentError(f"{where}: '{field}' must be text on one line; quote it.")
    if not _CODE.fullmatch(code):
        raise DocumentError(
            f"{where}: 'code' is {code!r}; it may not hold spaces, '#', '[' or ']'."
        )
    for field in ("id", "title", "product"):
        if field in fields:
            raise DocumentError(f"{where}: '{field}' follows from 'code' and 'name'. Remove it.")
    if not isinstance(facts, dict) or not facts:
        raise DocumentError(f"{where}: 'facts' must be a list of 'Label: value' lines.")
    for label, value in facts.items():
        if not all(isinstance(text, str) and is_one_line(text) for text in (label, value)):
            raise DocumentError(f"{where}: the fact {label!r} must be text on one line; quote it.")
    try:
        document = product_document(code, facts, {**fields, "title": name})
    except DocumentError as fault:
        raise DocumentError(str(fault).replace(FILE_NAME, where, 1)) from fault
    return Product(code, name, facts, document)
