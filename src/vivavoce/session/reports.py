"""What the provider reports besides the conversation: faults, limits, nonsense."""

from __future__ import annotations

from datetime import timedelta

from vivavoce.session import configuring, news, timing
from vivavoce.session.state import Draft
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import ErrorOccurred, RateLimitWarning
from vivavoce.wire.realtime.facts import Fault, RateLimits

ALREADY_ACTIVE = "conversation_already_has_active_response"
_RATE_WARNING = 0.1  # of the limit is left
IF_UNANSWERED = (
    "You were away for a moment. If the user's last message has no answer yet, answer it now. "
    "If you have answered it, do not repeat that: say in a few words that you are here."
)


def fault(event: Fault, draft: Draft) -> None:
    """An `error` of the provider's: often about a frame of ours, which we know by its id."""
    state = draft.state
    if _about_an_item(event.event_id, draft):
        return
    active = event.code == ALREADY_ACTIVE
    if state.responses.refused(event.event_id, try_again=active) and active:
        return  # it waits its turn
    if active and state.responses.mistaken(event.event_id):
        news.another_began(state.responses.active or "", draft)
        return
    if state.guard.refused(event.event_id):
        configuring.refused(draft)
    if event.code == "session_expired":
        timing.expire(draft, "cap")
        return
    draft.tell(
        ErrorOccurred,
        code=clean_line(event.code, 64),
        message=clean_line(event.message or event.code, 500),
        recoverable=True,
    )


def _about_an_item(event_id: str | None, draft: Draft) -> bool:
    state = draft.state
    if event_id in state.sought:
        # It was deleted meanwhile: nothing to make up for.
        state.followers.pop(state.sought.pop(event_id), None)
        return True
    for item_id, command in list(state.unconfirmed.items()):
        if command.event_id == event_id:
            # Refused or there already (we sent it twice over a lost line): settled either way.
            del state.unconfirmed[item_id]
            if item_id in state.unsure and command.item["type"] == "message":
                # Typed before the restart; whether it was answered only the model knows.
                state.responses.wish(instructions=IF_UNANSWERED)
            state.unsure.discard(item_id)
            state.responses.confirm(item_id)
            return True
    return False


def rate_limits(event: RateLimits, draft: Draft) -> None:
    for limit in event.limits:
        if limit.limit > 0 and limit.remaining < limit.limit * _RATE_WARNING:
            draft.tell(
                RateLimitWarning,
                limit_type=limit.name,
                current=limit.limit - limit.remaining,
                limit=limit.limit,
                reset_at=draft.now + timedelta(seconds=limit.reset_seconds),
            )


def bad_frame(draft: Draft) -> None:
    draft.tell(
        ErrorOccurred,
        code="openai_error",
        message="The provider sent something that is not the Realtime protocol.",
        recoverable=True,
    )
