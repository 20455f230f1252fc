"""The one analyser: from text to search terms, the same for documents and questions.

English and French share one analyser, because a question rarely says which language it is in.
Each word is folded (case, accents, ligatures, elision) and stemmed by the French Snowball stemmer,
then by the English one: a term has one form whatever the language of the text around it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import snowballstemmer  # type: ignore[import-untyped]

ANALYSER_VERSION = "en-fr-snowball-v1"

_FRENCH = snowballstemmer.stemmer("french")
_ENGLISH = snowballstemmer.stemmer("english")

_STOP_WORDS = frozenset(
    # English
    "a about after all also am an and any are as at be because been before being between both but "
    "by can could did do does doing done during each every few for from further get gets had has "
    "have having he her here him his how i if in into is it its itself just may me might more most "
    "must my of off on once only or other our out over own per please same shall she should so "
    "some such than that the their them then there these they this those through to too under "
    "until up us very was we were what when where which while who whom whose why will with within "
    "without would you your yours tell give many much long need needs want ca wo "
    # French, after folding
    "ai as au aucun aucune aussi autre autres aux avec avez avoir avons ce cela celle celles celui "
    "ces cet cette ceux chez comme comment combien d dans de des doit doivent donc dont du elle "
    "elles en entre est et etaient etait etant etes etre eu eux faire fait faut furent il "
    "ils je l la le les leur leurs lors lui ma mais me meme mes moi mon n ne ni nos notre nous on "
    "ont ou par pas peut peuvent peux plus pour pourquoi puis puis-je qu quand que quel quelle "
    "quelles quels qui quoi s sa sans se sera seront ses si son sont sous suis sur t ta te tes toi "
    "ton tous tout toute toutes tu un une vers voici voila vos votre vous y".split()
)

_CJK = r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f"
_WORD = rf"[^\W_{_CJK}]+"
_TOKEN = re.compile(
    rf"(?P<cjk>[{_CJK}]+)"
    # letters and digits joined by - . / _ with a digit somewhere: GX-100, E-4021, 38.101
    rf"|(?P<code>(?=[\w./-]{{0,40}}\d){_WORD}(?:[-./_]{_WORD})+)"
    r"|(?P<sharp>[^\W\d_](?:\+\+|#)(?!\w))"
    rf"|(?P<word>{_WORD})"
)
_ELISION = re.compile(r"\b(?:[cdjlmnst]|qu|jusqu|lorsqu|puisqu|quoiqu)'(?=\w)", re.IGNORECASE)
_CONTRACTION = re.compile(r"(?<=\w)(?:'s|n't|'ll|'re|'ve)\b", re.IGNORECASE)
_FOLDS = str.maketrans(
    {"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "’": "'", "ʼ": "'", "‑": "-", "‐": "-", "ß": "ss"}
)
_CODE = re.compile(r"(?<![\w-])[A-Za-z]{2,}-\d{2,}[A-Za-z]?(?![\w-])")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_FENCE = re.compile(r" {0,3}(?:`{3,}|~{3,})")
_MARKER = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)]|>+)[ \t]+")
_SENTENCE_END = re.compile(r"""[.!?…]["'»”’)\]*_]*\s+(?=[\[("'«“*_]*\s?[^\W_a-zà-ÿ])""")
_ABBREVIATION = re.compile(
    r"\b(?:[^\W\d_]|Mr|Mrs|Ms|Dr|No|Nos|St|art|fig|vs|p\. ex|approx)\.$", re.IGNORECASE
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
    decomposed = unicodedata.normalize("NFKD", text.translate(_FOLDS).casefold())
    bare = "".join(c for c in decomposed if not unicodedata.combining(c))
    return unicodedata.normalize("NFC", bare)


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """The stem of a folded word: French first, then English.

    >>> stem("garanties"), stem("exporting")
    ('garant', 'export')
    """
    return str(_ENGLISH.stemWord(_FRENCH.stemWord(word)))


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

    List items and table rows are sentences of their own; a list marker belongs to none. Headings
    and fences are left out. A fenced block is one sentence: code is quoted whole.

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
    return _CODE.findall(text.translate(_FOLDS))


def _tokens(text: str) -> Iterator[re.Match[str]]:
    plain = _CONTRACTION.sub("", _ELISION.sub(" ", text.translate(_FOLDS)))
    return _TOKEN.finditer(fold(plain))


def _expand(match: re.Match[str]) -> Iterator[str]:
    """The terms of one token."""
    token = match.group()
    kind = match.lastgroup
    if kind == "cjk":
        yield from (token[i : i + 2] for i in range(max(1, len(token) - 1)))
    elif kind == "code":
        yield token
        yield from re.split(r"[-./_]", token)
    elif kind == "sharp":
        yield from (token, token[0])
    elif token not in _STOP_WORDS:
        yield stem(token)


def _blocks(text: str) -> Iterator[tuple[int, int, bool]]:
    """Spans of paragraphs, list items, table rows and fenced blocks, and which of them is code."""
    start = position = 0
    fence = ""
    for line in text.splitlines(keepends=True):
        after = position + len(line)
        row = line.lstrip().startswith("|")
        heading, opening, marker = _HEADING.match(line), _FENCE.match(line), _MARKER.match(line)
        if fence:
            if opening and opening.group().strip().startswith(fence):
                yield start, position, True
                start, fence = after, ""
        elif opening:
            yield start, position, False
            start, fence = after, opening.group().strip()
        elif row or heading or marker or not line.strip():
            yield start, position, False
            start = after if heading else position + (marker.end() if marker else 0)
            if row:
                yield start, after, False
                start = after
        position = after
    yield start, position, bool(fence)


def _ends(text: str, start: int, end: int) -> list[int]:
    """Where sentences end inside one block."""
    return [
        match.end()
        for match in _SENTENCE_END.finditer(text, start, end)
        if not _ABBREVIATION.search(text[start : match.start() + 1][-12:])
    ]


def _trimmed(text: str, start: int, end: int, ends: list[int]) -> Iterator[tuple[int, int]]:
    """The spans between the given ends, without white space around them; blank ones left out."""
    for first, last in zip([start, *ends], [*ends, end], strict=True):
        sentence = text[first:last]
        if sentence.strip():
            lead = len(sentence) - len(sentence.lstrip())
            yield first + lead, first + len(sentence.rstrip())
