"""The command line, one file an audience: asking, indexing, measuring, serving.

`main` is the way in. Nothing is imported here but what the first instant needs: Ctrl-C may come
before all else is there.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line; every end has its exit code, and no traceback reaches a person."""
    try:
        from labkit.cli.app import run

        sys.exit(run(arguments))
    except KeyboardInterrupt:
        print("labkit: interrupted; nothing is half done.", file=sys.stderr)
        sys.exit(130)
