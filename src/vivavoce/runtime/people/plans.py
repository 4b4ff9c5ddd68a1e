"""What a user plans, who they are, and what their sessions took: the quiet side of the agent.

Reads for the doors, and what a client may change: the profile, the preferences, goals and tasks.
The same can be done by talking (`intents`); here a client writes what it means, and nothing has to
be understood but a time in words.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any

from vivavoce.errors import Conflict, InvalidRequest, found
from vivavoce.language.en.recurrence.rules import joined, parts_of
from vivavoce.language.en.understanding import understand
from vivavoce.runtime.journal.log import Journal
from vivavoce.runtime.limits import Shares
from vivavoce.runtime.people.due import after_this_time, anchor_of, zone_or
from vivavoce.runtime.ports import Clock, Store
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.events import IntentRetracted, to_log
from vivavoce.wire.records.plans import (
    Goal,
    GoalStatus,
    Intent,
    IntentStatus,
    Milestone,
    Person,
    SessionLimits,
    Spent,
    Todo,
    TodoStatus,
)
from vivavoce.wire.records.talk import Announce, Change, Put, SessionSummary, new_id
from vivavoce.wire.values import Value

DAY = timedelta(days=1)
_UNLIMITED = Shares()
RETRACTED = "It was retracted; talk about it to have it again."
IS_DONE = "It is done."


class Plan(Value):
    """A goal with its steps, in order."""

    goal: Goal
    milestones: list[Milestone]


class Account(Value):
    """The last 24 hours, the latest sessions, and what a day may take."""

    since: datetime
    spent: Spent
    sessions: list[SessionSummary]
    limits: SessionLimits


class Agenda:
    """One user's plans, profile and account; another's are not there."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        clock: Clock,
        *,
        check_voice: Callable[[str], str],
        limits: Callable[[], SessionLimits] = SessionLimits,
        time_zone: str = "UTC",
        changed: Callable[[str], Awaitable[None]] | None = None,
        shares: Shares = _UNLIMITED,
    ) -> None:
        """`changed` hears whose plans are others now."""
        self._store, self._journal, self._clock = store, journal, clock
        self._check_voice, self._limits, self._time_zone = check_voice, limits, time_zone
        self._changed, self._shares = changed, shares
        self._changing = asyncio.Lock()

    # --- Plans --------------------------------------------------------------------------

    async def goals(
        self, user_id: str, *, status: str | None, limit: int, offset: int
    ) -> list[Plan]:
        goals = await self._store.goals(user_id=user_id, status=status, limit=limit, offset=offset)
        steps = await self._store.milestones([goal.id for goal in goals], user_id=user_id)
        return [Plan(goal, [m for m in steps if m.goal_id == goal.id]) for goal in goals]

    async def goal(self, goal_id: str, user_id: str) -> Plan:
        """What was deleted is not there."""
        plan = await self._goal(goal_id, user_id)
        there = plan if plan.goal.status is not GoalStatus.RETRACTED else None
        return found(there, "Goal", goal_id)

    async def todo(self, todo_id: str, user_id: str) -> Todo:
        """What was deleted is not there."""
        todo = await self._todo(todo_id, user_id)
        there = todo if todo.status is not TodoStatus.RETRACTED else None
        return found(there, "Task", todo_id)

    async def _goal(self, goal_id: str, user_id: str) -> Plan:
        goal = found(await self._store.goal(goal_id, user_id=user_id), "Goal", goal_id)
        return Plan(goal, await self._store.milestones([goal_id], user_id=user_id))

    async def _todo(self, todo_id: str, user_id: str) -> Todo:
        return found(await self._store.todo(todo_id, user_id=user_id), "Task", todo_id)

    # --- Made, changed and taken away ---------------------------------------------------

    async def add_goal(self, user_id: str, wanted: Mapping[str, Any]) -> Plan:
        """Raises `InvalidRequest`."""
        now = self._clock.now()
        goal = Goal(id=new_id(), user_id=user_id, statement="", created_at=now, updated_at=now)
        goal = self._goal_with(goal, wanted, await self._zone(user_id))
        await self._put(goal)
        return Plan(goal, [])

    async def change_goal(self, goal_id: str, user_id: str, wanted: Mapping[str, Any]) -> Plan:
        """What is named is changed; with `status` it is ticked off, or open again. Its milestones
        stay as they are. Raises `InvalidRequest`, `Conflict`."""
        async with self._changing:
            plan = await self._goal(goal_id, user_id)
            if plan.goal.status is GoalStatus.RETRACTED:
                raise Conflict(RETRACTED)
            goal = self._goal_with(plan.goal, wanted, await self._zone(user_id))
            if "status" in wanted:
                goal = replace(goal, status=GoalStatus(wanted["status"]))
            if goal == plan.goal:
                return plan
            goal = replace(goal, updated_at=self._clock.now())
            await self._put(goal, plan.goal)
        return Plan(goal, plan.milestones)

    async def drop_goal(self, goal_id: str, user_id: str) -> None:
        """With what was understood and led to it. Once more changes nothing."""
        async with self._changing:
            goal = (await self._goal(goal_id, user_id)).goal
            more = await self._meant(goal)
            if goal.status is not GoalStatus.RETRACTED:
                gone = replace(goal, status=GoalStatus.RETRACTED, updated_at=self._clock.now())
                await self._put(gone, goal, *more)
            elif more:
                await self._journal.commit(more)

    def _goal_with(self, goal: Goal, wanted: Mapping[str, Any], zone: str) -> Goal:
        changes: dict[str, Any] = {}
        if "statement" in wanted:
            changes["statement"] = visible_line(wanted["statement"], "statement")
        if "context_notes" in wanted:
            changes["context_notes"] = clean_text(wanted["context_notes"] or "").strip() or None
        if "timeline" in wanted:
            words = clean_line(wanted["timeline"] or "") or None
            changes |= {"timeline": words, "target_at": None}
            if words:
                found = understand(words, now=self._clock.now(), time_zone=zone)
                changes["target_at"] = found.at
        if "target_at" in wanted:
            changes["target_at"] = wanted["target_at"]
        return replace(goal, **changes)

    async def add_todo(self, user_id: str, wanted: Mapping[str, Any]) -> Todo:
        """Raises `InvalidRequest`."""
        now, zone = self._clock.now(), await self._zone(user_id)
        todo = Todo(
            id=new_id(),
            user_id=user_id,
            title="",
            trigger_type="time",
            created_at=now,
            updated_at=now,
            time_zone=zone,
        )
        if not any(wanted.get(name) for name in ("scheduled_at", "when", "location_trigger")):
            raise InvalidRequest("Name a time or a place.", field="scheduled_at")
        todo = await self._todo_with(todo, wanted, zone)
        await self._put(todo)
        return todo

    async def change_todo(self, todo_id: str, user_id: str, wanted: Mapping[str, Any]) -> Todo:
        """What is named is changed; with `status` it is ticked off, or open again: one that recurs
        as a whole. Raises `InvalidRequest`, `Conflict`."""
        async with self._changing:
            before = await self._todo(todo_id, user_id)
            if before.status is TodoStatus.RETRACTED:
                raise Conflict(RETRACTED)
            todo = await self._todo_with(before, wanted, await self._zone(user_id))
            # A rescheduled one is still to be done, and stays so.
            if "status" in wanted and todo.status.open is (wanted["status"] == "completed"):
                todo = replace(todo, status=TodoStatus(wanted["status"]))
            if todo != before:
                todo = replace(todo, updated_at=self._clock.now())
                await self._put(todo, before)
        return todo

    async def done(self, todo_id: str, user_id: str) -> Todo:
        """Ticked off: of one that recurs the time that it is about now, and the next one comes.
        Raises `Conflict`."""
        async with self._changing:
            before = await self._todo(todo_id, user_id)
            if before.status is TodoStatus.RETRACTED:
                raise Conflict(RETRACTED)
            now = self._clock.now()
            todo = None
            if before.recurrence_rule:
                zone = await self._zone(user_id)
                todo = await asyncio.to_thread(after_this_time, before, now, zone)
            todo = todo or replace(before, status=TodoStatus.COMPLETED)
            if todo != before:
                todo = replace(todo, updated_at=now)
                await self._put(todo, before)
        return todo

    async def put_off(self, todo_id: str, user_id: str, *, of: datetime, to: datetime) -> Todo:
        """Its time `of` is at `to`, this once: what recurs goes on by its rule. Raises
        `Conflict`."""
        async with self._changing:
            before = await self._todo(todo_id, user_id)
            if not before.status.open:
                raise Conflict(RETRACTED if before.status is TodoStatus.RETRACTED else IS_DONE)
            todo = replace(
                before,
                scheduled_at=to,
                scheduled_words=None,
                status=TodoStatus.RESCHEDULED,
                updated_at=self._clock.now(),
            )
            if before.recurrence_rule:
                moved = before.moved_from if before.scheduled_at == of else None
                todo = replace(todo, recurs_from=anchor_of(before), moved_from=moved or of)
            await self._put(todo, before)
        return todo

    async def drop_todo(self, todo_id: str, user_id: str) -> None:
        """With what was understood and led to it. Once more changes nothing."""
        async with self._changing:
            todo = await self._todo(todo_id, user_id)
            more = await self._meant(todo)
            if todo.status is not TodoStatus.RETRACTED:
                gone = replace(todo, status=TodoStatus.RETRACTED, updated_at=self._clock.now())
                await self._put(gone, todo, *more)
            elif more:  # it was deleted by voice
                await self._journal.commit(more)

    async def _meant(self, thing: Goal | Todo) -> list[Change]:
        """Of what it was made of nothing is left: whoever shows that is told so."""
        if thing.intent_id is None:
            return []
        intent = await self._store.intent(thing.intent_id, user_id=thing.user_id)
        if intent is None or intent.status is not IntentStatus.ACCEPTED:
            return []
        now = self._clock.now()
        return taken_back(replace(intent, status=IntentStatus.RETRACTED, updated_at=now), now)

    async def _todo_with(self, todo: Todo, wanted: Mapping[str, Any], zone: str) -> Todo:
        changes: dict[str, Any] = {}
        if "title" in wanted:
            changes["title"] = visible_line(wanted["title"], "title")
        if "goal_id" in wanted:
            changes["goal_id"] = str(wanted["goal_id"]) if wanted["goal_id"] else None
            if changes["goal_id"] is not None:
                goal = await self._store.goal(changes["goal_id"], user_id=todo.user_id)
                found(goal, "Goal", changes["goal_id"])
        return _timed(replace(todo, **changes), wanted, self._clock.now(), zone)

    async def _zone(self, user_id: str) -> str:
        person = await self._store.person(user_id)
        return zone_or(person.time_zone if person else None, self._time_zone)

    async def _put(
        self, record: Goal | Todo, before: Goal | Todo | None = None, *more: Change
    ) -> None:
        """Only what is another than before: somebody may be talking about the rest of it."""
        names = [one.name for one in fields(record) if one.name != "updated_at"]
        only = tuple(n for n in names if before and getattr(record, n) != getattr(before, n))
        # What is there may be changed, and with it room be made.
        room = [] if before else self._shares.more(record.user_id)
        put = Put(record, only=only) if before else Put(record)
        await self._journal.commit([put, *more, *room])
        if self._changed is not None:
            await self._changed(record.user_id)

    # --- What is done -------------------------------------------------------------------

    async def tick_milestone(
        self, goal_id: str, milestone_id: str, user_id: str, *, done: bool
    ) -> Milestone:
        async with self._changing:
            plan = await self._goal(goal_id, user_id)
            named = (one for one in plan.milestones if one.id == milestone_id)
            step = found(next(named, None), "Milestone", milestone_id)
            if plan.goal.status is GoalStatus.RETRACTED:
                raise Conflict(RETRACTED)
            if done is not (step.completed_at is not None):
                step = replace(step, completed_at=self._clock.now() if done else None)
                await self._journal.commit([Put(step, only=("completed_at",))])
        return step

    async def intents(
        self, user_id: str, *, conversation_id: str | None, limit: int
    ) -> list[Intent]:
        if conversation_id is not None:
            known = await self._store.conversation(conversation_id, user_id=user_id)
            found(known, "Conversation", conversation_id)
        return await self._store.intents(
            user_id=user_id, conversation_id=conversation_id, limit=limit
        )

    # --- The person ---------------------------------------------------------------------

    async def person(self, user_id: str) -> Person:
        """Whoever asks is somebody, known or not."""
        now = self._clock.now()
        known = await self._store.person(user_id)
        return known or Person(id=user_id, created_at=now, updated_at=now)

    async def change(self, user_id: str, wanted: Mapping[str, Any]) -> Person:
        """The person with these fields of theirs changed. Raises `InvalidRequest`."""
        checked = self._checked(wanted)
        async with self._changing:  # or of two changes at once the second takes the first back
            person = await self.person(user_id)
            if checked:
                person = replace(person, **checked, updated_at=self._clock.now())
                await self._journal.commit([Put(person, only=tuple(checked))])
        return person

    def _checked(self, wanted: Mapping[str, Any]) -> dict[str, Any]:
        checked = dict(wanted)
        if wanted.get("voice") is not None:
            self._check_voice(wanted["voice"])
        for name in ("name", "chronotype"):
            if wanted.get(name) is not None:
                checked[name] = clean_line(wanted[name]) or None
        zone = wanted.get("time_zone")
        if zone is not None and not zone_or(zone, ""):
            raise InvalidRequest(
                "That is no IANA time zone, such as Europe/Berlin.", field="time_zone"
            )
        return checked

    async def account(self, user_id: str, *, sessions: int) -> Account:
        since = self._clock.now() - DAY
        spent = await self._store.spent(user_id=user_id, since=since)
        latest = await self._store.sessions(user_id=user_id, limit=sessions)
        return Account(since, spent, latest, self._limits())


def taken_back(intent: Intent, now: datetime) -> list[Change]:
    """A retracted intent, kept and told."""
    event = IntentRetracted(
        session_id=intent.session_id,
        timestamp=now,
        intent_id=intent.id,
        intent=intent.route,
        goal_id=intent.goal_id,
        task_id=intent.task_id,
    )
    log = to_log(event, user_id=intent.user_id, conversation_id=intent.conversation_id)
    return [Put(intent), Announce(log)]


def visible_line(value: str, field: str) -> str:
    line = clean_line(value)
    if not any(unicodedata.category(letter)[0] in "LNS" for letter in line):
        raise InvalidRequest("There is nothing in it that can be read.", field=field)
    return line


def _timed(todo: Todo, wanted: Mapping[str, Any], now: datetime, zone: str) -> Todo:
    """With another time, rule or place. A place takes the time away, and the other way round."""
    if (place := wanted.get("location_trigger")) is not None:
        if any(wanted.get(name) for name in ("scheduled_at", "when", "recurrence_rule")):
            raise InvalidRequest("It is at a time or at a place.", field="location_trigger")
        return replace(
            todo,
            **_NO_TIME,
            trigger_type="location",
            location_trigger=visible_line(place, "location_trigger"),
        )
    changes: dict[str, Any] = {}
    if "recurrence_rule" in wanted:
        rule = wanted["recurrence_rule"]
        parts = parts_of(rule, zone) if rule else {}
        if parts is None:
            raise InvalidRequest("That is no rule of RFC 5545.", field="recurrence_rule")
        changes |= {"recurrence_rule": joined(parts) or None, "recurrence_words": None}
    words = clean_line(wanted["when"]) if wanted.get("when") else None
    if words:
        found = understand(words, now=now, time_zone=zone)
        if found.at is None:
            raise InvalidRequest(found.problem, field="when", question=found.question)
        changes |= {"scheduled_at": found.at, "scheduled_words": words}
        if found.rule:
            changes |= {"recurrence_rule": found.rule, "recurrence_words": words}
    if "scheduled_at" in wanted:
        changes |= {"scheduled_at": wanted["scheduled_at"], "scheduled_words": None}
    if not changes:
        return todo
    timed: dict[str, Any] = {"trigger_type": "time", "location_trigger": None, "time_zone": zone}
    return replace(todo, **timed, **changes, recurs_from=None, moved_from=None)


_NO_TIME: dict[str, Any] = dict.fromkeys(
    (
        "scheduled_at",
        "scheduled_words",
        "recurrence_rule",
        "recurrence_words",
        "recurs_from",
        "moved_from",
    )
)
