"""Words about time, as data, and spoken times as tokens of them. No calendar, no library.

The library behind `dates` reads written English. What people say and it does not know
("half an hour", "quarter to nine", "the fifteenth") is put into its words by these tables.
The hours that parts of the day stand for are here too.
"""

from __future__ import annotations

from datetime import time

from vivavoce.language.en.numbers import figures


def listed(words: str) -> list[str]:
    return words.split()


DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
SHORT_DAYS = {
    short: n
    for n, shorts in enumerate(
        ("mon", "tue tues", "wed weds", "thu thur thurs", "fri", "sat", "sun")
    )
    for short in shorts.split()
}
SHORT_MONTHS = {name[:3].lower(): n for n, name in enumerate(MONTH_NAMES, 1)} | {"sept": 9}
WEEKDAYS = {name.lower(): n for n, name in enumerate(DAY_NAMES)} | SHORT_DAYS
PLURAL_DAYS = {f"{name.lower()}s": n for n, name in enumerate(DAY_NAMES)}
MONTHS = {name.lower(): n for n, name in enumerate(MONTH_NAMES, 1)} | SHORT_MONTHS
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
DAY_PARTS = frozenset({"morning", "afternoon", "evening", "night"})
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
    "christmas day": "december 25",
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

MOST_CHARS = 160

_PHRASES = sorted(
    ((tuple(k.split()), v.split()) for k, v in (SPOKEN | HOLIDAYS).items()),
    key=lambda pair: -len(pair[0]),
)


def tokens(words: str) -> list[str]:
    """Lower case, without punctuation; numbers as figures, ordinals as "15th"."""
    plain = words.casefold().replace("’", "'").replace(",", " , ").replace(";", " , ")
    found: list[str] = []
    for raw in plain.split():
        word = (raw.strip('.!?"()') or raw).removesuffix("ish").rstrip("-")
        if any(c.isdigit() for c in word):
            found += _split_meridiem(word)
        else:
            found += [w for w in word.replace("-", " ").split() if w]
    plainly = {"a.m": "am", "p.m": "pm"}
    return _counted(_phrases([plainly.get(w, w) for w in found if w != ","]))


def _split_meridiem(word: str) -> list[str]:
    bare = word.replace(".", "") if word.endswith(("a.m", "p.m")) else word
    if bare.endswith(("am", "pm")) and bare[:-2].replace(":", "").isdecimal():
        return [bare[:-2], bare[-2:]]
    if bare.endswith("h") and bare[:-1].isdecimal():
        return [f"{bare[:-1]}:00"]
    return [bare]


def _phrases(found: list[str]) -> list[str]:
    done: list[str] = []
    at = 0
    while at < len(found):
        for phrase, instead in _PHRASES:
            if tuple(found[at : at + len(phrase)]) == phrase:
                done += instead
                at += len(phrase)
                break
        else:
            done.append(found[at])
            at += 1
    return done


def _counted(found: list[str]) -> list[str]:
    """Figures; "an hour" is 1 hour, "seven oh five" 7 05, "2 and a half hours" 150 minutes."""
    done: list[str] = []
    for word in figures(found):
        if done and done[-1] in ("a", "an") and word in UNITS:
            done[-1] = "1"
        elif len(done) > 1 and done[-1] in ("oh", "o") and done[-2].isdecimal() and len(word) == 1:
            done[-1], word = f"0{word}", ""
        done += [word] if word else []
    return _halves(done)


def _halves(found: list[str]) -> list[str]:
    for at in range(len(found) - 4):
        number, unit = found[at], found[at + 4]
        if found[at + 1 : at + 4] == ["and", "a", "half"] and number.isdecimal():
            sixths = {"hour": ("30", "minutes", 60), "year": ("6", "months", 12)}.get(
                UNITS.get(unit, "")
            )
            if sixths:
                half, smaller, times = sixths
                whole = str(int(number[:4]) * times + int(half))
                return [*found[:at], whole, smaller, *found[at + 5 :]]
    return found
