"""A response: as clients ask for it (`response.create`: what it has of its own, over what the
session has), and as it is shown to them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from vivavoce.wire.realtime import session
from vivavoce.wire.realtime.items import GivenInput, Item, Reference
from vivavoce.wire.realtime.model import Model

Json = dict[str, Any]

Metadata = Annotated[
    dict[Annotated[str, Field(max_length=64)], Annotated[str, Field(max_length=512)]],
    Field(max_length=16),
]


class ResponseOutput(Model):
    format: session.AudioFormat | None = None
    voice: session.Voice | None = None


class ResponseAudio(Model):
    output: ResponseOutput = ResponseOutput.model_construct()


class ResponseCreate(Model):
    """Any of its fields; what is not given is as the session has it."""

    conversation: Literal["auto", "none"] | None = None
    input: Annotated[list[GivenInput], Field(max_length=1_000)] | None = None
    instructions: session.Instructions | None = None
    output_modalities: session.Modalities | None = None
    tools: session.Tools | None = None
    tool_choice: session.ToolChoice | None = None
    max_output_tokens: session.MaxTokens | None = None
    parallel_tool_calls: bool | None = None
    metadata: Metadata | None = None
    prompt: session.Prompt | None = None
    reasoning: session.Reasoning | None = None
    audio: ResponseAudio = ResponseAudio.model_construct()

    @property
    def items(self) -> tuple[Item | Reference, ...] | None:
        given: list[Any] | None = self.input
        return None if given is None else tuple(one.item() for one in given)


def response_object(
    *,
    response_id: str,
    status: str,
    status_details: Json | None = None,
    output: Iterable[Json] = (),
    conversation_id: str | None,
    output_modalities: list[session.Modality],
    max_output_tokens: int | Literal["inf"],
    audio_format: Json,
    voice: str,
    usage: Json | None = None,
    metadata: Mapping[str, str] | None = None,
) -> Json:
    """The `response` of `response.created` and `response.done`."""
    return {
        "object": "realtime.response",
        "id": response_id,
        "status": status,
        "status_details": status_details,
        "output": [dict(item) for item in output],
        "conversation_id": conversation_id,
        "output_modalities": output_modalities,
        "max_output_tokens": max_output_tokens,
        "audio": {"output": {"format": audio_format, "voice": voice}},
        "usage": usage,
        "metadata": metadata,
    }
