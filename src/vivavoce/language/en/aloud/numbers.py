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
_TEN = tuple(f"10{ten}" for ten in range(1, 10))
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


def quantity(number: str) -> str:
    """A number as it is written, with commas between thousands and a decimal point."""
    whole, _, part = number.replace(",", "").partition(".")
    return cardinal(whole or "0") + (f" point {one_by_one(part)}" if part else "")


def label(digits: str) -> str:
    """A number that is a name: 404 as four oh four, 8080 as eighty eighty."""
    if len(digits) == 3 and digits[0] != "0":
        rest = digits[1:]
        if rest == "00":
            return f"{one_by_one(digits[0])} hundred"
        return f"{one_by_one(digits[0])} {minutes(rest)}"
    if len(digits) == 4 and digits[0] != "0":
        return f"ten {cardinal(digits[2:])}" if digits[:3] in _TEN else year(int(digits))
    return cardinal(digits) if len(digits) < 5 else one_by_one(digits)


def minutes(digits: str) -> str:
    """Two digits after others: 05 as oh five."""
    return f"oh {one_by_one(digits[1])}" if digits[0] == "0" else cardinal(digits)


def in_groups(digits: str) -> str:
    """A long string of digits as one dictates it, in threes, the last of up to four."""
    cuts = range(0, max(1, len(digits) - 1), 3)
    groups = [digits[i : i + 3] if i + 4 < len(digits) else digits[i:] for i in cuts]
    return ", ".join(one_by_one(group) for group in groups if group)


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
