"""The tables of people and their plans (seed 004 §8): users, goals, tasks, intents, the outbox.

Goals and tasks outlive their conversation, and a conversation outlives what it
links to; who owns what is checked all the same (`schema_work.belonging`). Ids
of intents are in no foreign key: an intent goes with its conversation. What
is in the outbox has no owner but its user: it waits for its answer.
"""

from __future__ import annotations

from sqlalchemy import (
    Boolean,
    CheckConstraint,
    Column,
    ForeignKeyConstraint,
    Index,
    Integer,
    Table,
    UniqueConstraint,
    false,
    text,
)

from vivavoce.store.columns import Document, Id, Position, Utc, Words
from vivavoce.store.schema.talk import conversations, metadata
from vivavoce.store.schema.work import belonging

users = Table(
    "users",
    metadata,
    Column("id", Words, primary_key=True),
    Column("name", Words),
    Column("time_zone", Words),
    Column("chronotype", Words),
    Column("work_start", Words),
    Column("work_end", Words),
    Column("sleep_start", Words),
    Column("sleep_end", Words),
    Column("voice", Words),
    Column("verbosity", Words, nullable=False, server_default=text("'normal'")),
    Column("auto_approve", Boolean, nullable=False, server_default=false()),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    CheckConstraint("verbosity IN ('brief', 'normal', 'detailed')", name="users_verbosity_check"),
)

goals = Table(
    "goals",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("statement", Words, nullable=False),
    Column("timeline", Words),
    Column("target_at", Utc),
    Column("context_notes", Words),
    Column("status", Words, nullable=False),
    Column("conversation_id", Id),
    Column("intent_id", Words),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    CheckConstraint("status IN ('active', 'completed', 'retracted')", name="goals_status_check"),
    UniqueConstraint("id", "user_id", name="goals_owner_key"),
    *belonging("goals"),
    Index("idx_goals_user", "user_id", "created_at"),
    Index("idx_goals_conversation", "conversation_id"),
)

milestones = Table(
    "milestones",
    metadata,
    Column("id", Words, primary_key=True),
    Column("goal_id", Id, nullable=False),
    Column("user_id", Words, nullable=False),
    Column("title", Words, nullable=False),
    Column("position", Integer, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("due_at", Utc),
    Column("completed_at", Utc),
    ForeignKeyConstraint(
        ["goal_id", "user_id"],
        ["goals.id", "goals.user_id"],
        name="milestones_goal_fkey",
        ondelete="CASCADE",
    ),
    Index("idx_milestones_goal", "goal_id", "position"),
)


def _linked(
    table: str, column: str, to: str, name: str, *, late: bool = False
) -> tuple[ForeignKeyConstraint, ForeignKeyConstraint]:
    """Let go of when it goes, and of the same owner while it is there: two keys, in this order."""
    return (
        ForeignKeyConstraint(
            [column],
            [f"{to}.id"],
            name=f"{table}_{name}_fkey",
            ondelete="SET NULL",
            use_alter=late,
        ),
        ForeignKeyConstraint(
            [column, "user_id"],
            [f"{to}.id", f"{to}.user_id"],
            name=f"{table}_{name}_owner_fkey",
            use_alter=late,
        ),
    )


tasks = Table(
    "tasks",
    metadata,
    Column("id", Id, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("title", Words, nullable=False),
    Column("trigger_type", Words, nullable=False),
    Column("scheduled_at", Utc),
    Column("scheduled_words", Words),
    Column("recurrence_rule", Words),
    Column("recurrence_words", Words),
    Column("recurs_from", Utc),
    Column("moved_from", Utc),
    Column("time_zone", Words, nullable=False, server_default=text("'UTC'")),
    Column("location_trigger", Words),
    Column("status", Words, nullable=False),
    Column("reason", Words),
    Column("goal_id", Id),
    Column("conversation_id", Id),
    Column("intent_id", Words),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    CheckConstraint("trigger_type IN ('time', 'location')", name="tasks_trigger_type_check"),
    CheckConstraint(
        "status IN ('active', 'rescheduled', 'completed', 'retracted')", name="tasks_status_check"
    ),
    UniqueConstraint("id", "user_id", name="tasks_owner_key"),
    *belonging("tasks"),
    *_linked("tasks", "goal_id", "goals", "goal"),
    Index("idx_tasks_user", "user_id", "scheduled_at"),
    Index("idx_tasks_conversation", "conversation_id"),
    Index("idx_tasks_goal", "goal_id"),
)

intents = Table(
    "intents",
    metadata,
    Column("id", Words, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("conversation_id", Id, nullable=False),
    Column("voice_session_id", Words),
    Column("call_id", Words),
    Column("name", Words, nullable=False),
    Column("route", Words, nullable=False),
    Column("payload", Document, nullable=False),
    Column("status", Words, nullable=False),
    Column("evidence", Document, nullable=False),
    Column("revision", Integer, nullable=False),
    # A backend of the user's names its goals and tasks as it likes.
    Column("goal_id", Words),
    Column("task_id", Words),
    Column("error", Words),
    Column("previous", Document),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    CheckConstraint(
        "status IN ('pending', 'accepted', 'failed', 'retracted')", name="intents_status_check"
    ),
    ForeignKeyConstraint(
        ["conversation_id", "user_id"],
        ["conversations.id", "conversations.user_id"],
        name="intents_conversation_fkey",
        ondelete="CASCADE",
    ),
    Index("idx_intents_user", "user_id", "created_at"),
    Index("idx_intents_conversation", "conversation_id", "created_at"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("id", Words, primary_key=True),
    Column("intent_id", Words, nullable=False),
    Column("user_id", Words, nullable=False),
    Column("action", Words, nullable=False),
    Column("body", Document, nullable=False),
    Column("status", Words, nullable=False),
    Column("attempts", Integer, nullable=False),
    Column("last_error", Words),
    Column("answer", Document),
    Column("due_at", Utc, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("updated_at", Utc, nullable=False),
    CheckConstraint("action IN ('submit', 'amend', 'retract')", name="outbox_action_check"),
    CheckConstraint("status IN ('pending', 'delivered', 'refused')", name="outbox_status_check"),
    Index("idx_outbox_due", "status", "due_at"),
    Index("idx_outbox_intent", "intent_id", "created_at"),
)

# What sessions took whose conversation its user deleted: deleting gives no fresh start.
spent_sessions = Table(
    "spent_sessions",
    metadata,
    Column("id", Words, primary_key=True),
    Column("user_id", Words, nullable=False),
    Column("created_at", Utc, nullable=False),
    Column("counted", Boolean, nullable=False),
    Column("opened", Boolean, nullable=False),
    Column("input_tokens", Position, nullable=False),
    Column("output_tokens", Position, nullable=False),
    Column("cost_micros", Position, nullable=False),
    Index("idx_spent_sessions_user", "user_id", "created_at"),
)

# Goals point at conversations and those at goals: one of the two has to come later.
for _key in (
    *_linked("conversations", "linked_goal_id", "goals", "goal", late=True),
    *_linked("conversations", "linked_task_id", "tasks", "task", late=True),
):
    conversations.append_constraint(_key)

for _column in ("linked_goal_id", "linked_task_id"):
    Index(f"idx_conversations_{_column}", conversations.c[_column])
