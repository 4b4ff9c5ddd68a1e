"""Tasks and approvals as the API shows them."""

from __future__ import annotations

from vivavoce.server.schemas.work import ApprovalView, QuestionView, WorkResponse
from vivavoce.wire.records.work import Approval, Question, Task


def task(task: Task) -> WorkResponse:
    return WorkResponse(
        id=task.id,
        title=task.title,
        description=task.description,
        agent=task.agent,
        backend=task.backend,
        status=task.status.value,
        phase=task.phase,
        progress=task.progress,
        percentage=task.percentage,
        question=_question(task.question) if task.question else None,
        result=task.result or None,
        files_changed=list(task.files_changed),
        error=task.error,
        details=list(task.tried),
        suggestions=list(task.suggestions),
        created_at=task.created_at,
        updated_at=task.updated_at,
        finished_at=task.finished_at,
        told=task.told_at is not None,
        session_id=task.session_id,
        conversation_id=task.conversation_id,
    )


def _question(question: Question) -> QuestionView:
    return QuestionView(
        id=question.id,
        text=question.text,
        choices=list(question.choices),
        asked_at=question.asked_at,
    )


def approval(one: Approval) -> ApprovalView:
    return ApprovalView(
        id=one.id,
        tool_name=one.tool,
        question=one.question,
        arguments=one.arguments,
        status=one.status.value,
        requested_at=one.requested_at,
        expires_at=one.expires_at,
        resolved_at=one.resolved_at,
        resolved_by=one.resolved_by,
        call_id=one.call_id,
        task_id=one.task_id,
        session_id=one.session_id,
    )
