"""What kinds of words are in what somebody said: a time, a repetition, a place, a request. Pure.

The one answer to "does this hold a time?". It finds words and does not understand them
(`understanding`): "at sunset" is a time, though nobody here knows when that is. A mere
number is none, and nor is "soon": it does not answer "When?".
It judges English; words that are none may hold anything (`words.foreign`).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

from vivavoce.language.en.numbers import CARDINALS, ORDINALS
from vivavoce.language.en.times.lexicon import DAY_NAMES, MONTH_NAMES, SHORT_DAYS, SHORT_MONTHS

# Patterns are text, compiled when first used: that takes longer than a start may.

Kind = Literal["time", "repeat", "place"]


def _any(words: Iterator[str] | list[str] | tuple[str, ...]) -> str:
    return "|".join(sorted((word.lower() for word in words), key=len, reverse=True))


_ONES = _any([word for word, n in CARDINALS.items() if 0 < n < 13])
_TENS = _any([word for word, n in CARDINALS.items() if n >= 20])
_CARDINAL = rf"(?:(?:{_TENS})(?:[ -](?:{_ONES}))?|{_any(list(CARDINALS))})"
_SOME = (
    rf"(?:\d+(?:\.\d+)?|{_CARDINAL}(?: and a half)?|half an?|an?|a few|a couple(?: of)?|several)"
)
_ORDINAL = (
    rf"(?:\d{{1,2}}(?:st|nd|rd|th)|(?:twenty|thirty)[ -](?:{_any(list(ORDINALS))})"
    rf"|{_any(list(ORDINALS))})"
)
_UNIT = r"(?:minute|min|hour|hr|day|week|fortnight|month|year)s?"
_PART = r"(?:morning|afternoon|evening|night)"
_DAY = rf"(?:{_any(DAY_NAMES)})"
_SHORT_DAY = rf"(?:{_any(list(SHORT_DAYS.keys() - {'sat', 'sun', 'wed'}))})"
_MONTH = (
    rf"(?:{_any([name for name in MONTH_NAMES if name not in ('March', 'May')])}|"
    rf"{_any(list(SHORT_MONTHS.keys() - {'mar', 'may'}))}|"
    rf"(?:march|may)(?= (?:\d|the\b|{_ORDINAL})|\W*$)"
    r"|(?<=\bin )(?:march|may)|(?<=\bof )(?:march|may)|(?<=\bby )(?:march|may)"
    r"|(?<=\bnext )(?:march|may)|(?<=\bthis )(?:march|may)|(?<=\buntil )(?:march|may))"
)
_MEAL = r"(?:breakfast|lunch|dinner|supper|bed|work|school|class)"
_SEASON = r"(?:spring|summer|autumn|fall|winter)"
_HOUR = (
    rf"(?:\d{{1,2}}|{_ONES}|midnight|midday|noon)(?:ish)?"
    rf"(?:[:. ](?:\d\d|oh (?:{_ONES})|(?:{_TENS})(?:[ -](?:{_ONES}))?|ten|fifteen)(?:ish)?)?"
)
_MILITARY = r"(?:\d{3,4} (?:hours|hrs)|(?<=\bat )\d{3,4}(?![-.:]?\d|-)|\w+ hundred hours)"
_NEAR = r"(?:at|around|about|by|before|after|until|till|past|from|to|since|on|over|during|for|in)"
# "About ten dollars" and "at two schools" are no times; "at seven always" is one.
_COUNTED = (
    r"(?![ -](?:hundred|thousand|million|billion|percent|point|more|of|people|men|women|children|"
    r"(?!this|always|unless|thanks|yes|days|mondays|weekdays|hours)\w{2,}[^s\W]s)\b|[%-]\w|\.\d)"
)
_ENDS = rf"(?=\W*$|[.,;:!?]|\s(?:at|in|on|of|by|to|and|or|please|then|instead|every|{_PART})\b)"
_NOUNS = r"(?!['’]?s? (?:present|gift|card|cake|party|tree|shopping|song|dress|clean|roll|wish)\w*)"
_DATED = (
    rf"(?:{_NEAR} )(?:the )?{_ORDINAL}{_ENDS}",
    rf"(?:the )?(?:last|{_ORDINAL}) of (?:the month|next month|{_MONTH})",
    rf"{_MONTH}(?: (?:the )?(?:{_ORDINAL}|\d{{1,2}}))?",
    rf"(?:{_DAY}s?|{_SHORT_DAY}|(?:on|next|this) (?:sat|sun|wed)|(?:sat|sun|wed)(?= at\b))",
    r"(?:20[2-9]\d(?:-\d\d(?:-\d\d)?(?=\b|T))?)",
    r"(?:\d{1,2}/\d{1,2}/\d{2,4}|(?<=\bon )\d{1,2}/\d{1,2}|(?<=\bby )\d{1,2}/\d{1,2})",
    rf"(?:christmas(?: eve| day)?|easter(?: sunday| monday)?|new year['’]?s?(?: eve| day)?|"
    rf"halloween|thanksgiving|valentine['’]?s day|birthday){_NOUNS}",
)
_CLOCKED = (
    rf"{_HOUR} ?(?:[ap]\.?m\b\.?|o['’ ]?clock)",
    r"\d{1,2}:\d\d|\d{1,2}h",
    rf"(?:half|(?:a )?quarter|five|ten|twenty(?:[ -]five)?|[1-5]?[05])(?: minutes)? "
    rf"(?:past|to|after|till) {_HOUR}{_COUNTED}",
    rf"(?:at|around|about|by|before|after|until|till|past|from) {_HOUR}{_COUNTED}(?! (?:the|my)\b)",
    _MILITARY,
    rf"{_HOUR} in the {_PART}",
    r"(?:noon|midday|midnight)(?:ish)?",
)
_RELATIVE = (
    rf"(?:in|within|for|after|next|last|another|by) (?:the next )?{_SOME} (?:\w+ )?{_UNIT}",
    rf"{_SOME} {_UNIT} (?:later|earlier|sooner|ago|from|(?:before|after)(?: {_MEAL})?)",
    r"(?:this|next|last|every|each|the whole|coming|the following|early|late|"
    r"(?:the )?(?:end|beginning|middle) of(?: (?:the|this|next))?) "
    rf"(?:week|month|year|weekend|{_PART}|day|{_SEASON})s?",
    r"(?:the day after tomorrow|tomorrow|tonight|tonite|today|yesterday)",
    rf"(?<!good ){_PART}s?(?! (?:gown|shift|stand|club|sky))",
    r"weekends?|weekdays?|fortnight",
    r"(?:at|around|by|before|after|until|since|during|for|in|all) "
    rf"(?:the |this |next |early |late )?(?:{_SEASON}|sunrise|sunset|dawn|dusk)",
    rf"(?:at|before|after|by|around|until|during|over) (?:my |the |our )?{_MEAL}",
    r"(?:lunch|dinner|bed|supper) ?time",
    r"right (?:now|away)|immediately|at once|as soon as possible|asap|now(?=\W*$)",
    r"(?:the )?(?:same|usual) (?:time|day|hour)",
    r"first thing",
)
_REPEATS = (
    rf"(?:every|each) (?:single |other |last |{_ORDINAL} (?:and (?:the )?{_ORDINAL} )?|{_SOME} )?"
    rf"(?:minute|hour|day|week|weekday|workday|weekend|month|year|{_PART}|{_DAY}|{_SHORT_DAY})s?",
    rf"(?:every|each) {_ORDINAL}{_ENDS}",
    r"everyday|daily|nightly|hourly|(?:bi-?)?weekly|fortnightly|monthly|quarterly|yearly|annually",
    rf"weekdays|weekends|workdays|{_DAY}s|(?:in the |on |at )?{_PART}s(?= |\W*$)",
    rf"(?:once|twice|{_SOME} times) (?:an?|per|every) (?:hour|day|week|month|year)",
    rf"(?:{_DAY}|{_SHORT_DAY})s? (?:through|thru|to|until|till) (?:{_DAY}|{_SHORT_DAY})s?",
    r"(?:rrule:)?freq=\w+\S*",
)
_REPEAT = rf"(?i)\b(?:{'|'.join(_REPEATS)})\b"
_TIME = rf"(?i)\b(?:{'|'.join((*_REPEATS, *_CLOCKED, *_DATED, *_RELATIVE))})(?!\w)"
_SAYING = (
    r"(?:um|uh|well|oh|no|yes|yeah|ok|okay|maybe|say|let['’]s say|make it|make that|how about)"
)
_WHOLE = (
    rf"(?i)^\W*(?:(?:{_SAYING}|{_NEAR}|the|this|next)\W+)*(?:{_HOUR}|(?:the )?{_ORDINAL}|"
    rf"{_SOME} {_UNIT}|{_SEASON}|sunrise|sunset|dawn|dusk|sat|sun|wed|\d{{1,2}}/(?!7\b)\d{{1,2}})"
    r"(?:\W+(?:please|then|sharp|instead|or so|would be (?:good|fine)|is (?:fine|good)))*\W*$"
)
_PLACE = (
    r"(?i)\b(?:(?:when|once|as soon as|whenever|next time|the moment|after|before|if|while) "
    r"(?:i|we)(?:'?m|'?re| am| are)? ?(?:'ve )?(?:next )?"
    r"(?:leav|get|got|arriv|reach|com|go|pass|near|at\b|in\b|back|home|enter|walk|driv|visit)"
    r"|(?:when|on|before|after) (?:leaving|arriving|reaching|getting|passing|entering|my way)"
    r"|(?:near|close to|outside|by) (?:the|my|a|our)\b"
    r"|(?:arriv\w+|leav\w+|get(?:ting)?|back) (?:at|to|from|home|the|my|work|there)"
    r"|^\W*(?:at|from|in) (?:the|my|work|home|school)\b(?! (?:morning|afternoon|evening|same)))"
)
_OPEN_DAYS = rf"(?i)\b(?:every|each) (?:single )?{_PART}s?\b"
_JOINED = re.compile(
    r"^[\s,]*(?:(?:at|on|in|the|of|around|about|and|or|from|by|for|,)[\s,]*){0,3}$"
)
_ASIDE = (
    r"(?i)\b(?:at|on|in|the|of|around|about|and|by|for|please|then|yes|yeah|well|only|just|say|maybe|"
    r"let's|rather|better|make it|next|this|coming)\b"
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
    """What says when, as it was said; "tomorrow" and "at five" beside each other are one."""
    text = text[:_LONGEST]
    if re.match(_WHOLE, text):
        return [text]
    found: list[str] = []
    end = -1
    for match in re.finditer(_TIME, text):
        if end < 0 or not _JOINED.match(text[end : match.start()]):
            found.append(match.group())
        end = match.end()
    return found


def repeats_in(text: str) -> list[str]:
    return [match.group() for match in re.finditer(_REPEAT, text[:_LONGEST])]


def places_in(text: str) -> list[str]:
    return [match.group() for match in re.finditer(_PLACE, text[:_LONGEST])]


FINDERS: Mapping[Kind, Callable[[str], list[str]]] = {
    "time": times_in,
    "repeat": repeats_in,
    "place": places_in,
}


def untimed(text: str) -> str:
    """What is left of it without its times and repetitions."""
    return "" if re.match(_WHOLE, text[:_LONGEST]) else re.sub(_TIME, " ", text[:_LONGEST])


def only_time(text: str) -> bool:
    """A time or a repetition and nothing else: said after something was done, it is about that."""
    return bool(times_in(text)) and not re.sub(_ASIDE, " ", untimed(text)).strip(" .,!?")


def leaves_days_open(text: str) -> bool:
    """Repeated, and on which days is not said: "every morning" may be every day or not."""
    text = text[:_LONGEST]
    clear = re.sub(_OPEN_DAYS, " ", text)
    return clear != text and not re.search(_REPEAT, clear)


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
