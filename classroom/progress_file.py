"""What a learner has done, kept in a file of the learner's own."""

from __future__ import annotations

import contextlib
import copy
import json
import os
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

FILE_NAME = "progress.json"
IN_MEMORY = "memory"
CHECKOUT = Path(__file__).resolve().parents[1]


def progress_path(start: Path | None = None) -> Path:
    """`LABKIT_PROGRESS`, or the file in the `my-lab` folder around here, or in this checkout's."""
    named = os.environ.get("LABKIT_PROGRESS")
    if named:
        return Path(named).expanduser()
    here = (start or Path.cwd()).resolve()
    for folder in (here, *here.parents):
        if folder.name == "my-lab":
            return folder / FILE_NAME
        if (folder / "labkit.toml").is_file():
            return folder / "my-lab" / FILE_NAME
    return CHECKOUT / "my-lab" / FILE_NAME


class Progress:
    """A small JSON file. A broken one is set aside, never overwritten.

    `LABKIT_PROGRESS=memory` keeps it for this process alone: for tests and stored outputs.
    """

    _memory: ClassVar[dict[str, Any]] = {}

    def __init__(self, path: Path | None = None) -> None:
        in_memory = path is None and os.environ.get("LABKIT_PROGRESS") == IN_MEMORY
        self.path = None if in_memory else path or progress_path()

    def read(self) -> dict[str, Any]:
        if self.path is None:
            return copy.deepcopy(self._memory)
        try:
            content = json.loads(self.path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError):
            with contextlib.suppress(OSError):
                self.path.replace(self.path.with_suffix(".broken.json"))
            return {}
        return content if isinstance(content, dict) else {}

    def get(self, kind: str, name: str) -> dict[str, Any]:
        """What is known of one exercise, prediction or quiz."""
        entry = self.read().get(kind, {}).get(name, {})
        return entry if isinstance(entry, dict) else {}

    def put(self, kind: str, name: str, **values: Any) -> dict[str, Any]:
        """Add to what is known; the file is replaced whole, so that a crash leaves the old one."""
        content = self.read()
        now = datetime.now(UTC).isoformat(timespec="seconds")
        entry = {**content.setdefault(kind, {}).get(name, {}), **values, "at": now}
        content[kind][name] = entry
        self._write(content)
        return entry

    def _write(self, content: dict[str, Any]) -> None:
        if self.path is None:
            self._memory.clear()
            self._memory.update(content)
            return
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(content, indent=1, ensure_ascii=False)
        handle, temporary = tempfile.mkstemp(dir=self.path.parent, suffix=".tmp")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        Path(temporary).replace(self.path)
