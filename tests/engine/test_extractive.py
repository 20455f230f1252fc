"""The generator without a model: it quotes whole sentences, or declines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import chunk, document
from labkit.answering import ExtractiveGenerator
from labkit.answering.access_filter import admit
from labkit.answering.gate import check_evidence
from labkit.chunking import CharacterChunker, MarkdownChunker
from labkit.markdown import pieces
from labkit.types import Chunk, Hit, Proposal, Viewer

READER = admit(Viewer("ACME", frozenset({"readers"})), date(2026, 10, 23))


def propose(question: str, *chunks: Chunk) -> Proposal:
    return ExtractiveGenerator().propose(question, [Hit(item) for item in chunks])


def quotes(question: str, *chunks: Chunk) -> list[tuple[str, str]]:
    """The (chunk id, quotation) pairs proposed, after the gate has passed them all."""
    proposal = propose(question, *chunks)
    if not proposal.can_answer:
        assert proposal.evidence == ()
        return []
    found = check_evidence(proposal, [Hit(item) for item in chunks], READER)
    return [(item.chunk_id, item.quote) for item in found]


EXPORT = chunk(
    "export",
    "# Exporting\n\nYou can export CSV from the Library page. The file holds the rows you see. "
    "One export holds at most 200,000 rows.\n",
)
INVOICES = chunk("invoices", "Invoices are due 30 days after their date. Reminders are free.")


# --- which sentence ------------------------------------------------------------------------------


def test_it_quotes_the_sentence_that_shares_most_with_the_question() -> None:
    assert quotes("Where can I export CSV?", INVOICES, EXPORT) == [
        ("export#0", "You can export CSV from the Library page.")
    ]


def test_rare_words_weigh_more_than_frequent_ones() -> None:
    passage = chunk(
        text="The gateway shows the gateway status. The gateway restarts the gateway at night. "
        "The gateway needs a fuse of two amperes."
    )
    assert quotes("Which fuse, gateway?", passage) == [
        ("a#0", "The gateway needs a fuse of two amperes.")
    ]


def test_of_equal_sentences_the_better_passage_and_then_the_earlier_one_wins() -> None:
    twice = "Backups are kept for 35 days. Backups are kept for 90 days."
    first, second = chunk("z", twice), chunk("a", twice)
    assert quotes("How long are backups kept?", first, second) == [
        ("z#0", "Backups are kept for 35 days.")
    ]


def test_the_same_question_gets_the_same_proposal() -> None:
    chunks = (EXPORT, INVOICES)
    assert propose("export CSV rows", *chunks) == propose("export CSV rows", *chunks)


def test_the_title_counts_as_what_a_sentence_is_about_but_is_never_quoted() -> None:
    titled = chunk("a", "The file holds the rows you see.", title="Parquet archive retention")
    assert quotes("Which rows does the Parquet archive file hold?", titled) == [
        ("a#0", "The file holds the rows you see.")
    ]
    assert quotes("Parquet archive retention", titled) == []


def test_accents_case_and_plurals_do_not_hide_an_answer() -> None:
    passage = chunk("fr", "Les notes de frais sont remboursées avant le 15 du mois.")
    assert quotes("Quand la NOTE DE FRAIS est-elle remboursee ?", passage) == [
        ("fr#0", "Les notes de frais sont remboursées avant le 15 du mois.")
    ]


# --- declining -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "chunks"),
    [
        ("Where can I export CSV?", ()),
        ("Who was the first person on the Moon?", (EXPORT, INVOICES)),
        ("Where is it and why?", (EXPORT,)),
        ("???", (EXPORT,)),
        ("export a bicycle helmet warranty certificate", (EXPORT,)),
        ("export", (chunk("blank", "   \n\n"),)),
        ("export", (chunk("heading", "# Export\n"),)),
        ("export", (chunk("short", "Export: yes."),)),
    ],
    ids=[
        "no passage",
        "no shared word",
        "only small words",
        "no word",
        "too little of the question",
        "blank passage",
        "a heading alone",
        "a sentence too short to quote",
    ],
)
def test_it_declines_rather_than_guesses(question: str, chunks: Sequence[Chunk]) -> None:
    assert propose(question, *chunks) == Proposal(can_answer=False)


# --- whole sentences only ------------------------------------------------------------------------


def test_a_sentence_cut_by_the_end_of_a_window_is_not_quoted() -> None:
    text = "Reports are sent daily. Invoices are due 30 days after the da"
    cut = replace(chunk("a", text), flags=("cut_end",))
    assert quotes("When are invoices due?", cut) == []
    assert quotes("When are reports sent?", cut) == [("a#0", "Reports are sent daily.")]


def test_a_sentence_cut_by_the_start_of_a_window_is_not_quoted() -> None:
    whole = chunk("a", "invoices are due 30 days after the date. Reminders are free.", part=1)
    assert quotes("When are invoices due?", replace(whole, flags=("cut_start",))) == []
    assert quotes("When are invoices due?", whole) != [], "a section begins with a sentence"


@pytest.mark.parametrize("text", ["Invoices are due after thirty days", "- Invoices are due soon"])
def test_a_last_line_needs_no_full_stop_where_nothing_is_cut(text: str) -> None:
    passage = chunk("a", f"# Invoices\n\n{text}\n")
    assert quotes("When are invoices due?", passage) == [("a#0", text.removeprefix("- "))]
    assert quotes("When are invoices due?", replace(passage, flags=("cut_end",))) == []


@pytest.mark.parametrize("end", [".", "!", "…", ".»", '."', ".)", ".**"])
def test_a_window_that_ends_with_a_sentence_cuts_none(end: str) -> None:
    text = f"Invoices are due after thirty days{end}"
    passage = replace(chunk("a", text), flags=("cut_end",))
    assert quotes("When are invoices due?", passage) == [("a#0", text)]


def test_a_row_cut_by_a_window_is_not_quoted_though_it_ends_with_a_mark() -> None:
    table = "| Plan | Price a month |\n|---|---|\n| Start | €49 a month |\n| Team | €190 |"
    cut = replace(chunk("a", table), flags=("cut_end",))
    assert quotes("price of Team a month", cut) == []


def test_a_chunk_that_begins_inside_code_is_not_quoted() -> None:
    text = "run();\n```\n\nInvoices are due after thirty days.\n"
    cut = replace(chunk("a", text), flags=("cut_fence", "cut_start"))
    assert quotes("When are invoices due?", cut) == []


def test_both_chunkers_say_what_they_cut() -> None:
    """faults of the kind: the first sentence of a section, a last line, an item without a stop."""
    filler = "The gateway is tested. " * 12
    text = (
        f"# Limits\n\n{filler}\n\n## Uploads\n\n- The largest upload is 40 megabytes\n"
        f"- An upload may take 90 seconds\n\n## Sessions\n\n{filler}\n\n"
        "The default session lifetime is 30 minutes\n"
    )
    for chunker in (MarkdownChunker(60, 10), CharacterChunker(600, 80)):
        chunks = chunker.chunk(document(text=text))
        assert len(chunks) > 1
        assert [quote for _, quote in quotes("How long may an upload take?", *chunks)] == [
            "An upload may take 90 seconds"
        ]
        assert [quote for _, quote in quotes("default session lifetime", *chunks)] == [
            "The default session lifetime is 30 minutes"
        ]


# --- what is hidden, and what says nothing by itself ----------------------------------------------


def test_what_nobody_sees_is_never_quoted() -> None:
    secret = "<!-- Draft: the deposit for a cargo bike is 900 euros from next spring. -->"
    (item,) = MarkdownChunker().chunk(document(text=f"{secret}\n\nA city bike costs 50 euros."))
    assert quotes("What is the deposit for a cargo bike?", item) == []
    text = "The deposit for a cargo bike <!-- now 900 --> is 50 euros."
    (item,) = MarkdownChunker().chunk(document(text=text))
    assert quotes("What is the deposit for a cargo bike?", item) == []


def test_a_rule_is_not_quoted_over_something_hidden_before_its_exception() -> None:
    text = f"{RULE} <!-- 60 days for friends --> {EXCEPTION}"
    (item,) = MarkdownChunker().chunk(document(text=text))
    assert quotes("Within how many days may customers return goods?", item) == []


def test_a_lead_in_is_quoted_with_its_code_and_never_alone() -> None:
    lead, code = "To stream events, return a `StreamReply`:", "```python\nStreamReply(x)\n```"
    question = "How do I stream events with a StreamReply?"
    assert quotes(question, chunk("a", f"{lead}\n\n{code}\n")) == [("a#0", f"{lead}\n\n{code}")]
    tab = '=== "Python"'
    assert quotes(question, chunk("a", f"{lead}\n\n{tab}\n\n{code}\n")) == [
        ("a#0", f"{lead}\n\n{tab}\n\n{code}")
    ]
    assert quotes(question, chunk("a", f"{lead}\n\nAnd more of it.")) == []
    long = "```\n" + "x = 1\n" * 400 + "```"
    assert quotes(question, chunk("a", f"{lead}\n\n{long}\n")) == []


@pytest.mark.parametrize(
    "text",
    [
        "Can I stream events with a StreamReply?",
        "[Stream events](a.md), [StreamReply](b.md)",
        "/// note | Stream events with a StreamReply",
        "!!! note Stream events with a StreamReply",
        "{* docs/stream_events_streamreply.py hl[1] *}",
        "## Stream events with a StreamReply",
    ],
)
def test_what_says_nothing_by_itself_is_no_answer(text: str) -> None:
    assert quotes("How do I stream events with a StreamReply?", chunk("a", text)) == []


# --- a rule and its exception --------------------------------------------------------------------

RULE = "Customers may return goods within 30 days."
EXCEPTION = "Goods made to order cannot be returned."


def test_an_exception_that_follows_is_quoted_with_its_rule() -> None:
    passage = chunk("returns", f"{RULE} {EXCEPTION} We like customers.")
    assert quotes("Within how many days may customers return goods?", passage) == [
        ("returns#0", f"{RULE} {EXCEPTION}")
    ]


def test_an_exception_further_down_that_speaks_of_the_same_is_reached() -> None:
    """The quotation is one slice: what stands between rule and exception comes with them."""
    passage = chunk("returns", f"{RULE} They need a number. {EXCEPTION}")
    assert quotes("Within how many days may customers return goods?", passage) == [
        ("returns#0", f"{RULE} They need a number. {EXCEPTION}")
    ]


def test_an_exception_to_something_else_stays_away() -> None:
    passage = chunk("returns", f"{RULE} They need a number. Offices are open, except on Sunday.")
    assert quotes("Within how many days may customers return goods?", passage) == [
        ("returns#0", RULE)
    ]


def test_an_exception_in_a_sister_passage_is_cited_as_well() -> None:
    first = chunk("returns", f"{RULE} They need a number.")
    sister = chunk("returns", f"And so on. {EXCEPTION} The end.", part=4)
    assert quotes("Within how many days may customers return goods?", first, sister) == [
        ("returns#0", RULE),
        ("returns#4", EXCEPTION),
    ]


def test_an_exception_in_another_document_is_not_taken_for_one() -> None:
    other = chunk("other", f"And so on. {EXCEPTION} The end.")
    first = chunk("returns", f"{RULE} They need a number.")
    assert quotes("Within how many days may customers return goods?", first, other) == [
        ("returns#0", RULE)
    ]


def test_an_exception_in_the_overlap_of_two_windows_is_quoted_once() -> None:
    first = chunk("returns", f"{RULE} {EXCEPTION}")
    sister = chunk("returns", f"number. {EXCEPTION} The end.", part=1)
    assert quotes("Within how many days may customers return goods?", first, sister) == [
        ("returns#0", f"{RULE} {EXCEPTION}")
    ]


def test_a_sentence_that_leans_on_the_one_before_takes_it_along() -> None:
    passage = chunk(
        "a", "A token is valid for 90 days. However, an owner may revoke a token early."
    )
    assert quotes("May an owner revoke a token early?", passage) == [("a#0", passage.text)]


@pytest.mark.parametrize(
    "exception",
    [
        "Toutefois, les absences de moins d’un jour en sont dispensées.",
        "Cela ne s’applique pas aux stagiaires.",
        "Sauf accord écrit, rien n’est reporté.",
    ],
)
def test_french_exceptions_are_seen(exception: str) -> None:
    rule = "Les congés se demandent quinze jours avant."
    assert quotes("Quand demander les congés ?", chunk("fr", f"{rule} {exception}")) == [
        ("fr#0", f"{rule} {exception}")
    ]


# --- tables --------------------------------------------------------------------------------------

PLANS = chunk(
    "plans",
    "| Plan | Price a month | Devices |\n|---|---|---|\n| Start | €49 | up to 10 |\n"
    "| Team | €190 | up to 60 |\n| Pro | €9 |\n",
)


def test_a_row_is_quoted_whole_and_read_with_its_headings() -> None:
    assert quotes("What is the price of Team a month?", PLANS) == [
        ("plans#0", "| Team | €190 | up to 60 |")
    ]
    assert quotes("How many devices does Start have?", PLANS) == [
        ("plans#0", "| Start | €49 | up to 10 |")
    ]


def test_headings_and_rules_of_a_table_are_no_answer() -> None:
    header = chunk("plans", "| Plan of the year | Price a month |\n|---|---|\n")
    assert quotes("price of the plan a month", header) == []


def test_a_row_without_outer_marks_is_quoted_whole_torn_or_not() -> None:
    head = "Model | Deposit. Refundable | Helmet\n--- | --- | ---\n"
    rows = (
        "City bike | 50 euros. Paid in cash | free\n"
        "Tandem bike | 120 euros. Paid by card | 5 euros\n"
    )
    whole, torn = chunk("a", head + rows), chunk("a", rows, part=1)
    for passage in (whole, replace(torn, flags=("cut_start",))):
        assert quotes("How is the tandem bike deposit paid?", passage) in (
            [],
            [(passage.id, "Tandem bike | 120 euros. Paid by card | 5 euros")],
        )
    assert quotes("How is the tandem bike deposit paid?", whole) != []


def test_a_row_is_no_exception_to_another() -> None:
    table = (
        "| Code | Meaning |\n|---|---|\n"
        "| E-4021 | The gateway cannot reach its time server. |\n"
        "| E-4022 | The certificate of the gateway has expired. |\n"
        "| E-5019 | The gateway works without its sensor, but cannot warn you. |"
    )
    assert quotes("What is the meaning of E-4021?", chunk("errors", table)) == [
        ("errors#0", "| E-4021 | The gateway cannot reach its time server. |")
    ]


def test_headings_do_not_reach_past_their_table() -> None:
    table = "| Plan | Price a month |\n|---|---|\n"
    passage = chunk("a", table + "\nWrite to the sales team of your region.")
    assert quotes("What is the price of the plan a month?", passage) == []


# --- codes ---------------------------------------------------------------------------------------

ERRORS = chunk(
    "errors",
    "| Code | Meaning |\n|---|---|\n| E-4021 | The time server is silent. |\n"
    "| E-4107 | Two meters share an address. |\n",
)


def test_a_code_in_the_question_must_stand_in_the_sentence() -> None:
    assert quotes("Meaning of E-4107?", ERRORS) == [
        ("errors#0", "| E-4107 | Two meters share an address. |")
    ]


@pytest.mark.parametrize("code", ["E-4099", "E-402", "E-40211", "X-4021", "GX-4107"])
def test_another_code_is_no_answer_however_near(code: str) -> None:
    assert quotes(f"Meaning of {code}?", ERRORS) == []


def test_the_passage_of_one_product_does_not_answer_for_another() -> None:
    facts = [chunk(f"gx-{n}", f"GX-{n} – Warranty: {n} months.") for n in (100, 200)]
    assert quotes("warranty of the GX-200", *facts) == [
        ("gx-200#0", "GX-200 – Warranty: 200 months.")
    ]
    assert quotes("warranty of the GX-300", *facts) == []


def test_each_code_asked_for_is_answered_or_none_is() -> None:
    assert quotes("Meaning of E-4021 and E-4107?", ERRORS) == [
        ("errors#0", "| E-4021 | The time server is silent. |"),
        ("errors#0", "| E-4107 | Two meters share an address. |"),
    ]
    assert quotes("Meaning of E-4021 and E-4099?", ERRORS) == []


def test_more_evidence_than_an_answer_holds_is_declined_not_cut() -> None:
    rows = "".join(f"| E-400{n} | The cause of it is {n}. |\n" for n in range(4))
    table = chunk("errors", "| Code | Meaning |\n|---|---|\n" + rows)
    assert len(quotes("Meaning of E-4000, E-4001 and E-4002?", table)) == 3
    assert quotes("Meaning of E-4000, E-4001, E-4002 and E-4003?", table) == []


# --- for all passages ----------------------------------------------------------------------------

words = st.sampled_from(
    "export csv report unless token gateway E-4021 cannot days | - # ``` . .\n\n 1. * œuvre".split(
        " "
    )
)
texts = st.lists(words, min_size=1, max_size=60).map(" ".join)


@given(question=texts, passages=st.lists(texts, min_size=1, max_size=3))
def test_whatever_it_proposes_is_whole_sentences_that_pass_the_gate(
    question: str, passages: list[str]
) -> None:
    chunks = [chunk("a", text, part) for part, text in enumerate(passages)]
    for name, quote in quotes(question, *chunks):
        text = next(item.text for item in chunks if item.id == name)
        starts = {text[piece.start :] for piece in pieces(text)}
        ends = {text[: piece.end] for piece in pieces(text)}
        assert any(rest.startswith(quote) for rest in starts)
        assert any(head.endswith(quote) for head in ends)
