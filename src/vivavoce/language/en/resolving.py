"""When spoken words mean, where the user lives: a moment, a rule, or what is missing. Pure.

Nothing is guessed that would not be told. What was said and what was taken for granted is part of
the answer, so that a reply can tell it; what is missing or can be two things has a name, so that
one can ask for it. Nothing is in the past.

A bare hour is one of two. Which, in this order: the part of the day that was said; the half of the
day of the hour it corrects; that of what it is for (`about`: one is woken in the morning); the
evening, if what it is about is in the evening; else the one in
which people are awake (from 7, or when the profile says that they get up, to 22), which makes 1 to
6 the afternoon and 12 noon. Of 7 to 10, which may be both, it is the morning of a day that was
named and of what repeats, and the next to come of today. It is always told (`assumed`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

from vivavoce.language.en.recurrence.reading import Often, often
from vivavoce.language.en.recurrence.rules import at_clock, next_occurrence
from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times import pieces as p
from vivavoce.language.en.times.dates import Calendar, Either, shifted
from vivavoce.language.en.times.reading import Mention
from vivavoce.language.en.times.said import Said, said
from vivavoce.wire.records.plans import Person
from vivavoce.wire.values import Record

Missing = Literal["day", "hour", "days", "place", "anchor", "direction"]
"""Of which a person could be asked: what day, what time, on which days it repeats, where the clock
is that was meant, what it is relative to, whether earlier or later."""
Trouble = Literal["unclear", "past", "far", "conflict", "either"]
"""Why there is no moment: the words say none that is known; it is over; nobody plans so far; the
weekday and the date differ; it can be several days (`choices`)."""
_FARTHEST = timedelta(days=366 * 50)
_DAY = timedelta(days=1)
_EVENING = 16
_EARLY = 5
"""Before it, an hour at night is after midnight."""


class Profile(Record):
    """What is known of somebody's day; the defaults are custom."""

    wake: time | None = None
    sleep: time | None = None
    work_start: time | None = None
    work_end: time | None = None

    @classmethod
    def of(cls, person: Person | None) -> Profile:
        """What their record says; hours that are none are not known."""
        if person is None:
            return cls()
        return cls(
            wake=_time(person.sleep_end),
            sleep=_time(person.sleep_start),
            work_start=_time(person.work_start),
            work_end=_time(person.work_end),
        )

    def hour(self, routine: str) -> time | None:
        """When that is: "before bed", "lunch"."""
        wake, sleep = self.wake or time(7), self.sleep or time(22, 30)
        starts, ends = self.work_start or time(9), self.work_end or time(17, 30)
        own = {
            "wake": wake,
            "first thing": _moved(wake, 60),
            "last thing": _moved(sleep, -30),
            "bed": _moved(sleep, -30),
            "before bed": _moved(sleep, -30),
            "after bed": sleep,
            "before work": _moved(starts, -30),
            "work": starts,
            "after work": ends,
            "end of work": ends,
        }
        return (
            own.get(routine)
            or lex.DAILY.get(routine)
            or lex.DAILY.get(routine.rsplit(maxsplit=1)[-1])
        )


def _time(hour: str | None) -> time | None:
    try:
        return time.fromisoformat(f"{hour or '':0>5}")
    except ValueError:
        return None


def _moved(at: time, minutes: int) -> time:
    return (datetime.combine(date(2000, 1, 2), at) + timedelta(minutes=minutes)).time()


class Resolution(Record):
    """What words mean: `at` is set where nothing is missing and nothing is wrong."""

    words: str
    at: datetime | None = None
    """By the user's clock."""
    rule: str | None = None
    """RFC 5545, where it repeats; `at` is its first time."""
    day: date | None = None
    clock: time | None = None
    """The local hour that is meant; `at` is later where the clocks jump over it."""
    part: str = ""
    """The part of the day that was said."""
    said: frozenset[str] = frozenset()
    """Any of: day, hour, half, part, repetition, relative, zone."""
    assumed: frozenset[str] = frozenset()
    """What was taken for granted: day (the next that comes), hour (of a part of the day, or of
    what it is about), half (of the day), zone (a city beside an hour)."""
    missing: tuple[Missing, ...] = ()
    trouble: Trouble | None = None
    choices: tuple[date, ...] = ()
    """The days it can be."""
    other: datetime | None = None
    """The other reading of an hour whose half of the day was taken for granted."""
    usual: datetime | None = None
    """With the usual hour, and a day of what was named, for what is missing."""


def resolve(
    words: str | Sequence[str | Mention],
    *,
    now: datetime,
    profile: Profile | None = None,
    anchor: datetime | None = None,
    same: datetime | None = None,
    recurring: bool = False,
    about: str = "",
) -> Resolution:
    """`words`: one text, or several (or mentions that were found in some) in the order they were
    said, of which the later correct and complete the earlier. `now` is aware and in the user's
    zone. `anchor` is the time of what the words are about (what is moved or corrected, or "that"):
    what they leave out is as it is there.
    `same`: the hour of "the same time", where it is another one. `recurring`: it is for many days,
    though these words do not say so. `about`: what it is for, in the user's words: one is woken
    in the morning, and dines in the evening."""
    texts: list[str | Mention] = [words] if isinstance(words, str) else list(words)
    whole = ", ".join(text if isinstance(text, str) else text.words for text in texts)
    if len(whole) > lex.MOST_CHARS:
        return _unclear(whole[: lex.MOST_CHARS])
    known = said(texts)
    if anchor is not None:
        anchor = anchor.astimezone(now.tzinfo)
    one = _Question(
        words=whole,
        known=known,
        now=now,
        profile=profile or Profile(),
        anchor=anchor,
        same=same.astimezone(now.tzinfo) if same else None,
        recurring=recurring or known.every is not None,
        half=_half_of(about),
    )
    try:
        return one.answer()
    except (OverflowError, ValueError):  # at the edges of the calendar
        return _unclear(whole)


class _Hours(Record):
    """The hours it can be, the likelier first."""

    times: tuple[time, ...] = ()
    assumed: frozenset[str] = frozenset()
    said: bool = False
    next_day: bool = False
    """One at night is after the day that was named, and midnight ends it."""
    usual: time | None = None


class _Question(Record):
    words: str
    known: Said
    now: datetime
    profile: Profile
    anchor: datetime | None
    same: datetime | None
    recurring: bool
    half: str
    """Which half of the day what it is for is in: am, pm, or not known."""

    # --- In order: spans, what is relative to something, repetitions, days with hours ---------

    def answer(self) -> Resolution:
        known = self.known
        if known.empty:
            return self._answer(trouble="unclear", missing=("day", "hour"))
        if known.zones and known.zones[0].name is None:
            return self._answer(missing=("place",))
        if known.past and not known.every:
            return self._answer(trouble="past")
        if known.unknown and not (known.days or known.hours or known.from_now):
            return self._answer(trouble="unclear", missing=("day", "hour"))
        said_when = known.names_day or known.hours or known.part or known.shift or known.every
        if known.now and not (said_when or known.same_time):  # "it's Friday now" is on Friday
            return self._answer(at=self.now, clock=self.now.time())
        ahead = self.anchor is not None and self.anchor > self.now
        if known.span is not None and known.shift is None and ahead:
            # How far something is moved is counted from where it is, if that is still to come.
            return replace(self, known=replace(known, span=None))._relative(p.Shift(known.span, 1))
        amount = known.from_now or (known.span if not known.shift else None)
        if amount is not None and amount.minutes and not known.every:
            return self._ahead(self._answer(at=shifted(self.now, amount, 1)))
        if known.shift is not None:
            return self._relative(known.shift)
        if known.every is not None:
            return self._repeated()
        if (written := self._written()) is not None:
            return written
        return self._on_a_day()

    def _written(self) -> Resolution | None:
        """A moment as models write it; one without an offset is local."""
        texts = [day.text for day in self.known.days if isinstance(day, p.Written)]
        if len(texts) != 1 or len(texts[0]) <= len("2026-12-01") or "-" not in texts[0]:
            return None
        at = datetime.fromisoformat(texts[0].upper())
        at = at.astimezone(self.now.tzinfo) if at.tzinfo else at.replace(tzinfo=self.now.tzinfo)
        return self._ahead(self._answer(at=at, day=at.date(), clock=at.time()))

    def _relative(self, shift: p.Shift) -> Resolution:
        rest = replace(self.known, shift=None)
        if not shift.sign:
            return self._answer(missing=("direction",))
        if shift.beside:
            return self._beside(shift, rest)
        base = self.anchor or (self.now if shift.sign > 0 else None)
        if base is None:
            return self._answer(missing=("anchor",))
        at = shifted(base, shift.amount, shift.sign)
        if shift.amount.minutes:
            return self._ahead(self._answer(at=at, clock=at.time()))
        if self.anchor is None and not (rest.hours or rest.part or rest.routine):
            return self._ahead(self._open_hour(at.date()))
        days = replace(rest, days=(), same_day=True, today=False)
        moved = replace(self, known=days, anchor=at, same=self.same or at)
        return moved._on_a_day()

    def _beside(self, shift: p.Shift, rest: Said) -> Resolution:
        """So long before or after a time that the words name."""
        if shift.amount.minutes:
            # The next dinner an hour before which is still to come; one of a named day is it.
            asked = self.now if rest.names_day else shifted(self.now, shift.amount, -shift.sign)
            other = replace(self, known=rest, now=asked)._on_a_day()
            if other.at is None:
                return replace(other, words=self.words)
            at = shifted(other.at, shift.amount, shift.sign)
            return self._ahead(replace(other, at=at, clock=at.time(), day=at.date(), other=None))
        named = self._day(rest)
        if not isinstance(named, date):
            if rest.hours and not rest.days and self.anchor is None:
                return self._answer(missing=("day",))
            return self._no_day(named)
        on = shifted(datetime.combine(named, time(12), UTC), shift.amount, shift.sign).date()
        moved = replace(rest, days=(p.Written(on.isoformat()),), today=False, same_day=False)
        return replace(self, known=moved)._on_a_day()

    def _repeated(self) -> Resolution:
        """The first time of a rule."""
        found = often(self.known, now=self.now)
        hours = self._hours(None)
        if found.rule is None or found.open == "days":
            return self._answer(missing=("days",), clock=_first(hours.times))
        start = self._start(found)
        if start is None:
            return self._answer(missing=("day",), rule=found.rule)
        missing: list[Missing] = []
        if found.open == "day" and not (self.anchor and not found.days_left):
            missing.append("day")
        clock = _first(hours.times) if len(self.known.hours) < 2 else None
        if clock is None or (self.known.part and not hours.said) or found.open == "hour":
            missing.append("hour")
        usual = clock or hours.usual or lex.PARTS["morning"]
        if self.anchor and not hours.said and not self.known.part and "hour" in missing:
            usual = self.anchor.time()
            missing.remove("hour")
        at, rule = self._first_time(found.rule, start, usual)
        if at is None:
            return self._answer(trouble="unclear", missing=("days",))
        base = self._answer(rule=rule, clock=usual, assumed=hours.assumed)
        if missing:
            clock = None if "hour" in missing else usual
            assumed = base.assumed - {"hour"} if "hour" in missing else base.assumed
            return replace(base, missing=tuple(missing), clock=clock, usual=at, assumed=assumed)
        return replace(base, at=at, day=at.date())

    def _start(self, found: Often) -> date | None:
        calendar = self._calendar()
        day = self.known.start or (found.days_left[0] if found.days_left else None)
        if day is None:
            if self.known.from_now and not self.known.from_now.minutes:
                return shifted(self.now, self.known.from_now, 1).date()
            return self.now.date()
        if isinstance(day, p.Period) and day.unit == "week" and day.ahead:
            return calendar.within(p.Weekday(0), day)
        if isinstance(day, p.Weekday) and day.which == "next":
            day = p.Weekday(day.day)
        named = calendar.day(day)
        return named.days[0] if isinstance(named, Either) else named

    def _first_time(
        self, rule: str, start: date, clock: time
    ) -> tuple[datetime | None, str | None]:
        begun = self._instant(start, clock)
        if begun <= self.now and start == self.now.date():
            begun = self._instant(start + _DAY, clock)  # every other day begins with the next
        first = next_occurrence(rule, begun, self.now, str(self.now.tzinfo))
        if first is None:
            return None, rule
        local = first.astimezone(self.now.tzinfo)
        if local.time() != clock and not self.known.zones:  # the clocks jump over it that day
            rule = at_clock(rule, clock)
        return local, rule

    # --- A day and an hour ---------------------------------------------------------------------

    def _on_a_day(self) -> Resolution:
        known = self.known
        named = self._day(known)
        if isinstance(named, Either) or (named is None and self._unclear_day()):
            return self._no_day(named)
        if len(known.hours) > 1:
            return self._answer(missing=("hour",), day=named)
        if named is None:
            return self._next()
        if known.same_time and not known.hours:
            kept = self.same or self.anchor
            if kept is None:
                return self._answer(missing=("hour",), day=named)
            return self._ahead(self._at(named, kept.time()))
        hours = self._hours(named)
        if not hours.times:
            return self._ahead(self._open_hour(named))
        if self._some_day:
            usual = self._instant(named, hours.times[0])
            clock = hours.times[0] if hours.said else None
            return self._answer(missing=("day",), day=named, clock=clock, usual=usual)
        on = named + _DAY if hours.next_day else named
        found = [self._at(on, clock, hours) for clock in hours.times]
        coming = [one for one in found if one.at and one.at > self.now]
        if not coming:
            return self._ahead(found[-1])
        return self._with_other(coming[0], on, hours)

    def _day(self, known: Said) -> date | Either | None:
        """The day that is named; None where none is, or none that is known."""
        calendar = self._calendar()
        amount = known.from_now or known.span
        if amount is not None and amount.whole_days:
            then = shifted(datetime.combine(calendar.today, time(12), UTC), amount, 1).date()
            named = [day.day for day in known.days if isinstance(day, p.Weekday) and not day.which]
            weeks_on = amount.days and not amount.days % 7 and not amount.months
            # "Monday in two weeks" is the Monday of that week.
            return then + _DAY * (named[0] - then.weekday()) if weeks_on and named else then
        if known.same_day and not known.days and self.anchor is not None:
            return self.anchor.date()
        weekdays = [day for day in known.days if isinstance(day, p.Weekday)]
        others: list[p.Day] = [d for d in known.days if not isinstance(d, p.Weekday)]
        if known.until is not None and not known.days:
            others = [known.until]
        if known.start is not None and not known.days:
            others = [known.start]
        weeks = [day for day in others if isinstance(day, p.Period) and day.unit == "week"]
        if weekdays and weeks:
            return calendar.within(weekdays[0], weeks[0])
        if weeks and self.anchor is not None and weeks[0].ahead and not weeks[0].edge:
            return calendar.within(p.Weekday(self.anchor.weekday()), weeks[0])
        dates = {calendar.day(day) for day in calendar.in_their_year(others)}
        if known.today:
            dates.add(calendar.today)
        if len(dates) > 1:
            return Either(tuple(sorted(d for d in dates if isinstance(d, date))))
        if dates:
            found = next(iter(dates))
            if weekdays and weekdays[0].which in ("before", "after") and isinstance(found, date):
                return calendar.beside(weekdays[0], found)
            clash = isinstance(found, date) and any(found.weekday() != day.day for day in weekdays)
            return Either((found,)) if clash and isinstance(found, date) else found
        if not weekdays:
            return None
        meant = {calendar.day(day) for day in weekdays}
        if len(meant) == 1:
            return next(iter(meant))
        each = [day.days if isinstance(day, Either) else (day,) for day in meant if day]
        return Either(tuple(sorted({day for days in each for day in days})))

    @property
    def _some_day(self) -> bool:
        """ "Next week", and no day of it."""
        days = self.known.days
        return (
            self.anchor is None
            and any(
                isinstance(day, p.Period) and day.unit in ("week", "month", "year") and not day.edge
                for day in days
            )
            and len(days) == 1
        )

    def _unclear_day(self) -> bool:
        """Was a day named that nobody knows?"""
        return bool(self.known.days)

    def _no_day(self, named: date | Either | None) -> Resolution:
        if not isinstance(named, Either):
            return self._answer(
                missing=("day",), clock=_first(self._hours(None).times), usual=self._end_of_this()
            )
        clash = len(named.days) == 1
        trouble: Trouble = "conflict" if clash else "either"
        clock = _first(self._hours(named.days[0]).times)
        return self._answer(missing=("day",), trouble=trouble, choices=named.days, clock=clock)

    def _end_of_this(self) -> datetime | None:
        """ "this year": at the latest on its last day."""
        for day in self.known.days:
            if isinstance(day, p.Period) and (last := self._calendar().end_of_this(day)):
                usual = self._instant(last, lex.PARTS["morning"])
                return usual if usual > self.now else None
        return None

    def _next(self) -> Resolution:
        """No day: that of what it is about, or the next that comes."""
        known = self.known
        if known.same_time and not known.hours:
            if self.same is not None and self.anchor is not None:  # another day was said before
                return self._ahead(self._at(self.anchor.date(), self.same.time()))
            return self._answer(missing=("day",) if self.anchor else ("hour",))
        today = self.now.date()
        if self.anchor is not None and self.anchor.date() >= today:
            on = self.anchor.date()
            hours = self._hours(on)
            tried = [self._at(on + hours.next_day * _DAY, at, hours) for at in hours.times]
            coming = [one for one in tried if one.at and one.at > self.now]
            if coming:
                assumed = coming[0].assumed | ({"day"} if on != today else frozenset())
                found = replace(coming[0], assumed=assumed)
                return self._with_other(found, on + hours.next_day * _DAY, hours)
        hours = self._hours(today)
        if not hours.times:
            return self._answer(missing=("day", "hour"))
        for days in (0, 1, 2):
            on = today + (days + hours.next_day) * _DAY
            if days and self._bare:  # which half it is no longer depends on the hour it is now
                hours = replace(hours, times=self._hours(None).times)
            for clock in hours.times:
                one = self._at(on, clock, hours)
                if one.at is not None and one.at > self.now:
                    one = replace(one, assumed=one.assumed | {"day"})
                    return self._with_other(one, on, hours)
        return self._answer(trouble="unclear", missing=("day", "hour"))

    # --- The hour --------------------------------------------------------------------------

    @property
    def _bare(self) -> bool:
        """An hour of which nothing says which half of the day it is in."""
        hours = self.known.hours
        return bool(hours) and not hours[0].certain and not self.known.part

    def _hours(self, on: date | None) -> _Hours:
        """The hours it can be, on that day."""
        known = self.known
        if known.hours:
            return self._of_hour(known.hours[0], on)
        if known.half:
            if self.anchor is None:
                return _Hours()
            kept = self.anchor.hour % 12 + (12 if known.half == "pm" else 0)
            return _Hours(times=(time(kept, self.anchor.minute),), said=True)
        if known.this_time:
            return _Hours(times=(self.now.time(),), said=True)
        if known.routine and (at := self.profile.hour(known.routine)):
            late = known.routine in ("before bed", "bed", "last thing") and at.hour < 5
            return _Hours(times=(at,), assumed=frozenset({"hour"}), said=True, next_day=late)
        if known.part and self._part in lex.PARTS:
            at = lex.PARTS[self._part]
            return _Hours(times=(at,), assumed=frozenset({"hour"}), usual=at)
        if self.anchor is not None and on is not None and not (known.every or known.later):
            return _Hours(times=(self.anchor.time(),), assumed=frozenset({"hour"}))
        return _Hours()

    @property
    def _part(self) -> str:
        named = f"{self.known.degree} {self.known.part}"
        return named if named in lex.PARTS else self.known.part

    def _of_hour(self, said_: p.Hour, on: date | None) -> _Hours:
        minute = said_.minute
        if said_.hour is None:
            if self.anchor is None and (self.known.names_day or self.known.part):
                return _Hours()  # of which hour is not said
            base = self.anchor or self.now
            minutes = base.hour * 60 + minute
            if self.anchor is None and minutes <= base.hour * 60 + base.minute:
                minutes += 60
            return _Hours(times=(time(minutes // 60 % 24, minutes % 60),), said=True)
        hour = said_.hour
        part = self.known.part
        if self.known.half and hour <= 12:
            hour = hour % 12 + (12 if self.known.half == "pm" else 0)
            return _Hours(times=(time(hour, minute),), said=True)
        if said_.certain or hour > 12:
            late = (said_.midnight or (part.endswith("night") and hour < _EARLY)) and on is not None
            return _Hours(times=(time(hour, minute),), said=True, next_day=late)
        if part:
            late = part.endswith("night") and (hour < _EARLY or hour == 12)
            late = late or (part.endswith("evening") and hour == 12)
            morning = part.endswith("morning") or late
            at = time(hour % 12 + (0 if morning else 12), minute)
            named = on is not None and late and self._after_midnight
            return _Hours(times=(at,), said=True, next_day=named)
        return self._either_half(hour, minute, on)

    @property
    def _after_midnight(self) -> bool:
        """Not in the small hours: then one at night is today's."""
        return self.known.names_day or self.now.hour >= _EARLY or self.anchor is not None

    def _either_half(self, hour: int, minute: int, on: date | None) -> _Hours:
        both = [time(hour % 12, minute), time(hour % 12 + 12, minute)]
        assumed = frozenset({"half"})
        if self.half and not self.anchor:
            return _Hours(times=(both[self.half == "pm"],), said=True, assumed=assumed)
        if self.known.half_before:
            return _Hours(times=(both[self.known.half_before == "pm"],), said=True)
        wake, sleep = self.profile.wake or time(7), self.profile.sleep or time(22)
        last = sleep if sleep > time(12) else time(23, 59)
        waking = [at for at in both if wake <= at < last] or both[1:]
        if self.anchor is not None:
            evening = self.anchor.hour >= _EVENING
            waking.sort(key=lambda at: (at.hour >= 12) is not evening)
        today = on == self.now.date() and not self.recurring
        if today and self.anchor is None and both[1] not in waking:
            waking.append(both[1])  # "at eleven", said in the evening
        return _Hours(times=tuple(waking if today else waking[:1]), assumed=assumed, said=True)

    # --- Answers ---------------------------------------------------------------------------

    def _calendar(self) -> Calendar:
        today = self.now.date()  # "tomorrow, their time" is the speaker's tomorrow
        other = self.anchor.date() if self.anchor else None
        return Calendar(today, str(self.now.tzinfo), other)

    @property
    def _zone(self) -> ZoneInfo | None:
        name = self.known.zones[0].name if self.known.zones else None
        return ZoneInfo(name) if name else None

    def _instant(self, on: date, at: time) -> datetime:
        local = datetime.combine(on, at, self._zone or self.now.tzinfo)
        return local.astimezone(UTC).astimezone(self.now.tzinfo)

    def _at(self, on: date, clock: time, hours: _Hours | None = None) -> Resolution:
        at = self._instant(on, clock)
        zoned = self._zone is not None
        assumed = hours.assumed if hours else frozenset()
        if zoned and not self.known.zones[0].sure:
            assumed |= {"zone"}
        return self._answer(
            at=at,
            day=at.date() if zoned else on,
            clock=at.time() if zoned else clock,
            assumed=assumed,
        )

    def _with_other(self, found: Resolution, on: date, hours: _Hours) -> Resolution:
        if "half" not in hours.assumed or found.clock is None or self._zone is not None:
            return found
        other = time((found.clock.hour + 12) % 24, found.clock.minute)
        at = self._instant(on, other)
        if at <= self.now:
            at = shifted(at, p.Amount(days=1), 1)
        return replace(found, other=at)

    def _open_hour(self, on: date) -> Resolution:
        """A day whose hour is not said."""
        usual = self._instant(on, lex.PARTS["morning"])
        missing: tuple[Missing, ...] = ("day", "hour") if self._some_day else ("hour",)
        if on < self.now.date():
            return self._answer(trouble="past", day=on)
        return self._answer(missing=missing, day=on, usual=usual if usual > self.now else None)

    def _ahead(self, found: Resolution) -> Resolution:
        """It, unless it is past or beyond what anybody plans."""
        at = found.at or found.usual
        if at is None or self.now <= at <= self.now + _FARTHEST:
            return found
        trouble: Trouble = "past" if at < self.now else "far"
        return replace(found, at=None, usual=None, trouble=trouble, other=None)

    def _answer(
        self,
        *,
        at: datetime | None = None,
        rule: str | None = None,
        day: date | None = None,
        clock: time | None = None,
        assumed: frozenset[str] = frozenset(),
        missing: tuple[Missing, ...] = (),
        trouble: Trouble | None = None,
        choices: tuple[date, ...] = (),
        usual: datetime | None = None,
    ) -> Resolution:
        return Resolution(
            words=self.words,
            at=at,
            rule=rule,
            day=day or (at.date() if at else None),
            clock=clock,
            part=self.known.part,
            said=_parts_said(self.known),
            assumed=assumed,
            missing=missing,
            trouble=trouble,
            choices=choices,
            usual=usual,
        )


def _parts_said(known: Said) -> frozenset[str]:
    amounts = [known.from_now, known.span, known.shift.amount if known.shift else None]
    spans = [amount for amount in amounts if amount is not None]
    found = {
        "day": known.names_day or any(a.days or a.months for a in spans),
        "hour": bool(known.hours or known.routine) or any(a.minutes for a in spans),
        "half": any(hour.certain for hour in known.hours)
        or bool(known.half or (known.hours and known.part)),
        "part": bool(known.part),
        "repetition": known.every is not None,
        "relative": bool(known.shift or known.same_time or known.same_day),
        "zone": bool(known.zones),
    }
    return frozenset(name for name, there in found.items() if there)


def _half_of(about: str) -> str:
    words = frozenset(about.lower().replace("'", " ").split())
    if words & lex.MORNING_DEEDS:
        return "am"
    return "pm" if words & lex.EVENING_DEEDS else ""


def _first(times: Sequence[time]) -> time | None:
    return times[0] if times else None


def _unclear(words: str) -> Resolution:
    return Resolution(words=words, trouble="unclear", missing=("day", "hour"))
