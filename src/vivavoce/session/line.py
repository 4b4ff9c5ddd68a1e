"""The line to the provider: calls, the sideband, configuration, faults, and the end."""

from __future__ import annotations

from datetime import timedelta

from vivavoce.session import calling, hearing, saying, timing
from vivavoce.session.effects import Attach, Close, HangUp
from vivavoce.session.events import (
    AttachFailed,
    CallPlaced,
    CallSurvived,
    LineLost,
    Reconfigure,
    ToolFinished,
)
from vivavoce.session.state import Draft, Phase, Signal
from vivavoce.wire.clean import clean_line
from vivavoce.wire.commands import CancelResponse, UpdateSession
from vivavoce.wire.realtime import Configured, Fault, RateLimits
from vivavoce.wire.records import Status
from vivavoce.wire.voice_events import (
    ConnectionStatus,
    ContextUpdated,
    ErrorOccurred,
    RateLimitWarning,
    SessionEnded,
    SessionStarted,
    SessionUpdated,
)

ALREADY_ACTIVE = "conversation_already_has_active_response"
_RATE_WARNING = 0.1  # of the limit is left
INTERRUPTED_OUTPUT = (
    '{"success": false, "error": "The server restarted while this ran; its outcome is not known.", '
    '"recoverable": true, "suggestion": "Ask before trying again"}'
)


def call_placed(event: CallPlaced, draft: Draft) -> None:
    """A first call, or another one in its place after the browser lost the old."""
    _keep_what_was_said(draft)
    state = draft.state
    if state.call_id:
        draft.do(HangUp(state.call_id))
    state.new_call(event.call_id)
    if event.instructions is not None:
        # The time of day is part of them, and it has moved on.
        state.setup = state.setup.merged({"instructions": event.instructions})
    state.history, state.history_tokens = event.history, event.history_tokens
    state.history_reason, state.greeting = event.reason, event.greeting
    draft.active()
    draft.signal(Signal.CALL_PLACED)
    draft.tell(ConnectionStatus, webrtc_state="connecting", data_channel_state="connecting")
    draft.do(Attach(event.call_id))


def call_survived(event: CallSurvived, draft: Draft) -> None:
    """We restarted, the call may not have noticed. It knows everything already."""
    state = draft.state
    state.new_call(event.call_id)
    state.fresh_call, state.announced = False, True
    state.open_calls = set(event.orphans)
    state.ran |= state.open_calls
    for call_id in event.orphans:
        # Never run again: nobody knows how far it got.
        calling.finished(ToolFinished(call_id, INTERRUPTED_OUTPUT), draft)
    draft.active()
    draft.signal(Signal.CALL_PLACED)
    draft.signal(Signal.LINE_LOST)
    draft.do(Attach(event.call_id))


def up(draft: Draft) -> None:
    """Attached. A fresh call is told everything; a line that is back, what it may have missed."""
    state = draft.state
    state.line_up, state.attempts = True, 0
    _order_configuration(draft)
    for command in tuple(state.unconfirmed.values()):
        draft.send(command)
    if state.fresh_call:
        state.fresh_call = False
        for item in state.history:
            draft.add_item(item)
        draft.tell(
            ContextUpdated,
            reason=state.history_reason,
            items=len(state.history),
            estimated_tokens=state.history_tokens,
        )
        if state.greeting:
            state.responses.wish(instructions=state.greeting)
        timing.start(draft)
    elif state.phase is Phase.RECONNECTING:
        draft.tell(ConnectionStatus, webrtc_state="connected", data_channel_state="open")
        draft.signal(Signal.LINE_BACK)


def _order_configuration(draft: Draft) -> None:
    state = draft.state
    state.guard.ordered(state.setup.session)
    session = {k: v for k, v in state.setup.session.items() if k != "model"}
    draft.send(UpdateSession(session, state.next_id("evt")))


def configured(event: Configured, draft: Draft) -> None:
    """The provider tells its configuration: the answer to ours, or somebody else's doing."""
    state = draft.state
    if event.created:
        return  # what it was before we ordered ours
    if state.guard.foreign_configuration(event.session):
        _revert(draft)
        return
    if not state.announced:
        state.announced = True
        draft.tell(SessionStarted, voice=state.setup.voice, tools_count=state.setup.tools_count)
    if state.phase is Phase.INITIALIZING:
        draft.tell(ConnectionStatus, webrtc_state="connected", data_channel_state="open")
        draft.signal(Signal.CONFIGURED)


def _revert(draft: Draft) -> None:
    state = draft.state
    if state.responses.active:
        draft.send(CancelResponse(state.next_id("evt")), urgent=True)
    draft.tell(
        ErrorOccurred,
        code="forbidden",
        message="The session was changed by somebody else and set back.",
        recoverable=not state.guard.exhausted,
    )
    if state.guard.exhausted:
        end(draft, "error", Status.ERROR)
    else:
        _order_configuration(draft)


def reconfigure(event: Reconfigure, draft: Draft) -> None:
    draft.state.setup = draft.state.setup.merged(event.changes)
    if draft.state.line_up:
        _order_configuration(draft)
    draft.tell(SessionUpdated, changes=list(event.fields))
    draft.active()


def lost(event: LineLost, draft: Draft) -> None:
    """A clean close is a hang-up; anything else is tried again."""
    state = draft.state
    if not state.line_up:
        return
    state.line_up = False
    if event.hung_up:
        end(draft, "user_ended", Status.COMPLETED)
        return
    state.responses.line_lost()
    state.speech.sounding = None
    draft.signal(Signal.LINE_LOST)
    draft.tell(ConnectionStatus, webrtc_state="disconnected", data_channel_state="closed")
    draft.do(Attach(state.call_id or ""))


def attach_failed(event: AttachFailed, draft: Draft) -> None:
    """Five tries, three seconds apart, then the session is over."""
    state = draft.state
    state.attempts += 1
    if state.attempts < state.policy.attach_tries:
        draft.do(Attach(state.call_id or "", state.policy.attach_delay))
        return
    draft.tell(ConnectionStatus, webrtc_state="failed", data_channel_state="closed")
    draft.tell(
        ErrorOccurred,
        code="openai_error",
        message="The connection to the provider was lost and did not come back.",
        recoverable=False,
    )
    end(draft, "error", Status.ERROR)


def fault(event: Fault, draft: Draft) -> None:
    """An `error` of the provider's: often about a frame of ours, which we know by its id."""
    state = draft.state
    for item_id, command in list(state.unconfirmed.items()):
        if command.event_id == event.event_id:
            # Refused or there already (we sent it twice over a lost line): settled either way.
            del state.unconfirmed[item_id]
            state.responses.confirm(item_id)
            return
    active = event.code == ALREADY_ACTIVE
    if state.responses.refused(event.event_id, try_again=active) and active:
        return  # it waits its turn
    if event.code == "session_expired":
        timing.expire(draft, "cap")
        return
    draft.tell(
        ErrorOccurred,
        code=clean_line(event.code, 64),
        message=clean_line(event.message or event.code, 500),
        recoverable=True,
    )


def rate_limits(event: RateLimits, draft: Draft) -> None:
    for limit in event.limits:
        if limit.limit > 0 and limit.remaining < limit.limit * _RATE_WARNING:
            draft.tell(
                RateLimitWarning,
                limit_type=limit.name,
                current=limit.limit - limit.remaining,
                limit=limit.limit,
                reset_at=draft.now + timedelta(seconds=max(0.0, limit.reset_seconds)),
            )


def bad_frame(draft: Draft) -> None:
    draft.tell(
        ErrorOccurred,
        code="openai_error",
        message="The provider sent something that is not the Realtime protocol.",
        recoverable=True,
    )


def _keep_what_was_said(draft: Draft) -> None:
    saying.flush(draft)
    hearing.flush(draft)


def end(draft: Draft, reason: str, status: Status) -> None:
    """The one way out: keep what was said, hang up, tell, and close."""
    state = draft.state
    _keep_what_was_said(draft)
    draft.signal(Signal.ENDED)
    duration = max(0, (draft.now - state.started_at) // timedelta(milliseconds=1))
    draft.tell(SessionEnded, reason=reason, duration_ms=duration)
    draft.do(Close(status, reason))
    if state.call_id:
        draft.do(HangUp(state.call_id))
