"""Requests and answers of delegated work and of approvals."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field, StrictBool

from vivavoce.server.schemas.fields import Request, Timestamp


class QuestionView(BaseModel):
    id: str
    text: str
    choices: list[str]
    asked_at: Timestamp


class WorkResponse(BaseModel):
    """A delegated task, as the inbox shows it."""

    id: str
    title: str
    description: str
    agent: str
    backend: str
    status: str = Field(description="running, waiting, completed, failed or cancelled")
    phase: str | None = None
    progress: str | None = None
    percentage: int | None = None
    question: QuestionView | None = None
    result: str | None = None
    files_changed: list[str]
    error: str | None = None
    details: list[str] = Field(description="What was tried before it gave up")
    suggestions: list[str]
    created_at: Timestamp
    updated_at: Timestamp
    finished_at: Timestamp | None = None
    told: bool = Field(description="Has the user heard how it ended?")
    session_id: str | None = None
    conversation_id: str | None = None


class WorkListResponse(BaseModel):
    tasks: list[WorkResponse]
    count: int


class AnswerRequest(Request):
    answer: str = Field(min_length=1, max_length=2000)
    question_id: str | None = Field(
        default=None, max_length=128, description="Refuses the answer if it asks something else."
    )


class AnswerResponse(BaseModel):
    accepted: bool = True


class ApprovalView(BaseModel):
    id: str
    tool_name: str
    question: str
    arguments: dict[str, Any]
    status: str = Field(description="pending, granted, denied or expired")
    requested_at: Timestamp
    expires_at: Timestamp
    resolved_at: Timestamp | None = None
    resolved_by: str | None = None
    call_id: str | None = None
    task_id: str | None = None
    session_id: str | None = None


class ApprovalListResponse(BaseModel):
    approvals: list[ApprovalView]
    count: int


class DecisionRequest(Request):
    granted: StrictBool
