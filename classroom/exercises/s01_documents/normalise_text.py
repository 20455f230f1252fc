"""Bring a text into its one stored form

The same document may arrive with other line ends or other code points for the same letters. Return
the one form in which it is stored, so that its offsets and its hash are the same on every machine.
Drop one byte-order mark (U+FEFF) at the very start. Turn CRLF and a lone CR into LF. Compose the
text to Unicode NFC. Change nothing else: tabs, no-break spaces, blank lines and a U+FEFF further on
stay.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from labkit.text import normalise


def normalise_text(text: str) -> str:
    """The text without a leading byte-order mark, with LF line ends, composed to NFC."""
    import unicodedata

    text = text.removeprefix("\ufeff")
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return unicodedata.normalize("NFC", text)


BOM = "\ufeff"


def mark_kept(text: str) -> str:
    """A byte-order mark at the start is kept: the first word of the file will never be found."""
    return BOM * text.startswith(BOM) + normalise(text)


def mark_removed_everywhere(text: str) -> str:
    """U+FEFF is removed inside the text too: only at the very start is it a byte-order mark."""
    return normalise(text.replace(BOM, ""))


def lone_return_kept(text: str) -> str:
    """A lone CR is still in the text: CRLF is one line end, and CR alone is one as well."""
    return _nfc(text.removeprefix(BOM).replace("\r\n", "\n"))


def line_ends_doubled(text: str) -> str:
    """CRLF becomes two line ends: replace the pair before you replace the single CR."""
    return _nfc(text.removeprefix(BOM).replace("\r", "\n"))


def not_composed(text: str) -> str:
    """Letters with accents may still stand in two code points: compose the text to NFC."""
    return text.removeprefix(BOM).replace("\r\n", "\n").replace("\r", "\n")


def look_alikes_folded(text: str) -> str:
    """Characters turn into look-alikes (² into 2, a no-break space into a space): use NFC."""
    return unicodedata.normalize("NFKC", normalise(text))


def ends_stripped(text: str) -> str:
    """White space at the start or the end is cut off: nothing but the line ends may change."""
    return normalise(text).strip()


def lines_rebuilt(text: str) -> str:
    """The last line end is lost, or a separator such as U+2028 became one: splitlines does both."""
    return _nfc("\n".join(text.removeprefix(BOM).splitlines()))


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


_PIECES = ("a", "\n", "\r", "\r\n", BOM, "e\u0301", "\u00b2", "\u00a0", "\u2028", " ", "\t", "é")


def _hidden_texts(random: Random) -> Iterator[Arguments]:
    yield ("",)
    yield (f"{BOM}a",)
    yield (f"{BOM}{BOM}a{BOM}",)
    yield ("\r\r\n\n\r",)
    yield ("A\u030angstro\u0308m",)
    yield ("\n a\u2028b\t\n",)
    yield ("x\u00b2\u00a0\ufb01",)
    for _ in range(24):
        yield ("".join(random.choice(_PIECES) for _ in range(random.randint(1, 12))),)


def _any_text() -> Strategy:
    return st.lists(st.sampled_from(_PIECES), max_size=6).map(lambda pieces: ("".join(pieces),))


EXERCISE = Exercise(
    model_solution=normalise_text,
    reference=normalise,
    cases=(
        case("a file saved by an editor on Windows", f"{BOM}Title\r\nText\r\n"),
        case("lone CRs, and a blank line that must stay one", "one\rtwo\r\n\r\nthree"),
        case("é in two code points", "Cafe\u0301"),
        case("white space and signs that must stay as they are", "  5\u00a0m\u00b2\t\n\n"),
    ),
    hidden=_hidden_texts,
    strategy=_any_text,
    hints=(
        "There are three changes. Write them as three steps, and try each on a text of its own.",
        "Which must come first: replacing CRLF, or replacing CR? Try both on 'a\\r\\nb'.",
        "`str.removeprefix` takes away one mark at the start and nothing anywhere else.",
        "`unicodedata.normalize('NFC', text)` composes; NFKC would change more than you may.",
    ),
    off_limits=(
        "labkit.text",
        "labkit.documents",
    ),
    points=4,
    minutes=10,
    core=True,
)
