"""What agents are told at the beginning, how much of their work they still see, and what is kept
of their last words. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from vivavoce.runtime.tasks.ports import Work
from vivavoce.wire.brain import Call, Result, Said, Turn
from vivavoce.wire.clean import clean_text

_OLD_RESULT = 240
_OLD_ARGUMENTS = 400
_LATEST = 6
"""Turns that are never shortened: what is being worked on now."""
_SHORTENED = "… (shortened)"
_GONE = Said("user", "(Earlier steps are left out.)")


def clip(text: str, longest: int) -> str:
    """Head and tail: errors stand at the end, what it is at the beginning."""
    if len(text) <= longest:
        return text
    tail = longest // 3
    gap = f"\n… {len(text) - longest} characters left out …\n"
    return f"{text[: longest - tail]}{gap}{text[-tail:]}"


def clip_arguments(arguments: str, longest: int) -> str:
    """Still JSON: the texts in it are clipped."""
    if len(arguments) <= longest:
        return arguments
    value: Mapping[str, Any] = json.loads(arguments)
    each_at_most = longest // max(1, len(value))
    return json.dumps(
        {
            key: clip(each if isinstance(each, str) else json.dumps(each), each_at_most)
            for key, each in value.items()
        }
    )


def fit(turns: Sequence[Turn], longest: int) -> list[Turn]:
    """At most about `longest` characters: old results are shortened, then the oldest steps go.

    The first turn is what is to be done, and stays.
    """
    if _size(turns) <= longest:
        return list(turns)
    first, rest = turns[0], list(turns[1:])
    newest = len(rest) - _LATEST
    rest = [_old(turn) if at < newest else turn for at, turn in enumerate(rest)]
    gone = False
    while len(rest) > 1 and _size([first, *rest]) > longest:
        rest.pop(0)
        gone = True
        # A result without its call, or a call without its result, is refused by models.
        while rest and isinstance(rest[0], Result):
            rest.pop(0)
    return [first, *([_GONE] if gone else []), *rest]


def _old(turn: Turn) -> Turn:
    if isinstance(turn, Result) and len(turn.output) > _OLD_RESULT:
        return Result(turn.call_id, turn.output[:_OLD_RESULT] + _SHORTENED)
    if isinstance(turn, Call):
        return replace(turn, arguments=clip_arguments(turn.arguments, _OLD_ARGUMENTS))
    return turn


def _size(turns: Sequence[Turn]) -> int:
    return sum(_length(turn) for turn in turns)


def _length(turn: Turn) -> int:
    match turn:
        case Said(text=text) | Result(output=text):
            return len(text)
        case Call(name=name, arguments=arguments):
            return len(name) + len(arguments)


_MAX_TEXT = 8_000
_MAX_SUMMARY = 4_000
_ALOUD = (
    "Your last words are read aloud to the user: end with one to three plain sentences that say "
    "what came of it, without lists and without code."
)
_FORGOT = (
    "This work was begun before and broke off. Look at what is done already, and go on from "
    "there: do not do anything twice."
)
_REMEMBERS = "You were interrupted. Look at how far you had come, and go on from there."


def brief(work: Work, *, again: bool = False, remembers: bool = False) -> str:
    """`again`: an earlier attempt died; `remembers`: it is the same session as then."""
    parts = [_REMEMBERS if remembers else _FORGOT] if again else []
    return "\n\n".join([*parts, *ordered(work), _ALOUD])


def ordered(work: Work, context: int = _MAX_TEXT) -> list[str]:
    """What is to be done, and so much of what was said before."""
    before = [f"What was said before:\n{clip(work.context, context)}"] if work.context else []
    return [clip(work.description, _MAX_TEXT), *before]


def told(text: str, otherwise: str, longest: int = _MAX_SUMMARY) -> str:
    """An agent's words, fit to be shown and said."""
    return clip(clean_text(text).strip(), longest) or otherwise
