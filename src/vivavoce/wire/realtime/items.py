"""The items of a conversation: what each holds, how a client's is read, how it is shown.

The dataclasses are items as the engine keeps them, its own among them, which
no limit of a client's holds for. `read_item` makes one of what a client brings.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    Field,
    Tag,
    TypeAdapter,
    model_validator,
)

from vivavoce.wire.realtime.model import MOST_TEXT, FunctionName, Model, by, tag
from vivavoce.wire.realtime.refusal import missing, reading, unsupported, wrong_type, wrong_value
from vivavoce.wire.values import Value

Json = dict[str, Any]
Role = Literal["system", "user", "assistant"]
Status = Literal["in_progress", "completed", "incomplete"]
PartType = Literal["input_text", "input_audio", "input_image", "output_text", "output_audio"]

ROOT = "root"
"""`previous_item_id` for the beginning of the conversation."""


class Part(Value):
    """A piece of a message. `audio` is as the client gave it, in its session's input format."""

    type: PartType
    text: str | None = None
    transcript: str | None = None
    audio: bytes | None = None
    image_url: str | None = None

    @property
    def sounds(self) -> bool:
        return self.type in ("input_audio", "output_audio")


class Message(Value):
    id: str
    role: Role
    content: tuple[Part, ...] = ()
    status: Status = "completed"


class FunctionCall(Value):
    """`arguments` is JSON as the model wrote it."""

    id: str
    call_id: str
    name: str
    arguments: str = ""
    status: Status = "completed"


class FunctionCallOutput(Value):
    id: str
    call_id: str
    output: str
    status: Status = "completed"


Item = Message | FunctionCall | FunctionCallOutput


class Reference(Value):
    """An item of the conversation, by its id, as input of a response."""

    id: str


def item_object(item: Item, *, with_audio: bool = False) -> Json:
    """The item as events carry it; sound only where it was asked for (a retrieved item)."""
    match item:
        case Message():
            kind, parts = "message", [_part_object(part, with_audio) for part in item.content]
            own: Json = {"role": item.role, "content": parts}
        case FunctionCall(_, call_id, name, arguments):
            kind = "function_call"
            own = {"name": name, "call_id": call_id, "arguments": arguments}
        case FunctionCallOutput(_, call_id, output):
            kind, own = "function_call_output", {"call_id": call_id, "output": output}
    return {"id": item.id, "type": kind, "status": item.status, **own}


def _part_object(part: Part, with_audio: bool) -> Json:
    if part.type == "input_image":
        return {"type": part.type, "image_url": part.image_url}
    if not part.sounds:
        return {"type": part.type, "text": part.text or ""}
    shown: Json = {"type": part.type, "transcript": part.transcript}
    if with_audio and part.audio is not None:
        shown["audio"] = base64.b64encode(part.audio).decode()
    return shown


# --- What clients bring ---------------------------------------------------------------

MOST_AUDIO = 15 * 1024 * 1024

Text = Annotated[str, Field(max_length=MOST_TEXT)]


def _sound(raw: Any) -> bytes:
    if not isinstance(raw, str):
        raise wrong_type("a string")
    if len(raw) > MOST_AUDIO * 4 // 3 + 4:
        raise wrong_value("at most 15 MiB of sound are allowed.")
    try:
        return base64.b64decode(raw, validate=True)
    except ValueError:
        raise wrong_value("it is not valid base64.") from None


def _printable(raw: str) -> str:
    if not raw.isprintable():
        raise wrong_value("it has characters that cannot be printed.")
    return raw


def _not_root(raw: str) -> str:
    if raw == ROOT:
        raise wrong_value("'root' is the beginning of every conversation.")
    return raw


_Sound = Annotated[bytes, BeforeValidator(_sound)]
_CallId = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_printable)]
_ItemId = Annotated[
    str, Field(min_length=1, max_length=32), AfterValidator(_printable), AfterValidator(_not_root)
]


class _GivenPart(Model):
    spare = frozenset({"text", "transcript", "audio", "image_url", "detail"})

    def part(self) -> Part:
        return Part(**{name: value for name, value in self if name != "detail"})


class _InputText(_GivenPart):
    type: Literal["input_text"]
    text: Text


class _OutputText(_GivenPart):
    type: Literal["output_text"]
    text: Text


class _Audio(_GivenPart):
    wanted: ClassVar[str]

    audio: _Sound | None = None
    transcript: Text | None = None

    @model_validator(mode="after")
    def _something(self) -> Self:
        if self.audio is None and self.transcript is None:
            raise missing(self.wanted)
        return self


class _InputAudio(_Audio):
    wanted = "audio"

    type: Literal["input_audio"]


class _OutputAudio(_Audio):
    wanted = "transcript"

    type: Literal["output_audio"]


class _Picture(_GivenPart):
    type: Literal["input_image"]
    image_url: str
    detail: Literal["auto", "low", "high"] | None = None


_Some = Field(min_length=1, max_length=64)
_UserPart = (
    Annotated[_InputText, Tag(tag("input_text"))]
    | Annotated[_InputAudio, Tag(tag("input_audio"))]
    | Annotated[_Picture, Tag(tag("input_image"))]
)
_AssistantPart = (
    Annotated[_OutputText, Tag(tag("output_text"))]
    | Annotated[_OutputAudio, Tag(tag("output_audio"))]
)


class _Given(Model):
    makes: ClassVar[type[Item]]

    id: _ItemId | None = None
    object: Literal["realtime.item"] | None = None
    status: Status | None = None

    def item(self) -> Item:
        """What a client brings is all there: nothing will follow to complete it."""
        own = {name: value for name, value in self if name not in ("type", "object")}
        if "content" in own:
            own["content"] = tuple(part.part() for part in own["content"])
        status = "incomplete" if self.status == "incomplete" else "completed"
        return self.makes(**own | {"id": self.id or "", "status": status})


class _GivenMessage(_Given):
    makes = Message

    type: Literal["message"]
    role: Role


class _System(_GivenMessage):
    content: Annotated[list[_InputText], _Some]


class _User(_GivenMessage):
    content: Annotated[list[Annotated[_UserPart, by("type")]], _Some]


class _Assistant(_GivenMessage):
    content: Annotated[list[Annotated[_AssistantPart, by("type")]], _Some]


class _GivenCall(_Given):
    makes = FunctionCall

    type: Literal["function_call"]
    call_id: _CallId
    name: FunctionName
    arguments: Text


class _GivenOutput(_Given):
    makes = FunctionCallOutput

    type: Literal["function_call_output"]
    call_id: _CallId
    output: Text


class _GivenReference(Model):
    type: Literal["item_reference"]
    id: Annotated[str, Field(min_length=1, max_length=64)]

    def item(self) -> Reference:
        return Reference(self.id)


def _no_mcp(raw: Any) -> Any:
    if isinstance(raw, Mapping) and str(raw.get("type")).startswith("mcp_"):
        raise unsupported("MCP is not supported by this engine yet.", "type")
    return raw


_AnyMessage = Annotated[
    Annotated[_System, Tag(tag("system"))]
    | Annotated[_User, Tag(tag("user"))]
    | Annotated[_Assistant, Tag(tag("assistant"))],
    by("role"),
    Tag(tag("message")),
]
_AnyCall = Annotated[_GivenCall, Tag(tag("function_call"))]
_AnyOutput = Annotated[_GivenOutput, Tag(tag("function_call_output"))]
GivenItem = Annotated[_AnyMessage | _AnyCall | _AnyOutput, by("type"), BeforeValidator(_no_mcp)]
GivenInput = Annotated[
    _AnyMessage | _AnyCall | _AnyOutput | Annotated[_GivenReference, Tag(tag("item_reference"))],
    by("type"),
    BeforeValidator(_no_mcp),
]
"""Of a response: items of its own, and references to those of the conversation."""

_ITEM: TypeAdapter[Any] = TypeAdapter(GivenItem, config=ConfigDict(defer_build=True))


def read_item(raw: Any, where: str = "item") -> Item:
    """An item that a client brings; without an id it has "". Raises `Refused`."""
    item: Item = reading(_ITEM.validate_python, raw, where).item()
    return item
