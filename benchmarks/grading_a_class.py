"""How long a class of 300 submissions takes to grade, and how much memory the grader needs."""

from __future__ import annotations

import resource
import sys
import tempfile
from pathlib import Path
from time import perf_counter

from timing import Mismatch, Ratio, Report, Skipped

from classroom.grading.grade import Options, grade_class
from classroom.grading.reports.all import write_reports
from classroom.grading.running.sandbox import can_isolate
from classroom.grading.secret import Secret

JOBS = 2
AIM_SECONDS = 15 * 60
AIM_MEMORY = 500  # MiB of the grader itself, without its workers


def run(quick: bool) -> Report:
    if not can_isolate():
        raise Skipped("bubblewrap does not work here: apt-get install bubblewrap")
    sys.path.append(str(Path(__file__).resolve().parents[1] / "tests/grading"))
    from synthetic_class import deviations, synthetic_class, write_class

    students = synthetic_class(30 if quick else 300)
    secret = Secret(b"benchmark".ljust(32))
    with tempfile.TemporaryDirectory() as folder:
        write_class(students, Path(folder, "submitted"))
        began = perf_counter()
        results = Path(folder, "results")
        found = grade_class(Path(folder, "submitted"), results, Options(secret, jobs=JOBS))
        graded = perf_counter()
        write_reports(found, results, {})
        reported = perf_counter()
    wrong = deviations(students, found.graded, secret.seed("1"))
    if wrong or found.faults:
        raise Mismatch("; ".join([*wrong, *found.faults]))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = graded - began
    return Report(
        f"Grading {len(students)} submissions, {JOBS} at a time, all marks as expected",
        unit="s",
        rows=[
            ("grading", *[seconds] * 3),
            ("marks, feedback, overview, answers", *[reported - graded] * 3),
            ("a submission", *[seconds / len(students)] * 3),
        ],
        ratios=[
            Ratio(f"grading / {AIM_SECONDS} s", *[seconds / AIM_SECONDS] * 3, "<= 1"),
            Ratio(f"memory of the grader / {AIM_MEMORY} MiB", *[memory / AIM_MEMORY] * 3, "<= 1"),
        ],
        notes=[f"The grader itself took {memory:.0f} MiB at the most, the class in it included."],
    )
