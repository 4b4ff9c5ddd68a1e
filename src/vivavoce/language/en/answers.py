"""Yes, no, stop, and which one: what a short answer means. One lexicon, several strictnesses. Pure.

`consent` decides where a machine must not guess: a yes is a whole utterance that is plainly
a yes, and whatever begins with a no is a no; `reach` says how far such a yes goes. `answer` reads
the reply to a question of a form, where "Yes, with a ribbon" is a yes. `accepts` asks less: is what
was proposed taken up?
No model is asked: text that a tool or a page brought into the conversation can persuade a
model, and cannot get in here.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from vivavoce.language.en.numbers import ORDINALS

Answer = Literal["yes", "no"]
Reach = Literal["once", "session", "always"]
"""How far a yes goes: for what was asked, for the same in this session, or whenever it is that."""

BACKCHANNEL = frozenset(
    {"uh-huh", "uh huh", "mm-hmm", "mm hmm", "mm-hm", "mhm", "mm", "hmm", "aha", "ah", "oh"}
    | {"yeah", "yes", "yep", "right", "ok", "okay", "sure", "i see", "got it", "go on"}
)
"""What people say to show that they listen, as the ears write it."""

_FILLER = (
    r"um|uh|er|well|so|oh|ah|hey|hm+|please|thanks|thank you|now|just|ok|okay|right|then|actually|"
    r"sorry|alright|all right"
)
_YES = (
    r"yes|yeah|yep|yup|sure|sure thing|of course|certainly|absolutely|definitely|ok|okay|alright|"
    r"all right|go ahead|go for it|do it|do that|do so|run it|please do|approve|approved|"
    r"i approve|approve it|allow|allow it|allow that|allowed|confirm|confirmed|i confirm|"
    r"that is fine|that's fine|that is ok|that's ok|that's okay|fine|fine by me|fine with me|"
    r"sounds good|sounds great|you may|you can|correct|that's right|that's correct|proceed|"
    r"yes you may|yes you can|make it so|you bet|by all means|affirmative|let's do it|that works|"
    r"works for me|agreed"
)
"""Plainly a yes, even to "May I delete it?"."""
_FIRST = (
    r"yes|yeah|yep|yup|sure|of course|certainly|absolutely|definitely|correct|affirmative|"
    r"go ahead|please do"
)
"""Whatever follows, it began with a yes; "Okay" and "fine" begin other sentences too."""
_MILD = (
    r"right(?! now)|true|exactly|perfect|great|good|all good|please|do|i do|i am|it is|it does|"
    r"indeed|precisely|i guess|i guess so|i think so|i suppose|i suppose so|why not|"
    r"continue|carry on|go on|works|mm hm+|mhm|uh huh|no problem|no worries|not a problem|"
    r"i don't mind|ja|oui|si|sí|sim|genau|gerne|claro|certo|va bene"
)
"""A yes to a question, and not enough for what cannot be undone."""
_OUT = (
    r"never mind|nevermind|forget it|forget that|forget about (?:it|that)|leave it|drop it|"
    r"scratch that|don't bother|(?:stop|cancel|abort|quit) (?:it|that|this)"
)
"""The user lets go of something."""
_STOP = (
    rf"stop|cancel|abort|quit|{_OUT}|enough|that's enough|stop right there|stop the search|"
    r"stop the tests|stop running|cancel the task|cancel everything|stop everything"
)
_NO = (
    rf"no|nope|nah|uh uh|don't|do not|dont|never|not now|not yet|not really|not that|not quite|"
    rf"wait|hold on|deny|denied|refuse|reject|negative|wrong|false|that's wrong|that is wrong|"
    rf"that's not right|i'd rather not|i would rather not|i don't think so|i don't want|better not|"
    rf"let's not|absolutely not|of course not|certainly not|definitely not|{_STOP}"
)
_SESSION = (
    r"(?:and )?(?:for|during|in) (?:the rest of )?(?:this|the|our) (?:whole |entire )?"
    r"(?:session|conversation|call|talk)|(?:and )?(?:for|during) the rest of (?:it|today)|"
    r"(?:and )?(?:you )?"
    r"(?:don't|do not|needn't|need not|don't need to|don't have to|no need to) ask "
    r"(?:me )?(?:again|any more|anymore|every time|each time)(?: (?:for|in|during) (?:this|the) "
    r"(?:session|conversation|call))?"
)
"""Said with a yes: it is for the same in the rest of the session."""
_ALWAYS = (
    r"(?:and )?(?:from now on )?"
    r"(?:always|every time|each time|forever|for ever|for good|from now on)"
    r"(?: (?:do it|do that|do this|run it|run that|run this|allow it|allow that|allow this|"
    r"yes|okay|ok|fine))?"
    r"(?: for (?:this|that|the same) (?:command|one|call|thing|tool|page|site))?"
)
"""Said with a yes, or alone: it is for the same call whenever it comes."""
_ONCE = r"(?:but )?(?:just |only )?(?:this once|this time|this one time|once|for now)"
_UNSURE = (
    r"(?:i am |i'm )?not sure\b.*|no idea\b.*|i (?:do not|don't) know\b.*|dunno|maybe|perhaps|"
    r"no problem|no worries|(?:it )?doesn't matter"
)
_CORRECTION = r"no|nope|wait|actually|sorry|oops|not|i mean|i meant|make (?:it|that)"
_SOUNDS = r"(?:(?:oh|ah|um+|uh+|er+|well|okay|ok|hang on|hold on|hm+|so) )+"
_WHENEVER = (
    r"\b(?:any ?time|whenever|(?:does|do)n'?t (?:matter|mind|care)|you (?:choose|decide|pick)|"
    r"no preference|all day|not important)\b"
)
_NO_MORE = (
    r"(?:(?:oh|ah|okay|ok|well|right|great|thanks) )*(?:no|nope|nah|nothing)(?: "
    r"(?:no|thanks|thank you|ta|cheers|else|more|for now|really|that'?s|that is|it'?s|all|it|"
    r"everything|the lot|fine|good|okay|ok|i'?m|we'?re|done|sorted|then|bye|love|dear|mate|"
    r"please|don'?t|need|anything|i|nothing|today|just))*"
)
_NEITHER = r"(?:no )?(?:neither|none)\b"
_LETS_GO = (
    r"\b(?:never ?mind|forget (?:it|about it|that)|doesn'?t matter|don'?t (?:bother|worry)|"
    r"leave it|drop it|no matter)\b"
)
_GOES_BACK = (
    r"\b(?:undo|revert|restore|reverse|roll(?:ed)? ?(?:it |that )?back|"
    r"(?:put|take|change|bring|set|turn|switch|get) (?:\w+ ){0,5}back|"
    r"back (?:to (?:what|how|where|before|the (?:way|old|original|previous|last))|the way|as|how)|"
    r"(?:as|how|where|what|the way) (?:it|that|they|things) (?:was|were|had been)|"
    r"(?:scrap|scratch|cancel|forget) (?:that|it|this|what|the last|your|those)|"
    r"(?:didn't|did not) (?:want|mean|ask for) (?:that|it|this|you)|"
    r"that(?:'s| is| was) (?:wrong|not what)|(?:shouldn't|should not) have)\b"
)
"""What was done is to be as it was."""
_PLEASED = (
    "ok okay great good perfect lovely fine cool brilliant super nice right alright excellent "
    "wonderful wicked sweet cheers ta sorted that's that is all it works fab sounds got"
)
_FEW = 6
"""Words."""
_BUT = r"\b(?:but|except|unless|wait|instead|only|however|until)\b"
_NEGATED = r"\b(?:no|not|never|nope|nah|cannot|wrong|false|stop|cancel|dont|\w+n't)(?![\w'])"
_AGREEING = (
    r"\b(?:yes|yeah|yep|yup|sure|ok|okay|right|correct|exactly|perfect|great|fine|good|works|"
    r"absolutely|definitely|agreed|alright|please)\b"
)
_PICKING = r"\b(?:former|latter|either|both|one|first|second|third|last)\b"
_LONGEST = 60
"""Characters: nobody says yes in a paragraph."""


def _either(*lists: str) -> str:
    """Each once: two ways to read one word would be tried in every combination."""
    return "|".join(dict.fromkeys("|".join(lists).split("|")))


_LEAD = rf"(?:(?:{_FILLER}) )*"
_ALL_YES = rf"{_LEAD}(?:{_YES})(?: (?:{_either(_YES, _FILLER)}|it|that))*"
_ALL_MILD = rf"{_LEAD}(?:{_either(_YES, _MILD)})(?: (?:{_either(_YES, _MILD, _FILLER)}|it|that))*"
_SO_FAR = rf"(?:{_LEAD}(?:{_YES})(?: (?:{_either(_YES, _FILLER)}|it|that|this))*)"
_FOR_ONCE = rf"{_ALL_YES}|{_SO_FAR} (?:{_ONCE})(?: (?:{_FILLER}))*"
_FOR_SESSION = rf"{_SO_FAR} (?:{_SESSION})(?: (?:{_FILLER}))*"
_FOR_GOOD = rf"(?:{_SO_FAR} |{_LEAD})(?:{_ALWAYS})(?: (?:{_FILLER}))*"
_BEGINS_YES = rf"{_LEAD}(?:{_FIRST})\b"
_BEGINS_NO = rf"{_LEAD}(?:{_NO})(?: .*)?"
_ALL_UNSURE = rf"{_LEAD}(?:{_UNSURE})(?: (?:{_FILLER}))*"
_ALL_STOP = rf"{_LEAD}(?:{_STOP})(?: (?:{_STOP}|{_FILLER}))*"
_CORRECTED = rf"(?:(?:um|uh|oh|hm+) )*(?:{_CORRECTION})\b"
# Patterns are text, compiled when first used: that takes longer than a start may.


def plain(words: str) -> str:
    """Lower case, without the punctuation that ears put in. Letters of other alphabets stay: "ok"
    with a no in another language is no yes."""
    return " ".join(re.sub(r"[^\w']|_", " ", words.casefold().replace("\u2019", "'")).split())


def consent(words: str) -> Answer | None:
    """Whether this is an answer to "May I?"; only whole utterances, from a short list."""
    said = plain(words)
    if _is(_ALL_UNSURE, said):
        return None
    if re.fullmatch(_BEGINS_NO, said):
        return "no"
    if _asks(words):
        return None  # "Allow it?" asks back
    return None if reach(words) is None else "yes"


def reach(words: str) -> Reach | None:
    """How far a yes to "May I?" goes: "yes, for this session", "always for this command". None
    where it is none, or where nobody can be sure."""
    said = plain(words)
    if _asks(words) or re.fullmatch(_BEGINS_NO, said):
        return None
    if _is(_FOR_SESSION, said):
        return "session"
    if _is(_FOR_GOOD, said):
        return "always"
    return "once" if _is(_FOR_ONCE, said) else None


def answer(words: str) -> Answer | None:
    """What it says to a question for a yes or a no; None where it says neither, or both."""
    said = plain(words)
    if _asks(words) and consent(words) != "no":
        return None
    if _is(_ALL_MILD, said) or reach(words) is not None:
        return "yes"
    if _is(_ALL_UNSURE, said):
        return None
    if consent(words) != "no" and (begun := re.match(_BEGINS_YES, said)):
        rest = said[begun.end() :]
        return None if re.search(_NEGATED, rest) or re.search(_BUT, rest) else "yes"
    return "no" if consent(words) == "no" or re.search(_NEGATED, said) else None


def accepts(words: str) -> bool:
    """Is what was proposed taken up, or one of what was proposed? "Yes, but at ten" is about it,
    "Friday works" and "the second one" are too."""
    said = plain(words)
    if re.search(_PICKING, said) or answer(words) == "yes":
        return True
    if consent(words) == "no":
        return False
    agreeing = re.search(_AGREEING, said) and not re.search(_NEGATED, said) and not _asks(words)
    return bool(agreeing or re.match(_BEGINS_YES, said))


def stops(words: str) -> bool:
    """Whether this tells us to stop what is running, and says nothing else."""
    return _is(_ALL_STOP, plain(words))


def corrects(words: str) -> bool:
    """Whether it begins as one who takes something back, after whatever sounds they make first:
    "no", "I mean", "make it"."""
    said = plain(words[:200])
    return re.match(_CORRECTED, said) is not None or (
        re.match(_CORRECTED, re.sub(f"^{_SOUNDS}", "", said)) is not None
    )


def wants_no_more(words: str) -> bool:
    """ "No, that's all, thanks", and nothing else."""
    return re.fullmatch(_NO_MORE, plain(words)) is not None


def pleased(words: str) -> bool:
    """ "Okay, great": nothing is wanted."""
    said = re.findall(r"[a-z']+", words.casefold())
    return 0 < len(said) <= _FEW and all(word in _PLEASED.split() for word in said)


def whenever(words: str) -> bool:
    """What was asked does not matter to them."""
    return re.search(_WHENEVER, plain(words)) is not None


def goes_back(words: str) -> bool:
    """Is something to be put back as it was? Nothing else may undo a change unasked."""
    return re.search(_GOES_BACK, plain(words)) is not None


def neither(words: str) -> bool:
    return re.match(_NEITHER, plain(words)) is not None


def lets_go(words: str) -> bool:
    """ "Never mind", whatever else is said."""
    return re.search(_LETS_GO, plain(words)) is not None


def chosen(labels: Sequence[str], said: str) -> list[int]:
    """Which of these are meant, in their order: by their words, or as "the second one"."""
    heard = plain(said)
    names = [plain(label) for label in labels]
    if heard in names:
        return [names.index(heard)]
    found = {at: name for at, name in enumerate(names) if name and _within(name, heard)}
    # "dark blue" means that, and not also "blue".
    kept = [
        at
        for at, name in found.items()
        if not any(name != other and _within(name, other) for other in found.values())
    ]
    if kept:
        return kept
    if heard in ("all", "all of them", "everything"):
        return list(range(len(labels)))
    if heard.isdecimal() and 1 <= int(heard) <= len(labels):
        return [int(heard) - 1]
    nth = {ORDINALS[word] - 1 for word in heard.split() if word in ORDINALS}
    nth |= {len(labels) - 1} if "last" in heard.split() else set()
    return sorted(at for at in nth if at < len(labels))


def _is(pattern: str, said: str) -> bool:
    return len(said) <= _LONGEST and re.fullmatch(pattern, said) is not None


def _within(name: str, words: str) -> bool:
    return f" {name} " in f" {words} "


def _asks(words: str) -> bool:
    return "?" in words or "\uff1f" in words
