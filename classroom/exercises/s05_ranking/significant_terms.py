"""Turn a text into search terms

Return the sorted list of the distinct search terms of `text`.

1. Fold it: lower case, no accents, `œ` becomes `oe`, and `’` becomes `'`.
2. An elided word before an apostrophe falls away: `c' d' j' l' m' n' s' t' qu'`.
3. A run of letters and digits is a word. Words joined by `-` with at least one digit in them are
   also a code, which is a term as a whole: `gx-100` gives `gx-100`, `gx` and `100`.
4. A word is left out if it is in `stop_words`; otherwise it is replaced by its stem, if `stems` has
   one. A whole code is left as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from random import Random
from typing import TypeAlias

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s05_ranking.common import analysed
from labkit import text as analyser

Stems: TypeAlias = dict[str, str]
Word: TypeAlias = Callable[[str, list[str], Stems], list[str]]
Code: TypeAlias = Callable[[list[str], list[str]], list[str]]  # (parts, terms of the parts)


def significant_terms(text: str, stop_words: list[str], stems: dict[str, str]) -> list[str]:
    """The sorted distinct terms of a text. Stop words and stems are given in folded form."""
    import re
    import unicodedata

    text = text.lower().replace("œ", "oe").replace("’", "'")
    decomposed = unicodedata.normalize("NFD", text)
    text = "".join(c for c in decomposed if not unicodedata.combining(c))
    text = re.sub(r"\b(?:[cdjlmnst]|qu)'", " ", text)
    found = set()
    for run in re.findall(r"[^\W_]+(?:-[^\W_]+)*", text):
        parts = run.split("-")
        if len(parts) > 1 and any(c.isdigit() for c in run):
            found.add(run)
        found.update(stems.get(part, part) for part in parts if part not in stop_words)
    return sorted(found)


def _by_labkit(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    # labkit's analyser has its own list and stemmer; `analysed` hands out what they say of a text.
    return sorted(analyser.significant_terms(text))


_ELISION = r"\b(?:[cdjlmnst]|qu)'"


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _folded(text: str) -> str:
    return _without_accents(text.lower().replace("œ", "oe").replace("’", "'"))


def _word(word: str, stop_words: list[str], stems: Stems) -> list[str]:
    return [] if word in stop_words else [stems.get(word, word)]


def _terms(
    text: str,
    stop_words: list[str],
    stems: Stems,
    fold: Callable[[str], str] = _folded,
    elision: str = _ELISION,
    word: Word = _word,
    code: Code = lambda parts, terms: ["-".join(parts), *terms],
) -> list[str]:
    """The sorted terms by the given rules, repetitions kept."""
    found: list[str] = []
    for run in re.findall(r"[^\W_]+(?:-[^\W_]+)*", re.sub(elision, " ", fold(text))):
        parts = run.split("-")
        terms = [term for part in parts for term in word(part, stop_words, stems)]
        is_code = len(parts) > 1 and any(character.isdigit() for character in run)
        found += code(parts, terms) if is_code else terms
    return sorted(found)


def _distinct(terms: list[str]) -> list[str]:
    return sorted(set(terms))


def accents_kept(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Accents stay on: `réparation` and `reparation` become two terms that never meet."""
    folded = text.lower().replace("œ", "oe").replace("’", "'")
    return _distinct(_terms(folded, stop_words, stems, fold=str))


def ligature_lost(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The ligature œ is lost: taking accents off does not split it, so replace it by `oe` first."""
    plain = _without_accents(text.lower().replace("’", "'"))
    return significant_terms(plain.encode("ascii", "ignore").decode(), stop_words, stems)


def curly_apostrophe_missed(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The typographic apostrophe ’ is not taken for one: `l’eau` keeps the letter of its article."""
    return significant_terms(text.replace("’", " "), stop_words, stems)


def elided_letter_kept(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The elided article becomes a term of its own: `l'eau` gives `l`, which says nothing."""
    return _distinct(_terms(text, stop_words, stems, elision="'"))


def code_only_whole(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """A code is kept only whole: a question that says `4021` does not find `E-4021`."""
    return _distinct(_terms(text, stop_words, stems, code=lambda parts, _: ["-".join(parts)]))


def code_only_parts(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """A code is kept only in parts: no term says any more that `GX` and `100` belong together."""
    return _distinct(_terms(text, stop_words, stems, code=lambda _, terms: terms))


def code_parts_unfiltered(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The parts of a code skip the stop words and stems: they are words like any others."""
    whole_and_parts: Code = lambda parts, _: ["-".join(parts), *parts]  # noqa: E731
    return _distinct(_terms(text, stop_words, stems, code=whole_and_parts))


def every_hyphen_a_code(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Words joined by a hyphen count as a code although no digit is in them."""
    whole = re.findall(r"[^\W_]+(?:-[^\W_]+)+", re.sub(_ELISION, " ", _folded(text)))
    return _distinct([*whole, *significant_terms(text, stop_words, stems)])


def stop_words_after_stems(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Stop words are looked up after stemming: a stem such as `dur` of `during` is not on the list."""
    stemmed: Word = lambda word, stop, stems: _word(stems.get(word, word), stop, {})  # noqa: E731
    return _distinct(_terms(text, stop_words, stems, word=stemmed))


def stop_words_before_folding(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Stop words are looked up before folding: `The` or `à` is then not the word on the list."""
    kept = [word for word in re.split(r"([^\w’'-]+)", text) if word not in stop_words]
    return significant_terms("".join(kept), [], stems)


def repetitions_kept(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """A term is listed as often as it occurs: each distinct term is asked for once."""
    return _terms(text, stop_words, stems)


_HIDDEN_WORDS = (
    "L’œuf D'Orléans l’hiver C'est qu'une Œuvres été À Où garanties Garantie exports export the The "
    "before during csv GX-100 E-4021 A-7 a-7 tests-3 2026-10-23 high-speed mot-clé retours retour"
).split()


def _hidden_terms(random: Random) -> Iterator[Arguments]:
    for number in range(26):
        words = random.sample(_HIDDEN_WORDS, 7 if number < 10 else random.randint(2, 6))
        words += random.sample(words, 1)
        yield analysed(
            random.choice([" ", ", ", " – "]).join(words) + random.choice(["", ".", " ?"])
        )
    yield analysed(" \n")


def _any_terms() -> Strategy:
    words = "csv the The during eaux é œ l'eau l’eau C'est a-7 E-1 eaux-2 pre-set".split()
    return (
        st.lists(st.sampled_from(words), max_size=4)
        .map(" ".join)
        .filter(lambda text: text == text.strip())
        .map(analysed)
    )


EXERCISE = Exercise(
    model_solution=significant_terms,
    reference=_by_labkit,
    cases=(
        case("stop words and stems", *analysed("What does the export contain?")),
        case("accents, a ligature, elisions", *analysed("L’œuvre d'Orléans, c'est l'été")),
        case("codes, whole and in parts", *analysed("Error E-4021 on the GX-200")),
        case("two words, one stem", *analysed("Réparations : une réparation")),
        case("a hyphen alone makes no code", *analysed("A part-time job during A-1")),
        case("parts of a code are words", *analysed("The files-2 of the file")),
        case("nothing to find", *analysed("")),
    ),
    hidden=_hidden_terms,
    strategy=_any_terms,
    hints=(
        "Do one rule after the other, in the order of the task, and print what each one leaves.",
        '`unicodedata.normalize("NFD", text)` sets accents apart; drop the characters for which '
        "`unicodedata.combining` is not 0. It does not split `œ`.",
        r"""After folding, `re.sub(r"\b(?:[cdjlmnst]|qu)'", " ", text)` takes elided words away.""",
        "`[^\\W_]+(?:-[^\\W_]+)*` finds words and hyphened words. Several parts "
        "and a digit make a code, kept whole; then each part goes through stop words, then stems.",
    ),
    off_limits=("labkit.text",),
    points=6,
    minutes=25,
)
