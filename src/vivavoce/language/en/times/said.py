"""What the pieces say together: one time, put together from several places and several turns.

Later words hold instead of earlier ones of the same kind ("at eight, no, nine"; "Thursday", and in
the next turn "at half six"), and leave the rest as it was. Two that differ without a change of mind
are both kept: it is for the caller to ask.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from vivavoce.language.en.times import pieces as p
from vivavoce.language.en.times.grammar.found import Found
from vivavoce.language.en.times.reading import Mention, read
from vivavoce.wire.values import Record


class Said(Record):
    days: tuple[p.Day, ...] = ()
    hours: tuple[p.Hour, ...] = ()
    half_before: str = ""
    """The half of the day of an hour that this one holds instead of: "8 pm, no, nine"."""
    half: str = ""
    """The half of the day, said apart from the hour."""
    part: str = ""
    today: bool = False
    """The part is this day's."""
    degree: str = ""
    routine: str = ""
    from_now: p.Amount | None = None
    span: p.Amount | None = None
    shift: p.Shift | None = None
    every: p.Every | None = None
    without: tuple[int, ...] = ()
    until: p.Day | None = None
    start: p.Day | None = None
    lasts: p.Amount | None = None
    times: int | None = None
    zones: tuple[p.Zone, ...] = ()
    same_time: bool = False
    same_day: bool = False
    this_time: bool = False
    """At the time that it is now."""
    now: bool = False
    past: bool = False
    unknown: str = ""
    later: bool = False
    """ "later today": not at the hour that it has."""

    @property
    def names_day(self) -> bool:
        return bool(self.days or self.today or self.same_day)

    @property
    def empty(self) -> bool:
        return self == Said(
            half_before=self.half_before, degree=self.degree, zones=self.zones, later=self.later
        )


def said(texts: Sequence[str | Mention]) -> Said:
    """What these texts and mentions say, one after the other."""
    whole = Said()
    for text in texts:
        found = read(text).found if isinstance(text, str) else text.found
        for segment in _segments(found):
            whole = _over(whole, _one(segment))
    return whole


def _segments(found: Iterable[Found]) -> list[list[p.Piece]]:
    """The pieces, parted where somebody changed their mind, without what they said no to."""
    segments: list[list[p.Piece]] = [[]]
    negated = False
    every = list(found)
    for n, one in enumerate(every):
        match one.piece:
            case p.Correction():
                segments.append([])
                negated = False
            case p.Negation():
                others = [o.piece for o in every[n + 2 :]]
                others += [piece for segment in segments for piece in segment]
                if n + 1 < len(every):
                    kind, said_too = _kind(every[n + 1].piece), set(map(_kind, others))
                    # "Not in the morning, at two": the hour is of another part.
                    negated = kind in said_too or (kind is p.Part and p.Hour in said_too)
            case piece:
                if not negated:
                    segments[-1].append(piece)
                negated = False
    return [segment for segment in segments if segment]


def _kind(piece: p.Piece) -> object:
    return "day" if isinstance(piece, p.Day) else type(piece)


def _one(pieces: Iterable[p.Piece]) -> Said:
    known = Said()
    directed: p.Direction | None = None
    for piece in pieces:
        match piece:
            case p.Hour():
                known = replace(known, hours=_more_hours(known.hours, piece))
            case p.Range(first, last, starts):
                hours = (first,) if starts else (first, last)
                known = replace(known, hours=(*known.hours, *hours))
            case p.Half(name):
                known = replace(known, half=name)
            case p.Part(name, today):
                known = replace(known, part=name, today=known.today or today)
            case p.Degree(name):
                known = replace(known, degree=name)
            case p.Routine(name):
                known = replace(known, routine=name)
            case p.Span(amount):
                known = replace(known, span=amount)
            case p.Direction():
                directed = piece if directed is None or not piece.trailing else directed
            case p.FromNow(amount):
                known = replace(known, from_now=amount)
            case p.Shift():
                known = replace(known, shift=piece, part=piece.part or known.part)
            case p.Every():
                known = replace(
                    known, every=_both(known.every, piece), part=piece.part or known.part
                )
            case p.Except(days):
                known = replace(known, without=(*known.without, *days))
            case p.Until(day):
                known = replace(known, until=day)
            case p.From(day):
                known = replace(known, start=day)
            case p.For(amount):
                known = replace(known, lasts=amount)
            case p.Times(count):
                known = replace(known, times=count)
            case p.Zone():
                known = replace(known, zones=(piece,))
            case p.Same(what):
                known = replace(
                    known,
                    same_time=known.same_time or what == "time",
                    same_day=known.same_day or what == "day",
                    this_time=known.this_time or what == "now",
                )
            case p.Now():
                known = replace(known, now=True)
            case p.Past():
                known = replace(known, past=True)
            case p.Unknown(name):
                known = replace(known, unknown=name)
            case p.Correction() | p.Negation():
                pass
            case p.Feast(name) if name.endswith("night"):
                known = replace(known, days=(*known.days, piece), part=known.part or "evening")
            case _:
                if piece not in known.days:
                    known = replace(known, days=(*known.days, piece))
    if known.span is not None and directed is not None:
        known = replace(known, span=None, shift=p.Shift(known.span, directed.sign))
    elif directed is not None and known.shift is not None:
        if not (known.shift.beside or directed.trailing):  # "forward by half an hour"
            known = replace(known, shift=replace(known.shift, sign=directed.sign))
    elif directed is not None:
        known = replace(known, later=True)
    return known


def _more_hours(hours: tuple[p.Hour, ...], piece: p.Hour) -> tuple[p.Hour, ...]:
    """The same hour said again is one, the surer of the two."""
    for n, other in enumerate(hours):
        if other == piece:
            return hours
        if other.hour is None or piece.hour is None or other.minute != piece.minute:
            continue
        if other.hour % 12 == piece.hour % 12 and not (other.certain and piece.certain):
            return (*hours[:n], piece if piece.certain else other, *hours[n + 1 :])
    return (*hours, piece)


def _both(one: p.Every | None, other: p.Every) -> p.Every:
    """ "on school days, Monday to Friday", "weekly on Thursdays", "fortnightly on Mondays"."""
    if one is None or one == other:
        return other
    if one.freq != other.freq:
        bare = not (other.days or other.month_days or other.open_days)
        if bare and other.freq == "WEEKLY" and other.interval == 1 and one.freq == "MONTHLY":
            return one
        if bare and other.freq in ("MONTHLY", "DAILY"):
            return one if one.days or one.month_days else other
        return other if not one.open_days else replace(other, open_days=False)
    if one.open_days or other.open_days:
        known = one if not one.open_days else other
        return replace(known, open_days=not known.days)
    days = tuple(sorted({*one.days, *other.days}))
    return replace(
        other if other.interval != 1 else one,
        days=days,
        nth=one.nth or other.nth,
        month_days=one.month_days or other.month_days,
        month=one.month or other.month,
    )


def _over(earlier: Said, later: Said) -> Said:
    """What `later` says holds; what it leaves out is as before."""
    if earlier == Said():
        return later
    known = earlier
    if later.days or later.today or later.same_day or later.from_now or later.shift or later.span:
        known = replace(
            known,
            days=later.days,
            today=later.today,
            same_day=later.same_day,
            from_now=later.from_now,
            span=later.span,
            shift=later.shift,
            past=False,
        )
    known = replace(known, past=later.past or (known.past and not later.names_day))
    if later.hours or later.routine or later.same_time or later.this_time:
        half = known.half_before
        if known.hours and known.hours[-1].certain and known.hours[-1].hour is not None:
            half = "am" if known.hours[-1].hour < 12 else "pm"
        known = replace(
            known,
            hours=later.hours,
            routine=later.routine,
            same_time=later.same_time,
            this_time=later.this_time,
            half_before=half,
        )
    if later.half or later.hours:
        known = replace(known, half=later.half)
    if later.part:
        hours = known.hours
        if not later.hours and hours:  # "at 8 pm, no, in the morning"
            hours = tuple(
                p.Hour((h.hour or 0) % 12 or 12, h.minute) if h.hour is not None else h
                for h in hours
            )
        known = replace(known, part=later.part, degree=later.degree, hours=hours)
    if later.every is not None:
        known = replace(known, every=later.every, without=later.without)
    return replace(
        known,
        until=later.until or known.until,
        start=later.start or known.start,
        lasts=later.lasts or known.lasts,
        times=later.times or known.times,
        zones=later.zones or known.zones,
        now=later.now or known.now,
        unknown=later.unknown or known.unknown,
        degree=later.degree or known.degree,
        later=later.later,
    )
