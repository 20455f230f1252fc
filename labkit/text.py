"""The one analyser: from text to search terms, the same for documents and questions.

English and French share one analyser, because a question rarely says which language it is in.
Each word is folded (case, accents, ligatures, elision) and stemmed by the English Snowball stemmer,
the French one, and the English one again: a term has one form whatever the language of the text
around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from snowballstemmer.english_stemmer import EnglishStemmer  # type: ignore[import-untyped]
from snowballstemmer.french_stemmer import FrenchStemmer  # type: ignore[import-untyped]

ANALYSER_VERSION = "en-fr-snowball-v1"

_STOP_WORDS = frozenset(
    # English
    "a about after all also am an and any are as at be because been before being between both but "
    "by can could did do does doing done during each every few for from further get gets had has "
    "have having he her here him his how i if in into is it its itself just may me might more most "
    "must my of off on once only or other our out over own per please same shall she should so "
    "some such than that the their them then there these they this those through to too under "
    "until up us very was we were what when where which while who whom whose why will with within "
    "without would you your yours tell give many much long need needs want ca wo "
    # French, after folding; its elided letters (l', d') go before words are looked at, so that
    # "vitamin D" and "size L" stay
    "ai as au aucun aucune aussi autre autres aux avec avez avoir avons ce cela celle celles celui "
    "ces cet cette ceux chez comme comment combien dans de des doit doivent donc dont du elle "
    "elles en entre est et etaient etait etant etes etre eu eux faire fait faut furent il "
    "ils je la le les leur leurs lors lui ma mais me meme mes moi mon ne ni nos notre nous on "
    "ont ou par pas peut peuvent peux plus pour pourquoi puis puis-je qu quand que quel quelle "
    "quelles quels qui quoi sa sans se sera seront ses si son sont sous suis sur ta te tes toi "
    "ton tous tout toute toutes tu un une vers voici voila vos votre vous y".split()
)

_CJK = (
    r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
    r"\U00020000-\U000323af"
)
_WORD = rf"[^\W_{_CJK}]++"
_TOKEN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    # words joined by - . _ or by / with a digit near: GX-100, E-4021, 38.101, 2016/679; a slash
    # between two codes parts them: GX-100/GX-200
    rf"|(?P<code>(?=[\w./-]{{0,40}}\d){_WORD}(?:(?:[-._]{_WORD})+|(?:/{_WORD}(?![-._]\w))+))"
    r"|(?P<sharp>[^\W\d_](?:\+\+|#)(?![^\W\d_]))"
    rf"|(?P<word>{_WORD})"
)
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=[\w«\"“])")
_CONTRACTION = re.compile(r"(?<=\w)(?:'s|n't|'ll|'re|'ve|'d|'m)\b")
_FOLDS = str.maketrans(
    {"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "’": "'", "ʼ": "'", "‑": "-", "‐": "-"}
    # invisible inside a word: soft hyphen, joiners, byte-order mark
    | dict.fromkeys("\u00ad\u200c\u200d\u2060\ufeff", "")
)
_DASHES = str.maketrans("\u2013\u2212\uff0d", "---")  # what a hyphen becomes as one types
_VOICED = "\u3099\u309a"  # marks that make another Japanese letter, as か and が: no accents
_CODE = re.compile(r"(?<![\w-])[A-Za-z]{2,}-\d{2,}[A-Za-z]?(?![\w-])")

_LINE = re.compile(r"[^\n]*\n|[^\n]+")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+)[ \t]*$")
_RULE = re.compile(r" {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$")
_FENCE = re.compile(r"[ \t]*(`{3,}(?!.*`)|~{3,})")
_QUOTE = re.compile(r"[ \t]*>+(?:[ \t]+>+)*(?:[ \t]+|$)")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|(\d{1,9})[.)])[ \t]+")
_SENTENCE_END = re.compile(
    r"""[.!?…](?:[ \u00a0\u202f]?»|["'”’)\]*_])*\s+(?=(?:>+[ ])*[\[("'«“*_]*\s?[^\W_a-zà-ÿœ])"""
    r"|[。！？][」』”]*\s*"
)
_ABBREVIATION = re.compile(
    r"\b(?:[^\W\d_]|Mr|Mrs|Ms|Dr|Prof|No|Nos|St|art|cf|fig|vs|p\. ex|approx)\.$", re.IGNORECASE
)


def normalise(text: str) -> str:
    """The form in which every document is stored and every offset counted.

    Drops a leading byte-order mark, turns CRLF and CR into LF, and composes to NFC. Nothing else
    is changed: tabs, no-break spaces, joiners and blank lines stay.
    """
    text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text)


def fold(text: str) -> str:
    """Lower case, without accents or ligatures, with plain apostrophes and hyphens: for searching.

    >>> fold("L’Œuvre d’Orléans")
    "l'oeuvre d'orleans"
    """
    plain = unicodedata.normalize("NFKD", text).translate(_FOLDS).casefold()
    decomposed = unicodedata.normalize("NFKD", plain)
    bare = "".join(c for c in decomposed if not unicodedata.combining(c) or c in _VOICED)
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a folded word: English, then French, then English for what French left over.

    French alone would part "policy" from "policies" before English could join them.
    A stemmer keeps its word in itself while it works, so every call has its own: threads may share
    this function.

    >>> stem("garanties"), stem("garantir"), stem("policy"), stem("policies")
    ('garant', 'garant', 'polic', 'polic')
    """
    for stemmer in (EnglishStemmer(), FrenchStemmer(), EnglishStemmer()):
        word = stemmer.stemWord(word)
    return word


def terms(text: str) -> list[str]:
    """All search terms of a text in order, stop words left out, repetitions kept.

    A code comes whole and in parts; Chinese, Japanese and Korean by pairs of characters.

    >>> terms("What does E-4021 mean for l’œuvre?")
    ['e-4021', 'e', '4021', 'mean', 'oeuvr']
    >>> terms("vitamin C, C++")
    ['vitamin', 'c', 'c++', 'c']
    """
    return [term for match in _tokens(text) for term in _expand(match)]


def significant_terms(text: str) -> frozenset[str]:
    """The distinct terms of a text: what a question and a passage can have in common."""
    return frozenset(terms(text))


def sentences(text: str) -> list[tuple[int, int]]:
    """The (start, end) of each sentence of a Markdown text, without the white space around it.

    List items and table rows are sentences of their own; a list marker belongs to none. Headings,
    rules and fences are left out. A fenced block is one sentence: code is quoted whole.

    >>> text = "# Title\\nOne. Two (e.g. this).\\n- an item"
    >>> [text[start:end] for start, end in sentences(text)]
    ['One.', 'Two (e.g. this).', 'an item']
    """
    return [
        span
        for start, end, is_code in _blocks(text)
        for span in _trimmed(text, start, end, [] if is_code else _ends(text, start, end))
    ]


def is_code(term: str) -> bool:
    """Is this term a whole code: several parts, joined, with a digit?

    >>> [term for term in terms("GX-100 since 2019") if is_code(term)]
    ['gx-100']
    """
    return not term.isalnum() and any(character.isdigit() for character in term)


def codes(text: str) -> list[str]:
    """Product-like codes in a text, as written, in order: two letters or more, a hyphen, digits.

    >>> codes("Is the GX-999 better than a gx-100? E-4021 is an error, not a product.")
    ['GX-999', 'gx-100']
    """
    return _CODE.findall(text.translate(_DASHES).translate(_FOLDS))


def _tokens(text: str) -> Iterator[re.Match[str]]:
    return _TOKEN.finditer(_CONTRACTION.sub("", _ELISION.sub(" ", fold(text))))


def _expand(match: re.Match[str]) -> Iterator[str]:
    """The terms of one token."""
    token = match.group()
    kind = match.lastgroup
    if kind == "cjk":
        yield from (token[i : i + 2] for i in range(max(1, len(token) - 1)))
    elif kind == "sharp":
        yield from (token, token[0])
    else:
        if kind == "code" and is_code(token):
            yield token
        yield from (stem(word) for word in re.split(r"[-./_]", token) if word not in _STOP_WORDS)


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Spans of paragraphs, list items, table rows and fenced blocks, and which of them is code."""
    start = position = 0
    fence = inside = ""  # what closes the open fence; what the open block is made of
    quoted = False
    for line in _LINE.findall(text):
        after = position + len(line)
        kind, at = _kind(line, inside)
        if fence:
            if _closes(line, fence):
                yield start, position, True
                start, fence = after, ""
        elif kind == "text" or (kind == "quote" and quoted and inside):
            inside = inside or "text"
        else:
            if kind != "underline" or "\n" in text[start:position].strip():
                yield start, position, False
            start = position + at if kind in ("quote", "item", "blank") else after
            if kind == "row":
                yield position + at, after, False
            opening = _FENCE.match(line, at)
            fence = opening[1] if opening and kind == "fence" else ""
            inside = {"quote": "text", "item": "item"}.get(kind, "")
            quoted = bool(_QUOTE.match(line))
        position = after
    yield start, position, bool(fence)


def _kind(line: str, inside: str) -> tuple[str, int]:
    """What a line is, and where its text begins, after the marks of quotation and list.

    Only a list that starts with 1 breaks a paragraph: "in" and below it "2019. We …" is no list.
    """
    if line.isspace():
        return "blank", 0
    quote = _QUOTE.match(line)
    at = quote.end() if quote else 0
    if not line[at:].strip():
        return "blank", at
    if _HEADING.match(line, at):
        return "heading", at
    if inside == "text" and _UNDERLINE.match(line, at):
        return "underline", at
    if _RULE.match(line, at):
        return "rule", at
    if line[at:].lstrip().startswith("|"):
        return "row", at
    marker = _MARKER.match(line, at)
    if marker and inside == "text" and marker[1] not in (None, "1"):
        marker = None
    at = marker.end() if marker else at
    if not quote and _FENCE.match(line, at):
        return "fence", at
    return ("item" if marker else "quote" if quote else "text"), at


def _closes(line: str, fence: str) -> bool:
    """Does a line close this fence? It repeats its character, as often or more, and that is all."""
    mark = line.strip()
    return mark.startswith(fence) and not mark.strip(fence[0])


def _ends(text: str, start: int, end: int) -> list[int]:
    """Where sentences end inside one block."""
    return [
        match.end()
        for match in _SENTENCE_END.finditer(text, start, end)
        if not _ABBREVIATION.search(text[max(start, match.start() - 11) : match.start() + 1])
    ]


def _trimmed(text: str, start: int, end: int, ends: list[int]) -> Iterator[tuple[int, int]]:
    """The spans between the given ends, without white space around them; blank ones left out.

    A sentence that starts on a later line of a quotation starts after the mark of quotation.
    """
    for first, last in zip([start, *ends], [*ends, end], strict=True):
        mark = _QUOTE.match(text, first, last) if first > start else None
        first = mark.end() if mark else first
        sentence = text[first:last]
        if sentence.strip():
            lead = len(sentence) - len(sentence.lstrip())
            yield first + lead, first + len(sentence.rstrip())
