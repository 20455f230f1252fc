"""The similarity report: copies in disguise are found, independent work is not, and nothing that
stands on the page can break out of it."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from html import escape
from itertools import combinations
from pathlib import Path
from random import Random
from time import process_time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from classroom.checking import Outcome, check_function
from classroom.exercises import ALL
from classroom.grading.reports.matching_lines import Part, matching_lines
from classroom.grading.reports.same_as_solution import SameAsSolution
from classroom.grading.reports.similar_pair import MOST_LINES
from classroom.grading.reports.similarity import (
    ALWAYS_COMMON,
    LEAST_SHARED,
    NEVER_COMMON,
    Answer,
    Cluster,
    Comparison,
    LeftOut,
    Repeated,
    answers_in,
    compare,
)
from classroom.grading.reports.similarity_report import write_similarity
from classroom.grading.reports.winnowing import (
    GRAM,
    MOST_CHARACTERS,
    WINDOW,
    Piece,
    all_grams,
    fingerprints,
    pieces,
    shape,
    statements,
)
from classroom.grading.types import Cell, Triaged
from labkit.types import LabError

# --- the class: right answers, written by hand ----------------------------------------------------

INDEPENDENT: dict[str, tuple[str, ...]] = {
    "chunk_text": (
        """
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    if size <= 0:
        raise ValueError("size must be positive")
    if overlap < 0 or overlap >= size:
        raise ValueError("overlap must be from 0 to below size")
    step = size - overlap
    pieces = []
    for start in range(0, len(text), step):
        pieces.append(text[start : start + size])
        if start + size >= len(text):
            break
    return pieces
""",
        """
import math

def chunk_text(text, size, overlap):
    if not (size > 0 and 0 <= overlap < size):
        raise ValueError(f"impossible size {size} or overlap {overlap}")
    if not text:
        return []
    step = size - overlap
    count = max(1, math.ceil((len(text) - overlap) / step))
    return [text[n * step : n * step + size] for n in range(count)]
""",
        '''
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    """Cut off the first window, and go on with the rest."""
    if size < 1 or overlap < 0 or size <= overlap:
        raise ValueError("bad window")
    if len(text) == 0:
        return []
    if len(text) <= size:
        return [text]
    rest = text[size - overlap :]
    return [text[:size]] + chunk_text(rest, size, overlap)
''',
        """
def windows(length, size, step):
    left = 0
    right = min(size, length)
    while length:
        yield left, right
        if right == length:
            return
        left, right = left + step, min(left + step + size, length)

def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    if size <= 0 or overlap not in range(size):
        raise ValueError("size > 0 and 0 <= overlap < size")
    return [text[a:b] for a, b in windows(len(text), size, size - overlap)]
""",
        """
def chunk_text(text: str, size: int, overlap: int) -> list[str]:
    if size <= 0 or overlap < 0 or overlap >= size:
        raise ValueError("check size and overlap")
    result = []
    window = ""
    fresh = 0
    for character in text:
        window += character
        fresh += 1
        if len(window) == size:
            result.append(window)
            window = window[size - overlap :]
            fresh = 0
    if fresh > 0:
        result.append(window)
    return result
""",
    ),
    "bm25_scores": (
        """
import math

def bm25_scores(terms: list[str], passages: list[list[str]]) -> list[float]:
    N = len(passages)
    if N == 0:
        return []
    average = sum(map(len, passages)) / N
    idf = {}
    for term in terms:
        df = 0
        for passage in passages:
            if term in passage:
                df += 1
        idf[term] = math.log(1 + (N - df + 0.5) / (df + 0.5))
    result = []
    for passage in passages:
        total = 0.0
        for term, weight in idf.items():
            f = passage.count(term)
            if f > 0:
                total += weight * f / (f + 1.2 * (0.25 + 0.75 * len(passage) / average))
        result.append(total)
    return result
""",
        """
from collections import Counter
from math import log

def bm25_scores(terms, passages):
    counts = [Counter(passage) for passage in passages]
    scores = [0.0] * len(passages)
    lengths = [len(passage) for passage in passages]
    for term in set(terms):
        holders = [n for n, count in enumerate(counts) if count[term]]
        if not holders:
            continue
        rarity = log(1 + (len(passages) - len(holders) + 0.5) / (len(holders) + 0.5))
        for n in holders:
            f = counts[n][term]
            norm = 0.25 + 0.75 * lengths[n] * len(lengths) / sum(lengths)
            scores[n] += rarity * f / (f + 1.2 * norm)
    return scores
""",
        """
import math

K1, B = 1.2, 0.75

def document_frequency(term, passages):
    return len([p for p in passages if term in p])

def weight(term, passages):
    df = document_frequency(term, passages)
    return math.log(1 + (len(passages) - df + 0.5) / (df + 0.5))

def score(passage, terms, passages, average):
    result = 0
    for term in terms:
        if term in passage:
            f = passage.count(term)
            length = (1 - B) + B * len(passage) / average
            result = result + weight(term, passages) * (f / (f + K1 * length))
    return float(result)

def bm25_scores(terms: list[str], passages: list[list[str]]) -> list[float]:
    unique = list(dict.fromkeys(terms))
    words = 0
    for passage in passages:
        words = words + len(passage)
    return [score(p, unique, passages, words / len(passages)) for p in passages]
""",
        """
from math import log
from statistics import mean

def bm25_scores(terms: list[str], passages: list[list[str]]) -> list[float]:
    if not passages:
        return []
    average = mean(len(p) for p in passages) or 1
    def idf(term):
        df = sum(1 for p in passages if term in p)
        return log(1 + (len(passages) - df + 0.5) / (df + 0.5))
    def part(term, p):
        f = p.count(term)
        return idf(term) * f / (f + 1.2 * (0.25 + 0.75 * len(p) / average))
    return [sum(part(t, p) for t in set(terms) & set(p)) + 0.0 for p in passages]
""",
        """
import math

def bm25_scores(terms, passages):
    wanted = set(terms)
    frequencies = []
    containing = {}
    total = 0
    for passage in passages:
        table = {}
        for word in passage:
            if word in wanted:
                table[word] = table.get(word, 0) + 1
        for word in table:
            containing[word] = containing.get(word, 0) + 1
        frequencies.append((len(passage), table))
        total += len(passage)
    output = []
    for n, table in frequencies:
        s = 0.0
        for word in sorted(table):
            df = containing[word]
            top = len(passages) - df + 0.5
            idf = math.log(top / (df + 0.5) + 1)
            average = total / len(passages)
            s += idf * table[word] / (table[word] + 1.2 * (0.25 + 0.75 * n / average))
        output.append(s)
    return output
""",
    ),
    "reciprocal_rank_fusion": (
        """
from collections import defaultdict

def reciprocal_rank_fusion(rankings: list[list[str]], k: int) -> list[list]:
    totals = defaultdict(float)
    for ranking in rankings:
        seen = set()
        rank = 0
        for name in ranking:
            if name in seen:
                continue
            seen.add(name)
            rank += 1
            totals[name] += 1 / (k + rank)
    result = [[name, total] for name, total in totals.items()]
    result.sort(key=lambda item: (-item[1], item[0]))
    return result
""",
        """
def reciprocal_rank_fusion(rankings, k):
    cleaned = [list(dict.fromkeys(r)) for r in rankings]
    everyone = sorted({name for r in cleaned for name in r})
    def score(name):
        return sum(1 / (k + r.index(name) + 1) for r in cleaned if name in r)
    fused = [[name, score(name)] for name in everyone]
    return sorted(fused, key=lambda pair: pair[1], reverse=True)
""",
        '''
def first_places(ranking):
    """Each id with its rank."""
    places = {}
    for name in ranking:
        if name not in places:
            places[name] = len(places) + 1
    return places

def reciprocal_rank_fusion(rankings: list[list[str]], k: int) -> list[list]:
    scores = {}
    for places in map(first_places, rankings):
        for name in places:
            if name not in scores:
                scores[name] = 0
            scores[name] = scores[name] + 1 / (k + places[name])
    order = sorted(scores)
    order.sort(key=scores.get, reverse=True)
    return [[name, float(scores[name])] for name in order]
''',
        """
from collections import Counter

def reciprocal_rank_fusion(rankings: list[list[str]], k: int) -> list[list]:
    fused = Counter()
    for ids in rankings:
        unique = []
        for x in ids:
            if x not in unique:
                unique.append(x)
        fused.update({x: 1.0 / (k + i + 1) for i, x in enumerate(unique)})
    pairs = [(-score, x) for x, score in fused.items()]
    pairs.sort()
    return [[x, -negative] for negative, x in pairs]
""",
        """
def reciprocal_rank_fusion(rankings, k):
    out = []
    for ranking in rankings:
        position = 0
        done = []
        while position < len(ranking):
            current = ranking[position]
            position += 1
            if current in done:
                continue
            done.append(current)
            for pair in out:
                if pair[0] == current:
                    pair[1] += 1 / (k + len(done))
                    break
            else:
                out.append([current, 1 / (k + len(done))])
    out.sort()
    out.sort(key=lambda p: p[1], reverse=True)
    return out
""",
    ),
    "parse_front_matter": (
        """
from datetime import date
import yaml

TEXTS = ["id", "title", "language", "scope", "status", "version"]

def parse_front_matter(text: str) -> dict[str, object]:
    lines = text.splitlines(keepends=True)
    if len(lines) == 0 or lines[0].rstrip() != "---":
        return {"fields": None, "body_start": 0}
    end = 1
    while end < len(lines) and lines[end].rstrip() != "---":
        end += 1
    if end == len(lines):
        raise ValueError("front matter: there is no second line of dashes")
    body_start = len("".join(lines[: end + 1]))
    try:
        data = yaml.safe_load("".join(lines[1:end]))
    except yaml.YAMLError:
        raise ValueError("front matter: this is not YAML")
    if type(data) is not dict:
        raise ValueError("front matter: no fields in here")
    result = {}
    for key in TEXTS:
        if data.get(key) is None:
            raise ValueError(f"{key}: is missing")
        if not isinstance(data[key], str):
            raise ValueError(f"{key}: is no text")
        result[key] = data[key]
    if result["status"] not in ["draft", "approved", "retired"]:
        raise ValueError("status: unknown status")
    if data.get("canonical") is None:
        raise ValueError("canonical: is missing")
    if not isinstance(data["canonical"], bool):
        raise ValueError("canonical: must be true or false")
    result["canonical"] = data["canonical"]
    for key in ["valid_from", "valid_until"]:
        if data.get(key) is None:
            if key == "valid_from":
                raise ValueError("valid_from: is missing")
            result[key] = None
        elif type(data[key]) is not date:
            raise ValueError(f"{key}: is no day")
        else:
            result[key] = data[key].isoformat()
    if result["valid_until"] and result["valid_until"] < result["valid_from"]:
        raise ValueError("valid_until: ends before it begins")
    result["product"] = data.get("product")
    if result["product"] is not None and not isinstance(result["product"], str):
        raise ValueError("product: is no text")
    for key in data:
        if key not in result:
            raise ValueError(f"{key}: nobody knows this field")
    return {"fields": result, "body_start": body_start}
""",
        '''
import datetime
import yaml

def is_day(value):
    return isinstance(value, datetime.date) and not isinstance(value, datetime.datetime)

def is_text(value):
    return isinstance(value, str)

RULES = {
    "id": (is_text, True),
    "title": (is_text, True),
    "language": (is_text, True),
    "scope": (is_text, True),
    "status": (lambda v: v in ("draft", "approved", "retired"), True),
    "version": (is_text, True),
    "canonical": (lambda v: v is True or v is False, True),
    "valid_from": (is_day, True),
    "valid_until": (is_day, False),
    "product": (is_text, False),
}

def split(text):
    """The YAML and the place where the body begins; None without front matter."""
    position, block = 0, []
    for number, line in enumerate(text.splitlines(True)):
        position += len(line)
        if number == 0:
            if line.rstrip() != "---":
                return None
        elif line.rstrip() == "---":
            return "".join(block), position
        else:
            block.append(line)
    if position == 0:
        return None
    raise ValueError("front matter: not closed")

def load(block):
    try:
        loaded = yaml.safe_load(block)
    except yaml.YAMLError as problem:
        raise ValueError("front matter: " + str(problem)) from problem
    if not isinstance(loaded, dict):
        raise ValueError("front matter: empty")
    return loaded

def parse_front_matter(text: str) -> dict[str, object]:
    found = split(text)
    if found is None:
        return dict(fields=None, body_start=0)
    loaded = load(found[0])
    unknown = [name for name in loaded if name not in RULES]
    if unknown:
        raise ValueError(str(unknown[0]) + ": unknown")
    for name, (accepts, needed) in RULES.items():
        value = loaded.setdefault(name, None)
        if value is None:
            if needed:
                raise ValueError(name + ": missing")
        elif not accepts(value):
            raise ValueError(name + ": wrong kind")
    first, last = loaded["valid_from"], loaded["valid_until"]
    if last is not None and last < first:
        raise ValueError("valid_until: too early")
    loaded["valid_from"] = str(first)
    loaded["valid_until"] = None if last is None else str(last)
    return dict(fields=loaded, body_start=found[1])
''',
        """
import re
from datetime import date, datetime
import yaml

def parse_front_matter(text: str) -> dict[str, object]:
    lines = text.splitlines(keepends=True)
    marks = [i for i, l in enumerate(lines) if l.rstrip() == "---"]
    if not marks or marks[0] != 0:
        return {"fields": None, "body_start": 0}
    if len(marks) < 2:
        raise ValueError("front matter: second --- not found")
    stop = marks[1]
    try:
        meta = yaml.safe_load("".join(lines[1:stop]))
    except Exception as e:
        raise ValueError("front matter: yaml says no") from e
    if not hasattr(meta, "keys"):
        raise ValueError("front matter: not a mapping")

    def need(name, kind):
        if name not in meta or meta[name] is None:
            raise ValueError(f"{name}: required")
        return maybe(name, kind)

    def maybe(name, kind):
        value = meta.pop(name, None)
        if value is not None:
            if not isinstance(value, kind) or isinstance(value, datetime):
                raise ValueError(f"{name}: expected {kind}")
        return value

    out = {name: need(name, str) for name in "id title language scope status version".split()}
    if not re.fullmatch("draft|approved|retired", out["status"]):
        raise ValueError("status: not allowed")
    out["canonical"] = need("canonical", bool)
    start = need("valid_from", date)
    finish = maybe("valid_until", date)
    out["product"] = maybe("product", str)
    if meta:
        raise ValueError(f"{next(iter(meta))}: not expected here")
    out["valid_from"] = start.isoformat()
    out["valid_until"] = finish and finish.isoformat()
    if finish and finish < start:
        raise ValueError("valid_until: before valid_from")
    return {"fields": out, "body_start": sum(len(l) for l in lines[: stop + 1])}
""",
        '''
import yaml
from datetime import date

ORDER = ("id", "title", "language", "scope", "status", "version", "canonical",
         "valid_from", "valid_until", "product")
KIND = dict.fromkeys(ORDER, str) | {"canonical": bool, "valid_from": date, "valid_until": date}
OPTIONAL = {"valid_until", "product"}

def check(field, value):
    """What is wrong with a value, or nothing."""
    if value is None:
        return "" if field in OPTIONAL else "is missing"
    if type(value) != KIND[field]:
        return "has the wrong type"
    if field == "status" and value not in {"draft", "approved", "retired"}:
        return "is none of draft, approved, retired"
    return ""

def parse_front_matter(text):
    head, *others = text.splitlines(keepends=True) or [""]
    if head.rstrip() != "---":
        return {"fields": None, "body_start": 0}
    inside = ""
    for line in others:
        if line.rstrip() == "---":
            break
        inside += line
    else:
        raise ValueError("front matter: runs to the end of the file")
    try:
        values = yaml.safe_load(inside)
    except yaml.YAMLError as err:
        raise ValueError("front matter: broken") from err
    if not isinstance(values, dict):
        raise ValueError("front matter: has no fields")
    for extra in set(values) - set(ORDER):
        raise ValueError(f"{extra}: unknown field")
    for field in ORDER:
        problem = check(field, values.get(field))
        if problem:
            raise ValueError(f"{field}: {problem}")
    until = values.get("valid_until")
    if until is not None and values["valid_from"] > until:
        raise ValueError("valid_until: lies before valid_from")
    plain = {f: values.get(f) for f in ORDER}
    for f in ("valid_from", "valid_until"):
        if isinstance(plain[f], date):
            plain[f] = plain[f].isoformat()
    return {"fields": plain, "body_start": len(head) + len(inside) + len(line)}
''',
    ),
}
"""Each way is another one."""

CONVERGING: dict[str, tuple[str, ...]] = {
    "chunk_text": (
        """
def chunk_text(text, size, overlap):
    if size <= 0 or overlap < 0 or overlap >= size:
        raise ValueError("wrong size or overlap")
    chunks = []
    step = size - overlap
    for i in range(0, len(text), step):
        chunk = text[i:i + size]
        chunks.append(chunk)
        if i + size >= len(text):
            break
    return chunks
""",
        """
def chunk_text(text, size, overlap):
    if not size > 0:
        raise ValueError("size")
    if not 0 <= overlap < size:
        raise ValueError("overlap")
    out = []
    for pos in range(0, len(text), size - overlap):
        end = pos + size
        out.append(text[pos:end])
        if end >= len(text):
            return out
    return out
""",
        """
def chunk_text(text, size, overlap):
    if size <= 0 or not (0 <= overlap < size):
        raise ValueError("bad arguments")
    result = []
    start = 0
    while start < len(text):
        end = start + size
        result.append(text[start:end])
        if end >= len(text):
            break
        start = end - overlap
    return result
""",
        """
def chunk_text(text, size, overlap):
    if size <= 0 or overlap < 0 or overlap >= size:
        raise ValueError("size and overlap do not fit")
    if text == "":
        return []
    parts = []
    start = 0
    step = size - overlap
    while True:
        parts.append(text[start:start + size])
        if start + size >= len(text):
            break
        start = start + step
    return parts
""",
    ),
    "bm25_scores": (
        """
import math
def bm25_scores(terms, passages):
    N = len(passages)
    average = sum(len(p) for p in passages) / N if N else 0
    scores = []
    for passage in passages:
        n = len(passage)
        score = 0.0
        for term in set(terms):
            f = passage.count(term)
            if f == 0:
                continue
            df = sum(1 for p in passages if term in p)
            idf = math.log(1 + (N - df + 0.5) / (df + 0.5))
            score += idf * f / (f + 1.2 * (0.25 + 0.75 * n / average))
        scores.append(score)
    return scores
""",
        """
from math import log
def bm25_scores(terms, passages):
    if not passages:
        return []
    N = len(passages)
    avg = sum([len(p) for p in passages]) / N
    result = []
    for p in passages:
        total = 0.0
        for t in set(terms):
            if t in p:
                f = p.count(t)
                df = 0
                for q in passages:
                    if t in q:
                        df += 1
                idf = log(1 + (N - df + 0.5) / (df + 0.5))
                total += idf * f / (f + 1.2 * (0.25 + 0.75 * len(p) / avg))
        result.append(total)
    return result
""",
        """
import math
def bm25_scores(terms, passages):
    lengths = [len(p) for p in passages]
    average = sum(lengths) / len(lengths) if lengths else 0
    unique = set(terms)
    df = {term: sum(term in p for p in passages) for term in unique}
    scores = []
    for p, n in zip(passages, lengths):
        s = 0.0
        for term in unique:
            f = p.count(term)
            if f:
                idf = math.log(1 + (len(passages) - df[term] + 0.5) / (df[term] + 0.5))
                s += idf * f / (f + 1.2 * (0.25 + 0.75 * n / average))
        scores.append(s)
    return scores
""",
        """
import math
def bm25_scores(terms, passages):
    n_passages = len(passages)
    average = 0
    for passage in passages:
        average += len(passage)
    if n_passages > 0:
        average = average / n_passages
    answer = []
    for passage in passages:
        score = 0
        for term in set(terms):
            if term not in passage:
                continue
            f = passage.count(term)
            df = len([p for p in passages if term in p])
            idf = math.log(1 + (n_passages - df + 0.5) / (df + 0.5))
            bottom = f + 1.2 * (0.25 + 0.75 * len(passage) / average)
            score += idf * f / bottom
        answer.append(float(score))
    return answer
""",
    ),
    "reciprocal_rank_fusion": (
        """
def reciprocal_rank_fusion(rankings, k):
    scores = {}
    for ranking in rankings:
        seen = set()
        rank = 1
        for doc in ranking:
            if doc in seen:
                continue
            seen.add(doc)
            scores[doc] = scores.get(doc, 0) + 1 / (k + rank)
            rank += 1
    return [[d, s] for d, s in sorted(scores.items(), key=lambda x: (-x[1], x[0]))]
""",
        """
def reciprocal_rank_fusion(rankings, k):
    scores = {}
    for ranking in rankings:
        seen = []
        for name in ranking:
            if name not in seen:
                seen.append(name)
                rank = len(seen)
                if name in scores:
                    scores[name] += 1 / (k + rank)
                else:
                    scores[name] = 1 / (k + rank)
    result = [[name, score] for name, score in scores.items()]
    result.sort(key=lambda pair: (-pair[1], pair[0]))
    return result
""",
        """
from collections import defaultdict
def reciprocal_rank_fusion(rankings, k):
    scores = defaultdict(float)
    for r in rankings:
        seen = set()
        for id in r:
            if id not in seen:
                seen.add(id)
                scores[id] += 1 / (k + len(seen))
    return sorted([[i, s] for i, s in scores.items()], key=lambda x: (-x[1], x[0]))
""",
        """
from collections import defaultdict
def reciprocal_rank_fusion(rankings, k):
    totals = defaultdict(float)
    for ranking in rankings:
        unique = list(dict.fromkeys(ranking))
        for rank, name in enumerate(unique, 1):
            totals[name] += 1 / (k + rank)
    pairs = [[name, total] for name, total in totals.items()]
    return sorted(pairs, key=lambda p: (-p[1], p[0]))
""",
    ),
}
"""The same obvious way, each written without a look at the others."""

RENAMED: tuple[tuple[str, int, str], ...] = (
    (
        "chunk_text",
        4,
        '''
def chunk_text(t, n: "window length", o):
    # My own idea: walk through the letters!
    if (n <= 0
            or o < 0
            or o >= n):
        raise ValueError("these two numbers cannot be right, sorry")

    answer = []   # here they go
    buf = ''
    new_ones = 0

    for c in t:
        """one letter"""
        buf += c; new_ones += 1
        if (len(buf) == n):
            answer.append(buf)
            buf = buf[n - o:]
            new_ones = 0   # start again

    # what is left
    if new_ones > 0: answer.append(buf)
    return (answer)
''',
    ),
    (
        "bm25_scores",
        2,
        '''
import math as m

k, b = 1.2, 0.75

def one(doc, query, docs, mean_length):
    """The score of one document"""
    s = 0
    for q in query:                 # every word
        if q in doc:
            tf = doc.count(q)
            l = (1 - b) + b * len(doc) / mean_length
            s = s + importance(q, docs) * (tf / (tf + k * l))
    return float(s)

def bm25_scores(terms, passages):
    q = list(dict.fromkeys(terms))
    n: int = 0
    for d in passages:
        n = n + len(d)
    return [
        one(d, q, passages, n / len(passages))
        for d in passages
    ]

def importance(word, docs):
    how_many = in_how_many(word, docs)
    return m.log(1 + (len(docs) - how_many + 0.5) / (how_many + 0.5))

def in_how_many(word, docs): return len([d for d in docs if word in d])
''',
    ),
    (
        "reciprocal_rank_fusion",
        2,
        """
def reciprocal_rank_fusion(rankings, k):
    # collect
    points = {}
    for table in map(ranks, rankings):
        for key in table:
            if key not in points: points[key] = 0
            points[key] = points[key] + 1 / (k + table[key])

    # sort: first by id, then by points (sort is stable)
    ids = sorted(points)
    ids.sort(key=points.get, reverse=True)
    return [[i, float(points[i])] for i in ids]


def ranks(ids: list) -> dict:
    r = {}
    for i in ids:
        if i not in r:
            r[i] = len(r) + 1
    return r
""",
    ),
    (
        "parse_front_matter",
        1,
        '''
from datetime import date, datetime
import datetime
import yaml

def get_yaml(b):
    try:
        d = yaml.safe_load(b)
    except yaml.YAMLError as e:
        raise ValueError("front matter: " + str(e)) from e
    if not isinstance(d, dict):
        raise ValueError("front matter: nothing there")
    return d

def find_block(s):
    offset, collected = 0, []
    for i, row in enumerate(s.splitlines(True)):
        offset += len(row)
        if i == 0:
            if row.rstrip() != "---":
                return None
        elif row.rstrip() == "---":
            return "".join(collected), offset
        else:
            collected.append(row)
    if offset == 0:
        return None
    raise ValueError("front matter: the second dashes are missing")

# the checks
def text_ok(x): return isinstance(x, str)
def date_ok(x): return isinstance(x, datetime.date) and not isinstance(x, datetime.datetime)

checks = {
    "id": (text_ok, True), "title": (text_ok, True), "language": (text_ok, True),
    "scope": (text_ok, True),
    "status": (lambda s: s in ("draft", "approved", "retired"), True), "version": (text_ok, True),
    "canonical": (lambda c: c is True or c is False, True), "valid_from": (date_ok, True),
    "valid_until": (date_ok, False), "product": (text_ok, False)}

def parse_front_matter(text):
    """Parses the front matter of a text."""
    r = find_block(text)
    if r is None:
        return dict(fields=None, body_start=0)
    d = get_yaml(r[0])
    bad = [k for k in d if k not in checks]
    if bad:
        raise ValueError(str(bad[0]) + ": what is this?")
    for k, (ok, must) in checks.items():
        v = d.setdefault(k, None)
        if v is None:
            if must:
                raise ValueError(k + ": not given")
        elif not ok(v):
            raise ValueError(k + ": bad value")
    a, z = d["valid_from"], d["valid_until"]
    if z is not None and z < a:
        raise ValueError("valid_until: before the start")
    d["valid_from"] = str(a)
    d["valid_until"] = None if z is None else str(z)
    return dict(fields=d, body_start=r[1])
''',
    ),
)
"""Exercise, the independent answer that was copied, the copy: other names, layout, comments and
messages, and the functions in another order."""

REWORKED: tuple[tuple[str, int, str], ...] = (
    (
        "chunk_text",
        4,
        """
def chunk_text(text, size, overlap):
    if size <= 0 or overlap < 0 or overlap >= size:
        raise ValueError("no")
    parts = []
    w = ""
    added = 0
    i = 0
    while i < len(text):
        w += text[i]
        added += 1
        if len(w) == size:
            parts.append(w)
            w = w[size - overlap :]
            added = 0
        i += 1
    if added > 0:
        parts.append(w)
    return parts
""",
    ),
    (
        "bm25_scores",
        4,
        """
import math

def bm25_scores(terms, passages):
    words = set(terms)
    tables = []
    having = {}
    length = 0
    for p in passages:
        t = {}
        for x in p:
            if x in words:
                t[x] = t.get(x, 0) + 1
        for x in t:
            having[x] = having.get(x, 0) + 1
        tables.append((len(p), t))
        length = length + len(p)
    scores = []
    for size, t in tables:
        score = 0.0
        for x in sorted(t):
            n = having[x]
            idf = math.log((len(passages) - n + 0.5) / (n + 0.5) + 1)
            mean = length / len(passages)
            f = t[x]
            score += idf * f / (f + 1.2 * (0.25 + 0.75 * size / mean))
        scores.append(score)
    return scores
""",
    ),
    (
        "reciprocal_rank_fusion",
        4,
        """
def reciprocal_rank_fusion(rankings, k):
    result = []
    for r in rankings:
        used = []
        for item in r:
            if item in used:
                continue
            used.append(item)
            for entry in result:
                if entry[0] == item:
                    entry[1] += 1 / (k + len(used))
                    break
            else:
                result.append([item, 1 / (k + len(used))])
    result.sort()
    result.sort(key=lambda e: e[1], reverse=True)
    return result
""",
    ),
    (
        "parse_front_matter",
        3,
        """
from datetime import date
import yaml

NAMES = ("id", "title", "language", "scope", "status", "version", "canonical",
         "valid_from", "valid_until", "product")
TYPES = dict.fromkeys(NAMES, str) | {"canonical": bool, "valid_from": date, "valid_until": date}
MAY_MISS = {"valid_until", "product"}

def wrong(name, v):
    if v is None:
        return "" if name in MAY_MISS else "missing"
    if type(v) != TYPES[name]:
        return "wrong type"
    if name == "status" and v not in {"draft", "approved", "retired"}:
        return "wrong status"
    return ""

def parse_front_matter(text):
    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return {"fields": None, "body_start": 0}
    n = 1
    block = ""
    while True:
        if n >= len(lines):
            raise ValueError("front matter: no end")
        if lines[n].rstrip() == "---":
            break
        block += lines[n]
        n += 1
    try:
        given = yaml.safe_load(block)
    except yaml.YAMLError as err:
        raise ValueError("front matter: yaml error") from err
    if not isinstance(given, dict):
        raise ValueError("front matter: nothing in it")
    for extra in set(given) - set(NAMES):
        raise ValueError(f"{extra}: not known")
    for name in NAMES:
        message = wrong(name, given.get(name))
        if message:
            raise ValueError(f"{name}: {message}")
    end = given.get("valid_until")
    if end is not None and end < given["valid_from"]:
        raise ValueError("valid_until: too soon")
    out = {f: given.get(f) for f in NAMES}
    for f in ("valid_from", "valid_until"):
        if isinstance(out[f], date):
            out[f] = out[f].isoformat()
    start = len(lines[0]) + len(block) + len(lines[n])
    return {"fields": out, "body_start": start}
""",
    ),
)
"""Here a loop was rewritten too, a condition turned, a step taken apart."""

COURSE = [
    *(
        Answer(name, f"own-{n}", text)
        for name, found in INDEPENDENT.items()
        for n, text in enumerate(found)
    ),
    *(
        Answer(name, f"plain-{n}", text)
        for name, found in CONVERGING.items()
        for n, text in enumerate(found)
    ),
    *(Answer(name, "renamed", text) for name, _, text in RENAMED),
    *(Answer(name, "reworked", text) for name, _, text in REWORKED),
]
COPIED = {(name, f"own-{n}", "renamed") for name, n, _ in RENAMED} | {
    (name, f"own-{n}", "reworked") for name, n, _ in REWORKED
}
# Both disguises of chunk_text were made from the same answer.
ALIKE = COPIED | {("chunk_text", "renamed", "reworked")}
LONG = INDEPENDENT["parse_front_matter"][1]


def found(comparison: Comparison) -> set[tuple[str, str, str]]:
    return {(pair.exercise, pair.left.student, pair.right.student) for pair in comparison.pairs}


def form(source: str, name: str = "f") -> tuple[tuple[str, ...], ...]:
    return shape(pieces(source, name))


def written(answer: Answer) -> Any:
    namespace: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(answer.source, "<answer>", "exec"), namespace)
    return namespace[answer.exercise]


@pytest.mark.slow
@pytest.mark.parametrize("answer", COURSE, ids=lambda one: f"{one.exercise}-{one.student}")
def test_the_answers_compared_here_are_right(answer: Answer) -> None:
    result = check_function(ALL[answer.exercise], written(answer))
    assert result.outcome is Outcome.RIGHT, result


# --- found, and not found ------------------------------------------------------------------------


@pytest.mark.parametrize("threshold", [0.3, 0.4, 0.5, 0.6])
def test_copies_are_found_and_nothing_else_over_a_wide_range_of_thresholds(
    threshold: float,
) -> None:
    assert found(compare(COURSE, threshold)) == ALIKE


@pytest.mark.parametrize(("name", "number", "copy"), RENAMED, ids=[one[0] for one in RENAMED])
def test_names_layout_comments_and_order_of_functions_change_nothing(
    name: str, number: int, copy: str
) -> None:
    original = Answer(name, "a", INDEPENDENT[name][number])
    (pair,) = compare([original, Answer(name, "b", copy)]).pairs
    assert pair.similarity == 1.0
    assert pair.shared >= LEAST_SHARED


@pytest.mark.parametrize(("name", "number", "copy"), REWORKED, ids=[one[0] for one in REWORKED])
def test_a_reworked_copy_is_found_in_part(name: str, number: int, copy: str) -> None:
    original = Answer(name, "a", INDEPENDENT[name][number])
    (pair,) = compare([original, Answer(name, "b", copy)]).pairs
    assert 0.6 <= pair.similarity < 1.0


def test_independent_answers_are_not_alike_two_by_two() -> None:
    """In a class of two, no idiom is common: only the starter and the solution are discounted."""
    for answers in (INDEPENDENT, CONVERGING):
        for name, sources in answers.items():
            for one, other in combinations(sources, 2):
                assert not compare([Answer(name, "a", one), Answer(name, "b", other)], 0.4).found


@pytest.mark.parametrize("name", ALL)
def test_untouched_starters_are_never_alike(name: str) -> None:
    starter = ALL[name].starter
    comparison = compare([Answer(name, "a", starter), Answer(name, "b", f"{starter}\n# mine\n")])
    assert (comparison.found, comparison.left_out) == (0, {(name, LeftOut.UNTOUCHED): 2})


@pytest.mark.parametrize("name", ALL)
def test_copies_of_the_model_solution_are_counted_and_no_pair(name: str) -> None:
    solution = ALL[name].solution
    comparison = compare([Answer(name, "a", solution), Answer(name, "b", f"{solution}# mine\n")])
    assert (comparison.found, comparison.left_out) == (0, {(name, LeftOut.SOLUTION): 2})


def test_a_changed_model_solution_is_no_pair_either() -> None:
    source = ALL["rank_hits"].solution + "    print('done')\n"
    comparison = compare([Answer("rank_hits", "a", source), Answer("rank_hits", "b", source)])
    assert comparison.left_out == {("rank_hits", LeftOut.TOO_LITTLE): 2}


@pytest.mark.parametrize(
    "source",
    [
        "def f(a):\n    b = a + 1\n    c = b * 2\n    return c\n",
        "def f(text):\n    words = text.split()\n    words.sort()\n    return ' '.join(words)\n",
        # dense, but no more than three statements
        "def f(a, b):\n    x = [p * q for p, q in zip(sorted(a), sorted(b)) if p > 0 and q > 0]\n"
        "    y = {k: max(v) - min(v) for k, v in a.items() if len(v) > 2 and k not in b}\n"
        "    return sum(x) + len(y) / (1 + max(x, default=0)) - min(y.values(), default=1)\n",
    ],
)
def test_short_functions_are_never_compared(source: str) -> None:
    comparison = compare([Answer("f", "a", source), Answer("f", "b", source)])
    assert comparison.left_out == {("f", LeftOut.TOO_LITTLE): 2}


def test_padding_does_not_lower_the_similarity() -> None:
    padded = f"{LONG}\ndef unused(a):\n    return [b for b in a if b > 1]\n" + "\n".join(
        f"x{n} = {n}" for n in range(200)
    )
    inside = LONG.replace(
        "    return dict(fields=loaded",
        "    for i in range(9):\n        i -= 1\n    return dict(fields=loaded",
    )
    for source in (padded, inside):
        (pair,) = compare(
            [Answer("parse_front_matter", "a", LONG), Answer("parse_front_matter", "b", source)]
        ).pairs
        assert pair.similarity > 0.95


def test_a_file_that_holds_many_answers_is_compared_by_the_one_in_question() -> None:
    everything = "\n".join(sources[1] for sources in INDEPENDENT.values())
    alone = INDEPENDENT["bm25_scores"][1]
    pairs = compare(
        [Answer("bm25_scores", "a", everything), Answer("bm25_scores", "b", alone)]
    ).pairs
    assert [pair.similarity for pair in pairs] == [1.0]


def test_one_student_is_never_alike_to_themselves() -> None:
    name, number, copy = RENAMED[0]
    answers = [Answer(name, "a", INDEPENDENT[name][number]), Answer(name, "a", copy)]
    assert compare(answers).found == 0


def test_an_answer_given_twice_counts_once() -> None:
    answers = [Answer("f", student, LONG) for student in "abab"]
    assert (compare(answers).found, compare(answers).answers) == (1, 2)


def test_answers_to_different_exercises_are_never_compared() -> None:
    assert compare([Answer("f", "a", LONG), Answer("g", "b", LONG)]).found == 0


# --- common idiom --------------------------------------------------------------------------------

_SHARED = """\
    total = 0
    for x in a:
        if x > 0 and x not in b:
            total += len(x.strip()) * 2
        else:
            total = min(total, x) - sum(b.values())
"""


def with_own_end(number: int) -> str:
    """The shared beginning, and an end that nobody else has."""
    own = "".join(
        f"    y = y.step_{number}_{n}(a[{n}], total) + y.last_{number}_{n}(b)\n" for n in range(6)
    )
    return f"def f(a, b):\n{_SHARED}    y = a\n{own}    return y\n"


def shared_by(count: int, others: int) -> Comparison:
    """A class in which `count` answers share a beginning and `others` share nothing."""
    alone = [with_own_end(n).replace(_SHARED, "") for n in range(count, count + others)]
    sources = [with_own_end(n) for n in range(count)] + alone
    comparison = compare([Answer("f", f"{n:03}", text) for n, text in enumerate(sources)], 0.1)
    assert comparison.left_out == {}
    return comparison


def test_what_more_than_five_of_a_small_class_wrote_is_idiom() -> None:
    assert shared_by(NEVER_COMMON, 3).found == 10
    assert shared_by(NEVER_COMMON + 1, 3).found == 0


def test_what_more_than_a_quarter_wrote_is_idiom() -> None:
    assert shared_by(10, 30).found == 45
    assert shared_by(11, 30).found == 0


def test_what_more_than_25_wrote_is_idiom_in_the_largest_class() -> None:
    assert shared_by(ALWAYS_COMMON, 180).found == 300
    assert shared_by(ALWAYS_COMMON + 1, 180).found == 0


def test_a_source_that_half_the_class_handed_in_stays_visible() -> None:
    """What is the same but for names counts as one answer, so it cannot become idiom."""
    comparison = compare([Answer("f", f"{n:03}", f"{LONG}# {n}") for n in range(40)])
    assert comparison.found == 780
    assert [len(one.students) for one in comparison.clusters] == [40]


# --- what comes out ------------------------------------------------------------------------------


def test_pairs_come_strongest_first_then_by_name_and_no_more_than_asked() -> None:
    everything = compare(COURSE).pairs
    keys = [
        (-pair.similarity, -pair.shared, pair.exercise, pair.left.student) for pair in everything
    ]
    assert keys == sorted(keys)
    few = compare(COURSE, most=3)
    assert (few.pairs, few.found) == (everything[:3], len(everything))
    assert compare(COURSE, most=0).pairs == ()


def test_the_order_of_the_answers_changes_nothing(tmp_path: Path) -> None:
    shuffled = list(COURSE)
    Random(7).shuffle(shuffled)
    assert compare(shuffled) == compare(COURSE)
    pages = [
        write_similarity(compare(answers), tmp_path / str(n)).read_bytes()
        for n, answers in enumerate((COURSE, shuffled))
    ]
    assert pages[0] == pages[1]


def test_another_process_finds_the_same() -> None:
    """Hashes that change from process to process would give other fingerprints."""
    code = (
        "import sys, json; from classroom.grading.reports.winnowing import *\n"
        "print(json.dumps(sorted(fingerprints(shape(pieces(sys.stdin.read(), 'f'))))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        input=LONG,
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "5"},
    )
    assert json.loads(done.stdout) == sorted(fingerprints(form(LONG)))


def test_three_who_share_a_source_are_a_group() -> None:
    students = [Answer("f", name, f"{LONG}# {name}") for name in "cab"]
    assert compare(students).clusters == (Cluster("f", ("a", "b", "c"), 3),)
    assert compare(students[:2]).clusters == ()


def test_two_groups_become_one_through_a_link() -> None:
    def joined(*parts: int) -> str:
        return "def f(a):\n" + "".join(
            f"    for x in a.part_{part}_{n}(1, 2):\n"
            f"        if x.ready_{part}_{n} > a.level_{part}_{n}(2):\n"
            f"            a.send_{part}_{n}(x, x.name_{part}_{n}[n:], len(x) * a.rate)\n"
            for part in parts
            for n in range(4)
        )

    texts = {"a": joined(1, 2), "b": joined(2, 3), "c": joined(3, 4), "d": joined(5, 6)}
    comparison = compare([Answer("f", name, text) for name, text in texts.items()], 0.3)
    assert found(comparison) == {("f", "a", "b"), ("f", "b", "c")}
    assert comparison.clusters == (Cluster("f", ("a", "b", "c"), 2),)


def test_students_alike_in_several_exercises_are_named() -> None:
    answers = [Answer(name, student, LONG) for name in ("g", "f") for student in "ba"]
    alone = [Answer("h", "a", LONG), Answer("h", "c", LONG)]
    assert compare([*answers, *alone]).repeated == (Repeated("a", "b", ("f", "g")),)


@pytest.mark.parametrize("threshold", [0, -0.1, 1.01, float("nan")])
def test_a_threshold_that_is_no_share_is_refused(threshold: float) -> None:
    with pytest.raises(LabError, match="threshold is a share above 0"):
        compare([], threshold)


def test_the_cells_of_a_submission_become_answers() -> None:
    cells = (
        Cell(1, "import math"),
        Cell(2, "def f(): ...", ("f",)),
        Cell(3, "def g(): ...\ndef h(): ...", ("g", "h")),
        Cell(4, "def i(): ...", ("f",)),
    )
    assert answers_in("ann", Triaged(cells)) == [
        Answer("f", "ann", "def f(): ...\ndef i(): ..."),
        Answer("g", "ann", "def g(): ...\ndef h(): ..."),
        Answer("h", "ann", "def g(): ...\ndef h(): ..."),
    ]


# --- the shape of an answer ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a): return a", "def f(b: int) -> int:\n    '''Doc.'''\n    return b  # b"),
        ("def f(a):\n    x = 1\n    return x", "def f(a):\n    x: int = 2\n    pass\n    return x"),
        (
            "import math\ndef f(a): return math.log(a)",
            "import math as m\ndef f(a): return m.log(a)",
        ),
        (
            "from math import log\ndef f(a): return log(a)",
            "from math import log as ln\ndef f(a): return ln(a)",
        ),
        ("def f(a): raise E('x')", "def f(a): raise E(f'{a!r} is wrong')"),
        ("def g(a): return a\ndef f(a): return g(a)", "def f(a): return h(a)\ndef h(a): return a"),
        ("def f(a): return a\nprint(f(1))", "def f(a): return a\nassert f(2)"),
        (
            "class C:\n def m(s): s.x = 1\ndef f(): return C().m()",
            "class D:\n def n(s): s.y = 1\ndef f(): return D().n()",
        ),
        (
            "def f():\n try: g()\n except E as e: raise X from e",
            "def f():\n try: g()\n except E as problem: raise X from problem",
        ),
        (
            "def f(a):\n match a:\n  case [x, *y]: return x",
            "def f(a):\n match a:\n  case [p, *q]: return p",
        ),
    ],
)
def test_a_disguise_does_not_change_the_shape(one: str, other: str) -> None:
    assert form(one) == form(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("def f(a): return len(a)", "def f(a): return max(a)"),
        ("def f(a): return a.pop()", "def f(a): return a.sort()"),
        ("def f(a): return a + 1", "def f(a): return a - 1"),
        ("def f(a): return True", "def f(a): return False"),
        ("def f(a): return 1", "def f(a): return '1'"),
        ("def f(a):\n for x in a: g(x)", "def f(a):\n while a: g(a)"),
    ],
)
def test_what_the_code_does_stays_in_the_shape(one: str, other: str) -> None:
    assert form(one) != form(other)


def test_definitions_are_no_statements() -> None:
    assert statements(form("def f(a):\n    b = a\n    if b:\n        return 1\n    return 2")) == 4


class _Renamed(ast.NodeTransformer):
    """All names that an answer binds, changed; `prefix` is nobody's name."""

    def __init__(self, tree: ast.Module, prefix: str) -> None:
        self.prefix = prefix
        self.bound = {
            node.id
            for node in ast.walk(tree)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        } | {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
        self.bound |= {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.ExceptHandler) and node.name
        }

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.Name(self._new(node.id), node.ctx)

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(self._new(node.arg))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        node.name = node.name and self._new(node.name)
        return self.generic_visit(node)

    def _new(self, name: str) -> str:
        return f"{self.prefix}_{name}" if name in self.bound else name


some_answer = st.sampled_from(COURSE)


@given(answer=some_answer, prefix=st.from_regex(r"[a-z]{3,9}", fullmatch=True))
def test_renaming_all_local_names_changes_nothing(answer: Answer, prefix: str) -> None:
    tree = ast.parse(answer.source)
    renamed = ast.unparse(_Renamed(tree, prefix).visit(tree))
    assert renamed != answer.source
    assert form(renamed, answer.exercise) == form(answer.source, answer.exercise)


@given(st.lists(some_answer, min_size=2, max_size=6), st.sampled_from((0.01, 0.3, 0.9)))
def test_similarity_is_symmetric_and_a_share(answers: list[Answer], threshold: float) -> None:
    comparison = compare(answers, threshold)
    swapped = compare(reversed(answers), threshold)
    assert comparison == swapped
    for pair in comparison.pairs:
        assert threshold <= pair.similarity <= 1
        assert pair.left.student < pair.right.student


nodes = st.lists(st.sampled_from("abc"), max_size=60).map(tuple)


@given(nodes, nodes, st.lists(st.sampled_from("abcd"), min_size=GRAM + WINDOW - 1, max_size=20))
def test_what_is_long_enough_and_shared_is_found_for_certain(
    before: tuple[str, ...], after: tuple[str, ...], shared: list[str]
) -> None:
    """The guarantee of winnowing: a shared run of GRAM + WINDOW - 1 gives a shared fingerprint."""
    assert fingerprints(((*before, *shared),)) & fingerprints(((*shared, *after),))


@given(nodes)
def test_fingerprints_are_hashes_of_the_runs(labels: tuple[str, ...]) -> None:
    """The rolling hash of a run is the hash of that run alone, wherever it stands."""
    grams = Piece(labels).grams()
    alone = [Piece(labels[n : n + GRAM]).grams()[0] for n in range(len(labels) - GRAM + 1)]
    assert grams == alone
    assert fingerprints((labels,)) <= all_grams((labels,))


# --- matching lines ------------------------------------------------------------------------------


def parts(one: str, other: str, ignored: frozenset[int] = frozenset()) -> list[Part]:
    return list(matching_lines(pieces(one, "f"), pieces(other, "f"), ignored))


FIRST = "def g(a):\n    b = a.one(1, 2)\n    return [b.two(x) for x in a if x > 1]\n"
SECOND = "def f(a):\n    c = g(a)\n    while c:\n        c.pop()\n        c = c.three(len(a))\n"


def test_matching_lines_cross_where_functions_were_swapped() -> None:
    assert parts(FIRST + SECOND, f"# new\n{SECOND}\n{FIRST}") == [
        Part((1, 3), (8, 10)),
        Part((4, 8), (2, 6)),
    ]


def test_lines_that_do_not_match_are_in_no_part() -> None:
    changed = SECOND.replace("    while c:\n", "    while c:\n        print({1: 2}, [3])\n")
    assert parts(SECOND, SECOND) == [Part((1, 5), (1, 5))]
    assert all(not part.right[0] <= 4 <= part.right[1] for part in parts(SECOND, changed))
    assert parts(SECOND, "def f(a): return a") == []
    assert parts(SECOND, SECOND, all_grams(form(SECOND))) == []


def test_equal_functions_match_one_another_in_turn() -> None:
    twice = FIRST + FIRST.replace("def g", "def h") + "def f(a): return g(a) + h(a)\n"
    assert parts(twice, f"# new\n\n{twice}") == [Part((1, 7), (3, 9))]


def test_repetition_is_matched_in_bounded_time() -> None:
    def repeated(name: str) -> str:
        same = "    a = g(a, h(a), 1)\n" * 3
        return "def f(a):\n" + "".join(f"{same}    {name}{n}.{name}{n}()\n" for n in range(450))

    before = process_time()
    assert parts(repeated("x"), repeated("y"))
    assert process_time() - before < 5, "ten times what it takes; without a bound it takes more"


# --- hostile answers -----------------------------------------------------------------------------

HOSTILE = {
    "no Python": "def f(:",
    "NUL": "def f(): return 1\0",
    "half a surrogate pair": "x = '\ud800'",
    "brackets": "(" * 30_000,
    "signs": "x = " + "-" * 90_000 + "1",
    "sum": "x = " + "1+" * 45_000 + "1",
    "attributes": "x = x" + ".a" * 40_000,
    "elif": "if x:\n a\n" + "elif x:\n a\n" * 5_000,
    "too many characters": "#" * (MOST_CHARACTERS + 1),
    "too many nodes": "def f():\n" + " x=1\n" * 9_000,
}


@pytest.mark.parametrize("source", HOSTILE.values(), ids=HOSTILE)
def test_what_cannot_be_read_is_left_out_and_counted(source: str) -> None:
    good = [Answer("f", "a", LONG), Answer("f", "b", LONG)]
    comparison = compare([*good, Answer("f", "c", source)])
    assert comparison.left_out == {("f", LeftOut.UNREADABLE): 1}
    assert (comparison.answers, found(comparison)) == (3, {("f", "a", "b")})


def test_an_odd_escape_is_no_news(recwarn: pytest.WarningsRecorder) -> None:
    pieces("x = '\\d'", "f")
    assert not recwarn.list


# --- the page ------------------------------------------------------------------------------------


def page_of(folder: Path, answers: list[Answer], **options: Any) -> str:
    return write_similarity(compare(answers, **options), folder).read_text(encoding="utf-8")


def test_the_page_says_first_that_it_is_no_verdict(tmp_path: Path) -> None:
    text = page_of(tmp_path, [])
    assert text.index("never a verdict") < text.index("cannot tell") < text.index("<dl")
    assert "No two answers are similar enough" in text
    assert (tmp_path / "similarity.html").is_file()


def test_the_page_shows_both_answers_with_their_matching_lines(tmp_path: Path) -> None:
    name, number, copy = RENAMED[2]
    text = page_of(
        tmp_path, [Answer(name, "Ann", INDEPENDENT[name][number]), Answer(name, "Bo", copy)]
    )
    assert "<b>100 %</b>" in text
    for line in (
        '<tr class="alike"><td class="place part">a</td><td class="place">4</td>'
        '<td class="line">    places = {}</td></tr>',
        '<tr class="alike"><td class="place part">a</td><td class="place">17</td>'
        '<td class="line">    r = {}</td></tr>',
        '<tr><td class="place part"></td><td class="place">14</td><td class="line"></td></tr>',
    ):
        assert line in text


def test_the_page_counts_what_was_left_out_and_what_is_not_shown(tmp_path: Path) -> None:
    solution = Answer("cosine", "c", ALL["cosine"].solution)
    text = page_of(tmp_path, [*COURSE, solution, Answer("f", "x", "def")], most=4)
    hidden = len(ALIKE) - 4
    assert f"On this page are the 4 strongest pairs; {hidden} others are not shown" in text
    assert f"<dt>Answers</dt><dd>{len(COURSE) + 2}</dd>" in text
    assert f"<dt>Compared</dt><dd>{len(COURSE)}</dd>" in text
    assert "Left out: no Python that can be read, or too large</dt><dd>1</dd>" in text
    assert '<code>cosine</code></td><td class="number">1 of 1</td><td><bdi>c</bdi></td>' in text
    assert (
        text.index("<h2>Groups") < text.index("<h2>Alike more than once") < text.index("<h2>Pairs")
    )


EVIL = "<script>alert('x')</script>\u202e"


def test_names_and_code_cannot_break_out(tmp_path: Path) -> None:
    source = LONG.replace('": unknown"', f'": {EVIL}"') + f"# {EVIL}"
    answers = [Answer(EVIL, f"{EVIL}{student}", source) for student in "abc"]
    answers += [Answer("f", f"{EVIL}{student}", source) for student in "abc"]
    text = page_of(tmp_path, answers)
    assert "<script" not in text
    assert "\u202e" not in text
    assert escape("<script>") in text
    assert text.count("\\u202e") > 6


def test_a_long_answer_is_shown_in_part(tmp_path: Path) -> None:
    body = "".join(f"    a = a.m{n}(1, {'2, ' * 80})\n" for n in range(150))
    source = f"def f(a):\n{body}"
    text = page_of(tmp_path, [Answer("f", "a", source), Answer("f", "b", source + "# b")])
    assert text.count('<tr class="alike">') <= 2 * MOST_LINES
    assert f"{152 - MOST_LINES} lines" in text
    assert len(re.findall("2,? ?…</td>", text)) == 2 * (MOST_LINES - 1)


def test_a_class_of_copies_gives_a_page_that_can_be_read(tmp_path: Path) -> None:
    text = page_of(tmp_path, [Answer("f", f"{n:03}", f"{LONG}#{n}") for n in range(60)])
    assert "1,770 of 1,770" in text
    assert "and 20 more" in text
    assert "100 strongest pairs; 1,670 others are not shown" in text


def test_a_group_shows_its_strongest_pair_and_folds_the_others(tmp_path: Path) -> None:
    answers = [Answer("f", name, f"{LONG}# {name}") for name in "abc"]
    answers += [Answer("g", name, f"{LONG}# {name}") for name in "de"]
    text = page_of(tmp_path, answers)
    groups, pairs = text[text.index("<h2>Groups") :].split("<h2>Pairs")
    before, folded = groups.split("<summary>2 more pairs of these groups</summary>")
    assert before.count("<summary><b>100 %") == 1
    assert "<bdi>a</bdi> and <bdi>b</bdi> <span" in before
    assert folded.count("<summary><b>100 %") == 2
    assert pairs.count("<summary><b>100 %") == 1
    assert "<bdi>d</bdi> and <bdi>e</bdi>" in pairs
    assert "Those in no group" in pairs


def test_a_large_group_does_not_hide_the_pairs_outside() -> None:
    group = [Answer("f", f"{n:03}", f"{LONG}#{n}") for n in range(12)]
    pair = [Answer("g", name, f"{LONG}#{name}") for name in "xy"]
    comparison = compare([*group, *pair], most=3)
    assert comparison.found == 67
    assert ("g", "x", "y") in found(comparison)
    assert ("f", "000", "001") in found(comparison)
    assert len(comparison.pairs) == 3


def of_stage(stage: int) -> list[str]:
    return [exercise.id for exercise in ALL.values() if exercise.stage == stage]


def test_who_handed_in_the_model_solution_is_named_whole_assignments_first(tmp_path: Path) -> None:
    first, *others = of_stage(2)
    whole = [Answer(name, "zoe", f"{ALL[name].solution}# mine") for name in (first, *others)]
    part = Answer(first, "ann", ALL[first].solution)
    own = Answer(first, "bo", LONG)
    comparison = compare([part, *whole, own])
    assert comparison.solutions == (
        SameAsSolution("zoe", "ps02_chunking", (first, *others), 1 + len(others)),
        SameAsSolution("ann", "ps02_chunking", (first,), 1 + len(others)),
    )
    assert [one.whole for one in comparison.solutions] == [True, False]
    text = write_similarity(comparison, tmp_path).read_text("utf-8")
    table, by_exercise = text.split("<caption>By exercise</caption>")
    assert "<code>ps02_chunking</code></td><td><bdi>zoe</bdi></td>" in table
    assert "<bdi>ann</bdi>" not in table
    found = "2 of 3</td><td><bdi>ann</bdi>, <bdi>zoe</bdi></td>"
    assert f'<code>{first}</code></td><td class="number">{found}' in by_exercise


def test_the_starter_of_a_whole_assignment_is_no_model_solution() -> None:
    answers = [Answer(name, "ann", ALL[name].starter) for name in of_stage(2)]
    assert compare(answers).solutions == ()


def test_the_page_says_what_many_is(tmp_path: Path) -> None:
    said = (
        "many answers hold: more than 5, and more than 25 % of the distinct ones, or more than 25."
    )
    assert said in page_of(tmp_path, [])
