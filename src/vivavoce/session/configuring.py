"""The configuration of the call: ours, and nobody else's."""

from __future__ import annotations

from vivavoce.session import line
from vivavoce.session.events import Reconfigure
from vivavoce.session.policy import Setup
from vivavoce.session.state import Draft, Phase, Signal
from vivavoce.wire.events import ConnectionStatus, ErrorOccurred, SessionStarted, SessionUpdated
from vivavoce.wire.realtime.commands import CancelResponse, UpdateSession
from vivavoce.wire.realtime.facts import Configured
from vivavoce.wire.records.talk import Status


def order(draft: Draft) -> None:
    """Send the configuration as we want it. The model is chosen with the call, not here."""
    state = draft.state
    event_id = state.next_id("evt")
    state.guard.ordered(event_id, state.setup.session)
    session = {k: v for k, v in state.setup.session.items() if k != "model"}
    draft.send(UpdateSession(session, event_id))


def configured(event: Configured, draft: Draft) -> None:
    """The provider tells its configuration: the answer to ours, or somebody else's doing."""
    state = draft.state
    if event.created:
        return  # what it was before we ordered ours
    if state.guard.foreign_configuration(event.session):
        _revert(draft)
        return
    if state.guard.accepted is not None:
        state.confirmed = Setup(session=state.guard.accepted)
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
        line.end(draft, "error", Status.ERROR)
    else:
        order(draft)


def reconfigure(event: Reconfigure, draft: Draft) -> None:
    draft.state.setup = draft.state.setup.merged(event.changes)
    if draft.state.line_up:
        order(draft)
    draft.tell(SessionUpdated, changes=list(event.fields))
    draft.active()


def refused(draft: Draft) -> None:
    """The provider did not take it: go back to what it did take, or every later order
    would carry the same flaw."""
    if draft.state.confirmed is not None:
        draft.state.setup = draft.state.confirmed
