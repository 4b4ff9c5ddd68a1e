"""How often, as people say it or models write it: an RFC 5545 rule, or what to ask.

The words are read by the grammar of `times`; here its pieces become the parts of a rule. Every
rule is checked (`rules`): none is finer than daily, and none that never comes.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.rules import DAYS, joined, next_occurrence, parts_of
from vivavoce.language.en.times import pieces as p
from vivavoce.language.en.times.dates import Calendar, added
from vivavoce.language.en.times.lexicon import MOST_CHARS
from vivavoce.language.en.times.reading import read
from vivavoce.language.en.times.said import Said, said
from vivavoce.wire.values import Record

_HOW_OFTEN = "How often should it repeat, and on which days?"
_FORTNIGHT = (14, 15)
"""Every fifteen days on a Saturday is every other one."""
_ONCE = frozenset(
    {"once", "one time", "never", "none", "no", "null", "one-time", "does not repeat"}
)


class Recurrence(Record):
    """A rule; None for once; or what to ask."""

    words: str
    rule: str | None = None
    question: str | None = None


class Often(Record):
    """What pieces say about how often. `open`: what of it they leave open."""

    rule: str | None = None
    open: Literal["", "days", "day", "hour"] = ""
    days_left: tuple[p.Day, ...] = ()
    """The days among them that say when, not how often."""


def recurrence(words: str, *, now: datetime, time_zone: str) -> Recurrence:
    """What the words say about how often; at what hour they say it does not matter here."""
    plain = words.strip().casefold().rstrip(".!")
    if not plain or plain in _ONCE:
        return Recurrence(words=words)
    if len(words) > MOST_CHARS:
        return Recurrence(words=words[:MOST_CHARS], question=_HOW_OFTEN)
    if "freq=" in plain:
        rule = _checked(words, now=now, time_zone=time_zone)
    else:
        known = said([words])
        local = now.astimezone(ZoneInfo(time_zone))
        rule = often(known, now=local).rule if known.every and read(words).whole else None
    return Recurrence(words=words, rule=rule, question=None if rule else _HOW_OFTEN)


def often(known: Said, *, now: datetime) -> Often:
    """The rule of what was said; `now` is local to the user."""
    every = known.every
    if every is None:
        return Often(days_left=known.days)
    zone = str(now.tzinfo)
    calendar = Calendar(now.date(), zone)
    days, left = _days(every, known, calendar)
    if every.open_days and not (days.days or days.month_days):
        return Often(open="days", days_left=left)
    spans = (p.Period, p.Date)
    if any(isinstance(day, spans) and getattr(day, "day", None) is None for day in left):
        return Often(open="days", days_left=left)  # "every day this week" says when it ends
    end = _end(known, calendar)
    if end is None:
        return Often(open="days", days_left=left)
    rule = _checked(";".join([*_parts(days), *end]), now=now, time_zone=zone)
    if rule is None:
        return Often(open="days", days_left=left)
    dated = days.days or days.month_days or days.freq == "DAILY" or left or known.start
    needs = "hour" if every.open_hours else "" if dated or days.month else "day"
    return Often(rule=rule, open=needs, days_left=left)  # type: ignore[arg-type]


def _days(every: p.Every, known: Said, calendar: Calendar) -> tuple[p.Every, tuple[p.Day, ...]]:
    """Its days, with those that were said apart from it ("every week on Tuesday")."""
    parts = {name: getattr(every, name) for name in ("freq", "interval", "month", "position")}
    days, nth, month_days = set(every.days), every.nth, every.month_days
    named = any(isinstance(day, p.Weekday) for day in known.days)
    if named and every.freq == "DAILY" and every.interval in _FORTNIGHT:
        parts |= {"freq": "WEEKLY", "interval": 2}
    left: list[p.Day] = []
    for day in known.days:
        match day:
            case p.Weekday(number, "" | "this", 0) if (
                parts["freq"] == "WEEKLY" or (every.freq == "DAILY" and every.interval == 1)
            ) and (not every.days or every.open_days):
                days.add(number)
                parts["freq"] = "WEEKLY"
            case p.Weekday(number, "", 0) if number in days and not nth:
                pass
            case p.NthWeekday(which, number, month, 0) if every.freq in ("MONTHLY", "YEARLY"):
                nth, month_days = (*nth, which), ()
                days.add(number)
                parts["month"] = parts["month"] or month
            case p.Date(int() as number, None, None) if every.freq == "MONTHLY":
                month_days = (*month_days, number)
            case p.Date(int() as number, month, None) if every.freq == "YEARLY":
                month_days, parts["month"] = (*month_days, number), month
            case p.Date(None, month, None) if every.freq == "YEARLY" or nth:
                parts["month"] = month
            case p.Feast(name) if every.freq == "YEARLY":
                fixed = calendar.feast_in(name, calendar.today.year)
                if fixed:
                    month_days, parts["month"] = (fixed.day,), fixed.month
            case _:
                left.append(day)
    if every.feast and (fixed := calendar.feast_in(every.feast, calendar.today.year)):
        month_days, parts["month"] = (fixed.day,), fixed.month
    if known.without:
        days = (days or set(range(7))) - set(known.without)
        parts["freq"] = "WEEKLY"
    return (
        p.Every(days=tuple(sorted(days)), nth=nth, month_days=month_days, **parts),
        tuple(left),
    )


def _parts(every: p.Every) -> list[str]:
    parts = [f"FREQ={every.freq}"]
    if every.interval != 1:
        parts.append(f"INTERVAL={every.interval}")
    if every.month:
        parts.append(f"BYMONTH={every.month}")
    if every.month_days:
        parts.append("BYMONTHDAY=" + ",".join(map(str, every.month_days)))
    if every.days:
        which: Sequence[str] = [str(number) for number in every.nth] or [""]
        parts.append("BYDAY=" + ",".join(n + DAYS[day] for n in which for day in every.days))
    if every.position:
        parts.append(f"BYSETPOS={every.position}")
    return parts


def _end(known: Said, calendar: Calendar) -> list[str] | None:
    """None: it ends at a time that is not clear."""
    last: date | None = None
    if known.until is not None:
        found = calendar.day(known.until)
        if not isinstance(found, date):
            return None
        last = found
    elif known.lasts is not None:
        last = added(calendar.today, known.lasts.months, known.lasts.days)
    ends = [f"UNTIL={last:%Y%m%d}T235959"] if last else []
    return [*ends, *([f"COUNT={known.times}"] if known.times else [])]


def _checked(words: str, *, now: datetime, time_zone: str) -> str | None:
    """A rule in one form, or None where it is none: a key we do not keep, finer than daily, or one
    that never comes."""
    parts = parts_of(words, time_zone)
    rule = joined(parts) if parts else ""
    return rule if rule and next_occurrence(rule, now, now, time_zone) else None
