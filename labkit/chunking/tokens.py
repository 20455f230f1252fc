"""How many tokens a slice of a text has: by a model's own tokenizer, or by an estimate.

A text is counted once, word by word; after that any slice of it costs two look-ups. Tokenizers of
WordPiece and SentencePiece kind never join words over white space, so the sum is the count.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path
from typing import Protocol, TypeAlias

from labkit.types import LabError

Measure: TypeAlias = Callable[[int, int], int]
"""Tokens of text[start:end], of one text; special tokens and prefix are not counted."""

A_TOKEN = 3  # characters: English has about 4 a token, French 3. Rather too many than too few
LONGEST_TOKEN = 100  # characters: WordPiece makes a single token of any longer word, unread
_WORD = re.compile(r"\S+")


class TokenCounter(Protocol):
    """Counts tokens. `window` is how many a model reads of one text, special tokens and prefix
    taken off; None where it is not known."""

    @property
    def window(self) -> int | None: ...

    def measure(self, text: str) -> Measure: ...


@dataclass(frozen=True, slots=True)
class EstimatedTokens:
    """For a model whose tokenizer is not at hand: a token is three characters, in Latin script.

    In a text mostly of another script it is three bytes of UTF-8: one Chinese character.

    >>> EstimatedTokens().measure("Tokens are parts of words.")(0, 26)
    9
    """

    window: int | None = None

    def measure(self, text: str) -> Measure:
        if text.isascii() or len(text.encode("utf-8", "replace")) < 1.5 * len(text):
            return lambda start, end: -((start - end) // A_TOKEN)
        return lambda start, end: -(-len(text[start:end].encode("utf-8", "replace")) // A_TOKEN)


class ModelTokens:
    """Counted by `count`, which may add special tokens and a prefix: they are found and taken off.

    `window` is what the model reads of one text, special tokens and prefix among it. The counts of
    words are kept, because words come again.

    >>> ModelTokens(lambda text: 2 + len(text.split()), window=256).window
    254
    """

    def __init__(self, count: Callable[[str], int], window: int | None = None) -> None:
        self._count = count
        self._added = 2 * count("a") - count("a a")
        self.window = None if window is None else window - self._added
        self._words = _Words(self._in_word)

    def count(self, text: str) -> int:
        """Tokens of the text alone; a blank one has none."""
        return self._count(text) - self._added if text and not text.isspace() else 0

    def _in_word(self, part: str) -> int:
        """Tokens of a word or a part of one, and not fewer than it could be told by."""
        return max(self.count(part), -(-len(part) // LONGEST_TOKEN))

    def measure(self, text: str) -> Measure:
        spans = [match.span() for match in _WORD.finditer(text)]
        starts = [start for start, _ in spans]
        ends = [end for _, end in spans]
        before = list(accumulate(map(self._words.__getitem__, text.split()), initial=0))

        def tokens(start: int, end: int) -> int:
            first, last = bisect_left(starts, start), bisect_right(ends, end)
            if first > last:  # the slice lies within one word
                return self._in_word(text[start:end].strip())
            found = before[last] - before[first]
            if first and ends[first - 1] > start:  # the rest of a word before
                found += self._in_word(text[start : ends[first - 1]])
            if last < len(starts) and starts[last] < end:  # the beginning of a word after
                found += self._in_word(text[starts[last] : end])
            return found

        return tokens


class _Words(dict[str, int]):
    """The tokens of words, each counted once."""

    def __init__(self, count: Callable[[str], int]) -> None:
        self._count = count

    def __missing__(self, word: str) -> int:
        found = self[word] = self._count(word)
        return found


def read_tokenizer(folder: Path, prefix: str = "") -> ModelTokens:
    """The tokenizer of a sentence-transformers model, from its folder; no model is loaded.

    LabError says what is missing: the file, or the package `tokenizers`.
    """
    try:
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        config = json.loads((folder / "sentence_bert_config.json").read_text("utf-8"))
        window = int(config["max_seq_length"])
    except ImportError as error:
        raise LabError("Tokens cannot be counted. Run: pip install tokenizers") from error
    except Exception as error:  # of the Rust library, which raises nothing narrower
        raise LabError(f"{folder.name} holds no tokenizer that can be read: {error}.") from error
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return ModelTokens(lambda text: len(tokenizer.encode(prefix + text).ids), window)
