"""Real diagnostics pages on loopback, over a small lab whose every document can be seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from builders import ToyEmbedder
from labkit.assembly import Lab
from labkit.indexing import rebuild
from labkit.service.diagnostics.app import LIMITS, diagnostics_app
from labkit.service.diagnostics.session import LabSession
from labkit.service.server import Hosts, Limits, listening_socket, make_server, url_of
from labkit.settings import RetrievalSettings, Settings, ViewerSettings, load_settings
from labkit.types import Embedder, FileFault, IngestRun, Viewer
from live_service import LiveService

ATTIC = "attic of the host"
"""A folder above everything in these labs: no page may ever show it."""
SCRIPT = "<script>alert('gate')</script><img src=x onerror=alert(1)>"
QUESTION = "When does the gate open?"
DAY = "2026-10-23"
READERS = Viewer("ACME", frozenset({"readers"}))
_FRONT = """---
id: {id}
title: {title}
language: {language}
scope: {scope}
status: approved
canonical: true
valid_from: 2026-01-01
valid_until: {until}
version: "1"
---
"""
GATE = f"# The gate\n\nThe gate opens at eight o'clock on working days. {SCRIPT}\n"


def write_documents(root: Path) -> None:
    """Documents for readers, for the board, for another organisation, and one out of date."""
    root.mkdir(parents=True)
    for name, title, language, scope, until, text in (
        ("gate", "The gate & its hours", "en", "ACME/readers", "null", GATE),
        (
            "portail",
            "Le portail",
            "fr",
            "ACME/readers",
            "null",
            "Le portail s’ouvre à huit heures.",
        ),
        ("board", "Sale of the gate", "en", "ACME/board", "null", "The gate is sold in May."),
        ("globex", "Globex gate", "en", "GLOBEX/readers", "null", "The Globex gate opens at one."),
        ("old", "The gate before", "en", "ACME/readers", "2026-02-28", "The gate opened at six."),
    ):
        head = _FRONT.format(id=name, title=title, language=language, scope=scope, until=until)
        (root / f"{name}.md").write_text(head + text, encoding="utf-8")


def settings_in(folder: Path) -> Settings:
    home = folder / ATTIC / "lab"
    home.mkdir(parents=True, exist_ok=True)
    settings = Settings(
        home=home,
        source_root="docs",
        viewer=ViewerSettings(organisation="ACME", scopes=("readers",)),
        viewers={
            "board": ViewerSettings(organisation="ACME", scopes=("readers", "board")),
            "none": ViewerSettings(),
        },
    )
    shipped = load_settings(folder, {})
    return settings.model_copy(
        update={
            "plain": shipped.plain,
            "retrieval": RetrievalSettings(policy="strict", threshold=0.2),
        }
    )


class LabForTests:
    """A lab in a folder, with a toy model in place of its own; opened anew with each call."""

    def __init__(self, folder: Path, model: Embedder | None = None, built: bool = True) -> None:
        self.settings = settings_in(folder)
        self.model = model or ToyEmbedder()
        write_documents(self.settings.corpus)
        if built:
            self.build()

    def __call__(self) -> Lab:
        lab = Lab(self.settings)
        lab.__dict__["model"] = self.model
        return lab

    def build(self) -> None:
        lab = self()
        rebuild(lab.source(), lab.chunker, lab.embedder, lab.store)

    def record(self, **values: object) -> None:
        """Record a finished run in the index's file."""
        store = self().store
        run = IngestRun("ingest", str(self.settings.corpus), "", **{"status": "done", **values})  # type: ignore[arg-type]
        store.finish_run(store.start_run("ingest", run.root), run)

    def record_faults(self) -> None:
        """A run with a fault, a note, and a message that names a path of the host."""
        at = self.settings.corpus / "bad.md"
        faults = (FileFault("guides/bad.md", f"{at}: not UTF-8 ({SCRIPT})."),)
        notes = (FileFault(str(at), "looks as if it held a secret."),)
        self.record(added=3, failed=1, embedded=12, faults=faults, notes=notes)


@dataclass(frozen=True)
class Page:
    """A reply: `text` is its body, `words` the body without markup's escapes."""

    status: int
    headers: Mapping[str, str]
    text: str

    @property
    def words(self) -> str:
        return unescape(self.text)


class LivePages(LiveService):
    """The diagnostics pages of a lab, as long as the `with` block lasts."""

    def __init__(
        self,
        opener: object,
        token: str = "",
        limits: Limits = LIMITS,
        hosts: Hosts | None = None,
    ) -> None:
        import threading

        self._socket = listening_socket("127.0.0.1", 0)
        self.url = url_of(self._socket)
        session = LabSession(opener, limits)  # type: ignore[arg-type]
        app = diagnostics_app(session, hosts or Hosts(frozenset()), token, limits)
        self._server = make_server(app, limits)
        self._thread = threading.Thread(target=self._server.run, args=([self._socket],))

    def get(self, path: str, headers: Mapping[str, str] | None = None, **query: object) -> Page:
        """The page at a path; `from_` in a query is `from`."""
        named = {name.rstrip("_"): value for name, value in query.items()}
        connection = self.connection()
        address = f"{path}?{urlencode(named)}" if named else path
        connection.request("GET", address, headers=dict(headers or {}))
        reply = connection.getresponse()
        body = reply.read().decode()
        connection.close()
        found = {name.lower(): reply.getheader(name, "") for name, _ in reply.getheaders()}
        return Page(reply.status, found, body)
