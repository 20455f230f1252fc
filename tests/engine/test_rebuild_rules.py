"""`rebuild` reads under the rules of `ingest`: what these hide is in no index, count or message."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from labkit.assembly import Lab
from labkit.settings import Settings
from labkit.types import DocumentError

FRONT = (
    "---\nid: {id}\ntitle: {id}\nlanguage: en\nscope: ACME/readers\nstatus: approved\n"
    'canonical: true\nvalid_from: 2026-01-01\nversion: "1"\n---\n'
)


def write(path: Path, body: str = "The gate opens at eight.") -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(FRONT.format(id=path.stem) + body + "\n", encoding="utf-8")


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    write(tmp_path / "gate.md")
    return Lab(Settings(home=tmp_path, source_root=str(tmp_path)))


def test_scratch_pages_legacy_inputs_and_ignored_files_are_not_read(lab: Lab) -> None:
    root = lab.settings.corpus
    (root / ".aiignore").write_text("private/\n")
    for hidden in ("SCRATCH.md", "a/SCRATCH.md", "inputs/legacy/old.md", "private/plan.md"):
        write(root / hidden)
    broken = "---\nid: [\n---\nno front matter"
    (root / "inputs/legacy/broken.md").write_text(broken)
    assert [document.id for document in lab.source().documents] == ["gate"]


def test_every_fault_stops_it_and_is_named_a_secret_among_them(lab: Lab) -> None:
    root = lab.settings.corpus
    (root / "bare.md").write_text("no front matter\n")
    write(root / "keys.md", "password = " + json.dumps("tR9-vQ2w-Lk8x"))
    with pytest.raises(DocumentError) as stopped:
        lab.source()
    first, second = str(stopped.value).splitlines()
    assert first.startswith("bare.md: the file has no front matter")
    assert second.startswith("keys.md: it looks as if it held a secret (password in line 11)")
    assert "tR9" not in str(stopped.value)
