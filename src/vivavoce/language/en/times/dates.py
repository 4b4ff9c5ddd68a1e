"""The days that pieces of a spoken time mean, and local clock times as instants.

The only module with a calendar: weekdays, months, holidays, seasons. What can be two days comes
back as both (`Either`), and it is for the caller to ask; a day is none before today unless the
words say so.
"""

from __future__ import annotations

from calendar import monthrange
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times import pieces as p
from vivavoce.wire.values import Value

_DAY = timedelta(days=1)
_MONTH_FIRST = ("America/", "US/", "Pacific/Honolulu", "Pacific/Guam")
_MOTHERING = ("Europe/London", "Europe/Dublin", "Europe/Belfast", "Europe/Jersey", "GB")


class Either(Value):
    """It can be any of these days."""

    days: tuple[date, ...]


class Calendar(Value):
    """Days as seen from `today`, in a place. `other` is the day of the thing spoken of."""

    today: date
    time_zone: str = "UTC"
    other: date | None = None

    def day(self, piece: p.Day) -> date | Either | None:
        match piece:
            case p.Relative(days):
                return self.today + days * _DAY
            case p.Weekday():
                return self._weekday(piece)
            case p.Date():
                return self._date(piece)
            case p.NthWeekday(nth, day, month, ahead):
                return self._nth(nth, day, month, ahead)
            case p.Feast(name):
                return self._feast(name)
            case p.Period():
                return self._period(piece)
            case p.Written(text):
                return self._written(text)

    def _weekday(self, piece: p.Weekday) -> date | Either | None:
        ahead = (piece.day - self.today.weekday()) % 7
        coming = self.today + ahead * _DAY
        match piece.which:
            case "last":
                return coming - 7 * _DAY
            case "after next":
                return self.today + (ahead or 7) * _DAY + 7 * _DAY
            case "after" | "before":
                return self.beside(piece, self.other or self.today)
            case "next" if not ahead:
                return self.today + 7 * _DAY
            case "next" if ahead < 7 - self.today.weekday():
                return Either((coming, coming + 7 * _DAY))
            case "":
                if piece.weeks:
                    return coming + 7 * piece.weeks * _DAY
                if not ahead:  # who means today says so
                    return self.today + 7 * _DAY
        return coming + 7 * piece.weeks * _DAY

    def beside(self, piece: p.Weekday, other: date) -> date:
        """ "the Saturday before Christmas"."""
        if piece.which == "before":
            return other - ((other.weekday() - piece.day - 1) % 7 + 1) * _DAY
        return other + ((piece.day - other.weekday() - 1) % 7 + 1) * _DAY

    def within(self, piece: p.Weekday, week: p.Period) -> date:
        """ "Friday of next week"."""
        monday = self.today - self.today.weekday() * _DAY
        return monday + (7 * week.ahead + piece.day) * _DAY

    def _date(self, piece: p.Date) -> date | None:
        if piece.year is not None:
            return _valid(piece.year, piece.month or 1, piece.day or 1)
        if piece.month is None:
            return self._day_of_month(piece.day or 1, piece.ahead, this=piece.this)
        if piece.day is None:
            if piece.month == self.today.month and not piece.ahead:
                return None  # it is running: which of its days is not said
            return date(self.today.year + (piece.month <= self.today.month), piece.month, 1)
        for year in range(self.today.year, self.today.year + 9):
            found = _valid(year, piece.month, piece.day)
            if found is not None and found >= self.today:
                return found
        return None

    def _day_of_month(self, number: int, ahead: int, *, this: bool) -> date | None:
        """The next one that there is: not every month has a 31st."""
        for months in (ahead,) if ahead or this else range(13):
            first = added(self.today.replace(day=1), months)
            found = _valid(first.year, first.month, number)
            if found is not None and (found >= self.today or this):
                return found
        return None

    def _nth(self, nth: int, day: int, month: int | None, ahead: int) -> date | None:
        if month is None:
            first = added(self.today.replace(day=1), ahead)
            return nth_weekday(first.year, first.month, nth, day)
        for year in (self.today.year, self.today.year + 1):
            found = nth_weekday(year, month, nth, day)
            if found is not None and found >= self.today:
                return found
        return None

    def _feast(self, name: str) -> date | None:
        for year in (self.today.year, self.today.year + 1):
            found = self.feast_in(name, year)
            if found is not None and found >= self.today:
                return found
        return None

    def feast_in(self, name: str, year: int) -> date | None:
        if name in lex.FEASTS:
            return date(year, *lex.FEASTS[name])
        if name in lex.FROM_EASTER:
            return easter(year) + lex.FROM_EASTER[name] * _DAY
        if name in lex.NTH_FEASTS:
            month, nth, day, after = lex.NTH_FEASTS[name]
            found = nth_weekday(year, month, nth, day)
            return found + after * _DAY if found else None
        if self.time_zone in _MOTHERING:
            return easter(year) - 21 * _DAY
        return nth_weekday(year, 5, 2, 6)

    def _period(self, piece: p.Period) -> date | Either | None:
        match piece.unit:
            case "week":
                return self._week(piece)
            case "weekend":
                coming = self.today + ((5 - self.today.weekday()) % 7) * _DAY
                days = {"end": 1, "after": 2}.get(piece.edge, 0)
                return coming + (7 * piece.ahead + days) * _DAY
            case "season":
                return self._season(piece)
            case "month":
                return self._month(piece)
        return self._year(piece)

    def in_their_year(self, days: Sequence[p.Day]) -> list[p.Day]:
        """ "The third of June of next year": one day, of that year."""
        years = [d for d in days if isinstance(d, p.Period) and d.unit == "year" and not d.edge]
        rest = [day for day in days if day not in years]
        if not years or not rest:
            return list(days)
        year = years[0].year or self.today.year + years[0].ahead
        found: list[p.Day] = []
        for day in rest:
            if isinstance(day, p.Feast) and (feast := self.feast_in(day.name, year)):
                found.append(p.Written(feast.isoformat()))
            elif isinstance(day, p.Date) or (
                isinstance(day, p.Period) and (day.month or day.season)
            ):
                found.append(replace(day, year=day.year or year))
            else:
                found.append(day)
        return found

    def end_of_this(self, piece: p.Period) -> date | None:
        """The last day of what is running."""
        return self._period(p.Period(piece.unit, edge="end")) if piece.which == "this" else None  # type: ignore[return-value]

    def _week(self, piece: p.Period) -> date | None:
        sunday = self.today + (6 - self.today.weekday() + 7 * piece.ahead) * _DAY
        match piece.edge:
            case "end":
                return sunday
            case "" if piece.ahead:
                return self.today + 7 * piece.ahead * _DAY
        return None  # which day of it is not said

    def _month(self, piece: p.Period) -> date | None:
        if piece.month is not None:
            year = piece.year or self.today.year + (piece.month < self.today.month)
            first = _valid(year, piece.month, 1)
            if first is None:
                return None
            if piece.edge == "start" and first <= self.today:
                first = added(first, 12)
        elif not piece.edge:
            return added(self.today, piece.ahead) if piece.ahead else None
        else:
            first = added(self.today.replace(day=1), piece.ahead)
        match piece.edge:
            case "end":
                return _last(first)
            case "middle":
                return first.replace(day=15)
        return first if first > self.today else None

    def _year(self, piece: p.Period) -> date | None:
        year = piece.year or self.today.year + piece.ahead
        match piece.edge:
            case "end":
                return _valid(year, 12, 31)
            case "middle":
                return _valid(year, 7, 1)
            case "start":
                return _valid(year, 1, 1)
        return added(self.today, 12 * piece.ahead) if piece.ahead else None

    def _season(self, piece: p.Period) -> date:
        month, day = lex.SEASONS[piece.season]
        year = piece.year or self.today.year
        begins = date(min(max(year, 1), 9998), month, day)
        if piece.year is None and begins <= self.today:
            begins = date(self.today.year + 1, month, day)
        return begins + {"middle": 45, "end": 90}.get(piece.edge, 0) * _DAY

    def _written(self, text: str) -> date | None:
        try:
            if "-" in text:
                return date.fromisoformat(text[:10])
            parts = [int(number) for number in text.split("/")]
            us = self.time_zone.startswith(_MONTH_FIRST)
            month, day = (parts[0], parts[1]) if us else (parts[1], parts[0])
            if month > 12:
                month, day = day, month
            if len(parts) == 3:
                return _valid(parts[2] + (2000 if parts[2] < 100 else 0), month, day)
        except ValueError:
            return None
        return self._date(p.Date(day, month)) if 1 <= month <= 12 else None


def _valid(year: int, month: int, day: int) -> date | None:
    """-1 is the last day of the month."""
    if not (1 <= year <= 9998 and 1 <= month <= 12):
        return None
    last = monthrange(year, month)[1]
    return date(year, month, last if day == -1 else day) if -1 <= day <= last and day else None


def _last(on: date) -> date:
    return on.replace(day=monthrange(on.year, on.month)[1])


def added(on: date, months: int, days: int = 0) -> date:
    """So many months later; the last of the month where there is no such day. Raises
    `OverflowError` at the edges of the calendar."""
    year, month = divmod(on.year * 12 + on.month - 1 + months, 12)
    if not 1 <= year <= 9998:
        raise OverflowError("no such year")
    last = monthrange(year, month + 1)[1]
    return date(year, month + 1, min(on.day, last)) + days * _DAY


def nth_weekday(year: int, month: int, nth: int, day: int) -> date | None:
    """The nth of its Mondays, or the last."""
    if nth < 0:
        last = _last(date(year, month, 1))
        return last - ((last.weekday() - day) % 7) * _DAY
    first = date(year, month, 1)
    found = first + ((day - first.weekday()) % 7 + 7 * (nth - 1)) * _DAY
    return found if found.month == month else None


def easter(year: int) -> date:
    """Easter Sunday by the Gregorian computus (Meeus, Jones and Butcher)."""
    a, b, c = year % 19, year // 100, year % 100
    d, e = divmod(b, 4)
    g = (8 * b + 13) // 25
    h = (19 * a + b - d - g + 15) % 30
    i, k = divmod(c, 4)
    m = (32 + 2 * e + 2 * i - h - k) % 7
    n = (a + 11 * h + 22 * m) // 451
    month, day = divmod(h + m - 7 * n + 114, 31)
    return date(year, month, day + 1)


def instant(on: date, at: time, time_zone: str) -> datetime:
    """The instant of a local clock time. One that the clocks jump over is as much later as they
    jump (2:30 is 3:30); of one that comes twice it is the first."""
    local = datetime.combine(on, at, ZoneInfo(time_zone))
    return local.astimezone(UTC)


def shifted(at: datetime, amount: p.Amount, sign: int) -> datetime:
    """An aware moment so much later or earlier: days and months by the clock of its place, hours
    and minutes as they pass."""
    if amount.days or amount.months:
        on = added(at.date(), sign * amount.months, sign * amount.days)
        at = datetime.combine(on, at.timetz()).astimezone(UTC).astimezone(at.tzinfo)
    if not amount.minutes:
        return at
    return (at.astimezone(UTC) + timedelta(minutes=sign * amount.minutes)).astimezone(at.tzinfo)
