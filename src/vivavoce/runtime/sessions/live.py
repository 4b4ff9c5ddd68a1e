"""One live session: a task group, an inbox, and two loops.

The deciding loop takes events from the inbox, asks the machine, sends what is
urgent at once and hands the rest on. The doing loop commits what is durable,
then does what had to wait for it. So stopping speech never waits for the
store, and nothing is told or run before it is stored.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Protocol

from vivavoce.errors import Fenced, VivavoceError
from vivavoce.runtime.calls.outcomes import RunsTools, ToolOutcome, ToolRequest
from vivavoce.runtime.journal.keeping import kept
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.ports import Clock
from vivavoce.runtime.provider.openai import OpenAIProvider
from vivavoce.runtime.sessions.recording import Recorder
from vivavoce.runtime.sessions.records import SessionRecords
from vivavoce.runtime.sessions.sideband import Sidebands
from vivavoce.runtime.sessions.timers import Timers
from vivavoce.runtime.waiting import Flag, Inbox
from vivavoce.session import effects as fx
from vivavoce.session.events import (
    Beside,
    BudgetSpent,
    End,
    Flush,
    SessionEvent,
    TimerFired,
    ToolFinished,
    TypedText,
)
from vivavoce.session.machine import Machine
from vivavoce.session.policy import Setup
from vivavoce.session.state import Phase
from vivavoce.wire.events import TranscriptionCompleted, TranscriptionDelta, TurnTraced, VoiceEvent
from vivavoce.wire.records.talk import Change, Entry, Status
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Record

_UNSTORED = '{"success": false, "error": "The call could not be recorded.", "recoverable": true}'
_CANCELLED = (
    '{"success": false, "error": "The user stopped this before it was done.", '
    '"recoverable": true, "suggestion": "Say so in a word, and do not start it again"}'
)


class ToolRuns:
    """The tools that run for one session: each call once, each with its one output, also when the
    user says stop."""

    def __init__(self, live: LiveSession, executor: RunsTools) -> None:
        self._live, self._executor = live, executor
        self._calls: dict[str, asyncio.Task[None]] = {}
        self._stopped: set[str] = set()  # by the user, not by the end of the session

    def start(self, effect: fx.RunTool, group: asyncio.TaskGroup) -> None:
        group.create_task(self._run(effect), name=f"{self._live.id} {effect.name}")

    def stop(self, but: str = "") -> int:
        """End those that run; how many there were."""
        running = {call_id: task for call_id, task in self._calls.items() if call_id != but}
        for call_id, task in running.items():
            if call_id not in self._stopped:  # a second time would take its output away
                self._stopped.add(call_id)
                task.cancel()
        return len(running)

    def never_start(self, call_ids: Collection[str]) -> None:
        """Stopped before they began."""
        self._stopped.update(set(call_ids) - self._calls.keys())

    async def _run(self, effect: fx.RunTool) -> None:
        pictures: tuple[str, ...] = ()
        files: tuple[str, ...] = ()
        task = asyncio.current_task()
        assert task is not None
        if effect.call_id in self._stopped:  # before it began
            self._stopped.discard(effect.call_id)
            await self._live.post(ToolFinished(effect.call_id, _CANCELLED))
            return
        self._calls[effect.call_id] = task
        who = self._live.records.session
        request = ToolRequest(
            name=effect.name,
            arguments=effect.arguments,
            call_id=effect.call_id,
            user_id=who.user_id,
            session_id=who.id,
            conversation_id=who.conversation_id,
            ordinal=effect.ordinal,
            allowed=self._live.allowed_tools,
            role=who.role,
        )
        companion = self._live.companion
        try:
            if companion is not None:
                asked = await companion.asked(request)
                request = replace(asked, left_open=lambda: self._left_open(effect.call_id))
            outcome = await self._executor.run(request)
            if companion is not None:
                companion.answered(request, outcome)
            output, files = outcome.for_model, outcome.files_changed
            if self._live.provider.capabilities.pictures:
                pictures = tuple(f"data:{p.mime_type};base64,{p.data}" for p in outcome.pictures)
        except VivavoceError:
            log.exception("A call could not be recorded", extra={"session_id": who.id})
            output = _UNSTORED
        except asyncio.CancelledError:
            if effect.call_id not in self._stopped or task.uncancel():
                raise  # the session is over
            output = _CANCELLED
        finally:
            self._calls.pop(effect.call_id, None)
            self._stopped.discard(effect.call_id)
        await self._live.post(ToolFinished(effect.call_id, output, pictures, files))

    def _left_open(self, call_id: str) -> bool:
        """Is the session gone from here as after a crash, and nobody wanted this call to end?"""
        ended = self._live.records.session.end_reason
        return call_id not in self._stopped and ended in (None, ELSEWHERE)


log = logging.getLogger(__name__)

ELSEWHERE = "moved"
"""The end of a session whose client went on at another server."""
INBOX = 1024
OUTBOX = 1024  # effects

Traced = Callable[[TurnTraced], None]
"""Hears of every turn that is over."""
Noticed = Callable[[fx.Failed], None]
"""Hears of every fault that a session meets."""
_LEVELS = {"info": logging.INFO, "warning": logging.WARNING, "error": logging.ERROR}


class Answers(Protocol):
    """Where a session passes on what the user said about work beyond its own calls."""

    async def resolve(self, user_id: str, effect: fx.Resolve, role: Role) -> None: ...
    async def told(self, user_id: str, key: str) -> None: ...


class Companion(Protocol):
    """A client beside a written session: it reads the answers out, shows what happens, and has
    tools of its own. It is told at once, and makes nobody wait."""

    @property
    def away(self) -> bool:
        """Is it not there, and nothing of it on its way?"""
        ...

    def told(self, event: VoiceEvent) -> None: ...
    def speak(self, piece: fx.Speak) -> None: ...
    def confirm(self, wanted: fx.Confirm) -> None: ...
    async def asked(self, request: ToolRequest) -> ToolRequest:
        """With the tools that it has, where the call is for one of those."""
        ...

    def answered(self, request: ToolRequest, outcome: ToolOutcome) -> None: ...
    def over(self, live: LiveSession) -> None: ...


class Vitals(Record):
    """How a session is, for those who only look; the defaults are of one that is over."""

    state: str = str(Phase.TERMINATED)
    sideband_up: bool = False
    pending_tasks: int = 0
    context_tokens: int = 0
    tools: int = 0
    user_heard: float = 0.0
    """When the user last began to say something, or wrote it, as a timestamp; 0 is never."""


@dataclass(slots=True)
class Step:
    """What was decided and is to be done, in one commit: the durable part, then the rest in
    order; and who waits for it."""

    changes: list[Change] = field(default_factory=list)
    after: list[fx.Effect] = field(default_factory=list)
    taken: list[asyncio.Future[bool]] = field(default_factory=list)


@dataclass(slots=True)
class Posted:
    """An event on its way: about which call, and who waits for it to be durable."""

    event: SessionEvent
    call_id: str | None = None
    taken: asyncio.Future[bool] | None = None
    frame: bytes | None = None


def resolve(taken: asyncio.Future[bool] | None, *, value: bool) -> None:
    if taken is not None and not taken.done():
        taken.set_result(value)


def _only_news(effects: list[fx.Effect]) -> bool:
    """A piece of what is being said, and nothing to store: by far the most."""
    return len(effects) == 1 and isinstance(told := effects[0], fx.Tell) and not told.event.durable


def still_news(effects: list[fx.Effect]) -> list[fx.Effect]:
    """Without the deltas of what is complete by now: its whole text was just announced."""
    complete = {
        effect.event.item_id
        for effect in effects
        if isinstance(effect, fx.Tell) and isinstance(effect.event, TranscriptionCompleted)
    }
    if not complete:
        return effects
    return [
        effect
        for effect in effects
        if not (
            isinstance(effect, fx.Tell)
            and isinstance(effect.event, TranscriptionDelta)
            and effect.event.item_id in complete
        )
    ]


class LiveSession:
    """A voice session at work. `post` events to it; `run` until it is over."""

    def __init__(
        self,
        machine: Machine,
        records: SessionRecords,
        *,
        provider: OpenAIProvider,
        journal: Journal,
        executor: RunsTools,
        clock: Clock,
        traced: Traced | None = None,
        failed: Noticed | None = None,
        answers: Answers | None = None,
        companion: Companion | None = None,
        inbox: int = INBOX,
        recorder: Recorder | None = None,
    ) -> None:
        self.machine = machine
        self.records = records
        self._journal, self._clock, self._recorder = journal, clock, recorder
        self._traced, self._failed, self._answers_to = traced, failed, answers
        self.companion = companion
        self.tools = ToolRuns(self, executor)
        self._inbox = Inbox[Posted](inbox)
        self._outbox = Step()
        self._decided, self._room = Flag(), Flag()
        self._timers = Timers(clock, self._timer)
        self.sidebands = Sidebands(provider, clock, records.session.id, self.post)
        self._storing = Step()
        self._taking: asyncio.Future[bool] | None = None  # whose event is being decided
        self._answers: dict[asyncio.Future[bool], str] = {}  # who waits → what was typed
        self.left: Entry | None = None
        """What was written before it and has no answer; it may take it up."""
        self._task: asyncio.Task[None] | None = None
        self._over = Flag()
        self._letting_go = False
        """Its call goes on, and is somebody else's to look after."""

    @property
    def id(self) -> str:
        return self.records.session.id

    @property
    def provider(self) -> OpenAIProvider:
        """Who answers, or is asked first."""
        return self.sidebands.provider

    @property
    def phase(self) -> Phase:
        return self.machine.phase

    @property
    def setup(self) -> Setup:
        """The configuration in force."""
        return self.machine.state.setup

    @property
    def allowed_tools(self) -> Collection[str]:
        """What the model was offered, and nothing else."""
        return frozenset(str(tool["name"]) for tool in self.setup.session.get("tools") or ())

    @property
    def vitals(self) -> Vitals:
        state = self.machine.state
        return Vitals(
            state=str(state.phase),
            sideband_up=state.sideband.up,
            pending_tasks=len(state.work.open_calls) + len(state.work.tasks),
            context_tokens=state.clock.context_tokens,
            tools=len(self.setup.session.get("tools") or ()),
            user_heard=state.clock.user_heard.timestamp() if state.clock.user_heard else 0.0,
        )

    async def post(
        self, event: SessionEvent, call_id: str | None = None, frame: bytes | None = None
    ) -> None:
        """Waits while the inbox is full: a flood slows down whoever causes it.

        With `call_id` it is about that call, and of no interest once there is another.
        """
        if self._over.is_set():
            return
        await self._inbox.put(Posted(event, call_id, frame=frame))

    async def submit(self, event: SessionEvent) -> bool:
        """As `post`, and waits until what it did is stored; False if the session was over."""
        taken: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        if self._over.is_set():
            return False
        await self._inbox.put(Posted(event, taken=taken))
        if self._over.is_set():
            return False  # it ended while we waited to post
        return await taken

    async def ask(self, event: TypedText, *, wait: float) -> tuple[Entry, Entry | None] | None:
        """What was typed, once it is stored, and the reply to it if it comes in time; None if
        the session was over before, or fell over it: another one may answer."""
        answered: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._answers[answered] = event.item_id
        try:
            if not await self.submit(event):
                return None
            question = self.machine.state.talk.typed[event.item_id]
            if not question.over:
                with suppress(TimeoutError):
                    async with asyncio.timeout(max(0.0, wait)):
                        await answered
        finally:
            del self._answers[answered]
        # Is it over, and nobody wanted it to be?
        fell = self._over.is_set() and self.records.session.end_reason != "user_ended"
        if question.reply is None and not question.over and fell:
            return None
        done = question.over or answered.done()
        return question.message, question.reply if done else None

    @property
    def resting_since(self) -> datetime | None:
        """When the last was said in a written session that has answered everything; None if it
        has not, or is no written one."""
        state = self.machine.state
        under_way = (
            state.talk.responses.busy
            or state.talk.responses.wished
            or state.work.open_calls
            or state.talk.aloud.busy
            or self._answers
        )
        if self.records.session.voice or under_way or not self._inbox.empty():
            return None
        if not state.talk.typed or not all(question.over for question in state.talk.typed.values()):
            return None
        return state.clock.last_activity

    def cancel(self) -> None:
        """For one that does not end when asked."""
        if self._task is not None:
            self._task.cancel()

    async def over(self) -> None:
        """Until everything is stored and let go."""
        await self._over.wait()

    @property
    def pausing(self) -> bool:
        """Is nobody speaking, and nothing under way that would be lost in other hands?"""
        state = self.machine.state
        quiet = state.phase in (Phase.READY, Phase.WAITING_TASK)
        busy = state.work.open_calls or state.talk.responses.owing
        return quiet and not busy and self._inbox.empty() and not self._decided.is_set()

    async def let_go(self) -> None:
        """For another server: everything that came is decided and stored, then nothing more is
        done. The call stays up, and the session active."""
        if self._over.is_set():
            return
        self._letting_go = True
        await self.sidebands.close()
        await self._inbox.put(Posted(Flush()))  # behind all that came
        await self._over.wait()

    async def run(self) -> None:
        """The whole life. Whatever fails in here ends this session and no other."""
        self._task = asyncio.current_task()
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._decide(group), name=f"{self.id} decide")
                await self._do(group)
                raise _Finished  # cancels what still runs: tools, timers, the sideband
        except* _Finished:
            pass
        except* Fenced:
            # Another server has it by now. Nothing more is written, and its call is not ours.
            self._letting_go = True
            log.warning("A session is looked after elsewhere", extra={"session_id": self.id})
        except* Exception as faults:
            log.exception("A session failed", extra={"session_id": self.id}, exc_info=faults)
            await self._abandon()
        finally:
            try:
                await self.sidebands.close()
                if not self._letting_go:
                    for call_id in self.machine.state.calls:  # also when we were cancelled
                        await self.sidebands.hang_up(call_id)
            finally:
                self._over.set()
                self._let_go()
                if self.companion is not None:
                    self.companion.over(self)

    def _let_go(self) -> None:
        """Those who wait to post, or for what they posted: it is too late."""
        waiting = [self._taking, *self._storing.taken, *self._outbox.taken, *self._answers]
        while not self._inbox.empty():
            waiting.append(self._inbox.get_nowait().taken)
        for taken in waiting:
            resolve(taken, value=False)

    # --- Deciding ---------------------------------------------------------------------

    async def _decide(self, group: asyncio.TaskGroup) -> None:
        while self.machine.phase is not Phase.TERMINATED:
            await self._decide_on(await self._inbox.get(), group)
            if self._letting_go and self._inbox.empty():
                self._outbox.after.append(_LET_GO)
                self._decided.set()
                return

    async def _decide_on(self, posted: Posted, group: asyncio.TaskGroup) -> None:
        state, event = self.machine.state, posted.event
        if posted.call_id not in (None, state.sideband.call_id):
            if posted.call_id not in state.calls:
                return
            event = Beside(event)
        now, after = self._clock.now(), list[fx.Effect]()
        self._taking = posted.taken
        effects = self._received(event, now, posted.frame)
        if len(effects) > 1 or not (effects and isinstance(effects[0], fx.Tell)):
            effects = self._priced(effects, now)
        for effect in effects:
            match effect:
                case fx.Tell():  # by far the most
                    after.append(effect)
                case fx.Send(urgent=True):
                    await self.sidebands.send(effect.command, state.sideband.call_id or "")
                case fx.HangUp() if self.machine.phase is Phase.TERMINATED:
                    # The end does not wait for the store either: nobody listens any more.
                    await self.sidebands.hang_up(effect.call_id)
                case fx.CancelCalls():
                    self.tools.stop()  # the user said stop: nothing to wait for
                    self.tools.never_start(effect.call_ids)
                case fx.Adopt():
                    # Stored with what was decided: after a crash we look for this one.
                    provider = self.sidebands.of(effect.call_id)
                    self.records.called(effect.call_id, effect.since, effect.seeded, provider)
                    after.append(effect)
                case fx.StartTimer():
                    self._timers.start(effect.name, effect.seconds, group)
                case fx.StopTimer():
                    self._timers.stop(effect.name)
                case _:
                    after.append(effect)
        if after or posted.taken:
            step = self._outbox
            if not _only_news(after):
                step.changes += self.records.write(after, now, self.machine.state)
            step.after += after
            if posted.taken:
                step.taken.append(posted.taken)
            self._decided.set()
            while len(self._outbox.after) >= OUTBOX:
                self._room.clear()
                await self._room.wait()
        self._taking = None

    def _priced(self, effects: list[fx.Effect], now: datetime) -> list[fx.Effect]:
        """With what their price makes the machine do."""
        used = [effect for effect in effects if isinstance(effect, fx.Account)]
        if used and self.records.account(used):
            return [*effects, *self._received(BudgetSpent(), now)]
        return effects

    def _received(
        self, event: SessionEvent, now: datetime, frame: bytes | None = None
    ) -> list[fx.Effect]:
        """Everything that the machine is told goes through here, and into the recording."""
        effects = self.machine.receive(event, now)
        if self._recorder is not None:
            self._recorder.add(now, event, effects, frame)
        return effects

    async def _timer(self, name: str) -> None:
        await self.post(TimerFired(name))

    # --- Doing ------------------------------------------------------------------------

    async def _do(self, group: asyncio.TaskGroup) -> None:
        """Until the session is closed. What was decided meanwhile shares the next commit."""
        over = False
        while not over:
            await self._decided.wait()
            self._storing, self._outbox = self._outbox, Step()
            self._decided.clear()
            self._room.set()
            over = await self._do_step(group)

    async def _do_step(self, group: asyncio.TaskGroup) -> bool:
        """Store, tell, then the rest; True once the session is closed."""
        step = self._storing
        # What an answer cost and how it came about is told to nobody: it may be stored afterwards,
        # and what the model wants next does not wait for that.
        first = self.records.urgent or bool(step.taken)
        step.changes[:0] = self.records.take()
        if self._recorder is not None:
            over = self.machine.phase is Phase.TERMINATED or _LET_GO in step.after
            now, beside = self._clock.now(), bool(step.changes)
            step.changes += self._recorder.take(now, beside=beside, over=over)
        if first:
            await self._store(step.changes)
            for taken in step.taken:
                resolve(taken, value=True)
        for effect in still_news(step.after):
            if isinstance(effect, fx.Tell):
                self._tell(effect.event)
            else:
                await self._perform(effect, group)
        if not first:
            await self._store(step.changes)
        return any(isinstance(effect, fx.Close) or effect is _LET_GO for effect in step.after)

    async def _store(self, changes: Sequence[Change]) -> None:
        if changes:
            # A store that is away for a while holds the session up, and loses it nothing.
            await kept(self._journal, self._clock, changes, session_id=self.id)
        self._storing = Step()

    def _tell(self, event: VoiceEvent) -> None:
        """What is durable was told with its commit."""
        if self.companion is not None:
            self.companion.told(event)
        if not event.durable:
            who = self.records.session
            self._journal.publish_ephemeral(
                event, user_id=who.user_id, conversation_id=who.conversation_id
            )
        elif self._traced is not None and isinstance(event, TurnTraced):
            self._traced(event)

    def _note(self, fault: fx.Failed) -> None:
        told = {"session_id": self.id, "code": fault.code, "recovery": str(fault.recovery)}
        log.log(_LEVELS[fault.level], "A session met a fault", extra=told)
        if self._failed is not None:
            self._failed(fault)

    async def _perform(self, effect: fx.Effect, group: asyncio.TaskGroup) -> None:
        match effect:
            case fx.Send():
                await self.sidebands.send(effect.command, effect.call_id)
            case fx.Failed():
                self._note(effect)
            case fx.RunTool() if not self._letting_go:  # else whoever has it next is asked again
                self.tools.start(effect, group)
            case fx.Answered():
                for answered, item_id in self._answers.items():
                    if item_id == effect.item_id:
                        resolve(answered, value=True)
            case fx.Speak() if self.companion is not None:
                self.companion.speak(effect)
            case fx.Confirm() if self.companion is not None:
                self.companion.confirm(effect)
            case fx.Resolve() if self._answers_to is not None:
                session = self.records.session
                role = session.role
                await self._answers_to.resolve(session.user_id, effect, role)
            case fx.Told() if self._answers_to is not None:
                await self._answers_to.told(self.records.session.user_id, effect.key)
            case fx.Attach():
                await self.sidebands.attach(effect, group)
            case fx.Adopt():
                await self.sidebands.adopt(effect.call_id)
            case fx.HangUp() if (
                not self._letting_go
            ):  # the old call; the new one does not wait for it
                group.create_task(self.sidebands.hang_up(effect.call_id), name=f"{self.id} hang up")
            case _:
                pass  # durable: the commit was all

    async def _abandon(self) -> None:
        """After a fault of our own: the user must not sit in a call that nobody hears, and
        what was not stored yet is stored with the end, or at least the end is."""
        unwritten = [*self._storing.changes, *self._outbox.changes]
        ending: list[Change] = []
        try:
            for call_id in self.machine.state.calls:
                await self.sidebands.hang_up(call_id)
            effects = self._received(End("error", Status.ERROR), self._clock.now())
            told = self.records.write(effects, self._clock.now(), self.machine.state)
            ending = [*self.records.take(), *told]
            if self._recorder is not None:
                ending += self._recorder.take(self._clock.now(), beside=True, over=True)
            await self._journal.commit([*unwritten, *ending])
        except Exception:  # the boundary of this session: others must not suffer for it
            log.exception("A session could not be ended well", extra={"session_id": self.id})
            with suppress(Exception):
                await self._journal.commit(ending)


_LET_GO = fx.CancelCalls(())
"""Behind all that is to be stored: the end of the doing, and no end of the session."""


class _Finished(Exception):
    """Ends the task group of a session that is over."""
