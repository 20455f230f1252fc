"""The character chunker (600 / 80) against LangChain's recursive splitter with offsets.

The two do not do the same work: the splitter looks for paragraphs, lines and words to cut at, and
finds the offset of each piece afterwards; the windows know theirs. The ratio is the price of that.
"""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path

from timing import Mismatch, Report, Skipped, ratio, take_turns

from labkit.assembly import CHECKOUT
from labkit.chunking import CharacterChunker
from labkit.text import normalise
from labkit.types import Document, Metadata

SIZE, OVERLAP = 600, 80
OURS, THEIRS = "labkit", "LangChain"


def run(quick: bool) -> Report:
    try:
        from langchain_text_splitters import RecursiveCharacterTextSplitter
    except ImportError as error:
        raise Skipped("needs LangChain's splitters: pip install -e '.[bench]'") from error
    report = Report(
        f"Character chunker, {SIZE} / {OVERLAP}, with offsets", unit="MB/s", notes=[_note()]
    )
    chunker = CharacterChunker(SIZE, OVERLAP)
    splitter = RecursiveCharacterTextSplitter(
        chunk_size=SIZE, chunk_overlap=OVERLAP, add_start_index=True
    )
    for name, folder in _folders().items():
        texts = _texts(folder, 500_000 if quick else 5_000_000)
        documents = [_document(number, text) for number, text in enumerate(texts)]
        megabytes = sum(len(text.encode()) for text in texts) / 1e6
        _check(chunker, documents, splitter.create_documents(texts[:50]))
        times = take_turns(
            {
                f"{OURS}, {name}": lambda _, d=documents: [chunker.chunk(each) for each in d],
                f"{THEIRS}, {name}": lambda _, t=texts: splitter.create_documents(t),
            },
            5 if quick else 15,
        )
        report.notes.append(f"{name}: {len(texts):,} documents, {megabytes:.1f} MB.")
        for measured in times.values():
            label, low, middle, high = measured.row(1)
            report.rows.append((label, megabytes / high, megabytes / middle, megabytes / low))
        report.ratios.append(ratio(times, f"{THEIRS}, {name}", f"{OURS}, {name}", ">= 5"))
    return report


def _folders() -> dict[str, Path]:
    folders = {"starter corpus": CHECKOUT / "corpus/starter"}
    real = os.environ.get("LABKIT_REAL_DATA")
    if real and (Path(real) / "markdown").is_dir():
        folders["real documentation"] = Path(real) / "markdown"
    return folders


def _note() -> str:
    if "real documentation" in _folders():
        return "Real documentation: the folder markdown of LABKIT_REAL_DATA."
    return "Real documentation left out: LABKIT_REAL_DATA names no folder with markdown in it."


def _texts(folder: Path, least: int) -> list[str]:
    """The Markdown files of a folder, all of them again and again up to `least` characters."""
    once = [normalise(path.read_text("utf-8")) for path in sorted(folder.rglob("*.md"))]
    return once * -(-least // sum(map(len, once)))


def _document(number: int, text: str) -> Document:
    meta = Metadata(
        id=f"d{number}",
        title="",
        language="en",
        scope="ACME/readers",
        status="approved",
        canonical=True,
        valid_from=date(2026, 1, 1),
        valid_until=None,
        version="1",
    )
    return Document(meta, text, content_hash="")


def _check(chunker: CharacterChunker, documents: list[Document], pieces: list[object]) -> None:
    """Both sides must give pieces of at most SIZE characters that stand where they say."""
    for document in documents[:50]:
        end = 0
        for chunk in chunker.chunk(document):
            if chunk.text != document.text[chunk.start : chunk.end] or len(chunk.text) > SIZE:
                raise Mismatch(f"{chunk.id} does not stand at its offset")
            if document.text[end : chunk.start].strip():
                raise Mismatch(f"text before {chunk.id} is in no chunk")
            end = chunk.end
    if any(len(piece.page_content) > SIZE for piece in pieces):
        raise Mismatch(f"LangChain gave a piece of more than {SIZE} characters")
