"""The turn machine: facts in, orders out, no I/O.

The table is the law of who has the floor: a phase and a signal that are not
in it leave the phase as it is. `docs/engine.md` draws the diagram from it.
"""

from __future__ import annotations

from collections.abc import Callable

from vivavoce.engine.ports import Position
from vivavoce.engine.turn import answering, facts, listening, playback, requests, taking
from vivavoce.engine.turn.configuration import Configuration, response_settings
from vivavoce.engine.turn.orders import Order, Send
from vivavoce.engine.turn.state import Draft, Phase, Policy, Signal, State
from vivavoce.wire.realtime import server
from vivavoce.wire.realtime.refusal import Refused

P, S = Phase, Signal

TABLE: dict[Phase, dict[Signal, Phase]] = {
    P.QUIET: {S.SPEECH_STARTED: P.HEARING, S.ANSWER_BEGUN: P.ANSWERING},
    P.HEARING: {S.SPEECH_STOPPED: P.QUIET, S.ANSWER_BEGUN: P.OVERLAP},
    P.ANSWERING: {S.SPEECH_STARTED: P.OVERLAP, S.ANSWER_OVER: P.QUIET},
    P.OVERLAP: {S.SPEECH_STOPPED: P.ANSWERING, S.ANSWER_OVER: P.HEARING},
}


def advance(phase: Phase, signal: Signal) -> Phase:
    return TABLE[phase].get(signal, phase)


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    moves = [
        f"    {phase.value} --> {target.value}: {signal.value}"
        for phase, row in TABLE.items()
        for signal, target in row.items()
    ]
    return "\n".join(["stateDiagram-v2", "    [*] --> quiet", *moves])


class Machine:
    """One Realtime session. `receive` is all that changes it."""

    def __init__(
        self, policy: Policy, configuration: Configuration, new_id: Callable[[str], str]
    ) -> None:
        self.state = State(policy, configuration, new_id)

    @property
    def phase(self) -> Phase:
        return self.state.phase

    def greeting(self) -> server.Frame:
        """`session.created`, for whoever opened the session."""
        return server.frame("session.created", session=self.state.shown_session())

    def receive(
        self, fact: facts.Fact, now: float, position: Position | None = None
    ) -> list[Order]:
        """`position`: what the listener has been sent, where we pace the sound ourselves."""
        draft = Draft(self.state, now, advance, position)
        if isinstance(fact, facts.Request):
            try:
                requests.handle(fact, draft)
            except Refused as fault:
                # Handlers refuse before they change anything; the session lives on.
                draft.orders.clear()
                draft.order(Send(server.error(fault, fact.event.event_id), fact.sender))
        else:
            self._route(fact, draft)
        _settle(draft)
        return draft.orders

    def _route(self, fact: facts.Fact, draft: Draft) -> None:
        match fact:
            # The user
            case facts.SpeechSuspected():
                listening.suspected(draft)
            case facts.SpeechDismissed():
                listening.dismissed(draft)
            case facts.SpeechStarted():
                listening.started(fact, draft)
            case facts.SpeechPaused():
                listening.paused(fact, draft)
            case facts.SpeechResumed():
                listening.resumed(draft)
            case facts.SpeechStopped():
                listening.stopped(fact, draft)
            case facts.HeardSoFar():
                listening.so_far(fact, draft)
            case facts.HeardAll() | facts.HearingFailed():
                listening.heard_all(fact, draft)
            # The assistant
            case facts.Thought() | facts.Spoken() | facts.AllSpoken() | facts.AnswerFailed():
                taking.arrived(fact, draft)
            case facts.Playing():
                answering.playing(fact, draft)
            case facts.Played():
                answering.played(fact.response_id, draft)
            case facts.PeerJoined():
                playback.joined(draft)
            case facts.PeerLost():
                playback.lost(fact.silent, draft)
            case facts.CallOver():
                playback.over(draft)
            # Time
            case facts.TimerFired():
                listening.timer(fact, draft)
            case _:
                raise AssertionError("requests are handled before, and there are no others")


def _settle(draft: Draft) -> None:
    """After every fact: a turn that waited gets its answer; then the floor is free."""
    state = draft.state
    if state.turn_waits and state.active is None and state.speech is None:
        answering.begin(response_settings(state.configuration, None), draft)
    before = state.phase
    draft.signal(Signal.ANSWER_BEGUN if state.answering else Signal.ANSWER_OVER)
    if state.phase is not before and not state.answering:
        listening.await_user(draft)
