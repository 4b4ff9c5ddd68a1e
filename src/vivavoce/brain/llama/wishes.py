"""Several wishes in one breath, told to the model one after the other. Pure.

"I want to start running, and remind me to buy shoes this weekend": a small model gives
the first wish the second's time, and then says that both are done. So it is told the
first, and the second once something came of that, as if it had been said then.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from vivavoce.brain.llama.unsaid import failed, told
from vivavoce.brain.ports import Ask, Result, Said, Turn

_BEGINS = (
    r"(?:remind me|i (?:want|need|have|would like|'d like) to|i'd (?:like|love) to|i must|"
    r"(?:can|could|would) you|set up|make a note|note down|"
    r"(?:(?:re)?schedule|move|push|add|put) (?:the|my|our|an?|that|it|this))\b"
)
_NEXT = re.compile(
    rf"[,;.]?\s+(?:and|also|plus)\s+(?:(?:also|then|please)\s+)*(?={_BEGINS})", re.IGNORECASE
)
_ALSO_TO = re.compile(
    r"(\bremind me to\b.{3,200}?),? and (?:also )?to (?!the\b|my\b|an?\b|our\b)", re.IGNORECASE
)
_FIRST = re.compile(rf"^\W*(?:(?!and\b)\w+\W+){{0,3}}?{_BEGINS}", re.IGNORECASE)
DONE = "That's done. "
"""Said before a question for the next."""
_MOST = 3
_LONGEST = 2_000


def one_by_one(ask: Ask) -> Ask:
    """Only where tools leave things to the user, and none of them is demanded."""
    if ask.tool_choice != "auto" or not any(map(told, ask.tools)):
        return ask
    return replace(ask, turns=tuple(_untangled(ask.turns)))


def goes_on(ask: Ask) -> bool:
    """Has something just come of the first wish, and the next is to be told?"""
    return isinstance(ask.turns[-1] if ask.turns else None, Result) and isinstance(
        one_by_one(ask).turns[-1], Said
    )


def _untangled(turns: Sequence[Turn]) -> Iterator[Turn]:
    waiting: list[str] = []
    for turn in turns:
        match turn:
            case Said("user", text):
                first, *more = wishes(text)
                waiting = [*waiting, *more][:_MOST]
                yield replace(turn, text=first) if more else turn
            case Result(_, output) if waiting and not failed(output):
                yield turn
                yield Said("user", waiting.pop(0))
            case _:
                yield turn


def wishes(text: str) -> list[str]:
    """Each with what begins it; a text in which one cannot tell is one."""
    if len(text) > _LONGEST or not _FIRST.search(text):
        return [text]
    first, *more = _NEXT.split(_ALSO_TO.sub(r"\1 and remind me to ", text))
    return [first, *(one[:1].upper() + one[1:] for one in more)][: _MOST + 1]
