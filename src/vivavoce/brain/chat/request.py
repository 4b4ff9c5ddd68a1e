"""A question as the body of OpenAI's `/chat/completions`, in the dialect of one server.

Pure. Servers differ in which fields they take; that is data here, learned
from what they refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from vivavoce.brain.ports import Ask, Call, Result, Said, Tool

Json: TypeAlias = dict[str, Any]

_FORCED = "function:"
_NO_RESULT = "There is no result yet."
_NO_PARAMETERS: Json = {"type": "object", "properties": {}}


@dataclass(frozen=True, slots=True)
class Dialect:
    """Which of the fields that not every server knows this one takes."""

    stream_options: bool = True
    parallel_tool_calls: bool = True
    tool_choice: bool = True
    max_completion_tokens: bool = False
    """OpenAI's reasoning models want this name; everyone else knows `max_tokens`."""

    def without(self, refusal: str) -> Dialect | None:
        """The dialect of a server that refused a request in these words, if they tell one."""
        if "max_completion_tokens" in refusal and not self.max_completion_tokens:
            return replace(self, max_completion_tokens=True)
        for name in ("stream_options", "parallel_tool_calls", "tool_choice"):
            if name in refusal and getattr(self, name):
                return replace(self, **{name: False})
        return None


def body(ask: Ask, model: str, dialect: Dialect) -> Json:
    """Streamed; with what the server counted at the end, where it can."""
    made: Json = {"model": model, "messages": list(messages(ask)), "stream": True}
    if dialect.stream_options:
        made["stream_options"] = {"include_usage": True}
    if ask.max_tokens is not None:
        made["max_completion_tokens" if dialect.max_completion_tokens else "max_tokens"] = (
            ask.max_tokens
        )
    # Not every server obeys "none", so a model that may call nothing is shown nothing to call.
    if ask.tools and ask.tool_choice != "none":
        made["tools"] = [_tool(tool) for tool in ask.tools]
        if dialect.tool_choice:
            made["tool_choice"] = _choice(ask.tool_choice)
        if dialect.parallel_tool_calls:
            made["parallel_tool_calls"] = ask.parallel_calls
    return made


def messages(ask: Ask) -> Iterator[Json]:
    """The conversation, with every call's result right behind it, as the protocol demands.

    A result may come late, after more was said, or not at all yet.
    """
    if ask.instructions:
        yield {"role": "system", "content": ask.instructions}
    results = {turn.call_id: turn.output for turn in ask.turns if isinstance(turn, Result)}
    said: Json | None = None
    calls: list[Call] = []
    for turn in (*ask.turns, None):
        if isinstance(turn, Call):
            calls.append(turn)
            continue
        if isinstance(turn, Result):
            continue  # told where its call is
        if calls:
            yield from _called(said, calls, results)
            said, calls = None, []
        if said is not None:
            yield said
        said = _said(turn)
    if said is not None:
        yield said


def _said(turn: Said | None) -> Json | None:
    if turn is None or not turn.text.strip():
        return None
    return {"role": turn.role, "content": turn.text}


def _called(said: Json | None, calls: list[Call], results: dict[str, str]) -> Iterator[Json]:
    """What the assistant said just before it called belongs to the same message."""
    message: Json = {"role": "assistant", "content": None}
    if said is not None and said["role"] == "assistant":
        message = said
    elif said is not None:
        yield said
    yield {**message, "tool_calls": [_call(call) for call in calls]}
    for call in calls:
        output = results.get(call.call_id, _NO_RESULT)
        yield {"role": "tool", "tool_call_id": call.call_id, "content": output}


def _call(call: Call) -> Json:
    function = {"name": call.name, "arguments": call.arguments or "{}"}
    return {"id": call.call_id, "type": "function", "function": function}


def _tool(tool: Tool) -> Json:
    function: Json = {"name": tool.name, "parameters": tool.parameters or _NO_PARAMETERS}
    if tool.description:
        function["description"] = tool.description
    return {"type": "function", "function": function}


def _choice(choice: str) -> str | Json:
    if choice.startswith(_FORCED):
        return {"type": "function", "function": {"name": choice.removeprefix(_FORCED)}}
    return choice
