"""`/tasks` and `/approvals`: the inbox of delegated work, and what waits for a yes.

A task is addressed by its own id; the id of a tool call works too, since a call
may ask something as well.
"""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Path, Query

from vivavoce.errors import NotFound
from vivavoce.server.problems import errors
from vivavoce.server.schemas import tools as s
from vivavoce.server.services import Here, User, json_only

router = APIRouter(tags=["Tasks"], dependencies=[Depends(json_only)])

TaskPath = Annotated[str, Path(max_length=128)]


@router.get(
    "/tasks", operation_id="listTasks", response_model_exclude_none=True, responses=errors()
)
async def list_tasks(
    here: Here,
    user: User,
    open_only: Annotated[bool, Query(description="Only those that are not over")] = False,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> s.WorkListResponse:
    """The user's tasks, newest first."""
    found = await here.work.list(user, open_only=open_only, limit=limit)
    return s.WorkListResponse(tasks=[s.WorkResponse.of(task) for task in found], count=len(found))


@router.get(
    "/tasks/{task_id}",
    operation_id="getTask",
    response_model_exclude_none=True,
    responses=errors(404),
)
async def task(here: Here, user: User, task_id: TaskPath) -> s.WorkResponse | s.TaskResponse:
    """How a task, or a tool call, is going; with its whole result once it is done."""
    try:
        return s.WorkResponse.of(await here.work.get(task_id, user))
    except NotFound:
        return s.TaskResponse.of(await here.library.task(task_id, user))


@router.post(
    "/tasks/{task_id}/cancel",
    operation_id="cancelTask",
    response_model_exclude_none=True,
    responses=errors(404, 409),
)
async def cancel(here: Here, user: User, task_id: TaskPath) -> s.WorkResponse:
    """Stop it. One that is over stays as it is."""
    return s.WorkResponse.of(await here.work.cancel(task_id, user))


@router.post(
    "/tasks/{task_id}/answer",
    operation_id="answerTask",
    responses=errors(404, 409, 415),
)
async def answer(
    here: Here, user: User, task_id: TaskPath, body: s.AnswerRequest
) -> s.AnswerResponse:
    """The user's words to what a task or a running tool asks."""
    if task_id in here.questions.open_for(user):
        here.questions.answer(task_id, user, body.answer, question_id=body.question_id)
    else:
        await here.work.answer(task_id, user, body.answer, question_id=body.question_id)
    return s.AnswerResponse()


@router.get(
    "/approvals",
    operation_id="listApprovals",
    response_model_exclude_none=True,
    responses=errors(),
)
async def approvals(here: Here, user: User) -> s.ApprovalListResponse:
    """What waits for the user's yes now."""
    found = here.approvals.pending(user)
    shown = [s.ApprovalView.of(one) for one in found]
    return s.ApprovalListResponse(approvals=shown, count=len(shown))


@router.post(
    "/approvals/{approval_id}",
    operation_id="decideApproval",
    response_model_exclude_none=True,
    responses=errors(404, 409, 415),
)
async def decide(
    here: Here,
    user: User,
    approval_id: Annotated[str, Path(max_length=64)],
    body: s.DecisionRequest,
) -> s.ApprovalView:
    """The user's yes or no, by a click. The first answer counts."""
    settled = await here.approvals.resolve(approval_id, user, granted=body.granted, by="click")
    return s.ApprovalView.of(settled)
