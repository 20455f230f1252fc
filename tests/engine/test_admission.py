"""labkit.answering.access_filter: who may see what, as of which day."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from datetime import date, timedelta
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import metadata
from labkit.answering.access_filter import admit, is_eligible
from labkit.ranking.policy import rank_strict
from labkit.similarity import Scan
from labkit.types import Chunk, Eligible, Hit, LabError, Metadata, Viewer
from strategies import any_text, any_words, matrices

DAY = date(2026, 10, 23)
READER = Viewer("ACME", frozenset({"readers"}))
GRANTS = frozenset({"ACME/readers"})


def test_an_approved_canonical_document_in_force_and_in_scope_is_eligible():
    assert is_eligible(metadata(), GRANTS, DAY) is True


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "ACME/support"},
        {"scope": "GLOBEX/readers"},
        {"scope": "acme/readers"},
        {"status": "draft"},
        {"status": "retired"},
        {"canonical": False},
        {"valid_from": DAY + timedelta(1)},
        {"valid_until": DAY - timedelta(1)},
    ],
    ids=str,
)
def test_each_field_alone_keeps_a_document_out(changes):
    assert is_eligible(metadata(**changes), GRANTS, DAY) is False


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        (date(2026, 1, 31), False),
        (date(2026, 2, 1), True),  # the first day
        (date(2026, 2, 2), True),
        (date(2026, 2, 28), True),  # the last day
        (date(2026, 3, 1), False),
    ],
)
def test_the_days_at_both_borders_are_in_force(day, expected):
    meta = metadata(valid_from=date(2026, 2, 1), valid_until=date(2026, 2, 28))
    assert is_eligible(meta, GRANTS, day) is expected


def test_a_document_may_be_valid_for_one_day_or_without_end():
    one = metadata(valid_from=DAY, valid_until=DAY)
    assert [is_eligible(one, GRANTS, DAY + timedelta(n)) for n in (-1, 0, 1)] == [
        False,
        True,
        False,
    ]
    assert is_eligible(metadata(valid_until=None), GRANTS, date.max) is True


@pytest.mark.parametrize(
    "viewer",
    [
        Viewer("ACME", frozenset()),
        Viewer("ACME", frozenset({""})),
        Viewer("", frozenset({"readers"})),
        Viewer("", frozenset({"ACME/readers"})),
        Viewer("ACME/readers", frozenset({""})),
        Viewer("ACME", frozenset({"*"})),
        Viewer("*", frozenset({"readers"})),
        Viewer("GLOBEX", frozenset({"readers", "ACME/readers", "../ACME/readers"})),
    ],
    ids=str,
)
def test_no_scope_an_empty_one_or_a_pattern_admits_nothing(viewer):
    assert admit(viewer, DAY).admits(metadata()) is False


def test_a_viewer_of_several_scopes_sees_each_of_them():
    eligible = admit(Viewer("ACME", frozenset({"readers", "support"})), DAY)
    seen = [eligible.admits(metadata(scope=f"ACME/{a}")) for a in ("readers", "support", "board")]
    assert seen == [True, True, False]


def test_what_a_question_may_see_is_one_value_that_nothing_changes_later():
    eligible = admit(READER, DAY)
    assert eligible == Eligible(GRANTS, DAY, path=None, section=None)
    assert eligible == admit(READER, DAY)
    assert hash(eligible) == hash(admit(READER, DAY))
    with pytest.raises(FrozenInstanceError):
        eligible.grants = frozenset({"GLOBEX/readers"})


@pytest.mark.parametrize(
    ("path", "admitted"),
    [
        ("guides", {"guides/a.md", "guides/deep/b.pdf"}),
        ("guides/", {"guides/a.md", "guides/deep/b.pdf"}),
        ("./guides/*.md", {"guides/a.md"}),
        ("GUIDES/deep", {"guides/deep/b.pdf"}),
        ("a.md", set()),  # tied to the root: there it stands in a folder
        ("*/a.md", {"guides/a.md"}),
        ("**/*.md", {"guides/a.md", "e\u0301te.md"}),
        ("\u00e9te.md", {"e\u0301te.md"}),  # however an accent is written
        ("!guides", set()),
        ("", set()),
    ],
)
def test_a_path_is_a_glob_below_the_root(path: str, admitted: set[str]) -> None:
    eligible = admit(READER, DAY, path=path)
    names = ("guides/a.md", "guides/deep/b.pdf", "e\u0301te.md")
    assert {name for name in names if eligible.admits(metadata(path=name))} == admitted
    assert not eligible.admits(metadata(path="guides/a.md", status="draft"))


def test_a_path_that_is_no_pattern_is_refused_by_name() -> None:
    with pytest.raises(LabError, match="is no pattern of paths"):
        admit(READER, DAY, path="x\\").admits(metadata())


@pytest.mark.parametrize(
    ("section", "admitted"),
    [("OPÉNING", True), ("hours today", True), ("gates", True), ("eight", False), ("a#b", False)],
)
def test_a_section_is_a_part_of_a_heading_above_the_passage_or_in_it(
    section: str, admitted: bool
) -> None:
    text = "Open at eight.\n\n## Hours today ##\n\nAt nine. #eight"
    passage = Chunk(metadata(), 0, 0, len(text), text, context="Opening hours", section="Gates")
    assert admit(READER, DAY, section=section).admits_chunk(passage) is admitted
    closed = Chunk(metadata(status="draft"), 0, 0, len(text), text, context="Opening hours")
    assert not admit(READER, DAY, section=section).admits_chunk(closed)


@given(
    st.builds(
        metadata,
        scope=st.sampled_from(["ACME/readers", "ACME/support", ""]),
        status=st.sampled_from(["draft", "approved", "retired"]),
        canonical=st.booleans(),
        valid_from=st.dates(),
        valid_until=st.none() | st.dates(),
    ),
    st.frozensets(st.sampled_from(["ACME/readers", "ACME/support", ""])),
    st.dates(),
)
def test_the_taught_rule_is_the_one_that_a_store_reads(
    meta: Metadata, grants: frozenset[str], day: date
) -> None:
    assert is_eligible(meta, grants, day) is Eligible(grants, day).admits(meta)


@given(any_text, any_text)
def test_no_words_of_a_document_change_who_may_read_it(title, product):
    meta = metadata(title=title, product=product, scope="GLOBEX/readers")
    assert admit(READER, DAY).admits(meta) is False


ORDER = [
    metadata(f"doc{number}", scope=scope, status=status, canonical=canonical, valid_from=valid_from)
    for number, (scope, status, canonical, valid_from) in enumerate(
        product(
            ("ACME/readers", "ACME/support", "GLOBEX/readers"),
            ("approved", "draft"),
            (True, False),
            (DAY, DAY + timedelta(1)),
        )
    )
]


@settings(max_examples=60)
@given(
    matrices(max_rows=len(ORDER)),
    st.lists(any_words, min_size=len(ORDER), max_size=len(ORDER)),
    any_words,
    st.permutations(ORDER),
)
def test_searching_with_eligible_gives_what_a_set_without_the_others_gives(
    rows, texts, question, order
):
    """Dense and lexical ranks, fused scores, reasons and order: all of it."""
    chunks = [Chunk(m, 0, 0, len(t), t) for m, t in zip(order, texts, strict=True)][: len(rows)]
    eligible = admit(READER, DAY)
    among = np.array([i for i, c in enumerate(chunks) if eligible.admits(c.meta)], dtype=np.intp)
    alone = [chunks[i] for i in among]

    def ranked(scan, held, rows_asked):
        found = scan.top_k(rows[0], 99, rows_asked)
        dense = [Hit(held[row], cosine=score) for row, score in found]
        return rank_strict(question, dense, threshold=0.5)

    everything = Scan(rows, [chunk.id for chunk in chunks])
    only = Scan(rows[among], [chunk.id for chunk in alone])
    assert ranked(everything, chunks, among) == ranked(only, alone, None)
    assert all(hit.chunk in alone for hit in ranked(everything, chunks, among))
