"""The stretch of time that words speak of, and whether a moment is one they mean. Pure.

For what exists already: "what have I got on this week", "the one on Friday morning", "my three
o'clock". The words are read by the grammar of `times`, as those for a time to come are.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from vivavoce.language.en.times import pieces as p
from vivavoce.language.en.times.dates import Calendar, Either, added, shifted
from vivavoce.language.en.times.reading import Mention
from vivavoce.language.en.times.said import Said, said
from vivavoce.wire.values import Value

_DAY = timedelta(days=1)
_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (16, 24), "night": (18, 30)}
"""From and to which hour, roughly: people draw the lines differently."""


class Window(Value):
    """From `start` to before `end`, by the user's clock."""

    start: datetime
    end: datetime

    def holds(self, at: datetime) -> bool:
        return self.start <= at < self.end


def window(words: str | Sequence[str | Mention], *, now: datetime) -> Window | None:
    """The days, or the part of a day, that they speak of; None where they speak of none. `now` is
    aware and in the user's zone."""
    known = said([words] if isinstance(words, str) else words)
    try:
        days = _days(known, now)
    except (OverflowError, ValueError):  # at the edges of the calendar
        return None
    if days is None:
        if not known.part or known.every:
            return None
        days = now.date(), now.date()
    first, last = days
    if known.part:
        begins, ends = _PARTS[known.part.rsplit(maxsplit=1)[-1]]
        return Window(_hour(first, begins, now), _hour(last, ends, now))
    return Window(_hour(first, 0, now), _hour(last, 24, now))


def fits(words: str | Sequence[str | Mention], at: datetime, *, now: datetime) -> bool:
    """Could somebody speak of this moment so? Of a bare hour either half of the day will do. Words
    that name neither a day nor an hour fit nothing."""
    known = said([words] if isinstance(words, str) else words)
    local = at.astimezone(now.tzinfo)
    named = known.days or known.today or known.from_now
    if not (named or known.hours or known.part):
        return False
    if named and not _on_its_day(known, local, now):
        return False
    if known.part and not _in_part(known, local):
        return False
    return not known.hours or any(_at_hour(hour, local) for hour in known.hours)


def _on_its_day(known: Said, local: datetime, now: datetime) -> bool:
    weekdays = [day for day in known.days if isinstance(day, p.Weekday) and not day.which]
    if weekdays and len(weekdays) == len(known.days):
        return any(local.weekday() == day.day for day in weekdays)
    found = window_of_days(known, now)
    late = known.part.endswith("night") and local.hour < _PARTS["night"][1] - 24
    return found is not None and found.holds(local - _DAY if late else local)


def window_of_days(known: Said, now: datetime) -> Window | None:
    try:
        days = _days(known, now)
    except (OverflowError, ValueError):
        return None
    return Window(_hour(days[0], 0, now), _hour(days[1], 24, now)) if days else None


def _in_part(known: Said, local: datetime) -> bool:
    begins, ends = _PARTS[known.part.rsplit(maxsplit=1)[-1]]
    return begins <= local.hour < ends or begins <= local.hour + 24 < ends


def _at_hour(said_: p.Hour, local: datetime) -> bool:
    if said_.hour is None or said_.minute != local.minute:
        return said_.hour is None and said_.minute % 60 == local.minute
    return said_.hour == local.hour or (not said_.certain and said_.hour % 12 == local.hour % 12)


def _days(known: Said, now: datetime) -> tuple[date, date] | None:
    """The first and the last of them."""
    today = now.date()
    calendar = Calendar(today, str(now.tzinfo))
    amount = known.from_now
    if amount is not None and not known.days:
        return today, shifted(now, amount, 1).date()
    weekdays = [day for day in known.days if isinstance(day, p.Weekday)]
    periods = [day for day in known.days if isinstance(day, p.Period)]
    if weekdays and periods and periods[0].unit == "week":
        on = calendar.within(weekdays[0], periods[0])
        return on, on
    if periods:
        return _period(periods[0], calendar)
    months = [day for day in known.days if isinstance(day, p.Date) and day.day is None]
    if months and (begins := calendar.day(months[0])) and isinstance(begins, date):
        return begins, added(begins, 1) - _DAY
    if known.today and not known.days:
        return today, today
    found = [calendar.day(day) for day in known.days]
    each = [days[-1] for days in (d.days if isinstance(d, Either) else (d,) for d in found) if days]
    dates = sorted(day for day in each if day is not None)
    return (dates[0], dates[-1]) if dates else None


def _period(piece: p.Period, calendar: Calendar) -> tuple[date, date] | None:
    today = calendar.today
    monday = today - today.weekday() * _DAY + 7 * piece.ahead * _DAY
    month = added(today.replace(day=1), piece.ahead)
    match piece.unit:
        case "week":
            return max(monday, today), monday + 6 * _DAY
        case "weekend":
            saturday = monday + 5 * _DAY
            return max(saturday, today), saturday + _DAY
        case "month" if piece.month is None:
            return max(month, today), added(month, 1) - _DAY
        case "year":
            year = piece.year or today.year + piece.ahead
            return max(date(year, 1, 1), today), date(year, 12, 31)
    begins = calendar.day(piece)
    return (begins, begins + 90 * _DAY) if isinstance(begins, date) else None


def _hour(on: date, hour: int, now: datetime) -> datetime:
    days, hour = divmod(hour, 24)
    local = datetime.combine(on + days * _DAY, time(hour), now.tzinfo)
    return local.astimezone(UTC).astimezone(now.tzinfo)
