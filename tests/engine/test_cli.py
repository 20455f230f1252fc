"""The command line: what it prints, and the exit code of each end."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from builders import chunk
from conftest import DAY
from labkit import __version__
from labkit.cli import main
from labkit.evaluation.calibration import (
    Observation,
    Question,
    observe,
    read_questions,
    suggested_threshold,
    threshold_table,
)
from labkit.store import SqliteStore
from labkit.types import Hit, LabError, Reason, Refused, Retrieval, Viewer
from scripted_server import Reply, Request, ScriptedServer, chat, embeddings, tool_call

ANSWERED, REFUSED, USAGE, FAULT, INTERRUPTED = 0, 3, 2, 1, 130
COMMANDS = [
    *("rebuild", "ingest", "reindex", "plan"),
    *("answer", "search", "probe", "stats", "calibrate", "eval"),
]
TODAY = ["--as-of", "2026-10-23"]
CSV = "Where can I export CSV in Reporting?"
FILES = ("index.sqlite", "index.vectors.sqlite")
EXPORT = "You can export CSV in Reporting from the Library page."

FRONT = """---
id: {id}
title: {title}
language: en
scope: {scope}
status: {status}
canonical: true
valid_from: {valid_from}
valid_until: null
version: "1"
product: null
---
{text}
"""
PRODUCTS = """products:
  - code: GX-100
    name: Gateway GX-100
    language: en
    scope: ACME/readers
    status: approved
    canonical: true
    valid_from: 2026-01-01
    version: "1"
    facts:
      Warranty: "24 months from the date of delivery"
"""
SETTINGS = """source_root = "docs"
[embedding]
service_url = "{url}"
model = "ideas"
dimension = 3
[retrieval]
policy = "strict"
threshold = 0.9
[store]
path = "index.sqlite"
[viewer]
organisation = "ACME"
scopes = ["readers"]
[viewers.reader]
organisation = "ACME"
scopes = ["readers"]
[viewers.globex]
organisation = "GLOBEX"
scopes = ["readers"]
"""


def ideas(request: Request) -> Reply:
    """Embeds by three ideas: exporting, paying, and all else."""
    return embeddings(*(_idea(text.casefold()) for text in request.json["input"]))


def _idea(text: str) -> list[float]:
    return (
        [1.0, 0.1, 0.2] if "export" in text else [0.1, 1, 0] if "invoice" in text else [0, 0.2, 1]
    )


@pytest.fixture(scope="module")
def model() -> Iterator[ScriptedServer]:
    with ScriptedServer(then=ideas) as server:
        yield server


@dataclass
class Folder:
    """A lab in a folder of its own: documents, settings, and the commands run in it."""

    path: Path
    capsys: pytest.CaptureFixture[str]

    def write(self, name: str, text: str, **changes: str) -> None:
        fields = {"title": f"Title {name}", "scope": "ACME/readers", "status": "approved"}
        fields |= {"id": name, "text": text, "valid_from": "2026-01-01", **changes}
        (self.path / f"docs/{name}.md").write_text(FRONT.format(**fields), encoding="utf-8")

    def run(self, *arguments: str) -> tuple[int, str, str]:
        """The exit code, the output and the error output of one command."""
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return int(ended.value.code or 0), out, err

    def json(self, *arguments: str, code: int = 0) -> Any:
        ended, out, err = self.run(*arguments, "--json")
        assert (ended, err) == (code, "")
        return json.loads(out)


@pytest.fixture
def empty(
    tmp_path: Path,
    model: ScriptedServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Folder:
    """Documents, and no index yet."""
    folder = Folder(tmp_path, capsys)
    (tmp_path / "docs").mkdir()
    (tmp_path / "labkit.toml").write_text(SETTINGS.format(url=model.url), encoding="utf-8")
    (tmp_path / "docs/products.yaml").write_text(PRODUCTS, encoding="utf-8")
    folder.write("export", EXPORT)
    folder.write("invoices", "Invoices are due 30 days after their date.")
    folder.write("draft", "You may export CSV by fax in the draft.", status="draft")
    monkeypatch.chdir(tmp_path)
    return folder


@pytest.fixture(scope="module")
def built() -> dict[str, bytes]:
    """The files of an index, once the first test that needs one has built it."""
    return {}


@pytest.fixture
def folder(empty: Folder, built: dict[str, bytes]) -> Folder:
    """Documents with their index."""
    if not built:
        assert empty.run("rebuild")[0] == 0
        built |= {name: (empty.path / name).read_bytes() for name in FILES}
    for name, content in built.items():
        (empty.path / name).write_bytes(content)
    return empty


# --- help, version, usage ------------------------------------------------------------------------


@pytest.mark.parametrize("option", ["--help", "-h"])
@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(empty: Folder, command: str, option: str) -> None:
    code, out, _ = empty.run(command, option)
    assert code == 0
    assert f" {command} " in out.splitlines()[1]
    assert "--json" in out


def test_the_help_of_all_lists_every_command_and_hides_what_is_not_for_people(
    empty: Folder,
) -> None:
    code, out, _ = empty.run("--help")
    listed = set(re.findall(r"│ ([a-z-]+) ", out))
    assert code == 0
    assert listed >= set(COMMANDS)
    assert "ship-vectors" not in listed


def test_a_bare_call_shows_the_help_and_is_a_usage_error(empty: Folder) -> None:
    code, out, _ = empty.run()
    assert code == USAGE
    assert "Usage:" in out


def test_the_version(empty: Folder) -> None:
    assert empty.run("--version") == (0, f"labkit {__version__}\n", "")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "labkit: No such command 'nonsense'. See labkit --help."),
        (["answer"], "labkit: Missing argument 'question'. See labkit --help."),
        (["answer", CSV, "--nonsense"], "labkit: No such option: --nonsense"),
        (
            ["search", "--zebra?"],
            "labkit: No such option: --zebra?. See labkit --help. "
            "A question that begins with a dash comes after --.",
        ),
        (["answer", CSV, "--policy", "osmosis"], "labkit: Invalid value for '--policy'"),
        (["answer", CSV, "-k", "0"], "labkit: Invalid value for '--k' / '-k'"),
        (["answer", CSV, "--path", "["], "labkit: Invalid value for '--path': '[' matches no path"),
        (["search", CSV, "--path", ""], "labkit: Invalid value for '--path': '' matches no path"),
        (["answer", CSV, "--as-of", "tomorrow"], "labkit: Invalid value for '--as-of'"),
        (["answer", CSV, "--as-of", "2026-02-30"], "labkit: Invalid value for '--as-of'"),
        (["answer", CSV, "--mode", "osmosis"], "labkit: Invalid value for '--mode'"),
        (["answer", CSV, "--generator", "oracle"], "labkit: Invalid value for '--generator'"),
        (["answer", CSV, "--viewer", "eve"], "labkit: There is no viewer 'eve' in labkit.toml. "),
        (["search", CSV, "--viewer", "eve"], "labkit: There is no viewer 'eve' in labkit.toml. "),
        (["probe", CSV, "--viewer", "eve"], "labkit: There is no viewer 'eve' in labkit.toml. "),
        (["probe", CSV, "-k", "0"], "labkit: Invalid value for '--k' / '-k'"),
        (["answer", ""], "labkit: The question is empty. Ask something, in quotes."),
        (["search", " "], "labkit: The question is empty. Ask something, in quotes."),
        (["probe", "\n"], "labkit: The question is empty. Ask something, in quotes."),
        (["answer", "x" * 2001], "labkit: The question has 2001 characters; 2000 are the most."),
        (
            ["answer", CSV, "--mode", "tool"],
            "labkit: The extractive generator calls no tool. Use --generator chat.",
        ),
        (["answer", CSV, "--generator", "chat"], "labkit: Set chat.base_url and chat.model: "),
    ],
)
def test_a_usage_error_is_one_sentence_and_exit_2(
    folder: Folder, arguments: list[str], message: str
) -> None:
    code, out, err = folder.run(*arguments)
    assert (code, out) == (USAGE, "")
    assert err.startswith(message)
    assert err.count("\n") == 1


def test_a_file_name_that_no_disk_takes_is_exit_2(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_CORPUS", "/tmp/" + "a" * 300)
    code, out, err = folder.run("plan")
    assert (code, out) == (USAGE, "")
    assert err.startswith("labkit: a file cannot be used: ")


@pytest.mark.skipif(sys.platform == "win32", reason="a shell of POSIX closes the streams")
def test_streams_that_the_shell_has_closed_are_no_fault_of_ours(folder: Folder) -> None:
    command = f"exec '{sys.executable}' -m labkit --version >&-"
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder.path, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_a_fault_in_the_settings_is_exit_2(folder: Folder) -> None:
    (folder.path / "labkit.toml").write_text("[chunk]\nsiez = 1\n")
    code, _, err = folder.run("answer", CSV)
    assert code == USAGE
    assert err == ("labkit: labkit.toml: chunk.siez is no setting. Known: kind, overlap, size.\n")


# --- answer --------------------------------------------------------------------------------------


def test_an_answer_is_exit_0_and_shows_where_its_words_stand(folder: Folder) -> None:
    code, out, err = folder.run("answer", CSV, *TODAY)
    text = (folder.path / "docs/export.md").read_text("utf-8")
    start = text.index(EXPORT)
    assert (code, err) == (ANSWERED, "")
    assert out == (
        f"[export#0] {EXPORT}\n"
        f"    export#0: Title export, export.md, characters {start} to {start + len(EXPORT)}\n"
    )


def test_a_refusal_is_exit_3_and_shows_what_came_closest(folder: Folder) -> None:
    code, out, err = folder.run("answer", "Warranty of the GX-999?", *TODAY)
    assert (code, err) == (REFUSED, "")
    assert out.startswith(
        "Refused (unknown_product): No document or product fact knows GX-999.\nClosest passages:\n"
    )
    assert "    PRODUCT-GX-100#0: Gateway GX-100\n" in out


def test_an_answer_as_json(folder: Folder) -> None:
    value = folder.json("answer", CSV, *TODAY)
    start = (folder.path / "docs/export.md").read_text("utf-8").index(EXPORT)
    wanted = ["id", "status", "reason", "answer", "evidence", "closest", "trace"]
    assert [key for key in value if key in wanted] == wanted
    assert set(value) - set(wanted) == {"question", "as_of", "message"}
    assert re.fullmatch("[0-9a-f]{32}", value["id"])
    assert (value["status"], value["reason"]) == ("answered", None)
    assert value["answer"] == f"[export#0] {EXPORT}"
    assert value["evidence"] == [
        {
            "chunk_id": "export#0",
            "source_id": "export",
            "quote": EXPORT,
            "start": start,
            "end": start + len(EXPORT),
            "page": None,
            "title": "Title export",
            "path": "export.md",
            "section": "",
            "anchor": "",
            "link": "",
        }
    ]
    assert value["closest"][0]["chunk_id"] == "export#0"
    assert EXPORT in value["closest"][0]["text"]
    assert [step["stage"] for step in value["trace"]["steps"]] == [
        "question",
        "retrieval",
        "generator",
        "gate",
    ]


def test_a_refusal_as_json_has_the_same_shape_and_exit_3(folder: Folder) -> None:
    value = folder.json("answer", "Warranty of the GX-999?", *TODAY, code=REFUSED)
    assert list(value) == list(folder.json("answer", CSV, *TODAY))
    assert (value["status"], value["reason"]) == ("refused", "unknown_product")
    assert (value["answer"], value["evidence"]) == (None, [])
    assert [step["stage"] for step in value["trace"]["steps"]] == [
        "question",
        "retrieval",
        "refused",
    ]


def test_the_day_decides(folder: Folder) -> None:
    assert folder.run("answer", CSV, "--as-of", "2026-01-01")[0] == ANSWERED
    code, out, _ = folder.run("answer", CSV, "--as-of", "2025-12-31")
    assert code == REFUSED
    assert out == "Refused (nothing_eligible): No document may answer this viewer on this day.\n"


def test_without_a_day_it_is_today(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    class Calendar(date):
        @classmethod
        def today(cls) -> date:
            return date(2025, 12, 31)

    monkeypatch.setattr("labkit.cli.asking.date", Calendar)
    assert folder.json("answer", CSV, code=REFUSED)["as_of"] == "2025-12-31"


def test_the_viewer_decides(folder: Folder) -> None:
    assert folder.run("answer", CSV, *TODAY, "--viewer", "reader")[0] == ANSWERED
    assert folder.run("answer", CSV, *TODAY, "--viewer", "globex")[0] == REFUSED
    assert folder.json("search", CSV, *TODAY, "--viewer", "globex")["hits"] == []
    assert folder.json("probe", CSV, *TODAY, "--viewer", "globex")["hits"] == []


def test_the_trace_is_shown_when_asked_for(folder: Folder) -> None:
    _, out, _ = folder.run("answer", CSV, *TODAY, "--trace")
    assert f"\n\nquestion\n    question: {CSV}\n" in out
    assert "\nretrieval\n    policy: strict\n    threshold: 0.9000\n" in out
    assert out.endswith("gate\n    passed: export#0\n")


@pytest.mark.parametrize("command", ["answer", "search", "probe"])
def test_bytes_that_are_no_text_are_asked_as_question_marks(folder: Folder, command: str) -> None:
    """A shell hands over a broken byte as half a character."""
    code, out, err = folder.run(command, "export \udcff CSV", *TODAY)
    assert (code in {ANSWERED, REFUSED}, err) == (True, "")
    assert "export" in out


def test_a_base_url_gives_each_passage_and_each_quotation_a_link(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Path and anchor, each as an address is written: the reader can click it."""
    monkeypatch.setenv("LABKIT_BASE_URL", "https://docs.example/handbook/")
    monkeypatch.setenv("LABKIT_CHUNK_KIND", "markdown")
    folder.write("ab", "## Export & more\n\n" + EXPORT)
    (folder.path / "docs/ab.md").rename(folder.path / "docs/a b.md")
    folder.run("rebuild")
    link = "https://docs.example/handbook/a%20b.md#export--more"
    asked = [CSV, *TODAY, "--path", "a b.md"]
    assert folder.json("search", *asked)["hits"][0]["link"] == link
    (evidence,) = folder.json("answer", *asked)["evidence"]
    assert (evidence["link"], evidence["section"]) == (link, "Export & more")
    _, out, _ = folder.run("answer", *asked)
    assert "    ab#0: Title ab › Export & more, a b.md, characters " in out
    assert out.endswith(f"    {link}\n")


def test_answer_takes_a_policy_a_number_and_a_part(folder: Folder) -> None:
    value = folder.json("answer", CSV, *TODAY, "--policy", "hybrid", "-k", "1")
    retrieval = value["trace"]["steps"][1]
    assert (retrieval["policy"], retrieval["k"]) == ("hybrid", 1)
    asked = ["answer", CSV, *TODAY, "--path"]
    assert folder.run(*asked, "export.md")[0] == ANSWERED
    assert folder.run(*asked, "invoices.md")[0] == REFUSED
    assert folder.run("answer", CSV, *TODAY, "--section", "nowhere")[0] == REFUSED


@pytest.mark.parametrize("columns", ["80", "200"])
def test_a_list_of_passages_fits_the_terminal_and_shows_their_words(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, columns: str
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    folder.write("long", "You can export CSV, " + "and export it again, " * 40 + "for ever.")
    folder.run("rebuild")
    _, out, _ = folder.run("search", "Where can I export CSV?", *TODAY)
    snippets = [line for line in out.splitlines() if line.startswith("    You can export CSV")]
    assert len(snippets) == 2
    assert max(map(len, out.splitlines())) <= int(columns)
    assert "    dropped: shares no significant word with the question\n" in out


def test_text_of_documents_is_printed_as_it_is_never_as_markup(folder: Folder) -> None:
    text = (
        "You can export CSV [bold red]loudly[/bold red] :smile: [link=http://x.example]now[/link]."
    )
    folder.write("export", text, title='"[blink]Title[/blink]"')
    folder.run("rebuild")
    _, out, _ = folder.run("answer", "Where can I export CSV loudly?", *TODAY)
    assert text in out
    assert "[blink]Title[/blink]" in out


def test_ids_are_never_cut_in_a_table(folder: Folder) -> None:
    name = "a-very-long-name-of-a-document-that-must-not-be-cut-at-all"
    folder.write(name, EXPORT)
    folder.run("rebuild")
    for command in ("search", "probe"):
        assert f"{name}#0" in folder.run(command, "export CSV", *TODAY)[1]


def test_a_chat_model_is_asked_by_name_and_its_tool_call_is_in_the_trace(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    evidence = [{"chunk_id": "export#0", "quote": EXPORT}]
    proposal = json.dumps({"can_answer": True, "evidence": evidence})
    with ScriptedServer(tool_call("retrieve_knowledge"), chat(proposal)) as server:
        monkeypatch.setenv("LABKIT_CHAT_BASE_URL", server.url)
        monkeypatch.setenv("LABKIT_CHAT_MODEL", "tiny")
        monkeypatch.setenv("LABKIT_CHAT_API_KEY", "sk-secret")
        value = folder.json("answer", CSV, *TODAY, "--generator", "chat", "--mode", "tool")
        assert [request.json["model"] for request in server.requests] == ["tiny", "tiny"]
    step = value["trace"]["steps"][2]
    assert (value["status"], step["mode"], step["tool_calls"]) == ("answered", "tool", 1)
    assert "sk-secret" not in json.dumps(value)


@pytest.mark.parametrize("question", ["Warranty of the GX-999?", "Who walked on the Moon?"])
def test_a_chat_model_is_not_asked_when_there_is_nothing_to_hand_over(
    folder: Folder, monkeypatch: pytest.MonkeyPatch, question: str
) -> None:
    with ScriptedServer() as server:
        monkeypatch.setenv("LABKIT_CHAT_BASE_URL", server.url)
        monkeypatch.setenv("LABKIT_CHAT_MODEL", "tiny")
        assert folder.run("answer", question, *TODAY, "--generator", "chat")[0] == REFUSED
        assert server.requests == []


# --- search and probe ----------------------------------------------------------------------------


def test_search_shows_every_passage_and_why_it_was_dropped(folder: Folder) -> None:
    value = folder.json("search", CSV, *TODAY)
    assert (value["policy"], value["threshold"], value["k"]) == ("strict", 0.9, 3)
    assert value["reason"] is None
    hits = {hit["chunk_id"]: hit for hit in value["hits"]}
    assert set(hits) == {"export#0", "invoices#0", "PRODUCT-GX-100#0"}
    assert value["hits"][0]["chunk_id"] == "export#0"
    assert hits["export#0"]["dropped"] == ""
    assert hits["invoices#0"]["dropped"] == "shares no significant word with the question"
    scores = {"cosine", "dense_rank", "lexical_score", "lexical_rank", "fused", "dropped"}
    place = {"chunk_id", "title", "path", "section", "anchor", "start", "end", "page", "link"}
    assert set(hits["export#0"]) - {"rerank_score"} == {*scores, *place, "text", "snippet"}
    assert hits["export#0"]["path"] == "export.md"
    document = (folder.path / "docs/export.md").read_text("utf-8")
    found = hits["export#0"]
    assert document[found["start"] : found["end"]] == found["text"]


def test_search_says_that_the_question_would_be_refused(folder: Folder) -> None:
    assert folder.json("search", "Moon landing", *TODAY)["reason"] == "no_lexical_support"
    code, out, _ = folder.run("search", "Moon landing", *TODAY)
    assert code == 0
    assert out.endswith(
        "Would be refused (no_lexical_support): "
        "No passage shares a significant word with the question.\n"
    )


def test_probe_shows_the_nearest_passages_before_threshold_and_fusion(folder: Folder) -> None:
    value = folder.json("probe", "invoice", *TODAY, "-k", "2")
    assert value["threshold"] == 0.9
    assert [hit["chunk_id"] for hit in value["hits"]] == ["invoices#0", "PRODUCT-GX-100#0"]
    assert [hit["dense_rank"] for hit in value["hits"]] == [1, 2]
    assert {hit["fused"] for hit in value["hits"]} == {None}
    _, out, _ = folder.run("probe", "invoice", *TODAY)
    assert "Passages by cosine (the threshold is 0.90)" in out


# --- the index -----------------------------------------------------------------------------------


def test_rebuild_says_what_it_did(empty: Folder) -> None:
    assert empty.run("rebuild") == (0, "Indexed 3 documents and 1 products in 4 chunks.\n", "")
    assert empty.json("rebuild") == {"documents": 3, "products": 1, "chunks": 4, "too_long": []}


def test_plan_shows_what_a_rebuild_would_change_and_changes_nothing(empty: Folder) -> None:
    everything = ["PRODUCT-GX-100", "draft", "export", "invoices"]
    before = empty.json("plan")
    assert before == {
        "changed": True,
        "added": everything,
        "changed_documents": [],
        "removed": [],
        "unchanged": [],
        "settings": {},
    }
    assert not (empty.path / "index.sqlite").exists()
    empty.run("rebuild")
    assert empty.json("plan") == {**before, "changed": False, "added": [], "unchanged": everything}


def test_plan_names_documents_and_settings_that_differ(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder.write("export", "You can export CSV from the Library page, and PDF.")
    folder.write("new", "A new document.")
    (folder.path / "docs/invoices.md").unlink()
    monkeypatch.setenv("LABKIT_CHUNK_SIZE", "500")
    value = folder.json("plan")
    assert (value["added"], value["changed_documents"], value["removed"]) == (
        ["new"],
        ["export"],
        ["invoices"],
    )
    assert value["settings"] == {
        "chunker": {"index": "chars-600-overlap-80-v2", "now": "chars-500-overlap-80-v2"}
    }
    assert folder.run("plan") == (
        0,
        "add     new\nchange  export\nremove  invoices\n"
        "setting chunker: 'chars-600-overlap-80-v2' becomes 'chars-500-overlap-80-v2'\n"
        "2 documents unchanged.\n",
        "",
    )


def test_stats_shows_sizes_and_what_the_index_was_built_with(folder: Folder) -> None:
    value = folder.json("stats")
    manifest, last, health = (value.pop(name) for name in ("manifest", "last_run", "health"))
    assert value == {"documents": 4, "chunks": 4, "products": 1, "vector_bytes": 48}
    assert manifest["chunker"] == "chars-600-overlap-80-v2"
    assert (manifest["embedder"]["model"], manifest["embedder"]["dimension"]) == ("ideas", 3)
    assert (last["command"], last["status"], last["documents"]) == ("rebuild", "done", 4)
    assert (last["added"], last["embedded"], last["failed"]) == (4, 4, 0)
    assert health == {"ok": True, "message": "", "detail": {"model": "ideas"}}
    _, out, _ = folder.run("stats")
    assert "chunks            4\n" in out
    assert "model             ideas\n" in out
    assert re.search(r"^last run          rebuild, \S+, done$", out, re.MULTILINE)
    assert out.endswith("embedder          ready\n")


def test_stats_are_shown_although_the_embedder_cannot_work(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABKIT_EMBEDDING_SERVICE_URL", "http://127.0.0.1:9/v1")
    value = folder.json("stats")
    assert (value["documents"], value["health"]["ok"]) == (4, False)
    out = folder.run("stats")[1]
    assert out.splitlines()[-1].startswith("embedder          The embedding server at ")


@pytest.mark.parametrize("command", [["answer", CSV], ["search", CSV], ["probe", CSV], ["stats"]])
def test_a_missing_index_is_exit_2_and_says_how_to_build_it(
    empty: Folder, command: list[str]
) -> None:
    code, out, err = empty.run(*command)
    assert (code, out) == (USAGE, "")
    assert err == (
        f"labkit: There is no index at {empty.path / 'index.sqlite'}. If there should be one, "
        "check LABKIT_INDEX; to make it, run: labkit ingest --source FOLDER, FOLDER being that of "
        "your documents; or, for the documents that the settings name, run: labkit rebuild\n"
    )


@pytest.mark.parametrize("command", ["answer", "search", "probe"])
@pytest.mark.parametrize(
    ("stale", "field"),
    [
        (lambda folder: folder.write("export", EXPORT + " More."), "corpus_sha256"),
        (lambda folder: folder.write("export", EXPORT, status="retired"), "corpus_sha256"),
        (lambda folder: folder.write("new", "Another document."), "corpus_sha256"),
        (lambda folder: (folder.path / "docs/export.md").unlink(), "corpus_sha256"),
        (
            lambda folder: (folder.path / "docs/products.yaml").write_text(
                PRODUCTS.replace("24 months", "36 months")
            ),
            "products_sha256",
        ),
        (lambda folder: _settings(folder, "dimension = 3", "dimension = 4"), "embedder.dimension"),
        (lambda folder: _settings(folder, '"ideas"', '"others"'), "embedder.model"),
        (lambda folder: _settings(folder, "[retr", "[chunk]\nsize = 300\n[retr"), "chunker"),
    ],
    ids=["edited", "retired", "added", "removed", "fact", "dimension", "model", "chunker"],
)
def test_a_stale_index_is_exit_2_and_names_the_field_and_what_mends_it(
    folder: Folder, command: str, stale: Callable[[Folder], Any], field: str
) -> None:
    stale(folder)
    code, out, err = folder.run(command, CSV, *TODAY)
    assert (code, out) == (USAGE, "")
    assert err.startswith(f"labkit: The index does not fit these settings: '{field}' is ")
    assert err.endswith(" now. Run: labkit rebuild\n")


def _settings(folder: Folder, old: str, new: str) -> None:
    path = folder.path / "labkit.toml"
    path.write_text(path.read_text("utf-8").replace(old, new), encoding="utf-8")


def test_after_a_rebuild_the_index_fits_again(folder: Folder) -> None:
    folder.write("export", EXPORT.replace("Library", "Archive"))
    folder.run("rebuild")
    assert "from the Archive page." in folder.run("answer", CSV, *TODAY)[1]


def test_a_file_that_is_no_index_is_exit_2(folder: Folder) -> None:
    (folder.path / "index.sqlite").write_bytes(b"this is no database" * 100)
    code, _, err = folder.run("answer", CSV, *TODAY)
    assert code == USAGE
    assert "index.sqlite is damaged or is no index" in err
    assert "run: labkit rebuild" in err


def test_faults_in_documents_are_all_named_and_exit_2(folder: Folder) -> None:
    folder.write("one", "Text.", status="finished")
    folder.write("two", "Text.", scope="everybody")
    code, _, err = folder.run("rebuild")
    assert code == USAGE
    assert "one.md: 'status' is 'finished'" in err
    assert "two.md: 'scope' is 'everybody'" in err
    assert SqliteStore(folder.path / "index.sqlite").stats().documents == 4


def test_a_model_that_cannot_be_reached_is_exit_2_and_leaves_the_index(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder.path / "index.sqlite").read_bytes()
    folder.write("new", "Another document.")
    monkeypatch.setenv("LABKIT_EMBEDDING_SERVICE_URL", "http://127.0.0.1:9/v1")
    code, _, err = folder.run("rebuild")
    assert code == USAGE
    assert err == (
        "labkit: The embedding server at http://127.0.0.1:9/v1 cannot be reached. Is it running?\n"
    )
    assert (folder.path / "index.sqlite").read_bytes() == before


# --- faults of ours, and interrupts --------------------------------------------------------------


def test_a_fault_of_ours_is_exit_1_with_one_sentence_and_no_traceback(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: Any) -> None:
        raise RuntimeError("something broke")

    monkeypatch.setattr("labkit.assembly.open_lab", fails)
    assert folder.run("answer", CSV) == (
        FAULT,
        "",
        "labkit: a fault of ours: RuntimeError: something broke. "
        "Run it again with LABKIT_DEBUG=1 to see where, and please report it.\n",
    )
    monkeypatch.setenv("LABKIT_DEBUG", "1")
    with pytest.raises(RuntimeError, match="something broke"):
        main(["answer", CSV])


def test_an_interrupted_rebuild_is_exit_130_and_leaves_the_index(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (folder.path / "index.sqlite").read_bytes()

    def interrupted(*_: Any) -> None:
        raise KeyboardInterrupt

    folder.write("new", "Another document.")
    monkeypatch.setattr(SqliteStore, "replace_all", interrupted)
    code, out, err = folder.run("rebuild")
    assert (code, out) == (INTERRUPTED, "")
    assert err.endswith("labkit: interrupted; nothing is half done.\n")
    assert (folder.path / "index.sqlite").read_bytes() == before


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
def test_a_process_that_is_interrupted_ends_with_130(folder: Folder, model: ScriptedServer) -> None:
    waiting = Reply(b"", delay=60.0)
    with ScriptedServer(then=waiting) as silent:
        environment = {**os.environ, "LABKIT_EMBEDDING_SERVICE_URL": silent.url}
        folder.write("new", "Another document.")
        process = subprocess.Popen(
            [sys.executable, "-m", "labkit", "rebuild"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while not silent.requests and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (INTERRUPTED, "")
    assert "interrupted; nothing is half done." in err
    assert "Traceback" not in err


INTERRUPTS_AT = """
import os, runpy, signal, sys
class Finder:
    def find_spec(self, name, *_):
        if name == {name!r}:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Finder())
sys.argv = ["labkit", "stats"]
runpy.run_module("labkit", run_name="__main__")
"""


@pytest.mark.skipif(os.name == "nt", reason="Windows has no SIGINT for one process")
@pytest.mark.parametrize(
    "name", ["labkit.cli.app", "typer", "labkit.types", "numpy", "labkit.assembly", "pydantic"]
)
def test_an_interrupt_while_the_program_is_still_being_read_is_clean(
    folder: Folder, name: str
) -> None:
    """The signal comes when that module is asked for: early moments, without any clock."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTS_AT.format(name=name)],
        cwd=folder.path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (
        INTERRUPTED,
        "",
        "labkit: interrupted; nothing is half done.\n",
    )


def test_a_question_imports_nothing_of_the_course(folder: Folder) -> None:
    code = (
        "import sys; from labkit.cli.app import run; "
        f"run(['answer', {CSV!r}, '--as-of', '2026-10-23']); "
        "heavy = {'classroom', 'matplotlib', 'hypothesis', 'IPython', 'fastapi', 'torch'}; "
        "print(sorted(heavy & {name.split('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=folder.path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_words_of_other_packages_are_listed_and_found(empty: Folder) -> None:
    pytest.importorskip("classroom")
    assert {"exercises", "grade"} <= set(re.findall(r"│ ([a-z-]+) ", empty.run("--help")[1]))
    assert empty.run("exercises", "--help")[0] == 0


def test_the_module_runs_as_a_program_and_hands_its_exit_code_to_the_shell(folder: Folder) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "labkit", "answer", "Où est la Lune ?", *TODAY, "--json"],
        env={**os.environ, "PYTHONIOENCODING": "ascii", "LC_ALL": "C"},
        capture_output=True,
        timeout=60,
        check=False,
    )
    value = json.loads(done.stdout.decode("utf-8"))
    assert (done.returncode, done.stderr) == (REFUSED, b"")
    assert value["question"] == "Où est la Lune ?"


# --- calibrate -----------------------------------------------------------------------------------


def row(name: str, question: str, **changes: Any) -> dict[str, Any]:
    values = {"id": name, "question": question, "language": "en", "as_of": "2026-10-23"}
    return {**values, "viewer": "reader", **changes}


ROWS = [
    row("q1", CSV, answerable=True, kind="direct", document="export", quotation=EXPORT),
    row(
        "q2",
        "When are invoices due?",
        answerable=True,
        kind="direct",
        document="invoices",
        quotation="Invoices are due 30 days after their date.",
    ),
    row("q3", "Who exports the Moon?", answerable=False, why="far"),
]


def annotated(folder: Path, *rows: Any) -> Path:
    path = folder / "questions.jsonl"
    path.write_text("".join(json.dumps(item) + "\n" for item in rows), encoding="utf-8")
    return path


def test_calibrate_suggests_a_threshold_and_shows_what_each_would_do(folder: Folder) -> None:
    questions = f"--questions={annotated(folder.path, *ROWS)}"
    value = folder.json("calibrate", questions)
    assert (value["answerable"], value["unanswerable"]) == (2, 1)
    assert value["suggested"] >= 0.99
    assert [line["threshold"] for line in value["table"]] == [n / 20 for n in range(2, 15)]
    assert all(line["kept"] == 2 for line in value["table"])
    code, out, _ = folder.run("calibrate", questions)
    assert code == 0
    assert out.endswith("which keeps 98 % of the answerable questions.\n")


def test_calibrate_without_the_documents_of_its_questions_says_so(folder: Folder) -> None:
    elsewhere = {**ROWS[0], "quotation": "Words of another folder's documents."}
    code, _, err = folder.run("calibrate", f"--questions={annotated(folder.path, elsewhere)}")
    assert (code, err) == (
        USAGE,
        "labkit: No answerable question found its quotation; nothing to calibrate on.\n",
    )


def observed(*pairs: tuple[bool, float | None]) -> list[Observation]:
    question = Question("q", "?", "en", DAY, "reader", True, "direct")
    return [
        Observation(Question(**{**_fields(question), "answerable": answerable}), cosine)
        for answerable, cosine in pairs
    ]


def _fields(question: Question) -> dict[str, Any]:
    return {name: getattr(question, name) for name in Question.__slots__}


def test_a_threshold_is_judged_by_what_it_keeps_and_lets_through() -> None:
    seen = observed((True, 0.8), (True, 0.5), (True, None), (False, 0.6), (False, None))
    assert threshold_table(seen, [0.4, 0.5, 0.55, 0.9]) == [
        (0.4, 2, 1),
        (0.5, 2, 1),
        (0.55, 1, 1),
        (0.9, 0, 0),
    ]


@pytest.mark.parametrize(
    ("cosines", "keep", "suggested"),
    [
        ([0.567], 0.98, 0.56),
        ([0.9, 0.567, 0.7], 0.98, 0.56),
        ([n / 100 + 0.005 for n in range(100)], 0.98, 0.02),
        ([n / 100 + 0.005 for n in range(100)], 1.0, 0.0),
        ([-0.004, 0.5], 0.98, -0.01),
    ],
)
def test_the_suggestion_is_the_highest_threshold_that_keeps_the_share(
    cosines: list[float], keep: float, suggested: float
) -> None:
    seen = observed(*((True, cosine) for cosine in cosines), (False, 0.99))
    assert suggested_threshold(seen, keep) == suggested
    kept = sum(cosine >= suggested for cosine in cosines)
    assert kept >= keep * len(cosines)


def test_without_an_answerable_question_there_is_nothing_to_suggest() -> None:
    with pytest.raises(LabError, match="nothing to calibrate on"):
        suggested_threshold(observed((False, 0.9), (True, None)))


def test_the_cosine_that_decides_is_that_of_the_nearest_passage_that_would_pass() -> None:
    def hit(cosine: float, text: str, rank: int | None) -> Hit:
        return Hit(chunk("a", text), cosine=cosine, lexical_rank=rank)

    class Ranks:
        def retrieve(self, question: str, viewer: Viewer, as_of: date) -> Retrieval:
            ranked = (
                hit(0.9, "no shared word", None),
                hit(0.8, "shares a word", 1),
                hit(0.7, "holds the quotation", 2),
            )
            return Retrieval(question, None, ranked, Refused(Reason.BELOW_THRESHOLD, ""))  # type: ignore[arg-type]

    (answerable,) = observed((True, None))
    viewer = Viewer("ACME", frozenset())
    with_quotation = Question(**{**_fields(answerable.question), "quotation": "the quotation"})
    assert observe(with_quotation, Ranks(), viewer).cosine == 0.7
    assert observe(answerable.question, Ranks(), viewer).cosine == 0.8
    nowhere = Question(**{**_fields(answerable.question), "quotation": "stands nowhere"})
    assert observe(nowhere, Ranks(), viewer).cosine is None


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("{not json", "Expecting property name"),
        ("[]", "it lacks"),
        (
            json.dumps({"id": "q2"}),
            "it lacks question, language, as_of, viewer, answerable, kind; "
            "`labkit eval --help` shows the format",
        ),
        (json.dumps(row("q2", "?", answerable=True)), "it lacks kind"),
        (
            json.dumps(row("q2", "?", answerable=False, why="far", as_of="soon")),
            "Invalid isoformat",
        ),
    ],
)
def test_a_line_that_is_no_question_is_named(tmp_path: Path, line: str, why: str) -> None:
    path = annotated(tmp_path, ROWS[0])
    path.write_text(path.read_text("utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(LabError) as caught:
        read_questions(path)
    assert str(caught.value).startswith("questions.jsonl, line 2: no annotated question (")
    assert why in str(caught.value)


def test_questions_are_read_as_they_were_written(tmp_path: Path) -> None:
    first, _, last = read_questions(annotated(tmp_path, *ROWS))
    assert first == Question("q1", CSV, "en", DAY, "reader", True, "direct", "export", EXPORT)
    assert (last.answerable, last.kind, last.quotation) == (False, "far", None)


def test_messages_name_the_command_as_the_person_typed_it(
    empty: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert empty.run("stats")[2].endswith(", run: labkit rebuild\n")
    monkeypatch.setenv("LABKIT_COMMAND", "./lab")
    said = empty.run("stats")[2]
    assert "run: ./lab ingest --source FOLDER, " in said
    assert said.endswith("run: ./lab rebuild\n")
    assert empty.run("nonsense")[2].endswith("See ./lab --help.\n")


def test_a_folder_without_documents_does_not_wipe_an_index(folder: Folder) -> None:
    before = (folder.path / "index.sqlite").read_bytes()
    for path in (folder.path / "docs").iterdir():
        path.unlink()
    code, _, err = folder.run("rebuild")
    assert code == USAGE
    assert "matches **/*.md. Name the folder of the documents: LABKIT_CORPUS=FOLDER." in err
    assert (folder.path / "index.sqlite").read_bytes() == before


def test_search_shows_as_many_passages_as_asked_and_says_how_many_more(folder: Folder) -> None:
    assert len(folder.json("search", "Where can I export CSV?", "-k", "1")["hits"]) == 1
    _, out, _ = folder.run("search", "Where can I export CSV?", "-k", "1")
    assert re.search(r"^\d+ more; -k shows them\.$", out, re.MULTILINE)


def test_a_notebook_is_checked_inside_it(empty: Folder) -> None:
    (empty.path / "a.ipynb").write_text("{}", encoding="utf-8")
    assert empty.run("check", "a.ipynb")[2] == (
        "labkit: a.ipynb is a notebook: call check(name, function) inside it.\n"
    )
