"""Numbers as English words. Pure."""

from __future__ import annotations

_SMALL = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen",
)  # fmt: skip
_TENS = (
    "_", "_", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety",
)  # fmt: skip
_GROUPS = (" thousand", " million", " billion", " trillion", " quadrillion", " quintillion")
_ORDINALS = {
    "one": "first",
    "two": "second",
    "three": "third",
    "five": "fifth",
    "eight": "eighth",
    "nine": "ninth",
    "twelve": "twelfth",
}
_LONGEST = 3 * (len(_GROUPS) + 1)


def cardinal(digits: str) -> str:
    """As a quantity, or digit by digit where it is none ("007") or too long for one."""
    if len(digits) > _LONGEST or (len(digits) > 1 and digits[0] == "0"):
        return one_by_one(digits)
    return _whole(int(digits))


def ordinal(digits: str) -> str:
    words = cardinal(digits)
    last = words.replace("-", " ").rsplit(" ", 1)[-1]
    regular = last[:-1] + "ieth" if last.endswith("y") else last + "th"
    return words.removesuffix(last) + _ORDINALS.get(last, regular)


def year(number: int) -> str:
    """1999 as nineteen ninety-nine, 2005 as two thousand five, 2026 as twenty twenty-six."""
    century, rest = divmod(number, 100)
    if not 11 <= century <= 99 or (century % 10 == 0 and rest < 10):
        return _whole(number)
    if rest == 0:
        return f"{_whole(century)} hundred"
    return f"{_whole(century)} {'oh ' if rest < 10 else ''}{_whole(rest)}"


def one_by_one(digits: str) -> str:
    return " ".join(_SMALL[int(digit)] for digit in digits)


def _whole(number: int) -> str:
    if number < 20:
        return _SMALL[number]
    if number < 100:
        ten, one = divmod(number, 10)
        return _TENS[ten] + (f"-{_SMALL[one]}" if one else "")
    if number < 1000:
        hundred, rest = divmod(number, 100)
        return f"{_SMALL[hundred]} hundred" + (f" {_whole(rest)}" if rest else "")
    group = (len(str(number)) - 1) // 3
    high, rest = divmod(number, 1000**group)
    return _whole(high) + _GROUPS[group - 1] + (f" {_whole(rest)}" if rest else "")
