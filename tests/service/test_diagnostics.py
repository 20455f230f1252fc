"""labkit.service.diagnostics: pages over real sockets. What they show, to whom, and what they never
show: a path of the host, a document that is not for the viewer, a script."""

from __future__ import annotations

import base64
import logging
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from string import Formatter
from typing import Any

import pytest

pytest.importorskip("fastapi")
pytest.importorskip("jinja2")
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode

from builders import ToyEmbedder, chunk
from conftest import CHECKOUT
from labkit.answering.citing import outcome_dict
from labkit.answering.engine import MAX_QUESTION
from labkit.cli import main
from labkit.ranking.policy import rank_strict
from labkit.service.diagnostics.passages import why_dropped
from labkit.service.diagnostics.session import embedder_of
from labkit.service.diagnostics.source import pieces
from labkit.service.middleware import HEADERS
from labkit.service.redaction import Redactor, below, last_name
from labkit.service.rendering import PageContext
from labkit.service.server import Hosts, Limits, hosts_for
from labkit.service.translator import TEXTS, Translator, choose_language
from labkit.types import EmbeddingError, Health, Hit, LabError, Matrix, Reason, Role
from live_diagnostics import ATTIC, DAY, QUESTION, SCRIPT, LabForTests, LivePages, Page
from pages import Shape

TOKEN = "a-token-of-the-tests-0123456789"
PACKAGE = CHECKOUT / "labkit/service"
PATHS = ("/", "/runs", "/question", "/api")
ASKED: dict[str, Any] = {"q": QUESTION, "day": DAY}


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> LabForTests:
    made = LabForTests(tmp_path_factory.mktemp("diagnostics"))
    made.record(added=5, embedded=9)
    made.record_faults()
    return made


@pytest.fixture(scope="module")
def live(lab: LabForTests) -> Iterator[LivePages]:
    with LivePages(lab) as pages:
        yield pages


def source(live: LivePages, name: str, **query: Any) -> Page:
    return live.get("/source", id=name, **{"day": DAY, **query})


# --- what the pages show -------------------------------------------------------------------------


def test_the_overview_shows_index_manifest_health_and_the_last_run(live: LivePages) -> None:
    page = live.get("/")
    assert page.status == 200
    for words in ("<dd>5</dd>", "toy", "chars-600-overlap-80-v2", "Every row has been checked"):
        assert words in page.text
    assert "Ready" in page.text
    assert "Done, without some files" in page.text
    assert "<code>docs</code>" in page.text, "the root by its last name"


def test_runs_are_listed_newest_first_with_what_was_not_taken_in(live: LivePages) -> None:
    page = live.get("/runs")
    rows = re.findall(r'<th scope="row">(\d+)</th>', page.text)
    assert len(rows) >= 2
    assert rows == sorted(rows, key=int, reverse=True)
    assert "guides/bad.md" in page.text
    assert "1 file not taken in" in page.text
    assert "1 note" in page.text
    assert "<code>bad.md</code>" in page.text, "a path that is not below the root: its last name"


def test_an_answer_shows_its_quotation_the_ranking_and_a_way_to_the_source(
    live: LivePages,
) -> None:
    page = live.get("/question", **ASKED)
    assert page.status == 200
    assert re.search(
        r'<blockquote lang="en">The gate opens at eight o’?', page.text.replace("&#39;", "’")
    )
    assert "Kept" in page.text
    assert "Dropped" in page.text
    assert "Shares no significant word with the question." in page.text
    link = re.search(r'href="(/source\?[^"]+)"', page.text)
    assert link
    there = live.get(link[1].partition("#")[0].replace("&amp;", "&"))
    assert there.status == 200
    assert re.search(r"<mark>The gate opens at eight", there.text)
    assert 'id="passage"' in there.text


def test_scores_and_ranks_are_those_of_the_search(lab: LabForTests, live: LivePages) -> None:
    page = live.get("/question", **ASKED)
    found = lab().search().retrieve(QUESTION, lab.settings.viewer, _day())
    assert len(found.ranked) == 2, "the gate and le portail: the rest is not for this viewer"
    for hit in found.ranked:
        assert hit.cosine is not None
        assert hit.fused is not None
        for shown in (hit.chunk.id, f"{hit.cosine:.3f}", f"{hit.fused:.5f}"):
            assert shown in page.text


@pytest.mark.parametrize(
    ("question", "viewer", "reason"),
    [
        ("When does the GX-777 gate open?", "", Reason.UNKNOWN_PRODUCT),
        (QUESTION, "none", Reason.NOTHING_ELIGIBLE),
        ("Zebra quagga okapi?", "", Reason.NO_LEXICAL_SUPPORT),
    ],
)
@pytest.mark.parametrize("lang", ["en", "fr"])
def test_a_refusal_says_why_in_words(
    live: LivePages, question: str, viewer: str, reason: Reason, lang: str
) -> None:
    page = live.get("/question", q=question, viewer=viewer, day=DAY, lang=lang)
    assert page.status == 200
    assert f"<code>{reason}</code>" in page.text
    assert TEXTS[lang][f"reason_{reason}"] in page.words


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ({"q": ""}, "Type a question."),
        ({"q": " \0 "}, "Type a question."),
        ({"q": "\ufeff"}, "Type a question."),
        ({"q": "\u0958" * MAX_QUESTION}, "The question is too long: 2,000 characters"),
        ({"q": "x" * (MAX_QUESTION + 1)}, "The question is too long: 2,000 characters"),
        ({"q": "a", "viewer": "boss"}, "There is no such viewer"),
        ({"q": "a", "day": "2026-02-30"}, "Give the day as"),
        ({"q": "a", "day": "tomorrow"}, "Give the day as"),
    ],
)
def test_a_field_that_is_wrong_is_named_beside_it_and_above(
    live: LivePages, query: dict[str, str], words: str
) -> None:
    page = live.get("/question", **query)
    assert page.status == 422
    assert page.text.count(words) == 2
    assert 'aria-invalid="true"' in page.text
    assert "<title>Error: " in page.text


def test_a_question_of_the_greatest_length_is_asked(live: LivePages) -> None:
    assert live.get("/question", q="🙂" * MAX_QUESTION, day=DAY).status == 200
    assert live.get("/question", q="🙂" * 3 * MAX_QUESTION, day=DAY).status == 414


def test_every_page_is_whole_html_and_keeps_its_language(live: LivePages) -> None:
    for path in (*PATHS, "/nowhere"):
        page = live.get(path, lang="fr")
        Shape(re.sub(r"<(input|link|meta|br)[^>]*>", "", page.text.replace("<!doctype html>", "")))
        assert '<html lang="fr">' in page.text
        assert page.text.count("<h1") == 1
        links = [
            link for link in re.findall(r'href="(/[^"#]*)"', page.text) if "lang=en" not in link
        ]
        pages = [link for link in links if not link.endswith((".css", ".json"))]
        assert pages
        assert all("lang=fr" in link for link in pages)


# --- languages -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "accepted", "chosen"),
    [
        ("", "", "en"),
        ("", "fr", "fr"),
        ("", "fr-CA,en;q=0.8", "fr"),
        ("", "de,en;q=0.4,fr;q=0.5", "fr"),
        ("", "fr;q=0,en", "en"),
        ("", "fr;q=x", "en"),
        ("", "de", "en"),
        ("", ",;=,fr;;q=1", "fr"),
        ("fr", "en", "fr"),
        ("de", "fr", "fr"),
    ],
)
def test_the_language_is_the_one_asked_for_or_accepted(
    asked: str, accepted: str, chosen: str
) -> None:
    assert choose_language(asked, accepted) == chosen


@given(st.text(), st.text())
def test_any_header_has_a_language(asked: str, accepted: str) -> None:
    assert choose_language(asked, accepted) in TEXTS


def test_the_browser_s_language_is_heard(live: LivePages) -> None:
    page = live.get("/", headers={"Accept-Language": "fr-FR, en;q=0.5"})
    assert page.headers["content-language"] == "fr"
    assert "Vue d’ensemble" in page.words


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example/x", "/a?b#c"])
def test_the_link_to_the_other_language_stays_on_this_site(path: str) -> None:
    ((_, _, link),) = PageContext(Translator("en"), path=path).languages
    assert link.startswith("/")
    assert not link.startswith(("//", "/\\"))
    assert link.count("?") == 1
    assert "#" not in link


def test_both_tables_say_the_same_things_with_the_same_values() -> None:
    english, french = TEXTS["en"], TEXTS["fr"]
    assert english.keys() == french.keys()
    for key, words in english.items():
        fields = [
            {name for _, name, _, _ in Formatter().parse(t) if name is not None}
            for t in (words, french[key])
        ]
        assert fields[0] == fields[1], key
    for reason in Reason:
        assert f"reason_{reason}" in english


def test_every_text_is_used() -> None:
    files = [*PACKAGE.rglob("*.html"), *PACKAGE.rglob("*.py")]
    written = "\n".join(path.read_text("utf-8") for path in files)
    made = (
        "problem_",
        "advice_",
        "reason_",
        "status_",
        "stage_",
        "flag_",
        "field_",
        "error_",
        "page_",
    )
    for key in TEXTS["en"]:
        stem = re.sub(r"_(one|many|of)$", "", key)
        assert key.startswith(made) or f"'{stem}" in written or f'"{stem}' in written, key


def test_french_is_set_as_french_is() -> None:
    for key, words in TEXTS["fr"].items():
        assert "'" not in words, key
        assert not re.search(r"[^\u202f\u00a0][;!?»%]|[^\u00a0]:(?!\S)| [;:!?»%]|« ", words), key


def test_numbers_days_and_counts_are_written_as_each_language_does() -> None:
    english, french = Translator("en"), Translator("fr")
    assert (english.number(-1234.5, 1), french.number(-1234.5, 1)) == ("−1,234.5", "−1\u202f234,5")
    assert french.moment("2026-10-01T08:05:00+00:00") == "1er octobre 2026 à 08:05 UTC"
    assert english.duration("2026-10-01T08:00:00+00:00", "2026-10-01T08:01:30+00:00") == "90 s"
    assert english.duration("2026-10-01T08:00:00+00:00", "") == ""
    assert english.moment("never") == "never"
    assert english.ngettext("answered", 0).startswith("0 quotations")
    assert french.ngettext("fault_count", 0) == "0 fichier non repris"


def test_a_document_s_language_is_marked_where_it_is_not_the_page_s(live: LivePages) -> None:
    page = source(live, "portail")
    assert '<html lang="en">' in page.text
    assert '<div class="text" lang="fr">' in page.text


# --- who may see what ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "query",
    [
        {"id": "board"},
        {"id": "globex"},
        {"id": "old"},
        {"id": "board", "viewer": "none"},
        {"id": "gate", "viewer": "none"},
        {"id": "gate", "viewer": "nobody-of-that-name"},
        {"id": "gate", "day": "2025-12-31"},
        {"id": "gate", "day": "someday"},
        {"id": ""},
        {"id": "gate'; DROP TABLE chunk; --"},
        {"id": "../docs/gate.md"},
    ],
)
def test_a_source_that_is_not_for_them_is_like_one_that_is_not_there(
    live: LivePages, query: dict[str, str]
) -> None:
    missing = live.get("/source", id="no-such-document", day=DAY)
    found = live.get("/source", **{"day": DAY, **query})
    assert found.status == missing.status == 404
    assert _without_links(found.text) == _without_links(missing.text)


def test_the_board_sees_what_is_the_board_s_and_old_versions_on_their_days(
    live: LivePages,
) -> None:
    assert "The gate is sold in May." in source(live, "board", viewer="board").text
    assert "The gate opened at six." in source(live, "old", day="2026-02-28").text
    assert source(live, "old", day="2026-03-01").status == 404


def test_nothing_that_is_not_for_them_is_in_a_page_of_theirs(live: LivePages) -> None:
    page = live.get("/question", shown=100, **ASKED)
    for words in ("board#", "Sale of the gate", "globex", "Globex", "old#", "opened at six"):
        assert words not in page.text
    told = ask_api(live, question=QUESTION, as_of=DAY, passages=100)[1]
    assert {row["source_id"] for row in told["passages"]} == {"gate", "portail"}


def test_the_page_says_what_choosing_a_viewer_is(live: LivePages) -> None:
    assert "It is no login." in live.get("/question").text


# --- what no page shows --------------------------------------------------------------------------


def every_page(live: LivePages) -> list[Page]:
    asked = [live.get("/question", lang=lang, **ASKED) for lang in TEXTS]
    sources = [source(live, "gate", part=0), source(live, "board")]
    wrong = [live.get("/question", q=""), live.get("/nowhere"), live.get("/openapi.json")]
    return [*(live.get(path) for path in PATHS), *asked, *sources, *wrong]


def test_no_page_or_header_names_a_folder_of_the_host(live: LivePages) -> None:
    for page in every_page(live):
        said = page.words + str(page.headers)
        assert ATTIC not in said
        assert str(CHECKOUT) not in said
        assert str(Path.home()) + "/" not in said


def test_a_script_in_a_document_stays_text(live: LivePages) -> None:
    for page in (source(live, "gate", part=0), live.get("/question", **ASKED), live.get("/runs")):
        assert "<script" not in page.text
        assert "<img" not in page.text
        assert SCRIPT in page.words


def test_what_is_typed_stays_text(live: LivePages) -> None:
    for query in (
        {"q": f'"><{SCRIPT}'},
        {"q": "a", "day": f'"{SCRIPT}'},
        {"q": "a", "viewer": f"'{SCRIPT}"},
    ):
        page = live.get("/question", **query)
        assert "<script" not in page.text
        assert "<img" not in page.text
    assert "<script" not in live.get(f"/{SCRIPT.split('/')[0].replace(' ', '%20')}").text


def test_every_reply_is_under_the_rules(live: LivePages) -> None:
    for path in (*PATHS, "/style.css", "/openapi.json", "/nowhere"):
        page = live.get(path)
        for name, value in HEADERS.items():
            assert page.headers[name] == value
        assert "set-cookie" not in page.headers
        assert "server" not in page.headers
    policy = HEADERS["content-security-policy"]
    for rule in ("default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"):
        assert rule in policy
    assert "unsafe" not in policy


def test_no_page_needs_a_script_an_inline_style_or_the_network(live: LivePages) -> None:
    for page in every_page(live):
        for tag in re.findall(r"<[a-z][^>]*>", page.text):
            assert not re.search(r"^<(script|style|iframe|object|img)|\s(style|on\w+|src)=", tag)
            assert "://" not in tag


# --- paths taken out of messages -----------------------------------------------------------------


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        (
            "There is no index at /srv/a b/x.sqlite. Run: labkit",
            "There is no index at x.sqlite. Run: labkit",
        ),
        ("[Errno 2] No such file: '/opt/my dir/y.md'", "[Errno 2] No such file: 'y.md'"),
        ("/etc/passwd, ~/keys/k, and ~root/.ssh/id", "passwd, k, and id"),
        ("D:\\work\\mine\\lab.toml cannot be read", "lab.toml cannot be read"),
        ("'D:\\\\work\\\\my own\\\\lab.toml'", "'lab.toml'"),
        ("\\\\server\\share\\lab.toml", "lab.toml"),
        ("file:///srv/x/y.md", "y.md"),
        ("/srv/a bees/hive.md is older", "hive.md is older"),
        ("/srv/a b.bak/hive.md is older", "hive.md is older"),
        (
            "The service at http://me:pw@127.0.0.1:8100/v1 is down",
            "The service at http://127.0.0.1:8100/v1 is down",
        ),
        (
            "intfloat/multilingual-e5-base and 1/2, and/or",
            "intfloat/multilingual-e5-base and 1/2, and/or",
        ),
        ("Run: git checkout -- minilm.jsonl", "Run: git checkout -- minilm.jsonl"),
    ],
)
def test_of_a_path_in_a_message_only_the_name_stays(message: str, shown: str) -> None:
    assert Redactor(["/srv/a b"])(message) == shown


@given(
    st.lists(st.from_regex(r"[a-z]{3,8}", fullmatch=True), min_size=2, max_size=6),
    st.sampled_from(["{}", "at {}.", "'{}'", "({})", "x: {}: y"]),
)
def test_no_folder_of_a_path_stays(names: list[str], around: str) -> None:
    said = Redactor()(around.format("/" + "/".join(f"{name}Q{i}" for i, name in enumerate(names))))
    assert f"{names[-1]}Q{len(names) - 1}" in said
    for i, name in enumerate(names[:-1]):
        assert f"{name}Q{i}" not in said


def test_below_a_root_a_path_is_shown_as_it_is() -> None:
    assert below("guides/a.md") == "guides/a.md"
    for outside in ("/srv/guides/a.md", "../guides/a.md", "C:\\guides\\a.md", "~/guides/a.md"):
        assert below(outside) == last_name(outside) == "a.md"
    escaped = r"notes/\u202eevil.md"  # as a record writes a name with such a mark
    assert below(escaped) == escaped


# --- when a part is missing ----------------------------------------------------------------------


def test_before_there_is_an_index_the_pages_say_so_and_then_find_it(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path, built=False)
    with LivePages(lab) as live:
        first = live.get("/")
        assert first.status == 200
        assert "There is no index yet" in first.text
        assert "Ready" in first.text, "the rest of the page works"
        assert live.get("/question").status == 200
        for page in (live.get("/question", **ASKED), live.get("/runs"), source(live, "gate")):
            assert page.status == 503
            assert "There is no index yet" in page.text
        lab.build()
        assert "Every row has been checked" in live.get("/").text
        assert live.get("/question", **ASKED).status == 200


def test_a_rebuild_meanwhile_is_picked_up(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    with LivePages(lab) as live:
        assert "eight" in source(live, "gate").text
        path = lab.settings.corpus / "gate.md"
        path.write_text(path.read_text("utf-8").replace("eight", "nine"), encoding="utf-8")
        lab.build()
        assert "nine" in source(live, "gate").text
        assert "opens at nine" in live.get("/question", **ASKED).text


def test_a_damaged_row_is_a_banner_that_names_no_path(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    with sqlite3.connect(lab.settings.index) as connection:
        connection.execute("UPDATE chunk SET text = 'another' WHERE id = 'board#0'")
    connection.close()
    with LivePages(lab) as live:
        page = live.get("/")
        assert page.status == 200
        assert "The index cannot be used" in page.text
        assert "board#0" in page.text
        assert "<dd>5</dd>" in page.text, "what can be counted still is"
        assert live.get("/question", **ASKED).status == 503
        hidden = source(live, "board")
        assert hidden.status == 503
        assert "board#0" not in hidden.text


def test_a_file_that_is_no_index_is_a_banner(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path, built=False)
    lab.settings.index.parent.mkdir(parents=True)
    lab.settings.index.write_bytes(b"no database at all " * 100)
    with LivePages(lab) as live:
        for path in PATHS:
            page = live.get(path)
            assert ATTIC not in page.words
            assert path == "/api" or "The index cannot be used" in page.text


def test_settings_that_are_wrong_are_a_banner_and_mended_without_a_restart(
    tmp_path: Path,
) -> None:
    lab, broken = LabForTests(tmp_path), [True]

    def opener() -> Any:
        if broken[0]:
            raise LabError(f"{lab.settings.home / 'labkit.toml'} cannot be read: line 3.")
        return lab()

    with LivePages(opener) as live:
        for path in ("/", "/runs", "/question"):
            page = live.get(path)
            assert "The settings cannot be used" in page.text
            assert "line 3" in page.text
            assert ATTIC not in page.words
        assert live.get("/api").status == 200
        broken[0] = False
        assert live.get("/question", **ASKED).status == 200


class BrokenModel(ToyEmbedder):
    """A model that fails as it is told: with an EmbeddingError, with a surprise, or slowly."""

    def __init__(self, words: str = "", surprise: str = "", seconds: float = 0.0) -> None:
        super().__init__()
        self.words, self.surprise, self.seconds = words, surprise, seconds
        self.at_once = self.most_at_once = 0

    def embed(self, texts: Sequence[str], role: Role) -> Matrix:
        self.at_once += 1
        self.most_at_once = max(self.most_at_once, self.at_once)
        time.sleep(self.seconds)
        self.at_once -= 1
        if self.words:
            raise EmbeddingError(self.words)
        if self.surprise:
            raise RuntimeError(f"{self.surprise} {texts}")
        return super().embed(texts, role)

    def health(self) -> Health:
        return Health(not self.words, self.words)


def test_an_embedder_that_is_down_is_a_banner_and_the_source_still_opens(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    lab.model = BrokenModel(f"{tmp_path / ATTIC / 'model'} is not installed. Run: pip install x")
    with LivePages(lab) as live:
        overview = live.get("/")
        assert overview.status == 200
        assert "Not ready" in overview.text
        assert "Run: pip install x" in overview.text
        asked = live.get("/question", q="A question never embedded?", day=DAY)
        assert asked.status == 503
        assert "The embedder cannot work" in asked.text
        assert 'value="A question never embedded?"' in asked.text, "what was typed is kept"
        assert ATTIC not in overview.words + asked.words
        assert source(live, "gate").status == 200
        assert live.get("/runs").status == 200


def test_an_index_of_another_model_is_said_not_to_fit(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    lab.model = ToyEmbedder(model="another")
    with LivePages(lab) as live:
        form, page = live.get("/question"), live.get("/question", **ASKED)
    assert (form.status, page.status) == (200, 503)
    for shown in (form, page):
        assert "embedder.model" in shown.text
        assert "Run: labkit rebuild" in shown.text


class Hanging(ToyEmbedder):
    """A model whose service does not answer for a while."""

    def health(self) -> Health:
        time.sleep(1)
        return Health(True)


def test_an_embedder_that_hangs_takes_no_page_with_it(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path, Hanging())
    with LivePages(lab, limits=Limits(seconds=0.3)) as live:
        page = live.get("/")
        assert page.status == 200
        assert "This took too long" in page.text
        assert "Every row has been checked" in page.text
        assert live.get("/runs").status == 200


def test_a_surprise_is_named_by_its_type_alone_in_page_and_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, capfd: pytest.CaptureFixture[str]
) -> None:
    lab = LabForTests(tmp_path)
    lab.model = BrokenModel(surprise=f"lost in {tmp_path}")
    with caplog.at_level(logging.DEBUG), LivePages(lab) as live:
        page = live.get("/question", q="quagga quagga", day=DAY)
        status, told = ask_api(live, question="quagga quagga", as_of=DAY)
    assert (page.status, status) == (500, 500)
    assert "RuntimeError" in page.text
    assert told == {"detail": "RuntimeError", "kind": "fault"}
    written = caplog.text + "".join(capfd.readouterr())
    assert "A part failed: RuntimeError" in written
    for words in ("quagga", str(tmp_path), "Traceback"):
        assert words not in written
    assert str(tmp_path) not in page.words


def test_work_that_takes_too_long_is_given_up_and_the_next_is_served(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    lab.model = BrokenModel(seconds=0.8)
    with LivePages(lab, limits=Limits(seconds=0.4)) as live:
        began = time.monotonic()
        page = live.get("/question", q="a slow question", day=DAY)
        assert page.status == 503
        assert "This took too long" in page.text
        assert time.monotonic() - began < 2
        assert live.get("/").status == 200, "what needs no model does not wait"


def test_questions_at_once_load_and_ask_one_model_one_after_another(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    model = lab.model = BrokenModel(seconds=0.02)
    with LivePages(lab) as live, ThreadPoolExecutor(8) as pool:
        found = list(
            pool.map(lambda n: live.get("/question", q=f"Gate {n} opens?", day=DAY), range(12))
        )
        others = list(pool.map(live.get, PATHS * 3))
    assert {page.status for page in (*found, *others)} == {200}
    for number, page in enumerate(found):
        assert f'value="Gate {number} opens?"' in page.text
    assert model.most_at_once == 1


class SlowToLoad:
    """A lab that would make its embedder twice for two who ask at the same time."""

    def __init__(self) -> None:
        self.made: list[ToyEmbedder] = []

    @property
    def embedder(self) -> ToyEmbedder:
        if not self.made:
            time.sleep(0.05)
            self.made.append(ToyEmbedder())
        return self.made[-1]


def test_a_model_is_loaded_once_for_all_who_ask_at_once() -> None:
    lab: Any = SlowToLoad()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: embedder_of(lab), range(8)))
    assert len(lab.made) == 1
    assert set(found) == set(lab.made)


def test_too_many_questions_are_told_to_come_again(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    lab.model = BrokenModel(seconds=0.3)
    with LivePages(lab, limits=Limits(waiting=2)) as live, ThreadPoolExecutor(6) as pool:
        calls = pool.map(lambda n: ask_api(live, question=f"Gate {n}?", as_of=DAY), range(6))
        statuses = sorted(status for status, _ in calls)
    assert statuses[0] == 200
    assert statuses[-1] == 503


# --- who may call --------------------------------------------------------------------------------


def basic(password: str, name: str = "me") -> dict[str, str]:
    return {"authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def test_with_a_token_nothing_is_told_without_it(lab: LabForTests) -> None:
    with LivePages(lab, token=TOKEN) as live:
        for path in (*PATHS, "/style.css", "/openapi.json", "/nowhere", f"/?token={TOKEN}"):
            for headers in (
                {},
                basic("wrong"),
                {"authorization": TOKEN},
                {"authorization": "Basic %%%"},
            ):
                page = live.get(path, headers=headers)
                assert page.status == 401
                assert "basic" in page.headers["www-authenticate"].lower()
                assert TOKEN not in page.text
                assert page.headers["content-security-policy"]
        assert live.get("/", headers=basic(TOKEN)).status == 200
        assert live.get("/", headers=basic(TOKEN, "")).status == 200
        assert live.get("/", headers={"authorization": f"Bearer {TOKEN}"}).status == 200
        assert live.get("/", headers={"cookie": f"token={TOKEN}"}).status == 401


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8200",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "8.8.8.8",
        "127.0.0.1@evil.example",
        "evil.example#localhost",
        "localhost:80:80",
        "",
        "[::1",
        "lo calhost",
    ],
)
def test_a_name_that_is_not_ours_is_refused(live: LivePages, host: str) -> None:
    page = live.get("/", headers={"Host": host})
    assert page.status == 400
    assert "Overview" not in page.text


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:99", "127.0.0.1:1", "[::1]:8200", "localhost."]
)
def test_this_machine_s_own_names_are_ours(live: LivePages, host: str) -> None:
    assert live.get("/api", headers={"Host": host}).status == 200


def test_an_open_address_takes_addresses_and_the_names_its_owner_gives() -> None:
    hosts = hosts_for("0.0.0.0", ["Lab.Example"])
    for header in (
        "192.168.1.7:8200",
        "[fd00::1]:8200",
        "lab.example",
        "lab.example.:443",
        "localhost",
    ):
        assert hosts.admit(header)
    for header in ("evil.example", "lab.example.evil", "192.168.1.7.evil.example"):
        assert not hosts.admit(header)
    assert not hosts_for("127.0.0.1").admit("192.168.1.7")


@given(st.text(max_size=40))
def test_no_header_of_a_host_raises(header: str) -> None:
    assert Hosts(frozenset()).admit(header) in (True, False)


def test_a_page_of_another_origin_cannot_ask(live: LivePages) -> None:
    body = {"question": QUESTION, "as_of": DAY}
    for origin in ("http://evil.example", "null", "https://127.0.0.1", "http://localhost:1"):
        assert live.ask("POST", "/api/answer", body, origin=origin)[0] == 403
    assert live.ask("POST", "/api/answer", body, origin=live.url)[0] == 200
    form = b'{"question": "When does the gate open?"}'
    for kind in ("text/plain", "application/x-www-form-urlencoded"):
        assert live.ask("POST", "/api/answer", form, **{"content-type": kind})[0] == 422


@pytest.mark.parametrize("path", ["/", "/question", "/runs", "/source"])
def test_nothing_but_reading_is_possible(live: LivePages, path: str) -> None:
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        connection = live.connection()
        connection.request(method, path)
        assert connection.getresponse().status == 405
        connection.close()


def test_a_body_over_the_size_is_413(live: LivePages) -> None:
    assert live.ask("POST", "/api/answer", b"x" * 64_001)[0] == 413


# --- the API -------------------------------------------------------------------------------------


def ask_api(live: LivePages, **body: Any) -> tuple[int, Any]:
    return live.ask("POST", "/api/answer", body)


def test_the_api_gives_what_the_command_line_gives_and_the_passages(
    lab: LabForTests, live: LivePages
) -> None:
    status, told = ask_api(live, question=QUESTION, as_of=DAY)
    assert status == 200
    expected = outcome_dict(lab().engine().ask(QUESTION, lab.settings.viewer, _day()), "")
    for key in ("status", "question", "as_of", "answer", "evidence", "closest"):
        assert told[key] == expected[key]
    assert [row["kept"] for row in told["passages"]].count(True) >= 1
    (row, *_) = told["passages"]
    assert (row["chunk_id"], row["path"], row["link"]) == ("gate#0", "gate.md", "")
    assert row["cosine"] > 0


def test_with_a_base_url_every_citation_is_a_link(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    update = {"base_url": "https://docs.example/handbook/"}
    lab.settings = lab.settings.model_copy(update=update)
    link = "https://docs.example/handbook/gate.md"
    with LivePages(lab) as live:
        _, told = ask_api(live, question=QUESTION, as_of=DAY)
        (quotation,) = told["evidence"]
        assert quotation["quote"] in told["passages"][0]["text"]
        for item in (quotation, told["closest"][0], told["passages"][0]):
            assert (item["path"], item["link"]) == ("gate.md", link)
        for page in (live.get("/question", **ASKED), source(live, "gate", part=0)):
            assert f'href="{link}"' in page.text


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({}, "question is missing"),
        ({"question": ""}, "question is empty"),
        ({"question": " \n"}, "question is blank or holds a NUL character"),
        ({"question": "x" * 2001}, "question is longer than 2000 characters"),
        ({"question": 7}, "question must be a string"),
        ({"question": "\u0958" * 2000}, "question is too long"),
        ({"question": "a", "as_of": 0}, "as_of must be a day, such as 2026-10-23"),
        ({"question": "a", "as_of": "someday"}, "as_of must be a day"),
        ({"question": "a", "passages": 101}, "passages must be 100 or less"),
        ({"question": "a", "scopes": ["board"]}, "scopes is not known here"),
    ],
)
def test_a_request_that_is_wrong_is_422_and_says_where(
    live: LivePages, body: dict[str, Any], words: str
) -> None:
    status, told = ask_api(live, **body)
    assert status == 422
    assert told["detail"].startswith(words)


def test_a_viewer_that_the_settings_do_not_know_is_409(live: LivePages) -> None:
    status, told = ask_api(live, question="a", viewer="boss")
    assert status == 409
    assert told["detail"].startswith("viewer is none of the settings")


def test_the_reference_is_made_from_the_description(live: LivePages) -> None:
    page = live.get("/api")
    assert "POST /api/answer" in page.text
    assert "AnswerReply" in page.text
    assert live.get("/docs").status == 404


@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE])
def test_it_does_what_its_openapi_says(live: LivePages, mode: GenerationMode) -> None:
    described = schemathesis.openapi.from_url(f"{live.url}/openapi.json")
    tried: list[int] = []

    @given(described["/api/answer"]["POST"].as_strategy(generation_mode=mode))
    @settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))
    def try_it(case: schemathesis.Case) -> None:
        tried.append(case.call_and_validate().status_code)

    try_it()
    assert tried


# --- a source as its chunks ----------------------------------------------------------------------


@given(st.data())
def test_the_stretches_of_a_chunk_are_its_text(data: st.DataObject) -> None:
    text = data.draw(st.text(min_size=1, max_size=30))
    start = data.draw(st.integers(0, len(text) - 1))
    whole = [
        replace(chunk(text=text), part=0),
        replace(chunk(text=text[start:]), part=1, start=start, end=len(text)),
    ]
    first, last = (data.draw(st.integers(-2, 40)) for _ in range(2))
    shown = pieces(whole, data.draw(st.integers(-1, 2)), first, last)
    for piece in shown:
        assert "".join(stretch for _, stretch in piece.stretches) == piece.chunk.text
        assert all(stretch for _, stretch in piece.stretches)
    again = "".join(stretch for shade, stretch in shown[1].stretches if shade == "again")
    assert shown[1].marked or again == text[start:], "the second chunk only repeats the first"


# --- words for a verdict -------------------------------------------------------------------------


def test_every_verdict_of_the_strict_policy_has_words_in_both_languages() -> None:
    texts = ["gate opens", "gate opened", "gate opening", "gate", "no word of it"]
    hits = [Hit(chunk(f"d{n}", text), cosine=0.9 - n / 5) for n, text in enumerate(texts)]
    dropped = {hit.dropped for hit in rank_strict("gate", hits, 0.4, k=1)} - {""}
    assert len(dropped) == 3
    for words in dropped:
        for lang in TEXTS:
            said, language = why_dropped(words, Translator(lang))
            assert language == lang
            assert said != words


def test_the_hybrid_policy_has_words_too(tmp_path: Path) -> None:
    lab = LabForTests(tmp_path)
    for threshold, words in ((0.2, "Kept"), (1.0, "Nothing found is near enough")):
        lab.settings = lab.settings.having(retrieval={"policy": "hybrid", "threshold": threshold})
        with LivePages(lab) as live:
            page = live.get("/question", q="Zebra quagga?", day=DAY)
        assert page.status == 200
        assert words in page.text
        assert "Policy hybrid: at most 3 passages" in page.text


def test_a_near_duplicate_names_its_canonical_passage() -> None:
    assert why_dropped("the same passage as gate#0", Translator("fr")) == (
        "Dit la même chose que gate#0.",
        "fr",
    )


# --- the command ---------------------------------------------------------------------------------


def test_an_address_that_others_reach_is_refused_without_a_token(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--host", "0.0.0.0", "--port", "0"])
    assert ended.value.code == 2
    assert "so a token is needed: set LABKIT_SERVICE_TOKEN" in capsys.readouterr().err


def test_missing_packages_are_named(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("labkit.cli.serving.find_spec", lambda name: None)
    with pytest.raises(SystemExit) as ended:
        main(["serve"])
    assert ended.value.code == 2
    assert "Run: pip install fastapi uvicorn jinja2 psutil" in capsys.readouterr().err


def test_the_command_starts_without_a_lab_and_writes_no_question_and_no_token(
    tmp_path: Path,
) -> None:
    (tmp_path / "labkit.toml").write_text('source_root = "none"\nwrong = ', encoding="utf-8")
    command = [sys.executable, "-m", "labkit", "serve", "--port", "0"]
    process = subprocess.Popen(
        command,
        cwd=tmp_path,
        env={
            "PATH": "/usr/bin:/bin",
            "PYTHONPATH": str(CHECKOUT),
            "LABKIT_SERVICE_TOKEN": TOKEN,
            "PYTHONUNBUFFERED": "1",
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    assert process.stdout is not None
    watch = threading.Timer(60, process.kill)
    watch.start()
    said = process.stdout.readline()
    found = re.search(r"http://127\.0\.0\.1:(\d+)", said)
    assert found, said
    page = _fetch(int(found[1]), "/question?q=quagga")
    process.send_signal(signal.SIGINT)
    said += process.communicate(timeout=20)[0]
    watch.cancel()
    assert "The settings cannot be used" in page
    assert str(tmp_path) not in page
    assert process.returncode in (0, 130)
    for words in (TOKEN, "quagga", "Traceback"):
        assert words not in said
    shutil.rmtree(tmp_path)


def _fetch(port: int, path: str) -> str:
    from http.client import HTTPConnection

    connection = HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path, headers=basic(TOKEN))
    text = connection.getresponse().read().decode()
    connection.close()
    return text


def _day() -> Any:
    from datetime import date

    return date.fromisoformat(DAY)


def _without_links(text: str) -> str:
    """A page without its own address, which the link to the other language repeats."""
    return re.sub(r'href="[^"]*"', "", text)
