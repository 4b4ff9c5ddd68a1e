"""Who the user is and what they have to do today, as a session is told (seed 004 §5.1, §6.1).

Lines for "Current Context", and what the user prefers. Counting the days of rules takes
its time, so it is done beside the loop.
"""

from __future__ import annotations

import asyncio
import logging
import re
from dataclasses import dataclass, replace
from datetime import datetime, time
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from vivavoce.errors import VivavoceError
from vivavoce.language.en.telling import clock_words
from vivavoce.logs import fields
from vivavoce.runtime.people.ports import AgendaStore
from vivavoce.runtime.people.today import Telling, harmless
from vivavoce.wire.records.plans import Person, Todo, Verbosity

log = logging.getLogger(__name__)

LOOKED_AT = 200  # recurring ones come with every question, whatever day they are for
PAGES = 5  # what is long overdue comes first, and is told last
_HOUR = re.compile(r"([01]?\d|2[0-3]):([0-5]\d)")


@dataclass(frozen=True, slots=True, kw_only=True)
class UserContext:
    """What a session knows of its user; None and "normal" is "as the agent says"."""

    time_zone: str = "UTC"
    lines: tuple[str, ...] = ()
    voice: str | None = None
    verbosity: Verbosity = "normal"
    auto_approve: bool = False


async def user_context(
    store: AgendaStore,
    user_id: str,
    *,
    now: datetime,
    time_zone: str,
    task_id: str | None = None,
) -> UserContext:
    """`task_id` is a task that the user comes from, by a notification. What cannot be read is left
    out: nobody is refused a session for it."""
    telling = Telling(now, time_zone)
    try:
        person = await store.person(user_id)
        telling = replace(telling, time_zone=_zone(person, time_zone))
        todos = await _open_until(store, user_id, telling.midnight)
        opened = await store.todo(task_id, user_id=user_id) if task_id else None
    except VivavoceError as fault:
        log.warning("A session begins without knowing its user", extra=fields(code=fault.code))
        return UserContext(time_zone=telling.time_zone)
    plans = await asyncio.to_thread(telling.plans, todos, opened, known=person is not None)
    told = UserContext(time_zone=telling.time_zone, lines=(*_about(person), *plans))
    if person is None:
        return told
    return replace(
        told,
        voice=person.voice,
        verbosity=person.verbosity,
        auto_approve=person.auto_approve,
    )


async def _open_until(store: AgendaStore, user_id: str, until: datetime) -> list[Todo]:
    found: list[Todo] = []
    for page in range(PAGES):
        more = await store.todos(
            user_id=user_id, open_only=True, until=until, limit=LOOKED_AT, offset=page * LOOKED_AT
        )
        found += more
        if len(more) < LOOKED_AT:
            break
    return found


def _zone(person: Person | None, otherwise: str) -> str:
    return _valid(person.time_zone if person else None, otherwise)


def _valid(time_zone: str | None, otherwise: str) -> str:
    try:
        return ZoneInfo(time_zone).key if time_zone else otherwise
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return otherwise


def _about(person: Person | None) -> list[str]:
    if person is None:
        return []
    name, chronotype = harmless(person.name or "", 60), harmless(person.chronotype or "", 40)
    told = [
        f"The user's name: {name}" if name else "",
        f"Chronotype: {chronotype}" if chronotype else "",
        _hours("Work hours", person.work_start, person.work_end),
        _hours("Sleeps", person.sleep_start, person.sleep_end),
        f"Time zone: {person.time_zone}" if _zone(person, "") else "",
    ]
    return [line for line in told if line]


def _hours(what: str, start: str | None, end: str | None) -> str:
    found = [_HOUR.fullmatch(hour or "") for hour in (start, end)]
    told = [clock_words(time(int(hour[1]), int(hour[2]))) for hour in found if hour]
    return f"{what}: {told[0]} to {told[1]}" if len(told) == 2 else ""
