"""What kinds of words are in what somebody said: a time, a repetition, a place, a request. Pure.

The one answer to "does this hold a time?". Times are found by the grammar of `times`, whether or
not they can be resolved: "at sunset" is one, though nobody here knows when that is. A mere number
is none, and nor is "soon": it does not answer "When?".
It judges English; words that are none may hold anything (`words.foreign`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal

from vivavoce.language.en.times.lexicon import DAY_PARTS
from vivavoce.language.en.times.pieces import Every
from vivavoce.language.en.times.reading import find, read, without

# Patterns are text, compiled when first used: that takes longer than a start may.

Kind = Literal["time", "repeat", "place"]


_RULE = re.compile(r"(?i)\b(?:rrule:)?freq=\w+\S*")
_PLACE = (
    r"(?i)\b(?:(?:when|once|as soon as|whenever|next time|the moment|after|before|if|while) "
    r"(?:i|we)(?:'?m|'?re| am| are)? ?(?:'ve )?(?:next )?"
    r"(?:leav|get|got|arriv|reach|com|go|pass|near|at\b|in\b|back|home|enter|walk|driv|visit)"
    r"|(?:when|on|before|after) (?:leaving|arriving|reaching|getting|passing|entering|my way)"
    r"|(?:near|close to|outside|by) (?:the|my|a|our)\b"
    r"|(?:arriv\w+|leav\w+|get(?:ting)?|back) (?:at|to|from|home|the|my|work|there)"
    r"|^\W*(?:at|from|in) (?:the|my|work|home|school)\b(?! (?:morning|afternoon|evening|same)))"
)
_ASKED = {
    "time": r"(?i)\b(?:when|time|date|day|days|long|target|deadline|soon|by)\b",
    "repeat": r"(?i)\b(?:every day|days|weekdays|weekends?)\b",
}
_BEGINS = (
    r"(?:remind me|i (?:want|need|have|would like|'d like) to|i'd (?:like|love) to|i must|"
    r"(?:can|could|would) you|set up|make a note|note down|"
    r"(?:(?:re)?schedule|move|push|add|put) (?:the|my|our|an?|that|it|this))\b"
)
_FIRST = rf"(?i)^\W*(?:(?!and\b)\w+\W+){{0,3}}?{_BEGINS}"
_NEXT = rf"(?i)[,;.]?\s+(?:and|also|plus)\s+(?:(?:also|then|please)\s+)*(?={_BEGINS})"
_ALSO_TO = r"(?i)(\bremind me to\b.{3,200}?),? and (?:also )?to (?!the\b|my\b|an?\b|our\b)"
_REQUESTS = 4
_LONGEST = 2_000
"""Characters that are looked at."""


def times_in(text: str) -> list[str]:
    """What says when or how often, as it was said; "tomorrow" and "at five" beside each other are
    one."""
    return [mention.words for mention in find(text)]


def repeats_in(text: str) -> list[str]:
    repeated = [mention.words for mention in find(text) if "repetition" in mention.says]
    return repeated or _RULE.findall(text[:_LONGEST])


def places_in(text: str) -> list[str]:
    return [match.group() for match in re.finditer(_PLACE, text[:_LONGEST])]


FINDERS: Mapping[Kind, Callable[[str], list[str]]] = {
    "time": times_in,
    "repeat": repeats_in,
    "place": places_in,
}


def untimed(text: str) -> str:
    """What is left of it without its times and repetitions."""
    return "" if read(text).found and read(text).whole else without(text)


def only_time(text: str) -> bool:
    """A time or a repetition and nothing else: said after something was done, it is about that."""
    return bool(find(text)) and read(text).whole


def leaves_days_open(text: str) -> bool:
    """Repeated, and on which days is not said: "every morning" may be every day or not."""
    known = read(text)
    every = [one for one in known.found if isinstance(one.piece, Every)]
    return bool(every) and all(
        isinstance(one.piece, Every)
        and not one.piece.days
        and known.tokens.word(one.end) in DAY_PARTS
        for one in every
    )


def asks_for(question: str) -> set[str]:
    """What kind of words would answer it: a time, a repetition."""
    return {kind for kind, pattern in _ASKED.items() if re.search(pattern, question)}


def requests_in(text: str) -> list[str]:
    """What is asked for in one breath, each with what begins it: "I want to run, and remind me to
    buy shoes" is two. A text in which one cannot tell is one."""
    if len(text) > _LONGEST or not re.search(_FIRST, text):
        return [text]
    first, *more = re.split(_NEXT, re.sub(_ALSO_TO, r"\1 and remind me to ", text))
    return [first, *(one[:1].upper() + one[1:] for one in more)][:_REQUESTS]
