"""Requests and answers of tools, calls, delegated work and approvals (seed 003 §4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool

from vivavoce.server.schemas.fields import NUMBER, Request, SomeText, Timestamp, View


class ToolDefinition(View):
    type: Literal["function"] = "function"
    name: str
    description: str
    parameters: dict[str, Any]


class TaskResponse(View):
    task_id: str = Field(validation_alias="id")
    tool_name: str = Field(validation_alias="tool")
    status: Literal["started", "completed", "failed", "unknown"]
    progress: str | None = None
    output: SomeText = None
    error: str | None = None
    started_at: Timestamp
    finished_at: Timestamp | None = None
    duration_ms: int | None = None
    session_id: str | None = None


class ToolCategory(View):
    name: str
    tools: list[str]


class ToolListResponse(View):
    tools: list[ToolDefinition]
    count: int
    categories: list[ToolCategory]


class ExecutionStats(View):
    total_calls: int
    avg_duration_ms: float
    success_rate: float
    last_called: Timestamp | None = None


class ToolExample(View):
    description: str
    arguments: dict[str, Any]
    expected_output: str


class ToolDetailResponse(View):
    tool: ToolDefinition
    execution_stats: ExecutionStats
    examples: list[ToolExample]


class ExecuteToolRequest(Request):
    arguments: dict[str, Any] = Field(default_factory=dict)
    call_id: str | None = Field(
        default=None, min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$"
    )
    timeout_ms: Annotated[int, Field(ge=1, le=600_000), NUMBER] | None = Field(
        default=None, description="Default 60000."
    )


class ExecuteToolResponse(View):
    success: bool
    output: str
    error: str | None = None
    duration_ms: int
    truncated: bool
    call_id: str | None = None
    exit_code: int | None = Field(default=None, description="Of a command.")
    code: str | None = Field(default=None, description="What kind of failure, as in `tool.error`.")


class ToolCallWebhook(Request):
    call_id: str = Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")
    name: str = Field(min_length=1, max_length=64)
    arguments: str = Field(max_length=262_144, description="JSON, as the model wrote it.")


class WebhookResponse(View):
    accepted: bool = True
    call_id: str
    task_id: str = Field(description="For `GET /tasks/{id}`; the result comes on `/events` too.")


# --- Delegated work, and what needs a yes


class QuestionView(View):
    id: str
    text: str
    choices: list[str]
    asked_at: Timestamp


class WorkResponse(View):
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
    result: SomeText = None
    files_changed: list[str]
    error: str | None = None
    details: list[str] = Field(
        validation_alias="tried", description="What was tried before it gave up"
    )
    suggestions: list[str]
    created_at: Timestamp
    updated_at: Timestamp
    finished_at: Timestamp | None = None
    told: Annotated[bool, BeforeValidator(lambda at: at is not None)] = Field(
        validation_alias="told_at", description="Has the user heard how it ended?"
    )
    session_id: str | None = None
    conversation_id: str | None = None


class WorkListResponse(View):
    tasks: list[WorkResponse]
    count: int


class AnswerRequest(Request):
    answer: str = Field(min_length=1, max_length=2000)
    question_id: str | None = Field(
        default=None, max_length=128, description="Refuses the answer if it asks something else."
    )


class AnswerResponse(View):
    accepted: bool = True


class ApprovalView(View):
    id: str
    tool_name: str = Field(validation_alias="tool")
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
    asked_by: str | None = Field(
        default=None, description='Who wants it: the task "…", a program; null is the voice itself.'
    )
    because: str | None = Field(
        default=None, description="Whose words were read before, if it is asked for that reason."
    )
    reach: str | None = Field(
        default=None,
        description="How far a yes goes: once, session (the same call in the rest of it), always.",
    )


class ApprovalListResponse(View):
    approvals: list[ApprovalView]
    count: int


class DecisionRequest(Request):
    granted: StrictBool
    for_session: StrictBool = Field(
        default=False,
        description="A yes for the same call, with the same arguments, in the rest of the session.",
    )
    always: StrictBool = Field(
        default=False, description="A yes for the same call until it is taken back."
    )
