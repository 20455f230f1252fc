"""Stage 02: chunkers, from the simplest window to structure-aware cuts."""

from labkit.chunking.characters import CharacterChunker, windows
from labkit.chunking.markdown import MarkdownChunker
from labkit.chunking.tokens import EstimatedTokens, ModelTokens, TokenCounter, read_tokenizer

__all__ = [
    "CharacterChunker",
    "EstimatedTokens",
    "MarkdownChunker",
    "ModelTokens",
    "TokenCounter",
    "read_tokenizer",
    "windows",
]
