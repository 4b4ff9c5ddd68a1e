"""The hour of the day, its parts, and things that have their hour."""

from __future__ import annotations

from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times.grammar.found import Found, Strength
from vivavoce.language.en.times.pieces import Degree, Half, Hour, Part, Range, Routine
from vivavoce.language.en.times.tokens import Tokens

_HALVES = lex.words("past after to till til of")
_NAMED_DAYS = lex.WEEKDAYS.keys() | {"weekday", "weekend"}
_MINUTES = lex.words("minutes minute mins min")


def hour_at(t: Tokens, at: int) -> Found | None:
    for production in (_written_clock, _past_or_to, _military, _fixed, _plain):
        if (found := production(t, at)) is not None:
            return found
    return None


def range_at(t: Tokens, at: int) -> Found | None:
    """ "between two and three", "from two to three pm"."""
    word = t.word(at)
    if word not in ("between", "from"):
        return None
    first = hour_at(t, at + 1)
    links = ("and",) if word == "between" else ("to", "till", "until", "til")
    if first is None or t.word(first.end) not in links:
        return None
    last = hour_at(t, first.end + 1)
    if last is None or not (isinstance(first.piece, Hour) and isinstance(last.piece, Hour)):
        return None
    begins, ends = first.piece, last.piece
    if ends.certain and not begins.certain and ends.hour and begins.hour and begins.hour <= 12:
        noon = 12 if ends.hour >= 12 and begins.hour % 12 <= ends.hour % 12 else 0
        begins = Hour(begins.hour % 12 + noon, begins.minute, certain=True)
    return Found(Range(begins, ends, word == "from"), at, last.end, "fair")


def _closed(
    t: Tokens, at: int, end: int, hour: int, minute: int, strength: Strength
) -> Found | None:
    """With "o'clock", "a.m." and the like after it."""
    certain, midnight = hour == 0 or hour > 12, False
    while True:
        ahead = t.skip(end)
        if t.word(ahead) in ("oclock", "ish", "sharp") or t.are(ahead, "o", "clock"):
            strength = "firm" if t.word(ahead) != "ish" else "fair"
            end = ahead + 1 + (t.word(ahead) == "o")
        elif (after := t.after(ahead, "on", "the", "dot")) > 0:
            end, strength = after, "firm"
        else:
            break
    half, ahead = "", t.skip(end)
    if t.kind(ahead) == "half":
        half, end = t.word(ahead), ahead + 1
    elif t.word(ahead) in ("a", "p") and t.word(ahead + 1) == "m":
        half, end = t.word(ahead) + "m", ahead + 2
    elif hour == 12 and t.word(ahead) in ("noon", "midday", "midnight"):
        half, midnight = ("am", True) if t.word(ahead) == "midnight" else ("pm", False)
        end = ahead + 1
    if half:
        strength, certain = "firm", True
        if 1 <= hour <= 12:
            hour = hour % 12 + (12 if half == "pm" else 0)
    if t.word(t.skip(end)) in ("ish", "sharp") or t.are(end, "on", "the", "dot"):
        end = t.skip(end) + (3 if t.word(end) == "on" else 1)
    if hour > 23 or minute > 59:
        return None
    return Found(Hour(hour, minute, certain, midnight), at, end, strength)


def _written_clock(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if t.kind(at) == "clock":
        hour, minute = int(word[:-3] if word.count(":") < 2 else word[:-6]), word
        digits = minute.replace("h", ":").replace(".", ":").split(":")
        strength: Strength = "weak" if "." in word else "firm"
        found = _closed(t, at, at + 1, int(digits[0]), int(digits[1]), strength)
        if found is None or not word.startswith("0") or not isinstance(found.piece, Hour):
            return found if hour < 24 else None
        return found._replace(piece=Hour(found.piece.hour, found.piece.minute, certain=True))
    if t.kind(at) != "figure" or not word.isdecimal() or len(word) not in (3, 4):
        return None
    hour, minutes = int(word[:-2]), int(word[-2:])
    if hour > 23 or minutes > 59:
        return None
    hours = t.word(at + 1) in ("hours", "hrs", "hour")
    if hours and t.word(at - 1) in ("in", "within", "for", "every"):
        return None
    if hours and t.word(at + 2) in ("from", "later", "ago"):
        return None
    found = _closed(t, at, at + 1 + hours, hour, minutes, "firm" if hours else "weak")
    if found is None or not isinstance(found.piece, Hour) or found.piece.certain:
        return found
    sure = hours or word.startswith("0")
    known: Strength = "firm" if hours else "fair" if sure and len(word) == 4 else "weak"
    return found._replace(piece=Hour(found.piece.hour, minutes, certain=sure), strength=known)


def _past_or_to(t: Tokens, at: int) -> Found | None:
    """ "half past seven", "quarter to eight", "twenty past ten", "half seven"."""
    begun = at
    at += t.word(at) == "a" and t.word(at + 1) in ("quarter", "half")
    word, certain = t.word(at), False
    if word in ("half", "quarter"):
        minutes, end = 30 if word == "half" else 15, at + 1
    else:
        small = t.small(at)
        if small is None or not 0 < small[0] < 60 or t.word(at) == "oh":
            return None
        minutes, end = small
        if minutes == 5 and (tens := t.after(end, "and", "twenty")) > 0:
            minutes, end = 25, tens
        certain = t.word(end) in _MINUTES
        end += certain
    ahead = t.skip(end)
    link = t.word(ahead)
    if link not in _HALVES:
        if word == "half" and (hour := _hour_number(t, ahead)) and 1 <= hour[0] <= 12:
            counted = t.word(hour[1]) in lex.COUNTED and not _of_part(t, hour[1])
            if t.word(hour[1]) in lex.UNITS or counted:
                return None
            firmly: Strength = "firm" if _of_part(t, hour[1]) else "fair"
            return _closed(t, begun, hour[1], hour[0], 30, firmly)
        return None
    if minutes % 5 and not certain:
        return None  # "9 to 5" is no time of day
    if link == "of" and word != "quarter" and not certain:
        return None
    hour = _hour_number(t, t.skip(ahead + 1))
    if hour is None:
        bare = link in ("past", "to") and t.kind(ahead + 1) != "word"
        bare = bare or (link == "past" and t.word(ahead + 1) in lex.HESITATIONS | {"and", "but"})
        only = Hour(None, minutes if link == "past" else -minutes)
        return Found(only, begun, ahead + 1, "weak") if bare else None
    value, end = hour
    fixed = t.word(end - 1) in ("noon", "midday", "midnight")
    if link in ("to", "till", "til", "of"):
        minutes, value = 60 - minutes, value - 1
        value = (
            value + (24 if fixed else 12) if value <= 0 and (fixed or value < 0) else value or 12
        )
    found = _closed(t, begun, end, value % 24, minutes, "firm")
    if found and fixed and isinstance(found.piece, Hour):
        return found._replace(piece=Hour(found.piece.hour, found.piece.minute, certain=True))
    return found


def _hour_number(t: Tokens, at: int) -> tuple[int, int] | None:
    word = t.word(at)
    if word in ("noon", "midday"):
        return 12, at + 1
    if word == "midnight":
        return 0, at + 1
    small = t.small(at)
    return small if small and small[0] <= 23 else None


_DATED = lex.WEEKDAYS.keys() | {"tomorrow", "today", "tonight"}


def _military(t: Tokens, at: int) -> Found | None:
    """ "oh nine hundred", "nineteen hundred hours", "eighteen hours thirty", "zero six thirty"."""
    begun, zero = at, t.word(at) in ("oh", "o", "zero")
    small = t.small(t.skip(at + 1)) if zero else t.small(at)
    if small is None or small[0] > 23 or (zero and small[0] > 9):
        return None
    hour, end = small
    ahead = t.skip(end)
    if t.word(ahead) == "hundred":
        end = ahead + 1
        hours = t.word(end) in ("hours", "hrs", "hour")
        dated = t.word(end) in _DATED
        alone = hour > 12 and t.word(end) in lex.FUNCTION | {""}
        if not (hours or zero or dated or alone):
            return None
        if hours and t.word(at - 1) in ("in", "within", "for", "every"):
            return None
        sure: Strength = "firm" if zero or hours else "fair" if dated else "weak"
        return Found(Hour(hour, 0, certain=True), begun, end + hours, sure)
    counted = t.word(ahead) in ("hours", "hrs", "hour") and t.small(t.skip(ahead + 1))
    if counted and counted[0] < 60 and t.word(counted[1]) not in lex.UNITS:
        return Found(Hour(hour, counted[0], certain=hour > 12), begun, counted[1], "fair")
    if zero and (minutes := t.small(ahead)) and 10 <= minutes[0] < 60:
        return Found(Hour(hour, minutes[0], certain=True), begun, minutes[1], "fair")
    return None


def half_at(t: Tokens, at: int) -> Found | None:
    """ "PM", said of an hour that was said before."""
    said = t.kind(at) == "half" and t.word(at - 1) != "i"  # "I am"
    return Found(Half(t.word(at)), at, at + 1, "weak") if said else None


def _fixed(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word in ("noon", "midday"):
        return Found(Hour(12, 0, certain=True), at, at + 1)
    if word == "midnight":
        return Found(Hour(0, 0, certain=True, midnight=True), at, at + 1)
    return None


def _plain(t: Tokens, at: int) -> Found | None:
    """ "seven", "seven thirty", "nine oh five", "7 30 pm", "20 o'clock"."""
    small = t.small(at)
    if small is None or small[0] > 23 or t.word(at) in ("zero", "0"):
        return None
    hour, end = small
    if t.word(end) == "h" and t.kind(at) == "figure":
        return Found(Hour(hour, 0, certain=True), at, end + 1)
    minute = 0
    strength: Strength = "fair" if at in t.near else "weak"
    ahead = t.skip(end)
    if t.word(ahead) in ("oh", "o") and (one := t.small(t.skip(ahead + 1))) and 0 < one[0] < 10:
        minute, end, strength = one[0], one[1], "fair"
    elif (two := t.small(ahead)) and 10 <= two[0] < 60 and t.word(two[1]) not in lex.UNITS:
        both = t.kind(at) == t.kind(ahead)
        if both and (t.kind(ahead) == "word" or len(t.word(ahead)) == 2):
            minute, end = two
            strength = "fair" if minute % 5 == 0 and hour <= 23 else "weak"
    if not minute and (part := _and_part(t, end)) is not None:
        minute, end, strength = *part, "fair"
    after = t.word(t.skip(end))
    if on_the_clock(t, at, end):
        return Found(Hour(hour, minute, certain=hour > 12), at, end + 1)
    counted = after in lex.COUNTED and not _of_part(t, end)
    if after in lex.UNITS or counted or (after in lex.MONTHS and after != "may"):
        return None
    if after in ("quarters", "and") and t.word(end + 1) in ("a", "half"):
        return None
    return _closed(t, at, end, hour, minute, "firm" if _of_part(t, end) else strength)


def _of_part(t: Tokens, at: int) -> bool:
    """ "of the morning", "of an evening", "of a Tuesday", after an hour."""
    the = t.word(at + 1) in ("the", "a", "an")
    named = t.word(at + 2) in lex.DAY_PARTS | _NAMED_DAYS
    return t.word(at) == "of" and the and named


def on_the_clock(t: Tokens, at: int, end: int) -> bool:
    """ "At eighteen hours" is a time of day, "push it by two hours" is not."""
    day = t.word(at - 2) in lex.DAY_PARTS | lex.WEEKDAYS.keys() | {"tomorrow", "today"}
    asked = t.word(at - 1) == "at" or (t.word(at - 1) == "by" and day)
    if t.word(end) not in ("hours", "hrs") or not asked:
        return False
    onward = t.word(end + 1) in ("from", "later", "ago", "earlier", "sooner", "before", "after")
    small = t.small(at)
    return small is not None and small[0] < 24 and not onward and not moved(t, at)


def moved(t: Tokens, at: int) -> bool:
    """Whether the sentence so far says that something gets another time."""
    for n in range(at - 1, -1, -1):
        if t.word(n) in (".", "!", "?", ";"):
            return False
        if t.word(n) in lex.MOVERS:
            return True
    return False


def _and_part(t: Tokens, at: int) -> tuple[int, int] | None:
    """ "and half", "and a quarter", after an hour, as many say it whose language is another."""
    part = at + 1 + (t.word(at + 1) == "a")
    minutes = {"half": 30, "quarter": 15}.get(t.word(part), 0)
    after = t.word(t.skip(part + 1))
    counted = after in lex.UNITS or after in lex.COUNTED or after in ("past", "to", "of")
    if t.word(at) != "and" or not minutes or (counted and not _of_part(t, part + 1)):
        return None
    ends = t.kind(part + 1) != "word" or after in lex.FUNCTION or after in lex.DAY_PARTS
    named = after in lex.WEEKDAYS or after in ("tomorrow", "tonight", "today", "oclock")
    return (minutes, part + 1) if ends or named else None


# --- Parts of the day, and things that have their hour -------------------------------------


def part_at(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    if word == "tonight":
        return Found(Part("night", today=True), at, at + 1)
    begun, degree = at, ""
    today = word == "this"
    at += today
    if t.word(at) == "mid" or (end := t.after(at, "middle", "of", "the")) > 0:
        degree, at = "mid", t.skip(at + 1) if t.word(at) == "mid" else end
    elif t.word(at) in ("early", "late", "mid"):
        degree, at = t.word(at), t.skip(at + 1)
        at += 2 if t.are(at, "in", "the") else 0
    name = t.word(at)
    if name in lex.PLURAL_PARTS and t.word(begun - 1) in _NAMED_DAYS:
        name = lex.PLURAL_PARTS[name]
    if name not in lex.DAY_PARTS:
        if degree in ("early", "late") and not today:
            return Found(Degree(degree), begun, begun + 1, "weak")
        return None
    if t.word(begun - 1) == "good" or t.word(at + 1) in (
        "shift",
        "gown",
        "stand",
        "club",
        "sky",
        "school",
        "bus",
    ):
        return None
    if f"{degree} {name}" in lex.PARTS:
        name = f"{degree} {name}"
    end = at + 1 + (t.word(at + 1) == "time")
    said = today or degree or _asks_for_part(t, begun)
    return Found(Part(name, today), begun, end, "firm" if said else "weak")


def _asks_for_part(t: Tokens, at: int) -> bool:
    """ "in the evening" says when, a "parents' evening" and "Morning!" do not."""
    before = t.word(at - 1)
    if before == "the":
        return t.word(at - 2) in lex.PREPOSITIONS
    return before in ("at", "by", "until", "till", "before", "every", "each", "tomorrow", "all")


def routine_at(t: Tokens, at: int) -> Found | None:
    word = t.word(at)
    for phrase, name in _ROUTINES:
        if word == phrase[0] and (end := t.after(at, *phrase)) > 0:
            return Found(Routine(name), at, end)
    if word in lex.AT_TIMES:
        before = t.word(at - 1)
        side = f"{before} " if before in ("before", "after") else ""
        return Found(Routine(side + lex.AT_TIMES[word]), at, at + 1)
    if word in lex.MEALS and t.word(at - 1) in ("before", "after"):
        return Found(Routine(lex.MEALS[word]), at, at + 1)  # "an hour before dinner"
    if word in lex.MEALS and t.word(at + 1) in ("time", "hour", "break"):
        return Found(Routine(lex.MEALS[word]), at, at + 2, "fair")
    if word in ("before", "after", "at", "over", "during", "around", "by", "until"):
        ahead = at + 1 + (t.word(at + 1) in ("my", "the", "our"))
        name = t.word(ahead)
        end = ahead + 1
        if name in lex.AT_TIMES:
            return (
                Found(Routine(f"{word} {lex.AT_TIMES[name]}"), at, end)
                if word in ("before", "after")
                else None
            )
        if (
            name == "i"
            and word == "before"
            and t.word(ahead + 1) == "go"
            and t.are(ahead + 2, "to", "bed")
        ):
            return Found(Routine("before bed"), at, ahead + 4)
        if name == "going" and t.are(ahead + 1, "to", "bed"):
            return Found(Routine("before bed"), at, ahead + 3)
        if name not in lex.MEALS or (name == "work" and word not in ("before", "after")):
            return None
        if name in ("school", "bed", "tea") and word not in ("before", "after"):
            return None
        after = t.word(end)
        if after and t.kind(end) == "word" and after in ("with", "at", "party", "order"):
            pass
        side = f"{word} " if word in ("before", "after") else ""
        end += t.word(end) in ("break", "time", "hour")
        return Found(Routine(side + lex.MEALS[name]), at, end, "fair")
    return None


_ROUTINES = [
    (tuple(phrase.split()), name)
    for phrase, name in {
        "first thing in the morning": "first thing",
        "first thing": "first thing",
        "last thing at night": "last thing",
        "last thing": "last thing",
        "end of the day": "end of work",
        "end of day": "end of work",
        "end of play": "end of work",
        "close of play": "end of work",
        "close of business": "end of work",
        "end of business": "end of work",
        "cob": "end of work",
        "eod": "end of work",
        "when i wake up": "wake",
        "as soon as i wake up": "wake",
        "as soon as i get up": "wake",
        "when i get up": "wake",
        "after i wake up": "wake",
        "when i go to bed": "before bed",
        "when i finish work": "after work",
        "after i finish work": "after work",
    }.items()
]
