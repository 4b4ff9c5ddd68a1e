"""The statements about people, goals, tasks, intents and the outbox."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Select, bindparam, or_, select, tuple_

from vivavoce.store.schema.plans import goals, intents, milestones, outbox, tasks, users

OPEN = ("active", "rescheduled")

PERSON = select(users).where(users.c.id == bindparam("id"))
GOAL = select(goals).where(goals.c.id == bindparam("id"), goals.c.user_id == bindparam("user_id"))
TODO = select(tasks).where(tasks.c.id == bindparam("id"), tasks.c.user_id == bindparam("user_id"))

MILESTONES = (
    select(milestones)
    .where(
        milestones.c.goal_id.in_(bindparam("goal_ids", expanding=True)),
        milestones.c.user_id == bindparam("user_id"),
    )
    .order_by(milestones.c.goal_id, milestones.c.position, milestones.c.id)
)


def goals_of_user(*, status: bool) -> Select[Any]:
    query = select(goals).where(goals.c.user_id == bindparam("user_id"))
    if status:
        query = query.where(goals.c.status == bindparam("status"))
    newest = (goals.c.created_at.desc(), goals.c.id.desc())
    return query.order_by(*newest).limit(bindparam("limit")).offset(bindparam("offset"))


def todos_of_user(*, open_only: bool, until: bool) -> Select[Any]:
    query = select(tasks).where(tasks.c.user_id == bindparam("user_id"))
    if open_only:
        query = query.where(tasks.c.status.in_(OPEN))
    if until:
        query = query.where(
            or_(
                tasks.c.scheduled_at < bindparam("until"),
                tasks.c.scheduled_at.is_(None),
                tasks.c.recurrence_rule.is_not(None),
            )
        )
    due = (tasks.c.scheduled_at.is_(None), tasks.c.scheduled_at, tasks.c.created_at, tasks.c.id)
    return query.order_by(*due).limit(bindparam("limit")).offset(bindparam("offset"))


INTENT = select(intents).where(
    intents.c.id == bindparam("id"), intents.c.user_id == bindparam("user_id")
)


def intents_of_user(*, conversation: bool) -> Select[Any]:
    query = select(intents).where(intents.c.user_id == bindparam("user_id"))
    if conversation:
        query = query.where(intents.c.conversation_id == bindparam("conversation_id"))
    newest = (intents.c.created_at.desc(), intents.c.id.desc())
    return query.order_by(*newest).limit(bindparam("limit"))


DELIVERIES = (
    select(outbox)
    .where(outbox.c.intent_id == bindparam("intent_id"))
    .order_by(outbox.c.created_at, outbox.c.id)
)

# What an intent says second must not arrive first: only its oldest one goes out.
_earlier = outbox.alias("earlier")
_BEFORE_IT = select(_earlier.c.id).where(
    _earlier.c.intent_id == outbox.c.intent_id,
    _earlier.c.status == "pending",
    or_(
        _earlier.c.created_at < outbox.c.created_at,
        (_earlier.c.created_at == outbox.c.created_at) & (_earlier.c.id < outbox.c.id),
    ),
)


def due_deliveries(*, mark: bool) -> Select[Any]:
    query = select(outbox).where(
        outbox.c.status == "pending",
        outbox.c.due_at <= bindparam("before"),
        ~_BEFORE_IT.exists(),
    )
    if mark:
        place = tuple_(outbox.c.created_at, outbox.c.id)
        there = tuple_(
            bindparam("created_at", type_=outbox.c.created_at.type),
            bindparam("id", type_=outbox.c.id.type),
        )
        query = query.where(place > there)
    return query.order_by(outbox.c.created_at, outbox.c.id).limit(bindparam("limit"))
