"""What kinds of words are in what somebody said: a time, a place, a repetition. Pure.

It judges English; words that are none may hold anything (`foreign`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

_SMALL = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
_NUMBER = (
    rf"(?:\d+|an?|half an|a few|a couple of|{_SMALL}|fifteen|twenty|thirty|forty|fifty|ninety)"
)
_DAY = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"
_MONTH = (
    r"(?:january|february|march|april|june|july|august|september|october|november|december|"
    r"may(?= \d| the|$)|jan|feb|aug|sept?|oct|nov|dec)"
)
_HOUR = rf"(?:\d{{1,2}}|{_SMALL}|midnight|noon)(?:[: ](?:\d\d|fifteen|thirty|forty-five))?"
_TIMES = (
    rf"{_HOUR} ?(?:[ap]\.?m\b\.?|o'?clock)",
    r"\d{1,2}:\d\d",
    rf"(?:half|quarter) (?:past|to|after) {_HOUR}",
    rf"(?:at|around|about|by|before|after|until|till|past|from) {_HOUR}(?! (?:the|my))\b",
    rf"(?:in|within|for|after|next|last) (?:the next )?{_NUMBER} \w*\s?"
    r"(?:minute|hour|day|week|month|year)s?",
    r"(?:this|next|every|each|the whole|end of (?:the|this|next)|by the end of the) "
    r"(?:week|month|year|weekend|morning|afternoon|evening|night|day|spring|summer|autumn|fall|winter)s?",
    rf"(?:{_DAY}|{_MONTH})",
    r"(?:tomorrow|tonight|today|noon|midnight|morning|afternoon|evening|weekends?|weekdays?|daily|"
    r"weekly|monthly|christmas|easter|new year'?s?|halloween|birthday|dinner ?time|lunch ?time|"
    r"bed ?time|sunrise|sunset|right now|now|summer|winter|spring|autumn)",
    r"(?:the )?(?:first|second|third|\w+th|\d+(?:st|nd|rd|th)) of (?:the month|" + _MONTH + ")",
    r"(?:the )?same (?:time|day|hour)",
    r"(?:20[2-9]\d)",
)
_TIME = re.compile(rf"\b(?:{'|'.join(_TIMES)})\b", re.IGNORECASE)
_BARE = re.compile(rf"^\W*(?:{_HOUR})\W*$", re.IGNORECASE)
_REPEAT = re.compile(
    rf"\b(?:every(?:day)?|each|daily|weekly|monthly|yearly|weekdays?|weekends|twice an? \w+|"
    rf"once an? \w+|{_DAY[:-1]}s)\b",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"\b(?:(?:when|once|as soon as|whenever|next time|the moment|after|before|if|while) "
    r"(?:i|we)(?:'?m|'?re| am| are)? ?(?:'ve )?(?:next )?"
    r"(?:leav|get|got|arriv|reach|com|go|pass|near|at\b|in\b|back|home|enter|walk|driv|visit)"
    r"|(?:when|on|before|after) (?:leaving|arriving|reaching|getting|passing|entering|my way)"
    r"|(?:near|close to|outside|by) (?:the|my|a|our)\b"
    r"|(?:arriv\w+|leav\w+|get(?:ting)?|back) (?:at|to|from|home|the|my|work|there)"
    r"|^\W*(?:at|from|in) (?:the|my|work|home|school)\b(?! (?:morning|afternoon|evening|same)))",
    re.IGNORECASE,
)
_VAGUE = re.compile(r"\b(?:every|each) (?:single )?(?:morning|afternoon|evening|night)s?\b", re.I)
_JOINED = re.compile(
    r"^[\s,]*(?:(?:at|on|in|the|of|around|about|and|or|from|by|for|,)[\s,]*){0,3}$"
)
_ENGLISH = frozenset(
    ["i", "me", "my", "the", "to", "a", "an", "and", "of", "at", "on", "is", "it", "that", "for"]
)
_ASIDE = re.compile(
    r"\b(?:at|on|in|the|of|around|about|and|by|for|please|then|yes|yeah|well|only|just|say|maybe|"
    r"let's|rather|better|make it|next|this|coming)\b",
    re.IGNORECASE,
)
_FEW = 4
_LONGEST = 2_000
_LAST, _SAYINGS, _RUN = 300, 4, 7
_STOPS = ".,:;'’-"
_PARTS = re.compile(r"\band\b|[,;!?]", re.IGNORECASE)
_WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9'’:.-]*")


def foreign(words: Sequence[str]) -> bool:
    """Not English, as far as one can tell."""
    found = " ".join(words)[:_LONGEST].lower().replace("’", "'").split()
    return len(found) >= _FEW and _ENGLISH.isdisjoint(found)


def count(kind: str, words: Sequence[str]) -> int:
    """How many of that kind."""
    return sum(len(list(FINDERS[kind](text[:_LONGEST]))) for text in words)


def bare(text: str) -> bool:
    """A time or a repetition and nothing else: said after something was done, it is about that."""
    left = _REPEAT.sub(" ", _TIME.sub(" ", text[:_LONGEST]))
    return left != text and not _ASIDE.sub(" ", left).strip(" .,!?")


def own_words(words: Sequence[str]) -> str:
    """A pattern of what they said, in pieces as they said it: "Sunday" becomes no "Sunday at 7"."""
    parts = (part for text in words[-_SAYINGS:] for part in _PARTS.split(text[-_LAST:]))
    said = [_WORD.findall(part) for part in parts]
    starts = (one[at : at + _RUN] for one in said for at in range(len(one)))
    piece = "|".join(dict.fromkeys(_run(start) for start in starts))
    return f"({piece})( (and )?({piece})){{0,2}}" if piece else ""


def _run(words: Sequence[str]) -> str:
    """The first of them, or the first two, and so on."""
    first, *more = words
    bare = first.strip(_STOPS)
    forms = dict.fromkeys(map(re.escape, (bare, bare.lower(), *([first] if "." in bare else ()))))
    head = f"({'|'.join(forms)})" if len(forms) > 1 else "".join(forms)
    return f"{head}( {_run(more)})?" if more else head


def vague(words: Sequence[str]) -> bool:
    """Repeated, and on which days is open: "every morning" may be every day or not."""
    text = " ".join(words)[:_LONGEST]
    return bool(_VAGUE.search(text)) and not _REPEAT.search(_VAGUE.sub(" ", text))


def _times(text: str) -> Iterator[str]:
    """ "Tomorrow" and "at five" beside each other are one."""
    if _BARE.match(text):
        yield text
        return
    end = -1
    for match in _TIME.finditer(text):
        if end < 0 or not _JOINED.match(text[end : match.start()]):
            yield match.group()
        end = match.end()


def _places(text: str) -> Iterator[str]:
    return (match.group() for match in _PLACE.finditer(text))


def _repeats(text: str) -> Iterator[str]:
    return (match.group() for match in _REPEAT.finditer(text))


FINDERS: Mapping[str, Callable[[str], Iterator[str]]] = {
    "time": _times,
    "place": _places,
    "repeat": _repeats,
}
