"""Notebooks as files: deterministic, clean, and executed where they stand."""

from __future__ import annotations

import hashlib
import os
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeAlias

import nbformat

from classroom.progress_file import IN_MEMORY
from labkit.types import LabError

Notebook: TypeAlias = Any
"""An nbformat NotebookNode, version 4."""

CELL_SECONDS = 120
LESSON = re.compile(r"(?P<number>\d\d)[a-z]?(?=_)")  # a letter where a lesson has several parts
_KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
_KEPT = {"tags", "nbgrader", "jupyter", "deletable", "editable"}


def read(path: Path) -> Notebook:
    """The notebook in a file; LabError if it is none."""
    try:
        return nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    except (OSError, ValueError, nbformat.ValidationError) as error:
        raise LabError(f"{path.name} is no notebook that can be read: {error}.") from error


def lesson_number(path: Path) -> int:
    """The number that a lesson's file name begins with; LabError if there is none.

    >>> lesson_number(Path("notebooks/11a_knowledge_base.ipynb"))
    11
    """
    found = LESSON.match(path.name)
    if not found:
        raise LabError(f"{path.name} does not begin with a lesson's number, such as 02_ or 11a_.")
    return int(found["number"])


def write(notebook: Notebook, path: Path) -> None:
    """Write a cleaned notebook; equal content gives equal bytes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = nbformat.writes(clean(notebook), indent=1)  # type: ignore[no-untyped-call]
    path.write_text(f"{text.rstrip()}\n", encoding="utf-8", newline="\n")


def new(cells: Sequence[tuple[str, str]]) -> Notebook:
    """A notebook from (kind, source) pairs; kind is "markdown" or "code"."""
    make: dict[str, Any] = {
        "markdown": nbformat.v4.new_markdown_cell,
        "code": nbformat.v4.new_code_cell,
    }
    notebook = nbformat.v4.new_notebook()  # type: ignore[no-untyped-call]
    notebook.cells = [make[kind](source) for kind, source in cells]
    return clean(notebook)


def clean(notebook: Notebook) -> Notebook:
    """Ids from content, counts from 1, no metadata of the machine that ran it."""
    seen: Counter[str] = Counter()
    count = 0
    notebook.metadata = {"kernelspec": _KERNEL, "language_info": {"name": "python"}}
    notebook.nbformat_minor = 5
    for cell in notebook.cells:
        digest = hashlib.sha256(f"{cell.cell_type}\n{cell.source}".encode()).hexdigest()[:10]
        cell.id = f"{digest}-{seen[digest]}"
        seen[digest] += 1
        cell.metadata = {key: value for key, value in cell.metadata.items() if key in _KEPT}
        if cell.cell_type == "code":
            count += 1
            cell.outputs = _joined(cell.outputs)
            cell.execution_count = count if cell.outputs else None
            for output in cell.outputs:
                output.pop("metadata", None)
                if output.output_type in ("display_data", "execute_result"):
                    output.metadata = {}
                if output.output_type == "execute_result":
                    output.execution_count = cell.execution_count
    return notebook


def _joined(outputs: Sequence[Any]) -> list[Any]:
    """Neighbouring pieces of one stream as one: where a kernel cuts them depends on its speed."""
    joined: list[Any] = []
    for output in outputs:
        if joined and output.output_type == joined[-1].output_type == "stream":
            if output.name == joined[-1].name:
                joined[-1].text += output.text
                continue
        joined.append(output)
    return joined


def execute(path: Path) -> Notebook:
    """Run a notebook in its folder, as a test would, and return it with its outputs, cleaned.

    Raises LabError where a cell fails, with the cell's first line and the error.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError

    notebook = read(path)
    client = NotebookClient(
        notebook,
        timeout=CELL_SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(path.parent)}},
    )
    previous = dict(os.environ)
    os.environ |= quiet_environment()
    try:
        client.execute()
    except CellExecutionError as error:
        said = f"{error.ename}: {error.evalue}"
        raise LabError(f"{path.name} stops in {_failed(notebook)}: {said}") from error
    finally:
        os.environ.clear()
        os.environ.update(previous)
    return clean(notebook)


def _failed(notebook: Notebook) -> str:
    """The code cell that ends in an error, by its number and its first line."""
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for number, cell in enumerate(code, start=1):
        if any(output.output_type == "error" for output in cell.outputs):
            return f"code cell {number} ({cell.source.partition(chr(10))[0]})"
    return "a cell"


def quiet_environment() -> dict[str, str]:
    """What makes a lesson's outputs the same everywhere: no controls, no progress of a person."""
    return {
        "LABKIT_WIDGETS": "off",
        "LABKIT_PROGRESS": IN_MEMORY,
        "PYTHONWARNINGS": "ignore",
        "PYTHONHASHSEED": "0",
    }
