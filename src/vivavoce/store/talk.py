"""Conversations, sessions and what was said, as the server and as people read them.

Statements and reads. Those of the search are in `search.py`: each database has its own.
"""

from __future__ import annotations

import asyncio
from datetime import datetime
from typing import Any

from sqlalchemy import (
    BigInteger,
    Row,
    Select,
    Table,
    bindparam,
    cast,
    func,
    literal_column,
    select,
    true,
    tuple_,
    union_all,
)

from vivavoce.store import search
from vivavoce.store.columns import storable_text
from vivavoce.store.reader import Reads, by, newest, within
from vivavoce.store.rows import CONVERSATIONS, ENTRIES, SESSIONS, SNAPSHOTS
from vivavoce.store.schema import (
    SAID,
    conversations,
    messages,
    snapshots,
    spent_sessions,
    voice_sessions,
)
from vivavoce.wire.records.plans import ConversationSummary, Hit, Spent
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    SessionSummary,
    Snapshot,
    Status,
    VoiceSession,
)

# --- Conversations and sessions -----------------------------------------------------

CONVERSATION = by(conversations, "id", "user_id")
ANY_SESSION = by(voice_sessions, "id")
SESSION = by(voice_sessions, "id", "user_id")
ACTIVE_SESSIONS = (
    select(voice_sessions)
    .where(voice_sessions.c.status == "active")
    .order_by(voice_sessions.c.created_at, voice_sessions.c.id)
)
SESSION_TOTALS = select(
    func.count().label("sessions"), func.avg(voice_sessions.c.duration_ms).label("mean")
).select_from(voice_sessions)
SNAPSHOT = by(snapshots, "session_id", "user_id")


def _with_turns(page: Select[Any]) -> Select[Any]:
    """Sessions with their conversation's title and its turns, counted once a conversation."""
    shown = page.cte("page")
    turns = (
        select(messages.c.conversation_id, func.count().label("turn_count"))
        .where(
            messages.c.role == "user",
            messages.c.conversation_id.in_(select(shown.c.conversation_id)),
        )
        .group_by(messages.c.conversation_id)
        .subquery("turns")
    )
    return (
        select(shown, conversations.c.title, func.coalesce(turns.c.turn_count, 0).label("turns"))
        .join_from(shown, conversations, conversations.c.id == shown.c.conversation_id)
        .outerjoin(turns, turns.c.conversation_id == shown.c.conversation_id)
        .order_by(*newest(shown))
    )


_OF_USER = by(voice_sessions, "user_id").order_by(*newest(voice_sessions)).limit(bindparam("limit"))
SUMMARY = _with_turns(SESSION)
SESSIONS_OF = _with_turns(_OF_USER)
SESSIONS_BY_STATUS = _with_turns(_OF_USER.where(voice_sessions.c.status == bindparam("status")))

# --- What was said ------------------------------------------------------------------

PREVIEW_FROM = 400  # characters; `search.preview` makes one line of them
_SAID = literal_column("messages.role").in_(literal_column(f"'{role}'") for role in SAID)
_PLACE = (messages.c.ordinal, messages.c.created_at, messages.c.id)
_LAST = tuple(column.desc() for column in _PLACE)
_OF_CONVERSATION = by(messages, "conversation_id", "user_id")

TRANSCRIPT = _OF_CONVERSATION.order_by(*_PLACE)
MARK = by(messages, "id", "conversation_id", "user_id").with_only_columns(*_PLACE)


def messages_before(*, mark: bool, said_only: bool) -> Select[Any]:
    """Along the index from the mark towards the beginning: as many rows as asked for."""
    query = _OF_CONVERSATION
    if mark:
        there = tuple_(*(bindparam(column.name, type_=column.type) for column in _PLACE))
        # The first says it again for the planner; the second settles equal places.
        query = query.where(messages.c.ordinal <= bindparam("ordinal"), tuple_(*_PLACE) < there)
    if said_only:
        query = query.where(_SAID)
    return query.order_by(*_LAST).limit(bindparam("limit"))


def _conversation_list(*, context_type: bool) -> Select[Any]:
    """The page with what each conversation's end says; a row with no id where it is empty."""
    of_user = [conversations.c.user_id == bindparam("user_id")]
    if context_type:
        of_user.append(conversations.c.context_type == bindparam("context_type"))
    total = select(func.count().label("total")).select_from(conversations).where(*of_user).cte("t")
    page = (
        select(conversations)
        .where(*of_user)
        .order_by(conversations.c.last_activity_at.desc(), conversations.c.id.desc())
        .limit(bindparam("limit"))
        .offset(bindparam("offset"))
        .cte("page")
    )
    said = (messages.c.conversation_id == page.c.id, _SAID)
    count = select(func.count()).select_from(messages).where(*said)
    newest = select(func.max(messages.c.created_at)).where(*said)
    last = select(func.substr(messages.c.content, 1, PREVIEW_FROM)).where(*said)
    return (
        select(
            total.c.total,
            *(page.c[name] for name in ("id", "context_type", "title", "created_at", "ended_at")),
            page.c.extracted_intent,
            count.scalar_subquery().label("messages"),
            newest.scalar_subquery().label("last_message_at"),
            last.order_by(*_LAST).limit(1).scalar_subquery().label("preview"),
        )
        .select_from(total)
        .outerjoin(page, true())
        .order_by(page.c.last_activity_at.desc(), page.c.id.desc())
    )


CONVERSATION_LIST = _conversation_list(context_type=False)
CONVERSATIONS_OF_TYPE = _conversation_list(context_type=True)

# --- What sessions took -------------------------------------------------------------


def _taken(table: Table) -> Select[Any]:
    names = ("created_at", "counted", "input_tokens", "output_tokens", "cost_micros")
    since = table.c.created_at >= bindparam("since", type_=table.c.created_at.type)
    taken = select(*(table.c[name] for name in names))
    return taken.where(table.c.user_id == bindparam("user_id"), since)


_took = union_all(_taken(voice_sessions), _taken(spent_sessions)).subquery("took")
_SUMS: list[Any] = [
    cast(func.coalesce(func.sum(_took.c[name]), 0), BigInteger).label(name)
    for name in ("input_tokens", "output_tokens", "cost_micros")
]
_COUNTED: list[Any] = [
    func.count().filter(_took.c.counted).label("sessions"),
    func.min(_took.c.created_at).filter(_took.c.counted).label("since"),
]
SPENT = select(*_SUMS, *_COUNTED)


class TalkReads(Reads):
    async def conversation(self, conversation_id: str, *, user_id: str) -> Conversation | None:
        given = {"id": conversation_id, "user_id": user_id}
        return await self._read.one(CONVERSATIONS.record, CONVERSATION, **given)

    async def session(self, session_id: str, *, user_id: str | None) -> VoiceSession | None:
        if user_id is None:
            return await self._read.one(SESSIONS.record, ANY_SESSION, id=session_id)
        return await self._read.one(SESSIONS.record, SESSION, id=session_id, user_id=user_id)

    async def summary(self, session_id: str, *, user_id: str) -> SessionSummary | None:
        return await self._read.one(_to_summary, SUMMARY, id=session_id, user_id=user_id)

    async def sessions(
        self, *, user_id: str, status: Status | None = None, limit: int = 20
    ) -> list[SessionSummary]:
        given = {"user_id": user_id, "limit": within(limit)}
        if status is None:
            return await self._read.all(_to_summary, SESSIONS_OF, **given)
        return await self._read.all(_to_summary, SESSIONS_BY_STATUS, status=status.value, **given)

    async def active_sessions(self) -> list[VoiceSession]:
        return await self._read.all(SESSIONS.record, ACTIVE_SESSIONS)

    async def session_totals(self) -> tuple[int, float]:
        found = await self._read.row(_to_fields, SESSION_TOTALS)
        return found["sessions"], float(found["mean"] or 0)

    async def snapshot(self, session_id: str, *, user_id: str) -> Snapshot | None:
        given = {"session_id": session_id, "user_id": user_id}
        return await self._read.one(SNAPSHOTS.record, SNAPSHOT, **given)

    async def entries(self, conversation_id: str, *, user_id: str) -> list[Entry]:
        given = {"conversation_id": conversation_id, "user_id": user_id}
        return await self._read.all(ENTRIES.record, TRANSCRIPT, **given)

    async def messages_before(
        self,
        conversation_id: str,
        *,
        user_id: str,
        before: str | None = None,
        limit: int = 100,
        said_only: bool = False,
    ) -> tuple[list[Entry], bool]:
        given: dict[str, object] = {"conversation_id": conversation_id, "user_id": user_id}
        if before is not None:
            # An entry keeps its place, so two reads are as good as one.
            mark = await self._read.one(_to_fields, MARK, id=before, **given)
            if mark is None:
                return [], False
            given |= mark
        wanted = max(0, min(limit, 1_000_000))
        query = messages_before(mark=before is not None, said_only=said_only)
        found = await self._read.all(ENTRIES.record, query, limit=wanted + 1, **given)
        return found[:wanted][::-1], len(found) > wanted

    async def has_message(self, message_id: str, *, conversation_id: str, user_id: str) -> bool:
        given = {"id": message_id, "conversation_id": conversation_id, "user_id": user_id}
        return await self._read.one(_to_fields, MARK, **given) is not None

    async def conversation_list(
        self, *, user_id: str, context_type: str | None = None, limit: int = 20, offset: int = 0
    ) -> tuple[list[ConversationSummary], int]:
        given: dict[str, object] = {"limit": within(limit), "offset": within(offset)}
        query = CONVERSATION_LIST
        if context_type is not None:
            query, given["context_type"] = CONVERSATIONS_OF_TYPE, context_type
        found = await self._read.all(_to_fields, query, user_id=user_id, **given)
        totals = [row.pop("total") for row in found]
        return [_to_listed(row) for row in found if row["id"] is not None], totals[0]

    async def search(self, query: str, *, user_id: str, limit: int = 20) -> list[Hit]:
        wanted, owner = search.words(storable_text(query)), storable_text(user_id)
        if not wanted:
            return []
        given = {"user_id": owner, "match": search.match(self._dialect, wanted, owner)}
        found: list[search.Found] = []
        for way in search.find(self._dialect):
            if len(found) < search.CANDIDATES:
                enough = search.CANDIDATES
                found = await self._read.all(search.Found._make, way, candidates=enough, **given)
        # Off the loop: hundreds of texts are looked through.
        return await asyncio.to_thread(search.rank, found, wanted, limit)

    async def spent(self, *, user_id: str, since: datetime) -> Spent:
        found = await self._read.row(_to_fields, SPENT, user_id=user_id, since=since)
        return Spent(**found)


def _to_fields(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping)


def _to_summary(row: Row[Any]) -> SessionSummary:
    return SessionSummary(session=SESSIONS.record(row), turn_count=row.turns, title=row.title)


def _to_listed(row: dict[str, Any]) -> ConversationSummary:
    return ConversationSummary(**row | {"preview": search.preview(row["preview"])})
