"""Give a corpus a fingerprint

`documents` lists pairs of an id and a content hash; each may be any text, and no id comes twice.
Return a SHA-256 over all of it, as 64 hexadecimal digits: equal for two lists with the same pairs
in whatever order, and different as soon as an id or a hash is another one, is added, or is missing.
How you write the pairs down before hashing is yours to choose. Each case gives two lists and asks
whether their fingerprints are equal.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from random import Random
from typing import Any

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Function, Strategy, case
from classroom.runtime.serialise import same, to_plain
from labkit.documents import corpus_hash


def fingerprint(documents: list[list[str]]) -> str:
    """A SHA-256 (64 hexadecimal digits) over [id, content hash] pairs, whatever their order."""
    import hashlib
    import json

    return hashlib.sha256(json.dumps(sorted(documents)).encode()).hexdigest()


def _by_labkit(documents: list[list[str]]) -> str:
    return corpus_hash((name, content) for name, content in documents)


def order_counts(documents: list[list[str]]) -> str:
    """The order of the documents changes the fingerprint, although the corpus is the same."""
    return _sha256(json.dumps(documents))


def joined_without_a_border(documents: list[list[str]]) -> str:
    """Two different corpora run together into one text: an id and its hash need a border."""
    return _sha256("".join(name + content for name, content in sorted(documents)))


def joined_with_a_separator(documents: list[list[str]]) -> str:
    """An id that holds your separator imitates a border: quote each part, for example as JSON."""
    return _sha256("\n".join(f"{name}:{content}" for name, content in sorted(documents)))


def contents_left_out(documents: list[list[str]]) -> str:
    """A changed document leaves the fingerprint as it was: only the ids are in it."""
    return _sha256(json.dumps(sorted(name for name, _ in documents)))


def ids_left_out(documents: list[list[str]]) -> str:
    """A document under another id leaves the fingerprint as it was: only the contents count."""
    return _sha256(json.dumps(sorted(content for _, content in documents)))


def sorted_apart(documents: list[list[str]]) -> str:
    """Two documents that swap their contents go unnoticed: sort the pairs, not ids and hashes."""
    names, contents = ([pair[i] for pair in documents] for i in (0, 1))
    return _sha256(json.dumps([sorted(names), sorted(contents)]))


def built_in_hash(documents: list[list[str]]) -> str:
    """This is no SHA-256 in 64 hexadecimal digits; Python's hash() changes with every run."""
    return hex(hash(json.dumps(sorted(documents))))


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _compared(function: Function, arguments: Arguments) -> Any:
    """The harness: two corpora, and whether their fingerprints are equal."""
    first, second = (to_plain(function(documents)) for documents in arguments)
    hexadecimal = all(
        isinstance(value, str) and re.fullmatch(r"[0-9a-f]{64}", value) for value in (first, second)
    )
    return {"equal": same(first, second), "64 hexadecimal digits": hexadecimal}


_KINDS = (
    "same",
    "reversed",
    "content",
    "renamed",
    "swapped",
    "shorter",
    "border",
    *(f"imitated {s}{t}" for s in (":", " ", "=", "|", "\t", ",", "", "\0") for t in "\n,;|"),
)


def _two_corpora(count: int, kind: str, name: str = "a") -> Arguments:
    """A corpus of `count` documents, and another one that relates to it as `kind` says."""
    first = [[f"{name}{i}", f"{i}"] for i in range(count)]
    second = [list(pair) for pair in first]
    if kind == "reversed":
        second.reverse()
    elif kind == "content" and count:
        second[-1][1] += "!"
    elif kind == "renamed" and count:
        second[0][0] += "!"
    elif kind == "swapped" and count > 1:
        second[0][1], second[1][1] = second[1][1], second[0][1]
    elif kind == "shorter":
        second = second[1:]
    elif kind == "border" and count:
        second[0] = [name, f"0{second[0][1]}"]
    elif kind.startswith("imitated") and count > 1:
        inner, between = kind[9:-1], kind[-1]
        (id_1, hash_1), (id_2, hash_2) = first[:2]
        second[:2] = [[f"{id_1}{inner}{hash_1}{between}{id_2}", hash_2]]
    return first, second


def _hidden_corpora(random: Random) -> Iterator[Arguments]:
    yield [], []
    yield [], [["", ""]]
    yield _two_corpora(3, "reversed", "été")
    yield _two_corpora(2, "swapped", "b")
    yield _two_corpora(3, "renamed", "b")
    yield _two_corpora(2, "border", "b")
    yield _two_corpora(3, "imitated :\n", "b")
    yield _two_corpora(1, "content", "b")
    for _ in range(24):
        first, second = _two_corpora(
            random.randint(1, 5), random.choice(_KINDS), random.choice("cdefgh")
        )
        random.shuffle(first)
        yield first, second


def _any_corpora() -> Strategy:
    return st.tuples(st.integers(0, 3), st.sampled_from(_KINDS)).map(
        lambda drawn: _two_corpora(*drawn)
    )


EXERCISE = Exercise(
    model_solution=fingerprint,
    reference=_by_labkit,
    cases=(
        case("the same in another order", [["a", "1"], ["b", "2"]], [["b", "2"], ["a", "1"]]),
        case("a document has changed", [["a", "1"]], [["a", "2"]]),
        case("two have swapped contents", [["a", "1"], ["b", "2"]], [["a", "2"], ["b", "1"]]),
        case("a letter moved over the border", [["ab", "c"]], [["a", "bc"]]),
        case("an id that imitates a border", [["a", "1"], ["b", "2"]], [["a:1\nb", "2"]]),
        case("the same content under another id", [["a", "1"]], [["b", "1"]]),
    ),
    hidden=_hidden_corpora,
    strategy=_any_corpora,
    hints=(
        "What must not matter? Get rid of it first: sort a copy of the list.",
        "Which text do you hash? Find two different lists that would give the same text.",
        "`json.dumps` quotes every part, so no id can look like the end of one.",
        "`hashlib.sha256(text.encode()).hexdigest()` of `json.dumps(sorted(documents))` will do.",
    ),
    off_limits=("labkit.documents",),
    place=3,
    points=4,
    minutes=15,
    harness=_compared,
    written=lambda pair: f"fingerprint({pair[0]}) == fingerprint({pair[1]})",
)
