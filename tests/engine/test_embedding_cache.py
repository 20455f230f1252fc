"""labkit.embedding.cache: vectors paid for once, never taken for another text, role or model."""

from __future__ import annotations

import base64
import json
import sqlite3
import warnings
from collections.abc import Sequence
from contextlib import closing
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from builders import ToyEmbedder, identity
from labkit.embedding import CachedEmbedder, VectorCache, read_vectors, write_vectors
from labkit.embedding.cache import Key, text_key
from labkit.embedding.checks import TextTooLong
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Matrix, Role
from labkit.vectors import encode_vector


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "folder" / "vectors.sqlite"


def asked(toy: ToyEmbedder) -> list[str]:
    """The texts that the model was asked for, in order."""
    return [text for texts, _ in toy.calls for text in texts]


def test_the_model_is_asked_once_for_a_text(path: Path) -> None:
    toy = ToyEmbedder()
    first = CachedEmbedder(toy, VectorCache(path)).embed(["gate", "door"], "passage")
    again = CachedEmbedder(toy, VectorCache(path)).embed(["door", "gate", "wall"], "passage")
    assert toy.calls == [(("gate", "door"), "passage"), (("wall",), "passage")]
    assert np.array_equal(again[:2], first[::-1])
    assert np.array_equal(again, ToyEmbedder().embed(["door", "gate", "wall"], "passage"))


def test_a_text_that_occurs_twice_is_asked_for_once_and_answered_twice(path: Path) -> None:
    toy = ToyEmbedder()
    vectors = CachedEmbedder(toy, VectorCache(path)).embed(["gate", "door", "gate"], "passage")
    assert asked(toy) == ["gate", "door"]
    assert np.array_equal(vectors, ToyEmbedder().embed(["gate", "door", "gate"], "passage"))


def test_without_a_file_the_vectors_are_those_of_the_model() -> None:
    toy = ToyEmbedder()
    plain = CachedEmbedder(toy)
    assert np.array_equal(plain.embed(["gate"], "query"), ToyEmbedder().embed(["gate"], "query"))
    plain.embed(["gate"], "query")
    assert asked(toy) == ["gate", "gate"]


def test_vectors_are_float32_contiguous_writable_and_of_the_right_shape(path: Path) -> None:
    cached = CachedEmbedder(ToyEmbedder(dimension=3), VectorCache(path))
    for _ in range(2):
        vectors = cached.embed(["gate"], "query")
        assert (vectors.dtype, vectors.shape) == (np.float32, (1, 3))
        assert vectors.flags.c_contiguous
        assert vectors.flags.writeable
    assert cached.embed([], "query").shape == (0, 3)


def test_query_and_passage_never_share_an_entry(path: Path) -> None:
    class ByRole(ToyEmbedder):
        def embed(self, texts: Sequence[str], role: Role) -> Matrix:
            return super().embed([f"{role}: {text}" for text in texts], role)

    toy = ByRole()
    cached = CachedEmbedder(toy, VectorCache(path))
    passage, query = cached.embed(["gate"], "passage"), cached.embed(["gate"], "query")
    assert asked(toy) == ["passage: gate", "query: gate"]
    assert not np.array_equal(passage, query)
    assert np.array_equal(cached.embed(["gate"], "query"), query)
    assert np.array_equal(cached.embed(["gate"], "passage"), passage)


@pytest.mark.parametrize("field", [field.name for field in fields(EmbedderIdentity)])
def test_another_identity_in_any_field_is_another_entry(path: Path, field: str) -> None:
    """Equal dimension is not equal space; the file is shared by all models."""
    toy = identity(dimension=2)
    old = getattr(toy, field)
    new = (not old) if isinstance(old, bool) else old + (1 if isinstance(old, int) else "x")
    other = replace(toy, **{field: new})
    key = text_key("gate", "query")
    cache = VectorCache(path)
    cache.put(toy, {key: encode_vector([1.0, 2.0])})
    assert cache.get(other, [key]) == {}
    assert cache.get(toy, [key]) == {key: encode_vector([1.0, 2.0])}


@pytest.mark.parametrize("texts", [("gate", "gate "), ("gate", "Gate"), ("é", "e\u0301")])
def test_texts_that_differ_in_one_letter_differ_in_their_key(texts: tuple[str, str]) -> None:
    assert text_key(texts[0], "query") != text_key(texts[1], "query")


def test_the_cache_keeps_no_text(path: Path) -> None:
    CachedEmbedder(ToyEmbedder(), VectorCache(path)).embed(["a confidential text"], "passage")
    assert b"confidential" not in path.read_bytes()
    assert (
        encode_vector(ToyEmbedder().embed(["a confidential text"], "passage")[0])
        in path.read_bytes()
    )


def test_bytes_are_little_endian_float32() -> None:
    assert encode_vector([1.0, -2.5]) == bytes.fromhex("0000803f000020c0")
    assert encode_vector(np.array([1.0, -2.5], ">f8")) == bytes.fromhex("0000803f000020c0")


def test_a_blank_text_is_refused_before_anything_is_asked(path: Path) -> None:
    toy = ToyEmbedder()
    with pytest.raises(EmbeddingError, match="text 1 is blank"):
        CachedEmbedder(toy, VectorCache(path)).embed(["gate", " \n"], "passage")
    assert toy.calls == []
    assert not path.exists()


def test_identity_and_health_are_those_of_the_model() -> None:
    toy = ToyEmbedder()
    assert CachedEmbedder(toy).identity is toy.identity
    assert CachedEmbedder(toy).health() == Health(True)


# --- nothing wrong is ever kept ------------------------------------------------------------------


class Failing(ToyEmbedder):
    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        if "bad" in texts:
            raise EmbeddingError("the server is gone.")
        return super().embed(texts, role)


def test_a_failure_keeps_nothing(path: Path) -> None:
    cached = CachedEmbedder(Failing(), VectorCache(path))
    with pytest.raises(EmbeddingError, match="the server is gone"):
        cached.embed(["gate", "bad"], "passage")
    assert not path.exists()


class Narrow(ToyEmbedder):
    """Reads five letters of a text and warns of the rest."""

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        for text in texts:
            if len(text) > 5:
                warnings.warn(TextTooLong(text, len(text), 5), stacklevel=2)
        return super().embed([text[:5] for text in texts], role)


def test_a_text_longer_than_the_window_is_told_of_every_time_and_never_kept(path: Path) -> None:
    toy = Narrow()
    for _ in range(2):
        with pytest.warns(TextTooLong, match=r"'a long one'… has 10 tokens; .* the first 5 of"):
            CachedEmbedder(toy, VectorCache(path)).embed(["gate", "a long one"], "passage")
    assert asked(toy) == ["gate", "a lon", "a lon"]


def test_other_warnings_of_the_model_reach_the_caller(path: Path) -> None:
    class Old(ToyEmbedder):
        def embed(self, texts: Sequence[str], role: Role) -> Matrix:
            warnings.warn("old weights", DeprecationWarning, stacklevel=2)
            return super().embed(texts, role)

    with pytest.warns(DeprecationWarning, match="old weights"):
        CachedEmbedder(Old(), VectorCache(path)).embed(["gate"], "passage")


# --- a broken file costs time, never an answer ---------------------------------------------------


def spoil(path: Path, blob: object) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE vector SET vector = ?", (blob,))


@pytest.mark.parametrize(
    "blob",
    [
        b"",
        b"\0" * 7,
        b"\0" * 8,
        b"\0" * 12,
        encode_vector([np.nan, 1.0]),
        encode_vector([np.inf, 1.0]),
        "12345678",
        12345678,
    ],
    ids=repr,
)
def test_an_entry_that_is_no_vector_is_asked_for_again(path: Path, blob: object) -> None:
    toy = ToyEmbedder(dimension=2)
    cached = CachedEmbedder(toy, VectorCache(path))
    right = cached.embed(["gate"], "query")
    spoil(path, blob)
    assert np.array_equal(cached.embed(["gate"], "query"), right)
    assert np.array_equal(cached.embed(["gate"], "query"), right)
    assert asked(toy) == ["gate", "gate"], "and the good one is kept in its place"


@pytest.mark.parametrize(
    "junk",
    [b"no database, just text " * 100, b"SQLite format 3\0" + b"\xff" * 5000],
)
def test_a_file_that_is_no_database_costs_only_time(path: Path, junk: bytes) -> None:
    path.parent.mkdir()
    path.write_bytes(junk)
    toy = ToyEmbedder()
    cached = CachedEmbedder(toy, VectorCache(path))
    for _ in range(2):
        vectors = cached.embed(["gate"], "query")
        assert np.array_equal(vectors, ToyEmbedder().embed(["gate"], "query"))
    assert asked(toy) == ["gate", "gate"]
    assert path.read_bytes() == junk


def test_a_file_with_another_table_of_the_name_costs_only_time(path: Path) -> None:
    path.parent.mkdir()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE vector (mine TEXT)")
    cached = CachedEmbedder(ToyEmbedder(), VectorCache(path))
    assert cached.embed(["gate"], "query").shape == (1, 8)


def test_a_place_that_cannot_be_written_costs_only_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    for place in (tmp_path / "file" / "vectors.sqlite", tmp_path):
        toy = ToyEmbedder()
        cached = CachedEmbedder(toy, VectorCache(place))
        for _ in range(2):
            assert cached.embed(["gate"], "query").shape == (1, 8)
        assert asked(toy) == ["gate", "gate"]


def test_a_place_that_cannot_even_be_looked_at_costs_only_time(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def forbidden(self: Path) -> bool:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "is_file", forbidden)
    assert CachedEmbedder(ToyEmbedder(), VectorCache(path)).embed(["a"], "query").shape == (1, 8)


# --- shipped vectors -----------------------------------------------------------------------------


def shipped(**texts: Sequence[float]) -> dict[Key, bytes]:
    return {text_key(text, "passage"): encode_vector(vector) for text, vector in texts.items()}


TOY = identity(dimension=2)
TWO = shipped(gate=(1.0, 2.0), door=(-0.1, 3e-5))


def test_shipped_vectors_are_read_as_they_were_written(tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    write_vectors(path, TOY, TWO)
    assert read_vectors(path, TOY) == TWO
    first = path.read_bytes()
    write_vectors(path, TOY, dict(reversed(TWO.items())))
    assert path.read_bytes() == first, "the same vectors make the same file, whatever their order"


def test_the_shipped_file_is_a_line_with_the_identity_and_a_line_a_vector(tmp_path: Path) -> None:
    path = tmp_path / "toy.jsonl"
    write_vectors(path, TOY, shipped(gate=(1.0, -2.5)))
    head, line = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    assert head["identity"]["model"] == "toy"
    assert (line["role"], line["sha256"]) == text_key("gate", "passage")
    assert base64.b64decode(line["vector"]) == bytes.fromhex("0000803f000020c0")


@pytest.mark.parametrize("field", ["model", "revision", "passage_prefix"])
def test_vectors_shipped_for_another_identity_are_not_used(tmp_path: Path, field: str) -> None:
    write_vectors(tmp_path / "toy.jsonl", TOY, TWO)
    assert read_vectors(tmp_path / "toy.jsonl", replace(TOY, **{field: "other"})) == {}


def test_without_a_shipped_file_there_are_no_shipped_vectors(tmp_path: Path) -> None:
    assert read_vectors(tmp_path / "nothing.jsonl", TOY) == {}


@pytest.mark.parametrize(
    "spoil_lines",
    [
        lambda lines: [],
        lambda lines: ["version https://example.org/large-file"],
        lambda lines: ["{}"],
        lambda lines: [*lines[:2], lines[2][:30]],
        lambda lines: [*lines[:2], "[]"],
        lambda lines: [*lines[:2], lines[2].replace('"role"', '"rule"')],
        lambda lines: [*lines[:2], json.dumps({**json.loads(lines[2]), "vector": "AAAA"})],
        lambda lines: [*lines[:2], json.dumps({**json.loads(lines[2]), "vector": "!" * 12})],
        lambda lines: [*lines[:2], json.dumps({**json.loads(lines[2]), "vector": "A" * 11 + "="})],
    ],
)
def test_a_damaged_shipped_file_is_named_with_the_mend(tmp_path: Path, spoil_lines: Any) -> None:
    path = tmp_path / "toy.jsonl"
    write_vectors(path, TOY, TWO)
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(spoil_lines(lines)), encoding="utf-8")
    with pytest.raises(EmbeddingError, match=r"toy\.jsonl is damaged after line \d.*git checkout"):
        read_vectors(path, TOY)


def test_shipped_vectors_are_used_before_the_cache_and_before_the_model(path: Path) -> None:
    toy = ToyEmbedder(dimension=2)
    cache = VectorCache(path)
    cache.put(toy.identity, shipped(gate=(9.0, 9.0), wall=(5.0, 5.0)))
    cached = CachedEmbedder(toy, cache, shipped(gate=(1.0, 2.0)))
    assert cached.embed(["wall", "gate"], "passage").tolist() == [[5, 5], [1, 2]]
    assert toy.calls == []
    cached.embed(["gate"], "query")
    assert toy.calls == [(("gate",), "query")], "shipped as a passage is not shipped as a question"
