"""The outbox: what the backend has to be told, kept until it has answered.

A delivery is durable before the first attempt. Those of one intent go out in their
order, with the same key each time; a backend that is down is asked again, longer
and longer apart, for seven days. Several servers on one database take what is due
from each other by moving `due_at`; where two still meet, the key makes it one. What
has no address here is left to a server that has it, until its days are over.

`Outside` fills `Acting` with it: an intent is on disk first, then sent.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakValueDictionary

from vivavoce.errors import IntentRefused, OrchestratorUnavailable
from vivavoce.intents import again
from vivavoce.intents import records as write
from vivavoce.intents.delivery import settling
from vivavoce.intents.delivery.http import Delivered, Later, Refused, Sender, Verdict
from vivavoce.intents.ports import Action, Done, IntentStore, Journal
from vivavoce.intents.registry.definition import IntentDefinition
from vivavoce.intents.registry.intents import IntentRegistry
from vivavoce.logs import failure, fields
from vivavoce.runtime.ports import Clock
from vivavoce.wire.records.plans import Delivery, Intent, IntentStatus, Submission
from vivavoce.wire.records.talk import PutDelivery, PutIntent, entry_id, iso

log = logging.getLogger(__name__)

CLAIM_SECONDS = 30.0
"""How long one who took a delivery has it for itself at least."""
_SPARE_SECONDS = 15.0  # of that, beyond what an attempt may take
AT_ONCE = 8
_LOOKED_AT = 500  # at a time
POLL_SECONDS = 60.0  # for what other servers left behind
_AHEAD = timedelta(days=2)  # more than anyone is made to wait
_FAULT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Addresses:
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


class Outbox:
    """Delivers, now for one who waits (`flush`), and by itself (`running`)."""

    def __init__(
        self,
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        sender: Sender,
        addresses: Addresses,
        *,
        chance: Callable[[], float] = random.random,
        patience: float = 0.0,
    ) -> None:
        """`patience`: how long the sender may wait for an answer."""
        self._store, self._journal, self._clock = store, journal, clock
        self._sender, self.addresses, self._chance = sender, addresses, chance
        self.claim = max(CLAIM_SECONDS, patience + _SPARE_SECONDS)
        self._stranded = 0
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._woken = asyncio.Event()
        self.waiting = 0
        """How many are late, as of the last look; for /status."""

    def wake(self) -> None:
        self._woken.set()

    async def flush(self, intent_id: str, user_id: str) -> Intent | None:
        """Deliver what waits for this intent, in order; the intent as it is then.

        Raises `OrchestratorUnavailable` when one has to wait (it is kept), and
        `IntentRefused` when the last one was refused.
        """
        lock = self._locks.setdefault(intent_id, asyncio.Lock())
        async with lock:
            verdict: Verdict | None = None
            fault: OrchestratorUnavailable | IntentRefused
            for delivery in await self._store.deliveries(intent_id):
                if delivery.status != "pending" or delivery.user_id != user_id:
                    continue
                verdict, told = await self._deliver(delivery)
                if isinstance(verdict, Later):
                    self.wake()
                    fault = OrchestratorUnavailable(
                        "The backend does not answer now. What was asked for is kept, and will "
                        "be tried again"
                    )
                    fault.announced = told
                    raise fault
            if isinstance(verdict, Refused):
                fault = IntentRefused(
                    verdict.words, suggestion="Tell the user, and ask what to change"
                )
                fault.announced = told
                raise fault
            return await self._store.intent(intent_id, user_id=user_id)

    async def _deliver(self, delivery: Delivery) -> tuple[Verdict, bool]:
        """One attempt, and what came of it on disk. Was it announced that it failed?"""
        if delivery.attempts or delivery.due_at <= self._clock.now():
            delivery = await self._claim(delivery)
        url = self.addresses.url_of(delivery)
        verdict: Verdict = Later("no address for it in this agent")
        if url is not None:
            verdict = await self._sender.send(url, delivery)
        if isinstance(verdict, Later) and settling.given_up(delivery, self._clock.now()):
            verdict = Refused(f"Given up after {settling.GIVE_UP.days} days: {verdict.why}")
        return verdict, await self._settle(delivery, verdict)

    async def _claim(self, delivery: Delivery) -> Delivery:
        now = self._clock.now()
        due = now + timedelta(seconds=self.claim)
        claimed = replace(delivery, due_at=due, updated_at=now)
        await self._journal.commit([PutDelivery(claimed)])
        return claimed

    async def _settle(self, delivery: Delivery, verdict: Verdict) -> bool:
        # Read again: the user may have said more while the backend was thinking.
        intent = await self._store.intent(delivery.intent_id, user_id=delivery.user_id)
        others = await self._store.deliveries(delivery.intent_id)
        now = self._clock.now()
        match verdict:
            case Later():
                changes = settling.postponed(delivery, verdict, intent, now, self._chance())
            case Refused():
                changes = settling.refused(delivery, verdict, intent, others, now)
            case Delivered():
                place = None
                if intent is not None:
                    place = await self._store.conversation(
                        intent.conversation_id, user_id=intent.user_id
                    )
                changes = settling.delivered(delivery, verdict, intent, others, place, now)
        await self._journal.commit(changes)
        return write.tells_of_an_error(changes)

    # --- By itself ----------------------------------------------------------------------

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        try:
            async with asyncio.TaskGroup() as group:
                worker = group.create_task(self._work(), name="outbox")
                try:
                    yield
                finally:
                    worker.cancel()
        finally:
            await self._sender.close()

    async def _work(self) -> None:
        while True:
            try:
                wait = await self._round()
            except Exception:  # the boundary of this task: the store may be away for a while
                log.exception("The outbox could not be looked at")
                wait = _FAULT_SECONDS
            await self._pause(wait)

    async def _round(self) -> float:
        """Deliver what is due; how long until there is more to do."""
        self._woken.clear()
        now = self._clock.now()
        ours, stranded = await self._due(now)
        if not ours:
            self._tell_stranded(stranded)
            soon = await self._store.due_deliveries(before=now + _AHEAD, limit=_LOOKED_AT)
            self.waiting = len(soon)
            waits = [(d.due_at - now).total_seconds() for d in soon if d.due_at > now]
            return max(0.01, min([POLL_SECONDS, *waits]))
        async with asyncio.TaskGroup() as group:
            for delivery in ours:
                group.create_task(self._flush_quietly(delivery))
        return 0.0

    async def _due(self, now: datetime) -> tuple[list[Delivery], int]:
        """The oldest few that we can deliver or give up, and how many before them we cannot:
        those of another agent stay due for days, and must not stand in the way of ours."""
        ours: list[Delivery] = []
        seen, last = 0, None
        while True:
            page = await self._store.due_deliveries(before=now, limit=_LOOKED_AT, after=last)
            ours += [
                d for d in page if self.addresses.url_of(d) is not None or settling.given_up(d, now)
            ]
            seen += len(page)
            if len(page) < _LOOKED_AT or len(ours) >= AT_ONCE:
                return ours[:AT_ONCE], seen - len(ours)
            last = page[-1]

    def _tell_stranded(self, count: int) -> None:
        """Once, until there are more of them: another server on this database may be theirs."""
        if count > self._stranded:
            log.error("Messages wait that have no address here", extra=fields(count=count))
        self._stranded = count

    async def _flush_quietly(self, delivery: Delivery) -> None:
        try:
            await self.flush(delivery.intent_id, delivery.user_id)
        except (OrchestratorUnavailable, IntentRefused):
            pass  # it is on disk, and told
        except Exception as exc:  # one that fails must not hold up the others
            log.error("A delivery failed", extra=failure(exc, delivery=delivery.id))
            await self._clock.sleep(_FAULT_SECONDS)

    async def _pause(self, seconds: float) -> None:
        """Until then, or until there is something new."""
        if seconds <= 0:
            return
        async with asyncio.TaskGroup() as group:
            sleep = group.create_task(self._clock.sleep(seconds))
            woken = group.create_task(self._woken.wait())
            await asyncio.wait((sleep, woken), return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
            woken.cancel()


class Outside:
    """Acts on an intent by telling the user's backend."""

    def __init__(
        self,
        outbox: Outbox,
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        addresses: Addresses,
    ) -> None:
        self._outbox, self._addresses, self.takes = outbox, addresses, addresses.takes
        self._store, self._journal, self._clock = store, journal, clock

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
            await self._journal.commit([PutIntent(kept), PutDelivery(fresh)])
        stored = await self._outbox.flush(intent.id, intent.user_id)
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
