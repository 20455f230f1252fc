"""Three files say what is installed; they must say the same.

`pyproject.toml` holds the ranges, `environment.yml` repeats them for conda, and
`requirements.lock` pins one version of everything within them.
"""

import re
import tomllib
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PYPI_NAMES = {"pytorch": "torch"}  # conda's name where it differs
CONDA_ONLY = {"python", "pip"}


@pytest.fixture(scope="module")
def project() -> dict[str, Any]:
    table: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    return table


@pytest.fixture(scope="module")
def asked(project: dict[str, Any]) -> dict[str, Requirement]:
    """What pyproject.toml asks for, base and `test` with the extras that it names, by name."""
    extras = project["optional-dependencies"]
    waiting = [Requirement(line) for line in [*project["dependencies"], *extras["test"]]]
    found: dict[str, Requirement] = {}
    for requirement in waiting:
        if requirement.name == project["name"]:
            waiting += [Requirement(line) for name in requirement.extras for line in extras[name]]
        else:
            found[str(canonicalize_name(requirement.name))] = requirement
    return found


@pytest.fixture(scope="module")
def conda() -> list[Any]:
    dependencies: list[Any] = yaml.safe_load((ROOT / "environment.yml").read_text("utf-8"))[
        "dependencies"
    ]
    return dependencies


@pytest.fixture(scope="module")
def pinned() -> list[Requirement]:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    return [Requirement(line) for line in re.findall(r"^[A-Za-z0-9][^\\\n]*", text, re.MULTILINE)]


def torch_pin() -> str:
    """The version of torch that `lab` pins."""
    loader = SourceFileLoader("lab_for_its_pin", str(ROOT / "lab"))
    spec = spec_from_loader(loader.name, loader)
    assert spec is not None
    module = module_from_spec(spec)
    loader.exec_module(module)
    return str(module.TORCH)


def pip_part(conda: list[Any]) -> list[str]:
    [lines] = [entry["pip"] for entry in conda if isinstance(entry, dict)]
    return list(lines)


def test_conda_asks_for_the_same_ranges(asked: dict[str, Requirement], conda: list[Any]) -> None:
    lines = [entry for entry in conda if isinstance(entry, str) and not entry.startswith("pytorch")]
    lines += [line for line in pip_part(conda) if not line.startswith("-")]
    found = {str(canonicalize_name(r.name)): r.specifier for r in map(Requirement, lines)}
    for name in CONDA_ONLY:
        found.pop(name)
    assert found == {name: requirement.specifier for name, requirement in asked.items()}


def test_conda_takes_the_cpu_build_of_the_same_torch(conda: list[Any]) -> None:
    [line] = [entry for entry in conda if str(entry).split("=")[0] in PYPI_NAMES]
    assert line == f"pytorch={torch_pin()}=cpu_*"


def test_conda_python_is_the_projects_and_the_lab_itself_is_installed(
    project: dict[str, Any], conda: list[Any]
) -> None:
    [python] = [Requirement(e) for e in conda if isinstance(e, str) and e.startswith("python>")]
    assert python.specifier == Requirement(f"python{project['requires-python']}").specifier
    assert "-e ." in pip_part(conda)


@pytest.mark.parametrize("system", ["linux", "darwin", "win32"])
@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13"])
def test_the_lock_pins_everything_asked_for_within_its_range(
    asked: dict[str, Requirement], pinned: list[Requirement], system: str, version: str
) -> None:
    place = {"sys_platform": system, "python_version": version, "platform_machine": "x86_64"}
    place["python_full_version"] = f"{version}.9"
    here = {
        str(canonicalize_name(r.name)): r.specifier
        for r in pinned
        if r.marker is None or r.marker.evaluate(dict(place))
    }
    for name, requirement in asked.items():
        if requirement.marker is not None and not requirement.marker.evaluate(dict(place)):
            continue
        [pin] = here[name]
        assert pin.operator == "=="
        assert requirement.specifier.contains(pin.version, prereleases=True), name


def test_every_package_has_one_version_everywhere(pinned: list[Requirement]) -> None:
    names = [canonicalize_name(requirement.name) for requirement in pinned]
    assert sorted(names) == sorted(set(names))


def test_the_lock_leaves_torch_and_cuda_to_lab(pinned: list[Requirement]) -> None:
    names = [canonicalize_name(requirement.name) for requirement in pinned]
    assert not [n for n in names if re.match(r"(torch|triton|nvidia|cuda)(-|$)", n)]


def test_the_lock_names_no_index_and_no_folder_and_every_pin_has_hashes() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert not re.search(r"://|file:|^ *--?(i|f|index|extra|find|trusted)", text, re.MULTILINE)
    entries = re.split(r"^(?=[A-Za-z0-9])", text, flags=re.MULTILINE)[1:]
    assert all("--hash=sha256:" in entry for entry in entries)


def test_the_lock_says_how_it_is_refreshed_and_for_the_same_torch() -> None:
    head = (ROOT / "requirements.lock").read_text("utf-8").split("\n\n")[0]
    assert "uv pip compile" in head
    assert f"torch=={torch_pin()}" in head
