"""What may change in a goal, a to-do, an intent or a delivery, and when."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Boolean, ColumnElement, Table, and_, literal_column, or_

from vivavoce.store.schema.plans import goals, intents, milestones, outbox, tasks, users

Only = Callable[[Any], ColumnElement[bool]]
"""A condition more, given the row that comes."""


@dataclass(frozen=True, slots=True)
class Upsert:
    """`same` columns must be equal, or nothing is written: the owner, above all."""

    table: Table
    mutable: tuple[str, ...]
    same: tuple[str, ...] = ("user_id",)
    only: tuple[Only, ...] = ()


def _forward(new: Any) -> ColumnElement[bool]:
    """A later revision; or the same one on its way from pending over accepted to retracted.

    A late answer to what was retracted since, or a pending one written twice, changes nothing.
    """
    undecided = literal_column("intents.status IN ('pending', 'failed')", Boolean)
    undone = literal_column(
        "intents.status = 'accepted' AND excluded.status = 'retracted'", Boolean
    )
    return or_(
        new.revision > intents.c.revision,
        and_(
            new.revision == intents.c.revision,
            new.status != intents.c.status,
            or_(undecided, undone),
        ),
    )


def _not_answered(new: Any) -> ColumnElement[bool]:
    return outbox.c.status == literal_column("'pending'")


def _all_but(table: Table, *fixed: str) -> tuple[str, ...]:
    return tuple(c.name for c in table.columns if c.name not in ("id", "created_at", *fixed))


AGENDA = {
    "person": Upsert(users, _all_but(users), same=("id",)),
    # Where a plan began stays so: its conversation may have gone since.
    "goal": Upsert(goals, _all_but(goals, "user_id", "conversation_id")),
    "milestone": Upsert(
        milestones, _all_but(milestones, "user_id", "goal_id"), same=("user_id", "goal_id")
    ),
    "todo": Upsert(tasks, _all_but(tasks, "user_id", "conversation_id")),
    "intent": Upsert(
        intents,
        (
            *("payload", "status", "evidence", "revision", "goal_id", "task_id"),
            *("error", "previous", "updated_at"),
        ),
        same=("user_id", "conversation_id"),
        only=(_forward,),
    ),
    "delivery": Upsert(
        outbox,
        ("status", "attempts", "last_error", "answer", "due_at", "updated_at"),
        same=("user_id", "intent_id"),
        only=(_not_answered,),
    ),
}
