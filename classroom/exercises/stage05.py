"""Stage 05: terms, lexical scores, fusion of ranks, and the strict policy."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import pairwise
from math import log
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from classroom.exercise import Arguments, Case, Exercise, cases, mistakes
from classroom.exercises.stage06 import metadata_of
from labkit import ranking
from labkit import text as analyser
from labkit.types import Chunk, Hit

if TYPE_CHECKING:
    from hypothesis.strategies import SearchStrategy

Stems: TypeAlias = dict[str, str]
Scored: TypeAlias = list[list[Any]]  # [id, score] pairs
PlainHit: TypeAlias = dict[str, Any]  # id, cosine, shared

_RRF_K = 60
_K1, _B = 1.2, 0.75


# --- significant_terms ---------------------------------------------------------------------------


def significant_terms(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    # labkit's analyser has its own list and stemmer; `analysed` hands out what they say of a text.
    return sorted(analyser.significant_terms(text))


def analysed(text: str) -> Arguments:
    """The text, those of its words that labkit leaves out, and the stems of its other words."""
    words = sorted(set(re.findall(r"[^\W_]+(?!['\w])", analyser.fold(text))))
    stop_words = [word for word in words if not analyser.significant_terms(word)]
    stems = {word: analyser.stem(word) for word in words if analyser.stem(word) != word}
    return text, stop_words, stems


def _without_accents(text: str) -> str:
    decomposed = unicodedata.normalize("NFD", text)
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def _folded(text: str) -> str:
    return _without_accents(text.lower().replace("œ", "oe").replace("’", "'"))


def _not_elided(text: str) -> str:
    return re.sub(r"\b(?:[cdjlmnst]|qu)'", " ", text)


def _word(word: str, stop_words: list[str], stems: Stems) -> list[str]:
    return [] if word in stop_words else [stems.get(word, word)]


def _words(words: list[str], stop_words: list[str], stems: Stems) -> list[str]:
    return [term for word in words for term in _word(word, stop_words, stems)]


def _code(parts: list[str], stop_words: list[str], stems: Stems) -> list[str]:
    return ["-".join(parts), *_words(parts, stop_words, stems)]


def _analyse(
    text: str,
    stop_words: list[str],
    stems: Stems,
    word: Callable[[str, list[str], Stems], list[str]] = _word,
    code: Callable[[list[str], list[str], Stems], list[str]] = _code,
) -> list[str]:
    """The terms of a folded text, repetitions kept, by the given rules for words and codes."""
    found: list[str] = []
    for run in re.findall(r"[^\W_]+(?:-[^\W_]+)*", text):
        parts = run.split("-")
        if len(parts) > 1 and any(character.isdigit() for character in run):
            found += code(parts, stop_words, stems)
        else:
            found += [term for part in parts for term in word(part, stop_words, stems)]
    return found


def accents_kept(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Accents stay on: `réparation` and `reparation` become two terms that never meet."""
    folded = text.lower().replace("œ", "oe").replace("’", "'")
    return sorted(set(_analyse(_not_elided(folded), stop_words, stems)))


def ligature_lost(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The ligature œ is lost: taking accents off does not split it, so replace it by `oe` first."""
    plain = _without_accents(text.lower().replace("’", "'"))
    ascii_only = plain.encode("ascii", "ignore").decode()
    return sorted(set(_analyse(_not_elided(ascii_only), stop_words, stems)))


def curly_apostrophe_missed(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The typographic apostrophe ’ is not taken for one: `l’eau` keeps the letter of its article."""
    folded = _not_elided(_without_accents(text.lower().replace("œ", "oe")))
    return sorted(set(_analyse(folded, stop_words, stems)))


def elided_letter_kept(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The elided article becomes a term of its own: `l'eau` gives `l`, which says nothing."""
    return sorted(set(_analyse(_folded(text), stop_words, stems)))


def code_only_whole(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """A code is kept only whole: a question that says `4021` does not find `E-4021`."""
    terms = _analyse(
        _not_elided(_folded(text)), stop_words, stems, code=lambda parts, *_: ["-".join(parts)]
    )
    return sorted(set(terms))


def code_only_parts(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """A code is kept only in parts: no term says any more that `GX` and `100` belong together."""
    terms = _analyse(_not_elided(_folded(text)), stop_words, stems, code=_words)
    return sorted(set(terms))


def code_parts_unfiltered(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """The parts of a code skip the stop words and stems: they are words like any others."""
    terms = _analyse(
        _not_elided(_folded(text)),
        stop_words,
        stems,
        code=lambda parts, *_: ["-".join(parts), *parts],
    )
    return sorted(set(terms))


def every_hyphen_a_code(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Words joined by a hyphen count as a code although no digit is in them."""
    folded = _not_elided(_folded(text))
    whole = re.findall(r"[^\W_]+(?:-[^\W_]+)+", folded)
    return sorted({*whole, *_analyse(folded, stop_words, stems)})


def stop_words_after_stems(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Stop words are looked up after stemming: a stem such as `dur` of `during` is not on the list."""

    def word(word: str, stop_words: list[str], stems: Stems) -> list[str]:
        return [term for term in [stems.get(word, word)] if term not in stop_words]

    return sorted(set(_analyse(_not_elided(_folded(text)), stop_words, stems, word=word)))


def stop_words_before_folding(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """Stop words are looked up before folding: `The` or `à` is then not the word on the list."""
    kept = [word for word in re.split(r"([^\w’'-]+)", text) if word not in stop_words]
    return sorted(set(_analyse(_not_elided(_folded("".join(kept))), [], stems)))


def repetitions_kept(text: str, stop_words: list[str], stems: Stems) -> list[str]:
    """A term is listed as often as it occurs: each distinct term is asked for once."""
    return sorted(_analyse(_not_elided(_folded(text)), stop_words, stems))


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


def _any_terms() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    words = "csv the The during eaux é œ l'eau l’eau C'est a-7 E-1 eaux-2 pre-set".split()
    return (
        st.lists(st.sampled_from(words), max_size=4)
        .map(" ".join)
        .filter(lambda text: text == text.strip())
        .map(analysed)
    )


SIGNIFICANT_TERMS = Exercise(
    id="significant_terms",
    stage=5,
    title="Turn a text into search terms",
    task=(
        "Return the sorted list of the distinct search terms of `text`.\n\n"
        "1. Fold it: lower case, no accents, `œ` becomes `oe`, and `’` becomes `'`.\n"
        "2. An elided word before an apostrophe falls away: `c' d' j' l' m' n' s' t' qu'`.\n"
        "3. A run of letters and digits is a word. Words joined by `-` with at least one digit in "
        "them are also a code, which is a term as a whole: `gx-100` gives `gx-100`, `gx` and "
        "`100`.\n"
        "4. A word is left out if it is in `stop_words`; otherwise it is replaced by its stem, if "
        "`stems` has one. A whole code is left as it is."
    ),
    starter='''\
def significant_terms(text: str, stop_words: list[str], stems: dict[str, str]) -> list[str]:
    """The sorted distinct terms of a text. Stop words and stems are given in folded form."""
    raise NotImplementedError
''',
    reference=significant_terms,
    cases=cases(
        Case(analysed("What does the export contain?"), "stop words and stems"),
        Case(analysed("L’œuvre d'Orléans, c'est l'été"), "accents, a ligature, elisions"),
        Case(analysed("Error E-4021 on the GX-200"), "codes, whole and in parts"),
        Case(analysed("Réparations : une réparation"), "two words, one stem"),
        Case(analysed("A part-time job during A-1"), "a hyphen alone makes no code"),
        Case(analysed("The files-2 of the file"), "parts of a code are words"),
        Case(analysed(""), "nothing to find"),
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
    mistakes=mistakes(
        accents_kept,
        ligature_lost,
        curly_apostrophe_missed,
        elided_letter_kept,
        code_only_whole,
        code_only_parts,
        code_parts_unfiltered,
        every_hyphen_a_code,
        stop_words_after_stems,
        stop_words_before_folding,
        repetitions_kept,
    ),
    off_limits=("labkit.text", "classroom.exercises"),
    answer="""\
    import re
    import unicodedata

    text = text.lower().replace("œ", "oe").replace("’", "'")
    decomposed = unicodedata.normalize("NFD", text)
    text = "".join(c for c in decomposed if not unicodedata.combining(c))
    text = re.sub(r"\\b(?:[cdjlmnst]|qu)'", " ", text)
    found = set()
    for run in re.findall(r"[^\\W_]+(?:-[^\\W_]+)*", text):
        parts = run.split("-")
        if len(parts) > 1 and any(c.isdigit() for c in run):
            found.add(run)
        found.update(stems.get(part, part) for part in parts if part not in stop_words)
    return sorted(found)
""",
    points=6,
    minutes=25,
)


# --- bm25_scores ---------------------------------------------------------------------------------


def bm25_scores(terms: list[str], passages: list[list[str]]) -> list[float]:
    return ranking.bm25_scores(terms, passages)


def _idf(size: int, containing: int) -> float:
    return log(1 + (size - containing + 0.5) / (containing + 0.5))


def _share(frequency: int, length: int, average: float) -> float:
    return frequency / (frequency + _K1 * (1 - _B + _B * length / average))


def _count(term: str, passage: list[str]) -> int:
    return passage.count(term)


def _bm25(
    terms: Iterable[str],
    passages: list[list[str]],
    idf: Callable[[int, int], float] = _idf,
    share: Callable[[int, int, float], float] = _share,
    count: Callable[[str, list[str]], int] = _count,
    length: Callable[[list[str]], int] = len,
) -> list[float]:
    """The scores by the given parts of the formula; each of the terms counts."""
    size = len(passages)
    average = sum(map(length, passages)) / size if size else 0.0
    scores = [0.0] * size
    for term in terms:
        counts = [count(term, passage) for passage in passages]
        containing = sum(frequency > 0 for frequency in counts)
        for row, frequency in enumerate(counts):
            if frequency:
                scores[row] += idf(size, containing) * share(
                    frequency, length(passages[row]), average
                )
    return scores


def idf_below_zero(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A word that stands in most passages lowers their scores: the `1 +` in the idf is missing."""

    def idf(size: int, containing: int) -> float:
        return log((size - containing + 0.5) / (containing + 0.5))

    return _bm25(sorted(set(terms)), passages, idf=idf)


def occurrences_counted(terms: list[str], passages: list[list[str]]) -> list[float]:
    """The idf counts how often a word occurs: it should count the passages that hold it."""
    scores = [0.0] * len(passages)
    for term in sorted(set(terms)):
        containing = sum(passage.count(term) for passage in passages)
        alone = _bm25([term], passages, idf=lambda *_: 1.0)
        weight = _idf(len(passages), containing)
        scores = [score + weight * share for score, share in zip(scores, alone, strict=True)]
    return scores


def repeated_question_terms(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A term that the question repeats counts again: each distinct term counts once."""
    return _bm25(terms, passages)


def length_ignored(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A long passage is not held back: its length over the average length is missing."""
    return _bm25(
        sorted(set(terms)), passages, share=lambda frequency, *_: frequency / (frequency + _K1)
    )


def distinct_length(terms: list[str], passages: list[list[str]]) -> list[float]:
    """The length counts distinct terms: a passage is as long as its list, repetitions and all."""
    return _bm25(sorted(set(terms)), passages, length=lambda passage: len(set(passage)))


def never_saturated(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A word that stands ten times weighs ten times as much: repeating must help less and less."""
    return _bm25(sorted(set(terms)), passages, share=lambda frequency, *_: float(frequency))


def presence_only(terms: list[str], passages: list[list[str]]) -> list[float]:
    """How often a word stands in a passage changes nothing: its frequency is missing."""
    return _bm25(
        sorted(set(terms)),
        passages,
        share=lambda frequency, length, average: _share(1, length, average),
    )


def older_factor(terms: list[str], passages: list[list[str]]) -> list[float]:
    """All scores are 2.2 times too high: older formulas multiply by `k1 + 1`, this one does not."""
    return [(_K1 + 1) * score for score in bm25_scores(terms, passages)]


def empty_average_divided(terms: list[str], passages: list[list[str]]) -> list[float]:
    """Where no passage has a word, you divide by 0: empty passages score 0, none give no scores."""
    average = sum(map(len, passages)) / len(passages)
    norms = [_K1 * (1 - _B + _B * len(passage) / average) for passage in passages]
    return bm25_scores(terms, passages) if norms else []


def part_of_a_word(terms: list[str], passages: list[list[str]]) -> list[float]:
    """A term is found inside a longer one: compare whole terms, not parts of a joined text."""
    return _bm25(
        sorted(set(terms)), passages, count=lambda term, passage: " ".join(passage).count(term)
    )


def _hidden_passages(random: Random) -> Iterator[Arguments]:
    words = ["return", "port", "report", "csv", "day", "days", "warranty"]
    yield ["port"], [[], []]
    yield ["port", "port", "csv"], [["port", "csv"], ["report", "report", "port"], ["day"]]
    yield ["day"], [["day", "day", "day", "csv"], ["day"], ["day", "port"], ["csv"]]
    yield ["warranty"], [["csv"], ["days"]]
    for _ in range(24):
        passages = [
            random.choices(words, k=random.randint(0, 7)) for _ in range(random.randint(1, 5))
        ]
        yield random.choices(words, k=random.randint(0, 4)), passages


def _any_passages() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    terms = st.sampled_from(["a", "ab", "b"])
    return st.tuples(st.lists(terms, max_size=2), st.lists(st.lists(terms, max_size=3), max_size=3))


BM25_SCORES = Exercise(
    id="bm25_scores",
    stage=5,
    title="Score passages by their words",
    task=(
        "Return one BM25 score for each passage; a passage is the list of its terms. A passage's "
        "score is the sum over the distinct question terms that it holds of `idf * f / (f + 1.2 * "
        "(0.25 + 0.75 * n / average))`, where `f` is how often the term stands in the passage, `n` "
        "how many terms the passage has, and `average` the mean of `n` over all passages. "
        "`idf` is `log(1 + (N - df + 0.5) / (df + 0.5))` with the natural logarithm, for `N` "
        "passages of which `df` hold the term. A passage that holds no question term scores 0."
    ),
    starter='''\
def bm25_scores(terms: list[str], passages: list[list[str]]) -> list[float]:
    """One BM25 score a passage, in their order, with k1 = 1.2 and b = 0.75."""
    raise NotImplementedError
''',
    reference=bm25_scores,
    cases=cases(
        Case((["csv"], [["csv", "export"], ["pdf"]]), "one passage holds the term"),
        Case(
            (["csv"], [["csv"], ["csv", "csv"], ["csv", "pdf", "pdf"]]), "a word in every passage"
        ),
        Case((["csv", "csv", "pdf"], [["csv"], ["pdf", "pdf"], []]), "the question repeats itself"),
        Case((["art"], [["art"], ["start", "part"]]), "whole terms only"),
        Case((["csv"], []), "no passages"),
    ),
    hidden=_hidden_passages,
    strategy=_any_passages,
    hints=(
        "Begin with one term and one passage, and compute the first public case by hand.",
        "`passage.count(term)` is `f`; `sum(term in passage for passage in passages)` is `df`.",
        "Loop over `set(terms)`, so that a repeated question term counts once.",
        "Skip a term with `f == 0` before you compute its share: then you never divide by an "
        "average of 0. Compute the average only if there are passages.",
    ),
    mistakes=mistakes(
        idf_below_zero,
        occurrences_counted,
        repeated_question_terms,
        length_ignored,
        distinct_length,
        never_saturated,
        presence_only,
        older_factor,
        empty_average_divided,
        part_of_a_word,
    ),
    off_limits=("labkit.ranking", "classroom.exercises"),
    answer="""\
    from math import log

    scores = []
    for passage in passages:
        average = sum(len(p) for p in passages) / len(passages)
        score = 0.0
        for term in set(terms):
            f = passage.count(term)
            if f == 0:
                continue
            df = sum(term in p for p in passages)
            idf = log(1 + (len(passages) - df + 0.5) / (df + 0.5))
            score += idf * f / (f + 1.2 * (0.25 + 0.75 * len(passage) / average))
        scores.append(score)
    return scores
""",
    points=6,
    minutes=25,
)


# --- reciprocal_rank_fusion ----------------------------------------------------------------------


def reciprocal_rank_fusion(rankings: list[list[str]], k: int) -> Scored:
    return [[name, score] for name, score in ranking.reciprocal_rank_fusion(rankings, k)]


def _by_score(scores: dict[str, float]) -> Scored:
    return [[name, scores[name]] for name in sorted(scores, key=lambda name: (-scores[name], name))]


def _fuse(rankings: Iterable[Iterable[str]], k: float, first: int = 1) -> dict[str, float]:
    """The sums of 1 / (k + rank), ranks counted from `first`, repetitions counted again."""
    scores: dict[str, float] = {}
    for ids in rankings:
        for rank, name in enumerate(ids, start=first):
            scores[name] = scores.get(name, 0.0) + 1 / (k + rank)
    return scores


def _once(rankings: list[list[str]]) -> list[list[str]]:
    return [list(dict.fromkeys(ids)) for ids in rankings]


def ranks_from_zero(rankings: list[list[str]], k: int) -> Scored:
    """Your ranks start at 0: the first place is rank 1."""
    return _by_score(_fuse(_once(rankings), k, first=0))


def missing_counts_as_first(rankings: list[list[str]], k: int) -> Scored:
    """An id that a list does not hold gets something from that list: it must add nothing."""
    scores = _fuse(_once(rankings), k)
    for name in scores:
        scores[name] += sum(1 / (k + 1) for ids in rankings if name not in ids)
    return _by_score(scores)


def missing_counts_as_last(rankings: list[list[str]], k: int) -> Scored:
    """An id that a list does not hold is ranked after its end: it must add nothing there."""
    scores = _fuse(_once(rankings), k)
    for name in scores:
        scores[name] += sum(1 / (k + len(ids) + 1) for ids in _once(rankings) if name not in ids)
    return _by_score(scores)


def only_common_ids(rankings: list[list[str]], k: int) -> Scored:
    """Only ids that every list holds are returned: one list is enough to be ranked."""
    scores = _fuse(_once(rankings), k)
    return _by_score({n: s for n, s in scores.items() if all(n in ids for ids in rankings)})


def repetition_counted(rankings: list[list[str]], k: int) -> Scored:
    """An id that a list repeats is counted again: only its first place in a list counts."""
    return _by_score(_fuse(rankings, k))


def repetition_takes_a_rank(rankings: list[list[str]], k: int) -> Scored:
    """A repeated id takes a rank away from those after it: rank the list as if it were not there."""
    scores: dict[str, float] = {}
    for ids in rankings:
        for name in dict.fromkeys(ids):
            scores[name] = scores.get(name, 0.0) + 1 / (k + ids.index(name) + 1)
    return _by_score(scores)


def ties_by_appearance(rankings: list[list[str]], k: int) -> Scored:
    """Equal scores stay in the order in which they turned up: sort ties by id."""
    scores = _fuse(_once(rankings), k)
    return [[name, scores[name]] for name in sorted(scores, key=lambda name: -scores[name])]


def ties_reversed(rankings: list[list[str]], k: int) -> Scored:
    """Equal scores come with the last id first: `reverse=True` turns the order of ids around too."""
    scores = _fuse(_once(rankings), k)
    return [[n, scores[n]] for n in sorted(scores, key=lambda n: (scores[n], n), reverse=True)]


def worst_first(rankings: list[list[str]], k: int) -> Scored:
    """The lowest score comes first: the best belongs there."""
    scores = _fuse(_once(rankings), k)
    return [[name, scores[name]] for name in sorted(scores, key=lambda n: (scores[n], n))]


def always_sixty(rankings: list[list[str]], k: int) -> Scored:
    """You always use 60: take the `k` that you are given."""
    return reciprocal_rank_fusion(rankings, _RRF_K)


def _clear(rankings: list[list[str]], k: float, weights: list[float] | None = None) -> bool:
    """May the order depend on how sums are rounded? From three lists on, scores must differ."""
    if len(rankings) < 3:
        return True
    fused = ranking.reciprocal_rank_fusion(rankings, k, weights)
    return all(a - b > 1e-9 for (_, a), (_, b) in pairwise(fused))


def _some_rankings(random: Random, lists: int) -> list[list[str]]:
    names = ["faq#0", "faq#1", "guide#0", "guide#1", "guide#2"]
    return [random.sample(names, random.randint(0, 5)) for _ in range(lists)]


def _hidden_rankings(random: Random) -> Iterator[Arguments]:
    yield [["guide#0", "faq#0"], ["faq#0", "guide#0"]], 60
    yield [["guide#0", "guide#0", "faq#0"], ["faq#1"]], 60
    yield [["faq#0"], [], ["guide#0", "faq#0"]], 10
    yield [["guide#1"], ["faq#1"]], 0
    yield [], 60
    yield [["guide#2", "faq#0"], ["guide#2", "faq#1"]], 1
    made = 0
    while made < 24:
        rankings, k = _some_rankings(random, random.randint(1, 3)), random.choice([0, 1, 10, 60])
        if random.random() < 0.2 and rankings[0]:
            rankings[0].insert(random.randint(1, len(rankings[0])), rankings[0][0])
        if _clear(rankings, k) and sum(map(len, rankings)) > 2:
            made += 1
            yield rankings, k


def _any_rankings() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    ids = st.lists(st.sampled_from(["a", "b", "c"]), max_size=3)
    return st.tuples(st.lists(ids, max_size=3), st.sampled_from([60, 1, 0])).filter(
        lambda drawn: _clear(*drawn)
    )


RECIPROCAL_RANK_FUSION = Exercise(
    id="reciprocal_rank_fusion",
    stage=5,
    title="Fuse rankings without comparing scores",
    task=(
        "Each ranking is a list of ids, best first. An id's score is the sum of `1 / (k + rank)` "
        "over the rankings that hold it; ranks count from 1, and a ranking without the id adds "
        "nothing. If a ranking repeats an id, only its first place counts, as if the others were "
        "not there. Return `[id, score]` pairs, highest score first, equal scores by id."
    ),
    starter='''\
def reciprocal_rank_fusion(rankings: list[list[str]], k: int) -> list[list]:
    """Fuse rankings of ids into [id, score] pairs, best first, ties by id."""
    raise NotImplementedError
''',
    reference=reciprocal_rank_fusion,
    cases=cases(
        Case(([["a", "b"], ["b", "c"]], 60), "an id in both lists wins"),
        Case(([["b", "a"], ["a", "b"]], 60), "a tie goes by id"),
        Case(([["a", "a", "b"], ["b"]], 1), "a list that repeats an id"),
        Case(([["a"], []], 60), "an empty list adds nothing"),
        Case(([["b", "c"], ["c"], ["a"]], 0), "a k of 0, and three lists"),
    ),
    hidden=_hidden_rankings,
    strategy=_any_rankings,
    hints=(
        "Compute the scores of the first public case with a pencil: which ids are in both lists?",
        "Keep a dict from id to score; `enumerate(ids, start=1)` counts ranks from 1.",
        "`dict.fromkeys(ids)` drops repetitions and keeps the order.",
        "Sort with the key `(-score, id)`: the minus puts the highest first and leaves ids rising.",
    ),
    mistakes=mistakes(
        ranks_from_zero,
        missing_counts_as_first,
        missing_counts_as_last,
        only_common_ids,
        repetition_counted,
        repetition_takes_a_rank,
        ties_by_appearance,
        ties_reversed,
        worst_first,
        always_sixty,
    ),
    off_limits=("labkit.ranking", "classroom.exercises"),
    answer="""\
    scores = {}
    for ids in rankings:
        for rank, name in enumerate(dict.fromkeys(ids), start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (k + rank)
    return sorted(([name, score] for name, score in scores.items()), key=lambda p: (-p[1], p[0]))
""",
    core=True,
    points=4,
    minutes=15,
)


# --- rank_hits -----------------------------------------------------------------------------------

_WORDS = "alpha bravo charlie delta echo foxtrot golf hotel".split()


def rank_hits(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    best_first = sorted(hits, key=lambda hit: (-hit["cosine"], hit["id"]))
    ranked = ranking.rank_strict(" ".join(_WORDS), [_hit(hit) for hit in best_first], threshold, k)
    return [[hit.chunk.id, hit.fused] for hit in ranked if not hit.dropped]


def _hit(plain: PlainHit) -> Hit:
    """A hit whose text shares so many words with the question that `rank_hits` asks."""
    source, _, part = plain["id"].rpartition("#")
    text = " ".join(_WORDS[: plain["shared"]])
    meta = metadata_of({"id": source})
    return Hit(Chunk(meta, int(part), 0, len(text), text), cosine=plain["cosine"])


def _order(hits: Iterable[PlainHit], key: str) -> list[str]:
    return [hit["id"] for hit in sorted(hits, key=lambda hit: (-hit[key], hit["id"]))]


def _ranked(hits: Sequence[PlainHit], first: int = 1) -> Scored:
    """The fused ranking of these hits alone."""
    with_words = [hit for hit in hits if hit["shared"] > 0]
    return _by_score(_fuse([_order(hits, "cosine"), _order(with_words, "shared")], _RRF_K, first))


def _kept(
    hits: list[PlainHit], ranked: Scored, keeps: Callable[[PlainHit], bool], k: int
) -> Scored:
    """The first k of a ranking that pass."""
    by_id = {hit["id"]: hit for hit in hits}
    return [pair for pair in ranked if keeps(by_id[pair[0]])][:k]


def _passing(threshold: float) -> Callable[[PlainHit], bool]:
    return lambda hit: bool(hit["cosine"] >= threshold and hit["shared"] > 0)


def threshold_before_ranks(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """The threshold is applied before ranks are given: a rank then depends on who else passed."""
    near = [hit for hit in hits if hit["cosine"] >= threshold]
    return _kept(hits, _ranked(near), _passing(threshold), k)


def dropped_before_ranks(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """You drop hits first and rank only the rest: give all hits their ranks, then choose."""
    return _ranked([hit for hit in hits if _passing(threshold)(hit)])[:k]


def wordless_before_ranks(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Hits without a shared word are missing in the ranks by cosine: they hold places there too."""
    with_words = [hit for hit in hits if hit["shared"] > 0]
    return _kept(hits, _ranked(with_words), _passing(threshold), k)


def raw_scores_added(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Cosine and word count are added up: they have no common unit, so add 1 / (60 + rank)."""
    scores = {hit["id"]: hit["cosine"] + hit["shared"] for hit in hits}
    return _kept(hits, _by_score(scores), _passing(threshold), k)


def or_for_and(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """One of two conditions is enough for you: near in meaning *and* a shared word are asked."""
    return _kept(
        hits, _ranked(hits), lambda hit: hit["cosine"] >= threshold or hit["shared"] > 0, k
    )


def words_not_asked(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """A hit that shares no word with the question is kept: a near meaning alone is not enough."""
    return _kept(hits, _ranked(hits), lambda hit: bool(hit["cosine"] >= threshold), k)


def threshold_forgotten(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """A hit below the threshold is kept: a shared word alone is not enough."""
    return _kept(hits, _ranked(hits), lambda hit: bool(hit["shared"] > 0), k)


def at_threshold_dropped(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """A hit exactly at the threshold is dropped: it is the lowest cosine that is kept."""
    return _kept(
        hits, _ranked(hits), lambda hit: hit["cosine"] > threshold and hit["shared"] > 0, k
    )


def cut_before_choosing(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """The best k are taken before hits are dropped: hits that pass lose their place to others."""
    return _kept(hits, _ranked(hits)[:k], _passing(threshold), k)


def k_forgotten(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """More than k hits are kept: the generator is handed the best k only."""
    return _kept(hits, _ranked(hits), _passing(threshold), len(hits))


def hit_ranks_from_zero(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Your ranks start at 0: the best hit of a list has rank 1."""
    return _kept(hits, _ranked(hits, first=0), _passing(threshold), k)


def ties_as_given(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """Hits with equal numbers are ranked as they came: sort ties by id, in both lists."""
    by_meaning = sorted(hits, key=lambda hit: -hit["cosine"])
    by_words = sorted((h for h in hits if h["shared"] > 0), key=lambda hit: -hit["shared"])
    lists = [[hit["id"] for hit in by_meaning], [hit["id"] for hit in by_words]]
    return _kept(hits, _by_score(_fuse(lists, _RRF_K)), _passing(threshold), k)


def ordered_by_cosine(hits: list[PlainHit], threshold: float, k: int) -> Scored:
    """The result is in order of the cosine: the fused score decides who comes first."""
    scores = dict(_ranked(hits))
    ranked = [[name, scores[name]] for name in _order(hits, "cosine")]
    return _kept(hits, ranked, _passing(threshold), k)


def _plain(name: str, cosine: float, shared: int) -> PlainHit:
    return {"id": name, "cosine": cosine, "shared": shared}


def _hidden_hits(random: Random) -> Iterator[Arguments]:
    names = ["export#0", "export#1", "guide#0", "guide#1", "refund#0", "refund#1"]
    yield [], 0.4, 3
    yield [_plain("guide#1", 0.4, 1), _plain("guide#0", 0.4, 1)], 0.4, 3
    names = random.sample(names, 6)
    far, near = [_plain(name, 0.35, 3) for name in names[:2]], _plain(names[2], 0.4, 1)
    yield [*far, near], 0.4, 1
    for number in range(24):
        size = 6 if number < 8 else random.randint(1, 6)
        hits = [
            _plain(name, random.choice([0.2, 0.35, 0.4, 0.4, 0.55, 0.7]), random.randint(0, 3))
            for name in random.sample(names, size)
        ]
        yield hits, random.choice([0.3, 0.4, 0.4, 0.55]), random.randint(1, 4)


def _any_hits() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    hit = st.builds(
        _plain,
        st.sampled_from(["a#0", "b#0", "c#0", "d#0"]),
        st.sampled_from([0.5, 0.4, 0.3]),
        st.integers(0, 2),
    )
    hits = st.lists(hit, max_size=4, unique_by=lambda drawn: drawn["id"])
    return st.tuples(hits, st.just(0.4), st.integers(1, 2))


RANK_HITS = Exercise(
    id="rank_hits",
    stage=5,
    title="The strict policy: near in meaning and a word in common",
    task=(
        "Each hit has an `id`, its `cosine`, and `shared`, the number of terms that it shares with "
        "the question. Rank all hits twice: by cosine, and, those that share a term, by `shared`; "
        "the highest first, ties by id. Fuse the two rankings by `1 / (60 + rank)`. Only then "
        "choose: a hit stays if its cosine is at least `threshold` and it shares a term. Return "
        "`[id, fused score]` of the best `k` that stay, highest score first, ties by id. You may "
        "use `reciprocal_rank_fusion`."
    ),
    starter='''\
def rank_hits(hits: list[dict], threshold: float, k: int) -> list[list]:
    """The best k hits as [id, fused score]; a hit has the keys id, cosine and shared."""
    raise NotImplementedError
''',
    reference=rank_hits,
    cases=cases(
        Case(
            ([_plain("a#0", 0.7, 1), _plain("b#0", 0.5, 3), _plain("c#0", 0.6, 0)], 0.45, 3),
            "a near hit without a shared word goes, and keeps its place in the ranks",
        ),
        Case(
            ([_plain("a#0", 0.2, 3), _plain("b#0", 0.6, 1), _plain("c#0", 0.5, 2)], 0.45, 3),
            "a far hit with many words goes",
        ),
        Case(
            ([_plain("b#0", 0.45, 1), _plain("a#0", 0.45, 1)], 0.45, 3),
            "exactly at the threshold, and a tie",
        ),
        Case(
            (
                [
                    _plain("a#0", 0.9, 0),
                    _plain("b#0", 0.8, 1),
                    _plain("c#0", 0.7, 2),
                    _plain("d#0", 0.6, 3),
                ],
                0.45,
                2,
            ),
            "more hits pass than are asked",
        ),
        Case(([], 0.45, 3), "nothing was found"),
    ),
    hidden=_hidden_hits,
    strategy=_any_hits,
    hints=(
        "Three steps: two rankings of ids, their fusion, the choice. Write one line for each first.",
        "The ids by cosine come from `sorted(hits, key=lambda hit: (-hit['cosine'], hit['id']))`.",
        "The second ranking holds only hits with `shared > 0`; the first holds all hits.",
        "Go through the fused list, keep the pairs whose hit passes both conditions, and cut the "
        "list with `[:k]` at the very end.",
    ),
    mistakes=mistakes(
        threshold_before_ranks,
        dropped_before_ranks,
        wordless_before_ranks,
        raw_scores_added,
        or_for_and,
        words_not_asked,
        threshold_forgotten,
        at_threshold_dropped,
        cut_before_choosing,
        k_forgotten,
        hit_ranks_from_zero,
        ties_as_given,
        ordered_by_cosine,
    ),
    off_limits=(  # the fusion that a lesson lent is the learner's to use
        "labkit.ranking.policy",
        "classroom.exercises.stage05.rank_hits",
    ),
    lends={"labkit.ranking.reciprocal_rank_fusion": "reciprocal_rank_fusion"},
    builds_on=("reciprocal_rank_fusion",),
    answer="""\
    by_meaning = [h["id"] for h in sorted(hits, key=lambda h: (-h["cosine"], h["id"]))]
    worded = [h for h in hits if h["shared"] > 0]
    by_words = [h["id"] for h in sorted(worded, key=lambda h: (-h["shared"], h["id"]))]
    scores = {}
    for ids in (by_meaning, by_words):
        for rank, name in enumerate(ids, start=1):
            scores[name] = scores.get(name, 0.0) + 1 / (60 + rank)
    stays = {h["id"] for h in hits if h["cosine"] >= threshold and h["shared"] > 0}
    fused = sorted(scores.items(), key=lambda pair: (-pair[1], pair[0]))
    return [[name, score] for name, score in fused if name in stays][:k]
""",
    core=True,
    points=6,
    minutes=20,
)


# --- transfer: weighted_fusion -------------------------------------------------------------------


def weighted_fusion(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    fused = ranking.reciprocal_rank_fusion(rankings, k, weights)
    return [[name, score] for name, score in fused]


def _weigh(
    rankings: list[list[str]], weights: list[float], share: Callable[[float, int], float]
) -> dict[str, float]:
    """The sums of share(weight, rank) over the rankings that have a weight."""
    scores: dict[str, float] = {}
    for weight, ids in zip(weights, rankings, strict=False):
        for rank, name in enumerate(dict.fromkeys(ids), start=1):
            scores[name] = scores.get(name, 0.0) + share(weight, rank)
    return scores


def _expect_as_many(rankings: list[list[str]], weights: list[float]) -> None:
    if len(rankings) != len(weights):
        raise ValueError("one weight a ranking")


def weights_ignored(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """The weights change nothing: each ranking's share is its weight times 1 / (k + rank)."""
    _expect_as_many(rankings, weights)
    return reciprocal_rank_fusion(rankings, k)


def weight_on_the_rank(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """The weight multiplies the rank: a heavier ranking then counts less, not more."""
    _expect_as_many(rankings, weights)
    return _by_score(_weigh(rankings, weights, lambda weight, rank: 1 / (k + weight * rank)))


def zero_weight_as_one(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """A weight of 0 counts as 1: `weight or 1` takes 0 for a missing weight."""
    _expect_as_many(rankings, weights)
    return weighted_fusion(rankings, [weight or 1.0 for weight in weights], k)


def zero_weight_left_out(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """Ids of a ranking with weight 0 are missing: they are found, and score 0 there."""
    _expect_as_many(rankings, weights)
    pairs = [(ids, weight) for ids, weight in zip(rankings, weights, strict=True) if weight]
    return weighted_fusion([ids for ids, _ in pairs], [weight for _, weight in pairs], k)


def weights_averaged(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """The scores are divided by the sum of the weights: the task asks for the plain sum."""
    _expect_as_many(rankings, weights)
    total = sum(weights) or 1.0
    return [[name, score / total] for name, score in weighted_fusion(rankings, weights, k)]


def surplus_cut_off(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """Too few or too many weights are not refused: `zip` drops what has no partner in silence."""
    return _by_score(_weigh(rankings, weights, lambda weight, rank: weight / (k + rank)))


def missing_weight_as_one(rankings: list[list[str]], weights: list[float], k: int) -> Scored:
    """A ranking without a weight counts as if it had one: raise ValueError, do not guess."""
    padded = [*weights, *[1.0] * len(rankings)][: len(rankings)]
    return weighted_fusion(rankings, padded, k)


_WEIGHTS = (1.0, 2.0, 0.5, 4.0, 0.0)  # powers of two: products are exact, so ties are ties


def _hidden_weighted(random: Random) -> Iterator[Arguments]:
    yield [["guide#0", "faq#0"], ["faq#0", "guide#0"]], [1.0, 2.0], 60
    yield [["guide#0"], ["faq#1"]], [2.0, 0.0], 60
    yield [["guide#0"], ["faq#1"]], [2.0], 60
    yield [["guide#0"]], [2.0, 1.0], 60
    yield [["guide#0", "faq#0"], ["faq#1"]], [0.0, 0.0], 60
    made = 0
    while made < 20:
        rankings = _some_rankings(random, random.randint(1, 3))
        weights = random.choices(_WEIGHTS, k=len(rankings))
        if _clear(rankings, 60, weights) and sum(map(len, rankings)) > 2:
            made += 1
            yield rankings, weights, random.choice([10, 60])


def _any_weighted() -> SearchStrategy[Arguments]:
    from hypothesis import strategies as st

    ids = st.lists(st.sampled_from(["a", "b"]), max_size=2, unique=True)
    weights = st.lists(st.sampled_from(_WEIGHTS), max_size=2)
    return st.tuples(st.lists(ids, max_size=2), weights, st.just(60))


WEIGHTED_FUSION = Exercise(
    id="weighted_fusion",
    stage=5,
    title="Transfer: trust one ranking more than another",
    task=(
        "Fuse rankings as in `reciprocal_rank_fusion`, but let each ranking have a weight: an id's "
        "score is the sum of `weight / (k + rank)` over the rankings that hold it. A weight may be "
        "0; an id that only such a ranking holds has the score 0 and is still listed. Raise "
        "`ValueError` unless there are as many weights as rankings. Return `[id, score]` pairs, "
        "highest score first, ties by id."
    ),
    starter='''\
def weighted_fusion(rankings: list[list[str]], weights: list[float], k: int) -> list[list]:
    """Fuse rankings, each with its weight, into [id, score] pairs, best first, ties by id."""
    raise NotImplementedError
''',
    reference=weighted_fusion,
    cases=cases(
        Case(([["a", "b"], ["b", "a"]], [1.0, 2.0], 60), "the second ranking counts double"),
        Case(([["a", "b"], ["b", "a"]], [1.0, 1.0], 60), "equal weights: a tie"),
        Case(([["a"], ["b"]], [1.0, 0.0], 60), "a weight of 0"),
        Case(([["a"], ["b"]], [1.0], 60), "a weight is missing"),
        Case(([["a"]], [1.0, 2.0], 60), "a weight too many"),
    ),
    hidden=_hidden_weighted,
    strategy=_any_weighted,
    hints=(
        "What did a ranking add for an id before? One factor is all that changes.",
        "Walk over weights and rankings together; `zip(..., strict=True)` notices when one is "
        "longer.",
        "Add `weight / (k + rank)`; a weight of 0 then needs no branch of its own.",
    ),
    mistakes=mistakes(
        weights_ignored,
        weight_on_the_rank,
        zero_weight_as_one,
        zero_weight_left_out,
        weights_averaged,
        surplus_cut_off,
        missing_weight_as_one,
    ),
    off_limits=("labkit.ranking", "classroom.exercises"),
    answer="""\
    if len(rankings) != len(weights):
        raise ValueError("one weight a ranking")
    scores = {}
    for weight, ids in zip(weights, rankings):
        for rank, name in enumerate(ids, start=1):
            scores[name] = scores.get(name, 0.0) + weight * (1 / (k + rank))
    return sorted(([name, score] for name, score in scores.items()), key=lambda p: (-p[1], p[0]))
""",
    transfer=True,
    points=4,
    minutes=15,
)

EXERCISES = (SIGNIFICANT_TERMS, BM25_SCORES, RECIPROCAL_RANK_FUSION, RANK_HITS, WEIGHTED_FUSION)
