"""What the voice can do: `/tools`, `/execute`, `/webhook` (seed 003 §4); `/tasks` and `/approvals`,
the inbox of delegated work and what waits for a yes.

A call from here passes the same executor, with the same checks, as one from the model. A task is
addressed by its own id; the id of a tool call works too, since a call may ask something as well.
"""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Path, Query

from vivavoce.errors import (
    ClientError,
    Conflict,
    NotFound,
    Slow,
    ToolNotFound,
    ToolTimeout,
    Unavailable,
)
from vivavoce.runtime.calls.outcomes import ToolOutcome, ToolRequest
from vivavoce.runtime.ids import new_call_id
from vivavoce.runtime.sessions.options import remembered
from vivavoce.server.problems import errors
from vivavoce.server.schemas import tools as s
from vivavoce.server.services import (
    AsRole,
    Here,
    MaybeSession,
    Rank,
    Services,
    Sparse,
    TheSession,
    User,
    json_only,
)
from vivavoce.wire.records.talk import Status
from vivavoce.wire.records.work import Reach, Role

_NEARLY = 2.0
"""Seconds that a call may take longer, if a request for a yes is over then."""

router = APIRouter(route_class=Sparse, tags=["Tools"], dependencies=[Depends(json_only)])
inbox = APIRouter(route_class=Sparse, tags=["Tasks"], dependencies=[Depends(json_only)])

ToolPath = Annotated[str, Path(max_length=64)]
TaskPath = Annotated[str, Path(max_length=128)]


@router.get("/tools", operation_id="listTools", responses=errors(503))
async def list_tools(here: Here, user: User, role: AsRole) -> s.ToolListResponse:
    """All tools of the agent that you may use, in the shape of OpenAI's function calling."""
    found = here.tools.definitions(here.profile.tool_names(None, role))
    categories: dict[str, list[str]] = {}
    for tool in found:
        categories.setdefault(tool.category, []).append(tool.name)
    return s.ToolListResponse(
        tools=[s.ToolDefinition.model_validate(tool.function()) for tool in found],
        count=len(found),
        categories=[s.ToolCategory(name=name, tools=t) for name, t in categories.items()],
    )


@router.get("/tools/{tool_name}", operation_id="getTool", responses=errors(404))
async def tool_details(
    here: Here, user: User, role: AsRole, tool_name: ToolPath
) -> s.ToolDetailResponse:
    """One tool, with how often you called it and how that went; for an operator, how often
    everybody did."""
    names = here.profile.tool_names(None)
    if names is not None and tool_name not in names:
        raise ToolNotFound(f"There is no tool '{tool_name}' here", tool=tool_name)
    here.profile.check_tool(tool_name, role)
    tool = here.tools.definition(tool_name)
    stats = await here.store.tool_stats(tool_name, user_id=None if role == "operator" else user)
    return s.ToolDetailResponse(
        tool=s.ToolDefinition.model_validate(tool.function()),
        execution_stats=s.ExecutionStats.of(stats),
        examples=[s.ToolExample.of(example) for example in tool.examples],
    )


@router.post(
    "/execute/{tool_name}",
    operation_id="executeTool",
    responses=errors(404, 408, 409, 415, 429),
)
async def execute_tool(
    here: Here,
    user: User,
    role: AsRole,
    rank: Rank,
    tool_name: ToolPath,
    session_id: MaybeSession,
    body: s.ExecuteToolRequest,
) -> s.ExecuteToolResponse:
    """Run a tool and wait for it. A tool that fails is an answer, with `success: false`.

    `timeout_ms` is for the whole call. One that still waits for the user's yes then is a 408 that
    says so: it goes on waiting, and its result is at `GET /tasks/{call_id}` and on `/events`.
    """
    call_id = body.call_id or new_call_id()
    timeout = body.timeout_ms / 1000 if body.timeout_ms else here.options.tool_timeout
    request = ToolRequest(
        name=tool_name,
        arguments=body.arguments,
        call_id=call_id,
        origin="http",
        timeout=timeout,
        **await _asked_by(here, user, role, rank, session_id, tool_name),
    )
    outcome = await _within(here, request, timeout)
    if isinstance(outcome.fault, ClientError | Slow | Unavailable):
        raise outcome.fault  # it did not run, or not to its end; a failure is an answer
    return s.ExecuteToolResponse.of(outcome, call_id=call_id)


async def _within(here: Services, request: ToolRequest, timeout: float) -> ToolOutcome:
    """The outcome; raises `ToolTimeout` for a call that waits for a yes when the time is up. It is
    not ended: what the user is asked must not vanish under their finger."""
    running = here.background.start(here.executor.run(request), user_id=request.user_id)
    done, _ = await asyncio.wait((running,), timeout=timeout)
    waiting = [] if done else here.approvals.pending(request.user_id)
    soon = here.clock.now() + timedelta(seconds=_NEARLY)
    for approval in waiting:
        ours = (approval.call_id or "").split("@")[0] == request.call_id
        if ours and approval.expires_at > soon:  # else the no is better than a "not yet"
            raise ToolTimeout(
                f"The tool '{request.name}' waits for the user's yes, and has not run. It runs "
                "once the yes is there, and its outcome is kept as a task with the id of the call.",
                tool=request.name,
                timeout_ms=round(timeout * 1000),
                waiting_for="approval",
                approval_id=approval.id,
                question=approval.question,
                call_id=request.call_id,
            )
    return await asyncio.shield(running)  # its own time is up now, if it still runs


@router.post(
    "/webhook/tool-call",
    operation_id="toolCallWebhook",
    responses=errors(404, 409, 415, 429, 503),
)
async def webhook(
    here: Here,
    user: User,
    role: AsRole,
    rank: Rank,
    session_id: TheSession,
    body: s.ToolCallWebhook,
) -> s.WebhookResponse:
    """A function call that a client relays. It runs in the background, once: if the
    sideband has seen it too, that is the same call."""
    request = ToolRequest(
        name=body.name,
        arguments=body.arguments,
        call_id=body.call_id,
        origin="webhook",
        **await _asked_by(here, user, role, rank, session_id, body.name),
    )
    admitted = asyncio.get_running_loop().create_future()
    here.background.start(here.executor.run(request, admitted=admitted), user_id=user)
    await admitted
    return s.WebhookResponse(call_id=body.call_id, task_id=body.call_id)


async def _asked_by(
    here: Services, user: str, role: Role, rank: Role, session_id: str | None, tool: str
) -> dict[str, Any]:
    """Allowed is what the session's model was offered; without a live session, what the agent
    has. Raises `Forbidden` for what the role may not use."""
    told: dict[str, Any] = {"user_id": user, "session_id": session_id, "role": role}
    told["allowed"] = here.profile.tool_names(None)
    if session_id is not None:
        session = (await here.library.summary(session_id, user)).session
        if session.status is not Status.ACTIVE:
            raise Conflict("The session is over.", session_id=session_id)
        await here.library.check_led(session, rank)
        told["conversation_id"] = session.conversation_id
        if (live := here.voice.live(session_id, user)) is not None:
            told["allowed"] = live.allowed_tools
        elif (chosen := remembered(session).tools_filter) is not None:  # it is at another server
            has = told["allowed"]
            told["allowed"] = [name for name in chosen if has is None or name in has]
    here.profile.check_tool(tool, role)  # after: a session of somebody else's is not there
    return told


# --- The inbox


@inbox.get("/tasks", operation_id="listTasks", responses=errors())
async def list_tasks(
    here: Here,
    user: User,
    open_only: Annotated[bool, Query(description="Only those that are not over")] = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> s.WorkListResponse:
    """The user's tasks, newest first."""
    found = await here.work.list(user, open_only=open_only, limit=limit)
    return s.WorkListResponse(tasks=[s.WorkResponse.of(task) for task in found], count=len(found))


@inbox.get("/tasks/{task_id}", operation_id="getTask", responses=errors(404))
async def get_task(here: Here, user: User, task_id: TaskPath) -> s.WorkResponse | s.TaskResponse:
    """How a task, or a tool call, is going; with its whole result once it is done."""
    try:
        return s.WorkResponse.of(await here.work.get(task_id, user))
    except NotFound:
        return s.TaskResponse.of(await here.library.task(task_id, user))


@inbox.post("/tasks/{task_id}/cancel", operation_id="cancelTask", responses=errors(404, 409))
async def cancel_task(here: Here, user: User, rank: Rank, task_id: TaskPath) -> s.WorkResponse:
    """Stop it. One that is over stays as it is."""
    return s.WorkResponse.of(await here.work.cancel(task_id, user, rank))


@inbox.post("/tasks/{task_id}/answer", operation_id="answerTask", responses=errors(404, 409, 415))
async def answer_task(
    here: Here, user: User, role: AsRole, task_id: TaskPath, body: s.AnswerRequest
) -> s.AnswerResponse:
    """The user's words to what a task or a running tool asks; by nobody with a lesser role than
    whoever began it."""
    asked, words = body.question_id, body.answer
    if task_id in here.questions.open_for(user):
        here.questions.answer(task_id, user, words, question_id=asked, role=role)
        return s.AnswerResponse()
    try:
        await here.work.answer(task_id, user, words, question_id=asked, role=role)
    except NotFound:
        there = here.questions.answer_elsewhere
        if not await there(task_id, user, words, question_id=asked, role=role):
            raise
    return s.AnswerResponse()


@inbox.get("/approvals", operation_id="listApprovals", responses=errors())
async def approvals(here: Here, user: User, role: AsRole) -> s.ApprovalListResponse:
    """What waits for the user's yes now, and may be answered with your role."""
    found = await here.approvals.waiting(user, role)
    shown = [s.ApprovalView.of(one) for one in found]
    return s.ApprovalListResponse(approvals=shown, count=len(shown))


@inbox.post(
    "/approvals/{approval_id}",
    operation_id="decideApproval",
    responses=errors(404, 409, 415),
)
async def decide(
    here: Here,
    user: User,
    role: AsRole,
    approval_id: Annotated[str, Path(max_length=64)],
    body: s.DecisionRequest,
) -> s.ApprovalView:
    """The user's yes or no, by a click. The first answer counts. Nobody answers with a lesser role
    than whoever asks."""
    reach: Reach = "always" if body.always else "session" if body.for_session else "once"
    settled = await here.approvals.resolve(
        approval_id, user, granted=body.granted, by="click", reach=reach, role=role
    )
    return s.ApprovalView.of(settled)


@inbox.get("/grants", operation_id="listGrants", responses=errors())
async def standing(here: Here, user: User) -> s.ApprovalListResponse:
    """Each yes that goes on: for the rest of a session, or until it is taken back. Also which MCP
    servers' tools were agreed to, as they were described then."""
    shown = [s.ApprovalView.of(one) for one in await here.approvals.standing(user)]
    return s.ApprovalListResponse(approvals=shown, count=len(shown))


@inbox.delete(
    "/grants/{approval_id}",
    operation_id="revokeGrant",
    responses=errors(404),
)
async def revoke(
    here: Here, user: User, approval_id: Annotated[str, Path(max_length=64)]
) -> s.ApprovalView:
    """Take such a yes back: it is asked again."""
    return s.ApprovalView.of(await here.approvals.revoke(approval_id, user))
