"""The reader: which unit answers, what stands beside it, and when it is not good enough."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import chunk
from labkit.answering import ExtractiveGenerator
from labkit.answering.access_filter import admit
from labkit.answering.candidates import Candidate, said_by
from labkit.answering.extractive import Choice
from labkit.answering.gate import check_evidence
from labkit.answering.reader import Reader, snippet, unit_score
from labkit.ranking import Bm25
from labkit.text import significant_terms
from labkit.types import Citation, Hit, Proposal, Refused, TermStatistics, Viewer

VIEWER = admit(Viewer("ACME", frozenset({"readers"})), date(2026, 10, 23))


def hit(
    name: str,
    text: str,
    fused: float = 1.0,
    asked: Mapping[str, float] | None = None,
    **changes: Any,
) -> Hit:
    return Hit(chunk(name, text, **changes), fused=fused, asked=asked or {})


def read(question: str, *hits: Hit, threshold: float = 0.5) -> Proposal:
    return ExtractiveGenerator(Reader(threshold)).propose(question, hits)


def quotes(question: str, *hits: Hit, threshold: float = 0.5) -> list[str]:
    proposal = read(question, *hits, threshold=threshold)
    return [item.quote for item in proposal.evidence]


# --- the score -----------------------------------------------------------------------------------


def test_a_score_is_made_of_what_the_unit_says_its_headings_and_its_place() -> None:
    """Words of weight 3 and 1; the sentence says the first, its title the other: 3/4, 4/4, 0.5."""
    found = hit("a", "Export works.", 0.5, {"export": 3.0, "report": 1.0}, title="Reports")
    ((unit,),) = said_by([found])
    score = unit_score(unit, frozenset({"export", "report"}))
    assert score == pytest.approx(0.3 * 0.75 + 0.3 * 1.0 + 0.4 * 0.5)


WORDS = st.sampled_from(["pump", "gateway", "meter", "valve", "pipe", "fuse"])


@given(
    said=st.lists(WORDS, min_size=1),
    asked=st.dictionaries(WORDS.map(lambda w: min(significant_terms(w))), st.floats(0.1, 10)),
    fused=st.floats(0, 1),
    more=WORDS,
)
def test_a_score_lies_between_0_and_1_and_saying_more_never_lowers_it(
    said: list[str], asked: dict[str, float], fused: float, more: str
) -> None:
    def scored(words: list[str]) -> float:
        ((unit,),) = said_by([hit("a", f"It says {' '.join(words)}.", fused, asked)])
        return unit_score(unit, frozenset(asked))

    assert 0 <= scored(said) <= scored([*said, more]) + 1e-12 <= 1 + 1e-9


def test_the_rarity_of_a_word_is_that_of_bm25() -> None:
    """Without the norm of its length, a share of one occurrence is the rarity over 1 + k1."""
    passages = [["csv", "export"], ["pdf", "export"], ["pdf", "page"]]
    index = Bm25(passages, k1=1.0, b=0.0)
    frequency = {"csv": 1, "export": 2, "pdf": 2, "page": 1}
    known = TermStatistics(len(passages), frequency, {})
    for term in frequency:
        _, shares = index.postings(term)
        assert known.rarity(term) == pytest.approx(float(np.max(shares)) * 2)
    assert known.rarity("unheard") > known.rarity("csv")


# --- the choice ----------------------------------------------------------------------------------


def test_words_weigh_by_their_rarity_among_all_passages_not_among_those_found() -> None:
    """Every passage found names the gateway, as it was found by that word: rare it is all the same.

    The chooser of stage 07 takes the fuse and the fan, which only one of these sentences mentions.
    """
    text = "Any device needs a fuse and a fan. The gateway is a new one. A gateway is small."
    found = hit("a", text, asked={"gateway": 9.0, "fuse": 1.0, "fan": 1.0})
    question = "gateway fuse fan"
    assert quotes(question, found)[0] == "The gateway is a new one."
    stage_07 = ExtractiveGenerator().propose(question, [found])
    assert stage_07.evidence[0].quote == "Any device needs a fuse and a fan."


def test_the_code_that_a_question_asks_about_counts_as_its_rarest_word() -> None:
    """The row of the code answers, and what else the question says is a small part of it."""
    table = (
        "| Code | Meaning |\n|---|---|\n| E-4021 | No time server. |\n| E-4022 | No network. |\n"
    )
    asked = {"e-4022": 5.0, "e": 1.0, "4022": 5.0, "mean": 1.0, "status": 2.0}
    found = hit("a", table, 0.8, asked)
    question = "What does E-4022 on the status page mean?"
    assert quotes(question, found, threshold=0.6) == ["| E-4022 | No network. |"]


def test_a_heading_counts_for_what_stands_under_it() -> None:
    asked = {"premium": 3.0, "limit": 1.0}
    found = [
        hit("a", "The limit is ten devices here.", 0.5, asked, title="Premium"),
        hit("b", "The limit is two devices here.", 0.5, asked, title="Basic"),
    ]
    assert quotes("What is the limit of Premium?", *found)[0] == "The limit is ten devices here."


def test_the_better_passage_wins_between_equal_sentences() -> None:
    asked = {"limit": 1.0}
    found = [
        hit("a", "The limit is two devices here.", 0.3, asked),
        hit("b", "The limit is ten devices here.", 0.9, asked),
    ]
    assert quotes("Which limit?", *found) == ["The limit is ten devices here."]


def test_a_unit_of_another_passage_that_scores_close_stands_beside_the_best() -> None:
    asked = {"limit": 1.0}
    texts = ["The limit is two devices here.", "The limit is ten devices here.", "A limit of six."]
    places = (0.90, 0.85, 0.5)
    found = [
        hit(name, text, place, asked)
        for name, text, place in zip("abc", texts, places, strict=True)
    ]
    assert quotes("Which limit?", *found) == texts[:2]


def test_an_exception_brings_the_rule_that_it_is_one_to() -> None:
    asked = {"meter": 2.0, "calibr": 2.0, "invoice": 2.0}
    text = (
        "Every meter is calibrated after 8 years. It has a screen and two buttons. The meter is "
        "not calibrated at all, unless the invoice of the meter needs it."
    )
    found = hit("a", text, asked=asked)
    shown = quotes("Is a meter calibrated for the invoice?", found)
    assert len(shown) == 2
    assert "unless" in shown[0]
    assert shown[1].startswith("Every meter is calibrated after 8 years.")


def test_the_snippet_of_a_passage_is_the_unit_that_says_most_of_the_question() -> None:
    """Whole, where the passage begins inside a word; the passage itself where no unit says any."""
    text = "e next month. Backups are kept for 35 days. Readings are kept for longer than that."
    torn = Hit(replace(chunk("a", text), flags=("cut_start",)))
    assert snippet(torn, "How long are backups kept?") == "Backups are kept for 35 days."
    assert snippet(torn, "Who is on call?") == text


def test_what_stands_beside_gives_way_before_the_answer_does() -> None:
    """Three quotations are the most: the fourth unit is left out, and nothing is declined."""
    found = [hit(name, f"The limit of {name * 3} is two devices.") for name in "abcd"]

    def choose_all(
        words: frozenset[str], code: frozenset[str], candidates: Sequence[Candidate]
    ) -> Choice:
        return Choice(tuple(candidates))

    proposal = ExtractiveGenerator(choose_all).propose("Which limit?", found)
    assert [item.chunk_id for item in proposal.evidence] == ["a#0", "b#0", "c#0"]


# --- the decision --------------------------------------------------------------------------------


def test_a_unit_that_scores_too_little_is_declined_with_both_figures() -> None:
    asked = {"limit": 1.0, "hush": 4.0}
    found = hit("a", "The limit is two devices here.", 0.2, asked)
    proposal = read("Which limit to hush?", found, threshold=0.5)
    assert proposal == Proposal(
        False,
        detail={
            "score": 0.2,
            "needed": 0.5,
            "chosen": {"chunk": "a#0", "unit": "The limit is two devices here."},
        },
        why="The best sentence found scores 0.20, and 0.50 is needed: it says too little of what "
        "was asked.",
    )
    with pytest.raises(Refused, match=r"scores 0\.20, and 0\.50 is needed"):
        check_evidence(proposal, [found], VIEWER)


def test_a_number_of_the_question_has_to_stand_in_the_passage() -> None:
    asked = {"price": 1.0, "2021": 1.0}
    found = hit("a", "The price in 2024 was ten euros.", asked=asked)
    assert read("Which price in 2021?", found).why == "No passage found names 2021."
    assert quotes("Which price in 2024?", found) == ["The price in 2024 was ten euros."]
    titled = hit("b", "The price was ten euros then.", asked=asked, title="Prices of 2021")
    assert quotes("Which price in 2021?", titled) == ["The price was ten euros then."]


def test_no_passage_is_no_answer_and_no_fault() -> None:
    assert read("Which limit?") == Proposal(False)


@given(
    sentences=st.lists(
        st.lists(WORDS, min_size=3, max_size=6).map(lambda words: f"The {' '.join(words)} holds."),
        min_size=1,
        max_size=8,
    ),
    asked=st.lists(WORDS, min_size=1, max_size=4),
    threshold=st.floats(0, 1),
)
def test_all_that_it_proposes_passes_the_gate(
    sentences: list[str], asked: list[str], threshold: float
) -> None:
    half = len(sentences) // 2
    found = [
        hit(name, " ".join(part), place)
        for name, part, place in (("a", sentences[:half], 1.0), ("b", sentences[half:], 0.95))
        if part
    ]
    proposal = read(f"What of {' '.join(asked)}?", *found, threshold=threshold)
    if proposal.can_answer:
        passed = check_evidence(proposal, found, VIEWER)
        assert [Citation(item.chunk_id, item.quote) for item in passed] == list(proposal.evidence)
