"""labkit.ranking.policy: the strict policy."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import date
from math import inf, nan

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import chunk
from labkit.ranking import policy
from labkit.ranking.near_duplicates import near_duplicates
from labkit.ranking.policy import COMPARED, keep_best, rank_strict, strict_refusal
from labkit.types import Chunk, Hit, Reason
from strategies import any_text, any_words


def hits(*rows: tuple[str, float, str]) -> list[Hit]:
    """Hits as a dense search hands them over: (id, cosine, text), in order of cosine and id."""
    found = [Hit(chunk(name, text, title=""), cosine=score) for name, score, text in rows]
    return sorted(found, key=lambda hit: (-hit.cosine, hit.chunk.id))


def kept(ranked: list[Hit]) -> list[str]:
    return [hit.chunk.source_id for hit in ranked if not hit.dropped]


def test_a_worked_example():
    """Question "export csv invoices"; threshold 0.5.

    | id | cosine | dense rank | shared words | lexical rank | fused            |
    |----|--------|------------|--------------|--------------|------------------|
    | a  | 0.9    | 1          | none         | none         | 1/61             |
    | b  | 0.8    | 2          | csv          | 3            | 1/62 + 1/63      |
    | c  | 0.7    | 3          | export, csv  | 2            | 1/63 + 1/62      |
    | d  | 0.4    | 4          | all three    | 1            | 1/64 + 1/61      |

    d is best and too far in meaning; b and c tie, and the id decides; a shares no word.
    """
    ranked = rank_strict(
        "export csv invoices",
        hits(
            ("a", 0.9, "Something else."),
            ("b", 0.8, "CSV, CSV and CSV."),
            ("c", 0.7, "Exporting as CSV."),
            ("d", 0.4, "Invoice export to CSV."),
        ),
        threshold=0.5,
    )
    assert [
        (h.chunk.source_id, h.dense_rank, h.lexical_score, h.lexical_rank, h.dropped)
        for h in ranked
    ] == [
        ("d", 4, 3.0, 1, "cosine below 0.50"),
        ("b", 2, 1.0, 3, ""),
        ("c", 3, 2.0, 2, ""),
        ("a", 1, 0.0, None, "shares no significant word with the question"),
    ]
    assert [hit.fused for hit in ranked] == pytest.approx(
        [1 / 64 + 1 / 61, 1 / 62 + 1 / 63, 1 / 62 + 1 / 63, 1 / 61]
    )
    assert [hit.cosine for hit in ranked] == [0.4, 0.8, 0.7, 0.9]  # scores stay with their chunks


def test_ranks_are_taken_before_the_threshold_chooses():
    """x is far in meaning and first in words; its presence sets the lexical ranks of the others."""
    rows = [("a", 0.9, "csv"), ("b", 0.8, "csv export"), ("x", 0.1, "csv export invoice")]
    ranked = {h.chunk.source_id: h for h in rank_strict("csv export invoice", hits(*rows), 0.5)}
    assert [ranked[name].lexical_rank for name in "abx"] == [3, 2, 1]
    assert ranked["a"].fused == pytest.approx(1 / 61 + 1 / 63)
    assert ranked["b"].fused == pytest.approx(1 / 62 + 1 / 62)
    assert kept(list(ranked.values())) == ["a", "b"]  # 0.032266 before 0.032258; x is too far


def test_at_most_three_are_kept_and_the_fourth_says_why_not():
    rows = [(name, 0.9, "csv") for name in "edcba"]
    ranked = rank_strict("csv", hits(*rows), threshold=0.5)
    assert kept(ranked) == ["a", "b", "c"]  # all tie: by id
    assert [hit.dropped for hit in ranked[3:]] == ["beyond the best 3"] * 2
    assert kept(rank_strict("csv", hits(*rows), threshold=0.5, k=1)) == ["a"]


def test_passages_that_say_the_same_take_one_place_and_the_newest_has_it():
    text = "Every reading of the last hour is kept for three days on the gateway itself, then sent."
    same = [
        Hit(chunk(name, text, valid_from=day), cosine=score)
        for name, score, day in (("old", 0.9, date(2025, 1, 1)), ("new", 0.8, date(2026, 5, 1)))
    ]
    ranked = rank_strict("reading", [*same, *hits(("z", 0.7, "A reading."))], 0.5, k=2)
    assert kept(ranked) == ["new", "z"]
    assert [hit.dropped for hit in ranked if hit.dropped] == ["the same passage as new#0"]


def test_a_passage_too_far_is_no_reason_to_drop_the_one_that_repeats_it():
    text = "Every reading of the last hour is kept for three days on the gateway itself, then sent."
    near = Hit(chunk("near", text, valid_from=date(2025, 1, 1)), cosine=0.9)
    far = Hit(chunk("far", text, valid_from=date(2026, 5, 1)), cosine=0.1)
    assert kept(rank_strict("reading", [near, far], threshold=0.5)) == ["near"]


def test_a_cosine_at_the_threshold_passes():
    assert kept(rank_strict("csv", hits(("a", 0.5, "csv")), threshold=0.5)) == ["a"]
    assert kept(rank_strict("csv", hits(("a", 0.4999, "csv")), threshold=0.5)) == []


def test_words_are_those_of_title_headings_and_text_and_count_once_each():
    titled = chunk("a", "csv csv csv", title="Export")
    hit = Hit(replace(titled, context="Refunds\nIn Europe"), cosine=0.9)
    (ranked,) = rank_strict("export of csv, csv, pdf or refund", [hit], threshold=0.5)
    assert ranked.lexical_score == 3.0


def test_equal_counts_of_words_are_ranked_by_cosine_and_never_by_a_files_name():
    """The same page under two names, among twenty that share as many words with the question."""
    others = [(f"note{n:02}", 0.3, "csv") for n in range(20)]
    for name in ("a-page", "z-page"):
        ranked = rank_strict("csv", hits(*others, (name, 0.9, "csv")), threshold=0.5)
        assert (ranked[0].chunk.source_id, ranked[0].lexical_rank) == (name, 1)
        assert [hit.lexical_rank for hit in ranked] == [hit.dense_rank for hit in ranked]


@pytest.mark.parametrize("threshold", [nan, -1.01, 1.5, inf])
def test_a_threshold_that_is_no_cosine_is_refused_by_name(threshold):
    message = f"the threshold is {threshold}; a cosine lies from -1 to 1."
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        rank_strict("csv", hits(("a", 0.9, "csv")), threshold)


def test_a_question_of_stop_words_has_no_lexical_rank_anywhere():
    ranked = rank_strict("what is it?", hits(("a", 0.9, "It is what it is.")), threshold=0.5)
    assert [hit.lexical_rank for hit in ranked] == [None]
    assert kept(ranked) == []


def test_nothing_eligible_ranks_nothing():
    assert rank_strict("csv", [], threshold=0.5) == []


@pytest.mark.parametrize(
    ("rows", "reason", "message"),
    [
        ([], Reason.NOTHING_ELIGIBLE, "No document may answer this viewer on this day."),
        (
            [("a", 0.9, "pdf"), ("b", 0.1, "pdf")],
            Reason.NO_LEXICAL_SUPPORT,
            "No passage shares a significant word with the question.",
        ),
        (
            [("a", 0.41, "csv"), ("b", 0.2, "pdf")],
            Reason.BELOW_THRESHOLD,
            "The nearest passage has cosine 0.41; at least 0.50 is needed.",
        ),
        (
            [("a", 0.9, "pdf"), ("b", 0.2, "csv")],
            Reason.NO_LEXICAL_SUPPORT,
            "The passages near in meaning share no significant word with the question.",
        ),
    ],
)
def test_each_refusal_names_its_reason(rows, reason, message):
    ranked = rank_strict("csv", hits(*rows), threshold=0.5)
    assert kept(ranked) == []
    refusal = strict_refusal(ranked, 0.5)
    assert (refusal.reason, refusal.message) == (reason, message)


@given(
    any_words,
    st.lists(st.tuples(st.sampled_from([0.1, 0.4, 0.5, 0.9]), any_words), max_size=8),
    st.integers(0, 5),
)
def test_what_is_kept_is_near_shares_a_word_and_comes_first(question, rows, k):
    dense = hits(*((f"id{number}", *row) for number, row in enumerate(rows)))
    before = list(dense)
    ranked = rank_strict(question, dense, threshold=0.45, k=k)
    assert dense == before
    assert {hit.chunk.id for hit in ranked} == {hit.chunk.id for hit in dense}
    assert ranked == sorted(ranked, key=lambda hit: (-hit.fused, hit.chunk.id))
    passing = [h for h in ranked if h.cosine >= 0.45 and h.lexical_rank is not None]
    assert [hit for hit in ranked if not hit.dropped] == passing[:k]
    assert sorted(hit.dense_rank for hit in ranked) == list(range(1, len(dense) + 1))
    lexical = sorted(hit.lexical_rank for hit in ranked if hit.lexical_rank is not None)
    assert lexical == list(range(1, len(lexical) + 1))
    for hit in ranked:
        assert (hit.lexical_rank is None) == (hit.lexical_score == 0)
    if not any(not hit.dropped for hit in ranked) and k:
        assert strict_refusal(ranked, 0.45).message


def test_a_word_that_stands_in_no_near_passage_is_not_said_to_stand_nowhere():
    ranked = rank_strict("csv", hits(("a", 0.9, "pdf")), threshold=0.5)
    assert strict_refusal(ranked, 0.5, known=True).message == (
        "The passages near in meaning share no significant word with the question."
    )


@given(any_text)
def test_no_question_raises(question):
    ranked = rank_strict(question, hits(("a", 0.9, "csv"), ("b", 0.8, question)), threshold=0.5)
    assert len(ranked) == 2


# --- passages that say the same ------------------------------------------------------------------

LONG = "Every reading of the last hour is kept for three days on the gateway itself, then sent."


def ranked(*chunks: Chunk) -> list[Hit]:
    return [Hit(item, fused=1 / rank) for rank, item in enumerate(chunks, start=1)]


def test_a_repeat_is_dropped_and_says_for_which() -> None:
    first, second = keep_best(ranked(chunk("a", LONG), chunk("b", LONG)), 3)
    assert (first.chunk.id, first.dropped) == ("a#0", "")
    assert (second.chunk.id, second.dropped) == ("b#0", "the same passage as a#0")
    assert second.fused == 0.5


def test_the_canonical_passage_takes_the_place_of_the_best_of_its_kind() -> None:
    other = chunk("other", LONG.replace("reading", "alarm"))
    given_hits = ranked(chunk("b", LONG), other, chunk("a", LONG))
    found = keep_best(given_hits, 3)
    assert [hit.chunk.id for hit in found] == ["a#0", "b#0", "other#0"]
    assert [hit.fused for hit in found] == [1 / 3, 1, 1 / 2]  # scores stay with their passages
    assert given_hits == ranked(chunk("b", LONG), other, chunk("a", LONG))


def test_no_passage_gives_way_to_one_that_is_not_shown() -> None:
    below, found = ranked(chunk("a", LONG), chunk("b", LONG))
    below = replace(below, dropped="cosine below 0.50")
    assert keep_best([below, found], 3) == [below, found]


def test_a_thousand_passages_are_not_compared_to_keep_three(monkeypatch) -> None:
    compared: list[int] = []
    monkeypatch.setattr(
        policy, "near_duplicates", lambda c: compared.append(len(c)) or near_duplicates(c)
    )
    words = [f"word{n}" for n in range(1100)]
    hits_ = ranked(*(chunk(f"d{n:04}", " ".join(words[n : n + 30])) for n in range(1000)))
    assert len([hit for hit in keep_best(hits_, 3) if not hit.dropped]) == 3
    assert compared == [COMPARED]
    compared.clear()
    same = ranked(*(chunk(f"d{n:04}", LONG) for n in range(120)), chunk("z", "Others."))
    assert kept(keep_best(same, 2)) == ["d0000", "z"], "repeats never take the places of others"
    assert compared == [COMPARED, 2 * COMPARED, 121]


@given(
    st.lists(st.tuples(st.sampled_from([LONG, LONG[:40], LONG + " Always."]), st.booleans())),
    st.integers(0, 9),
)
def test_keeping_loses_no_hit_and_never_a_whole_group(rows, k) -> None:
    given_hits = [
        Hit(chunk(f"d{number}", text), dropped="for a reason" if dropped else "")
        for number, (text, dropped) in enumerate(rows)
    ]
    result = keep_best(given_hits, k)
    assert sorted(hit.chunk.id for hit in result) == sorted(h.chunk.id for h in given_hits)
    found = {hit.chunk.id for hit in result if not hit.dropped}
    assert len(found) <= k
    for hit in result:
        if hit.dropped.startswith("the same passage as ") and len(found) < k:
            assert hit.dropped.removeprefix("the same passage as ") in found
