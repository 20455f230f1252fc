"""Stage 02: chunkers, from the simplest window to structure-aware cuts."""

from labkit.chunking.characters import CharacterChunker, windows

__all__ = ["CharacterChunker", "windows"]
