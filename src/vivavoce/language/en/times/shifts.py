"""How far from another time: "an hour later", "by 30 minutes", "an hour before dinner". No library.

Says by how much and in which direction. From what is the caller's to know: the
time of the task that is moved, or the time that the other words name.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.times.dates import EMPTY, instant
from vivavoce.language.en.times.tables import UNITS

# "Push it back" makes it later. "Forward" is earlier to some and later to others.
_LATER = frozenset({"later", "back", "by", "after", "postpone", "delay", "push"})
_EARLIER = frozenset({"earlier", "sooner", "up", "bring", "pull"})
_EITHER = frozenset({"forward", "forwards"})
_VERBS = frozenset({"move", "shift", "put", "than", "planned", "another"})
_NOW = frozenset({"in", "from", "now", "within"})
_MOST = 4  # characters of a number


@dataclass(frozen=True, slots=True)
class Shift:
    """By the clock of a place: a day later is the same hour, whatever the clocks do meanwhile."""

    minutes: int = 0
    days: int = 0
    months: int = 0

    def of(self, at: datetime, time_zone: str, sign: int = 1) -> datetime:
        from dateutil.relativedelta import relativedelta  # late, like all of its library

        local = at.astimezone(ZoneInfo(time_zone))
        there = local.date() + relativedelta(months=sign * self.months, days=sign * self.days)
        moved = instant(there, local.time(), time_zone) if there != local.date() else at
        return moved.astimezone(UTC) + timedelta(minutes=sign * self.minutes)


def amount(found: Sequence[str]) -> Shift | None:
    """ "1 hour 30 minutes"; None where there is anything else."""
    if not found or len(found) % 2:
        return None
    minutes = days = months = 0
    for number, word in zip(found[::2], found[1::2], strict=True):
        whole, _, part = number.partition(".")
        if not (whole.isdecimal() and number.isascii() and len(number) <= _MOST):
            return None
        count, unit = int(whole), UNITS.get(word)
        if unit == "hour" and part.isdecimal():
            minutes += round(60 * float(number))  # "1.5 hours"
            continue
        match unit if number == whole else None:
            case "minute" | "hour":
                minutes += count * (60 if unit == "hour" else 1)
            case "day" | "week":
                days += count * (7 if unit == "week" else 1)
            case "month" | "year":
                months += count * (12 if unit == "year" else 1)
            case _:
                return None
    return Shift(minutes, days, months)


def _some(found: Sequence[str]) -> Shift | None:
    """Also "the day" and "the week", as one."""
    return amount(["1", *found] if len(found) == 1 else found)


def shift(found: Sequence[str]) -> tuple[Shift, int] | None:
    """How far from the time that it has, and the sign, 0 for one that can be either. None: the
    words are about another time, or about now."""
    if _NOW & set(found):
        return None
    if [w for w in found if w not in EMPTY] in (["next", "day"], ["following", "day"]):
        return Shift(days=1), 1
    signs = _LATER | _EARLIER | _EITHER
    before = bool(found) and found[-1] == "before"  # "a day before", not "before noon"
    by = _some([w for w in found if w not in signs | _VERBS | EMPTY])
    if by is None or not (before or signs & set(found)):
        return None
    if before or _EARLIER & set(found):
        return by, -1
    return by, 0 if _EITHER & set(found) and "push" not in found else 1


def beside(found: Sequence[str]) -> tuple[Shift, int, list[str]] | None:
    """ "1 hour before dinner": how far, the sign, and the words for the other time."""
    for at, word in enumerate(found):
        if word in ("before", "after"):
            by = _some([w for w in found[:at] if w not in EMPTY])
            rest = list(found[at + 1 :])
            return (by, 1 if word == "after" else -1, rest) if by and rest else None
    return None
