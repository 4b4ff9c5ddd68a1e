"""What the agent submits, put together: its intents, the service, who acts on them, the outbox.

As `tools.py` is for the tools, this is for the intents.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime
from importlib.util import find_spec
from typing import Any

from vivavoce.app.agent import filled
from vivavoce.app.begin import Begin, at_once
from vivavoce.app.settings import Settings, plain
from vivavoce.errors import Unavailable
from vivavoce.intents.delivery.http import BackendContext, HttpSender
from vivavoce.intents.delivery.outbox import Outbox
from vivavoce.intents.delivery.outside import Addresses, Outside, due
from vivavoce.intents.orchestrator.builtin import BuiltInOrchestrator
from vivavoce.intents.ports import IntentStore, Journal
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.intents.service import IntentService, intent_tools
from vivavoce.language.en.understanding import understand
from vivavoce.runtime.agents.source import AgentSource
from vivavoce.runtime.agents.work import Backend
from vivavoce.runtime.people.due import next_due, zone_or
from vivavoce.runtime.people.elsewhere import Elsewhere, told
from vivavoce.runtime.ports import Clock, ToolContext
from vivavoce.tools.registry import Registry
from vivavoce.wire.records.plans import Delivery, Reminder, Todo
from vivavoce.wire.records.talk import utc_now

log = logging.getLogger(__name__)


class AgentIntents:
    """The intents of one server. Without any it has no tools and nothing to do."""

    def __init__(
        self,
        settings: Settings,
        source: AgentSource[IntentRegistry],
        tools: Registry,
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        told_with: Callable[[str, str], Mapping[str, Any] | None] | None = None,
    ) -> None:
        """`told_with`: what the client told of its user with a session."""
        self._clock, self._told_with = clock, told_with
        self._settings, self._source, self._tools, self._store = settings, source, tools, store
        self._named = source.current.backend
        _need_packages(source.intents, remote=self._named is not None)
        self._backend = _filled(self._named)
        self._patience = self._backend.timeout_seconds if self._backend is not None else 10.0
        self.addresses = addresses = Addresses(
            lambda: source.current.name,
            lambda: source.intents,
            self._backend.url if self._backend is not None else None,
            everything=self._named is not None,
        )
        self.outbox = Outbox(
            store, journal, clock, self._sender(clock), addresses.url_of, patience=self._patience
        )
        self.service = IntentService(
            lambda: source.intents,
            store,
            journal,
            clock,
            BuiltInOrchestrator(store),
            self._time_zone_of,
            outside=Outside(self.outbox, store, journal, clock, addresses),
            elsewhere=self if self._named is not None else None,
            reminds=True,  # `Reminders` runs wherever a server does
        )
        self.context = self._context(clock)
        self._offered: tuple[str, ...] = ()
        self.refresh()
        source.listen(self.refresh)

    def refresh(self) -> None:
        """The tools of the intents as they are in the folder now. Calls under way go on."""
        for name in self._offered:
            self._tools.remove(name)
        made = intent_tools(self.service, self._source.intents.tools(), patience=self._patience)
        for tool in made:
            self._tools.register(*tool)
        self._offered = tuple(definition.name for definition, *_ in made)
        self.outbox.wake()

    async def of(self, context: ToolContext) -> Elsewhere | None:
        """The things of a user whose backend acts on what they want: as the client told them with
        the session, else as the backend tells them."""
        if context.session_id is not None and self._told_with is not None:
            said = self._told_with(context.session_id, context.user_id)
            if said and (found := self.told_by_client(said, context.user_id)).plans:
                return found
        return None if self.context is None else await self.context.of(context.user_id)

    def told_by_client(self, said: Mapping[str, Any], user_id: str) -> Elsewhere:
        return told(
            said, user_id=user_id, now=self._clock.now(), time_zone=self._settings.time_zone
        )

    def forget(self, user_id: str) -> None:
        if self.context is not None:
            self.context.forget(user_id)

    def _context(self, clock: Clock) -> BackendContext | None:
        backend = self._backend
        if backend is None or backend.context_url is None:
            return None
        return BackendContext(
            clock,
            backend.context_url,
            secret=backend.secret,
            seconds=backend.timeout_seconds,
            time_zone=self._settings.time_zone,
        )

    def due_message(self, reminder: Reminder, todo: Todo) -> Delivery | None:
        """For the agent's backend, where one is named."""
        return None if self._backend is None else due(reminder, todo, self._source.current.name)

    async def dues(self, todos: Sequence[Todo], now: datetime) -> list[datetime | None]:
        """When each is to be done next. The rows are the users' own: counted beside the loop."""
        if not any(todo.recurrence_rule for todo in todos):
            return [todo.scheduled_at for todo in todos]
        zone = self._settings.time_zone
        return await asyncio.to_thread(lambda: [next_due(todo, now, zone) for todo in todos])

    @asynccontextmanager
    async def running(self, begin: Begin = at_once) -> AsyncIterator[None]:
        async with self.outbox.running(), asyncio.TaskGroup() as group:
            warming = group.create_task(self._warm(begin), name="times")
            try:
                yield
            finally:
                warming.cancel()
                if self.context is not None:
                    await self.context.close()

    async def _warm(self, begin: Begin) -> None:
        """The library that counts the days of rules takes its time to load; not while somebody
        waits."""
        await begin()
        if not self._source.intents.definitions or self._named is not None:
            return
        try:
            await asyncio.to_thread(understand, "every day at 5", now=utc_now(), time_zone="UTC")
        except Exception:  # the boundary of this task: a call that needs it says what is wrong
            log.exception("Times cannot be understood: is the extra 'intents' installed?")

    def status(self) -> Mapping[str, Any]:
        return {
            "names": list(self._source.intents.names),
            "orchestrator": "embedded" if self._named is None else "http",
            "ready": self._named is None or self._backend is not None,
            "waiting": self.outbox.waiting,
        }

    def _sender(self, clock: Clock) -> HttpSender:
        if self._backend is None:
            return HttpSender(clock, secret=plain(self._settings.intent_secret))
        return HttpSender(clock, secret=self._backend.secret, seconds=self._patience)

    async def _time_zone_of(self, user_id: str) -> str:
        person = await self._store.person(user_id)
        return zone_or(person.time_zone if person else None, self._settings.time_zone)


def _need_packages(intents: IntentRegistry, *, remote: bool) -> None:
    """Said at the start, not when the first user names a day. Raises `Unavailable`."""
    inside = any(not remote and definition.url is None for definition in intents.definitions)
    if inside and not find_spec("dateutil"):
        raise Unavailable(
            "An agent with intents needs more packages: pip install 'vivavoce[intents]'"
        )


def _filled(backend: Backend | None) -> Backend | None:
    """With its secret; without it nothing is sent, and all of it is kept."""
    if backend is None:
        return None
    found, problems = filled(backend)
    for problem in problems:
        log.error("Intents: %s", problem)
    return found
