"""`/api/v1/{goals,tasks,intents,profile,preferences,usage,data}`: what a client of seed 004 needs
beside the conversations. Plans can be made by talking, and here; and all that is kept of somebody
is theirs to have, and to delete."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Depends, Query
from fastapi.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from vivavoce.errors import Conflict
from vivavoce.runtime.calls.approvals import check_role
from vivavoce.runtime.people.data import Format
from vivavoce.server.doors.conversations import Offset
from vivavoce.server.problems import errors
from vivavoce.server.schemas import conversations as s
from vivavoce.server.services import Here, Rank, Services, User, WholeUser, json_only, paced
from vivavoce.wire.records.plans import GoalStatus, Person, Todo
from vivavoce.wire.records.work import Role, at_least

router = APIRouter(
    prefix="/api/v1",
    tags=["Conversations: plans and people"],
    dependencies=[Depends(json_only), Depends(paced)],
)

Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/goals", operation_id="listGoals", responses=errors())
async def goals(
    here: Here,
    user: User,
    status: GoalStatus | None = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> s.GoalListResponse:
    """Your goals with their milestones, newest first."""
    wanted = status.value if status else None
    found = await here.agenda.goals(user, status=wanted, limit=limit, offset=offset)
    return s.GoalListResponse(goals=[s.GoalView.of_plan(plan) for plan in found])


@router.post("/goals", operation_id="createGoal", status_code=201, responses=errors(415))
async def add_goal(here: Here, user: User, body: s.NewGoal) -> s.GoalView:
    """A new goal. Who talks with you at the moment knows of it at once."""
    wanted = body.model_dump(exclude_none=True)
    return s.GoalView.of_plan(await here.agenda.add_goal(user, wanted))


@router.get("/goals/{goal_id}", operation_id="getGoal", responses=errors(404))
async def goal(here: Here, user: User, goal_id: UUID) -> s.GoalView:
    """One goal with its milestones. One that was retracted is only in the list."""
    return s.GoalView.of_plan(await here.agenda.goal(str(goal_id), user))


@router.patch("/goals/{goal_id}", operation_id="updateGoal", responses=errors(404, 409, 415))
async def change_goal(here: Here, user: User, goal_id: UUID, body: s.GoalChange) -> s.GoalView:
    """Change what it says, or set `status`: completed, or active again.

    Its milestones stay as they are. 409 if it was retracted.
    """
    wanted = body.model_dump(exclude_unset=True)
    return s.GoalView.of_plan(await here.agenda.change_goal(str(goal_id), user, wanted))


@router.delete(
    "/goals/{goal_id}", operation_id="deleteGoal", status_code=204, responses=errors(404)
)
async def delete_goal(here: Here, user: User, goal_id: UUID) -> Response:
    """Retract a goal; once more changes nothing."""
    await here.agenda.drop_goal(str(goal_id), user)
    return Response(status_code=204)


@router.patch(
    "/goals/{goal_id}/milestones/{milestone_id}",
    operation_id="updateMilestone",
    responses=errors(404, 409, 415),
)
async def change_milestone(
    here: Here,
    user: User,
    goal_id: UUID,
    milestone_id: UUID,
    body: s.DoneChange,
) -> s.MilestoneView:
    """A step of a goal: completed, or active again. The goal itself stays as it is."""
    step = await here.agenda.tick_milestone(
        str(goal_id), str(milestone_id), user, done=body.status == "completed"
    )
    return s.MilestoneView.of(step)


@router.get("/tasks", operation_id="listPlannedTasks", responses=errors())
async def tasks(
    here: Here,
    user: User,
    open_only: Annotated[bool, Query(description="Only those still to be done")] = False,
    done_only: Annotated[
        bool, Query(description="Only those that are ticked off, the last one first")
    ] = False,
    limit: Limit = 50,
    offset: Offset = 0,
) -> s.TodoListResponse:
    """Your tasks by the time they are due, those without one last.

    Delegated work is another thing: `GET /tasks`.
    """
    if done_only:
        done = await here.store.done_todos(user_id=user, limit=limit, offset=offset)
        return s.TodoListResponse(tasks=[s.TodoView.of(one) for one in done])
    found = await here.store.todos(user_id=user, open_only=open_only, limit=limit, offset=offset)
    return s.TodoListResponse(tasks=await _shown(here, found))


@router.post(
    "/tasks", operation_id="createPlannedTask", status_code=201, responses=errors(404, 415)
)
async def add_task(here: Here, user: User, body: s.NewTask) -> s.TodoView:
    """A new task, at a time or at a place. Who talks with you at the moment knows of it at once.

    A time in words (`when`) is understood in your time zone; 400 with a question if it is not
    clear.
    """
    wanted = body.model_dump(exclude_none=True)
    (shown,) = await _shown(here, [await here.agenda.add_todo(user, wanted)])
    return shown


@router.get("/tasks/{task_id}", operation_id="getPlannedTask", responses=errors(404))
async def task(here: Here, user: User, task_id: UUID) -> s.TodoView:
    """One task. One that was retracted is only in the list."""
    (shown,) = await _shown(here, [await here.agenda.todo(str(task_id), user)])
    return shown


@router.patch("/tasks/{task_id}", operation_id="updatePlannedTask", responses=errors(404, 409, 415))
async def change_task(here: Here, user: User, task_id: UUID, body: s.TaskChange) -> s.TodoView:
    """Change what it says, or set `status`: completed, or active again. 409 if it was retracted.

    One that recurs is completed as a whole: it comes no more. One that was rescheduled is active
    already, and stays `rescheduled`.
    """
    wanted = body.model_dump(exclude_unset=True)
    todo = await here.agenda.change_todo(str(task_id), user, wanted)
    (shown,) = await _shown(here, [todo])
    return shown


@router.post("/tasks/{task_id}/done", operation_id="donePlannedTask", responses=errors(404, 409))
async def task_done(here: Here, user: User, task_id: UUID) -> s.TodoView:
    """Tick it off, as saying so does: of one that recurs only the time that it is about now, and
    the next one comes. 409 if it was retracted."""
    (shown,) = await _shown(here, [await here.agenda.done(str(task_id), user)])
    return shown


@router.post(
    "/tasks/{task_id}/move", operation_id="movePlannedTask", responses=errors(404, 409, 415)
)
async def move_task(here: Here, user: User, task_id: UUID, body: s.TaskMove) -> s.TodoView:
    """Its next time is another, this once: one that recurs goes on by its rule. 409 if it is
    done, or has no time."""
    todo = await here.agenda.todo(str(task_id), user)
    (following,) = await here.intents.dues([todo], here.clock.now())
    of = body.of or following or todo.scheduled_at
    if of is None:
        raise Conflict("It has no time that could be moved.")
    moved = await here.agenda.put_off(str(task_id), user, of=of, to=body.to)
    (shown,) = await _shown(here, [moved])
    return shown


@router.delete(
    "/tasks/{task_id}", operation_id="deletePlannedTask", status_code=204, responses=errors(404)
)
async def delete_task(here: Here, user: User, task_id: UUID) -> Response:
    """Retract a task; once more changes nothing."""
    await here.agenda.drop_todo(str(task_id), user)
    return Response(status_code=204)


async def _shown(here: Services, found: list[Todo]) -> list[s.TodoView]:
    """By the time they are due next: what is stored of one that recurs is where it began."""
    dues = await here.intents.dues(found, here.clock.now())
    due = [
        replace(one, scheduled_at=at) if one.status.open else one
        for one, at in zip(found, dues, strict=True)
    ]
    due.sort(key=lambda one: (one.scheduled_at is None, one.scheduled_at or one.created_at))
    return [s.TodoView.of(one) for one in due]


@router.get("/reminders", operation_id="listReminders", responses=errors())
async def reminders(
    here: Here,
    user: User,
    waiting: Annotated[bool, Query(description="Only what you have not heard of yet")] = False,
    limit: Limit = 50,
) -> s.ReminderListResponse:
    """Which tasks came due, and whether you were told. What waits begins your next call."""
    found = await here.reminders.list(user, waiting=waiting, limit=limit)
    return s.ReminderListResponse(reminders=[s.ReminderView.of(one) for one in found])


@router.post(
    "/reminders/{reminder_id}/seen",
    operation_id="seenReminder",
    status_code=204,
    responses=errors(404),
)
async def reminder_seen(here: Here, user: User, reminder_id: UUID) -> Response:
    """You have read it: it is not told aloud any more. Once more changes nothing."""
    await here.reminders.seen(str(reminder_id), user)
    return Response(status_code=204)


@router.get("/intents", operation_id="listIntents", responses=errors(404))
async def intents(
    here: Here,
    user: User,
    conversation_id: UUID | None = None,
    limit: Limit = 50,
) -> s.IntentListResponse:
    """What was submitted, with the messages that it came from; newest first."""
    found = await here.agenda.intents(
        user, conversation_id=str(conversation_id) if conversation_id else None, limit=limit
    )
    return s.IntentListResponse(intents=[s.IntentView.of(one) for one in found])


@router.get("/profile", operation_id="getProfile", responses=errors())
async def profile(here: Here, user: User) -> s.ProfileResponse:
    """What the agent knows about you."""
    return s.ProfileResponse.of_person(await here.agenda.person(user))


@router.patch("/profile", operation_id="updateProfile", responses=errors(415))
async def change_profile(here: Here, user: User, body: s.ProfileChange) -> s.ProfileResponse:
    """Change it; the next session knows."""
    wanted: dict[str, Any] = {
        name: getattr(body, name)
        for name in ("name", "time_zone", "chronotype")
        if name in body.model_fields_set
    }
    for field, name in (("work_hours", "work"), ("sleep_window", "sleep")):
        if field in body.model_fields_set:
            hours: s.Hours | None = getattr(body, field)
            wanted[f"{name}_start"] = hours.start if hours else None
            wanted[f"{name}_end"] = hours.end if hours else None
    return s.ProfileResponse.of_person(await here.agenda.change(user, wanted))


@router.get("/preferences", operation_id="getPreferences", responses=errors())
async def preferences(here: Here, user: User, role: Rank) -> s.PreferencesResponse:
    """How you like it."""
    return _preferences(here, role, await here.agenda.person(user))


@router.patch("/preferences", operation_id="updatePreferences", responses=errors(415))
async def change_preferences(
    here: Here, user: User, role: Rank, body: s.PreferencesChange
) -> s.PreferencesResponse:
    """Change it; it holds from the next session on. `auto_approve` is for every session of the
    user: where several tokens are one user, it takes an operator's."""
    wanted = body.model_dump(exclude_unset=True)
    if wanted.get("auto_approve"):
        check_role(role, "operator")
    return _preferences(here, role, await here.agenda.change(user, wanted))


def _preferences(here: Services, role: Role, person: Person) -> s.PreferencesResponse:
    allowed = here.profile.defaults.auto_approve and at_least(role, "operator")
    return s.PreferencesResponse.of(person, may_auto_approve=allowed)


@router.get("/usage", operation_id="getUsage", responses=errors())
async def usage(here: Here, user: User, sessions: Limit = 20) -> s.UsageResponse:
    """Tokens and their cost: of the last 24 hours, of each session, and what is left."""
    return s.UsageResponse.of_account(await here.agenda.account(user, sessions=sessions))


# --- All of it

_TYPES = {"json": "application/json", "markdown": "text/markdown; charset=utf-8"}
_FILE: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}


@router.get(
    "/data",
    operation_id="exportData",
    response_class=StreamingResponse,
    responses=errors() | {200: {"content": {"application/json": {}, "text/markdown": _FILE}}},
)
async def export(
    here: Here,
    user: WholeUser,
    form: Annotated[Format, Query(alias="format", description="Of the file")] = "json",
) -> StreamingResponse:
    """All that is kept of you, as a file: `json` has everything, `markdown` what people read."""
    name = "vivavoce.json" if form == "json" else "vivavoce.md"
    headers = {"content-disposition": f'attachment; filename="{name}"', "cache-control": "no-store"}
    here.reads.take(user)
    pieces = here.data.export(user, form)
    return _Export(pieces, lambda: here.reads.give(user), media_type=_TYPES[form], headers=headers)


class _Export(StreamingResponse):
    def __init__(self, pieces: AsyncIterator[bytes], over: Callable[[], None], **more: Any) -> None:
        super().__init__(pieces, **more)
        self._over = over

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._over()


@router.delete("/data", operation_id="deleteData", responses=errors())
async def delete_everything(
    here: Here,
    user: WholeUser,
    confirm: Annotated[
        Literal["everything"], Query(description="So that nobody deletes it all by mistake")
    ],
) -> s.DeletedResponse:
    """Delete all that is kept of you, for good: conversations, plans, delegated work, what waits
    for a backend, and the files of a workspace that is yours alone.

    Live sessions and running work are ended first. How much you used in the last two days is
    still counted.
    """
    return s.DeletedResponse.of(await here.data.delete(user))
