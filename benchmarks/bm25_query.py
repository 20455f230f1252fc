"""A BM25 query over 100,000 short documents against bm25s, from the same terms to a top 10.

The words are drawn by Zipf's law without its twenty most frequent ones, which stop lists remove:
the commonest word left stands in about one document in six. Two kinds of questions: terms drawn
as in the documents, and only common terms, whose long lists of passages are the worst case.
"""

from __future__ import annotations

import numpy as np
from timing import Report, Skipped, check_same_top, ratio, take_turns

from labkit.ranking.lexical import Bm25

K, K1, B = 10, 1.2, 0.75
VOCABULARY, STOPPED, COMMON = 50_000, 20, 50
OURS, LEAN, RETRIEVE, NUMBA = "labkit", "bm25s numpy", "bm25s numpy retrieve()", "bm25s numba"
BATCH = 20  # questions a round


def run(quick: bool) -> Report:
    try:
        import bm25s
        from bm25s.selection import topk
    except ImportError as error:
        raise Skipped("needs bm25s: pip install -e '.[bench]'") from error
    size, rounds = (10_000, 10) if quick else (100_000, 30)
    rng = np.random.default_rng(11)
    passages = _passages(rng, size)
    ids = [f"d{row:06}" for row in range(size)]
    ours = Bm25(passages, K1, B)
    peers = {"numpy": bm25s.BM25(k1=K1, b=B, method="lucene", backend="numpy")}
    if bm25s.NUMBA_AVAILABLE:
        peers["numba"] = bm25s.BM25(k1=K1, b=B, method="lucene", backend="numba")
    for peer in peers.values():
        peer.index(passages, show_progress=False)

    def lean(terms: list[str]) -> list[tuple[int, float]]:
        scores, rows = topk(peers["numpy"].get_scores(terms), K, backend="numpy")
        return list(zip(rows.tolist(), scores.tolist(), strict=True))

    def retrieve(name: str, terms: list[str]) -> list[tuple[int, float]]:
        rows, scores = peers[name].retrieve([terms], k=K, show_progress=False)
        return list(zip(rows[0].tolist(), scores[0].tolist(), strict=True))

    contenders = {
        OURS: lambda terms: ours.top_k(terms, K, ids),
        LEAN: lean,
        RETRIEVE: lambda terms: retrieve("numpy", terms),
    }
    if "numba" in peers:
        contenders[NUMBA] = lambda terms: retrieve("numba", terms)
    terms_in_all = sum(map(len, passages))
    report = Report(
        f"BM25 top-{K} over {size:,} short documents, a query",
        notes=[
            f"{terms_in_all / size:.0f} terms a document in the mean, {VOCABULARY:,} possible; "
            f"{rounds * BATCH} questions of 2 to 8 terms.",
            "bm25s with numba measured too."
            if NUMBA in contenders
            else "bm25s runs its numpy path: numba is not installed.",
            "Checked first: equal top lists up to near ties.",
        ],
    )
    for kind, among in (("drawn terms", VOCABULARY), ("common terms", COMMON)):
        questions = [_question(rng, among) for _ in range(rounds * BATCH)]
        for terms in questions[:50]:
            expected = contenders[OURS](terms)
            for contender in contenders.values():
                # bm25s fills up with passages that score nothing; labkit never returns one
                check_same_top(expected, contender(terms)[: len(expected)], 1e-4)
        times = take_turns(
            {
                f"{name}, {kind}": lambda i, ask=ask, asked=questions: [
                    ask(terms) for terms in asked[i * BATCH : (i + 1) * BATCH]
                ]
                for name, ask in contenders.items()
            },
            rounds,
        )
        report.rows += [each.row(1e3 / BATCH) for each in times.values()]
        mine, *others = times
        fastest = min(others, key=lambda name: times[name].quantile(0.5))
        report.ratios.append(ratio(times, mine, fastest, "<= 1.5"))
    return report


def _shares(among: int) -> np.ndarray:
    weights = 1.0 / np.arange(STOPPED + 1, STOPPED + among + 1)
    return weights / weights.sum()


def _passages(rng: np.random.Generator, size: int) -> list[list[str]]:
    """Passages of 10 to 50 terms."""
    lengths = rng.integers(10, 51, size)
    words = rng.choice(VOCABULARY, lengths.sum(), p=_shares(VOCABULARY))
    return [[f"w{word}" for word in part] for part in np.split(words, lengths.cumsum()[:-1])]


def _question(rng: np.random.Generator, among: int) -> list[str]:
    """Two to eight distinct terms."""
    words = rng.choice(among, rng.integers(2, 9), replace=False, p=_shares(among))
    return [f"w{word}" for word in words]
