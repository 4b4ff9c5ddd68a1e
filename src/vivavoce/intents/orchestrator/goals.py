"""GOAL: a goal, its timeline in the user's words and as an instant, and its milestones.

A timeline that cannot be understood is no reason to refuse a goal: the words are
kept. Milestones come as a list (`milestones`), or as context notes that are
written as a list, a step a line; a time in brackets behind one is when it is due.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from vivavoce.intents.orchestrator.ports import MOST_CHARS, gone, needed, text
from vivavoce.language.en.telling import spoken
from vivavoce.language.en.times.understanding import understand
from vivavoce.runtime.people.intents import Accepted
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.records.plans import Goal, GoalStatus, Intent, Milestone, Submission
from vivavoce.wire.records.talk import Change, DropMilestone, PutGoal, PutMilestone, entry_id

MOST_MILESTONES = 20
_MARKS = ("-", "*", "•")


class Goals:
    def __init__(self, store: AgendaStore) -> None:
        self._store = store

    async def submit(self, given: Submission) -> Accepted:
        goal = Goal(
            id=entry_id(given.intent_id, "goal"),
            user_id=given.user_id,
            statement="",
            created_at=given.now,
            updated_at=given.now,
            conversation_id=given.conversation_id,
            intent_id=given.intent_id,
        )
        return await self._as_given(goal, given, {})

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        goal = await self._store.goal(intent.goal_id or "", user_id=given.user_id)
        if goal is None or goal.status is GoalStatus.RETRACTED:
            raise gone("goal")
        return await self._as_given(goal, given, intent.payload)

    async def retract(self, intent: Intent, given: Submission) -> Accepted:
        goal = await self._store.goal(intent.goal_id or "", user_id=given.user_id)
        if goal is None:
            raise gone("goal")
        undone = replace(goal, status=GoalStatus.RETRACTED, updated_at=given.now)
        return Accepted(
            goal_id=goal.id,
            changes=(PutGoal(undone),),
            told={"goal": goal.statement, "removed": True},
        )

    async def _as_given(self, goal: Goal, given: Submission, before: Mapping[str, Any]) -> Accepted:
        """`before`: what it was made of. Words that did not change mean what they meant then."""
        payload = given.payload
        timeline = text(payload, "timeline")
        if timeline != text(before, "timeline"):
            goal = replace(goal, timeline=timeline, target_at=await _instant(timeline, given))
        goal = replace(
            goal,
            statement=needed(payload, "goal_statement", "What is the goal?"),
            context_notes=_notes(payload.get("context_notes")),
            updated_at=given.now,
        )
        changes: list[Change] = [PutGoal(goal)]
        told: dict[str, Any] = {"goal": goal.statement}
        if goal.target_at is not None:
            told["target"] = spoken(
                goal.target_at, now=given.now, time_zone=given.time_zone, clock=False
            )
        elif timeline:
            told["timeline"] = timeline
        steps, old = _steps(payload), _steps(before)
        if steps != old:
            changes += await self._planned(goal, steps, old, given)
        if steps:
            told["milestones"] = steps
        return Accepted(goal_id=goal.id, changes=tuple(changes), told=told)

    async def _planned(
        self, goal: Goal, steps: Sequence[str], before: Sequence[str], given: Submission
    ) -> list[Change]:
        """One that is named again is the same, done or not; one that is not goes."""
        there = await self._store.milestones([goal.id], user_id=goal.user_id)
        known = {step.title.casefold(): step for step in reversed(there)}
        rows: dict[str, Milestone] = {}
        for step in steps:
            title, words = _due(step)
            old = known.get(title.casefold()) or known.get(step.casefold())
            due = await _instant(words, given)
            if old is not None and step in before:
                title, due = old.title, old.due_at
            elif due is None:
                title = step  # what is in brackets is no time
            made = old or Milestone(
                # Of its title: those before it may go. Of the goal: it may be amended.
                id=entry_id(goal.id, f"milestone:{title.casefold()}"),
                goal_id=goal.id,
                user_id=goal.user_id,
                title=title,
                position=0,
                created_at=given.now,
            )
            if made.id not in rows:  # twice the same is one
                rows[made.id] = replace(made, title=title, position=len(rows), due_at=due)
        dropped = [DropMilestone(step.id) for step in there if step.id not in rows]
        return [*dropped, *map(PutMilestone, rows.values())]


async def _instant(words: str | None, given: Submission) -> datetime | None:
    if words is None:
        return None
    found = await asyncio.to_thread(understand, words, now=given.now, time_zone=given.time_zone)
    return found.at


def _due(step: str) -> tuple[str, str | None]:
    """ "Run 2 km (in two weeks)" has a time in brackets at its end, or something else."""
    title, _, rest = step.rstrip(" .").rpartition("(")
    if not title.strip() or not rest.endswith(")"):
        return step, None
    return title.strip(), rest[:-1]


def _notes(value: Any) -> str | None:
    """Lines stay lines."""
    return (clean_text(value, MOST_CHARS).strip() or None) if isinstance(value, str) else None


def _steps(payload: Mapping[str, Any]) -> list[str]:
    listed = payload.get("milestones")
    if isinstance(listed, list):
        found = [clean_line(item) for item in listed if isinstance(item, str)]
    else:
        found = list(_written_as_list(payload.get("context_notes")))
    return [step for step in found if step][:MOST_MILESTONES]


def _written_as_list(notes: Any) -> Iterable[str]:
    """Only where every line but a heading is marked, and there are two at least."""
    if not isinstance(notes, str):
        return []
    lines = [line.strip() for line in notes[:MOST_CHARS].splitlines() if line.strip()]
    steps = [step for line in lines if (step := _unmarked(line))]
    return steps[:MOST_MILESTONES] if len(steps) >= max(2, len(lines) - 1) else []


def _unmarked(line: str) -> str | None:
    mark, _, rest = line.partition(" ")
    if mark in _MARKS or (mark[:-1].isdecimal() and mark[-1:] in (".", ")")):
        return clean_line(rest)
    return None
