"""labkit.documents: every file is checked, and all that is wrong is said at once."""

from __future__ import annotations

import os
import sys
import tempfile
import textwrap
from datetime import date
from itertools import pairwise
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import document, metadata
from labkit.documents import (
    Plain,
    Rules,
    check_metadata,
    corpus_hash,
    read_folder,
    split_front_matter,
)
from labkit.documents.decoding import MAX_BYTES
from labkit.documents.fingerprint import content_hash
from labkit.documents.front_matter import load_yaml
from labkit.documents.plain import derived_id
from labkit.types import Document, DocumentError
from strategies import any_text

FIELDS = {
    "id": "reporting-export",
    "title": "Exporting reports",
    "language": "en",
    "scope": "ACME/readers",
    "status": "approved",
    "canonical": "true",
    "valid_from": "2026-01-01",
    "version": '"1.0"',
}
PLAIN = Plain("ACME/readers", "fr")


def governed(body: str = "Body.\n", **changes: str | None) -> str:
    """A file with complete front matter; a change of None leaves the field out."""
    fields = {name: value for name, value in {**FIELDS, **changes}.items() if value is not None}
    return "---\n" + "".join(f"{k}: {v}\n" for k, v in fields.items()) + f"---\n{body}"


def yaml_fields() -> dict[str, object]:
    return dict(load_yaml("\n".join(f"{k}: {v}" for k, v in FIELDS.items()), "x"))


def write(root: Path, **files: str | bytes) -> Path:
    """Files in a folder; `__` in a name stands for a slash."""
    for name, content in files.items():
        path = root / (name.replace("__", "/") + ".md")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def load(root: Path, **options) -> list[Document]:
    """All documents of a folder, or DocumentError for all that is wrong in it."""
    return read_folder(root, Rules(**options)).checked().documents


def faults(root: Path, **options) -> list[str]:
    with pytest.raises(DocumentError) as caught:
        load(root, **options)
    return str(caught.value).splitlines()


def fault(tmp_path: Path, content: str | bytes, **options) -> str:
    (only,) = faults(write(tmp_path, a=content), **options)
    return only


# --- what is read --------------------------------------------------------------------------------


def test_a_governed_file_is_read_with_every_field(tmp_path):
    text = governed("# Export\n", product="Reporting", valid_until="2026-12-31")
    (item,) = load(write(tmp_path, sub__export=text))
    assert item.meta == metadata(
        "reporting-export",
        title="Exporting reports",
        version="1.0",
        product="Reporting",
        valid_from=date(2026, 1, 1),
        valid_until=date(2026, 12, 31),
        path="sub/export.md",
    )
    assert item.text == text  # the whole file: offsets are those a person counts in it
    assert item.text[item.body_start :] == "# Export\n"


def test_documents_come_in_ordinal_order_of_id(tmp_path):
    root = write(tmp_path, **{f"f{n}": governed(id=f'"{name}"') for n, name in enumerate("bAa9é")})
    assert [item.id for item in load(root)] == ["9", "A", "a", "b", "é"]


def test_line_ends_a_mark_and_the_form_of_accents_are_unified_at_reading(tmp_path):
    text = governed("Été.\nDeux.\n", title='"Congés"')
    forms = {
        "dos": b"\xef\xbb\xbf" + text.replace("\n", "\r\n").encode(),
        "mac": text.replace("\n", "\r").encode(),
        "nfd": text.replace("é", "e\u0301").replace("É", "E\u0301").encode(),
    }
    for name, content in forms.items():
        (item,) = load(write(tmp_path / name, a=content))
        assert (item.text, item.content_hash) == (text, content_hash(item.meta, text))


def test_an_empty_folder_holds_no_documents_and_a_missing_one_is_an_error(tmp_path):
    assert load(tmp_path) == []
    with pytest.raises(DocumentError, match=r"missing is not a folder\. Name the one that holds"):
        load(tmp_path / "missing")


# --- files without governance --------------------------------------------------------------------


def test_a_plain_file_is_governed_by_what_the_owner_says(tmp_path):
    root = write(tmp_path, sub__a="Text.\n\n# The [title] ##\n\nMore.")
    (item,) = load(root, plain=PLAIN)
    assert item.meta == metadata(
        "sub/a",
        title="The [title]",
        language="fr",
        scope="ACME/readers",
        valid_from=date(1, 1, 1),
        path="sub/a.md",
    )
    assert item.body_start == 0


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("no heading", "a"),
        ("", "a"),
        ("# ##\n", "a"),
        ("## Only a second level", "a"),
        ("   # Indented\t# ", "Indented"),
        ("# Tab\there", "Tab here"),
        ("# Qui peut exporter\u00a0?", "Qui peut exporter\u00a0?"),
        ("# C#", "C#"),
        ("# **Prices** of [pumps](p.md) {#prices}", "Prices of pumps"),
        ("Title\n=====\n", "Title"),
        ("```\n# a comment\n```\n# Title", "Title"),
        ("# " + "x" * 300, "x" * 200),
    ],
)
def test_the_title_of_a_plain_file_is_its_first_heading_or_its_name(tmp_path, text, title):
    (item,) = load(write(tmp_path, a=text), plain=PLAIN)
    assert item.meta.title == title


def test_a_heading_of_many_marks_is_read_in_time(tmp_path):
    (item,) = load(write(tmp_path, a="# x" + " #" * 200_000 + "y"), plain=PLAIN)
    assert item.meta.title.startswith("x # #")


# --- front matter of other tools -----------------------------------------------------------------


def test_title_and_language_of_another_tool_are_used_and_its_other_fields_are_not(tmp_path):
    text = "---\npermalink: /guide/\ntitle: Le  guide\nlang: fr-CA\nversion: 3\n---\n# Autre\n"
    (item,) = load(write(tmp_path, a=text), plain=Plain("ACME/readers"))
    assert (item.id, item.meta.title, item.meta.language) == ("a", "Le guide", "fr")
    assert (item.meta.version, item.meta.status) == ("1", "approved")
    assert item.text[item.body_start :] == "# Autre\n"


@pytest.mark.parametrize(
    ("line", "title"),
    [
        ("title: [a, b]", "Heading"),
        ("title:", "Heading"),
        ("title: 2024", "2024"),
        ("title: " + "x" * 300, "x" * 200),
        ('title: "a\\tb\\u202e"', "a b"),
        ("title: Pumps: a guide", "Pumps: a guide"),  # no YAML, and every site generator reads it
    ],
)
def test_a_title_of_another_tool_is_made_fit_or_passed_over(tmp_path, line, title):
    (item,) = load(write(tmp_path, a=f"---\n{line}\n---\n# Heading\n"), plain=PLAIN)
    assert item.meta.title == title


def test_the_name_of_a_page_of_a_site_is_its_title_without_the_endings(tmp_path):
    root = write(tmp_path, **{"sub__signon.html": "Text.", "v1.2": "Text."})
    assert [d.meta.title for d in load(root, plain=PLAIN)] == ["signon", "v1.2"]


FOREIGN = {
    "an empty block": "---\n---\n",
    "a comment alone": "---\n# nothing yet\n\n# more\n---\n",
    "docusaurus": "---\nid: intro\ntitle: T\nsidebar_label: S\nstatus: new\n---\n",
    "a record of decisions": "---\nstatus: accepted\nversion: 2.0\ndate: 2026-01-01\n---\n",
    "near misses of our names": "---\nids: [a]\nscopes: x\nstate: y\nvalid: true\n---\n",
    "an address of its own": "---\nid: a\ncanonical: https://example.org/a\n---\n",
    "a YAML fault": "---\ntitle: a: b\nlayout: [x\n---\n",
    "given twice": "---\ntags: a\ntags: b\n---\n",
    "an alias": "---\na: &x 1\nb: *x\n---\n",
    "TOML": '+++\ntitle = "T"\ndate = 2026-01-01\n+++\n',
    "behind a comment": "<!-- licence -->\n---\ntitle: T\n---\n",
    "after a blank line": "\n\n---\ntitle: T\n---\n",
    "a fence with a comment": "--- # page\ntitle: T\n---\n",
    "Pandoc's dots": "---\ntitle: T\n...\n",
}


@pytest.mark.parametrize("block", FOREIGN.values(), ids=FOREIGN)
def test_what_is_not_ours_is_neither_judged_nor_evidence(tmp_path, block):
    (item,) = load(write(tmp_path, a=f"{block}Body.\n"), plain=PLAIN)
    assert item.meta.status == "approved" and item.meta.scope == "ACME/readers"
    assert item.text[item.body_start :] == "Body.\n"


@pytest.mark.parametrize(
    "text",
    [
        "---\n\nA rule comes first.\n\n---\nMore.",
        "---\nA rule comes first.\n---\n",
        "---\n- a\n- b\n---\n",
        "---\nNo second rule\n",
        "---",
        "---\n\nA block says\nid: and\n\nscope: ACME/board\n\n---\n",
        "<!-- a -->\n# Title\nText",
        "\u2014 a dash: so",
        "+++\nText",
        "----\na: b\n----\n",
    ],
)
def test_a_thematic_break_and_what_only_looks_like_a_fence_are_text(tmp_path, text):
    (item,) = load(write(tmp_path, a=text), plain=PLAIN)
    assert (item.text, item.body_start) == (text, 0)


@pytest.mark.parametrize(
    "line",
    [
        *("draft: true", "Draft: true", 'draft: "True"', "draft: 1", "private: true"),
        *("published: false", 'published: "false"', "publish: false", "status: draft"),
        *("Status: Private", "status: retired", "title: a: b\ndraft: true"),
    ],
)
def test_what_another_tool_holds_back_never_answers_and_is_named(tmp_path, line):
    folder = read_folder(write(tmp_path, a=f"---\n{line}\n---\nText"), Rules(plain=PLAIN))
    assert [item.meta.status for item in folder.checked().documents] == ["draft"]
    assert folder.counts.drafts == 1
    (note,) = folder.notes
    assert note.path == "a.md"
    said = line.splitlines()[-1].replace('"', "")
    field, _, value = said.partition(": ")
    assert note.message.startswith("held back as a draft: its front matter says ")
    assert note.message.lower().endswith(f"{field}: {value if value != '1' else '1'}.".lower())


@pytest.mark.parametrize(
    "line", ["draft: false", "draft:", "published: 2026-01-02", "publish: 1", "status: published"]
)
def test_what_another_tool_publishes_answers(tmp_path, line):
    folder = read_folder(write(tmp_path, a=f"---\n{line}\n---\nText"), Rules(plain=PLAIN))
    assert folder.documents[0].meta.status == "approved"
    assert (folder.notes, folder.counts.drafts) == ((), 0)


@pytest.mark.parametrize(
    ("block", "said"),
    [
        ("---\nscope: GLOBEX/x\n---\n", "a.md: the front matter lacks 'id'."),
        ("---\nScope: GLOBEX/x\n---\n", "a.md: the front matter has an unknown field 'Scope'"),
        ("---\nid: a\nvalid-from: x\n---\n", "a.md: the front matter has an unknown field"),
        ("---\nid: a\ncanonical: false\n---\n", "a.md: the front matter lacks 'title'."),
        (governed("", stauts="draft"), "a.md: the front matter has an unknown field 'stauts'"),
        (governed("", title="a: b"), "a.md: front matter: this is not valid YAML: mapping values"),
        ("\n" + governed(), "a.md: a '---' line comes first, but not at the very start"),
        ("\ufeff\ufeff" + governed(), "a.md: a '---' line comes first, but not at the very start"),
        ("\u00a0\n" + governed(), "a.md: a '---' line comes first, but not at the very start"),
        (
            "<!-- x -->\n" + governed(),
            "a.md: the file opens with lines that look like front matter",
        ),
        ('+++\nid = "a"\nscope = "ACME/x"\n+++\n', "a.md: the file opens with lines that look"),
        ("---\nid: a\nscope: ACME/x\n", "a.md: the front matter opens with '---' and never closes"),
    ],
)
def test_what_is_ours_is_never_completed_and_never_read_as_text(tmp_path, block, said):
    assert fault(tmp_path, block, plain=PLAIN).startswith(said)


# --- ids made of paths ---------------------------------------------------------------------------


def test_a_path_is_an_id_where_it_can_be_and_else_ends_in_a_hash(tmp_path):
    long = "d" * 120 + "/" + "e" * 120
    names = ["my file [1]#2", "re\u0301sume\u0301", "a/b", "PRODUCT-x", long]
    starts = [derived_id(f"{name}.md")[:12] for name in names]
    assert starts == ["my-file-1-2-", "résumé", "a/b", "product-x-d9", "e" * 12]
    assert load(write(tmp_path, **{"my file": "x"}), plain=PLAIN)[0].id == derived_id("my file.md")


PATHS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=260).map("{}.md".format)
ALIKE = ["a b.md", "a-b.md", "a\tb.md", "a#b.md", "a b.md.md"]


@given(st.lists(PATHS, min_size=1, max_size=4) | st.just(ALIKE))
def test_every_path_has_an_id_of_its_own_that_is_legal(paths):
    ids = {normalize("NFC", path): derived_id(path) for path in paths}
    assert len(set(ids.values())) == len(ids)
    for name in ids.values():
        check_metadata({**yaml_fields(), "id": name}, "x")
        assert not name.startswith("PRODUCT-")


# --- no document ends a run ----------------------------------------------------------------------


def test_a_number_of_four_thousand_digits_is_the_fault_of_its_file(tmp_path):
    digits = "0x" + "f" * 4000
    write(tmp_path, a=governed(id=digits, title=None), b=governed(canonical=digits))
    write(tmp_path, c=f"---\nx: {digits}\n---\nC.", d=f"---\n{digits}: x\ntitle: {digits}\n---\n")
    folder = read_folder(tmp_path, Rules(plain=PLAIN))
    assert [item.id for item in folder.documents] == ["c", "d"]
    said = [fault.message for fault in folder.faults]
    assert said[0].startswith("'id' must be text, and YAML reads a value too long to print there.")
    assert said[1].startswith("'canonical' is a value too long to print; write true or false")


def test_an_exception_of_a_parser_is_the_fault_of_its_file(tmp_path, monkeypatch):
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("in a parser")

    root = write(tmp_path, a="A.", b="B.")
    monkeypatch.setattr("labkit.documents.reading.split_front_matter", broken)
    folder = read_folder(root, Rules(plain=PLAIN))
    assert [fault.message for fault in folder.faults] == [
        "no reader of this lab can read it (ZeroDivisionError). Save it anew."
    ] * 2


_LINES = st.sampled_from(
    ["---", "+++", "...", "\u2014", "<!--", "-->", "id: a", "scope: A/b", "draft: true", "a: b: c",
     "- a", "# T", "", "```", "x: &a [*a]", "? [a]", "!!int ''", "<<: 1", "password: Summer2026!"]
)  # fmt: skip
_STRANGE = st.lists(_LINES | any_text, max_size=8).map("\n".join)


@given(_STRANGE, st.booleans())
@settings(max_examples=150)
def test_no_front_matter_breaks_the_reader(text, strict):
    """Fields and an offset, or an error that names the document: nothing else."""
    for whole in (text, f"---\n{text}\n---\nBody"):
        try:
            fields, start = split_front_matter(whole, strict=strict)
            said = "document: "
        except DocumentError as fault:
            fields, start, said = None, 0, str(fault)
        assert said.startswith("document: ") and "<unicode string>" not in said
        assert fields is None or isinstance(fields, dict)
        assert (fields is None) == (start == 0) and start <= len(whole)


@given(
    st.lists(
        _STRANGE.map(lambda t: t.encode(errors="replace")) | st.binary(max_size=60), max_size=3
    )
)
@settings(max_examples=60)
def test_no_bytes_end_a_run(contents):
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder), good="Good.", **{f"f{n}": c for n, c in enumerate(contents)})
        for rules in (Rules(plain=PLAIN, text=True), Rules()):
            found = read_folder(root, rules)
            assert len(found.documents) + len(found.faults) == len(contents) + 1
            for fault in found.faults:
                assert "no reader of this lab" not in fault.message  # each has its own sentence


def test_a_file_without_front_matter_is_an_error_where_the_owner_says_nothing(tmp_path):
    assert fault(tmp_path, "Text") == (
        "a.md: the file has no front matter. Start it with a '---' block."
    )


def test_accents_heaped_on_a_letter_are_reported_before_they_take_hours(tmp_path):
    assert fault(tmp_path, governed("One\nle" + "\u0301\u0316" * 200_000)) == (
        "a.md: line 12 heaps accents on one letter. Remove them."
    )
    text = governed("z" + "\u0301" * 60 + "\n" + "\u2500" * 300 + "\n" + "👩‍💻" * 200)
    assert load(write(tmp_path, a=text))


# --- faults: each names file and field -----------------------------------------------------------


@pytest.mark.parametrize("name", list(FIELDS))
def test_a_missing_or_empty_field_is_named(tmp_path, name):
    expected = f"a.md: the front matter lacks '{name}'. Add a line '{name}: …'."
    assert fault(tmp_path, governed(**{name: None})) == expected
    assert fault(tmp_path, governed(**{name: ""})) == expected


TEXT_NEEDED = "a.md: '{}' must be text, and YAML reads {} there. Put what you wrote in quotes: {}: "


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("version", "2.10", "2.1"),
        ("version", "3", "3"),
        ("version", "1:30", "90"),
        ("language", "no", "False"),
        ("id", "2026-01-01", "datetime.date(2026, 1, 1)"),
        ("title", "[a, b]", "['a', 'b']"),
        ("title", "{a: b}", "{'a': 'b'}"),
        ("product", "100", "100"),
        ("scope", "true", "True"),
    ],
)
def test_a_value_that_yaml_reads_as_no_text_is_named_with_what_to_do(tmp_path, name, value, read):
    message = fault(tmp_path, governed(**{name: value}))
    assert message == TEXT_NEEDED.format(name, read, name) + '"…".'


ONE_LINE = "a.md: '{}' must be 1 to 200 printable characters on one line."
BAD_ID = "a.md: 'id' is {!r}; it may not hold spaces, '#', '[' or ']'."
BAD_SCOPE = "a.md: 'scope' is {!r}; write it ORGANISATION/AUDIENCE, as in ACME/readers."
BAD_FLAG = "a.md: 'canonical' is {}; write true or false, without quotes."
BAD_STATUS = "a.md: 'status' is 'Approved'; use one of draft, approved, retired."
DAYS_CROSSED = "a.md: 'valid_until' (2025-12-31) is before 'valid_from' (2026-01-01)."
RESERVED = "a.md: 'id' is 'PRODUCT-GX'; 'PRODUCT-' is kept for product facts. Choose another."
BAD_DAY = "a.md: '{}' is {}; write a day as 2026-10-23, unquoted."


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("title", '"a\\nb"', ONE_LINE.format("title")),
        ("title", '"a\\0b"', ONE_LINE.format("title")),
        ("title", '"\\u202eabc"', ONE_LINE.format("title")),
        ("title", '"\\uD800"', ONE_LINE.format("title")),
        ("title", '"  "', ONE_LINE.format("title")),
        ("title", "x" * 201, ONE_LINE.format("title")),
        ("id", "a b", BAD_ID.format("a b")),
        ("id", "a#0", BAD_ID.format("a#0")),
        ("id", '"[a]"', BAD_ID.format("[a]")),
        ("id", "PRODUCT-GX", RESERVED),
        ("scope", "readers", BAD_SCOPE.format("readers")),
        ("scope", "ACME/", BAD_SCOPE.format("ACME/")),
        ("scope", "/readers", BAD_SCOPE.format("/readers")),
        ("scope", "ACME/a/b", BAD_SCOPE.format("ACME/a/b")),
        ("scope", "ACME / readers", BAD_SCOPE.format("ACME / readers")),
        ("status", "Approved", BAD_STATUS),
        ("canonical", '"yes"', BAD_FLAG.format("'yes'")),
        ("canonical", "1", BAD_FLAG.format("1")),
        ("valid_from", '"2026-01-01"', BAD_DAY.format("valid_from", "'2026-01-01'")),
        ("valid_from", "2026-02-30", BAD_DAY.format("valid_from", "'2026-02-30'")),
        ("valid_until", "2026", BAD_DAY.format("valid_until", "2026")),
        ("valid_until", "2025-12-31", DAYS_CROSSED),
    ],
)
def test_a_wrong_value_is_named_with_what_to_write(tmp_path, name, value, message):
    assert fault(tmp_path, governed(**{name: value})) == message


def test_a_time_of_day_is_no_day(tmp_path):
    message = fault(tmp_path, governed(valid_from="2026-01-01 10:00:00"))
    assert message.startswith("a.md: 'valid_from' is datetime.datetime(")


def test_an_unknown_field_is_named_with_the_known_ones(tmp_path):
    assert fault(tmp_path, governed(valid_untill="2026-12-31")) == (
        "a.md: the front matter has an unknown field 'valid_untill'. Known fields: id, title, "
        "language, scope, status, canonical, valid_from, valid_until, version, product."
    )


def test_no_break_spaces_and_joiners_in_a_title_are_welcome(tmp_path):
    title = "Qui peut exporter\u202f? 👩\u200d💻"
    (item,) = load(write(tmp_path, a=governed(title=f'"{title}"')))
    assert item.meta.title == title


def test_both_days_of_validity_may_be_the_same_and_the_last_may_be_open(tmp_path):
    one_day = governed(id="a", valid_until="2026-01-01")
    root = write(tmp_path, a=one_day, b=governed(id="b", valid_until="null"))
    assert [d.meta.valid_until for d in load(root)] == [date(2026, 1, 1), None]


YAML_FAULTS = [
    ("id: a\nid: b", "'id' is given twice"),
    ("id: [a", "while parsing a flow sequence"),
    ("a: b: c", "mapping values are not allowed here (line 2)"),
    ("a: b\n\n c: d: e\n", "mapping values are not allowed here (line 4)"),
    ("id: !!python/object:os.system x", "could not determine a constructor"),
    ("id: !!bool maybe", "maybe"),
    ("id: !!int ''", "string index out of range"),
    ("canonical: &x true\nid: *x", "aliases (*name) are not read here"),
    ("<<: {id: a}\nid: b", "merged keys (<<) are not read here; write them out"),
    ("? [a, b]\n: c", "found unhashable key"),
    ("id: '\x7f'", "U+007F"),
    ("valid_from: 0001-01-01T00:00:00+23:59\nx: [", "while parsing"),
    ("[" * 1200, "recursion"),
    ("version: " + "9" * 5000, "Exceeds the limit"),
]


@pytest.mark.parametrize(("yaml", "reason"), YAML_FAULTS, ids=[reason for _, reason in YAML_FAULTS])
def test_front_matter_that_is_no_plain_yaml_is_an_error_with_its_reason(tmp_path, yaml, reason):
    message = fault(tmp_path, f"---\n{yaml}\n---\nText")
    assert message.startswith("a.md: ")
    assert reason in message
    assert len(message) < 400


def test_a_bomb_of_aliases_is_refused_before_it_is_unfolded(tmp_path):
    lines = ["title: &a [x, x, x, x, x, x, x, x, x, x]"]
    for before, name in pairwise("abcdefghijk"):
        lines.append(f"f{name}: &{name} [{', '.join([f'*{before}'] * 10)}]")
    message = fault(tmp_path, "---\n" + "\n".join([*lines, "id: *k"]) + "\n---\n")
    assert "aliases (*name) are not read here; write the value out" in message


def test_many_keys_are_read_in_time():
    assert len(load_yaml("\n".join(f"k{n}: {n}" for n in range(3000)), "x")) == 3000


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("---\nid: a\n", "never closes within 20000 characters"),
        ("---", "never closes within 20000 characters"),
        ("---\n" + "x: y\n" * 5000 + "---\n", "never closes within 20000 characters"),
        ("---\n---\nText", "holds no 'name: value' lines"),
        ("---\njust text\n---\n", "holds no 'name: value' lines"),
        ("---\n- a\n- b\n---\n", "holds no 'name: value' lines"),
    ],
    ids=["open", "alone", "long", "empty", "text", "list"],
)
def test_where_every_file_is_governed_a_block_without_fields_is_an_error(tmp_path, text, message):
    assert message in fault(tmp_path, text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"ok \xff\xfe", "a.md: byte 3 is not UTF-8. Save the file as UTF-8."),
        ("été".encode("latin-1"), "a.md: byte 0 is not UTF-8. Save the file as UTF-8."),
        ("text".encode("utf-16"), "a.md: the file is UTF-16. Save the file as UTF-8."),
        ("Été 12\n".encode("utf-16-le"), "a.md: the file is UTF-16. Save the file as UTF-8."),
        ("Text".encode("utf-16-be"), "a.md: the file is UTF-16. Save the file as UTF-8."),
        ("a\nb\x00c", "a.md: line 2 holds control character U+0000. Remove it."),
        ("\x1b[0m", "a.md: line 1 holds control character U+001B. Remove it."),
        ("a\r\n\r\n\x85", "a.md: line 3 holds control character U+0085. Remove it."),
        ("x" * (MAX_BYTES + 1), "a.md: the file is over 5,000,000 bytes. Split it."),
        (
            "![](data:image/png;base64," + "A" * MAX_BYTES + ")",
            "a.md: the file is over 5,000,000 bytes, pictures written into it (data: addresses) "
            "among them. Save these apart, or split it.",
        ),
    ],
    ids=[
        "bytes",
        "latin-1",
        "utf-16",
        "no mark",
        "other half",
        "NUL",
        "escape",
        "NEL",
        "size",
        "png",
    ],
)
def test_bytes_that_are_no_text_are_reported_with_their_place(tmp_path, content, message):
    assert fault(tmp_path, content, plain=PLAIN) == message


def test_tabs_form_feeds_and_a_file_at_the_limit_are_text(tmp_path):
    root = write(tmp_path, a="a\tb\f\n" + "x" * (MAX_BYTES - 5))
    assert len(load(root, plain=PLAIN)[0].text) == MAX_BYTES


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets any byte stand in a name")
def test_a_name_that_is_no_text_is_reported(tmp_path):
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/a\xff.md")).write_text("x")
    assert faults(tmp_path, plain=PLAIN) == [
        r"a\udcff.md: the file's name is not UTF-8. Rename it."
    ]


def test_every_fault_of_the_folder_is_said_at_once_and_in_order(tmp_path):
    root = write(
        tmp_path,
        a=governed(id="same"),
        b=governed(id="same"),
        c=governed(status="open"),
        d=b"\xff",
        sub__e="no front matter",
    )
    assert faults(root) == [
        "b.md: 'id' is 'same', which a.md has already. Give one of them another id.",
        "c.md: 'status' is 'open'; use one of draft, approved, retired.",
        "d.md: byte 0 is not UTF-8. Save the file as UTF-8.",
        "sub/e.md: the file has no front matter. Start it with a '---' block.",
    ]


# --- where the body starts -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "body"),
    [
        ("---\nid: a\n---\nBody", "Body"),
        ("---\nid: a\n---  \n\nBody", "\nBody"),
        ("---\nid: a\n---", ""),
        ("---\nid: a\n# note\n---\n---\nRule", "---\nRule"),
        ("---\nid: |\n  a\n  b\n---\nBody", "Body"),
        ("No block\n---\n", "No block\n---\n"),
        ("----\nid: a\n----\n", "----\nid: a\n----\n"),
        ("--- a\n", "--- a\n"),
        ("", ""),
    ],
)
def test_the_body_starts_after_the_front_matter(text, body):
    assert text[split_front_matter(text)[1] :] == body


# --- fingerprints --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "changes",
    [
        {"title": "Other"},
        {"language": "fr"},
        {"scope": "ACME/support"},
        {"status": "draft"},
        {"canonical": False},
        {"valid_from": date(2026, 1, 2)},
        {"valid_until": date(2027, 1, 1)},
        {"version": "2"},
        {"product": "GX-100"},
    ],
    ids=str,
)
def test_a_change_of_any_field_is_a_change(changes):
    assert document("a", **changes).content_hash != document("a").content_hash


def test_a_change_of_text_is_a_change_and_another_path_is_none():
    assert document("a", "Text").content_hash != document("a", "Text ").content_hash
    assert document("a", path="x.md").content_hash == document("a", path="y/z.md").content_hash
    assert len(document("a").content_hash) == 64


def test_the_corpus_changes_with_every_document_and_not_with_their_order():
    pairs = [("a", "1"), ("b", "2")]
    assert corpus_hash(pairs) == corpus_hash(iter(pairs[::-1]))
    others = (
        [],
        [("a", "1")],
        [("a", "2"), ("b", "1")],
        [*pairs, ("c", "3")],
        [('a", "1"]\n["b', "2")],
    )
    assert len({corpus_hash(pairs), *map(corpus_hash, others)}) == 6


CORPORA = st.lists(st.tuples(st.text(max_size=4), st.text(max_size=4)), max_size=4)


@given(CORPORA, st.data())
def test_two_corpora_have_one_hash_only_if_they_are_one(pairs, data):
    other = data.draw(st.permutations(pairs) | CORPORA)
    assert (corpus_hash(pairs) == corpus_hash(other)) == (sorted(pairs) == sorted(other))


def test_a_moved_and_reformatted_file_keeps_its_hash(tmp_path):
    text = textwrap.dedent(governed("One.\nTwo.\n"))
    (here,) = load(write(tmp_path / "a", x=text))
    (there,) = load(write(tmp_path / "b", sub__y=text.replace("\n", "\r\n")))
    assert here.meta.path != there.meta.path
    assert here.content_hash == there.content_hash
