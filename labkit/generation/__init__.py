"""Stage 07: generators. They propose; the gate decides."""

from labkit.generation.chat import ChatGenerator
from labkit.generation.extractive import ExtractiveGenerator
from labkit.generation.prompt import Prompt, build_prompt
from labkit.generation.proposal import PROPOSAL_SCHEMA, parse_proposal

__all__ = [
    "PROPOSAL_SCHEMA",
    "ChatGenerator",
    "ExtractiveGenerator",
    "Prompt",
    "build_prompt",
    "parse_proposal",
]
