"""Every server event, field for field and strict: the scripted provider sends nothing else, and
the tests hold the engine to it.

Whoever serves calls does not import this. Sound and words go out by the dozen a second, and to
check a frame takes longer than to make it: there they are made by code that was held to this.
"""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, Literal, Union, cast

from pydantic import BaseModel, ConfigDict, Field, create_model

from vivavoce.wire.realtime import session
from vivavoce.wire.realtime.items import Role, Status
from vivavoce.wire.realtime.response import Metadata, ResponseAudio
from vivavoce.wire.realtime.server import EventType, Frame, OwnEventType

Fields = dict[str, Any]


class _Strict(BaseModel):
    """Nothing missing, nothing coerced, nothing unknown."""

    model_config = ConfigDict(strict=True, extra="forbid", defer_build=True)


def _object(*also: Fields, base: type[BaseModel] = _Strict, **fields: Any) -> Any:
    """A model of these fields; one that need not be there is given with what stands in for it."""
    whole: Fields = {}
    for name, kind in [pair for some in (*also, fields) for pair in some.items()]:
        whole[name] = kind if isinstance(kind, tuple) else (kind, ...)
    return create_model("Object", __base__=base, **whole)


def _one_of(*kinds: Any) -> Any:
    return Annotated[Union[kinds], Field(discriminator="type")]  # noqa: UP007 - known at run time


def _list(kind: Any) -> Any:
    return list[kind]


# --- What is in them --------------------------------------------------------------------

_Id = Annotated[str, Field(min_length=1)]
_Count = Annotated[int, Field(ge=0)]
_Maybe = (str | None, None)

_Fault = _object(type=str, code=str | None, message=str, param=_Maybe, event_id=_Maybe)
_RateLimit = _object(name=str, limit=_Count, remaining=_Count, reset_seconds=float)

_Text = _object(type=Literal["input_text", "output_text"], text=str)
_Sound = Literal["input_audio", "output_audio"]
_Audio = _object(type=_Sound, transcript=str | None, audio=(str, ""))
_Picture = _object(type=Literal["input_image"], image_url=str)
_LISTED: Fields = {"id": _Id, "status": Status}
_Content = _list(_one_of(_Text, _Audio, _Picture))
_Message = _object(_LISTED, type=Literal["message"], role=Role, content=_Content)
_CALL: Fields = {"call_id": _Id}
_Call = _object(_LISTED, _CALL, type=Literal["function_call"], name=str, arguments=str)
_Result = _object(_LISTED, _CALL, type=Literal["function_call_output"], output=str)
_Item = _one_of(_Message, _Call, _Result)
_Said = _object(type=Literal["text"], text=str)
_Spoken = _object(type=Literal["audio"], transcript=str)
_Part = _one_of(_Said, _Spoken)

_SHOWN: Fields = {"id": _Id, "object": str, "expires_at": int}
_Talking = _object(_SHOWN, base=session.RealtimeSession, type=Literal["realtime"])
_Writing = _object(_SHOWN, base=session.TranscriptionSession, type=Literal["transcription"])
_Session = _one_of(_Talking, _Writing)

_BY_KIND: Fields = {"text_tokens": _Count, "audio_tokens": _Count}
_Cached = _object(_BY_KIND, image_tokens=_Count)
_Given = _object(_BY_KIND, image_tokens=_Count, cached_tokens=_Count, cached_tokens_details=_Cached)
_SUMS: Fields = {"total_tokens": _Count, "input_tokens": _Count, "output_tokens": _Count}
_Usage = _object(_SUMS, input_token_details=_Given, output_token_details=_object(_BY_KIND))
_Seconds = _object(type=Literal["duration"], seconds=_Count)
_Reason = Literal["turn_detected", "client_cancelled", "max_output_tokens", "content_filter"]
_Details = _object(
    type=Literal["cancelled", "incomplete", "failed"],
    reason=(_Reason | None, None),
    error=(_Fault | None, None),
)
_Response = _object(
    object=Literal["realtime.response"],
    id=_Id,
    status=Literal["in_progress", "completed", "cancelled", "incomplete", "failed"],
    status_details=_Details | None,
    output=_list(_Item),
    conversation_id=_Id | None,
    output_modalities=session.Modalities,
    max_output_tokens=session.MaxTokens,
    audio=ResponseAudio,
    usage=_Usage | None,
    metadata=Metadata | None,
)

# --- The events -------------------------------------------------------------------------

_ITEM: Fields = {"item_id": _Id}
_PART: Fields = {**_ITEM, "content_index": _Count}
_OUTPUT: Fields = {"response_id": _Id, "output_index": _Count}
_START: Fields = {"audio_start_ms": _Count}
_END: Fields = {"audio_end_ms": _Count}
_AFTER: Fields = {"previous_item_id": _Id | None}
_DELTA: Fields = {"delta": str}

FIELDS: dict[EventType, Fields] = {
    "error": {"error": _Fault},
    "session.created": {"session": _Session},
    "session.updated": {"session": _Session},
    "rate_limits.updated": {"rate_limits": _list(_RateLimit)},
    "input_audio_buffer.speech_started": _ITEM | _START,
    "input_audio_buffer.speech_stopped": _ITEM | _END,
    "input_audio_buffer.timeout_triggered": _ITEM | _START | _END,
    "input_audio_buffer.committed": _ITEM | _AFTER,
    "input_audio_buffer.cleared": {},
    "conversation.item.input_audio_transcription.delta": _PART | _DELTA,
    "conversation.item.input_audio_transcription.completed": _PART
    | {"transcript": str, "usage": _Seconds},
    "conversation.item.input_audio_transcription.failed": _PART | {"error": _Fault},
    "conversation.item.added": _AFTER | {"item": _Item},
    "conversation.item.done": _AFTER | {"item": _Item},
    "conversation.item.retrieved": {"item": _Item},
    "conversation.item.deleted": _ITEM,
    "conversation.item.truncated": _PART | _END,
    "response.created": {"response": _Response},
    "response.done": {"response": _Response},
    "response.output_item.added": _OUTPUT | {"item": _Item},
    "response.output_item.done": _OUTPUT | {"item": _Item},
    "response.content_part.added": _OUTPUT | _PART | {"part": _Part},
    "response.content_part.done": _OUTPUT | _PART | {"part": _Part},
    "response.output_text.delta": _OUTPUT | _PART | _DELTA,
    "response.output_text.done": _OUTPUT | _PART | {"text": str},
    "response.output_audio.delta": _OUTPUT | _PART | _DELTA,
    "response.output_audio.done": _OUTPUT | _PART,
    "response.output_audio_transcript.delta": _OUTPUT | _PART | _DELTA,
    "response.output_audio_transcript.done": _OUTPUT | _PART | {"transcript": str},
    "response.function_call_arguments.delta": _OUTPUT | _ITEM | _CALL | _DELTA,
    "response.function_call_arguments.done": _OUTPUT
    | _ITEM
    | _CALL
    | {"name": str, "arguments": str},
    "output_audio_buffer.started": {"response_id": _Id},
    "output_audio_buffer.stopped": {"response_id": _Id},
    "output_audio_buffer.cleared": {"response_id": _Id},
}
SERVER_EVENTS: frozenset[str] = frozenset(FIELDS)
_HEARD: Fields = {
    **_ITEM,
    **_END,
    "transcript": str,
    "state": Literal["playing", "played", "cut"],
    "estimated": bool,
}
_Listed = _object(_AFTER, item=_Item, response_id=str, generated=str, heard=_object(_HEARD) | None)
OWN_FIELDS: dict[OwnEventType, Fields] = {
    "vivavoce.heard": _HEARD,
    "vivavoce.peer": {
        "state": Literal["connecting", "connected", "lost", "closed", "failed"],
        "data_channel": Literal["connecting", "open", "closed"],
        "reason": str | None,
    },
    "vivavoce.items": {
        "items": _list(_Listed),
        "spent": _list(_object({"response_id": str, "usage": _Usage})),
    },
}


@cache
def _model(kind: EventType | OwnEventType) -> type[_Strict]:
    own: Fields = {"type": Literal[kind], "event_id": _Id}
    ours = kind in OWN_FIELDS
    fields = OWN_FIELDS[cast("OwnEventType", kind)] if ours else FIELDS[cast("EventType", kind)]
    return cast("type[_Strict]", _object(own, fields))


def held(frame: Frame) -> Frame:
    """The same frame. Raises `ValidationError` where it is not its event to the letter."""
    _model(frame["type"]).model_validate(frame)
    return frame
