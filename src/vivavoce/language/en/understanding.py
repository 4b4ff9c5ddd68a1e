"""What "this evening around 7" means, for those who submit it: an instant, or a question in words.

A thin skin over `resolving`, which says what is missing by name: here it becomes the question, and
what may be filled in is filled in and told (`assumed`): a day without an hour is nine in the
morning, or the hour of what is moved. Pure.
"""

from __future__ import annotations

from datetime import UTC, datetime, time
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.rules import at_clock
from vivavoce.language.en.resolving import Profile, Resolution, resolve
from vivavoce.language.en.telling import clock_words, date_words
from vivavoce.language.en.times.lexicon import MOST_CHARS
from vivavoce.language.en.times.said import said
from vivavoce.wire.values import Record

WHEN = "What day and time should it be?"
_PAST = "That time has passed. When should it be?"


class When(Record):
    """An instant, or what to ask."""

    words: str
    at: datetime | None = None
    """In UTC."""
    rule: str | None = None
    """Where the words say that it recurs."""
    clock: time | None = None
    """The local hour that is meant; `at` is later where the clocks jump over it."""
    day_said: bool = False
    """The words name a day, rather than an hour of any day."""
    assumed: str | None = None
    """What the words did not say, for the model to confirm."""
    problem: str = ""
    question: str | None = None


def understand(
    words: str,
    *,
    now: datetime,
    time_zone: str,
    base: datetime | None = None,
    same: datetime | None = None,
    recurring: bool = False,
    profile: Profile | None = None,
) -> When:
    """`base` is the time of what is moved or corrected: what the words leave out, the day or the
    hour, stays as it is there, and "an hour later" counts from it. `same` is the hour that "the
    same time" means, where it is another one. `recurring`: it is for many days, so which of two
    hours is meant does not depend on the hour it is now."""
    local = now.astimezone(ZoneInfo(time_zone))
    found = resolve(words, now=local, profile=profile, anchor=base, same=same, recurring=recurring)
    at = found.at or (found.usual if _may_fill(found) else None)
    if at is None:
        return _asked(found, words[:MOST_CHARS])
    return When(
        words=words,
        at=at.astimezone(UTC),
        rule=found.rule,
        clock=found.clock or at.time(),
        day_said=bool(found.said & {"day"}) or "relative" in found.said,
        assumed=_assumed(found, base),
    )


def clocked(rule: str, when: When, time_zone: str) -> str:
    """The rule of something that begins then. Where the clocks jump over its first time, the hour
    that was said is in the rule: the others are not as much later."""
    if when.at is None or when.clock is None:
        return rule
    there = when.at.astimezone(ZoneInfo(time_zone)).time()
    return rule if there == when.clock else at_clock(rule, when.clock)


def relative(words: str) -> bool:
    """Do they say how far from the time it has ("an hour later"), not when?"""
    if len(words) > MOST_CHARS:
        return False
    shift = said([words]).shift
    return shift is not None and not shift.beside


def says_when(words: str) -> bool:
    """Do they name a day or an hour, not only how often?"""
    known = said([words[:MOST_CHARS]])
    when = (known.days, known.hours, known.routine, known.part, known.from_now, known.shift)
    return any(map(bool, when)) or known.same_time or known.same_day


def _may_fill(found: Resolution) -> bool:
    """Nobody is asked for the hour of a day that is to come; of today they are."""
    some_day = found.missing == ("day", "hour")  # "next week": a week from now, and told
    filled = {"hour", "day"} if found.rule or some_day else {"hour"}
    return found.trouble is None and set(found.missing) <= filled and bool(found.usual)


def _assumed(found: Resolution, base: datetime | None) -> str | None:
    if found.at is None and found.usual is not None:
        told = clock_words(found.usual.time())
        return f"{told}, since no time of day was said"
    if "hour" in found.assumed and base is not None and not found.part and "hour" not in found.said:
        return "the same time of day"
    if "day" in found.assumed and base is not None:
        return "the same day"
    return None


def _asked(found: Resolution, words: str) -> When:
    question, problem = WHEN, f"The time cannot be understood: {words}"
    if found.trouble == "past":
        question, problem = _PAST, f"That is in the past: {words}"
    elif found.trouble == "far":
        problem = f"That is too far away: {words}"
    elif found.trouble == "conflict":
        on = found.choices[0]
        question = f"{date_words(on)} is a {on:%A}. Which day should it be?"
        problem = "The day of the week and the date do not agree"
    elif found.trouble == "either":
        question, problem = _which(found), "That day can be two days"
    elif found.missing == ("direction",):
        question, problem = "Should it be earlier or later?", "That can be either"
    elif found.missing == ("hour",):
        today = found.day is not None and found.usual is None and "relative" not in found.said
        question = "What time today?" if today else "What time should it be?"
        problem = "That says no time of day"
    elif found.missing == ("day",):
        question, problem = "What day should it be?", "That says no day"
    elif found.missing == ("place",):
        question, problem = "What time is that where you are?", "Whose clock is meant is not known"
    elif found.missing == ("anchor",):
        problem = "There is nothing that this could be relative to"
    return When(words=words, question=question, problem=problem)


def _which(found: Resolution) -> str:
    """A question where "next Friday" can be this week's."""
    first, *more = found.choices
    if len({day.weekday() for day in found.choices}) > 1 or not more:
        return "Which of those days should it be?"
    name, later = f"{first:%A}", more[-1]
    return f"Do you mean this {name}, {date_words(first)}, or {name}, {date_words(later)}?"
