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

ANALYSER_VERSION = "en-fr-snowball-v2"

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
    {"œ": "oe", "Œ": "Oe", "æ": "ae", "Æ": "Ae", "’": "'", "ʼ": "'", "ʻ": "'", "‑": "-", "‐": "-"}
    # invisible inside a word: soft hyphen, joiners, byte-order mark
    | dict.fromkeys("\u00ad\u200c\u200d\u2060\ufeff", "")
)
_DASHES = str.maketrans("\u2013\u2212\uff0d", "---")  # what a hyphen becomes as one types
_VOICED = "\u3099\u309a"  # marks that make another Japanese letter, as か and が: no accents
# a product code; the s of several ("all GX-100s") is no part of it, that of a model ("GX-100S") is
_CODE = re.compile(r"(?<![\w-])[A-Za-z]{2,}-\d{2,}(?:(?!s)[A-Za-z])?(?=s?(?![\w-]))")
_PLURAL = re.compile(r"(\b[A-Za-z]{2,}-\d{2,}[A-Za-z]?)s\b(?!-)")

_SENTENCE_END = re.compile(
    r"""[.!?…](?:[ \u00a0\u202f]?»|["'”’)\]*_])*\s+(?=(?:>+[ ])*[\[("'«“*_]*\s?[^\W_a-zà-ÿœ])"""
    r"|[。！？][」』”]*\s*"
)
CLOSERS = " \t\n\u00a0\u202f\"'»”’」』)]*_"
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


def sentence_ends(text: str, start: int, end: int) -> list[int]:
    """Where sentences end within text[start:end], a part of one paragraph; each end is the start of
    the next sentence, and the end of the part is none.

    >>> text = "Ask Dr. Who. He knows! And"
    >>> [text[end:] for end in sentence_ends(text, 0, len(text))]
    ['He knows! And', 'And']
    """
    return [
        match.end()
        for match in _SENTENCE_END.finditer(text, start, end)
        if match.end() < end
        and not _ABBREVIATION.search(text[max(start, match.start() - 11) : match.start() + 1])
    ]


def ends_sentence(text: str) -> bool:
    """Does the text end as a sentence does, rather than in the middle of one?

    >>> ends_sentence("He said “Go!”  "), ends_sentence("Ask Dr."), ends_sentence("Go on")
    (True, False, False)
    """
    bare = text[-200:].rstrip(CLOSERS)
    return bare.endswith((*".!?…。！？",)) and not _ABBREVIATION.search(bare[-11:])


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
    folded = fold(_PLURAL.sub(r"\1", text.translate(_FOLDS)))
    return _TOKEN.finditer(_CONTRACTION.sub("", _ELISION.sub(" ", folded)))


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
