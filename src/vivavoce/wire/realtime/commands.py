"""What we tell a Realtime provider, as orders; `payload()` is the frame.

Each has an `event_id`, so that an `error` can be traced to its cause, and
items have ids of our own, so that sending one again after a lost line can
never make two.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Payload = dict[str, Any]


@dataclass(frozen=True, slots=True)
class UpdateSession:
    session: Mapping[str, Any]
    event_id: str

    def payload(self) -> Payload:
        return {
            "type": "session.update",
            "event_id": self.event_id,
            "session": {"type": "realtime", **self.session},
        }


@dataclass(frozen=True, slots=True)
class CreateItem:
    """`item` has an `id`; it goes to the end of the conversation."""

    item: Mapping[str, Any]
    event_id: str

    @property
    def item_id(self) -> str:
        return str(self.item["id"])

    def payload(self) -> Payload:
        return {
            "type": "conversation.item.create",
            "event_id": self.event_id,
            "item": dict(self.item),
        }


@dataclass(frozen=True, slots=True)
class DeleteItem:
    item_id: str
    event_id: str

    def payload(self) -> Payload:
        return {
            "type": "conversation.item.delete",
            "event_id": self.event_id,
            "item_id": self.item_id,
        }


@dataclass(frozen=True, slots=True)
class RetrieveItem:
    """Ask for an item that we did not see join."""

    item_id: str
    event_id: str

    def payload(self) -> Payload:
        return {
            "type": "conversation.item.retrieve",
            "event_id": self.event_id,
            "item_id": self.item_id,
        }


@dataclass(frozen=True, slots=True)
class Truncate:
    """Never at 0 ms and never past what was received: either bricks a session."""

    item_id: str
    audio_end_ms: int
    event_id: str

    def payload(self) -> Payload:
        return {
            "type": "conversation.item.truncate",
            "event_id": self.event_id,
            "item_id": self.item_id,
            "content_index": 0,
            "audio_end_ms": self.audio_end_ms,
        }


SAY = "vivavoce_say"
"""The metadata by which our own engine knows the words; others follow the instructions."""
_LONGEST = 512


@dataclass(frozen=True, slots=True)
class CreateResponse:
    """With `say` the response is these words: no tool is offered, and nothing else is asked."""

    event_id: str
    instructions: str | None = None
    say: str | None = None

    def payload(self) -> Payload:
        frame: Payload = {"type": "response.create", "event_id": self.event_id}
        if self.say:
            words = self.say[:_LONGEST]
            frame["response"] = {
                "instructions": f"Say exactly this to the user, and nothing else: {words}",
                "tools": [],
                "tool_choice": "none",
                "metadata": {SAY: words},
            }
        elif self.instructions:
            frame["response"] = {"instructions": self.instructions}
        return frame


@dataclass(frozen=True, slots=True)
class CancelResponse:
    event_id: str

    def payload(self) -> Payload:
        return {"type": "response.cancel", "event_id": self.event_id}


@dataclass(frozen=True, slots=True)
class ClearOutput:
    """WebRTC only: drop what the peer has not played yet."""

    event_id: str

    def payload(self) -> Payload:
        return {"type": "output_audio_buffer.clear", "event_id": self.event_id}


Command = (
    UpdateSession
    | CreateItem
    | DeleteItem
    | RetrieveItem
    | Truncate
    | CreateResponse
    | CancelResponse
    | ClearOutput
)


def message_item(item_id: str, role: str, text: str) -> Payload:
    """A message in the content type that its role asks for."""
    kind = "output_text" if role == "assistant" else "input_text"
    return {
        "id": item_id,
        "type": "message",
        "role": role,
        "content": [{"type": kind, "text": text}],
    }


def picture_item(item_id: str, url: str) -> Payload:
    """What a tool showed; no other role may carry an image."""
    content = {"type": "input_image", "image_url": url}
    return {"id": item_id, "type": "message", "role": "user", "content": [content]}


def call_item(item_id: str, call_id: str, name: str, arguments: str) -> Payload:
    return {
        "id": item_id,
        "type": "function_call",
        "call_id": call_id,
        "name": name,
        "arguments": arguments,
    }


def output_item(item_id: str, call_id: str, output: str) -> Payload:
    return {"id": item_id, "type": "function_call_output", "call_id": call_id, "output": output}
