"""Is something asked, or asked for? "When is the vet coming?" wants an answer, "Could you move the
vet?" wants it done. Grammar of the language; pure."""

from __future__ import annotations

import re

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
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=\S)")


def asks(text: str) -> bool:
    """One question and nothing else. "Can you", "could I" and the like ask for something."""
    return len(_SENTENCE.split(text.strip())) == 1 and _ASKS.match(text) is not None
