"""Moved occurrences of tasks, deleted conversations; times and words of seed 004 put right.

On PostgreSQL also defaults for those who come past the server, and no TRUNCATE for them.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from vivavoce.store import defaults, security
from vivavoce.store.columns import Position, Utc, Words

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

_TIMES = {"created_at": "now()", "updated_at": "now()"}
_OWNED = {"id": "gen_random_uuid()", "user_id": "vivavoce_uid()"}
_NOW = "extract(epoch FROM now())::double precision * 1000"
_DEFAULTS = {
    "users": {"id": "vivavoce_uid()", **_TIMES},
    "conversations": {**_OWNED, **_TIMES, "last_activity_at": "now()"},
    "messages": {**_OWNED, "created_at": "now()", "ordinal": _NOW},
    "goals": {**_OWNED, **_TIMES, "status": "'active'"},
    "milestones": {**_OWNED, "id": "gen_random_uuid()::text", "created_at": "now()"},
    "tasks": {**_OWNED, **_TIMES, "status": "'active'"},
}
_BEFORE = {"messages": {"ordinal": "0"}}

_TABLES = (
    *("users", "conversations", "messages", "goals", "milestones", "tasks", "voice_sessions"),
    *("tool_calls", "intents", "delegated_tasks", "approvals", "events", "snapshots", "outbox"),
    *("spent_sessions", "log_head", "alembic_version"),
)

_MARK = {"postgresql": """metadata || '{"inaudible": true}'::jsonb"""}
_UNMARK = {"postgresql": "metadata - 'inaudible'"}
_MARKED = {"postgresql": "(metadata ->> 'inaudible')::boolean"}


def upgrade() -> None:
    op.add_column("tasks", sa.Column("recurs_from", Utc))
    op.add_column("tasks", sa.Column("moved_from", Utc))
    _spent_sessions()
    loose = sa.text("voice_session_id IS NULL")
    op.create_index(
        "idx_events_loose",
        "events",
        ["conversation_id"],
        sqlite_where=loose,
        postgresql_where=loose,
    )
    dialect = op.get_bind().dialect.name
    mark = _MARK.get(dialect, "json_set(metadata, '$.inaudible', json('true'))")
    op.execute(
        f"UPDATE messages SET content = '[inaudible]', metadata = {mark}"  # noqa: S608
        " WHERE content = '' AND role = 'user' AND input_modality = 'voice'"
    )
    op.execute(
        "UPDATE conversations SET duration_seconds = (SELECT CAST(sum(duration_ms) AS BIGINT)"
        " / 1000 FROM voice_sessions WHERE conversation_id = conversations.id)"
    )
    op.execute(
        "UPDATE conversations SET last_activity_at = created_at WHERE last_activity_at IS NULL"
    )
    if dialect == "postgresql":
        op.execute("ALTER TABLE spent_sessions ENABLE ROW LEVEL SECURITY")
    defaults.fill(op.get_bind(), _DEFAULTS)
    security.keep_from_truncating(op.get_bind(), _TABLES)


def downgrade() -> None:
    """Who may TRUNCATE stays as it is, and so do the durations: neither was meant."""
    defaults.leave(op.get_bind(), _DEFAULTS)
    defaults.fill(op.get_bind(), _BEFORE)
    dialect = op.get_bind().dialect.name
    unmark = _UNMARK.get(dialect, "json_remove(metadata, '$.inaudible')")
    marked = _MARKED.get(dialect, "json_extract(metadata, '$.inaudible')")
    op.execute(
        f"UPDATE messages SET content = '', metadata = {unmark}"  # noqa: S608
        f" WHERE content = '[inaudible]' AND {marked}"
    )
    op.drop_index("idx_events_loose", "events")
    op.drop_table("spent_sessions")
    op.drop_column("tasks", "moved_from")
    op.drop_column("tasks", "recurs_from")


def _spent_sessions() -> None:
    op.create_table(
        "spent_sessions",
        sa.Column("id", Words, primary_key=True),
        sa.Column("user_id", Words, nullable=False),
        sa.Column("created_at", Utc, nullable=False),
        sa.Column("counted", sa.Boolean, nullable=False),
        sa.Column("opened", sa.Boolean, nullable=False),
        sa.Column("input_tokens", Position, nullable=False),
        sa.Column("output_tokens", Position, nullable=False),
        sa.Column("cost_micros", Position, nullable=False),
    )
    op.create_index("idx_spent_sessions_user", "spent_sessions", ["user_id", "created_at"])
