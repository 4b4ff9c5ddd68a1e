"""`/api/v1/{goals,tasks,intents,profile,preferences,usage}`: what a client of seed 004 needs
beside the conversations. Plans are read here and made by talking."""

from __future__ import annotations

from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Depends, Path, Query

from vivavoce.server import schemas_v1_people as s
from vivavoce.server import views_v1
from vivavoce.server.door_v1_conversations import Offset
from vivavoce.server.problems import errors
from vivavoce.server.services import Here, User, json_only
from vivavoce.wire.agenda import GoalStatus

router = APIRouter(
    prefix="/api/v1", tags=["Conversations: plans and people"], dependencies=[Depends(json_only)]
)

Limit = Annotated[int, Query(ge=1, le=200)]


@router.get("/goals", operation_id="listGoals", responses=errors())
async def goals(
    here: Here,
    user: User,
    status: Annotated[GoalStatus | None, Query()] = None,
    limit: Limit = 50,
    offset: Offset = 0,
) -> s.GoalListResponse:
    """Your goals with their milestones, newest first."""
    wanted = status.value if status else None
    found = await here.agenda.goals(user, status=wanted, limit=limit, offset=offset)
    return s.GoalListResponse(goals=[views_v1.goal(plan) for plan in found])


@router.get("/goals/{goal_id}", operation_id="getGoal", responses=errors(404))
async def goal(here: Here, user: User, goal_id: Annotated[UUID, Path()]) -> s.GoalView:
    """One goal with its milestones."""
    return views_v1.goal(await here.agenda.goal(str(goal_id), user))


@router.get("/tasks", operation_id="listPlannedTasks", responses=errors())
async def tasks(
    here: Here,
    user: User,
    open_only: Annotated[bool, Query(description="Only those still to be done")] = False,
    limit: Limit = 50,
    offset: Offset = 0,
) -> s.TodoListResponse:
    """Your tasks by the time they are due, those without one last.

    Delegated work is another thing: `GET /tasks`.
    """
    found = await here.agenda.todos(user, open_only=open_only, limit=limit, offset=offset)
    return s.TodoListResponse(tasks=[views_v1.todo(one) for one in found])


@router.get("/tasks/{task_id}", operation_id="getPlannedTask", responses=errors(404))
async def task(here: Here, user: User, task_id: Annotated[UUID, Path()]) -> s.TodoView:
    """One task."""
    return views_v1.todo(await here.agenda.todo(str(task_id), user))


@router.get("/intents", operation_id="listIntents", responses=errors(404))
async def intents(
    here: Here,
    user: User,
    conversation_id: Annotated[UUID | None, Query()] = None,
    limit: Limit = 50,
) -> s.IntentListResponse:
    """What was submitted, with the messages that it came from; newest first."""
    found = await here.agenda.intents(
        user, conversation_id=str(conversation_id) if conversation_id else None, limit=limit
    )
    return s.IntentListResponse(intents=[views_v1.intent(one) for one in found])


@router.get("/profile", operation_id="getProfile", responses=errors())
async def profile(here: Here, user: User) -> s.ProfileResponse:
    """What the agent knows about you."""
    return views_v1.profile(await here.agenda.person(user))


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
    return views_v1.profile(await here.agenda.change(user, wanted))


@router.get("/preferences", operation_id="getPreferences", responses=errors())
async def preferences(here: Here, user: User) -> s.PreferencesResponse:
    """How you like it."""
    return views_v1.preferences(await here.agenda.person(user))


@router.patch("/preferences", operation_id="updatePreferences", responses=errors(415))
async def change_preferences(
    here: Here, user: User, body: s.PreferencesChange
) -> s.PreferencesResponse:
    """Change it; it holds from the next session on."""
    wanted = body.model_dump(exclude_unset=True)
    return views_v1.preferences(await here.agenda.change(user, wanted))


@router.get("/usage", operation_id="getUsage", responses=errors())
async def usage(here: Here, user: User, sessions: Limit = 20) -> s.UsageResponse:
    """Tokens and their cost: of the last 24 hours, of each session, and what is left."""
    return views_v1.usage(await here.agenda.account(user, sessions=sessions))
