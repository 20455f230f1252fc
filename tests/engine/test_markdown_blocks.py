"""labkit.markdown: blocks, headings and their anchors.

The right values are those of CommonMark 0.31 and of GitHub's tables; the specifications' own
examples check them again by the HTML that they expect.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from html import unescape
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from labkit.markdown import Block, first_title, heading_title, leaves, read
from labkit.markdown.headings import heading
from labkit.text import normalise
from strategies import any_text, markdown


def kinds(text: str) -> list[tuple[str, str]]:
    """Each block as (kind, its lines without the blank ones below)."""
    return [(block.kind, text[block.start : block.end].rstrip("\n")) for block in read(text)]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in read(text) if block.kind == "heading"]


# --- headings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("# One", [(1, "One")]),
        ("###### Six", [(6, "Six")]),
        ("####### Seven", []),
        ("   ## Three spaces", [(2, "Three spaces")]),
        ("    # Four spaces are code", []),
        ("\t# A tab is code", []),
        ("#No space", []),
        ("#\tTab", [(1, "Tab")]),
        ("## Closed ##", [(2, "Closed")]),
        ("## More signs #######   ", [(2, "More signs")]),
        ("## C#", [(2, "C#")]),
        ("## C# #", [(2, "C#")]),
        ("## \\# escaped \\#", [(2, "# escaped #")]),
        ("##", [(2, "")]),
        ("### ###", [(3, "")]),
        ("\\# No heading", []),
        ("text\n# Below text", [(1, "Below text")]),
        ("# A/B testing / and more", [(1, "A/B testing / and more")]),
        ("# One\n#### Four", [(1, "One"), (4, "Four")]),  # levels may be skipped
        ("# Same\n# Same", [(1, "Same"), (1, "Same")]),
        ("One\n===", [(1, "One")]),
        ("Two\n-", [(2, "Two")]),
        ("Two lines\nof it\n---  ", [(2, "Two lines of it")]),
        ("A paragraph.\n\nOnly this\n---", [(2, "Only this")]),
        ("1984 began\n===", [(1, "1984 began")]),
        ("`code` too\n---", [(2, "code too")]),
        ("text\n    ===", []),
        ("text\n= =", []),
        ("\n===", []),
        ("# Not again\n===", [(1, "Not again")]),
        ("***\n---", []),
        ("> quoted\n---", []),
        ("- item\n---", []),
    ],
)
def test_headings(text, expected):
    assert headings(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "```\n# a\n```",
        "~~~ sh\n# a\n---\n~~~",
        "````\n```\n# a\n```\n````",
        "```\n~~~\n# a\n```",
        "```\n# not closed\n\n## at all\n",
        "   ```\n# a\n  ```",
        "1. step\n\n   ```sh\n   # a\n   ```",
        "- ```\n  # a\n  ```",
        "> ```\n> # a\n> ```",
        "<!--\n# a\n\n## b\n-->",
        "<!-- # a -->\n",
        "<script>\n\n# a\n</script>",
        "<div>\n# a\n</div>",
        "<span>\n# a\n</span>",
        "text\n    # a",
        "    # a\n\n    ## b",
        "!!! note\n\n    # a",
        "| # a |\n|---|\n| # b |",
        "- item\n\n  # inside the item",
        "> # inside the quotation",
        "* * *",
        "$$\nnothing\n$$",
    ],
)
def test_what_looks_like_a_heading_inside_something_else_opens_no_section(text):
    assert headings(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "```\n# a\n```\n# Real",
        "```\na\n`````\n# Real",  # a longer mark closes
        "``` x`y\n# Real",  # no fence: a backtick in its info
        "``\n# Real",
        "```\n```\n# Real",
        "- ```\n  x\n# Real",  # the end of the item ends its fence
        "<!-- a --> b\n# Real",
        "<div>\n\n# Real",
        "<kbd>inline</kbd> text\n# Real",
        "a\n<span>\n# Real",  # a lone tag does not end a paragraph, a heading does
        "-\n\n# Real",
        "[a]: /b\n# Real",
        "a | b\n# Real",
        "{% hint %}\n# Real",
        "=== Tab\n# Real",
    ],
)
def test_a_heading_after_it_is_one(text):
    assert headings(text) == [(1, "Real")]


# --- blocks ---------------------------------------------------------------------------------------


def test_kinds_of_blocks():
    text = (
        "# H\nOne.\n\nTwo.\n- a\n  b\n\n  c\n- d\n> e\nlazy\n\n***\n    code\n\n    more\n"
        "<!-- x\n\ny -->\n```\n\n```\nh | i\n--|--\n1 | 2\n\nlast"
    )
    assert kinds(text) == [
        ("heading", "# H"),
        ("text", "One."),
        ("text", "Two."),
        ("item", "- a\n  b\n\n  c"),
        ("item", "- d"),
        ("quote", "> e\nlazy"),
        ("rule", "***"),
        ("code", "    code\n\n    more"),
        ("html", "<!-- x\n\ny -->"),
        ("fence", "```\n\n```"),
        ("table", "h | i\n--|--\n1 | 2"),
        ("text", "last"),
    ]


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("| a |\n|---|", "| a |\n|---|"),
        ("a|b\n-|-\n1|2\n3", "a|b\n-|-\n1|2\n3"),
        ("text\n| a | b |\n|:--|--:|\n| 1 |", "| a | b |\n|:--|--:|\n| 1 |"),
        ("| a |\n---", "| a |\n---"),
        ("| a \\| b |\n|---|\n", "| a \\| b |\n|---|"),
        ("| a |\n|---|\n| 1 |\n> no row", "| a |\n|---|\n| 1 |"),
        ("| a |\n|---|\n| 1 |\n- no row", "| a |\n|---|\n| 1 |"),
        ("| a |\n|---|\n| 1 |\n# no row", "| a |\n|---|\n| 1 |"),
        ("| a |\n|---|\n| 1 |\n    no row", "| a |\n|---|\n| 1 |"),
        ("- | a |\n  |---|\n  | 1 |", "- | a |\n  |---|\n  | 1 |"),
        ("> | a |\n> |---|\n> | 1 |", "> | a |\n> |---|\n> | 1 |"),
        ("<table>\n<tr>\n\n<td>a</td>\n</table>\n", "<table>\n<tr>\n\n<td>a</td>\n</table>"),
        ("<TABLE class='x'>\n<tr>\n\nnever closed", "<TABLE class='x'>\n<tr>"),
    ],
)
def test_tables(text, table):
    found = [leaf for leaf in leaves(read(text)) if leaf.kind == "table"]
    assert [text[leaf.start : leaf.end].rstrip("\n") for leaf in found] == [table]


@pytest.mark.parametrize(
    "text",
    ["| a | b |\n|---|", "a\n---|---", "| a |\n| b |", "| a |\n\n|---|", "| a |\n|-a-|", "|\n|-|"],
)
def test_no_tables(text):
    assert "table" not in [block.kind for block in read(text)]


def test_what_is_inside_containers_is_found_to_the_innermost():
    text = "1. a\n\n   > b\n   >\n   > ```\n   > c\n   > ```\n\n   - d\n\n2. e\n"
    found = list(leaves(read(text)))
    assert [(leaf.kind, text[leaf.start : leaf.end].rstrip()) for leaf in found] == [
        ("text", "1. a"),
        ("text", "   > b"),
        ("fence", "   > ```\n   > c\n   > ```"),
        ("text", "   - d"),
        ("text", "2. e"),
    ]


def test_deep_containers_end_in_text():
    text = ">" * 5000 + " deep"
    assert list(leaves(read(text))) == [Block("text", 0, len(text))]


def test_definitions_of_links_and_footnotes():
    text = "[a]: /b\n\nText.\n\n> [c]: /d 'e'\n\n[^1]: Seen.\n"
    found = [(leaf.kind, text[leaf.start : leaf.end]) for leaf in leaves(read(text))]
    assert found == [
        ("definition", "[a]: /b"),
        ("text", "Text."),
        ("definition", "> [c]: /d 'e'"),
        ("text", "[^1]: Seen."),
    ]


def test_what_an_admonition_or_a_tab_indents_is_no_code():
    text = "!!! note\n\n    # A\n\n    Text.\n\n    ```\n    x\n\n    y\n    ```\n\n        code\nB"
    found = [(leaf.kind, text[leaf.start : leaf.end].strip()) for leaf in leaves(read(text))]
    assert found == [
        ("text", "!!! note"),
        ("heading", "# A"),
        ("text", "Text."),
        ("fence", "```\n    x\n\n    y\n    ```"),
        ("code", "code"),
        ("text", "B"),
    ]
    assert headings(text) == [], "a heading inside an admonition opens no section"
    (_, tab, *_) = leaves(read('=== "A"\n\n    !!! tip\n        Deep.\n'))
    assert tab.kind == "text"


@pytest.mark.parametrize(
    ("source", "title", "name"),
    [
        ("Set up { #set-up }", "Set up", "set-up"),
        ("Prices {#prix}", "Prices", "prix"),
        ("Prices {: #prix .new }", "Prices", "prix"),
        ("Prices {.new}", "Prices", "prices"),
        ("Curly {braces}", "Curly {braces}", "curly-braces"),
        ('Prix <a href="#p" id="p"></a>', "Prix", "p"),
        ("<a name='top'></a>Prix", "Prix", "top"),
        ("Notes _in code_", "Notes in code", "notes-in-code"),
        ("`x_y` and z_w", "x_y and z_w", "x_y-and-z_w"),
        ("**Bold** [link](http://a.b/c_d_) ![](d.png)", "Bold link", "bold-link"),
        ("A &amp; B <!-- c -->", "A & B", "a--b"),
        ("Prix\u00a0: 10 €", "Prix\u00a0: 10 €", "prix-10-"),
        ("?!", "?!", "section"),
        ("Set up { #a } { #b }", "Set up { #a }", "b"),
        ("[" * 999, "[" * 999, "section"),
        ("`" * 5000, "`" * 5000, "section"),
    ],
)
def test_titles_and_anchors(source, title, name):
    assert heading(source) == (title, name)
    assert heading_title(source) == title


def test_a_title_knows_where_links_of_its_document_lead():
    (block, *_) = read("# The [guide][g]\n\n[g]: /guide\n")
    assert (block.title, block.name) == ("The guide", "the-guide")


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# One\n# Two", "One"),
        ("## Two\n\nOne { #x }\n===\n", "One"),
        ("```\n# code\n```\n", ""),
        ("> # quoted\n", ""),
        ("", ""),
    ],
)
def test_the_title_of_a_document(text, title):
    assert first_title(text) == title
    assert first_title("# not this\n" + text, 11) == title


@pytest.mark.parametrize(
    "text",
    [
        "- a\n" + "lazy\n  - b\n" * 3000,
        "<table>\n\n" * 3000,
        "<!-- \n" * 3000,
        "```\n~~~~\n" * 3000,
        "-\n" + "\n" * 9000 + "x",
        "> " * 9000,
        "| a |\n" * 9000,
        "a | b\n--|\n" * 3000,
        "<a " + "b " * 9000,
        "!!! a\n" * 3000,
        "".join(f"{' ' * 4 * n}!!! a\n" for n in range(300)),
        "[a]: b\n" * 3000,
        "word\n" * 9000,
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.timeout(10)
def test_texts_made_to_be_slow_are_not(text):
    list(leaves(read(text)))


# --- properties -----------------------------------------------------------------------------------

FRAGMENTS = (
    "# A", "## B ##", "   ### C", "    # code", "A line", "of text.", "===", "---", "- ", "-",
    "- item", "  inside", "   three", "    four", "1. one", "2) two", "> quote", ">", "> - both",
    "```", "````", "~~~", "```py", "  ```", "- ```", "> ```", "| a | b |", "|---|---|", "--|--",
    "a | b", "<!-- x", "-->", "<div>", "</div>", "<span>", "***", "* * *", "\t", "\ttab", "",
    "", " ",
)  # fmt: skip
generated = st.lists(st.sampled_from(FRAGMENTS), max_size=12).map("\n".join)


@given(any_text | markdown | generated)
def test_blocks_are_whole_lines_in_order_and_hold_all_that_is_not_blank(text):
    blocks = read(text)
    for block in blocks:
        assert block.start < block.end
        assert block.start == 0 or text[block.start - 1] == "\n"
        assert block.end == len(text) or text[block.end] == "\n"
        assert text[block.start : block.end].strip()
        assert (block.kind == "heading") == (block.level > 0)
    edges = [0, *(edge for block in blocks for edge in (block.start, block.end)), len(text)]
    for outside in list(pairwise(edges))[::2]:
        assert not text[slice(*outside)].strip()
    assert read(text) == blocks


@given(any_text | markdown | generated)
def test_leaves_are_whole_lines_in_order_inside_their_block(text):
    for block in read(text):
        last = block.start
        for leaf in leaves([block]):
            assert last <= leaf.start < leaf.end <= block.end
            assert leaf.start == 0 or text[leaf.start - 1] == "\n"
            last = leaf.end


# --- the examples of the specifications -----------------------------------------------------------

HTML_TABLE = {193}  # whole to us over its blank lines, so that it is not cut
FOOTNOTES = {23}  # to us, paragraphs
TAGS = {"heading": "h[1-6]", "rule": "hr", "item": "li", "quote": "blockquote", "table": "table"}


def all_kinds(blocks: Iterable[Block]) -> Iterator[str]:
    for block in blocks:
        yield "code" if block.kind == "fence" else block.kind
        yield from all_kinds(block.inner)


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "deliberate"),
    [("commonmark/spec", HTML_TABLE), ("gfm/extensions", FOOTNOTES)],
    ids=str,
)
def test_the_examples_of_the_specification(real_data: Path, file: str, deliberate: set[int]):
    """As many headings, rules, items, quotations, tables and blocks of code as the HTML has."""
    path = real_data / "references" / f"{file}.json"
    different = set()
    for example in json.loads(path.read_text(encoding="utf-8")):
        found = Counter(all_kinds(read(normalise(example["markdown"]))))
        html = example["html"]
        expected = {kind: len(re.findall(rf"<{tag}\b", html)) for kind, tag in TAGS.items()}
        expected["code"] = len(re.findall(r"<pre><code", html))
        if any(found[kind] != count for kind, count in expected.items()):
            different.add(example["example"])
    assert different == deliberate


@pytest.mark.real_data
def test_titles_are_those_of_the_specification(real_data: Path):
    path = real_data / "references/commonmark/spec.json"
    shown = 0
    for example in json.loads(path.read_text(encoding="utf-8")):
        if example["section"] in ("ATX headings", "Setext headings"):
            html = re.findall(r"^<h([1-6])>(.*?)</h\1>", example["html"], re.MULTILINE | re.DOTALL)
            wanted = [
                (int(level), " ".join(unescape(re.sub("<[^>]+>", "", title)).split()))
                for level, title in html
            ]
            shown += len(wanted)
            assert headings(normalise(example["markdown"])) == wanted, example["example"]
    assert shown > 40
