"""Stage 07: generators. They propose; the gate decides."""

from labkit.answering.chat import ChatGenerator
from labkit.answering.extractive import ExtractiveGenerator
from labkit.answering.prompt import Prompt, build_prompt
from labkit.answering.proposal import PROPOSAL_SCHEMA, parse_proposal

__all__ = [
    "PROPOSAL_SCHEMA",
    "ChatGenerator",
    "ExtractiveGenerator",
    "Prompt",
    "build_prompt",
    "parse_proposal",
]
