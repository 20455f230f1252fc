"""labkit.text: one analyser for documents and questions, and where sentences end."""

from __future__ import annotations

import sys
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from labkit.text import (
    codes,
    ends_sentence,
    fold,
    is_code,
    normalise,
    sentence_ends,
    significant_terms,
    stem,
    terms,
)
from strategies import any_text

LONG = 200_000  # characters: a quadratic step would run into the suite's time limit


# --- normalise -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc\n", "a\nb\nc\n"),
        ("\ufeffTitle", "Title"),
        ("inside \ufeff stays", "inside \ufeff stays"),
        ("e\u0301te\u0301", "été"),
        ("tab\t nbsp\u00a0 joiner\u200d\n\n\nblank", "tab\t nbsp\u00a0 joiner\u200d\n\n\nblank"),
        ("  - list\n      code", "  - list\n      code"),
        ("ﬁn ½ ①", "ﬁn ½ ①"),  # compatibility characters are not flattened
        ("", ""),
    ],
)
def test_normalise_drops_the_mark_unifies_line_ends_composes_and_nothing_else(raw, expected):
    assert normalise(raw) == expected


@given(any_text)
def test_normalised_text_is_composed_and_has_line_feeds_only(text):
    normal = normalise(text)
    assert "\r" not in normal
    assert unicodedata.is_normalized("NFC", normal)


@given(any_text.filter(lambda text: not text.startswith("\ufeff")))
def test_normalising_twice_changes_nothing(text):
    assert normalise(normalise(text)) == normalise(text)


@given(any_text)
def test_line_ends_of_every_system_normalise_to_one_text(text):
    text = text.replace("\r", "\n")
    assert normalise(text.replace("\n", "\r\n")) == normalise(text)


# --- fold and stem -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ÉTÉ", "ete"),
        ("Œuvre œuvre Æ ǽ", "oeuvre oeuvre ae ae"),
        ("l’eau l'eau lʼeau", "l'eau l'eau l'eau"),
        ("non‑breaking‐hyphen", "non-breaking-hyphen"),
        ("Straße STRASSE", "strasse strasse"),
        ("ﬁn ℃ 𝐁𝐎𝐋𝐃 ＧＸ－１００", "fin °c bold gx-100"),
        ("infor\u00admation zéro\u200dlargeur", "information zerolargeur"),
        ("ｶﾞ", "ガ"),
        ("か が", "か が"),  # a voiced mark makes another letter
    ],
)
def test_fold(text, expected):
    assert fold(text) == expected


@given(any_text)
@example("℃™ϒ𝐁ŉ")
def test_folding_twice_changes_nothing(text):
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize(
    ("words", "one"),
    [
        ("export exports exported exporting", "export"),
        ("warranty warranties", "warrant"),
        ("policy policies", "polic"),
        ("delivery deliveries", "deliv"),
        ("reply replies replied", "repl"),
        ("purchase purchases purchased", "purch"),
        ("expire expires expired expiring", "expir"),
        ("garantie garanties garantir", "garant"),
        ("congé congés", "cong"),
        ("rapport rapports", "rapport"),
        ("facture factures facturer", "factur"),
        ("utilise utiliser utilisent", "util"),
        ("national nationaux nationale", "nation"),
        ("européen européenne européens", "europeen"),
    ],
)
def test_forms_of_a_word_share_a_stem_in_english_and_french(words, one):
    assert {stem(fold(word)) for word in words.split()} == {one}


def test_threads_share_the_stemmer_and_get_the_same_stems():
    words = [f"{prefix}garantir{suffix}" for prefix in "abcdefgh" for suffix in ("", "s", "ions")]
    words += [f"report{letter}ing" for letter in "abcdefghijklmnopqrstuvwxyz"]
    alone = [stem.__wrapped__(word) for word in words]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as pool:
            runs = list(pool.map(lambda _: [stem.__wrapped__(word) for word in words], range(24)))
    finally:
        sys.setswitchinterval(interval)
    assert all(run == alone for run in runs)


# --- terms ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # codes, whole and in parts
        ("GX-100", ["gx-100", "gx", "100"]),
        ("E-4021", ["e-4021", "e", "4021"]),
        ("38.101", ["38.101", "38", "101"]),
        ("version 1.2.3", ["version", "1.2.3", "1", "2", "3"]),
        ("rapports-2024", ["rapports-2024", "rapport", "2024"]),
        ("UE 2016/679", ["ue", "2016/679", "2016", "679"]),
        ("GX-100/GX-200", ["gx-100", "gx", "100", "gx-200", "gx", "200"]),
        ("GX-100.", ["gx-100", "gx", "100"]),
        ("well-known...2020", ["wel", "known", "2020"]),  # without a digit inside it is two words
        ("state-of-the-art", ["stat", "art"]),
        # one letter and its signs
        ("vitamin C", ["vitamin", "c"]),
        ("vitamine D", ["vitamin", "d"]),
        ("size L", ["siz", "l"]),
        ("C++", ["c++", "c"]),
        ("C#", ["c#", "c"]),
        ("C/C++", ["c", "c++", "c"]),
        ("C++20", ["c++", "c", "20"]),
        # elision and contraction, with both apostrophes
        ("l'œuvre", ["oeuvr"]),
        ("l’œuvre", ["oeuvr"]),
        ("d'export qu’exporter", ["export", "export"]),
        ("lorsqu'ACME s’abonne", ["acm", "abon"]),
        ("l’« API »", ["api"]),
        ("the user's reports don't", ["user", "report"]),
        ("I'd we’re I'm can't won't", []),
        # Chinese, Japanese, Korean: by pairs
        ("出口报告", ["出口", "口报", "报告"]),
        ("東", ["東"]),
        ("人々", ["人々"]),
        ("CSV出力", ["csv", "出力"]),
        ("서울에서", ["서울", "울에", "에서"]),
        # nothing to search for
        ("", []),
        ("the of and le la des", []),
        ("\x00 🧑‍🚀 — … «»", []),
        ("AND NEAR * OR", ["near"]),
        ("snake_case", ["snak", "cas"]),
    ],
)
def test_terms(text, expected):
    assert terms(text) == expected


@pytest.mark.parametrize(
    "text", ["Où est l’été à Orléans ?", "Crème brûlée's", "Ǽ œuvre", "서울 ガ", "Å ångström"]
)
def test_composed_and_decomposed_text_have_the_same_terms(text):
    composed, decomposed = (unicodedata.normalize(form, text) for form in ("NFC", "NFD"))
    assert composed != decomposed
    assert terms(composed) == terms(decomposed)


@given(any_text)
def test_the_form_of_unicode_never_changes_the_terms(text):
    assert terms(unicodedata.normalize("NFD", text)) == terms(unicodedata.normalize("NFC", text))


@given(any_text)
def test_no_text_raises_and_every_term_is_a_folded_word(text):
    for term in terms(text):
        assert term
        assert not any(character.isspace() for character in term)
        assert fold(term) == term
    assert significant_terms(text) == set(terms(text))
    assert len(sentence_ends(text, 0, len(text))) <= len(text)
    assert all(code in text.translate({0xAD: None}) or "-" in code for code in codes(text))


@given(any_text, st.sampled_from(["\n", " ", "\t", "\u00a0", "\r\n"]))
def test_terms_of_two_texts_apart_are_the_terms_of_both(text, gap):
    assert terms(f"export{gap}{text}")[0] == "export"


@pytest.mark.parametrize(
    "text",
    [
        "x" * LONG,
        "a-" * (LONG // 2),
        "a." * (LONG // 2) + "1",
        "'" * LONG,
        "l'" * (LONG // 2),
        "東" * LONG,
        "+" * LONG,
        "e\u0301" * (LONG // 2),
        "Ab. " * (LONG // 4),
        "." + " " * LONG,
        "! " + "*" * LONG,
        ". » " * (LONG // 4),
        "> " * (LONG // 2),
        "- " * (LONG // 2) + "x",
        "`" * LONG,
        "#" * LONG,
        "|" * LONG,
        "\n" * LONG,
        "a\n---\n" * (LONG // 6),
    ],
    ids=lambda text: repr(text[:4]),
)
def test_long_texts_of_one_kind_are_analysed_in_time(text):
    assert isinstance(terms(text), list)
    assert sentence_ends(text, 0, len(text)) == sorted(sentence_ends(text, 0, len(text)))
    assert codes(text) == []


def test_codes_are_found_as_written_and_parts_of_longer_words_are_none():
    assert codes("GX-999, gx-100 and RT-88U") == ["GX-999", "gx-100", "RT-88U"]
    assert codes("GX‑999") == ["GX-999"]  # the no-break hyphen that a word processor writes
    assert codes("GX\u2013999, RT\u221288U") == ["GX-999", "RT-88U"]  # its dash, and a minus sign
    assert codes("E-4021 UTF-8 XGX-100-B CVE-2024-1234 2016-679") == []


def test_a_whole_code_is_told_from_a_word_and_from_a_part():
    assert [term for term in terms("GX-100 38.101 C++ 2019 state-of-the-art") if is_code(term)] == [
        "gx-100",
        "38.101",
    ]


def test_the_plural_of_a_code_is_the_code():
    for text in ("Do GX-100s have a warranty?", "Les GX-100s ont-ils une garantie ?", "GX-100’s"):
        assert codes(text) == ["GX-100"]
        assert "gx-100" in terms(text)
        assert not {"gx-100s", "100s"} & set(terms(text))
    assert codes("RT-88U, RT-88Us and GX-100S") == ["RT-88U", "RT-88U", "GX-100S"]
    assert codes("GX-100st GX-100s-B") == []


def test_another_apostrophe():
    assert terms("l\u02bbœuvre d\u02bbOrléans") == terms("l'oeuvre d'Orleans")


# --- where sentences end -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two!\nThree? Four…", ["One. ", "Two!\n", "Three? ", "Four…"]),
        ("a. lower case goes on.", ["a. lower case goes on."]),
        ("He asked “Why?” Then left.", ["He asked “Why?” ", "Then left."]),
        ("(See there.) Now.", ["(See there.) ", "Now."]),
        ("**Bold.** Next.", ["**Bold.** ", "Next."]),
        ("At 3.5 % it stops.", ["At 3.5 % it stops."]),
        ("Vraiment\u00a0? Oui\u202f!", ["Vraiment\u00a0? ", "Oui\u202f!"]),
        ("« Oui. » Il part.", ["« Oui. » ", "Il part."]),
        ("Fini. Élan. œuvre", ["Fini. ", "Élan. œuvre"]),
        ("你好。再见！", ["你好。", "再见！"]),
        ("Ask Dr. Smith. Or Mr. X.", ["Ask Dr. Smith. ", "Or Mr. X."]),
        ("See No. 5, e.g. This.", ["See No. 5, e.g. This."]),
        ("M. Dupont, cf. Annexe.", ["M. Dupont, cf. Annexe."]),
        ("You may.\n> Not now.", ["You may.\n", "> Not now."]),
        ("", [""]),
    ],
)
def test_sentence_ends(text, expected):
    ends = sentence_ends(text, 0, len(text))
    edges = [0, *ends, len(text)]
    assert [text[a:b] for a, b in pairwise(edges)] == expected


@pytest.mark.parametrize("text", ["Yes.", "No!", "Why? ", "Well…", "« Oui. »", "**Be.**", "好。"])
def test_what_ends_as_a_sentence_does(text):
    assert ends_sentence(text)
    assert not ends_sentence(text + " And then")
    assert not ends_sentence("")
