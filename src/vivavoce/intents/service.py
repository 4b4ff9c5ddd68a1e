"""The intent service: from a call of the model to a stored, accepted intent.

    look up ─► check ─► grounding ─► evidence ─► known already? ─► act ─► answer

The handlers of the intent tools. Ids come from the conversation and the call, so
whatever is tried again after a crash is the same intent; a second call with the
same payload gets the first one's answer, unless the user asked again (`again.py`).
Who acts on it, and the commit that goes with it, is `Acting`; corrections are
`corrections.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any
from weakref import WeakValueDictionary

from vivavoce.errors import InvalidArguments, InvalidRequest, NotFound, ToolNotFound
from vivavoce.intents import again, evidence
from vivavoce.intents import records as write
from vivavoce.intents.checking import Checked, checked
from vivavoce.intents.corrections import Corrections
from vivavoce.intents.delivery.outside import Outside
from vivavoce.intents.hearing import Hearing, Scene
from vivavoce.intents.orchestrator.inside import Acting, Action, Inside
from vivavoce.intents.ports import Definition, Definitions, IntentStore, Journal
from vivavoce.runtime.people.intents import Orchestrator
from vivavoce.runtime.ports import Clock, ToolContext
from vivavoce.wire.records.plans import Intent, IntentStatus, Submission
from vivavoce.wire.records.talk import Conversation, entry_id


class IntentService:
    """Submits; `corrections` amends and retracts with the same means."""

    def __init__(
        self,
        registry: Callable[[], Definitions],
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        orchestrator: Orchestrator,
        time_zone_of: Callable[[str], Awaitable[str]],
        *,
        outside: Outside | None = None,
    ) -> None:
        """`outside`: for the intents that go to a backend of the user's."""
        self.registry, self.store, self.journal, self.clock = registry, store, journal, clock
        self.time_zone_of = time_zone_of
        self.hearing = Hearing(store, clock)
        self._inside = Inside(orchestrator, store, journal, clock)
        self._outside = outside
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._corrections = Corrections(self)

    async def amend(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        return await self._corrections.amend(arguments, context)

    async def retract(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        return await self._corrections.retract(arguments, context)

    async def submit(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> str:
        """JSON for the model. Raises `InvalidArguments` (it asks the user again),
        `IntentRefused`, `OrchestratorUnavailable`; each is announced as `error` too."""
        definition = self.registry().get(name)
        if definition is None:
            raise ToolNotFound(f"There is no intent '{name[:64]}'", tool=name[:64])
        place = await self.place(context)
        async with self.lock(place.id):
            scene = await self.hearing.scene(
                place.id, context, lambda s: self._explained(definition, arguments, context, s)
            )
            now = self.clock.now()
            fresh = _blank(definition, place, context, now)
            try:
                found = checked(definition, arguments, _grounds(context, scene))
            except InvalidArguments as fault:
                event = write.told_error(fresh, write.INVALID, fault.message, now)
                await self.journal.commit([event])
                fault.announced = True
                raise
            return await self._submit(definition, fresh, found, scene)

    async def _submit(
        self, definition: Definition, fresh: Intent, found: Checked, scene: Scene
    ) -> str:
        known = await self._known(definition, fresh, found.payload, scene)
        if known is not None and known.status in (IntentStatus.ACCEPTED, IntentStatus.RETRACTED):
            there = await self.acting(definition).standing(known, await self.given(known, scene))
            return write.answer(known, {"payload": known.payload, "already": True, **there})
        # One that waits for its backend, or whose outcome was lost, is tried again as itself.
        intent = replace(
            known or fresh,
            payload=found.payload,
            status=IntentStatus.ACCEPTED,
            evidence=known.evidence
            if known
            else evidence.gather(scene.entries, scene.last, found.payload),
            updated_at=fresh.updated_at,
        )
        given = await self.given(intent, scene)
        action: Action = "amend" if intent.revision else "submit"
        done = await self.acting(definition).act(action, intent, given, known)
        left = {"left_out": list(found.left_out)} if found.left_out else {}
        return write.answer(done.intent, {**done.told, **left})

    async def _known(
        self, definition: Definition, fresh: Intent, payload: Mapping[str, Any], scene: Scene
    ) -> Intent | None:
        """This very call, or one that said the same a moment ago and still holds."""
        for intent in scene.intents:
            if intent.id == fresh.id:
                return intent
        known = again.alike(fresh, payload, scene.intents)
        if known is None:
            return None
        asked = again.asked(known, scene.intents, scene.entries)
        given = await self.given(known, scene)
        holds = await self.acting(definition).holds(known, given, asked=asked)
        return known if holds else None

    def _explained(
        self,
        definition: Definition,
        arguments: Mapping[str, Any],
        context: ToolContext,
        scene: Scene,
    ) -> bool:
        """Is there something of the user's in it that the call can have come from?"""
        if not evidence.since(scene.entries, scene.last):
            return False
        try:
            return not checked(definition, arguments, _grounds(context, scene)).left_out
        except InvalidArguments:
            return False

    # --- Shared with the corrections ----------------------------------------------------

    async def place(self, context: ToolContext) -> Conversation:
        """The conversation that the call belongs to."""
        if context.conversation_id is None:
            raise InvalidRequest("An intent is submitted within a conversation; name its session")
        found = await self.store.conversation(context.conversation_id, user_id=context.user_id)
        if found is None:
            raise NotFound("There is no such conversation")
        return found

    def lock(self, conversation_id: str) -> asyncio.Lock:
        """One after another: two calls of one response must see each other's intents."""
        return self._locks.setdefault(conversation_id, asyncio.Lock())

    def acting(self, definition: Definition | None) -> Acting:
        if self._outside is not None and self._outside.takes(definition):
            return self._outside
        return self._inside

    async def given(self, intent: Intent, scene: Scene, **extra: Any) -> Submission:
        zone = await self.time_zone_of(intent.user_id)
        return write.submission(intent, self.clock.now(), zone, scene.said, **extra)


def _grounds(context: ToolContext, scene: Scene) -> str | None:
    """A client that fills in a form means what it writes; a model has to have heard it."""
    return None if context.origin == "http" else scene.words


def _blank(
    definition: Definition, place: Conversation, context: ToolContext, now: datetime
) -> Intent:
    return Intent(
        id=entry_id(place.id, context.call_id),
        user_id=context.user_id,
        conversation_id=place.id,
        name=definition.name,
        route=definition.route,
        payload={},
        created_at=now,
        updated_at=now,
        session_id=context.session_id,
        call_id=context.call_id,
    )
