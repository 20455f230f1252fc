"""Reading folders: what may be read is, what may not is not, and no fault stops a run."""

from __future__ import annotations

import contextlib
import io
import os
import shutil
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, TypeAlias
from unicodedata import normalize

import pypdf
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from classroom.corpus_pdf import make_pdfs, pdf_bytes
from conftest import CHECKOUT
from labkit.chunking.markdown import MarkdownChunker
from labkit.documents import Counts, Folder, Plain, Rules, pdf, read_folder
from labkit.documents.fingerprint import content_hash
from labkit.documents.ignoring import is_ignored
from labkit.documents.pdf import PAGE_BREAK, PdfLimits, pdf_pages
from labkit.documents.plain import derived_id
from labkit.documents.walking import walk
from labkit.types import DocumentError, FileFault, LabError

PLAIN = Plain("ACME/readers")
OPEN = Rules(plain=PLAIN)
FIELDS = """\
title: Title
language: en
scope: ACME/readers
status: approved
canonical: true
valid_from: 2026-01-01
version: "1"
"""
Form: TypeAlias = Literal["NFC", "NFD"]
ON_LINUX = pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")


def governed(name: str, body: str = "Body.\n") -> str:
    return f"---\nid: {name}\n{FIELDS}---\n{body}"


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return root


def names(root: Path, rules: Rules = OPEN) -> list[str]:
    return [path.relative_to(root).as_posix() for path in walk(root, rules).files]


def ids(tree: Folder) -> list[str]:
    return [document.id for document in tree.documents]


def faults_of(found: Sequence[FileFault]) -> dict[str, str]:
    return {fault.path: fault.message for fault in found}


def faults(tree: Folder) -> dict[str, str]:
    return faults_of(tree.faults)


# --- which files ----------------------------------------------------------------------------------

KINDS = ["a.md", "b.MD", "c.markdown", "d.txt", "e.pdf", "f.rst", "g", "sub/h.md", "sub/deep/i.md"]


@pytest.mark.parametrize(
    ("rules", "found"),
    [
        (Rules(), "a.md b.MD c.markdown sub/deep/i.md sub/h.md"),
        (Rules(text=True), "a.md b.MD c.markdown d.txt sub/deep/i.md sub/h.md"),
        (Rules(pdf=True), "a.md b.MD c.markdown e.pdf sub/deep/i.md sub/h.md"),
        (Rules(included=["*.md"]), "a.md b.MD c.markdown"),
        (Rules(included=["sub/**/*.md"]), "sub/deep/i.md sub/h.md"),
        (Rules(included=["sub/*.md"]), "sub/h.md"),
        (Rules(included=["sub/**"]), "sub/deep/i.md sub/h.md"),
        (Rules(included=["**"]), "a.md b.MD c.markdown sub/deep/i.md sub/h.md"),
        (Rules(included=["**/**/i.md", "./a.md"]), "a.md sub/deep/i.md"),
        (Rules(included=["*.rst", "d.txt"]), "d.txt f.rst"),
        (Rules(included=["[ab].*"], text=True), "a.md b.MD"),
        (Rules(included=[]), ""),
        (Rules(excluded=["sub"]), "a.md b.MD c.markdown"),
        (Rules(excluded=["SUB/deep/"]), "a.md b.MD c.markdown sub/h.md"),
        (Rules(excluded=["**/*.md"]), "c.markdown"),
        (Rules(excluded=["**/i.*", "?.markdown"]), "a.md b.MD sub/h.md"),
    ],
)
def test_patterns_choose_files_by_path_and_kind(tmp_path: Path, rules: Rules, found: str) -> None:
    assert names(write(tmp_path, dict.fromkeys(KINDS, "Text.")), rules) == found.split()


@pytest.mark.parametrize(("said", "written"), [("NFC", "NFD"), ("NFD", "NFC"), ("NFD", "NFD")])
def test_an_accent_is_one_however_a_system_writes_it(
    tmp_path: Path, said: Form, written: Form
) -> None:
    """A Mac may hand out names with the accent as a character of its own."""
    asked, name = normalize(said, "reçu/é?en.md"), normalize(written, "reçu/éçen.md")
    write(tmp_path, {name: "Text.", "a.md": "password: Summer2026!"})
    assert name in names(tmp_path)
    assert names(tmp_path, Rules(included=[asked])) == [name]
    assert names(tmp_path, Rules(excluded=[asked])) == ["a.md"]
    assert names(tmp_path, Rules(excluded=[normalize(said, "RE\u00c7U")])) == ["a.md"]
    assert Rules(allow_secrets=[asked]).allows_secrets(name)
    for rule in (asked, normalize(said, "reçu/"), normalize(said, "[é]*.md")):
        write(tmp_path, {".aiignore": rule})
        assert names(tmp_path) == ["a.md"]


@pytest.mark.parametrize("pattern", ["", "/", "/etc/*.md", "../*.md", "a/../../b.md"])
def test_a_pattern_that_leads_nowhere_is_refused(pattern: str) -> None:
    for place in ("included", "excluded", "allow_secrets"):
        with pytest.raises(DocumentError, match="matches no path below a folder"):
            Rules(**{place: [pattern]})


def test_the_root_has_to_be_a_folder(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="is not a folder"):
        walk(tmp_path / "missing", OPEN)


SILENT = {
    "SCRATCH.md": b"\xff broken",
    "a/b/SCRATCH.md": governed("kept"),
    "a/SCRATCH.MD": "---\nid: x\n---\n",
    "a/SCRATCH.txt": "x\x00",
    "a/c/Scratch.md": governed("kept"),
    "scratch.markdown": governed("kept"),
    "b/Inputs/Legacy/old.md": governed("kept"),
    "c/INPUTS/legacy/old.md": governed("kept"),
    "inputs/legacy/old.md": b"\xff broken",
    "a/inputs/legacy/deep/old.md": governed("kept"),
    "a/inputs/legacy/.aiignore": b"\xff",
}


def test_scratch_pages_and_legacy_inputs_leave_no_trace(tmp_path: Path) -> None:
    rules = Rules(plain=PLAIN, text=True)
    tree = read_folder(write(tmp_path, {**SILENT, "kept.md": governed("kept")}), rules)
    assert (ids(tree), tree.products, tree.faults, tree.notes) == (["kept"], [], (), ())


def test_neighbours_of_the_names_left_out_are_read(tmp_path: Path) -> None:
    files = ["scratches.md", "MY-SCRATCH.md", "inputs/new.md", "legacy/a.md", "inputs-legacy/a.md"]
    assert names(write(tmp_path, dict.fromkeys(files, "Text."))) == sorted(files)


def test_legacy_inputs_are_read_on_request_and_scratch_pages_never(tmp_path: Path) -> None:
    rules = Rules(plain=PLAIN, legacy=True)
    assert names(write(tmp_path, dict.fromkeys(SILENT, "")), rules) == [
        "a/inputs/legacy/deep/old.md",
        "b/Inputs/Legacy/old.md",
        "c/INPUTS/legacy/old.md",
        "inputs/legacy/old.md",
    ]


def test_a_root_called_inputs_does_not_open_its_legacy_folder(tmp_path: Path) -> None:
    write(tmp_path, {"inputs/legacy/old.md": "Old.", "inputs/new.md": "New."})
    assert names(tmp_path / "inputs") == ["new.md"]
    assert names(tmp_path / "inputs/legacy") == ["old.md"]  # named outright


def test_what_tools_keep_is_not_walked(tmp_path: Path) -> None:
    files = [".git/a.md", ".hidden.md", "node_modules/p/README.md", "a/.venv/b.md", "a/c.md"]
    assert names(write(tmp_path, dict.fromkeys(files, "Text."))) == ["a/c.md"]


def test_no_link_is_followed_and_loops_end(tmp_path: Path) -> None:
    outside = write(tmp_path / "outside", {"secret.md": "Not yours."})
    root = write(tmp_path / "root", {"a.md": "A.", "sub/b.md": "B.", "SCRATCH.md": "No."})
    links = {
        "out.md": outside / "secret.md",
        "out": outside,
        "inside.md": root / "a.md",
        "renamed.md": root / "SCRATCH.md",
        "dangling.md": root / "nothing",
        "sub/loop": root,
        "self": root / "self",
        "products.yaml": outside / "secret.md",
    }
    for name, target in links.items():
        (root / name).symlink_to(target)
    if hasattr(os, "mkfifo"):
        os.mkfifo(root / "pipe.md")
    assert names(root) == ["a.md", "sub/b.md"]
    assert read_folder(root, OPEN).faults == ()
    (tmp_path / "door").symlink_to(root)
    assert names(tmp_path / "door") == ["a.md", "sub/b.md"]  # the root itself may be a link


# --- .aiignore ------------------------------------------------------------------------------------


def test_a_folder_whose_content_is_ignored_can_give_a_file_back(tmp_path: Path) -> None:
    files = {
        ".aiignore": "archive/**\n!archive/keep.md\n",
        "archive/keep.md": "",
        "archive/a.md": "",
    }
    assert names(write(tmp_path, files)) == ["archive/keep.md"]


def test_an_ignored_folder_gives_nothing_back(tmp_path: Path) -> None:
    files = {".aiignore": "archive/\n!archive/keep.md\n", "archive/keep.md": "", "a.md": ""}
    assert names(write(tmp_path, files)) == ["a.md"]


def test_a_nested_file_counts_in_its_folder_and_before_those_above(tmp_path: Path) -> None:
    files = {
        ".aiignore": "*.tmp.md\n/top.md\n",
        "a/.aiignore": "!keep.tmp.md\n/only-here.md\n",
        **dict.fromkeys(["top.md", "a/top.md", "x.tmp.md", "a/x.tmp.md", "a/keep.tmp.md"], ""),
        **dict.fromkeys(["keep.tmp.md", "a/only-here.md", "only-here.md", "a/b/only-here.md"], ""),
    }
    assert names(write(tmp_path, files)) == [
        "a/b/only-here.md",
        "a/keep.tmp.md",
        "a/top.md",
        "only-here.md",
    ]


def test_line_ends_comments_and_blanks_are_those_of_git(tmp_path: Path) -> None:
    rules = "\ufeffa.md\r\n# b.md\r\n\r\nc.md   \n\\#d.md\n\\!e.md\n f.md\n"
    files = dict.fromkeys(["a.md", "b.md", "c.md", "#d.md", "!e.md", "f.md", " f.md"], "")
    assert names(write(tmp_path, {".aiignore": rules, **files})) == ["b.md", "f.md"]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\xff", "byte 0 is not UTF-8"),
        (b"a.md\n!\n", ""),  # for git, too, a line that says nothing
        (b"a.md\nb\\\n", "line 2 is no pattern"),
        (b"[[:alpha:]].md\n", "line 1 cannot be read here"),
        (b"a.md\rb.md\r", "line 1 ends as on an old Mac"),
        (b"a.md\nb.md\r\r\n", "line 2 ends as on an old Mac"),
        (b"x" * 100_001, "over 100,000 bytes"),
    ],
)
def test_a_folder_with_rules_that_cannot_be_understood_stays_closed(
    tmp_path: Path, content: bytes, said: str
) -> None:
    files = {"top.md": "", "sub/.aiignore": content, "sub/b.md": "", "sub/deep/c.md": ""}
    tree = read_folder(write(tmp_path, files), OPEN)
    if not said:
        assert len(tree.documents) == 3 and tree.faults == ()
        return
    assert ids(tree) == ["top"]
    (fault,) = tree.faults
    assert fault.path == "sub/.aiignore"
    assert said in fault.message and fault.message.endswith(
        "Nothing in this folder is read until then."
    )


def test_rules_are_not_taken_from_a_link_or_a_folder(tmp_path: Path) -> None:
    write(tmp_path, {"elsewhere": "", "a/x.md": "", "b/x.md": "", "b/.aiignore/y": ""})
    (tmp_path / "a/.aiignore").symlink_to(tmp_path / "elsewhere")
    assert set(faults(read_folder(tmp_path, OPEN))) == {"a/.aiignore", "b/.aiignore"}


def test_nothing_is_ignored_without_a_file_of_rules() -> None:
    assert not is_ignored("a.md", False, [])


_NAME = st.sampled_from(["a", "b", "ab", "a.md", "b.md", "foo"])
_PATH = st.lists(_NAME, min_size=1, max_size=4).map("/".join)
_PIECE = st.sampled_from(["a", "b", "*", "**", "*.md", "a*", "?", "[ab]", "foo", "a.md", "*b*"])
_LINE = st.builds(
    "{}{}{}{}".format,
    st.sampled_from(["", "", "!", "#", "\\"]),
    st.sampled_from(["", "", "/"]),
    st.lists(_PIECE, min_size=1, max_size=3).map("/".join),
    st.sampled_from(["", "", "/", " ", "\\ ", "/**"]),
)
_RULES = st.lists(_LINE, max_size=4).map("\n".join)


def listed_by_git(source: Path) -> list[str]:
    """The files below a folder of a repository that git would add, by its `.aiignore` files."""
    listing = ["ls-files", "-z", "--others", "--exclude-per-directory=.aiignore"]
    git = ["git", "-c", "core.excludesFile=", "-C", str(source), *listing]
    done = subprocess.run(git, check=True, capture_output=True, text=True)
    return [name for name in done.stdout.split("\0") if name and not name.endswith(".aiignore")]


@pytest.mark.skipif(not shutil.which("git"), reason="git is not installed")
@settings(max_examples=100, deadline=None)
@given(st.lists(_PATH, min_size=1, max_size=8), _RULES, st.dictionaries(_NAME, _RULES, max_size=2))
def test_git_ignores_the_same_files_wherever_one_starts(
    paths: list[str], top: str, nested: dict[str, str]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        subprocess.run(["git", "-C", folder, "init", "-q"], check=True)
        for path in paths:
            with contextlib.suppress(FileExistsError, NotADirectoryError):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path / "x.md" if (root / path).is_dir() else root / path).touch()
        for where, rules in {"": top, **nested}.items():
            if (root / where).is_dir():
                (root / where / ".aiignore").write_text(rules, encoding="utf-8")
        for source in (root, *(path for path in root.glob("[!.]*") if path.is_dir())):
            found = walk(source, OPEN)
            assume(not [fault for fault in found.faults if "no pattern" in fault.message])
            read = {path.relative_to(source).as_posix() for path in found.files}
            assert read == {name for name in listed_by_git(source) if name.endswith(".md")}


def test_rules_above_the_source_hold_up_to_the_root_of_its_repository(tmp_path: Path) -> None:
    files = {
        ".aiignore": "docs/outside.md\n",
        "repo/.git/HEAD": "",
        "repo/.aiignore": "docs/private/\n*.tmp.md\n",
        **dict.fromkeys(["repo/docs/ok.md", "repo/docs/outside.md", "repo/docs/a.tmp.md"], "Text."),
        "repo/docs/private/pay.md": "Text.",
    }
    write(tmp_path, files)
    assert names(tmp_path / "repo/docs") == ["ok.md", "outside.md"]
    tree = read_folder(tmp_path / "repo/docs/private", OPEN)
    assert tree.documents == [] and tree.seen
    said = faults(tree)["."]
    assert said.startswith("a .aiignore above it ignores ") and said.endswith(
        "docs/private. Nothing in this folder is read until then."
    )


def test_without_a_repository_rules_hold_from_the_home_folder_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = dict.fromkeys([".aiignore", "home/.aiignore"], "b.md\n")
    write(
        tmp_path, {**files, ".aiignore": "a.md\n", "home/docs/a.md": "A.", "home/docs/b.md": "B."}
    )
    assert names(tmp_path / "home/docs") == []
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("USERPROFILE", str(tmp_path / "home"))
    assert names(tmp_path / "home/docs") == ["a.md"]


def test_rules_above_that_cannot_be_understood_close_the_source(tmp_path: Path) -> None:
    write(tmp_path, {".aiignore": "b\\\n", "docs/a.md": "A.", "docs/.git/HEAD": ""})
    assert names(tmp_path / "docs") == ["a.md"]
    shutil.rmtree(tmp_path / "docs/.git")
    said = faults(read_folder(tmp_path / "docs", OPEN))["."]
    assert said.startswith(f"{tmp_path / '.aiignore'}: line 1 is no pattern")


@pytest.mark.filterwarnings("error")
def test_a_bracket_in_a_set_is_a_bracket_and_no_warning(tmp_path: Path) -> None:
    write(tmp_path, {".aiignore": "a[[]1].md\n", "a[1].md": "Text.", "a1.md": "Text."})
    assert names(tmp_path) == ["a1.md"]
    assert names(tmp_path, Rules(plain=PLAIN, excluded=["a[[]1].md"])) == ["a1.md"]


def test_what_is_left_out_is_counted(tmp_path: Path) -> None:
    files = dict.fromkeys(
        ["a.md", "b.txt", "c.png", ".gitbook/d.md", "node_modules/e/f.md", ".g.md", "out/h.md"], ""
    )
    ignored = {"i/j.md": "", "k.md": "", "SCRATCH.md": "", "inputs/legacy/l.md": ""}
    write(tmp_path, {**files, **ignored, ".aiignore": "i/\nk.md\n"})
    tree = read_folder(tmp_path, Rules(plain=PLAIN, excluded=["out"]))
    assert tree.counts == Counts(read=1, left_out=3, hidden=3, ignored=2)


# --- one fault a file, and nothing stops ----------------------------------------------------------

BROKEN: dict[str, tuple[str | bytes, str]] = {
    "latin.md": (b"caf\xe9", "byte 3 is not UTF-8. Save the file as UTF-8."),
    "nul.md": ("a\nb\x00", "line 2 holds control character U+0000. Remove it."),
    "bare.md": ("Body.", "the file has no front matter. Start it with a '---' block."),
    "yaml.md": ("---\nid: [a\n---\n", "front matter: this is not valid YAML: "),
    "open.md": ("---\nid: a\n", "the front matter opens with '---' and never closes"),
    "partial.md": ("---\nid: a\n---\n", "the front matter lacks 'title'. Add a line 'title: …'."),
    "large.md": (governed("large", "x" * 2000), "the file is over 1,000 bytes. Split it."),
    "product.md": (governed("PRODUCT-X"), "'id' is 'PRODUCT-X'; 'PRODUCT-' is kept for product"),
    "twice.md": (governed("first"), "'id' is 'first', which first.md has already. Give one of"),
}


def test_each_broken_file_has_its_fault_and_the_others_are_read(tmp_path: Path) -> None:
    write(tmp_path, {name: content for name, (content, _) in BROKEN.items()})
    write(tmp_path, {"first.md": governed("first"), "z/last.md": governed("last")})
    tree = read_folder(tmp_path, Rules(max_bytes=1000))
    assert ids(tree) == ["first", "last"]
    assert tree.documents[0].meta.path == "first.md"
    assert [fault.path for fault in tree.faults] == sorted(BROKEN)
    for name, message in faults(tree).items():
        assert message.startswith(BROKEN[name][1]), name


def test_the_starter_corpus_is_read_without_a_fault() -> None:
    tree = read_folder(CHECKOUT / "corpus/starter", Rules())
    assert len(tree.documents) == 23
    assert [product.code for product in tree.products] == ["GX-100", "GX-200"]
    assert (tree.faults, tree.notes) == ((), ())


def test_progress_is_told_after_each_file(tmp_path: Path) -> None:
    told: list[tuple[int, int]] = []
    files = {"a.md": "A.", "b.md": b"\xff", "c.md": "C.", "SCRATCH.md": "No."}
    read_folder(write(tmp_path, files), OPEN, lambda done, every: told.append((done, every)))
    assert told == [(1, 3), (2, 3), (3, 3)]


@contextlib.contextmanager
def as_nobody() -> Iterator[None]:
    """Without the rights of root, whom no permission stops."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter, as `tmp_path` is not."""
    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.mark.skipif(os.name == "nt", reason="permissions of POSIX")
def test_what_may_not_be_opened_is_a_fault(open_folder: Path) -> None:
    write(open_folder, {"a.md": "A.", "b.md": "B.", "locked/c.md": "C.", "rules/.aiignore": "x"})
    write(open_folder, {"rules/d.md": "D.", "inputs/legacy/e.md": "E.", "SCRATCH.md": "F."})
    closed = ["b.md", "locked", "rules/.aiignore", "inputs/legacy", "SCRATCH.md"]
    for name in closed:
        (open_folder / name).chmod(0)
    try:
        with as_nobody():
            tree = read_folder(open_folder, OPEN)
    finally:
        for name in closed:
            (open_folder / name).chmod(0o755)
    assert ids(tree) == ["a"]
    assert faults(tree) == {
        "b.md": "the file cannot be read (Permission denied).",
        "locked": "the folder cannot be read (Permission denied).",
        "rules/.aiignore": "it cannot be read (Permission denied). "
        "Nothing in this folder is read until then.",
    }


@ON_LINUX
def test_a_folder_too_deep_to_be_named_is_a_fault(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "A."})
    here, long = os.open(tmp_path, os.O_RDONLY), "d" * 200
    for _ in range(25):
        os.mkdir(long, dir_fd=here)
        below = os.open(long, os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    tree = read_folder(tmp_path, OPEN)
    assert ids(tree) == ["a"]
    (fault,) = tree.faults
    assert fault.message == "the folder cannot be read (File name too long)."
    shutil.rmtree(tmp_path / long)


@ON_LINUX
def test_any_legal_name_is_read_and_what_is_printed_of_it_is_printable(tmp_path: Path) -> None:
    for name in (b"caf\xe9.md", b"red\x1b[31m.md", b"two\nlines.md"):
        Path(os.fsdecode(os.path.join(os.fsencode(tmp_path), name))).write_text(
            "---\nid: a\nscope: A/b"
        )
    write(tmp_path, {"ok\x1b.md": "Text."})
    tree = read_folder(tmp_path, OPEN)
    assert faults(tree)["caf\\udce9.md"] == "the file's name is not UTF-8. Rename it."
    assert "red\\x1b[31m.md" in faults(tree)
    assert [(item.id[:3], item.meta.title) for item in tree.documents] == [("ok-", "ok")]
    for fault in tree.faults:
        assert (fault.path + fault.message).isprintable()
        (fault.path + fault.message).encode()


# --- secrets --------------------------------------------------------------------------------------


END = "is left out. Remove the secret, or allow the file if it is none."


def test_the_passage_of_a_secret_is_left_out_and_its_page_is_kept(tmp_path: Path) -> None:
    token = 'api_key: "9f86d081884c7d659a2feaa0c55ad015"'
    code = f"```ini\n{token}\nhost = y\n```\n"
    body = f"# Keys\n\nBefore.\n\nThe host is x.\n{token}\n\n- After.\n\n{code}"
    tree = read_folder(write(tmp_path, {"keys.md": governed("keys", body)}), OPEN)
    (item,) = tree.documents
    assert len(item.text) == len(governed("keys", body))
    assert item.text[item.body_start :].split() == ["#", "Keys", "Before.", "-", "After."]
    assert item.content_hash == content_hash(item.meta, item.text)
    said = f"(key or token in line 16, key or token in line 21): the passage {END}"
    assert faults_of(tree.notes) == {"keys.md": f"it looks as if it held a secret {said}"}
    assert tree.counts.secrets == 2
    with pytest.raises(DocumentError, match=r"keys.md: it looks as if it held a secret"):
        tree.checked()
    (allowed,) = read_folder(tmp_path, Rules(plain=PLAIN, allow_secrets=["k*.md"])).documents
    assert allowed.text == governed("keys", body)


def test_a_private_key_goes_as_a_whole_and_a_table_with_its_heads(tmp_path: Path) -> None:
    body = "MIIEowIBAAKCAQEA3Tz2mr7SZiAMfQyuvBjM9OiJjRazXBZ1BjP5CE"
    key = f"-----BEGIN RSA PRIVATE KEY-----\n{body}\n\n{body}\n-----END RSA PRIVATE KEY-----"
    table = (
        "| Name | Value |\n|---|---|\n| Host | x |\n| api_key | 7c9e6679f9b64d3e8f1a2b3c4d5e6f70 |"
    )
    write(tmp_path, {"a.md": f"Kept.\n\n{key}\n\n{table}\n\nKept too.\n"})
    (item,) = read_folder(tmp_path, OPEN).documents
    assert item.text.split("\n") == [
        "Kept.", *(" " * len(line) for line in f"\n{key}\n\n{table}\n".split("\n")), "Kept too.", ""
    ]  # fmt: skip


def test_a_secret_in_front_matter_takes_its_line_and_no_message_quotes_it(tmp_path: Path) -> None:
    lines = "".join(f"password{n} = x\n\npassword = 'hunter{n}!'\n\n" for n in range(4))
    files = {"front.md": '---\ntitle: T\npassword: "Tr0ub4dor!3\n---\nText.', "many.md": lines}
    tree = read_folder(write(tmp_path, files), OPEN)
    assert [item.meta.title for item in tree.documents] == ["T", "many"]
    assert tree.faults == ()
    assert faults_of(tree.notes) == {
        "front.md": f"it looks as if it held a secret (password in line 3): the passage {END}",
        "many.md": "it looks as if it held a secret (password in line 3, password in line 7, "
        f"password in line 11 and 1 more): the passage {END}",
    }
    assert "ub4dor" not in str(tree)


# --- product facts --------------------------------------------------------------------------------

PRODUCTS = """\
products:
  - code: GX-1
    name: Gateway
    language: en
    scope: ACME/readers
    status: approved
    canonical: true
    valid_from: 2026-01-01
    version: "1"
    facts:
      Warranty: 24 months
"""


def test_product_facts_of_the_root_are_read_under_the_same_rules(tmp_path: Path) -> None:
    write(tmp_path, {"products.yaml": PRODUCTS, "sub/products.yaml": "broken: ["})
    assert [product.code for product in read_folder(tmp_path, OPEN).products] == ["GX-1"]
    assert read_folder(tmp_path, Rules(excluded=["products.yaml"])).products == []
    write(tmp_path, {".aiignore": "products.yaml\n"})
    assert read_folder(tmp_path, OPEN) == Folder([], [], (), ())


def test_a_fault_or_a_secret_in_product_facts_stops_no_document(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "A.", "products.yaml": PRODUCTS.replace("code: GX-1", "code: 7")})
    tree = read_folder(tmp_path, OPEN)
    assert ids(tree) == ["a"] and tree.products == []
    said = "entry 1: 'code' must be text on one line; quote it."
    assert faults(tree) == {"products.yaml": said}
    write(
        tmp_path, {"products.yaml": PRODUCTS.replace("Warranty: 24 months", "Password: k9!fPq2xz")}
    )
    tree = read_folder(tmp_path, OPEN)
    assert tree.products == [] and tree.faults == ()
    assert [note.path for note in tree.notes] == ["products.yaml"]


# --- PDF ------------------------------------------------------------------------------------------

READ_PDF = Rules(plain=PLAIN, pdf=True)


def pdf_of(*pages: str) -> bytes:
    return pdf_bytes([page.split("\n") for page in pages], "test")


def rewritten(raw: bytes, **options: str) -> bytes:
    """The same PDF, encrypted."""
    writer, out = pypdf.PdfWriter(clone_from=io.BytesIO(raw)), io.BytesIO()
    writer.encrypt(**options)
    writer.write(out)
    return out.getvalue()


def test_a_pdf_is_read_by_page_and_its_chunks_know_theirs(tmp_path: Path) -> None:
    make_pdfs(CHECKOUT / "corpus/knowledge/pdf", tmp_path)
    tree = read_folder(tmp_path, Rules(pdf=True))
    assert ids(tree) == ["acm-f-017-installation-certificate", "fds-nettoyant-nc-5"]
    assert (tree.faults, tree.notes) == ((), ())
    for document in tree.documents:
        raw = (tmp_path / document.meta.path).read_bytes()
        pages = [page.extract_text() for page in pypdf.PdfReader(io.BytesIO(raw)).pages]
        assert document.text == PAGE_BREAK.join(pages) and document.body_start == 0
        assert len(document.page_starts) == len(pages)
        for start, page in zip(document.page_starts, pages, strict=True):
            assert document.text.startswith(page, start)
        chunks = MarkdownChunker().chunk(document)
        assert [item.page for item in chunks] == sorted(item.page for item in chunks)
        assert {item.page for item in chunks} == set(range(1, len(pages) + 1))
        for item in chunks:
            assert item.text == document.text[item.start : item.end]
            assert item.text in pages[item.page - 1]


def test_a_pdf_is_governed_by_the_file_beside_it_or_by_plain(tmp_path: Path) -> None:
    files = {
        "governed.pdf": pdf_of("One."),
        "governed.pdf.yaml": f"id: governed\n{FIELDS}".replace("readers", "support"),
        "sub/My Plan.PDF": pdf_of("Two."),
        "foreign.pdf": pdf_of("Three."),
        "foreign.pdf.yaml": "permalink: /x\ndraft: true\n",
    }
    tree = read_folder(write(tmp_path, files), READ_PDF)
    assert tree.faults == ()
    told = {d.id: (d.meta.title, d.meta.scope, d.meta.status) for d in tree.documents}
    assert told == {
        "governed": ("Title", "ACME/support", "approved"),
        derived_id("sub/My Plan.PDF"): ("My Plan", "ACME/readers", "approved"),
        "foreign.pdf": ("foreign", "ACME/readers", "draft"),
    }
    assert faults(read_folder(tmp_path, Rules(pdf=True)))["sub/My Plan.PDF"] == (
        "nothing states who may read this PDF. "
        "Write its front matter into My Plan.PDF.yaml beside it."
    )


@pytest.mark.parametrize(
    ("beside", "said"),
    [
        ("id: a\nscope: A/b", "a.pdf.yaml: the front matter lacks 'title'. Add a line 'title: …'."),
        ("- a\n- b\n", "a.pdf.yaml: it holds no 'name: value' lines."),
        ("id: [", "a.pdf.yaml: this is not valid YAML: "),
        (b"\xff", "a.pdf.yaml: byte 0 is not UTF-8. Save the file as UTF-8."),
        (None, "a.pdf.yaml: it is a link. Put the file itself there."),
    ],
)
def test_governance_beside_a_pdf_is_never_guessed(tmp_path: Path, beside, said: str) -> None:
    write(tmp_path, {"a.pdf": pdf_of("One.")})
    if beside is None:
        (tmp_path / "a.pdf.yaml").symlink_to(tmp_path / "nothing")
    else:
        write(tmp_path, {"a.pdf.yaml": beside})
    tree = read_folder(tmp_path, READ_PDF)
    assert tree.documents == []
    assert faults(tree)["a.pdf"].startswith(said)


def test_each_broken_pdf_has_its_fault_and_the_others_are_read(tmp_path: Path) -> None:
    good = pdf_of("Good.")
    files: dict[str, str | bytes] = {
        "good.pdf": good,
        "cut.pdf": good[: len(good) // 2],
        "empty.pdf": b"",
        "encrypted.pdf": rewritten(good, user_password="x", algorithm="RC4-128"),
        "image.pdf": pdf_of("", ""),
        "large.pdf": good + b" " * 50_000,
        "text.pdf": "This is no PDF.",
        "secret.pdf": pdf_of("One.", "Two.\npassword: Summer2026!"),
    }
    rules = Rules(plain=PLAIN, pdf=True, max_pdf_bytes=50_000)
    tree = read_folder(write(tmp_path, files), rules)
    assert ids(tree) == ["good.pdf", "secret.pdf"]
    assert tree.documents[1].text.split("\n") == ["One.", "", "\f", "Two.", " " * 21, ""]
    said = faults(tree)
    assert sorted(said) == [
        "cut.pdf",
        "empty.pdf",
        "encrypted.pdf",
        "image.pdf",
        "large.pdf",
        "text.pdf",
    ]
    assert said["encrypted.pdf"] == "the PDF is encrypted. Save a copy without a password."
    assert said["image.pdf"].startswith("the PDF holds no text, perhaps a scan.")
    assert said["large.pdf"] == "the file is over 50,000 bytes. Split it."
    for name in ("cut.pdf", "empty.pdf", "text.pdf"):
        assert said[name].startswith("the PDF is broken (")
    assert [(note.path, "password in page 2, line 2" in note.message) for note in tree.notes] == [
        ("secret.pdf", True)
    ]


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (PdfLimits(pages=2), "a.pdf: the PDF has more than 2 pages. Split it."),
        (PdfLimits(characters=10), "a.pdf: the PDF has more than 10 characters. Split it."),
        (PdfLimits(seconds=0.001), "a.pdf: the PDF was not read within 0.001 seconds."),
    ],
)
def test_a_pdf_beyond_the_limits_is_refused(limits: PdfLimits, said: str) -> None:
    raw = pdf_of("Page one.", "Page two.", "Page three.")
    assert pdf_pages(raw, "a.pdf") == (["Page one.\n", "Page two.\n", "Page three.\n"], [])
    with pytest.raises(DocumentError, match=said):
        pdf_pages(raw, "a.pdf", limits)


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("import time; time.sleep(60)", "was not read within 1 seconds"),
        ("import os; os.abort()", "ended the process that read it"),
        ("print('no reply')", "ended the process that read it"),
    ],
)
def test_a_pdf_that_takes_its_reader_down_stops_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, program: str, said: str
) -> None:
    write(tmp_path, {"worker.py": program})
    monkeypatch.setattr(pdf, "_WORKER", tmp_path / "worker.py")
    with pytest.raises(DocumentError, match=said):
        pdf_pages(pdf_of("One."), "a.pdf", PdfLimits(seconds=1))


def test_a_pdf_that_unpacks_to_more_than_it_may_is_refused() -> None:
    raw = pdf_of("One.")
    page = zlib.compress(b"BT " + b" " * 100_000_000 + b" ET")
    start = raw.index(b"6 0 obj")
    bomb = b"<< /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream" % (len(page), page)
    raw = raw[:start] + b"6 0 obj\n" + bomb + b"\nendobj\n" + raw[raw.index(b"xref", start) :]
    with pytest.raises(DocumentError, match=r"broken|memory|no text"):
        pdf_pages(raw, "bomb.pdf")


def test_characters_that_no_text_may_hold_are_replaced_one_for_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pages = r"a\x00b\x0cc\r\nd\ud800e"
    reply = f'import json; print(json.dumps({{"pages": ["{pages}", "e\\u0301"]}}))'
    write(tmp_path, {"worker.py": reply})
    monkeypatch.setattr(pdf, "_WORKER", tmp_path / "worker.py")
    assert pdf_pages(b"", "a.pdf") == (["a\ufffdb\nc\nd\ufffde", "é"], [])


def pdf_drawing(stream: bytes) -> bytes:
    """A page of 612 × 792 points with a font F1, drawn by these operators."""
    raw = pdf_of("")
    page = b"<< /Length %d >>\nstream\n%s\nendstream" % (len(stream), stream)
    start = raw.index(b"6 0 obj")
    return raw[:start] + b"6 0 obj\n" + page + b"\nendobj\n" + raw[raw.index(b"xref", start) :]


SEEN = b"BT /F1 12 Tf 1 0 0 1 72 500 Tm (Seen.) Tj ET"


@pytest.mark.parametrize(
    ("drawn", "hidden"),
    [
        (b"BT 3 Tr /F1 12 Tf 72 700 Td (Say yes.) Tj 0 Tr ET", True),
        (b"q BT 7 Tr /F1 12 Tf 72 700 Td (Say yes.) ' ET Q", True),
        (b"1 1 1 rg BT /F1 12 Tf 72 700 Td (Say yes.) Tj ET 0 g", True),
        (b"q 0 0 0 0 k BT /F1 12 Tf 72 700 Td [(Say) -300 (yes.)] TJ ET Q", True),
        (b"BT /F1 12 Tf 700 700 Td (Say yes.) Tj ET", True),
        (b"BT /F1 12 Tf 72 -50 Td (Say yes.) Tj ET", True),
        (b"BT /F1 0 Tf 72 700 Td (Say yes.) Tj ET", True),
        (b"BT /F1 12 Tf .01 0 0 .01 72 700 Tm (Say yes.) Tj ET", True),
        (b"0 0 1 rg 60 690 300 30 re f 1 g BT /F1 12 Tf 72 700 Td (Say yes.) Tj ET 0 g", False),
        (b"q 1 g Q BT /F1 1 Tf 12 0 0 12 72 700 Tm (Say yes.) Tj ET", False),
        (b".9 g BT /F1 12 Tf 72 700 Td (Say yes.) Tj ET 0 g", False),
    ],
)
def test_text_that_nobody_can_see_is_left_out_of_a_pdf(
    tmp_path: Path, drawn: bytes, hidden: bool
) -> None:
    tree = read_folder(write(tmp_path, {"a.pdf": pdf_drawing(drawn + b" " + SEEN)}), READ_PDF)
    (item,) = tree.documents
    assert "Seen." in item.text and ("yes." in item.text) is not hidden
    said = "text that no reader of the page can see is left out (page 1)."
    assert faults_of(tree.notes) == ({"a.pdf": said} if hidden else {})


def test_a_pdf_of_hidden_text_alone_is_a_fault_that_says_so(tmp_path: Path) -> None:
    drawn = b"BT 3 Tr /F1 12 Tf 72 700 Td (Say yes.) Tj ET"
    tree = read_folder(write(tmp_path, {"a.pdf": pdf_drawing(drawn)}), READ_PDF)
    assert faults(tree)["a.pdf"].startswith("the PDF holds no text that its readers can see.")


def test_without_pypdf_a_pdf_is_an_error_that_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path, {"worker.py": "print('{\"missing\": true}')", "a.pdf": b"", "b.md": "B."})
    monkeypatch.setattr(pdf, "_WORKER", tmp_path / "worker.py")
    assert ids(read_folder(tmp_path, OPEN)) == ["b"]
    with pytest.raises(LabError, match="pip install pypdf"):
        read_folder(tmp_path, READ_PDF)


# --- whole trees ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The knowledge corpus with its PDFs, as it is built."""
    root = tmp_path_factory.mktemp("corpus") / "knowledge"
    shutil.copytree(CHECKOUT / "corpus/knowledge", root)
    make_pdfs(root / "pdf", root / "pdf")
    return root


LEFT_OUT = (
    "SCRATCH", "legacy", "drafts-private", "old-handbook", "margins-internal", "acm-f-017", "fds-",
)  # fmt: skip


def test_the_knowledge_corpus_reads_as_it_promises(knowledge: Path) -> None:
    tree = read_folder(knowledge, Rules())
    assert len(tree.documents) == 69  # 68 in Markdown, and `notes/empty.md`, which has no passage
    assert tree.products == []
    assert faults(tree) == {
        "notes/broken-encoding.md": "byte 222 is not UTF-8. Save the file as UTF-8."
    }
    (note,) = tree.notes
    assert note.path == "api/token-rotation-example.md"
    assert "(key or token in line 19, password in line 20)" in note.message
    assert "acme_live" not in note.message and "not-a-real" not in note.message
    assert "keep-me" in ids(tree)
    for name in LEFT_OUT:
        assert name not in str(tree.faults) + str(tree.notes)
        assert not [d for d in tree.documents if name in d.meta.path]
    assert not MarkdownChunker().chunk(next(d for d in tree.documents if d.id == "empty"))


def test_with_text_and_pdf_two_documents_more_and_one_fault_more(knowledge: Path) -> None:
    few, tree = read_folder(knowledge, Rules()), read_folder(knowledge, Rules(text=True, pdf=True))
    assert set(ids(tree)) - set(ids(few)) == {
        "acm-f-017-installation-certificate",
        "fds-nettoyant-nc-5",
    }
    assert sorted(faults(tree)) == ["notes/broken-encoding.md", "notes/plain.txt"]
    assert tree.notes == few.notes
    with_plain = read_folder(knowledge, Rules(text=True, plain=PLAIN))
    assert "notes/plain.txt" in ids(with_plain)
    assert sorted(faults(with_plain)) == ["notes/broken-encoding.md"]


def test_with_legacy_the_old_notes_are_read_too(knowledge: Path) -> None:
    more = set(ids(read_folder(knowledge, Rules(legacy=True)))) - set(
        ids(read_folder(knowledge, Rules()))
    )
    assert more == {"old-price-notes", "returns-faq-2019"}


@pytest.mark.real_data
@pytest.mark.parametrize(("folder", "count"), [("rust-book-en", 113), ("etalab-guides-fr", 55)])
def test_real_trees_are_read_whole(real_data: Path, folder: str, count: int) -> None:
    root = real_data / "markdown" / folder
    tree = read_folder(root, OPEN)
    assert len(tree.documents) == count == len(list(root.rglob("*.md")))
    assert (tree.faults, tree.notes) == ((), ())
