"""Measure labkit against its peers: `python benchmarks/run.py [name ...] [--json] [--quick]`.

Prints ratios of one run. Nothing here fails by the clock: an aim is met or missed, and both exit 0.
Only contenders that disagree about a result end with an error.
"""

from __future__ import annotations

import argparse
import json
import sys
from importlib import import_module

from timing import Skipped, machine

BENCHMARKS = {
    "top-k": "exact_top_k",
    "store": "sqlite_vec_store",
    "chunker": "character_chunker",
    "markdown": "markdown_chunker",
    "bm25": "bm25_query",
    "ask": "asking",
    "ingest": "ingestion",
    "import": "import_time",
    "grade": "grading_a_class",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("names", nargs="*", metavar="name", help=f"of {', '.join(BENCHMARKS)}")
    parser.add_argument("--json", action="store_true", help="print one JSON document")
    parser.add_argument("--quick", action="store_true", help="small sizes, no aims: does it run?")
    options = parser.parse_args()
    for name in options.names:
        if name not in BENCHMARKS:
            parser.error(f"there is no benchmark {name!r}; choose from {', '.join(BENCHMARKS)}")
    found = {}
    for name in options.names or BENCHMARKS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            report = import_module(BENCHMARKS[name]).run(options.quick)
        except Skipped as reason:
            found[name] = {"skipped": str(reason)}
            if not options.json:
                print(f"{name}: skipped: {reason}\n")
            continue
        if options.quick:
            report = report.without_aims()
        found[name] = report.as_dict()
        if not options.json:
            print(f"{report}\n")
    facts = machine()
    if options.json:
        document = {"machine": facts, "quick": options.quick, "benchmarks": found}
        print(json.dumps(document, ensure_ascii=False, indent=2))
    else:
        print("\n".join(f"{name}: {value}" for name, value in facts.items() if value))


if __name__ == "__main__":
    main()
