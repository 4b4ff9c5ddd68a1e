"""How often: RFC 5545 rules of spoken words, and the instants of a rule, by dateutil.

A rule here is without DTSTART and no finer than daily. It is counted by the clock
of a place: six in the morning stays six when the clocks change. Rules come from
models: every one is checked, and none is followed for ever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from vivavoce.intents import recurrence_words
from vivavoce.intents.recurrence_words import DAYS
from vivavoce.intents.when_dates import day, instant
from vivavoce.intents.when_tables import UNITS
from vivavoce.intents.when_words import MOST_CHARS, tokens
from vivavoce.wire.agenda import Todo

if TYPE_CHECKING:
    from dateutil.rrule import rrule

HOW_OFTEN = "How often should it repeat, and on which days?"
_KEYS = frozenset(
    [
        "FREQ",
        "INTERVAL",
        "COUNT",
        "UNTIL",
        "BYDAY",
        "BYMONTHDAY",
        "BYMONTH",
        "BYSETPOS",
        "BYHOUR",
        "BYMINUTE",
        "WKST",
    ]
)
_FREQS = frozenset({"DAILY", "WEEKLY", "MONTHLY", "YEARLY"})
_MOST = 1000
_LONGEST = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)
_HORIZON = timedelta(days=366 * 12)  # a 29th of February comes within eight years
_ONCE = frozenset(
    {"once", "one time", "never", "none", "no", "null", "one-time", "does not repeat"}
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Recurrence:
    """A rule; None for once; or what to ask."""

    words: str
    rule: str | None = None
    question: str | None = None


def recurrence(words: str, *, now: datetime, time_zone: str) -> Recurrence:
    """What the words say about how often; at what hour they say it does not matter here."""
    plain = words.strip().casefold().rstrip(".!")
    if not plain or plain in _ONCE:
        return Recurrence(words=words)
    if len(words) > MOST_CHARS:
        return Recurrence(words=words[:MOST_CHARS], question=HOW_OFTEN)
    if "freq=" in plain:
        rule = checked(words, now=now, time_zone=time_zone)
        return Recurrence(words=words, rule=rule, question=None if rule else HOW_OFTEN)
    rule, _ = split(tokens(words), now=now, time_zone=time_zone)
    return Recurrence(words=words, rule=rule, question=None if rule else HOW_OFTEN)


def split(
    found: Sequence[str], *, now: datetime, time_zone: str
) -> tuple[str | None, Sequence[str]]:
    """The rule among the tokens, and the tokens that say something else."""
    kept, end = _end(list(found), now, time_zone)
    parts = recurrence_words.find(kept)
    if parts is None:
        return None, found
    rule = checked(parts.rule() + end, now=now, time_zone=time_zone)
    return (rule, parts.rest) if rule else (None, found)


def _end(found: list[str], now: datetime, time_zone: str) -> tuple[list[str], str]:
    """ "until june", "for 3 weeks", "5 times": taken out, as UNTIL or COUNT."""
    today = now.astimezone(ZoneInfo(time_zone)).date()
    for at, word in enumerate(found):
        ahead = found[at + 1 : at + 3]
        if word in ("until", "till") and (last := day(found[at + 1 :], today)):
            return found[:at], f";UNTIL={last:%Y%m%d}T235959"
        if word == "for" and len(ahead) == 2 and ahead[0].isdecimal() and ahead[1] in UNITS:
            last = day(["in", *ahead], today)
            if last:
                return found[:at] + found[at + 3 :], f";UNTIL={last:%Y%m%d}T235959"
        if (
            word.isdecimal()
            and len(word) <= 3
            and ahead[:1] == ["times"]
            and ahead != ["times", "1"]
        ):
            before = found[: at - 1] if at and found[at - 1] == "for" else found[:at]
            return before + found[at + 2 :], f";COUNT={int(word)}"
    return found, ""


def checked(words: str, *, now: datetime, time_zone: str) -> str | None:
    """A rule in one form, or None where it is none: a key we do not keep, finer than daily, or one
    that never comes."""
    lines = [line for line in words.upper().split() if not line.startswith("DTSTART")]
    parts: dict[str, str] = {}
    for part in "".join(lines).removeprefix("RRULE:").strip(";").split(";"):
        key, _, value = part.partition("=")
        if key in ("BYSECOND", "WKST"):
            continue
        if key not in _KEYS or key in parts or not value:
            return None
        parts[key] = value
    if parts.get("FREQ") not in _FREQS or not (_bounded(parts) and _comes(parts)):
        return None
    if parts.get("INTERVAL") == "1":
        del parts["INTERVAL"]
    if "UNTIL" in parts and not _local_until(parts, time_zone):
        return None
    rule = ";".join(f"{key}={value}" for key, value in parts.items())
    return rule if next_occurrence(rule, now, now, time_zone) else None


def _bounded(parts: dict[str, str]) -> bool:
    numbers = [parts[key] for key in ("INTERVAL", "COUNT") if key in parts]
    numbers += [parts[key] for key in ("BYHOUR", "BYMINUTE") if key in parts]
    if not all(n.isdecimal() and n.isascii() and int(n[:6]) <= _MOST for n in numbers):
        return False
    return parts.get("INTERVAL") != "0" and parts.get("COUNT") != "0"


def _comes(parts: dict[str, str]) -> bool:
    """dateutil looks for the days of a rule to the end of the calendar, and takes seconds where
    there are none: such rules do not get to it. By months and years it is quick to give up."""
    days, months = parts.get("BYMONTHDAY"), parts.get("BYMONTH")
    if parts["FREQ"] in ("DAILY", "WEEKLY"):
        plain = not any(c.isdecimal() for c in parts.get("BYDAY", ""))
        every = parts["FREQ"] == "WEEKLY" or parts.get("INTERVAL", "1") == "1"
        alone = not parts.keys() & {"BYMONTHDAY", "BYSETPOS"}
        steady = parts.get("INTERVAL", "1") == "1" or months is None
        return alone and plain and steady and (every or "BYDAY" not in parts)
    try:
        longest = max(_LONGEST[int(m) - 1] for m in (months or "1").split(","))
        return days is None or min(abs(int(d)) for d in days.split(",")) <= longest
    except (ValueError, IndexError):
        return False


def _local_until(parts: dict[str, str], time_zone: str) -> bool:
    """Counting is by the local clock, so its end is too."""
    value = parts["UNTIL"]
    try:
        until = datetime.fromisoformat(value)
    except ValueError:
        return False
    if until.tzinfo is not None:
        until = until.astimezone(ZoneInfo(time_zone))
    elif len(value) == 8:
        until = datetime.combine(until.date(), time(23, 59, 59))
    parts["UNTIL"] = f"{until:%Y%m%dT%H%M%S}"
    return True


def next_occurrence(rule: str, at: datetime, after: datetime, time_zone: str) -> datetime | None:
    """The first instant of the rule later than `after`, by the clock of `at`; none before `at`."""
    zone = ZoneInfo(time_zone)
    start, since = _naive(at, zone), _naive(after, zone)
    found = _following(rule, start, max(start, since) + _HORIZON)
    if found is None:
        return None
    came = found.after(since, inc=False)
    return instant(came.date(), came.time(), time_zone) if came else None


def occurs_on(todo: Todo, on: date, time_zone: str) -> bool:
    """Is it due on this day, where the user is?"""
    zone = ZoneInfo(time_zone)
    at = todo.scheduled_at
    if at is not None and at.astimezone(zone).date() == on:
        return True  # also where it was moved to a day that its rule does not have
    if not todo.recurrence_rule:
        return False
    start = _naive(at or todo.created_at, zone)
    first = datetime.combine(on, time())
    found = _following(todo.recurrence_rule, start, first + timedelta(days=2))
    return found is not None and bool(found.between(first, first + timedelta(1, -1), inc=True))


def pinned(rule: str, at: datetime, time_zone: str) -> str:
    """The rule with the hour and the day it had from its first time, so that moving one time does
    not move all of them."""
    local = at.astimezone(ZoneInfo(time_zone))
    parts = dict(part.split("=", 1) for part in rule.split(";"))
    parts.setdefault("BYHOUR", str(local.hour))
    parts.setdefault("BYMINUTE", str(local.minute))
    if not parts.keys() & {"BYDAY", "BYMONTHDAY"}:
        if parts["FREQ"] == "WEEKLY":
            parts["BYDAY"] = DAYS[local.weekday()]
        elif parts["FREQ"] in ("MONTHLY", "YEARLY"):
            parts["BYMONTHDAY"] = str(local.day)
            if parts["FREQ"] == "YEARLY":
                parts.setdefault("BYMONTH", str(local.month))
    return ";".join(f"{key}={value}" for key, value in parts.items())


def _naive(at: datetime, zone: ZoneInfo) -> datetime:
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).astimezone(zone).replace(tzinfo=None)


def _following(rule: str, start: datetime, last: datetime) -> rrule | None:
    """The rule from `start`, but not beyond `last`: some rules never come."""
    from dateutil.rrule import rrule as rule_type
    from dateutil.rrule import rrulestr

    start = start.replace(second=0, microsecond=0)
    try:
        parts = dict(part.split("=", 1) for part in rule.split(";"))
        if until := parts.pop("UNTIL", None):
            last = min(last, datetime.fromisoformat(until))
        count = parts.pop("COUNT", None)
        found = rrulestr(";".join(map("=".join, parts.items())), dtstart=start)
        if not isinstance(found, rule_type):
            return None
        found = found.replace(until=last)
        if count is None or found.after(start, inc=True) is None:
            return found
        return found.replace(until=None, count=int(count))
    except (ValueError, TypeError, OverflowError, KeyError, IndexError):
        return None
