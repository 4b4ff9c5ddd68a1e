"""Which pieces of a text say when: times found in running speech, and what is left without them.

A word that says a time only beside others ("nine", "the third", "May") counts where it stands
beside one, after a preposition that asks for one, or where the whole text is a time. Pieces with
nothing but small words, hesitations and changes of mind between them are one mention.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import field
from functools import lru_cache

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times import pieces as p
from vivavoce.language.en.times.grammar.found import Found
from vivavoce.language.en.times.grammar.sentence import pieces_of
from vivavoce.language.en.times.tokens import Tokens
from vivavoce.wire.values import Value

_LONGEST = 2_000
"""Characters that are looked at."""
_GAP = 7
"""Tokens that may lie between two pieces of one time."""
_MARKS = (p.Correction, p.Negation)
_SHOVERS = lex.MOVERS - lex.words("put make set change extend swap switch")
"""What needs no more than how far."""
_MOVED = 12
"""Tokens between such a word and how far: what is moved has a name."""
_DAYS = (p.Relative, p.Weekday, p.Date, p.NthWeekday, p.Feast, p.Written, p.Period)
_REPEATS = (p.Every, p.Until, p.From, p.For, p.Times, p.Except)
_LEADING = lex.PREPOSITIONS | lex.words(
    "round this the next just like say exactly sharp all right straight soon shortly"
)
_BEFORE_HOUR = lex.words(
    "say like it that um uh er erm no sorry not mean meant maybe perhaps okay ok so then or and "
    "well ugh oh approx roughly hmm yeah yes nope wait actually just more exactly is be let's "
    "lets only circa rather make"
)
_AT_DAYS = lex.words("on at over in by until till before after during from since")
_OWNERS = lex.words("my our his her their your")
_THING_ENDS = lex.words("to at on and so please that for in by with is i we you")
_LONGEST_THING = 5
"""Words."""
_SYMBOLS = frozenset("=+*/<>%^\\")
_PLURAL = re.compile(r"(?!this|always|unless|thanks|yes|days|mondays|weekdays|hours)\w{2,}[^s\W]s")
_DANGLING = re.compile(
    r"(?:[\s,;–—-]|\b(?:at|on|by|in|for|around|about|from|until|till|and|um|uh|er|like|say|"
    r"starting|beginning|the|of|to|every|each|so|maybe|please,|before|after|or|round)\b)+$",
    re.IGNORECASE,
)
_LOOSE = re.compile(r"^(?:[\s,;–—-]|(?:or so|sharp|please|and|then|instead|too|again)\b)+", re.I)


class Mention(Value):
    """A stretch of the text that says when, or how often, from `start` to before `end`."""

    start: int
    end: int
    words: str
    says: frozenset[str]
    """Any of: day, hour, part, repetition, relative, zone."""
    describes: bool = False
    """It says which thing is meant, not when: "my nine o'clock meeting", "Friday's lunch"."""
    beside: str = ""
    """The words for what it is before or after, at its end: "the train"."""
    found: tuple[Found, ...] = field(default=(), repr=False)
    """What it was read as, in its sentence: "forward" after "bring" is earlier."""


class Read(Value):
    """A text and the pieces in it that count, with its changes of mind among them."""

    tokens: Tokens
    found: tuple[Found, ...]
    whole: bool
    """There is nothing else in the text."""


@lru_cache(maxsize=256)
def read(text: str) -> Read:
    tokens = Tokens(text[:_LONGEST])
    every = pieces_of(tokens)
    whole = _whole(tokens, every)
    return Read(tokens, tuple(_counting(tokens, every, whole)), whole)


def find(text: str) -> list[Mention]:
    """The times in what somebody said, in order; none over another."""
    known = read(text)
    found: list[Mention] = []
    for group in _groups(known):
        describes = _describes(known, group, text)
        least = found[-1].end if found else 0
        start, end = _stretch(known, group, len(text) if describes else least)
        says = frozenset(word for one in group for word in _says(one.piece))
        pieces = _within(known, group)
        last = known.tokens.ends[group[-1].end - 1]
        beside = text[last:end].strip() if isinstance(group[-1].piece, p.Shift) else ""
        found.append(Mention(start, end, text[start:end], says, describes, beside, pieces))
    return found


def without(text: str, mentions: Sequence[Mention] | None = None) -> str:
    """What is left when they are taken out: a title, with no "at" or "on" left hanging. Unless it
    is said which, those that say which thing is meant stay."""
    rest, at = "", 0
    if mentions is None:
        mentions = [mention for mention in find(text) if not mention.describes]
    for mention in mentions:
        rest = _joined(rest, text[at : mention.start])
        rest = _DANGLING.sub("", rest)
        at = mention.end
    tail = text[at:]
    rest = _joined(rest, _LOOSE.sub("", tail) if at else tail)
    return rest.strip(" ,;–—-\t\n")


def _joined(left: str, right: str) -> str:
    right = right.lstrip(" ,;") if not left or left.endswith((" ", ",")) else right
    if not left or not right:
        return left + right
    close = right[0] in ".!?,;" or left[-1].isspace() or right[0].isspace()
    return left + right if close else f"{left} {right}"


# --- Which pieces count -------------------------------------------------------------------


def _whole(t: Tokens, every: Sequence[Found]) -> bool:
    covered = {at for one in every for at in range(one.start, one.end)}
    return all(
        at in covered or t.kinds[at] == "mark" or t.words[at] in lex.SAYING for at in range(t.count)
    )


def _counting(t: Tokens, every: list[Found], whole: bool) -> Iterator[Found]:
    kept = [one.strength != "weak" and _plausible(t, one) for one in every]
    for order in (range(len(every)), range(len(every) - 1, -1, -1), range(len(every))):
        for n in order:
            if not kept[n] and every[n].strength == "weak":
                kept[n] = not isinstance(every[n].piece, _MARKS) and _weakly(
                    t, every, kept, n, whole
                )
    for n, one in enumerate(every):
        if kept[n] or (isinstance(one.piece, _MARKS) and any(kept[n + 1 :])):
            yield one


def _plausible(t: Tokens, one: Found) -> bool:
    """Not "half two dozen" or "seven thirty year olds": what is counted follows."""
    if one.strength == "firm":
        return True
    word = t.word(one.end)
    if isinstance(one.piece, p.Hour):
        return word not in lex.COUNTED and not (
            t.kind(one.end) == "word" and _PLURAL.fullmatch(word)
        )
    return True


def _weakly(t: Tokens, every: list[Found], kept: list[bool], n: int, whole: bool) -> bool:
    one = every[n]
    piece, before, after = one.piece, t.word(one.start - 1), t.word(one.end)
    near = _near(t, every, kept, n)
    if isinstance(piece, p.Hour):
        if _of_a_part(t, every, n):
            return True
        return _hour_counts(t, one, near, _touching(every, kept, n), whole)
    match piece:
        case p.Date(day=int(), month=None):
            if after == "one" or (t.kind(one.end) == "word" and after not in lex.FUNCTION):
                return False
            begun = t.word(one.start) == "the" or t.kind(one.end - 1) == "ordinal"
            asked = before in lex.PREPOSITIONS - {"for", "of", "in", "to", "about"}
            return whole or bool(near) or (asked and begun)
        case p.Span():
            beside = [every[m].piece for m in _neighbours(t, every, n)]
            directed = any(isinstance(other, p.Direction) for other in beside)
            return whole or directed or _shoved(t, one)
        case p.Direction():
            beside = [every[m].piece for m in _neighbours(t, every, n)]
            spans = (p.Span, p.Shift)
            if any(isinstance(other, spans) for other in beside):
                return True
            return piece.trailing and any(isinstance(o, p.Relative) for o in near)
        case p.Zone():
            gap = t.words[every[n - 1].end : one.start] if n else ["?"]
            touching = n and kept[n - 1] and gap in ([], ["in"], [","], [",", "in"])
            return bool(touching) and any(isinstance(o, p.Hour | p.Part) for o in near)
        case p.For() | p.Times() | p.Except() | p.From():
            repeated = any(kept[m] and isinstance(o.piece, p.Every) for m, o in enumerate(every))
            return repeated or (whole and isinstance(piece, p.From))
        case p.Shift():
            return whole or _moves(t, one, lex.MOVERS)
        case p.Unknown():
            return whole or t.word(one.start - 2) in lex.PREPOSITIONS
        case p.Degree():
            return any(kept[m] and isinstance(o.piece, p.Part) for m, o in enumerate(every))
        case p.Feast():
            return whole or before in ("by", "at", "on", "before", "until", "over")
        case p.Date(day=None, month=int()):
            return bool(near) or (whole and t.kind(one.end) != "word")
    return whole or bool(near)


def _moves(t: Tokens, one: Found, verbs: Container[str]) -> bool:
    return any(word in verbs for word in t.words[max(0, one.start - _MOVED) : one.start])


def _shoved(t: Tokens, one: Found) -> bool:
    """ "Kick it down the road two days"; in "move the two hour session" it is how long."""
    ends = t.kind(one.end) != "word" or t.word(one.end) in lex.FUNCTION
    return (
        ends
        and t.word(one.start - 1) not in ("the", "my", "for", "every")
        and _moves(t, one, _SHOVERS)
    )


def _hour_counts(
    t: Tokens, one: Found, near: list[p.Piece], beside: tuple[bool, bool], whole: bool
) -> bool:
    """A bare number, as an hour. `beside`: does a time touch it, before and after?"""
    before, after = t.word(one.start - 1), t.word(one.end)
    word = t.word(one.start)
    if word in ("one", "1") and before in ("the", "that", "this", "which", "no", "any", "another"):
        return before == "no" and t.kind(one.start - 1) == "word" and bool(near)
    if word == "one" and (t.nth(one.start - 1) or "the" in (t.word(one.start - 2), before)):
        return False  # "the evening one"
    counted = after in lex.COUNTED or (
        t.kind(one.end) == "word" and _PLURAL.fullmatch(after) is not None
    )
    if (
        counted
        or after in _SYMBOLS
        or before in _SYMBOLS
        or before in ("$", "£", "€", "number", "room", "#")
    ):
        return False
    if whole:
        return (before != "in" and before != "for") or bool(near)
    if _corrected(t, one):
        return True
    ends = t.kind(one.end) != "word" or after in lex.FUNCTION or after == "a"
    ends = ends or bool(near)
    if before == "at":
        return after != "-" or not t.kind(one.end + 1)
    than = before == "than" and t.word(one.start - 2) in ("later", "earlier", "sooner")
    if before in lex.CLOCK_PREPOSITIONS or than:
        return ends and after not in ("the", "my", "your", "-")
    if near and t.kind(one.start) == "clock":
        return True
    begins = t.kind(one.start - 1) in ("", "mark") or before in _BEFORE_HOUR
    return (
        bool(near)
        and (begins or beside[0])
        and (t.kind(one.end) != "word" or after in lex.FUNCTION or beside[1])
    )


def _corrected(t: Tokens, one: Found) -> bool:
    """ "Make it ten.", at the end of what somebody says."""
    made = t.word(one.start - 2) == "make" and t.word(one.start - 1) in ("it", "that")
    return made and (t.kind(one.end) != "word" or t.word(one.end) in lex.FUNCTION)


def _of_a_part(t: Tokens, every: list[Found], n: int) -> bool:
    """ "seven in the morning", whatever stands before it."""
    if n + 1 == len(every) or not isinstance(every[n + 1].piece, p.Part):
        return False
    after = every[n + 1].end
    gap = t.words[every[n].end : every[n + 1].start]
    ends = t.kind(after) != "word" or t.word(after) in lex.FUNCTION  # not "8 night buses"
    return gap in (["in", "the"], ["at"]) or (not gap and ends)


def _touching(every: list[Found], kept: list[bool], n: int) -> tuple[bool, bool]:
    """Do pieces that count stand right before and right after it?"""
    before = n > 0 and kept[n - 1] and every[n - 1].end == every[n].start
    after = n + 1 < len(every) and every[n + 1].start == every[n].end
    return before, after and not isinstance(every[n + 1].piece, _MARKS)


def _neighbours(t: Tokens, every: list[Found], n: int) -> list[int]:
    found = []
    for step in (-1, 1):
        m = n + step
        while 0 <= m < len(every) and isinstance(every[m].piece, _MARKS):
            m += step
        if 0 <= m < len(every):
            left, right = (m, n) if m < n else (n, m)
            if _bridged(t, every, left, right, loose=True):
                found.append(m)
    return found


def _near(t: Tokens, every: list[Found], kept: list[bool], n: int) -> list[p.Piece]:
    """The kept pieces beside it."""
    return [every[m].piece for m in _neighbours(t, every, n) if kept[m]]


def _bridged(
    t: Tokens, every: Sequence[Found], left: int, right: int, *, loose: bool = False
) -> bool:
    """Is there nothing between the two that says anything else?"""
    between = {at for one in every[left + 1 : right] for at in range(one.start, one.end)}
    gap = range(every[left].end, every[right].start)
    if len(gap) > _GAP + len(between):
        return False
    extra = (
        ("it", "them", "that", "my", "by", "is", "good", "fine", "works", "make") if loose else ()
    )
    for at in gap:
        word = t.words[at]
        if at in between or word in lex.BRIDGES or word in extra:
            continue
        if t.kinds[at] == "mark" and word not in ".!?;:":
            continue
        return False
    return True


# --- Which of them are one time -------------------------------------------------------------


def _groups(known: Read) -> list[list[Found]]:
    groups: list[list[Found]] = []
    marked = False
    every = known.found
    last = -1
    for n, one in enumerate(every):
        if isinstance(one.piece, _MARKS):
            marked = True
            continue
        joined = last >= 0 and _bridged(known.tokens, every, last, n, loose=known.whole or marked)
        if joined and (marked or _fits(known.tokens, groups[-1], one)):
            groups[-1].append(one)
        else:
            groups.append([one])
        marked, last = False, n
    return [group for group in groups if any(_tells(one.piece) for one in group)]


def _tells(piece: p.Piece) -> bool:
    return not isinstance(piece, p.Degree | p.Direction | p.Zone | p.Times)


def _fits(t: Tokens, group: list[Found], one: Found) -> bool:
    """Two hours with nothing but a comma between them are of two things."""
    kinds = [type(other.piece) for other in group]
    for sort in (_DAYS, (p.Hour,)):  # "to Thursday, and then on Friday"
        again = isinstance(one.piece, sort) and any(issubclass(kind, sort) for kind in kinds)
        if again and "then" in t.words[group[-1].end : one.start]:
            return False
    if isinstance(one.piece, p.Every):
        every = [o.piece for o in group if isinstance(o.piece, p.Every)]
        return not every or one.piece in every or p.Hour not in kinds
    if isinstance(one.piece, p.Hour):
        hours = [o.piece for o in group if isinstance(o.piece, p.Hour)]
        link = t.word(group[-1].end)
        return (
            not hours
            or one.piece in hours
            or _refines(hours[-1], one.piece)
            or link == "or"
            or (link == "and" and one.start == group[-1].end + 1)
        )
    if isinstance(one.piece, p.Weekday | p.Relative) and type(one.piece) in kinds:
        same = [o.piece for o in group if type(o.piece) is type(one.piece)]
        touching = one.start == group[-1].end
        return one.piece in same or touching or t.word(group[-1].end) in ("or", "and", ",")
    if isinstance(one.piece, p.Part) and p.Part in kinds:
        return any(o.piece == one.piece for o in group)
    return True


def _refines(first: p.Hour, second: p.Hour) -> bool:
    """ "six, six in the evening", "at 7, 7 pm"."""
    if first.hour is None or second.hour is None or (first.certain and second.certain):
        return False
    return first.hour % 12 == second.hour % 12 and first.minute == second.minute


def _says(piece: p.Piece) -> Iterator[str]:
    if isinstance(piece, (*_DAYS, p.Unknown)) or (isinstance(piece, p.Part) and piece.today):
        yield "day"
    if isinstance(piece, p.Hour | p.Range | p.Routine | p.Now):
        yield "hour"
    if isinstance(piece, p.Part) or (isinstance(piece, p.Every | p.Shift) and piece.part):
        yield "part"
    if isinstance(piece, _REPEATS):
        yield "repetition"
    if isinstance(piece, p.Shift | p.Same | p.Direction):
        yield "relative"
    if isinstance(piece, p.FromNow | p.Span | p.Past):
        yield "day" if piece != p.Past() and piece.amount.whole_days else "hour"  # type: ignore[union-attr]
    if isinstance(piece, p.Zone):
        yield "zone"


def _describes(known: Read, group: list[Found], text: str) -> bool:
    """Does it stand before its noun, as what belongs to it?"""
    t = known.tokens
    start, end = group[0].start, group[-1].end
    noun = t.kind(end) == "word" and t.words[end] not in lex.FUNCTION - lex.ALSO_NOUNS
    if not noun or any(one.start == end for one in known.found):
        return False
    if text[t.starts[end - 1] : t.ends[end - 1]].replace("’", "'").lower().endswith("'s"):
        return True
    kinds = (p.Weekday, p.Hour, p.Part, p.Feast)
    if not all(isinstance(one.piece, kinds) for one in group):
        return False
    at = start if t.words[start] in ("the", "my", "our") else start - 1
    if t.word(at) == "the":
        return t.word(at - 1) not in _AT_DAYS
    return t.word(at) in ("my", "our", "his", "her", "that", "their", "your")


def _thing(t: Tokens, group: list[Found], end: int) -> int:
    """Where the words end for what it is before or after: "an hour before the train"."""
    last = group[-1]
    if not (isinstance(last.piece, p.Shift) and not last.piece.beside and last.end == end):
        return end
    if t.word(end - 1) not in ("before", "after") or t.word(end) not in _OWNERS | {"the"}:
        return end
    at = end + 1
    while t.kind(at) == "word" and t.words[at] not in _THING_ENDS and at - end < _LONGEST_THING:
        at += 1
    return at if at > end + 1 else end


def _negation(known: Read, group: list[Found]) -> Found | None:
    """ "not" before what it says no to."""
    begun = group[0].start
    for one in known.found:
        between = known.tokens.words[one.end : begun] if one.end <= begun else ["?"]
        if isinstance(one.piece, p.Negation) and set(between) <= lex.PREPOSITIONS | {"the"}:
            return one
    return None


def _within(known: Read, group: list[Found]) -> tuple[Found, ...]:
    """Its pieces, with the changes of mind among them."""
    start, end = group[0].start, group[-1].end
    negated = _negation(known, group)
    inside = (one for one in known.found if start <= one.start and one.end <= end)
    return (negated, *inside) if negated else tuple(inside)


def _stretch(known: Read, group: list[Found], least: int) -> tuple[int, int]:
    """From the preposition before it to its last word."""
    t = known.tokens
    start, end = group[0].start, group[-1].end
    negated = _negation(known, group)
    if negated is not None and t.starts[negated.start] >= least:
        start = negated.start
    unknown = isinstance(group[0].piece, p.Unknown)
    while start and t.starts[start - 1] >= least:
        word, before = t.words[start - 1], t.word(start - 2)
        article = word in ("a", "an") or (unknown and word in _OWNERS)
        if t.words[max(0, start - 3) : start] == ["no", "later", "than"]:
            start -= 2
        elif word not in _LEADING and not (article and before in lex.PREPOSITIONS):
            break
        start -= 1
    end = _thing(t, group, end)
    if t.are(end, "or", "so"):
        end += 2
    elif t.word(end) in ("only", "sharp", "instead") and not known.whole:
        end += t.word(end) != "instead"
    return t.starts[start], t.ends[end - 1]
