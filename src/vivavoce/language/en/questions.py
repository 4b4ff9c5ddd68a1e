"""Is something asked, or asked for? "When is the vet coming?" wants an answer, "Could you move the
vet?" wants it done. Grammar of the language; pure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from vivavoce.language.en.ending import VERBS

_BEFORE = (
    r"(?:(?:so|and|ok|okay|well|um|uh|erm|hey|hi|hello|right|now|please|sorry|tell me|"
    r"remind me again|actually|oh|just|then|but)\b[,\s]*)*"
)
_WH = (
    r"(?:when|what|which|who|whose|where|how (?:many|much|often|long|late|early|soon))"
    r"(?:'s|'re)?\b(?!\s+(?:about|if|say|ever)\b)"
)
_SUBJECT = (
    r"(?:i|we|they|he|she|it|there|this|that|those|these|my|our|the|his|her|their|any\w*|"
    r"some\w*|you|all|every\w*|both)\b"
)
_VERB_FIRST = rf"(?:is|are|am|was|were|do|does|did|has|have|isn't|aren't|don't|didn't)\s+{_SUBJECT}"
_ASKS = re.compile(rf"(?i)^\W*{_BEFORE}(?:{_WH}|{_VERB_FIRST})")
_CLAUSE = re.compile(
    r"(?:[.!?;,]+\s+(?:and|then|also|plus|oh|but)?\b|\s+and\b)"
    r"(?:\s*(?:also|then|please|um|uh|oh),?)*\s*"
)
_NOT_NEW = re.compile(
    r"(?i)(?:\w+ (?:it|that|this|them|him|her)\b|let's|thank|wait|hang|hold|never|be |come on|"
    r"listen|look,|guess|like |love |hope |mind |mean )"
)
"""It goes on with what was said, or wants nothing."""
_SHORTEST, _FEW = 3, 4
"""Words of an order, and of what is only added to one."""
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


def asks(text: str) -> bool:
    """One question and nothing else. "Can you", "could I" and the like ask for something."""
    return len(_SENTENCE.split(text.strip())) == 1 and _ASKS.match(text) is not None


def requests(text: str) -> Iterator[tuple[int, int]]:
    """Where there are clauses that want something of their own, said as an order: "get rid of the
    library one". From where to before where; a few words behind one belong to it."""
    start = 0
    order: tuple[int, int] | None = None
    for end in [*_CLAUSE.finditer(text), None]:
        stop = end.start() if end else len(text)
        clause = text[start:stop]
        words = re.findall(r"[\w'’]+", clause.casefold())
        begins = len(words) >= _SHORTEST and words[0] in VERBS and not _NOT_NEW.match(clause)
        if order is not None and (begins or len(words) > _FEW):
            yield order
            order = None
        if begins:
            order = start, stop
        elif order is not None and words:
            order = order[0], stop
        start = end.end() if end else stop
    if order is not None:
        yield order
