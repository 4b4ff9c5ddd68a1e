"""The steps of a sweep: what goes when, a slice at a time so that live writes get through.

Each step is a job for the writer: it deletes at most a slice and says how
many rows went; it is done when that is none.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from sqlalchemy import Connection, Delete, delete, func, select

from vivavoce.runtime.ports import Retention
from vivavoce.store.dropping import KEPT_FOR, drop
from vivavoce.store.queries.talk import ADVANCE_LOG
from vivavoce.store.queries.work import OVER
from vivavoce.store.schema.plans import outbox, spent_sessions
from vivavoce.store.schema.talk import (
    conversations,
    events,
    log_head,
    messages,
    snapshots,
    tool_calls,
    voice_sessions,
)
from vivavoce.store.schema.work import approvals, delegated_tasks
from vivavoce.store.writer import Job

SLICE = 2000
CONVERSATIONS = 50  # a slice of these takes all their rows along


def steps(retention: Retention, now: datetime) -> Iterator[Job]:
    def before(seconds: float) -> datetime:
        return now - timedelta(seconds=seconds)

    yield _slices(delete(spent_sessions).where(spent_sessions.c.created_at < now - KEPT_FOR))
    if retention.snapshots is not None:
        yield _slices(_old_snapshots(before(retention.snapshots)))
    if retention.log is not None:
        yield _slices(_old_events(before(retention.log)))
        yield _slices(_old_deliveries(before(retention.log)))
    if retention.conversations is not None:
        yield _old_conversations(before(retention.conversations))
        yield _slices(_old_loose_calls(before(retention.conversations)))
        yield _slices(_old_loose_tasks(before(retention.conversations)))
        yield _slices(_old_loose_approvals(before(retention.conversations)))


def _slices(statement: Delete) -> Job:
    def job(connection: Connection) -> int:
        connection.execute(ADVANCE_LOG, {"count": 0})  # queue up where all writers do
        return connection.execute(statement).rowcount

    return job


def _old_snapshots(cutoff: datetime) -> Delete:
    old = select(snapshots.c.session_id).where(snapshots.c.saved_at < cutoff).limit(SLICE)
    return delete(snapshots).where(snapshots.c.session_id.in_(old))


def _old_events(cutoff: datetime) -> Delete:
    """Only from the front: a hole in the log would be a gap that no reader can notice."""
    kept, present = events.alias("kept"), events.alias("present")
    young = select(func.min(kept.c.position)).where(kept.c.created_at >= cutoff).scalar_subquery()
    end = select(log_head.c.position + 1).scalar_subquery()
    first = select(func.min(present.c.position)).scalar_subquery()
    return delete(events).where(
        events.c.position < func.coalesce(young, end), events.c.position < first + SLICE
    )


def _old_deliveries(cutoff: datetime) -> Delete:
    """Answered; what the backend has not got yet is kept, whatever became of its conversation."""
    old = (
        select(outbox.c.id)
        .where(outbox.c.status != "pending", outbox.c.updated_at < cutoff)
        .limit(SLICE)
    )
    return delete(outbox).where(outbox.c.id.in_(old))


def _old_loose_calls(cutoff: datetime) -> Delete:
    """Calls over HTTP that belong to no conversation."""
    old = (
        select(tool_calls.c.user_id, tool_calls.c.id)
        .where(tool_calls.c.conversation_id.is_(None), tool_calls.c.started_at < cutoff)
        .limit(SLICE)
        .subquery()
    )
    return delete(tool_calls).where(
        select(old)
        .where(old.c.user_id == tool_calls.c.user_id, old.c.id == tool_calls.c.id)
        .exists()
    )


def _old_loose_tasks(cutoff: datetime) -> Delete:
    """Over, and of no conversation, or of one that went: a running one outlives its own."""
    old = (
        select(delegated_tasks.c.id)
        .where(
            delegated_tasks.c.conversation_id.is_(None),
            delegated_tasks.c.status.in_(OVER),
            delegated_tasks.c.updated_at < cutoff,
        )
        .limit(SLICE)
    )
    return delete(delegated_tasks).where(delegated_tasks.c.id.in_(old))


def _old_loose_approvals(cutoff: datetime) -> Delete:
    old = (
        select(approvals.c.id)
        .where(
            approvals.c.conversation_id.is_(None),
            approvals.c.status != "pending",
            approvals.c.requested_at < cutoff,
        )
        .limit(SLICE)
    )
    return delete(approvals).where(approvals.c.id.in_(old))


def _old_conversations(cutoff: datetime) -> Job:
    """Untouched since: neither they nor any session or entry of theirs is younger."""
    spoken_in = select(voice_sessions.c.id).where(
        voice_sessions.c.conversation_id == conversations.c.id,
        voice_sessions.c.updated_at >= cutoff,
    )
    written_to = select(messages.c.id).where(
        messages.c.conversation_id == conversations.c.id, messages.c.created_at >= cutoff
    )
    old = (
        select(conversations.c.id)
        .where(conversations.c.updated_at < cutoff, ~spoken_in.exists(), ~written_to.exists())
        .order_by(conversations.c.updated_at)
        .limit(CONVERSATIONS)
    )

    def job(connection: Connection) -> int:
        connection.execute(ADVANCE_LOG, {"count": 0})
        return drop(connection, list(connection.execute(old).scalars()))

    return job
