"""Acting on an intent by telling the user's backend: on disk first, then sent.

Fills `Acting` with the outbox behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from vivavoce.intents import again
from vivavoce.intents.delivery.outbox import Outbox
from vivavoce.intents.orchestrator.inside import Action, Done
from vivavoce.intents.ports import Definition, IntentStore, Journal
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.plans import Delivery, Intent, IntentStatus, Submission
from vivavoce.wire.records.talk import PutDelivery, PutIntent, entry_id, iso


class Outside:
    """`takes` says which intents go this way, `to` to which address of this agent (by the name of
    the intent): who finds the message later must not send it to another's backend."""

    def __init__(
        self,
        outbox: Outbox,
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        takes: Callable[[Definition | None], bool],
        to: Callable[[str], str],
    ) -> None:
        self.outbox, self.takes, self._to = outbox, takes, to
        self._store, self._journal, self._clock = store, journal, clock

    async def act(
        self, action: Action, intent: Intent, given: Submission, before: Intent | None
    ) -> Done:
        now = self._clock.now()
        # A retraction is one when the backend has heard of it; until then it is what it was.
        status = before.status if action == "retract" and before else IntentStatus.PENDING
        kept = replace(intent, status=status, updated_at=now)
        known = await self._store.deliveries(intent.id)
        fresh = delivery_of(action, kept, given, before, now, _refusals(known, action))
        if all(one.id != fresh.id for one in known):
            fresh = replace(
                fresh,
                body=fresh.body | {"to": self._to(intent.name)},
                due_at=now + timedelta(seconds=self.outbox.claim),
            )
            await self._journal.commit([PutIntent(kept), PutDelivery(fresh)])
        stored = await self.outbox.flush(intent.id, intent.user_id)
        return Done(stored or kept)

    async def holds(self, known: Intent, given: Submission, *, asked: bool) -> bool:
        """What came of it only the backend knows: one that waits is the same, and one that was
        asked for again a while later is not. Nor is one that is about to be taken back."""
        waiting = [d for d in await self._store.deliveries(known.id) if d.status == "pending"]
        if any(one.action == "retract" for one in waiting):
            return False
        pending = known.status is IntentStatus.PENDING
        return pending or not asked or again.soon(known, given.now)

    async def standing(self, known: Intent, given: Submission) -> Mapping[str, Any]:
        return {}


def _refusals(known: Sequence[Delivery], action: Action) -> int:
    return sum(one.action == action and one.status == "refused" for one in known)


def delivery_of(
    action: Action,
    intent: Intent,
    given: Submission,
    before: Intent | None,
    now: datetime,
    refusals: int = 0,
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
