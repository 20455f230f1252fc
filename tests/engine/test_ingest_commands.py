"""`labkit ingest`, `reindex`, and what plan, search and answer do with an index that they made."""

from __future__ import annotations

import json
import os
import shlex
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from labkit.cli import main
from labkit.store import SqliteStore
from labkit.store.lock import index_lock
from labkit.types import IngestRun, StoreError
from scripted_server import Reply, Request, ScriptedServer, embeddings
from stores import hashes, last_run

TODAY = ["--as-of", "2026-10-23"]
ONES = np.ones(4, np.float32)
FRONT = """---
id: {id}
title: Page {id}
language: en
scope: ACME/readers
status: {status}
canonical: true
valid_from: 2026-01-01
version: "1"
---
"""
SETTINGS = """source_root = "docs"
[embedding]
service_url = "{url}"
model = "letters"
dimension = 4
[retrieval]
threshold = -1
[store]
path = "index.sqlite"
[viewer]
organisation = "ACME"
scopes = ["readers"]
"""
LONG = "\n\n".join(
    f"## Part {n}\n\n" + f"Gate {n} opens in the morning and shuts at night, as part {n} says. " * 9
    for n in range(9)
)


def letters(request: Request) -> Reply:
    """Embeds by the counts of four letters."""
    return embeddings(*([1.0 + text.count(c) for c in "aeio"] for text in request.json["input"]))


@dataclass
class Folder:
    """Documents, settings, a model that counts what it embeds, and the commands run there."""

    path: Path
    model: ScriptedServer
    capsys: pytest.CaptureFixture[str]

    def write(self, name: str, text: str, status: str = "approved") -> Path:
        path = self.path / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(FRONT.format(id=path.stem, status=status) + text, encoding="utf-8")
        return path

    def run(self, *arguments: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return int(ended.value.code or 0), out, err

    def json(self, *arguments: str, code: int = 0) -> Any:
        ended, out, err = self.run(*arguments, "--json")
        assert (ended, err) == (code, "")
        return json.loads(out)

    def fault(self, *arguments: str) -> str:
        """What a command says that ends with exit 2."""
        code, out, err = self.run(*arguments)
        assert (code, out) == (2, "")
        return err

    @property
    def index(self) -> SqliteStore:
        return SqliteStore(self.path / "index.sqlite")

    def texts(self) -> list[str]:
        """What the model was asked to embed, since the last time this was asked."""
        found = [text for request in self.model.requests for text in request.json["input"]]
        self.model.requests.clear()
        return found


@pytest.fixture
def folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Folder]:
    with ScriptedServer(then=letters) as server:
        made = Folder(tmp_path, server, capsys)
        (tmp_path / "labkit.toml").write_text(SETTINGS.format(url=server.url), encoding="utf-8")
        made.write("guides/long.md", LONG)
        made.write("guides/short.md", "# Night\n\nThe gate is shut at night.")
        made.write("news.md", "# News\n\n## Opening\n\nThe gate opens at eight.")
        monkeypatch.chdir(tmp_path)
        yield made


# --- ingest --------------------------------------------------------------------------------------


def test_ingest_prints_the_record_of_its_run(folder: Folder) -> None:
    value = folder.json("ingest")
    assert list(value) == [*(field.name for field in fields(IngestRun)), "hidden", "ignored"]
    wanted = {"command": "ingest", "status": "done", "documents": 3, "added": 3, "failed": 0}
    assert wanted.items() <= value.items()
    assert value["embedded"] == value["chunks"] == len(folder.texts())
    assert value["root"] == str(folder.path / "docs")
    left = {"hidden": value.pop("hidden"), "ignored": value.pop("ignored")}
    assert left == {"hidden": 0, "ignored": 0}
    assert folder.json("stats")["last_run"] == value


def test_ingest_in_words(folder: Folder) -> None:
    code, out, err = folder.run("ingest")
    chunks = folder.index.stats().chunks
    assert (code, err) == (0, "")
    assert out == (
        f"3 documents in {chunks} chunks: 3 added, 0 changed, 0 removed, 0 unchanged; "
        f"{chunks} chunks embedded.\n"
    )


def test_what_is_not_looked_into_is_counted(folder: Folder) -> None:
    """Files that start with a dot, and what an ignore file names: by `ingest` and `plan` alike."""
    folder.write(".private.md", "Hidden.")
    folder.write("out/a.md", "Ignored.")
    folder.write("out/b.md", "Ignored.")
    folder.write(".aiignore", "out/\n")
    for value in (folder.json("plan", "--source", "docs"), folder.json("ingest")):
        assert (value["hidden"], value["ignored"]) == (1, 1)
    said = "Not looked into: 1 hidden, 1 that an ignore file names (a folder counts once).\n"
    assert said in folder.run("ingest")[1]
    assert said in folder.run("plan")[1]


def test_chunks_that_the_cache_knew_are_not_called_embedded_by_the_model(folder: Folder) -> None:
    folder.run("ingest")
    folder.texts()
    (folder.path / "docs/news.md").rename(folder.path / "docs/old.md")
    path = folder.path / "docs/old.md"
    path.write_text(path.read_text("utf-8").replace("id: news", "id: old"), encoding="utf-8")
    _, out, _ = folder.run("ingest")
    assert out.endswith(" 1 chunks embedded, 1 of them from the cache.\n")
    assert folder.texts() == []


def test_a_second_run_asks_the_model_nothing(folder: Folder) -> None:
    folder.json("ingest")
    folder.texts()
    value = folder.json("ingest")
    assert (value["embedded"], value["unchanged"], folder.texts()) == (0, 3, [])


def test_an_edited_paragraph_asks_for_its_own_chunks_without_any_cache(folder: Folder) -> None:
    before = folder.json("ingest")["chunks"]
    folder.texts()
    (folder.path / "index.vectors.sqlite").unlink()
    folder.write("guides/long.md", LONG.replace("Gate 4 opens", "Gate 4, of late, opens", 1))
    value = folder.json("ingest")
    texts = folder.texts()
    assert (value["changed"], value["unchanged"], value["chunks"]) == (1, 2, before)
    assert 1 <= value["embedded"] == len(texts) <= 2
    assert all("of late" in text for text in texts)


def test_files_that_cannot_be_read_are_named_and_stop_no_other(folder: Folder) -> None:
    (folder.path / "docs/broken.md").write_bytes(b"caf\xe9")
    folder.write("key.md", "The key is AKIA" + "Q7XZ2MN4PL5RT6WV" + ".")
    code, out, _ = folder.run("ingest")
    assert code == 0
    assert "Left out: broken.md: byte " in out
    assert "Files left out, for the reasons above: 1.\n" in out
    value = folder.json("ingest")
    assert [fault["path"] for fault in value["faults"]] == ["broken.md"]
    assert (value["documents"], value["failed"]) == (4, 1)


def test_a_secret_is_left_out_of_its_page_and_noted_unless_allowed(folder: Folder) -> None:
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    folder.write("key.md", f"Use the token {secret} for it.")
    value = folder.json("ingest")
    assert [note["path"] for note in value["notes"]] == ["key.md"]
    assert (value["documents"], value["failed"]) == (4, 0)
    assert secret not in json.dumps(value)
    assert secret.encode() not in folder.index.path.read_bytes()
    assert folder.json("ingest", "--allow-secret", "key.md")["changed"] == 1
    assert folder.json("plan")["changed_documents"] == ["key"]


def test_text_and_legacy_are_taken_in_on_request_only(folder: Folder) -> None:
    for name in ("plain.txt", "inputs/legacy/old.md", "SCRATCH.md"):
        folder.write(name, "The gate squeaks.")
    assert folder.json("ingest")["documents"] == 3
    assert folder.json("ingest", "--text")["documents"] == 4
    asked = folder.json("plan", "--text", "--legacy")
    assert (asked["added"], asked["removed"]) == (["old"], [])
    assert folder.json("reindex", "--text", "--legacy")["documents"] == 5
    assert folder.json("reindex")["removed"] == 2


def test_what_always_holds_stands_in_the_settings(folder: Folder) -> None:
    folder.write("plain.txt", "The gate squeaks.")
    path = folder.path / "labkit.toml"
    path.write_text(path.read_text("utf-8") + "[ingest]\ntext = true\n", encoding="utf-8")
    assert folder.json("ingest")["documents"] == 4
    assert folder.json("reindex")["unchanged"] == 4


def test_full_replaces_the_whole_index(folder: Folder) -> None:
    first = folder.json("ingest")
    value = folder.json("ingest", "--full")
    assert (value["embedded"], value["unchanged"]) == (first["chunks"], 3)


def test_another_source_replaces_the_documents(folder: Folder) -> None:
    folder.run("ingest")
    (folder.path / "other").mkdir()
    (folder.path / "docs/news.md").rename(folder.path / "other/news.md")
    value = folder.json("ingest", "--source", "other")
    assert (value["unchanged"], value["removed"]) == (1, 2)
    assert value["root"] == str(folder.path / "other")
    again = folder.json("reindex")
    assert (again["root"], again["unchanged"]) == (str(folder.path / "other"), 1)


@pytest.mark.parametrize("command", ["ingest", "rebuild"])
def test_a_forgotten_source_does_not_exchange_all_documents(folder: Folder, command: str) -> None:
    (folder.path / "other").mkdir()
    (folder.path / "docs/news.md").rename(folder.path / "other/news.md")
    folder.run("ingest", "--source", "other")
    said = folder.fault(command)
    assert f"holds the documents of {folder.path}/other, and source_root is" in said
    assert "labkit reindex" in said
    assert list(hashes(folder.index)) == ["news"]


@pytest.mark.parametrize("command", ["ingest", "plan"])
@pytest.mark.parametrize("source", ["", " "])
def test_an_empty_source_is_not_the_folder_where_one_stands(
    folder: Folder, command: str, source: str
) -> None:
    """`--source "$UNSET"`: what was never said must not exchange an index."""
    folder.run("ingest")
    before = folder.index.path.read_bytes()
    assert folder.fault(command, "--source", source) == (
        "labkit: --source is empty. Name the folder that holds the documents: --source DIR.\n"
    )
    assert folder.index.path.read_bytes() == before


def test_another_folder_than_the_last_ones_is_named_before_it_is_read(folder: Folder) -> None:
    other = folder.path / "other"
    other.mkdir()
    (other / "one.md").write_text(FRONT.format(id="one", status="approved") + "One.", "utf-8")
    said = f"The last run was for another folder, {folder.path}/docs.\n"
    assert folder.run("ingest")[2] == ""
    assert folder.run("ingest", "--source", f"{folder.path}/other/../docs/")[2] == ""
    assert folder.run("plan", "--source", "other")[2] == said
    assert folder.run("ingest", "--source", "other")[2] == said
    assert folder.run("reindex")[2] == folder.run("ingest", "--source", "other")[2] == ""


def test_the_folder_of_a_run_that_was_stopped_is_not_taken_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.run("ingest")
    other = folder.path / "other"
    other.mkdir()
    (other / "one.md").write_text(FRONT.format(id="one", status="approved") + "One.", "utf-8")
    with monkeypatch.context() as broken:
        broken.setattr(folder.model, "next_reply", lambda _: Reply(b"{}", status=400))
        err = folder.fault("ingest", "--source", "other")
    assert f"The last run was for another folder, {folder.path}/docs.\nlabkit: " in err
    assert "the run had brought 3 documents up to date: they stay so, and the next run" in err
    assert folder.json("plan")["added"] == ["long", "news", "short"]
    value = folder.json("reindex")
    assert (value["root"], value["added"]) == (str(folder.path / "docs"), 3)


def test_where_no_run_was_ever_done_the_last_one_begun_is_taken_again(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as broken:
        broken.setattr(folder.model, "next_reply", lambda _: Reply(b"{}", status=400))
        assert "they stay" not in folder.fault("ingest"), "nothing had been done"
    assert folder.json("reindex")["added"] == 3


# --- what must not empty an index ----------------------------------------------------------------


def test_a_folder_that_is_not_there_changes_nothing(folder: Folder) -> None:
    folder.run("ingest")
    before = folder.index.path.read_bytes()
    (folder.path / "docs").rename(folder.path / "away")
    assert f"{folder.path}/docs is not a folder. Name the one that" in folder.fault("ingest")
    vanished = folder.fault("reindex")
    assert f"{folder.path}/docs, the folder of the last run, is not there." in vanished
    assert "The index was left as it is." in vanished
    assert "is not there" in folder.fault("plan")
    assert "x is not a folder" in folder.fault("ingest", "--source", "x")
    assert folder.index.path.read_bytes() == before


def test_an_empty_folder_empties_an_index_only_with_full(folder: Folder) -> None:
    folder.run("ingest")
    before = folder.index.path.read_bytes()
    (folder.path / "docs").rename(folder.path / "away")
    (folder.path / "docs").mkdir()
    assert "If all of them shall go, add --full." in folder.fault("ingest")
    assert "If all of them shall go, add --full." in folder.fault("reindex")
    assert folder.index.path.read_bytes() == before
    assert folder.json("ingest", "--full")["documents"] == 0
    (folder.path / "docs/inner").mkdir()
    assert "Name the folder of the documents" in folder.fault("ingest"), "folders are no files"


def answers(folder: Folder) -> bool:
    return folder.run("answer", "When does the gate open?", *TODAY)[0] == 0


EMPTIED = "docs may be taken in, so that the index holds no document.\n"


def test_what_is_excluded_last_no_longer_answers(folder: Folder) -> None:
    pytest.importorskip("pathspec")
    folder.run("ingest")
    assert answers(folder)
    (folder.path / "docs/.aiignore").write_text("*\n", encoding="utf-8")
    plan = folder.json("plan")
    assert plan["removed"] == ["long", "news", "short"]
    code, out, err = folder.run("ingest")
    assert (code, err) == (0, ""), "it is what the owner has asked for"
    assert out.startswith("0 documents in 0 chunks: 0 added, 0 changed, 3 removed")
    assert EMPTIED in out
    assert b"The gate is shut" not in folder.index.path.read_bytes()
    assert not answers(folder)
    assert folder.json("reindex")["documents"] == 0
    (folder.path / "docs/.aiignore").unlink()
    assert folder.json("reindex")["added"] == 3


def hidden(docs: Path) -> None:
    docs.rename(docs.with_name(".docs"))
    docs.mkdir()
    docs.with_name(".docs").rename(docs / ".docs")


def other_rules(docs: Path) -> None:
    path = docs.with_name("labkit.toml")
    text = path.read_text("utf-8")
    path.write_text('excluded_paths = ["guides", "*.md"]\n' + text, encoding="utf-8")


@pytest.mark.parametrize("change", [hidden, other_rules])
def test_whatever_rule_leaves_nothing_leaves_nothing_in_the_index(
    folder: Folder, change: Callable[[Path], None]
) -> None:
    folder.run("ingest")
    change(folder.path / "docs")
    value = folder.json("ingest")
    assert (value["documents"], value["removed"], value["failed"]) == (0, 3, 0)


def test_an_ignore_file_that_cannot_be_understood_closes_the_whole_folder(folder: Folder) -> None:
    folder.run("ingest")
    (folder.path / "docs/.aiignore").write_bytes(b"\xff\n")
    code, out, _ = folder.run("ingest")
    assert code == 2
    assert "Left out: .aiignore: byte 0 is not UTF-8" in out
    assert EMPTIED in out
    assert hashes(folder.index) == {}


def test_files_that_can_all_no_longer_be_read_no_longer_answer(folder: Folder) -> None:
    folder.run("ingest")
    for path in (folder.path / "docs").rglob("*.md"):
        path.write_bytes(b"\xff")
    code, out, _ = folder.run("ingest")
    assert (code, out.count("Left out: "), EMPTIED in out) == (2, 3, True)
    assert hashes(folder.index) == {}


def test_reindex_needs_a_run_to_repeat(folder: Folder) -> None:
    assert folder.fault("reindex").startswith("labkit: There is no index at ")
    folder.run("rebuild")
    assert folder.fault("reindex") == (
        "labkit: This index was not made by ingest. Run: labkit ingest --source DIR\n"
    )


# --- plan ----------------------------------------------------------------------------------------


def test_plan_shows_what_ingest_would_do_and_changes_nothing(folder: Folder) -> None:
    first = folder.json("plan", "--source", "docs")
    assert not folder.index.path.exists()
    assert (first["command"], first["changed"]) == ("ingest", True)
    assert first["added"] == ["long", "news", "short"]
    assert first["to_embed"] == folder.json("ingest")["embedded"]
    folder.texts()
    folder.write("guides/short.md", "# Night\n\nThe gate is shut at noon.")
    folder.write("new.md", "New.")
    (folder.path / "docs/news.md").unlink()
    (folder.path / "docs/broken.md").write_bytes(b"\xff")
    before = folder.index.path.read_bytes()
    value = folder.json("plan")
    assert (value["added"], value["changed_documents"], value["removed"], value["unchanged"]) == (
        ["new"],
        ["short"],
        ["news"],
        ["long"],
    )
    assert (value["to_embed"], value["failed"]) == (2, 1)
    assert folder.run("plan") == (
        0,
        "add     new\nchange  short\nremove  news\n"
        "Left out: broken.md: byte 0 is not UTF-8. Save the file as UTF-8.\n"
        "1 documents unchanged. 2 chunks would be embedded.\n",
        "",
    )
    assert folder.index.path.read_bytes() == before
    assert folder.texts() == []
    assert folder.json("ingest")["embedded"] == 2
    assert folder.json("plan")["changed"] is False


def test_plan_names_a_setting_that_differs(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    chunks = folder.json("ingest")["chunks"]
    monkeypatch.setenv("LABKIT_CHUNK_SIZE", "100")
    value = folder.json("plan")
    assert value["settings"] == {
        "chunker": {"index": "markdown-512-overlap-64-v2", "now": "markdown-100-overlap-64-v2"}
    }
    assert value["changed"]
    assert value["to_embed"] > chunks
    code, out, _ = folder.run("plan")
    assert (code, "setting chunker: 'markdown-512-overlap-64-v2' becomes" in out) == (0, True)
    assert folder.json("ingest")["embedded"] == value["to_embed"]


# --- questions -----------------------------------------------------------------------------------


def test_a_question_is_answered_without_reading_the_folder(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.run("ingest")
    (folder.path / "docs").rename(folder.path / "away")
    code, out, err = folder.run("answer", "When does the gate open?", *TODAY)
    assert (code, err) == (0, "")
    assert out.startswith("[news#0] The gate opens at eight.")
    monkeypatch.setenv("LABKIT_CHUNK_SIZE", "100")
    assert folder.run("answer", "When does the gate open?", *TODAY)[0] == 0


def test_another_model_than_the_indexs_is_an_error_that_says_what_mends_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.run("ingest")
    monkeypatch.setenv("LABKIT_EMBEDDING_MODEL", "others")
    err = folder.fault("answer", "When does the gate open?", *TODAY)
    mend = f"Run: labkit ingest --source {folder.path / 'docs'}\n"
    assert err.endswith(f"'embedder.model' is 'letters' in the index and 'others' now. {mend}")
    assert folder.json("ingest", "--source", str(folder.path / "docs"))["embedded"] > 0
    assert folder.run("answer", "When does the gate open?", *TODAY)[0] == 0


def typed(message: str) -> list[str]:
    """The words of the command that a message tells people to run."""
    return shlex.split(message.rpartition("un: labkit ")[2])


@pytest.mark.parametrize(
    ("damage", "moved_away"),
    [
        ("UPDATE chunk SET text = 'Other.'", False),
        ("DELETE FROM chunk", False),
        ("UPDATE manifest SET documents = 9", False),
        ("ALTER TABLE chunk RENAME COLUMN title TO tit1e", True),
    ],
)
def test_what_a_damaged_index_tells_people_to_run_mends_it_with_their_documents(
    folder: Folder, damage: str, moved_away: bool
) -> None:
    folder.run("ingest")
    whole = folder.run("answer", "When does the gate open?", *TODAY)
    with closing(sqlite3.connect(folder.index.path)) as connection, connection:
        connection.execute(damage)
    said = folder.fault("answer", "When does the gate open?", *TODAY)
    assert ("Move it away, then run: " in said) == moved_away
    if moved_away:
        folder.index.path.rename(folder.path / "damaged")
    command = typed(said)
    assert command[:3] == ["ingest", "--source", str(folder.path / "docs")]
    assert folder.run(*command)[0] == 0
    assert folder.run("answer", "When does the gate open?", *TODAY) == whole


def test_a_file_that_tells_nothing_any_more_is_never_replaced_by_the_documents_of_the_settings(
    folder: Folder,
) -> None:
    folder.index.path.write_bytes(b"no database " * 100)
    for command in ("answer", "search", "probe"):
        said = folder.fault(command, "When does the gate open?", *TODAY)
        assert "Move it away, then run: labkit ingest --source FOLDER, FOLDER being that of" in said


def test_an_index_changes_hands(folder: Folder) -> None:
    """Each command makes the index its own, whoever made it before."""
    folder.run("rebuild")
    assert "command" not in folder.json("plan")
    assert folder.json("ingest")["unchanged"] == 3
    assert folder.json("plan")["command"] == "ingest"
    folder.run("rebuild")
    assert "command" not in folder.json("plan")
    folder.write("new.md", "New.")
    assert "'corpus_sha256' is" in folder.fault("answer", "When does the gate open?", *TODAY)


def hits(folder: Folder, *words: str) -> list[str]:
    found = folder.json("search", "When does the gate open?", *TODAY, *words)["hits"]
    return [hit["chunk_id"] for hit in found]


@pytest.mark.parametrize("policy", ["strict", "hybrid"])
def test_search_in_a_part_of_the_index_still_fills_k(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setenv("LABKIT_RETRIEVAL_POLICY", policy)
    for n in range(20):
        folder.write(f"many/m{n}.md", f"The gate opens at eight, says page {n}.")
    folder.run("ingest")
    assert hits(folder, "--path", "guides/short.md", "-k", "1") == ["short#0"]
    assert {name.split("#")[0] for name in hits(folder, "--path", "guides")} == {"long", "short"}
    assert len(hits(folder, "--path", "guides/*", "-k", "8")) == 8
    assert len(hits(folder, "--path", "**/*.md", "-k", "99")) == len(hits(folder, "-k", "99"))
    assert hits(folder, "--section", "OPÉNING") == ["news#0"], "a heading inside a chunk counts"
    part = hits(folder, "--section", "part 7")
    assert part
    assert {name.split("#")[0] for name in part} == {"long"}
    assert hits(folder, "--path", "news.md", "--section", "part 7") == []


@pytest.mark.parametrize("policy", ["strict", "hybrid"])
def test_a_part_of_the_index_does_not_speak_for_all_of_it(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, policy: str
) -> None:
    monkeypatch.setenv("LABKIT_RETRIEVAL_POLICY", policy)
    folder.write("gx.md", "The gate GX-200 opens at eight.")
    folder.run("ingest")
    asked = ["search", "When does the GX-200 gate open?", *TODAY]
    assert "unknown_product" not in folder.run(*asked)[1]
    assert "unknown_product" not in folder.run(*asked, "--path", "gx.md")[1]
    _, out, _ = folder.run(*asked, "--path", "news.md")
    assert out.endswith(
        "Would be refused (unknown_product): No passage in this part of the index knows GX-200.\n"
    )
    _, out, _ = folder.run("search", "When does the GX-999 gate open?", *TODAY)
    assert out.endswith("No document or product fact knows GX-999.\n")


def test_ranks_in_a_part_of_the_index_count_what_is_in_it(folder: Folder) -> None:
    folder.run("ingest")
    value = folder.json("search", "Is the gate shut?", *TODAY, "--path", "guides/short.md")
    (hit,) = value["hits"]
    assert (hit["dense_rank"], hit["lexical_rank"], hit["dropped"]) == (1, 1, "")
    assert value["threshold"] == -1
    whole = folder.json("search", "Is the gate shut?", *TODAY, "-k", "99")["hits"]
    assert [h["cosine"] for h in whole if h["chunk_id"] == "short#0"] == [hit["cosine"]]


def test_the_same_with_the_other_store(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlite_vec")
    folder.json("ingest")
    reference = hits(folder, "-k", "99"), hits(folder, "--path", "guides")
    (folder.path / "index.sqlite").unlink()
    monkeypatch.setenv("LABKIT_STORE_KIND", "sqlite-vec")
    assert folder.json("ingest")["added"] == 3
    assert folder.json("reindex")["unchanged"] == 3
    assert (hits(folder, "-k", "99"), hits(folder, "--path", "guides")) == reference
    folder.write("news.md", "# News\n\nThe gate is gone.")
    assert folder.json("ingest")["changed"] == 1
    assert "news#0" in hits(folder, "--path", "news.md")


def test_a_part_that_holds_nothing_says_so(folder: Folder) -> None:
    folder.run("ingest")
    code, out, _ = folder.run("search", "Is the gate shut?", *TODAY, "--path", "nowhere")
    assert code == 0
    assert "Nothing that this viewer may read matches --path 'nowhere'." in out
    _, out, _ = folder.run("search", "x?", *TODAY, "--path", "a", "--section", "b")
    assert "matches --path 'a' and --section 'b'." in out


# --- where a run may end -------------------------------------------------------------------------


def held_back(after: int) -> Any:
    """Embeds so many requests; the next one never ends."""
    seen: list[Request] = []

    def reply(request: Request) -> Reply:
        seen.append(request)
        return letters(request) if len(seen) <= after else Reply(b"", delay=120.0)

    return reply


def started(folder: Folder, server: ScriptedServer, requests: int) -> subprocess.Popen[str]:
    """A run in a process of its own that has sent so many requests."""
    process = subprocess.Popen(
        [sys.executable, "-m", "labkit", "ingest"],
        env={**os.environ, "LABKIT_EMBEDDING_SERVICE_URL": server.url},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(server.requests) < requests and process.poll() is None:
        time.sleep(0.02)
    assert process.poll() is None, process.communicate()
    return process


@pytest.fixture
def many(folder: Folder) -> Folder:
    """More pages than fit one group of 128; a request holds 16 of them."""
    for n in range(141):
        folder.write(f"many/m{n:03d}.md", f"Page {n}: the gate opens at eight.")
    for name in ("long", "short"):
        (folder.path / f"docs/guides/{name}.md").unlink()
    return folder


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGKILL")
def test_a_run_that_is_killed_leaves_its_documents_and_the_next_one_does_the_rest(
    many: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = [True]
    patient = held_back(8)

    def reply(request: Request) -> Reply:
        return patient(request) if blocked[0] else letters(request)

    with ScriptedServer(then=reply) as server:
        process = started(many, server, 9)
        assert len(many.index.snapshot().chunks) == 128, "the index answers while the run goes on"
        with pytest.raises(StoreError, match="Another run"), index_lock(many.index.path):
            pass
        process.kill()
        process.communicate()
        last = last_run(many.index)
        assert last is not None
        assert last.status == "running", "nobody was left to write how it ended"
        assert len(many.index.snapshot().chunks) == 128
        blocked[0] = False
        server.requests.clear()
        (many.path / "index.vectors.sqlite").unlink()
        monkeypatch.setenv("LABKIT_EMBEDDING_SERVICE_URL", server.url)
        value = many.json("ingest")
        asked = sum(len(request.json["input"]) for request in server.requests)
    assert (value["added"], value["unchanged"], value["documents"]) == (14, 128, 142)
    assert value["embedded"] == asked == 14
    assert [run.status for run in many.index.runs()] == ["done", "interrupted"]


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_a_run_that_is_interrupted_says_so_and_keeps_what_is_done(many: Folder) -> None:
    with ScriptedServer(then=held_back(8)) as server:
        process = started(many, server, 9)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "interrupted; nothing is half done." in err
    assert "Traceback" not in err
    last = last_run(many.index)
    assert last is not None
    assert (last.status, last.added, last.documents) == ("interrupted", 128, 128)


def test_a_model_that_fails_half_way_is_exit_2_and_noted(
    many: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = [letters] * 8
    with ScriptedServer(*script, then=Reply(b"{}", status=401)) as server:
        monkeypatch.setenv("LABKIT_EMBEDDING_SERVICE_URL", server.url)
        assert "answered 401" in many.fault("ingest")
    last = last_run(many.index)
    assert last is not None
    assert (last.status, last.added, last.embedded) == ("failed", 128, 128)
    assert last.finished >= last.started


def test_a_second_run_at_the_same_time_is_refused_with_a_sentence(folder: Folder) -> None:
    with index_lock(folder.index.path):
        for command in ("ingest", "rebuild"):
            assert folder.fault(command) == (
                "labkit: Another run is at work on this index. Wait until it has ended, then try "
                "again; questions can be asked meanwhile.\n"
            )
    assert folder.json("ingest")["added"] == 3


def test_a_person_who_watches_sees_how_far_it_is(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[tuple[str, float, float]] = []

    class Bars:
        def __init__(self, **_: Any) -> None:
            assert sys.stderr.isatty(), "no bar in a file or a pipe"

        def __enter__(self) -> Bars:
            return self

        def __exit__(self, *_: object) -> None:
            pass

        def add_task(self, name: str, total: float | None) -> str:
            return name

        def update(self, task: str, completed: float, total: float) -> None:
            told.append((task, completed, total))

    monkeypatch.setattr("rich.progress.Progress", Bars)
    folder.json("plan", "--source", "docs")  # in a pipe
    assert told == []
    monkeypatch.setattr("labkit.cli.console.sys.stderr.isatty", lambda: True)
    chunks = folder.json("ingest")["chunks"]
    assert told == [("Reading", n, 3) for n in (1, 2, 3)] + [("Embedding", chunks, chunks)]
