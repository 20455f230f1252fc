"""The structure-aware chunker (512 / 64) against LangChain's Markdown header + recursive splitters.

Both part the text at headings of level 1 to 3 and cut what is too long. LangChain's header splitter
rebuilds the text from stripped lines, so that its start index counts in the rebuilt section; ours
counts in the document. Measured with estimated tokens (three characters each, on both sides), and
with MiniLM's own tokenizer, whose window leaves 222 tokens; its counts are not kept between rounds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from character_chunker import _document, _folders, _note, _texts
from timing import Mismatch, Report, Skipped, ratio, take_turns

from labkit.chunking import MarkdownChunker, ModelTokens, read_tokenizer
from labkit.chunking.tokens import A_TOKEN
from labkit.embedding.local import DEFAULT_MODEL, model_folder
from labkit.types import Document, EmbeddingError, LabError

HEADINGS = [("#", "h1"), ("##", "h2"), ("###", "h3")]
OVERLAP = 64
OURS, THEIRS = "labkit", "LangChain"


def run(quick: bool) -> Report:
    try:
        from langchain_text_splitters import MarkdownHeaderTextSplitter
    except ImportError as error:
        raise Skipped("needs LangChain's splitters: pip install -e '.[bench]'") from error
    headings = MarkdownHeaderTextSplitter(HEADINGS, strip_headers=False)
    report = Report("Markdown chunker, with offsets", unit="MB/s", notes=[_note()])
    for name, folder in _folders().items():
        texts = _texts(folder, 100_000 if quick else 1_000_000)
        _measure(report, f"{name}, estimated", texts, headings, None, 3 if quick else 15)
        try:
            tokens = _minilm()
        except (EmbeddingError, LabError) as error:
            report.notes.append(f"MiniLM's tokenizer left out: {error}")
            continue
        few = texts[: 20 if quick else 200]
        _measure(report, f"{name}, MiniLM's tokens", few, headings, tokens, 3)
    return report


def _measure(
    report: Report,
    name: str,
    texts: list[str],
    headings: Any,
    tokens: ModelTokens | None,
    rounds: int,
) -> None:
    """Time both sides over these texts, and add rows and a ratio to the report."""
    documents = [_document(number, text) for number, text in enumerate(texts)]
    megabytes = sum(len(text.encode()) for text in texts) / 1e6
    recursive = _recursive(tokens)

    def theirs(_: int) -> list[Any]:
        return [recursive.split_documents(headings.split_text(text)) for text in texts]

    def ours(_: int) -> list[Any]:
        chunker = MarkdownChunker(overlap=OVERLAP, **({"tokens": _minilm()} if tokens else {}))
        return [chunker.chunk(document) for document in documents]

    _check(documents, ours(0))
    times = take_turns({f"{OURS}, {name}": ours, f"{THEIRS}, {name}": theirs}, rounds)
    pieces = [sum(map(len, side(0))) for side in (ours, theirs)]
    report.notes.append(
        f"{name}: {len(texts):,} documents, {megabytes:.1f} MB, {pieces[0]:,} chunks of {OURS}, "
        f"{pieces[1]:,} of {THEIRS}."
    )
    for measured in times.values():
        label, low, middle, high = measured.row(1)
        report.rows.append((label, megabytes / high, megabytes / middle, megabytes / low))
    aim = "" if tokens else ">= 5"
    report.ratios.append(ratio(times, f"{THEIRS}, {name}", f"{OURS}, {name}", aim))


def _recursive(tokens: ModelTokens | None) -> Any:
    """LangChain's recursive splitter with the size of our chunker, in characters or tokens."""
    from langchain_text_splitters import RecursiveCharacterTextSplitter

    chunker, length = MarkdownChunker(), A_TOKEN
    count: Callable[[str], int] = len
    if tokens:
        chunker, length, count = MarkdownChunker(tokens=tokens), 1, tokens.count
    return RecursiveCharacterTextSplitter(
        chunk_size=chunker.effective_size * length,
        chunk_overlap=OVERLAP * length,
        length_function=count,
        add_start_index=True,
    )


def _minilm() -> ModelTokens:
    folder = model_folder(DEFAULT_MODEL)
    assert folder is not None  # it has a package
    return read_tokenizer(folder)


def _check(documents: list[Document], found: list[list[Any]]) -> None:
    """Ours must stand where they say, and hold the whole text."""
    for document, chunks in zip(documents, found, strict=True):
        end = document.body_start
        for chunk in chunks:
            if chunk.text != document.text[chunk.start : chunk.end]:
                raise Mismatch(f"{chunk.id} does not stand at its offset")
            if document.text[end : chunk.start].strip():
                raise Mismatch(f"text before {chunk.id} is in no chunk")
            end = max(end, chunk.end)
