"""The citation gate: what passes is letter for letter in a passage retrieved for this question."""

from __future__ import annotations

import time
import unicodedata
from collections.abc import Sequence
from datetime import date
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from builders import chunk
from labkit.answering.access_filter import admit
from labkit.answering.gate import check_evidence
from labkit.types import Chunk, Citation, Evidence, Hit, Proposal, Reason, Refused, Viewer

DAY = date(2026, 10, 23)
READER = admit(Viewer("ACME", frozenset({"readers"})), DAY)

RULE = (
    "A gateway installs new firmware at night, unless automatic updates are switched off. "
    "It pauses for about three minutes when it restarts."
)
FIRMWARE = chunk("firmware", RULE)
RETURNS = chunk("returns", "Customers may return unused goods within 30 days of delivery.")


def cite(*pairs: tuple[str, str]) -> Proposal:
    return Proposal(True, tuple(Citation(name, quote) for name, quote in pairs))


def check(proposal: Proposal, chunks: Sequence[Chunk] = (FIRMWARE, RETURNS)) -> list[Evidence]:
    return list(check_evidence(proposal, [Hit(item) for item in chunks], READER))


def refusal(proposal: Proposal, chunks: Sequence[Chunk] = (FIRMWARE, RETURNS)) -> Refused:
    with pytest.raises(Refused) as caught:
        check(proposal, chunks)
    return caught.value


# --- the three forged proposals, and the one that passes -----------------------------------------


def test_a_quotation_that_stands_in_its_chunk_passes_with_its_offsets() -> None:
    quote = "A gateway installs new firmware at night, unless automatic updates are switched off."
    assert check(cite(("firmware#0", quote))) == [Evidence("firmware#0", "firmware", quote, 0, 84)]


def test_an_invented_id_is_refused() -> None:
    refused = refusal(cite(("firmware-secret#0", "A gateway installs new firmware at night")))
    assert refused.reason is Reason.INVALID_CITATION
    assert refused.message == (
        "The citation names 'firmware-secret#0', which was not retrieved for this question."
    )


def test_a_quotation_altered_so_that_its_condition_is_dropped_is_refused() -> None:
    refused = refusal(cite(("firmware#0", "A gateway installs new firmware at night.")))
    assert refused.reason is Reason.QUOTATION_NOT_FOUND
    assert refused.message.startswith(
        "The quotation 'A gateway installs new firmware at night.' does not stand in firmware#0."
    )


def test_a_quotation_that_is_too_short_is_refused() -> None:
    refused = refusal(cite(("firmware#0", "new firmware")))
    assert refused.reason is Reason.INVALID_CITATION
    assert refused.message == "The quotation 'new firmware' is shorter than 20 characters."


def test_the_known_limit_a_true_quotation_cut_before_its_exception_passes() -> None:
    """The gate proves that words stand in a source. That they mislead, it cannot see."""
    assert check(cite(("firmware#0", "A gateway installs new firmware at night")))


# --- which chunk ---------------------------------------------------------------------------------


def test_the_words_of_one_chunk_under_the_id_of_another_are_refused() -> None:
    refused = refusal(cite(("returns#0", "It pauses for about three minutes")))
    assert refused.reason is Reason.QUOTATION_NOT_FOUND
    assert "does not stand in returns#0" in refused.message


def test_a_chunk_of_the_same_document_that_was_not_retrieved_is_refused() -> None:
    assert refusal(cite(("firmware#1", RULE))).reason is Reason.INVALID_CITATION


@pytest.mark.parametrize(
    "name", ["", "firmware", "FIRMWARE#0", "firmware#00", " firmware#0", "[f]"]
)
def test_an_id_is_compared_whole(name: str) -> None:
    assert refusal(cite((name, RULE))).reason is Reason.INVALID_CITATION


def test_with_nothing_retrieved_nothing_can_be_cited() -> None:
    assert refusal(cite(("firmware#0", RULE)), chunks=[]).reason is Reason.INVALID_CITATION


@pytest.mark.parametrize(
    "since",
    [
        {"status": "draft"},
        {"status": "retired"},
        {"canonical": False},
        {"scope": "GLOBEX/readers"},
        {"scope": "ACME/support"},
        {"valid_from": date(2026, 10, 24)},
        {"valid_until": date(2026, 10, 22)},
    ],
    ids=lambda since: next(iter(since)),
)
def test_a_passage_that_may_no_longer_answer_is_as_if_not_retrieved(
    since: dict[str, Any],
) -> None:
    """Whatever a search let through by mistake: the gate asks the same predicate once more."""
    closed = chunk("firmware", RULE, **since)
    invented = refusal(cite(("firmware#0", RULE)), chunks=[RETURNS])
    refused = refusal(cite(("firmware#0", RULE)), chunks=[closed, RETURNS])
    assert refused.reason is Reason.INVALID_CITATION
    assert refused.message == invented.message, "the refusal must not say that it exists"


# --- letter for letter ---------------------------------------------------------------------------

PRICE = chunk("price", "L’été, l’abonnement coûte 12 à 24 €\u00a0par mois – hors taxes.")


def test_the_letters_as_they_are_pass() -> None:
    assert check(cite(("price#0", PRICE.text)), [PRICE])[0].quote == PRICE.text


@pytest.mark.parametrize(
    "altered",
    [
        pytest.param(unicodedata.normalize("NFD", PRICE.text), id="NFD form"),
        pytest.param(PRICE.text.replace("\u00a0", " "), id="plain space for no-break space"),
        pytest.param(PRICE.text.replace(" 12", "  12"), id="doubled space"),
        pytest.param(PRICE.text.replace("–", "-"), id="hyphen for dash"),
        pytest.param(PRICE.text.replace("–", "—"), id="longer dash"),
        pytest.param(PRICE.text.replace("’", "'"), id="straight apostrophe"),
        pytest.param(PRICE.text.replace("mois", "Mois"), id="other case"),
        pytest.param(PRICE.text.replace("é", "e"), id="accent dropped"),
        pytest.param("«" + PRICE.text + "»", id="quotation marks around it"),
        pytest.param(PRICE.text + "…", id="ellipsis at the end"),
        pytest.param(PRICE.text + " ", id="trailing space"),
        pytest.param(PRICE.text.replace("abonnement", "abon\u00adnement"), id="soft hyphen"),
        pytest.param(PRICE.text.replace("abonnement", "abon\u200bnement"), id="zero-width space"),
    ],
)
def test_a_near_match_is_refused_and_named_to_help(altered: str) -> None:
    refused = refusal(cite(("price#0", altered)), [PRICE])
    assert refused.reason is Reason.QUOTATION_NOT_FOUND
    assert refused.message.endswith(
        " The passage has the same letters with other case, accents, spaces or punctuation."
    )


@pytest.mark.parametrize(
    "altered",
    [
        pytest.param(PRICE.text.replace("a", "\u0430"), id="Cyrillic look-alike"),
        pytest.param(PRICE.text.replace("o", "0"), id="digit for letter"),
        pytest.param(PRICE.text.replace("12 à 24", "…"), id="ellipsis inside"),
        pytest.param(PRICE.text.replace("12 à 24", "[…]"), id="bracketed ellipsis"),
        pytest.param(PRICE.text.replace("hors", "toutes"), id="another word"),
        pytest.param("the price is twelve euros a month", id="paraphrase"),
        pytest.param("—" * 20, id="no letters at all"),
    ],
)
def test_other_letters_are_refused_without_a_hint(altered: str) -> None:
    refused = refusal(cite(("price#0", altered)), [PRICE])
    assert refused.reason is Reason.QUOTATION_NOT_FOUND
    assert refused.message.endswith("does not stand in price#0.")


def test_context_and_title_are_not_quotable() -> None:
    """Only the slice of the document is: a heading's path stands beside it, not in it."""
    titled = Chunk(FIRMWARE.meta, 0, 0, 4, "Text", context="Everything about firmware updates")
    assert refusal(cite(("firmware#0", titled.context)), [titled]).reason is (
        Reason.QUOTATION_NOT_FOUND
    )


@pytest.mark.parametrize(("name", "quote"), [(None, "x" * 20), ("a#0", None), ("a#0", b"x" * 20)])
def test_what_is_no_text_is_refused(name: Any, quote: Any) -> None:
    assert refusal(cite((name, quote))).reason is Reason.INVALID_PROPOSAL


def test_a_quotation_that_stands_there_and_says_nothing_is_refused() -> None:
    """The line under the heads of a table, letter for letter, proves nothing."""
    rule = "| --- | :---: | ---: |"
    table = chunk("table", f"| Plan | Price | Limit |\n{rule}\n| Basic | 5 euros | 10 devices |\n")
    refused = refusal(cite(("table#0", rule)), [table])
    assert refused.reason is Reason.INVALID_CITATION
    assert refused.message == f"The quotation {rule!r} holds no letter and no digit."


# --- length --------------------------------------------------------------------------------------

LETTERS = chunk("letters", "abcdefghijklmnopqrstuvwxyz" + " " * 30)


@pytest.mark.parametrize(("length", "passes"), [(0, False), (19, False), (20, True), (21, True)])
def test_a_quotation_needs_twenty_characters(length: int, passes: bool) -> None:
    proposal = cite(("letters#0", LETTERS.text[:length]))
    if passes:
        assert check(proposal, [LETTERS])[0].end == length
    else:
        assert "is shorter than 20 characters" in refusal(proposal, [LETTERS]).message


@pytest.mark.parametrize("padding", [" ", "\n", "\t", "\u00a0"])
def test_white_space_around_a_quotation_counts_for_nothing(padding: str) -> None:
    padded = chunk("padded", "abcdefghijklmnopqrs" + padding * 30)
    assert refusal(cite(("padded#0", padded.text)), [padded]).reason is Reason.INVALID_CITATION


# --- how many ------------------------------------------------------------------------------------


def test_a_quotation_without_end_is_refused_in_a_few_words_and_at_once() -> None:
    start = time.perf_counter()
    for quote, name in (
        ("e" + "\u0301\u0316" * 100_000, "firmware#0"),
        ("x" * 25, "y" * 1_000_000),
        (" " * 1_000_000, "firmware#0"),
    ):
        assert len(refusal(cite((name, quote))).message) < 8000
    assert time.perf_counter() - start < 2


def test_a_generator_that_declines_is_believed() -> None:
    refused = refusal(Proposal(False))
    assert refused.reason is Reason.MODEL_DECLINED
    assert refused.message == "The generator found no answer in the retrieved passages."


def test_declining_wins_over_evidence() -> None:
    proposal = Proposal(False, (Citation("firmware#0", RULE),))
    assert refusal(proposal).reason is Reason.MODEL_DECLINED


@pytest.mark.parametrize("count", [0, 4, 100])
def test_an_answer_needs_one_to_three_pieces(count: int) -> None:
    refused = refusal(cite(*[("firmware#0", RULE)] * count))
    assert refused.reason is Reason.INVALID_PROPOSAL
    assert refused.message == f"The proposal has {count} pieces of evidence; 1 to 3 are asked."


@pytest.mark.parametrize("bad", [0, 1, 2])
def test_one_bad_piece_refuses_all(bad: int) -> None:
    pieces = [("firmware#0", RULE), ("returns#0", RETURNS.text), ("firmware#0", RULE[:40])]
    assert len(check(cite(*pieces))) == 3
    pieces[bad] = (pieces[bad][0], "Words that stand in no passage.")
    assert refusal(cite(*pieces)).reason is Reason.QUOTATION_NOT_FOUND


def test_evidence_keeps_the_order_of_the_proposal() -> None:
    found = check(cite(("returns#0", RETURNS.text), ("firmware#0", RULE)))
    assert [item.chunk_id for item in found] == ["returns#0", "firmware#0"]


# --- offsets -------------------------------------------------------------------------------------


def test_offsets_count_in_the_document_not_in_the_chunk() -> None:
    document = "Front matter and more.\n" + RULE
    later = Chunk(FIRMWARE.meta, 3, 23, len(document), document[23:], page=7)
    (found,) = check(cite(("firmware#3", "It pauses for about three minutes")), [later])
    assert document[found.start : found.end] == found.quote
    assert (found.start, found.page) == (23 + 85, 7)


def test_a_passage_that_repeats_itself_gives_its_first_place() -> None:
    again = chunk("again", "The same twenty letters. The same twenty letters.")
    (found,) = check(cite(("again#0", "The same twenty letters.")), [again])
    assert (found.start, found.end) == (0, 24)


def test_the_same_text_in_two_chunks_is_located_in_the_one_that_is_cited() -> None:
    text = "The same twenty letters."
    chunks = [Chunk(FIRMWARE.meta, part, at, at + 24, text) for part, at in ((0, 0), (1, 500))]
    first, second = check(cite(("firmware#0", text), ("firmware#1", text)), chunks)
    assert (first.start, second.start) == (0, 500)


# --- for all texts -------------------------------------------------------------------------------

passages = st.text(min_size=20, max_size=200)


@given(before=st.text(max_size=50), head=st.text(), quote=passages, tail=st.text())
def test_every_long_enough_slice_of_a_passage_passes_and_slices_back(
    before: str, head: str, quote: str, tail: str
) -> None:
    assume(len(quote.strip()) >= 20)
    text = head + quote + tail
    passage = Chunk(FIRMWARE.meta, 0, len(before), len(before + text), text)
    (found,) = check(cite(("firmware#0", quote)), [passage])
    assert (before + text)[found.start : found.end] == quote == found.quote
    assert passage.start <= found.start < found.end <= passage.end


@given(text=passages, quote=st.text(max_size=60))
def test_no_other_text_ever_passes(text: str, quote: str) -> None:
    assume(quote not in text)
    refusal(cite(("firmware#0", quote)), [chunk("firmware", text)])


@given(text=passages, data=st.data())
def test_one_changed_character_is_enough_to_refuse(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda character: character != text[at]))
    altered = text[:at] + other + text[at + 1 :]
    refusal(cite(("firmware#0", altered)), [chunk("firmware", text)])


def test_what_no_reader_of_the_page_sees_is_no_evidence() -> None:
    secret = "The deposit is 900 euros from spring."
    text = f"Bikes are lent. <!-- {secret} --> Trams are free of charge here."
    start = text.index("<!--")
    passage = Chunk(FIRMWARE.meta, 0, 0, len(text), text, hidden=((start, text.index("-->") + 3),))
    for quote in (secret, text, "Bikes are lent. <!-- The deposit"):
        with pytest.raises(Refused) as refused:
            check_evidence(Proposal(True, (Citation(passage.id, quote),)), [Hit(passage)], READER)
        assert refused.value.reason is Reason.QUOTATION_NOT_FOUND
    twice = Chunk(FIRMWARE.meta, 0, 0, 0, secret + secret, hidden=((0, len(secret)),))
    (found,) = check_evidence(Proposal(True, (Citation(twice.id, secret),)), [Hit(twice)], READER)
    assert found.start == len(secret)
