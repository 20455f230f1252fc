"""BM25: how well the words of a question fit a passage.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the
inverse document frequency that stays above zero: a word in every passage still ranks.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log

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
        average = sum(map(len, passages)) / self.size if self.size else 0.0
        postings: defaultdict[str, list[tuple[int, float]]] = defaultdict(list)
        for row, passage in enumerate(passages):
            norm = k1 * (1 - b + b * len(passage) / average) if average else k1
            for term, frequency in Counter(passage).items():
                postings[term].append((row, frequency / (frequency + norm)))
        self._shares: dict[str, tuple[NDArray[np.intp], NDArray[np.float64]]] = {}
        for term, posting in postings.items():
            idf = log(1 + (self.size - len(posting) + 0.5) / (len(posting) + 0.5))
            rows, shares = zip(*posting, strict=True)
            self._shares[term] = np.array(rows, np.intp), idf * np.array(shares)

    def scores(self, terms: Sequence[str]) -> NDArray[np.float64]:
        """One score a passage, shape (n,); each distinct term counts once; 0 where none occurs."""
        scores = np.zeros(self.size)
        for term in sorted(set(terms)):
            if term in self._shares:
                rows, shares = self._shares[term]
                scores[rows] += shares
        return scores

    def top_k(self, terms: Sequence[str], k: int, ids: Sequence[str]) -> list[tuple[int, float]]:
        """The k best (row, score) pairs above zero, by (-score, id); scores to 12 decimals."""
        scores = self.scores(terms)
        if k <= 0:
            return []
        rows = np.flatnonzero(scores > 0)  # few: partitioning all those zeros costs ten times more
        if k < len(rows):
            found = scores[rows]
            rows = rows[found >= np.partition(found, -k)[-k] - 10**-DIGITS]
        scored = [(int(row), round(float(scores[row]), DIGITS)) for row in rows]
        scored.sort(key=lambda pair: (-pair[1], ids[pair[0]]))
        return scored[:k]


def bm25_scores(terms: Sequence[str], passages: Sequence[Sequence[str]]) -> list[float]:
    """The BM25 score of each passage for these question terms.

    >>> [round(score, 3) for score in bm25_scores(["csv"], [["csv", "export"], ["pdf"]])]
    [0.277, 0.0]
    """
    return [float(score) for score in Bm25(passages).scores(terms)]
