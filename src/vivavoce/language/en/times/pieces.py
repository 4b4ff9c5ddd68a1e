"""The pieces that a spoken time is made of: what the words say, before anybody knows when.

A piece knows no calendar and no now. `grammar` makes them, `reading` puts those of one time
together, `dates` and `resolving` make a moment of them.
"""

from __future__ import annotations

from typing import Literal

from vivavoce.wire.values import Record, Value

Sign = Literal[-1, 0, 1]
Edge = Literal["", "start", "middle", "end", "after"]
Which = Literal["", "this", "next", "last", "after next", "after", "before"]
Unit = Literal["week", "weekend", "month", "year", "season"]


class Hour(Value):
    """ "half past seven". An hour that is not `certain` is one of two, twelve apart."""

    hour: int | None
    """None: only the minutes were said ("at quarter past")."""
    minute: int = 0
    certain: bool = False
    midnight: bool = False


class Range(Value):
    """From one hour to another. `starts`: it is then that it begins; else it may be any between."""

    first: Hour
    last: Hour
    starts: bool = False


class Half(Value):
    """ "am" or "pm", of an hour that was said before."""

    name: str


class Part(Value):
    """A part of the day; `today` where it is this day's ("tonight")."""

    name: str
    today: bool = False


class Degree(Value):
    """ "early" or "late", of a part of the day that is said apart from it."""

    name: str


class Routine(Value):
    """Something that has its hour every day: "before bed", "lunch"."""

    name: str


class Unknown(Value):
    """It says when, and nobody here knows: sunset, a birthday."""

    name: str


class Amount(Value):
    """How long, by the clock of a place: a day is the same hour, whatever the clocks do."""

    minutes: int = 0
    days: int = 0
    months: int = 0

    @property
    def whole_days(self) -> bool:
        return not self.minutes


class Span(Value):
    """A length of time, not yet said from when."""

    amount: Amount


class Direction(Value):
    """ "later", "back", "earlier"; 0 can be either ("forward")."""

    sign: Sign
    trailing: bool = False
    """It stands after its span, or says it all ("later"), rather than being a verb's."""


class FromNow(Value):
    """ "in two hours"."""

    amount: Amount


class Shift(Value):
    """So long before or after: the thing that is spoken of (`beside` false), or the time that the
    other words name ("an hour before dinner", "a week on Tuesday")."""

    amount: Amount
    sign: Sign
    beside: bool = False
    part: str = ""
    """Of that day: "the evening before"."""


class Past(Value):
    """ "two days ago", "last week"."""


class Now(Value):
    pass


class Same(Value):
    """The same time of day, or the same day; or the time that it is now ("this time tomorrow")."""

    what: Literal["time", "day", "now"]


class Relative(Value):
    """Days from today."""

    days: int


class Weekday(Value):
    day: int
    which: Which = ""
    """ "before" and "after" are of the other day that is named, or of the thing spoken of."""
    weeks: int = 0
    """So many weeks after it."""


class Date(Value):
    """A day of the calendar, as much of it as was said."""

    day: int | None = None
    month: int | None = None
    year: int | None = None
    ahead: int = 0
    """Months from this one, where that was said instead of a month ("of next month"); with a month
    it is the next such one."""
    this: bool = False


class NthWeekday(Value):
    """ "the first Monday of December"."""

    nth: int
    day: int
    month: int | None = None
    ahead: int = 0


class Feast(Value):
    name: str


class Written(Value):
    """As models and forms write it: ISO 8601, or figures with slashes."""

    text: str


class Period(Value):
    """A week, a month, a season; `edge` is which end of it."""

    unit: Unit
    which: Which = ""
    edge: Edge = ""
    month: int | None = None
    year: int | None = None
    season: str = ""
    ahead: int = 0
    """How many after this one: "the week after next" is two."""


Day = Relative | Weekday | Date | NthWeekday | Feast | Written | Period


class Every(Record):
    """How often. `open_days`: so many times, and on which days is not said."""

    freq: str = ""
    interval: int = 1
    days: tuple[int, ...] = ()
    nth: tuple[int, ...] = ()
    month_days: tuple[int, ...] = ()
    position: int = 0
    """Which of all these days in a month: -1 is the last ("the last working day")."""
    month: int | None = None
    feast: str = ""
    open_days: bool = False
    open_hours: bool = False
    part: str = ""
    """Of its days, where one word says both: "nightly", "in the mornings"."""


class Except(Value):
    days: tuple[int, ...]


class Until(Value):
    """The last day of what repeats; without a repetition it is the day itself."""

    day: Day


class From(Value):
    """The first day of what repeats."""

    day: Day


class For(Value):
    """How long it goes on repeating."""

    amount: Amount


class Times(Value):
    count: int


class Zone(Value):
    """Where the hour is of. None: "their time", and nobody said where they are."""

    name: str | None
    sure: bool = True
    """Not a city beside an hour, which may be where it takes place."""


class Correction(Value):
    """What comes after it holds instead of what came before."""


class Negation(Value):
    """What comes after it does not hold."""


Piece = (
    Hour | Range | Half | Part | Degree | Routine | Unknown | Span | Direction | FromNow | Shift
    | Past | Now | Same | Relative | Weekday | Date | NthWeekday | Feast | Written | Period
    | Every | Except | Until | From | For | Times | Zone | Correction | Negation
)  # fmt: skip
