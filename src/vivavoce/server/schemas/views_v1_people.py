"""From records to what the Conversations API shows of plans and people: only shapes."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from vivavoce.runtime.people.plans import Account, Plan
from vivavoce.server.schemas import v1_people as p
from vivavoce.server.services import Services
from vivavoce.wire.records.plans import Intent, Milestone, Person, Spent, Todo
from vivavoce.wire.records.talk import VoiceSession


def goal(plan: Plan) -> p.GoalView:
    one = plan.goal
    return p.GoalView(
        id=one.id,
        statement=one.statement,
        timeline=one.timeline,
        target_at=one.target_at,
        context_notes=one.context_notes,
        status=one.status.value,
        milestones=[milestone(step) for step in plan.milestones],
        conversation_id=one.conversation_id,
        intent_id=one.intent_id,
        created_at=one.created_at,
        updated_at=one.updated_at,
    )


def milestone(step: Milestone) -> p.MilestoneView:
    return p.MilestoneView(
        id=step.id,
        title=step.title,
        position=step.position,
        due_at=step.due_at,
        completed_at=step.completed_at,
    )


async def todos(here: Services, found: list[Todo]) -> list[p.TodoView]:
    """By the time they are due next: what is stored of one that recurs is where it began."""
    dues = await here.intents.dues(found, here.clock.now())
    shown = [_todo(one, due) for one, due in zip(found, dues, strict=True)]
    return sorted(
        shown, key=lambda one: (one.scheduled_at is None, one.scheduled_at or one.created_at)
    )


async def todo(here: Services, one: Todo) -> p.TodoView:
    (shown,) = await todos(here, [one])
    return shown


def _todo(one: Todo, due: datetime | None) -> p.TodoView:
    return p.TodoView(
        id=one.id,
        title=one.title,
        trigger_type=one.trigger_type,
        scheduled_at=due if one.status.open else one.scheduled_at,
        scheduled_words=one.scheduled_words,
        recurrence_rule=one.recurrence_rule,
        recurrence_words=one.recurrence_words,
        time_zone=one.time_zone,
        location_trigger=one.location_trigger,
        status=one.status.value,
        reason=one.reason,
        goal_id=one.goal_id,
        conversation_id=one.conversation_id,
        intent_id=one.intent_id,
        created_at=one.created_at,
        updated_at=one.updated_at,
    )


def intent(one: Intent) -> p.IntentView:
    return p.IntentView(
        id=one.id,
        conversation_id=one.conversation_id,
        session_id=one.session_id,
        name=one.name,
        intent=one.route,
        payload=one.payload,
        status=one.status.value,
        revision=one.revision,
        evidence=list(one.evidence),
        goal_id=one.goal_id,
        task_id=one.task_id,
        error=one.error,
        created_at=one.created_at,
        updated_at=one.updated_at,
    )


def profile(person: Person) -> p.ProfileResponse:
    return p.ProfileResponse.model_validate(
        {
            "user_id": person.id,
            "name": person.name,
            "time_zone": person.time_zone,
            "chronotype": person.chronotype,
            "work_hours": _hours(person.work_start, person.work_end),
            "sleep_window": _hours(person.sleep_start, person.sleep_end),
        }
    )


def _hours(start: str | None, end: str | None) -> p.Hours | None:
    return p.Hours(start=start, end=end) if start and end else None


def preferences(person: Person) -> p.PreferencesResponse:
    return p.PreferencesResponse(
        voice=person.voice, verbosity=person.verbosity, auto_approve=person.auto_approve
    )


def usage(account: Account) -> p.UsageResponse:
    spent, limits = account.spent, account.limits
    tokens = spent.input_tokens + spent.output_tokens
    micros = limits.cost_micros_per_day
    return p.UsageResponse(
        today=p.PeriodUsage(since=account.since, sessions=spent.sessions, **_consumption(spent)),
        budget=p.Budget(
            tokens_per_day=limits.tokens_per_day or None,
            tokens_left=limits.tokens_per_day - tokens if limits.tokens_per_day else None,
            cost_usd_per_day=_dollars(micros) if micros else None,
            cost_usd_left=_dollars(micros - spent.cost_micros) if micros else None,
            sessions_per_day=limits.per_day or None,
            sessions_left=max(0, limits.per_day - spent.sessions) if limits.per_day else None,
        ),
        sessions=[_session(summary.session) for summary in account.sessions],
    )


def _session(session: VoiceSession) -> p.SessionUsage:
    return p.SessionUsage(
        session_id=session.id,
        conversation_id=session.conversation_id,
        model=session.model,
        created_at=session.created_at,
        ended_at=session.ended_at,
        **_consumption(session),
    )


def _consumption(of: Spent | VoiceSession) -> dict[str, Any]:
    return {
        "input_tokens": of.input_tokens,
        "output_tokens": of.output_tokens,
        "cost_usd": _dollars(of.cost_micros),
    }


def _dollars(micros: int) -> float:
    return micros / 1_000_000
