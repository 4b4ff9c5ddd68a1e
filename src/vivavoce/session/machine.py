"""The session machine: events in, effects out, no I/O.

The table is the law: a phase and a signal that are not in it leave the phase
as it is. "Idle" of seed 001 is READY. Interrupted while speaking goes to
LISTENING; only a lost sideband goes to RECONNECTING. `docs/architecture.md` draws
the diagram from this table.
"""

from __future__ import annotations

from datetime import datetime

from vivavoce.session import (
    aloud,
    calling,
    faults,
    hearing,
    moving,
    news,
    saying,
    sideband,
    timing,
    trimming,
)
from vivavoce.session import events as own
from vivavoce.session.draft import Draft
from vivavoce.session.effects import Effect
from vivavoce.session.policy import Identity, Policy, Setup
from vivavoce.session.state import Clock, Phase, Signal, State
from vivavoce.wire.realtime import facts as rt
from vivavoce.wire.records.talk import Kind

P, S = Phase, Signal

# From every phase of a live call.
_ALWAYS = {
    S.CALL_PLACED: P.INITIALIZING,
    S.SIDEBAND_LOST: P.RECONNECTING,
    S.CLIENT_LOST: P.RECONNECTING,
    S.ENDED: P.TERMINATED,
}
# Where the user or the model may begin something.
_OPEN = {
    S.SPEECH_STARTED: P.LISTENING,
    S.RESPONDING: P.PROCESSING,
    S.SOUND_STARTED: P.SPEAKING,
    S.TOOL_CALLED: P.EXECUTING_TOOL,
}
# Where everything that was begun may come to its end.
_SETTLING = {
    S.SETTLED: P.READY,
    S.CALLS_OPEN: P.EXECUTING_TOOL,
    S.TASKS_OPEN: P.WAITING_TASK,
}

TABLE: dict[Phase, dict[Signal, Phase]] = {
    P.DISCONNECTED: {S.CALL_PLACED: P.INITIALIZING, S.ENDED: P.TERMINATED},
    P.INITIALIZING: {S.CONFIGURED: P.READY, S.SPEECH_STARTED: P.LISTENING, **_ALWAYS},
    P.READY: {**_OPEN, **_SETTLING, **_ALWAYS},
    P.LISTENING: {S.SPEECH_STOPPED: P.PROCESSING, S.RESPONDING: P.PROCESSING, **_ALWAYS},
    P.PROCESSING: {**_OPEN, **_SETTLING, **_ALWAYS},
    P.SPEAKING: {S.SPEECH_STARTED: P.LISTENING, **_SETTLING, **_ALWAYS},
    P.EXECUTING_TOOL: {**_OPEN, **_SETTLING, **_ALWAYS},
    P.WAITING_TASK: {**_OPEN, **_SETTLING, **_ALWAYS},
    P.RECONNECTING: {
        S.SIDEBAND_BACK: P.READY,
        S.CALL_PLACED: P.INITIALIZING,
        S.ENDED: P.TERMINATED,
    },
    P.TERMINATED: {},
}


def advance(phase: Phase, signal: Signal) -> Phase:
    return TABLE[phase].get(signal, phase)


def diagram() -> str:
    """The table as a Mermaid state diagram."""
    lines = ["stateDiagram-v2", "    [*] --> disconnected"]
    for phase, moves in TABLE.items():
        by_target: dict[Phase, list[str]] = {}
        for signal, target in moves.items():
            if target is not phase:
                by_target.setdefault(target, []).append(signal.value)
        lines += [
            f"    {phase.value} --> {target.value}: {' / '.join(names)}"
            for target, names in by_target.items()
        ]
    return "\n".join([*lines, "    terminated --> [*]"])


class Machine:
    """One voice session. `receive` is all there is."""

    def __init__(
        self, identity: Identity, policy: Policy, setup: Setup, *, started_at: datetime
    ) -> None:
        self.state = State(identity, policy, setup, advance, Clock(started_at))

    @property
    def phase(self) -> Phase:
        return self.state.phase

    def receive(self, event: own.SessionEvent, now: datetime) -> list[Effect]:
        """What to do about it. After the end, nothing."""
        if self.state.phase is Phase.TERMINATED:
            return []
        draft = Draft(self.state, now)
        self._route(event, draft)
        if (failing := draft.failing) is not None and not moving.failed(failing, draft):
            failing.otherwise()
        if draft.ending is not None:
            sideband.end(draft, *draft.ending)
        news.put_again(draft)
        if self.state.policy.aloud:
            aloud.settle(draft)
        calling.settle(draft)
        hearing.settle_typed(draft)
        news.pause(draft)
        trimming.make_room(draft)
        if self.state.move is not None:
            moving.note(draft)
            moving.consider(draft)
        draft.trace()
        return draft.effects

    def _route(self, event: own.SessionEvent, draft: Draft) -> None:
        match event:
            # The most frequent first: cases are tried one after the other
            case rt.AssistantDelta():
                saying.delta(event, draft)
            case rt.AudioReceived():
                saying.audio(event, draft)
            case rt.UserTranscriptDelta():
                hearing.delta(event, draft)
            case own.Created():
                timing.created(draft)
            # The sideband
            case own.CallPlaced():
                if not moving.placed(event, draft):
                    sideband.call_placed(event, draft)
                    moving.arrived(event, draft)
            case own.CallSurvived():
                sideband.call_survived(event, draft)
            case own.SidebandUp():
                sideband.up(draft)
            case own.SidebandLost():
                if not moving.saves(draft):
                    sideband.lost(event, draft)
            case own.AttachFailed():
                sideband.attach_failed(draft)
            case rt.Configured():
                sideband.configured(event, draft)
                moving.configured(event, draft)
            case own.Reconfigure():
                sideband.reconfigure(event, draft)
            case own.Inform():
                sideband.inform(event, draft)
            case rt.Fault():
                sideband.fault(event, draft)
            case rt.Peer():
                sideband.peer(event, draft)
            case rt.RateLimits():
                sideband.rate_limits(event, draft)
            case own.BadFrame():
                words = "The provider sent something that is not the Realtime protocol."
                faults.met("not_the_protocol", words, draft, shown="openai_error")
            case own.Flush():
                saying.keep(draft)
            case own.End():
                sideband.end(draft, event.reason, event.status)
            # Another call or provider
            case own.Beside():
                moving.heard(event.event, draft)
            case own.MoveWanted():
                moving.wanted(event, draft)
            case own.MoveFailed():
                moving.refused(event.provider, draft)
            # The user
            case rt.UserSpeechStarted():
                hearing.speech_started(event, draft)
            case rt.UserSpeechStopped():
                hearing.speech_stopped(event, draft)
            case rt.InputCommitted():
                hearing.committed(event, draft)
            case rt.ItemAdded():
                hearing.item_added(event, draft)
            case rt.Listed():
                hearing.listed(event, draft)
            case rt.ItemRetrieved():
                hearing.retrieved(event, draft)
            case rt.UserTranscript():
                hearing.transcript(event, draft)
                moving.user_said(event.transcript, draft)
            case rt.UserTranscriptFailed():
                hearing.transcript_failed(event, draft)
            case own.TypedText():
                hearing.typed(event, draft)
                moving.user_said(event.text, draft)
            case own.Spoken():
                aloud.spoken(event, draft)
            case own.Overheard(over=True):
                aloud.fell_silent(draft)
            case own.Overheard():
                aloud.overheard(event, draft)
            case own.Interrupted():
                aloud.interrupted(event, draft)
            case own.Shown() if event.entry.kind is Kind.USER:
                hearing.shown(event, draft)
            # The assistant
            case own.Shown():
                saying.shown(event, draft)
            case rt.ResponseCreated():
                saying.response_created(event, draft)
                moving.answering(draft)
            case rt.OutputItemAdded():
                saying.output_item(event, draft)
            case rt.AssistantTranscript():
                saying.transcript(event, draft)
            case rt.PlaybackStarted():
                saying.playback_started(event, draft)
            case rt.PlaybackStopped():
                saying.playback_stopped(event, draft)
            case rt.Heard():
                saying.heard(event, draft)
            case rt.ItemTruncated():
                saying.truncated(event, draft)
            case rt.ResponseDone():
                saying.response_done(event, draft)
            # Work and time
            case rt.CallRequested():
                calling.requested(event, draft)
            case own.ToolFinished():
                calling.finished(event, draft)
            case own.TaskStarted():
                draft.state.work.tasks.add(event.task_id)
            case own.TaskFinished():
                draft.state.work.over(event.task_id)
            case own.News():
                news.arrived(event, draft)
            case own.NewsOver():
                news.over(event, draft)
            case own.Update():
                news.updated(event, draft)
            case own.ApprovalAsked():
                news.approval_asked(event, draft)
            case own.ApprovalSettled():
                news.approval_settled(event, draft)
            case own.TimerFired():
                if not moving.fired(event, draft):
                    timing.fired(event, draft)
            case own.BudgetSpent():
                timing.budget_spent(draft)
            case rt.ItemDeleted():
                hearing.deleted(event, draft)
            case rt.Unhandled():
                pass
