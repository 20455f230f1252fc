"""Stage 07: the citation gate. It decides after the generator, from the retrieved set alone.

A quotation passes if it stands, letter for letter, in a passage that was retrieved for this very
question and that this viewer may read. One bad citation refuses the whole proposal: an answer
minus a part is another answer. What passes is proof that the words stand in the source; whether
the source is right is not for a gate to say.
"""

from __future__ import annotations

from collections.abc import Sequence

from labkit.text import fold
from labkit.types import (
    MAX_EVIDENCE,
    MIN_QUOTE,
    Chunk,
    Citation,
    Eligible,
    Evidence,
    Hit,
    Proposal,
    Reason,
    Refused,
)

MAX_SHOWN = 1000  # characters of a refused quotation that its refusal repeats


def check_evidence(
    proposal: Proposal, hits: Sequence[Hit], eligible: Eligible
) -> tuple[Evidence, ...]:
    """The proposal's evidence, checked, or Refused with the reason of the first fault.

    `hits` are the passages handed to the generator for this question.
    """
    if not proposal.can_answer:
        raise Refused(
            Reason.MODEL_DECLINED,
            proposal.why or "The generator found no answer in the retrieved passages.",
        )
    if not 1 <= len(proposal.evidence) <= MAX_EVIDENCE:
        raise Refused(
            Reason.INVALID_PROPOSAL,
            f"The proposal has {len(proposal.evidence)} pieces of evidence; 1 to {MAX_EVIDENCE} "
            "are asked.",
        )
    retrieved = {hit.chunk.id: hit.chunk for hit in hits}
    return tuple(_check_one(citation, retrieved, eligible) for citation in proposal.evidence)


def _check_one(citation: Citation, retrieved: dict[str, Chunk], eligible: Eligible) -> Evidence:
    """One citation: source, length, letters."""
    if not (isinstance(citation.chunk_id, str) and isinstance(citation.quote, str)):
        raise Refused(Reason.INVALID_PROPOSAL, "A citation names a passage and quotes it, as text.")
    chunk = retrieved.get(citation.chunk_id)
    if chunk is None or not eligible.admits(chunk.meta):
        raise Refused(
            Reason.INVALID_CITATION,
            f"The citation names {_in_quotes(citation.chunk_id)}, which was not retrieved for this "
            "question.",
        )
    if len(citation.quote.strip()) < MIN_QUOTE:
        raise Refused(
            Reason.INVALID_CITATION,
            f"The quotation {_in_quotes(citation.quote)} is shorter than {MIN_QUOTE} characters.",
        )
    offset = _find_visible(citation.quote, chunk)
    if offset < 0:
        raise Refused(
            Reason.QUOTATION_NOT_FOUND,
            f"The quotation {_in_quotes(citation.quote)} does not stand in {chunk.id}."
            + _told_near_match(citation.quote, chunk),
        )
    if not any(character.isalnum() for character in citation.quote):
        raise Refused(
            Reason.INVALID_CITATION,
            f"The quotation {_in_quotes(citation.quote)} holds no letter and no digit.",
        )
    start = chunk.start + offset
    return Evidence(
        chunk.id, chunk.source_id, citation.quote, start, start + len(citation.quote), chunk.page
    )


def _find_visible(quote: str, chunk: Chunk) -> int:
    """Where the quotation stands with no hidden part in it, such as a comment; -1 if nowhere."""
    offset = chunk.text.find(quote)
    while offset >= 0 and not chunk.shows(offset, offset + len(quote)):
        offset = chunk.text.find(quote, offset + 1)
    return offset


def _told_near_match(quote: str, chunk: Chunk) -> str:
    """A sentence naming the passage that was probably meant, to help; it is never accepted."""
    if len(quote) > 2 * len(chunk.text):  # a model may send millions of characters
        return ""
    if _letters_and_digits(quote) and _letters_and_digits(quote) in _letters_and_digits(chunk.text):
        return " The passage has the same letters with other case, accents, spaces or punctuation."
    return ""


def _in_quotes(text: str) -> str:
    """What a generator said, in quotes, and not without end."""
    return repr(text) if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]!r}… ({len(text):,} in all)"


def _letters_and_digits(text: str) -> str:
    return "".join(character for character in fold(text) if character.isalnum())
