"""Dates and clock times as one says them, American style. Pure."""

from __future__ import annotations

from vivavoce.language.en.aloud.numbers import cardinal, minutes, one_by_one, ordinal, year
from vivavoce.language.en.aloud.rules import Match, Rules, one_of, rules
from vivavoce.language.en.aloud.words import MONTHS, SHORT_DAYS, SHORT_MONTHS

_LONG = "|".join(MONTHS)
_MONTH = rf"(?:{_LONG}|(?:{one_of(SHORT_MONTHS)})\b\.?)"
_DAY = r"(?:3[01]|[12]\d|0?[1-9])(?:st|nd|rd|th)?(?![\d:%]|[.,]\d)\b"
_YEAR = r"(?:1[1-9]|20)\d\d(?![\d:%]|[.,]\d)\b"
_HALF = r"(?:[AaPp]\.[Mm]\b\.?|[AaPp][Mm]\b)"
_DASH = r"\s?[-–—]\s?"


def _month(name: str) -> str:
    name = name.rstrip(".")
    return SHORT_MONTHS.get(name, name)


def _day(number: str) -> str:
    return ordinal(str(int(number.rstrip("stndrh"))))


def _after(words: str, match: Match) -> str:
    """What follows a date goes on without a comma if it has a mark of its own."""
    follows = match.string[match.end() : match.end() + 1]
    return words + (" " if follows.isalnum() else "")


def _iso(match: Match) -> str:
    number, month, day = match.groups()
    if not (1 <= int(month) <= 12 and (day is None or 1 <= int(day) <= 31)):
        return " ".join(one_by_one(group) for group in match.groups() if group)
    if day is None:
        return _after(f"{MONTHS[int(month) - 1]} {year(int(number))}", match)
    return _after(f"{MONTHS[int(month) - 1]} {_day(day)}, {year(int(number))}", match)


def _slashed(match: Match) -> str:
    month, day, number = (int(group) for group in match.groups())
    if month > 12 >= day:  # not written by an American
        month, day = day, month
    if not (1 <= month <= 12 and 1 <= day <= 31):
        return " slash ".join(cardinal(group) for group in match.groups())
    return (
        f"{MONTHS[month - 1]} {ordinal(str(day))}, {year(number + (2000 if number < 100 else 0))}"
    )


def _month_first(match: Match) -> str:
    month, day, last, number = match.groups()
    said = f"{_month(month)} {_day(day)}" + (f" to {_day(last)}" if last else "")
    return f"{said}, {year(int(number))}" if number else said


def _day_first(match: Match) -> str:
    day, last, month, number = match.groups()
    days = _day(day) + (f" to {_day(last)}" if last else "")
    # "15 November" is November fifteenth here, but "the 15th of November" stays as it is.
    before = match.string[: match.start()].rstrip().lower()
    said = f"{days} of {_month(month)}" if before.endswith("the") else f"{_month(month)} {days}"
    return f"{said}, {year(int(number))}" if number else said


def _half(text: str, match: Match) -> str:
    """a.m. or p.m.; its last dot is the sentence's too, if that ends here."""
    ends = text.endswith(".") and not match.string[match.end() :].strip(" \n\"'”’)*_")
    return f" {text[0].upper()}-M" + ("." if ends else "")


def _time(match: Match) -> str:
    hour, minute, second, half = match.groups()
    said = cardinal(str(int(hour)))
    if second and second != "00":
        count = cardinal(str(int(second)))
        said += f" {minutes(minute)} and {count} second" + ("s" if int(second) != 1 else "")
    elif minute != "00":
        said += f" {minutes(minute)}"
    elif not half:
        said += " o'clock" if 1 <= int(hour) <= 12 else " hundred"
    return _after(said + (_half(half, match) if half else ""), match)


def _decade(match: Match) -> str:
    words = year(int(match[1])) if match[1] else cardinal(match[2])
    return words[:-1] + "ies" if words.endswith("y") else words + "s"


def _year(match: Match) -> str:
    """Four digits are a year after some words, and a quantity after others."""
    before = match.string[max(0, match.start() - 12) : match.start()]
    word = before.rstrip(", ").rpartition(" ")[2].lower()
    return year(int(match[0])) if word in _DATED else match[0]


_DATED = frozenset(month.lower() for month in MONTHS) | {
    *("in", "since", "until", "year", "by", "of", "from", "before", "after", "during"),
    *("q1", "q2", "q3", "q4", "spring", "summer", "fall", "autumn", "winter"),
}

DATES: Rules = rules(
    (
        rf"\b({one_of(SHORT_DAYS)})\b\.?(?=,? (?:{_MONTH} \d|\d\d?:\d\d|\d\d? (?:{_LONG})))",
        lambda m: SHORT_DAYS[m[1]],
    ),
    (r"(?<![\d.-])(\d{4})-(\d\d)(?:-(\d\d))?(?:T(?=\d)|(?![\d-]))", _iso),
    (r"(?<![\d/.])(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)(?![\d/])", _slashed),
    (rf"\b({_MONTH}) ({_DAY})(?:{_DASH}({_DAY}))?(?:,? ({_YEAR}))?", _month_first),
    (rf"\b({_DAY})(?:{_DASH}({_DAY}))?(?: of)? ({_MONTH})\b(?:,? ({_YEAR}))?", _day_first),
    (rf"\b({one_of(SHORT_MONTHS)})\b\.?(?=,? {_YEAR})", lambda m: _month(m[1])),
    (
        rf"(?<![\w.,$€£-])({_YEAR}){_DASH}({_YEAR})",
        lambda m: f"{year(int(m[1]))} to {year(int(m[2]))}",
    ),
    (rf"(?<![\w.,$€£-]){_YEAR}(?! (?:files|lines|items|people|users))", _year),
    (rf"\(({_YEAR})\)", lambda m: f"({year(int(m[1]))})"),
    (r"\b((?:1[1-9]|20)\d0)'?s\b|(?:(?<=')|(?<=\bthe ))([2-9]0)s\b", _decade),
)

TIMES: Rules = rules(
    # From one to another, before each becomes words.
    (rf"(?<=\d){_DASH}(?=\d\d?:\d\d)|(?<=[ap]m){_DASH}(?=\d)|(?<=\.m\.){_DASH}(?=\d)", " to "),
    (rf"\b(\d\d?){_DASH}(?=\d\d?\s?{_HALF})", lambda m: f"{cardinal(m[1])} to "),
    (
        r"(?<![\d:.,$])([01]?\d|2[0-3]):([0-5]\d)(?::([0-5]\d)(?:\.\d{1,9})?)?"
        rf"(?:Z\b|[+-]\d\d:\d\d|\s?({_HALF}))?(?![\d:]\d)",
        _time,
    ),
    (
        rf"(?<![\d.,$:])(\d{{1,2}})\s?({_HALF})",
        lambda m: _after(cardinal(m[1]) + _half(m[2], m), m),
    ),
)
