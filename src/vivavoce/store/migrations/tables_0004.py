"""The tables that revision 0004 makes and changes, as they were then."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

from vivavoce.store.columns import Document, Id, Utc, Words

Keys = tuple[sa.ForeignKeyConstraint, sa.ForeignKeyConstraint]


def linked(table: str, column: str, to: str, name: str, owner: str) -> Keys:
    return (
        sa.ForeignKeyConstraint(
            [column], [f"{to}.id"], name=f"{table}_{name}_fkey", ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            [column, "user_id"], [f"{to}.id", f"{to}.user_id"], name=f"{table}_{owner}_fkey"
        ),
    )


def _belonging(table: str) -> Keys:
    return linked(table, "conversation_id", "conversations", "conversation", "owner")


def _owned(table: str, column: str, to: str, name: str) -> sa.ForeignKeyConstraint:
    return sa.ForeignKeyConstraint(
        [column, "user_id"],
        [f"{to}.id", f"{to}.user_id"],
        name=f"{table}_{name}_fkey",
        ondelete="CASCADE",
    )


def delegated(table: str) -> list[Any]:
    """Delegated work, which was `tasks` before and is `delegated_tasks` since."""
    return [
        sa.Column("id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("conversation_id", Id),
        sa.Column("voice_session_id", Words),
        sa.Column("call_id", Words),
        sa.Column("title", Words, nullable=False),
        sa.Column("description", Words, nullable=False),
        sa.Column("agent", Words, nullable=False),
        sa.Column("backend", Words, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("phase", Words),
        sa.Column("progress", Words),
        sa.Column("percentage", sa.Integer),
        sa.Column("question_id", Words),
        sa.Column("question", Words),
        sa.Column("choices", Document),
        sa.Column("asked_at", Utc),
        sa.Column("result", Words, nullable=False),
        sa.Column("files_changed", Document, nullable=False),
        sa.Column("error", Words),
        sa.Column("tried", Document, nullable=False),
        sa.Column("suggestions", Document, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.Column("finished_at", Utc),
        sa.Column("told_at", Utc),
        sa.CheckConstraint(
            "status IN ('running', 'waiting', 'completed', 'failed', 'cancelled')",
            name=f"{table}_status_check",
        ),
        *_belonging(table),
    ]


def conversations(*, linking: bool) -> sa.Table:
    """For SQLite, which makes it anew from what is said here."""
    more: list[Any] = []
    if linking:
        more = [
            *(sa.Column(name, Id) for name in ("linked_goal_id", "linked_task_id")),
            sa.Column("last_activity_at", Utc),
            *linked("conversations", "linked_goal_id", "goals", "goal", "goal_owner"),
            *linked("conversations", "linked_task_id", "tasks", "task", "task_owner"),
        ]
    metadata = sa.MetaData()
    for other in ("goals", "tasks") if linking else ():
        sa.Table(other, metadata, sa.Column("id", Id), sa.Column("user_id", Words))
    return sa.Table(
        "conversations",
        metadata,
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("context_type", Words, nullable=False, server_default=sa.text("'voice'")),
        sa.Column("title", Words),
        sa.Column("summary", Words),
        sa.Column("metadata", Document, nullable=False, server_default=sa.text("'{}'")),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.Column("voice_session_id", Words),
        sa.Column("extracted_intent", Words),
        sa.Column("intent_payload", Document),
        sa.Column("ended_at", Utc),
        sa.Column("duration_seconds", sa.Integer),
        sa.CheckConstraint(
            "context_type IN ('onboarding', 'goal', 'task', 'reschedule', 'voice')",
            name="conversations_context_type_check",
        ),
        sa.UniqueConstraint("id", "user_id", name="conversations_owner_key"),
        *more,
        sa.Index("idx_conversations_updated", "updated_at"),
    )


def users() -> list[Any]:
    return [
        sa.Column("id", Words, primary_key=True),
        *(sa.Column(name, Words) for name in ("name", "time_zone", "chronotype")),
        *(
            sa.Column(name, Words)
            for name in ("work_start", "work_end", "sleep_start", "sleep_end")
        ),
        sa.Column("voice", Words),
        sa.Column("verbosity", Words, nullable=False, server_default=sa.text("'normal'")),
        sa.Column("auto_approve", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.CheckConstraint(
            "verbosity IN ('brief', 'normal', 'detailed')", name="users_verbosity_check"
        ),
    ]


def goals() -> list[Any]:
    return [
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("statement", Words, nullable=False),
        sa.Column("timeline", Words),
        sa.Column("target_at", Utc),
        sa.Column("context_notes", Words),
        sa.Column("status", Words, nullable=False),
        sa.Column("conversation_id", Id),
        sa.Column("intent_id", Words),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.CheckConstraint(
            "status IN ('active', 'completed', 'retracted')", name="goals_status_check"
        ),
        sa.UniqueConstraint("id", "user_id", name="goals_owner_key"),
        *_belonging("goals"),
    ]


def milestones() -> list[Any]:
    return [
        sa.Column("id", Words, primary_key=True),
        sa.Column("goal_id", Id, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("title", Words, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("due_at", Utc),
        sa.Column("completed_at", Utc),
        _owned("milestones", "goal_id", "goals", "goal"),
    ]


def tasks() -> list[Any]:
    return [
        sa.Column("id", Id, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("title", Words, nullable=False),
        sa.Column("trigger_type", Words, nullable=False),
        sa.Column("scheduled_at", Utc),
        sa.Column("scheduled_words", Words),
        sa.Column("recurrence_rule", Words),
        sa.Column("recurrence_words", Words),
        sa.Column("time_zone", Words, nullable=False, server_default=sa.text("'UTC'")),
        sa.Column("location_trigger", Words),
        sa.Column("status", Words, nullable=False),
        sa.Column("reason", Words),
        sa.Column("goal_id", Id),
        sa.Column("conversation_id", Id),
        sa.Column("intent_id", Words),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.CheckConstraint("trigger_type IN ('time', 'location')", name="tasks_trigger_type_check"),
        sa.CheckConstraint(
            "status IN ('active', 'rescheduled', 'completed', 'retracted')",
            name="tasks_status_check",
        ),
        sa.UniqueConstraint("id", "user_id", name="tasks_owner_key"),
        *_belonging("tasks"),
        *linked("tasks", "goal_id", "goals", "goal", "goal_owner"),
    ]


def intents() -> list[Any]:
    return [
        sa.Column("id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("conversation_id", Id, nullable=False),
        sa.Column("voice_session_id", Words),
        sa.Column("call_id", Words),
        sa.Column("name", Words, nullable=False),
        sa.Column("route", Words, nullable=False),
        sa.Column("payload", Document, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("evidence", Document, nullable=False),
        sa.Column("revision", sa.Integer, nullable=False),
        sa.Column("goal_id", Words),
        sa.Column("task_id", Words),
        sa.Column("error", Words),
        sa.Column("previous", Document),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.CheckConstraint(
            "status IN ('pending', 'accepted', 'failed', 'retracted')", name="intents_status_check"
        ),
        _owned("intents", "conversation_id", "conversations", "conversation"),
    ]


def outbox() -> list[Any]:
    return [
        sa.Column("id", Words, primary_key=True),
        sa.Column("intent_id", Words, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("action", Words, nullable=False),
        sa.Column("body", Document, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("last_error", Words),
        sa.Column("answer", Document),
        sa.Column("due_at", Utc, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("updated_at", Utc, nullable=False),
        sa.CheckConstraint("action IN ('submit', 'amend', 'retract')", name="outbox_action_check"),
        sa.CheckConstraint(
            "status IN ('pending', 'delivered', 'refused')", name="outbox_status_check"
        ),
    ]
