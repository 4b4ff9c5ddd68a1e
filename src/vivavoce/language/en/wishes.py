"""Where one breath holds several wishes: what was said, cut into stretches of which each wants
something by itself. Grammar of the language; pure.

"The dentist is Friday now, tick off the bins, and on Sunday at noon remind me to ring Grandad" is
three. A stretch begins at a clause that stands by itself, once the clauses before it want something
too: an order, something at an hour of its own, or another of the things that the speaker has. What
is only told beside it (why, who, that it is urgent) stays with what it was said after. Where it can
be read either way, nothing is cut.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Literal

from vivavoce.language.en import titles
from vivavoce.language.en.ending import VERBS
from vivavoce.language.en.times import lexicon as lex
from vivavoce.language.en.times.reading import Mention, find
from vivavoce.language.en.utterances import clauses, settles
from vivavoce.wire.values import Value

Names = Callable[[str, bool], frozenset[str]]
"""Which of the speaker's things a stretch speaks of; with True also where a word of the name is all
that is said of it."""

_LINKS = re.compile(
    r"(?i)(?:[\s,.;:!?–—-]+|(?:and|then|also|plus|oh|but|so|well|um+|uh+|er+m?|right|okay|ok|please|"
    r"kindly|yeah|yes|now|just|like|honestly|actually|anyway|instead|first|finally|lastly|next|"
    r"hey|hi|hello|oi|yo|look|listen|after that|for a start|by the way|while you're at it|"
    r"while i'm at it|one more thing|another thing|on top of that|let's say|say|"
    r"for (?:that|this)|to that end|"
    r"to (?:start|begin) with)\b)+"
)
_CALLED = re.compile(r"\s*[^\W\d_]+,\s+(?=\S+\s)")
"""A word before anything is said: "Abeg, …"."""
_ASKED = re.compile(
    r"(?i)(?:(?:can|could|would|will) (?:you|ye|ya|we)(?: please| kindly| just| maybe| also)*|"
    r"i(?:'d)? (?:need|want|like) (?:you|ya) to|you (?:can|could|may|might|should)|let'?s|"
    r"make sure to|go and|(?:do )?help me(?: to)?)\s+"
)
_REMINDS = re.compile(
    r"(?i)(?:remind|reminder|nudge|ping|poke|wake|alert|warn|buzz|notify|jot|pencil|schedule|add|"
    r"note|(?:tell|call|text) me\b|don'?t (?:let me )?forget|give me an? \w+|"
    r"(?:put|stick|pop|write|set|get)\b(?! (?:it|that|this|them)\b)[^.,;!?]{0,60}?\b(?:down|in|up|"
    r"on my list|reminder|alarm|me down)\b|set (?:an?|one|something)\b|make a note|new (?:one|task|"
    r"reminder|goal))"
)
"""An order for something new, in so many words."""
_CHANGES = lex.MOVERS | lex.words(
    "tick check cross strike mark delete remove cancel scrap bin ditch axe drop forget clear skip "
    "leave keep take rub call undo rename erase wipe get stop do finish complete"
)
"""Orders about what is there already."""
_WANTS = re.compile(
    r"(?i)(?:i|we)(?:'ve|'d|'ll|'m| have| would| will| am|'re| are)?"
    r"(?: (?:also|really|just|still|then|both))*"
    r" ?(?:need|got to|gotta|must|mustn't|want|wanna|should|ought|have to|has to|had better|"
    r"better|like to|love to|to\b)"
)
_WISHES = re.compile(
    r"(?i)(?:i|we)(?:'d| would)?(?: (?:also|really|just|still))*"
    r" (?:want|wanna|like|love|hope|intend|aim|plan)\b"
)
_DUE = re.compile(r"(?i)\W*(?:by|before|until|within|in)\b|.*\b(?:20\d\d|twenty (?:twenty|thirty))")
"""A date that something is reached by."""
_FATE = re.compile(
    r"(?i)\b(?:can'?t|cannot|can|could|won'?t|not|no|isn'?t|aren'?t|another|instead|later|earlier|"
    r"needs?|ha(?:s|ve) to|wants?|should|goes|go|gone|is off|are off|over|rang|texted|says|said|"
    r"moved|changed|hurt|ill|sick|back)\b|'s (?:off|out|on)\b"
)
"""Something becomes of what is spoken of, though it is not said what yet."""
_INVERTED = re.compile(r"(?i)(?:can|could|should|would|will|must) (?:it|that|this|they|those)\b")
_OBLIGED = re.compile(r"(?i)\b(?:ha(?:s|ve) (?:got )?to|needs? to|must|gotta|is due|are due)\b")
_SPEAKER = re.compile(r"(?i)(?:i|we)(?:'\w+)?\b")
_OTHERS = re.compile(
    r"(?i)(?:it|that|this|they|he|she|there|those|these|which|who|you|nobody|everybody|one)"
    r"(?:'\w+)?\b"
)
_HANGS = re.compile(
    r"(?i)\W*(?:(?:and|but|so|oh)\s+)*(?:because|'?cause|cos|since|as|after|before|when|while|if|"
    r"unless|until|till|like|with|for|than|instead of|that|which|who|whose|where|about|of|to|is|"
    r"are|was|were|or)\b"
)
"""What goes on with what was said before it."""
_ON_COMING = re.compile(
    r"(?i)(?:when|whenever|once|as soon as|(?:the )?next time|the moment|before|after)\b[^.;!?]*?"
    r"\b(?:remind|tell|nudge|ping|poke|alert|buzz|shout at) me\b"
)
_AIMS = re.compile(
    r"(?i)\b(?:goals?|dream(?: is| of)|ambition|my aim|bucket list|long[- ]term|new year's "
    r"resolution)\b"
)
_QUESTION = re.compile(
    r"(?i)(?:(?:what|which|how many|where)(?:'s|'re)?\b(?! (?:i|we|a|an) )|"
    r"when(?:'s| (?:is|are|was|do|does|did|am|have|has|will|can|should))\b|"
    r"(?:have|has|am|is|are) (?:i|we|there|the|my|that|it)\b|(?:do|does|did) (?:i|we|my|the)\b|"
    r"(?:tell|remind) me (?:what|when|which|how many|if|whether)\b|read (?:me|out)\b|"
    r"anything (?:on|else|left)\b)"
)
_COUNTED = re.compile(
    r"(?i)(?:the |my )?(?:first|second|third|other|last|next)(?: (?:one|thing|reminder|goal))?"
    r"(?=\W*(?:is\b|[,:]|for\b|at\b|on\b|$))|"
    r"(?:number )?(?:one|two|three)(?= is\b|[:,])|secondly|thirdly"
)
"""One of several that were announced."""
_ANOTHER = re.compile(r"(?i)(?<=\s)(?:then|the (?:other|second) (?:one )?is)\b")
"""Where another may begin without a pause."""
_JOINT = re.compile(r"(?i)(?:[\s,]*\b(?:and|then|oh|also|plus|but)\b[\s,]*)+|\s+")
_POINTS = re.compile(
    r"(?i)\b(?:it|that|this|them|'?em|those|these|him|hers|theirs|mine|both|that one)\b|"
    r"\b(?:her|his)\b(?=\W*$|\s+(?:back|up|off|out|in|at|on|to|for|over)\b)"
)
_EVERY = re.compile(r"(?i)\b(?:everything|all|anything|the rest|the others?|both)\b")
_TAKES_BACK = re.compile(r"(?i)\W*(?:or |oh )*(?:no|nope|not|sorry|wait|actually|rather|i mean)\b")
_VERB = re.compile(
    r"(?i)\b(?:is|are|was|were|am|be|been|has|have|had|can|can't|could|must|should|will|won't|would|"
    r"do|don't|does|doesn't|did|didn't|needs?|wants?|goes|went|got|off|done|out|over|"
    r"cannot|isn't|wasn't|aren't|haven't|hasn't|rang|sold|bought|came|sent|said|says|told|took|"
    r"made|saw|found|left|lost|gave|given|broke|broken|paid|put|fell|wrote|drove|ate|brought|"
    r"thought|caught|met|ran|swam|won|held|kept|hurt|fed|read|cut|hung|spoke|slept)\b|"
    r"'s (?:not|off|on|out|up|been|got|gone|done|now|too|so|an?|the|my|in|at|\w+(?:ing|ed|nt|ne|"
    r"id|en))\b|\b(?:he|she|it|that|there|who|what)'s\b|'re\b|'ve\b|'m\b|'ll\b|[a-z]{3,}ed\b"
)
_SOON = 40
"""Characters: whoever asks for something says so early."""
_LEANING = lex.words(
    "be let thank wait hang hold come guess look listen love hope mind mean say need want like got "
    "think know see"
)
"""Verbs that order nothing."""
_MANY = 6
"""More wishes than that in one breath are a speech."""

Kind = Literal["", "remind", "change", "do", "want", "event", "item", "aim", "ask", "counted"]


class _Clause(Value):
    """One clause, by what it does."""

    start: int
    end: int
    text: str
    kind: Kind
    timed: bool
    hour: bool
    says: bool
    """More than a time and small words."""
    points: bool
    """It names what it is about by "it"."""
    hangs: bool
    verb: bool
    first: bool
    """Its time comes before what it is about."""
    linked: bool
    """It goes on with "and"."""
    ids: frozenset[str]


def apart(text: str, names: Names, kept: Callable[[str], bool]) -> list[tuple[int, int]]:
    """The stretches, from where to before where; one where nothing can be cut. `kept`: whether a
    clause says what is to stay as it is."""
    bounds = _bounds(text, find(text))
    each = [_clause(text, start, end, names, kept) for start, end in bounds]
    found: list[list[_Clause]] = []
    waiting: list[_Clause] = []
    for at, clause in enumerate(each):
        following = each[at + 1] if at + 1 < len(each) else None
        group = found[-1] if found else []
        if group and _goes_forward(clause, text, group, following):
            waiting.append(clause)
            continue
        if waiting:
            clause = _clause(text, waiting[0].start, clause.end, names, kept)
            waiting = []
        if group and _begins(clause, group, following):
            found.append([clause])
        elif group:
            group.append(clause)
        else:
            found.append([clause])
    if waiting and found:
        found[-1] += waiting
    stretches = [(_after_joint(text, group[0].start), group[-1].end) for group in found]
    return stretches if len(stretches) <= _MANY else [(0, len(text))]


def _after_joint(text: str, start: int) -> int:
    joint = _JOINT.match(text, start)
    return joint.end() if joint else start


def counts(stretch: str) -> bool:
    """ "The other is …": one more of what was announced."""
    return _COUNTED.match(stretch, _linked(stretch, 0)) is not None


def clauses_of(text: str) -> list[str]:
    """Its clauses, none of them cut within a time."""
    return [text[start:end].strip(" ,;.!?") for start, end in _bounds(text, find(text))]


def _bounds(text: str, mentions: Sequence[Mention]) -> list[tuple[int, int]]:
    cuts = [start for start, _ in clauses(text)]
    cuts += [m.start() for m in _ANOTHER.finditer(text)]
    inside = [cut for cut in sorted(set(cuts)) if not any(m.start < cut < m.end for m in mentions)]
    return [
        (start, end)
        for start, end in zip(inside, [*inside[1:], len(text)], strict=False)
        if text[start:end].strip()
    ]


def _clause(text: str, start: int, end: int, names: Names, kept: Callable[[str], bool]) -> _Clause:
    words = text[start:end]
    mentions = [m for m in find(words) if not m.describes]
    bare = titles.stripped(titles.untimed(words, None))
    says = titles.says_something(_LINKS.sub(" ", f" {bare} ").strip())
    begun, first = _begun(words, mentions)
    head = words[begun:].strip()
    hour = any({"hour", "part"} & m.says for m in mentions)
    stays = kept(words)
    kind = "" if stays else _kind(words, head, mentions, hour, says)
    asks = _OTHERS.match(head) or _INVERTED.match(head)
    changed = kind == "change" or asks is not None
    return _Clause(
        start=start,
        end=end,
        text=words,
        kind=kind,
        timed=bool(mentions) or _ON_COMING.match(head) is not None,
        hour=hour,
        says=says,
        points=_POINTS.search(head) is not None and (changed or not mentions),
        hangs=_HANGS.match(head) is not None and not first and kind != "remind",
        verb=_verbal(words) or kind in ("remind", "change", "do", "want"),
        first=first,
        linked=re.match(r"(?i)\W*(?:and|then|oh|also|plus)\b", words) is not None,
        ids=names(words, kind == "change") if not stays else frozenset(),
    )


def _begun(words: str, mentions: Sequence[Mention]) -> tuple[int, bool]:
    """Where it says what it does: after small words, and after a time if that comes first."""
    called = _CALLED.match(words)
    at = _linked(words, called.end() if called else 0)
    first = False
    for mention in mentions:
        if mention.start <= at + 1 and mention.end > at:
            at, first = _linked(words, mention.end), True
    return at, first


def _linked(words: str, at: int) -> int:
    link = _LINKS.match(words, at)
    return link.end() if link else at


def _kind(words: str, head: str, mentions: Sequence[Mention], hour: bool, says: bool) -> Kind:
    timed = bool(mentions)
    if _COUNTED.match(head):
        return "counted"
    if _QUESTION.match(head) and not _ASKED.match(head):
        return "" if _POINTS.search(head) and not timed else "ask"
    if _AIMS.search(words) and not _OTHERS.match(head) and says:
        return "aim"
    if _ON_COMING.match(head):
        return "remind"
    asked = _ASKED.match(head) or _ASKED.search(head, 0, _SOON)
    order = head[asked.end() :] if asked else head
    if _REMINDS.match(order):
        return "remind"
    first = re.match(r"[\w'’-]+", order)
    word = first.group().casefold() if first else ""
    if word in _CHANGES:
        return "change"
    due = _WISHES.match(head) and any(_DUE.match(m.words) for m in mentions) and not hour
    if due and says:
        return "aim"
    if _WANTS.match(head):
        return "want" if says else ""
    if word in _LEANING:
        return "want" if says and re.match(r"(?:need|want|got) to\b", order) else ""
    if word in VERBS and titles.says_something(titles.stripped(order[len(word) :])):
        return "do"
    if _OTHERS.match(head) or not says or not timed:
        return ""
    if _SPEAKER.match(head):
        return "event"
    if not hour:
        return ""
    if _OBLIGED.search(words):
        return "want"
    return "item" if not _verbal(words) else ""


def _verbal(words: str) -> bool:
    """Whether it has a verb: a word for being or doing, or one like "takes" after its subject."""
    inner = re.findall(r"(?<=\s)[a-z]{3,}s(?=\s)", words)
    return _VERB.search(words) is not None or any(
        word[:-1] in VERBS or word.removesuffix("es") in VERBS for word in inner
    )


def _goes_forward(
    clause: _Clause, text: str, group: Sequence[_Clause], following: _Clause | None
) -> bool:
    """A mere time, or less, that begins a sentence or goes on with "and": it is of what follows,
    if what came before has its own."""
    if following is None or clause.says or clause.ids or _TAKES_BACK.match(clause.text):
        return False
    fresh = re.search(r"[.!?;]\W*$", text[: clause.start]) is not None
    if re.search(r"[.!?;]\W*$", clause.text):
        return False
    needless = any(one.timed for one in group) or _wish_of(group) in ("thing", "ask", "aim")
    return (fresh or clause.linked) and (not clause.timed or needless)


def _begins(clause: _Clause, group: Sequence[_Clause], following: _Clause | None) -> bool:
    """Whether a clause is another wish than those before it."""
    before = _wish_of(group)
    taken_back = _TAKES_BACK.match(group[-1].text) is not None and not group[-1].timed
    ids = frozenset[str]().union(*(one.ids for one in group))
    timed = any(one.timed for one in group)
    new = clause.ids - ids
    if not before or clause.hangs or (taken_back and not new):
        return False
    match clause.kind:
        case "counted":
            return True
        case "aim":
            return before != "want" or timed
        case "ask":
            return not clause.points
        case "remind":
            pointing = _POINTS.search(clause.text) is not None and not clause.timed
            enough = clause.says and (clause.timed or before != "item")
            return enough and before not in ("want", "event") and _says(group) and not pointing
        case "change" if clause.first and not clause.ids and not clause.points:
            return timed and _says(group)  # "and Friday at four drop the keys off"
        case "change":
            others = _EVERY.search(clause.text) is not None and bool(ids)
            return (bool(new) or others) and not (clause.points and not new)
        case "do" | "want":
            if new and (clause.timed or settles(clause.text)):
                return True
            own = clause.timed and (timed or before == "thing")
            return own and _says(group) and not (clause.kind == "want" and before == "event")
        case "item" | "event":
            told = not (clause.linked or clause.first or before == "event")
            if not clause.hour or (clause.kind == "event" and told):
                return False  # why, or who
            return (timed and _says(group)) or (bool(new) and before == "thing")
    if not new or (clause.points and not clause.verb):
        return False
    if following is not None and following.points and not following.ids and not clause.verb:
        return True  # "and the other thing, move that to six"
    if following is not None and following.timed and not following.says and timed:
        return True  # "and the dentist too, an hour earlier"
    if clause.verb and not clause.timed and not settles(clause.text):
        too = _VERB.match(clause.text, _linked(clause.text, 0)) and _settled(group)
        told = _SPEAKER.match(clause.text) is not None
        return bool(too) or (_FATE.search(clause.text) is not None and not told)
    return clause.verb or (clause.timed and timed)


def _settled(group: Sequence[_Clause]) -> bool:
    """ "I've watered the ferns and paid the rent"."""
    return any(settles(one.text) in ("done", "did") for one in group)


def _says(group: Sequence[_Clause]) -> bool:
    return any(one.says for one in group)


def _wish_of(group: Sequence[_Clause]) -> str:
    """What is wanted in these clauses so far; empty where something is only told."""
    saying = next((one for one in group if one.says), None)
    hour = any(one.hour for one in group)
    weak = {"item": saying, "event": saying if hour else None}
    kinds = [one.kind for one in group if one.kind and weak.get(one.kind, one) is one]
    strong = [kind for kind in kinds if kind not in ("event", "want")]
    if strong:
        return strong[0]
    if any(one.ids and one.verb for one in group):
        return "thing"
    return kinds[0] if kinds else ""
