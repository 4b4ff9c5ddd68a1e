"""Words about time, as data: numbers, days, months, parts of the day, and what people say instead.

The hours that parts of the day stand for are here too.
"""

from __future__ import annotations

from datetime import time

_ONES = [
    "one",
    "two",
    "three",
    "four",
    "five",
    "six",
    "seven",
    "eight",
    "nine",
    "ten",
    "eleven",
    "twelve",
    "thirteen",
    "fourteen",
    "fifteen",
    "sixteen",
    "seventeen",
    "eighteen",
    "nineteen",
]
TENS = {"twenty": 20, "thirty": 30, "forty": 40, "fifty": 50}
NUMBERS = {word: n for n, word in enumerate(_ONES, 1)} | TENS
_NTHS = [
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
    "thirteenth",
    "fourteenth",
    "fifteenth",
    "sixteenth",
    "seventeenth",
    "eighteenth",
    "nineteenth",
]
ORDINALS = {word: n for n, word in enumerate(_NTHS, 1)} | {"twentieth": 20, "thirtieth": 30}

_DAY_NAMES = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
WEEKDAYS = {name: n for n, name in enumerate(_DAY_NAMES)} | {
    short: n
    for n, shorts in enumerate(
        ("mon", "tue tues", "wed weds", "thu thur thurs", "fri", "sat", "sun")
    )
    for short in shorts.split()
}
PLURAL_DAYS = {f"{name}s": n for n, name in enumerate(_DAY_NAMES)}
_MONTH_NAMES = [
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
]
MONTHS = (
    {name: n for n, name in enumerate(_MONTH_NAMES, 1)}
    | {name[:3]: n for n, name in enumerate(_MONTH_NAMES, 1)}
    | {"sept": 9}
)
UNITS = {
    form: unit
    for unit, forms in {
        "minute": "minute minutes min mins",
        "hour": "hour hours hr hrs",
        "day": "day days",
        "week": "week weeks",
        "month": "month months",
        "year": "year years",
    }.items()
    for form in forms.split()
}

PARTS = {
    "morning": time(9),
    "afternoon": time(15),
    "evening": time(19),
    "night": time(20),
    "early morning": time(7),
    "late morning": time(11),
    "early afternoon": time(13),
    "late afternoon": time(17),
    "early evening": time(18),
    "late evening": time(21),
    "late night": time(22),
}
"""Parts of the day, and the hour each stands for where none is said."""
FIXED = {
    "noon": time(12),
    "midday": time(12),
    "lunchtime": time(12),
    "lunch": time(12),
    "midnight": time(0),
    "breakfast": time(8),
    "dinner": time(19),
    "dinnertime": time(19),
    "bedtime": time(22),
}
HOLIDAYS = {
    "christmas eve": "december 24",
    "christmas": "december 25",
    "new year's eve": "december 31",
    "new year's day": "january 1",
    "new year's": "january 1",
    "halloween": "october 31",
    "valentine's day": "february 14",
}
SPOKEN = {
    "the day after tomorrow": "in 2 days",
    "day after tomorrow": "in 2 days",
    "a couple of": "2",
    "a couple": "2",
    "a dozen": "12",
    "a fortnight": "2 weeks",
    "half an hour": "30 minutes",
    "half hour": "30 minutes",
    "a quarter of an hour": "15 minutes",
    "three quarters of an hour": "45 minutes",
    "an hour and a half": "90 minutes",
    "half a year": "6 months",
    "a year and a half": "18 months",
    "tonight": "today night",
    "tonite": "today night",
    "first thing in the morning": "early morning",
    "first thing": "early morning",
    "end of the day": "17:00",
    "end of day": "17:00",
    "at the same time": "same-time",
    "the same time": "same-time",
    "same time": "same-time",
    "the usual time": "same-time",
    "same hour": "same-time",
    "right now": "now",
    "right away": "now",
    "immediately": "now",
    "this weekend": "saturday",
    "on the weekend": "saturday",
    "over the weekend": "saturday",
    "the weekend": "saturday",
    "next weekend": "next saturday",
    "half past": "30 past",
    "a quarter past": "15 past",
    "quarter past": "15 past",
    "a quarter after": "15 past",
    "quarter after": "15 past",
    "a quarter to": "15 to",
    "quarter to": "15 to",
    "quarter till": "15 to",
    "a quarter of": "15 to",
    "o'clock": "oclock",
    "o clock": "oclock",
    "in the": "in-the",
    "at night": "night",
    "coming": "this",
    "upcoming": "this",
}
