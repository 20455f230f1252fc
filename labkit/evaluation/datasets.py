"""What rankings are judged by: BEIR folders, and the lab's own annotated questions.

Thakur et al., "BEIR: A Heterogeneous Benchmark for Zero-shot Evaluation of Information Retrieval
Models" (2021), whose folders hold corpus.jsonl, queries.jsonl and qrels/SPLIT.tsv.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

from labkit.evaluation.calibration import Question, read_questions
from labkit.text import normalise
from labkit.types import LabError

DAY = date(2000, 1, 1)  # on which a passage of a public data set may be read


@dataclass(frozen=True, slots=True)
class Passage:
    """One passage of a BEIR corpus."""

    id: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Beir:
    """A BEIR folder: `judgements[query id][passage id]` is a grade, above 0 where relevant.

    `queries` holds those that the split judges; `unjudged` counts the others.
    """

    name: str
    split: str
    passages: tuple[Passage, ...]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]
    unjudged: int


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that an answer needs: a quotation in `document`; `also` answer it as well."""

    document: str
    quotation: str
    also: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class AnnotatedQuestion:
    """An annotated question and the parts of its answer: none if it is unanswerable.

    `half` is `development` or `held-out`, and empty where a file has no halves.
    """

    question: Question
    parts: tuple[Part, ...]
    half: str = ""


@dataclass(frozen=True, slots=True)
class Squad:
    """A SQuAD 2.0 file: each paragraph a passage, each question answerable by its own or by none.

    A part's quotation is the shortest of the annotated answers: whoever quotes one quotes it too.
    """

    name: str
    passages: tuple[Passage, ...]
    questions: tuple[AnnotatedQuestion, ...]


def load_beir(folder: Path, split: str | None = None) -> Beir:
    """Read a BEIR folder; the split is `test` where there is one, or the only one there is.

    Passages and queries are normalised as documents are. LabError names the file, the line and the
    value: a missing file, a line that is no JSON or lacks a key, an id that is there twice, a grade
    that is no whole number, a judgement of an unknown query or passage.
    """
    if not folder.is_dir():
        raise LabError(
            f"{folder} is no folder. Name one that holds corpus.jsonl and queries.jsonl."
        )
    passages = tuple(_passages(folder / "corpus.jsonl"))
    queries = dict(_texts(folder / "queries.jsonl"))
    qrels = _qrels_file(folder / "qrels", split)
    judgements = _judgements(qrels, set(queries), {passage.id for passage in passages})
    judged = {name: text for name, text in queries.items() if name in judgements}
    unjudged = len(queries) - len(judged)
    return Beir(folder.resolve().name, qrels.stem, passages, judged, judgements, unjudged)


def load_annotated(path: Path) -> list[AnnotatedQuestion]:
    """The annotated questions of a JSON Lines file (corpus/README.md), with the parts of answers.

    LabError names the line that is no annotated question, or an answerable one without a quotation.
    """
    questions = read_questions(path)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    found: list[AnnotatedQuestion] = []
    for number, (question, line) in enumerate(zip(questions, lines, strict=True), start=1):
        row = json.loads(line)
        try:
            parts = tuple(map(_part, row.get("parts") or [row])) if question.answerable else ()
            found.append(AnnotatedQuestion(question, parts, str(row.get("half") or "")))
        except (KeyError, TypeError, AttributeError) as error:
            raise LabError(
                f"{path.name}, line {number}: {question.id} is answerable, and an answerable "
                "question needs a document and a quotation, of its own or in each of its parts."
            ) from error
    return found


def load_squad(path: Path) -> Squad:
    """Read a SQuAD 2.0 file (Rajpurkar, Jia and Liang, "Know What You Don't Know", 2018).

    LabError for a file that is none.
    """
    passages: list[Passage] = []
    questions: list[AnnotatedQuestion] = []
    try:
        for article in json.loads(path.read_text(encoding="utf-8-sig"))["data"]:
            for number, paragraph in enumerate(article["paragraphs"]):
                name = f"{article['title']}-{number}"
                title = article["title"].replace("_", " ")
                passages.append(Passage(name, title, normalise(paragraph["context"])))
                questions += [_squad_question(row, name) for row in paragraph["qas"]]
    except (OSError, UnicodeDecodeError, ValueError, KeyError, TypeError) as error:
        raise LabError(f"{path.name} is no SQuAD 2.0 file: {type(error).__name__}.") from error
    return Squad(path.stem, tuple(passages), tuple(questions))


def _squad_question(row: dict[str, Any], passage: str) -> AnnotatedQuestion:
    golds = [] if row["is_impossible"] else [normalise(gold["text"]) for gold in row["answers"]]
    parts = (Part(passage, min(golds, key=len)),) if golds else ()
    kind = "answerable" if parts else "unanswerable"
    asked = Question(row["id"], row["question"], "en", DAY, "", bool(parts), kind)
    return AnnotatedQuestion(asked, parts)


def _part(row: dict[str, Any]) -> Part:
    document, quotation = row["document"], row["quotation"]
    if not (isinstance(document, str) and isinstance(quotation, str) and quotation.strip()):
        raise TypeError("document and quotation must be text")
    return Part(document, quotation, tuple(row.get("also") or ()))


def _rows(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """(place, row) for each line of a JSON Lines file, its `_id` checked to be there and new."""
    seen: set[str] = set()
    for number, line in _lines(path):
        place = f"{path.name}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise LabError(f"{place}: this is no JSON ({error}).") from error
        name = row.get("_id") if isinstance(row, dict) else None
        if not isinstance(name, str) or not name:
            raise LabError(f'{place}: there is no "_id" that is text.')
        if name in seen:
            raise LabError(f"{place}: the id {name!r} is there twice.")
        seen.add(name)
        yield place, row


def _texts(path: Path) -> Iterator[tuple[str, str]]:
    for place, row in _rows(path):
        text = _text(row, "text", place)
        if not text.strip():
            raise LabError(f"{place}: the query {row['_id']!r} is empty.")
        yield row["_id"], text


def _passages(path: Path) -> Iterator[Passage]:
    for place, row in _rows(path):
        yield Passage(row["_id"], _text(row, "title", place), _text(row, "text", place))


def _text(row: dict[str, Any], key: str, place: str) -> str:
    """A text, normalised; a title may be missing, the text may not."""
    value = row.get(key)
    if value is None and key == "title":
        return ""
    if not isinstance(value, str):
        raise LabError(f'{place}: "{key}" is {value!r}; it must be text.')
    return normalise(value.encode("utf-8", "replace").decode())  # half a surrogate is no text


def _qrels_file(folder: Path, split: str | None) -> Path:
    files = {path.stem: path for path in sorted(folder.glob("*.tsv"))}
    if split is None:
        split = "test" if "test" in files or len(files) != 1 else next(iter(files))
    if split not in files:
        known = ", ".join(files) or "none"
        raise LabError(f"There is no {split}.tsv in {folder}. Splits found: {known}.")
    return files[split]


def _judgements(path: Path, queries: set[str], passages: set[str]) -> dict[str, dict[str, int]]:
    judgements: dict[str, dict[str, int]] = {}
    for number, line in _lines(path):
        place = f"{path.parent.name}/{path.name}, line {number}"
        fields = line.rstrip("\n").split("\t")
        if fields == ["query-id", "corpus-id", "score"]:
            continue
        query, passage, grade = _judgement(fields, place)
        for kind, name, known in (("query", query, queries), ("passage", passage, passages)):
            if name not in known:
                raise LabError(f"{place}: there is no {kind} {name!r}.")
        if judgements.setdefault(query, {}).setdefault(passage, grade) != grade:
            raise LabError(f"{place}: {query!r} and {passage!r} have been judged otherwise above.")
    if not judgements:
        raise LabError(f"{path.parent.name}/{path.name} holds no judgement.")
    return judgements


def _judgement(fields: list[str], place: str) -> tuple[str, str, int]:
    try:
        query, passage, grade = fields
        return query, passage, int(grade)
    except ValueError as error:
        raise LabError(
            f"{place}: expected query-id, corpus-id and a whole number, between tabs; "
            f"got {fields!r}."
        ) from error


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file with their numbers, blank ones left out."""
    try:
        with path.open(encoding="utf-8-sig") as lines:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, line
    except FileNotFoundError as error:
        raise LabError(
            f"{path} is missing. A BEIR folder holds corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv."
        ) from error
    except UnicodeDecodeError as error:
        raise LabError(f"{path.name} is no UTF-8 text ({error}).") from error
