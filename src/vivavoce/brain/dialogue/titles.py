"""What somebody would write on a list, made of what they said: without the asking, the times and
the small words around it."""

from __future__ import annotations

import re

from vivavoce.brain.dialogue import times
from vivavoce.language.en.times import lexicon

_LEADING = re.compile(
    r"(?i)^(?:[\s,.;:!?-]+|(?:please|so|well|um+|uh+|er+|oh|okay|ok|and|then|also|now|just|"
    r"actually)\b"
    r"|(?:can|could|would|will) you\b|remind me\b|tell me\b|nudge me\b|ping me\b|poke me\b|"
    r"don'?t let me forget\b|don'?t forget\b|i(?:'ve| have)? (?:got to|need to|have to|must|"
    r"want to|ought to|should)\b|i(?:'d| would) (?:like|love) to\b|make a note\b|note\b|"
    r"(?:to|that|about|of|for|on|at|in|by)\b)"
)
_ASKING = re.compile(
    r"(?i)^.*\b(?:remind(?:ing)?|tell(?:ing)?|nudg(?:e|ing)|ping|poke) me (?:to|about|of|that)\b"
)
"""What is asked for is the rest."""
TRAILING = re.compile(
    r"(?i)(?:[\s,.;:!?-]+|\b(?:please|and|or|then|at|on|in|by|for|from|around|about|the|to|thanks|"
    r"thank you|would you|will you|if you can|um+|uh+|okay|ok))$"
)
_EMPTY = frozenset(
    lexicon.listed(
        "make that this it them so a an the one goal reminder actual real my please put down as "
        "fine well okay ok thing something for me to do be is and of add set up new note"
    )
)
POINTS = re.compile(r"(?i)\b(?:that|this|it|those|these|them|so)\b")


def untimed(words: str, consumed: str | None) -> str:
    """Without the times that are said elsewhere; None: without any."""
    text = words
    for span in reversed(times.find(words)):
        if consumed is None or span.text.casefold().strip(" .,") in consumed.casefold():
            text = f"{text[: span.start].rstrip()} {text[span.end :].lstrip()}"
    return text


def says_something(title: str) -> bool:
    """More than "make that" or "it"."""
    found = [word for word in re.findall(r"[^\W_]+", title.casefold()) if word not in _EMPTY]
    return bool(found)


def before(words: str, said: str) -> str:
    """What "that" is about: the last thing that was said before it."""
    at = said.casefold().find(words.casefold())
    parts = [stripped(part) for part in re.split(r"[.!?;,]+", said[: max(at, 0)])]
    return next((part for part in reversed(parts) if says_something(part)), "")


def stripped(text: str) -> str:
    text = _ASKING.sub("", text)
    before = None
    while text != before:
        before = text
        text = TRAILING.sub("", _LEADING.sub("", text.strip(), count=1), count=1).strip()
    return text
