"""What an event may be: one model for each kind, as its JSON is.

Fields that a kind does not have here are kept: whoever hands an event on hands on all of it.
Those that are ours, beside the protocol's own, are optional and say so.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, ClassVar, Literal
from uuid import UUID

import orjson
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from vivavoce.wire.values import Value

MOST_TEXT = 8_000
"""Characters of what a user says at once."""
MOST_TOOLS = 128
CLIENT, SERVER = "client", "server"


class Wire(BaseModel):
    """Strict in what it knows; what it does not know, it keeps."""

    model_config = ConfigDict(
        strict=True,
        extra="allow",
        frozen=True,
        alias_generator=to_camel,
        populate_by_name=True,
        defer_build=True,
    )


# --- Fields ---------------------------------------------------------------------------

_TIME = re.compile(
    r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d{1,9})?([Zz]|[+-]\d\d:\d\d)", flags=re.ASCII
)


def _uuid(raw: str) -> str:
    if len(raw) != 36:
        raise ValueError("a UUID is wanted, such as 550e8400-e29b-41d4-a716-446655440000")
    UUID(raw)
    return raw


def session_id_of(raw: str) -> str:
    """In one spelling: Apple's are written large. Raises `ValueError` for what is no UUID v4."""
    made = UUID(_uuid(raw))
    if made.version != 4:
        raise ValueError("a UUID of version 4 is wanted")
    return str(made)


def _session_id(raw: str) -> str:
    session_id_of(raw)
    return raw


def _time(raw: str) -> str:
    if not _TIME.fullmatch(raw):
        raise ValueError("an ISO 8601 time with its zone is wanted, as 2025-01-15T10:30:00.000Z")
    datetime.fromisoformat(raw[:19])
    return raw


def _json(raw: str) -> str:
    try:
        orjson.loads(raw)
    except (orjson.JSONDecodeError, UnicodeEncodeError):
        raise ValueError("JSON is wanted, in a string") from None
    return raw


def _arguments(raw: str) -> str:
    if not isinstance(orjson.loads(_json(raw)), dict):
        raise ValueError("a JSON object is wanted, in a string")
    return raw


def _schema(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    if raw.get("type") != "object":
        raise ValueError('a JSON Schema of an object is wanted: "type": "object"')
    return raw


_UUID = {"format": "uuid"}
_HEX = "[0-9A-Fa-f]"
V4 = rf"^{_HEX}{{8}}-{_HEX}{{4}}-4{_HEX}{{3}}-[89ABab]{_HEX}{{3}}-{_HEX}{{12}}$"
Id = Annotated[str, AfterValidator(_uuid), Field(json_schema_extra=_UUID)]
SessionId = Annotated[
    str,
    AfterValidator(_session_id),
    Field(
        json_schema_extra={**_UUID, "pattern": V4},
        description="A UUID of version 4, the one of the address.",
    ),
]
Timestamp = Annotated[str, AfterValidator(_time), Field(json_schema_extra={"format": "date-time"})]
_IN_A_STRING = {"contentMediaType": "application/json"}
InString = Annotated[str, AfterValidator(_json), Field(json_schema_extra=_IN_A_STRING)]
ObjectInString = Annotated[str, AfterValidator(_arguments), Field(json_schema_extra=_IN_A_STRING)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=128)]
CallId = Annotated[str, StringConstraints(min_length=1, max_length=192)]
Said = Annotated[str, StringConstraints(max_length=MOST_TEXT)]
Words = Annotated[str, StringConstraints(max_length=100_000)]


class Tool(Wire):
    """As MCP's `tools/list` has it, so that the tools of an MCP server can be handed on as they
    are."""

    name: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_./-]{1,128}$")]
    title: Annotated[str, StringConstraints(max_length=200)] | None = None
    description: Annotated[str, StringConstraints(max_length=4_000)] | None = None
    input_schema: Annotated[
        Mapping[str, Any], AfterValidator(_schema), Field(description="A JSON Schema of an object.")
    ]
    annotations: Annotated[
        Mapping[str, Any] | None,
        Field(
            description="As in MCP. A tool with `readOnlyHint` changes nothing, where the server "
            "trusts its runtimes; every other one is taken to change something."
        ),
    ] = None


# --- Kinds ----------------------------------------------------------------------------


def _told_apart(tools: list[Tool]) -> list[Tool]:
    names = [tool.name for tool in tools]
    if len(set(names)) < len(names):
        raise ValueError("two tools have one name")
    return tools


Tools = Annotated[list[Tool], Field(max_length=MOST_TOOLS), AfterValidator(_told_apart)]


class Kind(Wire):
    """What every kind is. `sent_by`: whose it is to send."""

    kind: ClassVar[str]
    sent_by: ClassVar[tuple[str, ...]]


class SessionStart(Kind):
    """The first event of a connection, and of each one after it."""

    kind = "sessionStart"
    sent_by = (CLIENT,)

    session_id: SessionId
    tools: Annotated[
        Tools | None,
        Field(
            description="What the runtime can do for the model. Absent or null: as the connection "
            "before it said; an empty list: nothing.",
        ),
    ] = None
    agent: Annotated[
        Name | None, Field(description="The agent that is wanted, where the server has several.")
    ] = None
    clauses: Annotated[
        bool | None,
        Field(description="`tts.speak` may come clause by clause, while the answer is made."),
    ] = None


class UserAudioTranscriptPartial(Kind):
    """What the user has said so far, all of it: each one takes the place of the one before."""

    kind = "userAudioTranscriptPartial"
    sent_by = (CLIENT,)

    text: Said


class UserAudioTranscriptFinal(Kind):
    """What the user said. The same event `id` once more is the same sentence."""

    kind = "userAudioTranscriptFinal"
    sent_by = (CLIENT,)

    text: Said


class AssistantSpeechPartial(Kind):
    """What the assistant says so far, all of it: each one takes the place of the one before."""

    kind = "assistantSpeechPartial"
    sent_by = (SERVER,)

    text: Words


class AssistantSpeechFinal(Kind):
    """What the assistant says. `tts.speak` asks for it to be spoken."""

    kind = "assistantSpeechFinal"
    sent_by = (SERVER,)

    text: Words


class AssistantUIPatch(Kind):
    """A change of what is shown beside the talk: one operation of JSON Patch (RFC 6902), or an
    array of them."""

    kind = "assistantUIPatch"
    sent_by = (SERVER,)

    patch: InString


class ToolCall(Kind):
    """What the runtime is to run, once for each `callId`: a tool of its own, or what the server
    calls by itself (`convo.setState`, `tts.speak`, and `ui.confirm` where it has one)."""

    kind = "toolCall"
    sent_by = (SERVER,)

    call_id: CallId
    name: Name
    arguments: ObjectInString


class ToolResult(Kind):
    """What came of a call: `result`, or `error` where it failed. With both, it failed, and the
    result is what there is to read."""

    kind = "toolResult"
    sent_by = (CLIENT,)

    call_id: CallId
    result: InString | None = None
    error: Words | None = None


class Error(Kind):
    """Something is wrong. The connection goes on, unless it is closed too."""

    kind = "error"
    sent_by = (CLIENT, SERVER)

    code: Annotated[str, StringConstraints(min_length=1, max_length=64)]
    message: Words
    event_id: Annotated[
        str | None, Field(description="Of the server's: the `id` of the event that it is about.")
    ] = None
    call_id: Annotated[
        CallId | None,
        Field(description="Of `audio.output.interrupted`: the `tts.speak` that was interrupted."),
    ] = None
    position_ms: Annotated[
        int | None,
        Field(
            ge=0,
            description="Of `audio.output.interrupted`: how much of that call was played, in "
            "milliseconds.",
        ),
    ] = None
    position_characters: Annotated[
        int | None,
        Field(
            ge=0,
            description="Of `audio.output.interrupted`: how many characters of that call's `text` "
            "were heard. It counts before `positionMs`.",
        ),
    ] = None


Any_ = (
    SessionStart
    | UserAudioTranscriptPartial
    | UserAudioTranscriptFinal
    | AssistantSpeechPartial
    | AssistantSpeechFinal
    | AssistantUIPatch
    | ToolCall
    | ToolResult
    | Error
)
KINDS: Mapping[str, type[Kind]] = {
    kind.kind: kind
    for kind in (
        SessionStart,
        UserAudioTranscriptPartial,
        UserAudioTranscriptFinal,
        AssistantSpeechPartial,
        AssistantSpeechFinal,
        AssistantUIPatch,
        ToolCall,
        ToolResult,
        Error,
    )
}

# --- The server's own calls -------------------------------------------------------------

SET_STATE, SPEAK, CONFIRM = "convo.setState", "tts.speak", "ui.confirm"
State = Literal["listening", "thinking", "speaking", "idle"]


class SetState(Wire):
    """`arguments` of `convo.setState`: show that it is so. Nobody waits for the result."""

    state: State


class Speak(Wire):
    """`arguments` of `tts.speak`: speak this. The result is sent when it was spoken, whatever is in
    it; an `error` where it cannot be."""

    text: Words


class Confirm(Wire):
    """`arguments` of `ui.confirm`, which is called where `tools` have one of that name: put the
    question to the user, with two buttons. The result is sent when one was pressed."""

    approval_id: str
    question: str
    card: Annotated[str, Field(description="The `id` of the card that shows what it is about.")]


class Confirmed(Wire):
    """`result` of `ui.confirm`: which button the user pressed, for the `approvalId` that they were
    asked about."""

    approval_id: str
    approved: bool
    reach: Annotated[
        Literal["once", "session", "always"] | None,
        Field(description="How far a yes goes; once, where nothing is said."),
    ] = None


class OwnCall(Value):
    """What such a call is given, and what it is answered with, where that is looked at."""

    arguments: type[Wire]
    result: type[Wire] | None = None


OWN_CALLS: Mapping[str, OwnCall] = {
    SET_STATE: OwnCall(SetState),
    SPEAK: OwnCall(Speak),
    CONFIRM: OwnCall(Confirm, Confirmed),
}
