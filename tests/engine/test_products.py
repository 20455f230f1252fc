"""labkit.documents.products: structured facts become documents of their own."""

from __future__ import annotations

from pathlib import Path

import pytest

from labkit.documents import load_products
from labkit.types import DocumentError

ENTRY = """\
  - code: GX-100
    name: Gateway GX-100
    language: en
    scope: ACME/readers
    status: approved
    canonical: true
    valid_from: 2026-01-01
    version: "1"
    facts:
      Warranty: 24 months
      Ports: "4"
"""


def products(tmp_path: Path, text: str):
    (tmp_path / "products.yaml").write_text(text, encoding="utf-8")
    return load_products(tmp_path)


def fault(tmp_path: Path, text: str) -> str:
    with pytest.raises(DocumentError) as caught:
        products(tmp_path, text)
    return str(caught.value)


def test_facts_become_a_governed_document_with_a_line_each(tmp_path):
    (product,) = products(tmp_path, "products:\n" + ENTRY)
    assert (product.code, product.name) == ("GX-100", "Gateway GX-100")
    assert product.facts == {"Warranty": "24 months", "Ports": "4"}
    item = product.document
    assert item.text == "GX-100 – Warranty: 24 months.\nGX-100 – Ports: 4.\n"
    assert (item.id, item.meta.title, item.meta.product) == (
        "PRODUCT-GX-100",
        "Gateway GX-100",
        "GX-100",
    )
    assert (item.meta.scope, item.meta.path, item.body_start) == (
        "ACME/readers",
        "products.yaml",
        0,
    )


def test_a_changed_fact_is_a_changed_document(tmp_path):
    (before,) = products(tmp_path, "products:\n" + ENTRY)
    (after,) = products(tmp_path, "products:\n" + ENTRY.replace("24", "36"))
    assert before.document.content_hash != after.document.content_hash


def test_products_come_by_code_and_no_file_or_an_empty_list_is_none(tmp_path):
    assert load_products(tmp_path) == []
    assert products(tmp_path, "products: []") == []
    both = products(tmp_path, "products:\n" + ENTRY + ENTRY.replace("GX-100", "AX-1"))
    assert [product.code for product in both] == ["AX-1", "GX-100"]


@pytest.mark.parametrize(
    "text", ["", "[]", "products:", "products: {a: b}", "GX-100", "product: []"]
)
def test_a_file_without_a_list_of_products_is_an_error(tmp_path, text):
    assert fault(tmp_path, text) == "products.yaml: write a list under 'products:'."


ENTRY_1 = "products.yaml, entry 1: "
ONE_LINE = "'{}' must be text on one line; quote it."
BAD_CODE = "'code' is 'GX 100'; it may not hold spaces, '#', '[' or ']'."
FOLLOWS = "'{}' follows from 'code' and 'name'. Remove it."
NO_SCOPE = "the front matter lacks 'scope'. Add a line 'scope: …'."
NO_FACTS = "'facts' must be a list of 'Label: value' lines."
FACT = ENTRY_1 + "the fact {!r} must be text on one line; quote it."


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("code: GX-100", "kode: GX-100", ENTRY_1 + ONE_LINE.format("code")),
        ("code: GX-100", "code: 100", ENTRY_1 + ONE_LINE.format("code")),
        ("code: GX-100", "code: GX 100", ENTRY_1 + BAD_CODE),
        ("name: Gateway GX-100", "name: ''", ENTRY_1 + ONE_LINE.format("name")),
        ("language: en", "id: X", ENTRY_1 + FOLLOWS.format("id")),
        ("language: en", "title: X", ENTRY_1 + FOLLOWS.format("title")),
        ("    scope: ACME/readers\n", "", ENTRY_1 + NO_SCOPE),
        ("approved", "done", ENTRY_1 + "'status' is 'done'; use one of draft, approved, retired."),
        ('Ports: "4"', "Ports: 4", FACT.format("Ports")),
        ("24 months", "", FACT.format("Warranty")),
        ("24 months", '"a\\nb"', FACT.format("Warranty")),
        ("24 months", '"a\\0b"', FACT.format("Warranty")),
        ("24 months", '"\\uD800"', FACT.format("Warranty")),
        ("Warranty:", "24:", FACT.format(24)),
        ('      Warranty: 24 months\n      Ports: "4"\n', "", ENTRY_1 + NO_FACTS),
        ("Ports:", "Warranty:", "products.yaml: this is not valid YAML: 'Warranty' is given twice"),
        ("GX-100", "\x01", "products.yaml: line 2 holds control character U+0001. Remove it."),
    ],
)
def test_a_fault_names_the_entry_and_the_field(tmp_path, old, new, message):
    assert old in ENTRY
    assert fault(tmp_path, "products:\n" + ENTRY.replace(old, new)) == message


def test_an_entry_that_is_no_entry_is_named_by_its_number(tmp_path):
    assert fault(tmp_path, "products:\n" + ENTRY + "  - GX-200\n") == (
        "products.yaml, entry 2: write 'code:', 'name:' and 'facts:' lines."
    )


def test_a_code_given_twice_is_named(tmp_path):
    assert fault(tmp_path, "products:\n" + ENTRY + ENTRY) == (
        "products.yaml: 'code' GX-100 is given twice. Merge the entries."
    )
