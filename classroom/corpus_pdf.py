"""The corpus's two PDFs, made from text, so that a citation can name a page.

A source is a text file with front matter; a form feed ends a page. Each of its lines becomes one
line of the PDF, whole, so that a sentence read back by a PDF reader is the sentence written here.
The same source always gives the same bytes: no clock, no name, no version is written.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from labkit.types import DocumentError

WIDTH, HEIGHT, MARGIN = 595, 842, 40  # A4, in points of 1/72 inch
EM = 0.6  # Courier: each letter is as wide as 0.6 of its size, so lines are measured without tables
LARGEST, SMALLEST, LEADING = 11.0, 7.0, 1.35
_FONT = b"<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding /ToUnicode "


def make_pdfs(sources: Path, target: Path) -> list[Path]:
    """Write `<id>.pdf` for each `<id>.txt`, and its front matter beside it as `<id>.pdf.yaml`.

    Returns the PDFs, sorted. DocumentError names a source that no page can hold.
    """
    target.mkdir(parents=True, exist_ok=True)
    made = []
    for source in sorted(sources.glob("*.txt")):
        front_matter, pages = read_source(source)
        pdf = target / f"{source.stem}.pdf"
        pdf.write_bytes(pdf_bytes(pages, source.name))
        pdf.with_name(pdf.name + ".yaml").write_text(front_matter, encoding="utf-8", newline="\n")
        made.append(pdf)
    return made


def read_source(source: Path) -> tuple[str, list[list[str]]]:
    """The lines of the front matter as one text, and the lines of each page."""
    text = source.read_text(encoding="utf-8")
    opening, _, rest = text.partition("---\n")
    front_matter, closing, body = rest.partition("\n---\n")
    if opening or not closing:
        raise DocumentError(f"{source.name}: a PDF's source starts with a '---' block. Add one.")
    return front_matter + "\n", [page.strip("\n").split("\n") for page in body.split("\f")]


def pdf_bytes(pages: Sequence[Sequence[str]], name: str) -> bytes:
    """A PDF 1.4 of A4 pages in Courier, each line where it was; DocumentError names `name`.

    Source: ISO 32000-1, 7.5 (file structure), 9.4 (text), 9.10.3 (ToUnicode).
    """
    count = len(pages)
    kids = b" ".join(b"%d 0 R" % (5 + 2 * n) for n in range(count))
    objects = [
        b"<< /Type /Catalog /Pages 2 0 R >>",
        b"<< /Type /Pages /Kids [%s] /Count %d >>" % (kids, count),
        _FONT + b"4 0 R >>",
        _stream(_to_unicode()),
    ]
    size = _size(pages, name)
    for number, lines in enumerate(pages):
        objects += [
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 %d %d] /Contents %d 0 R "
            b"/Resources << /Font << /F1 3 0 R >> >> >>" % (WIDTH, HEIGHT, 6 + 2 * number),
            _stream(_drawn(lines, size, name)),
        ]
    return _file(objects)


def _size(pages: Sequence[Sequence[str]], name: str) -> float:
    """The largest size of letters at which every line and every page fits."""
    longest = max((line for page in pages for line in page), key=len)
    size = (WIDTH - 2 * MARGIN) / (EM * max(1, len(longest)))
    size = min(LARGEST, size, (HEIGHT - 2 * MARGIN) / (LEADING * max(map(len, pages))))
    if size < SMALLEST:
        raise DocumentError(
            f"{name}: a line or a page is too long to be printed legibly; the longest line has "
            f"{len(longest)} characters ('{longest[:40]}…'). Break the line or the page."
        )
    return size


def _drawn(lines: Sequence[str], size: float, name: str) -> bytes:
    """The operators that write one page; an empty line only moves down."""
    step = size * LEADING
    start = f"BT /F1 {size:.2f} Tf {step:.2f} TL {MARGIN} {HEIGHT - MARGIN - size:.2f} Td\n"
    shown = [b"(%s) Tj T*" % _escaped(line, name) if line else b"T*" for line in lines]
    return start.encode() + b"\n".join(shown) + b"\nET"


def _escaped(line: str, name: str) -> bytes:
    """The line in the font's encoding; DocumentError names a character that it does not have."""
    try:
        raw = line.encode("cp1252")
    except UnicodeEncodeError as error:
        raise DocumentError(
            f"{name}: {line[error.start]!r} is not in the PDF's font. Write the line without it."
        ) from error
    return raw.replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")


def _to_unicode() -> bytes:
    """Which character each byte means: readers guess, and lose no-break spaces, without it."""
    known = [(b, bytes([b]).decode("cp1252", "ignore")) for b in range(32, 256)]
    pairs = [b"<%02X> <%04X>" % (byte, ord(meant)) for byte, meant in known if meant]
    blocks = [pairs[at : at + 100] for at in range(0, len(pairs), 100)]  # 100 is the format's limit
    mapped = [b"%d beginbfchar\n%s\nendbfchar" % (len(b), b"\n".join(b)) for b in blocks]
    return b"\n".join(
        [
            b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap",
            b"/CMapName /Bytes def /CMapType 2 def",
            b"1 begincodespacerange <00> <FF> endcodespacerange",
            *mapped,
            b"endcmap end end",
        ]
    )


def _stream(content: bytes) -> bytes:
    return b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content)


def _file(objects: Sequence[bytes]) -> bytes:
    """Objects numbered from 1, then the table of their places, which PDF readers start from."""
    out = b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n"
    places = []
    for number, content in enumerate(objects, start=1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, content)
    rows = b"".join(b"%010d 00000 n \n" % place for place in places)
    total = len(objects) + 1
    table = b"xref\n0 %d\n0000000000 65535 f \n%s" % (total, rows)
    trailer = b"trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (total, len(out))
    return out + table + trailer


def main() -> None:
    """`python -m classroom.corpus_pdf SOURCES TARGET` makes the PDFs of a folder."""
    sources, target = sys.argv[1:]
    for pdf in make_pdfs(Path(sources), Path(target)):
        print(pdf)


if __name__ == "__main__":
    main()
