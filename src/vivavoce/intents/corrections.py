"""The user corrects himself after submission ("no, Saturday"): amend or retract, nothing doubled.

Without an id the latest intent of this conversation is meant that still holds and has
what is to change.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from vivavoce.errors import IntentRefused, InvalidArguments
from vivavoce.intents import evidence
from vivavoce.intents import records as write
from vivavoce.intents.checking import checked
from vivavoce.intents.grounding import grounds
from vivavoce.intents.hearing import Scene
from vivavoce.intents.orchestrator.inside import Action
from vivavoce.runtime.ports import ToolContext
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import Intent, IntentStatus

if TYPE_CHECKING:
    from vivavoce.intents.service import IntentService

_HELD = (IntentStatus.ACCEPTED, IntentStatus.PENDING)
_REASON = 300


class Corrections:
    """The handlers of `amend_intent` and `retract_intent`."""

    def __init__(self, service: IntentService) -> None:
        self._service = service

    async def amend(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        here = self._service
        place = await here.place(context)
        async with here.lock(place.id):
            scene = await here.hearing.scene(place.id, context, _answered)
            intent = self._changed(arguments, scene)
            definition = here.registry().get(intent.name)
            if definition is None:
                raise IntentRefused(
                    "This kind of request cannot be changed any more",
                    suggestion="Say so, and offer to take it back",
                )
            now = here.clock.now()
            try:
                changes = _changes(arguments, definition.name)
                merged = intent.payload | changes
                merged = {key: value for key, value in merged.items() if value not in (None, "")}
                words = None if context.origin == "http" else _correction(scene, intent)
                found = checked(definition, merged, words, only=changes)
            except InvalidArguments as fault:
                event = write.told_error(intent, write.INVALID, fault.message, now)
                await here.journal.commit([event])
                fault.announced = True
                raise
            if write.same_payload(found.payload, intent.payload):
                if intent.status is IntentStatus.ACCEPTED:
                    return write.answer(intent, {"payload": intent.payload, "already": True})
                amended = intent  # on its way as it is: tried again, not said again
            else:
                amended = replace(intent, payload=found.payload, revision=intent.revision + 1)
            amended = replace(
                amended,
                status=IntentStatus.ACCEPTED,
                error=None,
                updated_at=now,
                evidence=evidence.extended(intent.evidence, scene.entries, intent.created_at),
            )
            given = await here.given(amended, scene)
            action: Action = "amend" if amended.revision else "submit"
            done = await here.acting(definition).act(action, amended, given, intent)
            return write.answer(done.intent, {"payload": done.intent.payload, **done.told})

    def _changed(self, arguments: Mapping[str, Any], scene: Scene) -> Intent:
        """ "No, Saturday", after a task and a goal, is about the task."""
        known, wanted = self._service.registry(), _given(arguments).keys()

        def has(intent: Intent) -> bool:
            definition = known.get(intent.name)
            return definition is not None and wanted <= {p.name for p in definition.parameters}

        having = [intent for intent in scene.intents if intent.status in _HELD and has(intent)]
        if having and not arguments.get("intent_id"):
            return _latest(having)
        return _meant(arguments, scene, _HELD)

    async def retract(self, arguments: Mapping[str, Any], context: ToolContext) -> str:
        here = self._service
        place = await here.place(context)
        async with here.lock(place.id):
            scene = await here.hearing.scene(place.id, context, _answered)
            named = bool(arguments.get("intent_id"))
            meant = (*_HELD, IntentStatus.RETRACTED) if named or _just_taken(scene) else _HELD
            intent = _meant(arguments, scene, meant)
            if intent.status is IntentStatus.RETRACTED:
                return write.answer(intent, {"already": True})
            taken = replace(
                intent,
                status=IntentStatus.RETRACTED,
                updated_at=here.clock.now(),
                evidence=evidence.extended(intent.evidence, scene.entries, intent.created_at),
            )
            reason = clean_line(str(arguments.get("reason") or ""), _REASON) or None
            given = await here.given(taken, scene, reason=reason)
            acting = here.acting(here.registry().get(intent.name))
            done = await acting.act("retract", taken, given, intent)
            return write.answer(done.intent, done.told)


def _answered(scene: Scene) -> bool:
    """The user has spoken last: it is their correction."""
    return not evidence.unheard(scene.entries)


def _just_taken(scene: Scene) -> bool:
    """ "Cancel that" twice is once, not the one before as well: nothing was said in between that
    made another one the latest."""
    newest = max(scene.intents, key=lambda i: i.updated_at, default=None)
    if newest is None or newest.status is not IntentStatus.RETRACTED:
        return False
    return not evidence.since(scene.entries, newest.updated_at)


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


def _given(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """`changes`, or one `field` and its `value`; a None takes away."""
    changes = arguments.get("changes")
    found = dict(changes) if isinstance(changes, Mapping) else {}
    field = arguments.get("field")
    if isinstance(field, str) and field:
        found[field] = arguments.get("value")
    return found


def _changes(arguments: Mapping[str, Any], tool: str) -> dict[str, Any]:
    found = _given(arguments)
    if not found:
        raise InvalidArguments(
            'Nothing was named to change: give changes, such as {"scheduled_at": "Saturday at 9"}',
            tool=tool,
            missing_params=["changes"],
        )
    return found


def _correction(scene: Scene, intent: Intent) -> str:
    """What the user said since it was submitted; nothing since: all they said."""
    after = [e for e in scene.entries if e.ordinal > intent.created_at.timestamp() * 1000]
    return grounds(after) or scene.words
