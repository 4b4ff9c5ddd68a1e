"""The events of `GET /events` (seed 003 §5 and the house), each with every field.

An event is durable unless it says otherwise: it has a position in the log
and is replayed. Ephemeral ones are superseded by what follows and have none.
Fields that are None are left out of the JSON.
"""

from __future__ import annotations

from dataclasses import fields
from datetime import datetime
from typing import ClassVar, Protocol

import orjson

from vivavoce.wire.records.talk import Announce, LogEvent, iso
from vivavoce.wire.values import Record


class VoiceEvent(Record):
    """The base: whose session it happened in, and when."""

    type: ClassVar[str]
    durable: ClassVar[bool] = True

    session_id: str | None = None
    timestamp: datetime


class SessionStarted(VoiceEvent):
    """`provider` is who answers."""

    type = "session.started"
    voice: str
    tools_count: int
    provider: str | None = None


class SessionUpdated(VoiceEvent):
    type = "session.updated"
    changes: list[str]


class SessionEnded(VoiceEvent):
    """`reason`: completed, taken_over (its user went on with the conversation in another window, or
    on another device), timeout, error, user_ended (somebody hung up), budget, moved (a runtime went
    on at another server); and where the client was lost: `socket_reset` (its WebSocket broke),
    `client_silent` (a closed lid: nothing came any more), `ice_lost` (WebRTC's way to it is dead),
    `never_connected` (nobody ever came).
    """

    type = "session.ended"
    reason: str
    duration_ms: int


class SessionEndRequested(VoiceEvent):
    """Another server on the same database was asked for the end of this session: `session.ended`
    follows from the one that runs it. `goes_on`: its conversation does, there."""

    type = "session.end_requested"
    reason: str
    status: str
    goes_on: bool


class SessionMoved(VoiceEvent):
    """Another server on the same database looks after this session now, `owner` by name. `reason`
    is "lost" where the one before, `left_by`, is gone, and "drained" where it let go of it. The
    call goes on. Without an `owner` it ended with its server, and `GET /session/reconnect` at
    another goes on with the conversation."""

    type = "session.moved"
    reason: str
    owner: str | None = None
    left_by: str | None = None


class SessionWarning(VoiceEvent):
    """The session ends soon; `reason` is "idle", "cap" or "budget".

    Before the provider's cap `action` is "reconnect", and `call.wanted` says the same. Before
    the agent's own there is no `action`: nothing lifts it.
    """

    type = "session.warning"
    reason: str
    warning: str
    seconds_remaining: int
    action: str | None = None


class CallWanted(VoiceEvent):
    """The session wants another call: `GET /session/reconnect`, and place one with its key.

    `beside`: the one that is on goes on; keep both, feed both the microphone, and let go of the
    old one with `call.moved`. Otherwise there is none any more. `reason`: "cap" before the
    provider's cap, "provider" where another one is to speak, "lost" where this one failed;
    `message` says that in words, and `provider` who is asked next.
    """

    type = "call.wanted"
    reason: str
    beside: bool
    seconds_remaining: int | None = None
    provider: str | None = None
    message: str | None = None


class CallMoved(VoiceEvent):
    """The session is on the call that was placed beside the old one, which is hung up."""

    type = "call.moved"
    reason: str
    provider: str | None = None


class ProviderChanged(VoiceEvent):
    """Another provider answers from now on. `reason`: "wanted", or why the other one does not:
    a code such as `insufficient_quota`."""

    type = "provider.changed"
    provider: str
    previous: str | None = None
    reason: str


class SessionExpired(VoiceEvent):
    type = "session.expired"
    reason: str


class SessionStatus(VoiceEvent):
    """The state in one word, on every change of it."""

    type = "session.status"
    durable = False
    state: str
    voice_session_active: bool
    amplifier_connected: bool
    pending_tasks: int
    session_age_ms: int
    estimated_tokens: int


class ContextUpdated(VoiceEvent):
    """What the model was told: after a start, a resume or a restore. `window`: in a long call the
    oldest turns gave way to a summary."""

    type = "context.updated"
    reason: str
    items: int
    estimated_tokens: int


class SpeechStarted(VoiceEvent):
    type = "speech.started"
    item_id: str | None = None


class SpeechStopped(VoiceEvent):
    type = "speech.stopped"
    duration_ms: int
    item_id: str | None = None


class TranscriptionDelta(VoiceEvent):
    type = "transcription.delta"
    durable = False
    item_id: str
    delta: str
    role: str


class TranscriptionCompleted(VoiceEvent):
    """`transcript` is what was said or heard; an answer that is interrupted after it was told comes
    once more, cut, and `replaces` names the entry whose transcript it takes the place of.

    `modality` is "text" for what was written. `created_at` is the entry's, where that is not
    the `timestamp`. Without an `entry_id` and without words, what was begun under this item is
    taken back: the user went on, and all of it comes under another one.
    """

    type = "transcription.completed"
    item_id: str
    transcript: str
    role: str
    entry_id: str | None = None
    previous_item_id: str | None = None
    interrupted: bool | None = None
    modality: str | None = None
    created_at: datetime | None = None
    replaces: str | None = None


class AssistantSpeaking(VoiceEvent):
    type = "assistant.speaking"
    item_id: str


class AssistantHeard(VoiceEvent):
    """How much of an answer was heard by now, for captions that follow the voice: `state` is
    playing, played (all that became sound) or cut. Only of providers that tell it: our engine."""

    type = "assistant.heard"
    durable = False
    item_id: str
    transcript: str
    audio_end_ms: int
    state: str


class AssistantDone(VoiceEvent):
    type = "assistant.done"
    item_id: str
    duration_ms: int
    interrupted: bool | None = None


class TurnTraced(VoiceEvent):
    """How long a turn took, once it is over. Every `…_ms` is after `speech_end`.

    `tools` are the names of what was called. A mark that never came is left out.
    """

    type = "turn.traced"
    began_with: str
    outcome: str
    speech_end: datetime
    end_of_turn_ms: int | None = None
    transcript_ms: int | None = None
    first_token_ms: int | None = None
    first_clause_ms: int | None = None
    first_sound_ms: int | None = None
    last_sound_ms: int | None = None
    response_ids: list[str]
    item_ids: list[str]
    tools: list[str]


class ToolStarted(VoiceEvent):
    """It runs: where a yes is needed, that is there. `estimated_duration`: milliseconds that such
    calls took lately, where that is known."""

    type = "tool.started"
    call_id: str
    tool_name: str
    description: str
    estimated_duration: int | None = None


class ToolProgress(VoiceEvent):
    """Kept at most once a second a call, so that a poller sees how far it got. `details` are the
    tool's own figures, such as `done` and `total`."""

    type = "tool.progress"
    call_id: str
    tool_name: str
    message: str
    percentage: int | None = None
    details: dict[str, object] | None = None


class ToolCompleted(VoiceEvent):
    """`files_changed`: beneath the user's workspace, where it changed any."""

    type = "tool.completed"
    call_id: str
    tool_name: str
    success: bool
    duration_ms: int
    output_preview: str | None = None
    files_changed: list[str] | None = None


class ToolError(VoiceEvent):
    """`announced`: an `error` before it says the same. A command that failed has its
    `exit_code`, and what it printed."""

    type = "tool.error"
    call_id: str
    tool_name: str
    error: str
    recoverable: bool
    suggestion: str | None = None
    code: str | None = None
    announced: bool | None = None
    exit_code: int | None = None
    output_preview: str | None = None


class TaskDelegated(VoiceEvent):
    type = "task.delegated"
    task_id: str
    title: str
    agent: str
    backend: str
    call_id: str | None = None


class TaskProgress(VoiceEvent):
    """`agent` is the one at work now, where several follow each other."""

    type = "task.progress"
    task_id: str
    message: str
    agent: str
    percentage: int | None = None


class TaskQuestion(VoiceEvent):
    """The task waits for the user's words: `POST /tasks/{id}/answer`, or by voice."""

    type = "task.question"
    task_id: str
    question_id: str
    question: str
    choices: list[str]


class TaskCompleted(VoiceEvent):
    type = "task.completed"
    task_id: str
    title: str
    summary: str
    files_changed: list[str]
    duration_ms: int


class TaskFailed(VoiceEvent):
    """`details` is what was tried, in order."""

    type = "task.failed"
    task_id: str
    title: str
    error: str
    details: list[str]
    suggestions: list[str]
    cancelled: bool = False


class TaskDue(VoiceEvent):
    """Something on the user's list has come due; `task_id` is that of the to-do, and `reminder_id`
    of this time of it. `late` says that it was due a while ago: nobody was there to see it then.
    It comes in the session that its user has now, or had last.
    """

    type = "task.due"
    reminder_id: str
    task_id: str
    title: str
    due_at: datetime
    late: bool = False


class ApprovalRequested(VoiceEvent):
    type = "approval.requested"
    approval_id: str
    tool_name: str
    question: str
    arguments: dict[str, object]
    expires_at: datetime
    call_id: str | None = None
    task_id: str | None = None
    asked_by: str | None = None
    because: str | None = None
    reach: str | None = None


class ApprovalResolved(VoiceEvent):
    """`by`: voice, click, timeout, restart or cancel. `reach`, of a yes: once, session, always."""

    type = "approval.resolved"
    approval_id: str
    tool_name: str
    granted: bool
    by: str
    reach: str | None = None


class IntentSubmitted(VoiceEvent):
    """`status`: pending, accepted or failed; it comes again when that changes, and after an
    amendment with the next `revision`."""

    type = "intent.submitted"
    intent_id: str
    intent: str
    payload: dict[str, object]
    status: str
    revision: int = 0
    goal_id: str | None = None
    task_id: str | None = None
    error: str | None = None


class IntentRetracted(VoiceEvent):
    type = "intent.retracted"
    intent_id: str
    intent: str
    goal_id: str | None = None
    task_id: str | None = None


class ConnectionStatus(VoiceEvent):
    """How the client's sound is connected, by WebRTC (ICE and DTLS) or by WebSocket: connecting,
    connected, disconnected (it may come back), closed, failed. `reason`: as of `session.ended`.
    """

    type = "connection.status"
    webrtc_state: str
    data_channel_state: str
    reason: str | None = None


class RateLimitWarning(VoiceEvent):
    type = "rate_limit.warning"
    limit_type: str
    current: int
    limit: int
    reset_at: datetime


class ErrorOccurred(VoiceEvent):
    type = "error"
    code: str
    message: str
    recoverable: bool


class Notification(VoiceEvent):
    """`level`: info, warning or error; `action` is a label and what it does. With a `call_id` it is
    what a tool puts on the screen (`display_message` of other servers); nobody says it aloud."""

    type = "notification"
    level: str
    message: str
    call_id: str | None = None
    action: dict[str, str] | None = None


class Heartbeat(VoiceEvent):
    type = "heartbeat"
    durable = False
    session_active: bool


class StreamReset(VoiceEvent):
    """The position asked for is gone: read the state anew, then go on from `latest`."""

    type = "stream.reset"
    durable = False
    reason: str
    requested: int
    oldest: int
    latest: int


CATALOGUE: dict[str, type[VoiceEvent]] = {cls.type: cls for cls in VoiceEvent.__subclasses__()}

_RENAMED = {"limit_type": "type"}  # `type` is the event's own name in Python
_NAMES = {
    kind: [(item.name, _RENAMED.get(item.name, item.name)) for item in fields(kind)]
    for kind in CATALOGUE.values()
}
"""Of the fields, and as the wire has them."""


def payload(event: VoiceEvent) -> dict[str, object]:
    """The `data:` object, without what is None."""
    out: dict[str, object] = {}
    for field, name in _NAMES[type(event)]:
        value = getattr(event, field)
        if value is not None:
            out[name] = iso(value) if isinstance(value, datetime) else value
    return out


class About(Protocol):
    """Whatever an event is about: a call, a task, a session."""

    @property
    def user_id(self) -> str: ...
    @property
    def conversation_id(self) -> str | None: ...


def announce(event: VoiceEvent, about: About) -> Announce:
    """For its user, in its conversation."""
    told = to_log(event, user_id=about.user_id, conversation_id=about.conversation_id)
    return Announce(told)


def to_log(event: VoiceEvent, *, user_id: str, conversation_id: str | None) -> LogEvent:
    """The event as the log keeps it: encoded here, once, for every reader."""
    return LogEvent(
        type=event.type,
        data=orjson.dumps(payload(event)),
        user_id=user_id,
        conversation_id=conversation_id,
        session_id=event.session_id,
        at=event.timestamp,
    )
