"""labkit.markdown: what can be quoted, and what a reader of the page cannot see."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import document
from labkit.chunking import CharacterChunker, MarkdownChunker
from labkit.markdown import hidden, pieces, sentences, units, within
from labkit.text import normalise
from strategies import any_text, in_order, markdown, wrongly_left_out

LONG = 60_000  # characters: a quadratic step would run into the suite's time limit


def said(text: str) -> list[str]:
    return [text[start:end] for start, end in sentences(text)]


def quotable(text: str) -> list[tuple[str, str]]:
    return [(unit.kind, text[unit.start : unit.end]) for unit in units(text)]


def unseen(text: str) -> list[str]:
    return [text[start:end] for start, end in hidden(text)]


# --- sentences ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One line\ngoes on.", ["One line\ngoes on."]),
        ("# Title\nText.", ["Text."]),
        ("Text.\n## Next ##\nMore.", ["Text.", "More."]),
        ("Title\n=====\nText.", ["Text."]),
        ("A\n\n---\n\nB\n***\nC", ["A", "B", "C"]),
        ("#hashtag", ["#hashtag"]),
        ("- One. Two.\n- three\n  goes on", ["One.", "Two.", "three\n  goes on"]),
        ("1. a\n2. b\n10) c", ["a", "b", "c"]),
        ("It ended in\n2019. We moved.", ["It ended in\n2019.", "We moved."]),
        ("* a\n\n  more of a", ["a", "more of a"]),
        ("| a. B | c |\n|---|---|\n| d | e |", ["| a. B | c |", "| d | e |"]),
        ("Text\n| a |\nafter", ["Text", "| a |", "after"]),
        # a rule is not parted from its exception by the mark of a quotation
        ("> You may export\n> unless told not.", ["You may export\n> unless told not."]),
        ("> One.\n> Two.\n>\n> Three.", ["One.", "Two.", "Three."]),
        ("Before\n> after", ["Before", "after"]),
        ("> - a\n> - b", ["a", "b"]),
        ("```py\n# no heading. Or\n```\nAfter.", ["```py\n# no heading. Or\n```", "After."]),
        ("```\nnever. Closed", ["```\nnever. Closed"]),
        ("```\nnever closed \n", ["```\nnever closed"]),
        ("```inline``` code. Then.", ["```inline``` code.", "Then."]),
        ("1. do\n\n    ```\n    x. Y\n    ```\n2. done", ["do", "```\n    x. Y\n    ```", "done"]),
        ("<p>One <b>two</b>.</p>\n<p>Three</p>", ["One <b>two</b>.", "Three"]),
        ("[a]: /b\n\nText.", ["Text."]),
        ("", []),
        (" \n\t\n", []),
        ("# Only a heading", []),
    ],
)
def test_sentences(text, expected):
    assert said(text) == expected


@given(markdown | any_text)
@settings(max_examples=250)
def test_sentences_leave_out_only_headings_marks_and_what_no_page_shows(text):
    if "<" in text or "[" in text or "{" in text:
        return
    found = sentences(text)
    assert in_order(text, found)
    assert list(wrongly_left_out(text, found)) == []


BLOCKS = st.sampled_from(
    [
        ("A first one. A second one!", ["A first one.", "A second one!"]),
        ("# A heading.", []),
        ("A heading\n===", []),
        ("| a | b |", ["| a | b |"]),
        ("```\ncode. Code\n\n# code\n```", ["```\ncode. Code\n\n# code\n```"]),
        ("> said\n> on", ["said\n> on"]),
        ("***", []),
    ]
)


@given(st.lists(BLOCKS, max_size=6))
def test_sentences_of_blocks_apart_are_those_of_each(blocks):
    text = "\n\n<hr>\n\n".join(block for block, _ in blocks)
    assert said(text) == [sentence for _, expected in blocks for sentence in expected]


# --- units ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Why? Two", [("sentence", "One."), ("sentence", "Two")]),
        ("- one\n- two. Three", [("item", "one"), ("item", "two."), ("item", "Three")]),
        ("Look:\n\nText.", [("sentence", "Text.")]),
        ("Look:\n\n    code\n", [("code", "Look:\n\n    code")]),
        ("See. Look:\n```\nx\n```", [("sentence", "See."), ("code", "Look:\n```\nx\n```")]),
        ("Look\u00a0:\n\n~~~\nx\n~~~", [("code", "Look\u00a0:\n\n~~~\nx\n~~~")]),
        ("- Look:\n\n  ```\n  x\n  ```", [("code", "Look:\n\n  ```\n  x\n  ```")]),
        ("Look:\n\nNo.\n\n```\nx\n```", [("sentence", "No."), ("code", "```\nx\n```")]),
        ("Look:\n\n" + "    x\n" * 400, []),
        ("[a](b)", []),
        ("[![a](b)](c) <https://a.b> https://c.d", []),
        ("[Text][b] here.", [("sentence", "[Text][b] here.")]),
        ("::: tip\nGood.\n:::", [("sentence", "Good.")]),
        ("{% hint %}\nGood.\n{% endhint %}", [("sentence", "Good.")]),
        ("[[_TOC_]]\n\n--8<-- 'a.md'", []),
        (
            "<table><tr><th>A</th></tr>\n\n<tr><td>1. B</td></tr></table>",
            [("row", "<tr><td>1. B</td></tr>")],
        ),
    ],
)
def test_units(text, expected):
    assert quotable(text) == expected


def test_rows_have_the_heads_of_their_columns_beside_them():
    for text in ("| A | B |\n|--|--|\n| 1 | 2 |", "> | A | B |\n> |--|--|\n> | 1 | 2 |"):
        assert [(unit.kind, unit.context) for unit in units(text)] == [("row", "| A | B |")]
    (row,) = units("A | B\n--|--\nC. D | 2\n")
    assert (row.context, row.kind) == ("A | B", "row")


# --- what nobody sees -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a <!-- b --> c", ["<!-- b -->"]),
        ("<!-- a\n\n# b -->\nc", ["<!-- a\n\n# b -->"]),
        ("<!--> seen", ["<!-->"]),
        ("<!-- never\n\nclosed", ["<!-- never\n\nclosed"]),
        ("a <!-- no comment\n\nb", []),
        ("`<!-- a -->` ``b ` <!-- c -->`` \\<!-- d -->", []),
        ("` <!-- a -->", ["<!-- a -->"]),
        ("```\n<!-- a -->\n```\n\n    <!-- b -->\n", []),
        ("<script>\nlet a = '<!--';\n\n# b\n</script>\nc", None),
        ("<style>a{}</style>\nb", ["<style>a{}</style>"]),
        ("<div hidden>\n\na\n\n<div>b</div></div>\n\nc", None),
        ("<p style='color: red; display:none'>a</p>\nb", None),
        ("a <span HIDDEN>b</span> c", ["<span HIDDEN>b</span>"]),
        ('<p title="is hidden here">a</p>', []),
        ("<input hidden> a", ["<input hidden>"]),
        ("a <i hidden>b\n\nc", ["<i hidden>b"]),
        ("![a](data:image/png;base64,AA+/=) b", ["data:image/png;base64,AA+/="]),
        ('<img src="data:image/svg+xml,x%20y"> b', ["data:image/svg+xml,x%20y"]),
        ("data: text, and metadata:a/b,c", []),
        ("[a]: <data:image/png;base64,AA>\n\nb", ["[a]: <data:image/png;base64,AA>"]),
        ("[//]: # (a note)\n\nb", ["[//]: # (a note)"]),
        ("[^1]: A note that readers see.", []),
    ],
)
def test_hidden(text, expected):
    found = unseen(text)
    if expected is None:  # all but the last line
        expected = [text[: text.rindex("\n")].rstrip("\n")]
    assert found == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The gate opens. <script>x</script><img src=x>", ["The gate opens."]),
        ("One is here. <!-- x --> two goes on.", ["One is here.", "two goes on."]),
        ("<!-- a --> It is 50 euros. <!-- b -->", ["It is 50 euros."]),
        ("The deposit <!-- 900 --> is 50 euros.", []),  # what is torn answers nothing
        ("A b <!-- c --> d. More <!-- e --> of it. <!-- f --> Last one", ["Last one"]),
        ("- an item <!-- TODO -->", ["an item"]),
    ],
)
def test_whole_sentences_beside_what_is_hidden_can_be_quoted(
    text: str, expected: list[str]
) -> None:
    assert [text[unit.start : unit.end] for unit in units(text)] == expected


def test_hidden_parts_of_a_part():
    assert within([(2, 5), (7, 9)], 4, 8) == ((0, 1), (3, 4))
    assert within([(2, 5)], 5, 8) == ()


@given(st.sampled_from(["<!-- {} -->", "<p hidden>{}</p>", "<script>{}</script>"]), st.booleans())
def test_nothing_hidden_is_in_a_unit_or_searched(form, inline):
    secret = form.format("The deposit is 900 euros.")
    text = f"One {secret} two.\n\nThree." if inline else f"One.\n\n{secret}\n\nThree."
    assert all("900" not in quote for _, quote in quotable(text))
    for chunker in (MarkdownChunker(), MarkdownChunker(5, 0), CharacterChunker(40, 10)):
        for chunk in chunker.chunk(document(text=text)):
            assert "900" not in chunk.visible + chunk.searchable
            at = chunk.text.find("900")
            assert at < 0 or not chunk.shows(at, at + 3)


# --- one corpus of awkward Markdown, through chunkers, units and sentences ------------------------

AWKWARD = (
    "<!-- Draft. -->\nModel | Deposit. Refundable\n--- | ---\nCity | 50 euros. Cash\nTandem | 9\n",
    '# A { #a }\n\nLead:\n\n=== "B"\n\n    ```py\n    x. Y\n    ```\n\n!!! note\n    In it. More.',
    "- [ ] a\n- b:\n\n  | c | d |\n  |---|---|\n  | E. F | <!-- f --> |\n\n> g\n<b\nhidden>h</b>",
    "<details>\n<p>A?</p>\n\nB. C\n\n</details>\n<table>\n<tr><td>1.\n\n</td></tr></table>",
    "![x](data:image/png;base64,AAAA) y.\n[z]: <data:image/png;base64,BBBB>\n\n[w]: /w 'W. X'\n",
    "```\n<!--\n````\n-->\n```\nText -->\n",
    "1. a\n\n       code\n   b\n2) c\n---\n\td\n\u00a0e\u2028f. G",
    "{% raw %}\n\n{* ../x.py *}\n\n/// tip\n\nx\n\n///\n\n> > > deep. Deeper\n",
)
LINES = [line for text in AWKWARD for line in text.split("\n")]
awkward = st.lists(st.sampled_from(LINES), max_size=16).map("\n".join)


@given(st.sampled_from(AWKWARD) | awkward | markdown | any_text)
@settings(max_examples=300)
def test_what_holds_for_every_text(text):
    text = normalise(text)
    for spans in (sentences(text), [piece[1:3] for piece in pieces(text)]):
        assert in_order(text, spans)
    gone = hidden(text)
    assert all(one[1] <= two[0] for one, two in pairwise(gone))
    assert all(0 <= start < end <= len(text) for start, end in gone)
    found = units(text)
    assert not any(s < unit.end and unit.start < e for unit in found for s, e in gone)
    assert found == units(text, gone) == units(normalise(text.replace("\n", "\r\n")))


@given(st.sampled_from(AWKWARD) | awkward)
def test_chunks_know_what_is_hidden_and_which_units_they_cut(text):
    item = document(text=text)
    gone, whole = hidden(text), [piece[1:3] for piece in pieces(text)]
    for chunk in MarkdownChunker(12, 3).chunk(item):
        assert chunk.hidden == within(gone, chunk.start, chunk.end)
        for flag, at in (("cut_start", chunk.start), ("cut_end", chunk.end)):
            assert (flag in chunk.flags) == any(start < at < end for start, end in whole)


@pytest.mark.parametrize(
    "text",
    [
        "<!-- " * (LONG // 5),
        "a <!-- " * (LONG // 7),
        "<div hidden>\n\n" * (LONG // 14),
        "a <i hidden> " * (LONG // 13),
        '<a "' * (LONG // 4),
        "<a b='" * (LONG // 6),
        "`" * LONG,
        "` `` ``` " * (LONG // 9),
        "[" * LONG,
        "[a](" * (LONG // 4),
        "<tr>" * (LONG // 4),
        "<table><tr>\n\n" * (LONG // 13),
        "data:a/b;" * (LONG // 9),
        "Ab. " * (LONG // 4),
        "> " * (LONG // 2),
        "- " * 2_000 + "x",
        "|" * LONG,
        "a | b\n" * (LONG // 6),
        "{%" * (LONG // 2),
        "a:\n```\nb\n```\n" * (LONG // 12),
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.timeout(20)
def test_texts_made_to_be_slow_are_not(text):
    assert isinstance(units(text), list)


def test_a_caption_in_bold_announces_and_is_no_sentence() -> None:
    """A paragraph that is all label; one that is a whole sentence in bold says something."""
    text = "**Table 1. Registers of the EM-30**\n\n**Never open the cabinet.**\n\n**Note** this.\n"
    assert [(unit.kind, text[unit.start : unit.end]) for unit in pieces(text)] == [
        ("lead", "**Table 1. Registers of the EM-30**"),
        ("sentence", "**Never open the cabinet.**"),
        ("sentence", "**Note** this."),
    ]
