"""Reading a folder of documents: each file is a document, a fault or a note, and stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from labkit.documents.folder import parse_document, read_text
from labkit.documents.pdf import (
    SIDECAR,
    pdf_document,
    pdf_pages,
    read_pdf,
    sidecar_fields,
    sidecar_text,
)
from labkit.documents.products import FILE_NAME as PRODUCTS
from labkit.documents.products import load_products
from labkit.documents.rules import PDF, Rules
from labkit.documents.secrets import find_secrets
from labkit.documents.walking import survey
from labkit.types import Document, DocumentError, FileFault, Product

Progress = Callable[[int, int], None]
"""Told after each file: files done, files in all."""


@dataclass(frozen=True, slots=True)
class Folder:
    """What a folder holds: documents by id, products by code, faults and notes by path.

    A fault names a file or folder that could not be read; a note one that was left out although
    it could be. What the rules hide appears in neither. `seen` is 0 if there was no file at all,
    hidden or not; it is printed nowhere, since what the rules hide appears in no count.
    """

    documents: list[Document]
    products: list[Product]
    faults: tuple[FileFault, ...] = ()
    notes: tuple[FileFault, ...] = ()
    seen: int = field(default=0, compare=False)

    def checked(self) -> Folder:
        """This folder, for those who take all of it or nothing; DocumentError lists every fault."""
        wrong = [f"{fault.path}: {fault.message}" for fault in (*self.faults, *self.notes)]
        if wrong:
            raise DocumentError("\n".join(wrong))
        return self


class _LeftOut(Exception):
    """A file that can be read and is not; the message says why."""


def read_folder(root: Path, rules: Rules, progress: Progress | None = None) -> Folder:
    """Read every file below `root` that the rules ask for.

    Of two files with one id, the first by path stays and the second is a fault. DocumentError if
    `root` is no folder; LabError if a package is missing that the rules or the files need.
    """
    found = survey(root, rules)
    reader = _Reader(root, rules, list(found.faults))
    for done, path in enumerate(found.files, start=1):
        reader.add(path)
        if progress:
            progress(done, len(found.files))
    products = reader.products() if found.products else []
    return Folder(
        sorted(reader.documents.values(), key=lambda document: document.id),
        products,
        _presentable(reader.faults),
        _presentable(reader.notes),
        found.seen,
    )


@dataclass(slots=True)
class _Reader:
    """Sorts files into documents, faults and notes."""

    root: Path
    rules: Rules
    faults: list[FileFault]
    notes: list[FileFault] = field(default_factory=list)
    documents: dict[str, Document] = field(default_factory=dict)

    def add(self, path: Path) -> None:
        name = path.relative_to(self.root).as_posix()
        try:
            self._keep(self._read(path, name))
        except _LeftOut as why:
            self.notes.append(FileFault(name, str(why)))
        except DocumentError as fault:
            self.faults.append(_fault(name, fault))

    def products(self) -> list[Product]:
        """The product facts of the root; a fault in them leaves them all out."""
        try:
            self._refuse_secrets(read_text(self.root / PRODUCTS, PRODUCTS), PRODUCTS)
            return load_products(self.root)
        except _LeftOut as why:
            self.notes.append(FileFault(PRODUCTS, str(why)))
        except DocumentError as fault:
            self.faults.append(_fault(PRODUCTS, fault))
        return []

    def _read(self, path: Path, name: str) -> Document:
        """One document. Secrets are looked for before anything else can quote the file."""
        if not _is_utf8(name):
            raise DocumentError("the file's name is not UTF-8. Rename it.")
        plain = self.rules.plain
        if path.suffix.lower() not in PDF:
            text = read_text(path, name, self.rules.max_bytes)
            self._refuse_secrets(text, name)
            return parse_document(text, name, plain)
        beside = sidecar_text(path, name)
        pages = pdf_pages(read_pdf(path, name, self.rules.max_pdf_bytes), name)
        self._refuse_secrets(beside or "", name, f"{path.name}{SIDECAR}, ")
        for number, page in enumerate(pages, start=1):
            self._refuse_secrets(page, name, f"page {number}, ")
        return pdf_document(pages, sidecar_fields(beside, name), name, plain)

    def _keep(self, document: Document) -> None:
        first = self.documents.setdefault(document.id, document)
        if first is not document:
            raise DocumentError(
                f"'id' is '{document.id}', which {first.meta.path} has already. "
                "Give one of them another id."
            )

    def _refuse_secrets(self, text: str, name: str, where: str = "") -> None:
        secrets = find_secrets(text)
        if secrets and not self.rules.allows_secrets(name):
            found = ", ".join(
                f"{secret.kind} in {where}line {secret.line}" for secret in secrets[:3]
            )
            more = f" and {len(secrets) - 3} more" if len(secrets) > 3 else ""
            raise _LeftOut(
                f"it looks as if it held a secret ({found}{more}) and is left out. "
                "Remove the secret, or allow the file if it is none."
            )


def _fault(name: str, error: DocumentError) -> FileFault:
    """A file's fault; its message need not repeat the name that it begins with."""
    message = str(error)
    for mark in (": ", ", "):
        message = message.removeprefix(name + mark)
    return FileFault(name, message)


def _is_utf8(name: str) -> bool:
    return not any("\ud800" <= character <= "\udfff" for character in name)


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
