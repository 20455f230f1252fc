"""The one reader of Markdown: blocks, headings, what nobody sees, and what can be quoted.

Chunker, generator, near-duplicate rule and exercises read Markdown through this room alone: two
readers that disagree would let a hidden comment or half a row pass for an answer.
"""

from labkit.markdown.blocks import CONTAINERS, Block, first_title, leaves, read
from labkit.markdown.headings import Heading, Outline, anchor_of, heading_title
from labkit.markdown.hidden import Span, hidden, overlaps, within
from labkit.markdown.units import QUOTABLE, Unit, pieces, sentences, units

__all__ = [
    "CONTAINERS",
    "QUOTABLE",
    "Block",
    "Heading",
    "Outline",
    "Span",
    "Unit",
    "anchor_of",
    "first_title",
    "heading_title",
    "hidden",
    "leaves",
    "overlaps",
    "pieces",
    "read",
    "sentences",
    "units",
    "within",
]
