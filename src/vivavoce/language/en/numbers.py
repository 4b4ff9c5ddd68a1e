"""Numbers as people say them and as ears write them down: "12", "twenty-one", "3.5".

English, below a million. Not a parser of sentences.
"""

from __future__ import annotations

import re

_UNITS = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *("ten", "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen"),
    *("eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORTH = {word: n for n, word in enumerate(_UNITS)} | {
    word: 10 * n for n, word in enumerate(_TENS, start=2)
}
_DIGITS = re.compile(r"\d{1,12}(\.\d{1,6})?")
_OPERATORS = {
    "plus": "+",
    "and": "+",
    "minus": "-",
    "less": "-",
    "times": "*",
    "multiplied by": "*",
    "x": "*",
    "×": "*",
    "divided by": "/",
    "over": "/",
    "÷": "/",
}


def spoken_number(words: str) -> int | float:
    """Raises `ValueError` for what is no number."""
    said = words.strip().lower().replace(",", "")
    if _DIGITS.fullmatch(said):
        return float(said) if "." in said else int(said)
    pieces = [word for word in re.split(r"[\s-]+", said) if word != "and"]
    whole = part = 0
    if not pieces or not all(pieces):
        raise ValueError("no number")
    for word in pieces:
        if word in _WORTH:
            part += _WORTH[word]
        elif word in ("a", "an") and len(pieces) > 1:
            part += 1
        elif word == "hundred":
            part = max(1, part) * 100
        elif word == "thousand":
            whole, part = whole + max(1, part) * 1000, 0
        else:
            raise ValueError(f"'{word[:40]}' is no number")
    return whole + part


def operator(words: str) -> str:
    """`times` is `*`. Raises `ValueError` for what is no operation."""
    said = " ".join(words.lower().split())
    if said in ("+", "-", "*", "/"):
        return said
    if said not in _OPERATORS:
        raise ValueError(f"'{said[:40]}' is no operation")
    return _OPERATORS[said]


def counting(words: str) -> str:
    """From one to that number, at most to a hundred: "1, 2, 3"."""
    last = spoken_number(words)
    if not 1 <= last <= 100:
        raise ValueError("too far to count")
    return ", ".join(str(n) for n in range(1, int(last) + 1))
