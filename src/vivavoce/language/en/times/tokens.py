"""Spoken English as tokens with their places in the text, and the small numbers among them.

Recognisers write "7:30 PM", "seven thirty p.m.", "730" and "quarter-past-seven" for the same
sound; here they become tokens that the grammar reads alike. Nothing is understood yet.
"""

from __future__ import annotations

import re
from functools import lru_cache

from vivavoce.language.en.numbers import CARDINALS, ORDINALS

_TOKEN = re.compile(
    r"(?P<iso>\d{4}-\d\d-\d\d(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:z|[+-]\d\d:?\d\d)?)?(?![\d-]))"
    r"|(?P<slashed>(?<![\d/])\d{1,2}/\d{1,2}(?:/\d{2,4})?(?![\d/]))"
    r"|(?P<clock>(?<![\d.:,])\d{1,2}[:.h]\d\d(?::\d\d)?(?![\d])(?!\.\d))"
    r"|(?P<ordinal>\d{1,3}(?:st|nd|rd|th)\b)"
    r"|(?P<figure>\d+(?:\.\d+)*(?:,\d{3})*)"
    r"|(?P<half>[ap]\.\s?m\b\.?|[ap]m\b)"
    r"|(?P<word>[^\W\d_]+(?:'[^\W\d_]+)*(?:(?<=s)'|(?<=in)')?)"
    r"|(?P<mark>\.\.\.|[^\w\s]|_)"
)
_TENS = {word: n for word, n in CARDINALS.items() if n >= 20}
_ONES = {word: n for word, n in CARDINALS.items() if 0 < n < 10}
_ISH = frozenset({*CARDINALS, "noon", "midday", "midnight", "lunchtime", "teatime"})
_WHOLE = {"o'clock": "oclock", "let's": "let's", "hallowe'en": "hallowe'en", "'til": "til"}
_SPELT = {
    "tonite": "tonight",
    "tomorow": "tomorrow",
    "tommorow": "tomorrow",
    "wensday": "wednesday",
}
_SPELT |= {"tmrw": "tomorrow", "thru": "through", "everyday": "daily", "arvo": "afternoon"}
_SPELT |= {"forenoon": "morning", "mornin": "morning", "evenin": "evening"}


class Tokens:
    """The words of a text, lower case, with where they begin and end. Beyond them is "" on both
    sides, so that the grammar may look around."""

    __slots__ = ("count", "ends", "kinds", "near", "starts", "words")

    def __init__(self, text: str) -> None:
        self.words: list[str] = []
        self.kinds: list[str] = []
        self.starts: list[int] = []
        self.ends: list[int] = []
        self.near: set[int] = set()
        """Those that say so of themselves: "sevenish"."""
        lower = text.lower().replace("’", "'")
        if len(lower) != len(text):  # some letters have a longer lower case
            lower = "".join(c.lower() if len(c.lower()) == 1 else c for c in text)
        for match in _TOKEN.finditer(lower):
            kind = match.lastgroup or ""
            word = match.group()
            if kind == "word":
                plain = _plain(word)
                if word.endswith("ish") and plain != word:
                    self.near.add(len(self.words))
                word = plain
            elif kind == "half":
                word = word[0] + "m"
            self.words.append(word)
            self.kinds.append(kind)
            self.starts.append(match.start())
            self.ends.append(match.end())
        self.count = len(self.words)

    def word(self, at: int) -> str:
        return self.words[at] if 0 <= at < self.count else ""

    def kind(self, at: int) -> str:
        return self.kinds[at] if 0 <= at < self.count else ""

    def are(self, at: int, *words: str) -> bool:
        """Do these words stand here? Hyphens between them do not count."""
        return self.after(at, *words) >= 0

    def after(self, at: int, *words: str) -> int:
        """The place after these words; -1 where they do not stand here."""
        for number, word in enumerate(words):
            if number:
                at = self.skip(at)
            if self.word(at) != word:
                return -1
            at += 1
        return at

    def skip(self, at: int) -> int:
        """Beyond a hyphen within a spoken word."""
        while self.word(at) == "-" and 0 < at < self.count - 1:
            at += 1
        return at

    def small(self, at: int) -> tuple[int, int] | None:
        """A number from 0 to 99 that begins here, and where it ends."""
        word, kind = self.word(at), self.kind(at)
        if kind == "figure":
            return (int(word), at + 1) if word.isdecimal() and len(word) <= 2 else None
        if kind != "word" or (value := CARDINALS.get(word)) is None:
            return None
        ahead = self.skip(at + 1)
        if word in _TENS and self.word(ahead) in _ONES:
            return value + _ONES[self.word(ahead)], ahead + 1
        return value, at + 1

    def count_of(self, at: int) -> tuple[float, int] | None:
        """How many: "two", "a", "1.5", "a couple of", "a hundred and twenty"."""
        word, kind = self.word(at), self.kind(at)
        if kind in ("figure", "clock") and word.replace(".", "", 1).isdecimal() and len(word) <= 6:
            return float(word), at + 1
        if word in ("a", "an", "another", "one"):
            ahead = at + 1
            if self.word(ahead) == "couple":
                return 2, ahead + 1 + (self.word(ahead + 1) == "of")
            if self.word(ahead) == "hundred":
                return self._hundreds(ahead + 1, 100)
            if self.word(ahead) == "dozen":
                return 12, ahead + 1
            return 1, ahead
        small = self.small(at)
        if small is None:
            return None
        if self.word(small[1]) == "hundred" and small[0] < 10:
            return self._hundreds(small[1] + 1, 100 * small[0])
        return small

    def _hundreds(self, at: int, value: int) -> tuple[float, int]:
        more = self.small(at + (self.word(at) == "and"))
        return (value + more[0], more[1]) if more else (value, at)

    def nth(self, at: int) -> tuple[int, int] | None:
        """An ordinal from 1 to 31, and where it ends; "last" is none."""
        word, kind = self.word(at), self.kind(at)
        if kind == "ordinal":
            value = int(word[:-2])
            return (value, at + 1) if 1 <= value <= 31 else None
        if kind != "word":
            return None
        ahead = self.skip(at + 1)
        if word in ("twenty", "thirty") and 0 < ORDINALS.get(self.word(ahead), 99) < 10:
            value = CARDINALS[word] + ORDINALS[self.word(ahead)]
            return (value, ahead + 1) if value <= 31 else None
        value = ORDINALS.get(word, 99)
        return (value, at + 1) if value <= 31 else None

    def year(self, at: int) -> tuple[int, int] | None:
        """2026 to 2099, in figures or words: "twenty thirty", "two thousand and thirty"."""
        word = self.word(at)
        if self.kind(at) == "figure":
            return (int(word), at + 1) if len(word) == 4 and word.startswith("20") else None
        if word == "twenty":
            rest = self.small(self.skip(at + 1))
            if rest and rest[0] >= 20 and self.kind(self.skip(at + 1)) == "word":
                return 2000 + rest[0], rest[1]
        if (end := self.after(at, "two", "thousand")) > 0:
            rest = self.small(end + (self.word(end) == "and"))
            recent = rest and rest[0] >= 20 and self.word(rest[1]) != "hundred"
            return (2000 + rest[0], rest[1]) if rest and recent else None
        return None


@lru_cache(maxsize=4096)
def _plain(word: str) -> str:
    """In one form: "week's" and "years'" are the unit, "sevenish" is about seven."""
    if word in _WHOLE:
        return _WHOLE[word]
    word = word.removesuffix("'s").rstrip("'")
    if word.endswith("ish") and word[:-3].rstrip("e") + "e" * (word[:-3].endswith("e")) in _ISH:
        word = word[:-3]
    return _SPELT.get(word, word)
