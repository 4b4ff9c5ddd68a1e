"""Tasks and approvals to rows and back."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from vivavoce.store.rows import Columns, Fields, named_or_none
from vivavoce.wire.records.work import Approval, ApprovalStatus, Question, Task, TaskStatus

_TASKS = Columns(Task, session_id="voice_session_id")
_APPROVALS = Columns(Approval, session_id="voice_session_id")


def task_row(record: Task) -> Fields:
    """The question it waits for is in four columns, all NULL where there is none."""
    row = _TASKS.row(record)
    row["conversation_id"] = named_or_none(record.conversation_id)
    row["status"] = record.status.value
    asked = record.question
    row["question_id"] = asked and asked.id
    row["question"] = asked and asked.text
    row["choices"] = asked and asked.choices
    row["asked_at"] = asked and asked.asked_at
    return row


def to_task(row: Row[Any]) -> Task:
    return _TASKS.record(
        row,
        status=TaskStatus(row.status),
        question=_question(row),
        files_changed=tuple(row.files_changed),
        tried=tuple(row.tried),
        suggestions=tuple(row.suggestions),
    )


def _question(row: Row[Any]) -> Question | None:
    if row.question_id is None:
        return None
    return Question(
        id=row.question_id, text=row.question, choices=tuple(row.choices), asked_at=row.asked_at
    )


def approval_row(record: Approval) -> Fields:
    row = _APPROVALS.row(record)
    row["conversation_id"] = named_or_none(record.conversation_id)
    row["status"] = record.status.value
    return row


def to_approval(row: Row[Any]) -> Approval:
    return _APPROVALS.record(row, status=ApprovalStatus(row.status))
