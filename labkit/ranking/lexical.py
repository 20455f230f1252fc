"""BM25: how well the words of a question fit a passage.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
inverse document frequency that stays above zero: a word in every passage still ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import numpy as np
from numpy.typing import NDArray

K1 = 1.2  # how soon repeating a word stops helping
B = 0.75  # how much a long passage is held back
DIGITS = 12  # a sum of floats depends on its order from the 15th digit on: round, so that ties tie


class Bm25:
    """Passages ready to be scored. All that does not depend on the question is computed here.

    A passage's share of a term t with frequency f in a passage of n terms is
    idf(t) · f / (f + k1 · (1 − b + b · n / average n)), idf(t) = ln(1 + (N − df + ½) / (df + ½)).
    """

    def __init__(self, passages: Sequence[Sequence[str]], k1: float = K1, b: float = B) -> None:
        self.size = len(passages)
        words = list(chain.from_iterable(passages))
        numbers = {term: number for number, term in enumerate(dict.fromkeys(words))}
        codes = np.fromiter(map(numbers.__getitem__, words), np.intp, len(words))
        lengths = np.array([len(passage) for passage in passages], np.intp)
        # One number for a term and a passage: sorted, the passages of a term stand together.
        pairs = codes * self.size + np.repeat(np.arange(self.size), lengths)
        pairs, frequency = np.unique(pairs, return_counts=True)
        term, self._rows = np.divmod(pairs, max(1, self.size))
        df = np.bincount(term, minlength=len(numbers))
        idf = np.log(1 + (self.size - df + 0.5) / (df + 0.5))
        norms = k1 * (1 - b + b * lengths * self.size / max(1, len(words)))
        self._shares = idf[term] * frequency / (frequency + norms[self._rows])
        ends = df.cumsum()
        places = map(slice, (ends - df).tolist(), ends.tolist())
        self._places = dict(zip(numbers, places, strict=True))

    def postings(self, term: str) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """The passages that hold a term, by number, and its share in the score of each."""
        place = self._places.get(term, slice(0))
        return self._rows[place], self._shares[place]

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """One score a passage, shape (n,); each distinct term counts once; 0 where none occurs."""
        scores = np.zeros(self.size)
        for term in sorted(set(terms)):
            rows, shares = self.postings(term)
            scores[rows] += shares
        return scores

    def top_k(
        self, terms: Sequence[str], k: int, ids: Sequence[str] | range
    ) -> list[tuple[int, float]]:
        """The k best (row, score) pairs above zero, by (-score, id); scores to 12 decimals.

        A range stands for ids in order.
        """
        scores = self.scores(terms)
        if k <= 0:
            return []
        rows = np.flatnonzero(scores > 0)  # few: partitioning all those zeros costs ten times more
        found = np.round(scores[rows], DIGITS)
        if k < len(rows):
            best = found >= np.partition(found, -k)[-k]
            rows, found = rows[best], found[best]
        scored = list(zip(rows.tolist(), found.tolist(), strict=True))
        scored.sort(key=lambda pair: (-pair[1], ids[pair[0]]))
        return scored[:k]


def bm25_scores(terms: Sequence[str], passages: Sequence[Sequence[str]]) -> list[float]:
    """The BM25 score of each passage for these question terms.

    >>> [round(score, 3) for score in bm25_scores(["csv"], [["csv", "export"], ["pdf"]])]
    [0.277, 0.0]
    """
    return [float(score) for score in Bm25(passages).scores(terms)]
