"""labkit.chunking.MarkdownChunker: sections, paragraphs, sentences; tables and fences whole.

In these tests a token is a word, so that sizes can be counted by eye.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

import pytest
import regex
from hypothesis import example, given, settings
from hypothesis import strategies as st

from builders import document, metadata
from labkit.chunking import (
    EstimatedTokens,
    MarkdownChunker,
    ModelTokens,
    TokenCounter,
    read_tokenizer,
)
from labkit.chunking.splitter import cluster_starts
from labkit.documents import Plain, Rules, read_folder
from labkit.embedding.local import DEFAULT_MODEL, model_folder
from labkit.markdown import Block, heading_title, leaves, read
from labkit.text import normalise
from labkit.types import Chunk, Document
from strategies import any_text, blanked, markdown

WORDS = ModelTokens(lambda text: len(text.split()))
LETTERS = ModelTokens(lambda text: len("".join(text.split())))


def cut(text: str, size: int, overlap: int = 0, tokens: TokenCounter = WORDS) -> list[Chunk]:
    return MarkdownChunker(size, overlap, tokens).chunk(document(text=text))


def texts(text: str, size: int, overlap: int = 0) -> list[str]:
    return [chunk.text for chunk in cut(text, size, overlap)]


# --- sizes and the version ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [
        (0, 0, "size is 0; a chunk needs at least one token."),
        (-1, 0, "size is -1; a chunk needs at least one token."),
        (9, -1, "overlap is -1; it must be at least 0 and below size (9)."),
        (9, 9, "overlap is 9; it must be at least 0 and below size (9)."),
    ],
)
def test_sizes_that_cannot_cut_are_refused_when_they_are_given(size, overlap, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        MarkdownChunker(size, overlap)


def test_the_version_names_the_effective_size():
    assert MarkdownChunker().version == "markdown-512-overlap-64-v2"
    assert MarkdownChunker(100, 0).version == "markdown-100-overlap-0-v2"
    # 256 - 2 special tokens - 32 for title and headings
    small = ModelTokens(lambda text: 2 + len(text.split()), window=256)
    assert MarkdownChunker(tokens=small).version == "markdown-222-overlap-64-v2"
    assert MarkdownChunker(100, 10, small).version == "markdown-100-overlap-10-v2"


def test_an_overlap_must_fit_the_effective_size_too():
    with pytest.raises(ValueError, match=r"^overlap is 64; .* below size \(32\)\.$"):
        MarkdownChunker(tokens=EstimatedTokens(window=64))
    with pytest.raises(ValueError, match=r"^size is -2; a chunk needs at least one token\.$"):
        MarkdownChunker(tokens=EstimatedTokens(window=30))


# --- one document, many shapes --------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u00a0\n"])
def test_an_empty_or_blank_document_has_no_chunk(text):
    assert cut(text, 9) == []


def test_a_document_that_fits_is_one_chunk():
    text = "Before.\n\n# One\n\na\n\n## Two\n\nb"
    (chunk,) = cut(text, 7)
    assert (chunk.text, chunk.context, chunk.section, chunk.anchor) == (text, "", "", "")
    assert (chunk.id, chunk.token_count, chunk.flags, chunk.page) == ("a#0", 7, (), None)
    assert len(cut(text, 6)) == 3


def test_one_that_begins_with_a_heading_is_named_by_it():
    (chunk,) = cut("# One\n\n## Two\n", 9)
    assert (chunk.section, chunk.anchor, chunk.context) == ("One", "one", "")


def test_sections_with_their_headings_context_and_anchors():
    text = (
        "Before all.\n\n# Guide\n\nIntro.\n\n### Skipped / level\n\nDeep text.\n\n"
        "## Setext, too\n\nOne two three.\n\nFour five six.\n\n# Guide\n\nAgain.\n"
    )
    found = [(c.text, c.section, c.anchor, c.context.split("\n")) for c in cut(text, 6)]
    assert found == [
        ("Before all.", "", "", [""]),
        ("# Guide\n\nIntro.", "Guide", "guide", [""]),
        ("### Skipped / level\n\nDeep text.", "Skipped / level", "skipped--level", ["Guide"]),
        ("## Setext, too\n\nOne two three.", "Setext, too", "setext-too", ["Guide"]),
        ("Four five six.", "Setext, too", "setext-too", ["Guide", "Setext, too"]),
        ("# Guide\n\nAgain.", "Guide", "guide-1", [""]),
    ]


def test_setext_headings_open_sections_and_deep_ones_do_not():
    text = "One\n===\n\na b\n\n#### Deep\n\nc d\n\nTwo\n---\n\ne f"
    assert [(c.section, c.text) for c in cut(text, 8)] == [
        ("One", "One\n===\n\na b\n\n#### Deep\n\nc d"),
        ("Two", "Two\n---\n\ne f"),
    ]


def test_a_deep_heading_goes_with_what_is_below_it():
    assert texts("# A\n\none two three\n\n#### B\n\nfour five", 6) == [
        "# A\n\none two three",
        "#### B\n\nfour five",
    ]


def test_a_heading_without_body_opens_the_deeper_section_below_it_and_is_kept_alone_else():
    text = "# A\n\n## B\n\none two three\n\n## C\n\n## D\n\n### E\n\nfour\n\n# F"
    assert [(c.section, c.context, c.text) for c in cut(text, 8)] == [
        ("B", "A", "# A\n\n## B\n\none two three"),
        ("C", "A", "## C"),
        ("E", "A\nD", "## D\n\n### E\n\nfour"),
        ("F", "", "# F"),
    ]


@pytest.mark.parametrize(
    ("titles", "anchors"),
    [
        (["A b", "A b", "A b 1", "A b"], ["a-b", "a-b-1", "a-b-1-1", "a-b-2"]),
        (["A/B & C", "Prix : 10 €", "`x_y`"], ["ab--c", "prix--10-", "x_y"]),
        (["[Link](http://a.b)", "?!", "?"], ["link", "section", "section-1"]),
        (["One {#two}", "Two", "One"], ["two", "two-1", "one"]),
        (["One { #two }", 'Two <a href="#two" id="two"></a>'], ["two", "two-1"]),
    ],
)
def test_anchors_are_those_of_github_and_unique(titles, anchors):
    text = "\n".join(f"# {title}\n\nbody body body body body\n" for title in titles)
    found = cut(text, 12)
    assert [chunk.anchor for chunk in found] == anchors
    titles = [heading_title(title) for title in titles]
    assert [chunk.section for chunk in found] == titles


def test_deep_headings_count_for_anchors():
    text = "# A\n\n#### Notes\n\none two\n\n# Notes\n\nthree four"
    assert [chunk.anchor for chunk in cut(text, 6)] == ["a", "notes-1"]


def test_front_matter_is_no_text_and_no_heading():
    text = "---\n# title: a\n---\nBody\n====\n\nText."
    item = Document(metadata("a"), text, "hash", body_start=19)
    (chunk,) = MarkdownChunker().chunk(item)
    assert (chunk.start, chunk.text, chunk.section) == (19, "Body\n====\n\nText.", "Body")


def test_nothing_is_flattened():
    text = (
        "a\tb\u00a0c\u200dd\n\n\n  - e\n\n    - f\n\n```\n    g\n\n\n  h\n```\n"
        "!!! note\n    i\n{% hint %}\nj\n{% endhint %}\n:::tip\nk\n:::"
    )
    (chunk,) = cut(text, 99)
    assert chunk.text == text


def test_blank_lines_around_a_chunk_are_no_part_of_it():
    found = cut("\n\n  one two\n\n\n# B  \n\n\n\nthree\n\n", 4)
    assert [(c.start, c.text) for c in found] == [(2, "  one two"), (14, "# B  \n\n\n\nthree")]


def test_repeated_passages_have_their_own_offsets():
    found = cut("# A\n\nsame words\n\n# A\n\nsame words\n", 4)
    assert [(c.start, c.end) for c in found] == [(0, 15), (17, 32)]
    assert found[0].content_hash == found[1].content_hash


def test_a_page_is_cut_by_itself():
    text = "One two.\nThree.\n# Four\nfive\n"
    item = Document(metadata("a"), text, "hash", page_starts=(0, 9, 16))
    assert [(c.page, c.text) for c in MarkdownChunker(tokens=WORDS).chunk(item)] == [
        (1, "One two."),
        (2, "Three."),
        (3, "# Four\nfive"),
    ]


# --- finer cuts -----------------------------------------------------------------------------------


def test_paragraphs_before_sentences_before_words_before_characters():
    text = "# A\n\nOne two three.\n\nFour five. Six seven eight nine. Ten\n\nend"
    assert texts(text, 5) == [
        "# A\n\nOne two three.",
        "Four five.",
        "Six seven eight nine. Ten",
        "end",
    ]
    assert texts("one two three four five", 2) == ["one two", "three four", "five"]
    assert [c.text for c in cut("abcdefgh", 3, tokens=LETTERS)] == ["abc", "def", "gh"]


def test_a_text_without_any_newline_or_space_is_cut_between_clusters():
    family = "👩\u200d👧"
    found = [c.text for c in cut(f"e\u0301{family}e\u0301x", 4, tokens=LETTERS)]
    assert found == ["e\u0301", f"{family}", "e\u0301x"]
    (whole,) = cut(family, 2, tokens=LETTERS)
    assert (whole.text, whole.flags) == (family, ("oversize",))


def test_a_mark_that_joins_a_space_stays_with_it():
    assert texts("one two \u0301three four", 2) == ["one", "two \u0301three", "four"]


def test_chinese_sentences_are_parted_without_spaces():
    found = cut("你好世界。再见世界。又见面了。", 10, tokens=EstimatedTokens())
    assert [chunk.text for chunk in found] == ["你好世界。再见世界。", "又见面了。"]


def test_a_list_is_cut_between_its_items_and_an_item_between_its_blocks():
    text = "# A\n\n- one two\n\n  three four\n\n  five six\n- seven\n"
    assert texts(text, 6) == ["# A\n\n- one two", "  three four\n\n  five six\n- seven"]


# --- overlap --------------------------------------------------------------------------------------


def test_the_overlap_is_whole_paragraphs_or_sentences():
    text = "One two.\n\nThree four.\n\nFive six.\n\nSeven eight."
    assert texts(text, 4, 2) == [
        "One two.\n\nThree four.",
        "Three four.\n\nFive six.",
        "Five six.\n\nSeven eight.",
    ]
    text = "One two. Three four.\n\nFive six."
    assert texts(text, 4, 3) == ["One two. Three four.", "Three four.\n\nFive six."]
    assert texts(text, 4, 1) == ["One two. Three four.", "Five six."]


def test_neighbours_of_two_sections_do_not_overlap():
    assert texts("# A\n\nOne.\n\n# B\n\nTwo.", 3, 2) == ["# A\n\nOne.", "# B\n\nTwo."]


def test_the_overlap_gives_way_to_what_is_new():
    assert texts("One. Two.\n\nThree four five.", 3, 2) == ["One. Two.", "Three four five."]
    assert texts("One. Two.\n\nThree four.", 3, 2) == ["One. Two.", "Two.\n\nThree four."]


def test_no_overlap_begins_inside_a_table_or_a_fence():
    table = "| One. | Two. |\n|---|---|\n| Three. | Four. |"
    assert texts(f"{table}\n\nfive six seven", 12, 8) == [table, "five six seven"]
    fence = "```\nOne. Two.\nThree. Four.\n```"
    assert texts(f"{fence}\n\nfive six seven", 7, 5) == [fence, "five six seven"]


# --- tables and fences ----------------------------------------------------------------------------

TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n| 3 | 4 |"  # 5 + 1 + 5 + 5 words


def test_a_table_is_never_cut_and_says_so():
    found = cut(f"# A\n\nSome text.\n\n{TABLE}\n\nMore text.", 9, 4)
    assert [(c.text, c.flags, c.token_count) for c in found] == [
        ("# A\n\nSome text.", (), 4),
        (TABLE, ("oversize_table",), 16),
        ("More text.", (), 2),
    ]


@pytest.mark.parametrize(
    "caption",
    [
        "Table 1: prices",
        "**Table 1** – prices",
        "Tableau 2. Prix",
        "*Prices in euros*",
        "As follows:",
    ],
)
def test_a_caption_above_goes_with_its_table(caption):
    found = texts(f"One two three four five six.\n\n{caption}\n\n{TABLE}\n\nEnd.", 9)
    assert found == ["One two three four five six.", f"{caption}\n\n{TABLE}", "End."]


@pytest.mark.parametrize("caption", ["Table: prices", ": Table 1", "Tableau 2 – prix"])
def test_a_caption_below_goes_with_its_table(caption):
    assert texts(f"Text.\n\n{TABLE}\n\n{caption}\n\nEnd of it.", 9) == [
        "Text.",
        f"{TABLE}\n\n{caption}",
        "End of it.",
    ]


def test_a_caption_between_two_tables_is_that_of_the_second():
    text = f"{TABLE}\n\nTable 2: more\n\n{TABLE}"
    assert texts(text, 9) == [TABLE, f"Table 2: more\n\n{TABLE}"]


def test_a_paragraph_is_no_caption():
    assert texts(f"Tables are useful.\n\n{TABLE}", 9) == ["Tables are useful.", TABLE]
    long = "Table " + "x" * 300
    assert texts(f"{long}\n\n{TABLE}", 9) == [long, TABLE]


def test_a_table_stays_whole_in_a_list_and_below_a_heading():
    inside = TABLE.replace("\n", "\n  ")
    assert texts(f"- {inside}\n\n  x\n- y", 9) == [f"- {inside}", "  x\n- y"]
    assert texts(f"one two\n\n#### B\n\n{TABLE}", 9) == ["one two", f"#### B\n\n{TABLE}"]
    html = "<table>\n<tr><td>a b c</td></tr>\n\n<tr><td>d e f</td></tr>\n</table>"
    (table, rest) = cut(f"{html}\n\nrest", 4)
    assert (table.text, table.flags, rest.text) == (html, ("oversize_table",), "rest")


def test_a_fence_that_fits_is_not_cut():
    fence = "```\na b\n\nc d\n```"
    assert texts(f"one two three\n\n{fence}\n\nend", 6) == ["one two three", fence, "end"]


def test_a_fence_that_does_not_fit_is_cut_between_lines_and_says_so():
    found = cut("```sh\na b\n# c d\ne f\n```\n\nend", 4)
    assert [(c.text, c.flags) for c in found] == [
        ("```sh\na b", ("cut_fence", "cut_end")),
        ("# c d", ("cut_fence", "cut_start", "cut_end")),
        ("e f\n```\n\nend", ("cut_fence", "cut_start")),
    ]


def test_a_line_of_a_fence_is_not_cut():
    found = cut("~~~\na b c d e\nf\n", 3)
    assert [(c.text, c.flags) for c in found] == [
        ("~~~", ("cut_fence", "cut_end")),
        ("a b c d e", ("cut_fence", "oversize", "cut_start", "cut_end")),
        ("f", ("cut_fence", "cut_start")),
    ]


# --- what a chunk cuts, and what nobody sees ------------------------------------------------------


def test_a_chunk_says_where_it_cuts_a_sentence():
    found = cut("# A\n\nOne two. Three four five six. Seven", 4)
    assert [(c.text, c.flags) for c in found] == [
        ("# A\n\nOne two.", ()),
        ("Three four five six.", ()),
        ("Seven", ()),
    ]
    found = cut("One two three four. Five", 3)
    assert [c.flags for c in found] == [("cut_end",), ("cut_start",)]


def test_a_lead_in_and_its_code_in_two_chunks_are_cut():
    found = cut("Do so, one two:\n\n```\na b c\n```\n", 5)
    assert [c.flags for c in found] == [("cut_end",), ("cut_start",)]


def test_a_page_that_ends_in_a_sentence_cuts_it():
    text = "One two\nthree. Four.\nFive"
    item = Document(metadata("a"), text, "hash", page_starts=(0, 8, 21))
    chunks = MarkdownChunker(tokens=WORDS).chunk(item)
    assert [c.flags for c in chunks] == [("cut_end",), ("cut_start",), ()]


def test_what_nobody_sees_is_in_no_searched_text_and_has_no_tokens():
    (chunk,) = cut("# A\n\nOne <!-- old --> two.\n\n<!-- secret plan -->\n\n[b]: /c\n\nEnd.", 9)
    assert chunk.searchable == "Title a\n# A\n\nOne  two.\n\n\n\n\n\nEnd."
    assert chunk.token_count == 5
    assert [chunk.text[a:b] for a, b in chunk.hidden] == [
        "<!-- old -->",
        "<!-- secret plan -->",
        "[b]: /c",
    ]
    assert not chunk.shows(*chunk.hidden[0])
    assert chunk.shows(0, chunk.hidden[0][0])


def test_a_long_hidden_thing_is_in_no_chunk():
    picture = f"data:image/png;base64,{'A' * 60_000}"
    found = cut(f"# A\n\nBefore ![x]({picture}) after.\n\n[b]: <{picture}>\n\nEnd.", 9)
    assert [(c.text, c.hidden) for c in found] == [
        ("# A\n\nBefore ![x](", ()),
        (") after.", ()),
        ("End.", ()),
    ]
    assert [c.flags for c in found] == [("cut_end",), ("cut_start",), ()]
    assert cut(f"<!--{'x' * 300}-->", 9) == []


def test_a_heading_that_nobody_sees_names_no_section():
    text = "# A\n\n<div hidden>\n\n## Secret\n\n</div>\n\nOne two three four."
    assert {(c.section, c.context) for c in cut(text, 5)} <= {("A", ""), ("A", "A")}


# --- title and headings need room too -------------------------------------------------------------


def test_a_long_path_of_headings_makes_chunks_smaller():
    counter = ModelTokens(lambda text: len(text.split()), window=64)  # 32 for the text
    words = "w " * 60
    (first, *_) = MarkdownChunker(40, 0, counter).chunk(document(text=f"# A\n\n{words}"))
    assert first.token_count == 32
    path = "# " + "a " * 20 + "\n\n## " + "b " * 20 + "\n\n"
    found = MarkdownChunker(40, 0, counter).chunk(document(text=f"{path}{words}"))
    for chunk in found:
        assert len(chunk.searchable.split()) <= 64
        assert (chunk.token_count or 0) <= 64 - 2 - 40


def test_headings_too_long_for_the_window_leave_from_the_outermost():
    counter = ModelTokens(lambda text: len(text.split()), window=64)
    path = "# " + "a " * 30 + "\n\n## " + "b " * 30 + "\n\n"
    found = MarkdownChunker(40, 0, counter).chunk(document(text=path + "w " * 60))
    assert [chunk.context[:1] for chunk in found][1:] == ["b"] * (len(found) - 1)
    assert all(len(chunk.searchable.split()) <= 64 for chunk in found)


# --- properties -----------------------------------------------------------------------------------

LINES = (
    "# A", "## B", "### C / d", "#### D", "Title", "===", "---", "One two. Three four! Five?",
    "Un mot : deux ? « Trois. » Quatre", "- item one", "  goes on", "1. first", "> quoted. Text",
    "```", "~~~", "code line. More", "| a | b |", "|---|---|", "| c | d |", "Table 1: x",
    "<!-- x", "-->", "    indented", "👩\u200d👧e\u0301 \u0301x", "漢字。漢字。", "!!! note",
    "{% hint %}", "", "", "",
)  # fmt: skip


def plain(text: str) -> Document:
    """A document of any text, surrogates included, which have no hash."""
    return Document(metadata("a"), text, "hash")


documents = st.lists(st.sampled_from(LINES), max_size=30).map("\n".join) | markdown | any_text
counters = st.sampled_from([WORDS, LETTERS, EstimatedTokens()])
sizes = st.tuples(st.integers(1, 30), st.integers(0, 29)).filter(lambda pair: pair[1] < pair[0])


@settings(max_examples=300)
@given(documents, sizes, counters)
@example("ab" * 40, (7, 6), WORDS)
@example("|---|---|\n# A", (2, 1), EstimatedTokens())
@example("a. " * 40, (7, 6), WORDS)
@example("one two. " * 40, (3, 2), EstimatedTokens())
@example("👩\u200d👧" * 10, (2, 1), EstimatedTokens())
def test_what_holds_for_every_text(text, span, tokens):
    text = normalise(text)
    item, chunker = plain(text), MarkdownChunker(*span, tokens)
    chunks = chunker.chunk(item)
    covered, seen = set[int](), blanked(text)
    clusters = {match.start() for match in regex.finditer(r"\X", text)} | {len(text)}
    for number, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.start : chunk.end]
        assert chunk.text.strip()
        assert chunk.part == number
        assert {chunk.start, chunk.end} <= clusters
        assert chunk.token_count == tokens.measure(seen)(chunk.start, chunk.end)
        assert chunk.token_count <= span[0] or {"oversize", "oversize_table"} & set(chunk.flags)
        covered.update(range(chunk.start, chunk.end))
    assert [i for i, c in enumerate(seen) if not c.isspace() and i not in covered] == []
    for one, two in pairwise(chunks):
        assert one.start < two.start  # strict progress
        assert one.end < two.end
        overlap = text[two.start : one.end]
        if overlap:
            assert one.anchor == two.anchor
            assert tokens.measure(text)(two.start, one.end) <= span[1]
    assert chunks == chunker.chunk(item)


@settings(max_examples=300)
@given(documents, sizes, counters)
def test_tables_and_fences_are_whole_or_flagged(text, span, tokens):
    item = plain(text)
    chunks = MarkdownChunker(*span, tokens).chunk(item)
    for leaf in leaves(read(text)):
        assert not any(cuts_into(chunk, item, leaf) for chunk in chunks)


@given(documents, st.integers(20, 200))
def test_no_chunk_is_longer_than_the_model_reads(text, window):
    counter = ModelTokens(lambda text: 2 + len(text.split()), window + 34)
    for chunk in MarkdownChunker(512, 5, counter).chunk(plain(text)):
        assert chunk.flags or len(chunk.searchable.split()) + 2 <= window + 34


@given(documents.filter(lambda text: "\r" not in text), sizes)
def test_line_ends_do_not_move_a_cut(text, span):
    found = [
        MarkdownChunker(*span, WORDS).chunk(
            Document(metadata("a"), normalise(text.replace("\n", end)), "hash")
        )
        for end in ("\n", "\r\n")
    ]
    assert found[0] == found[1]


@given(documents, sizes)
def test_anchors_are_unique(text, span):
    chunks = MarkdownChunker(*span, WORDS).chunk(plain(text))
    names = [(chunk.section, chunk.anchor) for chunk in chunks]
    runs = [name for name, before in zip(names, [None, *names], strict=False) if name != before]
    anchors = [anchor for _, anchor in runs if anchor]
    assert len(anchors) == len(set(anchors))


# --- real data ------------------------------------------------------------------------------------


@pytest.mark.real_data
def test_grapheme_clusters_are_those_of_unicode(real_data: Path):
    path = real_data / "references/uax29/GraphemeBreakTest.txt"
    cases = [line.split("#")[0].split() for line in path.read_text("utf-8").splitlines()]
    for case in filter(None, cases):
        if case[1::2] == ["2701", "200D", "2701"]:
            continue  # the file is of Unicode 14; to later ones U+2701 is no emoji
        text = "".join(chr(int(code, 16)) for code in case[1::2])
        parts = [place for place, mark in enumerate(case[:-1:2]) if mark == "÷"]
        assert cluster_starts(text, 0, len(text)) == parts, case


@pytest.fixture(
    scope="module", params=[("rust-book-en", "en", 113), ("etalab-guides-fr", "fr", 55)]
)
def tree(request: pytest.FixtureRequest, real_data: Path) -> list[Document]:
    name, language, files = request.param
    rules = Rules(plain=Plain("ACME/readers", language))
    found = read_folder(real_data / "markdown" / name, rules).checked().documents
    assert len(found) == files
    return found


@pytest.mark.real_data
@pytest.mark.parametrize(
    "chunker",
    [
        MarkdownChunker(),
        MarkdownChunker(60, 20),
        pytest.param(MarkdownChunker(8, 7, WORDS), marks=pytest.mark.slow),
        pytest.param(None, marks=pytest.mark.slow, id="minilm"),
    ],
    ids=lambda chunker: getattr(chunker, "version", None),
)
def test_real_documentation_is_covered_and_no_table_is_cut(tree, chunker):
    chunker = chunker or MarkdownChunker(tokens=read_tokenizer(model_folder(DEFAULT_MODEL)))
    for item in tree:
        chunks = chunker.chunk(item)
        reached, seen = item.body_start, blanked(item.text)
        for chunk in chunks:
            assert chunk.text == item.text[chunk.start : chunk.end]
            assert not seen[reached : chunk.start].strip(), chunk.id
            assert (chunk.token_count or 0) <= chunker.effective_size or chunk.flags, chunk.id
            reached = max(reached, chunk.end)
        assert not seen[reached:].strip()
        for leaf in leaves(read(item.text, item.body_start)):
            assert not any(cuts_into(chunk, item, leaf) for chunk in chunks), item.id


def cuts_into(chunk: Chunk, item: Document, leaf: Block) -> bool:
    """Does a chunk hold a part of a table or fence, and neither all of it nor a flag?"""
    end = leaf.start + len(item.text[leaf.start : leaf.end].rstrip(" \t\n>"))
    holds = chunk.start <= leaf.start and end <= chunk.end
    apart = chunk.end <= leaf.start or end <= chunk.start
    flagged = leaf.kind == "fence" and "cut_fence" in chunk.flags
    return leaf.kind in ("table", "fence") and not (holds or apart or flagged)
