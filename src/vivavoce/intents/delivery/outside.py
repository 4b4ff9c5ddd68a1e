"""Acting on an intent by telling the user's backend: on disk first, then sent; and where it is.

Fills `Acting` with the outbox behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from vivavoce.intents import again
from vivavoce.intents.delivery.outbox import Outbox
from vivavoce.intents.ports import Action, Done, IntentStore, Journal
from vivavoce.intents.registry.definition import IntentDefinition
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.runtime.ports import Clock
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import (
    Delivery,
    Intent,
    IntentStatus,
    Reminder,
    Submission,
    Todo,
)
from vivavoce.wire.records.talk import Put, entry_id, iso
from vivavoce.wire.values import Value

_TELLING = ("title", "when", "place", "target", "summary", "message")
_SAID = 300


class Addresses(Value):
    """Which intents go to a backend, and where each of them is. `url` is the agent's own backend,
    which stands for all of its intents; it may be named and not known (`everything`)."""

    agent: Callable[[], str]
    intents: Callable[[], IntentRegistry]
    url: str | None = None
    everything: bool = False

    def takes(self, definition: IntentDefinition | None) -> bool:
        return self.everything or (definition is not None and definition.url is not None)

    def to(self, name: str) -> str:
        """The name of an address, by that of the intent: who finds the message later must not send
        it to another's backend."""
        definition = self.intents().get(name)
        return (
            f"{self.agent()}/{name}" if definition is not None and definition.url else self.agent()
        )

    def url_of(self, delivery: Delivery) -> str | None:
        """None is nowhere that this server knows: of another agent's on the same database, or of
        an intent that is gone."""
        name = str(delivery.body.get("name", ""))
        # Without one it is from before that was written down, when all went to the agent's.
        to = delivery.body.get("to", self.to(name))
        if to == self.agent():
            return self.url
        definition = self.intents().get(name)
        return definition.url if definition is not None and to == f"{self.agent()}/{name}" else None


class Outside(Value):
    """Acts on an intent by telling the user's backend."""

    _outbox: Outbox
    _store: IntentStore
    _journal: Journal
    _clock: Clock
    _addresses: Addresses

    def takes(self, definition: IntentDefinition | None) -> bool:
        return self._addresses.takes(definition)

    async def act(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Done:
        now = self._clock.now()
        # A retraction is one when the backend has heard of it; until then it is what it was.
        status = before.status if action == "retract" and before else IntentStatus.PENDING
        kept = replace(intent, status=status, updated_at=now)
        known = await self._store.deliveries(intent.id)
        refusals = sum(one.action == action and one.status == "refused" for one in known)
        fresh = _delivery(action, kept, given, before, now, refusals)
        if all(one.id != fresh.id for one in known):
            due = now + timedelta(seconds=self._outbox.claim)
            body = fresh.body | {"to": self._addresses.to(intent.name)}
            fresh = replace(fresh, body=body, due_at=due)
            await self._journal.commit([Put(kept), Put(fresh)])
        stored = await self._outbox.flush(intent.id, intent.user_id)
        sent = await self._store.deliveries(intent.id)
        return Done(stored or kept, _told(sent[-1]) if sent else {})

    async def holds(self, known: Intent, given: Submission, *, asked: bool) -> bool:
        """What came of it only the backend knows: one that waits is the same, and one that was
        asked for again a while later is not. Nor is one that is about to be taken back."""
        waiting = [d for d in await self._store.deliveries(known.id) if d.status == "pending"]
        if any(one.action == "retract" for one in waiting):
            return False
        pending = known.status is IntentStatus.PENDING
        return pending or not asked or given.now - known.updated_at < again.REPEATED

    async def standing(self, known: Intent, given: Submission) -> Mapping[str, Any]:
        return {}


def due(reminder: Reminder, todo: Todo, agent: str) -> Delivery:
    """That a to-do of ours has come due, for the agent's backend: each time once."""
    body = {
        "action": "due",
        "event": "task.due",
        "to": agent,
        "user_id": reminder.user_id,
        "task_id": reminder.task_id,
        "reminder_id": reminder.id,
        "title": reminder.title,
        "due_at": iso(reminder.due_at),
        "time_zone": todo.time_zone,
        "recurrence_rule": todo.recurrence_rule,
        "submitted_at": iso(reminder.created_at),
    }
    now = reminder.created_at
    return Delivery(
        id=entry_id(reminder.id, "due"),
        intent_id=f"due:{reminder.id}",
        user_id=reminder.user_id,
        action="due",
        body={key: value for key, value in body.items() if value is not None},
        created_at=now,
        updated_at=now,
        due_at=now,
    )


def _told(delivery: Delivery) -> dict[str, Any]:
    """What the backend says that can be told: what it made of the words, in words."""
    answer = delivery.answer or {}
    said = {name: answer.get(name) for name in _TELLING}
    told = {name: clean_line(v, _SAID) for name, v in said.items() if isinstance(v, str) and v}
    if answer.get("reminds") is True and (what := _what(told)):
        told["remind"] = what  # whose to-do it is, and who reminds, is theirs to say
    return told


def _what(told: Mapping[str, str]) -> str:
    named = [told[name] for name in ("title", "when") if name in told]
    return told.get("summary") or (", ".join(named) if len(named) > 1 else "")


def _delivery(
    action: Action,
    intent: Intent,
    given: Submission,
    before: Intent | None,
    now: datetime,
    refusals: int,
) -> Delivery:
    """One message, one id: each action of each revision is said once, and again only when it
    was refused."""
    body: dict[str, Any] = {
        "action": action,
        "intent": intent.route,
        "payload": intent.payload,
        "intent_id": intent.id,
        "revision": intent.revision,
        "user_id": intent.user_id,
        "conversation_id": intent.conversation_id,
        "session_id": intent.session_id,
        "evidence": list(intent.evidence),
        "said": given.said,
        "time_zone": given.time_zone,
        "submitted_at": iso(now),
        "goal_id": intent.goal_id,
        "task_id": intent.task_id,
    } | {key: value for key, value in given.extra.items() if value is not None}
    if action == "amend" and before is not None:
        body["previous"] = before.payload
    return Delivery(
        id=entry_id(intent.id, f"{action}:{intent.revision}:{refusals}"),
        intent_id=intent.id,
        user_id=intent.user_id,
        action=action,
        body=body,
        created_at=now,
        updated_at=now,
        due_at=now,
    )
