"""The process that opens a PDF: `python -P pdf_pages.py PAGES CHARACTERS MEMORY` < PDF > JSON.

A PDF is a program written by a stranger. It is read in a process of its own, which can be ended,
and which holds nothing but the standard library and pypdf. The reply is an object with `pages`, the
text of each, or with `fault`, one sentence, or with `missing`, if pypdf is not installed.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys


def answer(data: bytes, most_pages: int, most_characters: int) -> dict[str, object]:
    """The pages of a PDF, or what is wrong with it."""
    try:
        from pypdf import PdfReader
    except ImportError:
        return {"missing": True}
    try:
        reader = PdfReader(io.BytesIO(data))
        if reader.is_encrypted:
            return {"fault": "the PDF is encrypted. Save a copy without a password."}
        return _pages(reader.pages, most_pages, most_characters)
    except MemoryError:
        return {"fault": "the PDF takes too much memory. Split it or save it anew."}
    except Exception as error:  # pypdf's own, and whatever a broken file makes of its objects
        return {"fault": f"the PDF is broken ({type(error).__name__}). Save it anew."}


def _pages(pages: object, most_pages: int, most_characters: int) -> dict[str, object]:
    """The text of each page, within the limits."""
    if len(pages) > most_pages:  # type: ignore[arg-type]
        return {"fault": f"the PDF has more than {most_pages:,} pages. Split it."}
    texts: list[str] = []
    for page in pages:  # type: ignore[attr-defined]
        texts.append(page.extract_text())
        if sum(map(len, texts)) > most_characters:
            return {"fault": f"the PDF has more than {most_characters:,} characters. Split it."}
    return {"pages": texts}


def _bound_memory(most: int) -> None:
    """At most so many bytes for this process, where the system can hold it to that."""
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (most, most))


def main() -> None:
    """Answer for the PDF that arrives on standard input."""
    most_pages, most_characters, memory = map(int, sys.argv[1:])
    _bound_memory(memory)
    json.dump(answer(sys.stdin.buffer.read(), most_pages, most_characters), sys.stdout)


if __name__ == "__main__":
    main()
