"""How many words of a transcript are wrong, by the same fair reading of both sides. Pure.

Case, punctuation and hyphens do not count, nor does it whether a number is
written in digits or in words, nor a few spellings that sound the same.
"""

from __future__ import annotations

import re

_ONES = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
_TEENS = [
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
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_SAME = {
    "mr": "mister",
    "mrs": "missus",
    "dr": "doctor",
    "metres": "meters",
    "metre": "meter",
    "flavour": "flavor",
    "colour": "color",
    "ok": "okay",
}


def words(text: str) -> list[str]:
    """Lower case, numbers digit by digit: "37.6" and "thirty-seven point six" are the same."""
    text = re.sub(r"(?<=\d)\.(?=\d)", " point ", text.lower())
    text = re.sub(r"(?<=\d),(?=\d{3})", "", text).replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    found = [_SAME.get(word, word) for word in re.findall(r"\d|[^\W\d_]+(?:'[^\W\d_]+)*", text)]
    read: list[str] = []
    for at, word in enumerate(found):
        if word in _ONES:
            read.append(str(_ONES.index(word)))
        elif word in _TEENS:
            read += ["1", str(_TEENS.index(word))]
        elif word in _TENS:
            read.append(str(_TENS.index(word) + 2))
            if found[at + 1 : at + 2] and found[at + 1] in _ONES[1:]:
                continue  # the next word is its second digit
            read.append("0")
        else:
            read.append(word)
    return read


def errors(said: str, heard: str) -> tuple[int, int]:
    """Words left out, put in or changed, and how many were said."""
    wanted, got = words(said), words(heard)
    row = list(range(len(got) + 1))
    for i, word in enumerate(wanted, 1):
        last, row[0] = row[0], i
        for j, other in enumerate(got, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (word != other))
    return row[-1], len(wanted)
