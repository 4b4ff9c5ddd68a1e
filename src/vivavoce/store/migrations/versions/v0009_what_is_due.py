"""A to-do knows when its times are looked at next, and what came due waits until it was told; the
outbox takes news of that too. What was due before is not told any more."""

from __future__ import annotations

from datetime import UTC, datetime

import sqlalchemy as sa
from alembic import op

from vivavoce.store.columns import Id, Said, Utc, Words
from vivavoce.store.schema import outbox

revision = "0009"
down_revision = "0007"
branch_labels = None
depends_on = None


def upgrade() -> None:
    dialect, now = op.get_bind().dialect.name, datetime.now(UTC)
    for name in ("look_at", "noted_until"):
        op.add_column("tasks", sa.Column(name, Utc))
    tasks = sa.table("tasks", sa.column("look_at", Utc), sa.column("noted_until", Utc))
    op.get_bind().execute(tasks.update().values(look_at=now, noted_until=now))
    op.create_index("idx_tasks_look", "tasks", ["look_at"])
    op.create_table(
        "reminders",
        sa.Column("id", Id, primary_key=True),
        sa.Column("task_id", Id, nullable=False),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("title", Said, nullable=False),
        sa.Column("due_at", Utc, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("status", Words, nullable=False),
        sa.Column("told_at", Utc),
        sa.Column("claimed_by", Words),
        sa.Column("claimed_until", Utc),
        sa.CheckConstraint("status IN ('waiting', 'told', 'dropped')", "reminders_status_check"),
        sa.ForeignKeyConstraint(
            ["task_id", "user_id"],
            ["tasks.id", "tasks.user_id"],
            "reminders_task_fkey",
            ondelete="CASCADE",
        ),
    )
    op.create_index("idx_reminders_user", "reminders", ["user_id", "status", "due_at"])
    op.create_index("idx_reminders_task", "reminders", ["task_id"])
    actions = "action IN ('submit', 'amend', 'retract', 'due')"
    if dialect == "sqlite":
        # A check is of the table: SQLite changes it with the whole of that.
        with op.batch_alter_table("outbox", copy_from=outbox, recreate="always"):
            pass
        return
    op.drop_constraint("outbox_action_check", "outbox")
    op.create_check_constraint("outbox_action_check", "outbox", actions)
    for name in ("look_at", "noted_until"):
        op.alter_column("tasks", name, server_default=sa.text("now()"))
    op.execute("ALTER TABLE reminders ENABLE ROW LEVEL SECURITY")
    op.execute(
        "CREATE POLICY reminders_select_own ON reminders FOR SELECT "
        "USING (user_id = (SELECT vivavoce_uid()))"
    )
