"""The outbox: what the backend has to be told, kept until it has answered.

A delivery is durable before the first attempt. Those of one intent go out in their
order, with the same key each time; a backend that is down is asked again, longer
and longer apart, for seven days. Several servers on one database take what is due
from each other by moving `due_at`; where two still meet, the key makes it one. What
has no address here is left to a server that has it, until its days are over.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, TypeVar
from weakref import WeakValueDictionary

from vivavoce.errors import IntentRefused, OrchestratorUnavailable
from vivavoce.intents import records as write
from vivavoce.intents.delivery.http import Delivered, Later, Refused, Sender, Verdict
from vivavoce.intents.ports import IntentStore, Journal
from vivavoce.logs import failure, fields
from vivavoce.retrying import doubling
from vivavoce.runtime.people.plans import taken_back
from vivavoce.runtime.ports import Clock
from vivavoce.wire.clean import clean_line
from vivavoce.wire.records.plans import Delivery, Intent, IntentStatus
from vivavoce.wire.records.talk import Change, Conversation, Put
from vivavoce.wire.records.work import Json

log = logging.getLogger(__name__)

CLAIM_SECONDS = 30.0
"""How long one who took a delivery has it for itself at least."""
_SPARE_SECONDS = 15.0  # of that, beyond what an attempt may take
AT_ONCE = 8
_LOOKED_AT = 500  # at a time
POLL_SECONDS = 60.0  # for what other servers left behind
_AHEAD = timedelta(days=2)  # more than anyone is made to wait
_FAULT_SECONDS = 5.0
FIRST_WAIT = 2.0
LONGEST_WAIT = 900.0
GIVE_UP = timedelta(days=7)
_ID = 128
_T = TypeVar("_T")
UrlOf = Callable[[Delivery], str | None]
"""Where it goes; None is nowhere that this server knows now."""


class Outbox:
    """Delivers, now for one who waits (`flush`), and by itself (`running`)."""

    def __init__(
        self,
        store: IntentStore,
        journal: Journal,
        clock: Clock,
        sender: Sender,
        url_of: UrlOf,
        *,
        chance: Callable[[], float] = random.random,
        patience: float = 0.0,
    ) -> None:
        """`patience`: how long the sender may wait for an answer."""
        self._store, self._journal, self._clock = store, journal, clock
        self._sender, self._url_of, self._chance = sender, url_of, chance
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
                        "be tried again",
                        kept=True,
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
            now = self._clock.now()
            due = now + timedelta(seconds=self.claim)
            delivery = replace(delivery, due_at=due, updated_at=now)
            await self._journal.commit([Put(delivery)])
        url = self._url_of(delivery)
        verdict: Verdict = Later("no address for it in this agent")
        if url is not None:
            verdict = await self._sender.send(url, delivery)
        if isinstance(verdict, Later) and _given_up(delivery, self._clock.now()):
            verdict = Refused(f"Given up after {GIVE_UP.days} days: {verdict.why}")
        return verdict, await self._settle(delivery, verdict)

    async def _settle(self, delivery: Delivery, verdict: Verdict) -> bool:
        # Read again: the user may have said more while the backend was thinking.
        intent = await self._store.intent(delivery.intent_id, user_id=delivery.user_id)
        others = await self._store.deliveries(delivery.intent_id)
        if all(other.id != delivery.id for other in others):
            return False  # all of its user's was deleted meanwhile: it does not come back
        now = self._clock.now()
        match verdict:
            case Later():
                changes = _postponed(delivery, verdict, intent, now, self._chance())
            case Refused():
                changes = _refused(delivery, verdict, intent, others, now)
            case Delivered():
                place = None
                if intent is not None:
                    place = await self._store.conversation(
                        intent.conversation_id, user_id=intent.user_id
                    )
                changes = _delivered(delivery, verdict, intent, others, place, now)
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
            if stranded > self._stranded:
                # Once, until there are more of them: another server here may be theirs.
                log.error("Messages wait that have no address here", extra=fields(count=stranded))
            self._stranded = stranded
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
            ours += [d for d in page if self._url_of(d) is not None or _given_up(d, now)]
            seen += len(page)
            if len(page) < _LOOKED_AT or len(ours) >= AT_ONCE:
                return ours[:AT_ONCE], seen - len(ours)
            last = page[-1]

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


# --- What an answer means for a delivery and its intent. No I/O -----------------------------
# Deliveries of one intent are answered in their order; an answer to an earlier one never undoes
# what the user has said since.


def backoff(attempts: int, chance: float) -> float:
    """Seconds after this many attempts: twice as long each time, between a half and the whole."""
    return doubling(attempts, FIRST_WAIT, LONGEST_WAIT) * (0.5 + 0.5 * chance)


def _postponed(
    delivery: Delivery, verdict: Later, intent: Intent | None, now: datetime, chance: float
) -> list[Change]:
    """Tried again later. The first time it is told; after that only how it ended is."""
    wait = max(backoff(delivery.attempts + 1, chance), verdict.after or 0.0)
    why, due = clean_line(verdict.why, write.WORDS), now + timedelta(seconds=wait)
    changes: list[Change] = [_settled(delivery, now, last_error=why, due_at=due)]
    if not delivery.attempts and intent is not None:
        words = "The backend does not answer; it is kept and tried again."
        if delivery.action != "retract":
            changes.append(write.told_submitted(intent, now))
        changes.append(write.told_error(intent, write.UNREACHED, words, now))
    return changes


def _given_up(delivery: Delivery, now: datetime) -> bool:
    return now - delivery.created_at >= GIVE_UP


def _delivered(
    delivery: Delivery,
    verdict: Delivered,
    intent: Intent | None,
    others: Sequence[Delivery],
    place: Conversation | None,
    now: datetime,
) -> list[Change]:
    """`others`: all deliveries of this intent; an earlier answer may have named what came of it."""
    done = _settled(delivery, now, status="delivered", answer=verdict.answer, last_error=None)
    if intent is None:
        return [done]
    answers = [verdict.answer, *(d.answer for d in reversed(others) if d.answer)]
    intent = replace(
        intent,
        goal_id=_named(answers, "goal_id") or intent.goal_id,
        task_id=_named(answers, "task_id") or intent.task_id,
        evidence=tuple(_of(delivery, "evidence", list, [])) or intent.evidence,
        updated_at=now,
    )
    if delivery.action == "retract":
        intent = replace(intent, status=IntentStatus.RETRACTED, error=None)
        return [done, *taken_back(intent, now)]
    if _revision(delivery) < intent.revision or intent.status is IntentStatus.RETRACTED:
        return [done]  # an amendment of it is still on its way
    intent = replace(intent, status=IntentStatus.ACCEPTED, error=None)
    return [done, *write.accepted(intent, place, now, linked=False)]


def _refused(
    delivery: Delivery,
    verdict: Refused,
    intent: Intent | None,
    others: Sequence[Delivery],
    now: datetime,
) -> list[Change]:
    """`others`: all deliveries of this intent, oldest first. What the backend accepted last before
    an amendment that it refuses holds; the record goes back to it."""
    words = clean_line(verdict.words, write.WORDS)
    done = _settled(delivery, now, status="refused", answer=verdict.answer, last_error=words)
    if intent is None:
        return [done]
    told = write.told_error(intent, write.INVALID, words, now)
    if delivery.action == "retract" or _revision(delivery) < intent.revision:
        return [done, told]
    held = [d for d in others if d.status == "delivered" and d.action != "retract"]
    if delivery.action == "amend" and held:
        intent = replace(
            intent,
            # Not `previous` of this one: that may have been refused itself.
            payload=_of(held[-1], "payload", dict, {}) or intent.payload,
            status=IntentStatus.ACCEPTED,
            revision=intent.revision + 1,
            error=words,
            updated_at=now,
        )
    else:
        intent = replace(intent, status=IntentStatus.FAILED, error=words, updated_at=now)
    return [done, Put(intent), write.told_submitted(intent, now), told]


def _settled(delivery: Delivery, now: datetime, **outcome: Any) -> Put:
    """After one more attempt."""
    return Put(replace(delivery, attempts=delivery.attempts + 1, updated_at=now, **outcome))


def _named(answers: Sequence[Json], key: str) -> str | None:
    found = [a[key] for a in answers if isinstance(a.get(key), str | int)]
    return clean_line(str(found[0]), _ID) or None if found else None


def _of(delivery: Delivery, key: str, kind: type[_T], otherwise: _T) -> _T:
    """What its message says, if it is of that kind."""
    value = delivery.body.get(key)
    return value if isinstance(value, kind) else otherwise


def _revision(delivery: Delivery) -> int:
    return _of(delivery, "revision", int, 0)
