"""Stage 01: documents under governance, from a folder of Markdown to checked values."""

from labkit.documents.fingerprint import corpus_hash
from labkit.documents.folder import FolderLoader, Plain, read_document
from labkit.documents.front_matter import Fields, check_metadata, split_front_matter
from labkit.documents.products import load_products, product_document

__all__ = [
    "Fields",
    "FolderLoader",
    "Plain",
    "check_metadata",
    "corpus_hash",
    "load_products",
    "product_document",
    "read_document",
    "split_front_matter",
]
