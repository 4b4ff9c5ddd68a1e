"""The only way to write and to announce: durable first, then heard by all. And audited: what a
change says that somebody did goes into the trail in the same commit, and to the log.

The journal owns the order of publication. Subscribers see positions rising
by one, whichever task's commit returns first and whichever process wrote: a
batch that does not follow what was published last is read back from the
store, with what lies before it. Frames are encoded once for all readers.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from dataclasses import replace
from datetime import datetime

import orjson

from vivavoce.errors import OutcomeUnknown, RateLimited, Unavailable
from vivavoce.language.en.numbers import redact_encoded, redact_said
from vivavoce.logs import fields
from vivavoce.runtime.journal.streams import Filter, Subscription, Tell
from vivavoce.runtime.ports import Clock, LogBounds, Store
from vivavoce.wire.clean import clean_line
from vivavoce.wire.events import Heartbeat, StreamReset, VoiceEvent, to_log
from vivavoce.wire.records.plans import AccessToken, Delivery, Goal, Person, Todo
from vivavoce.wire.records.talk import (
    Announce,
    Audited,
    CallStatus,
    Change,
    DropConversation,
    LogEvent,
    Put,
    PutSession,
    Settle,
    ToolCall,
)
from vivavoce.wire.records.work import ROLES, Approval, ApprovalStatus, AuditLine, digest_of
from vivavoce.wire.values import Value

log = logging.getLogger(__name__)
trail = logging.getLogger("vivavoce.audit")


class Asking(Value):
    """The request that is being served, for the audit: from where, and who asks, as far as that
    is known."""

    address: str = ""
    request_id: str = ""
    role: str = ""
    token: str = ""


_NOBODY = Asking()
ASKING: ContextVar[Asking] = ContextVar("asking", default=_NOBODY)
_SERVERS = frozenset({"session.moved", "provider.changed", "task.due"})
"""What no user did: a session went to another server or provider, something came due."""
_HOW = ("reason", "owner", "left_by", "provider", "previous", "reminder_id")
_SHOWN = 200  # characters

HEARTBEAT_SECONDS = 30.0  # seed 003 §5.4
_RETRY_SECONDS = 1.0

SessionActive = Callable[[str, str | None], bool]
"""Is a session of this user live; the named one, or any?"""

Act = Callable[[LogEvent], None]


class Journal:
    """Commits to the store, publishes to subscribers, replays for the late ones."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        *,
        session_active: SessionActive = lambda user_id, session_id: False,
        queue: int = 256,
        page: int = 200,
        heartbeat: float = HEARTBEAT_SECONDS,
        max_streams: int = 1000,
        user_streams: int = 0,
    ) -> None:
        self._store = store
        self._clock = clock
        self._session_active = session_active
        self._queue = queue
        self._page = page
        self._heartbeat = heartbeat
        self._max_streams, self._user_streams = max_streams, user_streams
        self._of_user: Counter[str] = Counter()
        self._index: dict[tuple[str, str | None], set[Subscription]] = {}
        self._streams = 0
        self._heeded: dict[str, list[tuple[Act, Callable[[], bool]]]] = {}
        self._position = -1
        self._lock = asyncio.Lock()
        self._doubt = asyncio.Event()
        self._closed = asyncio.Event()

    async def open(self) -> None:
        """Find the end of the log; what is there already is not news."""
        async with self._lock:
            if self._position < 0:
                self._position = (await self._store.log_bounds()).latest

    async def run(self) -> None:
        """The background of the journal: others' commits and the heartbeat, until `close`."""
        await self.open()
        async with asyncio.TaskGroup() as group:
            loops = [
                group.create_task(loop(), name=f"journal.{loop.__name__}")
                for loop in (self._tail, self._listen, self._tick)
            ]
            await self._closed.wait()
            for task in loops:
                task.cancel()

    def close(self) -> None:
        """Ends every stream. Sessions end before, the listener after."""
        self._closed.set()
        for subscription in [s for group in self._index.values() for s in group]:
            subscription.close()

    # --- Writing ------------------------------------------------------------------

    async def commit(self, changes: Sequence[Change]) -> list[LogEvent]:
        """Returns, and announces, when the changes are on disk."""
        if self._position < 0:
            await self.open()
        before = self._position
        found = audited(changes, self._clock.now())
        lines = [*(one.line for one in changes if isinstance(one, Audited)), *found]
        changes = [*map(_written_by, changes), *map(Audited, found)]
        try:
            events = await self._store.commit(changes)
        except OutcomeUnknown:
            events = await self._find_out(changes, before)
        except BaseException:
            # A commit that was cancelled, or failed on the way back, may be durable all the
            # same: look, or its events would wait for the next commit.
            self._doubt.set()
            raise
        for line in lines:
            trail.info(
                "Audit",
                extra=fields(
                    action=line.action,
                    subject=line.what,
                    outcome=line.outcome,
                    user_id=line.user_id,
                    address=line.address,
                    role=line.role,
                    token_name=line.token,
                    request_id=line.request_id,
                    digest=line.digest,
                ),
            )
        if events:
            await self._announce(events)
        return events

    async def audit(self, action: str, what: str, outcome: str, user_id: str = "") -> None:
        """For what somebody did, or was refused, that changes no record."""
        line = audit_line(action, what, outcome, user_id, self._clock.now())
        await self.commit([Audited(line)])

    async def _find_out(self, changes: Sequence[Change], before: int) -> list[LogEvent]:
        """A commit whose answer was lost: look whether it is there, or announcing it again
        would tell everything twice. Raises `Unavailable` when it is not."""
        told = [change.event for change in changes if isinstance(change, Announce)]
        while told:
            try:
                # Behind it in the queue of writers: what was on its way has come, or never will.
                await self._store.commit([])
                found = await self._store.events(
                    after=before, limit=self._page * 10, user_id=told[0].user_id
                )
            except Unavailable:
                await self._clock.sleep(_RETRY_SECONDS)
                continue
            marks = [(event.type, event.data, event.at) for event in found]
            wanted = [(event.type, _kept(event.data), event.at) for event in told]
            for start in range(len(marks) - len(wanted) + 1):
                if marks[start : start + len(wanted)] == wanted:
                    return found[start : start + len(wanted)]
            break
        raise Unavailable("The store went away before this was written.")

    def publish_ephemeral(
        self, event: VoiceEvent, *, user_id: str, conversation_id: str | None = None
    ) -> None:
        """Heard by those who listen now; never stored."""
        if not self._streams:
            return
        readers = self._readers(user_id, event.session_id, event.type)
        if readers:
            _offer(readers, to_log(event, user_id=user_id, conversation_id=conversation_id))

    async def _announce(self, events: list[LogEvent]) -> None:
        first, last = events[0].position, events[-1].position
        if first == self._position + 1 and last == self._position + len(events):
            self._publish(events)
            return
        try:
            await self._catch_up(last)
        except Exception:
            # The writer has what it came for; the tail tries again.
            log.warning("Reading the log back failed", exc_info=True)
            self._doubt.set()
        except BaseException:
            self._doubt.set()
            raise

    async def _catch_up(self, upto: int) -> None:
        """Publish from the store up to a position that is known to be committed."""
        async with self._lock:
            # As long as anybody here wants to know what others wrote.
            while self._position < upto and (
                self._streams
                or any(needed() for each in self._heeded.values() for _, needed in each)
            ):
                events = await self._store.events(after=self._position, limit=self._page, upto=upto)
                self._publish(events)
                if len(events) < self._page:
                    break
            self._position = max(self._position, upto)

    def _publish(self, events: Iterable[LogEvent]) -> None:
        for event in events:
            if event.position > self._position:
                readers = self._readers(event.user_id, event.session_id, event.type)
                if readers:
                    _offer(readers, event)
                for act, _ in self._heeded.get(event.type, ()):
                    act(event)
                self._position = event.position

    def _readers(self, user_id: str, session_id: str | None, kind: str) -> list[Subscription]:
        keys = {(user_id, None), (user_id, session_id)}
        return [s for key in keys for s in self._index.get(key, ()) if s.wants(kind)]

    # --- Reading ------------------------------------------------------------------

    def heed(self, kind: str, act: Act, needed: Callable[[], bool]) -> None:
        """`act`, at once and without waiting, on every event of this kind, whichever process
        wrote it; others' are read while they are `needed`."""
        self._heeded.setdefault(kind, []).append((act, needed))

    def subscribe(
        self, only: Filter, *, after: int | None = None, follow: bool = True
    ) -> Subscription:
        """Live from now; with `after`, first all that was stored since that position.

        Without `follow` the stream ends where the log ends now, and begins at
        its oldest event unless `after` says otherwise.
        """
        if self._position < 0:
            raise RuntimeError("Open the journal before subscribing")
        self.check_room(only.user_id)
        subscription = Subscription(self, only, after=after, follow=follow, limit=self._queue)
        self._index.setdefault((only.user_id, only.session_id), set()).add(subscription)
        self._streams += 1
        self._of_user[only.user_id] += 1
        if self._closed.is_set():
            subscription.close()
        return subscription

    def watched(self, user_id: str) -> bool:
        """Has this user an event stream open here?"""
        return self._of_user[user_id] > 0

    def check_room(self, user_id: str) -> None:
        """Raises `Unavailable` or `RateLimited` where there is none for another stream."""
        if self._streams >= self._max_streams:
            raise Unavailable("Too many event streams are open", retry_after_ms=5000)
        if 0 < self._user_streams <= self._of_user[user_id]:
            raise RateLimited(
                f"You have {self._user_streams} event streams open, as many as one user may have.",
                what="streams",
                limit=self._user_streams,
                retry_after_ms=5000,
            )

    @property
    def position(self) -> int:
        """Of the last event that was published."""
        return self._position

    @property
    def streams(self) -> int:
        """How many are open, for /status."""
        return self._streams

    async def bounds(self) -> LogBounds:
        """What the store holds, all of it published. A swept log begins after its end."""
        bounds = await self._store.log_bounds()
        await self._catch_up(bounds.latest)
        return LogBounds(oldest=bounds.oldest or bounds.latest + 1, latest=bounds.latest)

    async def page(self, only: Filter, *, after: int, upto: int) -> tuple[list[LogEvent], int]:
        events = await self._store.events(
            after=after,
            limit=self._page,
            user_id=only.user_id,
            session_id=only.session_id,
            upto=upto,
        )
        return events, upto if len(events) < self._page else events[-1].position

    def reset(self, only: Filter, requested: int, bounds: LogBounds) -> bytes:
        """The explicit end of a resume that cannot be. It carries the latest position as its
        id, or a client that reconnects at once would be reset again."""
        event = StreamReset(
            session_id=only.session_id,
            timestamp=self._clock.now(),
            reason="position_gone" if 0 <= requested < bounds.oldest else "position_unknown",
            requested=max(requested, 0),
            oldest=bounds.oldest,
            latest=bounds.latest,
        )
        frame = only.tell(to_log(event, user_id=only.user_id, conversation_id=None))
        return b"%b\nid: %d\n\n" % (frame.rstrip(b"\n"), bounds.latest)

    def forget(self, subscription: Subscription) -> None:
        key = (subscription.only.user_id, subscription.only.session_id)
        group = self._index.get(key, set())
        if subscription in group:
            group.remove(subscription)
            self._streams -= 1
            self._of_user[key[0]] -= 1
            self._of_user += Counter()  # forgets who has none
            if not group:
                del self._index[key]

    # --- The background -------------------------------------------------------------

    def beat(self) -> None:
        """A heartbeat to every stream, whatever it subscribed to."""
        now = self._clock.now()
        for (user_id, session_id), group in self._index.items():
            active = self._session_active(user_id, session_id)
            event = Heartbeat(session_id=session_id, timestamp=now, session_active=active)
            _offer(group, to_log(event, user_id=user_id, conversation_id=None))

    async def _tick(self) -> None:
        while True:
            await self._clock.sleep(self._heartbeat)
            self.beat()
            self._doubt.set()  # a look now and then, should a wake-up ever be lost

    async def _listen(self) -> None:
        while True:
            try:
                async for _ in self._store.foreign_commits():
                    self._doubt.set()
                return  # nobody else writes to this store
            except Exception:
                log.warning("Listening for commits of others failed", exc_info=True)
                await self._clock.sleep(_RETRY_SECONDS)
                self._doubt.set()

    async def _tail(self) -> None:
        while True:
            await self._doubt.wait()
            self._doubt.clear()
            try:
                await self._catch_up((await self._store.log_bounds()).latest)
            except Exception:
                log.warning("Following the log failed", exc_info=True)
                await self._clock.sleep(_RETRY_SECONDS)
                self._doubt.set()


def _kept(data: bytes) -> bytes:
    """As the store has it."""
    return redact_encoded(data.decode(errors="replace")).encode()


def _offer(readers: Iterable[Subscription], event: LogEvent) -> None:
    """Encoded once for all who read the same words."""
    frames: dict[Tell, bytes] = {}
    for reader in readers:
        tell = reader.only.tell
        frame = frames.get(tell)
        if frame is None:
            frame = frames[tell] = tell(event)
        if frame:
            reader.offer(frame)


# --- The audit


def _written_by(change: Change) -> Change:
    """What a lesser token has written stays known as that, whoever writes to it later."""
    role = ASKING.get().role
    match change:
        case Put(Goal() | Todo() | Person() as record, only) if role in ROLES:
            least = min(record.role, role, key=ROLES.index)
            only = (*only, "role") if only else only
            return replace(change, record=replace(record, role=least), only=only)
        case _:
            return change


def audited(changes: Sequence[Change], now: datetime) -> list[AuditLine]:
    """Who did what, as these changes say: sessions and where they went, calls, answers to requests,
    deletions, tokens."""
    found: list[AuditLine] = []
    for change in changes:
        match change:
            case PutSession(session, new=True):
                what = f"{session.agent} {session.id}"
                found.append(audit_line("session", what, "begun", session.user_id, now))
            case Put(ToolCall() as call) if call.status is not CallStatus.STARTED:
                found.append(_called(call, now))
            case Put(Approval() as asked) | Settle(asked):
                if asked.status is not ApprovalStatus.PENDING:
                    found.append(_answered(asked, now))
            case Put(Person() as person):
                found.append(audit_line("profile", "preferences", "changed", person.id, now))
            case Put(AccessToken() as token):
                done = "made" if token.revoked_at is None else "revoked"
                found.append(audit_line("token", f"{token.name}, for {token.role}", done, "", now))
            case Put(Delivery(action="due") as sent) if sent.status != "pending":
                found.append(audit_line("delivery", sent.intent_id, sent.status, sent.user_id, now))
            case Announce(LogEvent(type=kind) as event) if kind in _SERVERS:
                what = f"{kind} {event.session_id or ''}".strip()
                found.append(audit_line("server", what, _how(event), event.user_id, now))
            case DropConversation(conversation_id, user_id):
                what = f"conversation {conversation_id}"
                found.append(audit_line("deletion", what, "deleted", user_id, now))
            case _:
                pass
    return found


def _how(event: LogEvent) -> str:
    """Names and reasons of ours, and nothing that was said."""
    data = orjson.loads(event.data)
    parts = [f"{name} {data[name]}" for name in _HOW if data.get(name)]
    return ", ".join(parts) or "done"


def _called(call: ToolCall, now: datetime) -> AuditLine:
    digest = digest_of(call.arguments)
    outcome = f"{call.status.value}, asked for by {call.origin}"
    return audit_line("tool", call.tool, outcome, call.user_id, now, digest)


def _answered(asked: Approval, now: datetime) -> AuditLine:
    digest = digest_of(asked.arguments)
    if asked.revoked_at is not None:
        what = f"{asked.tool} {asked.id}"
        return audit_line("grant", what, "taken back", asked.user_id, now, digest)
    far = f", {asked.reach}" if asked.reach else ""
    outcome = f"{asked.status.value} by {asked.resolved_by}{far}"
    return audit_line("approval", f"{asked.tool} {asked.id}", outcome, asked.user_id, now, digest)


def audit_line(
    action: str, what: str, outcome: str, user_id: str, now: datetime, digest: str = ""
) -> AuditLine:
    """Of whoever asks now. Into the trail it goes with a commit, as `Audited`."""
    asking = ASKING.get()
    return AuditLine(
        at=now,
        action=action,
        what=clean_line(redact_said(what), _SHOWN),
        outcome=clean_line(redact_said(outcome), _SHOWN),
        user_id=clean_line(user_id, _SHOWN),
        address=clean_line(asking.address, _SHOWN),
        role=asking.role,
        token=clean_line(asking.token, _SHOWN),
        request_id=clean_line(asking.request_id, _SHOWN),
        digest=digest,
    )
