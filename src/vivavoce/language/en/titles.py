"""What somebody would write on a list, made of what they said: without the asking, the times and
the small words around it."""

from __future__ import annotations

import re

from vivavoce.language.en.times import lexicon
from vivavoce.language.en.times.reading import find

_LEADING = re.compile(
    r"(?i)^(?:[\s,.;:!?-]+|(?:please|so|well|um+|uh+|er+|oh|okay|ok|and|then|also|now|just|"
    r"actually)\b"
    r"|(?:can|could|would|will) you\b|(?:i (?:need|want|would like) (?:that )?)?"
    r"you (?:to )?(?:remind|tell) me\b|"
    r"the (?:(?:first |second |other )?(?:thing|one)|first|second|other) is\b|"
    r"it(?:'s| is) (?=to\b|about\b|for\b)|is (?=to\b)|remind me\b|"
    r"tell me\b|nudge me\b|ping me\b|poke me\b|"
    r"don'?t let me forget\b|don'?t forget\b|"
    r"(?:i|we)(?:'ve| have|'m| am|'re| are)? (?:got to|gotta|need to|have to|"
    r"must|want to|ought to|should|to)\b|i(?:'d| would) (?:like|love) to\b|make a note\b|note\b|"
    r"(?:to|that|about|of|for|on|at|in|by)\b)"
)
_ASKED = (
    r"\b(?:remind(?:ing)?|tell(?:ing)?|nudg(?:e|ing)|ping|poke|bug|nag|prod|alert|notify|buzz|"
    r"prompt|warn|shout at|give me an? \w+|have you remind) ?(?:me )?(?:to|about|of|that)\b"
)
_ASKING = re.compile(rf"(?i)^.*{_ASKED}")
"""What is asked for is the rest."""
_ASKS = re.compile(rf"(?i){_ASKED}\s*")
_CLAUSE = re.compile(
    r"(?i)[,.;:!?…–—]|\b(?:because|cos|since|so|but|if|unless|although|though|while|whilst)\b"
)
"""What ends the words that a verb has after it."""
TRAILING = re.compile(
    r"(?i)(?:[\s,.;:!?-]+|(?<![\w-])(?:please|and|or|then|at|on|in|by|for|from|around|about|the|to|thanks|"
    r"thank you|would you|will you|if you can|um+|uh+|okay|ok))$"
)
_HEAD = re.compile(
    r"(?i)\b(?:(?:these|the following|a few|some|a couple of|two|three|four|five|six|several|\d)"
    r"(?: \w+)? (?:things|reminders|jobs|errands|items|tasks|bits)|the following|a list)\b"
    r"(?: (?:to do|for me|for you|please))*"
)
"""What announces a list, and is nothing on it."""
_TOLD = re.compile(
    r"(?i)\W*(?:(?:i|he|she|it|we|they|you|there|that|which|who)(?:'\w+)?|because|cos|so|but|"
    r"\w+ me)\b"
)
_FEWEST = 3
"""Times that make a list where nobody announced one."""
_EMPTY = frozenset(
    lexicon.listed(
        "make that this it them so a an the one goal reminder actual real my please put down as "
        "fine well okay ok thing something for me to do be is and of add set up new note save task "
        "start starts begin begins happens remembering reminding shout nudge ping poke prod"
    )
)
_OF_SOMETHING = frozenset(
    lexicon.listed(
        "call text ring phone email message buy get fetch collect bring send pick take find post "
        "return renew order give put make tell ask"
    )
)
_PARTICLES = frozenset(lexicon.listed("up back out off in over"))
_HESITATION = re.compile(r"(?:\s*,)?\s*\b[Uu](?:m+|h+m?)\b,?|(?:\s*,)?\s*\b(?:er|erm|hmm?)\b,?")
_POINTED = re.compile(
    r"(?i)(?:\b(?:it|them|those|these|that|this|him|her|em)|'em)\b(?=\W*$)|"
    r"(?:\b(?:it|them|em)|'em)\b(?=\s+(?:to|for|in|on|off|out|up|back|from|with|away|over|before|after|by|at)\b)"
)
_SOMETHING = re.compile(r"(?i)\b(?:something|anything|some ?thing or other|a thing or two)\b")
POINTS = re.compile(r"(?i)\b(?:that|this|it|those|these|them|so)\b")


def untimed(words: str, consumed: str | None) -> str:
    """Without the times that are said elsewhere; None: without any."""
    text = words
    for span in reversed(find(words)):
        if consumed is None or span.words.casefold().strip(" .,") in consumed.casefold():
            text = f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}"
    return text


_EVENT = re.compile(r"(?i)^(?:an?|my|our|the|this|his|her|their|another)\s")
_HAS_EVENT = re.compile(
    r"(?i)\b(?:have|has|having|['’]ve|got|had|there(?:['’]s| is| are))(?: (?:an?|my|our|the))?\s*$"
)
_ON_DAY = re.compile(
    r"(?i)^(?:on |this |next |tomorrow\b|today\b|tonight\b|the day after\b|\w+day(?: next week)?$)"
)


def day_of_event(words: str, said: str) -> str:
    """The day in what is called so, where that is something which takes place: "an interview on
    Thursday with the bank" is on Thursday. The Friday report and a Sunday roast have no day, and
    "to book a table for Saturday" is not to be done then."""
    at = said.casefold().find(words.casefold())
    if at < 0 or not (_EVENT.match(words) or _HAS_EVENT.search(said[:at])):
        return ""
    days = [one for one in find(words) if "day" in one.says and not one.describes]
    if len(days) != 1 or {"hour", "part", "repetition"} & days[0].says:
        return ""
    named, behind = days[0].words, words[days[0].end :]
    ends = re.match(r"(?i)\s*(?:$|[,.;]|(?:with|at|in|by|for|about|and|to|over|from|on)\b)", behind)
    return named if ends and _ON_DAY.match(named) else ""


def says_something(title: str) -> bool:
    """More than "make that" or "it", or than a verb that something must follow: "text"."""
    said = re.findall(r"[^\W_]+", title.casefold())
    found = [word for word in said if word not in _EMPTY]
    return bool(found) and not (said[0] in _OF_SOMETHING and set(said[1:]) <= _PARTICLES)


_DONE_TO_IT = re.compile(
    r"(?i)(?P<verb>[a-z]+(?: (?:up|out|off|back|down|in|on|away))?) (?:it|them|those|these|that)"
    r"(?P<rest>\b.*)"
)
_BROUGHT_UP = re.compile(
    r"(?i)\b(?:gave|given|brought|got|bought|sent|ordered|left|handed|lent|prescribed|have|has|"
    r"'ve|there(?:'s| is| are)|need|made|found)\s+(?:me |us |got )?"
    r"(?P<what>(?!(?:got|ordered|bought|made|found|left|sent|brought)\b)"
    r"(?!to\b|been\b|it\b|that\b|them\b|you\b|me\b|us\b|a lot\b)[^,.;!?]+?)"
    r"(?=\s*[,.;!?]|\s+(?:and|but|so|which|that)\b)"
)


_SPOKEN_OF = re.compile(
    r"(?i)(?:^|[.;!?]\s+)(?:\w+,\s+)?(?P<what>(?:the|my|our|his|her|their|this)\b[^.,;!?]{2,40}?)\s*"
    r"(?:'s\b|\b(?:is|are|was|were|runs?|ran|expires?|ends?|ended|needs?|wants?|has|have|comes?|came|"
    r"goes|went|broke|leaks?|stopped|starts?|started|arrives?|arrived|closes?|opens?|falls)\b)"
)


def asked_for(said: str) -> tuple[int, int] | None:
    """Where in it the words are that name what is asked for: "buy stamps" in "and remind me to buy
    stamps". None where nothing is named so; where the asking is all there is, they are empty."""
    if (asking := _ASKS.search(said)) is None:
        return None
    start, end = asking.end(), clause_end(said, asking.end())
    return (start, end) if end == start or says_something(stripped(said[start:end])) else None


def clause_end(said: str, start: int) -> int:
    """Where the clause ends that goes on there."""
    found = _CLAUSE.search(said, start)
    end = found.start() if found is not None else len(said)
    return start + len(said[start:end].rstrip())


def leaves_open(title: str) -> bool:
    """Whether it says of what is to be done only that there is something: "do something about my
    sleep"."""
    return _SOMETHING.search(title) is not None


def before(words: str, said: str) -> str:
    """What "that" is about: the last thing that was said before it."""
    at = said.casefold().find(words.casefold())
    parts = [stripped(part) for part in re.split(r"[.!?;,]+", said[: max(at, 0)])]
    return next((part for part in reversed(parts) if says_something(part)), "")


def listed(said: str) -> list[tuple[str, str]]:
    """The things of a list that was said in one breath, each with its time, in their order:
    "tomorrow seven am iron the shirt twelve noon fetch the cake". Each time has one of the
    stretches beside it, so just one stretch says nothing. Empty where it is no such list."""
    spans = [span for span in find(said) if not span.describes]
    if len(spans) < (2 if _HEAD.search(said) else _FEWEST):
        return []
    ends = [0, *(span.end for span in spans)]
    gaps = [said[a:b] for a, b in zip(ends, [*(s.start for s in spans), len(said)], strict=True)]
    gaps[0] = _HEAD.split(gaps[0])[-1]
    found = [stripped(gap) for gap in gaps]
    empty = [n for n, title in enumerate(found) if not says_something(title)]
    if len(empty) != 1 or any(_TOLD.match(t) for n, t in enumerate(found) if n != empty[0]):
        return []
    return [(found[n + (n >= empty[0])], span.words) for n, span in enumerate(spans)]


_TO_BE_DONE = re.compile(
    r"(?i)\b(?:have|has|had|got|there(?:'s| is| are)|i've|we've) (?:still |also |just |yet )?"
    r"(?P<what>(?:an?|the|that|this|those|these|some|my|our|his|her|their|another|two|three) "
    r"(?:(?!\b(?:to|for|that|which|who|until|till)\b)[^,.;!?]){2,40}?) to\s+$"
)
_AGREED = re.compile(
    r"(?i)\b(?:agreements?|arrangements?|plans?|promises?|deals?|appointments?|chances?|duty|habits?|"
    r"intentions?|decisions?|needs?|urge|ideas?|way|reasons?|right|wish|aims?|goals?|permission|"
    r"offers?|invitations?|opportunity|opportunities|slots?|times?|dates?|days?|moments?|order|"
    r"orders|instructions?|commitments?|obligations?|tendency|mind|hope|hopes|date|bet|pact)$"
)
"""What somebody has to do something is not what it is done to: "an agreement to talk"."""
_WITHOUT_OBJECT = frozenset(
    lexicon.listed("up back out off in over away down to at on by for with before after round from")
)
_STRANDED = frozenset(lexicon.listed("to at for with about on through after over into"))


def of_what(deed: str, words: str, said: str) -> str:
    """With what it is done to, where that was said before it: "I've that laptop to hand back to
    the uni" is to hand that laptop back, "a meeting to go to" is to go to a meeting."""
    at = said.casefold().find(words.casefold().strip())
    found = _TO_BE_DONE.search(said[: max(at, 0)])
    whole = words.strip(" ,.;:!?").split()
    if found is not None and _AGREED.search(found["what"]):
        found = found if whole[-1:] and whole[-1].casefold() in _STRANDED else None
    if found is None or not " ".join(whole).casefold().startswith(deed.casefold()):
        return deed
    verb, *rest = whole
    if rest and rest[0].casefold() not in _WITHOUT_OBJECT:
        return deed
    last = rest[-1:] and rest[-1].casefold() in _STRANDED
    return " ".join((verb, *rest, found["what"]) if last else (verb, found["what"], *rest))


def of_whom(title: str, words: str, said: str) -> str:
    """With the name of what is only pointed at: "the doctor gave me drops, I have to take them" is
    to take drops, where it was said what there is just before."""
    pointed = _DONE_TO_IT.fullmatch(title)
    at = said.casefold().find(words.casefold().strip())
    if pointed is None or at <= 0:
        return title
    found = [m for one in (_BROUGHT_UP, _SPOKEN_OF) for m in one.finditer(said[:at])]
    what = max(found, key=lambda m: m.start())["what"].strip(" ,") if found else ""
    return f"{pointed['verb']} {what}{pointed['rest']}" if says_something(what) else title


def bare(title: str) -> str:
    """Without the article that it begins with: "a video call"."""
    short = re.sub(r"(?i)^an?\s+(?=\w+[^\W\d_])", "", title)
    short = re.sub(r"(?i)^(?:be )?able (?:to )?(?=\w)", "", short)
    return short if says_something(short) else title


def points(title: str) -> bool:
    """Whether it names what it is about only by "it": "start on it"."""
    return _POINTED.search(title) is not None


def named(title: str, name: str) -> str:
    """With the name of what it points to."""
    name = name.strip(" ,.;!?")
    lower = re.match(r"(?:The|My|Our|An?|His|Her|Their|This|That|Those|These)\b", name)
    name = name[:1].lower() + name[1:] if lower else name
    return _POINTED.sub(name, title, count=1)


def stripped(text: str) -> str:
    text = _ASKING.sub("", _HESITATION.sub("", text))
    before = None
    while text != before:
        before = text
        text = TRAILING.sub("", _LEADING.sub("", text.strip(), count=1), count=1).strip()
    return text
