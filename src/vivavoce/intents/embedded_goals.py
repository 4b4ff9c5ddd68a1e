"""GOAL: a goal, its timeline in the user's words and as an instant, and its milestones.

A timeline that cannot be understood is no reason to refuse a goal: the words are
kept. Milestones come as a list (`milestones`), or as context notes that are
written as a list, a step a line.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from vivavoce.intents.embedded_ports import MOST_CHARS, gone, needed, text
from vivavoce.intents.when import spoken, understand
from vivavoce.runtime.agenda_ports import AgendaStore
from vivavoce.runtime.intent_ports import Accepted
from vivavoce.wire.agenda import Goal, GoalStatus, Intent, Milestone, Submission
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.records import Change, PutGoal, PutMilestone, entry_id

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
        return await self._as_given(goal, given)

    async def amend(self, intent: Intent, given: Submission) -> Accepted:
        goal = await self._store.goal(intent.goal_id or "", user_id=given.user_id)
        if goal is None or goal.status is GoalStatus.RETRACTED:
            raise gone("goal")
        return await self._as_given(goal, given)

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

    async def _as_given(self, goal: Goal, given: Submission) -> Accepted:
        payload = given.payload
        timeline = text(payload, "timeline")
        target = await _instant(timeline, given)
        goal = replace(
            goal,
            statement=needed(payload, "goal_statement", "What is the goal?"),
            timeline=timeline,
            target_at=target,
            context_notes=_notes(payload.get("context_notes")),
            updated_at=given.now,
        )
        steps = [
            Milestone(
                # The goal's, not the intent's: an amendment writes the same rows.
                id=entry_id(goal.id, f"milestone:{position}"),
                goal_id=goal.id,
                user_id=goal.user_id,
                title=title,
                position=position,
                created_at=given.now,
                due_at=await _instant(due, given),
            )
            for position, (title, due) in enumerate(_steps(payload))
        ]
        changes: list[Change] = [PutGoal(goal), *(PutMilestone(step) for step in steps)]
        told: dict[str, Any] = {"goal": goal.statement}
        if target is not None:
            told["target"] = spoken(target, now=given.now, time_zone=given.time_zone, clock=False)
        elif timeline:
            told["timeline"] = timeline
        if steps:
            told["milestones"] = [step.title for step in steps]
        return Accepted(goal_id=goal.id, changes=tuple(changes), told=told)


async def _instant(words: str | None, given: Submission) -> datetime | None:
    if words is None:
        return None
    found = await asyncio.to_thread(understand, words, now=given.now, time_zone=given.time_zone)
    return found.at


def _notes(value: Any) -> str | None:
    """Lines stay lines."""
    return (clean_text(value, MOST_CHARS).strip() or None) if isinstance(value, str) else None


def _steps(payload: Mapping[str, Any]) -> list[tuple[str, str | None]]:
    """Titles, each with the words for when it is due where there are any."""
    listed = payload.get("milestones")
    if isinstance(listed, list):
        found = [_step(item) for item in listed[:MOST_MILESTONES]]
    else:
        found = [(step, None) for step in _written_as_list(payload.get("context_notes"))]
    return [(title, due) for title, due in found if title]


def _step(item: Any) -> tuple[str, str | None]:
    if isinstance(item, Mapping):
        return text(item, "title") or "", text(item, "due")
    return (clean_line(item) if isinstance(item, str) else ""), None


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
