"""Reading a folder of documents: each file is a document, a fault or a note, and stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from labkit.documents.decoding import read_bytes, read_text
from labkit.documents.fingerprint import content_hash
from labkit.documents.front_matter import body_start, split_front_matter
from labkit.documents.governance import Fields, is_ours
from labkit.documents.pdf import SIDECAR, pdf_document, pdf_pages, sidecar_fields, sidecar_text
from labkit.documents.plain import govern, held_back
from labkit.documents.products import FILE_NAME as PRODUCTS
from labkit.documents.products import load_products
from labkit.documents.rules import PDF, Rules
from labkit.documents.secrets import Secret, blanked, find_secrets
from labkit.documents.walking import walk
from labkit.types import Document, DocumentError, FileFault, LabError, Product

Progress = Callable[[int, int], None]
"""Told after each file: files done, files in all."""


@dataclass(frozen=True, slots=True)
class Counts:
    """What a reading took and what it left, so that nothing is left out without a word.

    `left_out` (by what the rules ask for), `hidden` and `ignored` count files and folders, a folder
    once; `read` and `drafts` (of another tool, read and never shown) documents; `secrets` lines.
    """

    read: int = 0
    left_out: int = 0
    hidden: int = 0
    ignored: int = 0
    drafts: int = 0
    secrets: int = 0


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds: documents by id, products by code, faults and notes by path.

    A fault names a file or folder that could not be read; a note one of which something is left
    out or held back although it could be read. What leaves no trace under the rules appears in
    neither and in no count. `seen` is 0 if there was no file at all, hidden or not.
    """

    documents: list[Document]
    products: list[Product]
    faults: tuple[FileFault, ...] = ()
    notes: tuple[FileFault, ...] = ()
    seen: int = field(default=0, compare=False)
    counts: Counts = field(default_factory=Counts, compare=False)

    def checked(self) -> Folder:
        """This folder, for those who take all of it or nothing.

        DocumentError lists every fault, a line each; a secret is one.
        """
        wrong = (*self.faults, *self.notes) if self.counts.secrets else self.faults
        if wrong:
            raise DocumentError("\n".join(f"{fault.path}: {fault.message}" for fault in wrong))
        return self


def read_folder(root: Path, rules: Rules, progress: Progress | None = None) -> Folder:
    """Read every file below `root` that the rules ask for.

    Of two files with one id, the first by path stays and the second is a fault. DocumentError if
    `root` is no folder; LabError if a package is missing that the rules or the files need.
    """
    found = walk(root, rules)
    reader = _Reader(root, rules, list(found.faults))
    for done, path in enumerate(found.files, start=1):
        reader.add(path)
        if progress:
            progress(done, len(found.files))
    products = reader.products() if found.products else []
    documents = sorted(reader.documents.values(), key=lambda document: document.id)
    left = (found.left_out, found.hidden, found.ignored)
    return Folder(
        documents,
        products,
        _presentable(reader.faults),
        _presentable(reader.notes),
        found.seen,
        Counts(len(documents), *left, reader.drafts, reader.secrets),
    )


@dataclass(slots=True)
class _Reader:
    """Sorts files into documents, faults and notes."""

    root: Path
    rules: Rules
    faults: list[FileFault]
    notes: list[FileFault] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)
    drafts: int = 0
    secrets: int = 0

    def add(self, path: Path) -> None:
        name = path.relative_to(self.root).as_posix()
        try:
            if any("\ud800" <= character <= "\udfff" for character in name):
                raise DocumentError("the file's name is not UTF-8. Rename it.")
            is_pdf = path.suffix.lower() in PDF
            self._keep(self._pdf(path, name) if is_pdf else self._text(path, name))
        except DocumentError as fault:
            self.faults.append(_fault(name, fault))
        except LabError:  # a package is missing: the run cannot do what it was asked for
            raise
        except Exception as error:  # of a parser: one strange document must not end a run
            said = f"no reader of this lab can read it ({type(error).__name__}). Save it anew."
            self.faults.append(FileFault(name, said))

    def products(self) -> list[Product]:
        """The product facts of the root; a fault or a secret in them leaves them all out."""
        try:
            found = self._secrets(read_text(self.root / PRODUCTS, PRODUCTS), PRODUCTS)
            self._note_secrets(PRODUCTS, [("", secret) for secret in found], "the file")
            return [] if found else load_products(self.root)
        except DocumentError as fault:
            self.faults.append(_fault(PRODUCTS, fault))
        return []

    def _text(self, path: Path, name: str) -> Document:
        """A text file. Secrets go before anything else can quote the file."""
        text = read_text(path, name, self.rules.max_bytes)
        found = self._secrets(text, name)
        if found:
            text = blanked(text, found, body_start(text))
            self._note_secrets(name, [("", secret) for secret in found])
        fields, start = split_front_matter(text, name, strict=self.rules.plain is None)
        meta = govern(fields, text[start:], name, self.rules.plain)
        self._note_draft(name, fields)
        return Document(meta, text, content_hash(meta, text), start)

    def _pdf(self, path: Path, name: str) -> Document:
        pages, unseen = pdf_pages(read_bytes(path, name, self.rules.max_pdf_bytes), name)
        texts = {f"page {number}, ": page for number, page in enumerate(pages, start=1)}
        beside = sidecar_text(path, name)
        found = {where: self._secrets(text, name) for where, text in texts.items()}
        pages = [blanked(text, found[where]) for where, text in texts.items()]
        said = [(where, secret) for where, secrets in found.items() for secret in secrets]
        if beside is not None:
            above = self._secrets(beside, name)
            beside = blanked(beside, above)
            said = [(f"{path.name}{SIDECAR}, ", secret) for secret in above] + said
        self._note_secrets(name, said)
        if unseen:
            where = ", ".join(map(str, unseen))
            said_unseen = f"text that no reader of the page can see is left out (page {where})."
            self.notes.append(FileFault(name, said_unseen))
        fields = sidecar_fields(beside, name)
        document = pdf_document(pages, fields, name, self.rules.plain)
        self._note_draft(name, fields)
        return document

    def _keep(self, document: Document) -> None:
        first = self.documents.setdefault(document.id, document)
        if first is not document:
            raise DocumentError(
                f"'id' is '{document.id}', which {first.meta.path} has already. "
                "Give one of them another id."
            )

    def _secrets(self, text: str, name: str) -> list[Secret]:
        return [] if self.rules.allows_secrets(name) else find_secrets(text)

    def _note_secrets(
        self, name: str, found: list[tuple[str, Secret]], what: str = "the passage"
    ) -> None:
        """Note where secrets stand, each with the part of the file that its line is counted in."""
        self.secrets += len(found)
        said = [f"{secret.kind} in {where}line {secret.line}" for where, secret in found]
        more = f" and {len(said) - 3} more" if len(said) > 3 else ""
        if said:
            message = (
                f"it looks as if it held a secret ({', '.join(said[:3])}{more}): {what} is left "
                "out. Remove the secret, or allow the file if it is none."
            )
            self.notes.append(FileFault(name, message))

    def _note_draft(self, name: str, fields: Fields | None) -> None:
        """Note a page that another tool's front matter holds back: it is read, not shown."""
        line = held_back(fields) if fields and not is_ours(fields) else ""
        if line:
            self.drafts += 1
            self.notes.append(
                FileFault(name, f"held back as a draft: its front matter says {line}.")
            )


def _fault(name: str, error: DocumentError) -> FileFault:
    """A file's fault; its message need not repeat the name that it begins with."""
    message = str(error)
    for mark in (": ", ", "):
        message = message.removeprefix(name + mark)
    return FileFault(name, message)


def _presentable(faults: list[FileFault]) -> tuple[FileFault, ...]:
    """Faults by path, fit for a terminal and for UTF-8: what is neither is shown as \\x..."""
    shown = [FileFault(_escaped(fault.path), _escaped(fault.message)) for fault in faults]
    return tuple(sorted(shown, key=lambda fault: (fault.path, fault.message)))


def _escaped(text: str) -> str:
    return "".join(
        character
        if character.isprintable() or character in "\u00a0\u202f"
        else ascii(character)[1:-1]
        for character in text
    )
