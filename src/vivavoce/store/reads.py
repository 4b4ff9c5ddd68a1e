"""Everything that is read but the log, each read beside its statement: conversations, sessions and
what was said; what people plan and what is done for them (goals, to-dos, intents, the outbox,
tool calls, delegated tasks, approvals).

The statements of the search are in `search.py`: each database has its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
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

from vivavoce.store import rows, search
from vivavoce.store.columns import NotUuid, canonical_uuid, storable_text
from vivavoce.store.reader import Reads, by, newest, within
from vivavoce.store.rows import CONVERSATIONS, ENTRIES, RECORDINGS, SESSIONS, SNAPSHOTS
from vivavoce.store.schema import (
    OVER,
    SAID,
    access_tokens,
    approvals,
    audit,
    audit_head,
    conversations,
    delegated_tasks,
    goals,
    intents,
    messages,
    milestones,
    outbox,
    push_messages,
    push_subscriptions,
    recordings,
    reminders,
    snapshots,
    spent_sessions,
    tasks,
    tool_calls,
    users,
    voice_sessions,
)
from vivavoce.wire.records.plans import (
    AccessToken,
    ConversationSummary,
    Delivery,
    Goal,
    Hit,
    Intent,
    Milestone,
    Person,
    Reminder,
    Spent,
    Todo,
    Watch,
)
from vivavoce.wire.records.reach import PushSubscription
from vivavoce.wire.records.talk import (
    Conversation,
    Entry,
    Recording,
    SessionSummary,
    Snapshot,
    Status,
    ToolCall,
    ToolStats,
    VoiceSession,
)
from vivavoce.wire.records.work import Approval, AuditEnds, AuditLine, Task

OPEN = ("active", "rescheduled")

PERSON = by(users, "id")
GOAL = by(goals, "id", "user_id")
TODO = by(tasks, "id", "user_id")
INTENT = by(intents, "id", "user_id")
STEPS = (
    by(milestones, "user_id")
    .where(milestones.c.goal_id.in_(bindparam("goal_ids", expanding=True)))
    .order_by(milestones.c.goal_id, milestones.c.position, milestones.c.id)
)


def goals_of(user_id: str, *, status: str | None, limit: int, offset: int) -> Select[Any]:
    query = select(goals).where(goals.c.user_id == user_id)
    if status is not None:
        query = query.where(goals.c.status == str(status))
    return query.order_by(*newest(goals)).limit(within(limit)).offset(within(offset))


def todos_of(user_id: str, *, open_only: bool, limit: int, offset: int) -> Select[Any]:
    query = select(tasks).where(tasks.c.user_id == user_id)
    if open_only:
        query = query.where(tasks.c.status.in_(OPEN))
    due = (tasks.c.scheduled_at.is_(None), tasks.c.scheduled_at, tasks.c.created_at, tasks.c.id)
    return query.order_by(*due).limit(within(limit)).offset(within(offset))


def done_todos_of(user_id: str, *, limit: int, offset: int) -> Select[Any]:
    done = (tasks.c.user_id == user_id, tasks.c.status == "completed")
    latest = (tasks.c.updated_at.desc(), tasks.c.id.desc())
    return select(tasks).where(*done).order_by(*latest).limit(within(limit)).offset(within(offset))


def intents_of(user_id: str, *, conversation_id: str | None, limit: int) -> Select[Any]:
    query = select(intents).where(intents.c.user_id == user_id)
    if conversation_id is not None:
        query = query.where(intents.c.conversation_id == conversation_id)
    return query.order_by(*newest(intents)).limit(within(limit))


_OLDEST = (outbox.c.created_at, outbox.c.id)
DELIVERIES_OF = by(outbox, "intent_id").order_by(*_OLDEST)

# What an intent says second must not arrive first: only its oldest one goes out.
_earlier = outbox.alias("earlier")
_BEFORE_IT = select(_earlier.c.id).where(
    _earlier.c.intent_id == outbox.c.intent_id,
    _earlier.c.status == "pending",
    tuple_(_earlier.c.created_at, _earlier.c.id) < tuple_(*_OLDEST),
)


def due_deliveries(before: datetime, *, after: Delivery | None, limit: int) -> Select[Any]:
    query = select(outbox).where(
        outbox.c.status == "pending", outbox.c.due_at <= before, ~_BEFORE_IT.exists()
    )
    if after is not None:
        query = query.where(tuple_(*_OLDEST) > (after.created_at, after.id))
    return query.order_by(*_OLDEST).limit(within(limit))


# Along its index: what nobody looks at any more is not in the way.
LOOK_AT = (
    select(tasks)
    .where(tasks.c.look_at <= bindparam("before", type_=tasks.c.look_at.type))
    .order_by(tasks.c.look_at)
    .limit(bindparam("limit"))
)
NEXT_LOOK = select(func.min(tasks.c.look_at).label("at"))


def reminders_of(*, waiting: bool) -> Select[Any]:
    query = select(reminders).where(
        reminders.c.user_id.in_(bindparam("users", expanding=True)),
    )
    if waiting:
        query = query.where(reminders.c.status == "waiting")
        return query.order_by(reminders.c.due_at, reminders.c.id).limit(bindparam("limit"))
    query = query.order_by(reminders.c.due_at.desc(), reminders.c.id)
    return query.limit(bindparam("limit"))


WAITING = reminders_of(waiting=True)
LATEST_DUE = reminders_of(waiting=False)
DUE_BEFORE = select(reminders).where(
    reminders.c.id.in_(bindparam("ids", expanding=True, type_=reminders.c.id.type))
)


_roles: Any = bindparam("roles", expanding=True)
_whose: Any = bindparam("user_id")
_there: Any = literal_column("1").label("there")
_written = union_all(
    *(
        select(_there).where(table.c.user_id == _whose, table.c.role.in_(_roles), told)
        for table in (goals, tasks)
        for told in [
            (table.c.status != "retracted")
            | (table.c.updated_at >= bindparam("since", type_=table.c.updated_at.type))
        ]
    ),
    select(_there).where(users.c.id == _whose, users.c.role.in_(_roles)),
).subquery()
WRITTEN_WITH = select(_written.c.there).limit(1)


class PlanReads(Reads):
    async def to_look_at(self, *, before: datetime, limit: int) -> list[Watch]:
        return await self._read.all(_to_watch, LOOK_AT, before=before, limit=within(limit))

    async def next_look(self) -> datetime | None:
        at: datetime | None = (await self._read.row(_to_fields, NEXT_LOOK))["at"]
        return at

    async def reminders(
        self, users: Sequence[str], *, waiting: bool = False, limit: int = 50
    ) -> list[Reminder]:
        query = WAITING if waiting else LATEST_DUE
        given = {"users": list(users), "limit": within(limit)}
        return await self._read.all(rows.REMINDERS.record, query, **given)

    async def reminders_named(self, ids: Sequence[str]) -> list[Reminder]:
        return await self._read.all(rows.REMINDERS.record, DUE_BEFORE, ids=_uuids(ids))

    async def written_with(self, roles: Sequence[str], *, user_id: str, since: datetime) -> bool:
        given = {"roles": list(roles), "user_id": user_id, "since": since}
        return bool(await self._read.all(_to_fields, WRITTEN_WITH, **given))

    async def person(self, user_id: str) -> Person | None:
        return await self._read.one(rows.PEOPLE.record, PERSON, id=user_id)

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        return await self._read.one(rows.GOALS.record, GOAL, id=goal_id, user_id=user_id)

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        query = goals_of(user_id, status=status, limit=limit, offset=offset)
        return await self._read.all(rows.GOALS.record, query)

    async def milestones(self, goal_ids: Sequence[str], *, user_id: str) -> list[Milestone]:
        given = {"goal_ids": _uuids(goal_ids), "user_id": user_id}
        return await self._read.all(rows.MILESTONES.record, STEPS, **given)

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        return await self._read.one(rows.TODOS.record, TODO, id=todo_id, user_id=user_id)

    async def todos(
        self, *, user_id: str, open_only: bool = False, limit: int = 50, offset: int = 0
    ) -> list[Todo]:
        query = todos_of(user_id, open_only=open_only, limit=limit, offset=offset)
        return await self._read.all(rows.TODOS.record, query)

    async def done_todos(self, *, user_id: str, limit: int, offset: int = 0) -> list[Todo]:
        query = done_todos_of(user_id, limit=limit, offset=offset)
        return await self._read.all(rows.TODOS.record, query)

    async def intent(self, intent_id: str, *, user_id: str) -> Intent | None:
        return await self._read.one(rows.INTENTS.record, INTENT, id=intent_id, user_id=user_id)

    async def intents(
        self, *, user_id: str, conversation_id: str | None = None, limit: int = 50
    ) -> list[Intent]:
        query = intents_of(user_id, conversation_id=conversation_id, limit=limit)
        return await self._read.all(rows.INTENTS.record, query)

    async def due_deliveries(
        self, *, before: datetime, limit: int = 50, after: Delivery | None = None
    ) -> list[Delivery]:
        query = due_deliveries(before, after=after, limit=limit)
        return await self._read.all(rows.DELIVERIES.record, query)

    async def deliveries(self, intent_id: str) -> list[Delivery]:
        return await self._read.all(rows.DELIVERIES.record, DELIVERIES_OF, intent_id=intent_id)


# --- Tool calls, delegated tasks, approvals ---------------------------------------------

TOOL_CALL = by(tool_calls, "id", "user_id")
OPEN_CALLS = (
    select(tool_calls)
    .where(
        tool_calls.c.voice_session_id == bindparam("session_id"), tool_calls.c.status == "started"
    )
    .order_by(tool_calls.c.started_at, tool_calls.c.id)
)
RECENT_CALLS = (
    by(tool_calls, "user_id")
    .where(tool_calls.c.status.in_(("completed", "failed")))
    .order_by(tool_calls.c.started_at.desc(), tool_calls.c.id.desc())
    .limit(bindparam("limit"))
)
TOOL_STATS = select(
    func.count().label("total"),
    func.avg(tool_calls.c.duration_ms).label("mean"),
    func.count().filter(tool_calls.c.status == "completed").label("completed"),
    func.count().filter(tool_calls.c.status == "failed").label("failed"),
    func.max(tool_calls.c.started_at).label("last_called"),
).where(tool_calls.c.tool == bindparam("tool"))
USER_TOOL_STATS = TOOL_STATS.where(tool_calls.c.user_id == bindparam("user_id"))
TOKENS = select(access_tokens).order_by(access_tokens.c.name)
PUSHED_TO = by(push_subscriptions, "user_id").order_by(
    push_subscriptions.c.created_at, push_subscriptions.c.id
)
PUSH_SUBSCRIPTION = by(push_subscriptions, "id")
NEXT_PUSH = (
    select(push_messages.c.due_at)
    .where(push_messages.c.status == "pending")
    .order_by(push_messages.c.due_at)
    .limit(1)
)

_OPEN = delegated_tasks.c.status.in_(("running", "waiting"))
ANY_TASK = by(delegated_tasks, "id")
TASK = by(delegated_tasks, "id", "user_id")
OPEN_TASKS = (
    select(delegated_tasks)
    .where(_OPEN)
    .order_by(delegated_tasks.c.created_at, delegated_tasks.c.id)
)


def tasks_of(user_id: str, *, open_only: bool, untold_only: bool, limit: int) -> Select[Any]:
    query = select(delegated_tasks).where(delegated_tasks.c.user_id == user_id)
    if open_only:
        query = query.where(_OPEN)
    if untold_only:
        query = query.where(delegated_tasks.c.told_at.is_(None), delegated_tasks.c.status.in_(OVER))
    return query.order_by(*newest(delegated_tasks)).limit(within(limit))


APPROVAL = by(approvals, "id", "user_id")
ALL_PENDING = (
    select(approvals)
    .where(approvals.c.status == "pending")
    .order_by(approvals.c.requested_at, approvals.c.id)
)
PENDING = ALL_PENDING.where(approvals.c.user_id == bindparam("user_id"))
STANDING = (
    by(approvals, "user_id")
    .where(
        approvals.c.reach.in_(("session", "always")),
        approvals.c.status == "granted",
        approvals.c.revoked_at.is_(None),
    )
    .order_by(approvals.c.requested_at.desc(), approvals.c.id)
    .limit(bindparam("limit"))
)


AUDIT = (
    select(audit)
    .where(audit.c.position > bindparam("after"))
    .order_by(audit.c.position)
    .limit(bindparam("limit"))
)
AUDIT_OF = AUDIT.where(audit.c.user_id == bindparam("user_id"))
AUDIT_ENDS = select(audit_head)


class WorkReads(Reads):
    async def audit(
        self, *, after: int = 0, user_id: str | None = None, limit: int = 1000
    ) -> list[AuditLine]:
        given = {"after": after, "limit": within(limit)}
        if user_id is None:
            return await self._read.all(rows.AUDIT.record, AUDIT, **given)
        return await self._read.all(rows.AUDIT.record, AUDIT_OF, user_id=user_id, **given)

    async def audit_ends(self) -> AuditEnds:
        return await self._read.row(rows.AUDIT_ENDS.record, AUDIT_ENDS)

    async def tool_call(self, call_id: str, *, user_id: str) -> ToolCall | None:
        return await self._read.one(rows.CALLS.record, TOOL_CALL, id=call_id, user_id=user_id)

    async def open_calls(self, session_id: str) -> list[ToolCall]:
        return await self._read.all(rows.CALLS.record, OPEN_CALLS, session_id=session_id)

    async def recent_calls(self, *, user_id: str, limit: int = 20) -> list[ToolCall]:
        given = {"user_id": user_id, "limit": within(limit)}
        return await self._read.all(rows.CALLS.record, RECENT_CALLS, **given)

    async def tool_stats(self, tool: str, *, user_id: str | None = None) -> ToolStats:
        if user_id is None:
            return await self._read.row(_to_stats, TOOL_STATS, tool=tool)
        return await self._read.row(_to_stats, USER_TOOL_STATS, tool=tool, user_id=user_id)

    async def push_subscriptions(self, *, user_id: str) -> list[PushSubscription]:
        return await self._read.all(rows.PUSH_SUBSCRIPTIONS.record, PUSHED_TO, user_id=user_id)

    async def push_subscription(self, subscription_id: str) -> PushSubscription | None:
        return await self._read.one(
            rows.PUSH_SUBSCRIPTIONS.record, PUSH_SUBSCRIPTION, id=subscription_id
        )

    async def next_push(self) -> datetime | None:
        found = await self._read.all(_to_fields, NEXT_PUSH)
        return found[0]["due_at"] if found else None

    async def access_tokens(self) -> list[AccessToken]:
        return await self._read.all(rows.TOKENS.record, TOKENS)

    async def task(self, task_id: str, *, user_id: str | None) -> Task | None:
        if user_id is None:
            return await self._read.one(rows.TASKS.record, ANY_TASK, id=task_id)
        return await self._read.one(rows.TASKS.record, TASK, id=task_id, user_id=user_id)

    async def tasks(
        self, *, user_id: str, open_only: bool = False, untold_only: bool = False, limit: int = 50
    ) -> list[Task]:
        query = tasks_of(user_id, open_only=open_only, untold_only=untold_only, limit=limit)
        return await self._read.all(rows.TASKS.record, query)

    async def open_tasks(self) -> list[Task]:
        return await self._read.all(rows.TASKS.record, OPEN_TASKS)

    async def approval(self, approval_id: str, *, user_id: str) -> Approval | None:
        return await self._read.one(
            rows.APPROVALS.record, APPROVAL, id=approval_id, user_id=user_id
        )

    async def pending_approvals(self, *, user_id: str | None = None) -> list[Approval]:
        if user_id is None:
            return await self._read.all(rows.APPROVALS.record, ALL_PENDING)
        return await self._read.all(rows.APPROVALS.record, PENDING, user_id=user_id)

    async def standing_approvals(self, *, user_id: str, limit: int = 1000) -> list[Approval]:
        given = {"user_id": user_id, "limit": within(limit)}
        return await self._read.all(rows.APPROVALS.record, STANDING, **given)


def _to_stats(row: Row[Any]) -> ToolStats:
    """A call whose outcome is not known, or not yet, counts as neither success nor failure."""
    settled = row.completed + row.failed
    return ToolStats(
        total_calls=row.total,
        avg_duration_ms=float(row.mean or 0),
        success_rate=row.completed / settled if settled else 0.0,
        last_called=row.last_called,
    )


# --- Conversations and sessions -----------------------------------------------------

CONVERSATION = by(conversations, "id", "user_id")
ANY_CONVERSATION = by(conversations, "id")
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
KNOWN = select(voice_sessions.c.id).where(voice_sessions.c.id == bindparam("session_id"))
RECORDING = (
    select(recordings)
    .where(recordings.c.session_id == bindparam("session_id"))
    .order_by(recordings.c.number)
)


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
LAST_SAID = 2000  # entries that a copy without a time is looked for among
LAST_SESSIONS = 50
_texts: Any = bindparam("texts", expanding=True)
BY_ID = _OF_CONVERSATION.where(messages.c.id.in_(bindparam("ids", expanding=True)))
_last_said = _OF_CONVERSATION.order_by(*_LAST).limit(LAST_SAID).subquery("lately")
SAID_LATELY = select(_last_said).where(_last_said.c.content.in_(_texts))
SAID_ABOUT_THEN = _OF_CONVERSATION.where(
    messages.c.created_at.between(
        bindparam("since", type_=messages.c.created_at.type),
        bindparam("until", type_=messages.c.created_at.type),
    ),
    messages.c.content.in_(_texts),
)
SESSIONS_IN = (
    select(voice_sessions)
    .where(
        voice_sessions.c.conversation_id == bindparam("conversation_id"),
        voice_sessions.c.user_id == bindparam("user_id"),
    )
    .order_by(*newest(voice_sessions))
    .limit(LAST_SESSIONS)
)
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


def _conversation_list(*, context_type: bool, one: bool = False) -> Select[Any]:
    """The page with what each conversation's end says; a row with no id where it is empty."""
    of_user = [conversations.c.user_id == bindparam("user_id")]
    if context_type:
        of_user.append(conversations.c.context_type == bindparam("context_type"))
    if one:
        of_user.append(conversations.c.id == bindparam("id", type_=conversations.c.id.type))
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
ONE_LISTED = _conversation_list(context_type=False, one=True)
NAMED = select(*(conversations.c[name] for name in ("id", "title", "context_type"))).where(
    conversations.c.user_id == bindparam("user_id"),
    conversations.c.id.in_(bindparam("ids", expanding=True, type_=conversations.c.id.type)),
)
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

    async def has_conversation(self, conversation_id: str) -> bool:
        found = await self._read.all(_to_fields, ANY_CONVERSATION, id=conversation_id)
        return bool(found)

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

    async def recording(self, session_id: str) -> list[Recording] | None:
        """Its parts in order, for the operator; none where nothing was recorded or it has gone,
        and None where there is no such session."""
        parts = await self._read.all(RECORDINGS.record, RECORDING, session_id=session_id)
        if not parts and await self._read.one(_to_fields, KNOWN, session_id=session_id) is None:
            return None
        return parts

    async def entries(self, conversation_id: str, *, user_id: str) -> list[Entry]:
        given = {"conversation_id": conversation_id, "user_id": user_id}
        return await self._read.all(ENTRIES.record, TRANSCRIPT, **given)

    async def entries_like(
        self,
        conversation_id: str,
        *,
        user_id: str,
        ids: Sequence[str],
        said: Sequence[str] = (),
        told: Sequence[tuple[str, datetime]] = (),
        around: timedelta = timedelta(),
    ) -> list[Entry]:
        asked: list[tuple[Select[Any], dict[str, object]]] = []
        if known := _uuids(ids):
            asked.append((BY_ID, {"ids": known}))
        if said:
            asked.append((SAID_LATELY, {"texts": _kept_as(said)}))
        if told:
            times = [at for _, at in told]
            when = {"since": _shifted(min(times), -around), "until": _shifted(max(times), around)}
            asked.append((SAID_ABOUT_THEN, {"texts": _kept_as(text for text, _ in told), **when}))
        of = {"conversation_id": conversation_id, "user_id": user_id}
        found: dict[str, Entry] = {}
        for query, given in asked:
            for entry in await self._read.all(ENTRIES.record, query, **of, **given):
                found[entry.id] = entry
        return sorted(found.values(), key=lambda e: (e.ordinal, e.created_at, e.id))

    async def sessions_of(self, conversation_id: str, *, user_id: str) -> list[VoiceSession]:
        of = {"conversation_id": conversation_id, "user_id": user_id}
        return await self._read.all(SESSIONS.record, SESSIONS_IN, **of)

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

    async def conversation_listed(
        self, conversation_id: str, *, user_id: str
    ) -> ConversationSummary | None:
        given: dict[str, object] = {"limit": 1, "offset": 0, "id": conversation_id}
        found = await self._read.all(_to_fields, ONE_LISTED, user_id=user_id, **given)
        found[0].pop("total")
        return None if found[0]["id"] is None else _to_listed(found[0])

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
        hits = await asyncio.to_thread(search.rank, found, wanted, limit)
        ids = sorted({hit.conversation_id for hit in hits})
        named = await self._read.all(_to_fields, NAMED, user_id=owner, ids=ids) if ids else []
        known = {str(each.pop("id")): each for each in named}
        return [replace(hit, **known.get(hit.conversation_id, {})) for hit in hits]

    async def spent(self, *, user_id: str, since: datetime) -> Spent:
        found = await self._read.row(_to_fields, SPENT, user_id=user_id, since=since)
        return Spent(**found)


def _to_watch(row: Row[Any]) -> Watch:
    # Who wrote past us may have left out since when.
    since = row.noted_until or row.look_at
    return Watch(todo=rows.TODOS.record(row), look_at=row.look_at, noted_until=since)


def _uuids(named: Iterable[str]) -> list[str]:
    """Those that can be an id at all."""
    known: dict[str, None] = {}
    for each in named:
        with suppress(NotUuid):
            known[canonical_uuid(each)] = None
    return list(known)


def _kept_as(texts: Iterable[str]) -> list[str]:
    """As they lie in the table: what nobody could make out has words of ours."""
    return list({text or kept for text in texts for kept in ("", rows.INAUDIBLE)})


def _shifted(at: datetime, by: timedelta) -> datetime:
    try:
        return at + by
    except OverflowError:  # a client's clock may say anything
        return at


def _to_fields(row: Row[Any]) -> dict[str, Any]:
    return dict(row._mapping)


def _to_summary(row: Row[Any]) -> SessionSummary:
    return SessionSummary(session=SESSIONS.record(row), turn_count=row.turns, title=row.title)


def _to_listed(row: dict[str, Any]) -> ConversationSummary:
    return ConversationSummary(**row | {"preview": search.preview(row["preview"])})
