"""Instants in words, as the voice says them where the user lives."""

from __future__ import annotations

from datetime import date, datetime, time
from zoneinfo import ZoneInfo


def spoken(at: datetime, *, now: datetime, time_zone: str, clock: bool = True) -> str:
    """ "today at 7 PM", "Friday, November 20 at 6:30 PM"; the year where it is another one."""
    zone = ZoneInfo(time_zone)
    local, here = at.astimezone(zone), now.astimezone(zone)
    ahead = (local.date() - here.date()).days
    words = {0: "today", 1: "tomorrow"}.get(ahead) or f"{local:%A}, {date_words(local.date())}"
    if ahead > 1 and local.year != here.year:
        words += f", {local.year}"
    return f"{words} at {hour_words(local.time())}" if clock else words


def date_words(on: date) -> str:
    """ "November 20"."""
    return f"{on:%B} {on.day}"


def hour_words(at: time) -> str:
    """ "6:30 PM"."""
    minutes = f":{at.minute:02}" if at.minute else ""
    return f"{at.hour % 12 or 12}{minutes} {'AM' if at.hour < 12 else 'PM'}"
