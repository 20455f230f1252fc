"""Stage 01: documents under governance."""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from random import Random
from typing import TYPE_CHECKING, Any

from classroom.exercise import Arguments, Case, Exercise, Function, cases, mistakes
from classroom.inside.plain import same, to_plain
from labkit.documents import check_metadata, corpus_hash, split_front_matter
from labkit.documents.front_matter import load_yaml
from labkit.text import normalise
from labkit.types import DocumentError

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy


# --- normalise_text ------------------------------------------------------------------------------

BOM = "\ufeff"


def normalise_text(text: str) -> str:
    return normalise(text)


def mark_kept(text: str) -> str:
    """A byte-order mark at the start is kept: the first word of the file will never be found."""
    return BOM * text.startswith(BOM) + normalise(text)


def mark_removed_everywhere(text: str) -> str:
    """U+FEFF is removed inside the text too: only at the very start is it a byte-order mark."""
    return normalise(text.replace(BOM, ""))


def lone_return_kept(text: str) -> str:
    """A lone CR is still in the text: CRLF is one line end, and CR alone is one as well."""
    return _nfc(text.removeprefix(BOM).replace("\r\n", "\n"))


def line_ends_doubled(text: str) -> str:
    """CRLF becomes two line ends: replace the pair before you replace the single CR."""
    return _nfc(text.removeprefix(BOM).replace("\r", "\n"))


def not_composed(text: str) -> str:
    """Letters with accents may still stand in two code points: compose the text to NFC."""
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")


def look_alikes_folded(text: str) -> str:
    """Characters turn into look-alikes (² into 2, a no-break space into a space): use NFC."""
    return unicodedata.normalize("NFKC", normalise(text))


def ends_stripped(text: str) -> str:
    """White space at the start or the end is cut off: nothing but the line ends may change."""
    return normalise(text).strip()


def lines_rebuilt(text: str) -> str:
    """The last line end is lost, or a separator such as U+2028 became one: splitlines does both."""
    return _nfc("\n".join(text.removeprefix(BOM).splitlines()))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


_PIECES = ("a", "\n", "\r", "\r\n", BOM, "e\u0301", "\u00b2", "\u00a0", "\u2028", " ", "\t", "é")


def _hidden_texts(random: Random) -> Iterator[Arguments]:
    yield ("",)
    yield (f"{BOM}a",)
    yield (f"{BOM}{BOM}a{BOM}",)
    yield ("\r\r\n\n\r",)
    yield ("A\u030angstro\u0308m",)
    yield ("\n a\u2028b\t\n",)
    yield ("x\u00b2\u00a0\ufb01",)
    for _ in range(24):
        yield ("".join(random.choice(_PIECES) for _ in range(random.randint(1, 12))),)


def _any_text() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    return st.lists(st.sampled_from(_PIECES), max_size=6).map(lambda pieces: ("".join(pieces),))


NORMALISE_TEXT = Exercise(
    id="normalise_text",
    stage=1,
    title="Bring a text into its one stored form",
    task=(
        "The same document may arrive with other line ends or other code points for the same "
        "letters. Return the one form in which it is stored, so that its offsets and its hash are "
        "the same on every machine. Drop one byte-order mark (U+FEFF) at the very start. Turn CRLF "
        "and a lone CR into LF. Compose the text to Unicode NFC. Change nothing else: tabs, "
        "no-break spaces, blank lines and a U+FEFF further on stay."
    ),
    starter='''\
def normalise_text(text: str) -> str:
    """The text without a leading byte-order mark, with LF line ends, composed to NFC."""
    raise NotImplementedError
''',
    reference=normalise_text,
    cases=cases(
        Case((f"{BOM}Title\r\nText\r\n",), "a file saved by an editor on Windows"),
        Case(("one\rtwo\r\n\r\nthree",), "lone CRs, and a blank line that must stay one"),
        Case(("Cafe\u0301",), "é in two code points"),
        Case(("  5\u00a0m\u00b2\t\n\n",), "white space and signs that must stay as they are"),
    ),
    hidden=_hidden_texts,
    strategy=_any_text,
    hints=(
        "There are three changes. Write them as three steps, and try each on a text of its own.",
        "Which must come first: replacing CRLF, or replacing CR? Try both on 'a\\r\\nb'.",
        "`str.removeprefix` takes away one mark at the start and nothing anywhere else.",
        "`unicodedata.normalize('NFC', text)` composes; NFKC would change more than you may.",
    ),
    mistakes=mistakes(
        mark_kept,
        mark_removed_everywhere,
        lone_return_kept,
        line_ends_doubled,
        not_composed,
        look_alikes_folded,
        ends_stripped,
        lines_rebuilt,
    ),
    off_limits=("labkit.text", "labkit.documents", "classroom.exercises"),
    answer="""\
    import unicodedata

    text = text.removeprefix("\\ufeff")
    text = text.replace("\\r\\n", "\\n").replace("\\r", "\\n")
    return unicodedata.normalize("NFC", text)
""",
    core=True,
    points=4,
    minutes=10,
)


# --- parse_front_matter --------------------------------------------------------------------------

_FIELDS = {
    "id": "leave",
    "title": "Annual leave",
    "language": "en",
    "scope": "ACME/readers",
    "status": "approved",
    "canonical": "true",
    "valid_from": "2026-01-01",
    "version": '"3"',
}
_OPTIONAL = {"valid_until": "2026-12-31", "product": "GX-100"}
_KNOWN = (*_FIELDS, *_OPTIONAL)


def parse_front_matter(text: str) -> dict[str, Any]:
    try:
        fields, body_start = split_front_matter(text)
    except DocumentError as fault:
        raise ValueError(f"front matter: {fault}") from fault
    if fields is None:
        return {"fields": None, "body_start": 0}
    return {"fields": _checked(fields), "body_start": body_start}


def body_with_fence(text: str) -> dict[str, Any]:
    """`body_start` is where the closing line begins, so that your body still starts with ---."""
    parsed = parse_front_matter(text)
    lines = text[: parsed["body_start"]].splitlines(keepends=True)
    return {**parsed, "body_start": sum(map(len, lines[:-1]))}


def last_fence_taken(text: str) -> dict[str, Any]:
    """The block runs on to the last --- of the file: it ends at the first line that closes it."""
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines) if line.rstrip() == "---"]
    if len(fences) < 2 or fences[0] != 0:
        return parse_front_matter(text)
    return _read_block(lines, fences[-1])


def dashes_in_a_value(text: str) -> dict[str, Any]:
    """Three dashes inside a value end your block: they close it only as a line of their own."""
    lines = text.splitlines(keepends=True)
    fences = [number for number, line in enumerate(lines[1:], start=1) if "---" in line]
    if not lines or lines[0].rstrip() != "---" or not fences:
        return parse_front_matter(text)
    return _read_block(lines, fences[0])


def unknown_field_accepted(text: str) -> dict[str, Any]:
    """A misspelt field passes unseen: a document with `valid_untl` would never expire."""
    fields, body_start = _split(text)
    known = {name: value for name, value in fields.items() if name in _KNOWN}
    return _result(known, body_start)


def missing_field_passed_over(text: str) -> dict[str, Any]:
    """A required field that is missing comes back as None: who may read a file is never guessed."""
    fields, body_start = _split(text)
    missing = {name: None for name in _FIELDS if name not in fields}
    return _result(fields, body_start, missing)


def numbers_turned_into_text(text: str) -> dict[str, Any]:
    """A value that is no text is turned into text: version 1.10 becomes 1.1 without a word."""
    fields, body_start = _split(text)
    names = ("id", "title", "language", "scope", "version")
    turned = {name: str(fields[name]) for name in names if name in fields}
    return _result({**fields, **turned}, body_start)


def any_flag_is_true(text: str) -> dict[str, Any]:
    """`canonical: "false"` counts as true, as any text does: take only true and false."""
    fields, body_start = _split(text)
    flag = {"canonical": bool(fields["canonical"])} if "canonical" in fields else {}
    return _result({**fields, **flag}, body_start)


def any_status_accepted(text: str) -> dict[str, Any]:
    """A status outside the three allowed words is accepted: a typing error could publish a file."""
    fields, body_start = _split(text)
    status = fields.get("status")
    kept = {"status": status} if isinstance(status, str) else {}
    return _result(fields, body_start, kept)


def time_taken_for_a_day(text: str) -> dict[str, Any]:
    """A value with a time of day passes as a day: a datetime is a date for isinstance."""
    fields, body_start = _split(text)
    days = {
        name: fields[name].date()
        for name in ("valid_from", "valid_until")
        if hasattr(fields.get(name), "hour")
    }
    return _result({**fields, **days}, body_start)


def days_reversed(text: str) -> dict[str, Any]:
    """A document that ends before it begins is accepted: compare the two days."""
    fields, body_start = _split(text)
    parsed = _result({**fields, "valid_until": fields.get("valid_from")}, body_start)
    if parsed["fields"]:
        until = fields.get("valid_until")
        parsed["fields"]["valid_until"] = until and until.isoformat()
    return parsed


def fault_without_a_name(text: str) -> dict[str, Any]:
    """The error does not begin with the field: whoever must mend the file cannot see where."""
    try:
        return parse_front_matter(text)
    except ValueError as fault:
        raise ValueError("This front matter is wrong.") from fault


def _checked(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The ten fields as plain data; ValueError that starts with the field at fault."""
    try:
        meta = asdict(check_metadata(fields, "text"))
    except DocumentError as fault:
        quoted = re.search(r"'(\w+)'", str(fault))
        raise ValueError(f"{quoted[1] if quoted else 'front matter'}: {fault}") from fault
    return {
        name: meta[name].isoformat() if hasattr(meta[name], "isoformat") else meta[name]
        for name in _KNOWN
    }


def _split(text: str) -> tuple[Mapping[str, Any], int]:
    """The raw fields, unchecked; none if the text has no front matter."""
    try:
        fields, body_start = split_front_matter(text)
    except DocumentError as fault:
        raise ValueError(f"front matter: {fault}") from fault
    return fields or {}, body_start


def _result(
    fields: Mapping[str, Any], body_start: int, unchecked: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """What the exercise returns, with `unchecked` values that nobody has looked at."""
    if not body_start:
        return {"fields": None, "body_start": 0}
    valid = _split(_file({}, ""))[0]
    stand_ins = {name: valid[name] for name in unchecked or {}}
    checked = _checked({**fields, **stand_ins})
    return {"fields": {**checked, **(unchecked or {})}, "body_start": body_start}


def _read_block(lines: list[str], closing: int) -> dict[str, Any]:
    """The fields between the first line and the closing one, wherever that stands."""
    try:
        fields = load_yaml("".join(lines[1:closing]), "text")
    except DocumentError as fault:
        raise ValueError(f"front matter: {fault}") from fault
    if not isinstance(fields, dict):
        raise ValueError("front matter: it holds no fields")
    return {"fields": _checked(fields), "body_start": sum(map(len, lines[: closing + 1]))}


def _refusal_named(function: Function, arguments: Arguments) -> Any:
    """The harness: a ValueError is shown by what stands before the colon in its message."""
    try:
        return function(*arguments)
    except ValueError as error:
        return {"refused": str(error).partition(":")[0].strip(" '\"`")}


def _file(changes: Mapping[str, str | None], body: str, order: int = 0) -> str:
    """A file with valid front matter, some of its YAML values changed; None leaves a line out."""
    values = {**_FIELDS, **changes}
    lines = [f"{name}: {value}" for name, value in values.items() if value is not None]
    lines = lines[order:] + lines[:order]
    return "\n".join(["---", *lines, "---", body])


_CHANGES: tuple[Mapping[str, str | None], ...] = (
    {},
    _OPTIONAL,
    {"title": '"A --- B"'},
    {"valid_until": None},
    {"valid_untl": "2026-12-31"},
    {"scope": None},
    {"language": None},
    {"version": "1.10"},
    {"language": "no"},
    {"canonical": '"false"'},
    {"canonical": "1"},
    {"status": "aproved"},
    {"valid_from": '"2026-01-01"'},
    {"valid_from": "2026-01-01 10:00:00"},
    {"valid_until": "2025-12-31"},
    {"valid_until": "2026-01-01"},
    {"product": "100"},
)
_BODIES = ("", "Text.\n", "Text.\n---\nMore.\n", "\n# Heading\n")


def _hidden_files(random: Random) -> Iterator[Arguments]:
    yield ("",)
    yield ("Text.\n\n---\n\nMore.\n",)
    yield ("---\n---\nText.\n",)
    yield ("---\ntitle: [open\n---\nText.\n",)
    yield (_file({"title": "A---B"}, "Text.\n"),)
    yield (_file({"valid_from": "2026-01-01T08:30:00"}, "Text.\n"),)
    yield (_file({"valid_until": "2025-06-30"}, "Text.\n"),)
    yield (_file({"status": "final"}, "Text.\n"),)
    yield (_file({"canonical": '"no"'}, "Text.\n"),)
    yield (_file({"scope": None}, "---\n"),)
    yield (_file({"audience": "all"}, "Text.\n"),)
    yield (_file({"version": "2.40"}, "Text.\n"),)
    for _ in range(21):
        changes, body = random.choice(_CHANGES), random.choice(_BODIES)
        name = f"doc-{random.randint(1, 99)}"
        yield (_file({"id": name, **changes}, body, random.randrange(8)),)


def _any_file() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    plain = st.sampled_from(["", "Text.\n", "---\nText.\n", "---\n---\n"])
    files = st.tuples(st.sampled_from(_CHANGES), st.sampled_from(_BODIES))
    return st.one_of(plain.map(lambda text: (text,)), files.map(lambda drawn: (_file(*drawn),)))


PARSE_FRONT_MATTER = Exercise(
    id="parse_front_matter",
    stage=1,
    title="Read and check a front matter",
    task=(
        "If the first line of `text` is `---`, what follows up to the next line `---` is its front "
        'matter, in YAML (you may use the `yaml` library). Return `{"fields": …, "body_start": …}`'
        ": a dictionary with all ten fields, and the offset at which the line after the closing "
        "one begins. A text without front matter gives `None` and 0.\n\n"
        "Required: `id`, `title`, `language`, `scope` and `version`, all text; `status`, one of "
        "`draft`, `approved`, `retired`; `canonical`, true or false; `valid_from`, a day without a "
        "time. Optional, `None` where missing: `valid_until`, a day not before `valid_from`; "
        "`product`, text. Give days back as ISO text (`2026-10-23`).\n\n"
        "Raise `ValueError` for a field that is missing, unknown, or of another kind. Its message "
        "starts with the field's name and a colon, as in `scope: is missing`. Where no field can "
        "be named (the block is never closed, holds no fields, is no valid YAML), the message "
        "starts with `front matter:`."
    ),
    starter='''\
def parse_front_matter(text: str) -> dict[str, object]:
    """{"fields": the checked front matter or None, "body_start": where the body begins}."""
    raise NotImplementedError
''',
    reference=parse_front_matter,
    cases=cases(
        Case((_file({}, "Text.\n"),), "the required fields, as they should be"),
        Case((_file(_OPTIONAL, "One.\n---\nTwo.\n"),), "a rule in the body closes nothing"),
        Case(("# Title\n\nText.\n",), "no front matter at all"),
        Case((_file({"scope": None}, "Text.\n"),), "a required field is missing"),
        Case((_file({"valid_untl": "2026-12-31"}, ""),), "a misspelt field"),
        Case((_file({"language": "no"}, ""),), "YAML reads a bare no as false"),
        Case((_file({"version": "1.10"}, ""),), "YAML reads this as a number"),
        Case(("---\nid: leave\n",), "the block is never closed"),
    ),
    hidden=_hidden_files,
    strategy=_any_file,
    hints=(
        "Two jobs: find the block and its end, then check what is in it. Do the first one alone.",
        "Walk over `text.splitlines(keepends=True)`: the lengths of the lines add up to offsets.",
        "`yaml.safe_load(block)` gives a dictionary, with days as `datetime.date` values.",
        "Compare the names first: what is required and absent, what is there and unknown.",
        "A `datetime` is a `date` and `True` is an `int`: check with `type(value) is …`.",
    ),
    mistakes=mistakes(
        body_with_fence,
        last_fence_taken,
        dashes_in_a_value,
        unknown_field_accepted,
        missing_field_passed_over,
        numbers_turned_into_text,
        any_flag_is_true,
        any_status_accepted,
        time_taken_for_a_day,
        days_reversed,
        fault_without_a_name,
    ),
    off_limits=("labkit.documents", f"{__name__}.parse_front_matter"),
    answer="""\
    from datetime import date

    import yaml

    lines = text.splitlines(keepends=True)
    if not lines or lines[0].rstrip() != "---":
        return {"fields": None, "body_start": 0}
    closing = next((n for n, line in enumerate(lines) if n and line.rstrip() == "---"), None)
    if closing is None:
        raise ValueError("front matter: the block is never closed")
    try:
        given = yaml.safe_load("".join(lines[1:closing]))
    except yaml.YAMLError as error:
        raise ValueError(f"front matter: {error}") from error
    if not isinstance(given, dict):
        raise ValueError("front matter: it holds no fields")
    required = {
        **dict.fromkeys(("id", "title", "language", "scope", "status", "version"), str),
        "canonical": bool,
        "valid_from": date,
    }
    optional = {"valid_until": date, "product": str}
    for name in given:
        if name not in required and name not in optional:
            raise ValueError(f"{name}: is no known field")
    fields = {}
    for name, kind in {**required, **optional}.items():
        value = given.get(name)
        if value is None and name in required:
            raise ValueError(f"{name}: is missing")
        if value is not None and type(value) is not kind:
            raise ValueError(f"{name}: must be of type {kind.__name__}")
        fields[name] = value.isoformat() if kind is date and value else value
    if fields["status"] not in ("draft", "approved", "retired"):
        raise ValueError("status: must be draft, approved or retired")
    if fields["valid_until"] and fields["valid_until"] < fields["valid_from"]:
        raise ValueError("valid_until: is before valid_from")
    return {"fields": fields, "body_start": sum(map(len, lines[: closing + 1]))}
""",
    harness=_refusal_named,
    packages=("yaml",),
    core=True,
    points=8,
    minutes=30,
)


# --- fingerprint ---------------------------------------------------------------------------------


def fingerprint(documents: list[list[str]]) -> str:
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


def _any_corpora() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    return st.tuples(st.integers(0, 3), st.sampled_from(_KINDS)).map(
        lambda drawn: _two_corpora(*drawn)
    )


FINGERPRINT = Exercise(
    id="fingerprint",
    stage=1,
    title="Give a corpus a fingerprint",
    task=(
        "`documents` lists pairs of an id and a content hash; each may be any text, and no id "
        "comes twice. Return a SHA-256 over all of it, as 64 hexadecimal digits: equal for two "
        "lists with the same pairs in whatever order, and different as soon as an id or a hash is "
        "another one, is added, or is missing. How you write the pairs down before hashing is "
        "yours to choose. Each case gives two lists and asks whether their fingerprints are equal."
    ),
    starter='''\
def fingerprint(documents: list[list[str]]) -> str:
    """A SHA-256 (64 hexadecimal digits) over [id, content hash] pairs, whatever their order."""
    raise NotImplementedError
''',
    reference=fingerprint,
    cases=cases(
        Case(([["a", "1"], ["b", "2"]], [["b", "2"], ["a", "1"]]), "the same in another order"),
        Case(([["a", "1"]], [["a", "2"]]), "a document has changed"),
        Case(([["a", "1"], ["b", "2"]], [["a", "2"], ["b", "1"]]), "two have swapped contents"),
        Case(([["ab", "c"]], [["a", "bc"]]), "a letter moved over the border"),
        Case(([["a", "1"], ["b", "2"]], [["a:1\nb", "2"]]), "an id that imitates a border"),
        Case(([["a", "1"]], [["b", "1"]]), "the same content under another id"),
    ),
    hidden=_hidden_corpora,
    strategy=_any_corpora,
    hints=(
        "What must not matter? Get rid of it first: sort a copy of the list.",
        "Which text do you hash? Find two different lists that would give the same text.",
        "`json.dumps` quotes every part, so no id can look like the end of one.",
        "`hashlib.sha256(text.encode()).hexdigest()` of `json.dumps(sorted(documents))` will do.",
    ),
    mistakes=mistakes(
        order_counts,
        joined_without_a_border,
        joined_with_a_separator,
        contents_left_out,
        ids_left_out,
        sorted_apart,
        built_in_hash,
    ),
    off_limits=("labkit.documents", f"{__name__}.fingerprint"),
    answer="""\
    import hashlib
    import json

    return hashlib.sha256(json.dumps(sorted(documents)).encode()).hexdigest()
""",
    harness=_compared,
    written=lambda pair: f"fingerprint({pair[0]}) == fingerprint({pair[1]})",
    points=4,
    minutes=15,
)


# --- transfer: governing_version -----------------------------------------------------------------

Version = dict[str, str | None]


def governing_version(versions: list[Version], day: str) -> str | None:
    """The version in force on a day: the one that began last, then the highest number."""
    in_force = [version for version in versions if _governs(version, day)]
    return max(in_force, key=_rank)["version"] if in_force else None


def last_day_excluded(versions: list[Version], day: str) -> str | None:
    """The last day of validity is left out: a version is still in force on `valid_until`."""
    return governing_version([item for item in versions if item["valid_until"] != day], day)


def first_day_excluded(versions: list[Version], day: str) -> str | None:
    """The first day of validity is left out: a version is in force from `valid_from` on."""
    return governing_version([item for item in versions if item["valid_from"] != day], day)


def open_end_expired(versions: list[Version], day: str) -> str | None:
    """A version without a last day counts as expired: without one it stays in force."""
    return governing_version([item for item in versions if item["valid_until"]], day)


def future_version_governs(versions: list[Version], day: str) -> str | None:
    """A version that has not begun yet governs already: look at `valid_from` too."""
    begun = [{**item, "valid_from": min(_text(item, "valid_from"), day)} for item in versions]
    known = {item["version"]: item for item in versions}
    in_force = [known[item["version"]] for item in begun if _governs(item, day)]
    return max(in_force, key=_rank)["version"] if in_force else None


def any_status_governs(versions: list[Version], day: str) -> str | None:
    """A draft or a retired version governs: only an approved one may."""
    return governing_version([{**item, "status": "approved"} for item in versions], day)


def versions_compared_as_text(versions: list[Version], day: str) -> str | None:
    """Version 1.10 counts as older than 1.9: compare the numbers, not the text."""
    in_force = [version for version in versions if _governs(version, day)]
    key = max(in_force, key=lambda item: (item["valid_from"], item["version"]), default=None)
    return key["version"] if key else None


def highest_number_governs(versions: list[Version], day: str) -> str | None:
    """The highest number wins although another version began later: the later day comes first."""
    in_force = [version for version in versions if _governs(version, day)]
    return max(in_force, key=lambda item: _rank(item)[1])["version"] if in_force else None


def last_in_the_list(versions: list[Version], day: str) -> str | None:
    """The last fitting version of the list is taken: the order of the list means nothing."""
    in_force = [version for version in versions if _governs(version, day)]
    return in_force[-1]["version"] if in_force else None


def _governs(version: Version, day: str) -> bool:
    until = version["valid_until"]
    in_time = _text(version, "valid_from") <= day and (until is None or day <= until)
    return version["status"] == "approved" and in_time


def _rank(version: Version) -> tuple[str, list[int]]:
    return _text(version, "valid_from"), [int(n) for n in _text(version, "version").split(".")]


def _text(version: Version, field: str) -> str:
    return version[field] or ""


def _version(
    number: str, since: str, until: str | None = None, status: str = "approved"
) -> Version:
    return {"version": number, "status": status, "valid_from": since, "valid_until": until}


_OLD = _version("1", "2025-01-01", "2026-06-30")
_NEW = _version("2", "2026-07-01")
_DAYS = ("2026-01-01", "2026-03-01", "2026-06-30", "2026-10-23")
_NUMBERS = ("1", "2", "10", "1.9", "1.10", "2.1")


def _hidden_versions(random: Random) -> Iterator[Arguments]:
    one, two = _version("1", "2025-01-01", "2025-12-31"), _version("2", "2026-01-01")
    yield [], "2026-10-23"
    yield [two, one], "2025-12-31"
    yield [two, one], "2026-01-01"
    yield [_version("3", "2026-09-01"), two, one], "2026-10-23"
    yield [_version("9", "2026-01-01"), _version("10", "2026-01-01")], "2026-10-23"
    yield [_version("3", "2026-01-01"), _version("2", "2026-05-01")], "2026-10-23"
    yield [one, _version("3", "2027-01-01")], "2026-10-23"
    yield [two, _version("3", "2026-05-01", status="retired")], "2026-10-23"
    for _ in range(24):
        numbers = random.sample(_NUMBERS, random.randint(1, 4))
        versions = [
            _version(
                number,
                random.choice(_DAYS[:3]),
                random.choice([None, None, "2026-06-30", "2026-10-23"]),
                random.choice(["approved", "approved", "approved", "draft", "retired"]),
            )
            for number in numbers
        ]
        yield versions, random.choice(_DAYS)


def _any_versions() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    drawn = st.tuples(
        st.sampled_from(_NUMBERS),
        st.sampled_from(_DAYS),
        st.sampled_from([None, *_DAYS]),
        st.sampled_from(["approved", "draft", "retired"]),
    )
    return st.tuples(
        st.lists(drawn, max_size=3, unique_by=lambda item: item[0]).map(
            lambda items: [_version(*item) for item in items]
        ),
        st.sampled_from(_DAYS),
    )


GOVERNING_VERSION = Exercise(
    id="governing_version",
    stage=1,
    title="Transfer: which version governs?",
    task=(
        "`versions` lists the versions of one document, in no particular order, each with "
        "`version` (numbers joined by dots, no two equal), `status`, `valid_from` and "
        "`valid_until` (ISO days; `None` means no last day). Return the `version` that governs on "
        "`day`, or `None`. It must be approved and in force; its first and its last day count. "
        "Where several fit, the one with the latest `valid_from` governs; where those are equal, "
        "the highest version, compared number by number (1.10 is above 1.9)."
    ),
    starter='''\
def governing_version(versions: list[dict[str, str | None]], day: str) -> str | None:
    """The version of a document that governs on a day, or None."""
    raise NotImplementedError
''',
    reference=governing_version,
    cases=cases(
        Case(([_OLD, _NEW], "2026-06-30"), "the last day of the old one"),
        Case(([_OLD, _NEW], "2026-07-01"), "the first day of the new one"),
        Case(
            ([_version("1", "2026-01-01"), _version("2", "2026-07-01")], "2026-10-23"),
            "two are in force; one of them began later",
        ),
        Case(
            ([_version("1.10", "2026-01-01"), _version("1.9", "2026-01-01")], "2026-10-23"),
            "the same first day",
        ),
        Case(([_OLD, _version("2", "2026-02-01", None, "draft")], "2026-03-01"), "a draft"),
        Case(([_version("1", "2027-01-01")], "2026-10-23"), "nothing is in force yet"),
    ),
    hidden=_hidden_versions,
    strategy=_any_versions,
    hints=(
        "Two steps: first leave out what cannot govern on that day, then choose among the rest.",
        "ISO days compare rightly as text; `None` as last day needs a case of its own.",
        "`max` with a key that is a pair: the first day, then the version as a list of numbers.",
        '`[int(n) for n in version.split(".")]` makes 1.10 larger than 1.9.',
    ),
    mistakes=mistakes(
        last_day_excluded,
        first_day_excluded,
        open_end_expired,
        future_version_governs,
        any_status_governs,
        versions_compared_as_text,
        highest_number_governs,
        last_in_the_list,
    ),
    off_limits=("labkit.documents", "classroom.exercises"),
    answer="""\
    def governs(version):
        until = version["valid_until"]
        in_time = version["valid_from"] <= day and (until is None or day <= until)
        return version["status"] == "approved" and in_time

    def rank(version):
        return version["valid_from"], [int(n) for n in version["version"].split(".")]

    in_force = [version for version in versions if governs(version)]
    return max(in_force, key=rank)["version"] if in_force else None
""",
    transfer=True,
    points=6,
    minutes=20,
)

EXERCISES = (NORMALISE_TEXT, PARSE_FRONT_MATTER, FINGERPRINT, GOVERNING_VERSION)
