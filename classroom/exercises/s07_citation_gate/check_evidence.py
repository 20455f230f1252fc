"""The citation gate

Decide whether a proposal may be published. `passages` holds the text of each retrieved passage by
its id. Check in this order, and return the reason of the first fault as `{"refused": reason}`:

1. `"model_declined"` if `can_answer` is not true.
2. `"invalid_proposal"` unless there are 1 to 3 pieces of evidence.
3. For each piece, in order: `"invalid_citation"` if its `chunk_id` was not retrieved or its `quote`
   has fewer than 20 characters after trimming; then `"quotation_not_found"` unless the quote, as
   given and letter for letter, stands in that passage.

Otherwise return `{"accepted": evidence}`. One bad citation refuses the whole proposal.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import date
from random import Random

from classroom import strategies as st
from classroom.exercise import Arguments, Exercise, Strategy, case
from classroom.exercises.s07_citation_gate.common import (
    Decision,
    Passages,
    PlainProposal,
    cite,
    hit,
    propose,
)
from labkit.answering import gate
from labkit.types import MAX_EVIDENCE, MIN_QUOTE, Citation, Eligible, Proposal, Refused

_READERS = Eligible(frozenset({"ACME/readers"}), date(2026, 10, 23))


def check_evidence(proposal: dict, passages: dict[str, str]) -> dict:
    """{"accepted": evidence} or {"refused": reason}.

    A proposal has the keys can_answer and evidence, a list of citations with chunk_id and quote.
    """
    if not proposal["can_answer"]:
        return {"refused": "model_declined"}
    if not 1 <= len(proposal["evidence"]) <= 3:
        return {"refused": "invalid_proposal"}
    for citation in proposal["evidence"]:
        text = passages.get(citation["chunk_id"])
        if text is None or len(citation["quote"].strip()) < 20:
            return {"refused": "invalid_citation"}
        if citation["quote"] not in text:
            return {"refused": "quotation_not_found"}
    return {"accepted": proposal["evidence"]}


def _by_labkit(proposal: PlainProposal, passages: Passages) -> Decision:
    hits = [hit(name, "", text) for name, text in passages.items()]
    evidence = tuple(Citation(item["chunk_id"], item["quote"]) for item in proposal["evidence"])
    try:
        accepted = gate.check_evidence(Proposal(proposal["can_answer"], evidence), hits, _READERS)
    except Refused as refusal:
        return {"refused": refusal.reason.value}
    return {"accepted": [{"chunk_id": item.chunk_id, "quote": item.quote} for item in accepted]}


def _gate(
    proposal: PlainProposal,
    passages: Passages,
    stands: Callable[[str, str, Passages], bool] = lambda quote, name, texts: quote in texts[name],
    is_long: Callable[[str], bool] = lambda quote: len(quote.strip()) >= MIN_QUOTE,
    retrieved: Callable[[str, Passages], bool] = lambda name, texts: name in texts,
    counts: Sequence[int] = range(1, MAX_EVIDENCE + 1),
) -> Decision:
    """The gate by the given rules."""
    if not proposal["can_answer"]:
        return {"refused": "model_declined"}
    if len(proposal["evidence"]) not in counts:
        return {"refused": "invalid_proposal"}
    for citation in proposal["evidence"]:
        name, quote = citation["chunk_id"], citation["quote"]
        if not retrieved(name, passages) or not is_long(quote):
            return {"refused": "invalid_citation"}
        if not stands(quote, name, passages):
            return {"refused": "quotation_not_found"}
    return {"accepted": proposal["evidence"]}


def _stands_anywhere(quote: str, _: str, passages: Passages) -> bool:
    return any(quote in text for text in passages.values())


def searched_in_all(proposal: PlainProposal, passages: Passages) -> Decision:
    """The quotation is searched in all passages: it must stand in the one that is cited."""
    return _gate(proposal, passages, _stands_anywhere)


def id_not_asked(proposal: PlainProposal, passages: Passages) -> Decision:
    """The cited id is never looked at: a quotation must come from a passage that was retrieved."""
    return _gate(proposal, passages, _stands_anywhere, retrieved=lambda *_: True)


def unknown_id_crashes(proposal: PlainProposal, passages: Passages) -> Decision:
    """An id that was not retrieved ends in a KeyError: it must end in a refusal."""
    return _gate(proposal, passages, retrieved=lambda name, texts: texts[name] is not None)


def case_folded(proposal: PlainProposal, passages: Passages) -> Decision:
    """Both sides are put into lower case first: a quotation is compared letter for letter."""
    return _gate(proposal, passages, lambda quote, name, p: quote.lower() in p[name].lower())


def spaces_flattened(proposal: PlainProposal, passages: Passages) -> Decision:
    """Runs of white space are made equal first: a quotation is compared space for space."""

    def flat(text: str) -> str:
        return " ".join(text.split())

    return _gate(proposal, passages, lambda quote, name, p: flat(quote) in flat(p[name]))


def trimmed_quote_searched(proposal: PlainProposal, passages: Passages) -> Decision:
    """You search for the trimmed quotation: trimming is for its length, the search takes it as is."""
    return _gate(proposal, passages, lambda quote, name, p: quote.strip() in p[name])


def ellipsis_bridged(proposal: PlainProposal, passages: Passages) -> Decision:
    """A quotation with … in it passes piece by piece: what was left out may change its meaning."""

    def stands(quote: str, name: str, passages: Passages) -> bool:
        pieces = quote.replace("...", "…").split("…")
        bridged = all(piece.strip() in passages[name] for piece in pieces)
        return bridged if len(pieces) > 1 else quote in passages[name]

    return _gate(proposal, passages, stands)


def length_before_trimming(proposal: PlainProposal, passages: Passages) -> Decision:
    """The length is counted before trimming: blanks around a short quotation do not make it long."""
    return _gate(proposal, passages, is_long=lambda quote: len(quote) >= MIN_QUOTE)


def exactly_twenty_refused(proposal: PlainProposal, passages: Passages) -> Decision:
    """A quotation of exactly 20 characters is refused: 20 are enough."""
    return _gate(proposal, passages, is_long=lambda quote: len(quote.strip()) > MIN_QUOTE)


def length_not_asked(proposal: PlainProposal, passages: Passages) -> Decision:
    """A quotation of a few letters passes: short ones are found by chance and prove nothing."""
    return _gate(proposal, passages, is_long=lambda _: True)


def bad_ones_dropped(proposal: PlainProposal, passages: Passages) -> Decision:
    """Good citations are kept although one is bad: an answer minus a part is another answer."""
    alone = [(citation, _gate(propose(citation), passages)) for citation in proposal["evidence"]]
    good = [citation for citation, decision in alone if "accepted" in decision]
    counted = proposal["can_answer"] and len(alone) <= MAX_EVIDENCE
    return {"accepted": good} if counted and good else _gate(proposal, passages)


def only_first_checked(proposal: PlainProposal, passages: Passages) -> Decision:
    """Only the first citation is checked: your loop returns before it comes to the second."""
    decision = _gate({**proposal, "evidence": proposal["evidence"][:1]}, passages)
    too_many = len(proposal["evidence"]) > MAX_EVIDENCE
    if too_many or "refused" in decision:
        return _gate(proposal, passages)
    return {"accepted": proposal["evidence"]}


def declined_ignored(proposal: PlainProposal, passages: Passages) -> Decision:
    """`can_answer` is never asked: a generator that declines has not answered, whatever it sends."""
    return _gate({**proposal, "can_answer": True}, passages)


def nothing_accepted(proposal: PlainProposal, passages: Passages) -> Decision:
    """A proposal without evidence passes: where nothing is quoted, nothing was checked."""
    return _gate(proposal, passages, counts=range(MAX_EVIDENCE + 1))


def too_many_accepted(proposal: PlainProposal, passages: Passages) -> Decision:
    """More than three pieces of evidence pass: 1 to 3 are asked."""
    return _gate(proposal, passages, counts=range(1, 10))


_READ = {
    "warranty#0": "The warranty lasts 24 months. It does not cover batteries.",
    "returns#0": "Returns are free for 30 days, unless the box was opened.",
}
_HIDDEN_READ = {
    "export#0": "Exports run every night.  A failed run is repeated twice, never by day.",
    "export#1": "| Limit |  100 MB           |\nLarger files are split, and the parts are numbered.",
    "access#0": "An owner may add members. Guests read shared files only.",
}
_QUOTE_KINDS: dict[str, Callable[[str], str]] = {
    "exact": lambda text: text[:24],
    "other case": lambda text: text[:24].upper(),
    "short": lambda text: text[:19],
    "twenty": lambda text: text[:20],
    "padded": lambda text: f"  {text[:17]}  ",
    "with blanks around": lambda text: f" {text[:24]} ",
    "other spaces": lambda text: text[:24].replace(" ", "  ", 1),
    "bridged": lambda text: f"{text[:15].strip()} … {text[-15:].strip()}",
    "whole": lambda text: text,
}


def _hidden_proposals(random: Random) -> Iterator[Arguments]:
    names = list(_HIDDEN_READ)
    night, split, guests = (
        cite("export#0", "Exports run every night."),
        cite("export#1", "Larger files are split"),
        cite("access#0", "Guests read shared files only."),
    )
    edges = [
        propose(night, split, guests),
        propose(night, cite("export#0", "Guests read shared files only.")),
        propose(cite("access#1", "Guests read shared files only.")),
        propose(cite("export#0", "A failed run is repeated … never by day.")),
        propose(cite("export#1", "100 MB           ")),
        propose(cite("export#1", "  100 MB            ")),
        propose(night, can_answer=False),
        propose(night, split, guests, night),
        propose(cite("export#0", "Exports run every night. A failed")),
        propose(cite("access#0", "guests read shared files only.")),
        propose(cite("access#0", " An owner may add members. ")),
        propose(cite("access#0", "Guests read shared f")),
        propose(),
    ]
    for proposal in edges:
        yield proposal, dict(_HIDDEN_READ)
    for _ in range(22):
        citations = []
        for _ in range(random.choice([1, 1, 2, 2, 3, 4])):
            kind = random.choice(["exact", "whole", *_QUOTE_KINDS])
            text = _HIDDEN_READ[random.choice(names)]
            citations.append(cite(random.choice(names), _QUOTE_KINDS[kind](text)))
        yield propose(*citations, can_answer=random.random() < 0.9), dict(_HIDDEN_READ)


def _any_proposal() -> Strategy:
    # Most citations name the passage that they come from, so that one fault at a time decides.
    texts = {"a#0": "Repairs take ten days here.", "b#0": "Returns are free of charge."}
    citation = st.builds(
        lambda source, kind, cited: cite(cited or source, _QUOTE_KINDS[kind](texts[source])),
        st.sampled_from(["a#0", "b#0"]),
        st.sampled_from([*_QUOTE_KINDS, "bridged", "bridged"]),
        st.sampled_from(["", "", "", "a#0", "c#0"]),
    )
    proposal = st.builds(
        lambda evidence, can_answer: propose(*evidence, can_answer=can_answer),
        st.lists(citation, max_size=4),
        st.sampled_from([True, True, True, False]),
    )
    return st.tuples(proposal, st.sampled_from([{"a#0": texts["a#0"]}, texts]))


EXERCISE = Exercise(
    model_solution=check_evidence,
    reference=_by_labkit,
    cases=(
        case(
            "a true quotation", propose(cite("warranty#0", "The warranty lasts 24 months.")), _READ
        ),
        case(
            "true, but from another passage",
            propose(cite("warranty#0", "Returns are free for 30 days")),
            _READ,
        ),
        case(
            "one good, one invented",
            propose(
                cite("warranty#0", "The warranty lasts 24 months."),
                cite("returns#0", "Returns are always free of charge."),
            ),
            _READ,
        ),
        case("too short", propose(cite("warranty#0", "24 months")), _READ),
        case("not retrieved", propose(cite("billing#0", "The warranty lasts 24 months.")), _READ),
        case("nothing quoted", propose(), _READ),
        case("an honest refusal", propose(can_answer=False), _READ),
    ),
    hidden=_hidden_proposals,
    strategy=_any_proposal,
    hints=(
        "Follow the numbered list of the task with early returns: each fault leaves at once.",
        "`passages.get(chunk_id)` gives None for an id that was not retrieved.",
        "`len(quote.strip())` is the length that counts; `quote in text` is the search, with the "
        "quote just as it came.",
        "Return the acceptance after the loop, when no citation has left the function.",
    ),
    off_limits=("labkit.answering.gate",),
    place=2,
    points=6,
    minutes=20,
    core=True,
)
