"""labkit.store.manifest: the lock file of an index, and how another setting is named."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from builders import document, manifest
from labkit.store.manifest import (
    check_manifest,
    from_json,
    manifest_differences,
    mend,
    to_json,
)
from labkit.types import EmbedderIdentity, Manifest, Origin, StoreError

INDEX = Manifest(
    embedder=EmbedderIdentity(
        provider="sentence-transformers",
        endpoint="",
        model="mini",
        revision="sha256:1",
        dimension=384,
        query_prefix="query: ",
        passage_prefix="passage: ",
        normalised=True,
        metric="cosine",
    ),
    chunker="chars-600-overlap-80-v2",
    analyser="en-fr-v1",
    corpus_sha256="c" * 64,
    products_sha256="p" * 64,
    origin=Origin("rebuild", "/a/folder"),
)


def changed(field: str, value: Any) -> Manifest:
    if field.startswith("embedder."):
        name = field.removeprefix("embedder.")
        return replace(INDEX, embedder=replace(INDEX.embedder, **{name: value}))
    return replace(INDEX, **{field: value})


def test_a_manifest_survives_its_json_letter_for_letter() -> None:
    unusual = changed("embedder.query_prefix", "requête « l’été » : ")
    assert from_json(to_json(unusual)) == unusual
    assert "l’été" in to_json(unusual)


def test_equal_manifests_have_equal_json_and_no_differences() -> None:
    assert to_json(INDEX) == to_json(from_json(to_json(INDEX)))
    assert manifest_differences(INDEX, changed("chunker", INDEX.chunker)) == {}
    check_manifest(INDEX, INDEX)


FIELDS = [
    ("embedder.provider", "openai-compatible"),
    ("embedder.endpoint", "http://host/v1"),
    ("embedder.model", "other-model-of-the-same-dimension"),
    ("embedder.revision", "sha256:2"),
    ("embedder.dimension", 768),
    ("embedder.query_prefix", ""),
    ("embedder.passage_prefix", ""),
    ("embedder.normalised", False),
    ("embedder.metric", "dot"),
    ("chunker", "chars-800-overlap-100-v2"),
    ("analyser", "en-fr-v2"),
    ("corpus_sha256", "d" * 64),
    ("products_sha256", "q" * 64),
]


def test_the_fields_below_are_all_fields_there_are() -> None:
    """A field that is added to the manifest must be compared too, and stand in this test."""
    names = [f"embedder.{name}" for name in EmbedderIdentity.__slots__]
    names += [name for name in Manifest.__slots__ if name not in ("embedder", "origin")]
    assert [field for field, _ in FIELDS] == names


@pytest.mark.parametrize(("field", "value"), FIELDS)
def test_a_difference_names_the_field_both_values_and_the_mend(field: str, value: Any) -> None:
    now = changed(field, value)
    (difference,) = manifest_differences(INDEX, now).items()
    name, (indexed, current) = difference
    assert (name, current) == (field, value)
    with pytest.raises(StoreError) as refused:
        check_manifest(INDEX, now)
    assert str(refused.value) == (
        f"The index does not fit these settings: '{field}' is {indexed!r} in the index and "
        f"{value!r} now. Run: labkit rebuild"
    )


def test_the_origin_is_kept_and_is_no_difference() -> None:
    made = replace(INDEX, origin=Origin("ingest", "/a/folder of mine"))
    assert from_json(to_json(made)).origin == Origin("ingest", "/a/folder of mine")
    assert manifest_differences(made, replace(INDEX, origin=Origin("rebuild", "/another"))) == {}
    assert made == INDEX


def test_all_differences_are_found_and_the_first_is_named() -> None:
    now = replace(changed("embedder.model", "other"), chunker="other")
    assert manifest_differences(INDEX, now) == {
        "embedder.model": ("mini", "other"),
        "chunker": ("chars-600-overlap-80-v2", "other"),
    }
    with pytest.raises(StoreError, match=r"'embedder\.model' is 'mini' in the index and 'other'"):
        check_manifest(INDEX, now)


def test_documents_that_changed_make_another_manifest() -> None:
    before = manifest([document("a", "Old."), document("b", "Same.")])
    after = manifest([document("a", "New."), document("b", "Same.")])
    assert list(manifest_differences(before, after)) == ["corpus_sha256"]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "null",
        "5",
        "[]",
        "{}",
        '{"embedder": {}}',
        to_json(INDEX)[:-1],
        to_json(INDEX).replace('"chunker"', '"chunkers"'),
        to_json(INDEX).replace('"model"', '"models"'),
        to_json(INDEX).replace("384", "0"),
        to_json(INDEX).replace("384", "-384"),
        to_json(INDEX).replace("384", '"384"'),
        to_json(INDEX).replace("384", "384.0"),
        to_json(INDEX).replace("384", "true"),
    ],
)
def test_a_text_that_is_no_manifest_is_named_with_the_mend(text: str) -> None:
    with pytest.raises(StoreError) as refused:
        from_json(text)
    assert str(refused.value) == "The manifest of the index is damaged."


# --- what to run ---------------------------------------------------------------------------------

UNKNOWN = (
    "labkit ingest --source FOLDER, FOLDER being that of your documents; or, for the documents "
    "that the settings name, run: labkit rebuild"
)


@pytest.mark.parametrize(
    ("origin", "command"),
    [
        (Origin("rebuild", "/a/folder"), "labkit rebuild"),
        (Origin("ingest", "/my/handbook"), "labkit ingest --source /my/handbook"),
        (Origin("ingest", "/it's mine"), """labkit ingest --source '/it'"'"'s mine'"""),
        (Origin(), UNKNOWN),
    ],
)
def test_what_to_run_is_what_made_the_index(origin: Origin, command: str) -> None:
    assert mend(origin) == command
    now = replace(INDEX, chunker="other")
    with pytest.raises(StoreError) as refused:
        check_manifest(replace(INDEX, origin=origin), now)
    assert str(refused.value).endswith(f"'other' now. Run: {command}")


def test_what_is_unchanged_and_damaged_is_only_mended_in_full() -> None:
    mended = mend(Origin("ingest", "/my/handbook"), damaged=True)
    assert mended == "labkit ingest --source /my/handbook --full"
    assert mend(Origin("rebuild", "x"), damaged=True) == "labkit rebuild"
    assert "--source FOLDER --full, " in mend(Origin(), damaged=True)


@pytest.mark.parametrize(
    "noted", [None, 5, {}, {"command": "other"}, {"root": "/x"}, ["ingest", "/x"], "ingest"]
)
def test_an_origin_that_means_nothing_is_unknown(noted: Any) -> None:
    values = {**json.loads(to_json(INDEX)), "origin": noted}
    assert from_json(json.dumps(values)).origin == Origin()
