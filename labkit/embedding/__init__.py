"""Stage 03: from texts to vectors, on this machine or over HTTP, and a cache for both."""

from labkit.embedding.cache import CachedEmbedder, VectorCache, read_vectors, write_vectors
from labkit.embedding.http import HttpEmbedder
from labkit.embedding.local import SentenceTransformerEmbedder

__all__ = [
    "CachedEmbedder",
    "HttpEmbedder",
    "SentenceTransformerEmbedder",
    "VectorCache",
    "read_vectors",
    "write_vectors",
]
