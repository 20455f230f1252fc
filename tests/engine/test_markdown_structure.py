"""labkit.chunking.structure: where headings stand, and what must not be cut.

The right values are those of CommonMark 0.31 and of GitHub's tables. `markdown-it-py`, a parser
that was not written here, checks them again on generated text, on the specification's own examples
and on two real documentation trees.
"""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from labkit.chunking.structure import Block, leaves, scan
from labkit.text import normalise
from strategies import any_text, markdown


def kinds(text: str) -> list[tuple[str, str]]:
    """Each block as (kind, its lines without the blank ones below)."""
    return [(block.kind, text[block.start : block.end].rstrip("\n")) for block in scan(text)]


def headings(text: str) -> list[tuple[int, str]]:
    return [(block.level, block.title) for block in scan(text) if block.kind == "heading"]


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
        ("## \\# escaped \\#", [(2, "\\# escaped \\#")]),
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
        ("`code` too\n---", [(2, "`code` too")]),
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
        ("text", "One.\n\nTwo."),
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
    found = [leaf for block in scan(text) for leaf in leaves(text, block) if leaf.kind == "table"]
    assert [text[leaf.start : leaf.end].rstrip("\n") for leaf in found] == [table]


@pytest.mark.parametrize(
    "text",
    ["| a | b |\n|---|", "a\n---|---", "| a |\n| b |", "| a |\n\n|---|", "| a |\n|-a-|", "|\n|-|"],
)
def test_no_tables(text):
    assert "table" not in [block.kind for block in scan(text)]


def test_what_is_inside_containers_is_found_to_the_innermost():
    text = "1. a\n\n   > b\n   >\n   > ```\n   > c\n   > ```\n\n   - d\n\n2. e\n"
    found = [leaf for block in scan(text) for leaf in leaves(text, block)]
    assert [(leaf.kind, text[leaf.start : leaf.end].rstrip()) for leaf in found] == [
        ("text", "1. a"),
        ("text", "   > b\n   >"),
        ("fence", "   > ```\n   > c\n   > ```"),
        ("text", "   - d"),
        ("text", "2. e"),
    ]


def test_deep_containers_end_in_text():
    text = ">" * 5000 + " deep"
    (block,) = scan(text)
    assert leaves(text, block) == [Block("text", 0, len(text))]


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
    ],
    ids=lambda text: repr(text[:12]),
)
@pytest.mark.timeout(10)
def test_texts_made_to_be_slow_are_not(text):
    for block in scan(text):
        leaves(text, block)


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
    blocks = scan(text)
    for block in blocks:
        assert block.start < block.end
        assert block.start == 0 or text[block.start - 1] == "\n"
        assert block.end == len(text) or text[block.end - 1] == "\n"
        assert (block.kind == "heading") == (block.level > 0)
    edges = [0, *(edge for block in blocks for edge in (block.start, block.end)), len(text)]
    for outside in list(pairwise(edges))[::2]:
        assert not text[slice(*outside)].strip(" \t\n")
    assert scan(text) == blocks


@given(any_text | markdown | generated)
def test_leaves_are_whole_lines_in_order_inside_their_block(text):
    for block in scan(text):
        last = block.start
        for leaf in leaves(text, block):
            assert last <= leaf.start < leaf.end <= block.end
            assert leaf.start == 0 or text[leaf.start - 1] == "\n"
            last = leaf.end


# --- against another parser -----------------------------------------------------------------------

PARSER = MarkdownIt("commonmark").enable("table")


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset)


def last_line(lines: list[str], first: int, after: int) -> int:
    """The last line before `after` that holds more than marks of quotation."""
    while after > first + 1 and not lines[after - 1].strip(" \t>"):
        after -= 1
    return after


def theirs(text: str) -> dict[str, list[tuple[int | str, ...]]]:
    """Headings at the top as (line, level, title); fences and tables anywhere, as (line, line after
    the last that is not blank)."""
    tokens, lines = PARSER.parse(text), text.split("\n")

    def places(kind: str) -> list[tuple[int | str, ...]]:
        spans = [token.map for token in tokens if token.type == kind and token.map]
        return [(first, last_line(lines, first, after)) for first, after in spans]

    return {
        "headings": [
            (opening.map[0], int(opening.tag[1]), " ".join(inline.content.split()))
            for opening, inline in pairwise(tokens)
            if opening.type == "heading_open" and opening.level == 0 and opening.map
        ],
        "fences": places("fence"),
        "tables": places("table_open"),
    }


def ours(text: str) -> dict[str, list[tuple[int | str, ...]]]:
    blocks, lines = scan(text), text.split("\n")
    inside = [leaf for block in blocks for leaf in leaves(text, block)]

    def places(kind: str) -> list[tuple[int | str, ...]]:
        found = [leaf for leaf in inside if leaf.kind == kind]
        spans = [(line_of(text, f.start), line_of(text, f.end - 1) + 1) for f in found]
        return [(first, last_line(lines, first, after)) for first, after in spans]

    return {
        "headings": [
            (line_of(text, block.start), block.level, " ".join(block.title.split()))
            for block in blocks
            if block.level
        ],
        "fences": places("fence"),
        "tables": places("table"),
    }


@given(generated)
@example("- item\n-->\n    # code\na | b\n===")
@example("> quote\n    # code\nA line\n===")
@example("[a]: /b\n---")
@example("10.\n\n    # a")
def test_generated_text_is_read_as_another_parser_reads_it(text):
    found, expected = ours(text), theirs(text)
    assert found["headings"] == expected["headings"]
    assert found["fences"] == expected["fences"]
    # A table right below a list item's text is the item's text to CommonMark, and a table to us
    assert set(found["tables"]) >= set(expected["tables"])


HTML_TABLES = {148, 149, 160, 192, 193}  # tables to us, so that they are not cut


@pytest.mark.real_data
@pytest.mark.parametrize(
    ("file", "deliberate"), [("commonmark/spec", HTML_TABLES), ("gfm/extensions", set())], ids=str
)
def test_the_examples_of_the_specification(real_data: Path, file: str, deliberate: set[int]):
    path = real_data / "references" / f"{file}.json"
    examples = json.loads(path.read_text(encoding="utf-8"))
    texts = {example["example"]: normalise(example["markdown"]) for example in examples}
    different = {number for number, text in texts.items() if ours(text) != theirs(text)}
    assert different == deliberate


@pytest.mark.real_data
@pytest.mark.parametrize(("name", "files"), [("rust-book-en", 113), ("etalab-guides-fr", 55)])
def test_headings_fences_and_tables_of_real_documentation(real_data: Path, name: str, files: int):
    paths = sorted((real_data / "markdown" / name).rglob("*.md"))
    assert len(paths) == files
    for path in paths:
        text = normalise(path.read_text(encoding="utf-8"))
        assert ours(text) == theirs(text), path.name
