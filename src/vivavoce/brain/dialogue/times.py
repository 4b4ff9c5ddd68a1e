"""The seam to the clock of the language: where times are in a text, and whether they say enough.

Nobody else in this package reads a time.
"""

from __future__ import annotations

import re
from datetime import datetime
from zoneinfo import ZoneInfo

from vivavoce.language.en import mentions
from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.ranges import fits
from vivavoce.language.en.resolving import Resolution, resolve
from vivavoce.language.en.times import reading
from vivavoce.language.en.times.zones import PLACES
from vivavoce.language.en.understanding import understand
from vivavoce.wire.hints import Thing
from vivavoce.wire.values import Record, Value

_LOOSE = re.compile(r"(?i)\b(?:week|weekend|month|year|spring|summer|autumn|winter|days)\b")
_NAMED_DAY = re.compile(r"(?i)\b(?:\w+day|today|tonight|tomorrow|\d+(?:st|nd|rd|th)?|first|last)\b")
_AMOUNT = re.compile(r"(?i)\b(?:minutes?|hours?|days?|weeks?|months?)\W*$")
_FIRST = re.compile(r"(?i)(?:for )?(?:an? |half |\d|several |(?P<number>[a-z-]+) )")
_UNIT = re.compile(r"(?i)\b(?:minutes?|hours?|days?|weeks?|fortnights?|months?)\b|$")
_DIRECTED = re.compile(
    r"(?i)\b(?:in|later|earlier|sooner|before|after|from|ago|back|forward|up|off|out|along)\b"
)
_EARLIER = re.compile(
    r"(?i)\b(?:earlier|sooner|before|prepon\w+|advance\w*|(?:bring|pull|move)\b[^.!?]{0,60}\b(?:forward|up|in))\b"
)
_LATER = re.compile(
    r"(?i)\b(?:later|longer|back|off|out|along|down the road|push\w*|shove\w*|shunt\w*|kick\w*|"
    r"bump\w*|slide|knock\w*|delay\w*|postpon\w*|after|move\b[^.!?]{0,60}\bon)\b"
)
_WEEKDAY = re.compile(r"(?i)\b(?<!next )((?:mon|tues|wednes|thurs|fri|satur|sun)day)\b")
_THEIR_TIME = re.compile(r"(?i)\b(?:their|his|her|its) (?:own )?time\b|\btime over there\b")
_NAMED_ZONE = re.compile(r"(?i)\btime\b")
_BESIDE = re.compile(
    r"(?i)\b(?:before|after|prior to|ahead of|from)\s+"
    r"((?:that|it|this|the|my|our|his|her|their|we|i)\b[^.,;!?]*)"
)


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
    turned: bool = True
    """It is said whether earlier or later, where that has to be."""

    @property
    def whole(self) -> bool:
        return self.at is not None


def find(text: str) -> list[Span]:
    return [Span(one.start, one.end, one.words, one.describes) for one in reading.find(text)]


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
        day=bool(days) and "day" not in found.missing and not (found.at is None and vague(words)),
        hour=_hour(found),
        anchor="anchor" in found.missing,
        turned="direction" not in found.missing and not (base is not None and _bare(words)),
    )


def leans(words: str) -> bool:
    """Whether it counts from something that is named elsewhere: "the day after", "an hour later",
    "that evening"."""
    return any("relative" in one.says for one in reading.find(words))


def says_hour(words: str) -> bool:
    return any({"hour", "part"} & one.says for one in reading.find(words))


def exactly(at: datetime, zone: str) -> str:
    """A moment in words that nothing has to be added to."""
    local = at.astimezone(ZoneInfo(zone))
    return f"{local.day} {local:%B %Y} at {local:%H:%M}"


def vague(words: str) -> bool:
    """A week, a month or a season, and no day of it."""
    return bool(_LOOSE.search(words)) and not _NAMED_DAY.search(words)


def _bare(words: str) -> bool:
    """ "An hour", and not in which direction."""
    return bool(_AMOUNT.search(words)) and not _DIRECTED.search(words) and not repeats(words)


def lasts(words: str) -> bool:
    """How long, and not when: "eight hours", which is not "in eight hours"."""
    first = _FIRST.match(words.strip())
    units = [unit for unit in _UNIT.findall(words) if unit]
    if first is None or len(units) != 1 or not _bare(words):
        return False
    return first["number"] is None or bool(numbers_in(first["number"]))


def turned(words: str, said: str) -> str:
    """With the direction that the rest of what was said gives it."""
    bare = _DIRECTED.sub("", words).strip(" ,.").removeprefix("by ")
    way = "earlier" if _EARLIER.search(said) else "later" if _LATER.search(said) else ""
    return _UNIT.sub(rf"\g<0> {way}", bare, count=1) if way else words


def the_next(words: str) -> str:
    """With "next" before the day of the week."""
    return _WEEKDAY.sub(r"next \1", words, count=1)


def elsewhere(words: str, said: str) -> str:
    """With the place whose clock is meant: "at three, that's their time", of a call with Munich;
    "at ten, but that's Tokyo time"."""
    bare = _THEIR_TIME.sub("", words).strip(" ,")
    if _NAMED_ZONE.search(bare):
        return words
    names = [name for name in PLACES if re.search(rf"(?i)\b{name}(?:'s)? time\b", said)]
    if not names and _THEIR_TIME.search(said):
        names = [name for name in PLACES if re.search(rf"(?i)\b{name}\b", said)]
    zones = {PLACES[name] for name in names}
    return f"{bare} {names[0].title()} time" if len(zones) == 1 else words


def _hour(found: Resolution) -> bool:
    return "hour" not in found.missing and bool(found.clock or found.at or "hour" in found.said)


def repeats(words: str) -> list[str]:
    return mentions.repeats_in(words)


def only(words: str) -> bool:
    """A time and nothing else."""
    return mentions.only_time(words)


def beside(text: str) -> str:
    """The words for what a time is relative to: "my train" of "an hour before my train"."""
    match = _BESIDE.search(text)
    return match.group(1) if match else ""


def covers(words: str, at: datetime, *, now: datetime, zone: str) -> bool:
    """Whether something at that time is "tomorrow", "at three", "on Friday morning"."""
    return fits(words, at, now=now.astimezone(ZoneInfo(zone)))


def sooner(thing: Thing) -> tuple[bool, float]:
    """To sort by: what has no time comes last."""
    return thing.at is None, thing.at.timestamp() if thing.at else 0.0
