"""An order and what takes it back in the same breath: "Cancel the club. No, don't, it's at nine
now." Neither of the two is wanted; what it was about stays, and so does what is said after. Pure.

What is done by mistake to something that is there is worse than one question too many. So an order
to do away with something counts as taken back also where only its kind is denied ("cancel the gym …
no, don't delete it"), and where another order about the same thing follows a change of mind.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from vivavoce.language.en.ending import VERBS
from vivavoce.language.en.times.reading import find

_AWAY = (
    r"cancel|delete|remove|scrap|bin|drop|ditch|axe|erase|wipe|call off|cross off|strike off|"
    r"clear|get rid of|forget about|forget|take off|chuck|throw out"
)
_ELSE = (
    r"move|shift|push|postpone|reschedule|bump|delay|put off|change|swap|tick off|tick|"
    r"mark|check off|rename|put down|add|set|snooze"
)
_AWAY_NOW = _AWAY.replace("|forget about|forget", "")
_MIND = (
    r"(?:no|nope|nah|wait|hang on|hold on|actually|sorry|oh|ah|aiyo|hm+|um+|uh+|er+m?|oops|"
    r"on second thoughts?|scratch that|scrap that|strike that|correction|or rather|rather|"
    r"i take (?:it|that) back|forget (?:i said )?that|stop|but|well|please|just)"
)
_NOT = r"(?:don['’]?t|do not|never|no need to|not to|i don['’]?t (?:want|need) (?:you )?to|not)"
_LEAD = (
    r"(?:(?:please|just|now|so|okay|ok|right|then|and|eh|hey|oi|well|um+|uh+|er+m?|maybe|kindly|"
    r"can you|could you|would you|will you|can we|could we|you can|you could|i want (?:you )?to|"
    r"i(?:['’]d| would) like (?:you )?to|i was going to (?:say )?|i wanted to|i need (?:you )?to|"
    r"let['’]?s|go ahead and|better|you['’]?d better)\b[\s,]*)*"
)
_OFF = r"(?:\s+(?:off|out|away)(?:\s+(?:of|from)?\s*(?:the|my)\s+(?:list|calendar|diary))?)?"
_ORDER = re.compile(
    rf"(?i)(?:^|[.;!?,…—–-]\s+|\band\s+){_LEAD}(?P<verb>{_AWAY}|{_ELSE}|take|cross|strike|[a-z]+)\s+"
    rf"(?P<what>(?!(?:it|that|this|them|me|him|her|us|you|to)\b)[\w'’&]+(?:[\s-]+[\w'’&]+){{0,8}}?)"
    rf"{_OFF}(?:,?\s+please)?\s*(?=[.,;!?…—–]|\s-|$)"
)
_DENIAL = re.compile(
    rf"(?i)(?P<before>(?:^|[.,;!?…—–-]|\b{_MIND}\b)\s*(?:{_MIND}\b[\s,.!…—–-]*)*"
    rf"(?:i said |i mean |you know what[\s,]*)?)"
    rf"{_NOT}\s*(?:(?:actually|really|even|please)\s+)?"
    rf"(?:(?P<verb>{_AWAY}|{_ELSE}|take|cross|strike|[a-z]+?)(?:ing|l?ling|e?ting)?"
    rf"(?P<what>(?:\s+(?!(?:but|just|instead|only|and|so)\b)[\w'’]+){{0,6}}?))?"
    rf"\s*(?:$|[.,;:!?…—–]+|\s-\s|(?=\b(?:but|just|instead|only|and|so)\b))"
)
_INSTEAD = re.compile(
    rf"(?i)[\s.,;!?…—–-]+(?:{_MIND}\b[\s,.!…—–-]*)+"
    r"(?=(?:let['’]?s |you (?:can|could) |can you |could you |please |just |rather |instead )*"
    r"(?:make|move|push|put|shift|bump|postpone|reschedule|change|bring|delay|slide|"
    r"set|swap)\s+(?:it|that|this|them|him|her)\b)"
)
_MIND_AT_ALL = re.compile(
    r"(?i)\b(?:no|nope|nah|wait|hang on|hold on|actually|sorry|oops|on second thoughts?|scratch|"
    r"scrap that|rather|i take (?:it|that) back|stop|don['’]?t)\b"
)
_POINTS = re.compile(r"(?i)(?:it|that|this|them|him|her|those|these|any of (?:it|them))\b")
_GONE = frozenset(re.sub(r"\\s\+", " ", _AWAY).split("|")) | {"take", "cross", "strike"}
_OTHERWISE = frozenset(_ELSE.split("|"))


class Order(NamedTuple):
    start: int
    end: int
    verb: str
    what: str


def undenied(text: str) -> str:
    """Without an order that is taken back by its opposite; what it was about, and what is wanted
    instead, stay: "the club: it's at nine now". As it is where nothing is."""
    found = _denied(text) or _denied_first(text)
    if found is None:
        return text
    order, end = found
    rest = re.sub(r"(?i)^(?:but|so|and)\b[\s,]*", "", text[end:].strip(" ,.;:!-—–…"))
    if not _wants(rest):
        return text
    tail = text[end:].rstrip()
    rest += tail[-1] if tail[-1:] in ".!?" and rest[-1:] not in ".!?" else ""
    head = text[: order.start].rstrip(" ,;-—–…")
    return undenied(f"{head}{' ' if head else ''}{order.what.strip()}: {rest}")


def only_denies(text: str) -> bool:
    """ "Cancel the gym. No wait, don't.": it is to stay, and nothing else is wanted."""
    found = _denied(text) or _denied_first(text)
    if found is None:
        return False
    order, end = found
    return not _wants(text[: order.start]) and not _wants(text[end:])


def denies(stretch: str) -> bool:
    """Whether it says of something that it is not to be done away with."""
    return any(one.search(stretch) is not None for one in (_DENIED_FIRST, _NOT_THAT, _DENIED_IT))


_DENIED_IT = re.compile(
    rf"(?i)(?:don['’]?t|do not|never) (?:{_AWAY_NOW}|{_ELSE}|take|cross|strike|touch) "
    r"(?:it|that|this|them|those|any of (?:it|them))\b(?! (?:to|until|till)\b)"
)


def only_possible(stretch: str) -> bool:
    """ "I might have to cancel dinner", "if Jo cancels it", "should I scrap it?": that something
    may be done away with one day orders nothing."""
    match = _POSSIBLE.search(stretch)
    if match is None:
        return False
    end = re.search(r"[,.;:!?…]|\b(?:so|but|then|and)\b", stretch[match.end() :])
    rest = stretch[: match.start()] + (stretch[match.end() + end.start() :] if end else "")
    return _ENDS.search(rest) is None


_DOES = rf"(?:{_AWAY_NOW}|put off|tick off|tick|finish)(?:s|l?led|ed|l?ling|ing|ping|ped)?"
_POSSIBLE = re.compile(
    rf"(?i)\b(?:i|we|he|she|they|it)(?:['’](?:ll|d))?(?: \w+)? "
    rf"(?:might|may|could|probably|perhaps|maybe)"
    rf"(?: well| just| still| also| yet)*(?: have to| need to| want to| be| end up)?"
    rf" (?:\w+ )?{_DOES}\b|"
    rf"\b(?:might|may) (?:have to|need to|want to|be|end up) (?:\w+ )?{_DOES}\b|"
    rf"\b(?:maybe|perhaps|probably) (?:i|we)(?:['’]ll| will)? (?:just |better )?{_DOES}\b|"
    rf"\b(?:if|in case|unless|when|whether)\b (?!you\b)[^,.;!?]*\b"
    rf"(?:(?:to|must|can|could|should|might|i|we|i['’]ll|we['’]ll) {_DOES}|"
    rf"(?:{_AWAY_NOW}|finish)(?:s|l?led|ed|l?ling|ing|ping|ped))\b|"
    rf"\b(?:should|shall) (?:i|we) (?:just |maybe |better )?{_DOES}\b|"
    rf"\b(?:thinking|think|thought|wondering) (?:of|about|whether|if|i(?:['’]ll| might| may))"
    rf"(?: \w+){{0,2}} {_DOES}\b"
)
_ENDS = re.compile(
    rf"(?i)\b(?:{_DOES}|take|taken|cross|strike|tick|mark|off|out|gone|done|away|can go|it goes|"
    r"don['’]t (?:need|want)|no longer|any ?more|finished|sorted|yes)\b"
)


_NOT_THAT = re.compile(r"(?i)\b(?:so|but|and|just)\s+(?:please\s+)?not (?:that|this)(?: one)?\W*$")


_AS_BEFORE = re.compile(
    r"(?i)\bback (?:to )?(?:(?:exactly|just) )?(?:what|how|the way|as|like|where)\b[^.!?]{0,40}?"
    r"\b(?:was|were|used to be|had (?:it|been))\b|"
    r"\b(?:put|change|switch|set|turn) (?:it|that|them|this) (?:right )?back(?: again)?(?=[.,!?]|$)"
)


def puts_back(said: str) -> bool:
    """What was done is to be as it was: "put the fee back to what it was"."""
    return _AS_BEFORE.search(said) is not None


def protests(text: str) -> bool:
    """ "No no, don't delete it!", "I didn't say cancel it", after something was done: nothing else
    is wanted, but that it had not been done."""
    return _PROTEST.fullmatch(text.strip()) is not None


_PROTEST = re.compile(
    rf"(?i)(?:{_MIND}\b[\s,.!…—–-]*)*(?:i said |i )?"
    rf"(?:don['’]?t|do not|didn['’]?t (?:say|want|mean|ask)(?: you)?(?: to)?|never said(?: to)?)\s+"
    rf"(?:actually\s+|really\s+)?(?:{_AWAY_NOW}|{_ELSE}|take|cross|strike|do|touch)(?:ing)?"
    rf"(?:\s+(?:it|that|this|them|anything|everything))?{_OFF}"
    rf"(?:[\s,.!]+(?:please|sorry|yet|at all|{_MIND}))*[\s.!…]*"
)


def let_go_at(text: str) -> int:
    """Where somebody takes back all they said, and says no more: "… Actually, leave it."; -1 where
    nobody does."""
    for match in _LET_GO.finditer(text):
        rest = text[match.end() :]
        if not _wants(rest) and len(rest.split()) <= _CLOSE:
            return match.start()
    return -1


_LET_GO = re.compile(
    r"(?i)[.!?,;…—–-]+\s*(?:(?:no|nope|nah|actually|wait|oh|hang on|hold on|on second thoughts?|"
    r"never ?mind|sorry|you know what|sure|ah|ach|oops|listen|look|hm+|um+|uh+)\b[\s,.!…—–-]*)+"
    r"(?:(?:i|we|she|he|they|my \w+)(?:['’](?:ll|d)| will| would)?"
    r"(?: (?:says?|said|thinks?|reckons?|wants?|rather|better))?(?: that)?(?: me| us)?(?: to)?"
    r"(?: (?:i|we) should)? )?"
    r"(?:let['’]?s )?(?:just )?(?:leave|forget|scrap|scratch|drop|skip|keep)\s+"
    r"(?:it|that|this|them|everything)"
    r"(?:\s+(?:as (?:it|they) (?:is|was|are|were)|where (?:it|they) (?:is|are)|be|alone|there|in|"
    r"on|then))?"
    r"(?:[\s,]+(?:please|thanks|thank you|sorry|for now|after all))*\s*(?=[.,;!?…—–-]|$)"
)


def _wants(rest: str) -> bool:
    """Whether anything is asked for in it: an order, or a time."""
    words = [re.findall(r"[\w'’]+", part.casefold()) for part in re.split(r"[.,;:!?…—–-]+\s", rest)]
    bare = [[word for word in one if word not in _BEFORE_ORDERS] for one in words]
    ordered = any(len(one) > 1 and one[0] in VERBS for one in bare)
    return ordered or bool(find(rest)) or _ASKS.search(rest) is not None


_ASKS = re.compile(r"(?i)\b(?:remind|instead|rather|i want|i need|i['’]d like|make it)\b")
_BEFORE_ORDERS = frozenset(
    ("so", "and", "just", "please", "then", "but", "okay", "ok", "well", "can", "could", "you",
     "let's", "would", "will", "no", "wait", "actually", "instead", "only", "rather")
)  # fmt: skip


def _denied(text: str) -> tuple[Order, int] | None:
    """The first order that is taken back, and where that ends."""
    for match in _ORDER.finditer(text):
        verb = match["verb"].casefold()
        order = Order(_begins(text, match), match.end(), verb, match["what"])
        for denial in _DENIAL.finditer(text, match.end()):
            if _opposite(order, denial):
                return order, denial.end()
        if verb in _GONE and (other := _INSTEAD.search(text, match.end())):
            between = text[match.end() : other.end()]
            if _MIND_AT_ALL.search(between) and len(between.split()) <= _CLOSE:
                return order, other.end()
    return None


_DENIED_FIRST = re.compile(
    rf"(?i)(?:^|[.;!?,…—–-]\s+|\b(?:and|but|no|wait|so)\s+)"
    rf"(?P<not>(?:please )?(?:don['’]?t|do not|never|no need to|i don['’]?t (?:want|need) "
    rf"(?:you )?to|i didn['’]?t (?:say|want|mean)(?: you)? to|not to)\s+(?:actually\s+)?)"
    rf"(?:{_AWAY_NOW}|take)\s+"
    rf"(?P<what>(?!(?:it|that|this|them|me|him|her|us|you|to)\b)[\w'’&]+(?:[\s-]+[\w'’&]+){{0,8}}?)"
    rf"{_OFF}\s*(?=[.,;!?…—–]|\s-|\bbut\b|\bjust\b|$)"
)


def _denied_first(text: str) -> tuple[Order, int] | None:
    """ "Don't cancel the club, just make it nine"."""
    if (match := _DENIED_FIRST.search(text)) is None:
        return None
    return Order(match.start("not"), match.end(), "", match["what"]), match.end()


_CLOSE = 12
"""Words between an order and the one that takes its place."""


def _begins(text: str, match: re.Match[str]) -> int:
    lead = re.compile(rf"(?i)(?:[.;!?,…—–-]\s+|and\s+)?(?P<lead>{_LEAD})").match(
        text, match.start()
    )
    return lead.start("lead") if lead is not None else match.start()


def _opposite(order: Order, denial: re.Match[str]) -> bool:
    """Whether it says no to that very order: with its verb or one of the same kind, about the same
    thing or about "it"; or with no verb at all, "no, don't"."""
    verb, about = (denial["verb"] or "").casefold(), (denial["what"] or "").strip()
    marked = _MIND_AT_ALL.search(denial["before"]) is not None
    if not verb:
        said = denial.group().casefold()
        return re.search(r"don['’]?t|do not", said) is not None and (
            marked or re.search(r"[.!?;…—–]", denial["before"]) is not None
        )
    if verb in ("bother", "do"):
        return re.search(r"don['’]?t|do not", denial.group().casefold()) is not None
    same = verb == order.verb or {verb, order.verb} <= _GONE or {verb, order.verb} <= _OTHERWISE
    pointing = not about or _POINTS.match(about) is not None or about.casefold() in ("yet", "now")
    mine = set(re.findall(r"[^\W_]+", order.what.casefold()))
    named = set(re.findall(r"[^\W_]+", about.casefold())) - _ARTICLES
    return same and (pointing or (bool(named) and named <= mine))


_ARTICLES = frozenset(("the", "my", "our", "a", "an", "off", "out", "please", "it"))
