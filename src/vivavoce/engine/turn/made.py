"""The items that the engine itself makes, and the words that come to them later."""

from __future__ import annotations

from dataclasses import replace

from vivavoce.engine.turn.items import FunctionCall, Item, Message, Part, Status


def user_audio(item_id: str) -> Message:
    """What was said, before anyone wrote it down."""
    return Message(item_id, "user", (Part("input_audio"),))


def assistant_message(item_id: str, text: str, spoken: bool, status: Status) -> Message:
    if not text and status == "in_progress":
        return Message(item_id, "assistant", (), status)
    part = Part("output_audio", transcript=text) if spoken else Part("output_text", text=text)
    return Message(item_id, "assistant", (part,), status)


def function_call(
    item_id: str, call_id: str, name: str, arguments: str, status: Status
) -> FunctionCall:
    return FunctionCall(item_id, call_id, name, arguments, status)


def with_transcript(item: Item, text: str) -> Item:
    """Its first sound with these words, and that sound itself no longer kept."""
    if not isinstance(item, Message):
        return item
    parts = list(item.content)
    for place, part in enumerate(parts):
        if part.sounds:
            parts[place] = replace(part, transcript=text, audio=None)
            break
    return replace(item, content=tuple(parts))


def clip_of(item: Item) -> bytes | None:
    """Sound that a client brought inside an item without its words."""
    if not isinstance(item, Message) or item.role != "user":
        return None
    return next((p.audio for p in item.content if p.audio and p.transcript is None), None)
