"""Score passages by their words

Return one BM25 score for each passage; a passage is the list of its terms. A passage's score is the
sum over the distinct question terms that it holds of `idf * f / (f + 1.2 * (0.25 + 0.75 * n /
average))`, where `f` is how often the term stands in the passage, `n` how many terms the passage
has, and `average` the mean of `n` over all passages. `idf` is `log(1 + (N - df + 0.5) / (df +
0.5))` with the natural logarithm, for `N` passages of which `df` hold the term. A passage that
holds no question term scores 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from math import log
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit import ranking


def bm25_scores(terms: list[str], passages: list[list[str]]) -> list[float]:
    """One BM25 score a passage, in their order, with k1 = 1.2 and b = 0.75."""
    from math import log

    scores = []
    for passage in passages:
        average = sum(len(p) for p in passages) / len(passages)
        score = 0.0
        for term in set(terms):
            f = passage.count(term)
            if f == 0:
                continue
            df = sum(term in p for p in passages)
            idf = log(1 + (len(passages) - df + 0.5) / (df + 0.5))
            score += idf * f / (f + 1.2 * (0.25 + 0.75 * len(passage) / average))
        scores.append(score)
    return scores


_K1, _B = 1.2, 0.75


def _idf(size: int, containing: int) -> float:
    return log(1 + (size - containing + 0.5) / (containing + 0.5))


def _share(frequency: int, length: int, average: float) -> float:
    return frequency / (frequency + _K1 * (1 - _B + _B * length / average))


def _count(term: str, passage: list[str]) -> int:
    return passage.count(term)


def _bm25(
    terms: Iterable[str],
    passages: list[list[str]],
    idf: Callable[[int, int], float] = _idf,
    share: Callable[[int, int, float], float] = _share,
    count: Callable[[str, list[str]], int] = _count,
    length: Callable[[list[str]], int] = len,
) -> list[float]:
    """The scores by the given parts of the formula; each of the terms counts."""
    size = len(passages)
    average = sum(map(length, passages)) / size if size else 0.0
    scores = [0.0] * size
    for term in terms:
        counts = [count(term, passage) for passage in passages]
        containing = sum(frequency > 0 for frequency in counts)
        for row, frequency in enumerate(counts):
            if frequency:
                scores[row] += idf(size, containing) * share(
                    frequency, length(passages[row]), average
                )
    return scores


def idf_below_zero(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A word that stands in most passages lowers their scores: the `1 +` in the idf is missing."""

    def idf(size: int, containing: int) -> float:
        return log((size - containing + 0.5) / (containing + 0.5))

    return _bm25(sorted(set(terms)), passages, idf=idf)


def occurrences_counted(terms: list[str], passages: list[list[str]]) -> list[float]:
    """The idf counts how often a word occurs: it should count the passages that hold it."""
    scores = [0.0] * len(passages)
    for term in sorted(set(terms)):
        containing = sum(passage.count(term) for passage in passages)
        alone = _bm25([term], passages, idf=lambda *_: 1.0)
        weight = _idf(len(passages), containing)
        scores = [score + weight * share for score, share in zip(scores, alone, strict=True)]
    return scores


def repeated_question_terms(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A term that the question repeats counts again: each distinct term counts once."""
    return _bm25(terms, passages)


def length_ignored(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A long passage is not held back: its length over the average length is missing."""
    return _bm25(
        sorted(set(terms)), passages, share=lambda frequency, *_: frequency / (frequency + _K1)
    )


def distinct_length(terms: list[str], passages: list[list[str]]) -> list[float]:
    """The length counts distinct terms: a passage is as long as its list, repetitions and all."""
    return _bm25(sorted(set(terms)), passages, length=lambda passage: len(set(passage)))


def never_saturated(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A word that stands ten times weighs ten times as much: repeating must help less and less."""
    return _bm25(sorted(set(terms)), passages, share=lambda frequency, *_: float(frequency))


def presence_only(terms: list[str], passages: list[list[str]]) -> list[float]:
    """How often a word stands in a passage changes nothing: its frequency is missing."""
    return _bm25(
        sorted(set(terms)),
        passages,
        share=lambda frequency, length, average: _share(1, length, average),
    )


def older_factor(terms: list[str], passages: list[list[str]]) -> list[float]:
    """All scores are 2.2 times too high: older formulas multiply by `k1 + 1`, this one does not."""
    return [(_K1 + 1) * score for score in bm25_scores(terms, passages)]


def empty_average_divided(terms: list[str], passages: list[list[str]]) -> list[float]:
    """Where no passage has a word, you divide by 0: empty passages score 0, none give no scores."""
    average = sum(map(len, passages)) / len(passages)
    norms = [_K1 * (1 - _B + _B * len(passage) / average) for passage in passages]
    return bm25_scores(terms, passages) if norms else []


def part_of_a_word(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A term is found inside a longer one: compare whole terms, not parts of a joined text."""
    return _bm25(
        sorted(set(terms)), passages, count=lambda term, passage: " ".join(passage).count(term)
    )


def _hidden_passages(random: Random) -> Iterator[Arguments]:
    words = ["return", "port", "report", "csv", "day", "days", "warranty"]
    yield ["port"], [[], []]
    yield ["port", "port", "csv"], [["port", "csv"], ["report", "report", "port"], ["day"]]
    yield ["day"], [["day", "day", "day", "csv"], ["day"], ["day", "port"], ["csv"]]
    yield ["warranty"], [["csv"], ["days"]]
    for _ in range(24):
        passages = [
            random.choices(words, k=random.randint(0, 7)) for _ in range(random.randint(1, 5))
        ]
        yield random.choices(words, k=random.randint(0, 4)), passages


def _any_passages() -> Strategy:
    terms = st.sampled_from(["a", "ab", "b"])
    return st.tuples(st.lists(terms, max_size=2), st.lists(st.lists(terms, max_size=3), max_size=3))


EXERCISE = Exercise(
    model_solution=bm25_scores,
    reference=ranking.bm25_scores,
    cases=(
        case("one passage holds the term", ["csv"], [["csv", "export"], ["pdf"]]),
        case("a word in every passage", ["csv"], [["csv"], ["csv", "csv"], ["csv", "pdf", "pdf"]]),
        case("the question repeats itself", ["csv", "csv", "pdf"], [["csv"], ["pdf", "pdf"], []]),
        case("whole terms only", ["art"], [["art"], ["start", "part"]]),
        case("no passages", ["csv"], []),
    ),
    hidden=_hidden_passages,
    strategy=_any_passages,
    hints=(
        "Begin with one term and one passage, and compute the first public case by hand.",
        "`passage.count(term)` is `f`; `sum(term in passage for passage in passages)` is `df`.",
        "Loop over `set(terms)`, so that a repeated question term counts once.",
        "Skip a term with `f == 0` before you compute its share: then you never divide by an "
        "average of 0. Compute the average only if there are passages.",
    ),
    off_limits=("labkit.ranking",),
    place=2,
    points=6,
    minutes=25,
)
