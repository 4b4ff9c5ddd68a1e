"""Delegated work: begins it, keeps its record, tells of it, hands on answers.

    start ─► stored ─► carried out ─► progress, questions ─► stored, announced ─► told once

Stored before it is begun, and its end before anyone is told. How it is carried
through a crash is the carrier's matter, how it is done a backend's.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

from vivavoce.errors import (
    Conflict,
    InvalidArguments,
    NotFound,
    RateLimited,
    Unavailable,
    VivavoceError,
)
from vivavoce.logs import fields
from vivavoce.runtime.calls.approvals import Gatekeeper, check_role
from vivavoce.runtime.calls.outcomes import RunsTools, ToolRequest
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.calls.reading import facts_of, lesser_sessions
from vivavoce.runtime.journal.keeping import kept, there
from vivavoce.runtime.ports import Clock, Journal, Store, ToolContext
from vivavoce.runtime.tasks import records as write
from vivavoce.runtime.tasks.ports import AgentCard, Backends, Carrier, Done, GaveUp, Reaches, Work
from vivavoce.session.events import News, TaskFinished, TaskStarted
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.events import VoiceEvent, announce, to_log
from vivavoce.wire.records.talk import Announce, Change, Kind, Put, new_id
from vivavoce.wire.records.work import Question, Role, Task, TaskStatus, at_least

SAID = 6  # entries of the conversation that go along with the work
LOOKED_BACK = 200  # entries in which those are looked for
LISTED = 8


class Delegating:
    """Fills what `tools.tasks` asks for."""

    def __init__(
        self,
        tasks: Tasks,
        questions: Questions,
        store: Store,
        stop_calls: Callable[[str | None, str], int],
    ) -> None:
        self._tasks, self._questions, self._store = tasks, questions, store
        self._stop_calls = stop_calls

    async def delegate(self, context: ToolContext, instruction: str, agent: str) -> str:
        said = await self._said(context)
        task = await self._tasks.start(context, instruction, agent, said)
        return (
            f"Task started: {task.id} with agent '{task.agent}'. It goes on in the background; "
            "the result comes by itself. Tell the user in a few words that it is under way."
        )

    async def standing(self, context: ToolContext) -> str:
        found = await self._tasks.list(context.user_id, limit=LISTED)
        return "\n".join(map(write.standing, found)) or "There are no tasks."

    async def stop(self, context: ToolContext, task_id: str) -> str:
        if not task_id:
            stopped = self._stop_calls(context.session_id, context.call_id)
            if stopped:
                return "Stopped the tool that was running."
            running = await self._tasks.list(context.user_id, open_only=True, limit=1)
            if not running:
                return "Nothing is running."
            task_id = running[0].id
        task = await self._tasks.cancel(task_id, context.user_id, context.role)
        return f'Cancelled "{task.title}".' if task.status == "cancelled" else write.standing(task)

    async def answer(self, context: ToolContext, answer: str, task_id: str) -> str:
        waiting = self._questions.open_for(context.user_id)
        if task_id in waiting or (not task_id and waiting):
            self._questions.answer(
                task_id or waiting[0], context.user_id, answer, role=context.role
            )
            return "Passed on. The work goes on."
        there = self._questions.answer_elsewhere
        stranger = task_id and await self._store.task(task_id, user_id=context.user_id) is None
        if stranger and await there(task_id, context.user_id, answer, role=context.role):
            return "Passed on. The work goes on."
        task = await self._asking(context.user_id, task_id)
        await self._tasks.answer(task.id, context.user_id, answer, role=context.role)
        return f'Passed on to "{task.title}". The work goes on.'

    async def _asking(self, user_id: str, task_id: str) -> Task:
        """A small model may get the id wrong; where only one asks, that is the one."""
        if task_id:
            try:
                return await self._tasks.get(task_id, user_id)
            except NotFound:
                pass
        found = await self._tasks.list(user_id, open_only=True)
        asking = [task for task in found if task.question is not None]
        if not asking:
            raise Conflict("No task waits for an answer.")
        if len(asking) > 1:
            which = ", ".join(f'{task.id} ("{task.title}")' for task in asking)
            raise Conflict(f"Several tasks wait for an answer. Say which: {which}")
        return asking[0]

    async def _said(self, context: ToolContext) -> str:
        """What was said last, so that "it" means something to whoever does the work. Where words
        from outside were read, only what the user said: the voice's may be made of those."""
        if context.conversation_id is None:
            return ""
        whose = (context.conversation_id, context.user_id)
        read = (await facts_of(self._store, *whose, lambda name: None, context.role)).read
        lesser = await lesser_sessions(self._store, *whose, context.role)
        every, _ = await self._store.messages_before(
            context.conversation_id, user_id=context.user_id, limit=LOOKED_BACK, said_only=True
        )
        kinds = (Kind.USER,) if read else (Kind.USER, Kind.ASSISTANT)
        own = (entry for entry in every if entry.session_id not in lesser)
        spoken = [entry for entry in own if entry.kind in kinds and entry.text.strip()]
        return "\n".join(f"{entry.kind}: {entry.text[:300]}" for entry in spoken[-SAID:])


log = logging.getLogger(__name__)

MAX_OPEN = 8  # of one user at once
NOT_FOR_TASKS = frozenset({"task", "answer_task", "cancel_task", "list_tasks", "ask_user"})
"""Delegated work does not delegate, and asks through its own context."""
_CANCELLED = GaveUp("It was cancelled.")


class Tasks:
    """The tasks of this server; fills `Listener` for the carrier."""

    def __init__(
        self,
        *,
        store: Store,
        journal: Journal,
        clock: Clock,
        notifier: Reaches,
        carrier: Carrier,
        backends: Backends,
        executor: RunsTools,
        gate: Gatekeeper,
        default_agent: str,
        allowed: Callable[[Role], Collection[str] | None] = lambda role: None,
        check_agent: Callable[[AgentCard, Role], None] = lambda card, role: None,
    ) -> None:
        self._store, self._journal, self._clock, self._notifier = store, journal, clock, notifier
        self._carrier, self.backends = carrier, backends
        self._executor, self._gate = executor, gate
        self.default_agent, self._allowed = default_agent, allowed
        self._check_agent = check_agent
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """While the server is up."""
        async with self._carrier.running(self):
            yield

    async def take_over(self, tasks: Sequence[Task]) -> None:
        """What a crash interrupted goes on: here, whichever server it was that died."""
        for task in tasks:
            try:
                await self._carrier.resume(self._work(task))
            except VivavoceError:  # it stays open, and the server goes on all the same
                log.exception("A task cannot go on", extra=fields(task_id=task.id))

    # --- For the doors and the tools ----------------------------------------------------

    async def start(
        self, by: ToolContext, description: str, agent: str = "", context: str = ""
    ) -> Task:
        """`context` is what was said before. Raises `Forbidden` for an agent that is not for
        everybody."""
        agent = agent or self.default_agent
        found = self.backends.find(agent)
        if found is None or not found[1].available:
            known = [card.name for card in self.backends.cards() if card.available]
            why = f": {found[1].why_not}" if found else ""
            raise InvalidArguments(
                f"There is no agent '{clean_line(agent, 64)}'{why}. "
                f"There are: {', '.join(known) or 'none'}",
                tool="task",
            )
        self._check_agent(found[1], by.role)
        open_now = await self._store.tasks(user_id=by.user_id, open_only=True)
        if len(open_now) >= MAX_OPEN:
            raise RateLimited(f"{MAX_OPEN} tasks are under way already; wait for one to end")
        now = self._clock.now()
        task = Task(
            id=f"task_{new_id()}",
            user_id=by.user_id,
            description=clean_text(description, write.SUMMARY),
            title=write.title_of(description),
            agent=agent,
            backend=found[0].name,
            created_at=now,
            updated_at=now,
            conversation_id=by.conversation_id,
            session_id=by.session_id,
            call_id=by.call_id or None,
            role=by.role,
        )
        self._gate.begun(task.id)
        await self._put(task, write.begun(task))
        if task.session_id is not None:
            # Before it can end, or the session would wait for it for ever.
            await self._notifier.tell(TaskStarted(task.id), task)
        try:
            await self._carrier.start(self._work(task, context))
        except Exception:
            await self._ended_badly(task.id, GaveUp("It could not be begun."), cancelled=True)
            raise
        return task

    async def get(self, task_id: str, user_id: str) -> Task:
        task = await self._store.task(task_id, user_id=user_id)
        if task is None:
            raise NotFound(f"There is no task '{clean_line(task_id, 64)}'.")
        return task

    async def list(
        self, user_id: str, *, open_only: bool = False, limit: int = 50
    ) -> Sequence[Task]:
        return await self._store.tasks(user_id=user_id, open_only=open_only, limit=limit)

    async def cancel(self, task_id: str, user_id: str, role: Role = "operator") -> Task:
        """One that is over stays as it is. Raises `Forbidden` for a lesser role than its own."""
        task = await self.get(task_id, user_id)
        check_role(role, task.role)
        if not task.status.over:
            await self._carrier.cancel(task_id)
        return await self.get(task_id, user_id)

    async def kept(self, task_ids: Sequence[str]) -> Sequence[dict[str, Any]]:
        """How far they are, as it is written down."""
        return await self._carrier.kept(task_ids)

    async def forget(self, user_id: str, task_ids: Sequence[str]) -> None:
        """They are ended, and how far they were is kept nowhere. The records are the store's."""
        for task in await self._store.tasks(user_id=user_id, open_only=True):
            with suppress(Unavailable):  # nobody carries it out: it is only written down
                await self._carrier.cancel(task.id)
        await self._carrier.forget(task_ids)

    async def answer(
        self,
        task_id: str,
        user_id: str,
        words: str,
        *,
        question_id: str | None = None,
        role: Role = "operator",
    ) -> Task:
        """The user's words to what the task asks. Raises `Forbidden` for a lesser role than its
        own: what it hears, it does with its own rights."""
        async with self._lock(task_id):
            task = await self.get(task_id, user_id)
            check_role(role, task.role)
            if task.question is None or question_id not in (None, task.question.id):
                raise Conflict("The task does not ask that any more.")
            # The carrier first: should we die now, the question is still open, and an
            # answer that comes twice is one.
            await self._carrier.answer(task_id, task.question.id, clean_text(words, 2000))
            now = self._clock.now()
            task = replace(task, status=TaskStatus.RUNNING, question=None, updated_at=now)
            await self._journal.commit([Put(task)])
            return task

    async def told(self, key: str, user_id: str) -> None:
        """The user heard it; see `waiting_for` for the keys."""
        kind, _, task_id = key.partition(":")
        if kind != "task":
            return
        async with self._lock(task_id):
            task = await self._store.task(task_id, user_id=user_id)
            if task is not None and task.told_at is None:
                await self._journal.commit([Put(replace(task, told_at=self._clock.now()))])

    async def waiting_for(self, user_id: str, role: Role = "operator") -> Sequence[News]:
        """What the user has not heard yet, oldest first, for the next call; of questions those
        that somebody with this role may answer."""
        untold = await self._store.tasks(user_id=user_id, untold_only=True, limit=5)
        open_now = await self._store.tasks(user_id=user_id, open_only=True)
        asked = [task for task in open_now if task.question is not None]
        asking = [_question(task) for task in asked if at_least(role, task.role)]
        return [*(_ending(task) for task in reversed(untold)), *reversed(asking)]

    # --- Listener: what the carrier reports -----------------------------------------------

    async def progressed(
        self, task_id: str, message: str, percentage: int | None, phase: str | None
    ) -> None:
        async with self._open(task_id, on_its_way=True) as task:
            if task is not None:
                now = self._clock.now()
                changed = write.progressed(task, message, percentage, phase, now)
                await self._put(*changed, on_its_way=True)

    async def asked(
        self, task_id: str, question_id: str, question: str, choices: Sequence[str]
    ) -> None:
        async with self._open(task_id, on_its_way=True) as task:
            if task is None or (task.question is not None and task.question.id == question_id):
                return
            put = Question(
                id=question_id,
                text=clean_text(question, 500),
                choices=tuple(clean_line(choice, 100) for choice in choices[:20]),
                asked_at=self._clock.now(),
            )
            task = await self._put(*write.asked(task, put), on_its_way=True)
        await self._notifier.tell(_question(task), task, task.role)

    async def finished(self, task_id: str, done: Done) -> None:
        async with self._open(task_id) as task:
            if task is None:
                return
            task = await self._put(*write.finished(task, done, self._clock.now()))
        await self._notifier.tell(_ending(task), task)

    async def failed(self, task_id: str, fault: GaveUp) -> None:
        await self._ended_badly(task_id, fault, cancelled=False)

    async def cancelled(self, task_id: str) -> None:
        await self._ended_badly(task_id, _CANCELLED, cancelled=True)

    async def _ended_badly(self, task_id: str, fault: GaveUp, *, cancelled: bool) -> None:
        async with self._open(task_id) as task:
            if task is None:
                return
            now = self._clock.now()
            task, event = write.failed(task, fault, now, cancelled=cancelled)
            # Whoever cancelled it knows.
            task = await self._put(replace(task, told_at=now) if cancelled else task, event)
        ended = TaskFinished(task.id) if cancelled else _ending(task)
        await self._notifier.tell(ended, task)

    async def approve(
        self, task_id: str, tool: str, arguments: Mapping[str, Any], question: str
    ) -> bool:
        task = await self._read(task_id)
        if task is None or task.status.over:
            return False
        return await self._gate.permitted(tool, arguments, question, task)

    async def call(
        self, task_id: str, call_id: str, tool: str, arguments: Mapping[str, Any]
    ) -> str:
        task = await self._read(task_id)
        if task is None or tool in NOT_FOR_TASKS:
            raise NotFound(f"There is no tool '{clean_line(tool, 64)}' for this task.")
        outcome = await self._executor.run(
            ToolRequest(
                name=tool,
                arguments=arguments,
                call_id=call_id,
                user_id=task.user_id,
                session_id=task.session_id,
                conversation_id=None,  # what an agent does in between is not said in the call
                origin="task",
                task_id=task_id,
                role=task.role,
                allowed=self._allowed(task.role),
            )
        )
        return outcome.for_model

    # --- Inside -------------------------------------------------------------------------

    async def _read(self, task_id: str) -> Task | None:
        """For work on its way: what it meets is recorded, and it goes on from that. So it meets no
        store that is away for a while, it waits for it. Its end is told by the carrier, until it
        was taken."""
        look = partial(self._store.task, task_id, user_id=None)
        return await there(self._clock, look, task_id=task_id)

    async def _put(self, task: Task, event: VoiceEvent, *, on_its_way: bool = False) -> Task:
        place = await self._notifier.where(task)
        if place is None:
            told = announce(event, task)
        else:
            event = replace(event, session_id=place.session_id)
            of = {"user_id": task.user_id, "conversation_id": place.conversation_id}
            told = Announce(to_log(event, **of))
        changes: list[Change] = [Put(task), told]
        if on_its_way:
            await kept(self._journal, self._clock, changes, task_id=task.id)
        else:
            await self._journal.commit(changes)
        return task

    def _work(self, task: Task, context: str = "") -> Work:
        allowed = None if task.role == "operator" else self._allowed(task.role)
        return Work(
            task_id=task.id,
            user_id=task.user_id,
            description=task.description,
            agent=task.agent,
            context=clean_text(context, write.SUMMARY),
            tools=None if allowed is None else tuple(allowed),
        )

    def _lock(self, task_id: str) -> asyncio.Lock:
        return self._locks.setdefault(task_id, asyncio.Lock())

    @asynccontextmanager
    async def _open(self, task_id: str, *, on_its_way: bool = False) -> AsyncIterator[Task | None]:
        """The task, while it is not over: reports after the end change nothing."""
        async with self._lock(task_id):
            look = self._read(task_id) if on_its_way else self._store.task(task_id, user_id=None)
            task = await look
            if task is None:
                log.warning("A report of an unknown task", extra=fields(task_id=task_id))
            yield None if task is None or task.status.over else task


def _ending(task: Task) -> News:
    return News(f"task:{task.id}", write.ending_words(task), settles=task.id)


def _question(task: Task) -> News:
    assert task.question is not None
    return News(f"question:{task.question.id}", write.question_words(task))
