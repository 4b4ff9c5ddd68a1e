"""The intent service: from a call of the model to a stored, accepted intent.

    look up ─► check ─► grounding ─► evidence ─► known already? ─► act ─► answer

The handlers of the intent tools. Ids come from the conversation and the call, so whatever is
tried again after a crash is the same intent; a second call with the same payload gets the
first one's answer, unless the user asked again (`again.py`). Who acts on it, and the commit
that goes with it, is `Acting`.

After submission the user may correct it ("no, Saturday"): it is amended or retracted, and
nothing is doubled. Without an id the latest intent of this conversation is meant that still
holds and has what is to change.

Submitting needs no approval: the user has just said it, and it can be taken back. A call
that is run again after a crash finds its own intent.
"""

from __future__ import annotations

import asyncio
import tomllib
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from weakref import WeakValueDictionary

from vivavoce.errors import (
    IntentRefused,
    InvalidArguments,
    InvalidRequest,
    NotFound,
    ToolNotFound,
)
from vivavoce.intents import again
from vivavoce.intents import records as write
from vivavoce.intents.checking import Checked, checked, grounds
from vivavoce.intents.delivery.outside import Outside
from vivavoce.intents.orchestrator.builtin import Inside
from vivavoce.intents.orchestrator.finding import thing_named
from vivavoce.intents.orchestrator.listing import Listing
from vivavoce.intents.ports import (
    Acting,
    Action,
    IntentStore,
    Journal,
    KnowsPlans,
    Orchestrator,
)
from vivavoce.intents.registry.definition import IntentDefinition
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.intents.scene import Scene, scene_of
from vivavoce.runtime.people.elsewhere import Elsewhere
from vivavoce.runtime.ports import Clock, ToolContext, ToolDefinition, ToolExample
from vivavoce.wire.clean import clean_line
from vivavoce.wire.hints import KEY, Hint
from vivavoce.wire.records.plans import Intent, IntentStatus, Submission
from vivavoce.wire.records.talk import Conversation, entry_id

Handler = Callable[[Mapping[str, Any], ToolContext], Awaitable[str]]
Words = Callable[[Mapping[str, Any]], str]
IntentTool = tuple[ToolDefinition, Handler, Words, Words]
"""As `Registry.register` takes one: its definition, its handler, words while it runs, and what it
is about to do, where that is asked about."""

_FILE = Path(__file__).with_name("correcting.toml").read_text(encoding="utf-8")


def _correcting(
    name: str,
    description: str,
    properties: dict[str, Any],
    examples: list[Any],
    hint: dict[str, Any],
) -> ToolDefinition:
    return ToolDefinition(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": properties,
            "additionalProperties": False,
            KEY: Hint.model_validate(hint).model_dump(mode="json", exclude_defaults=True),
        },
        category="intents",
        timeout=30.0,
        examples=tuple(ToolExample(*one) for one in examples),
    )


AMENDING, RETRACTING = (_correcting(**one) for one in tomllib.loads(_FILE)["tools"])


def intent_tools(
    service: IntentService, submitting: Sequence[ToolDefinition], *, patience: float = 0.0
) -> list[IntentTool]:
    """Those of the agent's intents, and the two that correct. `patience`: how long a backend may
    take, which a tool's own time has to exceed."""
    if not submitting:
        return []
    made: list[IntentTool] = [
        *(_submitting(service, definition) for definition in submitting),
        (
            AMENDING,
            service.amend,
            lambda given: "Changing what was submitted",
            _wanting("change what was put down"),
        ),
        (
            RETRACTING,
            service.retract,
            lambda given: "Taking back what was submitted",
            lambda given: "take back what was put down",
        ),
    ]
    least = patience + 10.0
    return [
        (replace(d, timeout=max(d.timeout, least)), run, told, wants)
        for d, run, told, wants in made
    ]


def _submitting(service: IntentService, definition: ToolDefinition) -> IntentTool:
    async def submit(arguments: Mapping[str, Any], context: ToolContext) -> str:
        return await service.submit(definition.name, arguments, context)

    shown = definition.name.removeprefix("submit_").removesuffix("_intent").replace("_", " ")
    return definition, submit, lambda given: f"Submitting: {shown}", _wanting(f"put down a {shown}")


def _wanting(what: str) -> Words:
    """With the words that would be put down."""

    def wants(given: Mapping[str, Any]) -> str:
        changes = given.get("changes")
        values = (given if not isinstance(changes, Mapping) else changes).values()
        return ": ".join([what, ", ".join(one for one in values if isinstance(one, str))])

    return wants


_HELD = (IntentStatus.ACCEPTED, IntentStatus.PENDING)
_REASON = 300


class IntentService:
    """Submits, amends, retracts. JSON for the model. Each raises `InvalidArguments` (the model asks
    the user again), `IntentRefused`, `OrchestratorUnavailable`; each is announced as `error` too.
    """

    def __init__(
        self,
        registry: Callable[[], IntentRegistry],
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        orchestrator: Orchestrator,
        time_zone_of: Callable[[str], Awaitable[str]],
        *,
        outside: Outside | None = None,
        elsewhere: KnowsPlans | None = None,
        reminds: bool = False,
    ) -> None:
        """`outside`: for the intents that go to a backend of the user's; `elsewhere`: what the
        backend or the client tells of the user's things; `reminds`: somebody watches the times of
        the to-dos that are made here."""
        self._registry, self._store, self._journal, self._clock = registry, store, journal, clock
        self._time_zone_of = time_zone_of
        self._inside = Inside(orchestrator, store, journal, clock, reminds)
        self._outside, self._elsewhere = outside, elsewhere
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def submit(self, name: str, arguments: Mapping[str, Any], context: ToolContext) -> str:
        definition = self._registry().get(name)
        if definition is None:
            raise ToolNotFound(f"There is no intent '{name[:64]}'", tool=name[:64])
        async with self._place(context) as place:

            def explained(scene: Scene) -> bool:
                """Is there something of the user's in it that the call can have come from?"""
                try:
                    said = _heard(context, scene.words)
                    return bool(scene.fresh) and not checked(definition, arguments, said).left_out
                except InvalidArguments:
                    return False

            scene = await scene_of(self._store, self._clock, place.id, context, explained)
            now = self._clock.now()
            fresh = Intent(
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
            said = _heard(context, scene.words)
            found = await self._checked(fresh, definition, arguments, said)
            there = await self._there(definition, context)
            if definition.does == "tell":
                return await self._tell(definition, fresh, found, scene, there)
            return await self._submit(definition, fresh, found, scene, there)

    async def _tell(
        self,
        definition: IntentDefinition,
        fresh: Intent,
        found: Checked,
        scene: Scene,
        there: Elsewhere | None,
    ) -> str:
        """A question: it is answered, and nothing is kept of it, so that there is nothing to take
        back either."""
        asked = replace(fresh, payload=found.payload)
        given = await self._given(asked, scene, there=there)
        if self._acting(definition) is self._inside:
            told = await self._inside.tell(asked, given)
        elif there is not None:
            told = (await Listing(there).submit(given)).told
        else:
            raise IntentRefused(
                "What is on the user's list is not known here",
                suggestion="Say that you cannot see their list",
            )
        left = {"left_out": list(found.left_out)} if found.left_out else {}
        return write.telling({**told, **left})

    async def _submit(
        self,
        definition: IntentDefinition,
        fresh: Intent,
        found: Checked,
        scene: Scene,
        there: Elsewhere | None = None,
    ) -> str:
        acting = self._acting(definition)
        found = await self._identified(definition, fresh, found, scene, there)
        known = await self._known(acting, fresh, found.payload, scene)
        if known is not None and known.status in (IntentStatus.ACCEPTED, IntentStatus.RETRACTED):
            stands = await acting.standing(known, await self._given(known, scene))
            return write.answer(known, {"payload": known.payload, "already": True, **stands})
        # One that waits for its backend, or whose outcome was lost, is tried again as itself.
        intent = replace(
            known or fresh,
            payload=found.payload,
            status=IntentStatus.ACCEPTED,
            evidence=known.evidence if known else scene.evidence(found.payload),
            updated_at=fresh.updated_at,
        )
        given = await self._given(intent, scene)
        done = await acting.act("amend" if intent.revision else "submit", intent, given, known)
        self._forget(intent.user_id)
        left = {"left_out": list(found.left_out)} if found.left_out else {}
        return write.answer(done.intent, {**done.told, **left})

    async def _known(
        self, acting: Acting, fresh: Intent, payload: Mapping[str, Any], scene: Scene
    ) -> Intent | None:
        """This very call, or one that said the same a moment ago and still holds."""
        for intent in scene.intents:
            if intent.id == fresh.id:
                return intent
        known = again.alike(fresh, payload, scene.intents)
        if known is None:
            return None
        given = await self._given(known, scene)
        holds = await acting.holds(known, given, asked=again.asked(known, scene))
        return known if holds else None

    async def amend(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        async with self._place(context) as place:
            scene = await scene_of(self._store, self._clock, place.id, context)
            changes = _changes(arguments)
            intent = self._changed(arguments, changes, scene)
            definition = self._registry().get(intent.name)
            if definition is None:
                raise IntentRefused(
                    "This kind of request cannot be changed any more",
                    suggestion="Say so, and offer to take it back",
                )
            merged = {k: v for k, v in (intent.payload | changes).items() if v not in (None, "")}
            said = _heard(context, _correction(scene, intent))
            found = await self._checked(intent, definition, merged, said, only=changes)
            there = await self._there(definition, context)
            found = await self._identified(definition, intent, found, scene, there)
            amended = intent  # on its way as it is: tried again, not said again
            if not write.same_payload(found.payload, intent.payload):
                amended = replace(intent, payload=found.payload, revision=intent.revision + 1)
            elif intent.status is IntentStatus.ACCEPTED:
                return write.answer(intent, {"payload": intent.payload, "already": True})
            amended = replace(
                amended,
                status=IntentStatus.ACCEPTED,
                error=None,
                updated_at=self._clock.now(),
                evidence=scene.more_evidence(intent),
            )
            given = await self._given(amended, scene)
            action: Action = "amend" if amended.revision else "submit"
            done = await self._acting(definition).act(action, amended, given, intent)
            self._forget(intent.user_id)
            return write.answer(done.intent, {"payload": done.intent.payload, **done.told})

    def _changed(
        self, arguments: Mapping[str, Any], changes: Mapping[str, Any], scene: Scene
    ) -> Intent:
        """ "No, Saturday", after a task and a goal, is about the task."""
        known = self._registry()

        def has(intent: Intent) -> bool:
            definition = known.get(intent.name)
            return definition is not None and all(map(definition.parameter, changes))

        having = [intent for intent in scene.intents if intent.status in _HELD and has(intent)]
        if having and not arguments.get("intent_id"):
            return _latest(having)
        return _meant(arguments, scene, _HELD)

    async def retract(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        async with self._place(context) as place:
            scene = await scene_of(self._store, self._clock, place.id, context)
            named = bool(arguments.get("intent_id"))
            meant = (*_HELD, IntentStatus.RETRACTED) if named or _just_taken(scene) else _HELD
            intent = _meant(arguments, scene, meant)
            if intent.status is IntentStatus.RETRACTED:
                return write.answer(intent, {"already": True})
            taken = replace(
                intent,
                status=IntentStatus.RETRACTED,
                updated_at=self._clock.now(),
                evidence=scene.more_evidence(intent),
            )
            reason = clean_line(str(arguments.get("reason") or ""), _REASON) or None
            given = await self._given(taken, scene, reason=reason)
            acting = self._acting(self._registry().get(intent.name))
            done = await acting.act("retract", taken, given, intent)
            self._forget(intent.user_id)
            return write.answer(done.intent, done.told)

    # --- What all of them do ------------------------------------------------------------

    @asynccontextmanager
    async def _place(self, context: ToolContext) -> AsyncIterator[Conversation]:
        """The conversation that the call belongs to. One after another: two calls of one response
        must see each other's intents."""
        if context.conversation_id is None:
            raise InvalidRequest("An intent is submitted within a conversation; name its session")
        found = await self._store.conversation(context.conversation_id, user_id=context.user_id)
        if found is None:
            raise NotFound("There is no such conversation")
        async with self._locks.setdefault(found.id, asyncio.Lock()):
            yield found

    async def _checked(
        self,
        intent: Intent,
        definition: IntentDefinition,
        arguments: Mapping[str, Any],
        said: str | None,
        only: Collection[str] | None = None,
    ) -> Checked:
        try:
            if only is not None and not only:
                raise InvalidArguments(
                    "Nothing was named to change: give changes, such as "
                    '{"scheduled_at": "Saturday at 9"}',
                    tool=definition.name,
                    missing_params=["changes"],
                )
            return checked(definition, arguments, said, only)
        except InvalidArguments as fault:
            event = write.told_error(intent, write.INVALID, fault.message, self._clock.now())
            await self._journal.commit([event])
            fault.announced = True
            raise

    def _acting(self, definition: IntentDefinition | None) -> Acting:
        if self._outside is not None and self._outside.takes(definition):
            return self._outside
        return self._inside

    async def _there(self, definition: IntentDefinition, context: ToolContext) -> Elsewhere | None:
        """The user's things, where a backend acts on this intent and somebody tells them."""
        if self._elsewhere is None or self._acting(definition) is self._inside:
            return None
        told = await self._elsewhere.of(context)
        return told if told is not None and told.plans else None

    async def _identified(
        self,
        definition: IntentDefinition,
        intent: Intent,
        found: Checked,
        scene: Scene,
        there: Elsewhere | None,
    ) -> Checked:
        """With the backend's own ids for things; one that it does not have is refused. Without a
        list to look in, ids go on as they are: the backend refuses them itself."""
        payload = dict(found.payload)
        for one in definition.parameters:
            if there is None or one.sort != "thing" or one.name not in payload:
                continue
            asked = replace(intent, payload=payload)
            given = await self._given(asked, scene, there=there)
            try:
                payload[one.name] = (await thing_named(there, given, one.name, one.of)).id
            except IntentRefused as fault:
                event = write.told_error(intent, write.INVALID, fault.message, self._clock.now())
                await self._journal.commit([event])
                fault.announced = True
                raise
        return replace(found, payload=payload)

    def _forget(self, user_id: str) -> None:
        if self._elsewhere is not None:
            self._elsewhere.forget(user_id)

    async def _given(
        self, intent: Intent, scene: Scene, *, there: Elsewhere | None = None, **extra: Any
    ) -> Submission:
        zone = (there and there.time_zone) or await self._time_zone_of(intent.user_id)
        hours = write.hours_of(await self._store.person(intent.user_id))
        return write.submission(intent, self._clock.now(), zone, scene.said, hours, **extra)


def _heard(context: ToolContext, words: str) -> str | None:
    """A client that fills in a form means what it writes; a model has to have heard it."""
    return None if context.origin == "http" else words


# --- Which one a correction is about ------------------------------------------------------


def _just_taken(scene: Scene) -> bool:
    """ "Cancel that" twice is once, not the one before as well: nothing was said in between that
    made another one the latest."""
    newest = max(scene.intents, key=lambda i: i.updated_at, default=None)
    if newest is None or newest.status is not IntentStatus.RETRACTED:
        return False
    return not scene.after(newest.updated_at)


def _meant(
    arguments: Mapping[str, Any], scene: Scene, statuses: tuple[IntentStatus, ...]
) -> Intent:
    wanted = str(arguments.get("intent_id") or "").strip().casefold()
    fitting = [i for i in scene.intents if i.status in statuses]
    if wanted:
        # Small models name what they were told of: the goal or the task that came of it.
        named = [i for i in fitting if wanted in (i.id, i.goal_id, i.task_id)]
        if named:
            return named[0]
        raise IntentRefused(
            "There is no such request in this conversation",
            suggestion="Leave the id out for the latest one, or ask which one is meant",
        )
    if not fitting:
        raise IntentRefused(
            "Nothing was submitted in this conversation that could be changed",
            suggestion="Ask what to change, or submit it new",
        )
    # The one that was touched last: a repeated "cancel" is about what was cancelled.
    return _latest(fitting)


def _latest(intents: Sequence[Intent]) -> Intent:
    return max(intents, key=lambda i: (i.updated_at, i.created_at))


def _changes(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`changes`, or one `field` and its `value`; a None takes away."""
    changes = arguments.get("changes")
    found = dict(changes) if isinstance(changes, Mapping) else {}
    field = arguments.get("field")
    if isinstance(field, str) and field:
        found[field] = arguments.get("value")
    return found


def _correction(scene: Scene, intent: Intent) -> str:
    """What the user said since it was submitted; nothing since: all they said."""
    after = [e for e in scene.entries if e.ordinal > intent.created_at.timestamp() * 1000]
    return grounds(after) or scene.words
