"""The server's side of a talk with the Flux agent, without a server.

All of it is the product: its intent service over a store in memory, its built-in orchestrator, its
checks, and what a session tells a brain (the agent's words, who the user is, what they have, with
the hints of the tools). Only the clock stands still, on a Monday morning. What came of the talk is
read from what is stored, not from what was called.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from zoneinfo import ZoneInfo

from bench.intents.dialogues import GOAL, MOVE, TASK, Open
from vivavoce.app.agent import open_agent
from vivavoce.brain.dialogue.state import World as Led
from vivavoce.brain.dialogue.state import world as led
from vivavoce.brain.dialogue.wording import unsupported
from vivavoce.errors import VivavoceError
from vivavoce.intents.orchestrator.builtin import BuiltInOrchestrator
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.intents.service import IntentService, intent_tools
from vivavoce.language.en.telling import in_words
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.calls.outcomes import answered, failed
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.people.profile import user_context
from vivavoce.runtime.people.things import task as told_task
from vivavoce.runtime.ports import Capabilities, ToolContext
from vivavoce.runtime.sessions.profile import Defaults, Profile
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.tools.registry import Registry
from vivavoce.wire.brain import Tool
from vivavoce.wire.records.plans import (
    Goal,
    GoalStatus,
    Intent,
    IntentStatus,
    Person,
    Todo,
)
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    Put,
    PutConversation,
    PutEntry,
    entry_id,
)

ZONE = "Europe/London"
NOW = datetime(2026, 3, 2, 9, 15, tzinfo=UTC)  # a Monday
_MINUTE = timedelta(minutes=1)
_USER, _PLACE = "ada", entry_id("bench", "talk")
_DONE = ("accepted", "pending", "retracted")


@cache
def _flux() -> AgentSource[IntentRegistry]:
    return open_agent("flux")


def registry() -> IntentRegistry:
    return _flux().intents


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that is another way now than before the talk: its words, and what they mean."""

    name: str
    arguments: dict[str, str | None]


@dataclass
class World:
    """One talk: what was said, what is there, what came of it."""

    store: MemoryStore
    clock: ManualClock
    registry: Registry
    instructions: str
    tools: tuple[Tool, ...]
    zone: str
    before: dict[str, Todo]
    standing: list[Deed] = field(default_factory=list)
    """What is stored now and was not before the talk."""
    calls: int = 0
    """Calls that changed something."""
    looked: int = 0
    """Calls that told something."""
    refused: list[str] = field(default_factory=list)
    lies: list[str] = field(default_factory=list)
    """Said of deeds where nothing was done."""
    invented: int = 0
    missing: int = 0
    """Submissions that went through without something required: none, or the checks are broken."""
    _ids: int = 0
    _went: int = 0
    """Calls of this turn that went through, those that only tell among them."""

    async def hear(self, text: str) -> None:
        self._went = 0
        await self._entry(Kind.USER, text)

    async def say(self, text: str) -> None:
        await self._entry(Kind.ASSISTANT, text)
        if not self._went and unsupported(text, (), self._led):
            self.lies.append(text)
        self.standing = await self._stored()

    @property
    def _led(self) -> Led:
        return led(self.tools, self.clock.now())

    async def _entry(self, kind: Kind, text: str) -> None:
        await self.clock.advance(1.0)
        now = self.clock.now()
        self._ids += 1
        entry = Entry(
            id=entry_id(_PLACE, f"said {self._ids}"),
            conversation_id=_PLACE,
            user_id=_USER,
            kind=kind,
            text=text,
            created_at=now,
            ordinal=now.timestamp() * 1000,
        )
        await self.store.commit([PutEntry(entry)])

    async def call(self, name: str, arguments: str) -> str:
        """The result, as the model is told it."""
        await self.clock.advance(0.5)
        self._ids += 1
        context = ToolContext(
            user_id=_USER,
            session_id="vs_bench",
            conversation_id=_PLACE,
            call_id=f"call {self._ids}",
            origin="model",
        )
        try:
            given = self.registry.check(name, json.loads(arguments))
            await self._known(given)
            told = await self.registry.run(name, given, context)
        except (VivavoceError, ValueError) as fault:
            self.refused.append(f"{name} {arguments}: {fault}")
            return failed(fault).for_model if isinstance(fault, VivavoceError) else str(fault)
        done = answered(told, 0).for_model
        result = json.loads(done)
        self._went += 1
        self.looked += result.get("status") == "told"
        self.calls += result.get("status") in _DONE and not result.get("already")
        return done

    async def _known(self, given: dict[str, object]) -> None:
        todos = await self.store.todos(user_id=_USER, limit=200)
        there = {*self.before, *(one.id for one in todos)}
        there |= {one.id for one in await self.store.goals(user_id=_USER, limit=200)}
        for key in ("task_id", "thing_id", "goal_id", "relative_to"):
            value = given.get(key)
            ids = value if isinstance(value, list) else [value] if value else []
            self.invented += sum(one not in there for one in ids)

    # --- What came of it ----------------------------------------------------------------

    async def _stored(self) -> list[Deed]:
        made = await self.store.intents(user_id=_USER, conversation_id=_PLACE, limit=200)
        intents = {one.id: one for one in made}
        found: list[Deed] = []
        for todo in await self.store.todos(user_id=_USER, limit=200):
            if todo.id not in self.before and todo.status.open:
                found.append(self._new(todo, intents.get(todo.intent_id or "")))
            elif todo.id in self.before:
                found += self._changed(self.before[todo.id], todo)
        for goal in await self.store.goals(user_id=_USER, limit=200):
            if goal.status is GoalStatus.ACTIVE:
                found.append(self._goal(goal, intents.get(goal.intent_id or "")))
        held = [one for one in made if one.status is IntentStatus.ACCEPTED]
        self.missing = sum(
            bool(definition.missing(one.payload))
            for one in held
            if (definition := registry().get(one.name)) is not None
        )
        return found

    def _new(self, todo: Todo, intent: Intent | None) -> Deed:
        given = intent.payload if intent is not None else {}
        rule = [given.get("recurrence_rule"), todo.recurrence_rule and self._when(todo)]
        return Deed(
            TASK,
            {
                "title": todo.title,
                "trigger_type": todo.trigger_type,
                "scheduled_at": _joined(todo.scheduled_words, self._when(todo)),
                "due": self._due(todo.scheduled_at),
                "recurrence_rule": _joined(*rule, todo.recurrence_words, todo.recurrence_rule),
                "location_trigger": todo.location_trigger,
            },
        )

    def _changed(self, before: Todo, now: Todo) -> list[Deed]:
        if not now.status.open:
            return [Deed(f"now {now.status}", {"task_id": now.id})]
        if now.title != before.title:
            return [Deed("renamed", {"task_id": now.id, "title": now.title})]
        if now.scheduled_at == before.scheduled_at:
            return []
        words = _joined(now.scheduled_words, self._when(now))
        due = self._due(now.scheduled_at)
        return [Deed(MOVE, {"task_id": now.id, "preferred_new_time": words, "due": due})]

    def _goal(self, goal: Goal, intent: Intent | None) -> Deed:
        by = goal.target_at and in_words(self._here(goal.target_at), now=self._now, clock=False)
        words = _joined(goal.timeline, by)
        return Deed(GOAL, {"goal_statement": goal.statement, "timeline": words})

    @property
    def _now(self) -> datetime:
        return self._here(self.clock.now())

    def _here(self, at: datetime) -> datetime:
        return at.astimezone(ZoneInfo(self.zone))

    def _when(self, todo: Todo) -> str:
        return told_task(todo, self.clock.now(), self.zone).when

    def _due(self, at: datetime | None) -> str | None:
        """ "+1 Tue 3 Mar 17:00, in 1905 min"."""
        if at is None:
            return None
        local = self._here(at)
        days, left = (local.date() - self._now.date()).days, at - self.clock.now()
        return f"{days:+} {local:%a} {local.day} {local:%b %H:%M}, in {left / _MINUTE:.0f} min"


def _joined(*words: object) -> str:
    return "; ".join(dict.fromkeys(str(one) for one in words if one))


@asynccontextmanager
async def opened(
    tasks: Sequence[Open], now: datetime = NOW, zone: str = ZONE
) -> AsyncIterator[World]:
    store, clock = MemoryStore(), ManualClock(now, auto=True)
    await store.open()
    try:
        before = {one.id: _todo(one, now, zone) for one in tasks}
        person = Person(id=_USER, created_at=now, updated_at=now, name="Ada", time_zone=zone)
        place = Conversation(id=_PLACE, user_id=_USER, created_at=now, updated_at=now)
        await store.commit([Put(person), PutConversation(place), *map(Put, before.values())])

        async def zone_of(user_id: str) -> str:
            return zone

        service = IntentService(
            registry,
            store,
            Journal(store, clock),
            clock,
            BuiltInOrchestrator(store),
            zone_of,
            reminds=True,
        )
        known = Registry()
        for tool in intent_tools(service, registry().tools()):
            known.register(*tool)
        capabilities = Capabilities(context_tokens=8_192, session_seconds=0.0, voices=())
        profile = Profile(_flux().current, Defaults(time_zone=zone), capabilities, known)
        user = await user_context(store, _USER, now=now, time_zone=zone)
        given = profile.tools(known.definitions(profile.tool_names()), user)
        yield World(
            store=store,
            clock=clock,
            registry=known,
            instructions=profile.words(now, user=user),
            tools=tuple(Tool(t["name"], t["description"], t["parameters"]) for t in given),
            zone=zone,
            before=before,
        )
    finally:
        await store.close()


def _todo(one: Open, now: datetime, zone: str) -> Todo:
    """Of today."""
    midnight = now.astimezone(ZoneInfo(zone)).replace(hour=0, minute=0, second=0, microsecond=0)
    read = datetime.strptime(f"{one.at} +0000", "%I:%M %p %z")
    due = midnight.replace(hour=read.hour, minute=read.minute).astimezone(UTC)
    made = now - timedelta(days=1)
    return Todo(
        id=one.id,
        user_id=_USER,
        title=one.title,
        trigger_type="time",
        scheduled_at=due,
        scheduled_words=f"at {one.at}",
        time_zone=zone,
        created_at=made,
        updated_at=made,
    )
