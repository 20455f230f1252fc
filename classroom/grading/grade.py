"""Grading a class: every submission by itself, a record for each as soon as it is done."""

from __future__ import annotations

import hashlib
import queue
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TypeAlias

from classroom.grading.answer_key import AnswerKey
from classroom.grading.fingerprint import Fingerprint, fingerprint
from classroom.grading.judge import Judge
from classroom.grading.names import file_names
from classroom.grading.record import differences, read_record, record_path, write_record
from classroom.grading.running.sandbox import Sandbox, sandbox
from classroom.grading.secret import Secret
from classroom.grading.submissions.collect import collect
from classroom.grading.submissions.released import exercises_of
from classroom.grading.submissions.triage import triage
from classroom.grading.types import Answer, Class, Graded, Submission, Triaged
from classroom.grading.writing import write_whole
from labkit.types import LabError

_INSTEAD = "Take another folder for these results, or say --fresh to replace what is there."
Recorded: TypeAlias = tuple[Graded, Fingerprint]
Progress = Callable[[int, int, str], None]
"""Told after each submission: how many are done, of how many, and which."""


@dataclass(frozen=True, slots=True)
class Options:
    """How to grade: under which secret and label of hidden cases, how many submissions at a time,
    whether a machine without a sandbox will do, whether records of an earlier run are ignored."""

    secret: Secret
    seed: str = "1"
    jobs: int = 1
    unsafe: bool = False
    fresh: bool = False


def grade_class(
    submissions: Path, results: Path, options: Options, progress: Progress = lambda *_: None
) -> Class:
    """Grade every submission below a folder (or in a zip) and write their records.

    What an earlier run graded under the same fingerprint is kept. A Ctrl-C ends at once and leaves
    the records that there are; the next run goes on from them. A fault on one submission is noted
    and stops no other. LabError if the results lie inside the submissions, or if they hold records
    of another secret or seed and `fresh` does not say that they may go.
    """
    if results.resolve().is_relative_to(submissions.resolve()):
        raise LabError(
            f"{results} lies inside {submissions}: the next run would take it for a student."
        )
    found = _collected(submissions)
    known = {} if options.fresh else _known(found, results, options)
    write_whole(results / ".writable", "").unlink()  # better now than after an hour of grading
    return _grade(found, results, options, progress, known)


def _known(found: Sequence[Submission], results: Path, options: Options) -> dict[Path, Recorded]:
    """The records of an earlier grading. LabError if one is not of this student, secret and seed:
    nothing is replaced without a word."""
    known: dict[Path, Recorded] = {}
    for submission in found:
        path = record_path(results, submission)
        if not path.is_file():
            continue
        try:
            graded, made = read_record(path, options.secret)
        except LabError as error:
            raise LabError(f"{error} {_INSTEAD}") from error
        if (graded.student, graded.assignment) != (submission.student, submission.assignment):
            raise LabError(f"The record of {submission.name} is another student's. {_INSTEAD}")
        if made.seed != options.seed:
            raise LabError(
                f"The record of {submission.name} was made with the seed {made.seed!r}, not "
                f"{options.seed!r}. {_INSTEAD}"
            )
        known[path] = graded, made
    return known


@dataclass(frozen=True, slots=True)
class Regraded:
    """A record and what grading again came to, each with its fingerprint."""

    before: Graded
    after: Graded
    made_before: Fingerprint
    made_after: Fingerprint

    @property
    def differences(self) -> list[str]:
        """Other fingerprints first: they explain other marks."""
        now = asdict(self.made_after)
        changed = [name for name, value in asdict(self.made_before).items() if value != now[name]]
        said = [f"another {name} than then" for name in changed]
        return said + differences(self.before, self.after)


def regrade(
    submissions: Path, results: Path, options: Options, progress: Progress = lambda *_: None
) -> list[Regraded]:
    """Grade again what has a record, under that record's seed, and leave the records alone.

    LabError if a record was not signed with this secret, or if no submission has one.
    """
    known = [
        (submission, *read_record(path, options.secret))
        for submission in _collected(submissions)
        if (path := record_path(results, submission)).is_file()
    ]
    if not known:
        raise LabError(f"{results.name} holds no record of any submission in {submissions.name}.")
    found = []
    with tempfile.TemporaryDirectory() as scratch:
        for seed in sorted({made.seed for _, _, made in known}):
            same = [submission for submission, _, made in known if made.seed == seed]
            _grade(same, Path(scratch), replace(options, seed=seed), progress, {})
        for submission, before, made in known:
            path = record_path(Path(scratch), submission)
            if not path.is_file():
                raise LabError(f"{submission.name} could not be graded again.")
            after, now = read_record(path, options.secret)
            found.append(Regraded(before, after, made, now))
    return found


def _collected(submissions: Path) -> list[Submission]:
    """The submissions, each with a folder for its results that is no other student's."""
    found = _told_apart(collect(submissions))
    folders = file_names(one.student for one in found)
    return [replace(one, folder=folders[one.student]) for one in found]


def _told_apart(found: Sequence[Submission]) -> list[Submission]:
    """Two students who look alike, by whatever way, are told apart by where their work lies."""
    alike = Counter((one.student, one.assignment) for one in found)
    return [
        replace(one, student=f"{one.student} [{hashlib.sha256(one.name.encode()).hexdigest()[:6]}]")
        if alike[one.student, one.assignment] > 1
        else one
        for one in found
    ]


def _grade(
    found: Sequence[Submission],
    results: Path,
    options: Options,
    progress: Progress,
    known: Mapping[Path, Recorded],
) -> Class:
    """Grade what is not `known` under the same fingerprint, and record it."""
    done = Class()
    with ExitStack() as stack:
        box = stack.enter_context(sandbox(unsafe=options.unsafe))
        done.sandbox = box.name
        grader = _Grader(box, found, results, options, known)
        pool = stack.enter_context(ThreadPoolExecutor(options.jobs))
        futures = {pool.submit(grader.grade, submission): submission for submission in found}
        try:
            _gather(futures, done, progress)
        except BaseException:
            for future in futures:
                future.cancel()
            box.stop()
            raise
    done.graded.sort(key=lambda one: (one.student, one.assignment))
    done.answers.sort(key=lambda one: (one.exercise, one.student))
    return done


def _gather(futures: dict[Future[_Done], Submission], done: Class, progress: Progress) -> None:
    """Take results as they come."""
    waiting = set(futures)
    while waiting:
        ready, waiting = wait(waiting, return_when=FIRST_COMPLETED)
        for future in ready:
            submission = futures[future]
            try:
                one = future.result()
            except Exception as error:
                done.faults.append(f"{submission.name}: {type(error).__name__}: {error}")
            else:
                done.graded.append(one.graded)
                done.answers += one.answers
                done.kept += one.kept
                done.again += one.again
            progress(len(futures) - len(waiting), len(futures), submission.name)


@dataclass(frozen=True, slots=True)
class _Done:
    graded: Graded
    answers: Sequence[Answer]
    kept: bool = False
    again: bool = False


class _Grader:
    """Grades one submission at a time in as many threads as there are slots."""

    def __init__(
        self,
        box: Sandbox,
        found: Sequence[Submission],
        results: Path,
        options: Options,
        known: Mapping[Path, Recorded],
    ) -> None:
        self._box, self._results, self._options, self._known = box, results, options, known
        seed = options.secret.seed(options.seed)
        wanted = {assignment for one in found if (assignment := one.assignment)}
        exercises = [exercise for name in sorted(wanted) for exercise in exercises_of(name)]
        self._judge = Judge(box, {each.id: AnswerKey(each, seed) for each in exercises})
        self._slots: queue.SimpleQueue[int] = queue.SimpleQueue()
        for slot in range(options.jobs):
            self._slots.put(slot)
        self._reading = threading.Lock()  # the largest notebooks take a lot of memory to read

    def grade(self, submission: Submission) -> _Done:
        """The marks of a submission, from its record if nothing changed since."""
        with self._reading:
            triaged = triage(submission)
        answers = _answers_in(submission, triaged)
        path = record_path(self._results, submission)
        now = fingerprint(submission, self._options.seed, self._box.name)
        before, made = self._known.get(path, (None, now))
        if before is not None and made == now:
            return _Done(before, answers, kept=True)
        slot = self._slots.get()
        try:
            graded = self._judge.grade(submission, triaged, slot)
        finally:
            self._slots.put(slot)
        write_record(path, graded, now, self._options.secret)
        other_rules = (made.code, made.environment) != (now.code, now.environment)
        return _Done(graded, answers, again=other_rules)


def _answers_in(submission: Submission, triaged: Triaged) -> list[Answer]:
    """A student's answers, one an exercise; cells that answer the same one are joined."""
    sources: dict[str, list[str]] = {}
    for cell in triaged.cells:
        for exercise in cell.exercises:
            sources.setdefault(exercise, []).append(cell.source)
    return [
        Answer(exercise, submission.student, submission.folder, "\n\n".join(found))
        for exercise, found in sources.items()
    ]
