"""Timing that survives a busy machine: contenders take turns, and only ratios are read.

A B C A B C …: whatever slows the machine for a second slows all contenders of that round. A ratio
is taken round by round, and its median is what counts; minimum and maximum show the noise.

Whoever imports numpy imports this module first, as `run.py` does: it pins the number libraries to
one thread.
"""

from __future__ import annotations

import gc
import os
import platform
import statistics
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.metadata import PackageNotFoundError, version
from time import perf_counter
from typing import Any

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
for _variable in THREADS:  # read once, when numpy is imported; a value already set is kept
    os.environ.setdefault(_variable, "1")

PEERS = ("numpy", "faiss-cpu", "bm25s", "numba", "langchain-text-splitters")
KERNEL_VARIABLES = ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")  # they change what numpy runs


class Skipped(Exception):
    """A benchmark cannot run here; the message says what it needs."""


class Mismatch(Exception):
    """Two contenders disagree. Their times would compare nothing."""


@dataclass(frozen=True)
class Times:
    """The seconds of one contender, one number a round."""

    name: str
    seconds: list[float]

    def quantile(self, share: float) -> float:
        ordered = sorted(self.seconds)
        return ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def row(self, unit: float = 1e3) -> tuple[str, float, float, float]:
        """(name, minimum, median, maximum), in milliseconds unless told otherwise."""
        low, middle, high = spread(self.seconds)
        return self.name, low * unit, middle * unit, high * unit


@dataclass(frozen=True)
class Ratio:
    """One ratio, as minimum, median and maximum over the rounds, and what it aims at."""

    name: str
    low: float
    median: float
    high: float
    aim: str = ""

    @property
    def verdict(self) -> str:
        """`met` or `missed` by the median; empty without an aim."""
        if not self.aim:
            return ""
        sign, limit = self.aim.split()
        met = self.median <= float(limit) if sign == "<=" else self.median >= float(limit)
        return "met" if met else "missed"


@dataclass
class Report:
    """What one benchmark measured: rows of (name, minimum, median, maximum) in `unit`, ratios."""

    title: str
    unit: str = "ms"
    rows: list[tuple[str, float, float, float]] = field(default_factory=list)
    ratios: list[Ratio] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    def without_aims(self) -> Report:
        return replace(self, ratios=[replace(each, aim="") for each in self.ratios])

    def as_dict(self) -> dict[str, Any]:
        ratios = [{**asdict(ratio), "verdict": ratio.verdict} for ratio in self.ratios]
        return {**asdict(self), "ratios": ratios}

    def __str__(self) -> str:
        lines = [self.title, *(f"  {note}" for note in self.notes)]
        lines += [f"  {'':52}{'min':>10}{'median':>10}{'max':>10}"]
        lines += [
            f"  {name:52}{a:10.3f}{b:10.3f}{c:10.3f} {self.unit}" for name, a, b, c in self.rows
        ]
        for ratio in self.ratios:
            line = f"  {ratio.name:52}{ratio.low:10.2f}{ratio.median:10.2f}{ratio.high:10.2f} x"
            lines.append(f"{line}  aim {ratio.aim}: {ratio.verdict}" if ratio.aim else line)
        return "\n".join(lines)


def _three(values: Sequence[float], places: int) -> str:
    return "".join(f"{value:10.{places}f}" for value in values)


def spread(values: Sequence[float]) -> tuple[float, float, float]:
    return min(values), statistics.median(values), max(values)


def take_turns(contenders: Mapping[str, Callable[[int], Any]], rounds: int) -> dict[str, Times]:
    """Time every contender once a round, after one round that does not count.

    Each is called with the number of the round, so that all can answer the same new question.
    """
    seconds: dict[str, list[float]] = {name: [] for name in contenders}
    for run in contenders.values():
        run(0)
    gc.collect()
    gc.disable()
    try:
        for number in range(rounds):
            for name, run in contenders.items():
                start = perf_counter()
                run(number)
                seconds[name].append(perf_counter() - start)
    finally:
        gc.enable()
    return {name: Times(name, values) for name, values in seconds.items()}


def ratio(times: Mapping[str, Times], over: str, under: str, aim: str = "") -> Ratio:
    """How many times the seconds of `under` the contender `over` takes, round by round."""
    pairs = zip(times[over].seconds, times[under].seconds, strict=True)
    return Ratio(f"{over} / {under}", *spread([a / b for a, b in pairs]), aim)


def check_same_top(
    ours: Sequence[tuple[int, float]], theirs: Sequence[tuple[int, float]], tolerance: float
) -> None:
    """Raise Mismatch unless both lists of (row, score) hold the same rows, up to near ties.

    Scores must agree in order; a row that only one list holds must score within `tolerance` of the
    last place.
    """
    for (_, a), (_, b) in zip(ours, theirs, strict=True):
        if abs(a - b) > tolerance:
            raise Mismatch(f"the scores {a} and {b} stand at the same place")
    last = min(score for _, score in ours)
    alone = {row for row, _ in ours} ^ {row for row, _ in theirs}
    for row, score in [*ours, *theirs]:
        if row in alone and score - last > tolerance:
            raise Mismatch(f"only one list holds row {row}, which scores {score}")


def machine() -> dict[str, Any]:
    """What the figures depend on, and nothing that names this machine."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    return {
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load, last minute": load,
        "packages": {name: found for name in PEERS if (found := _version(name))},
        "number libraries": _number_libraries(),
        "variables": {name: os.environ[name] for name in KERNEL_VARIABLES if name in os.environ},
    }


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            return next(line.split(":", 1)[1].strip() for line in lines if "model name" in line)
    except (OSError, StopIteration):
        return platform.processor() or "unknown"


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _number_libraries() -> list[str]:
    """The loaded BLAS and OpenMP libraries, with the kernel chosen for this processor."""
    try:
        from threadpoolctl import threadpool_info
    except ImportError:
        return ["unknown: threadpoolctl is not installed"]
    return [
        f"{found['prefix']} {found['version'] or ''} {found.get('architecture', '')} "
        f"threads={found['num_threads']}"
        for found in threadpool_info()
        if "numpy" in sys.modules
    ]
