"""Passages that say the same: found by the word sequences they share, collapsed to one of them.

Two passages are near duplicates if their sets of five-word shingles have a Jaccard similarity of
`THRESHOLD` or more (Broder, "On the resemblance and containment of documents", 1997) and one says
all that the other says: the other's sentences stand in it, word for word, one after the other.
White space, punctuation, capitals, accents and Markdown marks do not count; the signs of numbers,
currencies, operators and pictures do. The headings above must be the same. For any word decides:
"24 months" and "36 months", "any article" and "any unopened article" are two rules, and what is
excluded under one heading is allowed under another.

Pairs are found exactly, by prefix filtering: sets that are alike share one of their rarest shingles
(Bayardo, Ma and Srikant, "Scaling up all pairs similarity search", WWW 2007).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import ceil
from typing import NamedTuple, TypeAlias
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from labkit.markdown import sentences
from labkit.text import fold
from labkit.types import Chunk

SHINGLE = 5  # words
MIN_WORDS = 12  # a shorter passage, such as "See below.", means what the heading above it says
THRESHOLD = 0.8
"""Measured on the knowledge corpus and two real trees: passages that repeat one another reach 0.80
to 1; unlike rules in like words (planted in the corpus) reach 0.68 to 0.82, and the one above this
threshold differs in a number; anything else stays at 0.50 or below."""

_WORD = re.compile(r"\w+")
_ORDINARY = (  # punctuation and marks of Markdown, which decide nothing; all other signs may
    r"!-/:-@\[-`{-~\u00a1\u00a7\u00ab\u00b6\u00b7\u00bb\u00bf\u200b-\u2027\u2039\u203a"
    r"\u3000-\u303f\ufe0f"
)
_TOKEN = re.compile(  # of a folded text
    r"(?:(?<!\w)[-+\u2212])?\b\w*\d\w*(?:[.,]\d+)*"  # a number or a code, with its sign
    r"|\w+"
    r"|(?<=\w )[-+*/<>=!]{1,3}(?= \w)"  # an operator
    r"|[<>]=?(?= ?\d)|~~|[$%]"
    rf"|[^\w\s{_ORDINARY}]"
)
_BASE = np.uint64(0x9E3779B97F4A7C15)  # odd: multiplying by it loses no bit

Shingles: TypeAlias = NDArray[np.uint64]


class _Words(NamedTuple):
    """The words of a text as numbers, in order, and its distinct shingles, sorted."""

    codes: Shingles
    shingles: Shingles


def near_duplicates(chunks: Sequence[Chunk]) -> dict[str, str]:
    """The chunks that repeat another one: chunk id → id of the canonical one, which is no key.

    The canonical passage says all that the others say: it has the same words, or some sentences
    more before or after them. It is the one whose document is no copy, then the one in force since
    the latest day, then the longest, then the one of smallest id; a later passage that says less
    than an earlier one does not stand for it, nor the other way round. Each repeats its canonical
    passage itself, not only another that does.

    `context` and `section` must be the same. So must the titles, unless the words are the same too
    or the one that is left out is a copy (`canonical: false`). Passages about different products
    are never the same, nor are those of fewer than `MIN_WORDS` words.
    """
    read = [(chunk, _words(chunk.text)) for chunk in chunks]
    long = [(chunk, words) for chunk, words in read if len(words.codes) >= MIN_WORDS]
    long.sort(key=lambda pair: _preference(*pair))
    rarest_first = _by_rarity([words.shingles for _, words in long])
    kept: defaultdict[int, list[int]] = defaultdict(list)  # shingle → places of canonical passages
    canonical: dict[str, str] = {}
    for place, ((chunk, words), shingles) in enumerate(zip(long, rarest_first, strict=True)):
        prefix = shingles[: len(shingles) - ceil(THRESHOLD * len(shingles)) + 1].tolist()
        others = sorted({other for shingle in prefix for other in kept.get(shingle, ())})
        same = next((o for o in others if _same(chunk, words, *long[o])), None)
        if same is not None:
            canonical[chunk.id] = long[same][0].id
        else:
            for shingle in prefix:
                kept[shingle].append(place)
    return canonical


def _preference(chunk: Chunk, words: _Words) -> tuple[bool, int, int, str]:
    """The order in which passages are canonical: no copy, newest, longest, smallest id."""
    newest_first = -chunk.meta.valid_from.toordinal()
    return not chunk.meta.canonical, newest_first, -len(words.codes), chunk.id


@lru_cache(maxsize=20_000)
def _words(text: str) -> _Words:
    """What is compared of a text: asked for with each question, so it is worked out once."""
    words = _WORD.findall(text)
    codes = np.fromiter(map(_code, words), np.uint64, len(words))
    shingles = np.zeros(max(0, len(words) - SHINGLE + 1), np.uint64)
    for offset in range(SHINGLE):
        shingles = shingles * _BASE + codes[offset : offset + len(shingles)]
    # np.unique would load numpy.ma, a tenth of a second of a new process's first answer.
    return _Words(codes, np.array(sorted(set(shingles.tolist())), np.uint64))


@lru_cache(maxsize=200_000)
def _code(word: str) -> int:
    """A number for a word, whatever its case and accents: folding word by word is fast."""
    return crc32(fold(word).encode())


def _by_rarity(sets: Sequence[Shingles]) -> list[Shingles]:
    """Each set in one order for all: shingles that few sets hold first."""
    if not sets:
        return []
    values, counts = np.unique(np.concatenate(sets), return_counts=True)
    held_by = [counts[np.searchsorted(values, shingles)] for shingles in sets]
    return [s[np.lexsort((s, held))] for s, held in zip(sets, held_by, strict=True)]


def _same(chunk: Chunk, words: _Words, other: Chunk, others: _Words) -> bool:
    """Does a passage repeat another one, which is preferred to it?"""
    products = {chunk.meta.product, other.meta.product} - {None}
    shared = len(np.intersect1d(words.shingles, others.shingles, assume_unique=True))
    every = len(words.shingles) + len(others.shingles) - shared
    if len(products) > 1 or shared < THRESHOLD * every:
        return False
    if _tokens(chunk.context) != _tokens(other.context):
        return False
    if _tokens(chunk.section) != _tokens(other.section):
        return False
    if chunk.text == other.text or _tokens(chunk.text) == _tokens(other.text):
        return True
    titles = _tokens(chunk.meta.title) == _tokens(other.meta.title)
    return (titles or not chunk.meta.canonical) and _contains(other.text, chunk.text)


def _tokens(text: str) -> tuple[str, ...]:
    """The words and the signs that decide, in order."""
    return tuple(chain.from_iterable(_sentences(text)))


def _contains(text: str, part: str) -> bool:
    """Do the sentences of `part` stand in a text, one after the other with nothing in between?

    A word more within a sentence can turn it round, and so can a line between two items of a list.
    """
    whole, wanted = _sentences(text), _sentences(part)
    starts = range(len(whole) - len(wanted) + 1)
    return any(whole[start : start + len(wanted)] == wanted for start in starts)


@lru_cache(maxsize=20_000)
def _sentences(text: str) -> tuple[tuple[str, ...], ...]:
    """The tokens of each sentence, and of each heading or mark with a word between two."""
    bounds = sorted({0, len(text), *chain.from_iterable(sentences(text))})
    pieces = (_TOKEN.findall(fold(text[start:end])) for start, end in pairwise(bounds))
    return tuple(tuple(piece) for piece in pieces if piece)
