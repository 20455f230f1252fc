"""The exact top 1,000 of 100,000 x 384 float32: against one plain pass over memory, and FAISS.

A thousand is what the engine asks for (`CANDIDATES`), and what every contender is asked for here.

No exact search can skip a vector, so the floor is the time to read them all once. The plain pass
is the maximum over the very blocks that the scan reads: numpy's vectorised `max` adds no arithmetic
that could hide behind the memory. (`sum` would be unfair: its pairwise sums are slower.) A scan
below 1.0 is no error: it walks along several columns at a time, and a processor that follows
several streams reads memory faster than `max` with its single one.

Filtered to 5 %, FAISS visits every row and asks a selector, a hash set (batch) or a bitmap, whether
it counts; labkit gathers the rows it was given. The selectors are made outside the clock. labkit's
scores are doubles, rounded and sorted; "float32 only" leaves that last step out, as FAISS does.
"""

from __future__ import annotations

import numpy as np
from timing import Report, Skipped, check_same_top, ratio, take_turns

from labkit.ranking.hybrid import CANDIDATES
from labkit.similarity import Scan, _near

K = CANDIDATES
DIMENSION = 384
BATCH = 10
OURS, PASS, FAISS, PLAIN = "labkit top-k", "one pass (max)", "FAISS IndexFlatIP", "numpy C order"
OURS_1, FLOATS_1 = "labkit 5 %", "labkit 5 % (float32 only)"
FAISS_1, BITMAP_1 = "FAISS 5 % (batch)", "FAISS 5 % (bitmap)"


def run(quick: bool) -> Report:
    try:
        import faiss
    except ImportError as error:
        raise Skipped("needs FAISS: pip install -e '.[bench]'") from error
    faiss.omp_set_num_threads(1)
    size, rounds = (20_000, 15) if quick else (100_000, 60)
    rng = np.random.default_rng(7)
    vectors = _unit(rng.standard_normal((size, DIMENSION), dtype=np.float32))
    queries = _unit(rng.standard_normal((rounds, DIMENSION), dtype=np.float32))
    rows = np.sort(rng.choice(size, size // 20, replace=False))
    scan = Scan(vectors, [f"d{row:06}" for row in range(size)])
    index = faiss.IndexFlatIP(DIMENSION)
    index.add(vectors)
    batch = faiss.SearchParameters(sel=faiss.IDSelectorBatch(rows))
    mask = np.zeros(size, dtype=bool)
    mask[rows] = True
    bits = np.packbits(mask, bitorder="little")
    bitmap = faiss.SearchParameters(sel=faiss.IDSelectorBitmap(bits))

    def plain(number: int) -> list[tuple[int, float]]:
        scores = vectors @ queries[number]
        best = np.argpartition(scores, -K)[-K:]
        return [(int(row), float(scores[row])) for row in best[np.argsort(-scores[best])]]

    def faiss_top(number: int, params: object = None) -> list[tuple[int, float]]:
        scores, found = index.search(queries[number : number + 1], K, params=params)
        return list(zip(found[0].tolist(), scores[0].tolist(), strict=True))

    for number in range(min(rounds, 10)):
        whole, part = scan.top_k(queries[number], K), scan.top_k(queries[number], K, rows)
        check_same_top(whole, plain(number), 1e-5)
        check_same_top(whole, faiss_top(number), 1e-5)
        check_same_top(part, faiss_top(number, batch), 1e-5)
        check_same_top(part, faiss_top(number, bitmap), 1e-5)

    times = take_turns(
        {
            OURS: lambda i: scan.top_k(queries[i], K),
            PASS: lambda i: [block.max() for block in scan._blocks],
            FAISS: faiss_top,
            PLAIN: plain,
        },
        rounds,
    )
    few = range(min(rounds, BATCH))  # calls under a millisecond: several a round
    filtered = take_turns(
        {
            OURS_1: lambda _: [scan.top_k(queries[i], K, rows) for i in few],
            FLOATS_1: lambda _: [_near(scan._estimates(queries[i], rows), K) for i in few],
            FAISS_1: lambda _: [faiss_top(i, batch) for i in few],
            BITMAP_1: lambda _: [faiss_top(i, bitmap) for i in few],
        },
        rounds,
    )
    return Report(
        f"Exact top {K:,} of {size:,} x {DIMENSION} float32, one thread, one question at a time",
        rows=[
            *(measured.row() for measured in times.values()),
            *(measured.row(1e3 / len(few)) for measured in filtered.values()),
        ],
        ratios=[
            ratio(times, OURS, PASS, "<= 1.3"),
            ratio(times, FAISS, OURS, ">= 1.5"),
            ratio(times, PLAIN, OURS),
            ratio(filtered, FAISS_1, OURS_1, ">= 1.5"),
            ratio(filtered, FAISS_1, FLOATS_1),
            ratio(filtered, BITMAP_1, OURS_1),
            ratio(filtered, BITMAP_1, FLOATS_1),
        ],
        notes=[
            f"The pass reads {size * DIMENSION * 4 / 1e6:.0f} MB.",
            "Checked first: equal top lists. labkit's also holds double scores.",
        ],
    )


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
