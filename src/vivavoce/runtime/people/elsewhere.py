"""What is known of a user whose things live elsewhere: told by their backend or by their client.

Whoever tells it is not trusted: what is no task is left out, what is too long is cut, and more than
there is room for is not looked at. Filled like a store, so that whoever reads plans need not know
where they are from. Ids are the other's own, and nobody makes any up.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from vivavoce.language.en.recurrence.rules import joined, parts_of
from vivavoce.runtime.people.due import zone_or
from vivavoce.runtime.people.things import MOST
from vivavoce.wire.clean import clean_line, clean_text
from vivavoce.wire.records.plans import Goal, Todo
from vivavoce.wire.values import Value

_ID, _TITLE, _NOTES = 64, 200, 1_000


class Elsewhere(Value):
    """One user's profile and open plans, as somebody told them."""

    name: str = ""
    time_zone: str = ""
    tasks: Sequence[Todo] = ()
    aims: Sequence[Goal] = ()
    plans: bool = True
    """Were plans told at all? A client may tell only who the user is."""

    async def todo(self, todo_id: str, *, user_id: str) -> Todo | None:
        return next((one for one in self.tasks if one.id == todo_id), None)

    async def todos(
        self, *, user_id: str, open_only: bool = False, limit: int = 50, offset: int = 0
    ) -> list[Todo]:
        return list(self.tasks[offset : offset + limit])

    async def goal(self, goal_id: str, *, user_id: str) -> Goal | None:
        return next((one for one in self.aims if one.id == goal_id), None)

    async def goals(
        self, *, user_id: str, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> list[Goal]:
        return list(self.aims[offset : offset + limit])


def told(said: Mapping[str, Any], *, user_id: str, now: datetime, time_zone: str) -> Elsewhere:
    """Of `profile`, `tasks` and `goals`, whatever they are."""
    profile = said.get("profile")
    profile = profile if isinstance(profile, Mapping) else {}
    zone = zone_or(_line(profile.get("time_zone"), 64) or None, "")
    found = [_todo(one, user_id, now, zone or time_zone) for one in _listed(said.get("tasks"))]
    goals = [_goal(one, user_id, now) for one in _listed(said.get("goals"))]
    return Elsewhere(
        name=_line(profile.get("name"), 60),
        time_zone=zone,
        tasks=tuple({one.id: one for one in found if one is not None}.values()),
        aims=tuple({one.id: one for one in goals if one is not None}.values()),
        plans=isinstance(said.get("tasks"), list) or isinstance(said.get("goals"), list),
    )


def _listed(value: Any) -> list[Mapping[str, Any]]:
    kept = value[:MOST] if isinstance(value, list) else []
    return [one for one in kept if isinstance(one, Mapping)]


def _todo(said: Mapping[str, Any], user_id: str, now: datetime, zone: str) -> Todo | None:
    name, title = _id(said.get("id")), _line(said.get("title"), _TITLE)
    if not name or not title:
        return None
    at, place = _instant(said.get("scheduled_at")), _line(said.get("location_trigger"), _TITLE)
    rule = parts_of(_line(said.get("recurrence_rule"), _TITLE), zone) if at else None
    return Todo(
        id=name,
        user_id=user_id,
        title=title,
        trigger_type="location" if place and at is None else "time",
        created_at=now,
        updated_at=now,
        scheduled_at=at,
        recurrence_rule=joined(rule) if rule else None,
        time_zone=zone,
        location_trigger=place or None,
    )


def _goal(said: Mapping[str, Any], user_id: str, now: datetime) -> Goal | None:
    name = _id(said.get("id"))
    statement = _line(said.get("statement") or said.get("title"), _TITLE)
    if not name or not statement:
        return None
    notes = said.get("context_notes")
    return Goal(
        id=name,
        user_id=user_id,
        statement=statement,
        created_at=now,
        updated_at=now,
        target_at=_instant(said.get("target_at")),
        context_notes=clean_text(notes, _NOTES) if isinstance(notes, str) else None,
    )


def _id(value: Any) -> str:
    """As it is, or not at all: a cut one would be another's."""
    text = str(value) if isinstance(value, str | int) and not isinstance(value, bool) else ""
    fits = 0 < len(text) <= _ID and text == clean_line(text, _ID) and text.isprintable()
    return text if fits else ""


def _line(value: Any, limit: int) -> str:
    return clean_line(value, limit) if isinstance(value, str) else ""


def _instant(value: Any) -> datetime | None:
    if isinstance(value, datetime):
        return value
    if not isinstance(value, str) or not 16 <= len(value) <= 40:
        return None
    try:
        at = datetime.fromisoformat(value)
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        return None
