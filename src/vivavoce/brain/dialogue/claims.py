"""Whether free words claim a deed that no result shows. What a small brain says in small talk is
heard as a promise: "Done, I've set that up" must not be said where nothing was."""

from __future__ import annotations

import re
from collections.abc import Sequence

from vivavoce.brain.dialogue.state import Deed, World
from vivavoce.brain.dialogue.wording import does

_MADE = (
    r"added|set(?: up)?|created|stored|saved|noted|recorded|scheduled|rescheduled|moved|changed|"
    r"updated|deleted|removed|cancell?ed|booked|ordered|sent|texted|messaged|emailed|called|rung|"
    r"told|written|wrote|edited|fixed|renamed|replaced|started|launched|run|ran|marked|ticked|"
    r"completed|finished|submitted|put|turned|switched|played|posted|paid|bought|installed|"
    r"deployed|pushed|committed|merged|arranged|reminded|taken care of|made"
)
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
    rf"(?i)\b{_I}{_ADVERB} (?:{_MADE})\b"
    rf"|\b(?:has|have)(?: now| just)? been{_ADVERB} (?:{_MADE})\b"
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
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def claims(text: str) -> bool:
    """Whether it says that something was done, will be done by itself, or was looked up."""
    return _claims(text, _CHANGED) or _claims(text, _LOOKED)


def unsupported(text: str, deeds: Sequence[Deed], world: World) -> bool:
    """Whether it claims a deed that none of these, the results of this turn, shows: a change only
    by a tool that changes something, a finding by any that answered."""
    went = [deed for deed in deeds if deed.ok]
    changed = any(does(deed, world) != "tell" for deed in went)
    if _claims(text, _CHANGED) and not changed:
        return True
    return _claims(text, _LOOKED) and not went


def _claims(text: str, pattern: re.Pattern[str]) -> bool:
    return any(
        pattern.search(sentence) and not _DENIED.search(sentence)
        for sentence in _SENTENCE.split(text.replace("’", "'"))
    )
