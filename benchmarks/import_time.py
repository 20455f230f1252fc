"""How long a fresh process takes to import labkit, and that torch stays out of it."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec

from timing import Mismatch, Ratio, Report, spread, take_turns

BARE = "bare interpreter"
MODULES = ("labkit", "labkit.assembly", "labkit.cli")
AIM = 0.5  # seconds


def run(quick: bool) -> Report:
    for module in MODULES:
        if _python(f"import sys, {module}; print('torch' in sys.modules)") != "False":
            raise Mismatch(f"import {module} loads torch")
    contenders = {BARE: lambda _: _python("pass")}
    contenders |= {f"import {m}": lambda _, m=m: _python(f"import {m}") for m in MODULES}
    times = take_turns(contenders, 5 if quick else 15)
    installed = "is" if find_spec("torch") else "is NOT"
    return Report(
        "Import in a fresh process, start of the interpreter included",
        rows=[measured.row() for measured in times.values()],
        ratios=[
            Ratio(
                f"{name} / {AIM:g} s",
                *(value / AIM for value in spread(times[name].seconds)),
                "<= 1" if name == "import labkit" else "",
            )
            for name in contenders
            if name != BARE
        ],
        notes=[f"No module loads torch (which {installed} installed here)."],
    )


def _python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    return done.stdout.strip()
