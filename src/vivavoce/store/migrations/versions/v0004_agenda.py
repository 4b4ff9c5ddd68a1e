"""People, goals, tasks, intents and the outbox; search; row-level security on PostgreSQL.

What was `tasks` is delegated work, and moves to `delegated_tasks`: seed 004 §8
has the name for what the user has to do.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store import search, security
from vivavoce.store.columns import Id, Position, Utc
from vivavoce.store.migrations import tables_0004 as tables

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_INDEXES = {
    "idx_goals_user": ("goals", ["user_id", "created_at"]),
    "idx_goals_conversation": ("goals", ["conversation_id"]),
    "idx_milestones_goal": ("milestones", ["goal_id", "position"]),
    "idx_tasks_user": ("tasks", ["user_id", "scheduled_at"]),
    "idx_tasks_conversation": ("tasks", ["conversation_id"]),
    "idx_tasks_goal": ("tasks", ["goal_id"]),
    "idx_intents_user": ("intents", ["user_id", "created_at"]),
    "idx_intents_conversation": ("intents", ["conversation_id", "created_at"]),
    "idx_outbox_due": ("outbox", ["status", "due_at"]),
    "idx_outbox_intent": ("outbox", ["intent_id", "created_at"]),
}
_OF_CONVERSATIONS = {
    "idx_conversations_recent": ["user_id", "last_activity_at", "id"],
    "idx_conversations_linked_goal_id": ["linked_goal_id"],
    "idx_conversations_linked_task_id": ["linked_task_id"],
}

_KEEP = ("select", "insert", "update")
_ALL = (*_KEEP, "delete")
_READ = ("select",)
_ACCESS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("users", "conversations"), _KEEP),
    **dict.fromkeys(("messages", "goals", "milestones", "tasks"), _ALL),
    **dict.fromkeys(("voice_sessions", "tool_calls", "intents"), _READ),
    **dict.fromkeys(("delegated_tasks", "approvals", "events"), _READ),
    **dict.fromkeys(("snapshots", "outbox", "log_head", "alembic_version"), ()),
}


def upgrade() -> None:
    _move_delegated("tasks", "delegated_tasks")
    op.create_table("users", *tables.users())
    op.create_table("goals", *tables.goals())
    op.create_table("milestones", *tables.milestones())
    op.create_table("tasks", *tables.tasks())
    op.create_table("intents", *tables.intents())
    op.create_table("outbox", *tables.outbox())
    for name, (table, columns) in _INDEXES.items():
        op.create_index(name, table, columns)
    _link_conversations()
    _cost = sa.Column("cost_micros", Position, nullable=False, server_default=sa.text("0"))
    op.add_column("voice_sessions", _cost)
    _counted = sa.Column("counted", sa.Boolean, nullable=False, server_default=sa.true())
    op.add_column("voice_sessions", _counted)
    _index_messages(["conversation_id", "ordinal", "role"])
    search.install(op.get_bind())
    security.close(op.get_bind(), _ACCESS)


def downgrade() -> None:
    security.open_again(op.get_bind(), _ACCESS)
    search.remove(op.get_bind())
    _index_messages(["conversation_id", "ordinal"])
    op.drop_column("voice_sessions", "counted")
    op.drop_column("voice_sessions", "cost_micros")
    _unlink_conversations()
    for table in ("outbox", "intents", "tasks", "milestones", "goals", "users"):
        op.drop_table(table)
    _move_delegated("delegated_tasks", "tasks")


def _move_delegated(old: str, new: str) -> None:
    """Made anew: constraints and indexes are named after their table."""
    op.create_table(new, *tables.delegated(new))
    names = ", ".join(c.name for c in tables.delegated(new) if isinstance(c, sa.Column))
    op.execute(f"INSERT INTO {new} ({names}) SELECT {names} FROM {old}")  # noqa: S608
    op.drop_table(old)
    for name, columns in {
        "user": ["user_id", "created_at"],
        "told": ["user_id", "told_at", "created_at"],
        "status": ["status", "created_at"],
        "conversation": ["conversation_id"],
    }.items():
        op.create_index(f"idx_{new}_{name}", new, columns)


def _index_messages(columns: list[str]) -> None:
    op.drop_index("idx_messages_ordinal", table_name="messages")
    op.create_index("idx_messages_ordinal", "messages", columns)


def _link_conversations() -> None:
    before = tables.conversations(linking=False)
    with op.batch_alter_table("conversations", copy_from=before) as batch:
        batch.add_column(sa.Column("linked_goal_id", Id))
        batch.add_column(sa.Column("linked_task_id", Id))
        batch.add_column(sa.Column("last_activity_at", Utc))
        for name, to in (("goal", "goals"), ("task", "tasks")):
            column = f"linked_{name}_id"
            batch.create_foreign_key(
                f"conversations_{name}_fkey", to, [column], ["id"], ondelete="SET NULL"
            )
            batch.create_foreign_key(
                f"conversations_{name}_owner_fkey", to, [column, "user_id"], ["id", "user_id"]
            )
    op.execute(
        "UPDATE conversations SET last_activity_at = coalesce((SELECT max(created_at)"
        " FROM messages WHERE conversation_id = conversations.id"
        " AND role IN ('user', 'assistant')), created_at)"
    )
    for name, columns in _OF_CONVERSATIONS.items():
        op.create_index(name, "conversations", columns)


def _unlink_conversations() -> None:
    for name in _OF_CONVERSATIONS:
        op.drop_index(name, table_name="conversations")
    linking = tables.conversations(linking=True)
    with op.batch_alter_table("conversations", copy_from=linking) as batch:
        for name in ("goal", "task"):
            batch.drop_constraint(f"conversations_{name}_owner_fkey", type_="foreignkey")
            batch.drop_constraint(f"conversations_{name}_fkey", type_="foreignkey")
        for column in ("linked_goal_id", "linked_task_id", "last_activity_at"):
            batch.drop_column(column)
