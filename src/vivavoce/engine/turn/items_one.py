"""One item of a conversation: what it holds, how a client's is read, how ours is shown.

Knows nothing of the other items, of sound being played or of models at work.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from vivavoce.engine.turn.configuration import checks as check
from vivavoce.engine.turn.faults import missing, unsupported, wrong_type, wrong_value

Role = Literal["system", "user", "assistant"]
Status = Literal["in_progress", "completed", "incomplete"]
PartType = Literal["input_text", "input_audio", "output_text", "output_audio"]
Json = dict[str, Any]

ROOT = "root"
"""`previous_item_id` for the beginning of the conversation."""


@dataclass(frozen=True, slots=True)
class Part:
    """A piece of a message. `audio` is as the client gave it, in its session's input format."""

    type: PartType
    text: str | None = None
    transcript: str | None = None
    audio: bytes | None = None

    @property
    def sounds(self) -> bool:
        return self.type in ("input_audio", "output_audio")


@dataclass(frozen=True, slots=True)
class Message:
    id: str
    role: Role
    content: tuple[Part, ...] = ()
    status: Status = "completed"


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """`arguments` is JSON as the model wrote it."""

    id: str
    call_id: str
    name: str
    arguments: str = ""
    status: Status = "completed"


@dataclass(frozen=True, slots=True)
class FunctionCallOutput:
    id: str
    call_id: str
    output: str
    status: Status = "completed"


Item = Message | FunctionCall | FunctionCallOutput


def with_id(item: Item, item_id: str) -> Item:
    """For items that came without one."""
    return replace(item, id=item_id)


# --- Showing ----------------------------------------------------------------------


def item_object(item: Item, *, with_audio: bool = False) -> Json:
    """The item as events carry it; sound only where it was asked for (a retrieved item)."""
    match item:
        case Message():
            own: Json = {
                "role": item.role,
                "content": [_part_object(part, with_audio) for part in item.content],
            }
            kind = "message"
        case FunctionCall():
            own = {"name": item.name, "call_id": item.call_id, "arguments": item.arguments}
            kind = "function_call"
        case FunctionCallOutput():
            own = {"call_id": item.call_id, "output": item.output}
            kind = "function_call_output"
    return {"id": item.id, "type": kind, "status": item.status, **own}


def _part_object(part: Part, with_audio: bool) -> Json:
    if not part.sounds:
        return {"type": part.type, "text": part.text or ""}
    shown: Json = {"type": part.type, "transcript": part.transcript}
    if with_audio and part.audio is not None:
        shown["audio"] = base64.b64encode(part.audio).decode()
    return shown


# --- Reading ----------------------------------------------------------------------

MOST_TEXT = 256_000
MOST_AUDIO = 15 * 1024 * 1024
_MOST_PARTS = 64
_COMMON = ("id", "type", "object", "status")
_PARTS: Mapping[str, tuple[str, ...]] = {
    "system": ("input_text",),
    "user": ("input_text", "input_audio"),
    "assistant": ("output_text", "output_audio"),
}


def parse_item(raw: Any, *, where: str = "item", new_id: Callable[[], str] | None = None) -> Item:
    """An item that a client brings. Where it has no id, `new_id` gives one, else it stays ""."""
    item = _parse(raw, where)
    return item if item.id or new_id is None else with_id(item, new_id())


def _parse(raw: Any, where: str) -> Item:
    if not isinstance(raw, Mapping):
        raise wrong_type(where, "an object", raw)
    kind = check.text(check.required(raw, "type", where), f"{where}.type", most=10_000)
    if kind.startswith("mcp_"):
        raise unsupported(f"{where}.type", "MCP is not supported by this engine yet.")
    check.choice(kind, f"{where}.type", ("message", "function_call", "function_call_output"))
    if kind == "message":
        said = check.fields(raw, where, (*_COMMON, "role", "content"))
        item_id, status = _head(said, where)
        return _message(said, where, item_id, status)
    own = ("call_id", "name", "arguments") if kind == "function_call" else ("call_id", "output")
    said = check.fields(raw, where, (*_COMMON, *own))
    item_id, status = _head(said, where)
    call_id = _name(check.required(said, "call_id", where), f"{where}.call_id", most=64)
    if kind == "function_call_output":
        output = check.text(
            check.required(said, "output", where), f"{where}.output", most=MOST_TEXT
        )
        return FunctionCallOutput(item_id, call_id, output, status)
    name = check.name(check.required(said, "name", where), f"{where}.name")
    arguments = check.required(said, "arguments", where)
    arguments = check.text(arguments, f"{where}.arguments", most=MOST_TEXT)
    return FunctionCall(item_id, call_id, name, arguments, status)


def _head(said: Mapping[str, Any], where: str) -> tuple[str, Status]:
    item_id = said.get("id")
    if item_id is not None:
        item_id = _name(item_id, f"{where}.id", most=32)
        if item_id == ROOT:
            raise wrong_value(f"{where}.id", "'root' is the beginning of every conversation.")
    if said.get("object") is not None:
        check.choice(said["object"], f"{where}.object", ("realtime.item",))
    status = said.get("status")
    if status is not None:
        check.choice(status, f"{where}.status", ("completed", "incomplete", "in_progress"))
    # What a client brings is all there: nothing will follow to complete it.
    return item_id or "", "incomplete" if status == "incomplete" else "completed"


def _name(raw: Any, where: str, *, most: int) -> str:
    said = check.text(raw, where, least=1, most=most)
    if not said.isprintable():
        raise wrong_value(where, "it has characters that cannot be printed.")
    return said


def _message(said: Mapping[str, Any], where: str, item_id: str, status: Status) -> Message:
    role = check.choice(check.required(said, "role", where), f"{where}.role", tuple(_PARTS))
    inside = f"{where}.content"
    content = check.listing(check.required(said, "content", where), inside, most=_MOST_PARTS)
    if not content:
        raise wrong_value(inside, "a message has at least one part.")
    parts = tuple(_part(part, f"{inside}[{i}]", role) for i, part in enumerate(content))
    if sum(part.sounds for part in parts) > 1:
        raise unsupported(inside, "one part with sound is heard in a message; make two messages.")
    known: Role = "system" if role == "system" else "user" if role == "user" else "assistant"
    return Message(item_id, known, parts, status)


def _part(raw: Any, where: str, role: str) -> Part:
    if not isinstance(raw, Mapping):
        raise wrong_type(where, "an object", raw)
    kind = check.text(check.required(raw, "type", where), f"{where}.type", most=10_000)
    if kind == "input_image":
        raise unsupported(f"{where}.type", "pictures are not supported by this engine yet.")
    check.choice(kind, f"{where}.type", _PARTS[role])
    if kind in ("input_text", "output_text"):
        said = check.fields(raw, where, ("type", "text"))
        text = check.text(check.required(said, "text", where), f"{where}.text", most=MOST_TEXT)
        return Part("input_text" if role != "assistant" else "output_text", text=text)
    said = check.fields(raw, where, ("type", "audio", "transcript"))
    transcript, audio = said.get("transcript"), said.get("audio")
    if transcript is not None:
        check.text(transcript, f"{where}.transcript", most=MOST_TEXT)
    if role == "assistant":
        if audio is not None:
            raise unsupported(f"{where}.audio", "the assistant's sound cannot be given back.")
        if transcript is None:
            raise missing(f"{where}.transcript")
        return Part("output_audio", transcript=transcript)
    if audio is None and transcript is None:
        raise missing(f"{where}.audio")
    sound = None if audio is None else decode_audio(audio, f"{where}.audio")
    return Part("input_audio", transcript=transcript, audio=sound)


def decode_audio(raw: Any, where: str) -> bytes:
    """Base64 that a client sent, at most 15 MiB of sound."""
    encoded = check.text(raw, where, most=MOST_AUDIO * 4 // 3 + 4)
    try:
        return base64.b64decode(encoded, validate=True)
    except ValueError:
        raise wrong_value(where, "it is not valid base64.") from None
