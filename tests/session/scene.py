"""A session machine on a bench: send events, look at what it wants done."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

from vivavoce.session.effects import Effect, Record, Send, Tell
from vivavoce.session.events import CallPlaced, SessionEvent, SidebandUp
from vivavoce.session.machine import Machine
from vivavoce.session.policy import Identity, Policy, Setup
from vivavoce.wire.events import VoiceEvent
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import Entry

START = datetime(2026, 1, 31, 14, 30, 22, tzinfo=UTC)
WHO = Identity(session_id="vs_20260131_143022_a3f2", conversation_id="c1", user_id="ada")
SESSION: dict[str, Any] = {
    "instructions": "Be brief.",
    "tools": [{"type": "function", "name": "current_time", "description": "", "parameters": {}}],
    "audio": {
        "input": {"turn_detection": {"type": "server_vad", "create_response": True}},
        "output": {"voice": "marin"},
    },
}
E = TypeVar("E", bound=VoiceEvent)
F = TypeVar("F")


class Scene:
    """Collects every effect; the clock moves by `wait`."""

    def __init__(self, policy: Policy | None = None, session: dict[str, Any] | None = None) -> None:
        setup = Setup(session=session or SESSION)
        self.machine = Machine(WHO, policy or Policy(), setup, started_at=START)
        self.now = START
        self.effects: list[Effect] = []

    def wait(self, seconds: float) -> Scene:
        self.now += timedelta(seconds=seconds)
        return self

    def send(self, *events: SessionEvent) -> list[Effect]:
        """The effects of these events; all are kept in `effects` too."""
        out: list[Effect] = []
        for event in events:
            out += self.machine.receive(event, self.now)
        self.effects += out
        return out

    def connect(self) -> Scene:
        self.send(CallPlaced("rtc_1"), SidebandUp(), rt.Configured(False, SESSION))
        return self

    @property
    def phase(self) -> str:
        return str(self.machine.phase)

    def entries(self) -> dict[str, Entry]:
        """What the store would hold: the last version of each entry."""
        return {e.entry.id: e.entry for e in self.effects if isinstance(e, Record)}

    def transcript(self) -> list[tuple[str, str]]:
        ordered = sorted(self.entries().values(), key=lambda e: e.ordinal)
        return [(str(e.kind), e.text) for e in ordered]


def told(effects: Iterable[Effect], kind: type[E]) -> list[E]:
    return [e.event for e in effects if isinstance(e, Tell) and isinstance(e.event, kind)]


def sent(effects: Iterable[Effect], kind: type[F]) -> list[F]:
    return [e.command for e in effects if isinstance(e, Send) and isinstance(e.command, kind)]


def message(item_id: str, role: str = "assistant", text: str = "", **more: Any) -> rt.Item:
    return rt.Item(item_id, "message", role=role, text=text, **more)


def user_turn(item_id: str, previous: str | None = None) -> list[rt.ProviderEvent]:
    return [
        rt.UserSpeechStarted(item_id, 100),
        rt.UserSpeechStopped(item_id, 1600),
        rt.InputCommitted(item_id, previous),
        rt.ItemAdded(message(item_id, "user", audio=True), previous),
    ]


def answer(response: str, item_id: str, text: str, previous: str) -> list[rt.ProviderEvent]:
    """A whole spoken answer, as WebRTC reports it; playback is left to the test."""
    return [
        rt.ResponseCreated(response),
        rt.OutputItemAdded(response, message(item_id)),
        rt.ItemAdded(message(item_id), previous),
        rt.AssistantDelta(response, item_id, text),
        rt.PlaybackStarted(response),
        rt.AssistantTranscript(response, item_id, text),
        rt.ResponseDone(response, items=(message(item_id, text=text),)),
    ]


def call(call_id: str = "call_1", response: str = "r1") -> rt.CallRequested:
    return rt.CallRequested(response, f"f_{call_id}", call_id, "current_time", "{}")
