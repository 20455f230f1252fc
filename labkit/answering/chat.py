"""A chat model behind an OpenAI-compatible endpoint: Ollama, llama.cpp, a hosted one.

The model is asked for one JSON object. Two ways to hand it the passages that were retrieved:
`provider` puts them into the prompt; `tool` lets the model ask for them, and without that call
there is no answer. Either way they are the passages of this question, without memory of another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from labkit.answering.prompt import DEFAULT_CONTEXT_TOKENS, Prompt, build_prompt
from labkit.answering.proposal import PROPOSAL_SCHEMA, parse_proposal
from labkit.transport import NO_KEY, openai_client
from labkit.types import Hit, Proposal, Reason, Refused

if TYPE_CHECKING:
    import openai

Mode: TypeAlias = Literal["provider", "tool"]

MAX_REPLY_TOKENS = 1024
TOOL_NAME = "retrieve_knowledge"
_TOOL = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "Returns the passages that were retrieved for the user's question.",
        "parameters": {"type": "object", "properties": {}, "additionalProperties": False},
    },
}
_FORMAT = {
    "type": "json_schema",
    "json_schema": {"name": "proposal", "strict": True, "schema": PROPOSAL_SCHEMA},
}


class ChatGenerator:
    """Asks a chat model for evidence: `labkit.types.Generator`.

    `timeout` is in seconds and bounds each whole reply. The client is made at the first question
    that has a passage to hand over.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        mode: Mode = "provider",
        timeout: float = 60.0,
        context_tokens: int = DEFAULT_CONTEXT_TOKENS,
        api_key: str = NO_KEY,
    ) -> None:
        self._base_url, self._model, self._mode = base_url, model, mode
        self._timeout, self._context_tokens, self._key = timeout, context_tokens, api_key

    def propose(self, question: str, hits: Sequence[Hit]) -> Proposal:
        if not hits:
            return Proposal(can_answer=False)
        prompt = build_prompt(question, hits, self._context_tokens)
        messages = self._messages(question, prompt)
        tool_calls = 0
        if self._mode == "tool":
            messages += self._call_tool(messages, prompt)
            tool_calls = 1
        proposal = parse_proposal(self._content(messages))
        detail = {
            "model": self._model,
            "mode": self._mode,
            "tool_calls": tool_calls,
            "passages": [hit.chunk.id for hit in prompt.included],
        }
        return replace(proposal, detail=detail)

    @cached_property
    def _client(self) -> openai.OpenAI:
        return openai_client(self._base_url, self._timeout, self._key)

    def _messages(self, question: str, prompt: Prompt) -> list[dict[str, Any]]:
        """The conversation so far: with the passages, or with the duty to ask for them."""
        if self._mode == "provider":
            system, user = prompt.system, prompt.user
        else:
            system = f"{prompt.system}\nFirst call {TOOL_NAME}; it returns the passages."
            user = f"Question: {question}"
        return [{"role": "system", "content": system}, {"role": "user", "content": user}]

    def _call_tool(self, messages: Sequence[Any], prompt: Prompt) -> list[dict[str, Any]]:
        """The model's call and its result; Refused(tool_not_called) if the model did not call."""
        choice = self._choice(messages, tools=[_TOOL])
        calls = [
            call
            for call in choice.message.tool_calls or []
            if getattr(getattr(call, "function", None), "name", None) == TOOL_NAME
        ]
        if not calls:
            raise Refused(
                Reason.TOOL_NOT_CALLED,
                f"The model answered without calling {TOOL_NAME}; it cannot know the documents.",
            )
        call = calls[0]
        function = {"name": TOOL_NAME, "arguments": "{}"}
        return [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": call.id, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": call.id, "content": prompt.user},
        ]

    def _content(self, messages: Sequence[Any]) -> str:
        """The text of the model's reply; a cut or empty one is refused."""
        choice = self._choice(messages, response_format=_FORMAT)
        content = choice.message.content
        if choice.finish_reason == "length":
            raise Refused(
                Reason.INVALID_PROPOSAL, "The model's reply was cut off at its length limit."
            )
        if not isinstance(content, str) or not content.strip():
            raise Refused(Reason.INVALID_PROPOSAL, "The model's reply was empty.")
        return content

    def _choice(self, messages: Sequence[Any], **options: Any) -> Any:
        """One call to the server; every way to fail has its name."""
        import openai

        try:
            reply = self._client.chat.completions.create(
                model=self._model,
                messages=list(messages),
                temperature=0,
                max_tokens=MAX_REPLY_TOKENS,
                **options,
            )
        except openai.APITimeoutError as error:
            raise self._failed(f"sent no whole reply in {self._timeout:g} s") from error
        except openai.APIConnectionError as error:
            raise self._failed("cannot be reached") from error
        except openai.APIStatusError as error:
            raise self._failed(f"answered {error.status_code}") from error
        except (openai.OpenAIError, ValueError, OverflowError, RecursionError) as error:
            raise self._failed("sent a reply that is no chat reply") from error
        try:
            choice = reply.choices[0]
            _ = choice.message.content, choice.finish_reason
        except (AttributeError, LookupError, TypeError) as error:
            raise self._failed("sent a reply without a message") from error
        _check_prompt_was_read(reply, messages)
        return choice

    def _failed(self, what: str) -> Refused:
        return Refused(Reason.GENERATOR_FAILED, f"The chat server at {self._base_url} {what}.")


def _check_prompt_was_read(reply: Any, messages: Sequence[Any]) -> None:
    """Some servers cut a long prompt without a word. A token holds at most one word, so a server
    that counts fewer tokens than there are words did not read them all."""
    read = getattr(getattr(reply, "usage", None), "prompt_tokens", None)
    words = sum(len(str(message.get("content") or "").split()) for message in messages)
    if isinstance(read, int) and 0 < read < words:
        raise Refused(
            Reason.CONTEXT_TRUNCATED,
            f"The chat server read {read} tokens of a prompt of {words} words. Give the model a "
            "larger context, or lower retrieval.context_tokens.",
        )
