"""Transfer: a gate for table cells

A table cell is often too short for the gate. Check one citation, and widen a short one to its row.
`passages` holds the text of each retrieved passage by its id; a row of a table is a line that
starts with `|` when trimmed, and its cells stand, trimmed, between the `|`.

A quote of 20 characters or more after trimming is checked as by `check_evidence`. A shorter one
that equals a cell of exactly one row of the cited passage is replaced by that row, trimmed, letter
for letter as it stands there; then the row is checked in the same way. Any other short quote, the
empty one too, is an `invalid_citation`. Return `{"accepted": [citation]}` with the quote that was
checked, or `{"refused": reason}`. You may call your own `check_evidence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s07_citation_gate.check_evidence import check_evidence
from classroom.exercises.s07_citation_gate.common import (
    Decision,
    Passages,
    PlainCitation,
    cite,
    propose,
)
from labkit.types import MIN_QUOTE


def check_cell(citation: dict, passages: dict[str, str]) -> dict:
    """{"accepted": [citation]}, a short cell widened to its row, or {"refused": reason}."""
    quote, text = citation["quote"], passages.get(citation["chunk_id"])
    if text is None:
        return {"refused": "invalid_citation"}
    if quote and len(quote.strip()) < 20:
        rows = []
        for line in text.splitlines():
            row = line.strip()
            if row.startswith("|") and quote in [c.strip() for c in row.strip("|").split("|")]:
                rows.append(row)
        if len(rows) == 1:
            quote = rows[0]
    if len(quote.strip()) < 20:
        return {"refused": "invalid_citation"}
    if quote not in text:
        return {"refused": "quotation_not_found"}
    return {"accepted": [{"chunk_id": citation["chunk_id"], "quote": quote}]}


def _rows(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("|")]


def _cells(row: str) -> list[str]:
    return [cell.strip() for cell in row.removeprefix("|").removesuffix("|").split("|")]


def _rows_with(cell: str, text: str) -> list[str]:
    return [row for row in _rows(text) if cell in _cells(row)]


def _rows_of(citation: PlainCitation, passages: Passages) -> list[str]:
    """The rows of the cited passage that hold the cell, if the quotation is short enough for one."""
    is_short = len(citation["quote"]) > 0 and len(citation["quote"].strip()) < MIN_QUOTE
    text = passages.get(citation["chunk_id"], "")
    return _rows_with(citation["quote"], text) if is_short else []


def cell_alone_accepted(citation: PlainCitation, passages: Passages) -> Decision:
    """The cell passes alone: without its row nobody can see what the number belongs to."""
    if len(_rows_of(citation, passages)) == 1:
        return {"accepted": [citation]}
    return check_cell(citation, passages)


def part_of_a_cell(citation: PlainCitation, passages: Passages) -> Decision:
    """A part of a cell is taken for the cell: `2` is not `24`, so compare whole cells."""
    quote = citation["quote"]
    rows = [row for row in _rows(passages.get(citation["chunk_id"], "")) if quote in row]
    if quote and len(quote.strip()) < MIN_QUOTE and len(rows) == 1:
        return check_cell({**citation, "quote": rows[0]}, passages)
    return check_evidence(propose(citation), passages)


def first_row_taken(citation: PlainCitation, passages: Passages) -> Decision:
    """Several rows hold the cell and you take the first: nobody said that this one is meant."""
    rows = _rows_of(citation, passages) or [citation["quote"]]
    return check_cell({**citation, "quote": rows[0]}, passages)


def row_rebuilt(citation: PlainCitation, passages: Passages) -> Decision:
    """The row is put together from its cells: quote it with the very spaces of the passage."""
    decision = check_cell(citation, passages)
    if "refused" in decision or not _rows_of(citation, passages):
        return decision
    cells = _cells(decision["accepted"][0]["quote"])
    return {"accepted": [{**citation, "quote": f"| {' | '.join(cells)} |"}]}


def short_row_accepted(citation: PlainCitation, passages: Passages) -> Decision:
    """A row of fewer than 20 characters passes: a widened quotation has to be long enough too."""
    rows = _rows_of(citation, passages)
    if len(rows) == 1:
        return {"accepted": [{**citation, "quote": rows[0]}]}
    return check_cell(citation, passages)


def other_tables_searched(citation: PlainCitation, passages: Passages) -> Decision:
    """The cell is searched in all passages: only the table that is cited counts."""
    everywhere = dict.fromkeys([*passages, citation["chunk_id"]], "\n".join(passages.values()))
    rows = _rows_of(citation, everywhere)
    if len(rows) != 1:
        return check_cell(citation, passages)
    name = next(name for name, passage in passages.items() if rows[0] in passage)
    return check_evidence(propose(cite(name, rows[0])), passages)


def empty_cell_quoted(citation: PlainCitation, passages: Passages) -> Decision:
    """An empty quotation finds an empty cell, and its row passes: nothing was quoted."""
    rows = _rows_with(citation["quote"], passages.get(citation["chunk_id"], ""))
    if citation["quote"] or len(rows) != 1:
        return check_cell(citation, passages)
    return check_evidence(propose({**citation, "quote": rows[0]}), passages)


def long_quote_unchecked(citation: PlainCitation, passages: Passages) -> Decision:
    """A long quotation passes unchecked: it still has to stand in the passage, letter for letter."""
    if len(citation["quote"].strip()) < MIN_QUOTE or citation["chunk_id"] not in passages:
        return check_cell(citation, passages)
    return {"accepted": [citation]}


_TABLE = """\
| Product | Warranty  | Repairs |
|---------|-----------|---------|
| GX-100  | 24 months | free    |
| GX-200  | 36 months | free    |
| GX-300  | 12 months |         |"""
_FEES = "| Fee |\n|---|\n| 5 EUR |\n\nA second parcel costs 7 EUR."
_TABLES = {"products#0": _TABLE, "fees#0": _FEES}
_HIDDEN_TABLES = {
    "plans#0": (
        "Plans and their limits:\n\n|Plan|Members|Storage|Help|\n|---|---|---|---|\n"
        "|Basic|  5 | 10 GB|by mail|\n|Team | 25 |100 GB|by mail|\n|Large|250 |  1 TB||"
    ),
    "regions#0": "| EU | Paris |\n| US | Boston and Chicago |\n  | CH | Basel, near the border |",
}


def _hidden_cells(random: Random) -> Iterator[Arguments]:
    edges = [
        ("plans#0", "25"),
        ("plans#0", "by mail"),
        ("plans#0", ""),
        ("plans#0", "TB"),
        ("regions#0", "Paris"),
        ("regions#0", "CH"),
        ("regions#0", "250"),
        ("plans#0", "5"),
        ("plans#0", "|Basic|  5 | 10 GB|by mail|"),
        ("plans#0", "|Basic| 5 | 10 GB|by mail|"),
        ("regions#1", "Paris"),
        ("regions#0", "Basel, near the border"),
    ]
    for name, quote in edges:
        yield cite(name, quote), dict(_HIDDEN_TABLES)
    cells = {
        cell for text in _HIDDEN_TABLES.values() for row in _rows(text) for cell in _cells(row)
    }
    pairs = [(name, cell) for name in _HIDDEN_TABLES for cell in sorted(cells)]
    for number, (name, quote) in enumerate(random.sample(pairs, 16)):
        kept = dict(_HIDDEN_TABLES) if number % 2 else {name: _HIDDEN_TABLES[name]}
        yield cite(name, quote), kept


def _any_cell() -> Strategy:
    rows = [
        "| a | 7 | and some words |",
        "| b | 7 | and other words |",
        "| c | 17 | and more words |",
        "|d|7|",
        "|  e  | 9 | and last words |",
        "| f |  | and no words |",
    ]
    table = st.lists(st.sampled_from(rows), max_size=3, unique=True).map("\n".join)
    quote = st.sampled_from(["7", "7", "1", "9", "", "a", "| a | 7 | and same words |"])
    return st.tuples(
        st.builds(cite, st.sampled_from(["p#0", "p#0", "q#0"]), quote),
        st.builds(
            lambda first, second: {"p#0": first, **({"q#0": second} if second else {})},
            table,
            table,
        ),
    )


EXERCISE = Exercise(
    model_solution=check_cell,
    reference=check_cell,
    cases=(
        case("one row holds the cell", cite("products#0", "24 months"), _TABLES),
        case("two rows hold it", cite("products#0", "free"), _TABLES),
        case("a part of a cell", cite("products#0", "2"), _TABLES),
        case("a row that is too short itself", cite("fees#0", "5 EUR"), _TABLES),
        case("a cell of another table", cite("fees#0", "24 months"), _TABLES),
        case("long enough alone", cite("fees#0", "A second parcel costs 7 EUR."), _TABLES),
        case("nothing quoted", cite("products#0", ""), _TABLES),
    ),
    hidden=_hidden_cells,
    strategy=_any_cell,
    hints=(
        "Which rows hold the cell? Write a small function that answers just this, and try it.",
        '`row.strip("|").split("|")` gives the cells, still with blanks around them; note that it '
        "also drops empty cells at the ends.",
        "Only when that list has exactly one row, let the row take the place of the quote.",
        "After that, the gate is the same as before: hand the citation to your `check_evidence`.",
    ),
    off_limits=("labkit.answering.gate",),
    place=3,
    points=6,
    minutes=20,
    transfer=True,
)
