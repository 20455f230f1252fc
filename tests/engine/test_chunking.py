"""labkit.chunking: the window of characters that every other chunker is measured against."""

from __future__ import annotations

import re
from itertools import pairwise

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from builders import document, metadata
from labkit.chunking import CharacterChunker, windows
from labkit.text import normalise
from labkit.types import Document
from strategies import any_text, spans


@pytest.mark.parametrize(
    ("length", "size", "overlap", "expected"),
    [
        (0, 4, 1, []),
        (1, 4, 1, [(0, 1)]),
        (4, 4, 1, [(0, 4)]),
        (5, 4, 1, [(0, 4), (3, 5)]),
        (7, 4, 1, [(0, 4), (3, 7)]),  # no (6, 7) after it: that would be overlap alone
        (10, 4, 1, [(0, 4), (3, 7), (6, 10)]),
        (6, 3, 0, [(0, 3), (3, 6)]),
        (5, 3, 2, [(0, 3), (1, 4), (2, 5)]),
        (3, 1, 0, [(0, 1), (1, 2), (2, 3)]),
    ],
)
def test_windows(length, size, overlap, expected):
    assert windows(length, size, overlap) == expected


@pytest.mark.parametrize(
    ("size", "overlap", "message"),
    [
        (0, 0, "size is 0; a window needs at least one character."),
        (-5, 0, "size is -5; a window needs at least one character."),
        (10, -1, "overlap is -1; it must be at least 0 and below size (10)."),
        (10, 10, "overlap is 10; it must be at least 0 and below size (10)."),
        (10, 11, "overlap is 11; it must be at least 0 and below size (10)."),
    ],
)
def test_sizes_that_cannot_cut_are_refused_when_they_are_given(size, overlap, message):
    for refused in (lambda: windows(9, size, overlap), lambda: CharacterChunker(size, overlap)):
        with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
            refused()


@given(st.integers(0, 500), spans)
def test_windows_advance_cover_and_end_with_the_text(length, span):
    size, overlap = span
    cut = windows(length, size, overlap)
    assert [i for i in range(length) if not any(a <= i < b for a, b in cut)] == []
    for (a, b), (c, d) in pairwise(cut):
        assert c - a == size - overlap  # strict progress
        assert d > b  # what follows is never overlap alone
    assert all(0 < b - a <= size for a, b in cut)
    assert not cut or cut[-1][1] == length


@given(any_text, spans, st.integers(0, 80))
@example("ab" * 40, (7, 6), 0)  # the same passage again and again
@example(" " * 30 + "x", (5, 0), 0)
@example("🧑‍🚀" * 10, (2, 1), 3)
def test_chunks_are_slices_that_hold_every_character_of_the_body(text, span, body_start):
    item = Document(metadata("doc"), text, "hash", min(body_start, len(text)))
    chunks = CharacterChunker(*span).chunk(item)
    covered = set()
    for number, chunk in enumerate(chunks):
        assert chunk.text == text[chunk.start : chunk.end]
        assert item.body_start <= chunk.start < chunk.end <= len(text)
        assert len(chunk.text) <= span[0]
        assert chunk.text.strip()
        assert (chunk.id, chunk.source_id, chunk.meta) == (f"doc#{number}", "doc", item.meta)
        covered.update(range(chunk.start, chunk.end))
    body = range(item.body_start, len(text))
    assert [i for i in body if not text[i].isspace() and i not in covered] == []
    assert chunks == CharacterChunker(*span).chunk(item)


@given(any_text.filter(lambda text: "\r" not in text), spans)
def test_line_ends_do_not_move_a_cut(text, span):
    cut = CharacterChunker(*span).chunk
    unix, dos = (
        Document(metadata("doc"), normalise(text.replace("\n", end)), "hash")
        for end in ("\n", "\r\n")
    )
    assert cut(unix) == cut(dos)


@pytest.mark.parametrize("text", ["", " ", "\n\n\t", "\u00a0\u2003\n"])
def test_an_empty_or_blank_document_has_no_chunk(text):
    assert CharacterChunker().chunk(document(text=text)) == []


def test_a_document_that_fits_is_one_chunk_and_one_without_a_newline_is_cut_too():
    assert len(CharacterChunker(600, 80).chunk(document(text="x" * 600))) == 1
    parts = CharacterChunker(600, 80).chunk(document(text="x" * 1121))
    assert [(part.start, part.end) for part in parts] == [(0, 600), (520, 1120), (1040, 1121)]


def test_only_the_body_is_cut():
    item = Document(metadata("doc"), "---\nid: doc\n---\nBody", "hash", 16)
    (chunk,) = CharacterChunker().chunk(item)
    assert (chunk.start, chunk.text) == (16, "Body")


def test_blank_windows_make_no_chunk_and_no_gap_in_the_parts():
    chunks = CharacterChunker(3, 0).chunk(document("a", "one      two"))
    assert [(chunk.id, chunk.start, chunk.text) for chunk in chunks] == [
        ("a#0", 0, "one"),
        ("a#1", 9, "two"),
    ]


def test_nothing_is_flattened():
    text = "a\tb\u00a0c\u200dd\n\n\n  - e\n```\n    f\n```\n"
    (chunk,) = CharacterChunker().chunk(document(text=text))
    assert chunk.text == text


def test_a_window_counts_code_points_and_may_cut_what_a_reader_sees_as_one_character():
    family = "👩\u200d👧"
    chunks = CharacterChunker(2, 0).chunk(document(text=family))
    assert [chunk.text for chunk in chunks] == ["👩\u200d", "👧"]


def test_the_version_names_the_effective_parameters():
    assert CharacterChunker().version == "chars-600-overlap-80-v2"
    assert CharacterChunker(100, 0).version == "chars-100-overlap-0-v2"
