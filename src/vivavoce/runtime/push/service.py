"""Notices: who takes them, when one is sent, and what its buttons do.

    event ─► noted, a row for each browser ─► due ─► still so? alone? ─► sealed, posted ─► sent

What happens is noted by the server that wrote the event, once for each browser of its user. A
notice waits while its user is in a call, where they hear it, and for a moment where a page of
theirs is open. When it is sent it is made anew from what is stored: what was told otherwise, or is
over, is not sent. A push service that is busy or away is asked again until the notice is of no use;
a browser that it does not know any more is forgotten.

A notice carries a key that works once, so that its buttons do something with the page closed.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
import secrets
from collections import Counter, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Literal, Protocol
from urllib.parse import urlsplit
from weakref import WeakValueDictionary

import orjson

from vivavoce.errors import (
    Conflict,
    InvalidRequest,
    NotFound,
    RateLimited,
    TokenExpired,
    Unauthorized,
    Unavailable,
    VivavoceError,
)
from vivavoce.language.en.notices import LATER_MINUTES, put_off
from vivavoce.logs import failure, fields
from vivavoce.retrying import doubling
from vivavoce.runtime.calls.approvals import Approvals
from vivavoce.runtime.calls.questions import Questions
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import Window
from vivavoce.runtime.people.plans import Agenda
from vivavoce.runtime.people.reminders import Reminders
from vivavoce.runtime.ports import Clock, Store
from vivavoce.runtime.push.notices import ANSWER, Notice, Notices, lasts
from vivavoce.runtime.push.sealing import PushKey, padded, point_of, sealed, secret_of
from vivavoce.runtime.tasks.service import Tasks
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import (
    ApprovalRequested,
    TaskCompleted,
    TaskDue,
    TaskFailed,
    TaskQuestion,
)
from vivavoce.wire.records.reach import OneTimeKey, PushMessage, PushSubscription
from vivavoce.wire.records.talk import Change, DropPush, LogEvent, Put, entry_id
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)

KEY = "nk_"
MOST_DEVICES = 10
_MOST_NOTED, _MOST_NOTED_OF_USER = 1000, 100  # events that wait to be looked at
_CLAIM = timedelta(seconds=15)
POST_SECONDS = 10.0
_PAGE = timedelta(seconds=10)
"""For a page that is open: it shows what there is, and says that it was seen."""
_AT_ONCE, _OF_USER = 32, 4
_LOOK_AGAIN = 1.0
"""Where somebody has as many on their way as one may have: what is due of others is seen then."""
_POLL_SECONDS = 30.0
"""For what other servers left behind."""
_FAULT_SECONDS = 5.0
_FIRST_WAIT, _LONGEST_WAIT = 5.0, 600.0
_LOOKED_BACK, _LOG_TAIL = timedelta(minutes=10), 5000
"""When it starts: what was written just before the last life ended is noted now."""
_GONE = (404, 410)
_LATER = (408, 425, 429)
_PREFIXES = {
    TaskDue.type: "due",
    ApprovalRequested.type: "approval",
    TaskQuestion.type: "question",
    TaskCompleted.type: "task",
    TaskFailed.type: "task",
}
_NAMES = {"due": "reminder_id", "approval": "approval_id", "question": "question_id"}

Action = Literal["done", "snooze", "yes", "no", "answer-0", "answer-1", "seen"]
Presence = Literal["call", "page", "none"]
"""Where somebody is: in a call, at a page of theirs that is open, or neither."""


class Allowed(Value):
    """An endpoint: where it is dialled, and the name that is the same however it is spelled."""

    url: str
    name: str


class Refused(Exception):
    """An address to which nothing is sent."""


class Post(Protocol):
    """One request to a push service. Raises `Refused` for an address that is not public and was
    not allowed, and `VivavoceError` where nobody answered."""

    async def __call__(self, url: str, headers: Mapping[str, str], body: bytes) -> int: ...


class Where(Protocol):
    """Where users are."""

    def near(self, user_id: str) -> bool:
        """In a call at this server, or at a page that is open."""
        ...

    async def of(self, user_id: str) -> Presence: ...


class Acted(Value):
    """What a button did. `said` is for the user, where there is something to say."""

    action: Action
    said: str = ""
    at: datetime | None = None


class Push:
    """One server's. Notices are noted by whoever wrote what they tell, and sent by anyone."""

    def __init__(
        self,
        *,
        store: Store,
        journal: Journal,
        clock: Clock,
        key: Callable[[], PushKey],
        post: Post,
        allowed: Callable[[str], Allowed],
        good: Callable[[PushSubscription], Awaitable[bool]],
        where: Where,
        agenda: Agenda,
        reminders: Reminders,
        work: Tasks,
        questions: Questions,
        approvals: Approvals,
        time_zone: str,
        per_hour: int = 60,
    ) -> None:
        """`key` is asked for when it is needed, in a thread. `allowed` raises `InvalidRequest` for
        an endpoint to which nothing would be sent. `good`: would whatever a browser subscribed
        with still open the door?"""
        self._store, self._journal, self._clock = store, journal, clock
        self._make_key, self._post, self._allowed, self._where = key, post, allowed, where
        self._good = good
        self._agenda, self._reminders, self._work = agenda, reminders, work
        self._questions, self._approvals = questions, approvals
        self._notices = Notices(store, work, questions, time_zone=time_zone)
        self._often = Window(per_hour, 3600, clock=clock, what="notices")
        self._key: PushKey | None = None
        self._making = asyncio.Lock()
        self._subscribing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._heard: deque[tuple[LogEvent, bool]] = deque()
        self._heard_of: Counter[str] = Counter()
        self._on_its_way: Counter[str] = Counter()
        """Of each user: notices that are being sent."""
        self._woken = asyncio.Event()
        for kind in _PREFIXES:
            journal.heed(kind, self._hear, lambda: False)

    # --- Browsers -----------------------------------------------------------------------

    async def public_key(self) -> str:
        return (await self._ready()).public

    async def devices(self, user_id: str) -> list[PushSubscription]:
        return await self._store.push_subscriptions(user_id=user_id)

    async def subscribe(
        self,
        user_id: str,
        endpoint: str,
        p256dh: str,
        auth: str,
        *,
        device: str,
        role: Role,
        token: str | None = None,
    ) -> PushSubscription:
        """Again is the same one, with what is said now. `token` is the name of the server's token
        that was shown. Raises `InvalidRequest`, `Conflict` where the browser is known as somebody
        else's with other keys, `RateLimited`."""
        allowed = self._allowed(endpoint)
        await asyncio.to_thread(point_of, p256dh)
        secret_of(auth)
        now = self._clock.now()
        wanted = PushSubscription(
            id=entry_id("push", allowed.name),
            user_id=user_id,
            endpoint=allowed.url,
            p256dh=p256dh,
            auth=auth,
            device=clean_line(device, 100),
            role=role,
            token=token,
            created_at=now,
            updated_at=now,
        )
        async with self._subscribing.setdefault(user_id, asyncio.Lock()):
            return await self._subscribed(wanted)

    async def _subscribed(self, wanted: PushSubscription) -> PushSubscription:
        user_id, changes = wanted.user_id, list[Change]()
        known = await self._store.push_subscription(wanted.id)
        if known is not None and known.user_id != user_id:
            # Whoever has the browser has its secret too; the address alone is not enough.
            if not secrets.compare_digest(known.auth, wanted.auth):
                raise Conflict("This browser is subscribed for another user.")
            changes.append(DropPush(known.id, known.user_id))
            known = None
        if known is None and len(await self.devices(user_id)) >= MOST_DEVICES:
            raise RateLimited(
                f"{MOST_DEVICES} browsers of yours take notices, as many as one user may have.",
                what="browsers",
                limit=MOST_DEVICES,
            )
        if changes:  # in a commit of its own: of one row a commit deletes last
            await self._journal.commit(changes)
        await self._journal.commit([Put(wanted)])
        return wanted if known is None else replace(wanted, created_at=known.created_at)

    async def unsubscribe(self, subscription_id: str, user_id: str) -> None:
        """Raises `NotFound`."""
        known = await self._store.push_subscription(subscription_id)
        if known is None or known.user_id != user_id:
            raise NotFound(f"There is no browser '{clean_line(subscription_id, 64)}'.")
        await self._journal.commit([DropPush(known.id, user_id)])

    # --- Buttons ------------------------------------------------------------------------

    async def act(self, key: str, action: Action) -> Acted:
        """What a button of a notice does, once. Raises `Unauthorized`, `TokenExpired`,
        `InvalidRequest` for a button that it does not have, and what the deed itself raises."""
        taken = None
        if key.startswith(KEY):
            taken = await self._store.take_key(_digest(key), "push")
        if taken is None:
            raise Unauthorized("The notice's key is not valid, or was used already")
        if self._clock.now() >= taken.expires_at:
            raise TokenExpired("This notice is too old to answer")
        about, user_id = str(taken.data["about"]), taken.user_id
        await self._check_browser(taken)
        kind, _, name = about.partition(":")
        role: Role = taken.data["role"]
        if action == "seen":
            await self._reminders.told(about, user_id)
            await self._work.told(about, user_id)
            return Acted(action)
        match kind, action:
            case "due", "done":
                await self._agenda.done(taken.data["task_id"], user_id)
                await self._reminders.told(about, user_id)
                return Acted(action)
            case "due", "snooze":
                return await self._snooze(taken, name)
            case "approval", "yes" | "no":
                granted = action == "yes"
                await self._approvals.resolve(name, user_id, granted=granted, by="click", role=role)
                return Acted(action)
            case "question", "answer-0" | "answer-1":
                choices = taken.data.get("choices", [])
                number = int(action.removeprefix(ANSWER))
                if number < len(choices):
                    await self._answer(taken, name, str(choices[number]), role)
                    return Acted(action)
        raise InvalidRequest(f"This notice has no button '{action}'", field="action")

    async def _check_browser(self, taken: OneTimeKey) -> None:
        """A browser that takes no more notices answers none either: it may be lost, or somebody
        else's by now. Raises `Unauthorized`."""
        to = await self._store.push_subscription(str(taken.data["subscription"]))
        if to is None or to.user_id != taken.user_id or not await self._good(to):
            raise Unauthorized("The notice is of a browser that takes no more of them")

    async def _snooze(self, taken: OneTimeKey, reminder_id: str) -> Acted:
        found = await self._store.reminders_named([reminder_id])
        if not found or found[0].user_id != taken.user_id:
            raise NotFound("There is no such reminder.")
        now, zone = self._clock.now(), await self._notices.zone(taken.user_id)
        at = now + timedelta(minutes=LATER_MINUTES)
        await self._agenda.put_off(found[0].task_id, taken.user_id, of=found[0].due_at, to=at)
        await self._reminders.told(f"due:{reminder_id}", taken.user_id)
        return Acted("snooze", put_off(at, now=now, time_zone=zone), at)

    async def _answer(self, taken: OneTimeKey, question_id: str, words: str, role: Role) -> None:
        task_id, user_id = str(taken.data["task_id"]), taken.user_id
        given: dict[str, Any] = {"question_id": question_id, "role": role}
        if task_id in self._questions.open_for(user_id):
            self._questions.answer(task_id, user_id, words, **given)
            return
        try:
            await self._work.answer(task_id, user_id, words, **given)
        except NotFound:
            if not await self._questions.answer_elsewhere(task_id, user_id, words, **given):
                raise

    # --- Noting -------------------------------------------------------------------------

    def _hear(self, event: LogEvent) -> None:
        """At once, before anybody is told otherwise: was there nobody to tell?"""
        if len(self._heard) >= _MOST_NOTED or self._heard_of[event.user_id] >= _MOST_NOTED_OF_USER:
            log.warning("Too much happens at once for all of it to become notices")
            return
        self._heard.append((event, not self._where.near(event.user_id)))
        self._heard_of[event.user_id] += 1
        self._woken.set()

    async def _note(self) -> None:
        while self._heard:
            event, alone = self._heard[0]
            try:
                await self._noted(event, alone)
            except Unavailable:
                raise  # the store is away: once it is back
            except Exception as fault:  # one that fails must not hold up the others
                log.error("A notice could not be noted", extra=failure(fault))
            self._heard.popleft()
            self._heard_of[event.user_id] -= 1
            self._heard_of += Counter()  # forgets who has none

    async def _noted(self, event: LogEvent, alone: bool) -> None:
        found = await self._store.push_subscriptions(user_id=event.user_id)
        if not found:
            return
        said = orjson.loads(event.data)
        prefix = _PREFIXES[event.type]
        if said.get("cancelled"):
            return  # by its user, who knows
        name = str(said[_NAMES.get(prefix, "task_id")])
        now = self._clock.now()
        kept = {k: said[k] for k in ("task_id", "question", "choices") if k in said}
        expires_at = event.at + lasts(prefix)
        if "expires_at" in said:
            expires_at = min(expires_at, datetime.fromisoformat(said["expires_at"]))
        if expires_at <= now:
            return
        try:
            self._often.check(event.user_id)
        except RateLimited:
            log.warning("A user has had as many notices as one may have in an hour")
            return
        about = f"{prefix}:{name}"
        await self._journal.commit(
            [
                Put(
                    PushMessage(
                        id=entry_id(one.id, about),
                        user_id=event.user_id,
                        subscription_id=one.id,
                        about=about,
                        created_at=now,
                        updated_at=now,
                        due_at=now,
                        expires_at=expires_at,
                        data=kept | {"alone": alone},
                    )
                )
                for one in found
            ]
        )

    async def _catch_up(self) -> None:
        bounds = await self._store.log_bounds()
        after = max(bounds.oldest - 1, bounds.latest - _LOG_TAIL, 0)
        since = self._clock.now() - _LOOKED_BACK
        while True:
            page = await self._store.events(after=after, limit=500, upto=bounds.latest)
            for event in page:
                if event.type in _PREFIXES and event.at >= since:
                    await self._noted(event, alone=False)
            if len(page) < 500:
                return
            after = page[-1].position

    # --- Sending ------------------------------------------------------------------------

    async def run(self) -> None:
        """For ever."""
        begun = False
        async with asyncio.TaskGroup() as sending:
            while True:
                try:
                    if not begun:
                        await self._catch_up()
                        begun = True
                    self._woken.clear()
                    await self._note()
                    wait = await self._round(sending)
                except Exception as fault:  # the boundary of this task: the store may be away
                    log.error("Notices could not be looked at", extra=failure(fault))
                    wait = _FAULT_SECONDS
                await self._pause(wait)

    async def _round(self, sending: asyncio.TaskGroup) -> float:
        """Send what is due; how long until there is more to do. A push service may keep us waiting,
        and it is its user who named it: nobody waits for another's, and nobody has all places."""
        now, busy = self._clock.now(), self._on_its_way
        free = _AT_ONCE - busy.total()
        full = [user_id for user_id, count in busy.items() if count >= _OF_USER]
        if free <= 0:
            return _POLL_SECONDS  # or until one has been sent
        due = await self._store.claim_pushes(
            now=now, until=now + _CLAIM, limit=free, of_user=_OF_USER, but=full
        )
        for message in due:
            self._on_its_way[message.user_id] += 1
            sending.create_task(self._send_quietly(message), name="notice")
        if due:
            return 0.0
        if full:
            return _LOOK_AGAIN
        coming = await self._store.next_push()
        if coming is None:
            return _POLL_SECONDS
        return min(_POLL_SECONDS, max(0.05, (coming - self._clock.now()).total_seconds()))

    async def _pause(self, seconds: float) -> None:
        if seconds <= 0 or self._woken.is_set():
            return
        async with asyncio.TaskGroup() as group:
            sleep = group.create_task(self._clock.sleep(seconds))
            woken = group.create_task(self._woken.wait())
            await asyncio.wait((sleep, woken), return_when=asyncio.FIRST_COMPLETED)
            sleep.cancel()
            woken.cancel()

    async def _send_quietly(self, message: PushMessage) -> None:
        try:
            await self._send(message)
        except Exception as fault:  # one that fails must not hold up the others
            log.error("A notice failed", extra=failure(fault, message=message.id))
        finally:
            self._on_its_way[message.user_id] -= 1
            self._on_its_way += Counter()  # forgets who has none
            self._woken.set()

    async def _send(self, message: PushMessage) -> None:
        to = await self._store.push_subscription(message.subscription_id)
        if to is None:
            return  # it went with its browser
        if not await self._good(to):
            log.info("A browser's token opens nothing any more", extra=fields(subscription=to.id))
            await self._journal.commit([DropPush(to.id, to.user_id)])
            return
        now = self._clock.now()
        if now >= message.expires_at:
            await self._settle(message, "dropped", "too late")
            return
        if await self._told_otherwise(message, now):
            return  # whoever claimed it looks again
        notice = await self._notices.of(message, to.role, now)
        if notice is None:
            await self._settle(message, "dropped", "over, or told otherwise")
            return
        status, why = await self._posted(message, notice, to)
        if status in _GONE:
            log.info("A browser takes no more notices", extra=fields(subscription=to.id))
            await self._journal.commit([DropPush(to.id, to.user_id)])
        elif 200 <= status < 300:
            await self._settle(message, "sent")
        elif status in _LATER or status >= 500 or status == 0:
            await self._again(message, why or f"{urlsplit(to.endpoint).hostname}: {status}")
        else:
            host = urlsplit(to.endpoint).hostname
            log.error("A push service takes no notices", extra=fields(status=status, host=host))
            await self._settle(message, "dropped", why or f"{host}: {status}")

    async def _told_otherwise(self, message: PushMessage, now: datetime) -> bool:
        """Is its user where they hear or see it, so that it has to wait?"""
        if message.data.get("alone") and not message.attempts:
            return False
        where = await self._where.of(message.user_id)
        return where == "call" or (where == "page" and now - message.created_at < _PAGE)

    async def _posted(
        self, message: PushMessage, notice: Notice, to: PushSubscription
    ) -> tuple[int, str]:
        """What the push service answered, 0 for nothing; and why, where that is known."""
        own, now = await self._ready(), self._clock.now()
        value = KEY + secrets.token_urlsafe(32)
        data = {**message.data, **dict(notice.ids)}
        data |= {"about": message.about, "role": to.role, "subscription": to.id}
        data.pop("question", None)
        key = OneTimeKey(
            digest=_digest(value),
            user_id=to.user_id,
            purpose="push",
            created_at=now,
            expires_at=notice.expires_at,
            data=data,
        )
        await self._journal.commit([Put(key)])
        plain = padded(orjson.dumps(notice.payload(message.id, value)))
        body = await asyncio.to_thread(sealed, plain, to.p256dh, to.auth)
        headers = {
            "Content-Type": "application/octet-stream",
            "Content-Encoding": "aes128gcm",
            "TTL": str(max(0, int((notice.expires_at - now).total_seconds()))),
            "Urgency": "high" if notice.urgent else "normal",
            # Of two that say the same, the later takes the place of the other (RFC 8030 §5.4).
            "Topic": hashlib.sha256(message.about.encode()).hexdigest()[:32],
            **own.headers(to.endpoint, now),
        }
        try:
            async with asyncio.timeout(POST_SECONDS):
                return await self._post(to.endpoint, headers, body), ""
        except TimeoutError:
            return 0, f"no answer within {POST_SECONDS:g} seconds"
        except Refused:
            return 400, "an address to which nothing is sent"
        except VivavoceError as fault:
            return 0, clean_line(fault.message, 200)

    async def _settle(self, message: PushMessage, status: Any, error: str | None = None) -> None:
        """Its words go with it: they were said, or need not be."""
        done = replace(
            message,
            status=status,
            attempts=message.attempts + 1,
            last_error=error,
            data={},
            updated_at=self._clock.now(),
        )
        await self._journal.commit([Put(done)])

    async def _again(self, message: PushMessage, why: str) -> None:
        tries, now = message.attempts + 1, self._clock.now()
        wait = timedelta(seconds=doubling(tries, _FIRST_WAIT, _LONGEST_WAIT))
        later = replace(message, attempts=tries, due_at=now + wait, last_error=why, updated_at=now)
        await self._journal.commit([Put(later)])

    async def _ready(self) -> PushKey:
        async with self._making:
            if self._key is None:
                self._key = await asyncio.to_thread(self._make_key)
            return self._key


def _digest(value: str) -> str:
    return hashlib.sha256(value.encode()).hexdigest()
