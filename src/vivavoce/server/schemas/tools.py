"""Requests and answers of tools, calls and tasks (seed 003 §4)."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from vivavoce.server.schemas.fields import NUMBER, Request, Timestamp


class ToolDefinition(BaseModel):
    type: Literal["function"] = "function"
    name: str
    description: str
    parameters: dict[str, Any]


class TaskResponse(BaseModel):
    task_id: str
    tool_name: str
    status: Literal["started", "completed", "failed", "unknown"]
    progress: str | None = None
    output: str | None = None
    error: str | None = None
    started_at: Timestamp
    finished_at: Timestamp | None = None
    duration_ms: int | None = None
    session_id: str | None = None


class ToolCategory(BaseModel):
    name: str
    tools: list[str]


class ToolListResponse(BaseModel):
    tools: list[ToolDefinition]
    count: int
    categories: list[ToolCategory]


class ExecutionStats(BaseModel):
    total_calls: int
    avg_duration_ms: float
    success_rate: float
    last_called: Timestamp | None = None


class ToolExample(BaseModel):
    description: str
    arguments: dict[str, Any]
    expected_output: str


class ToolDetailResponse(BaseModel):
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


class ExecuteToolResponse(BaseModel):
    success: bool
    output: str
    error: str | None = None
    duration_ms: int
    truncated: bool
    call_id: str | None = None


class ToolCallWebhook(Request):
    call_id: str = Field(min_length=1, max_length=128, pattern=r"^[\x21-\x7e]+$")
    name: str = Field(min_length=1, max_length=64)
    arguments: str = Field(max_length=262_144, description="JSON, as the model wrote it.")


class WebhookResponse(BaseModel):
    accepted: bool = True
    call_id: str
    task_id: str = Field(description="For `GET /tasks/{id}`; the result comes on `/events` too.")
