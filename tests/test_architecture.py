"""The plan of the house, kept: floors, functions, what is imported when, what a name promises."""

from __future__ import annotations

import ast
import doctest
import importlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from statistics import median

import pytest

from conftest import CHECKOUT

PACKAGES = ("labkit", "classroom")
MODULES = sorted(path for name in PACKAGES for path in (CHECKOUT / name).rglob("*.py"))
HEAVY = ("torch", "httpx2", "fastapi", "psycopg", "sentence_transformers", "transformers")

LONGEST = 40  # lines of a function
MEDIAN = 7

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
    assert "Contracts: 2 kept, 0 broken." in run(tool("lint-imports"), "--no-cache")


@pytest.mark.slow
def test_the_package_is_typed_strictly() -> None:
    assert "Success: no issues found" in run(tool("mypy"), "--strict", *PACKAGES)


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


def function_lines(paths: Iterable[Path]) -> dict[str, int]:
    """The length of each function, decorators left out, docstring counted."""
    return {
        f"{named(path)}:{node.lineno} {node.name}": (node.end_lineno or 0) - node.lineno + 1
        for path in paths
        for node in nodes(path)
        if isinstance(node, Function)
    }


def test_a_function_is_at_most_forty_lines_long() -> None:
    too_long = {name: size for name, size in function_lines(MODULES).items() if size > LONGEST}
    assert too_long == {}


@pytest.mark.parametrize("package", PACKAGES)
def test_a_function_has_seven_lines_in_the_median(package: str) -> None:
    sizes = function_lines(path for path in MODULES if CHECKOUT / package in path.parents)
    assert median(sizes.values()) <= MEDIAN


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
