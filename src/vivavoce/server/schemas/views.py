"""From records to what clients see. No decisions, only shapes."""

from __future__ import annotations

from datetime import datetime

import orjson

from vivavoce.runtime.sessions.library import Updates
from vivavoce.runtime.sessions.voice import Opened
from vivavoce.server.gate.tickets import Issued
from vivavoce.server.schemas import sessions as s
from vivavoce.server.schemas.tools import TaskResponse, ToolDefinition
from vivavoce.server.services import Services
from vivavoce.session.context import History
from vivavoce.wire.records.talk import Entry, LogEvent, SessionSummary, ToolCall, VoiceSession


def session_info(summary: SessionSummary, now: datetime) -> s.SessionInfo:
    session = summary.session
    return s.SessionInfo(
        id=session.id,
        status=session.status.value,
        created_at=session.created_at,
        updated_at=session.updated_at,
        duration_ms=session.duration_ms(now),
        turn_count=summary.turn_count,
        title=summary.title,
        conversation_id=session.conversation_id,
    )


def transcript(entries: list[Entry]) -> list[s.TranscriptEntry]:
    return [_entry(entry) for entry in entries]


def _entry(entry: Entry) -> s.TranscriptEntry:
    data = entry.data
    return s.TranscriptEntry(
        id=data.get("client_id") or entry.id,
        entry_type=entry.kind.value,
        timestamp=entry.created_at,
        text=entry.text,
        tool_name=data.get("tool_name"),
        tool_call_id=data.get("tool_call_id"),
        tool_arguments=data.get("tool_arguments"),
        tool_result=data.get("tool_result"),
        audio_duration_ms=data.get("audio_duration_ms"),
        item_id=data.get("item_id"),
        interrupted=data.get("interrupted"),
        generated_text=data.get("generated"),
    )


def turns(events: list[LogEvent]) -> list[s.TurnTrace]:
    """What was announced is what is shown."""
    return [s.TurnTrace.model_validate(orjson.loads(event.data)) for event in events]


def secret(issued: Issued) -> s.ClientSecret:
    return s.ClientSecret(value=issued.value, expires_at=int(issued.expires_at.timestamp()))


def stream_token(here: Services, session: VoiceSession) -> s.ClientSecret:
    return secret(here.streams.issue(session_id=session.id, user_id=session.user_id))


def opened(here: Services, opened: Opened) -> s.SessionResponse:
    """The answer that lets a browser connect: our key, never the provider's."""
    session = opened.session
    ticket = here.tickets.issue(session_id=session.id, user_id=session.user_id)
    return s.SessionResponse(
        client_secret=secret(ticket),
        session_id=session.id,
        model=session.model,
        voice=session.voice,
        tools=[ToolDefinition.model_validate(tool.function()) for tool in opened.tools],
        conversation_id=session.conversation_id,
        stream_token=stream_token(here, session),
        last_event_id=here.journal.position,
    )


def summary_of(history: History) -> str:
    """Where the conversation stood, for a person: its summary, or the last words."""
    if history.summary:
        return history.summary
    last = {
        str(item["role"]): item["content"][0]["text"]
        for item in history.items
        if item["type"] == "message"
    }
    said = [("user", "The user"), ("assistant", "The assistant")]
    return " ".join(f"{who} last said: “{last[role]}”" for role, who in said if role in last)


def pending(session: VoiceSession, updates: Updates) -> s.PendingUpdatesResponse:
    return s.PendingUpdatesResponse(
        session_id=session.id,
        status=session.status.value,
        queued_updates=[
            s.QueuedUpdate(id=event.position, event=event.type, data=orjson.loads(event.data))
            for event in updates.events
        ],
        last_event_id=updates.latest,
        has_more=updates.has_more,
        reset=updates.reset,
    )


def task(call: ToolCall) -> TaskResponse:
    return TaskResponse(
        task_id=call.id,
        tool_name=call.tool,
        status=call.status.value,
        progress=call.progress,
        output=call.output or None,
        error=call.error,
        started_at=call.started_at,
        finished_at=call.finished_at,
        duration_ms=call.duration_ms,
        session_id=call.session_id,
    )
