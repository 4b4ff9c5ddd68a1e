"""What kinds of words are in what somebody said: a time, a repetition, a place. Pure.

The one answer to "does this hold a time?". Times are found by the grammar of `times`, whether or
not they can be resolved: "at sunset" is one, though nobody here knows when that is. A mere number
is none, and nor is "soon": it does not answer "When?".
It judges English; words that are none may hold anything (`words.foreign`).
"""

from __future__ import annotations

import re
from itertools import pairwise

from vivavoce.language.en.numbers import numbers_in
from vivavoce.language.en.times.pieces import (
    Correction,
    Every,
    From,
    Hour,
    Negation,
    Part,
    Until,
    Weekday,
)
from vivavoce.language.en.times.reading import find, read, without

# Patterns are text, compiled when first used: that takes longer than a start may.

_RULE = re.compile(r"(?i)\b(?:rrule:)?freq=\w+\S*")
_PLACE = (
    r"(?i)\b(?:(?:when|once|as soon as|whenever|next time|the moment|after|before|if|while) "
    r"(?:i|we)(?:'?m|'?re| am| are)? ?(?:'ve )?(?:next )?"
    r"(?:leav|get|got|arriv|reach|com|go|pass|near|at\b|in\b|back|home|enter|walk|driv|visit)"
    r"|(?:when|on|before|after) (?:leaving|arriving|reaching|getting|passing|entering|my way)"
    r"|(?:near|close to|outside|by) (?:the|my|a|our)\b"
    r"|(?:arriv\w+|leav\w+) (?:at|to|from|home|the|my|work|there)"
    r"|(?:\b(?:am|are|be|get|getting|got|go|going|come|coming|once|when|way) |'m |'re )"
    r"back (?:at|to|from|home|the|my|work|there)|^\W*back (?:at|home)"
    r"|get(?:ting)? (?:to|home|back|there)\b"
    r"|^\W*(?:at|from|in) (?:the|my|work|home|school)\b(?! (?:morning|afternoon|evening|same)))"
)
_BEFORE_PLACE = (
    r"(?i)\b(?:at|to|in|near|by|from|outside|into|home|reach|leave|pass)"
    r"(?:\s+(?:the|my|our|an?))?\W*$"
)
_SAME_DAY = re.compile(
    r"(?i)\b(?:on )?(?:(?:the|that) (?:(?:very )?(?:same )?day|same \w+day)|same day)"
    r"(?: too| as well)?\b|"
    r"\b(?:that|(?:the|that) same) (?P<part>morning|afternoon|evening|night)\b"
)
_SAME = r"(?i)\bsame (?:time|hour|day)\w*\b|\bthe (?:day|week) (?:after|before)\b"
_SOMEWHEN = r"(?i)\b(?:before|after|until|till|when|by|once|while|during)\b"
_JOINER = (
    r"(?i)[\s,.;-]*(?:(?:at|on|in|the|of|around|about|and|from|by|for|say|maybe|uh|um)[\s,]*){0,3}"
)
_LOOSE = r"(?i)\b(?:week|weekend|month|year|spring|summer|autumn|winter|days)\b"
_NAMED_DAY = r"(?i)\b(?:\w+day|today|tonight|tomorrow|\d+(?:st|nd|rd|th)?|first|last)\b"
_AMOUNT = r"(?i)\b(?:minutes?|hours?|days?|weeks?|months?)\W*$"
_HOW_MANY = r"(?i)(?:for )?(?:an? |half |\d|several |(?P<number>[a-z-]+) )"
_UNIT = r"(?i)\b(?:minutes?|hours?|days?|weeks?|fortnights?|months?)\b|$"
_FAR = _UNIT.replace(r"\b|$", rf"\b(?:,? and (?:[\w-]+ ){{1,3}}?{_UNIT[4:-2]})?|$")
"""All of it: "an hour and ten minutes"."""
_DIRECTED = (
    r"(?i)\b(?:in|later|earlier|sooner|before|after|from|ago|back|forward|up|off|out|along)\b"
)
_EARLIER = (
    r"(?i)\b(?:earlier|sooner|before|prepon\w+|advance\w*|"
    r"(?:bring|pull|move)\b[^.!?]{0,60}\b(?:forward|up|in))\b"
)
_LATER = (
    r"(?i)\b(?:later|longer|back|off|out|along|down the road|push\w*|shove\w*|shunt\w*|kick\w*|"
    r"bump\w*|slide|knock\w*|delay\w*|postpon\w*|after(?! all\b)|move\b[^.!?]{0,60}\bon)\b"
)
_ANCHORED = (
    r"(?i)\b(?:before|after|prior to|ahead of|from)\s+"
    r"((?:that|it|this|the|my|our|his|her|their|we|i)\b[^.,;!?]*)"
)
_AND_AT = r"(?i)[\s,]*(?:(?:and|plus|then|again|also|at|another|once|one|more)\b[\s,]*)+"
_WITHIN = frozenset({"in", "the", "at", "of", "on"})
"""Between an hour and its part of the day."""
_TWO = 2
_THERE = re.compile(r"(?i)\b(?:(?:in|at|over|down|up|out|back|by|near|round) )?there\b")
_AT_PLACE = re.compile(
    r"\b(?i:out ?of|outta|at|in|into|to|from|inside|past|by|leave|leaving|visit|reach)\s+"
    r"(?P<place>(?:the |my |our )?(?:[A-Z][\w'’]*(?: [A-Z][\w'’]*)*|(?<=the )\w+|(?<=my )\w+))"
)
_LONGEST = 2_000
"""Characters that are looked at."""


def times_in(text: str) -> list[str]:
    """What says when or how often, as it was said; "tomorrow" and "at five" beside each other are
    one."""
    return [mention.words for mention in find(text)]


def each_hour(text: str) -> list[str]:
    """ "Daily at eight and at half past nine at night": the same, once with each hour. What is
    instead of another, or from one until another, is one time."""
    known = read(text)
    tokens, pieces = known.tokens, known.found
    if not pieces:  # "before the year is finished" is a time to who asks, and to nobody here
        return [text]
    if any(isinstance(one.piece, Correction | Negation | Until | From) for one in pieces):
        return [text]
    places: list[tuple[int, int]] = []
    for hour, after in zip(pieces, (*pieces[1:], None), strict=True):
        if isinstance(hour.piece, Hour):
            part = after if after is not None and isinstance(after.piece, Part) else hour
            own = _WITHIN.issuperset(tokens.words[hour.end : part.start])
            end = part.end if own else hour.end
            places.append((tokens.starts[hour.start], tokens.ends[end - 1]))
    between = [text[end:start] for (_, end), (start, _) in pairwise(places)]
    if len(places) < _TWO or not all(re.fullmatch(_AND_AT, one) for one in between):
        return [text]
    before, rest = text[: places[0][0]], text[places[-1][1] :]
    often = [one for one in pieces if isinstance(one.piece, Every)]
    for one in often:
        if isinstance(one.piece, Every) and one.piece.open_hours:  # "twice a day" has said when
            counted = text[tokens.starts[one.start] : tokens.ends[one.end - 1]]
            plain = "every day" if len(often) == 1 else ""
            before, rest = before.replace(counted, plain), rest.replace(counted, plain)
    return [f"{before}{text[start:end]}{rest}".strip(" ,") for start, end in places]


def repeats_in(text: str) -> list[str]:
    repeated = [mention.words for mention in find(text) if "repetition" in mention.says]
    return repeated or _RULE.findall(text[:_LONGEST])


def several_days(text: str) -> bool:
    """ "Tuesday and Thursday"."""
    days = {one.piece.day for one in read(text).found if isinstance(one.piece, Weekday)}
    return len(days) > 1


def places_in(text: str) -> list[str]:
    return [match.group() for match in re.finditer(_PLACE, text[:_LONGEST])]


def place_named(words: str, said: str) -> str:
    """ "Next time I'm in there": with the place that was named before, where one was."""
    if (there := _THERE.search(words)) is None:
        return words
    at = said.casefold().find(words.casefold())
    before = [m["place"].strip() for m in _AT_PLACE.finditer(said[: max(at, 0)])]
    if not before:
        return words
    return f"{words[: there.start()]}at {before[-1]}{words[there.end() :]}"


def untimed(text: str) -> str:
    """What is left of it without its times and repetitions."""
    return "" if read(text).found and read(text).whole else without(text)


def only_time(text: str) -> bool:
    """A time or a repetition and nothing else: said after something was done, it is about that."""
    return bool(find(text)) and read(text).whole


def places_follow(before: str) -> bool:
    """Whether a place may be named right after these words: "at the"."""
    return re.search(_BEFORE_PLACE, before[-_LONGEST:]) is not None


def somewhen(words: str) -> bool:
    """It says when by something else: "before the baby comes"."""
    return re.search(_SOMEWHEN, words) is not None


def one_thing(words: str) -> bool:
    """ "The one", which may be a thing as well as an hour."""
    return re.fullmatch(r"(?i)\W*(?:the |that |this )?one\W*", words) is not None


def same_time(words: str) -> bool:
    """It takes its hour or its day from something else."""
    return re.search(_SAME, words) is not None


def moved_to(words: str) -> str:
    """ "From Tuesday to Thursday", of what is moved: only where it goes."""
    return re.sub(r"(?i)\bfrom (?:the )?\w+days? (?=to (?:the )?\w+day)", "", words)


def of_that(words: str) -> bool:
    """ "An hour before that": from something that was named before."""
    return re.search(r"(?i)\b(?:before|after) (?:that|it|this)\b", words) is not None


def only_points(words: str) -> bool:
    """ "It", "that one": no name, and no place among others."""
    return (
        re.fullmatch(r"(?i)\W*(?:it|that|this|him|her|them|(?:that|this) one)\W*", words)
        is not None
    )


def points(words: str) -> bool:
    """At something that was spoken of: "drop that one", "forget it"."""
    return re.search(r"(?i)\b(?:it|that|this|them|those|that one|this one)\b", words) is not None


def same_day(words: str) -> bool:
    """ "That day", "the same evening"."""
    return _SAME_DAY.search(words) is not None


def without_day(words: str) -> str:
    """Without "that day"; of "the same evening" the evening stays."""
    return _SAME_DAY.sub(lambda m: f"in the {m['part']}" if m["part"] else "", words).strip(" ,")


def joins(between: str) -> bool:
    """Whether two times with this between them are one."""
    return re.fullmatch(_JOINER, between) is not None


def vague(words: str) -> bool:
    """A week, a month or a season, and no day of it."""
    return bool(re.search(_LOOSE, words)) and not re.search(_NAMED_DAY, words)


def undirected(words: str) -> bool:
    """ "An hour", and not in which direction."""
    return (
        bool(re.search(_AMOUNT, words))
        and not re.search(_DIRECTED, words)
        and not repeats_in(words)
    )


_ENDING_YEAR = re.compile(
    r"(?i)\bbefore (?:the (?:year|end of) )?(?P<year>[\w -]+?) (?:is|['’]s|are) (?:finished|over|"
    r"out|done|"
    r"through|up|gone)\b"
)


def before_its_end(words: str, said: str) -> str:
    """ "Before 2029 is over" is by the end of it, though only its beginning was copied."""
    told = _ENDING_YEAR.search(said)
    if told is None or told["year"].casefold() not in words.casefold() or "before" not in words:
        return words
    return f"by the end of {told['year']}"


def lasts(words: str) -> bool:
    """How long, and not when: "eight hours", which is not "in eight hours"."""
    first = re.match(_HOW_MANY, words.strip())
    units = [unit for unit in re.findall(_UNIT, words) if unit]
    if first is None or len(units) != 1 or not undirected(words):
        return False
    return first["number"] is None or bool(numbers_in(first["number"]))


_DURATION = (
    r"(?i)[\s,]*(?:now |already )?(?:(?:for|over|these) )?(?:(?:about|around|nearly|almost|over|"
    r"more than|at least|a good|well over|the (?:last|past)|some) )*(?:an?|half an?|\d+|"
    r"a couple of|a few|"
    r"(?!(?:next|this|that|last|every|each|other|on|by|the)\b)[a-z]+(?:-[a-z]+)?) "
    r"(?:minutes?|hours?|days?|nights?|weeks?|weekends?|fortnights?|months?|years?)"
    r"(?: (?:now|already|straight|running|at least))?\W*"
)
_SINCE = r"(?i)\bsince\W*$"
_PERFECT = (
    r"(?i)\b(?:have|has|had|haven['’]t|hasn['’]t|hadn['’]t|\w+['’](?:ve|s|d))\s+(?:(?:all|both|"
    r"just|only|still|already|not|never|always|now|(?:i|you|he|she|it|we|they)) )*(?:been|had|"
    r"sat|stood|lain|left|gone|got|done|put|held|hung|rung|sung|begun|come|run|won|paid|said|"
    r"told|meant|made|lost|shut|heard|\w{2,}(?:ed|wn|en)|\w+(?:ept|elt|ent|ought|aught))\b"
)
_ASKS_SO_FAR = r"(?i)\b(?:what|which|how|who|show|list|anything|everything|tell)\b"
_MOVES = r"(?i)\b(?:mov|push|shift|put back|delay|postpon|bump|kick|extend|bring|brought|slid)\w*"
_COUNTS_ON = r"(?i)\s*['’]?\s*(?:time|from|before|after|later|earlier|ahead|hence|prior|ago)\b"
_SINCE_SO = (
    r"(?i)\s*(?:['’]s|is|are|was|will|has|does|isn['’]t|won['’]t|would|works?|suits?|i|we)\b"
)


def has_lasted(said: str, start: int, end: int) -> bool:
    """Whether the words there say how long something has been so, which is no time for anything:
    "they've been sat here a fortnight", "I've had it since Monday"."""
    before = re.split(r"[.,;:!?–—]\s|\s-\s", said[:start])[-1]
    words = said[start:end]
    since = re.search(_SINCE, before) or re.match(r"(?i)\W*(?:ever )?since\b", words)
    perfect = re.search(_PERFECT, f"{before} ")
    if perfect is None or re.search(_ASKS_SO_FAR, before[: perfect.start()]):
        return False
    if since:
        return not re.match(_SINCE_SO, said[end:])
    if re.search(_MOVES, before[perfect.start() :]) or re.match(_COUNTS_ON, said[end:]):
        return False
    leads = re.search(r"(?i)\b(?:in|by|to|within|every|until|till|after|next)\s*$", before)
    return leads is None and re.fullmatch(_DURATION, words) is not None


_WHICHEVER = (
    r"(?i)\W*(?:(?:to|on|for) )?(?:another|(?:some|any) other|a different) (?:day|week)\W*$"
)
_PUSHED = r"(?i)\b(?:later|earlier|sooner|back|forward|by|push\w*|shove\w*|bump\w*|delay\w*)\b"


def turned(words: str, said: str) -> str:
    """With the direction that the rest of what was said gives it. "Another day" is any but that
    one, unless something is pushed back by it."""
    if re.match(_WHICHEVER, words) and not re.search(_PUSHED, said):
        return words
    bare = re.sub(_DIRECTED, "", words).strip(" ,.").removeprefix("by ")
    way = "earlier" if re.search(_EARLIER, said) else "later" if re.search(_LATER, said) else ""
    return re.sub(_FAR, rf"\g<0> {way}", bare, count=1) if way else words


_BROUGHT = (
    r"(?i)\b(?:bring|brings|brought|bringing|pull|pulled|pulling|drag|dragged|draw)\b"
    r"[^.,;:!?]{0,60}?\s$"
)


def brought_in(words: str, said: str) -> str:
    """ "Bring the optician in an hour": in by an hour, and not an hour from now."""
    at = said.casefold().find(words.casefold())
    amount = re.fullmatch(r"(?i)in (?:by )?(?P<long>.+)", words)
    if at < 0 or amount is None or not re.search(_BROUGHT, said[:at]):
        return words
    long = amount["long"]
    far = re.search(_UNIT.removesuffix("|$"), long) and not re.search(_DIRECTED, long)
    return f"{long} earlier" if far else words


_DAY_AFTER = re.compile(
    r"(?i)\b(?:to )?the (?:(?:following|next) day|day (?:after|following)(?: that)?)\b(?! tomorrow)"
)


def day_after(words: str) -> str:
    """Of what is moved "the day after" is the one after its own."""
    return _DAY_AFTER.sub("a day later", words)


def beside(text: str) -> str:
    """The words for what a time is relative to: "my train" of "an hour before my train"."""
    match = re.search(_ANCHORED, text)
    return match.group(1) if match else ""
