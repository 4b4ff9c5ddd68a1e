"""The seam to the clock of the language: where times are in a text, and whether they say enough.

Nobody else in this package reads a time.
"""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from vivavoce.language.en import mentions
from vivavoce.language.en.ranges import fits
from vivavoce.language.en.resolving import Resolution, resolve
from vivavoce.language.en.times import reading
from vivavoce.language.en.times.pieces import Hour
from vivavoce.language.en.understanding import understand
from vivavoce.wire.hints import Thing
from vivavoce.wire.values import Record, Value


class Span(Value):
    """Words about time, and where they are."""

    start: int
    end: int
    text: str
    describes: bool = False
    """It says which thing is meant, not when: "my nine o'clock meeting"."""


class Meant(Record):
    """What words about time mean, or what is to be asked."""

    at: datetime | None = None
    rule: str | None = None
    question: str = ""
    """In the clock's words, where it is not simply the day or the hour that is missing."""
    day: bool = False
    """A day is said, or days are."""
    hour: bool = False
    """An hour is said, or a part of the day that stands for one."""
    anchor: bool = False
    """It is relative to something, and nobody knows to what."""
    place: bool = False
    """It is by the clock of a place that nobody knows."""
    turned: bool = True
    """It is said whether earlier or later, where that has to be."""

    @property
    def whole(self) -> bool:
        return self.at is not None


def find(text: str) -> list[Span]:
    return [
        Span(one.start, one.end, one.words, one.describes)
        for one in reading.find(text)
        if not lasted(text, one.start, one.end)
    ]


def lasted(text: str, start: int, end: int) -> bool:
    """Whether the words there only say how long something has been so."""
    return mentions.has_lasted(text, start, end)


def meant(words: str, *, now: datetime, zone: str, base: datetime | None = None) -> Meant:
    here = now.astimezone(ZoneInfo(zone))
    found = resolve(words, now=here, anchor=base)
    days = {"day", "repetition", "relative"} & found.said
    question = ""
    named = found.trouble not in (None, "unclear")
    if named or set(found.missing) - {"day", "hour", "anchor"}:
        question = understand(words, now=here, time_zone=zone, base=base).question or ""
    return Meant(
        at=found.at,
        rule=found.rule,
        question=question,
        day=bool(days)
        and "day" not in found.missing
        and not (found.at is None and mentions.vague(words)),
        hour=_hour(found),
        anchor="anchor" in found.missing,
        place="place" in found.missing,
        turned="direction" not in found.missing
        and not (base is not None and mentions.undirected(words)),
    )


def leans(words: str) -> bool:
    """Whether it counts from something that is named elsewhere: "the day after", "an hour later",
    "that evening"."""
    return any("relative" in one.says for one in reading.find(words))


def says_hour(words: str) -> bool:
    return any({"hour", "part"} & one.says for one in reading.find(words))


def says_clock(words: str) -> bool:
    """An hour of the clock; "in an hour" and "in the morning" are none."""
    return any(isinstance(f.piece, Hour) for one in reading.find(words) for f in one.found)


def exactly(at: datetime, zone: str) -> str:
    """A moment in words that nothing has to be added to."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%B %Y} at {local:%H:%M}"


def _hour(found: Resolution) -> bool:
    return "hour" not in found.missing and bool(found.clock or found.at or "hour" in found.said)


def repeats(words: str) -> list[str]:
    return mentions.repeats_in(words)


def only(words: str) -> bool:
    """A time and nothing else."""
    return mentions.only_time(words)


def covers(words: str, at: datetime, *, now: datetime, zone: str) -> bool:
    """Whether something at that time is "tomorrow", "at three", "on Friday morning"."""
    return fits(words, at, now=now.astimezone(ZoneInfo(zone)))


def sooner(thing: Thing) -> tuple[bool, float]:
    """To sort by: what has no time comes last."""
    return thing.at is None, thing.at.timestamp() if thing.at else 0.0
