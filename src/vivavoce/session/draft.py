"""The draft of what one event makes a session do: the effects, in the making.

Every handler has one; what several of them do in the same way is here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from vivavoce.session import turns
from vivavoce.session.effects import Effect, Record, Send, StartTimer, Tell
from vivavoce.session.state import Phase, Signal, State
from vivavoce.wire.clean import clean_text
from vivavoce.wire.events import (
    ConnectionStatus,
    ErrorOccurred,
    SessionStatus,
    TurnTraced,
    VoiceEvent,
)
from vivavoce.wire.realtime.client import (
    CancelResponse,
    ClientEvent,
    CreateItem,
    DeleteItem,
    ListItems,
    UpdateSession,
)
from vivavoce.wire.records.talk import Entry, Kind, Modality, Status, entry_id

IDLE = "idle"
"""The key of the question whether anybody is there."""


class GivingUp(NamedTuple):
    """A provider that does not carry the session any further: by which fault, what is done if
    nobody takes over, and whether the user is `owed` an answer."""

    code: str
    otherwise: Callable[[], None]
    owed: bool = False


class Draft:
    """The effects of one event, in the making."""

    def __init__(self, state: State, now: datetime) -> None:
        self.state = state
        self.now = now
        self.effects: list[Effect] = []
        self.ending: tuple[str, Status] | None = None
        self.failing: GivingUp | None = None

    @property
    def now_ms(self) -> float:
        return self.now.timestamp() * 1000

    def do(self, effect: Effect) -> None:
        self.effects.append(effect)

    def tell(self, event: type[VoiceEvent], **fields: Any) -> None:
        self.do(
            Tell(event(session_id=self.state.identity.session_id, timestamp=self.now, **fields))
        )

    def send(self, command: ClientEvent | ListItems, *, urgent: bool = False) -> None:
        """Nothing is sent while the sideband is down: what matters is sent again when it is up."""
        if self.state.sideband.up:
            self.do(Send(command, urgent=urgent))

    def send_to(self, command: ClientEvent, call_id: str) -> None:
        """To the call beside, which is up."""
        self.do(Send(command, call_id=call_id))

    def order(self) -> None:
        """Send the configuration as we want it. The model is chosen with the call, not here."""
        state = self.state
        event_id = state.next_id()
        state.sideband.guard.orders.append((event_id, state.setup.session))
        session = {k: v for k, v in state.setup.session.items() if k != "model"}
        self.send(UpdateSession(session, event_id))

    @property
    def owed(self) -> bool:
        """Would the user be left without an answer, if it ended now?"""
        talk = self.state.talk
        typed = any(not one.over for one in talk.typed.values())
        sounding = talk.speech.sounding is not None or bool(talk.speech.unsettled())
        return talk.responses.busy or sounding or typed

    def add_item(self, item: Mapping[str, Any], *, previous: str | None = None) -> None:
        """Put an item of ours into the conversation, and go on until it is there: at its end, or
        behind another."""
        command = CreateItem(item, self.state.next_id(), previous)
        self.state.talk.held.joined(item)
        sideband = self.state.sideband
        sideband.unconfirmed[command.item_id] = command
        sideband.guard.ours.add(command.item_id)
        self.send(command)

    def delete_item(self, item_id: str) -> None:
        """Take an item out, and go on until it is gone."""
        command = DeleteItem(item_id, self.state.next_id())
        self.state.sideband.leaving[item_id] = command
        self.state.talk.held.left(item_id)
        self.send(command)

    def record(
        self,
        kind: Kind,
        item_id: str,
        text: str,
        *,
        ordinal: float,
        modality: Modality = "voice",
        backfill: bool = False,
        **data: Any,
    ) -> str:
        """Store what was said; the same item is the same entry, however often it comes."""
        who = self.state.identity
        key = entry_id(who.session_id, item_id)
        self.do(
            Record(
                Entry(
                    id=key,
                    conversation_id=who.conversation_id,
                    user_id=who.user_id,
                    session_id=who.session_id,
                    kind=kind,
                    text=clean_text(text),
                    created_at=self.now,
                    ordinal=ordinal,
                    modality=modality,
                    data={"item_id": item_id, "source": "sideband", **data},
                ),
                backfill=backfill,
            )
        )
        return key

    def signal(self, *signals: Signal) -> None:
        """Move on, as the table says, and tell those who watch where that led."""
        state = self.state
        before = state.phase
        for signal in signals:
            state.phase = state.advance(state.phase, signal)
        if state.phase is not before:
            self.tell(
                SessionStatus,
                state=str(state.phase),
                voice_session_active=state.phase is not Phase.TERMINATED and state.sideband.up,
                amplifier_connected=state.setup.tools_count > 0,
                pending_tasks=len(state.work.open_calls) + len(state.work.tasks),
                session_age_ms=state.clock.age_ms(self.now),
                estimated_tokens=state.clock.context_tokens,
            )

    def connection(self, webrtc: str, channel: str, reason: str | None = None) -> None:
        """How the client is connected, told when that changes."""
        sideband, known = self.state.sideband, (webrtc, channel, reason)
        if sideband.told != known:
            sideband.told = known
            self.tell(
                ConnectionStatus, webrtc_state=webrtc, data_channel_state=channel, reason=reason
            )

    def there(self) -> None:
        """Sound went through: so the client is connected, where the provider does not tell."""
        if self.state.sideband.peer is None:
            self.connection("connected", "open")

    def active(self) -> None:
        """Somebody is there: the idle clock begins anew."""
        self.state.clock.last_activity = self.now
        self.state.clock.warned = False
        self.state.talk.responses.unsay(IDLE)

    def spoke(self) -> None:
        """So did the assistant, unless all it did was to ask whether anybody is there."""
        if not self.state.asking_who_is_there:
            self.active()

    def complain(self, code: str, message: str, *, recoverable: bool = True) -> None:
        self.tell(ErrorOccurred, code=code, message=message, recoverable=recoverable)

    def reject(self, message: str) -> bool:
        """Somebody else did something to our call: stop what it caused, and say so. False where
        that does not stop, and the session is over."""
        guard = self.state.sideband.guard
        if self.state.talk.responses.active:
            self.send(CancelResponse(self.state.next_id()), urgent=True)
        self.complain("forbidden", message, recoverable=not guard.exhausted)
        if guard.exhausted:
            self.end("error", Status.ERROR)
        return not guard.exhausted

    def end(self, reason: str, status: Status) -> None:
        """The session is over, once this event has been dealt with."""
        self.ending = (reason, status)

    def give_up(self, code: str, otherwise: Callable[[], None], *, owed: bool = False) -> None:
        """This provider does not carry the session any further: another one takes over, once this
        event has been dealt with; `otherwise` is for the case that there is none."""
        self.failing = GivingUp(code, otherwise, owed)

    def trace(self) -> None:
        """Tell the turns that are over, and when to look at the others."""
        told = self.state.talk.turns
        if not told.open:
            return
        over, due = told.take(self.now)
        for turn in over:
            self.tell(TurnTraced, **turn.report())
        if due is not None and due != told.wake:
            told.wake = due
            self.do(StartTimer(turns.TIMER, max(0.02, (due - self.now).total_seconds())))

    def cut_turns(self) -> None:
        """The sideband is lost or the call ends: every turn is told as far as it came."""
        self.state.talk.turns.cut_all(self.now)
        self.trace()
