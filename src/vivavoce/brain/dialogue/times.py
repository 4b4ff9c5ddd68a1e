"""The seam to the clock of the language: where times are in a text, and whether they say enough.

Nobody else in this package reads a time.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en import mentions
from vivavoce.language.en.times import clock as clocks
from vivavoce.language.en.times import lexicon
from vivavoce.language.en.times.dates import EMPTY, day
from vivavoce.language.en.understanding import understand
from vivavoce.wire.hints import Thing
from vivavoce.wire.values import Record, Value

_PART_HOURS = {
    "morning": range(12),
    "afternoon": range(12, 18),
    "evening": range(16, 24),
    "night": range(17, 24),
}


class Span(Value):
    """Words about time, and where they are."""

    start: int
    end: int
    text: str


class Meant(Record):
    """What words about time mean, or what is to be asked."""

    at: datetime | None = None
    rule: str | None = None
    question: str = ""
    day: bool = False
    """A day is said, or days are."""
    hour: bool = False
    """An hour is said, or a part of the day that stands for one."""

    @property
    def whole(self) -> bool:
        return self.at is not None and self.hour


def find(text: str) -> list[Span]:
    spans: list[Span] = []
    end = 0
    while found := mentions.times_in(text[end:]):
        start = text.find(found[0], end)
        end = start + len(found[0])
        if spans and not text[spans[-1].end : start].strip(" ,"):
            start = spans.pop().start
        spans.append(Span(start, end, text[start:end]))
    return spans


def meant(words: str, *, now: datetime, zone: str, base: datetime | None = None) -> Meant:
    when = understand(words, now=now, time_zone=zone, base=base)
    clock = clocks.read(lexicon.tokens(words))
    span = when.at is not None and when.day_said and when.assumed is None
    return Meant(
        at=when.at,
        rule=when.rule,
        question=when.question or "",
        day=when.day_said or when.rule is not None or bool(mentions.repeats_in(words)),
        hour=clock.said or clock.part is not None or clock.same or span or base is not None,
    )


def repeats(words: str) -> list[str]:
    return mentions.repeats_in(words)


def only(words: str) -> bool:
    """A time and nothing else."""
    return mentions.only_time(words)


def covers(words: str, at: datetime, *, now: datetime, zone: str, rule: str | None = None) -> bool:
    """Whether something at that time is "tomorrow", "at three", "on Friday morning"."""
    here = at.astimezone(ZoneInfo(zone))
    today = now.astimezone(ZoneInfo(zone)).date()
    tokens = lexicon.tokens(words)
    clock = clocks.read(tokens)
    if clock.hour is not None:
        hours = {clock.hour} if clock.certain else {clock.hour % 12, clock.hour % 12 + 12}
        if here.hour not in hours or here.minute != clock.minute:
            return False
    elif clock.part and here.hour not in _PART_HOURS.get(clock.part.split()[-1], range(24)):
        return False
    rest = " ".join(clock.rest)
    if "week" in clock.rest or "weekend" in rest:
        monday = today - timedelta(days=today.weekday()) + timedelta(days=7 * ("next" in rest))
        first, days = (5, 2) if "weekend" in rest else (0, 7)
        return 0 <= (here.date() - monday).days - first < days
    if not any(word not in EMPTY for word in clock.rest):
        return clock.hour is not None or clock.part is not None
    on = day([w for w in clock.rest if w not in ("and", "or")], today)
    return on == here.date()


def sooner(thing: Thing) -> tuple[bool, float]:
    """To sort by: what has no time comes last."""
    return thing.at is None, thing.at.timestamp() if thing.at else 0.0
