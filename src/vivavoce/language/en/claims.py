"""Words that claim a deed: that something was done, will be done by itself, or was looked up.

What a small model says is heard as the truth. Whoever knows what was really done holds its words
beside that. Two measures: of small talk, which can be about nothing else, every phrase that could
be such a claim counts (`changed`, `found`); of an answer about anything only what can hardly be
meant otherwise (`deed`), which is found while it is said, before the claim itself is out (`open_`).
"""

from __future__ import annotations

import re

_SAVED = (
    r"added|created|stored|saved|noted|recorded|scheduled|rescheduled|moved|changed|updated|deleted|"
    r"removed|cancell?ed|booked|ordered|sent|texted|messaged|emailed|edited|fixed|renamed|replaced|"
    r"started|launched|marked|ticked|completed|finished|submitted|turned|switched|posted|paid|"
    r"bought|installed|deployed|pushed|committed|merged|arranged|wrote"
)
_MADE = rf"{_SAVED}|set(?: up)?|called|rung|written|run|put|played|taken care of"
_ANY = rf"{_MADE}|told|ran|reminded|made"
_SEEN = (
    r"found|looked|checked|opened|read|searched|seen|saw|counted|verified|browsed|fetched|"
    r"tested|reviewed|inspected|listed"
)
_ASKED = "".join(
    rf"(?<!\b{word} )"
    for word in ("should", "shall", "can", "could", "would", "did", "do", "may", "if", "before")
)
_I = _ASKED + r"(?:i(?:'ve|'m| have| had| am)?|we(?:'ve| have)?)"
_ADVERB = r"(?: (?:just|now|already|also|successfully|gone ahead and|went ahead and))*"
_CHANGED = re.compile(
    rf"(?i)\b{_I}{_ADVERB} (?:{_ANY})\b"
    rf"|\b(?:has|have)(?: now| just)? been{_ADVERB} (?:{_ANY})\b"
    rf"|\b(?:is|are|it's|that's|you're){_ADVERB} (?:all )?(?:set|done|sorted|booked|saved|stored|"
    r"scheduled|sent|noted|added|on (?:your|the) (?:list|calendar|diary))\b"
    r"|(?:^|[.!?]\s*)(?:all )?(?:done|sorted|sent|saved|noted|added|deleted|moved|scheduled)[.!,:]"
    r"|\ball set\b|\bconsider it done\b"
    r"|\bi(?:'ll| will| am going to|'m going to) (?:remind|wake|call|text|message|email|ping|"
    r"notify|nudge|alert|tell|let you know|make sure|send|order|book|add|set|put|do (?:that|it)|"
    r"take care|schedule|check back)\b"
    r"|\byou(?:'ll| will) (?:get|receive|be reminded|hear from me)\b"
)
_LOOKED = re.compile(
    rf"(?i)\b{_I}{_ADVERB} (?:{_SEEN})\b|\b(?:there (?:are|is)|you have|you've got) (?:\d+|no|an?|"
    r"one|two|three|four|five|six|seven|eight|nine|ten|some|several)\b"
    r"|(?:^|[.!?]\s*)here (?:is|are|'s)\b|\b(?:the (?:file|result|search|test|page)s?) "
    r"(?:says?|shows?|has|have|contains?|pass(?:es|ed)?|fail(?:s|ed)?|returned)\b"
)
_DENIED = re.compile(
    r"(?i)\b(?:can't|cannot|can not|couldn't|could not|didn't|did not|haven't|have not|won't|"
    r"unable|nothing (?:has|was|is)|not (?:yet )?(?:been )?(?:set|done|saved|stored|added))\b"
)
_ASKING = re.compile(
    r"(?i)\W*(?:which|what|who|when|where|how|is|are|was|were|did|do|does|should|shall|can|could|"
    r"would|will|have|has)\b.*\?\W*$"
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def claims(text: str) -> bool:
    return changed(text) or found(text)


def changed(text: str) -> bool:
    """That something is another way than it was, or will be by itself."""
    return _claims(text, _CHANGED)


def found(text: str) -> bool:
    """That it was looked up."""
    return _claims(text, _LOOKED)


def _claims(text: str, pattern: re.Pattern[str]) -> bool:
    return any(
        pattern.search(sentence) and not (_DENIED.search(sentence) or _ASKING.match(sentence))
        for sentence in _SENTENCE.split(text.replace("’", "'"))
    )


# --- While it is said

_PERFECT = rf"{_ASKED}(?:i(?:'ve| have)|we(?:'ve| have))"
_WE = rf"{_ASKED}(?:i|we)"
_YOUR = r"your(?: [\w'-]+){1,5}"
_YOURS = rf"(?:it|that|{_YOUR})"
_IS = r"(?:it's|that's|you're|it is|that is|you are)"
_WILL = r"(?:i'll|i will|i'm going to|i am going to)"
_START = r"(?:^|(?<=[.!?,:;] )|(?<=\n))"
_DEED = re.compile(
    rf"(?i)\b{_PERFECT}{_ADVERB} (?:{_MADE})\b"
    rf"|\b{_WE}{_ADVERB} (?:{_SAVED})\b"
    rf"|\b{_YOURS} (?:has|have){_ADVERB} been{_ADVERB} (?:{_MADE})\b"
    rf"|\b{_YOUR} (?:is|are){_ADVERB} (?:{_SAVED}|set)\b"
    rf"|\b{_IS}{_ADVERB} (?:(?:all )?(?:done|sorted|booked|saved|scheduled|sent|added)\b"
    r"|all set\b|set(?=[.!,]| for | to ))"
    rf"|{_START}(?:all )?(?:done|sorted|sent|saved|noted|added|deleted|moved|scheduled)[.!,:]"
    rf"|{_START}all set\b"
    rf"|\b{_WILL} (?:remind|wake|notify|nudge|alert|ping) you\b"
)
_OPEN = re.compile(
    rf"(?i)\b(?:{_PERFECT}|{_WE}|{_IS}){_ADVERB}(?: all)?(?: [a-z]*)?$"
    rf"|\b(?:{_WILL}(?: [a-z]+)?|i'm going|i am going|i am|i'm|you)(?: [a-z]*)?$"
    rf"|\b(?:it|that|your(?: [\w'-]+){{0,5}})(?: (?:has|have|is|are){_ADVERB}(?: been{_ADVERB})?)?"
    r"(?: [a-z]*)?$"
    rf"|\b(?:it's|that's|it is|that is|you're|you are){_ADVERB} set(?: (?:fo?r?|to?)?)?$"
    rf"|{_START}(?:all )?[a-z']*$|(?<![\w'])(?:t|th|tha|y|yo|w)$"
)
_LONGEST = 120
NOT_DONE, FAILED = "I have not done that.", "That did not work."
"""What is said instead."""


def deed(text: str, start: int = 0) -> int | None:
    """Where it first says that something was done, at `start` or after it."""
    plain = text.replace("’", "'")
    for one in _DEED.finditer(plain, start):
        if not _DENIED.search(_SENTENCE.split(plain[: one.end()])[-1]):
            return one.start()
    return None


def open_(text: str) -> int:
    """From where on it may still become such a claim; its length, where it cannot."""
    tail = max(0, len(text) - _LONGEST)
    one = _OPEN.search(text[tail:].replace("’", "'"))
    return tail + one.start() if one else len(text)
