"""A chat model behind an OpenAI-compatible endpoint: Ollama, llama.cpp, a hosted one.

The model is asked for one JSON object. Two ways to hand it the passages that were retrieved:
`provider` puts them into the prompt; `tool` lets the model ask for them, and without that call
there is no answer. Either way they are the passages of this question, without memory of another.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

from labkit.answering.prompt import DEFAULT_CONTEXT_TOKENS, Prompt, build_prompt
from labkit.answering.proposal import PROPOSAL_SCHEMA, parse_proposal
from labkit.model_server import ModelServer, ServerFailed
from labkit.types import Hit, Proposal, Reason, Refused

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

    `timeout` is in seconds and bounds each whole reply. Nothing is asked, and no library for asking
    is imported, before a question has a passage to hand over.
    """

    def __init__(
        self,
        base_url: str,
        model: str,
        *,
        mode: Mode = "provider",
        timeout: float = 60.0,
        context_tokens: int = DEFAULT_CONTEXT_TOKENS,
        api_key: str = "",
    ) -> None:
        self._server = ModelServer(base_url.rstrip("/"), timeout, api_key)
        self._where = f"The chat server at {base_url}"
        self._model, self._mode, self._context_tokens = model, mode, context_tokens

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
        identifier = _called(choice["message"].get("tool_calls"))
        if identifier is None:
            raise Refused(
                Reason.TOOL_NOT_CALLED,
                f"The model answered without calling {TOOL_NAME}; it cannot know the documents.",
            )
        function = {"name": TOOL_NAME, "arguments": "{}"}
        return [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": identifier, "type": "function", "function": function}],
            },
            {"role": "tool", "tool_call_id": identifier, "content": prompt.user},
        ]

    def _content(self, messages: Sequence[Any]) -> str:
        """The text of the model's reply; a cut or empty one is refused."""
        choice = self._choice(messages, response_format=_FORMAT)
        content = choice["message"].get("content")
        if choice.get("finish_reason") == "length":
            raise Refused(
                Reason.INVALID_PROPOSAL, "The model's reply was cut off at its length limit."
            )
        if not isinstance(content, str) or not content.strip():
            raise Refused(Reason.INVALID_PROPOSAL, "The model's reply was empty.")
        return content

    def _choice(self, messages: Sequence[Any], **options: Any) -> Mapping[str, Any]:
        """One call to the server: its choice, which has a message. Every failure has its name."""
        reply = self._complete(messages, max_tokens=MAX_REPLY_TOKENS, **options)
        try:
            choice = reply["choices"][0]
            if not isinstance(choice["message"], dict):
                raise TypeError("a message of another kind")
        except (LookupError, TypeError) as error:
            raise self._failed(f"sent no message: {self._server.shown(reply)}.") from error
        self._check_prompt_was_read(reply, messages)
        return dict(choice)

    def _complete(self, messages: Sequence[Any], **options: Any) -> Any:
        body = {"model": self._model, "messages": list(messages), "temperature": 0, **options}
        try:
            return self._server.post("/chat/completions", body)
        except ServerFailed as error:
            raise self._failed(str(error)) from error

    def _failed(self, what: str) -> Refused:
        return Refused(Reason.GENERATOR_FAILED, f"{self._where} {what}")

    def _check_prompt_was_read(self, reply: Any, messages: Sequence[Any]) -> None:
        """Some servers cut a long prompt without a word. A token holds at most one word, so one
        that counts fewer tokens than there are words did not read them all just now.

        It may have them in its cache from another question, and count only what is new. So it is
        asked to count once more, under a first line that no prompt ever had.
        """
        words = sum(len(str(message.get("content") or "").split()) for message in messages)
        if _tokens_read(reply) >= words:
            return
        fresh = {"role": "system", "content": f"Request {uuid.uuid4()}"}
        try:
            read = _tokens_read(self._complete([fresh, *messages], max_tokens=1))
        except Refused:
            return  # the reply that came before is not worse for it
        if read < words:
            raise Refused(
                Reason.CONTEXT_TRUNCATED,
                f"The chat server read {read:.0f} tokens of a prompt of {words} words. Give the "
                "model a larger context, or lower retrieval.context_tokens.",
            )


def _called(calls: Any) -> Any:
    """The id of the first call of the tool in a reply; None if it was not called."""
    for call in calls if isinstance(calls, list) else []:
        function = call.get("function") if isinstance(call, dict) else None
        if isinstance(function, dict) and function.get("name") == TOOL_NAME:
            return str(call.get("id", ""))
    return None


def _tokens_read(reply: Any) -> float:
    """The tokens of a prompt that a server says it read; infinity where it says nothing of it."""
    usage = reply.get("usage") if isinstance(reply, dict) else None
    read = usage.get("prompt_tokens") if isinstance(usage, dict) else None
    return read if isinstance(read, int) and read > 0 else float("inf")
