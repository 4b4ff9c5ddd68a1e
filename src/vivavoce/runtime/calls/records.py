"""What a tool call writes: its record, its two entries and its events. No I/O.

Everything here is cleaned, since it is what is stored and announced. Entry
ids come from the conversation and the call id, so that a client's synced copy
of the same call or result is the same entry.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from vivavoce.runtime.calls.outcomes import STORED_LIMIT, ToolOutcome, ToolRequest
from vivavoce.runtime.journal.log import audit_line
from vivavoce.wire.clean import clean_json, clean_line, clean_text
from vivavoce.wire.events import (
    Notification,
    ToolCompleted,
    ToolError,
    ToolProgress,
    ToolStarted,
    VoiceEvent,
    announce,
)
from vivavoce.wire.records.talk import (
    Audited,
    CallStatus,
    Change,
    Entry,
    Kind,
    Put,
    PutEntry,
    ToolCall,
    entry_id,
)
from vivavoce.wire.records.work import digest_of

_NAMED = 5  # files of one call, in the audit
PREVIEW = 200  # characters of `output_preview` (seed 003 §5.2)


def new_call(request: ToolRequest, arguments: object, now: datetime) -> ToolCall:
    """The record of a call that is asked for; arguments that are no object stay out."""
    return ToolCall(
        id=request.call_id,
        user_id=request.user_id,
        tool=clean_line(request.name, 128),
        started_at=now,
        arguments=clean_json(arguments) if isinstance(arguments, dict) else {},
        conversation_id=request.conversation_id,
        session_id=request.session_id,
        origin=request.origin,
    )


def elsewhere(one: ToolCall, other: ToolCall) -> bool:
    """Do they belong to two conversations? (One of none may be anybody's.)"""
    return bool(
        one.conversation_id
        and other.conversation_id
        and one.conversation_id != other.conversation_id
    )


def scoped(call: ToolCall) -> ToolCall:
    """The same call under an id of its conversation's own.

    Some providers number their calls anew in every session.
    """
    return replace(call, id=f"{call.id}@{call.conversation_id}")


def wire_id(call: ToolCall) -> str:
    """The call id as the provider or the client gave it."""
    return call.id.removesuffix(f"@{call.conversation_id}")


def milliseconds(at: datetime) -> float:
    return at.timestamp() * 1000


def asked_for(call: ToolCall, description: str, ordinal: float) -> list[Change]:
    """What is stored before anyone says that it may run."""
    return [Put(call), *call_entry(call, description, ordinal)]


def started(call: ToolCall, description: str, estimate: int | None, now: datetime) -> Change:
    """It runs from now on: told once nobody has to say yes any more."""
    event = ToolStarted(
        session_id=call.session_id,
        timestamp=now,
        call_id=wire_id(call),
        tool_name=call.tool,
        description=description,
        estimated_duration=estimate,
    )
    return announce(event, call)


def progressed(
    call: ToolCall,
    percentage: int | None,
    now: datetime,
    details: Mapping[str, object] | None = None,
) -> list[Change]:
    event = ToolProgress(
        session_id=call.session_id,
        timestamp=now,
        call_id=wire_id(call),
        tool_name=call.tool,
        message=call.progress or "",
        percentage=percentage,
        details=clean_json(dict(details)) if details else None,
    )
    return [Put(call), announce(event, call)]


def displayed(call: ToolCall, message: str, level: str, now: datetime) -> list[Change]:
    event = Notification(
        session_id=call.session_id,
        timestamp=now,
        level=level,
        message=message,
        call_id=wire_id(call),
    )
    return [announce(event, call)]


def concluded(
    call: ToolCall, outcome: ToolOutcome, output: str, status: CallStatus, now: datetime
) -> ToolCall:
    """The record with its outcome; `output` is the whole of it."""
    return replace(
        call,
        status=status,
        output=clean_text(output, STORED_LIMIT),
        error=clean_text(outcome.error) if outcome.error else None,
        truncated=outcome.truncated,
        finished_at=now,
        duration_ms=outcome.duration_ms,
    )


def settled(
    call: ToolCall, outcome: ToolOutcome, ordinal: float, now: datetime, *, ran: bool = True
) -> list[Change]:
    """A success ends with `tool.completed`, a failure with `tool.error`; never both. Not `ran`: it
    was refused, and brought nothing in."""
    event: VoiceEvent
    if outcome.success:
        event = ToolCompleted(
            session_id=call.session_id,
            timestamp=now,
            call_id=wire_id(call),
            tool_name=call.tool,
            success=True,
            duration_ms=outcome.duration_ms,
            output_preview=clean_text(outcome.output, PREVIEW),
            files_changed=list(outcome.files_changed) or None,
        )
    else:
        event = ToolError(
            session_id=call.session_id,
            timestamp=now,
            call_id=wire_id(call),
            tool_name=call.tool,
            error=call.error or "",
            recoverable=outcome.recoverable,
            suggestion=outcome.suggestion,
            code=outcome.code,
            exit_code=outcome.exit_code,
            output_preview=clean_text(outcome.output, PREVIEW) or None,
            announced=(outcome.fault is not None and outcome.fault.announced) or None,
        )
    return [
        Put(call),
        *_entry(
            call,
            Kind.TOOL_RESULT,
            clean_text(outcome.output) or (call.error or ""),
            {"tool_result": clean_json(outcome.result), **({} if ran else {"ran": False})},
            now,
            # The result follows its call, whatever the clocks say.
            max(milliseconds(now), ordinal + 0.001),
        ),
        announce(event, call),
        *_changed(call, outcome.files_changed, now),
    ]


def _changed(call: ToolCall, files: Sequence[str], now: datetime) -> Iterator[Audited]:
    """Whichever tool did it, and however that ended."""
    if files:
        more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
        told, how = ", ".join(files[:_NAMED]) + more, f"changed by {call.tool}"
        digest = digest_of(call.arguments)
        yield Audited(audit_line("file", told, how, call.user_id, now, digest))


def call_entry(call: ToolCall, text: str, ordinal: float) -> list[Change]:
    data = {"tool_arguments": call.arguments}
    return _entry(call, Kind.TOOL_CALL, text, data, call.started_at, ordinal)


def _entry(
    call: ToolCall,
    kind: Kind,
    text: str,
    data: Mapping[str, object],
    at: datetime,
    ordinal: float,
) -> list[Change]:
    if call.conversation_id is None:
        return []
    call_id = wire_id(call)
    entry = Entry(
        id=entry_id(call.conversation_id, f"{kind.value}:{call_id}"),
        conversation_id=call.conversation_id,
        user_id=call.user_id,
        session_id=call.session_id,
        kind=kind,
        text=text,
        created_at=at,
        ordinal=ordinal,
        data={"tool_name": call.tool, "tool_call_id": call_id, **data, "source": "server"},
    )
    return [PutEntry(entry)]
