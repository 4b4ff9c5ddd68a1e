"""The stored side of sessions and conversations: lists, transcripts, tracked records, clients'
copies, updates, messages, search; and conversations as people lead them (seed 004).

Owns what the Conversations API decides. Sessions that are live are `voice.py`'s. Knows nothing
of HTTP.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from weakref import WeakValueDictionary

from vivavoce.errors import NotFound, SessionNotFound, found
from vivavoce.language.en.gist import Gist, gist_of
from vivavoce.language.en.numbers import redact_said
from vivavoce.logs import fields
from vivavoce.runtime.ids import SessionIds
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import Shares, Window
from vivavoce.runtime.people.plans import visible_line
from vivavoce.runtime.ports import Clock, Retention, Store
from vivavoce.runtime.sessions.options import Options, check_steering
from vivavoce.runtime.sessions.records import begun, closed, title_from
from vivavoce.runtime.sessions.voice import BY_USER, Opened, Voice
from vivavoce.session.events import End, Shown
from vivavoce.wire.clean import clean_json, clean_line, clean_text
from vivavoce.wire.events import TurnTraced
from vivavoce.wire.records.plans import ConversationSummary, Hit
from vivavoce.wire.records.talk import (
    Conversation,
    DropConversation,
    Entry,
    Kind,
    LogEvent,
    Put,
    PutConversation,
    PutEntry,
    PutSession,
    SessionSummary,
    Status,
    ToolCall,
    VoiceSession,
    entry_id,
    new_id,
)
from vivavoce.wire.records.work import Role
from vivavoce.wire.values import Record, Value

log = logging.getLogger(__name__)

PRIOR = 100  # messages that a resumed session begins with on the screen
SWEEP_SECONDS = 3600.0
ROUNDS = 3
TURNS = 100  # as many of them as one answer shows
SAME_TIME = timedelta(seconds=5)
RETRY_WINDOW = timedelta(seconds=60)
_UNLIMITED = Shares()


class Copy(Record):
    """An entry as a client tells it (seed 003 §2.4)."""

    kind: Kind
    text: str = ""
    id: str | None = None
    item_id: str | None = None
    at: datetime | None = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_arguments: dict[str, Any] | None = None
    tool_result: dict[str, Any] | None = None
    audio_duration_ms: int | None = None

    @property
    def words(self) -> str:
        """As they are kept: what is there already is known by them."""
        return redact_said(clean_text(self.text))


class Updates(Value):
    """What happened to a session after a position."""

    events: list[LogEvent]
    latest: int
    has_more: bool
    reset: bool


class Library:
    """One user's conversations and their sessions; another's are not there."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        clock: Clock,
        voice: Voice,
        agent: str,
        shares: Shares = _UNLIMITED,
    ) -> None:
        self._store, self._journal, self._clock = store, journal, clock
        self._voice, self._agent, self._shares = voice, agent, shares
        self._syncs = Window(shares.syncs_per_minute, 60, clock=clock, what="transcript syncs")
        # Weak: a lock is there as long as somebody holds or wants it.
        self._syncing: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._ids = SessionIds(clock.now)

    async def summary(self, session_id: str, user_id: str) -> SessionSummary:
        summary = await self._store.summary(session_id, user_id=user_id)
        if summary is None:
            raise _no_session(session_id)
        return summary

    async def transcript(self, summary: SessionSummary) -> list[Entry]:
        session = summary.session
        return await self._store.entries(session.conversation_id, user_id=session.user_id)

    async def turns(self, summary: SessionSummary) -> list[LogEvent]:
        """How the last turns of this session went, as long as the log has them."""
        session = summary.session
        return await self._store.last_events(
            (TurnTraced.type,), session_ids=(session.id,), user_id=session.user_id, limit=TURNS
        )

    async def track(
        self,
        user_id: str,
        *,
        title: str | None,
        metadata: Mapping[str, Any],
        role: Role = "operator",
    ) -> SessionSummary:
        """A record for a client that talks to a provider by itself."""
        now = self._clock.now()
        conversation = begun(user_id, now, title=title, metadata=clean_json(dict(metadata)))
        session = VoiceSession(
            id=self._ids(),
            conversation_id=conversation.id,
            user_id=user_id,
            agent=self._agent,
            created_at=now,
            updated_at=now,
            counted=False,  # it takes nothing of ours
            role=role,
            metadata={
                "tracked": True,
                **({"custom": conversation.metadata} if metadata else {}),
            },
        )
        room = self._shares.more(user_id, conversation=True)
        put = PutConversation(conversation)
        await self._journal.commit([put, PutSession(session, new=True), *room])
        return SessionSummary(session=session, turn_count=0, title=conversation.title)

    def may_sync(self, user_id: str) -> None:
        """Counts one; raises `RateLimited`."""
        self._syncs.check(user_id)

    @asynccontextmanager
    async def one_sync(self, user_id: str) -> AsyncIterator[None]:
        """One of a user's at a time: of many that come at once, each is a part of a moment, in
        which others are served too."""
        lock = self._syncing.setdefault(user_id, asyncio.Lock())
        async with lock:
            yield

    async def sync(
        self, session_id: str, user_id: str, copies: Sequence[Copy], role: Role = "operator"
    ) -> int:
        """How many of the client's entries are stored now; all of them, new or not. Of what is
        stored only that is read which may be the same. Raises `Forbidden` for who has a lesser
        role than the session or its conversation: what was said in it decides what is asked."""
        session = await self._store.session(session_id, user_id=user_id)
        if session is None:
            raise _no_session(session_id)
        await self.check_led(session, role)
        now = self._clock.now()
        added = unseen(copies, await self._alike(session, copies), session, now)
        if added:
            changes = [PutEntry(entry, replace=False) for entry in added]
            room = self._shares.more(user_id)
            # Only that: whoever runs the session writes the rest of its record.
            moved = PutSession(replace(session, updated_at=now), only=("updated_at",))
            await self._journal.commit([*await self._named(session, added), moved, *changes, *room])
        await self._show(session, copies, now)
        return len(copies)

    async def _show(self, session: VoiceSession, copies: Sequence[Copy], now: datetime) -> None:
        """Whoever runs the session has to know what it missed, or at the end it would say that it
        was never heard."""
        live = self._voice.live(session.id, session.user_id)
        if live is None:
            return
        for number, copy in enumerate(copies):
            item_id = _items(copy)
            if item_id is not None and copy.kind in (Kind.USER, Kind.ASSISTANT) and copy.words:
                await live.post(Shown(item_id, _entry(copy, session, now, number)))

    async def _alike(self, session: VoiceSession, copies: Sequence[Copy]) -> list[Entry]:
        """Stored entries that a client's may be copies of (`unseen` says which)."""
        of = (session.conversation_id, session.user_id)
        names = [copy.id for copy in copies if copy.id]
        # What a sideband heard has its id of the session and the provider's item.
        sessions = await self._store.sessions_of(of[0], user_id=of[1]) if names else []
        keys = [_key(copy, session) for copy in copies]
        ids = [*filter(None, keys), *names]
        ids += [entry_id(one.id, name) for one in sessions for name in names]
        nameless = [copy for copy, key in zip(copies, keys, strict=True) if key is None]
        return await self._store.entries_like(
            of[0],
            user_id=of[1],
            ids=ids,
            said=[copy.words for copy in nameless if copy.at is None],
            told=[(copy.words, copy.at) for copy in nameless if copy.at is not None],
            around=SAME_TIME,
        )

    async def _named(self, session: VoiceSession, added: Sequence[Entry]) -> list[PutConversation]:
        conversation = await self._of(session)
        if conversation is None:
            return []
        title = conversation.title or next(filter(None, map(title_from, added)), None)
        known = gist_of(conversation.gist)
        # What belongs before the end of what was summed up: all of it is read once more.
        anew = any(entry.ordinal <= known.upto for entry in added)
        gist = Gist(title=known.title).to_json() if anew else None
        now = self._clock.now()
        return [PutConversation(replace(conversation, title=title, gist=gist, updated_at=now))]

    async def check_led(self, session: VoiceSession, role: Role) -> None:
        """Raises `Forbidden` for who has a lesser role than the session or its conversation."""
        check_steering(session, role)
        of = (session.conversation_id, session.user_id)
        await self._voice.admission.check_led(*of, role)

    async def _of(self, session: VoiceSession) -> Conversation | None:
        return await self._store.conversation(session.conversation_id, user_id=session.user_id)

    async def finish(self, session_id: str, user_id: str, how: End = BY_USER) -> None:
        """End a record that has no live session; one that has ended stays as it is."""
        session = (await self.summary(session_id, user_id)).session
        if session.status is not Status.ACTIVE:
            return
        await self._journal.commit(closed(session, self._clock.now(), how))

    async def summarize(self, session_id: str, user_id: str, text: str) -> None:
        """A summary that somebody wrote: the next resume begins with it."""
        session = (await self.summary(session_id, user_id)).session
        if (conversation := await self._of(session)) is not None:
            summary = clean_text(text, 4000)
            await self._journal.commit([PutConversation(replace(conversation, summary=summary))])

    async def updates(self, session_id: str, user_id: str, *, after: int, limit: int) -> Updates:
        """For clients that poll: durable events after a position, oldest first."""
        await self.summary(session_id, user_id)
        events = await self._store.events(
            after=after, limit=limit + 1, user_id=user_id, session_id=session_id
        )
        bounds = await self._store.log_bounds()
        page = events[:limit]
        latest = page[-1].position if page else min(after, bounds.latest)
        gone = not 0 <= after <= bounds.latest or (0 < after < bounds.oldest - 1)
        return Updates(page, latest, len(events) > limit, gone)

    async def sweep(self, retention: Retention) -> None:
        """For ever: what is older than it should be is deleted, once an hour."""
        while True:
            try:
                gone = await self._store.sweep(retention, self._clock.now())
            except Exception:  # the boundary of this task: it tries again in an hour
                log.exception("Retention failed")
            else:
                if gone:
                    log.info("Old records deleted", extra=fields(rows=gone))
            await self._clock.sleep(SWEEP_SECONDS)

    async def task(self, task_id: str, user_id: str) -> ToolCall:
        return found(await self._store.tool_call(task_id, user_id=user_id), "Task", task_id)

    # --- Conversations, as people lead and read them --------------------------------------

    async def open(
        self,
        user_id: str,
        options: Options,
        *,
        conversation_id: str | None = None,
    ) -> tuple[Opened, list[Entry]]:
        """A voice session: of a new conversation, or of one that goes on, with what was said
        before it. Raises `Forbidden` for a lesser token than it was led with."""
        task_id = options.task_id
        if task_id is not None:
            found(await self._store.todo(task_id, user_id=user_id), "Task", task_id)
        if conversation_id is None:
            return await self._voice.create(user_id, options), []
        opened = await self._voice.resume_conversation(conversation_id, user_id, options)
        # Read now: one that was live until a moment ago has written its last words.
        prior, _ = await self._store.messages_before(
            conversation_id, user_id=user_id, limit=PRIOR, said_only=True
        )
        return opened, prior

    async def end(self, session_id: str, user_id: str, role: Role = "operator") -> None:
        """Ends a session, once; what was said is kept. Raises `SessionNotFound`, or `Forbidden`
        for who has a lesser role."""
        session = (await self.summary(session_id, user_id)).session
        if session.status is Status.ACTIVE:
            await self.check_led(session, role)
        live = await self._voice.end(session_id, user_id)
        if not live and session.status is Status.ACTIVE:
            await self._close(session)

    async def end_all(self, user_id: str) -> int:
        """Every session of this user that is live, or taken for it; how many."""
        ended: set[str] = set()
        for _ in range(ROUNDS):  # one may begin while the others end
            active = await self._store.active_sessions()
            theirs = [session for session in active if session.user_id == user_id]
            for session in theirs:
                await self.end(session.id, user_id)
            ended |= {session.id for session in theirs}
        return len(ended)

    async def _close(self, session: VoiceSession) -> None:
        """One that nobody runs any more: of a process that is gone, or a client's own."""
        user_id = session.user_id
        await self.finish(session.id, user_id)
        if (conversation := await self._of(session)) is not None:
            now = self._clock.now()
            ended = replace(conversation, ended_at=now, updated_at=now)
            await self._journal.commit([PutConversation(ended)])

    async def delete(
        self, conversation_id: str, user_id: str, role: Role = "operator"
    ) -> list[str]:
        """All that was said and asked for in it goes, for good; the goals and tasks that came of
        it stay. Names its sessions that were live: they are ended first. Raises `Forbidden` where
        one of them has a higher role."""
        await self._voice.conversation(conversation_id, user_id)
        async with self._voice.admission.unopened(
            conversation_id
        ):  # else it would come back with one
            active = await self._active(conversation_id, user_id)
            for session in active:
                check_steering(session, role)
            await self._voice.admission.check_led(conversation_id, user_id, role)
            for session in active:
                if not await self._voice.end_unopened(session.id, user_id):
                    await self._close(session)
            await self._journal.commit([DropConversation(conversation_id, user_id)])
        return [session.id for session in active]

    async def listed(self, conversation_id: str, user_id: str) -> ConversationSummary:
        """Raises `NotFound`."""
        listed = await self._store.conversation_listed(conversation_id, user_id=user_id)
        return found(listed, "Conversation", conversation_id)

    async def rename(
        self, conversation_id: str, user_id: str, title: str, role: Role = "operator"
    ) -> ConversationSummary:
        """A person's title stays: nothing that is made of the talk takes its place. Raises
        `NotFound`, `InvalidRequest` for one of nothing that can be seen, `Forbidden` for who has a
        lesser role than it was led with."""
        known = await self._store.conversation(conversation_id, user_id=user_id)
        conversation = found(known, "Conversation", conversation_id)
        await self._voice.admission.check_led(conversation_id, user_id, role)
        line = visible_line(title, "title")
        renamed = replace(conversation, title=line, updated_at=self._clock.now())
        await self._journal.commit([Put(renamed, ("title",))])
        return await self.listed(conversation_id, user_id)

    async def _active(self, conversation_id: str, user_id: str) -> list[VoiceSession]:
        of = (conversation_id, user_id)
        active = await self._store.active_sessions()
        return [one for one in active if (one.conversation_id, one.user_id) == of]

    async def begin(
        self, user_id: str, *, context_type: str = "voice", title: str | None = None
    ) -> Conversation:
        """A conversation with nothing in it yet, to be written to."""
        now = self._clock.now()
        conversation = begun(user_id, now, title=title, context_type=context_type)
        room = self._shares.more(user_id, conversation=True)
        await self._journal.commit([PutConversation(conversation), *room])
        return conversation

    async def messages(
        self, conversation_id: str, user_id: str, *, before: str | None, limit: int
    ) -> tuple[list[Entry], bool]:
        """The last ones before a message, oldest first, and whether there are more."""
        await self._voice.conversation(conversation_id, user_id)
        page, more = await self._store.messages_before(
            conversation_id, user_id=user_id, before=before, limit=limit
        )
        if not page and before is not None:  # at the beginning, or nowhere
            of = {"conversation_id": conversation_id, "user_id": user_id}
            if not await self._store.has_message(before, **of):
                raise NotFound(f"Message '{before}' not found.")
        return page, more

    async def search(self, query: str, user_id: str, *, limit: int) -> list[Hit]:
        return await self._store.search(clean_line(query), user_id=user_id, limit=limit)


def _no_session(session_id: str) -> SessionNotFound:
    return SessionNotFound(f"Session '{session_id[:64]}' not found.")


# --- Which entries of a client's copy are new
#
# A client may send what the sideband has stored already, and may send it twice. Entries are
# the same by id, by call id, or by kind, text and time; each stored entry is matched at most
# once, so saying "yes" twice stays twice.


def unseen(
    copies: Sequence[Copy], stored: Sequence[Entry], session: VoiceSession, now: datetime
) -> list[Entry]:
    """The entries to add, in the order in which they were told."""
    known = {entry.id for entry in stored}
    # A client may name an entry by our id, or by the provider's.
    names = known | {str(entry.data.get("item_id")) for entry in stored}
    free: dict[tuple[Kind, str], list[Entry]] = {}
    for entry in stored:
        free.setdefault((entry.kind, entry.text), []).append(entry)
    added: list[Entry] = []
    for number, copy in enumerate(copies):
        key, words = _key(copy, session), copy.words
        if key in known or copy.id in names:
            continue
        if key is None and _take_match(copy, free.get((copy.kind, words), []), now):
            continue
        entry = _entry(copy, session, now, number)
        known.add(entry.id)
        added.append(entry)
    return added


def _entry(copy: Copy, session: VoiceSession, now: datetime, number: int) -> Entry:
    at = copy.at or now
    return Entry(
        id=_key(copy, session) or new_id(),
        conversation_id=session.conversation_id,
        user_id=session.user_id,
        session_id=session.id,
        kind=copy.kind,
        text=copy.words,
        created_at=at,
        # Told in one breath, they keep their order.
        ordinal=at.timestamp() * 1000 + number / 1000,
        data=_data(copy, now),
    )


def _key(copy: Copy, session: VoiceSession) -> str | None:
    conversation_id = session.conversation_id
    if copy.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT) and copy.tool_call_id:
        # The same as the tool executor gives, so a copy of a call is the call.
        return entry_id(conversation_id, f"{copy.kind}:{copy.tool_call_id}")
    if (item_id := _items(copy)) is not None:
        # The same as the sideband gives, so it does not matter who tells of an item first.
        return entry_id(session.id, item_id)
    return entry_id(conversation_id, f"client:{copy.id}") if copy.id else None


def _items(copy: Copy) -> str | None:
    """The provider's item; ids of our own are for us to give."""
    mine = copy.item_id is None or copy.item_id.startswith("vv")
    return None if mine or copy.kind in (Kind.TOOL_CALL, Kind.TOOL_RESULT) else copy.item_id


def _take_match(copy: Copy, free: list[Entry], now: datetime) -> bool:
    """Without an id: kind, text and time. Of `free`, which have its kind and text: without a time,
    anything the server heard itself, or what the same client told a moment ago (a retry)."""
    for entry in free:
        if copy.at is not None:
            same = abs(entry.created_at - copy.at) <= SAME_TIME
        else:
            told = entry.data.get("source") == "client"
            received = entry.data.get("received_at")
            at = datetime.fromisoformat(received) if received else entry.created_at
            same = not told or now - at <= RETRY_WINDOW
        if same:
            free.remove(entry)
            return True
    return False


def _data(copy: Copy, now: datetime) -> dict[str, Any]:
    told = {
        "client_id": copy.id,
        "item_id": _items(copy),
        "tool_name": copy.tool_name,
        "tool_call_id": copy.tool_call_id,
        "tool_arguments": copy.tool_arguments,
        "tool_result": copy.tool_result,
        "audio_duration_ms": copy.audio_duration_ms,
    }
    data = {name: clean_json(value) for name, value in told.items() if value is not None}
    return {"source": "client", "received_at": now.isoformat(), **data}
