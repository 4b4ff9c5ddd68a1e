"""The line to the provider: calls, the sideband that comes and goes, and the end."""

from __future__ import annotations

from datetime import timedelta

from vivavoce.session import calling, configuring, hearing, news, saying, timing, tracing
from vivavoce.session.effects import Attach, Close, HangUp
from vivavoce.session.events import CallPlaced, CallSurvived, LineLost, ToolFinished
from vivavoce.session.state import Draft, Phase, Signal
from vivavoce.wire.events import ConnectionStatus, ContextUpdated, ErrorOccurred, SessionEnded
from vivavoce.wire.realtime.commands import message_item, output_item
from vivavoce.wire.records.talk import Status

INTERRUPTED_OUTPUT = (
    '{"success": false, "error": "The server restarted while this ran; its outcome is not known.", '
    '"recoverable": true, "suggestion": "Ask before trying again"}'
)


def call_placed(event: CallPlaced, draft: Draft) -> None:
    """A first call, or another one in its place after the browser lost the old."""
    flush(draft)
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
    """We restarted, the call may not have noticed. It knows everything but what we were
    about to tell it."""
    flush(draft)
    state = draft.state
    state.new_call(event.call_id)
    state.fresh_call, state.announced, state.survived = False, True, True
    for item_id, ordinal in event.known_items:
        state.order.recall(item_id, ordinal)
        state.guard.expect(item_id)
    state.ran |= {*event.known_calls, *event.orphans}
    for item_id in event.seeded:
        state.guard.expect(item_id)
    for call_id in event.known_calls:
        state.guard.expect(state.item_id(f"output:{call_id}"))
        state.guard.expect(state.item_id(f"task:{call_id}"))
    state.open_calls = set(event.orphans)
    for call_id in event.orphans:
        # Never run again: nobody knows how far it got.
        calling.finished(ToolFinished(call_id, INTERRUPTED_OUTPUT), draft)
    for call_id, output in event.outcomes:
        # Stored, and perhaps never sent. Under the same id a second one is refused.
        item_id = state.item_id(f"output:{call_id}")
        state.unsure.add(item_id)
        draft.add_item(output_item(item_id, call_id, output))
    for item_id, words in event.typed:  # just so
        state.unsure.add(item_id)
        draft.add_item(message_item(item_id, "user", words))
    timing.start(draft, event.age)
    draft.signal(Signal.CALL_PLACED)
    draft.signal(Signal.LINE_LOST)
    draft.do(Attach(event.call_id))


def up(draft: Draft) -> None:
    """Attached. A fresh call is told everything; a line that is back, what it may have missed."""
    state = draft.state
    state.line_up, state.up_since = True, draft.now
    state.guard.forget_orders()
    configuring.order(draft)
    waiting = tuple(state.unconfirmed.values())
    if state.fresh_call:
        for item in state.history:
            draft.add_item(item)
    for command in waiting:  # news of today comes after the history
        draft.send(command)
    if state.fresh_call:
        state.fresh_call = False
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


def lost(event: LineLost, draft: Draft) -> None:
    """A clean close is a hang-up; anything else is tried again: at once if the line had
    held, else like any other try, so that one that only flickers comes to an end too."""
    state = draft.state
    if not state.line_up:
        return
    state.line_up = False
    if event.hung_up:
        end(draft, "user_ended", Status.COMPLETED)
        return
    state.responses.line_lost()
    news.line_lost(draft)
    # Not asked again: an answer that is too large for the line would take it down each time.
    state.sought, state.followers = {}, {}
    state.speech.sounding = None
    tracing.close(draft)
    if state.policy.one_line:
        end(draft, "error", Status.ERROR)
        return
    draft.signal(Signal.LINE_LOST)
    draft.tell(ConnectionStatus, webrtc_state="disconnected", data_channel_state="closed")
    held = (draft.now - (state.up_since or draft.now)).total_seconds()
    if held >= state.policy.attach_delay:
        state.attempts = 0
        draft.do(Attach(state.call_id or ""))
    else:
        attach_failed(draft)


def attach_failed(draft: Draft) -> None:
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


def flush(draft: Draft) -> None:
    """The end of a call: what is being said is kept, as far as it got, for good."""
    saying.flush(draft)
    hearing.flush(draft)
    tracing.close(draft)


def end(draft: Draft, reason: str, status: Status) -> None:
    """The one way out: keep what was said, hang up, tell, and close."""
    state = draft.state
    flush(draft)
    draft.signal(Signal.ENDED)
    duration = max(0, (draft.now - state.started_at) // timedelta(milliseconds=1))
    draft.tell(SessionEnded, reason=reason, duration_ms=duration)
    draft.do(Close(status, reason))
    if state.call_id:
        draft.do(HangUp(state.call_id))
