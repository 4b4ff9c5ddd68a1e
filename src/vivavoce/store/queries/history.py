"""The statements about conversations as people read them, and about what sessions took.

Those of the search are in `search.py`: each database has its own.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    BigInteger,
    Select,
    Table,
    bindparam,
    cast,
    delete,
    func,
    literal_column,
    or_,
    select,
    true,
    tuple_,
    union_all,
    update,
)

from vivavoce.store.schema.plans import milestones, spent_sessions
from vivavoce.store.schema.talk import conversations, messages, voice_sessions
from vivavoce.wire.records.plans import NEVER_BEGAN

SAID = ("user", "assistant")
PREVIEW_FROM = 400  # characters; the codec makes one line of them
_SAID = literal_column("messages.role").in_(literal_column(f"'{role}'") for role in SAID)

# --- Lists and pages ----------------------------------------------------------------

_LAST = (messages.c.ordinal.desc(), messages.c.created_at.desc(), messages.c.id.desc())


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
    return (
        select(
            total.c.total,
            *(page.c[name] for name in ("id", "context_type", "title", "created_at", "ended_at")),
            page.c.extracted_intent,
            select(func.count()).select_from(messages).where(*said).scalar_subquery().label("said"),
            select(func.max(messages.c.created_at))
            .where(*said)
            .scalar_subquery()
            .label("last_message_at"),
            select(func.substr(messages.c.content, 1, PREVIEW_FROM))
            .where(*said)
            .order_by(*_LAST)
            .limit(1)
            .scalar_subquery()
            .label("preview"),
        )
        .select_from(total)
        .outerjoin(page, true())
        .order_by(page.c.last_activity_at.desc(), page.c.id.desc())
    )


CONVERSATIONS = _conversation_list(context_type=False)
CONVERSATIONS_OF_TYPE = _conversation_list(context_type=True)

MARK = select(messages.c.ordinal, messages.c.created_at, messages.c.id).where(
    messages.c.id == bindparam("id"),
    messages.c.conversation_id == bindparam("conversation_id"),
    messages.c.user_id == bindparam("user_id"),
)


def messages_before(*, mark: bool, said_only: bool) -> Select[Any]:
    """Along the index from the mark towards the beginning: as many rows as asked for."""
    query = select(messages).where(
        messages.c.conversation_id == bindparam("conversation_id"),
        messages.c.user_id == bindparam("user_id"),
    )
    if mark:
        place = tuple_(messages.c.ordinal, messages.c.created_at, messages.c.id)
        there = tuple_(
            bindparam("ordinal", type_=messages.c.ordinal.type),
            bindparam("created_at", type_=messages.c.created_at.type),
            bindparam("id", type_=messages.c.id.type),
        )
        # The first says it again for the planner; the second settles equal places.
        query = query.where(messages.c.ordinal <= bindparam("ordinal"), place < there)
    if said_only:
        query = query.where(_SAID)
    return query.order_by(*_LAST).limit(bindparam("limit"))


# --- What sessions took -------------------------------------------------------------

_OF_USER = voice_sessions.c.user_id == bindparam("user_id")
# Without a voice it is typed, or somebody else's call that we only keep: nobody waits for it.
_ACTIVE = (
    (voice_sessions.c.status == "active")
    & voice_sessions.c.ended_at.is_(None)
    & (voice_sessions.c.voice != "")
)


def _taken(table: Table) -> Select[Any]:
    names = ("created_at", "counted", "input_tokens", "output_tokens", "cost_micros")
    since = table.c.created_at >= bindparam("since", type_=table.c.created_at.type)
    taken = select(*(table.c[name] for name in names))
    return taken.where(table.c.user_id == bindparam("user_id"), since)


_took = union_all(_taken(voice_sessions), _taken(spent_sessions)).subquery("took")
_SUMS: list[Any] = [
    func.count().filter(_took.c.counted).label("sessions"),
    func.sum(_took.c.input_tokens).label("input_tokens"),
    func.sum(_took.c.output_tokens).label("output_tokens"),
    func.sum(_took.c.cost_micros).label("cost_micros"),
    func.min(_took.c.created_at).filter(_took.c.counted).label("since"),
]
SPENT = select(*_SUMS)

OPENED = (voice_sessions.c.voice != "") & (
    func.coalesce(voice_sessions.c.end_reason, "") != NEVER_BEGAN
)

PAST = select(
    voice_sessions.c.conversation_id,
    voice_sessions.c.created_at,
    _ACTIVE.label("active"),
    voice_sessions.c.counted,
    (voice_sessions.c.input_tokens + voice_sessions.c.output_tokens).label("tokens"),
    voice_sessions.c.cost_micros,
    OPENED.label("opened"),
).where(_OF_USER, voice_sessions.c.created_at > bindparam("since"))

# Those of conversations that were deleted since.
PAST_DROPPED = select(
    spent_sessions.c.created_at,
    spent_sessions.c.counted,
    (spent_sessions.c.input_tokens + spent_sessions.c.output_tokens).label("tokens"),
    spent_sessions.c.cost_micros,
    spent_sessions.c.opened,
).where(
    spent_sessions.c.user_id == bindparam("user_id"),
    spent_sessions.c.created_at > bindparam("since"),
)

# --- Writes that are no upserts ------------------------------------------------------

_MINE = (conversations.c.id == bindparam("of"), conversations.c.user_id == bindparam("owner"))

LINK = (
    update(conversations)
    .where(*_MINE)
    .values(
        linked_goal_id=func.coalesce(
            bindparam("goal", type_=conversations.c.id.type), conversations.c.linked_goal_id
        ),
        linked_task_id=func.coalesce(
            bindparam("task", type_=conversations.c.id.type), conversations.c.linked_task_id
        ),
    )
)

_last_active = conversations.c.last_activity_at  # NULL where a client made it past us
TOUCH = (
    update(conversations)
    .where(*_MINE, or_(_last_active.is_(None), _last_active < bindparam("at")))
    .values(last_activity_at=bindparam("at", type_=conversations.c.created_at.type))
)

_talked = select(cast(func.sum(voice_sessions.c.duration_ms), BigInteger) // 1000).where(
    voice_sessions.c.conversation_id == conversations.c.id
)
# The time of its sessions, not the days between them.
DURATION = update(conversations).where(*_MINE).values(duration_seconds=_talked.scalar_subquery())

DROP_MILESTONE = delete(milestones).where(milestones.c.id == bindparam("dropped"))
