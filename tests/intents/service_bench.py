"""An intent service over the store's fake, with a conversation to talk in."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from functools import cache
from pathlib import Path
from typing import Any

import httpx2

from tests.contract.conftest import FullStore
from tests.intents.backend import UserBackend
from vivavoce.errors import VivavoceError
from vivavoce.intents.delivery.http import HttpSender
from vivavoce.intents.delivery.outbox import Outbox
from vivavoce.intents.delivery.outside import Addresses, Outside
from vivavoce.intents.orchestrator.builtin import BuiltInOrchestrator
from vivavoce.intents.ports import Accepted, Orchestrator
from vivavoce.intents.registry.intents import IntentRegistry, load_intents
from vivavoce.intents.service import IntentService
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.ports import ToolContext
from vivavoce.testing import ManualClock, MemoryStore
from vivavoce.wire.records.plans import Goal, GoalStatus, Intent, Submission, Todo, TodoStatus
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Kind,
    Origin,
    Put,
    PutConversation,
    PutEntry,
    entry_id,
)

FLUX = Path(__file__).resolve().parents[2] / "agents" / "flux"
USER = "ann"
PLACE = entry_id("test", "conversation")
SECRET = "whsec_c2VjcmV0LW9mLXRoZS10ZXN0cw=="


@dataclass
class Recorder:
    """An orchestrator inside that makes goals and tasks, and fails when told to."""

    fault: Exception | None = None
    calls: list[tuple[str, Submission]] = field(default_factory=list)

    async def submit(self, submission: Submission) -> Accepted:
        self._note("submit", submission)
        made = entry_id(submission.intent_id, "made")
        about: dict[str, Any] = {
            "id": made,
            "user_id": submission.user_id,
            "created_at": submission.now,
            "updated_at": submission.now,
            "conversation_id": submission.conversation_id,
            "intent_id": submission.intent_id,
        }
        if submission.route == "GOAL":
            goal = Goal(statement=submission.payload["goal_statement"], **about)
            return Accepted(goal_id=made, changes=(Put(goal),), previous={"made": True})
        todo = Todo(
            title=submission.payload["title"],
            trigger_type="time",
            scheduled_words=submission.payload.get("scheduled_at"),
            **about,
        )
        return Accepted(task_id=made, changes=(Put(todo),), told={"when": "then"})

    async def amend(self, intent: Intent, submission: Submission) -> Accepted:
        submitted = await self.submit(submission)
        self.calls[-1] = ("amend", submission)
        return submitted

    async def retract(self, intent: Intent, submission: Submission) -> Accepted:
        made = await self.submit(replace_payload(submission, intent))
        self.calls[-1] = ("retract", submission)
        change = made.changes[0]
        if isinstance(change, Put) and isinstance(change.record, Goal):
            gone = Goal(**_fields(change.record) | {"status": GoalStatus.RETRACTED})
            return Accepted(goal_id=gone.id, changes=(Put(gone),))
        assert isinstance(change, Put)
        assert isinstance(change.record, Todo)
        done = Todo(**_fields(change.record) | {"status": TodoStatus.RETRACTED})
        return Accepted(task_id=done.id, changes=(Put(done),))

    def _note(self, action: str, submission: Submission) -> None:
        self.calls.append((action, submission))
        if self.fault is not None:
            raise self.fault


def replace_payload(submission: Submission, intent: Intent) -> Submission:
    return Submission(**_fields(submission) | {"payload": intent.payload})


def _fields(value: Any) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.__dataclass_fields__}


@cache
def flux() -> IntentRegistry:
    """Read once: it is the longest part of a test."""
    return load_intents(FLUX)


class Bench:
    """`say` and `answer` add to the conversation; `submit` is what the model calls."""

    def __init__(
        self,
        store: FullStore,
        clock: ManualClock,
        url: str | None = None,
        inside: Orchestrator | None = None,
        *,
        reminds: bool = False,
    ) -> None:
        self.store, self.clock = store, clock
        self.journal = Journal(store, clock)
        self.orchestrator = Recorder()
        sender = HttpSender(clock, secret=SECRET, seconds=1.0, open_client=_plain_client)
        registry = flux()
        addresses = Addresses(lambda: "flux", lambda: registry, url, everything=url is not None)
        self.outbox = Outbox(
            store, self.journal, clock, sender, addresses.url_of, chance=lambda: 1.0
        )
        outside = Outside(self.outbox, store, self.journal, clock, addresses)
        self.service = IntentService(
            lambda: registry,
            store,
            self.journal,
            clock,
            inside or self.orchestrator,
            _zone,
            outside=outside,
            reminds=reminds,
        )
        self._said = 0

    async def say(self, text: str, kind: Kind = Kind.USER) -> str:
        await self.clock.advance(1.0)
        self._said += 1
        now = self.clock.now()
        entry = Entry(
            id=entry_id(PLACE, f"{kind}:{self._said}:{now.isoformat()}"),
            conversation_id=PLACE,
            user_id=USER,
            kind=kind,
            text=text,
            created_at=now,
            ordinal=now.timestamp() * 1000,
        )
        await self.store.commit([PutEntry(entry)])
        return entry.id

    async def answer(self, text: str) -> str:
        return await self.say(text, Kind.ASSISTANT)

    def context(self, call_id: str, origin: Origin = "model", place: str = PLACE) -> ToolContext:
        return ToolContext(
            user_id=USER, session_id="vs_1", conversation_id=place, call_id=call_id, origin=origin
        )

    async def submit(self, call_id: str, name: str, /, **arguments: Any) -> dict[str, Any]:
        await self.clock.advance(0.5)
        told = await self.service.submit(name, arguments, self.context(call_id))
        return _read(told)

    async def goal(self, call_id: str, /, **arguments: Any) -> dict[str, Any]:
        return await self.submit(call_id, "submit_goal_intent", **arguments)

    async def task(self, call_id: str, /, **arguments: Any) -> dict[str, Any]:
        arguments = {"trigger_type": "time"} | arguments
        return await self.submit(call_id, "submit_new_task_intent", **arguments)

    async def amend(self, call_id: str = "a1", /, **arguments: Any) -> dict[str, Any]:
        await self.clock.advance(0.5)
        return _read(await self.service.amend(arguments, self.context(call_id)))

    async def retract(self, call_id: str = "r1", /, **arguments: Any) -> dict[str, Any]:
        await self.clock.advance(0.5)
        return _read(await self.service.retract(arguments, self.context(call_id)))

    async def intents(self) -> list[Intent]:
        """Oldest first."""
        return (await self.store.intents(user_id=USER, conversation_id=PLACE))[::-1]

    async def told(self) -> list[tuple[str, Mapping[str, Any]]]:
        """What was announced."""
        found = await self.store.events(after=0, limit=1000)
        return [(event.type, json.loads(event.data)) for event in found]

    async def place(self) -> Conversation:
        found = await self.store.conversation(PLACE, user_id=USER)
        assert found is not None
        return found


def _plain_client() -> httpx2.AsyncClient:
    """Without certificates, which take a while to read."""
    return httpx2.AsyncClient(follow_redirects=False, verify=False)


def _read(told: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told)
    return found


async def _zone(user_id: str) -> str:
    return "Europe/Berlin"


async def fault_of(call: Any) -> VivavoceError:
    try:
        answer = await call
    except VivavoceError as fault:
        return fault
    raise AssertionError(f"it was not refused: {answer}")


@asynccontextmanager
async def bench(
    backend: UserBackend | None = None,
    store: FullStore | None = None,
    *,
    later: float = 0.0,
    fresh: bool = False,
    built_in: bool = False,
    reminds: bool = False,
) -> AsyncIterator[Bench]:
    """With a `store` of before: the same house after a restart. `built_in`: with the orchestrator
    that makes goals and tasks, not the recorder."""
    clock = ManualClock()
    if later:
        await clock.advance(later)
    fresh = fresh or store is None
    store = store or MemoryStore()
    await store.open()
    inside = BuiltInOrchestrator(store) if built_in else None
    made = Bench(
        store, clock, backend.url if backend is not None else None, inside, reminds=reminds
    )
    if fresh:
        now = clock.now() - timedelta(minutes=1)
        place = Conversation(id=PLACE, user_id=USER, created_at=now, updated_at=now)
        await store.commit([PutConversation(place)])
    try:
        yield made
    finally:
        await made.outbox._sender.close()
