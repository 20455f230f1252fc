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
from labkit.scan import Scan
from labkit.types import Chunk, Hit, Viewer
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
    assert (eligible.grants, eligible.as_of, eligible.rule) == (GRANTS, DAY, is_eligible)
    assert eligible == admit(READER, DAY)
    assert hash(eligible) == hash(admit(READER, DAY))
    with pytest.raises(FrozenInstanceError):
        eligible.grants = frozenset({"GLOBEX/readers"})


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
