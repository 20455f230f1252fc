"""Stage 01: a folder read under rules: documents, faults, and what was left out."""

from labkit.documents.fingerprint import corpus_hash
from labkit.documents.front_matter import split_front_matter
from labkit.documents.governance import Fields, check_metadata
from labkit.documents.plain import Plain
from labkit.documents.products import load_products, product_document
from labkit.documents.reading import Counts, Folder, read_folder
from labkit.documents.rules import Rules
from labkit.documents.secrets import Secret, find_secrets

__all__ = [
    "Counts",
    "Fields",
    "Folder",
    "Plain",
    "Rules",
    "Secret",
    "check_metadata",
    "corpus_hash",
    "find_secrets",
    "load_products",
    "product_document",
    "read_folder",
    "split_front_matter",
]
