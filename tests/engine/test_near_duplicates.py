"""labkit.ranking.near_duplicates: what says the same is found, and nothing else is."""

from __future__ import annotations

import time
from dataclasses import replace
from datetime import date
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import chunk
from conftest import CHECKOUT
from labkit.chunking.markdown import MarkdownChunker
from labkit.documents import Plain, Rules, read_folder
from labkit.ranking.near_duplicates import MIN_WORDS, THRESHOLD, near_duplicates
from labkit.types import Chunk

LONG = (
    "Please send the device back to the warehouse within thirty days of delivery, in its original "
    "box, with the form that you find on the portal. We refund the price to the account from which "
    "you paid and tell you by mail when it has been done. Shipping stays with the customer."
)


def pair(first: str, second: str, **changes: object) -> dict[str, str]:
    return near_duplicates([chunk("a", first), chunk("b", second, **changes)])


# --- what is the same -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "second",
    [
        LONG,
        LONG.upper(),
        LONG.replace(" ", "\n"),
        LONG.replace("box", "**box**").replace(",", " –"),
        f"> - {LONG}",
    ],
)
def test_a_passage_that_says_the_same_repeats_the_first(second: str) -> None:
    assert pair(LONG, second) == {"b#0": "a#0"}


def test_accents_ligatures_and_apostrophes_do_not_tell_passages_apart() -> None:
    rest = " chaque matin avant que la salle soit ouverte."
    french, typed = (
        "L’œuvre d’Orléans est déposée à l’accueil",
        "L'oeuvre d'ORLEANS est deposee a l'accueil",
    )
    assert pair(french + rest, typed + rest) == {"b#0": "a#0"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("thirty days", "14 days"),
        ("customer", "seller"),
        ("We refund", "We never refund"),
        ("the customer.", "the customer, except for batteries."),
        ("with the form", "without the form"),
        ("the price", "the 40 price"),
        ("mail", "mails"),
        (" that you find", " you find"),
        ("the device", "the unopened device"),
        ("We refund", "We refuse to refund"),
        ("original box", "original box ✅"),
        ("thirty days", "< 30 days"),
    ],
)
def test_a_passage_that_decides_something_else_does_not(old: str, new: str) -> None:
    assert old in LONG
    assert pair(LONG, LONG.replace(old, new)) == {}


def test_numbers_are_compared_with_their_signs_and_in_order() -> None:
    assert pair(f"{LONG} From -40 to 70.", f"{LONG} From 40 to 70.") == {}
    assert pair(f"{LONG} First 4 then 9.", f"{LONG} First 9 then 4.") == {}
    assert pair(f"{LONG} From -40 to 70.", f"{LONG} from -40 to 70") == {"b#0": "a#0"}


@pytest.mark.parametrize(
    ("first", "second"),
    [("✅", "❌"), ("40 $", "40 €"), ("< 5 A", "> 5 A"), ("±5 K", "5 K"), ("a + b", "a - b"),
     ("1.5", "1,5"), ("~~all~~", "all"), ("v1.2", "v1,2")],
)  # fmt: skip
def test_signs_that_decide_are_compared(first: str, second: str) -> None:
    assert pair(f"{LONG} {first}", f"{LONG} {second}") == {}
    assert pair(f"{LONG} {first}", f"{LONG} {first}") == {"b#0": "a#0"}


def test_a_sign_is_compared_where_it_stands() -> None:
    rows = "{}\n\n| Gateway | {} |\n| Meter | {} |\n".format
    assert pair(rows(LONG, "yes ✅", "yes"), rows(LONG, "yes", "yes ✅")) == {}


# --- one that says more ---------------------------------------------------------------------------

FRENCH = (
    "Le client peut renvoyer tout article au dépôt central dans le délai que nomme la commande, à "
    "ses propres frais, dans la boîte d'origine avec toutes ses pièces, et le remboursement suit."
)
BELOW = [  # what follows a rule may take it back in any words, in any language
    (LONG, "Opened batteries are excluded."),
    (LONG, "Frost damage excepted."),
    (LONG, "This does not apply to batteries."),
    (LONG, "Refunds are refused otherwise."),
    (FRENCH, "Hormis les piles."),
    (FRENCH, "Les piles sont exclues."),
    (FRENCH, "À l'exception des piles."),
]


@pytest.mark.parametrize(("rule", "exception"), BELOW)
def test_the_passage_that_states_the_exception_stays(rule: str, exception: str) -> None:
    more, less = chunk("z", f"{rule}\n\n- {exception}", title="T"), chunk("a", rule, title="T")
    assert near_duplicates([more, less]) == {"a#0": "z#0"}
    newer = replace(less, meta=replace(less.meta, valid_from=date(2027, 1, 1)))
    assert near_duplicates([more, newer]) == {}  # the later rule is shown, and the exception too
    copy = replace(more, meta=replace(more.meta, canonical=False))
    assert near_duplicates([copy, less]) == {}


def test_two_exceptions_to_one_rule_are_two_passages() -> None:
    batteries, frost = f"{LONG} Batteries are excluded.", f"{LONG} Frost damage is excluded."
    assert near_duplicates([chunk("a", batteries, title="T"), chunk("b", frost, title="T")]) == {}


def test_a_sentence_in_between_can_change_what_follows_it() -> None:
    items = "\n".join(f"- {LONG} Number {number}." for number in range(8))
    first = f"These are allowed.\n\n{items}"
    second = first.replace("- " + LONG + " Number 4", f"These are forbidden.\n\n- {LONG} Number 4")
    assert near_duplicates([chunk("a", first, title="T"), chunk("b", second, title="T")]) == {}


# --- under which headings -------------------------------------------------------------------------


def test_the_headings_above_belong_to_what_a_passage_says() -> None:
    first = replace(chunk("a", LONG), context="Returns\nForbidden", section="Goods")
    same = replace(first, meta=chunk("b").meta, context="RETURNS\n*Forbidden*", section="goods:")
    assert near_duplicates([first, same]) == {"b#0": "a#0"}
    for changes in ({"context": "Returns\nAllowed"}, {"context": ""}, {"section": "Others"}):
        assert near_duplicates([first, replace(same, **changes)]) == {}
    text = "## Goods that are forbidden\n\n" + LONG
    assert pair(text, text.replace("forbidden", "allowed")) == {}


def test_a_longer_passage_needs_the_same_title_or_a_copy() -> None:
    more = LONG + " Thank you."
    assert near_duplicates([chunk("a", more), chunk("b", LONG)]) == {}
    assert near_duplicates([chunk("a", more), chunk("b", LONG, canonical=False)]) == {"b#0": "a#0"}
    both = [chunk("a", more, title="Returns"), chunk("b", LONG, title="RETURNS")]
    assert near_duplicates(both) == {"b#0": "a#0"}


def test_equal_words_about_two_products_are_two_facts() -> None:
    assert near_duplicates([chunk("a", LONG, product="GX-100"), chunk("b", LONG)])
    both = [chunk("a", LONG, product="GX-100"), chunk("b", LONG, product="GX-200")]
    assert near_duplicates(both) == {}


def test_a_short_passage_means_what_its_heading_says() -> None:
    words = " ".join("See the table on the next page for what this one costs".split())
    assert len(words.split()) == MIN_WORDS
    assert pair(words, words) == {"b#0": "a#0"}
    short = words.rsplit(" ", 1)[0]
    assert pair(short, short) == {}
    assert near_duplicates([]) == {}


# --- which one stays ------------------------------------------------------------------------------


def test_canonical_is_no_copy_then_the_newest_then_the_longest_then_the_smallest_id() -> None:
    old, new = date(2025, 1, 1), date(2026, 1, 1)
    chunks = [
        chunk("c", LONG, valid_from=new),
        chunk("b", LONG, valid_from=new),
        chunk("a", LONG, valid_from=old),
        chunk("d", LONG, valid_from=date(2027, 1, 1), canonical=False),
    ]
    assert near_duplicates(chunks) == {"a#0": "b#0", "c#0": "b#0", "d#0": "b#0"}
    longer = replace(chunk("z", LONG + " Thank you.", valid_from=new), context="")
    same_title = [replace(item, meta=replace(item.meta, title="T")) for item in [*chunks, longer]]
    found = near_duplicates(same_title)
    assert found == dict.fromkeys(["a#0", "b#0", "c#0", "d#0"], "z#0")


_WORDS = st.lists(st.sampled_from("red green blue white black grey".split()), max_size=30)
_SENTENCE = st.sampled_from(
    ["Red green blue white black grey.", "Blue.", "Grey white green red.", "Red blue black."]
)
# none of them ends as another one does, so that a text in a text is sentences in a row
_TEXT = st.lists(_SENTENCE, max_size=9).map(" ".join)


@given(st.lists(_TEXT, max_size=8), st.randoms())
def test_every_repeat_names_a_canonical_passage_and_order_changes_nothing(texts, random) -> None:
    chunks = [chunk(f"d{number}", text) for number, text in enumerate(texts)]
    found = near_duplicates(chunks)
    assert not set(found) & set(found.values())
    shuffled = list(chunks)
    random.shuffle(shuffled)
    assert near_duplicates(shuffled) == found


def shingles(text: str) -> set[tuple[str, ...]]:
    words = text.lower().replace(".", "").split()
    return {tuple(words[at : at + 5]) for at in range(len(words) - 4)}


@given(st.lists(_TEXT, min_size=2, max_size=8))
def test_exactly_the_passages_alike_are_found(texts: list[str]) -> None:
    """Held against all pairs, compared one by one: the prefix filter loses none."""
    chunks = [chunk(f"d{number}", text, title="T") for number, text in enumerate(texts)]
    found = near_duplicates(chunks)
    for a, b in combinations(chunks, 2):
        first, second = shingles(a.text), shingles(b.text)
        short, long = sorted([a.text, b.text], key=len)
        alike = short in long and len(short.split()) >= MIN_WORDS
        alike = alike and len(first & second) >= THRESHOLD * len(first | second)
        if alike:
            assert a.id in found or b.id in found
        if found.get(b.id) == a.id or found.get(a.id) == b.id:
            assert alike


# --- on real texts, and in time -------------------------------------------------------------------


def chunks_of(root: Path, rules: Rules) -> list[Chunk]:
    chunker = MarkdownChunker()
    return [
        item for document in read_folder(root, rules).documents for item in chunker.chunk(document)
    ]


def test_in_the_knowledge_corpus_the_copy_is_found_and_no_planted_trap_is_taken() -> None:
    found = near_duplicates(chunks_of(CHECKOUT / "corpus/knowledge", Rules()))
    copy = "reseller-programme-portal-copy"
    assert found == {f"{copy}#{part}": f"reseller-programme#{part}" for part in range(6)}


@pytest.mark.real_data
def test_in_real_trees_only_passages_that_say_the_same_are(real_data: Path) -> None:
    plain = Rules(plain=Plain("ACME/readers"))
    book = chunks_of(real_data / "markdown/rust-book-en", plain)
    guides = chunks_of(real_data / "markdown/etalab-guides-fr", plain)
    assert len(book) > 1000
    assert near_duplicates(book) == {}
    found = near_duplicates(guides)
    assert len(found) == 6  # definitions that two glossaries share, under headings of one name
    assert found["pseudonymisation/4-lexique#8"] == "annotation/5-lexique#9"


def test_three_thousand_passages_take_about_a_second() -> None:
    """A bound with much air: without an index, four million pairs would take minutes."""
    words = [f"word{number}" for number in range(2000)]
    opening = " ".join(words[:60])  # what every page of a site repeats
    chunks = [
        chunk(
            f"d{n:04}", opening + " " + " ".join(words[(7 * n + k * k) % 2000] for k in range(150))
        )
        for n in range(3000)
    ]
    start = time.perf_counter()
    found = near_duplicates(chunks)
    assert time.perf_counter() - start < 15
    assert len(found) == 1000  # the texts repeat after 2,000


def test_a_word_of_200_000_letters_is_compared_in_no_time() -> None:
    text = LONG + " " + "x" * 200_000
    start = time.perf_counter()
    assert pair(text, text + "!") == {"b#0": "a#0"}
    assert time.perf_counter() - start < 10
